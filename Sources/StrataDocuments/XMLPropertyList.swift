/// Property lists in their XML form, as Foundation's `PropertyListEncoder` writes them. The text `$null`, which Swift's coders write for
/// nil, is null here.
enum XMLPropertyList {
  static func document(of bytes: [UInt8]) throws(DocumentError) -> Document {
    var parser = XMLPropertyListParser(bytes)
    return try parser.list()
  }

  static func bytes(of document: Document) throws(DocumentError) -> [UInt8] {
    var text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">

      """
    try append(document, to: &text, depth: 0)
    text += "</plist>\n"
    return Array(text.utf8)
  }

  private static func append(_ document: Document, to text: inout String, depth: Int) throws(DocumentError) {
    guard depth <= JSONParser.depthLimit else { throw .refused(reason: "nested deeper than \(JSONParser.depthLimit)") }
    let indent = String(repeating: "\t", count: depth)
    switch document {
    case .null: text += "\(indent)<string>$null</string>\n"
    case .bool(let value): text += "\(indent)<\(value ? "true" : "false")/>\n"
    case .number(let value) where value.integer != nil || value.unsigned != nil:
      text += "\(indent)<integer>\(value.text)</integer>\n"
    case .number(let value):
      try value.requireReal()
      text += "\(indent)<real>\(value.text)</real>\n"
    case .string(let value): text += "\(indent)<string>\(escaped(value))</string>\n"
    case .date(let value): text += "\(indent)<date>\(try dateText(of: value))</date>\n"
    case .data(let value): text += "\(indent)<data>\(Base64.text(of: value))</data>\n"
    case .array(let elements) where elements.isEmpty: text += "\(indent)<array/>\n"
    case .array(let elements):
      text += "\(indent)<array>\n"
      for element in elements { try append(element, to: &text, depth: depth + 1) }
      text += "\(indent)</array>\n"
    case .object(let members) where members.isEmpty: text += "\(indent)<dict/>\n"
    case .object(let members):
      text += "\(indent)<dict>\n"
      for member in members.lastOfEachName {
        text += "\(indent)\t<key>\(escaped(member.name))</key>\n"
        try append(member.value, to: &text, depth: depth + 1)
      }
      text += "\(indent)</dict>\n"
    }
  }

  /// A date as Foundation reads it: it takes neither parts of seconds nor years before 0.
  private static func dateText(of date: Double) throws(DocumentError) -> String {
    guard let seconds = Int64(exactly: date), -63_145_526_400...10_000_000_000_000 ~= seconds else {
      throw .refused(reason: "an XML property list cannot hold the date \(DateText.text(of: date))")
    }
    let moment = CivilTime(secondsSince1970: seconds + DateText.referenceSeconds)
    return "\(moment.dateText)T\(moment.clockText)Z"
  }

  private static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: { "&<>".utf8.contains($0) }) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

private struct XMLPropertyListParser {
  private struct Tag {
    var name: String
    var isClosing: Bool
    var isEmpty: Bool
  }

  private let bytes: [UInt8]
  private var at = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
  }

  mutating func list() throws(DocumentError) -> Document {
    let first = try tag()
    guard first.name == "plist", !first.isClosing else { return try finished(value(first, depth: 0)) }
    let document = try value(try tag(), depth: 0)
    let last = try tag()
    guard last.name == "plist", last.isClosing else { throw error("expected </plist>") }
    return try finished(document)
  }

  private mutating func finished(_ document: Document) throws(DocumentError) -> Document {
    try skipProlog()
    guard at == bytes.count else { throw error("there is text after the list") }
    return document
  }

  private mutating func value(_ tag: Tag, depth: Int) throws(DocumentError) -> Document {
    guard depth <= JSONParser.depthLimit else { throw error("nested deeper than \(JSONParser.depthLimit)") }
    guard !tag.isClosing else { throw error("unexpected </\(tag.name)>") }
    switch tag.name {
    case "dict": return tag.isEmpty ? .object([]) : .object(try members(depth: depth))
    case "array": return tag.isEmpty ? .array([]) : .array(try elements(depth: depth))
    case "true", "false":
      if !tag.isEmpty, try !content(of: tag).isEmpty { throw error("<\(tag.name)> has no content") }
      return .bool(tag.name == "true")
    case "string":
      let text = try content(of: tag)
      return text == "$null" ? .null : .string(text)
    case "integer", "real": return try number(tag)
    case "date":
      let text = try content(of: tag).trimmingSpaces
      guard let date = DateText.parse(text) ?? Self.farDate(text) else { throw error("“\(text)” is not a date") }
      return .date(date)
    case "data":
      guard let data = Base64.bytes(of: try content(of: tag)) else { throw error("the data are not base64") }
      return .data(data)
    default: throw error("unknown element <\(tag.name)>")
    }
  }

  /// A date of a year beyond 9999, as Foundation writes it. Every 400 years the calendar is the same.
  private static func farDate(_ text: String) -> Double? {
    guard let year = Int64(text.dropLast(16)), 9999..<1_000_000_000 ~= year else { return nil }
    let date = DateText.parse("\(2000 + year % 400)\(text.suffix(16))")
    return date.map { $0 + Double((year / 400 - 5) * 146_097 * 86_400) }
  }

  private mutating func members(depth: Int) throws(DocumentError) -> [Document.Member] {
    var members: [Document.Member] = []
    while true {
      let key = try tag()
      if key.name == "dict", key.isClosing { return members }
      guard key.name == "key", !key.isClosing else { throw error("expected <key>") }
      let name = try content(of: key)
      members.append(Document.Member(name, try value(try tag(), depth: depth + 1)))
    }
  }

  private mutating func elements(depth: Int) throws(DocumentError) -> [Document] {
    var elements: [Document] = []
    while true {
      let next = try tag()
      if next.name == "array", next.isClosing { return elements }
      elements.append(try value(next, depth: depth + 1))
    }
  }

  private mutating func number(_ tag: Tag) throws(DocumentError) -> Document {
    let text = try content(of: tag).trimmingSpaces
    if tag.name == "integer" {
      if let value = Int64(text) { return .number(NumberText(value)) }
      if let value = UInt64(text) { return .number(NumberText(value)) }
      if text.hasPrefix("0x"), let value = UInt64(text.dropFirst(2), radix: 16) { return .number(NumberText(value)) }
    } else {
      // A real stays one: `12` is written `12.0` so that it is not taken for an integer.
      if let number = NumberText(text), !number.isInteger { return .number(number) }
      if let value = Double(text) { return .number(NumberText(value)) }
    }
    throw error("“\(text)” is not a number")
  }

  // MARK: Text

  /// The text up to the closing tag.
  private mutating func content(of tag: Tag) throws(DocumentError) -> String {
    guard !tag.isEmpty else { return "" }
    var text: [UInt8] = []
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: "&"): text += String(try entity()).utf8
      case UInt8(ascii: "<"):
        if skip("<!--", through: "-->") { continue }
        if let section = try section() {
          text += section
          continue
        }
        let closing = try self.tag()
        guard closing.isClosing, closing.name == tag.name else { throw error("expected </\(tag.name)>") }
        guard let string = String(validating: text, as: UTF8.self) else { throw error("the text is not UTF-8") }
        return string
      default:
        text.append(bytes[at])
        at += 1
      }
    }
    throw error("<\(tag.name)> does not end")
  }

  private mutating func section() throws(DocumentError) -> ArraySlice<UInt8>? {
    let start = at + 9
    guard hasPrefix("<![CDATA[") else { return nil }
    guard skip("<![CDATA[", through: "]]>") else { throw error("a CDATA section does not end") }
    return bytes[start..<(at - 3)]
  }

  private mutating func entity() throws(DocumentError) -> Unicode.Scalar {
    guard let end = bytes[at...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { throw error("“&” must be &amp;") }
    let name = String(decoding: bytes[(at + 1)..<end], as: UTF8.self)
    let scalar: Unicode.Scalar?
    switch name {
    case "amp": scalar = "&"
    case "lt": scalar = "<"
    case "gt": scalar = ">"
    case "quot": scalar = "\""
    case "apos": scalar = "'"
    default:
      let code =
        name.hasPrefix("#x")
        ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
      scalar = code.flatMap { Unicode.Scalar($0) }
    }
    guard let scalar else { throw error("unknown entity &\(name);") }
    at = end + 1
    return scalar
  }

  private mutating func tag() throws(DocumentError) -> Tag {
    try skipProlog()
    guard at < bytes.count, bytes[at] == UInt8(ascii: "<"),
      let end = bytes[at...].firstIndex(of: UInt8(ascii: ">"))
    else { throw error("expected an element") }
    var inside = bytes[(at + 1)..<end]
    let isClosing = inside.first == UInt8(ascii: "/")
    if isClosing { inside = inside.dropFirst() }
    let isEmpty = inside.last == UInt8(ascii: "/")
    if isEmpty { inside = inside.dropLast() }
    let name = inside.prefix { $0 > 0x20 }
    at = end + 1
    return Tag(name: String(decoding: name, as: UTF8.self), isClosing: isClosing, isEmpty: isEmpty)
  }

  /// Skips space, comments, processing instructions and the document type.
  private mutating func skipProlog() throws(DocumentError) {
    while at < bytes.count {
      if bytes[at] <= 0x20 {
        at += 1
      } else if hasPrefix("<!--") {
        guard skip("<!--", through: "-->") else { throw error("a comment does not end") }
      } else if hasPrefix("<?") {
        guard skip("<?", through: "?>") else { throw error("an instruction does not end") }
      } else if hasPrefix("<!DOCTYPE") {
        // A document type may define entities, but property lists do not use them.
        guard skip("<!DOCTYPE", through: ">") else { throw error("the document type does not end") }
      } else {
        return
      }
    }
  }

  private func hasPrefix(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard bytes.count - at >= count else { return false }
    return (0..<count).allSatisfy { bytes[at + $0] == text.utf8Start[$0] }
  }

  /// Moves behind `end` if `start` is here; returns false and does not move if it is not, or if it has no end.
  private mutating func skip(_ start: StaticString, through end: StaticString) -> Bool {
    guard hasPrefix(start) else { return false }
    let before = at
    at += start.utf8CodeUnitCount
    while at < bytes.count {
      if hasPrefix(end) {
        at += end.utf8CodeUnitCount
        return true
      }
      at += 1
    }
    at = before
    return false
  }

  private func error(_ reason: String) -> DocumentError {
    let place = JSONError(reason: reason, at: min(at, bytes.count), in: bytes)
    return .unreadable(what: "the property list", where: place.description)
  }
}
