import StrataDocuments

/// How the values of a column are written, if the user chose a format; remembered per datastore and field.
enum ValueFormat: String, CaseIterable, Sendable, Hashable {
  case plain, thousands, bytes, dateFromSeconds, dateFromMilliseconds, duration, hex, check, local, relative, label

  var title: String {
    switch self {
    case .plain: "as it is stored, without separators"
    case .thousands: "1 525 152"
    case .bytes: "1.5 MB"
    case .dateFromSeconds: "date, from seconds since 1970"
    case .dateFromMilliseconds: "date, from milliseconds since 1970"
    case .duration: "duration, from seconds"
    case .hex: "hexadecimal"
    case .check: "✓ and ✗, of true, false, 1, 0"
    case .local: "a date here: 2026-11-20 17:00"
    case .relative: "how long ago a date is: 3 d ago"
    case .label: "with the name of the record that it leads to"
    }
  }

  /// The fewest cells for a value of `width` cells in this format.
  func room(for width: Int) -> Int {
    switch self {
    case .dateFromSeconds, .dateFromMilliseconds: 19
    case .thousands: width + max(0, width - 1) / 3
    default: 0
    }
  }

  /// Returns a value in this format. A value that it cannot write stays unchanged.
  ///
  /// - Parameters:
  ///   - time: The time zone of `local`.
  ///   - now: The present, for `relative`, in nanoseconds since 1970.
  func text(_ value: ValueText, isASCII: Bool, time: TimeText = .utc, now: Int64 = 0) -> ValueText {
    var result = value
    if self == .local || self == .relative {
      guard let moment = Self.moment(value) else { return value }
      result.text = self == .local ? time.dayAndClock(moment) : TimeText.relative(moment, now: now)
      return result
    }
    if self == .check {
      guard let flag = Self.flag(value) else { return value }
      result.text = flag ? (isASCII ? "v" : "✓") : (isASCII ? "x" : "✗")
      return result
    }
    guard value.kind == .number, let text = number(value.text) else { return value }
    result.text = text
    // A value that is no longer a number may be cut like a text.
    if self == .dateFromSeconds || self == .dateFromMilliseconds { result.kind = .date }
    return result
  }

  /// The nanoseconds since 1970 of a date, or of a text that is one.
  private static func moment(_ value: ValueText) -> Int64? {
    guard value.kind == .date || value.kind == .string, let seconds = DateText.parse(value.text) else { return nil }
    let since1970 = seconds + Double(DateText.referenceSeconds)
    return abs(since1970) < 9e9 ? Int64(since1970 * 1e9) : nil
  }

  private static func flag(_ value: ValueText) -> Bool? {
    switch (value.kind, value.text) {
    case (.bool, "true"), (.number, "1"): true
    case (.bool, "false"), (.number, "0"): false
    default: nil
    }
  }

  private func number(_ text: String) -> String? {
    switch self {
    case .plain, .check, .local, .relative, .label: return nil
    case .thousands: return NumberText(text).map(NumberFormat.exact)
    case .bytes: return Int64(text).map { NumberFormat.bytes($0) }
    case .hex: return Int64(text).flatMap { $0 >= 0 ? "0x" + String($0, radix: 16) : nil }
    case .dateFromSeconds: return Double(text).flatMap { Self.date($0) }
    case .dateFromMilliseconds: return Double(text).flatMap { Self.date($0 / 1_000) }
    case .duration: return Double(text).flatMap { 0..<1e9 ~= $0 ? TimeText.duration(seconds: $0) : nil }
    }
  }

  private static func date(_ seconds: Double) -> String? {
    guard seconds.isFinite, abs(seconds) < 250_000_000_000 else { return nil }
    let civil = CivilTime(secondsSince1970: Int64(seconds.rounded(.down)))
    guard 0...9999 ~= civil.year else { return nil }
    return "\(civil.dateText) \(civil.clockText)"
  }
}
