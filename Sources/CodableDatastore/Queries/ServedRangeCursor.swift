import StrataModel
import StrataEngine

/// A cursor over a range of a tree on a server, whose entries are not counted: it reads a page at a time, with the records.
struct ServedRangeCursor: EntryCursor {
  private let tree: Tree
  private var request: PageRequest
  private var page: ArraySlice<PageRow> = []
  private var isAtEnd = false

  /// The number of entries of the first page; further pages are longer.
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
    page = try onStorage { try tree.page(request) }[...]
    isAtEnd = page.count < request.limit
    guard let last = page.last?.key.array else { return }
    if request.isReversed { request.upper = last } else { request.lower = last + [0] }
    request.limit = min(Self.longestPage, request.limit * 2)
  }
}
