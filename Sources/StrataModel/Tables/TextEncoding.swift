/// The encoding of a file's text.
package enum TextEncoding: String, CaseIterable, Sendable {
  case utf8 = "utf-8"
  case utf16LittleEndian = "utf-16le"
  case utf16BigEndian = "utf-16be"
  case latin1

  /// The byte order mark at the start of some files of this encoding; it is not part of the text.
  private var mark: [UInt8] {
    switch self {
    case .utf8: [0xEF, 0xBB, 0xBF]
    case .utf16LittleEndian: [0xFF, 0xFE]
    case .utf16BigEndian: [0xFE, 0xFF]
    case .latin1: []
    }
  }

  /// The beginnings of compressed files. None of them is the beginning of a text.
  private static let archives: [([UInt8], String)] = [
    ([0x1F, 0x8B], "compressed with gzip"), ([0x50, 0x4B, 3, 4], "a ZIP archive, as spreadsheets are"),
    ([0x28, 0xB5, 0x2F, 0xFD], "compressed with zstd"),
  ]

  /// Detects the encoding of a file from its first bytes.
  ///
  /// - Throws: `ModelError.refused` if they are not text: another encoding, or a binary file.
  static func find(_ bytes: ArraySlice<UInt8>, of name: String) throws(ModelError) -> TextEncoding {
    let start = Array(bytes.prefix(4))
    if start == [0xFF, 0xFE, 0, 0] || start == [0, 0, 0xFE, 0xFF] {
      throw .refused(reason: "\(name) is UTF-32, which is not read; convert it to UTF-8 first")
    }
    for encoding in [utf16LittleEndian, utf16BigEndian] where start.starts(with: encoding.mark) { return encoding }
    for (magic, kind) in archives where start.starts(with: magic) {
      throw .refused(reason: "\(name) is \(kind); unpack it first")
    }
    let zeros = bytes.indices.filter { bytes[$0] == 0 }
    // A text may have zeros, which are then in a quoted cell.
    var isQuoted = false
    let first = bytes.firstIndex { byte in
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      return byte == 0 && !isQuoted
    }
    guard let first else { return .utf8 }
    // In UTF-16 every other byte of most texts is zero.
    let even = zeros.count { ($0 - bytes.startIndex) % 2 == 0 }
    for (count, encoding) in [(zeros.count - even, utf16LittleEndian), (even, utf16BigEndian)]
    where count * 3 > bytes.count && count > 4 * (zeros.count - count) {
      throw .refused(
        reason: "\(name) is UTF-16 without a byte order mark; --encoding \(encoding.rawValue) reads it")
    }
    throw .refused(
      reason: "\(name) is a binary file and holds no table and no JSON: byte \(first - bytes.startIndex + 1) is zero")
  }

  /// Returns the text as UTF-8, without the byte order mark.
  ///
  /// - Throws: `ModelError.refused` with the place of the first byte that is not of this encoding.
  func text(of bytes: [UInt8], of name: String) throws(ModelError) -> [UInt8] {
    let bytes = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
    if self == .utf8 { return Array(bytes) }
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    if self == .latin1 {
      for byte in bytes { text += String(Unicode.Scalar(byte)).utf8 }
      return text
    }
    let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).lazy.map { at in
      self == .utf16LittleEndian
        ? UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8 : UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1])
    }
    var decoder = UTF16()
    var source = units.makeIterator()
    while true {
      switch decoder.decode(&source) {
      case .scalarValue(let scalar): text += String(scalar).utf8
      case .emptyInput where bytes.count % 2 == 0: return text
      case .emptyInput, .error:
        let line = 1 + text.count { $0 == UInt8(ascii: "\n") }
        throw .refused(reason: "\(name):\(line): half of a character; the file is not valid \(rawValue)")
      }
    }
  }

  /// Returns the bytes of a text in this encoding.
  ///
  /// - Throws: `ModelError.refused` with the first character that this encoding does not have.
  func bytes(of text: [UInt8], isMarked: Bool) throws(ModelError) -> [UInt8] {
    var bytes = isMarked ? mark : []
    if self == .utf8 { return bytes + text }
    bytes.reserveCapacity(2 * text.count)
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
      switch self {
      case .latin1:
        guard let byte = UInt8(exactly: scalar.value) else {
          throw .refused(reason: "“\(scalar)” does not exist in latin1, which the file is written in")
        }
        bytes.append(byte)
      default:
        for unit in String(scalar).utf16 {
          let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
          bytes += self == .utf16LittleEndian ? [low, high] : [high, low]
        }
      }
    }
    return bytes
  }

  /// Whether bytes begin with the byte order mark of this encoding.
  func isMarked(_ bytes: [UInt8]) -> Bool { !mark.isEmpty && bytes.starts(with: mark) }
}
