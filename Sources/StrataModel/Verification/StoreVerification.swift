import StrataEngine

extension EngineStore {
  /// Verifies the datastores of a view against their indexes.
  ///
  /// - Parameters:
  ///   - datastore: only this one; nil for all.
  ///   - progress: receives, per datastore, the number of records and entries read, and returns whether to continue.
  package func verifyModel(
    at commit: CommitNumber, datastore: String? = nil, progress: WorkProgress? = nil
  ) throws(ModelError) -> VerificationReport {
    var report = VerificationReport()
    let view = try engineView(at: commit)
    for found in try view.ownDatastores where datastore == nil || found.descriptor.key == datastore {
      report.datastores.append(try found.verify(index: nil, progress: progress))
    }
    if let datastore, report.datastores.isEmpty {
      throw .noSuchDatastore(datastore, known: try view.datastoreKeys)
    }
    report.findings = try view.treesWithoutDescriptor(of: datastore) + view.danglingFindings(of: datastore)
    return report
  }
}

extension EngineDatastore {
  func verify(index: String?, progress: WorkProgress?) throws(ModelError) -> DatastoreVerification {
    var verifier = try DatastoreVerifier(self, index: index, progress: progress)
    return try verifier.run()
  }
}

extension EngineView {
  fileprivate func treesWithoutDescriptor(of wanted: String?) throws(ModelError) -> [Finding] {
    var named: Set<TreeName> = []
    for descriptor in try ownDatastores.map(\.descriptor) {
      named.formUnion([.records(of: descriptor.key), .leftOut(of: descriptor.key)])
      named.formUnion(descriptor.indexes.map { .index($0.name, of: descriptor.key) })
    }
    return try onStorage { try view.trees(prefix: []) }.compactMap { name in
      guard !named.contains(name), let (datastore, index) = name.indexName, wanted == nil || wanted == datastore else {
        return nil
      }
      return Finding(
        severity: .wrong, datastore: datastore, index: index, text: "there is a tree, and no descriptor names it")
    }
  }
}
