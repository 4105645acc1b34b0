import StorageEngine

extension OwnStore {
  package func versions(
    of key: StoredKey, in datastore: String, from newest: CommitNumber, limit: Int
  ) throws(ModelError) -> [RecordVersion] {
    let view = try ownView(at: newest)
    let datastore = try view.requiredDatastore(datastore)
    var cursor = try onStorage { () throws(StorageError) in
      try view.view.versions(of: datastore.probe(key.bytes), in: .records(of: datastore.descriptor.key))
    }
    var versions: [RecordVersion] = []
    while versions.count < limit, let version = try onStorage({ () throws(StorageError) in try cursor.next() }) {
      var record: Record?
      if let change = version.change, change.kind == .put { record = try datastore.record(key, at: change.reference) }
      versions.append(RecordVersion(commit: try commit(CommitNumber(version.commit)), record: record))
    }
    return versions
  }
}

extension OwnDatastore {
  /// The probe that finds an identifier, also in a tree whose order only the app knows: there it stops at no key but the
  /// one itself, so the engine walks.
  func probe(_ identifier: [UInt8]) -> KeyProbe {
    view.store.formats[descriptor.key]?.recordOrder.probe(identifier) ?? .bytes(identifier)
  }
}
