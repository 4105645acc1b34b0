import DatastoreModel

/// Dates of commits, in the two forms that verbs print.
enum Clock {
  /// For people: local time to the second.
  static func text(_ nanoseconds: Int64) -> String {
    let time = LocalTime(nanoseconds: nanoseconds)
    return "\(time.dayText) \(time.secondText)"
  }

  /// For programs: ISO 8601 in UTC with milliseconds, cut, not rounded.
  static func iso8601(_ nanoseconds: Int64) -> String {
    let (seconds, rest) = (nanoseconds.quotientRoundedDown(by: 1_000_000_000), nanoseconds.remainderAboveZero(of: 1_000_000_000))
    let time = CivilTime(secondsSince1970: seconds)
    let milliseconds = String(rest / 1_000_000)
    return "\(time.dateText)T\(time.clockText).\(String(repeating: "0", count: 3 - milliseconds.count))\(milliseconds)Z"
  }
}

extension Int64 {
  fileprivate func quotientRoundedDown(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }

  fileprivate func remainderAboveZero(of divisor: Int64) -> Int64 {
    let remainder = self % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}
