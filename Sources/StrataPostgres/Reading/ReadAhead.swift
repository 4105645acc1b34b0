import StrataLocks
import StrataEngine

/// A read of the newest state before its number is known: it goes out with the question for the newest commit, and the answer names the
/// commit that it belongs to.
struct ReadAhead: Sendable {
  /// The content of the newest state that was asked for ahead.
  enum Answer: Sendable {
    case keys([TreeKey: ServerEntry?])
    case page(PageRequest, tree: Int32, [ServerEntry])
    case pageWithRecords(PageRequest, tree: Int32, records: Int32, [KeyWithRecord])
  }

  /// By the last known numbers of the trees. If a tree was replaced meanwhile, no reader looks for the answer.
  private enum Question {
    case keys([TreeKey])
    case page(PageRequest, tree: Int32, records: Int32?)
  }

  private let question: Question

  /// Returns nil if no such tree is known.
  init?(_ foresight: Prefetch, _ catalog: ServerCatalog) {
    func number(_ name: TreeName) -> Int32? { catalog.row(name, at: catalog.upTo)?.tree }
    switch foresight {
    case .keys(let keys):
      let places = keys.compactMap { key in number(key.tree).map { TreeKey(tree: $0, key: key.key) } }
      if places.isEmpty { return nil }
      question = .keys(places)
    case .asked: return nil
    case .page(let request):
      guard let tree = number(request.tree) else { return nil }
      let records = request.records.flatMap(number)
      if request.records != nil, records == nil { return nil }
      question = .page(request, tree: tree, records: records)
    }
  }

  /// `current` alone is the newest state, and one statement knows the number of that.
  ///
  /// - Parameter newest: The newest known state. If the server has another one, its head comes along with keys: `news` reads it.
  func statement(_ tables: Tables, known newest: UInt64) -> Statement {
    let newest = SQLValue.number(newest)
    switch question {
    case .keys(let places) where places.count == 1:
      return tables.statement(
        "findNewest",
        """
        select \(News.columns(tables)), \(ServerEntry.columns("e")) from {store} s
          left join {current} e on e.tree = $2 and e.key = $3
        where s.one
        """, [newest, .int32(places[0].tree), .bytes(places[0].key)])
    case .keys(let places):
      return tables.statement(
        "findAllNewest",
        """
        select \(News.columns(tables)), \(ServerEntry.columns("e")), k.place::integer from {store} s
          cross join unnest($2::integer[], $3::bytea[]) with ordinality k (tree, key, place)
          left join {current} e on e.tree = k.tree and e.key = k.key
        where s.one
        """, [newest, .int32s(places.map(\.tree)), .byteArrays(places.map(\.key))])
    case .page(let request, let tree, let records):
      let order = request.isReversed ? "desc" : "asc"
      let range = KeyRange(lower: request.lower, upper: request.upper)
      var parameters: [SQLValue] = [.int32(tree)] + range.parameters + [.int(Int64(request.limit))]
      var (columns, join) = (ServerEntry.columns("e"), "")
      if let records {
        columns = KeyWithRecord.columns("e", "r")
        join = "left join {current} r on r.tree = $5 and r.key = \(StoredTree.endOfKey("e"))"
        parameters.append(.int32(records))
      }
      // The order of the answer is made here: the server would sort again what its index has sorted.
      return tables.statement(
        "pageNewest\(request.isReversed ? "Back" : "")\(records == nil ? "" : "WithRecords")",
        """
        select s.newest, \(columns) from {store} s
          left join lateral (
            select \(records == nil ? "c.*" : "c.key") from {current} c where c.tree = $1 and c.key >= $2 and c.key < $3
            order by c.key \(order) limit $4) e on true
          \(join)
        where s.one
        """, parameters)
    }
  }

  /// Whether the news comes along with the answer.
  var tellsNews: Bool { if case .keys = question { true } else { false } }

  /// The answer, if it belongs to this state.
  func answer(_ rows: Rows, asOf newest: UInt64) throws(StorageError) -> Answer? {
    guard rows.count > 0, try rows.number(0, 0) == newest else { return nil }
    switch question {
    case .keys(let places):
      let column = News.columnCount
      if places.count == 1 { return try .keys([places[0]: ServerEntry(rows, 0, at: column)]) }
      var found: [TreeKey: ServerEntry?] = [:]
      for row in 0..<rows.count {
        let place = try Int(rows.number(row, column + ServerEntry.columnCount)) - 1
        guard places.indices.contains(place) else { continue }
        found.updateValue(try ServerEntry(rows, row, at: column), forKey: places[place])
      }
      return .keys(found)
    case .page(let request, let tree, let records):
      let isReversed = request.isReversed
      if let records {
        let pairs = try rows.map { row throws(StorageError) in try KeyWithRecord(rows, row, at: 1) }
        return .pageWithRecords(
          request, tree: tree, records: records, Self.inOrder(pairs, isReversed: isReversed) { $0.key })
      }
      let entries = try rows.map { row throws(StorageError) in try ServerEntry(rows, row, at: 1) }
      return .page(request, tree: tree, Self.inOrder(entries, isReversed: isReversed) { $0.key })
    }
  }

  /// Rows in the order of their keys, in which they mostly come.
  private static func inOrder<Row>(_ rows: [Row], isReversed: Bool, _ key: (Row) -> [UInt8]) -> [Row] {
    rows.sorted { isReversed ? key($1).precedes(key($0)) : key($0).precedes(key($1)) }
  }
}

/// A server's answer about its newest state in a few columns, for a client that knows an older one.
enum News {
  /// The newest state, the newest commit that changed a tree itself, the oldest commit that the last pruning has left (0 if there was none),
  /// and the head: null if the newest state is the known one, or has no commit. `$1` is the newest known state, `s` the row of the store.
  static func columns(_ tables: Tables) -> String {
    """
    s.newest, s.trees, s.oldest, case when s.newest <> $1 then
      (select \(tables.commitTexts) from {commit} c where c.number = s.head) end
    """
  }
  static let columnCount = 4
}

/// The question for the newest state and a read of that state, under way. If no caller takes the answers, the connection is closed.
final class PendingState: PendingRead {
  private let store: ServerStore
  private let connection: Connection
  private let expected: Mutex<[Connection.Expected]?>
  let question: NewestQuestion
  let foresight: Prefetch

  /// Returns nil if nothing can be asked at once.
  init?(_ store: ServerStore, _ question: NewestQuestion, _ foresight: Prefetch) {
    guard let asked = store.pool.ask(question.statements(store.tables)) else { return nil }
    (self.store, self.question, self.foresight) = (store, question, foresight)
    connection = asked.connection
    expected = Mutex(asked.expected)
  }

  var isAnswered: Bool {
    if connection.isAnswered() { return true }
    store.slowness.recordSlowCall()
    return false
  }

  /// Waits for the answers; returns nil if they were taken already, or if the connection was lost, so that the caller asks again.
  func answers() throws(StorageError) -> [Rows]? {
    guard let expected = expected.withLock({ $0.take() }) else { return nil }
    defer { store.pool.keep(connection) }
    do throws(StorageError) {
      return try connection.receive(expected)
    } catch {
      if connection.isLost { return nil }
      throw error
    }
  }
}

/// The question for the newest state, which may also read some of that state.
struct NewestQuestion: Sendable {
  let ahead: ReadAhead?
  /// The state that was known when the question was asked: the answer does not repeat it.
  let known: ServerStore.Known

  func statements(_ tables: Tables) -> [Statement] {
    let news = tables.statement(
      "news", "select \(News.columns(tables)) from {store} s where s.one", [.number(known.newest)])
    // After the news: it may return trees that are newer than the news, never fewer.
    guard let ahead else { return [news, known.catalog.missing(tables)] }
    let statement = ahead.statement(tables, known: known.newest)
    return ahead.tellsNews ? [statement] : [news, statement]
  }
}

extension ServerStore {
  /// Asks for the newest state and reads ahead of it: one round trip. There is no answer if another process committed between the two.
  func refreshed(
    prefetching foresight: Prefetch
  ) throws(StorageError) -> (view: ServerView, answer: ReadAhead.Answer?) {
    var foresight = foresight
    if case .asked(let asked as PendingState) = foresight {
      if let rows = try asked.answers() { return try read(rows, of: asked.question) }
      foresight = asked.foresight
    }
    let question = question(ReadAhead(foresight, knownCatalog))
    return try read(pool.read(question.statements(tables)), of: question)
  }

  private func read(
    _ rows: [Rows], of question: NewestQuestion
  ) throws(StorageError) -> (view: ServerView, answer: ReadAhead.Answer?) {
    let view = try newestView(rows, of: question)
    guard let ahead = question.ahead, let answer = try ahead.answer(rows[rows.count - 1], asOf: view.asOf) else {
      return (view, nil)
    }
    return (ServerView(self, view.commit, asOf: view.asOf, prefetched: answer), answer)
  }

  /// The newest state, from the answer to a question for it.
  func newestView(_ rows: [Rows], of question: NewestQuestion) throws(StorageError) -> ServerView {
    let (news, known) = (rows[0], question.known)
    guard news.count > 0 else { throw .withoutStoreRow }
    let number = try news.number(0, 0)
    let changed = try news.isNull(0, 3) ? nil : ServerCommit(texts: news.texts(0, 3))
    let head = number == known.newest ? known.head : changed
    let trees = question.ahead == nil ? (rows: rows[1], since: known.catalog.upTo) : nil
    try update(head: head, newest: number, oldest: news.number(0, 2), trees: trees, changedAt: news.number(0, 1))
    return newest
  }
}
