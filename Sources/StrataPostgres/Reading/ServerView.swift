package import StrataEngine

/// The whole store as of one commit: a number. It holds nothing on the server, and stays readable until its commit is pruned.
package final class ServerView: ServedView {
  package let store: ServerStore
  package let commit: ServerCommit
  /// The state that is read: that of the commit, or of a later bookkeeping commit that changed nothing.
  package let asOf: UInt64
  /// The server's answer that came along with the view.
  private let prefetched: ReadAhead.Answer?

  init(_ store: ServerStore, _ commit: ServerCommit, asOf: UInt64, prefetched: ReadAhead.Answer? = nil) {
    (self.store, self.commit, self.asOf, self.prefetched) = (store, commit, asOf, prefetched)
  }

  /// The view as the layers above know it.
  var view: View { View(commit: commit.record, served: self) }

  /// A tree, or nil if this view has none of that name. Asks the server only if the trees are not known yet.
  package func served(_ name: TreeName) throws(StorageError) -> ServerTree? {
    guard let stored = try stored(name) else { return nil }
    return ServerTree(.init(stored.row), name, stored, of: store, prefetched: prefetched) {
      [self] name throws(StorageError) in try served(name)
    }
  }

  func stored(_ name: TreeName) throws(StorageError) -> StoredTree? {
    try store.catalog(upTo: asOf).row(name, at: asOf).map { StoredTree(store: store, row: $0, asOf: asOf) }
  }

  package func tree(_ name: TreeName) throws(StorageError) -> Tree? { try served(name)?.tree }

  package func trees(prefix: [UInt8] = []) throws(StorageError) -> [TreeName] {
    try store.catalog(upTo: asOf).names(prefix: prefix, at: asOf)
  }

  package func differences(
    to newer: any ServedView, in name: TreeName, from key: [UInt8]
  ) throws(StorageError) -> (page: [Difference], next: [UInt8]?) {
    guard let newer = newer as? ServerView else { throw .refused("the two states are not of the same kind of store") }
    let (before, after) = (try served(name), try newer.served(name))
    if let before, let after, before.number == after.number, let tree = after.stored {
      let (page, next) = try tree.differences(from: asOf, key: key)
      let differences = page.map { found in
        Difference(
          key: Bytes(found.key), old: found.old.map { before.entry($0) }, new: found.new.map { after.entry($0) })
      }
      return (differences, next)
    }
    // Two trees that share nothing, or one tree alone.
    let (limit, range) = (1_000, KeyRange(lower: key))
    let (old, new) = (try before?.entries(range, limit: limit) ?? [], try after?.entries(range, limit: limit) ?? [])
    let end = [old, new].compactMap { $0.count == limit ? $0.last?.key : nil }.min { $0.precedes($1) }
    var differences: [[UInt8]: Difference] = [:]
    for (tree, page, side) in [(before, old, \Difference.old), (after, new, \Difference.new)] {
      for entry in page where end.map({ !$0.precedes(entry.key) }) ?? true {
        differences[entry.key, default: Difference(key: Bytes(entry.key), old: nil, new: nil)][keyPath: side] =
          tree?.entry(entry)
      }
    }
    return (differences.values.sorted { $0.key < $1.key }, end.map { $0 + [0] })
  }
}
