import Documents
import DatastoreModel
import TerminalKit

/// The typed editor of a field. Wrong input keeps the text and explains; a suggestion is offered, never applied.
struct ValueEditor: Pane {
  static let entry = PaneEntry(.editor, name: "Editor", footer: [.open, .escape])

  enum Kind: String, Sendable, Hashable {
    case string = "String"
    case integer = "Int"
    case number = "Double"
    case bool = "Bool"
    case date = "Date"
    /// Anything, as a JSON literal.
    case json = "JSON"
    case data = "Data, as base64"
  }

  let place: RecordPlace
  let path: DocumentPath
  let kind: Kind
  let old: Document?
  /// An element or member that is not there yet.
  let isNew: Bool
  var field: TextField
  private(set) var problem: String?
  private(set) var suggestion: Document?
  /// Values that the field has in other records, to step through.
  var seen: [String] = []
  private var seenPlace: Int?

  init(place: RecordPlace, path: DocumentPath, old: Document?, isNew: Bool = false, text: String? = nil) {
    self.place = place
    self.path = path
    self.old = old
    self.isNew = isNew
    kind = Self.kind(of: old)
    field = TextField(text ?? Self.text(of: old))
  }

  static func kind(of value: Document?) -> Kind {
    switch value {
    case .string: .string
    case .number(let number): number.isInteger ? .integer : .number
    case .bool: .bool
    case .date: .date
    case .data: .data
    case nil, .null, .array, .object: .json
    }
  }

  static func text(of value: Document?) -> String {
    switch value {
    case nil, .null: ""
    case .string(let text): text
    case .number(let number): number.text
    case .date(let seconds): DateText.text(of: seconds)
    case .some(let value): value.compactJSON
    }
  }

  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool {
    if kind == .bool, chord.description == "Space" {
      field.set(field.text == "true" ? "false" : "true")
      changed()
      return true
    }
    if !seen.isEmpty, let step = ["Down": 1, "^n": 1, "Up": -1, "^p": -1][chord.description] {
      let place = seenPlace.map { ($0 + step + seen.count) % seen.count } ?? (step > 0 ? 0 : seen.count - 1)
      seenPlace = place
      field.set(seen[place])
      changed()
      return true
    }
    guard field.apply(chord) else { return false }
    changed()
    return true
  }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    field.insert(text)
    changed()
    return true
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard command == .open else { return false }
    guard let value = accept() else { return true }
    session.intend(.dismiss)
    session.intend(.stageField(self, value))
    return true
  }

  func short(_ command: Command) -> String? { command == .open ? "stage" : "keep the old value" }

  private mutating func changed() {
    problem = nil
    suggestion = nil
  }

  /// The value that was typed; nil with `problem` set where it is none. A suggestion that stands is taken.
  private mutating func accept() -> Document? {
    if let suggestion { return suggestion }
    switch parse(field.text) {
    case .success(let value): return value
    case .failure(let failure):
      problem = failure.reason
      suggestion = failure.suggestion
      return nil
    }
  }

  struct Failure: Error, Hashable {
    var reason: String
    var suggestion: Document?
  }

  private func parse(_ text: String) -> Result<Document, Failure> {
    switch kind {
    case .string: return .success(.string(text))
    case .integer: return Self.integer(text)
    case .number: return Self.number(text)
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

  private static func integer(_ text: String) -> Result<Document, Failure> {
    let text = text.trimmed
    if let number = NumberText(text), number.isInteger { return .success(.number(number)) }
    let plain = text.filter { !" _'’,.\u{A0}\u{202F}".contains($0) }
    let hasGroups = plain != text && !plain.isEmpty && !text.contains(".")
    let suggestion = hasGroups ? NumberText(plain).flatMap { $0.isInteger ? Document.number($0) : nil } : nil
    return .failure(Failure(reason: "not an integer: “\(text)”", suggestion: suggestion))
  }

  private static func number(_ text: String) -> Result<Document, Failure> {
    let text = text.trimmed
    if let number = NumberText(text), number.text != "nan" { return .success(.number(number)) }
    let suggestion = NumberText(text.replacing(",", with: ".").filter { $0 != " " && $0 != "'" })
    let place = text.firstIndex(of: ",").map { _ in "“,”" } ?? "“\(text)”"
    return .failure(Failure(reason: "not a number: \(place)", suggestion: suggestion.map(Document.number)))
  }

  private static func json(_ text: String) -> Result<Document, Failure> {
    guard !text.trimmed.isEmpty else { return .success(.null) }
    do { return .success(try JSONParser.parse(text)) } catch {
      return .failure(Failure(reason: "not JSON at column \(error.column): \(error.reason)", suggestion: .string(text)))
    }
  }

  private func note(_ theme: Theme) -> String {
    guard let problem else { return seen.isEmpty ? "" : "\(theme.isASCII ? "Up Down" : "↑ ↓") values seen" }
    guard let suggestion else { return "\(theme.problemSign) \(problem)" }
    return
      "\(theme.problemSign) \(problem) — \(theme.enterKey) takes \(ValueText(literal: suggestion).text)"
  }

  func rect(in body: Rect, session: Session) -> Rect {
    let wanted = body.top + body.rows / 2
    let top = max(body.top, min(wanted, body.bottom - 3))
    let width = min(
      body.columns, max(40, SafeText.width(note(session.theme)) + 6, min(78, SafeText.width(field.text) + 12)))
    return Rect(column: body.left + max(0, (body.columns - width) / 2), row: top, columns: width, rows: 3)
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let (theme, rect) = (session.theme, frame.rect)
    grid.fill(rect)
    grid.border(
      frame, digit: nil, title: "\(path.shortText) : \(kind.rawValue)\(isNew ? " (new)" : "")", footer: note(theme),
      theme: theme)
    field.draw(into: &grid, at: Point(column: rect.left + 2, row: rect.top + 1), width: rect.columns - 4)
  }
}

extension PaneID {
  static let editor: PaneID = "editor"
}
