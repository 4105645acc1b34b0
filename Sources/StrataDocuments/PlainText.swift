/// The runs of a JSON text that contain no special character, and the escapes between them.
enum PlainText {
  /// The length of the escape whose backslash is at a place; 0 if it is invalid. Half of a surrogate pair counts as valid here.
  static func lengthOfEscape(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int {
    guard start &+ 1 < bytes.count else { return 0 }
    switch bytes[start &+ 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return 2
    case UInt8(ascii: "u"):
      guard start &+ 6 <= bytes.count else { return 0 }
      for index in (start &+ 2)..<(start &+ 6) where bytes[index].hexDigitValue == nil { return 0 }
      return 6
    default: return 0
    }
  }

  /// The place of the first quote or backslash at or behind a place, or a place at or behind the end of the bytes. Eight bytes at a time.
  @inline(__always)
  static func mark(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    let base = UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped)
    let ones: UInt64 = 0x0101_0101_0101_0101
    var at = start
    while at &+ 8 <= bytes.count {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      let found = ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash) & (ones &* 0x80)
      if found != 0 { return at &+ found.trailingZeroBitCount >> 3 }
      at &+= 8
    }
    while at < bytes.count, bytes[at] != UInt8(ascii: "\""), bytes[at] != UInt8(ascii: "\\") { at &+= 1 }
    return at
  }

  /// The place of the first quote, backslash, control character or ill-formed character at or behind a place, or the end of the bytes; and
  /// whether all before it is ASCII. Eight bytes at a time, which checks UTF-8 in the same pass.
  @inline(__always)
  static func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> (end: Int, isASCII: Bool) {
    let base = UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped)
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var at = start
    var isASCII = true
    while at &+ 8 <= bytes.count {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      // A byte's high bit is set if the byte is one of them. Behind the first match other bits may be set too; they do not count.
      let found =
        ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word) & highs
      let stops = found | word & highs
      guard stops != 0 else {
        at &+= 8
        continue
      }
      at &+= stops.trailingZeroBitCount >> 3
      guard stops & (0 &- stops) & word != 0 else { return (at, isASCII) }
      isASCII = false
      at = UTF8Text.end(in: bytes, from: at)
      if at < bytes.count, bytes[at] >= 0x80 { return (at, false) }
    }
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
      guard byte >= 0x80 else {
        at &+= 1
        continue
      }
      isASCII = false
      let end = UTF8Text.end(in: bytes, from: at)
      guard end > at else { break }
      at = end
    }
    return (at, isASCII)
  }
}
