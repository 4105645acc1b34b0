import StrataDocuments

/// How the values of a column are written, if the user chose a format; remembered per datastore and field.
enum ValueFormat: String, CaseIterable, Sendable, Hashable {
  case plain, thousands, bytes, dateFromSeconds, dateFromMilliseconds, duration, hex, check, local, relative, escaped
  case label

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
    case .escaped: "line ends, tabs and what cannot be seen as \\n, \\t, \\u{200B}"
    case .label: "with the name of the record that it leads to"
    }
  }

  /// The fewest cells for a value of `width` cells in this format.
  func room(for width: Int) -> Int {
    switch self {
    case .dateFromSeconds: max(19, width + 9)
    case .dateFromMilliseconds: max(19, width + 10)
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
    guard let text = written(value, isASCII: isASCII, time: time, now: now) else { return value }
    result.text = text
    // A value that is no longer a number may be cut like a text.
    if self == .dateFromSeconds || self == .dateFromMilliseconds { result.kind = .date }
    return result
  }

  private func written(_ value: ValueText, isASCII: Bool, time: TimeText, now: Int64) -> String? {
    let number = value.kind == .number ? value.text : ""
    // A day is the same day in every zone.
    var isDay: Bool { !value.text.utf8.contains(UInt8(ascii: ":")) }
    switch self {
    case .plain, .label: return nil
    case .local: return Self.moment(value).map { isDay ? String(value.text.prefix(10)) : time.dayAndClock($0) }
    case .relative:
      return Self.moment(value).map { isDay ? time.relative(day: $0, now: now) : TimeText.relative($0, now: now) }
    case .escaped where value.kind != .string: return nil
    case .escaped: return (value.unreplaced ?? value.text).unicodeScalars.map(Self.escaped).joined()
    case .check: return Self.flag(value).map { $0 ? (isASCII ? "v" : "✓") : (isASCII ? "x" : "✗") }
    case .thousands: return NumberText(number).map(NumberFormat.exact)
    case .bytes: return Int64(number).map { NumberFormat.bytes($0) }
    case .hex: return Int64(number).flatMap { $0 >= 0 ? "0x" + String($0, radix: 16) : nil }
    case .dateFromSeconds: return Self.seconds(number).flatMap(Self.date)
    case .dateFromMilliseconds: return Self.seconds(number, scaledBy: -3).flatMap(Self.date)
    case .duration:
      guard let (whole, rest) = Self.seconds(number), 0..<1_000_000_000 ~= whole else { return nil }
      return TimeText.duration(seconds: Double(whole)) + rest
    }
  }

  /// The nanoseconds since 1970 of a date, or of a text that is one.
  private static func moment(_ value: ValueText) -> Int64? {
    guard value.kind == .date || value.kind == .string, let seconds = DateText.parse(value.text) else { return nil }
    let since1970 = seconds + Double(DateText.referenceSeconds)
    return abs(since1970) < 9e9 ? Int64(since1970 * 1e9) : nil
  }

  /// A scalar that is seen by itself, otherwise its escape.
  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark, .unassigned:
      scalar.escaped(asASCII: true)
    case .spaceSeparator where scalar != " ", .otherPunctuation where scalar == "\\": scalar.escaped(asASCII: true)
    default: String(scalar)
    }
  }

  private static func flag(_ value: ValueText) -> Bool? {
    switch (value.kind, value.text) {
    case (.bool, "true"), (.number, "1"): true
    case (.bool, "false"), (.number, "0"): false
    default: nil
    }
  }

  /// Whole seconds, rounded down, and the rest with its point; nil for what no calendar has.
  private static func seconds(_ text: String, scaledBy power: Int = 0) -> (whole: Int64, rest: String)? {
    guard let digits = DecimalDigits(text)?.scaled(by: power), digits.exponent <= 12,
      digits.digits.count - digits.exponent <= 25
    else { return nil }
    let (whole, rest) = DateText.split(digits)
    return (whole, rest.isEmpty ? "" : ".\(rest)")
  }

  private static func date(_ whole: Int64, _ rest: String) -> String? {
    let civil = CivilTime(secondsSince1970: whole)
    return 0...9999 ~= civil.year ? "\(civil.dateText) \(civil.clockText)\(rest)" : nil
  }
}
