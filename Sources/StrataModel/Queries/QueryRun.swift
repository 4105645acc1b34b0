import StrataDocuments

/// A place between two records of a query's order, from which the query can continue while others edit.
package struct QueryPosition: Hashable, Sendable {
  /// The query's fingerprint, so that the position of another query is not used for it.
  package var query: String
  package var sortKey: [UInt8]
  package var identifier: [UInt8]

  package init(query: String, sortKey: [UInt8], identifier: [UInt8]) {
    self.query = query
    self.sortKey = sortKey
    self.identifier = identifier
  }

  /// One word, for command lines and for apps to keep.
  package var text: String {
    let hash = query.utf8.reduce(into: 0xCBF2_9CE4_8422_2325 as UInt64) { hash, byte in
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return ["\(String(hash, radix: 16))", Base64.text(of: sortKey), Base64.text(of: identifier)].joined(separator: ".")
  }

  /// Reads a `text`, which must be one of this query.
  package init(_ text: String, query: String) throws(ModelError) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let sortKey = Base64.bytes(of: parts[1]), let identifier = Base64.bytes(of: parts[2]) else {
      throw .invalid(text: text, column: nil, reason: "“\(text)” is no cursor")
    }
    self.init(query: query, sortKey: sortKey, identifier: identifier)
    guard self.text == text else { throw .refused(reason: "the cursor is one of another query") }
  }
}

/// A walk over the records that meet the condition, in the order of their identifiers. It makes no element for a record that does not meet
/// it.
package struct QueryScan<Element> {
  /// Goes to the next record, and reports how many records were read for that. Returns false after the last one.
  package var advance: (_ read: (Int) throws -> Void) throws -> Bool
  /// The rank of the record.
  package var rank: () -> Int
  /// Bytes whose order is that of the sort.
  package var sortKey: () throws -> [UInt8]
  package var identifier: () throws -> StoredKey
  package var element: () throws -> Element?

  package init(
    advance: @escaping ((Int) throws -> Void) throws -> Bool, rank: @escaping () -> Int,
    sortKey: @escaping () throws -> [UInt8], identifier: @escaping () throws -> StoredKey,
    element: @escaping () throws -> Element?
  ) {
    self.advance = advance
    self.rank = rank
    self.sortKey = sortKey
    self.identifier = identifier
    self.element = element
  }
}

/// The reader of the records, and the condition: everything below the planner's decision.
package struct QuerySource<Element> {
  /// The entries of an index by its name, or of the primary tree by an empty name.
  package var entries: (String) throws -> any QueryEntries
  package var element: (StoredKey) throws -> Element?
  package var matches: (Element) throws -> Bool
  /// Bytes whose order is that of the sort.
  package var sortKey: (Element) throws -> [UInt8]
  /// Called now and then with the records read so far; throws if the work is cancelled.
  package var goOn: (Int) throws -> Void
  /// The key of stored bytes.
  package var storedKey: ([UInt8]) -> StoredKey
  /// A walk over the records of a range of ranks, if there is one that is faster than a look-up of each.
  package var scan: ((Range<Int>) throws -> QueryScan<Element>)?

  package init(
    entries: @escaping (String) throws -> any QueryEntries, element: @escaping (StoredKey) throws -> Element?,
    matches: @escaping (Element) throws -> Bool, sortKey: @escaping (Element) throws -> [UInt8],
    goOn: @escaping (Int) throws -> Void = { _ in },
    storedKey: @escaping ([UInt8]) -> StoredKey = { StoredKey(bytes: $0, value: .null) },
    scan: ((Range<Int>) throws -> QueryScan<Element>)? = nil
  ) {
    self.entries = entries
    self.element = element
    self.matches = matches
    self.sortKey = sortKey
    self.goOn = goOn
    self.storedKey = storedKey
    self.scan = scan
  }
}

/// A walk over the result of a query, by its plan.
///
/// Records come in the order of the sort, and equal ones in the order of their identifiers; without a sort by identifier alone. Nothing is
/// read before the first call.
package struct QueryRun<Element> {
  /// The number of records read between two checks for cancellation.
  private static var window: Int { 128 }

  package let plan: QueryPlan
  private let source: QuerySource<Element>
  private var offset: Int
  private var remaining: Int
  private let after: QueryPosition?
  private var state = State.unopened
  /// The number of records read, and of those that met the condition.
  package private(set) var readCount = 0
  package private(set) var keptCount = 0
  private enum State {
    case unopened
    case candidates(QueryCandidates)
    case scanning(QueryScan<Element>)
    case sorted(SortedKeyWalk, SortTie)
    case ended
  }

  package init(
    _ plan: QueryPlan, _ source: QuerySource<Element>, limit: Int? = nil, offset: Int = 0, after: QueryPosition? = nil
  ) {
    self.plan = plan
    self.source = source
    self.offset = max(0, offset)
    remaining = limit ?? .max
    self.after = after
  }

  /// Returns the next record of the result, or nil at its end.
  package mutating func next() throws -> Element? {
    if case .unopened = state { try open() }
    if case .scanning(let scan) = state { return try nextOfScan(scan) }
    while remaining > 0 {
      guard let (key, isTested) = try nextKey() else { break }
      guard let element = try source.element(key) else { continue }
      try countRead(1)
      if isTested, try !source.matches(element) { continue }
      if offset > 0 {
        offset -= 1
        continue
      }
      remaining -= 1
      keptCount += 1
      return element
    }
    state = .ended
    return nil
  }

  private mutating func nextKey() throws -> (StoredKey, isTested: Bool)? {
    switch state {
    case .candidates(var candidates):
      state = .ended
      defer { state = .candidates(candidates) }
      return try candidates.next().map { ($0.key, plan.isTested) }
    case .sorted(var walk, let tie):
      state = .ended
      let key = try walk.next()
      state = .sorted(walk, tie)
      return key.map { (source.storedKey(tie.identifier(of: $0)), false) }
    case .unopened, .scanning, .ended: return nil
    }
  }

  private mutating func nextOfScan(_ scan: QueryScan<Element>) throws -> Element? {
    while remaining > 0, try scan.advance({ try countRead($0) }) {
      if offset > 0 {
        offset -= 1
        continue
      }
      guard let element = try scan.element() else { continue }
      remaining -= 1
      keptCount += 1
      return element
    }
    state = .ended
    return nil
  }

  private mutating func countRead(_ count: Int) throws {
    let windows = readCount / Self.window
    readCount += count
    if readCount / Self.window > windows { try source.goOn(readCount) }
  }

  /// Returns the number of records that meet the condition, whatever the limit. Reads no record if the indexes give the number.
  package mutating func count() throws -> Int {
    if !plan.isTested { return try candidates().recordCount() }
    var count = 0
    if plan.way == .scan, let scan = try source.scan?(0..<plan.rows) {
      while try scan.advance({ try countRead($0) }) { count += 1 }
      return count
    }
    try forEachCandidate { _, _ in count += 1 }
    return count
  }

  // MARK: Opening

  private func candidates(after: QueryPosition? = nil) -> QueryCandidates {
    let (source, readCount) = (source, readCount)
    return QueryCandidates(
      plan, after: after.map { StoredKey(bytes: $0.identifier, value: .null) }, goOn: { try source.goOn(readCount) },
      source: source.entries)
  }

  private mutating func open() throws {
    if plan.order == .sort {
      let tie = SortTie(try source.entries(""))
      var kept = try sorted(tie)
      state = .sorted(try kept.walk(), tie)
      return
    }
    if plan.way == .scan, plan.order.isByIdentifier, let scan = try scan() {
      state = .scanning(scan)
      return
    }
    var candidates = candidates(after: after)
    if let after, !plan.order.isByIdentifier { try goBehind(after, in: &candidates) }
    if !plan.isTested, offset > 0 {
      try candidates.skip(offset)
      offset = 0
    }
    state = .candidates(candidates)
  }

  /// All records from the start of the result on.
  private mutating func scan() throws -> QueryScan<Element>? {
    guard let scan = source.scan else { return nil }
    let entries = try source.entries("")
    let count = try entries.count
    var start = 0
    if let after {
      start = min(count, try entries.rank(after: StoredKey(bytes: after.identifier, value: .null)))
    }
    if !plan.isTested {
      start += min(offset, count - start)
      offset = 0
    }
    return try scan(start..<count)
  }

  /// Finds the place of a position by binary search.
  private func goBehind(_ position: QueryPosition, in candidates: inout QueryCandidates) throws {
    var (low, high) = (0, try candidates.count())
    while low < high {
      let middle = (low + high) / 2
      guard let key = try candidates.candidate(at: middle)?.key, let element = try source.element(key) else { break }
      let item = SortedKey(key: try source.sortKey(element), identifier: key.bytes)
      if SortedKey(position) < item { high = middle } else { low = middle + 1 }
    }
    try candidates.skip(low)
  }

  // MARK: All that meet the condition

  /// Reads each candidate once, in the cheapest order, and passes on those that meet the condition.
  private mutating func forEachCandidate(_ body: (StoredKey, Element) throws -> Void) throws {
    var unordered = plan
    unordered.order = .sort
    let (source, readCount) = (source, readCount)
    var candidates = QueryCandidates(unordered, goOn: { try source.goOn(readCount) }, source: source.entries)
    while let key = try candidates.next()?.key {
      guard let element = try source.element(key) else { continue }
      try countRead(1)
      if plan.isTested, try !source.matches(element) { continue }
      try body(key, element)
    }
  }

  private mutating func sorted(_ tie: SortTie) throws -> SortedKeys {
    var kept = SortedKeys(limit: remaining, offset: offset, after: try after.map { try tie.key(behind: $0) })
    if plan.way == .scan, let scan = try source.scan?(0..<plan.rows) {
      while try scan.advance({ try countRead($0) }) {
        let key = try scan.sortKey()
        guard kept.accepts(key) else { continue }
        try kept.add(SortedKey(key: key, identifier: tie.bytes(of: scan.identifier(), at: scan.rank())))
      }
      return kept
    }
    let source = source
    try forEachCandidate { key, element in
      let sortKey = try source.sortKey(element)
      guard kept.accepts(sortKey) else { return }
      try kept.add(SortedKey(key: sortKey, identifier: tie.bytes(of: key)))
    }
    return kept
  }
}
