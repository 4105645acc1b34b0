import StrataDocuments
import StrataModel
import StrataTerminal

/// The typed editor of a field. Invalid input stays and is explained; a suggestion is offered, never applied.
struct ValueEditor: Pane {
  static let entry = PaneEntry(.editor, name: "Editor", footer: [.open, .escape])

  enum Kind: String, Sendable, Hashable {
    case string = "String"
    case integer = "Int"
    case number = "Double"
    case bool = "Bool"
    case date = "Date"
    /// Any value, as a JSON literal.
    case json = "JSON"
    case data = "Data, as base64"
  }

  let place: RecordPlace
  /// The stored content when the editor was opened: the edit is based on it, even if the record changes meanwhile.
  let stored: RecordContent?
  let path: DocumentPath
  let kind: Kind
  let old: Document?
  /// Whether this is an element or member that does not exist yet.
  let isNew: Bool
  var field: TextField
  private(set) var problem: String?
  private(set) var suggestion: Document?
  /// Values of the field in other records, to step through.
  var seen: [String] = []
  private var seenIndex: Int?
  /// The text when the editor was opened.
  private var first: String
  private(set) var isDraft = false
  /// The line of the screen with its field.
  var line: Rect?

  init(
    place: RecordPlace, stored: RecordContent? = nil, path: DocumentPath, old: Document?, isNew: Bool = false,
    text: String? = nil
  ) {
    self.place = place
    self.stored = stored
    self.path = path
    self.old = old
    self.isNew = isNew
    kind = Self.kind(of: old)
    first = text ?? Self.text(of: old)
    field = TextField(first)
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
      let index = seenIndex.map { ($0 + step + seen.count) % seen.count } ?? (step > 0 ? 0 : seen.count - 1)
      seenIndex = index
      field.set(seen[index])
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
    switch command {
    case .escape, .interrupt: leave(in: &session)
    case .open: stage(in: &session)
    default: return false
    }
    return true
  }

  private mutating func stage(in session: inout Session) {
    guard let value = accept() else { return }
    session.drafts[fieldPlace] = nil
    session.intend(.dismiss)
    session.intend(.stageField(self, value))
  }

  /// Keeps the typed text. A draft that was opened again and left unchanged is dropped.
  private func leave(in session: inout Session) {
    session.intend(.dismiss)
    if field.text == first {
      guard isDraft else { return }
      session.drafts[fieldPlace] = nil
      session.say("the draft of \(path.shortText) is dropped")
    } else {
      session.drafts[fieldPlace] = field.text
      session.say("kept as a draft: e opens it again, Esc there drops it")
    }
  }

  var fieldPlace: FieldPlace { FieldPlace(record: place, path: path, isNew: isNew) }

  /// Continues with an earlier draft for this field, if there is one.
  mutating func offerDraft(in session: Session) {
    guard let draft = session.drafts[fieldPlace] else { return }
    field.set(draft)
    first = draft
    isDraft = true
  }

  func short(_ command: Command) -> String? {
    if command == .open { return "stage" }
    return field.text != first ? "keep as a draft" : isDraft ? "drop the draft" : "keep the old value"
  }

  private mutating func changed() {
    suggestion = nil
    problem = if case .failure(let failure) = parse(field.text) { failure.reason } else { nil }
  }

  /// The typed value; nil, with `problem` set, if it is invalid. A shown suggestion is accepted.
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
    case .integer: return Self.integer(text, wasWide: holdsWide)
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

  /// Whether the old value is wider than 64 bits, so that the field accepts such numbers.
  private var holdsWide: Bool {
    guard case .number(let number)? = old else { return false }
    return Int64(number.text) == nil && UInt64(number.text) == nil
  }

  private static func integer(_ text: String, wasWide: Bool) -> Result<Document, Failure> {
    let text = text.trimmed
    if let number = NumberText(text), number.isInteger {
      guard Int64(number.text) != nil || UInt64(number.text) != nil || wasWide else {
        return .failure(Failure(reason: "does not fit into 64 bits: “\(text)”"))
      }
      return .success(.number(number))
    }
    let plain = text.filter { !" _'’,.\u{A0}\u{202F}".contains($0) }
    let hasGroups = plain != text && !plain.isEmpty && !text.contains(".")
    let suggestion = hasGroups ? NumberText(plain).flatMap { $0.isInteger ? Document.number($0) : nil } : nil
    return .failure(Failure(reason: "not an integer: “\(text)”", suggestion: suggestion))
  }

  private static func number(_ text: String) -> Result<Document, Failure> {
    let text = text.trimmed
    if let number = NumberText(text), number.text != "nan" { return .success(.number(number)) }
    let suggestion = NumberText(text.replacing(",", with: ".").filter { $0 != " " && $0 != "'" })
    let fault = text.firstIndex(of: ",").map { _ in "“,”" } ?? "“\(text)”"
    return .failure(Failure(reason: "not a number: \(fault)", suggestion: suggestion.map(Document.number)))
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
    let line = line ?? Rect(column: body.left + 1, row: body.top + body.rows / 2, columns: body.columns - 2, rows: 1)
    let top = max(body.top, min(line.top - 1, body.bottom - 3))
    let width = min(body.columns, max(40, line.columns + 2, SafeText.width(note(session.theme)) + 6))
    let left = max(body.left, min(line.left - 1, body.right - width))
    return Rect(column: left, row: top, columns: width, rows: 3)
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let (theme, rect) = (session.theme, frame.rect)
    grid.fill(rect)
    grid.border(
      frame, digit: nil,
      title: "\(path.shortText) : \(kind.rawValue)\(isNew ? " (new)" : "")\(isDraft ? " (draft)" : "")",
      footer: note(theme),
      theme: theme)
    field.draw(into: &grid, at: rect.at(2, 1), width: rect.columns - 4)
  }
}

extension PaneID {
  static let editor: PaneID = "editor"
}
