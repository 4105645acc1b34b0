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
    case .page(let request):
      guard let tree = number(request.tree) else { return nil }
      let records = request.records.flatMap(number)
      if request.records != nil, records == nil { return nil }
      question = .page(request, tree: tree, records: records)
    }
  }

  /// `current` alone is the newest state, and within one statement the number of that is known.
  func statement(_ tables: Tables) -> Statement {
    switch question {
    case .keys(let places):
      return tables.statement(
        "findNewest",
        """
        select s.newest, k.place::integer, \(ServerEntry.columns("e"))
        from {store} s cross join unnest($1::integer[], $2::bytea[]) with ordinality k (tree, key, place)
          left join lateral (select c.* from {current} c where c.tree = k.tree and c.key = k.key) e on true
        where s.one
        """, [.int32s(places.map(\.tree)), .byteArrays(places.map(\.key))])
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

extension ServerStore {
  /// Asks for the newest state, and along with it for what will be read of it: one round trip. No answer comes where somebody committed
  /// between the two.
  func refresh(foreseeing foresight: Foresight) throws(ServerError) -> (view: ServerView, answer: ReadAhead.Answer?) {
    let catalog = knownCatalog
    guard let ahead = ReadAhead(foresight, catalog) else { return (try refresh(), nil) }
    let (view, along) = try refresh(since: catalog, along: [ahead.statement(tables)])
    return (view, along.first.flatMap { ahead.answer($0, asOf: view.asOf) })
  }
}
