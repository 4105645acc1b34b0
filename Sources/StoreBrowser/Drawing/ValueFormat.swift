import DatastoreModel
import Documents

/// How the values of a column are written, if the user chose a format; remembered per datastore and field.
enum ValueFormat: String, CaseIterable, Sendable, Hashable {
  case plain, thousands, bytes, dateFromSeconds, dateFromMilliseconds, duration, hex, check, label

  var title: String {
    switch self {
    case .plain: "as it is stored"
    case .thousands: "1 525 152"
    case .bytes: "1.5 MB"
    case .dateFromSeconds: "date, from seconds since 1970"
    case .dateFromMilliseconds: "date, from milliseconds since 1970"
    case .duration: "duration, from seconds"
    case .hex: "hexadecimal"
    case .check: "✓ and ✗, of true, false, 1, 0"
    case .label: "with the name of the record that it leads to"
    }
  }

  /// Returns a value in this format. A value that it cannot write stays unchanged.
  func text(_ value: ValueText, isASCII: Bool) -> ValueText {
    var result = value
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

  private static func flag(_ value: ValueText) -> Bool? {
    switch (value.kind, value.text) {
    case (.bool, "true"), (.number, "1"): true
    case (.bool, "false"), (.number, "0"): false
    default: nil
    }
  }

  private func number(_ text: String) -> String? {
    switch self {
    case .plain, .check, .label: return nil
    case .thousands:
      guard let point = text.firstIndex(of: ".") else { return Int64(text).map { NumberFormat.count($0) } }
      return Int64(text[..<point]).map { NumberFormat.count($0) + text[point...] }
    case .bytes: return Int64(text).map { NumberFormat.bytes($0) }
    case .hex: return Int64(text).flatMap { $0 >= 0 ? "0x" + String($0, radix: 16) : nil }
    case .dateFromSeconds: return Double(text).flatMap { Self.date($0) }
    case .dateFromMilliseconds: return Double(text).flatMap { Self.date($0 / 1_000) }
    case .duration: return Double(text).flatMap { $0 >= 0 ? TimeText.duration(seconds: $0) : nil }
    }
  }

  private static func date(_ seconds: Double) -> String? {
    guard seconds.isFinite, abs(seconds) < 250_000_000_000 else { return nil }
    let civil = CivilTime(secondsSince1970: Int64(seconds.rounded(.down)))
    guard 0...9999 ~= civil.year else { return nil }
    return "\(civil.dateText) \(civil.clockText)"
  }
}
