import Documents

/// Entries of an index, or of the records themselves, as a run of a query walks over them.
package protocol QueryEntries: Sendable {
  /// Whether the identifiers lie in the order of their bytes.
  var hasBytesAsOrder: Bool { get }
  var count: Int { get throws(ModelError) }
  /// Whose the entries of a range of ranks are.
  func identifiers(at ranks: Range<Int>) throws(ModelError) -> [StoredKey]
  /// The ranks of all entries with the value of the one at a rank.
  func ranks(sharingValueAt rank: Int) throws(ModelError) -> Range<Int>
  /// Where the record of an identifier lies; nil where it is gone.
  func place(of identifier: StoredKey) throws(ModelError) -> Int?
  /// How many records lie at or before an identifier, whether it is there or not.
  func rank(after identifier: StoredKey) throws(ModelError) -> Int
}

/// A place between two records of a query's order, to go on from while others edit.
package struct QueryPosition: Hashable, Sendable {
  /// What the query was, so that the position of another one is not taken for its own.
  package var query: String
  package var sortKey: [UInt8]
  package var identifier: [UInt8]

  package init(query: String, sortKey: [UInt8], identifier: [UInt8]) {
    self.query = query
    self.sortKey = sortKey
    self.identifier = identifier
  }
}

extension QueryPosition {
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

/// A walk over records that meet the condition, in the order of their identifiers, for which nothing is made of those that are
/// left out.
package struct QueryScan<Element> {
  /// Goes to the next record, and tells how many were read for that; false behind the last one.
  package var advance: (_ read: (Int) throws -> Void) throws -> Bool
  /// Where the record lies.
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

/// What a run reads and asks: the records below the planner's decision.
package struct QuerySource<Element> {
  /// The entries of an index by its name; of the records with an empty one.
  package var entries: (String) throws -> any QueryEntries
  package var element: (StoredKey) throws -> Element?
  package var matches: (Element) throws -> Bool
  /// Bytes whose order is that of the sort.
  package var sortKey: (Element) throws -> [UInt8]
  /// Called now and then with the records read so far; throws where the work is cancelled.
  package var goOn: (Int) throws -> Void
  /// The key of stored bytes.
  package var storedKey: ([UInt8]) -> StoredKey
  /// A walk over the records of a range of ranks, where there is one that is faster than to look up each.
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

/// A walk over the answer of a query, by its plan.
///
/// Records come in the order of the sort, those that are equal in it by identifier; without a sort by identifier alone.
/// Nothing is read before the first call.
package struct QueryRun<Element> {
  private static var window: Int { 128 }

  package let plan: QueryPlan
  private let source: QuerySource<Element>
  private var offset: Int
  private var remaining: Int
  private let after: QueryPosition?
  private var state = State.unopened
  /// Records that were read, and those of them that were kept.
  package private(set) var readCount = 0
  package private(set) var keptCount = 0
  private enum State {
    case unopened
    case along(IndexWalk)
    case scanning(QueryScan<Element>)
    case list([StoredKey], next: Int, isTested: Bool)
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

  /// The next record of the answer; nil at its end.
  package mutating func next() throws -> Element? {
    if case .unopened = state { try open() }
    if case .scanning(let scan) = state { return try nextOfScan(scan) }
    while remaining > 0 {
      guard let (key, isTested) = try nextKey() else { break }
      guard let element = try source.element(key) else { continue }
      readCount += 1
      if readCount.isMultiple(of: Self.window) { try source.goOn(readCount) }
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

  /// How many records meet the condition, whatever the limit. Reads none of them where the indexes tell.
  package mutating func count() throws -> Int {
    if !plan.isTested {
      switch plan.way {
      case .scan: return plan.rows
      case .index(let ranges) where plan.way.isDistinct: return ranges.count
      default: return try gathered(plan.way).count
      }
    }
    var count = 0
    if plan.way == .scan, let scan = try source.scan?(0..<plan.rows) {
      while try scan.advance({ try countRead($0) }) { count += 1 }
      return count
    }
    try forEachCandidate { key in
      guard let element = try source.element(key) else { return }
      readCount += 1
      if readCount.isMultiple(of: Self.window) { try source.goOn(readCount) }
      if try source.matches(element) { count += 1 }
    }
    return count
  }

  // MARK: Opening

  private mutating func open() throws {
    switch plan.order {
    case .along(let name, let isDescending):
      let entries = try source.entries(name)
      var ranks = 0..<(try entries.count)
      if plan.way == .scan, name.isEmpty, !isDescending, let scan = try self.scan(from: ranks, entries) {
        state = .scanning(scan)
        return
      }
      if case .index(let ranges) = plan.way { ranks = ranges.ranges.first ?? 0..<0 }
      var walk = IndexWalk(entries: entries, ranks: ranks, isDescending: isDescending)
      if let after {
        try walk.skip(try position(after: after, in: walk, isByIdentifier: name.isEmpty && !isDescending))
      }
      if !plan.isTested, offset > 0 {
        try walk.skip(min(offset, walk.count))
        offset = 0
      }
      state = .along(walk)
    case .identifiers:
      var keys = try ordered(try gathered(plan.way))
      if let after { keys = try dropped(keys, after: after) }
      if !plan.isTested, offset > 0 {
        keys = Array(keys.dropFirst(offset))
        offset = 0
      }
      state = .list(keys, next: 0, isTested: plan.isTested)
    case .sort:
      let tie = SortTie(try source.entries(""))
      var kept = try sorted(tie)
      state = .sorted(try kept.walk(), tie)
    }
  }

  /// All records from where the answer begins.
  private mutating func scan(
    from ranks: Range<Int>, _ entries: any QueryEntries
  ) throws -> QueryScan<Element>? {
    guard let scan = source.scan else { return nil }
    var start = ranks.lowerBound
    if let after {
      start = min(ranks.upperBound, try entries.rank(after: StoredKey(bytes: after.identifier, value: .null)))
    }
    if !plan.isTested {
      start = min(ranks.upperBound, start + min(offset, ranks.count))
      offset = 0
    }
    return try scan(start..<ranks.upperBound)
  }

  /// How many entries of a walk come before a position or are it: the place is looked for by halves.
  private func position(after: QueryPosition, in walk: IndexWalk, isByIdentifier: Bool) throws -> Int {
    if isByIdentifier {
      let rank = try walk.entries.rank(after: StoredKey(bytes: after.identifier, value: .null))
      return min(walk.ranks.count, max(0, rank - walk.ranks.lowerBound))
    }
    var (low, high) = (0, walk.ranks.count)
    while low < high {
      let middle = (low + high) / 2
      guard let key = try walk.identifier(at: middle), let element = try source.element(key) else { break }
      let item = SortedKey(key: try source.sortKey(element), identifier: key.bytes)
      if SortedKey(after) < item {
        high = middle
      } else {
        low = middle + 1
      }
    }
    return low
  }

  private func dropped(_ keys: [StoredKey], after: QueryPosition) throws -> [StoredKey] {
    let records = try source.entries("")
    guard !records.hasBytesAsOrder else {
      return keys.filter { after.identifier.precedes($0.bytes) }
    }
    let end = try records.rank(after: StoredKey(bytes: after.identifier, value: .null))
    return try keys.filter { try (records.place(of: $0) ?? 0) >= end }
  }

  // MARK: Gathering

  private func gathered(_ way: QueryPlan.Way) throws -> [StoredKey] {
    switch way {
    case .scan: return try identifiers(of: [0..<plan.rows], in: "")
    case .index(let ranges):
      let keys = try identifiers(of: ranges.ranges, in: ranges.index)
      guard !way.isDistinct else { return keys }
      var seen: Set<StoredKey> = []
      return keys.filter { seen.insert($0).inserted }
    case .union(let ways):
      var seen: Set<StoredKey> = []
      return try ways.flatMap { try gathered($0) }.filter { seen.insert($0).inserted }
    case .intersection(let ways):
      let sets = try ways.map { try gathered($0) }.sorted { $0.count < $1.count }
      guard var kept = sets.first else { return [] }
      for other in sets.dropFirst() {
        let other = Set(other)
        kept.removeAll { !other.contains($0) }
      }
      return kept
    }
  }

  private func identifiers(of ranges: [Range<Int>], in index: String) throws -> [StoredKey] {
    let entries = try source.entries(index)
    var keys: [StoredKey] = []
    for range in ranges {
      for start in stride(from: range.lowerBound, to: range.upperBound, by: 4096) {
        try source.goOn(readCount)
        keys += try entries.identifiers(at: start..<min(range.upperBound, start + 4096))
      }
    }
    return keys
  }

  /// Identifiers in the order of the records.
  private func ordered(_ keys: [StoredKey]) throws -> [StoredKey] {
    let records = try source.entries("")
    guard !records.hasBytesAsOrder else { return keys.sorted { $0.bytes.precedes($1.bytes) } }
    var placed: [(place: Int, key: StoredKey)] = []
    for key in keys { placed.append((try records.place(of: key) ?? .max, key)) }
    return placed.sorted { $0.place < $1.place }.map(\.key)
  }

  private func forEachCandidate(_ body: (StoredKey) throws -> Void) throws {
    guard case .scan = plan.way else { return try gathered(plan.way).forEach(body) }
    let entries = try source.entries("")
    let count = try entries.count
    for start in stride(from: 0, to: count, by: Self.window) {
      try entries.identifiers(at: start..<min(count, start + Self.window)).forEach(body)
    }
  }

  // MARK: Sorting

  private mutating func sorted(_ tie: SortTie) throws -> SortedKeys {
    var kept = SortedKeys(limit: remaining, offset: offset, after: try after.map { try tie.key(behind: $0) })
    if plan.way == .scan, let scan = try source.scan?(0..<plan.rows) {
      while try scan.advance({ try countRead($0) }) {
        let key = try scan.sortKey()
        guard kept.takes(key) else { continue }
        try kept.add(SortedKey(key: key, identifier: tie.bytes(of: scan.identifier(), at: scan.rank())))
      }
      return kept
    }
    var read = 0
    let (source, isTested) = (source, plan.isTested)
    try forEachCandidate { key in
      guard let element = try source.element(key) else { return }
      read += 1
      if read.isMultiple(of: Self.window) { try source.goOn(read) }
      if isTested, try !source.matches(element) { return }
      try kept.add(SortedKey(key: try source.sortKey(element), identifier: tie.bytes(of: key)))
    }
    readCount += read
    return kept
  }

  // MARK: Candidates, for who reads the records itself

  /// Whose record is the next to be looked at; nil at the end. Tests nothing.
  package mutating func nextCandidate() throws -> StoredKey? {
    if case .unopened = state { try open() }
    return try nextKey()?.0
  }

  /// Leaves out candidates; before the first one is asked for.
  package mutating func skipCandidates(_ count: Int) throws {
    if case .unopened = state { try open() }
    switch state {
    case .along(var walk):
      try walk.skip(count)
      state = .along(walk)
    case .list(let keys, let next, let isTested):
      state = .list(keys, next: min(keys.count, next + count), isTested: isTested)
    case .unopened, .scanning, .sorted, .ended: break
    }
  }

  /// How many candidates there are; before the first one is asked for.
  package mutating func candidateCount() throws -> Int {
    if case .unopened = state { try open() }
    return switch state {
    case .along(let walk): walk.count
    case .list(let keys, let next, _): keys.count - next
    case .unopened, .scanning, .sorted, .ended: 0
    }
  }

  /// The candidate at a position; before the first one is asked for.
  package func candidate(at position: Int) throws -> StoredKey? {
    switch state {
    case .along(let walk): try walk.identifier(at: position)
    case .list(let keys, let next, _): keys[next + position]
    case .unopened, .scanning, .sorted, .ended: nil
    }
  }

  private mutating func nextKey() throws -> (StoredKey, isTested: Bool)? {
    switch state {
    case .along(var walk):
      state = .ended
      let key = try walk.next()
      state = .along(walk)
      return key.map { ($0, plan.isTested) }
    case .list(let keys, let next, let isTested):
      guard next < keys.count else { return nil }
      state = .list(keys, next: next + 1, isTested: isTested)
      return (keys[next], isTested)
    case .sorted(var walk, let tie):
      state = .ended
      let key = try walk.next()
      state = .sorted(walk, tie)
      return key.map { (source.storedKey(tie.identifier(of: $0)), false) }
    case .unopened, .scanning, .ended: return nil
    }
  }
}

/// A walk along entries; backwards the values descend, and the identifiers of one value still ascend.
private struct IndexWalk {
  let entries: any QueryEntries
  private(set) var ranks: Range<Int>
  private let isDescending: Bool
  /// Entries of one value that are still due, when values descend.
  private var group = 0..<0
  private var buffer: [StoredKey] = []
  private var used = 0
  private static let window = 128

  init(entries: any QueryEntries, ranks: Range<Int>, isDescending: Bool) {
    self.entries = entries
    self.ranks = ranks
    self.isDescending = isDescending
  }

  var count: Int { ranks.count + group.count }

  /// Leaves out entries; before the first one is read.
  mutating func skip(_ count: Int) throws {
    guard count > 0 else { return }
    guard isDescending else {
      ranks = min(ranks.upperBound, ranks.lowerBound + count)..<ranks.upperBound
      return
    }
    var left = count - min(count, group.count)
    group = group.lowerBound + min(count, group.count)..<group.upperBound
    guard left > 0 else { return }
    guard left < ranks.count else {
      ranks = ranks.lowerBound..<ranks.lowerBound
      return
    }
    let found = try entries.ranks(sharingValueAt: ranks.upperBound - 1 - left).clamped(to: ranks)
    left -= ranks.upperBound - found.upperBound
    group = found.lowerBound + left..<found.upperBound
    ranks = ranks.lowerBound..<found.lowerBound
  }

  /// Whose the entry at a position of the whole walk is; before the first one is read.
  func identifier(at position: Int) throws -> StoredKey? {
    guard isDescending else {
      let rank = ranks.lowerBound + position
      return try entries.identifiers(at: rank..<rank + 1).first
    }
    let found = try entries.ranks(sharingValueAt: ranks.upperBound - 1 - position).clamped(to: ranks)
    let rank = found.lowerBound + position - (ranks.upperBound - found.upperBound)
    return try entries.identifiers(at: rank..<rank + 1).first
  }

  mutating func next() throws -> StoredKey? {
    if used == buffer.count { try fill() }
    guard used < buffer.count else { return nil }
    defer { used += 1 }
    return buffer[used]
  }

  private mutating func fill() throws {
    used = 0
    if isDescending, group.isEmpty, !ranks.isEmpty {
      group = try entries.ranks(sharingValueAt: ranks.upperBound - 1).clamped(to: ranks)
      ranks = ranks.lowerBound..<group.lowerBound
    }
    let due = isDescending ? group : ranks
    let part = due.lowerBound..<min(due.upperBound, due.lowerBound + Self.window)
    buffer = part.isEmpty ? [] : try entries.identifiers(at: part)
    let rest = part.upperBound..<due.upperBound
    if isDescending { group = rest } else { ranks = rest }
  }
}
