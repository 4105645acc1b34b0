import StrataEngine

extension EngineStore {
  package func versions(
    of key: StoredKey, in datastore: String, from newest: CommitNumber, limit: Int
  ) throws(ModelError) -> [RecordVersion] {
    beginReading(.versions(of: key.bytes, in: datastore, from: newest, limit: limit))
    defer { endReading() }
    let view = try engineView(at: newest)
    let datastore = try view.requiredDatastore(datastore)
    var versions: [RecordVersion] = []
    var walk = try VersionSource(of: key.bytes, in: datastore)
    while versions.count < limit, let version = try onStorage({ try walk.next() }) {
      let put = version.change.flatMap { $0.kind == .put ? $0.reference : nil }
      versions.append(
        RecordVersion(
          commit: try commit(CommitNumber(version.commit), in: view.view),
          record: try datastore.evenDamaged(key, at: put)))
    }
    return versions
  }
}

/// The states of a key, newest first.
private enum VersionSource {
  /// As the engine finds them, across restores.
  case cursor(VersionCursor)
  /// In an order that only the app knows: from where the key was found by walking, along what each change replaced.
  case chain(RecordReference?, Tree)

  init(of identifier: [UInt8], in datastore: EngineDatastore) throws(ModelError) {
    let order = datastore.recordOrder
    if datastore.tree.order == order.treeOrder {
      self = .cursor(
        try onStorage {
          try datastore.view.view.versions(
            of: order.place(of: identifier).keptProbe, in: .records(of: datastore.descriptor.key))
        })
      return
    }
    var found = try datastore.tree.firstEntry { $0 == identifier }?.entry
    if found == nil { found = try datastore.tree.tombstones?.firstEntry { $0 == identifier }?.entry }
    self = .chain(found?.payload.record, datastore.tree)
  }

  mutating func next() throws(StorageError) -> (commit: UInt64, change: Change?)? {
    switch self {
    case .cursor(var cursor):
      let version = try cursor.next()
      self = .cursor(cursor)
      return version.map { ($0.commit, $0.change) }
    case .chain(let reference, let tree):
      guard let reference else { return nil }
      let change = try tree.change(of: reference)
      self = .chain(change.replaced, tree)
      return (change.commit, change)
    }
  }
}
