package import StrataDocuments

extension KeyEncoding {
  /// Appends a value, and converts it if that loses nothing.
  func append(_ value: KeyValue, to encoder: inout KeyEncoder) throws(ModelError) {
    switch (self, value) {
    case (.optional, .null): encoder.appendNull()
    case (.optional(let inner), _): try inner.append(value, to: &encoder)
    case (.descending(let inner), _):
      try encoder.appendDescending { encoder throws(ModelError) in try inner.append(value, to: &encoder) }
    case (.compound(let tiers), .compound(let values)) where tiers.count == values.count:
      for (tier, value) in zip(tiers, values) { try tier.append(value, to: &encoder) }
    case (.bool, .bool(let value)): encoder.append(value)
    case (.string, .string(let value)): encoder.append(value)
    case (.data, .data(let value)): encoder.append(data: value)
    case (.uuid, .uuid(let value)): encoder.append(value)
    case (.uuid, .string(let text)):
      guard let value = UUIDBytes(text) else { throw mismatch(value) }
      encoder.append(value)
    case (.date, .date(let value)): encoder.append(date: value)
    case (.date, .string(let text)):
      guard let value = DateText.parse(text) else { throw mismatch(value) }
      encoder.append(date: value)
    case (.duration, .duration(let seconds, let attoseconds)):
      encoder.append(attoseconds: Int128(seconds) * 1_000_000_000_000_000_000 + Int128(attoseconds))
    case (.integer, _), (.unsigned, _), (.double, _), (.float, _), (.decimal, _), (.duration, .decimal):
      try appendNumber(value, to: &encoder)
    default: throw mismatch(value)
    }
  }

  private func appendNumber(_ value: KeyValue, to encoder: inout KeyEncoder) throws(ModelError) {
    switch (self, value) {
    case (.integer, .integer(let value)): encoder.append(value)
    case (.unsigned, .integer(let value)) where value >= 0: encoder.append(value)
    case (.integer, .unsigned(let value)), (.unsigned, .unsigned(let value)): encoder.append(value)
    case (.integer, _), (.unsigned, _):
      guard let digits = value.decimalDigits, let text = digits.integerText else { throw mismatch(value) }
      if let wide = Int128(text), self == .integer || wide >= 0 {
        encoder.append(wide)
      } else if let wide = UInt128(text) {
        encoder.append(wide)
      } else {
        throw mismatch(value)
      }
    case (.double, .double(let value)): encoder.append(value)
    case (.float, .double(let value)): encoder.append(Float(value))
    case (.double, _), (.float, _):
      guard let digits = value.decimalDigits, let number = Double(digits.description) else { throw mismatch(value) }
      if self == .double { encoder.append(number) } else { encoder.append(Float(number)) }
    case (.decimal, .decimal("nan")): encoder.append(nil as DecimalDigits?)
    case (.decimal, .double(let value)) where value.isNaN: encoder.append(nil as DecimalDigits?)
    case (.decimal, _):
      guard let digits = value.decimalDigits, (-0x8000...0x7FFF).contains(digits.exponent) else {
        throw mismatch(value)
      }
      encoder.append(digits)
    case (.duration, _):
      guard let digits = value.decimalDigits, let attoseconds = digits.integer(scaledBy: 18) else {
        throw mismatch(value)
      }
      encoder.append(attoseconds: attoseconds)
    default: throw mismatch(value)
    }
  }

  private func mismatch(_ value: KeyValue) -> ModelError {
    .invalid(text: value.description, column: nil, reason: "\(value) is not \(article) \(name)")
  }

  var article: String {
    switch self {
    case .integer, .unsigned: "an"
    default: "a"
    }
  }

  /// The name that users see.
  package var name: String {
    switch self {
    case .bool: "true or false"
    case .integer: "integer"
    case .unsigned: "integer of 0 or more"
    case .double, .float: "number"
    case .decimal: "decimal number"
    case .string: "text"
    case .data: "data (0x… or base64)"
    case .uuid: "UUID"
    case .date: "date"
    case .duration: "duration"
    case .optional(let inner): "\(inner.name) or null"
    case .descending(let inner): inner.name
    case .compound(let tiers): "list of \(tiers.map(\.name).joined(separator: ", "))"
    case .comparator(let type): type
    }
  }
}

extension KeyValue {
  /// The exact decimal number of a numeric value; nil for others and for values that are not finite.
  package var decimalDigits: DecimalDigits? {
    switch self {
    case .integer(let value): DecimalDigits(String(value))
    case .unsigned(let value): DecimalDigits(String(value))
    case .double(let value): value.isFinite ? DecimalDigits("\(value)") : nil
    case .decimal(let text): DecimalDigits(text)
    default: nil
    }
  }
}
