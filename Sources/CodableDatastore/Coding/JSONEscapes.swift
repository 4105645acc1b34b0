import StrataDocuments

enum JSONEscapes {
  /// The text behind the escapes of a JSON text; nil if an escape is not one, or half of a surrogate pair stands alone.
  static func text(_ content: UnsafeBufferPointer<UInt8>) -> String? {
    var isWhole = true
    let text = String(unsafeUninitializedCapacity: content.count) { bytes in
      var (at, count) = (0, 0)
      while at < content.count {
        if content[at] == UInt8(ascii: "\\") {
          guard let scalar = JSONParser.escape(in: content, at: &at) else {
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
      output.add(Hexadecimal.digit(byte & 15))
    }
  }
}
