import StrataDocuments

/// Moments in streams and letters: ISO 8601 in UTC, to the nanosecond.
package enum MomentText {
  package static func text(_ nanoseconds: Int64) -> String {
    let time = CivilTime(nanosecondsSince1970: nanoseconds)
    let rest = (nanoseconds % 1_000_000_000 + 1_000_000_000) % 1_000_000_000
    return "\(time.dateText)T\(time.clockText).\(String(rest).zeroFilled(9))Z"
  }

  /// Returns nil if the text is not a date between 1678 and 2262, the range of 64 bits of nanoseconds.
  package static func nanoseconds(_ text: String) -> Int64? {
    guard let (seconds, fraction) = DateText.parts(text, offset: 0), fraction.utf8.count <= 9,
      let rest = Int64(fraction + String(repeating: "0", count: 9 - fraction.utf8.count))
    else { return nil }
    // The first second begins before the range.
    return Int64(exactly: Int128(seconds) * 1_000_000_000 + Int128(rest))
  }
}
