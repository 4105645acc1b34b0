import StrataModel

/// The order of identifiers that only the app can compare, learned from their order in the folder.
///
/// Each identifier has a number, and the numbers have the order of the identifiers; new ones get numbers between those of their neighbours.
/// Deleted identifiers keep theirs. Only here does a conversion's memory grow with the records, and only with those of such types.
final class StoredOrder: KeyComparator, @unchecked Sendable {
  // `@unchecked`: only the conversion that made it uses it, one call at a time.
  private var numbers: [[UInt8]: UInt64] = [:]

  private static let distance: UInt64 = 1 << 32
  private static let origin: UInt64 = 1 << 62

  /// Numbers the identifiers of a stretch of the folder's list that have no number yet. If the list goes on beyond the stretch, its first
  /// and last are known already. Returns false if the known ones are in another order than before.
  func learn(_ stretch: [[UInt8]]) -> Bool {
    var lower: UInt64?
    var group: [[UInt8]] = []
    for (index, identifier) in stretch.enumerated() {
      guard let number = numbers[identifier] else {
        group.append(identifier)
        continue
      }
      if let lower, number <= lower { return false }
      if !place(group, between: lower, and: number) {
        renumber()
        return learn(Array(stretch[max(0, index - group.count - 1)...]))
      }
      lower = number
      group = []
    }
    if !place(group, between: lower, and: nil) {
      renumber()
      return learn(Array(stretch.suffix(group.count + 1)))
    }
    return true
  }

  private func place(_ group: [[UInt8]], between lower: UInt64?, and upper: UInt64?) -> Bool {
    guard !group.isEmpty else { return true }
    let count = UInt64(group.count)
    let start: UInt64
    let step: UInt64
    switch (lower, upper) {
    case (nil, nil): (start, step) = (Self.origin, Self.distance)
    case (let lower?, nil): (start, step) = (lower, Self.distance)
    case (nil, let upper?):
      guard upper / Self.distance > count + 1 else { return false }
      (start, step) = (upper - Self.distance * (count + 1), Self.distance)
    case (let lower?, let upper?): (start, step) = (lower, (upper - lower) / (count + 1))
    }
    let (span, isTooWide) = step.multipliedReportingOverflow(by: count + 1)
    guard step > 0, !isTooWide, !start.addingReportingOverflow(span).overflow else { return false }
    for (index, identifier) in group.enumerated() { numbers[identifier] = start + step * UInt64(index + 1) }
    return true
  }

  /// Spreads all numbers evenly, in their order.
  private func renumber() {
    let sorted = numbers.sorted { ($0.value, $0.key.count) < ($1.value, $1.key.count) }
    let first = Self.origin - Self.distance * UInt64(min(sorted.count, 1 << 29))
    for (index, entry) in sorted.enumerated() { numbers[entry.key] = first + Self.distance * UInt64(index) }
  }

  func comparison(to key: [UInt8]) -> KeyComparison {
    KeyComparison { stored in self.compare(Array(stored), key) }
  }

  private func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
    if left == right { return 0 }
    let numbers = (numbers[left] ?? .max, numbers[right] ?? .max)
    if numbers.0 != numbers.1 { return numbers.0 < numbers.1 ? -1 : 1 }
    return left.precedes(right) ? -1 : 1
  }
}
