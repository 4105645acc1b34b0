/// Writes documents as JSON text, numbers as they are stored. Dates become ISO 8601 text, data base64, and numbers that are not finite the
/// text `nan`, `inf` or `-inf`.
package struct JSONWriter {
  /// The layout of the text.
  package enum Layout: Hashable, Sendable {
    /// Without any space.
    case compact
    /// One member or element in each line, indented by two spaces for each level.
    case pretty
    /// Equal documents give equal bytes: compact, members sorted by the bytes of their names, each name once, numbers in
    /// their shortest form, texts composed (NFC).
    case canonical
  }

  private let layout: Layout
  private(set) var bytes: [UInt8] = []
  private var depth = 0

  init(_ layout: Layout) { self.layout = layout }

  mutating func append(_ document: Document) {
    switch document {
    case .null: appendText("null")
    case .bool(let value): appendText(value ? "true" : "false")
    case .number(let value): append(value)
    case .string(let value): appendLiteral(value)
    case .date(let value): appendLiteral(DateText.text(of: value))
    case .data(let value): appendLiteral(Base64.text(of: value))
    case .array(let elements):
      appendList("[", "]", elements) { writer, element in writer.append(element) }
    case .object(let members):
      appendList("{", "}", layout == .canonical ? Self.canonical(members) : members) { writer, member in
        writer.appendLiteral(member.name)
        writer.bytes.append(UInt8(ascii: ":"))
        if writer.layout == .pretty { writer.bytes.append(UInt8(ascii: " ")) }
        writer.append(member.value)
      }
    }
  }

  /// A text in quotes, as JSON has it.
  package static func literal(_ text: String) -> String {
    var writer = Self(.compact)
    writer.appendLiteral(text)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private mutating func appendList<Element>(
    _ open: Unicode.Scalar, _ close: Unicode.Scalar, _ elements: [Element], _ body: (inout Self, Element) -> Void
  ) {
    bytes.append(UInt8(ascii: open))
    depth += 1
    for (position, element) in elements.enumerated() {
      if position > 0 { bytes.append(UInt8(ascii: ",")) }
      startLine()
      body(&self, element)
    }
    depth -= 1
    if !elements.isEmpty { startLine() }
    bytes.append(UInt8(ascii: close))
  }

  private mutating func startLine() {
    guard layout == .pretty else { return }
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
  }

  private mutating func appendText(_ text: StaticString) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private mutating func append(_ number: NumberText) {
    guard number.isFinite else { return appendLiteral(number.text) }
    bytes.append(contentsOf: (layout == .canonical ? number.canonicalText : number.text).utf8)
  }

  private mutating func appendLiteral(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = layout == .canonical && !text.utf8.allSatisfy({ $0 < 0x80 }) ? NormalForm.composed(text) : text
    text.withUTF8 { utf8 in
      if utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
        bytes.append(contentsOf: utf8)
      } else {
        for byte in utf8 { appendEscaped(byte) }
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      bytes.append(UInt8(ascii: "\\"))
      bytes.append(byte)
    case 0x08: appendText("\\b")
    case 0x09: appendText("\\t")
    case 0x0A: appendText("\\n")
    case 0x0C: appendText("\\f")
    case 0x0D: appendText("\\r")
    case 0..<0x20:
      appendText("\\u00")
      bytes.append(Hexadecimal.digit(byte >> 4))
      bytes.append(Hexadecimal.digit(byte & 15))
    default: bytes.append(byte)
    }
  }

  private static func canonical(_ members: [Document.Member]) -> [Document.Member] {
    members.lastOfEachName.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }
}

extension Document {
  /// The document as JSON on one line without spaces.
  package var compactJSON: String { String(decoding: json(.compact), as: UTF8.self) }

  /// The document as JSON for a person to read and edit: one member in each line, indented by two spaces.
  package var prettyText: String { String(decoding: json(.pretty), as: UTF8.self) }

  /// The bytes of the document's canonical JSON: equal exactly if documents are equal (except for strings that differ only in their Unicode
  /// composition, and for dates and data, which equal their text).
  package var canonicalBytes: [UInt8] { json(.canonical) }

  /// The document as JSON.
  package func json(_ layout: JSONWriter.Layout) -> [UInt8] {
    var writer = JSONWriter(layout)
    writer.append(self)
    return writer.bytes
  }
}
