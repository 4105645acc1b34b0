import DatastoreModel
import StorageEngine

/// Goes along a range of a tree on a server, whose entries nobody counted: a page at a time, with their records.
struct ServedRangeCursor: EntryCursor {
  private let tree: Tree
  /// The page that is asked for next.
  private var request: PageRequest
  private var page: ArraySlice<PageRow> = []
  private var isAtEnd = false

  /// Entries of the first page; who goes on reading gets longer ones.
  static let firstPage = 100
  private static let longestPage = 1_600

  init(_ tree: Tree, _ first: PageRequest) {
    self.tree = tree
    request = first
  }

  var isAtHand: Bool { !page.isEmpty || isAtEnd }

  mutating func next() throws(ModelError) -> QueryCandidate? {
    if page.isEmpty, !isAtEnd { try turn() }
    guard let row = page.popFirst() else { return nil }
    guard request.records != nil else {
      return QueryCandidate(key: StoredKey(bytes: row.key.array, value: .null), record: row.record)
    }
    guard let identifier = row.key.withUnsafeBytes({ EntryKey.identifier($0) })
    else { throw .unreadable(what: "an entry of an index", where: "its key cannot be taken apart") }
    return QueryCandidate(key: StoredKey(bytes: identifier, value: .null), record: row.record)
  }

  private mutating func turn() throws(ModelError) {
    page = try onStorage { () throws(StorageError) in try tree.page(request) }[...]
    isAtEnd = page.count < request.limit
    guard let last = page.last?.key.array else { return }
    if request.isReversed { request.upper = last } else { request.lower = last + [0] }
    request.limit = min(Self.longestPage, request.limit * 2)
  }
}
