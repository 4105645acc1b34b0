package import StorageEngine

/// The whole store as of one commit: a number. It holds nothing on the server, and stays readable until its commit is pruned.
package struct ServerView: Sendable {
  package let store: ServerStore
  package let commit: ServerCommit
  /// The state that is read: that of the commit, or a later one that keeps book beside it and changed nothing.
  package let asOf: UInt64

  /// A tree, or nil where this view has none of that name. Asks the server only where it has not told of the trees yet.
  package func tree(_ name: TreeName) throws(ServerError) -> ServerTree? {
    guard let row = try store.catalog(upTo: asOf).row(name, at: asOf) else { return nil }
    return ServerTree(store: store, row: row, asOf: asOf)
  }

  /// The names of the trees that begin with `prefix`, in their order.
  package func trees(prefix: [UInt8] = []) throws(ServerError) -> [TreeName] {
    try store.catalog(upTo: asOf).names(prefix: prefix, at: asOf)
  }
}
