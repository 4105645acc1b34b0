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
      var verifier = try DatastoreVerifier(found, format: formats[found.descriptor.key], progress: progress)
      report.datastores.append(try verifier.run())
    }
    if let datastore, report.datastores.isEmpty {
      throw .noSuchDatastore(datastore, known: try view.datastoreKeys)
    }
    report.findings = try view.catalogFindings(of: datastore) + view.danglingFindings(of: datastore)
    return report
  }
}

extension EngineView {
  /// Trees without a descriptor, and indexes without a tree.
  fileprivate func catalogFindings(of wanted: String?) throws(ModelError) -> [Finding] {
    var findings: [Finding] = []
    var named: Set<TreeName> = []
    for datastore in try ownDatastores {
      let key = datastore.descriptor.key
      named.formUnion([.records(of: key), .leftOut(of: key)])
      for index in datastore.descriptor.indexes {
        named.insert(.index(index.name, of: key))
        guard wanted == nil || wanted == key, !index.isStale, try tree(.index(index.name, of: key)) == nil else {
          continue
        }
        findings.append(
          Finding(
            severity: .wrong, datastore: key, index: index.name, text: "its tree is missing",
            advice: "rebuild the index"))
      }
      findings += try directFindings(of: datastore)
    }
    for name in try onStorage({ try view.trees(prefix: []) }) where !named.contains(name) {
      guard let (datastore, index) = name.indexName, wanted == nil || wanted == datastore else { continue }
      findings.append(
        Finding(
          severity: .wrong, datastore: datastore, index: index, text: "there is a tree, and no descriptor names it"))
    }
    return findings
  }

  /// Entries of direct indexes that do not refer to the present record.
  private func directFindings(of datastore: EngineDatastore) throws(ModelError) -> [Finding] {
    var findings: [Finding] = []
    for index in datastore.descriptor.indexes where index.storage == .direct && !index.isStale {
      guard let tree = try tree(.index(index.name, of: datastore.descriptor.key)) else { continue }
      var cursor = tree.cursor()
      try onStorage { try cursor.seek(rank: 0) }
      while let entry = cursor.current, findings.count < DatastoreVerifier.listLimit {
        if let (value, identifier) = entry.key.withUnsafeBytes({ EntryKey.split($0) }),
          try datastore.entry(identifier)?.payload.record != entry.payload.record
        {
          findings.append(
            Finding(
              severity: .wrong, datastore: datastore.descriptor.key, index: index.name,
              record: datastore.descriptor.storedKey(identifier),
              text: "the entry \(index.shownValue(value)) refers to an older version of the record",
              advice: "rebuild the index"))
        }
        try onStorage { try cursor.next() }
      }
    }
    return findings
  }
}
