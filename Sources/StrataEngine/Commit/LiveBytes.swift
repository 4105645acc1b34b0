/// A count of the bytes of a state, from a file's count and later changes. A file's count need not be true: one that would become negative
/// stays 0, and one that would become too large stays the largest.
struct LiveBytes {
  private var sum: Int64

  init(_ count: UInt64) { sum = Int64(clamping: count) }

  init(_ count: UInt64, changedBy change: Int64) {
    self.init(count)
    self.change(by: change)
  }

  var count: UInt64 { UInt64(max(0, sum)) }

  mutating func add(_ more: UInt64) { change(by: Int64(clamping: more)) }
  mutating func subtract(_ less: UInt64) { change(by: -Int64(clamping: less)) }

  /// Between the changes of a sum it may be negative.
  mutating func change(by change: Int64) {
    let (new, overflow) = sum.addingReportingOverflow(change)
    sum = overflow ? (change < 0 ? .min : .max) : new
  }
}

extension CatalogEntry {
  var liveBytes: UInt64 { nodeBytes &+ entryBytes }
}

extension Int {
  /// The sum, or the greatest or least number if it does not fit: people, apps and streams name any numbers.
  package func addingClamped(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}

extension UInt64 {
  /// The difference, or 0 if it would be negative: sums in a damaged file may not fit.
  func subtractingClamped(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
