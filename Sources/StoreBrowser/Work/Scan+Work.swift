import StrataDocuments
import StrataExpressions
package import StrataModel
import StrataEngine

/// Looks for the next row with a text.
package struct SearchRequest: Question, Hashable {
  package var readsOn: Bool { true }
  package var source: RowSource
  package var commit: CommitNumber
  var text: SearchText
  /// The column to search; nil for all fields.
  var column: TableColumn.Source?
  package var isBackward: Bool
  package var rows: RowRanks
  /// The position to begin after.
  package var position: Int
  /// A new search may stay where it is.
  package var includesPosition: Bool

  package func reply(in context: WorkContext) throws(ModelError) -> SearchAnswer {
    let datastore = try context.datastore(source.datastore, at: commit)
    let index = try datastore.index(source.index)
    let search = try RecordSearch(text, in: column, of: source)
    if rows.isRun, let position = try context.seek(self, in: index) {
      return try context.answer(self, search, at: position, wasSeek: true, rowsRead: 1, in: datastore, index)
    }
    let count = rows.count
    var (read, size) = (0, WorkContext.chunk)
    let step = isBackward ? -1 : 1
    var position = includesPosition ? self.position : self.position + step
    while read < count {
      try context.goOn()
      if position < 0 { position = count - 1 }
      if position >= count { position = 0 }
      let length = min(size, isBackward ? position + 1 : count - position, count - read)
      let first = isBackward ? position - length + 1 : position
      let hits = try context.hits(of: search, for: self, at: first..<first + length, in: datastore, index)
      if let hit = isBackward ? hits.last : hits.first {
        let rows = read + abs(hit - position) + 1
        return try context.answer(self, search, at: hit, wasSeek: false, rowsRead: rows, in: datastore, index)
      }
      read += length
      position += length * step
      size = min(2 * size, WorkContext.longestSearch)
      context.report(Progress(done: read, total: count))
    }
    return SearchAnswer(request: self, position: nil, wasSeek: false, rowsRead: read)
  }
}

package struct SearchAnswer: Sendable, Equatable {
  package var request: SearchRequest
  package var position: Int?
  /// The entry at the position; nil if it cannot be read.
  package var entry: IndexEntry?
  /// The search was a seek in the index.
  package var wasSeek: Bool
  package var rowsRead: Int
  /// The first field of the record that contains the text; nil if only the key does.
  package var path: String?
}

/// Keeps the rows that a filter matches.
package struct FilterRequest: Question, Hashable {
  package var readsOn: Bool { true }
  package var source: RowSource
  package var commit: CommitNumber
  package var bounds: Range<Int>

  package func reply(in context: WorkContext) throws(ModelError) -> ScanAnswer {
    let datastore = try context.datastore(source.datastore, at: commit)
    let index = try datastore.index(source.index)
    let test = try Filter(typed: source.filter ?? "")
    if source.derives(test.paths) { return try context.filterDerived(self) }
    let query = RecordQuery(filter: test)
    let plan = try query.plan(in: datastore)
    let count = try context.rowCount(of: plan, in: source, of: datastore)
    context.report(Progress(done: 0, total: plan.entryCount, found: .plan(plan.shortText, count: count)))
    if plan.way != .scan { return try context.filter(self, query: query, by: plan, in: datastore, base: index) }
    return try context.filterAlong(self, query, in: datastore, base: source.index == nil ? nil : index)
  }
}

/// Puts rows in an order that no index has.
package struct SortRequest: Question, Hashable {
  package var readsOn: Bool { true }
  package var source: RowSource
  package var commit: CommitNumber
  /// The rows to sort; nil is the whole range.
  package var ranks: [Int]?

  package func reply(in context: WorkContext) throws(ModelError) -> ScanAnswer {
    let query = RecordQuery(sort: try source.sort.paths)
    let rows = try RowReader(
      source, ranks: ranks.map { RowRanks(list: $0) }, at: commit, repeats: true, in: context)
    var (sorter, position) = (SortedKeys(), 0)
    try rows.forEach(selecting: query.sort.map(\.path)) { rank, document throws(ModelError) in
      // Rows that are equal in it stay in the order in which they stand.
      let tail = [position, rank].flatMap { number in
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
      }
      try sorter.add(SortedKey(key: query.sortKey(of: document ?? .null), identifier: tail))
      position += 1
    }
    var sorted: [Int] = []
    sorted.reserveCapacity(rows.total)
    var walk = try sorter.walk()
    while let tail = try walk.next() {
      if sorted.count.isMultiple(of: 4096) { try context.goOn() }
      sorted.append(tail[8...].reduce(0) { $0 << 8 | Int($1) })
    }
    return ScanAnswer(source: source, commit: commit, rowsRead: rows.total, plan: "", ranks: sorted)
  }
}

/// The end of a filter or a sort.
package struct ScanAnswer: Sendable {
  package var source: RowSource
  package var commit: CommitNumber
  package var rowsRead: Int
  /// `INDEX population` or `SCAN`; empty for a sort.
  package var plan: String
  /// The ranks in their order; nil for a filter, which reported them as they were found.
  package var ranks: [Int]?
}

extension WorkContext {
  /// Rows that are read between two looks at the cancellation.
  fileprivate static var chunk: Int { 128 }

  // MARK: Search

  /// The first entry at or after a key that begins so (text) or is so (anything else), by one search of the index.
  fileprivate func seek(_ request: SearchRequest, in index: any ReadableIndex) throws(ModelError) -> Int? {
    guard request.includesPosition, !request.source.isDescending, request.column == nil,
      let prefix = request.text.prefix
    else { return nil }
    let isText = index.descriptor.encoding.isText
    let literal = isText ? KeyValue.string(prefix) : try? index.value(parsing: prefix)
    guard let value = literal else { return nil }
    let rank = try index.rank(of: .before(value))
    guard let position = request.rows.position(of: rank), let entry = try index.entries(at: rank..<rank + 1).first
    else { return nil }
    switch entry.value {
    case .string(let text) where isText: guard text.hasPrefix(prefix), request.text.occurs(in: text) else { return nil }
    // `-0` is the key 0, in which nothing is `-0`.
    default:
      guard entry.value == value, request.text.occurs(in: ValueText(key: value).text) else { return nil }
    }
    return position
  }

  /// How many rows are looked at between two looks at the cancellation, once a search goes on.
  fileprivate static var longestSearch: Int { 1 << 15 }

  /// The answer for a hit, which names the field that contains the text.
  fileprivate func answer(
    _ request: SearchRequest, _ search: RecordSearch, at position: Int, wasSeek: Bool, rowsRead: Int,
    in datastore: any ReadableDatastore, _ index: any ReadableIndex
  ) throws(ModelError) -> SearchAnswer {
    var answer = SearchAnswer(request: request, position: position, wasSeek: wasSeek, rowsRead: rowsRead)
    guard let row = try entries(at: [request.rows[position]], of: index).first else { return answer }
    answer.entry = row.entry
    guard let record = try datastore.record(row.entry.identifier), let document = try? record.document() else {
      return answer
    }
    let fields = DerivedFields(request.source, at: request.commit, in: self)
    answer.path = search.place(in: try fields.adding(to: document))?.description
    return answer
  }

  /// The positions of some rows that show a text, ascending: their records are read as they lie, a part on each processor.
  fileprivate func hits(
    of search: RecordSearch, for request: SearchRequest, at positions: Range<Int>, in datastore: any ReadableDatastore,
    _ index: any ReadableIndex
  ) throws(ModelError) -> [Int] {
    let isPrimary = request.source.index == nil && request.rows.isRun && !(datastore is ReadableRest)
    let parts = try positions.concurrently(size: 1_024) { positions throws(ModelError) -> [Int] in
      var found: [Int] = []
      var tape = JSONTape()
      let fields = DerivedFields(request.source, at: request.commit, in: self)
      func occursInDerived(_ document: Document?) throws(ModelError) -> Bool {
        guard search.looksAtDerived, let document else { return false }
        return search.place(in: try fields.adding(to: document)) != nil
      }
      if isPrimary {
        let ends = [request.rows[positions.lowerBound], request.rows[positions.upperBound - 1]]
        var rank = min(ends[0], ends[1])
        var records = try datastore.records(at: rank..<max(ends[0], ends[1]) + 1)
        while try records.next() {
          var isHit = false
          if let record = try records.rawRecord() {
            isHit = record.bytes.withUnsafeBytes { search.occurs(in: $0, record.coding, &tape) }
            if !isHit { isHit = try occursInDerived(try? record.document(at: .all)) }
          }
          if !isHit { isHit = search.occurs(in: try records.identifier.value, of: .identifier) }
          if isHit { found.append(positions.lowerBound + abs(rank - ends[0])) }
          rank += 1
        }
        return request.source.isDescending ? found.reversed() : found
      }
      let keySource: TableColumn.Source = request.source.index == nil ? .identifier : .key
      for (offset, row) in try entries(at: Array(request.rows[positions]), of: index).enumerated() {
        var isHit =
          search.occurs(in: row.entry.value, of: keySource)
          || search.occurs(in: row.entry.identifier.value, of: .identifier)
        if !isHit, let record = try datastore.record(row.entry.identifier) {
          isHit = record.content.withUnsafeBytes { search.occurs(in: $0, record.coding, &tape) }
          if !isHit { isHit = try occursInDerived(try? record.document()) }
        }
        if isHit { found.append(positions.lowerBound + offset) }
      }
      return found
    }
    return parts.flatMap { $0 }
  }

  // MARK: Filter

  /// Reads the rows as they stand.
  fileprivate func filterAlong(
    _ request: FilterRequest, _ query: RecordQuery, in datastore: any ReadableDatastore, base: (any ReadableIndex)?
  ) throws(ModelError) -> ScanAnswer {
    var (read, told, ranks) = (0, 0, [Int]())
    func tell() {
      told = read
      report(Progress(done: read, total: request.bounds.count, found: .ranks(ranks)))
      ranks.removeAll(keepingCapacity: true)
    }
    try onFailures {
      try query.forEachRow(of: base, at: request.bounds, in: datastore) { count in
        read += count
        guard read - told >= Self.chunk else { return }
        tell()
        try goOn()
      } _: { rank in
        ranks.append(rank)
      }
    }
    tell()
    return ScanAnswer(source: request.source, commit: request.commit, rowsRead: read, plan: "SCAN")
  }

  /// Reads all rows, because no index has a derived column.
  fileprivate func filterDerived(_ request: FilterRequest) throws(ModelError) -> ScanAnswer {
    let rows = try RowReader(
      request.source, ranks: nil, at: request.commit, repeats: true, in: self)
    report(Progress(done: 0, total: rows.total, found: .plan("SCAN", count: nil)))
    var ranks: [Int] = []
    try rows.forEach { read throws(ModelError) in
      report(Progress(done: read, total: rows.total, found: .ranks(ranks)))
      ranks = []
    } _: { rank, _ in
      ranks.append(rank)
    }
    return ScanAnswer(
      source: request.source, commit: request.commit, rowsRead: rows.total, plan: "SCAN")
  }

  /// Reads only what the plan's indexes lead to, and finds each record's places in the order of the table: by looking them up, or by one
  /// walk over the entries, which needs no records.
  fileprivate func filter(
    _ request: FilterRequest, query: RecordQuery, by plan: QueryPlan, in datastore: any ReadableDatastore,
    base: any ReadableIndex
  ) throws(ModelError) -> ScanAnswer {
    var run = try query.run(plan, in: datastore) { _ in try goOn() }
    var identifiers: [StoredKey] = []
    func tell(_ ranks: [Int]) {
      report(Progress(done: run.readCount, total: plan.entryCount, found: .ranks(ranks)))
    }
    func tellPlaces() throws(ModelError) {
      tell(try base.ranks(of: identifiers).compactMap(\.self).filter(request.bounds.contains).sorted())
      identifiers.removeAll(keepingCapacity: true)
    }
    let isLookedUp = base.hasOnePlace(isDistant: store.isDistant)
    try onFailures {
      while let record = try run.next() {
        identifiers.append(record.identifier)
        guard identifiers.count.isMultiple(of: Self.chunk) else { continue }
        if isLookedUp { try tellPlaces() } else { tell([]) }
      }
    }
    if isLookedUp {
      try tellPlaces()
    } else {
      let kept = Set(identifiers)
      for start in stride(from: request.bounds.lowerBound, to: request.bounds.upperBound, by: 4_096) {
        try goOn()
        let ranks = start..<min(request.bounds.upperBound, start + 4_096)
        tell(zip(ranks, try base.entries(at: ranks)).filter { kept.contains($1.identifier) }.map(\.0))
      }
    }
    return ScanAnswer(source: request.source, commit: request.commit, rowsRead: run.readCount, plan: plan.shortText)
  }
}

extension ReadableIndex {
  /// Whether a record has one entry, which is found by its value: no walk over the entries looks for it.
  fileprivate func hasOnePlace(isDistant: Bool) -> Bool {
    descriptor.kind == .primary
      || !descriptor.kind.hasManyValues && !descriptor.isStale && (isDistant || descriptor.hasDeclaredRule)
  }
}

/// Counts the rows with a text, and tells where they are.
struct MatchesRequest: Question, Hashable {
  var readsOn: Bool { true }
  static let slot = WorkSlot(name: "matches", isSlow: true)
  var search: SearchRequest

  struct Reply: Sendable, Equatable {
    var request: MatchesRequest
    /// The first ones.
    var positions: [Int]
    var count: Int
  }

  private static let limit = 100_000

  func reply(in context: WorkContext) throws(ModelError) -> Reply {
    let datastore = try context.datastore(search.source.datastore, at: search.commit)
    let index = try datastore.index(search.source.index)
    let text = try RecordSearch(search.text, in: search.column, of: search.source)
    let total = search.rows.count
    var reply = Reply(request: self, positions: [], count: 0)
    for start in stride(from: 0, to: total, by: WorkContext.longestSearch) {
      try context.goOn()
      let part = start..<min(total, start + WorkContext.longestSearch)
      let hits = try context.hits(of: text, for: search, at: part, in: datastore, index)
      reply.count += hits.count
      reply.positions += hits.prefix(Self.limit - reply.positions.count)
    }
    return reply
  }
}
