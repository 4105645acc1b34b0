import StrataFoundation

extension Date {
  /// The date of a commit, from the nanoseconds since 1970 that the store keeps.
  init(commitNanoseconds nanoseconds: Int64) {
    self.init(timeIntervalSince1970: Double(nanoseconds) / 1e9)
  }

  /// The last nanosecond since 1970 whose date is not later than this one. A date is coarser than a commit's time: for the date of a
  /// commit, the result includes the commit, whichever way its date was rounded.
  ///
  /// - Throws: ``StoreError`` for a date of NaN, which is neither before nor after any other.
  var lastNanosecond: Int64 {
    get throws {
      if timeIntervalSince1970.isNaN { throw StoreError(.refused, "A date of NaN is not a point in time.") }
      var (low, high) = (Int64.min, Int64.max)
      if Date(commitNanoseconds: high) <= self { return high }
      while high &- low != 1 {
        let middle = low &+ Int64(UInt64(bitPattern: high &- low) / 2)
        if Date(commitNanoseconds: middle) <= self { low = middle } else { high = middle }
      }
      return low
    }
  }
}
