import StrataModel
import StrataDocuments
import StrataTerminal

/// The commits in which a text came or went.
struct PickaxePane: ListPane, PermanentPane, ReplyPane {
  static let entry = PaneEntry(
    id: .pickaxe, name: "Pickaxe", work: [question], footer: [.down, .open, .travel, .history, .help, .close]
  ) { PickaxePane() }

  static let question = WorkSlot(name: "pickaxe", isLong: true)

  var reading = Reading<PickaxeRequest>()
  private(set) var hits: [PickaxeHit] = []
  var list = ListWindow()

  static let limit = 10_000

  mutating func show(_ request: PickaxeRequest, in session: inout Session) {
    self = PickaxePane()
    reading.ask(request, as: Self.question, label: "search “\(request.text)” in the history", in: &session)
  }

  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {
    reading.done = progress.done
    if case .hits(let found) = progress.found { hits += found }
    guard hits.count >= Self.limit else { return }
    session.cancel(Self.question)
    reading.isStopped = true
  }

  mutating func askAgain(in session: inout Session) {
    if reading.problem != nil, let request { show(request, in: &session) }
  }

  /// The hits that were found stay.
  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) { reading.isStopped = true }
  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    reading.problem = error.description
    if !hits.isEmpty { session.complain(error) }
  }

  func lineCount(_ session: Session) -> Int { hits.count }
  var rowColumns: [String] { ["commit", "action", "datastore", "identifier", "field", "old", "new"] }

  func row(_ line: Int) -> [Document] {
    let hit = hits[line]
    return [
      .number(NumberText(hit.commit.number.rawValue)), .string(hit.commit.action), .string(hit.place.datastore),
      hit.place.identifier.value.document, .string(hit.field.path),
      hit.field.old.map { .string($0.text) } ?? .null, hit.field.new.map { .string($0.text) } ?? .null,
    ]
  }

  private var selected: PickaxeHit? { list.selected(of: hits) }

  func refusal(of command: Command, in session: Session) -> String? {
    [.open, .travel, .history].contains(command) && selected == nil ? "no hit is selected" : nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard let selected else { return false }
    switch command {
    case .open: session.intend(.showDifference(selected.commit.parents.first, selected.commit.number))
    case .history: session.intend(.showHistory(.field(selected.place, path: selected.field.path)))
    case .travel where argument == nil: session.intend(.travel(selected.commit.number))
    case .copyKey: session.copy(selected.place.identifier.description, what: "key")
    case .copyValue:
      let commit = selected.field.new == nil ? selected.commit.parents.first : selected.commit.number
      if let commit { session.copy(selected.field.path, of: selected.place, at: commit) }
    default: return false
    }
    return true
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let (state, empty) =
      if reading.problem != nil {
        (", then failed", "")
      } else if reading.isStopped {
        (", stopped", "stopped before a value was found")
      } else if reply != nil {
        ("", "no value with this text came or went")
      } else {
        (" so far", "searching…")
      }
    let read = NumberFormat.count(reply ?? reading.done)
    guard
      grid.begin(
        frame, title: "History with “\(request?.text ?? "")”",
        footer: "\(NumberFormat.counted(hits.count, "hit")) in \(read) commits\(state)",
        problem: hits.isEmpty ? reading.problem : nil, note: hits.isEmpty ? empty : nil, theme: theme)
    else { return }
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      let hit = hits[line]
      var spans = [
        Span("  \(hit.commit.number) ", theme.style(.key)),
        Span("\(session.time.day(hit.commit.date))  ", theme.style(.dim)),
        Span("\(hit.place.datastore)/\(named(hit.place.identifier, hit.label))  "),
      ]
      spans += FieldText.spans(hit.field, theme: theme)
      spans.append(Span("  \(hit.commit.action)", theme.style(.dim)))
      grid.write(spans, at: rect.origin, width: rect.columns)
    }
  }
}

extension Browser {
  mutating func openPickaxe(_ text: String) {
    let request = PickaxeRequest(
      text: text, datastore: session.datastore, newest: session.shown, naming: session.naming)
    open(PickaxePane.self) { $0.show(request, in: &$1) }
  }
}
