enum JSONEscapes {
  /// The text behind the escapes of a JSON text; nil if an escape is not one, or half of a surrogate pair stands alone.
  static func text(_ content: UnsafeBufferPointer<UInt8>) -> String? {
    var isWhole = true
    let text = String(unsafeUninitializedCapacity: content.count) { bytes in
      var (at, count) = (0, 0)
      while at < content.count {
        if content[at] == UInt8(ascii: "\\") {
          guard let scalar = scalar(content, &at) else {
            isWhole = false
            return 0
          }
          for byte in UTF8.encode(scalar).unsafelyUnwrapped {
            bytes[count] = byte
            count &+= 1
          }
        } else {
          bytes[count] = content[at]
          count &+= 1
          at &+= 1
        }
      }
      return count
    }
    return isWhole ? text : nil
  }

  /// The character of the escape that begins at `at`, or of two that are a surrogate pair.
  private static func scalar(_ content: UnsafeBufferPointer<UInt8>, _ at: inout Int) -> Unicode.Scalar? {
    guard at + 1 < content.count else { return nil }
    at += 2
    switch content[at - 1] {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(content[at - 1])
    case UInt8(ascii: "u"): return codeScalar(content, &at)
    default: return nil
    }
  }

  /// The character of one or two `\u` escapes, whose first digits begin at `at`.
  private static func codeScalar(_ content: UnsafeBufferPointer<UInt8>, _ at: inout Int) -> Unicode.Scalar? {
    guard let unit = unit(content, &at) else { return nil }
    guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
    guard at + 1 < content.count, content[at] == UInt8(ascii: "\\"), content[at + 1] == UInt8(ascii: "u") else {
      return nil
    }
    at += 2
    guard let trail = self.unit(content, &at), UTF16.isTrailSurrogate(trail) else { return nil }
    return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
  }

  private static func unit(_ content: UnsafeBufferPointer<UInt8>, _ at: inout Int) -> UInt16? {
    guard at + 4 <= content.count else { return nil }
    var unit: UInt16 = 0
    for byte in content[at..<at + 4] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else { return nil }
      unit = unit << 4 | UInt16(digit)
    }
    at += 4
    return unit
  }

  /// Appends a text as Foundation's encoder writes it: with quotes, and `/` escaped.
  @inline(__always)
  static func append(_ text: UnsafeBufferPointer<UInt8>, to output: inout JSONOutput) {
    output.reserve(text.count &* 6 &+ 2)
    output.add(UInt8(ascii: "\""))
    for byte in text {
      if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte != UInt8(ascii: "/") {
        output.add(byte)
      } else {
        append(escaped: byte, to: &output)
      }
    }
    output.add(UInt8(ascii: "\""))
  }

  @inline(never)
  private static func append(escaped byte: UInt8, to output: inout JSONOutput) {
    output.add(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: output.add(UInt8(ascii: "b"))
    case 0x09: output.add(UInt8(ascii: "t"))
    case 0x0A: output.add(UInt8(ascii: "n"))
    case 0x0C: output.add(UInt8(ascii: "f"))
    case 0x0D: output.add(UInt8(ascii: "r"))
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): output.add(byte)
    default:
      for digit in [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")] { output.add(digit) }
      output.add(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
      output.add(hexDigits[Int(byte & 15)])
    }
  }

  private static let hexDigits = Array("0123456789abcdef".utf8)
}
