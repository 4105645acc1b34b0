import Documents

/// Dates of commits in a stream: ISO 8601 in UTC, to the nanosecond.
enum StreamDate {
  static func text(_ nanoseconds: Int64) -> String {
    let time = CivilTime(nanosecondsSince1970: nanoseconds)
    let rest = nanoseconds - nanoseconds.dividedRoundingDown(by: 1_000_000_000) * 1_000_000_000
    let digits = String(rest)
    return "\(time.dateText)T\(time.clockText).\(String(repeating: "0", count: 9 - digits.utf8.count))\(digits)Z"
  }

  /// Nil where the text is no date between 1678 and 2262, which is what 64 bits of nanoseconds hold.
  static func nanoseconds(_ text: String) -> Int64? {
    guard let (seconds, fraction) = DateText.parts(text, offset: 0), fraction.utf8.count <= 9,
      let rest = Int64(fraction + String(repeating: "0", count: 9 - fraction.utf8.count))
    else { return nil }
    let (whole, isTooFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (moment, isTooLarge) = whole.addingReportingOverflow(rest)
    return isTooFar || isTooLarge ? nil : moment
  }
}
