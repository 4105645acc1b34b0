import StrataEngine

/// A commit of one of our own stores.
struct EngineView: ReadableView {
  let store: EngineStore
  let view: View

  var commit: CommitNumber { CommitNumber(view.number) }

  var ownDatastores: [EngineDatastore] {
    get throws(ModelError) {
      try datastoreKeys.map { key throws(ModelError) in try ownDatastore(key) }.compactMap(\.self)
    }
  }

  /// In the order of the keys.
  var datastoreKeys: [String] {
    get throws(ModelError) { try treeNames(prefix: TreeName.records(of: "").bytes).compactMap(\.datastoreKey) }
  }

  func treeNames(prefix: [UInt8] = []) throws(ModelError) -> [TreeName] {
    store.beginReading(.outline(commit))
    defer { store.endReading() }
    return try onStorage { try view.trees(prefix: prefix) }
  }

  func datastore(_ key: String) throws(ModelError) -> (any ReadableDatastore)? { try ownDatastore(key) }

  func ownDatastore(_ key: String) throws(ModelError) -> EngineDatastore? {
    store.beginReading(.outline(commit))
    defer { store.endReading() }
    do throws(ModelError) {
      guard let tree = try tree(.records(of: key)) else { return nil }
      let descriptor = try store.descriptors.descriptor(tree.attributes.array)
      return EngineDatastore(view: self, descriptor: descriptor, tree: tree)
    } catch .storage(let text, kind: .damaged) {
      throw .storage("the descriptor of \(key) cannot be read: \(text)", kind: .damaged)
    }
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
