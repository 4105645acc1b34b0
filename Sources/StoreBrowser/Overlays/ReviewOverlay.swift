import Documents
import DatastoreModel
import TerminalKit

/// What would be written, with its checks: letters are commands, Enter asks for the name, a second Enter commits.
struct ReviewOverlay: ListPane {
  static let entry = PaneEntry(
    .review, name: "Review", work: [.review, .commit, .stepBack],
    footer: [
      .open, .down, .leaveOut, .takeMine, .takeTheirs, .takeBase, .markStale, .stepBack, .listChanges, .help, .escape,
    ],
    commands: [
      CommandTable.row(
        .takeMine, ["m"], "keep mine", "mine", .write,
        "In a review where the head has moved, and in a merge: of the field in conflict under the cursor, keeps what is ours.",
        in: [.review, .merge]),
      CommandTable.row(
        .takeTheirs, ["t"], "keep theirs", "theirs", .write,
        "In a review where the head has moved, and in a merge: of the field in conflict under the cursor, keeps what is theirs.",
        in: [.review, .merge]),
      CommandTable.row(
        .markStale, ["X"], "mark indexes stale instead of refusing", "mark stale", .write,
        "In a review: indexes whose rule is not proven are marked stale, and filled at the app's next warm-up.",
        in: [.review]),
      CommandTable.row(
        .stepBack, ["B"], "step back before the merge", "step back", .write,
        "In the review that takes back a merge which nobody else has: moves the head back to before it, so that the next merge "
          + "brings the same changes again.", in: [.review]),
      CommandTable.row(
        .listChanges, ["P"], "list what is committed", "list", .write,
        "In a review: lists every record that would be written.", in: [.review]),
    ])

  let subject: ReviewSubject
  private(set) var answer: ReviewAnswer?
  private(set) var problem: String?
  var list = ListWindow()
  /// The name of the commit, once it is asked for.
  var name: TextField?
  private(set) var isCommitting = false
  var marksIndexesStale = false
  /// What was chosen for fields in conflict.
  var choices: [RecordPlace: [DocumentPath: MergeSide]] = [:]
  private var lines: [Line] = []
  private var isAsked = false

  enum Line: Sendable, Hashable {
    case record(Int)
    case field(Int, Int, FieldText.Part)
    case entries(Int)
    case conflict(Int, Int)
    case note(String, Kind)
    case blank

    enum Kind: Sendable, Hashable { case good, warning, problem, dim }
  }

  init(subject: ReviewSubject) { self.subject = subject }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard !isAsked else { return }
    isAsked = true
    session.start(
      .review, .review(ReviewRequest(subject: subject, head: session.head, naming: session.naming)), label: "review")
  }

  /// Looks again, after something changed or the holder of the lock left.
  mutating func renew() {
    isAsked = false
    problem = nil
    isCommitting = false
  }

  private mutating func show(_ answer: ReviewAnswer) {
    self.answer = answer
    problem = nil
    lines = []
    for (position, record) in answer.records.enumerated() {
      lines.append(.record(position))
      if let conflict = record.conflict {
        lines += (0..<max(1, conflict.fields.count)).map { .conflict(position, $0) }
      }
      for (place, field) in record.fields.enumerated() {
        lines += FieldText.parts(field).map { .field(position, place, $0) }
      }
      if !record.entries.isEmpty { lines.append(.entries(position)) }
    }
    if answer.isCut { lines.append(.note("… and more, all of which are counted above", .dim)) }
    lines.append(.blank)
    lines += checks(answer).map { .note($0.0, $0.1) }
    list.select(list.selection, count: lines.count)
  }

  mutating func fail(_ text: String) {
    problem = text
    isCommitting = false
  }

  /// The changed record under the cursor.
  var selectedPlace: RecordPlace? {
    guard let answer, lines.indices.contains(list.selection) else { return nil }
    switch lines[list.selection] {
    case .record(let record), .field(let record, _, _), .entries(let record), .conflict(let record, _):
      return answer.records[record].place
    case .note, .blank: return nil
    }
  }

  /// The changed field under the cursor; nil on other lines, and of records that come or go as a whole.
  private var selectedField: DocumentPath? {
    guard let answer, lines.indices.contains(list.selection),
      case .field(let record, let field, _) = lines[list.selection],
      answer.records[record].kind == .update
    else { return nil }
    return try? DocumentPath(parsing: answer.records[record].fields[field].path)
  }

  /// The field in conflict under the cursor; the root where whole records are.
  var selectedConflict: (place: RecordPlace, conflict: EditConflict, path: DocumentPath)? {
    guard let answer, lines.indices.contains(list.selection),
      case .conflict(let record, let field) = lines[list.selection],
      let conflict = answer.records[record].conflict
    else { return nil }
    let path = conflict.fields.indices.contains(field) ? conflict.fields[field].path : .root
    return (answer.records[record].place, conflict, path)
  }

  private var document: [String] {
    answer?.changes.changes.map { "\($0.kind.rawValue) \($0.datastore)/\($0.identifier)" } ?? []
  }

  /// Why it cannot be committed; nil when it can.
  var refusal: String? {
    guard let answer else { return problem ?? "the review is still being made" }
    if answer.records.isEmpty { return "there is nothing to commit" }
    let conflicts = answer.rebased?.conflicts ?? []
    if let first = conflicts.first ?? answer.preview?.conflicts.first { return first.sentence }
    if let unique = answer.preview?.uniqueness.first(where: \.isEnforced) { return unique.sentence }
    if let refused = answer.preview?.refusals.first(where: { !($0.canBeMarkedStale && marksIndexesStale) }) {
      return refused.reason + (refused.canBeMarkedStale ? " (X marks the index stale instead)" : "")
    }
    return nil
  }

  /// A name that says what happens, to be changed or taken.
  var proposedName: String {
    guard let answer else { return "" }
    switch subject {
    case .undo(let commit, let isRedo):
      return
        "\(isRedo ? "redo" : "undo") \(commit)\(answer.subjectCommit.map { $0.action.isEmpty ? "" : ": \($0.action)" } ?? "")"
    case .restore(let commit, let datastore): return "restore \(datastore.map { "\($0) " } ?? "")to \(commit)"
    case .staged, .migration: break
    }
    guard let first = answer.records.first else { return "" }
    let place = "\(first.place.datastore) \(ValueText(key: first.place.identifier.value).text)"
    if answer.changes.count == 1 {
      switch first.kind {
      case .insert: return "\(place): new"
      case .delete: return "\(place): delete"
      case .update:
        let fields = first.fields.prefix(3).map { String($0.path.drop { $0 == "." }) }.joined(separator: ", ")
        return "\(place): \(fields)\(first.fields.count > 3 ? ", …" : "")"
      }
    }
    return answer.counts.map { count in
      var parts: [String] = []
      if count.updated > 0 { parts.append("\(count.updated) changed") }
      if count.inserted > 0 { parts.append("\(count.inserted) new") }
      if count.deleted > 0 { parts.append("\(count.deleted) deleted") }
      return "\(count.datastore): \(parts.joined(separator: ", "))"
    }.joined(separator: "; ")
  }

  mutating func commit(in session: inout Session) {
    guard let answer, let name, !isCommitting else { return }
    isCommitting = true
    problem = nil
    session.start(
      .commit,
      .commit(
        CommitRequest(
          subject: subject, changes: answer.changes, name: name.text.trimmed, marksIndexesStale: marksIndexesStale)),
      label: "commit")
  }

  /// The commit was called off before anything was written.
  mutating func stopCommitting() { isCommitting = false }

  private func checks(_ answer: ReviewAnswer) -> [(String, Line.Kind)] {
    var notes: [(String, Line.Kind)] = []
    if let rebased = answer.rebased, rebased.hasMoved {
      let from = rebased.from.map { "\($0)" } ?? "the beginning"
      if rebased.conflicts.isEmpty {
        notes.append(("⚠ the head moved \(from) → \(rebased.to) since you began: no field overlaps", .warning))
      } else {
        notes.append(
          ("✗ the head moved \(from) → \(rebased.to): choose m mine, t theirs or b base for each field", .problem))
      }
    }
    if let merge = answer.subjectCommit, merge.parents.count > 1 {
      let count = answer.counts.reduce(0) { $0 + $1.inserted + $1.updated + $1.deleted }
      notes.append(
        (
          "⚠ the other side's work is taken back here, and everywhere at the next exchange: "
            + NumberFormat.counted(count, "record"), .warning
        ))
      if answer.isMergeSent == false { notes.append(("nobody else has this merge yet: B steps back before it", .dim)) }
    }
    guard let preview = answer.preview else { return notes }
    notes.append(
      (
        "index entries: +\(NumberFormat.count(preview.addedEntries)) -\(NumberFormat.count(preview.removedEntries))",
        .dim
      ))
    if preview.refusals.isEmpty { notes.append(("✓ every index stays right", .good)) }
    for refusal in preview.refusals.prefix(5) {
      notes.append(
        (
          "✗ \(refusal.index.map { "index \($0): " } ?? "")\(refusal.reason)"
            + (refusal.canBeMarkedStale ? " — X marks it stale instead" : ""), .problem
        ))
    }
    if preview.uniqueness.isEmpty {
      notes.append(("✓ no value belongs to two records", .good))
    }
    for conflict in preview.uniqueness.prefix(5) {
      notes.append(
        ("\(conflict.isEnforced ? "✗" : "⚠") \(conflict.sentence)", conflict.isEnforced ? .problem : .warning))
    }
    notes += preview.dangling.prefix(5).map { ("⚠ \($0.sentence)", .warning) }
    if preview.dangling.count > 5 { notes.append(("⚠ and more references would name what is not there", .warning)) }
    return notes
  }

  // MARK: Drawing

  /// As large as what it shows.
  func rect(in body: Rect, session: Session) -> Rect {
    let columns = min(body.columns, answer.map { width(of: $0, session) } ?? 72)
    let rows = answer == nil ? 12 : lines.count + 6
    return body.centered(Size(columns: columns, rows: min(body.rows, max(10, rows))))
  }

  private func width(of answer: ReviewAnswer, _ session: Session) -> Int {
    let theme = session.theme
    let widths = lines.map { line in
      switch line {
      case .record(let position): 12 + SafeText.width(Self.name(of: answer.records[position]))
      case .field(let position, let field, let part):
        6 + Self.width(FieldText.spans(answer.records[position].fields[field], part, theme: theme))
      case .entries(let position): 6 + SafeText.width(Self.entries(of: answer.records[position], theme))
      case .conflict(let position, let field):
        4 + (answer.records[position].conflict.map { Self.width(conflictSpans($0, field, theme)) } ?? 0)
      case .note(let text, _): 2 + SafeText.width(text)
      case .blank: 0
      }
    }
    let foot = max(refusal.map { SafeText.width($0) + 4 } ?? 0, problem.map { SafeText.width($0) + 4 } ?? 0)
    let widest = max(widths.max() ?? 0, SafeText.width(Self.headline(answer)), SafeText.width(proposedName) + 20, foot)
    return max(60, min(120, widest + 4))
  }

  private static func width(_ spans: [Span]) -> Int { spans.reduce(0) { $0 + SafeText.width($1.text) } }

  private static func name(of record: ReviewRecord) -> String {
    "\(record.place.datastore)/\(ValueText(key: record.place.identifier.value).text)"
      + (record.label.isEmpty ? "" : "  \(record.label)")
  }

  private static func entries(of record: ReviewRecord, _ theme: Theme) -> String {
    let text = record.entries.prefix(8).map { "\($0.index) \(theme.arrow) \($0.isAdded ? "+" : "-")\($0.value)" }
    return "index " + text.joined(separator: "   ") + (record.entries.count > 8 ? "   …" : "")
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    grid.fill(frame.rect)
    grid.border(frame, digit: nil, title: title, footer: "one transaction, undoable with u", theme: theme)
    let inside = frame.inside
    guard let answer else {
      drawWaiting(in: inside, on: &grid, session: session)
      return
    }
    grid.write(
      Self.headline(answer), at: Point(column: inside.left + 1, row: inside.top), width: inside.columns - 2,
      style: theme.style(.title))
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      draw(lines[line], answer, in: rect, on: &grid, theme: theme)
    }
    drawFoot(in: inside, on: &grid, session: session)
  }

  /// What is done before there is something to show: a proof of the index rules reads every record.
  private func drawWaiting(in inside: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    if let problem {
      grid.note("✗ \(problem)", in: inside, style: theme.style(.problem))
      return
    }
    guard let work = session.running[.review], let progress = work.progress, progress.found == .proof,
      let total = progress.total, total > 0
    else {
      grid.note("looking at what would change…", in: inside, style: theme.style(.dim))
      return
    }
    let room = max(4, min(48, inside.columns - 12))
    let seconds = Double(session.now - work.startedAt) / 1e9
    let rate = seconds > 0 ? "   \(NumberFormat.count(Int(Double(progress.done) / seconds)))/s" : ""
    let lines: [[Span]] = [
      [Span("which fields are the indexes made from? every record is asked", theme.style(.title))], [],
      [
        Span(
          Bars.progress(progress.done, of: total, width: room, isASCII: theme.isASCII), theme.style(.bar)),
        Span("  \(NumberFormat.percent(progress.done, of: total))"),
      ],
      [Span("\(NumberFormat.count(progress.done)) of \(NumberFormat.count(total)) records\(rate)")], [],
      [Span("once for this state of the store · Esc cancels, what is staged stays staged", theme.style(.dim))],
    ]
    for (row, spans) in lines.enumerated() where row < inside.rows {
      grid.write(spans, at: Point(column: inside.left + 1, row: inside.top + row), width: inside.columns - 2)
    }
    grid.cursor = inside.origin
  }

  private func committingSpans(_ session: Session, width: Int) -> [Span] {
    let theme = session.theme
    guard let progress = session.running[.commit]?.progress, let total = progress.total, total > 0 else {
      return [Span("committing…", theme.style(.dim))]
    }
    let text =
      "\(progress.found == .proof ? "asking every record" : "committing")  \(NumberFormat.count(progress.done)) of "
      + "\(NumberFormat.count(total))  \(NumberFormat.percent(progress.done, of: total))  Esc cancels"
    let room = max(0, min(40, width - SafeText.width(text) - 2))
    return [
      Span(Bars.progress(progress.done, of: total, width: room, isASCII: theme.isASCII), theme.style(.bar)),
      Span("  \(text)", theme.style(.dim)),
    ]
  }

  private func drawFoot(in inside: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    let row = inside.bottom - 1
    if let problem {
      for (offset, line) in "✗ \(problem)".wrapped(to: inside.columns - 2).prefix(1).enumerated() {
        grid.write(
          line, at: Point(column: inside.left + 1, row: row - 1 + offset), width: inside.columns - 2,
          style: theme.style(.problem))
      }
    }
    if isCommitting {
      grid.write(
        committingSpans(session, width: inside.columns - 2), at: Point(column: inside.left + 1, row: row),
        width: inside.columns - 2)
    } else if let name {
      grid.write("commit name  ", at: Point(column: inside.left + 1, row: row), style: theme.style(.title))
      name.draw(into: &grid, at: Point(column: inside.left + 14, row: row), width: max(4, inside.columns - 15))
    } else if problem == nil, let refusal {
      grid.write(
        "✗ \(refusal)", at: Point(column: inside.left + 1, row: row), width: inside.columns - 2,
        style: theme.style(.problem))
    } else {
      var verb = "name and commit"
      if case .migration = subject { verb = "run the migration with these changes, in one transaction" }
      grid.write(
        "\(theme.enterKey) \(verb)", at: Point(column: inside.left + 1, row: row), width: inside.columns - 2,
        style: theme.style(.dim))
    }
  }

  private var title: String {
    switch subject {
    case .staged: "w  Review and commit"
    case .undo(let commit, let isRedo): "\(isRedo ? "^r  Redo: take back the undo" : "u  Undo: take back") \(commit)"
    case .migration: "a  Mend these records and run the migration again"
    case .restore(let commit, let datastore): "Restore \(datastore ?? "the whole store") to \(commit)"
    }
  }

  private static func headline(_ answer: ReviewAnswer) -> String {
    var parts = answer.counts.map {
      "\($0.datastore)  ~\(NumberFormat.count($0.updated)) +\(NumberFormat.count($0.inserted)) -\(NumberFormat.count($0.deleted))"
    }
    if let commit = answer.subjectCommit, !commit.action.isEmpty { parts.insert("“\(commit.action)”", at: 0) }
    let records = answer.counts.reduce(0) { $0 + $1.updated + $1.inserted + $1.deleted }
    parts.append("\(NumberFormat.count(records)) \(records == 1 ? "record" : "records")")
    if let preview = answer.preview {
      let entries = preview.addedEntries + preview.removedEntries
      parts.append("\(NumberFormat.count(entries)) index \(entries == 1 ? "entry" : "entries")")
      parts.append("\(NumberFormat.bytes(preview.byteCount)) to write")
    }
    return parts.joined(separator: "   ")
  }

  private func draw(_ line: Line, _ answer: ReviewAnswer, in rect: Rect, on grid: inout CellGrid, theme: Theme) {
    switch line {
    case .record(let position):
      let record = answer.records[position]
      let (sign, role) = StoresPane.sign(of: record.kind)
      let count = record.fields.count == 1 ? "1 field" : "\(record.fields.count) fields"
      grid.write(sign, at: Point(column: rect.left + 2, row: rect.top), width: 1, style: theme.style(role))
      grid.write(
        Self.name(of: record), at: Point(column: rect.left + 4, row: rect.top), width: rect.columns - 5 - count.count,
        style: theme.style(record.kind == .delete ? .deleted : .title))
      grid.write(count, at: rect.origin, width: rect.columns - 1, style: theme.style(.dim), alignment: .trailing)
    case .field(let position, let field, let part):
      grid.write(
        FieldText.spans(answer.records[position].fields[field], part, theme: theme),
        at: Point(column: rect.left + 6, row: rect.top), width: max(0, rect.columns - 6))
    case .entries(let position):
      grid.write(
        Self.entries(of: answer.records[position], theme), at: Point(column: rect.left + 6, row: rect.top),
        width: max(0, rect.columns - 6), style: theme.style(.dim))
    case .conflict(let position, let field):
      guard let conflict = answer.records[position].conflict else { return }
      grid.write(
        conflictSpans(conflict, field, theme), at: Point(column: rect.left + 4, row: rect.top),
        width: max(0, rect.columns - 4))
    case .note(let text, let kind):
      let role: Role =
        switch kind {
        case .good: .inserted
        case .warning: .warning
        case .problem: .problem
        case .dim: .dim
        }
      grid.write(
        text, at: Point(column: rect.left + 2, row: rect.top), width: rect.columns - 2, style: theme.style(role))
    case .blank: break
    }
  }

  private func conflictSpans(_ conflict: EditConflict, _ place: Int, _ theme: Theme) -> [Span] {
    guard conflict.fields.indices.contains(place) else {
      return [
        Span("✗ \(conflict.sentence)  ", theme.style(.problem)), Span("m mine · t theirs", theme.style(.dim)),
      ]
    }
    let field = conflict.fields[place]
    func text(_ value: Document?) -> String { value.map { ValueText(literal: $0).text } ?? "(none)" }
    let choice = choices[conflict.place]?[field.path]
    return [
      Span("✗ \(field.path.shortText)  ", theme.style(.problem)),
      Span("\(choice == .base ? theme.check : "")base \(text(field.base))   "),
      Span("\(choice == .mine ? theme.check : "")mine \(text(field.mine))   ", theme.style(.inserted)),
      Span("\(choice == .theirs ? theme.check : "")theirs \(text(field.theirs))", theme.style(.changed)),
      Span("   m mine · t theirs · b base", theme.style(.dim)),
    ]
  }

  private static func word(_ side: MergeSide) -> String {
    switch side {
    case .base: "base"
    case .mine: "mine"
    case .theirs: "theirs"
    }
  }

}

// MARK: Keys and answers

extension ReviewOverlay {
  func headerRows(_ frame: PaneFrame) -> Int { 2 }
  func footerRows(_ frame: PaneFrame) -> Int { 2 }
  func lineCount(_ session: Session) -> Int { lines.count }

  func footer(_ session: Session) -> [Command] {
    if isCommitting { return [.escape] }
    if name != nil { return [.open, .escape] }
    var commands: [Command] = [.open, .down]
    if case .staged = subject { commands += [.leaveOut] }
    if hasConflicts { commands += [.takeMine, .takeTheirs, .takeBase] }
    if hasRefusals { commands.append(.markStale) }
    if answer?.isMergeSent == false { commands.append(.stepBack) }
    return commands + [.listChanges, .help, .escape]
  }

  private var hasConflicts: Bool { !(answer?.rebased?.conflicts.isEmpty ?? true) }
  private var hasRefusals: Bool { answer?.preview?.refusals.contains(where: \.canBeMarkedStale) ?? false }

  func short(_ command: Command) -> String? {
    switch command {
    case .open: name == nil ? "name and commit" : "commit"
    case .escape: isCommitting ? "cancel" : name == nil ? "back" : "back to the list"
    default: nil
    }
  }

  func refusal(of command: Command, in session: Session) -> String? {
    switch command {
    case .leaveOut:
      guard case .staged = subject else { return "nothing of this is staged" }
      return selectedPlace == nil ? "choose a record first" : nil
    case .takeMine, .takeTheirs, .takeBase:
      guard case .staged = subject, selectedConflict != nil else { return "choose a field in conflict first" }
      return nil
    case .stepBack:
      switch answer?.isMergeSent {
      case false?: return nil
      case true?: return "others have this merge already: only an undo takes it back"
      case nil: return "only a merge that is the newest commit is stepped back before"
      }
    default: return nil
    }
  }

  mutating func answered(_ answer: Answer, in session: inout Session) {
    if case .reply(let reply as StepBackReply) = answer {
      session.intend(.dismiss)
      session.say("the head is \(reply.head) again; the merge \(reply.merge) is in nobody's history")
      session.intend(.look)
    }
    if case .review(let answer) = answer, answer.request.subject == subject { show(answer) }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    fail(error.description)
    if case .conflict = error { renew() }
    session.complain(error.description)
  }

  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool {
    isCommitting ? false : name?.apply(chord) ?? false
  }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    name?.insert(text.replacing("\n", with: " ")) != nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    if isCommitting {
      if command == .escape || command == .interrupt { session.askToEnd(.commit) }
      return true
    }
    if name != nil, command == .open || command == .escape {
      if command == .open { commit(in: &session) } else { name = nil }
      return true
    }
    switch command {
    case .escape, .close, .interrupt:
      session.cancel(.review)
      session.intend(.dismiss)
    case .open: askForName(in: &session)
    case .leaveOut: leaveOut(in: &session)
    case .takeMine: resolveConflict(by: .mine, in: &session)
    case .takeTheirs: resolveConflict(by: .theirs, in: &session)
    case .takeBase: resolveConflict(by: .base, in: &session)
    case .markStale:
      marksIndexesStale.toggle()
      renew()
      session.say(
        marksIndexesStale
          ? "indexes without a proven rule will be marked stale" : "indexes stay right or the commit is refused")
    case .stepBack:
      guard case .undo(let merge, _) = subject else { return false }
      session.start(.stepBack, .ask(StepBackRequest(merge: merge)), label: "step back")
    case .listChanges:
      session.intend(.present(TextOverlay(title: "What is committed", lines: document)))
    case .nextPane: return move(.down, argument: nil, frame: frame, in: &session)
    default: return false
    }
    return true
  }

  private mutating func askForName(in session: inout Session) {
    if let refusal {
      fail(refusal)
    } else if case .migration(let changes) = subject {
      session.intend(.dismiss)
      session.intend(.startMigration(mending: changes.changes))
    } else {
      name = TextField(proposedName, isSelected: true)
    }
  }

  private func leaveOut(in session: inout Session) {
    guard let place = selectedPlace else { return }
    session.intend(.dismiss)
    if let path = selectedField {
      session.intend(.leaveFieldOut(place, path))
    } else {
      session.intend(.stage(.leavingOut(place, of: session.staged)))
    }
    session.intend(.reviewStaged)
  }

  /// Decides one field in conflict; once all of a record are decided, the change is put on what lies there now.
  private mutating func resolveConflict(by side: MergeSide, in session: inout Session) {
    guard let (place, conflict, path) = selectedConflict else { return }
    choices[place, default: [:]][path] = side
    session.say("\(path.shortText): \(Self.word(side))")
    let decided = choices[place] ?? [:]
    guard conflict.fields.allSatisfy({ decided[$0.path] != nil }),
      let descriptor = session.outline?.datastore(place.datastore)?.descriptor
    else { return }
    do throws(ModelError) {
      let edit = try conflict.resolved(by: decided, descriptor: descriptor)
      session.staged.settle(place, as: edit)
      session.start(.staging, .saveStaged(session.staged))
      session.intend(.dismiss)
      session.intend(.reviewStaged)
      if session.staged.isEmpty { session.say("what lies there is kept; nothing is staged any more") }
    } catch { session.complain(error.description) }
  }
}

extension Command {
  static let takeMine: Command = "take-mine"
  static let takeTheirs: Command = "take-theirs"
  static let markStale: Command = "mark-stale"
  static let listChanges: Command = "list-changes"
  static let stepBack: Command = "step-back"
}

extension WorkSlot {
  static let stepBack = WorkSlot("step-back", isKept: true)
}

extension PaneID {
  static let review: PaneID = "review"
}
