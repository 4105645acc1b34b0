package import StorageEngine

/// An entry that a query looks at.
package struct QueryCandidate: Sendable {
  /// Whose it is.
  package var key: StoredKey
  /// Where the record lies, where the entry says it: of a direct index, and of the records themselves.
  package var record: RecordReference?

  package init(key: StoredKey, record: RecordReference? = nil) {
    self.key = key
    self.record = record
  }
}

/// Goes along entries, in their order or against it.
package protocol EntryCursor {
  /// The next entry; nil behind the last one.
  mutating func next() throws(ModelError) -> QueryCandidate?
  /// Whether the next one is here already, so that no server need be asked for it.
  var isAtHand: Bool { get }
}

extension EntryCursor {
  package var isAtHand: Bool { true }
}

/// Entries of an index, or of the records themselves, as a query walks over them.
package protocol QueryEntries: Sendable {
  /// Whether the identifiers lie in the order of their bytes.
  var hasBytesAsOrder: Bool { get }
  var count: Int { get throws(ModelError) }
  /// A walk over the entries of a range of ranks. Reads nothing yet.
  func cursor(at ranks: Range<Int>, isBackward: Bool) -> any EntryCursor
  /// The ranks of all entries with the value of the one at a rank.
  func ranks(sharingValueAt rank: Int) throws(ModelError) -> Range<Int>
  /// Where the record of an identifier lies; nil where it is gone.
  func place(of identifier: StoredKey) throws(ModelError) -> Int?
  /// How many records lie at or before an identifier, whether it is there or not.
  func rank(after identifier: StoredKey) throws(ModelError) -> Int
}

/// The entries that a plan leads to, one after the other: what every read of records begins with, be it the library's, the browser's
/// or a verb's. Tests nothing and reads no record. Nothing is read before the first call.
///
/// They come in the plan's order; where that is to be sorted, in whatever order takes least.
package struct QueryCandidates {
  private let plan: QueryPlan
  private let source: (String) throws -> any QueryEntries
  private let after: StoredKey?
  private let goOn: () throws -> Void
  private var state = State.unopened

  private enum State {
    case unopened
    case along(EntryWalk)
    case list([StoredKey], next: Int)
  }

  /// - Parameters:
  ///   - source: The entries of an index by its name; of the records with an empty one.
  ///   - after: Only those behind an identifier, where they come in the order of identifiers.
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

  /// The next one; nil at the end.
  package mutating func next() throws -> QueryCandidate? {
    if case .unopened = state { try open() }
    switch state {
    case .along(var walk):
      state = .unopened
      defer { state = .along(walk) }
      return try walk.next()
    case .list(let keys, let next):
      guard next < keys.count else { return nil }
      state = .list(keys, next: next + 1)
      return QueryCandidate(key: keys[next])
    case .unopened: return nil
    }
  }

  /// Whether the next one is here already, so that no server need be asked for it.
  package var isAtHand: Bool { if case .along(let walk) = state { walk.isAtHand } else { true } }

  /// Leaves some out; before the first one is asked for.
  package mutating func skip(_ count: Int) throws {
    if case .unopened = state { try open() }
    switch state {
    case .along(var walk):
      try walk.skip(count)
      state = .along(walk)
    case .list(let keys, let next): state = .list(keys, next: next + min(count, keys.count - next))
    case .unopened: break
    }
  }

  /// How many there are; before the first one is asked for. An index with several values for a record may lead to it repeatedly.
  package mutating func count() throws -> Int {
    if case .unopened = state { try open() }
    return switch state {
    case .along(let walk): walk.count
    case .list(let keys, let next): keys.count - next
    case .unopened: 0
    }
  }

  /// The one at a position; before the first one is asked for.
  package mutating func candidate(at position: Int) throws -> QueryCandidate? {
    if case .unopened = state { try open() }
    switch state {
    case .along(let walk): return try walk.candidate(at: position)
    case .list(let keys, let next): return QueryCandidate(key: keys[next + position])
    case .unopened: return nil
    }
  }

  /// How many records they lead to. Ranks tell, where no record can come twice.
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
    case .along(let name, let isDescending):
      // Of records each has a value of its own.
      let direction = isDescending ? name.isEmpty ? EntryWalk.Direction.backward : .valuesDescend : .forward
      var walk = try walk(along: name, direction)
      if let after, plan.order.isByIdentifier {
        try walk.skip(max(0, source("").rank(after: after) - walk.ranks.lowerBound))
      }
      state = .along(walk)
    case .reversed(let name): state = .along(try walk(along: name, .backward))
    case .identifiers:
      let keys = try ordered(try gathered(plan.way))
      state = .list(try after.map { try dropped(keys, through: $0) } ?? keys, next: 0)
    case .sort:
      switch plan.way {
      case .scan: state = .along(try walk(along: "", .forward))
      case .index(let ranges) where plan.way.isDistinct && ranges.ranges.count <= 1:
        state = .along(try walk(along: ranges.index, .forward))
      default: state = .list(try gathered(plan.way), next: 0)
      }
    }
  }

  private func walk(along name: String, _ direction: EntryWalk.Direction) throws -> EntryWalk {
    let entries = try source(name)
    // A server would have to count them, so they are counted where nothing else says how many there are.
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
    let entries = try source(index)
    var keys: [StoredKey] = []
    keys.reserveCapacity(ranges.reduce(0) { $0 + $1.count })
    for range in ranges {
      var cursor = entries.cursor(at: range, isBackward: false)
      while let next = try cursor.next() {
        keys.append(next.key)
        if keys.count.isMultiple(of: 4096) { try goOn() }
      }
    }
    return keys
  }

  /// Identifiers in the order of the records.
  private func ordered(_ keys: [StoredKey]) throws -> [StoredKey] {
    let records = try source("")
    var placed: [(place: UInt64, key: Int)] = []
    placed.reserveCapacity(keys.count)
    if records.hasBytesAsOrder {
      // Most keys differ in their first eight bytes.
      for (number, key) in keys.enumerated() { placed.append((key.bytes.beginning, number)) }
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

extension [UInt8] {
  /// The first eight bytes as a number, in whose order the bytes lie as far as it tells them apart.
  var beginning: UInt64 {
    var beginning: UInt64 = 0
    for byte in prefix(8) { beginning = beginning << 8 | UInt64(byte) }
    return beginning << UInt64(8 * (8 - Swift.min(count, 8)))
  }
}

/// A walk along the entries of one range.
private struct EntryWalk {
  enum Direction {
    case forward
    /// The exact reverse.
    case backward
    /// The values descend, and the identifiers of one value still ascend.
    case valuesDescend
  }

  private let entries: any QueryEntries
  private let direction: Direction
  /// Entries that no cursor has begun with.
  private(set) var ranks: Range<Int>
  /// Entries of one value that are still due, when values descend.
  private var group = 0..<0
  private var cursor: (any EntryCursor)?

  init(entries: any QueryEntries, ranks: Range<Int>, direction: Direction) {
    self.entries = entries
    self.ranks = ranks
    self.direction = direction
  }

  /// How many there are; before the first one is read.
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

  /// Leaves out entries; before the first one is read.
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

  /// The entry at a position of the whole walk; before the first one is read.
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
