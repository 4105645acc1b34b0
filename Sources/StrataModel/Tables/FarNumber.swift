import StrataDocuments

/// Numbers beyond the range of Double, which JSON decoders refuse: no file brings them into a store.
enum FarNumber {
  static func refusal(of number: NumberText, at path: DocumentPath) -> String? {
    guard number.isFinite, number.double.isInfinite else { return nil }
    let text = number.text.count > 40 ? "\(number.text.prefix(40))…" : number.text
    return "\(path.shortText) is \(text), which is beyond the range of Double"
  }

  /// The refusal of the first such number in a JSON text; nil if there is none.
  static func refusal(ofJSON bytes: UnsafeRawBufferPointer) -> String? {
    guard mayBe(in: bytes), let document = try? JSONParser.parse(bytes) else { return nil }
    for (path, value) in document.fields {
      if case .number(let number) = value, let refusal = refusal(of: number, at: path) { return refusal }
    }
    return nil
  }

  /// Whether there is a number with an exponent of three digits, or a long row of digits.
  private static func mayBe(in bytes: UnsafeRawBufferPointer) -> Bool {
    var digits = 0
    for (at, byte) in bytes.enumerated() {
      if isDigit(byte) {
        digits &+= 1
        continue
      }
      if digits > longest { return true }
      if digits > 0, byte | 0x20 == UInt8(ascii: "e"), hasThreeDigits(bytes[(at + 1)...]), isNumber(bytes[..<at]) {
        return true
      }
      digits = 0
    }
    return digits > longest
  }

  /// With no more digits, an exponent of two digits stays within the range.
  private static let longest = 200

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  private static func hasThreeDigits(_ rest: Slice<UnsafeRawBufferPointer>) -> Bool {
    let digits = (rest.first == UInt8(ascii: "+") ? rest.dropFirst() : rest).prefix(3)
    return digits.count == 3 && digits.allSatisfy(isDigit)
  }

  /// Whether the digits at the end begin as a number does; those in a text mostly do not.
  private static func isNumber(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
    let before = text.reversed().drop { isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }.first
    return before.map { $0 <= 0x20 || [UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "[")].contains($0) } ?? true
  }
}
