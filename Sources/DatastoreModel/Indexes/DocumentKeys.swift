extension KeyEncoding {
  /// The key that a field of a document stands for, read as Swift's own coders write the types of this encoding: dates
  /// as seconds since 2001 or ISO 8601, data as base64, durations as two halves of their attoseconds, null or nothing
  /// as nil of an optional. Nil where the field is none of these.
  package func keyValue(of field: Document?) -> KeyValue? {
    switch (self, field) {
    case (.optional, nil), (.optional, .null?): .null
    case (.optional(let inner), _): inner.keyValue(of: field)
    case (.descending(let inner), _): inner.keyValue(of: field)
    case (.bool, .bool(let value)?): .bool(value)
    case (.integer, .number(let number)?), (.unsigned, .number(let number)?): Self.integer(number)
    case (.double, .number(let number)?): number.double.isInfinite ? nil : .double(number.double)
    case (.float, .number(let number)?): Float(number.text).map { .double(Double($0)) }
    case (.decimal, .number(let number)?): .decimal(number.text)
    case (.string, .string(let text)?): .string(text)
    case (.data, .data(let bytes)?): .data(bytes)
    case (.data, .string(let text)?): Base64.bytes(of: text).map { .data($0) }
    case (.uuid, .string(let text)?): UUIDBytes(text).map { .uuid($0) }
    case (.date, .date(let interval)?): .date(interval)
    case (.date, .number(let number)?): .date(number.double)
    case (.date, .string(let text)?): DateText.parse(text).map { .date($0) }
    case (.duration, .array(let halves)?): Self.duration(halves)
    default: nil
    }
  }

  private static func integer(_ number: NumberText) -> KeyValue? {
    if let value = number.integer { return .integer(value) }
    if let value = number.unsigned { return .unsigned(value) }
    guard number.isInteger else { return nil }
    return .decimal(number.text)
  }

  /// Durations are coded as the high (signed) and low (unsigned) 64 bits of their attoseconds.
  private static func duration(_ halves: [Document]) -> KeyValue? {
    guard halves.count == 2, case .number(let high) = halves[0], case .number(let low) = halves[1],
      let high = high.integer, let low = low.unsigned
    else { return nil }
    let attoseconds = Int128(high) << 64 | Int128(low)
    let (seconds, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000_000)
    guard let seconds = Int64(exactly: seconds) else { return nil }
    return .duration(seconds: seconds, attoseconds: Int64(rest))
  }
}
