import StrataDocuments
import StrataModel
import StrataTerminal

/// The typed editor of a field. Invalid input stays and is explained; a suggestion is offered, never applied.
struct ValueEditor: Pane {
  private static let holderSlot = WorkSlot(name: "holder")
  static let entry = PaneEntry(id: "editor", name: "Editor", work: [holderSlot], footer: [.open, .escape])

  let place: RecordPlace
  /// The stored content when the editor was opened: the edit is based on it, even if the record changes meanwhile.
  let stored: RecordContent?
  let path: DocumentPath
  let kind: FieldKind
  /// The kind of the field in other records, if they have no texts there and this one has.
  private let others: FieldKind?
  let old: Document?
  /// Whether this is an element or member that does not exist yet.
  let isNew: Bool
  /// The commit to be merged, if the value decides a conflict with it, so that nothing is staged.
  var merging: String?
  var decides: Bool { merging != nil }
  var field: TextField
  private(set) var problem: String?
  private(set) var suggestion: Document?
  /// Values of the field in other records, to step through.
  var seen: [String] = []
  private var seenIndex: Int?
  /// The text when the editor was opened.
  private var first: String
  /// Whether the text is a date, whose parts the arrows choose and change.
  private let isDate: Bool
  private(set) var isDraft = false
  /// The names of the indexes that are to have one record for each value of the field.
  var uniqueIndexes: [String] = []
  /// Another record that has the typed value.
  private var holder: StoredKey?
  /// The indexes that are made from the field, in words.
  var indexes: [String] = []
  /// The line of the screen with its field.
  var line: Rect?

  init(
    place: RecordPlace, stored: RecordContent? = nil, path: DocumentPath, old: Document?, in column: FieldKind? = nil,
    isNew: Bool = false, text: String? = nil
  ) {
    self.place = place
    self.stored = stored
    self.path = path
    self.old = old
    self.isNew = isNew
    kind = FieldKind(of: old, in: column)
    others = kind == .string && column != .string ? column : nil
    first = text ?? FieldKind.text(of: old)
    field = TextField(first)
    isDate = kind == .date || kind == .string && DateText.parse(first) != nil
    if isDate { field.moveCursor(to: Self.day) }
  }

  /// The clusters before the day in the text of a date.
  private static let day = 8

  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool {
    if chord.description == "Tab", !isNew, !decides {
      leave(in: &session)
      session.intend(.run(.valueMenu, argument: nil))
      return true
    }
    guard edit(chord) else { return false }
    changed(in: &session)
    return true
  }

  /// Lets a key change the text or the place in it. Returns false for any other key.
  private mutating func edit(_ chord: KeyChord) -> Bool {
    let key = chord.description
    if kind == .bool, key == "Space" {
      field.set(field.text == "true" ? "false" : "true")
    } else if takesLines, key == "^o" {
      field.insert("\n")
    } else if field.lines.count > 1, let step = ["Down": 1, "Up": -1][key] {
      _ = field.moveLine(by: step)
    } else if isDate, let parts = DateParts(field), parts.apply(chord, to: &field) {
      return true
    } else if !seen.isEmpty, let step = ["Down": 1, "^n": 1, "Up": -1, "^p": -1][key] {
      let index = seenIndex.map { ($0 + step + seen.count) % seen.count } ?? (step > 0 ? 0 : seen.count - 1)
      seenIndex = index
      field.set(seen[index])
    } else {
      return field.apply(chord)
    }
    return true
  }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    field.insert(text)
    changed(in: &session)
    return true
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .escape, .interrupt: leave(in: &session)
    case .open where !isNew && old == nil && field.text.isEmpty:
      session.drafts[fieldPlace] = nil
      session.intend(.dismiss)
      session.say("nothing changed")
    case .open:
      // An empty text that is left as it was stays null.
      guard let value = !isNew && field.text == FieldKind.text(of: old) ? old : accept() else { return true }
      session.drafts[fieldPlace] = nil
      session.intend(.dismiss, Intent { [self] in $0.stageField(self, value) })
    default: return false
    }
    return true
  }

  /// Leaves the typed text as a draft. A draft that was opened again and left unchanged is dropped.
  private func leave(in session: inout Session) {
    session.intend(.dismiss)
    if field.text != first {
      session.say("kept as a draft: e opens it again, Esc there drops it")
    } else if isDraft {
      session.drafts[fieldPlace] = nil
      session.say("the draft of \(path.shortText) is dropped")
    }
  }

  var fieldPlace: String {
    "\(place.datastore)/\(place.identifier)\(path)" + (isNew ? " new" : merging.map { " in the merge of " + $0 } ?? "")
  }

  /// Continues with an earlier draft for this field, if there is one.
  mutating func offerDraft(in session: inout Session) {
    guard let draft = session.drafts[fieldPlace] else { return }
    field.set(draft)
    first = draft
    isDraft = true
    changed(in: &session)
  }

  func short(_ command: Command) -> String? {
    if command == .open { return decides ? "decide" : "stage" }
    return field.text != first ? "keep as a draft" : isDraft ? "drop the draft" : "keep the old value"
  }

  /// Keeps the typed text as a draft, so that no end of the program loses it, and checks it. Whether another record has the value already
  /// is looked up.
  private mutating func changed(in session: inout Session) {
    session.drafts[fieldPlace] = field.text != first ? field.text : isDraft ? first : nil
    (suggestion, problem, holder) = (nil, nil, nil)
    session.cancel(Self.holderSlot)
    switch typed {
    case .failure(let failure): problem = failure.reason
    case .success(let value):
      guard !uniqueIndexes.isEmpty, value != old, value != .null else { return }
      let holders = Inquiry { [place, uniqueIndexes, shown = session.shown] context throws(ModelError) in
        try context.holders(of: value, in: uniqueIndexes, besides: place, at: shown)
      }
      session.start(Self.holderSlot, holders)
    }
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    guard let holders = reply as? [StoredKey] else { return }
    // A record that has a staged change may not have the value any more.
    holder = holders.first {
      session.staged.edits[RecordPlace(datastore: place.datastore, identifier: $0)] == nil
    }
  }

  /// The value of the kind that other records have, if a text among such values was replaced by one.
  private var mended: Document? {
    guard let others, .string(field.text) != old else { return nil }
    return try? others.value(of: field.text, over: old).get()
  }

  private var typed: Result<Document, FieldKind.Failure> {
    mended.map { .success($0) } ?? kind.value(of: field.text, over: old)
  }

  /// The typed value; nil, with `problem` set, if it is invalid. A shown suggestion is accepted.
  private mutating func accept() -> Document? {
    if let suggestion { return suggestion }
    switch typed {
    case .success(let value): return value
    case .failure(let failure):
      problem = failure.reason
      suggestion = failure.suggestion
      return nil
    }
  }

  /// Whether its text may have several lines.
  private var takesLines: Bool { kind == .string && !isDate || kind == .json }

  /// The problem, or else the keys that do something here beside typing.
  private func hint(_ theme: Theme) -> String {
    if problem == nil, let holder { return "\(theme.warningSign) \(holder) has this value already" }
    guard let problem else {
      let (across, along) = theme.isASCII ? ("Left Right", "Up Down") : ("← →", "↑ ↓")
      var keys: [String] = []
      if isDate { keys.append("\(across) a part  \(along) change it") }
      if !isDate, !seen.isEmpty, field.lines.count == 1 { keys.append("\(along) values seen") }
      if !isNew, !decides { keys.append("Tab list") }
      if takesLines { keys.append("^o new line") }
      if !isDate, kind != .bool { keys.append("^u clear") }
      return keys.joined(separator: "  ")
    }
    guard let suggestion else { return "\(theme.problemSign) \(problem)" }
    return
      "\(theme.problemSign) \(problem) — \(theme.enterKey) takes \(ValueText(literal: suggestion).text)"
  }

  private func title(_ theme: Theme) -> String {
    let words = indexes.isEmpty ? "" : " \(theme.dot) " + indexes.joined(separator: " \(theme.dot) ")
    let others = others.map { mended == nil ? " (\($0.rawValue) in other records)" : ", as in other records" } ?? ""
    let kind = mended.map { FieldKind(of: $0, in: self.others) } ?? kind
    return "\(path.shortText) : \(kind.rawValue)\(others)\(words)\(isNew ? " (new)" : "")\(isDraft ? " (draft)" : "")"
  }

  /// The most lines of a text that are shown at a time.
  private static let shownLines = 12

  func rect(in body: Rect, session: Session) -> Rect {
    let line = line ?? Rect(column: body.left + 1, row: body.top + body.rows / 2, columns: body.columns - 2, rows: 1)
    let rows = min(body.rows, min(field.lines.count, Self.shownLines) + 2)
    let top = max(body.top, min(line.top - 1, body.bottom - rows))
    let words = max(SafeText.width(hint(session.theme)), SafeText.width(title(session.theme)))
    let width = min(body.columns, max(40, line.columns + 2, words + 6))
    let left = max(body.left, min(line.left - 1, body.right - width))
    return Rect(column: left, row: top, columns: width, rows: rows)
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    grid.border(frame, digit: nil, title: title(theme), footer: hint(theme), theme: theme)
    let inside = frame.inside
    field.drawLines(
      into: &grid, in: Rect(column: inside.left + 1, row: inside.top, columns: inside.columns - 2, rows: inside.rows))
    if isDate, let part = DateParts(field)?.range {
      grid.restyle(Rect(column: inside.left + 1 + part.lowerBound, row: inside.top, columns: part.count, rows: 1)) {
        $0.attributes.insert(.underline)
      }
    }
  }
}
