import StrataDocuments
import StrataModel
import StrataTerminal

/// The changed records of a commit, or between two; Enter unfolds the fields, old and new.
struct DifferencePane: ListPane, PermanentPane, Equatable {
  static let entry = PaneEntry(
    id: .difference, name: "Difference", work: [.changes, .fields],
    footer: [.down, .open, .expandAll, .restoreField, .restoreRecord, .revert, .history, .help, .close],
    commands: [
      CommandTable.row(
        .expandAll, ["*"], "unfold or fold all records", "all fields", .history,
        "In a difference shows the fields of all records, or folds them again.", in: [.difference])
    ]
  ) { DifferencePane() }

  private(set) var source: DifferenceSource?
  private var scope: HistoryScope = .store
  private(set) var rows: [ChangeRow] = []
  private var fields: [RecordPlace: [FieldRow]] = [:]
  private var unfolded: Set<RecordPlace> = []
  /// Whether rows read from now on are unfolded, too.
  private var unfoldsAll = false
  /// The reader that continues the changes.
  @Derived private var reader: (any ChangeReader)?
  private var old: CommitNumber?
  private var new: CommitNumber?
  private(set) var isAtEnd = false
  /// Whether the last difference that was read had no record: while the next one is read, the layout stays.
  private(set) var leavesRoom = false
  private var isReading = false
  private var pendingFields: RecordPlace?
  var list = ListWindow()
  private var lines: [Line] = []
  private(set) var problem: String?

  enum Line: Sendable, Hashable {
    case record(Int)
    /// A field, and one of its lines: old, new, now.
    case field(Int, Int, FieldText.Part)
  }

  static let pageSize = 200

  /// Shows another difference; the same one is left unchanged.
  private mutating func show(_ source: DifferenceSource, scope: HistoryScope) {
    guard source != self.source || scope != self.scope else { return }
    let wasEmpty = leavesRoom
    self = DifferencePane()
    leavesRoom = wasEmpty
    self.source = source
    self.scope = scope
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    // Closing the pane ended the work, and the reader may have gone on meanwhile: it begins again.
    if isReading, !session.isRunning(.changes) { source = nil }
    if !session.isRunning(.fields) { pendingFields = nil }
    if let asked = session.selections.difference {
      show(asked, scope: .store)
    } else if let commit = session.selections.commit {
      show(.commit(commit), scope: session.selections.scope)
    }
    guard let source, problem == nil else { return }
    list.reveal(rows: frame.rows, count: lines.count)
    if !isReading, !isAtEnd, rows.isEmpty || list.awaited != nil || list.top + 2 * frame.rows > lines.count {
      isReading = true
      // The parts of a long difference grow, because the lines are rebuilt after each.
      let limit = list.awaited == nil ? Self.pageSize : max(Self.pageSize, rows.count)
      session.start(
        .changes,
        ChangesRequest(
          source: source, place: scope.place, reader: reader, limit: limit, naming: session.naming))
    }
    guard !isReading, pendingFields == nil, let new, let row = unread else { return }
    pendingFields = row.place
    session.start(.fields, FieldsRequest(old: old, new: new, place: row.place, head: session.head))
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let answer as ChangesAnswer where answer.source == source:
      isReading = false
      (old, new, reader, isAtEnd) = (answer.old, answer.new, answer.reader, answer.isAtEnd)
      let isFirst = rows.isEmpty
      rows += answer.rows
      if unfoldsAll { unfolded.formUnion(answer.rows.map(\.place)) }
      // A single change is unfolded at once.
      if isFirst, isAtEnd, rows.count == 1 { unfolded.insert(rows[0].place) }
      rebuild()
      leavesRoom = isAtEnd && rows.isEmpty
    case let found as [FieldRow]:
      guard let place = pendingFields else { return }
      pendingFields = nil
      fields[place] = found
      rebuild()
    default: break
    }
  }

  /// The first unfolded record whose fields are not read yet.
  private var unread: ChangeRow? { rows.first { unfolded.contains($0.place) && fields[$0.place] == nil } }
  func isWhole(_ session: Session) -> Bool { isAtEnd && unread == nil }

  mutating func askAgain(in session: inout Session) { if problem != nil { source = nil } }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    problem = error.description
    isReading = false
  }

  private mutating func rebuild() {
    lines = []
    for (position, row) in rows.enumerated() {
      lines.append(.record(position))
      guard unfolded.contains(row.place), let fields = fields[row.place] else { continue }
      for (place, field) in fields.enumerated() {
        lines += FieldText.parts(field).map { .field(position, place, $0) }
      }
    }
  }

  private var selectedRow: ChangeRow? {
    switch list.selected(of: lines) {
    case .record(let row), .field(let row, _, _): rows[row]
    case nil: nil
    }
  }

  private var selectedField: FieldRow? {
    guard case .field(let row, let field, _) = list.selected(of: lines) else { return nil }
    return fields[rows[row].place]?[field]
  }

  /// The field under the cursor, or the only one that the line of a record shows.
  private var shownField: FieldRow? { selectedField ?? selectedRow?.onlyField }

  func refusal(of command: Command, in session: Session) -> String? {
    switch command {
    case .restoreField: selectedField == nil ? "choose a field first (Enter unfolds a record)" : nil
    case .copyValue: shownField == nil ? "choose a field first (Enter unfolds a record)" : nil
    case .restoreRecord, .open, .history: selectedRow == nil ? "no record is selected" : nil
    case .revert: if case .commit? = source { nil } else { "this is not a single commit" }
    default: nil
    }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    list.awaited = nil
    switch command {
    case .expandAll: toggleAll()
    case .revert:
      guard case .commit(let commit)? = source else { return false }
      session.intend(.present(ReviewOverlay(subject: .undo(commit, isRedo: false))))
    case .travel where argument == nil:
      guard let new else {
        session.warn(problem ?? "the difference is being read")
        return true
      }
      session.intend(.travel(new))
    default:
      guard let row = selectedRow else { return false }
      return run(command, on: row, in: &session)
    }
    return true
  }

  private mutating func run(_ command: Command, on row: ChangeRow, in session: inout Session) -> Bool {
    switch command {
    case .open:
      if selectedField != nil { session.intend(.select(row.place)) } else { toggle(row.place) }
    case .right: if !unfolded.contains(row.place) { toggle(row.place) }
    case .left:
      if unfolded.contains(row.place) { toggle(row.place) }
    case .restoreRecord: restore(row.place, path: nil, in: &session)
    case .restoreField: restore(row.place, path: selectedField?.path, in: &session)
    case .history:
      let path = selectedField?.path
      session.intend(.showHistory(path.map { .field(row.place, path: $0) } ?? .record(row.place)))
    case .copyKey: session.copy(row.place.identifier.description, what: "key")
    case .copyPath: session.copy(selectedField?.path ?? ".", what: "path")
    case .copyValue:
      guard let field = shownField else { return true }
      var commit = field.new == nil ? old : new
      if case .field(_, _, let part) = list.selected(of: lines), part != .new {
        commit = part == .old ? old : session.head
      }
      if let commit { session.copy(field.path, of: row.place, at: commit) }
    default: return false
    }
    return true
  }

  private mutating func toggle(_ place: RecordPlace) {
    if unfolded.remove(place) == nil { unfolded.insert(place) }
    rebuild()
  }

  /// Restores the record as it was before the difference, if that is a commit's; otherwise its older side.
  private func restore(_ place: RecordPlace, path: String?, in session: inout Session) {
    guard let old else { return session.warn("there is nothing before the first commit") }
    session.restore(place, path.flatMap { try? DocumentPath(parsing: $0) }, from: old)
  }

  /// Unfolds all records, including those still to be read, or folds them; the selection stays on its record.
  private mutating func toggleAll() {
    let row = selectedRow
    unfoldsAll = !unfoldsAll
    unfolded = unfoldsAll ? Set(rows.map(\.place)) : []
    rebuild()
    if let row, let line = lines.firstIndex(where: { if case .record(let at) = $0 { rows[at] == row } else { false } })
    {
      list.selection = line
    }
  }

  func short(_ command: Command) -> String? { command == .expandAll && unfoldsAll ? "fold all" : nil }

  func lineCount(_ session: Session) -> Int { lines.count }
  var hasRowsOfSeveralLines: Bool { true }
  var rowColumns: [String] { ["datastore", "identifier", "label", "change", "field", "old", "new"] }

  func row(_ line: Int) -> [Document] {
    func text(_ text: String?) -> Document { text.map { .string($0) } ?? .null }
    switch lines[line] {
    case .record(let position), .field(let position, _, _):
      let row = rows[position]
      var field = row.onlyField
      if case .field(_, let place, _) = lines[line] { field = fields[row.place]?[place] }
      return [
        .string(row.place.datastore), row.place.identifier.value.document, text(row.label), text("\(row.kind)"),
        text(field?.path), text(field?.old?.text), text(field?.new?.text),
      ]
    }
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let empty = source == nil ? "choose a commit" : isAtEnd ? "no record differs" : "reading…"
    guard
      grid.begin(
        frame, title: title(theme), footer: footer, problem: problem, note: lines.isEmpty ? empty : nil, theme: theme)
    else { return }
    drawLines(on: &grid, frame: frame, session: session, hasSign: false) { grid, line, rect in
      draw(lines[line], in: rect, on: &grid, session: session)
    }
  }

  private func title(_ theme: Theme) -> String {
    switch source {
    case .commit(let commit)?: "Changes  \(old.map { "\($0) \(theme.arrow) " } ?? "")\(commit)"
    case .between(let old, let new)?: "Difference  \(old) \(theme.arrow) \(new)"
    case nil: "Changes"
    }
  }

  private var footer: String {
    guard !rows.isEmpty else { return "" }
    let position = selectedRow.flatMap { row in rows.firstIndex(of: row) }.map { $0 + 1 } ?? 0
    let all = isAtEnd ? NumberFormat.counted(rows.count, "record") : "\(NumberFormat.count(rows.count))+ records"
    return "\(NumberFormat.count(position)) of \(all)"
  }

  private func draw(_ line: Line, in rect: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    switch line {
    case .record(let position):
      let row = rows[position]
      let (sign, role) = StoresPane.sign(of: row.kind)
      let isUnfolded = unfolded.contains(row.place)
      let count = row.fieldCount.map { $0 == 1 ? "1 field" : "\($0) fields" } ?? ""
      grid.write(isUnfolded ? theme.unfolded : theme.folded, at: rect.origin, width: 1, style: theme.style(.dim))
      grid.write(sign, at: rect.at(2), width: 1, style: theme.style(role))
      let only = isUnfolded ? nil : row.onlyField
      let room = max(0, rect.columns - 4 - (only == nil ? count.count + 1 : 0))
      var spans = [
        Span(
          "\(row.place.datastore)/\(named(row.place.identifier, row.label.map { SafeText.cut($0, to: 24) }))",
          theme.style(row.kind == .delete ? .deleted : .text))
      ]
      if let only { spans += [Span("  ")] + FieldText.spans(only, theme: theme) }
      grid.write(spans, at: rect.at(4), width: room)
      if only == nil {
        grid.write(count, at: rect.origin, width: rect.columns, style: theme.style(.dim), alignment: .trailing)
      }
    case .field(let position, let field, let part):
      guard let row = fields[rows[position].place]?[field] else { return }
      grid.write(FieldText.spans(row, part, theme: theme), at: rect.at(4), width: max(0, rect.columns - 4))
    }
  }
}

/// A field that differs, on one line: `price  - 8.50  + 8.95  (now 9.10)`.
enum FieldText {
  /// The lines of a field: its path precedes the first.
  enum Part: Sendable, Hashable { case old, new, now }

  static func parts(_ row: FieldRow) -> [Part] {
    (row.old == nil ? [] : [.old]) + (row.new == nil ? [] : [.new]) + (row.changedLater ? [.now] : [])
  }

  static func spans(_ row: FieldRow, _ part: Part, theme: Theme) -> [Span] {
    let name = name(row)
    let isFirst = parts(row).first == part
    let lead = (isFirst ? name : String(repeating: " ", count: SafeText.width(name))) + "  "
    return [Span(lead, theme.style(.key)), span(row, part, theme)]
  }

  static func spans(_ row: FieldRow, theme: Theme) -> [Span] {
    let parts = parts(row).flatMap { [span(row, $0, theme)] + ($0 == .now ? [] : [Span("  ")]) }
    return [Span("\(name(row))  ", theme.style(.key))] + parts
  }

  private static func name(_ row: FieldRow) -> String {
    row.path.hasPrefix(".") ? String(row.path.dropFirst()) : row.path
  }

  private static func span(_ row: FieldRow, _ part: Part, _ theme: Theme) -> Span {
    switch part {
    case .old: Span("- \(row.old?.text ?? "")", theme.style(.deleted))
    case .new: Span("+ \(row.new?.text ?? "")", theme.style(.inserted))
    case .now: Span("\(theme.warningSign) now \(row.now?.text ?? "gone")", theme.style(.warning))
    }
  }
}
