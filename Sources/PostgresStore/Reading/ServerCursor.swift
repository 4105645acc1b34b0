/// A place in a tree that moves from entry to entry in order, reading pages: one round trip for each.
///
/// A cursor is a value: a copy goes its own way. It stays at the commit that it was made for.
package struct ServerCursor: Sendable {
  private let tree: ServerTree
  private let pageSize: Int
  /// A run of neighbours in order, and where the cursor stands among them; before the first it is −1.
  private var page: [ServerEntry] = []
  private var index = 0
  private var isAtStart = false
  private var isAtEnd = false

  init(tree: ServerTree, page: Int) {
    self.tree = tree
    pageSize = max(2, page)
  }

  /// The entry at the cursor; nil before the first seek, and beyond either end.
  package var current: ServerEntry? { page.indices.contains(index) ? page[index] : nil }

  /// Goes to the first entry that is not less than the key.
  package mutating func seek(to key: [UInt8]) throws(ServerError) {
    take(try tree.page(KeyRange(from: key), limit: pageSize))
  }

  /// Goes to the entry with `rank` entries before it; beyond the end where there are not so many.
  package mutating func seek(rank: UInt64) throws(ServerError) { take(try tree.page(rank: rank, limit: pageSize)) }

  package mutating func seekToStart() throws(ServerError) { try seek(to: []) }

  package mutating func seekToEnd() throws(ServerError) {
    let entries = try tree.page(limit: pageSize, isReversed: true)
    page = entries.reversed()
    index = page.count - 1
    (isAtStart, isAtEnd) = (page.isEmpty, page.isEmpty)
  }

  private mutating func take(_ entries: [ServerEntry]) {
    page = entries
    index = 0
    (isAtStart, isAtEnd) = (false, entries.isEmpty)
  }

  /// Goes to the entry behind; from before the start to the first one. Beyond the last there is none.
  package mutating func next() throws(ServerError) {
    if isAtStart, !isAtEnd || page.isEmpty { return try seekToStart() }
    guard current != nil else { return }
    index += 1
    guard index == page.count, let last = page.last else { return }
    let entries = try tree.page(KeyRange(from: last.key + [0]), limit: pageSize)
    if entries.isEmpty { isAtEnd = true } else { take(entries) }
  }

  /// Goes to the entry before; from behind the end to the last one. Before the first there is none.
  package mutating func previous() throws(ServerError) {
    if isAtEnd { return try seekToEnd() }
    guard current != nil else { return }
    index -= 1
    guard index < 0, let first = page.first else { return }
    let entries = try tree.page(KeyRange(to: first.key), limit: pageSize, isReversed: true)
    if entries.isEmpty {
      isAtStart = true
    } else {
      page = entries.reversed()
      index = page.count - 1
    }
  }
}
