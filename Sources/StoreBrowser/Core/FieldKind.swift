import StrataDocuments
import StrataModel

/// The type of a field as the user edits it. It writes values as text and reads typed text.
enum FieldKind: String, Sendable, Hashable {
  case string = "String"
  case integer = "Int"
  case number = "Double"
  case bool = "Bool"
  case date = "Date"
  /// Any value, as a JSON literal.
  case json = "JSON"
  case data = "Data, as base64"

  /// The reason why typed text is not a value of the kind. A suggestion is offered, never applied.
  struct Failure: Error, Hashable {
    var reason: String
    var suggestion: Document?
  }

  init(of value: Document?) {
    self =
      switch value {
      case .string: .string
      case .number(let number): number.isInteger ? .integer : .number
      case .bool: .bool
      case .date: .date
      case .data: .data
      case nil, .null, .array, .object: .json
      }
  }

  /// The kind of a value in a column: a whole number in a column of numbers with fractions is such a number.
  init(of value: Document?, in column: FieldKind?) {
    self.init(of: value)
    if value == nil || value == .null { self = column ?? .json }
    if self == .integer, column == .number { self = .number }
  }

  /// Returns a value as it is edited.
  static func text(of value: Document?) -> String {
    if case .data = value { value?.compactJSON ?? "" } else { TableWriter.cell(value) ?? "" }
  }

  /// Returns the value of a typed text.
  ///
  /// - Parameter old: The value before; if it is wider than 64 bits, such numbers are accepted.
  func value(of text: String, over old: Document?) -> Result<Document, Failure> {
    if text.trimmed.isEmpty, [.integer, .number, .bool, .date].contains(self) {
      return .failure(Failure(reason: "an empty text is not a valid \(rawValue)", suggestion: .null))
    }
    switch self {
    case .string: return .success(.string(text))
    case .integer: return Self.integer(text, over: old)
    case .number: return Self.number(text, over: old)
    case .bool:
      switch text.trimmed.lowercased() {
      case "true": return .success(true)
      case "false": return .success(false)
      case "yes", "1", "on": return .failure(Failure(reason: "not a Bool: “\(text)”", suggestion: true))
      case "no", "0", "off": return .failure(Failure(reason: "not a Bool: “\(text)”", suggestion: false))
      default: return .failure(Failure(reason: "not a Bool: “\(text)”; it is true or false"))
      }
    case .date:
      if let seconds = DateText.parse(text.trimmed) { return .success(.date(seconds)) }
      return .failure(Failure(reason: "not a date: “\(text)”; it is written 2026-11-17T09:00:00Z"))
    case .json, .data: return Self.json(text)
    }
  }

  private static func integer(_ text: String, over old: Document?) -> Result<Document, Failure> {
    let text = text.trimmed
    func fits(_ number: NumberText) -> Bool { Int64(number.text) != nil || UInt64(number.text) != nil }
    if let number = NumberText(text), number.isInteger {
      if case .number(let wide)? = old, !fits(wide) { return .success(.number(number)) }
      guard fits(number) else { return .failure(Failure(reason: "does not fit into 64 bits: “\(text)”")) }
      return .success(.number(number))
    }
    let plain = text.filter { !" _'’,.\u{A0}\u{202F}".contains($0) }
    let hasGroups = plain != text && !plain.isEmpty && !text.contains(".")
    let suggestion = hasGroups ? NumberText(plain).flatMap { $0.isInteger ? $0 : nil } : NumberText(text)
    let isNumber = suggestion?.isFinite == true
    return .failure(
      Failure(reason: "not an integer: “\(text)”", suggestion: isNumber ? suggestion.map(Document.number) : nil))
  }

  private static func number(_ text: String, over old: Document?) -> Result<Document, Failure> {
    let text = text.trimmed
    // JSON has no infinity: it would become a text. In a property list a field may have one.
    let allowsInfinity = if case .number(let number)? = old { !number.isFinite } else { false }
    if let number = NumberText(text), number.isFinite || allowsInfinity { return .success(.number(number)) }
    let plain = NumberText(text.replacing(",", with: ".").filter { $0 != " " && $0 != "'" })
    let suggestion = plain?.isFinite == true ? plain : nil
    let fault = text.firstIndex(of: ",").map { _ in "“,”" } ?? "“\(text)”"
    return .failure(Failure(reason: "not a number: \(fault)", suggestion: suggestion.map(Document.number)))
  }

  private static func json(_ text: String) -> Result<Document, Failure> {
    guard !text.trimmed.isEmpty else { return .success(.null) }
    do { return .success(try JSONParser.parse(text)) } catch {
      return .failure(Failure(reason: "not JSON at column \(error.column): \(error.reason)", suggestion: .string(text)))
    }
  }
}
