package import StrataEngine

/// An entry that a query examines.
package struct QueryCandidate: Sendable {
  /// The identifier of its record.
  package var key: StoredKey
  /// The reference to the record, if the entry has it: in a direct index, and in the primary tree.
  package var record: RecordReference?

  package init(key: StoredKey, record: RecordReference? = nil) {
    self.key = key
    self.record = record
  }
}

/// Walks entries, in their order or backward.
package protocol EntryCursor {
  /// Returns the next entry, or nil after the last one.
  mutating func next() throws(ModelError) -> QueryCandidate?
  /// Whether the next entry is in memory, so that no server must be asked for it.
  var isAtHand: Bool { get }
}

extension EntryCursor {
  package var isAtHand: Bool { true }
}

/// Entries of an index, or of the primary tree, for the walk of a query.
package protocol QueryEntries: Sendable {
  /// Whether the identifiers are ordered by their bytes.
  var hasBytesAsOrder: Bool { get }
  var count: Int { get throws(ModelError) }
  /// Returns a walk over the entries of a range of ranks. Reads nothing yet.
  func cursor(at ranks: Range<Int>, isBackward: Bool) -> any EntryCursor
  /// Returns the ranks of all entries that have the same value as the entry at `rank`.
  func ranks(sharingValueAt rank: Int) throws(ModelError) -> Range<Int>
  /// Returns the rank of an identifier's record, or nil if the record does not exist.
  func place(of identifier: StoredKey) throws(ModelError) -> Int?
  /// Returns the number of records at or before an identifier, whether it exists or not.
  func rank(after identifier: StoredKey) throws(ModelError) -> Int
}

/// The entries that a plan leads to, one after the other. Every read of records by the library, the browser or a verb begins with them. It
/// evaluates no condition and reads no record. Nothing is read before the first call.
///
/// They come in the plan's order. If they are to be sorted afterwards, they come in the cheapest order.
package struct QueryCandidates {
  private let plan: QueryPlan
  private let source: (String) throws -> any QueryEntries
  private let after: StoredKey?
  private let goOn: () throws -> Void
  private var isOpened = false
  /// The walk, which is changed in place; nil if the entries are a list.
  private var along: EntryWalk?
  private var list: [StoredKey] = []
  private var position = 0

  /// - Parameters:
  ///   - source: The entries of an index by its name, or of the primary tree by an empty name.
  ///   - after: Limits the entries to those after this identifier, if they come in the order of identifiers.
  ///   - goOn: Called now and then while many are gathered; throws to end that.
  package init(
    _ plan: QueryPlan, after: StoredKey? = nil, goOn: @escaping () throws -> Void = {},
    source: @escaping (String) throws -> any QueryEntries
  ) {
    self.plan = plan
    self.source = source
    self.after = after
    self.goOn = goOn
  }

  /// Returns the next candidate, or nil at the end.
  package mutating func next() throws -> QueryCandidate? {
    if !isOpened { try open() }
    if along != nil { return try along?.next() }
    guard position < list.count else { return nil }
    defer { position += 1 }
    return QueryCandidate(key: list[position])
  }

  /// Returns all candidates that are left, if they were gathered and are at least that many; else nil, and skips none.
  mutating func gatheredRest(ifAtLeast least: Int) throws -> ArraySlice<StoredKey>? {
    if !isOpened { try open() }
    guard along == nil, list.count - position >= least else { return nil }
    defer { position = list.count }
    return list[position...]
  }

  /// Whether the next candidate is in memory, so that no server must be asked for it.
  package var isAtHand: Bool { along?.isAtHand ?? true }

  /// Skips some candidates; must be called before the first one is read.
  package mutating func skip(_ count: Int) throws {
    if !isOpened { try open() }
    try along?.skip(count)
    position += min(count, list.count - position)
  }

  /// Returns their number; must be called before the first one is read. An index with several values per record may lead to it repeatedly.
  package mutating func count() throws -> Int {
    if !isOpened { try open() }
    return along?.count ?? list.count - position
  }

  /// Returns the candidate at a position; must be called before the first one is read.
  package mutating func candidate(at place: Int) throws -> QueryCandidate? {
    if !isOpened { try open() }
    if let along { return try along.candidate(at: place) }
    return QueryCandidate(key: list[position + place])
  }

  /// Returns the number of records they lead to, from ranks if no record can come twice.
  package func recordCount() throws -> Int {
    switch plan.way {
    case .scan: plan.rows
    case .index(let ranges) where plan.way.isDistinct: ranges.count
    default: try gathered(plan.way).count
    }
  }

  // MARK: Opening

  private mutating func open() throws {
    switch plan.order {
    case .along where !plan.way.isDistinct: list = try gathered(plan.way)
    case .reversed where !plan.way.isDistinct: list = try gathered(plan.way, isBackward: true)
    case .along(let name, let isDescending):
      // In the primary tree each record has a distinct value.
      let direction = isDescending ? name.isEmpty ? EntryWalk.Direction.backward : .valuesDescend : .forward
      var walk = try walk(along: name, direction)
      if let after, plan.order.isByIdentifier {
        try walk.skip(max(0, source("").rank(after: after) - walk.ranks.lowerBound))
      }
      along = walk
    case .reversed(let name): along = try walk(along: name, .backward)
    case .identifiers:
      let keys = try ordered(try gathered(plan.way))
      list = try after.map { try dropped(keys, through: $0) } ?? keys
    case .sort:
      switch plan.way {
      case .scan: along = try walk(along: "", .forward)
      case .index(let ranges) where plan.way.isDistinct && ranges.ranges.count <= 1:
        along = try walk(along: ranges.index, .forward)
      default: list = try gathered(plan.way)
      }
    }
    isOpened = true
  }

  private func walk(along name: String, _ direction: EntryWalk.Direction) throws -> EntryWalk {
    let entries = try source(name)
    // A server would have to count them, so they are counted only if the plan has no ranges.
    let ranks =
      if case .index(let ranges) = plan.way { ranges.ranges.first ?? 0..<0 } else { 0..<(try entries.count) }
    return EntryWalk(entries: entries, ranks: ranks, direction: direction)
  }

  private func dropped(_ keys: [StoredKey], through last: StoredKey) throws -> [StoredKey] {
    let records = try source("")
    guard !records.hasBytesAsOrder else { return keys.filter { last.bytes.precedes($0.bytes) } }
    let end = try records.rank(after: last)
    return try keys.filter { try (records.place(of: $0) ?? 0) >= end }
  }

  // MARK: Gathering

  private func gathered(_ way: QueryPlan.Way, isBackward: Bool = false) throws -> [StoredKey] {
    switch way {
    case .scan: return try identifiers(of: [0..<plan.rows], in: "")
    case .index(let ranges):
      let keys = try identifiers(of: ranges.ranges, in: ranges.index, isBackward: isBackward)
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

  private func identifiers(
    of ranges: [Range<Int>], in index: String, isBackward: Bool = false
  ) throws -> [StoredKey] {
    let entries = try source(index)
    var keys: [StoredKey] = []
    keys.reserveCapacity(ranges.reduce(0) { $0 + $1.count })
    for range in ranges {
      var cursor = entries.cursor(at: range, isBackward: isBackward)
      while let next = try cursor.next() {
        keys.append(next.key)
        if keys.count.isMultiple(of: 4096) { try goOn() }
      }
    }
    return keys
  }

  private func ordered(_ keys: [StoredKey]) throws -> [StoredKey] {
    let records = try source("")
    var placed: [(place: UInt64, key: Int)] = []
    placed.reserveCapacity(keys.count)
    if records.hasBytesAsOrder {
      // Most keys differ in their first eight bytes.
      for (number, key) in keys.enumerated() { placed.append((key.bytes.withUnsafeBytes(\.beginning), number)) }
      placed.sort { left, right in
        left.place != right.place ? left.place < right.place : keys[left.key].bytes.precedes(keys[right.key].bytes)
      }
    } else {
      for (number, key) in keys.enumerated() { placed.append((UInt64(try records.place(of: key) ?? .max), number)) }
      placed.sort { $0.place < $1.place }
    }
    return placed.map { keys[$0.key] }
  }
}

private struct EntryWalk {
  enum Direction {
    case forward
    /// The exact reverse.
    case backward
    /// The values descend, and the identifiers of one value still ascend.
    case valuesDescend
  }

  let entries: any QueryEntries
  /// Entries to which no cursor has advanced yet.
  var ranks: Range<Int>
  let direction: Direction
  /// The remaining entries of one value, when values descend.
  var group = 0..<0
  var cursor: (any EntryCursor)?

  /// The number of entries; valid before the first one is read.
  var count: Int { ranks.count + group.count }

  mutating func next() throws -> QueryCandidate? {
    while true {
      if let next = try cursor?.next() { return next }
      guard count > 0 else {
        cursor = nil
        return nil
      }
      cursor = entries.cursor(at: try nextRanks(), isBackward: direction == .backward)
    }
  }

  private mutating func nextRanks() throws -> Range<Int> {
    guard direction == .valuesDescend else {
      defer { ranks = ranks.upperBound..<ranks.upperBound }
      return ranks
    }
    if group.isEmpty {
      group = try entries.ranks(sharingValueAt: ranks.upperBound - 1).clamped(to: ranks)
      ranks = ranks.lowerBound..<group.lowerBound
    }
    defer { group = 0..<0 }
    return group
  }

  var isAtHand: Bool { cursor?.isAtHand ?? true }

  /// Skips entries; must be called before the first one is read.
  mutating func skip(_ count: Int) throws {
    guard count > 0 else { return }
    switch direction {
    case .forward: ranks = ranks.lowerBound + min(count, ranks.count)..<ranks.upperBound
    case .backward: ranks = ranks.lowerBound..<ranks.upperBound - min(count, ranks.count)
    case .valuesDescend: try skipOfGroups(count)
    }
  }

  private mutating func skipOfGroups(_ count: Int) throws {
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

  /// Returns the entry at a position of the whole walk; must be called before the first one is read.
  func candidate(at position: Int) throws -> QueryCandidate? {
    var rank = ranks.lowerBound + position
    if direction != .forward { rank = ranks.upperBound - 1 - position }
    if direction == .valuesDescend {
      let found = try entries.ranks(sharingValueAt: rank).clamped(to: ranks)
      rank = found.lowerBound + position - (ranks.upperBound - found.upperBound)
    }
    var cursor = entries.cursor(at: rank..<rank + 1, isBackward: false)
    return try cursor.next()
  }
}
