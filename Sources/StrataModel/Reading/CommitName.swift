import StrataExpressions
import StrataDocuments

/// A user's name for a commit: a number, `head`, a step back from it, the name of a pin, or a time.
package enum CommitName: Hashable, Sendable {
  case number(CommitNumber)
  /// `head` is 0 steps, `head~3` is 3.
  case stepsBeforeHead(Int)
  case pin(String)
  /// The newest commit that is not later than this moment, in nanoseconds since 1970.
  case time(Int64)

  /// Reads `4818`, `#4818`, `head`, `head~3`, one of the pins, or a time as `TimeExpression` reads it.
  ///
  /// - Parameter now: nanoseconds since 1970, for times relative to today.
  package init(parsing text: String, pins: [String], now: Int64 = LocalTime.now) throws(ModelError) {
    let name = text.trimmingSpaces
    if let number = UInt64(name.hasPrefix("#") ? name.dropFirst() : name[...]) {
      self = .number(CommitNumber(number))
    } else if let steps = Self.stepsBeforeHead(name.lowercased()) {
      self = .stepsBeforeHead(steps)
    } else if pins.contains(name) {
      self = .pin(name)
    } else if let moment = TimeExpression(parsing: name, now: now)?.last {
      self = .time(moment)
    } else {
      throw .noSuchCommit(name, reason: "it is not a number, head~N, a pin or a time")
    }
  }

  private static func stepsBeforeHead(_ name: String) -> Int? {
    guard name.hasPrefix("head") else { return nil }
    let rest = name.dropFirst(4)
    if rest.isEmpty { return 0 }
    guard rest.first == "~" else { return nil }
    return rest.count == 1 ? 1 : Int(rest.dropFirst()).flatMap { $0 >= 0 ? $0 : nil }
  }
}
