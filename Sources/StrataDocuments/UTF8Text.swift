/// UTF-8 as RFC 3629 defines it: no surrogates, no overlong forms, nothing above U+10FFFF.
enum UTF8Text {
  /// The end of a run of characters beyond ASCII that begins at a place: the first byte that is ASCII or begins no well-formed character,
  /// or the end of the bytes.
  static func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var at = start
    while at < bytes.count {
      let next = word(of: bytes, at: at)
      // The bits that mark leading and following bytes, then the bits that must not all keep their values.
      if next & 0xC0E0 == 0x80C0 {
        guard next & 0x1E != 0 else { return at }
        at &+= 2
      } else if next & 0xC0_C0F0 == 0x80_80E0 {
        let bits = next & 0x200F
        guard bits != 0, bits != 0x200D else { return at }
        at &+= 3
      } else if next & 0xC0C0_C0F8 == 0x8080_80F0 {
        let bits = next & 0x3007
        guard bits != 0, bits & 0x4 == 0 || bits & 0x3003 == 0 else { return at }
        at &+= 4
      } else {
        return at
      }
    }
    return at
  }

  /// Four bytes, the first one the lowest; zeros follow the end.
  @inline(__always)
  private static func word(of bytes: UnsafeBufferPointer<UInt8>, at: Int) -> UInt32 {
    guard at &+ 4 > bytes.count else {
      let base = UnsafeRawPointer(bytes.baseAddress.unsafelyUnwrapped)
      return UInt32(littleEndian: base.loadUnaligned(fromByteOffset: at, as: UInt32.self))
    }
    return (at..<bytes.count).reversed().reduce(0) { $0 << 8 | UInt32(bytes[$1]) }
  }
}
