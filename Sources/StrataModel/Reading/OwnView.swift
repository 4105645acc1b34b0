import StrataEngine

/// A commit of one of our own stores.
struct OwnView: ReadableView {
  let store: OwnStore
  let view: View

  var commit: CommitNumber { CommitNumber(view.commit.number) }

  var datastores: [any ReadableDatastore] {
    get throws(ModelError) { try ownDatastores }
  }

  var ownDatastores: [OwnDatastore] {
    get throws(ModelError) {
      var found: [OwnDatastore] = []
      for key in try datastoreKeys {
        if let datastore = try ownDatastore(key) { found.append(datastore) }
      }
      return found
    }
  }

  /// In the order of the keys.
  var datastoreKeys: [String] {
    get throws(ModelError) {
      store.foresee(.outline(commit))
      defer { store.foreseen() }
      return try onStorage { () throws(StorageError) in try view.trees(prefix: TreeName.records(of: "").bytes) }
        .compactMap(\.datastoreKey)
    }
  }

  func datastore(_ key: String) throws(ModelError) -> (any ReadableDatastore)? { try ownDatastore(key) }

  func ownDatastore(_ key: String) throws(ModelError) -> OwnDatastore? {
    store.foresee(.outline(commit))
    defer { store.foreseen() }
    guard let tree = try tree(.records(of: key)) else { return nil }
    return OwnDatastore(view: self, descriptor: try store.descriptors.descriptor(tree.attributes.array), tree: tree)
  }

  /// As `ownDatastore`, but throws where there is none.
  func requiredDatastore(_ key: String) throws(ModelError) -> OwnDatastore {
    guard let datastore = try ownDatastore(key) else { throw .noSuchDatastore(key, known: try datastoreKeys) }
    return datastore
  }

  func tree(_ name: TreeName) throws(ModelError) -> Tree? {
    try onStorage { () throws(StorageError) in try view.tree(name) }
  }
}
