import StrataDocuments
import StrataModel

/// A value as one line of a table or tree: cut to a visible length, with its kind.
struct ValueText: Sendable, Hashable {
  enum Kind: Sendable, Hashable { case missing, null, bool, number, string, date, data, list, object, problem }

  var text: String
  var kind: Kind
  /// Whether the value is longer than its text.
  var isCut = false
  /// The text with its own line ends, if it has any.
  private(set) var unreplaced: String?

  /// Whether the text is the value: lists, objects and bytes are described, and line ends replaced.
  var isWhole: Bool { !isCut && ![.list, .object, .data].contains(kind) && unreplaced == nil }

  static let missing = ValueText(text: "", kind: .missing)

  /// The same, with quotes if it is a text that is empty or could be taken for another value.
  var visible: ValueText { visible(inTable: false, amongNumbers: true) }

  /// The same for a table, where nothing is written for an empty text and numbers lie at the right edge, `amongNumbers` with their column.
  func visible(inTable: Bool = true, amongNumbers: Bool) -> ValueText {
    guard kind == .string else { return self }
    let isAlike =
      switch text {
      case "—", "true", "false": true
      case "", "null": !inTable
      default: amongNumbers && NumberText(text) != nil
      }
    return isAlike ? Self(literal: .string(text)) : self
  }

  var isTrailing: Bool { kind == .number }

  /// In a table and in a record, numbers are right-aligned, or without quotes beside texts in quotes. So only special values have a colour
  /// of their own: a colour for each number would cost as many bytes as the numbers.
  var cellRole: Role { kind == .number ? .text : role }

  var role: Role {
    switch kind {
    case .missing, .null: .dim
    case .bool: .constant
    case .number: .number
    case .string, .list, .object: .text
    case .date: .date
    case .data: .blob
    case .problem: .problem
    }
  }
}

extension ValueText {
  /// The longest text kept for a value, in characters.
  static let limit = 400

  /// Makes the text for a table: strings without quotes.
  init(cell value: Document?) {
    guard let value else {
      self = .missing
      return
    }
    switch value {
    case .null: self.init(text: "—", kind: .null)
    case .string(let text): self.init(line: text)
    default: self.init(literal: value)
    }
  }

  /// Makes the text for a tree: strings in quotes, lists with their counts.
  init(literal value: Document) {
    switch value {
    case .null: self.init(text: "null", kind: .null)
    case .bool(let flag): self.init(text: flag ? "true" : "false", kind: .bool)
    case .number(let number): self.init(text: number.text, kind: .number)
    case .string(let text): self.init(line: text, quote: "\"")
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

  /// Makes the text for a key of an index or an identifier in a cell.
  init(key: KeyValue) {
    switch key {
    case .null: self.init(text: "—", kind: .null)
    case .string(let text): self.init(line: text)
    case .integer, .unsigned, .double, .decimal: self.init(text: key.description, kind: .number)
    case .bool: self.init(text: key.description, kind: .bool)
    case .date: self.init(text: key.description, kind: .date)
    case .data(let bytes): self.init(text: Self.data(bytes), kind: .data)
    default: self.init(text: key.description, kind: .string)
    }
  }

  /// Makes one line of a text of any length: at most `limit` characters are read; line ends become `↵`.
  private init(line text: String, quote: String = "") {
    let first = text.prefix(Self.limit)
    let isCut = first.endIndex < text.endIndex
    let line = String(first.map { $0.isNewline ? "↵" : $0 })
    func shown(_ line: some StringProtocol) -> String { quote + line + (isCut ? "…" : "") + quote }
    self.init(text: shown(line), kind: .string, isCut: isCut, unreplaced: first == line ? nil : shown(first))
  }

  private static func data(_ bytes: [UInt8]) -> String {
    let first = bytes.prefix(8).map(Hexadecimal.text(of:)).joined(separator: " ")
    return "<\(NumberFormat.bytes(bytes.count))> \(first)\(bytes.count > 8 ? " …" : "")"
  }

  private static func ended(_ text: String) -> String {
    text.utf8.count > limit ? String(text.prefix(limit)) + "…" : text
  }

  /// Writes a value compactly until the limit is reached. The cost depends on the limit, not on the value.
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
