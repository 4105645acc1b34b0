/// A store's state as of one commit on a server: what a `View` holds there.
package protocol ServedView: AnyObject, Sendable {
  func tree(_ name: TreeName) throws(StorageError) -> Tree?
  func trees(prefix: [UInt8]) throws(StorageError) -> [TreeName]
  /// The states that a key has had up to this view, newest first, its deletes among them: at most `limit`, of commits before
  /// `before`. Fewer are all.
  func versions(
    of key: [UInt8], in name: TreeName, before: UInt64?, limit: Int
  ) throws(StorageError) -> [Version]
  /// What differs from this view to another one in a tree, in the order of the keys, from a key on: a page of it.
  func differences(
    to newer: any ServedView, in name: TreeName, from key: [UInt8]
  ) throws(StorageError) -> ServedDifferencePage
}

/// A part of what differs between two views.
package struct ServedDifferencePage: Sendable {
  package var differences: [Difference]
  /// Where the next page begins; nil where there is none.
  package var next: [UInt8]?

  package init(differences: [Difference], next: [UInt8]?) {
    self.differences = differences
    self.next = next
  }
}

/// A tree on a server, in the order of bytes: as of a commit, or as a transaction has it. What it shows never changes.
package protocol ServedTree: AnyObject, Sendable {
  var count: UInt64 { get throws(StorageError) }
  /// The entries of keys, each in the place of its key: one round trip.
  func find(_ keys: [[UInt8]]) throws(StorageError) -> [Entry?]
  /// How many entries lie before a key: counted.
  func rank(of key: [UInt8]) throws(StorageError) -> UInt64
  /// The first entries from `lower` on and before `upper`, in order; the last ones, in falling order, where `isReversed`. Fewer than
  /// `limit` are all.
  func page(from lower: [UInt8], to upper: [UInt8]?, limit: Int, isReversed: Bool) throws(StorageError) -> [Entry]
  /// The same, each entry with its record. One round trip of a view; one more for the records of an open transaction, and none for what
  /// was foreseen.
  func page(_ request: PageRequest) throws(StorageError) -> [PageRow]
  /// A key that just `rank` entries lie before, or as the least bound nothing lies behind; nil where there are not so many.
  func bound(atRank rank: UInt64) throws(StorageError) -> [UInt8]?
}

/// A record of a store on a server: the key that it has in its tree, the commit that wrote it, and its value.
///
/// `RecordReference` holds one where a file's says where a change entry lies.
package final class ServedRecord: Sendable {
  package let tree: UInt32
  package let key: Bytes
  /// The commit that wrote it; 0: the transaction that it was read in.
  package let commit: UInt64
  package let kind: Change.Kind
  /// The state that it took the place of, where that was asked for.
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

  /// Came with its entry, or is read now.
  package var value: Bytes { get throws(StorageError) { try read() } }

  package var reference: RecordReference { .served(self) }

  package var change: Change {
    Change(
      commit: commit, tree: tree, key: key, kind: kind, replaced: replaced?.reference,
      replacesDelete: replaced?.kind == .delete, reference: reference)
  }
}

extension ServedRecord: Hashable {
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

/// A place in a tree on a server: a run of entries at a time. A copy goes its own way.
struct ServedCursor: Sendable {
  private let tree: any ServedTree
  private var page: [Entry] = []
  private var index = 0
  private var edge: Edge?
  /// Who goes on reading gets longer pages.
  private var limit = Self.shortest

  private enum Edge { case beforeStart, afterEnd }

  private static let shortest = 100
  private static let longest = 1_600

  init(_ tree: any ServedTree) { self.tree = tree }

  var current: Entry? { page.indices.contains(index) ? page[index] : nil }

  /// The entries of the page from the current one on.
  var rest: ArraySlice<Entry> { page.indices.contains(index) ? page[index...] : [] }

  /// Those before it.
  var before: ArraySlice<Entry> { page.indices.contains(index) ? page[..<index] : [] }

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
  /// The key in a tree of byte order. A server orders nothing else.
  func served() throws(StorageError) -> [UInt8] {
    guard case .bytes(let key) = self else {
      throw .wrongTree(TreeName([]), reason: "its order is that of bytes")
    }
    return key
  }
}

/// What differs between two views on a server, a page at a time.
struct ServedDifferences: Sendable {
  private let older: any ServedView
  private let newer: any ServedView
  private let name: TreeName
  private var page: ArraySlice<Difference> = []
  private var nextKey: [UInt8]? = []

  init(older: any ServedView, newer: any ServedView, name: TreeName) {
    self.older = older
    self.newer = newer
    self.name = name
  }

  mutating func next() throws(StorageError) -> Difference? {
    while page.isEmpty {
      guard let key = nextKey else { return nil }
      let found = try older.differences(to: newer, in: name, from: key)
      page = found.differences[...]
      nextKey = found.next
    }
    return page.removeFirst()
  }
}

/// The states that a record has had on a server, newest first.
struct ServedVersions: Sendable {
  private let view: any ServedView
  private let name: TreeName
  private let key: [UInt8]
  private var page: ArraySlice<Version> = []
  private var before: UInt64?
  private var isAtEnd = false

  private static let pageSize = 100

  init(view: any ServedView, name: TreeName, key: [UInt8]) {
    self.view = view
    self.name = name
    self.key = key
  }

  mutating func next() throws(StorageError) -> Version? {
    if page.isEmpty, !isAtEnd {
      page = try view.versions(of: key, in: name, before: before, limit: Self.pageSize)[...]
      isAtEnd = page.count < Self.pageSize
      before = page.last?.commit
    }
    return page.popFirst()
  }
}
