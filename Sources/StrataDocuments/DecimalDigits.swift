/// A decimal number of any size, taken apart: `0.d₁d₂d₃… × 10^exponent`.
///
/// Normal: the first and the last digit are not zero; zero has no digits, no exponent and no sign. So two numbers are
/// equal exactly when their parts are.
package struct DecimalDigits: Hashable, Sendable, Comparable, CustomStringConvertible {
  package private(set) var isNegative: Bool
  /// Values 0…9.
  package private(set) var digits: [UInt8]
  package private(set) var exponent: Int

  /// Makes `coefficient digits × 10^scale` normal. `coefficient`: values 0…9, the most significant first.
  package init(isNegative: Bool, coefficient: [UInt8], scale: Int) {
    let leading = coefficient.prefix { $0 == 0 }.count
    let trailing = leading == coefficient.count ? 0 : coefficient.reversed().prefix { $0 == 0 }.count
    digits = Array(coefficient[leading..<(coefficient.count - trailing)])
    self.isNegative = isNegative && !digits.isEmpty
    exponent = digits.isEmpty ? 0 : coefficient.count - leading + scale
  }

  /// Reads a JSON number, also with a plus sign, leading zeros or without digits on one side of the point; nil for
  /// anything else and for exponents of more than nine digits.
  package init?(_ text: String) {
    var isNegative = false
    var coefficient: [UInt8] = []
    var scale = 0
    var hasPoint = false
    var exponentText: [UInt8]?
    for (position, byte) in text.utf8.enumerated() {
      if exponentText != nil {
        exponentText?.append(byte)
      } else if byte.isDigit {
        coefficient.append(byte - UInt8(ascii: "0"))
        if hasPoint { scale -= 1 }
      } else if byte == UInt8(ascii: "."), !hasPoint {
        hasPoint = true
      } else if byte | 0x20 == UInt8(ascii: "e"), !coefficient.isEmpty {
        exponentText = []
      } else if position == 0, byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") {
        isNegative = byte == UInt8(ascii: "-")
      } else {
        return nil
      }
    }
    guard !coefficient.isEmpty else { return nil }
    if let exponentText {
      guard exponentText.count <= 10, let exponent = Int(String(decoding: exponentText, as: UTF8.self)) else {
        return nil
      }
      scale += exponent
    }
    self.init(isNegative: isNegative, coefficient: coefficient, scale: scale)
  }

  package static func < (left: Self, right: Self) -> Bool {
    if left.sign != right.sign { return left.sign < right.sign }
    let isLess =
      left.exponent != right.exponent
      ? left.exponent < right.exponent : left.digits.lexicographicallyPrecedes(right.digits)
    return left.isNegative ? left != right && !isLess : isLess && left != right
  }

  private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

  /// The shortest usual form: `12`, `0.05`, `1.5e40`.
  package var description: String {
    guard !digits.isEmpty else { return "0" }
    let sign = isNegative ? "-" : ""
    let text = String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
    switch exponent {
    case 1...21 where exponent >= digits.count:
      return sign + text + String(repeating: "0", count: exponent - digits.count)
    case 1...21: return sign + text.prefix(exponent) + "." + text.dropFirst(exponent)
    case -5...0: return sign + "0." + String(repeating: "0", count: -exponent) + text
    default:
      return sign + text.prefix(1) + (digits.count > 1 ? "." + text.dropFirst() : "") + "e\(exponent - 1)"
    }
  }

  /// The digits of a whole number of at most 40 digits; nil for others.
  package var integerText: String? {
    guard exponent >= digits.count, exponent <= 40 else { return nil }
    let text = String(decoding: digits.map { $0 + UInt8(ascii: "0") }, as: UTF8.self)
    return (isNegative ? "-" : "") + (text.isEmpty ? "0" : text)
      + String(repeating: "0", count: exponent - digits.count)
  }

  /// The number times a power of ten.
  package func scaled(by power: Int) -> DecimalDigits {
    DecimalDigits(isNegative: isNegative, coefficient: digits, scale: exponent - digits.count + power)
  }

  /// The number times a power of ten, if that is whole and fits.
  package func integer(scaledBy power: Int) -> Int128? { scaled(by: power).integerText.flatMap { Int128($0) } }

  /// The power of ten of a suffix letter behind a number, as people type it: `5M`, `1.5k`; nil for any other letter.
  package static func power(ofSuffix letter: Unicode.Scalar) -> Int? {
    switch letter {
    case "k", "K": 3
    case "M": 6
    case "G": 9
    default: nil
    }
  }
}
