import Documents
import DatastoreModel

/// A value as one line of a table or tree: cut at what can be seen, with its kind.
struct ValueText: Sendable, Hashable {
  enum Kind: Sendable, Hashable { case missing, null, bool, number, string, date, data, list, object }

  var text: String
  var kind: Kind
  /// Whether the value is longer than its text.
  var isCut = false

  static let missing = ValueText(text: "", kind: .missing)

  var isTrailing: Bool { kind == .number }

  /// In a table and in a record, where numbers stand to the right or bare beside texts in quotes, only what is no plain value is told
  /// apart: a colour for each number would cost as many bytes as the numbers.
  var cellRole: Role { kind == .number ? .text : role }

  var role: Role {
    switch kind {
    case .missing: .dim
    case .null: .dim
    case .bool: .constant
    case .number: .number
    case .string: .text
    case .date: .date
    case .data: .blob
    case .list, .object: .text
    }
  }
}

extension ValueText {
  /// The longest text that is kept of a value, in characters.
  static let limit = 400

  /// A value as a table shows it: strings bare.
  init(cell value: Document?) {
    guard let value else {
      self = .missing
      return
    }
    switch value {
    case .null: self.init(text: "—", kind: .null)
    case .string(let text):
      let (line, isCut) = Self.line(text)
      self.init(text: line, kind: .string, isCut: isCut)
    default: self.init(literal: value)
    }
  }

  /// A value as a tree shows it: strings in quotes, lists with their counts.
  init(literal value: Document) {
    switch value {
    case .null: self.init(text: "null", kind: .null)
    case .bool(let flag): self.init(text: flag ? "true" : "false", kind: .bool)
    case .number(let number): self.init(text: number.text, kind: .number)
    case .string(let text):
      let (line, isCut) = Self.line(text)
      self.init(text: "\"\(line)\"", kind: .string, isCut: isCut)
    case .date(let seconds): self.init(text: DateText.text(of: seconds), kind: .date)
    case .data(let bytes): self.init(text: Self.data(bytes), kind: .data)
    case .array(let elements):
      var text = "(\(elements.count)) "
      Self.append(value, to: &text)
      self.init(text: Self.ended(text), kind: .list, isCut: text.utf8.count > Self.limit)
    case .object(let members):
      var text = "{\(members.count)} "
      Self.append(value, to: &text)
      self.init(text: Self.ended(text), kind: .object, isCut: text.utf8.count > Self.limit)
    }
  }

  /// A key of an index or an identifier, as a cell shows it.
  init(key: KeyValue) {
    switch key {
    case .null: self.init(text: "—", kind: .null)
    case .string(let text):
      let (line, isCut) = Self.line(text)
      self.init(text: line, kind: .string, isCut: isCut)
    case .integer, .unsigned, .double, .decimal: self.init(text: key.description, kind: .number)
    case .bool: self.init(text: key.description, kind: .bool)
    case .date: self.init(text: key.description, kind: .date)
    case .data(let bytes): self.init(text: Self.data(bytes), kind: .data)
    default: self.init(text: key.description, kind: .string)
    }
  }

  /// One line of a text of any length: at most `limit` characters are looked at; line ends become `↵`.
  private static func line(_ text: String) -> (String, isCut: Bool) {
    var line = ""
    var count = 0
    for character in text {
      if count == limit { return (line + "…", true) }
      line.append(character.isNewline ? "↵" : character)
      count += 1
    }
    return (line, false)
  }

  private static func data(_ bytes: [UInt8]) -> String {
    let first = bytes.prefix(8).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined(separator: " ")
    return "<\(NumberFormat.bytes(bytes.count))> \(first)\(bytes.count > 8 ? " …" : "")"
  }

  private static func ended(_ text: String) -> String {
    text.utf8.count > limit ? String(text.prefix(limit)) + "…" : text
  }

  /// Writes a value compactly until the limit is reached; cost is that of the limit, not of the value.
  private static func append(_ value: Document, to text: inout String) {
    guard text.utf8.count <= limit else { return }
    switch value {
    case .array(let elements):
      text += "["
      for (position, element) in elements.enumerated() {
        guard text.utf8.count <= limit else { return }
        if position > 0 { text += ", " }
        append(element, to: &text)
      }
      text += "]"
    case .object(let members):
      for (position, member) in members.enumerated() {
        guard text.utf8.count <= limit else { return }
        if position > 0 { text += ", " }
        text += "\(member.name): "
        append(member.value, to: &text)
      }
    default: text += ValueText(literal: value).text
    }
  }
}
