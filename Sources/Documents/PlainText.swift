/// The runs of a JSON text in which nothing begins or ends.
enum PlainText {
  /// Where the first quote, backslash or control character stands at or behind a place, or the end of the bytes; and whether all
  /// before it is ASCII. Eight bytes at a time.
  @inline(__always)
  static func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> (end: Int, isASCII: Bool) {
    let base = UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped)
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var at = start
    var seen: UInt64 = 0
    while at &+ 8 <= bytes.count {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      // A byte's high bit is set where the byte is none; behind the first one others may be too, and count for nothing.
      let found =
        ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word) & highs
      guard found == 0 else {
        seen |= word & ((found & (0 &- found)) &- 1)
        return (at &+ found.trailingZeroBitCount >> 3, seen & highs == 0)
      }
      seen |= word
      at &+= 8
    }
    while at < bytes.count {
      let byte = base.load(fromByteOffset: at, as: UInt8.self)
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
      seen |= UInt64(byte)
      at &+= 1
    }
    return (at, seen & highs == 0)
  }
}
