import StorageEngine

/// A read of the newest state that is asked for before it is known which state that is: it goes out with the question for the newest
/// commit, and the answer says of which commit it is.
struct ReadAhead: Sendable {
  /// What the newest state has for what was foreseen.
  enum Answer: Sendable {
    case keys([TreeKey: ServerEntry?])
    case page(PageRequest, tree: Int32, records: Int32?, [(entry: ServerEntry, record: ServerEntry?)])
  }

  /// By the numbers of the trees as they were when last heard of. Where one was replaced meanwhile, nobody will look for the answer.
  private enum Question {
    case keys([TreeKey])
    case page(PageRequest, tree: Int32, records: Int32?)
  }

  private let question: Question

  /// Nil where there is no such tree, as far as is known.
  init?(_ foresight: Foresight, _ catalog: ServerCatalog) {
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

  /// `current` alone is the newest state, and within one statement the number of that is known.
  ///
  /// - Parameter newest: the newest state that is known. Of another one the head comes along with keys: `head` tells it.
  func statement(_ tables: Tables, known newest: UInt64) -> Statement {
    let newest = SQLValue.int(Int64(bitPattern: newest))
    switch question {
    case .keys(let places) where places.count == 1:
      return tables.statement(
        "findNewest",
        """
        select s.newest, 1, \(ServerEntry.columns("e")), \(ServerCommit.columns)
        from {store} s left join {commit} c on c.number = s.head and s.newest <> $1
          left join {current} e on e.tree = $2 and e.key = $3
        where s.one
        """, [newest, .int32(places[0].tree), .bytes(places[0].key)])
    case .keys(let places):
      return tables.statement(
        "findAllNewest",
        """
        select s.newest, k.place::integer, \(ServerEntry.columns("e")), \(ServerCommit.columns)
        from {store} s left join {commit} c on c.number = s.head and s.newest <> $1
          cross join unnest($2::integer[], $3::bytea[]) with ordinality k (tree, key, place)
          left join {current} e on e.tree = k.tree and e.key = k.key
        where s.one
        """, [newest, .int32s(places.map(\.tree)), .byteArrays(places.map(\.key))])
    case .page(let request, let tree, let records):
      let order = request.isReversed ? "desc" : "asc"
      let range = KeyRange(from: request.lower, to: request.upper)
      var parameters: [SQLValue] = [.int32(tree)] + range.parameters + [.int(Int64(request.limit))]
      var (columns, join) = ("", "")
      if let records {
        columns = ", \(ServerEntry.columns("r"))"
        join = """
          left join lateral (
            select k.* from {current} k where k.tree = $5 and k.key = \(ServerTree.endOfKey("e"))) r on true
          """
        parameters.append(.int32(records))
      }
      return tables.statement(
        "pageNewest\(request.isReversed ? "Back" : "")\(records == nil ? "" : "WithRecords")",
        """
        select s.newest, \(ServerEntry.columns("e"))\(columns) from {store} s
          left join lateral (
            select c.* from {current} c where c.tree = $1 and c.key >= $2 and c.key < $3
            order by c.key \(order) limit $4) e on true
          \(join)
        where s.one order by e.key \(order)
        """, parameters)
    }
  }

  /// Whether the head comes along.
  var tellsHead: Bool { if case .keys = question { true } else { false } }

  /// The head that came along; nil where it is still the known one.
  func head(_ rows: Rows) -> ServerCommit? {
    let column = 2 + ServerEntry.columnCount
    return rows.count > 0 && !rows.isNull(0, column) ? ServerCommit(rows, 0, at: column) : nil
  }

  /// The answer, where it is one of this state.
  func answer(_ rows: Rows, asOf newest: UInt64) -> Answer? {
    guard rows.count > 0, rows.number(0, 0) == newest else { return nil }
    switch question {
    case .keys(let places):
      var found: [TreeKey: ServerEntry?] = [:]
      for row in 0..<rows.count {
        let place = Int(rows.int(row, 1)) - 1
        if places.indices.contains(place) { found.updateValue(ServerEntry(rows, row, at: 2), forKey: places[place]) }
      }
      return .keys(found)
    case .page(let request, let tree, let records):
      let pairs =
        records == nil
        ? (0..<rows.count).compactMap { row in ServerEntry(rows, row, at: 1).map { (entry: $0, record: nil) } }
        : ServerTree.pairs(rows, at: 1)
      return .page(request, tree: tree, records: records, pairs)
    }
  }
}

/// The question for the newest state, with what will be read of it, under way.
final class AskedState: AskedServer {
  private let exchange: AskedExchange
  let question: NewestQuestion
  let foresight: Foresight
  /// Told where the answer takes long.
  private let isSlow: @Sendable () -> Void

  init(
    _ exchange: AskedExchange, _ question: NewestQuestion, _ foresight: Foresight,
    isSlow: @escaping @Sendable () -> Void
  ) {
    (self.exchange, self.question, self.foresight, self.isSlow) = (exchange, question, foresight, isSlow)
  }

  var isAnswered: Bool {
    if exchange.isAnswered() { return true }
    isSlow()
    return false
  }

  func take() throws(ServerError) -> [Rows]? { try exchange.take() }
}

/// The question for the newest state, which tells what is read of it by the way.
struct NewestQuestion: Sendable {
  let ahead: ReadAhead?
  /// What is known as it is asked: nothing of that comes again.
  let head: ServerCommit?
  let newest: UInt64
  let catalog: ServerCatalog

  func statements(_ tables: Tables) -> [Statement] {
    var statements: [Statement] = []
    if ahead?.tellsHead != true {
      statements.append(
        tables.statement(
          "head",
          "select \(ServerCommit.columns), s.newest from {store} s left join {commit} c on c.number = s.head where s.one",
          []))
    } else if let ahead {
      statements.append(ahead.statement(tables, known: newest))
    }
    // After the head: it may tell of more trees than belong to it, never of fewer.
    statements.append(catalog.missing(tables))
    if let ahead, !ahead.tellsHead { statements.append(ahead.statement(tables, known: newest)) }
    return statements
  }
}

extension ServerStore {
  /// Asks for the newest state, and along with it for what will be read of it: one round trip. No answer comes where somebody committed
  /// between the two.
  func refresh(foreseeing foresight: Foresight) throws(ServerError) -> (view: ServerView, answer: ReadAhead.Answer?) {
    var foresight = foresight
    if case .asked(let asked as AskedState) = foresight {
      if let rows = try asked.take() { return try take(rows, of: asked.question) }
      foresight = asked.foresight
    }
    let question = question(ReadAhead(foresight, knownCatalog))
    return try take(pool.read(question.statements(tables)), of: question)
  }

  /// Asks for the same without waiting; nil where nothing can be asked at once.
  func ask(_ foresight: Foresight, isSlow: @escaping @Sendable () -> Void) -> AskedState? {
    guard let ahead = ReadAhead(foresight, knownCatalog) else { return nil }
    let question = question(ahead)
    return pool.ask(question.statements(tables)).map { AskedState($0, question, foresight, isSlow: isSlow) }
  }

  func take(
    _ rows: [Rows], of question: NewestQuestion
  ) throws(ServerError) -> (view: ServerView, answer: ReadAhead.Answer?) {
    guard rows[0].count > 0 else { throw .damaged(what: "the row of the store is missing") }
    guard let ahead = question.ahead, ahead.tellsHead else {
      let head = rows[0].isNull(0, 0) ? nil : ServerCommit(rows[0], 0)
      take(
        head: head, newest: rows[0].number(0, ServerCommit.columnCount), trees: rows[1], since: question.catalog.upTo)
      let view = self.head
      return (view, rows.count > 2 ? question.ahead?.answer(rows[2], asOf: view.asOf) : nil)
    }
    let newest = rows[0].number(0, 0)
    take(
      head: newest == question.newest ? question.head : ahead.head(rows[0]), newest: newest, trees: rows[1],
      since: question.catalog.upTo)
    let view = self.head
    return (view, ahead.answer(rows[0], asOf: view.asOf))
  }
}
