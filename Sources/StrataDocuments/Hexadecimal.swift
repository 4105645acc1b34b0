/// Digits of base 16.
package enum Hexadecimal {
  package static func text(of value: UInt64, uppercase: Bool = false) -> String {
    String(value, radix: 16, uppercase: uppercase).zeroFilled(16)
  }

  package static func text(of byte: UInt8) -> String {
    var text = ""
    append(byte, to: &text)
    return text
  }

  package static func append(_ byte: UInt8, to text: inout String) {
    text.unicodeScalars.append(Unicode.Scalar(digit(byte >> 4)))
    text.unicodeScalars.append(Unicode.Scalar(digit(byte & 15)))
  }

  package static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
