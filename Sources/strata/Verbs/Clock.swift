import StrataExpressions
import StrataDocuments

/// Dates of commits, in the two forms that verbs print.
enum Clock {
  /// For people: local time to the second.
  static func text(_ nanoseconds: Int64) -> String {
    let time = LocalTime.civil(at: nanoseconds)
    return "\(time.dateText) \(time.clockText)"
  }

  /// For programs: ISO 8601 in UTC with milliseconds, cut, not rounded.
  static func iso8601(_ nanoseconds: Int64) -> String {
    let time = CivilTime(nanosecondsSince1970: nanoseconds)
    let rest = nanoseconds % 1_000_000_000
    let milliseconds = String((rest < 0 ? rest + 1_000_000_000 : rest) / 1_000_000)
    return "\(time.dateText)T\(time.clockText).\(String(repeating: "0", count: 3 - milliseconds.count))\(milliseconds)Z"
  }
}
