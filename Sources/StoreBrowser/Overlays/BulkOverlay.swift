import StrataExpressions
import StrataDocuments
import StrataModel
import StrataTerminal

/// The preview of a change of many records: failures first, counts, and the changes. Enter stages it.
struct BulkOverlay: ListPane, ReplyPane {
  static let entry = PaneEntry(id: "bulk", name: "Preview", work: [.bulk], footer: [.open, .down, .escape])

  static let question = WorkSlot.bulk

  let asked: BulkRequest
  var reading = Reading<BulkRequest>()
  var list = ListWindow()

  init(request: BulkRequest) { asked = request }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    if request == nil { reading.ask(asked, as: Self.question, label: title, in: &session) }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .interrupt: session.intend(.dismiss)
    case .open:
      guard let answer = reply, !answer.edits.isEmpty else { return true }
      session.intend(.dismiss)
      let count = NumberFormat.counted(answer.edits.count, "record")
      session.intend(.stage(StagedStep(title: "\(title) in \(count)", edits: answer.edits)))
      session.intend(Intent { $0.table.clearMarks() })
    default: return false
    }
    return true
  }

  func lineCount(_ session: Session) -> Int { lines(session).count }

  func footer(_ session: Session) -> [Command] { canStage ? Self.entry.footer : [.escape] }
  func short(_ command: Command) -> String? {
    command == .open ? "stage" : command == .escape ? (canStage ? "leave it" : "close") : nil
  }
  private var canStage: Bool { reply.map { !$0.edits.isEmpty } ?? false }

  var title: String {
    switch asked.change {
    case .set(let text): "set \(text)"
    case .paste(let cells): cells.title
    case .delete: "delete"
    }
  }

  func rect(in body: Rect, session: Session) -> Rect {
    body.centered(
      Size(columns: min(body.columns, 76), rows: min(body.rows, max(5, lines(session).count + 2))))
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    grid.border(frame, digit: nil, title: title, footer: "", theme: session.theme)
    let lines = lines(session)
    drawLines(on: &grid, frame: frame, session: session, hasSign: false) { grid, line, rect in
      grid.write(lines[line], at: rect.origin, width: rect.columns)
    }
  }

  private func lines(_ session: Session) -> [[Span]] {
    let theme = session.theme
    if let problem = reading.problem { return [[Span("\(theme.problemSign) \(problem)", theme.style(.problem))]] }
    if let reply { return Self.lines(reply, theme: theme) }
    let done = session.running[.bulk]?.progress.map { NumberFormat.count($0.done) } ?? ""
    return [[Span("reading \(done)… Esc cancels", theme.style(.dim))]]
  }

  /// The failures, and the deletions, that are listed.
  private static let shown = 20

  private static func lines(_ answer: BulkAnswer, theme: Theme) -> [[Span]] {
    var lines: [[Span]] = []
    for failure in answer.failures.prefix(shown) {
      lines.append([Span("\(theme.problemSign) \(failure.subject)  \(failure.reason)", theme.style(.problem))])
    }
    if answer.failures.count > shown {
      lines.append([Span("… \(NumberFormat.count(answer.failures.count - shown)) more fail", theme.style(.problem))])
    }
    var counts = NumberFormat.counted(answer.edits.count, "record")
    if answer.unchanged > 0 { counts += " · \(NumberFormat.count(answer.unchanged)) unchanged" }
    if answer.nulls > 0 { counts += " · \(NumberFormat.count(answer.nulls)) become null" }
    if !answer.failures.isEmpty {
      counts +=
        answer.failures.count == 1
        ? " · 1 fails and stays as it is" : " · \(NumberFormat.count(answer.failures.count)) fail and stay as they are"
    }
    lines.append([Span(counts, theme.style(.title))])
    let numbers = answer.numbers.map { (name: $0.key.shortText, values: $0.value) }.sorted { $0.name < $1.name }
    for (name, values) in numbers.prefix(shown) {
      guard let least = values.least, let greatest = values.greatest else { continue }
      let text = "new values of \(name) from \(NumberFormat.exact(least)) to \(NumberFormat.exact(greatest))"
      lines.append([Span(text, theme.style(.dim))])
    }
    if case .delete = answer.request.change {
      for edit in answer.edits.prefix(shown) { lines.append([Span("- \(edit.identifier)", theme.style(.deleted))]) }
    }
    for sample in answer.samples {
      lines.append([
        Span("~ \(sample.identifier) \(sample.path.shortText)  ", theme.style(.key)),
        Span("- \(sample.old?.text ?? "(none)")  ", theme.style(.deleted)),
        Span("+ \(sample.new?.text ?? "(none)")", theme.style(.inserted)),
      ])
    }
    return lines
  }
}

extension Browser {
  /// - Parameter block: The rows of a pasted block, stored and new ones; nil for the marked records, the range, or all rows.
  mutating func bulk(_ change: BulkRequest.Change, in block: (which: GatherRequest.Which, new: [StoredKey])? = nil) {
    let text: String? = if case .set(let text) = change { text } else { nil }
    if block == nil, table.isAboutAll, waitsForRows(text == nil ? "delete" : .set, text) { return }
    guard let source = table.source, table.opened != nil else { return }
    if case .set(let text) = change, let paths = try? WorkContext.assignment(text).paths,
      let unknown = table.unknownName(in: paths, session)
    {
      session.warn("\(unknown); a text is written in quotes")
    }
    // A condition is about all records of the datastore.
    let hasCondition = text.flatMap { WorkContext.parts(ofSetting: $0).condition } != nil
    let new = hasCondition ? table.insertions(session).map(\.identifier) : table.newInEverything(session)
    present(
      BulkOverlay(
        request: BulkRequest(
          source: source, commit: table.commit(session), which: block?.which ?? table.everything, change: change,
          new: block?.new ?? new,
          staged: session.staged.edits.filter { $0.key.datastore == source.datastore })))
  }
}
