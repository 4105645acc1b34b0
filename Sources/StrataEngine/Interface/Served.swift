/// A store's state as of one commit on a server: the part of a `View` that reads there.
package protocol ServedView: AnyObject, Sendable {
  func tree(_ name: TreeName) throws(StorageError) -> Tree?
  func trees(prefix: [UInt8]) throws(StorageError) -> [TreeName]
  /// The states of a key up to this view, newest first, its deletes among them: at most `limit`, of commits before `before`. Fewer than
  /// `limit` are all.
  func versions(
    of key: [UInt8], in name: TreeName, before: UInt64?, limit: Int
  ) throws(StorageError) -> [Version]
  /// A page of the differences from this view to another one in a tree, in the order of the keys, from a key on. `next` is the key at which
  /// the next page begins; nil if there is none.
  func differences(
    to newer: any ServedView, in name: TreeName, from key: [UInt8]
  ) throws(StorageError) -> (page: [Difference], next: [UInt8]?)
}

/// A tree on a server, in the order of bytes, as of a commit, or as a transaction has it. Its contents never change.
package protocol ServedTree: AnyObject, Sendable {
  var count: UInt64 { get throws(StorageError) }
  /// Finds the entries of keys, each at the position of its key. Costs one round trip.
  func find(_ keys: [[UInt8]]) throws(StorageError) -> [Entry?]
  /// How many entries lie before a key: counted.
  func rank(of key: [UInt8]) throws(StorageError) -> UInt64
  /// The first entries from `lower` on and before `upper`, in ascending order. If `isReversed` is true, the last ones, in descending order.
  /// Fewer than `limit` are all.
  func page(from lower: [UInt8], to upper: [UInt8]?, limit: Int, isReversed: Bool) throws(StorageError) -> [Entry]
  /// The same, each entry with its record. Costs one round trip of a view, one more for the records of an open transaction, and none for
  /// records that were prefetched.
  func page(_ request: PageRequest) throws(StorageError) -> [PageRow]
  /// A key that exactly `rank` entries lie before, or a bound behind the last entry. Returns nil if there are fewer entries.
  func bound(atRank rank: UInt64) throws(StorageError) -> [UInt8]?
}

/// A record of a store on a server: the key that it has in its tree, the commit that wrote it, and its value.
///
/// On a server, `RecordReference` holds such a record; in a file, the place of a change entry.
package final class ServedRecord: Sendable, Hashable {
  package let tree: UInt32
  package let key: Bytes
  /// The commit that wrote it; 0: the transaction that it was read in.
  package let commit: UInt64
  package let kind: Change.Kind
  /// The state that it replaced, if the caller asked for it.
  let replaced: ServedRecord?
  private let read: @Sendable () throws(StorageError) -> Bytes

  package init(
    tree: UInt32, key: Bytes, commit: UInt64, kind: Change.Kind = .put, replaced: ServedRecord? = nil,
    value: @escaping @Sendable () throws(StorageError) -> Bytes
  ) {
    self.tree = tree
    self.key = key
    self.commit = commit
    self.kind = kind
    self.replaced = replaced
    read = value
  }

  /// The value, which came with its entry or is read now.
  package var value: Bytes { get throws(StorageError) { try read() } }

  package var reference: RecordReference { .served(self) }

  package var change: Change {
    Change(
      commit: commit, tree: tree, key: key, kind: kind, replaced: replaced?.reference,
      replacesDelete: replaced?.kind == .delete, reference: reference)
  }

  package static func == (left: ServedRecord, right: ServedRecord) -> Bool {
    left === right
      || (left.tree == right.tree && left.commit == right.commit && left.kind == right.kind && left.key == right.key)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(tree)
    hasher.combine(key)
    hasher.combine(commit)
  }
}

/// A place in a tree on a server, which reads a run of entries at a time. A copy moves independently.
struct ServedCursor: Sendable {
  private let tree: any ServedTree
  private var page: [Entry] = []
  private var index = 0
  private var edge: Cursor.Edge?
  /// The length of the next page. Pages grow while reading goes on.
  private var limit = Self.shortest

  private static let shortest = 100
  private static let longest = 1_600

  init(_ tree: any ServedTree) { self.tree = tree }

  var current: Entry? { page.indices.contains(index) ? page[index] : nil }

  /// The entries of the page from the current one on, or up to it if `before` is true.
  func atHand(before: Bool) -> ArraySlice<Entry> {
    page.indices.contains(index) ? before ? page[...index] : page[index...] : []
  }

  mutating func seek(to key: [UInt8]) throws(StorageError) {
    limit = Self.shortest
    show(try tree.page(from: key, to: nil, limit: limit, isReversed: false))
  }

  mutating func seek(rank: UInt64) throws(StorageError) {
    if rank == 0 { return try seek(to: []) }
    if let key = try tree.bound(atRank: rank) { return try seek(to: key) }
    show([])
  }

  mutating func seekToEnd() throws(StorageError) {
    limit = Self.shortest
    show(try tree.page(from: [], to: nil, limit: limit, isReversed: true).reversed(), atEnd: true)
    if page.isEmpty { edge = .afterEnd }
  }

  private mutating func show(_ entries: [Entry], atEnd: Bool = false) {
    page = entries
    index = atEnd ? entries.count - 1 : 0
    edge = entries.isEmpty ? (atEnd ? .beforeStart : .afterEnd) : nil
  }

  mutating func next() throws(StorageError) {
    guard let current else {
      if edge == .beforeStart { try seek(to: []) }
      return
    }
    index += 1
    guard index == page.count else { return }
    limit = min(Self.longest, limit * 2)
    show(try tree.page(from: current.key.array + [0], to: nil, limit: limit, isReversed: false))
  }

  mutating func previous() throws(StorageError) {
    guard let current else {
      if edge == .afterEnd { try seekToEnd() }
      return
    }
    index -= 1
    guard index < 0 else { return }
    limit = min(Self.longest, limit * 2)
    show(
      try tree.page(from: [], to: current.key.array, limit: limit, isReversed: true).reversed(), atEnd: true)
  }
}

extension KeyProbe {
  /// The key in a tree of byte order. A server has no other order.
  func served() throws(StorageError) -> [UInt8] {
    guard case .bytes(let key) = self else {
      throw .wrongTree(TreeName([]), reason: "its order is that of bytes")
    }
    return key
  }
}

/// Elements on a server, a page at a time.
struct ServedPages<Element: Sendable, Place: Sendable>: Walk {
  /// The place of the next page; nil behind the last one.
  private var place: Place?
  private var page: ArraySlice<Element> = []
  private let read: @Sendable (Place) throws(StorageError) -> (page: [Element], next: Place?)

  /// - Parameter read: Reads the page at a place, and returns the place of the next one.
  init(place: Place, _ read: @escaping @Sendable (Place) throws(StorageError) -> (page: [Element], next: Place?)) {
    self.place = place
    self.read = read
  }

  mutating func next() throws(StorageError) -> Element? {
    while page.isEmpty, let next = place {
      let found = try read(next)
      (page, place) = (found.page[...], found.next)
    }
    return page.popFirst()
  }
}
