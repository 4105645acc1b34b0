/// Searches for a text in the leaves of JSON texts. Names of members do not count.
package struct LeafSearch: Sendable {
  /// In lower case if case does not count.
  package let needle: String
  private let ignoresCase: Bool
  private let bytes: [UInt8]
  private let isASCII: Bool
  /// Whether `\u` is the only escape that can produce one of its characters.
  private let isUnescaped: Bool

  package init(_ text: String, ignoresCase: Bool = true) {
    needle = ignoresCase ? text.lowercased() : text
    self.ignoresCase = ignoresCase
    bytes = Array(NormalForm.composed(needle).utf8)
    isASCII = bytes.allSatisfy { $0 < 0x80 }
    isUnescaped = bytes.allSatisfy { $0 >= 0x20 && $0 != 0x22 && $0 != 0x2F && $0 != 0x5C }
  }

  /// Whether a leaf of a text contains the needle, as `Document.fields` lists leaves; nil if only the document can tell.
  package func occurs(in text: UnsafeRawBufferPointer, _ tape: inout JSONTape) -> Bool? {
    guard tape.read(text.bindMemory(to: UInt8.self)) else { return nil }
    for index in 0..<tape.count {
      let token = tape.tokens[index]
      switch token.kind {
      case .name: continue
      case .object, .list:
        // A person sees an empty one as brackets with a count.
        if token.count == 0, !bytes.contains(where: { !Self.shownOfEmpty.contains($0) }) { return nil }
      case .text where !token.isPlain: if occurs(inRare: token, of: tape) { return true }
      case .text, .number, .yes, .no, .null:
        if isASCII, occurs(in: tape.bytes[Int(token.start)..<Int(token.end)]) { return true }
      }
    }
    return false
  }

  private static let shownOfEmpty = Array("(0) []{}".utf8)

  private func occurs(in leaf: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    let leaf = UnsafeBufferPointer(rebasing: leaf)
    guard let first = bytes.first else { return true }
    var at = 0
    while at &+ bytes.count <= leaf.count {
      if folded(leaf[at]) == first {
        var length = 1
        while length < bytes.count, folded(leaf[at &+ length]) == bytes[length] { length &+= 1 }
        if length == bytes.count { return true }
      }
      at &+= 1
    }
    return false
  }

  @inline(__always)
  private func folded(_ byte: UInt8) -> UInt8 { ignoresCase && byte &- 0x41 < 26 ? byte | 0x20 : byte }

  /// A text with escapes or characters beyond ASCII. It is made a string only if its bytes do not rule the needle out.
  private func occurs(inRare token: JSONToken, of tape: borrowing JSONTape) -> Bool {
    let content = tape.bytes[Int(token.start)..<Int(token.end)]
    if isASCII, !occurs(in: content), !mayBecomeASCII(content) { return false }
    let quoted = UnsafeRawBufferPointer(tape.bytes)[Int(token.start) - 1..<Int(token.end) + 1]
    guard case .string(let text)? = try? JSONParser.parse(UnsafeRawBufferPointer(rebasing: quoted)) else {
      return false
    }
    return (ignoresCase ? text.lowercased() : text).contains(needle)
  }

  /// Whether an escape, or a character whose lower case begins with an ASCII letter (K and İ), may produce a part of the needle.
  private func mayBecomeASCII(_ content: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var last: UInt8 = 0
    for byte in content {
      if last == 0x5C, byte == UInt8(ascii: "u") || !isUnescaped { return true }
      if last == 0xC4 && byte == 0xB0 || last == 0x84 && byte == 0xAA { return true }
      last = byte
    }
    return false
  }
}
