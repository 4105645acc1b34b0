/// The places of the members of a JSON object in its text, for readers that want a value's own bytes.
package enum JSONMembers {
  /// Names and values of the object that the text is, in their order. Returns nil if it is not an object, if a name has escapes, or if a
  /// text escapes characters beyond the 16-bit ones, which no writer need do. One pass.
  package static func ranges(in text: UnsafeRawBufferPointer) -> [(name: String, value: Range<Int>)]? {
    let bytes = text.bindMemory(to: UInt8.self)
    var scanner = JSONScanner(bytes)
    scanner.skipSpace()
    guard scanner.at < bytes.count, bytes[scanner.at] == UInt8(ascii: "{") else { return nil }
    var members: [(name: String, value: Range<Int>)] = []
    let isRead = scanner.skipParts(until: UInt8(ascii: "}")) { scanner in
      guard let name = scanner.skipName(), name.isPlain else { return false }
      scanner.skipSpace()
      let start = scanner.at
      guard scanner.skipValue() else { return false }
      let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[name.range]), as: UTF8.self)
      members.append((text, start..<scanner.at))
      return true
    }
    return isRead && scanner.isAtEnd() ? members : nil
  }

  /// Whether bytes are JSON in one line of text that `ranges` can read as a value.
  ///
  /// - Parameter depth: The number of lists and objects around the value, which count for `JSONParser.depthLimit`.
  package static func isLine(_ bytes: [UInt8], inside depth: Int = 1) -> Bool {
    guard !bytes.contains(0x0A), !bytes.contains(0x0D) else { return false }
    return bytes.withUnsafeBufferPointer { buffer in
      var scanner = JSONScanner(buffer)
      scanner.depth = depth
      // Space around the value would be lost.
      guard let first = buffer.first, first > 0x20, let last = buffer.last, last > 0x20 else { return false }
      return scanner.skipValue() && scanner.isAtEnd()
    }
  }
}
