import StrataEngine
import StrataFoundation
import StrataModel

/// Some integers by their sum and their number.
public struct _IntegerSum: Sendable {
  var sum: Int128 = 0
  var count = 0
}

/// The sums of integers in the entries of an index, for each value of one tier. Types of the app come in only when a group is made a row:
/// for each entry that would take many times as long.
struct KeySums: Sendable {
  /// The place of the tier among the keys of an entry; nil if all entries are one group.
  private let tier: Int?
  /// The place of each sum's integers among the keys; nil if entries are counted only.
  private let terms: [Int?]
  private var numbers: [KeyValue: Int] = [:]
  /// The keys of the first entry of each group.
  private(set) var keys: [[KeyValue]] = []
  /// The sums of one group after the other.
  private var sums: [_IntegerSum] = []
  private var last: Int?

  init(by tier: Int?, of terms: [Int?]) { (self.tier, self.terms) = (tier, terms) }

  func sums(of group: Int) -> ArraySlice<_IntegerSum> { sums[group * terms.count..<(group + 1) * terms.count] }

  /// Adds an entry. Returns false if a term is not an integer.
  ///
  /// - Parameter isOfLast: Whether the entry is known to be of the same group as the last one.
  mutating func add(_ entry: [KeyValue], times: Int, isOfLast: Bool) -> Bool {
    let group = if isOfLast, let last { last } else { group(of: entry) }
    let first = group * terms.count
    for (place, term) in terms.enumerated() {
      switch term.map({ entry[$0] }) {
      case nil: break
      case .integer(let value): sums[first + place].sum += Int128(value) * Int128(times)
      case .unsigned(let value): sums[first + place].sum += Int128(value) * Int128(times)
      case .null: continue
      default: return false
      }
      sums[first + place].count += times
    }
    return true
  }

  private mutating func group(of entry: [KeyValue]) -> Int {
    if let last, tier.map({ keys[last][$0] == entry[$0] }) ?? true { return last }
    let value = tier.map { entry[$0] } ?? .null
    let group = numbers[value] ?? keys.count
    if group == keys.count {
      numbers[value] = group
      keys.append(entry)
      sums += Array(repeating: _IntegerSum(), count: terms.count)
    }
    last = group
    return group
  }

  mutating func add(_ other: KeySums) {
    for (number, entry) in other.keys.enumerated() {
      let first = group(of: entry) * terms.count
      for (place, more) in other.sums(of: number).enumerated() {
        sums[first + place].sum += more.sum
        sums[first + place].count += more.count
      }
    }
  }

  /// Adds the entries of a range. Returns nil if a term is not an integer, or if an entry cannot be taken apart.
  ///
  /// - Parameter keys: as many as `tiers` reads.
  func adding(
    _ entries: TypedEntries, in ranks: Range<Int>, _ tiers: KeyTiers, into keys: [KeyValue]
  ) throws -> KeySums? {
    var (result, isWhole, entry, first) = (self, true, keys, [UInt8]())
    let isByFirst = tier == tiers.placeOfFirst
    try throwingStoreErrors {
      try entries.forEachValue(in: ranks) { value, count in
        let read = tiers.readNext(value, after: &first, into: &entry)
        isWhole = read.isValue && result.add(entry, times: count, isOfLast: isByFirst && read.hasSameFirst)
        return isWhole
      }
    }
    return isWhole ? result : nil
  }
}

extension CoveringIndex {
  /// The rows of groups of instances with their sums, which all processors compute.
  ///
  /// - Parameter isGrouped: Whether the first column tells the groups apart. Otherwise all instances are one.
  /// - Returns: nil if a column has something else than integers.
  func sums(isGrouped: Bool) async throws -> [(row: Row, sums: ArraySlice<_IntegerSum>)]? {
    let places = values.keyPlaces
    let none = KeySums(by: isGrouped ? places[0] : nil, of: Array(places.dropFirst(isGrouped ? 1 : 0)))
    let (entries, tiers, keys) = (entries, tiers, values.keys)
    // A server is asked by one.
    let workers = entries.tree.isServed ? 1 : ProcessInfo.processInfo.activeProcessorCount
    let size = max(4_096, ranges.reduce(0) { $0 + $1.count } / workers + 1)
    let sums = try await withThrowingTaskGroup(of: KeySums?.self) { group in
      for range in ranges {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: size) {
          group.addTask { try none.adding(entries, in: start..<min(start + size, range.upperBound), tiers, into: keys) }
        }
      }
      var sums = Optional(none)
      for try await part in group {
        if let part { sums?.add(part) } else { sums = nil }
      }
      return sums
    }
    guard let sums else { return nil }
    var found: [(row: Row, sums: ArraySlice<_IntegerSum>)] = []
    for (number, keys) in sums.keys.enumerated() {
      values.keys = keys
      guard let row = try? rows.row(values) else { return nil }
      found.append((row, sums.sums(of: number)))
    }
    return found
  }
}
