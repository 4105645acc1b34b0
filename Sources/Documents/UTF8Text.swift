/// UTF-8 as RFC 3629 has it: no surrogates, nothing longer than it need be, nothing above U+10FFFF.
enum UTF8Text {
  /// Whether all bytes are of well-formed characters. ASCII goes eight bytes at a time.
  static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = bytes.baseAddress else { return true }
    let base = UnsafeRawPointer(start)
    let count = bytes.count
    var at = 0
    while at < count {
      let first = base.load(fromByteOffset: at, as: UInt8.self)
      if first < 0x80 {
        at &+= 1
        while at &+ 8 <= count,
          base.loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        { at &+= 8 }
        continue
      }
      // How many bytes follow, and between which bounds the first of them must lie.
      let (more, least, most): (Int, UInt8, UInt8)
      switch first {
      case 0xC2...0xDF: (more, least, most) = (1, 0x80, 0xBF)
      case 0xE0: (more, least, most) = (2, 0xA0, 0xBF)
      case 0xED: (more, least, most) = (2, 0x80, 0x9F)
      case 0xE1...0xEF: (more, least, most) = (2, 0x80, 0xBF)
      case 0xF0: (more, least, most) = (3, 0x90, 0xBF)
      case 0xF1...0xF3: (more, least, most) = (3, 0x80, 0xBF)
      case 0xF4: (more, least, most) = (3, 0x80, 0x8F)
      default: return false
      }
      guard at &+ more < count else { return false }
      let second = base.load(fromByteOffset: at &+ 1, as: UInt8.self)
      guard second >= least, second <= most else { return false }
      for index in 2..<max(2, more &+ 1)
      where base.load(fromByteOffset: at &+ index, as: UInt8.self) & 0xC0 != 0x80 { return false }
      at &+= more &+ 1
    }
    return true
  }
}
