package import StrataDocuments

extension KeyEncoding {
  /// Reads a value that a user typed: `1_000_000`, `"Ca"` or `Ca`, `null`, `2026-11-17 09:30`, `0x0a1b`, `1.5 s`, and for compound and
  /// other composite values a JSON literal. Throws `ModelError.invalid` with the column.
  package func parse(_ text: String) throws(ModelError) -> KeyValue {
    let trimmed = text.trimmingSpaces
    switch self {
    case .optional(let inner):
      return trimmed == "null" || trimmed == "nil" ? .null : try inner.parse(text)
    case .descending(let inner): return try inner.parse(text)
    case .comparator: return .document(try composite(trimmed, in: text))
    case .compound:
      guard let value = keyValue(from: try json(trimmed, in: text)) else { throw invalid(text) }
      return value
    case .string:
      return .string(trimmed.beginsWithQuote ? try quoted(trimmed, in: text) : text)
    case .uuid, .date, .data, .duration:
      let content = trimmed.beginsWithQuote ? try quoted(trimmed, in: text) : trimmed
      guard let value = scalar(from: content) else { throw invalid(text) }
      return value
    case .bool:
      guard trimmed == "true" || trimmed == "false" else { throw invalid(text) }
      return .bool(trimmed == "true")
    case .integer, .unsigned, .double, .float, .decimal:
      guard let value = number(from: trimmed) else { throw invalid(text) }
      return value
    }
  }

  /// Returns the key of this encoding for a record's field, or nil if the field has no such key. Dates may be ISO 8601 text or seconds
  /// since 2001, data base64, durations the pair that Swift encodes.
  package func keyValue(from document: Document) -> KeyValue? {
    switch (self, document) {
    case (.optional, .null): return .null
    case (.optional(let inner), _), (.descending(let inner), _): return inner.keyValue(from: document)
    case (.comparator, _): return .document(document)
    case (.compound(let tiers), .array(let elements)) where tiers.count == elements.count:
      var values: [KeyValue] = []
      for (tier, element) in zip(tiers, elements) {
        guard let value = tier.keyValue(from: element) else { return nil }
        values.append(value)
      }
      return .compound(values)
    case (.bool, .bool(let value)): return .bool(value)
    case (.string, .string(let value)): return .string(value)
    case (.data, .data(let value)): return .data(value)
    case (.data, .string(let text)): return Base64.bytes(of: text).map { .data($0) }
    case (.date, .date(let value)): return .date(value)
    case (.date, .number(let value)): return value.double.isFinite ? .date(value.double) : nil
    case (.uuid, .string(let text)), (.date, .string(let text)): return scalar(from: text)
    case (.duration, .array(let parts)): return Self.duration(from: parts)
    case (.duration, .number(let value)): return scalar(from: value.text)
    case (.integer, .number(let value)):
      return value.integer.map { .integer($0) } ?? number(from: value.text)
    case (.double, .number(let value)) where value.isFinite:
      let double = value.double
      return double.isFinite ? .double(double) : nil
    case (.unsigned, .number(let value)), (.double, .number(let value)), (.float, .number(let value)),
      (.decimal, .number(let value)):
      return number(from: value.text)
    default: return nil
    }
  }

  private func scalar(from text: String) -> KeyValue? {
    switch self {
    case .uuid: return UUIDBytes(text).map { .uuid($0) }
    case .date: return DateText.parse(text).map { .date($0) }
    case .duration: return DurationText.parse(text).map { KeyValue(attoseconds: $0) }
    case .data:
      guard text.hasPrefix("0x") else { return Base64.bytes(of: text).map { .data($0) } }
      return Self.hexadecimal(text.dropFirst(2)).map { .data($0) }
    default: return nil
    }
  }

  private func number(from typed: String) -> KeyValue? {
    let text = typed.utf8.contains(UInt8(ascii: "_")) ? typed.filter { $0 != "_" } : typed
    switch self {
    case .integer, .unsigned:
      if let value = Int64(text) { return self == .integer || value >= 0 ? .integer(value) : nil }
      guard let digits = DecimalDigits(text), let whole = digits.integerText else { return nil }
      guard let magnitude = UInt128(digits.isNegative ? String(whole.dropFirst()) : whole) else { return nil }
      guard !digits.isNegative || (self == .integer && magnitude <= Int128.min.magnitude) else { return nil }
      return KeyValue(magnitude: magnitude, isNegative: digits.isNegative)
    case .double, .float:
      guard let value = Self.special(text) ?? Self.finite(text) else { return nil }
      return .double(self == .float ? Double(Float(value)) : value)
    case .decimal:
      if text == "nan" { return .decimal(text) }
      return DecimalDigits(text).map { .decimal($0.description) }
    default: return nil
    }
  }

  private static func finite(_ text: String) -> Double? {
    guard DecimalDigits(text) != nil, let value = Double(text), value.isFinite else { return nil }
    return value
  }

  private static func special(_ text: String) -> Double? {
    switch text {
    case "nan": .nan
    case "inf", "+inf", "infinity": .infinity
    case "-inf", "-infinity": -.infinity
    default: nil
    }
  }

  private static func hexadecimal(_ digits: Substring) -> [UInt8]? {
    guard digits.utf8.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for byte in digits.utf8 {
      guard let digit = byte.hexDigitValue else { return nil }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return bytes
  }

  /// Swift encodes a duration as the upper and the lower 64 bits of its attoseconds.
  private static func duration(from parts: [Document]) -> KeyValue? {
    guard parts.count == 2, case .number(let high) = parts[0], case .number(let low) = parts[1],
      let high = high.integer, let low = low.unsigned
    else { return nil }
    return KeyValue(attoseconds: Int128(high) << 64 | Int128(low))
  }

  private func composite(_ trimmed: String, in text: String) throws(ModelError) -> Document {
    // A bare word is a text, so that raw values of enums can be typed.
    if let first = trimmed.utf8.first, first | 0x20 >= UInt8(ascii: "a"), first | 0x20 <= UInt8(ascii: "z"),
      !["null", "true", "false"].contains(trimmed)
    {
      return .string(trimmed)
    }
    return try json(trimmed, in: text)
  }

  private func json(_ trimmed: String, in text: String) throws(ModelError) -> Document {
    do {
      return try JSONParser.parse(trimmed)
    } catch {
      throw .invalid(text: text, column: error.column + text.leadingSpaces, reason: "\(error.reason): not a \(name)")
    }
  }

  private func quoted(_ trimmed: String, in text: String) throws(ModelError) -> String {
    guard case .string(let content) = try json(trimmed, in: text) else { throw invalid(text) }
    return content
  }

  private func invalid(_ text: String) -> ModelError {
    let example = self == .date ? ", as 2026-11-17 09:30" : ""
    return .invalid(text: text, column: text.leadingSpaces + 1, reason: "“\(text)” is not \(article) \(name)\(example)")
  }
}

extension String {
  /// Compares bytes, because a quotation mark before a combining character is not a separate character.
  fileprivate var beginsWithQuote: Bool { utf8.first == UInt8(ascii: "\"") }

  var leadingSpaces: Int { prefix { $0.isWhitespace }.count }
}
