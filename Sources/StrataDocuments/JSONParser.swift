/// The reason that a text is not a JSON document, and the place.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  package var reason: String
  /// From 1.
  package var line: Int
  /// In characters (Unicode scalars), from 1.
  package var column: Int

  package var description: String { "line \(line), column \(column): \(reason)" }

  /// Finds line and column of an offset.
  init(reason: String, at offset: Int, in bytes: some RandomAccessCollection<UInt8>) {
    let before = bytes.prefix(offset)
    let line = before.reversed().prefix { $0 != UInt8(ascii: "\n") }
    self.reason = reason
    self.line = 1 + before.count { $0 == UInt8(ascii: "\n") }
    column = 1 + line.count { $0 & 0xC0 != 0x80 }
  }
}

/// Reads JSON text (RFC 8259, UTF-8, with or without byte order mark) into documents that keep numbers as they are
/// written and members in their order.
///
/// One pass over the bytes; nesting is limited to `depthLimit`. A text of 200 bytes takes a few microseconds.
package enum JSONParser {
  /// The depth to which lists and objects may be nested.
  package static let depthLimit = 512

  /// The document of a whole text.
  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> Document {
    try locate(bytes).value
  }

  /// The document of a whole text.
  package static func parse(_ bytes: [UInt8]) throws(JSONError) -> Document {
    try bytes.withUnsafeBufferPointer { bytes throws(JSONError) in try parse(UnsafeRawBufferPointer(bytes)) }
  }

  /// The document of a whole text.
  package static func parse(_ text: String) throws(JSONError) -> Document { try parse(Array(text.utf8)) }

  /// The character of the escape that begins at a place, which moves behind it; nil if it is none, or half of a surrogate pair.
  package static func escape(in bytes: UnsafeBufferPointer<UInt8>, at start: inout Int) -> Unicode.Scalar? {
    var parser = JSONScanner(bytes, at: start)
    defer { start = parser.at }
    return try? parser.escape()
  }

  // MARK: Places

  /// The place of a member or an element in a text.
  struct Part {
    /// The start of the member's name, or of the element.
    var start: Int
    /// The end of the name; of an element, its start.
    var nameEnd: Int
    var value: Range<Int>
  }

  /// The document of a whole text, and its place without the space around it.
  static func locate(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> (value: Document, place: Range<Int>) {
    var parser = JSONScanner(bytes.bindMemory(to: UInt8.self))
    if parser.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.at = 3 }
    parser.skipSpace()
    let start = parser.at
    let document = try parser.value()
    let end = parser.at
    guard parser.isAtEnd() else { throw parser.error("unexpected \(parser.found) after the value") }
    return (document, start..<end)
  }

  /// The parts of the list or object that begins at a place, in a text that was parsed before.
  static func parts(in bytes: UnsafeRawBufferPointer, at start: Int) -> [Part] {
    var parser = JSONScanner(bytes.bindMemory(to: UInt8.self), at: start + 1)
    let isObject = bytes[start] == UInt8(ascii: "{")
    var parts: [Part] = []
    repeat {
      parser.skipSpace()
      let start = parser.at
      guard !isObject || (try? parser.string()) != nil else { break }
      let nameEnd = parser.at
      parser.skipSpace()
      if isObject, parser.consume(UInt8(ascii: ":")) { parser.skipSpace() }
      let valueStart = parser.at
      guard (try? parser.value()) != nil else { break }
      parts.append(Part(start: start, nameEnd: nameEnd, value: valueStart..<parser.at))
      parser.skipSpace()
    } while parser.consume(UInt8(ascii: ","))
    return parts
  }
}

/// Makes documents of what a scanner would skip.
extension JSONScanner {
  // MARK: Values

  mutating func value() throws(JSONError) -> Document {
    skipSpace()
    guard at < bytes.count else { throw error("the value is missing") }
    switch bytes[at] {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw error("unexpected \(found)")
    }
  }

  private mutating func object() throws(JSONError) -> Document {
    var members: [Document.Member] = []
    members.reserveCapacity(8)
    try parts(until: UInt8(ascii: "}")) { parser throws(JSONError) in
      parser.skipSpace()
      guard parser.at < parser.bytes.count, parser.bytes[parser.at] == UInt8(ascii: "\"") else {
        throw parser.error("expected a member's name in quotes")
      }
      let name = try parser.string()
      parser.skipSpace()
      guard parser.consume(UInt8(ascii: ":")) else { throw parser.error("expected “:” after the name") }
      members.append(Document.Member(name, try parser.value()))
    }
    return .object(members)
  }

  private mutating func array() throws(JSONError) -> Document {
    var elements: [Document] = []
    try parts(until: UInt8(ascii: "]")) { parser throws(JSONError) in elements.append(try parser.value()) }
    return .array(elements)
  }

  @inline(__always)
  private mutating func parts(
    until end: UInt8, _ part: (inout Self) throws(JSONError) -> Void
  ) throws(JSONError) {
    guard open() else { throw error("nested deeper than \(JSONParser.depthLimit)") }
    if !consume(end) {
      repeat {
        try part(&self)
        skipSpace()
      } while consume(UInt8(ascii: ","))
      guard consume(end) else { throw error("expected “,” or “\(Unicode.Scalar(end))”, not \(found)") }
    }
    depth &-= 1
  }

  private mutating func literal(_ word: StaticString, _ value: Document) throws(JSONError) -> Document {
    guard skip(word) else { throw error("expected “\(word)”") }
    return value
  }

  private mutating func number() throws(JSONError) -> Document {
    let length = JSONNumber.length(in: bytes, at: at)
    guard length > 0 else { throw error("not a number") }
    let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[at..<(at + length)]), as: UTF8.self)
    at += length
    return .number(NumberText(unchecked: text))
  }

  // MARK: Strings

  /// The text that begins here with its quote.
  mutating func string() throws(JSONError) -> String {
    at += 1
    let start = at
    at = PlainText.end(in: bytes, from: start).end
    guard at < bytes.count else { throw error("the text does not end", at: start - 1) }
    switch bytes[at] {
    case UInt8(ascii: "\""):
      let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
      at += 1
      return text
    case UInt8(ascii: "\\"): return try escapedString(from: start)
    case 0x80...: throw error("the text is not UTF-8", at: start)
    default: throw error("a control character in a text must be escaped")
    }
  }

  private mutating func escapedString(from start: Int) throws(JSONError) -> String {
    var text = try text(start..<at)
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: "\""):
        at += 1
        return text
      case UInt8(ascii: "\\"): text.unicodeScalars.append(try escape())
      case 0..<0x20: throw error("a control character in a text must be escaped")
      default:
        let plain = at
        while at < bytes.count, bytes[at] >= 0x20, bytes[at] != UInt8(ascii: "\""), bytes[at] != UInt8(ascii: "\\") {
          at += 1
        }
        text += try self.text(plain..<at)
      }
    }
    throw error("the text does not end", at: start - 1)
  }

  private func text(_ range: Range<Int>) throws(JSONError) -> String {
    guard let text = String(exactly: UnsafeBufferPointer(rebasing: bytes[range])) else {
      throw error("the text is not UTF-8", at: range.lowerBound)
    }
    return text
  }

  fileprivate mutating func escape() throws(JSONError) -> Unicode.Scalar {
    let start = at
    at += 1
    guard at < bytes.count else { throw error("the text does not end") }
    let kind = bytes[at]
    at += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"):
      var code = try fourDigits(of: start)
      if 0xD800..<0xDC00 ~= code, at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"),
        bytes[at + 1] == UInt8(ascii: "u")
      {
        at += 2
        let low = try fourDigits(of: start)
        guard 0xDC00..<0xE000 ~= low else { throw error("half of a surrogate pair", at: start) }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw error("half of a surrogate pair", at: start) }
      return scalar
    default: throw error("unknown escape", at: start)
    }
  }

  private mutating func fourDigits(of escape: Int) throws(JSONError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard at < bytes.count, let digit = bytes[at].hexDigitValue else {
        throw error("“\\u” needs four hexadecimal digits", at: escape)
      }
      code = code << 4 | UInt32(digit)
      at += 1
    }
    return code
  }

  // MARK: Errors

  fileprivate var found: String {
    guard at < bytes.count else { return "end" }
    let rest = String(decoding: bytes[at..<min(at + 4, bytes.count)], as: UTF8.self)
    return rest.first.map { "“\($0)”" } ?? "end"
  }

  fileprivate func error(_ reason: String, at offset: Int? = nil) -> JSONError {
    JSONError(reason: reason, at: min(offset ?? at, bytes.count), in: bytes)
  }
}

extension String {
  /// The text of bytes that are UTF-8; nil for others. Several times as fast as `String(validating:as:)`, which is not specialised.
  package init?(exactly bytes: UnsafeBufferPointer<UInt8>) {
    self.init(decoding: bytes, as: UTF8.self)
    guard bytes.reduce(0, |) >= 0x80 else { return }
    // A decoded text with repairs differs from the bytes.
    let isExact = withUTF8 { $0.count == bytes.count && $0.elementsEqual(bytes) }
    guard isExact else { return nil }
  }
}
