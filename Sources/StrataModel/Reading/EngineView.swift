import StrataEngine

/// A commit of one of our own stores.
struct EngineView: ReadableView {
  let store: EngineStore
  let view: View

  var commit: CommitNumber { CommitNumber(view.number) }

  var datastores: [any ReadableDatastore] {
    get throws(ModelError) { try ownDatastores }
  }

  var ownDatastores: [EngineDatastore] {
    get throws(ModelError) {
      var found: [EngineDatastore] = []
      for key in try datastoreKeys {
        if let datastore = try ownDatastore(key) { found.append(datastore) }
      }
      return found
    }
  }

  /// In the order of the keys.
  var datastoreKeys: [String] {
    get throws(ModelError) {
      store.beginReading(.outline(commit))
      defer { store.endReading() }
      return try onStorage { try view.trees(prefix: TreeName.records(of: "").bytes) }
        .compactMap(\.datastoreKey)
    }
  }

  func datastore(_ key: String) throws(ModelError) -> (any ReadableDatastore)? { try ownDatastore(key) }

  func ownDatastore(_ key: String) throws(ModelError) -> EngineDatastore? {
    store.beginReading(.outline(commit))
    defer { store.endReading() }
    guard let tree = try tree(.records(of: key)) else { return nil }
    return EngineDatastore(view: self, descriptor: try store.descriptors.descriptor(tree.attributes.array), tree: tree)
  }

  /// As `ownDatastore`, but throws where there is none.
  func requiredDatastore(_ key: String) throws(ModelError) -> EngineDatastore {
    guard let datastore = try ownDatastore(key) else { throw .noSuchDatastore(key, known: try datastoreKeys) }
    return datastore
  }

  func tree(_ name: TreeName) throws(ModelError) -> Tree? {
    try onStorage { try view.tree(name) }
  }
}
