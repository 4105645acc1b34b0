/// The places of the members of a JSON object in its text, for readers that want a value's own bytes.
package enum JSONMembers {
  /// Names and values of the object that the text is, in their order. Returns nil if it is not an object, if a name has escapes, or if a
  /// text escapes characters beyond the 16-bit ones, which no writer need do. One pass.
  package static func ranges(in text: UnsafeRawBufferPointer) -> [(name: String, value: Range<Int>)]? {
    guard !text.isEmpty else { return nil }
    let bytes = text.bindMemory(to: UInt8.self)
    var scanner = JSONScanner(bytes)
    scanner.skipSpace()
    guard scanner.at < bytes.count, bytes[scanner.at] == UInt8(ascii: "{"), scanner.open() else { return nil }
    var members: [(name: String, value: Range<Int>)] = []
    if !scanner.consume(UInt8(ascii: "}")) {
      repeat {
        guard let name = scanner.skipName(), name.isPlain else { return nil }
        scanner.skipSpace()
        let start = scanner.at
        guard scanner.skipValue() else { return nil }
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[name.range]), as: UTF8.self)
        members.append((text, start..<scanner.at))
        scanner.skipSpace()
      } while scanner.consume(UInt8(ascii: ","))
      guard scanner.consume(UInt8(ascii: "}")) else { return nil }
    }
    return scanner.close() && scanner.isAtEnd() ? members : nil
  }

  /// Whether bytes are JSON in one line of text that `ranges` can read as a value.
  package static func isLine(_ bytes: [UInt8]) -> Bool {
    guard !bytes.isEmpty, !bytes.contains(0x0A), !bytes.contains(0x0D) else { return false }
    return bytes.withUnsafeBufferPointer { buffer in
      var scanner = JSONScanner(buffer)
      // Space around the value would be lost.
      guard let first = buffer.first, first > 0x20, let last = buffer.last, last > 0x20 else { return false }
      return scanner.skipValue() && scanner.isAtEnd()
    }
  }
}
