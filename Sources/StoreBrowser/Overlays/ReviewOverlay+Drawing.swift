import StrataDocuments
import StrataModel
import StrataTerminal

/// The drawing of a review, and the results of its checks.
extension ReviewOverlay {
  /// The rectangle, as large as the contents need.
  func rect(in body: Rect, session: Session) -> Rect {
    let columns = min(body.columns, answer.map { width(of: $0, session) } ?? 72)
    let rows = answer == nil ? 12 : lines.count + 6
    return body.centered(Size(columns: columns, rows: min(body.rows, max(10, rows))))
  }

  /// The columns of the widest review.
  private static let widest = 120

  private func width(of answer: ReviewAnswer, _ session: Session) -> Int {
    let theme = session.theme
    let widths = lines.map { line in
      switch line {
      case .record(let position):
        13 + SafeText.width(named(answer.records[position].place, answer.records[position].label, in: Self.widest))
      case .field(let position, let field, let part):
        6 + Self.width(FieldText.spans(answer.records[position].fields[field], part, theme: theme))
      case .entries(let position): 6 + SafeText.width(Self.entries(of: answer.records[position], theme))
      case .conflict(let position, let field):
        4
          + (answer.records[position].conflict.map { Self.width(conflictSpans($0, field, in: Self.widest - 4, theme)) }
            ?? 0)
      case .note(let text, _): 2 + SafeText.width(text)
      case .blank: 0
      }
    }
    let foot = [refusal, problem?.description].compactMap { $0.map { SafeText.width($0) + 4 } }.max() ?? 0
    let widest = max(widths.max() ?? 0, SafeText.width(Self.headline(answer)), SafeText.width(proposedName) + 20, foot)
    return max(60, min(Self.widest, widest + 4))
  }

  private static func width(_ spans: [Span]) -> Int { spans.reduce(0) { $0 + SafeText.width($1.text) } }

  /// `index population 184615 → 150000   alternateNames - "Izumi" + "Izumishi"`.
  private static func entries(of record: ReviewRecord, _ theme: Theme) -> String {
    let shown = record.entries.prefix(8)
    var indexes: [String] = []
    for entry in shown where !indexes.contains(entry.index) { indexes.append(entry.index) }
    let text = indexes.map { index in
      let removed = shown.filter { $0.index == index && !$0.isAdded }.map(\.value)
      let added = shown.filter { $0.index == index && $0.isAdded }.map(\.value)
      if removed.count == 1, added.count == 1 { return "\(index) \(removed[0]) \(theme.arrow) \(added[0])" }
      return ([index] + removed.map { "- \($0)" } + added.map { "+ \($0)" }).joined(separator: " ")
    }
    return "index " + text.joined(separator: "   ") + (record.entries.count > 8 ? "   …" : "")
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    grid.border(
      frame, digit: nil, title: title, footer: "one transaction, undoable with \(subject.undoKey)", theme: theme)
    let inside = frame.inside
    guard let answer else {
      drawWaiting(in: inside, on: &grid, session: session)
      return
    }
    grid.write(Self.headline(answer), at: inside.at(1), width: inside.columns - 2, style: theme.style(.title))
    if answer.head != session.head {
      grid.write(
        "\(theme.warningSign) this is as of \(answer.head); the head is \(session.head) by now", at: inside.at(1, 1),
        width: inside.columns - 2, style: theme.style(.warning))
    }
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      draw(lines[line], answer, in: rect, on: &grid, theme: theme)
    }
    drawFoot(in: inside, on: &grid, session: session)
  }

  /// Shows the progress before the review is ready: a proof of the index rules reads every record.
  private func drawWaiting(in inside: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    if let problem {
      grid.writeWrapped(
        Self.text(problem, theme), in: inside, style: theme.style(problem.isFailure ? .problem : .warning))
      return
    }
    guard let work = session.running[.review], let progress = work.progress, progress.found == .proof,
      let total = progress.total, total > 0
    else {
      let part = session.running[.review]?.progress.map { progress in
        progress.total.map { " \(NumberFormat.percent(progress.done, of: $0))" }
          ?? " \(NumberFormat.count(progress.done)) records"
      }
      grid.writeWrapped("looking at what would change…\(part ?? "")", in: inside, style: theme.style(.dim))
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
      grid.write(spans, at: inside.at(1, row), width: inside.columns - 2)
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
    let (foot, width) = (Point(column: inside.left + 1, row: inside.bottom - 1), inside.columns - 2)
    if let problem {
      grid.write(
        Self.text(problem, theme), at: Point(column: foot.column, row: foot.row - 1), width: width,
        style: theme.style(problem.isFailure ? .problem : .warning))
    }
    if isCommitting {
      grid.write(committingSpans(session, width: width), at: foot, width: width)
    } else if let name {
      grid.write("commit name  ", at: foot, style: theme.style(.title))
      name.draw(into: &grid, at: Point(column: foot.column + 13, row: foot.row), width: max(4, inside.columns - 15))
    } else if problem == nil, let refusal {
      grid.write("\(theme.warningSign) \(refusal)", at: foot, width: width, style: theme.style(.warning))
    } else {
      var verb = "name and commit"
      if case .migration = subject { verb = "run again with these changes, in one transaction" }
      if letter != nil { verb = "apply the letter" }
      let warnings = lines.count { if case .note(_, .warning) = $0 { true } else { false } }
      let isBelow = warnings > 0 && lines.count + 4 > inside.rows
      let below =
        isBelow ? "   \(theme.warningSign) \(NumberFormat.counted(warnings, "warning")) at the end of the list" : ""
      grid.write(
        [Span("\(theme.enterKey) \(verb)", theme.style(.dim)), Span(below, theme.style(.warning))], at: foot,
        width: width)
    }
  }

  private static func text(_ problem: ModelError, _ theme: Theme) -> String {
    "\(problem.isFailure ? theme.problemSign : theme.warningSign) \(problem)"
  }

  private var title: String {
    switch subject {
    case .staged: "w  Review and commit"
    case .undo(let commit, let isRedo): "\(isRedo ? "^r  Redo: take back the undo" : "u  Undo: take back") \(commit)"
    case .migration: "a  Mend these records and run again"
    case .restore(let commit, let datastore): "Restore \(datastore ?? "the whole store") to \(commit)"
    case .letter(let letter): "Letter of \(letter.program): \(letter.action)"
    }
  }

  private static func headline(_ answer: ReviewAnswer) -> String {
    var parts = answer.counts.map {
      "\($0.datastore)  ~\(NumberFormat.count($0.updated)) +\(NumberFormat.count($0.inserted)) -\(NumberFormat.count($0.deleted))"
    }
    if let commit = answer.subjectCommit, !commit.action.isEmpty { parts.insert("“\(commit.action)”", at: 0) }
    let records = answer.counts.reduce(0) { $0 + $1.total }
    parts.append("\(NumberFormat.count(records)) \(records == 1 ? "record" : "records")")
    if let preview = answer.preview {
      let entries = preview.addedEntries + preview.removedEntries
      parts.append("\(NumberFormat.count(entries)) index \(entries == 1 ? "entry" : "entries")")
      parts.append("about \(NumberFormat.bytes(preview.byteCount)) to write")
    }
    return parts.joined(separator: "   ")
  }

  private func draw(_ line: Line, _ answer: ReviewAnswer, in rect: Rect, on grid: inout CellGrid, theme: Theme) {
    switch line {
    case .record(let position):
      let record = answer.records[position]
      let (sign, role) = StoresPane.sign(of: record.kind)
      let count = record.fields.isEmpty ? "" : NumberFormat.counted(record.fields.count, "field")
      grid.write(sign, at: rect.at(2), width: 1, style: theme.style(role))
      let width = max(0, rect.columns - 6 - count.count)
      grid.write(
        named(record.place, record.label, in: width), at: rect.at(4), width: width,
        style: theme.style(record.kind == .delete ? .deleted : .title))
      grid.write(count, at: rect.origin, width: rect.columns - 1, style: theme.style(.dim), alignment: .trailing)
    case .field(let position, let field, let part):
      grid.write(
        FieldText.spans(answer.records[position].fields[field], part, theme: theme), at: rect.at(6),
        width: max(0, rect.columns - 6))
    case .entries(let position):
      grid.write(
        Self.entries(of: answer.records[position], theme), at: rect.at(6), width: max(0, rect.columns - 6),
        style: theme.style(.dim))
    case .conflict(let position, let field):
      guard let conflict = answer.records[position].conflict else { return }
      let width = max(0, rect.columns - 4)
      grid.write(conflictSpans(conflict, field, in: width, theme), at: rect.at(4), width: width)
    case .note(let text, let role):
      grid.write(text, at: rect.at(2), width: rect.columns - 2, style: theme.style(role))
    case .blank: break
    }
  }

  /// The values of a field in conflict. Each has its part of the width, so that none pushes another out of sight.
  private func conflictSpans(_ conflict: EditConflict, _ place: Int, in width: Int, _ theme: Theme) -> [Span] {
    guard conflict.fields.indices.contains(place) else {
      return [
        Span("✗ \(conflict.sentence)  ", theme.style(.problem)), Span("m mine · t theirs", theme.style(.dim)),
      ]
    }
    let field = conflict.fields[place]
    let texts = [field.base, field.mine, field.theirs].map { $0.map { ValueText(literal: $0).text } ?? "(none)" }
    let name = "✗ \(field.path.shortText)  "
    let room = width - SafeText.width(name) - 25
    let isCut = SafeText.width(texts.joined()) > room
    let choice = choices[conflict.place]?[field.path]
    func span(_ place: Int, _ side: MergeSide, _ role: Role) -> Span {
      let text = isCut ? SafeText.cutInTheMiddle(texts[place], to: max(8, room / 3)) : texts[place]
      return Span("\(choice == side ? theme.check : "")\(side) \(text)   ", theme.style(role))
    }
    return [
      Span(name, theme.style(.problem)), span(0, .base, .text), span(1, .mine, .inserted), span(2, .theirs, .changed),
      Span("m mine · t theirs · b base", theme.style(.dim)),
    ]
  }

  /// The results of the checks before the commit, line by line.
  func checks(_ answer: ReviewAnswer) -> [Line] {
    var notes: [Line] = []
    func note(_ text: String, _ role: Role) { notes.append(.note(text, role)) }
    if let reason = letter?.reason { note("⚠ it was refused: \(reason)", .warning) }
    if let rebased = answer.rebased {
      let move = "the head moved \(rebased.from.map { "\($0)" } ?? "the beginning") → \(rebased.to)"
      if !rebased.conflicts.isEmpty {
        // An edit can be older than the first staged one: the head may have moved while its editor was open.
        let reason = rebased.hasMoved ? move : "the head moved while you edited"
        note("✗ \(reason): choose m mine, t theirs or b base for each field", .problem)
      } else if rebased.hasMoved {
        note("⚠ \(move) since you began: no conflict is open", .warning)
      }
    }
    if let merge = answer.subjectCommit, merge.parents.count > 1 {
      let count = answer.counts.reduce(0) { $0 + $1.total }
      note(
        "⚠ the other side's work is taken back here, and everywhere at the next exchange: "
          + NumberFormat.counted(count, "record"), .warning)
      if answer.isMergeSent == false { note("this merge was not sent yet: B steps back before it", .dim) }
    }
    if let sentence = answer.kept?.sentence { note("⚠ \(sentence)", .warning) }
    guard let preview = answer.preview else {
      note("✓ the state before is brought back as it was: no record is written again", .inserted)
      return notes
    }
    let (added, removed) = (NumberFormat.count(preview.addedEntries), NumberFormat.count(preview.removedEntries))
    note("index entries: +\(added) -\(removed)", .dim)
    if preview.refusals.isEmpty, preview.marked.isEmpty { note("✓ every index stays right", .inserted) }
    for index in preview.marked { note("⚠ index \(index) is marked stale: the app builds it again", .warning) }
    for refusal in preview.refusals.prefix(5) {
      note(
        "✗ \(refusal.index.map { "index \($0): " } ?? "")\(refusal.reason)"
          + (refusal.canBeMarkedStale ? " — X marks it stale instead" : ""), .problem)
    }
    if preview.uniqueness.isEmpty { note("✓ no value belongs to two records", .inserted) }
    for conflict in preview.uniqueness.prefix(5) {
      note("\(conflict.isEnforced ? "✗" : "⚠") \(conflict.sentence)", conflict.isEnforced ? .problem : .warning)
    }
    for reference in preview.dangling.prefix(5) { note("⚠ \(reference.sentence)", .warning) }
    if preview.dangling.count > 5 { note("⚠ and more references would name what is not there", .warning) }
    return notes
  }
}
