/// A number with the digits that are stored, so that nothing is lost to a conversion: `0.10`, `1e400`, `12`.
///
/// Equality and hash are those of the exact decimal number: `1`, `1.0` and `1e0` are equal, `-0` equals `0`. Property
/// lists may also hold `nan`, `inf` and `-inf`.
package struct NumberText: Sendable, CustomStringConvertible {
  /// The digits as stored: a JSON number, or `nan`, `inf`, `-inf`.
  package let text: String

  /// Takes a text that is known to be a JSON number or one of the three special ones.
  package init(unchecked text: String) { self.text = text }

  /// Takes a JSON number, `nan`, `inf` or `-inf`; nil for anything else.
  package init?(_ text: String) {
    var text = text
    guard
      text == "nan" || text == "inf" || text == "-inf"
        || text.withUTF8({ $0.count > 0 && JSONNumber.length(in: $0, at: 0) == $0.count })
    else { return nil }
    self.text = text
  }

  package init(_ value: some FixedWidthInteger) { text = String(value) }

  /// The shortest digits that give the same number back; whole numbers up to 2^53 are written as `12.0`.
  package init(_ value: Double) {
    text = value.isFinite ? "\(value)" : value.isNaN ? "nan" : value < 0 ? "-inf" : "inf"
  }

  /// The number as an integer, if it is written as one (`12`, not `12.0`) and fits.
  package var integer: Int64? { Int64(text) }
  /// The number as an unsigned integer, if it is written as one and fits.
  package var unsigned: UInt64? { UInt64(text) }
  /// The nearest double; infinite if it is out of range.
  package var double: Double {
    var text = text
    return text.withUTF8(JSONNumber.shortDouble) ?? Double(text) ?? .nan
  }
  /// Whether it is written without fraction and exponent.
  package var isInteger: Bool { text.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: "-") } }

  package var description: String { text }
}

/// The grammar of a JSON number.
package enum JSONNumber {
  /// The nearest double of a number of few digits. The digits and the power of ten are exact doubles, so one division or multiplication
  /// rounds as the whole conversion does (W. Clinger 1990). Returns nil for other numbers, and for text that is not a JSON number.
  package static func shortDouble(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    let isNegative = bytes.count > 0 && bytes[0] == UInt8(ascii: "-")
    let first = isNegative ? 1 : 0
    var (at, digits, point) = (first, UInt64(0), -1)
    guard bytes.count &- first <= 16 else { return nil }
    while at < bytes.count {
      let digit = bytes[at] &- UInt8(ascii: "0")
      if digit < 10 {
        digits = digits &* 10 &+ UInt64(digit)
      } else if bytes[at] == UInt8(ascii: "."), point < 0, at > first {
        point = at
      } else {
        return nil
      }
      at &+= 1
    }
    let places = point < 0 ? 0 : bytes.count &- point &- 1
    let whole = (point < 0 ? bytes.count : point) &- first
    guard whole > 0, point < 0 || places > 0, whole == 1 || bytes[first] != UInt8(ascii: "0"), digits < 1 << 53 else {
      return nil
    }
    let value = places == 0 ? Double(digits) : Double(digits) / powersOfTen[places]
    return isNegative ? -value : value
  }

  /// The nearest double of a JSON number; nil if it is not one, or is too small or too great for a normal double.
  package static func double(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    if let value = shortDouble(bytes) { return value }
    guard length(in: bytes, at: 0) == bytes.count, let value = Double(String(decoding: bytes, as: UTF8.self)),
      value.isNormal
    else { return nil }
    return value
  }

  /// An integer of at most 18 digits; nil for any other number.
  package static func shortInteger(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
    let first = bytes.count > 0 && bytes[0] == UInt8(ascii: "-") ? 1 : 0
    guard bytes.count > first, bytes.count &- first <= 18,
      bytes[first] != UInt8(ascii: "0") || bytes.count == first &+ 1
    else { return nil }
    var value: Int64 = 0
    for index in first..<bytes.count {
      let digit = bytes[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value &* 10 &+ Int64(digit)
    }
    return first == 0 ? value : -value
  }

  private static let powersOfTen: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
  ]

  /// The length of the number that starts at an offset, or 0 if there is none.
  package static func length(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int {
    var at = start
    func digits() -> Int {
      let first = at
      while at < bytes.count, bytes[at].isDigit { at += 1 }
      return at - first
    }
    if at < bytes.count, bytes[at] == UInt8(ascii: "-") { at += 1 }
    let first = at
    let count = digits()
    guard count > 0, count == 1 || bytes[first] != UInt8(ascii: "0") else { return 0 }
    if at < bytes.count, bytes[at] == UInt8(ascii: ".") {
      at += 1
      guard digits() > 0 else { return 0 }
    }
    if at < bytes.count, bytes[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < bytes.count, bytes[at] == UInt8(ascii: "+") || bytes[at] == UInt8(ascii: "-") { at += 1 }
      guard digits() > 0 else { return 0 }
    }
    return at - start
  }
}
