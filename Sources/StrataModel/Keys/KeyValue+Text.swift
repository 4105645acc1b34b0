package import StrataDocuments

extension KeyValue: CustomStringConvertible {
  package var description: String {
    switch self {
    case .null: return "null"
    case .bool(let value): return value ? "true" : "false"
    case .integer(let value): return String(value)
    case .unsigned(let value): return String(value)
    case .double(let value): return value.isNaN ? "nan" : "\(value)"
    case .decimal(let text): return text
    case .string(let value): return JSONWriter.literal(value)
    case .uuid(let value): return value.description
    case .date(let value): return DateText.text(of: value)
    case .data(let bytes):
      var text = "0x"
      for byte in bytes { Hexadecimal.append(byte, to: &text) }
      return text
    case .duration(let seconds, let attoseconds):
      return DurationText.text(seconds: seconds, attoseconds: attoseconds)
    case .compound(let values): return "[\(values.map(\.document.compactJSON).joined(separator: ", "))]"
    case .document(let document): return document.compactJSON
    }
  }

  /// The value as it stands in JSON: dates as ISO 8601, data as base64, UUIDs as text, durations as seconds.
  package var document: Document {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .integer(let value): .number(NumberText(value))
    case .unsigned(let value): .number(NumberText(value))
    case .double(let value): .number(NumberText(value))
    case .decimal(let text): NumberText(text).map { .number($0) } ?? .string(text)
    case .string(let value): .string(value)
    case .data(let bytes): .string(Base64.text(of: bytes))
    case .uuid(let value): .string(value.description)
    case .date(let value): .string(DateText.text(of: value))
    case .duration(let seconds, let attoseconds):
      .number(NumberText(unchecked: DurationText.digits(seconds: seconds, attoseconds: attoseconds)))
    case .compound(let values): .array(values.map(\.document))
    case .document(let document): document
    }
  }
}

/// Spans of time as `1.5 s`.
enum DurationText {
  static func text(seconds: Int64, attoseconds: Int64) -> String {
    digits(seconds: seconds, attoseconds: attoseconds) + " s"
  }

  static func digits(seconds: Int64, attoseconds: Int64) -> String {
    guard attoseconds != 0 else { return String(seconds) }
    var fraction = String(attoseconds.magnitude % 1_000_000_000_000_000_000).zeroFilled(18)
    while fraction.hasSuffix("0") { fraction.removeLast() }
    return "\(seconds < 0 || attoseconds < 0 ? "-" : "")\(seconds.magnitude).\(fraction)"
  }

  /// Reads a number and a unit (`ns us ms s min h d`, seconds where none is given) as attoseconds.
  static func parse(_ text: some StringProtocol) -> Int128? {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == "." || $0 == "-" || $0 == "+") }
    guard let digits = DecimalDigits(String(number)) else { return nil }
    let unit = String(text.dropFirst(number.count)).trimmingSpaces.lowercased()
    let (power, factor): (Int, Int128)
    switch unit {
    case "ns": (power, factor) = (9, 1)
    case "us", "µs": (power, factor) = (12, 1)
    case "ms": (power, factor) = (15, 1)
    case "", "s", "sec", "second", "seconds": (power, factor) = (18, 1)
    case "min", "m", "minute", "minutes": (power, factor) = (18, 60)
    case "h", "hour", "hours": (power, factor) = (18, 3600)
    case "d", "day", "days": (power, factor) = (18, 86400)
    default: return nil
    }
    guard let value = digits.integer(scaledBy: power) else { return nil }
    let (product, overflow) = value.multipliedReportingOverflow(by: factor)
    return overflow ? nil : product
  }
}
