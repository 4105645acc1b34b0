import StrataExpressions
import StrataDocuments
import StrataModel

/// Dates of commits, in the two forms that verbs print.
enum Clock {
  /// For people: local time to the second.
  static func text(_ nanoseconds: Int64) -> String {
    let time = LocalTime.civil(at: nanoseconds)
    return "\(time.dateText) \(time.clockText)"
  }

  /// For programs: ISO 8601 in UTC with milliseconds, cut, not rounded.
  static func iso8601(_ nanoseconds: Int64) -> String { "\(MomentText.text(nanoseconds).dropLast(7))Z" }
}
