package import StorageEngine

/// An entry that two views of a tree do not share.
package struct ServerDifference: Hashable, Sendable {
  package var key: [UInt8]
  /// Nil where only the newer view has the key.
  package var old: ServerEntry?
  /// Nil where only the older view has the key.
  package var new: ServerEntry?

  package init(key: [UInt8], old: ServerEntry?, new: ServerEntry?) {
    self.key = key
    self.old = old
    self.new = new
  }
}

/// Goes through what differs between two commits in one tree, in the order of keys, a page for each round trip. Costs what was changed
/// between the two, whatever the size of the tree.
package struct ServerDifferenceCursor: Sendable {
  private let store: ServerStore
  private let tree: ServerCatalog.Row
  private let old: UInt64
  private let new: UInt64
  private let limit: Int
  private var page: [ServerDifference] = []
  private var index = 0
  /// Where the next page begins; nil at the end.
  private var nextKey: [UInt8]? = []

  /// Nil where the newer view lacks the tree, or where the older one has another tree of that name: then nothing is shared.
  package init?(
    from old: ServerView, to new: ServerView, tree name: TreeName, page: Int = 1_000
  ) throws(ServerError) {
    guard let before = try old.tree(name), let after = try new.tree(name), before.identifier == after.identifier else {
      return nil
    }
    self.init(store: new.store, tree: after.row, from: old.asOf, to: new.asOf, page: page)
  }

  init(store: ServerStore, tree: ServerCatalog.Row, from old: UInt64, to new: UInt64, page: Int) {
    self.store = store
    self.tree = tree
    self.old = old
    self.new = new
    limit = max(1, page)
  }

  /// The differences from a key on, some of them, and where the next ones begin.
  static func page(
    store: ServerStore, tree: ServerCatalog.Row, from old: UInt64, to new: UInt64, key: [UInt8]
  ) throws(ServerError) -> (differences: [ServerDifference], next: [UInt8]?) {
    var cursor = ServerDifferenceCursor(store: store, tree: tree, from: old, to: new, page: 1_000)
    try cursor.read(from: key)
    return (cursor.page, cursor.nextKey)
  }

  /// The next difference, or nil at the end.
  package mutating func next() throws(ServerError) -> ServerDifference? {
    while index == page.count {
      guard let key = nextKey else { return nil }
      try read(from: key)
    }
    defer { index += 1 }
    return page[index]
  }

  private mutating func read(from key: [UInt8]) throws(ServerError) {
    let (earlier, later) = (min(old, new), max(old, new))
    let rows = try store.read(
      store.tables.statement(
        "difference",
        """
        with k as (
          select h.key from {history} h where h.tree = $1 and h.died > $2 and h.died <= $3
            and \(Tables.unindexed("h")) >= $4
          union
          select c.key from {current} c where c.tree = $1 and \(Tables.isInserted("c", after: "$2")) and c.inserted <= $3
            and \(Tables.unindexed("c")) >= $4
          union
          select h.key from {history} h
          where h.tree = $1 and h.inserted > $2 and h.inserted <= $3 and h.born = h.inserted
            and \(Tables.unindexed("h")) >= $4
          order by key limit $5)
        select k.key, \(ServerEntry.columns("o")), \(ServerEntry.columns("n")) from k
          left join lateral \(ServerTree.alive("$1", "k.key", "$2")) o on true
          left join lateral \(ServerTree.alive("$1", "k.key", "$3")) n on true
        order by k.key
        """,
        [
          .int32(tree.tree), .int(Int64(bitPattern: earlier)), .int(Int64(bitPattern: later)), .bytes(key),
          .int(Int64(limit)),
        ]), asOf: earlier)
    page.removeAll(keepingCapacity: true)
    index = 0
    for row in 0..<rows.count {
      let key = rows.bytes(row, 0) ?? []
      var difference = ServerDifference(
        key: key, old: ServerEntry(rows, row, at: 1, key: key),
        new: ServerEntry(rows, row, at: 1 + ServerEntry.columnCount, key: key))
      if old > new { swap(&difference.old, &difference.new) }
      if !isSame(difference.old, difference.new) { page.append(difference) }
    }
    nextKey = rows.count < limit ? nil : rows.bytes(rows.count - 1, 0).map { $0 + [0] }
  }

  /// Whether two states of a key are one: what was written by one commit and brought back by another, and what came and went between.
  private func isSame(_ left: ServerEntry?, _ right: ServerEntry?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    return tree.kind == .records ? left.written == right.written : left.payload == right.payload
  }
}
