import StrataModel
import StrataTerminal

/// Pane 1: datastores, the indexes of the open one, named views, staged changes, letters in the inbox, pins.
struct StoresPane: ListPane, PermanentPane, Equatable {
  static let entry = PaneEntry(
    id: .stores, digit: 1, name: "Stores", work: [NewestRequest.slot, SmallHistogram.slot],
    footer: [.down, .open, .nextPane, .history, .storeHistory, .palette, .help, .close]
  ) { StoresPane() }

  var list = ListWindow()
  /// The newest commits, if there is room below the rest.
  private var newest = Reading<NewestRequest>()
  private var room = 0
  private(set) var histogram = SmallHistogram()

  enum Line: Sendable, Hashable {
    /// With what may stand at its right end, the longest first.
    case heading(String, trailing: [String])
    case blank
    case datastore(String)
    case index(String?)
    case leftOut(Int)
    case view(NamedView)
    case staged(RecordPlace)
    case letter(LetterNotice)
    case pin(Pin)
    case commit(CommitDetails)
    /// A row of the small histogram; the first stands for the whole.
    case picture(Int)

    var isSelectable: Bool {
      switch self {
      case .heading, .blank, .picture: false
      default: true
      }
    }
  }

  func lines(_ session: Session) -> [Line] { lines(session, below: standingLines(session)) }

  private func lines(_ session: Session, below standing: [Line]) -> [Line] {
    var lines = standing
    if hasPicture(lines, session), let histogram = histogram.current(session) {
      let name = session.selections.source?.index ?? "identifiers"
      lines += [.blank, .heading(name.uppercased(), trailing: [NumberFormat.count(histogram.count)])]
      lines += (0..<SmallHistogram.rows).map { .picture($0) }
    }
    guard let newest = newest.reply, hasRoomForCommits(below: lines, session) else { return lines }
    let commits = newest.prefix(room - lines.count - 2)
    return commits.isEmpty
      ? lines : lines + [.blank, .heading("COMMITS", trailing: historySize(session))] + commits.map { .commit($0) }
  }

  /// The first of the texts that fits into a row behind another text. Returns an empty text if none does.
  static func longest(of texts: [String], beside text: String, columns: Int) -> String {
    texts.first { SafeText.width(text) + 1 + SafeText.width($0) <= columns } ?? ""
  }

  /// The size of the history, if it takes a megabyte or more.
  private func historySize(_ session: Session) -> [String] {
    guard let history = session.outline?.history, history.bytes >= 1_000_000 else { return ["newest"] }
    let each = "\(NumberFormat.bytes(history.bytesEach)) each"
    return ["\(NumberFormat.bytes(history.bytes)), \(each)", each]
  }

  private func standingLines(_ session: Session) -> [Line] {
    guard let outline = session.outline else { return [] }
    var lines: [Line] = [.heading("STORES", trailing: ["records"])]
    lines += (outline.datastores.map(\.key) + outline.unreadable.keys).sorted().map { .datastore($0) }
    if let current = session.current {
      let values = current.compressedText.map { ["values \($0)"] } ?? []
      lines += [.blank, .heading("INDEXES of \(current.key)", trailing: values), .index(nil)]
      lines += current.indexes.map { .index($0.descriptor.name) }
      if current.leftOutCount > 0 { lines.append(.leftOut(current.leftOutCount)) }
      let views = session.remembered.views(of: current.key)
      if !views.isEmpty { lines += [.blank, .heading("VIEWS", trailing: [])] + views.map { .view($0) } }
    }
    if !session.staged.isEmpty {
      lines += [.blank, .heading("STAGED", trailing: ["w review"])]
      lines += session.staged.first(50).map { .staged($0) }
    }
    let letters = session.status.letters
    if !letters.isEmpty { lines += [.blank, .heading("LETTERS", trailing: [])] + letters.map { .letter($0) } }
    if !outline.pins.isEmpty { lines += [.blank, .heading("PINS", trailing: [])] + outline.pins.map { .pin($0) } }
    return lines
  }

  /// If the histogram, or the history, is on the screen already, larger, it is not shown here, too.
  private func hasPicture(_ standing: [Line], _ session: Session) -> Bool {
    !session.selections.panes.contains(.index) && room >= standing.count + SmallHistogram.rows + 2
  }

  private func hasRoomForCommits(below lines: [Line], _ session: Session) -> Bool {
    !session.selections.panes.contains(.history) && room >= lines.count + 5
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    newest.take(reply)
    histogram.answered(reply)
  }

  /// The commits and the histogram are only an addition; if they fail, they are left out.
  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {}

  /// Selects the open datastore or index.
  mutating func reveal(_ session: Session) {
    let lines = lines(session)
    let wanted: Line? = session.selections.source?.index.map { .index($0) } ?? session.datastore.map { .datastore($0) }
    if let wanted, let line = lines.firstIndex(of: wanted) { list.selection = line }
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    let lines = lines(session)
    guard lines.indices.contains(list.selection) else { return false }
    switch (command, lines[list.selection]) {
    case (.open, let line), (.right, let line): open(line, in: &session)
    case (.leaveOut, .staged(let place)):
      session.intend(.stage(.leavingOut(place, of: session.staged)))
    case (.history, .datastore(let key)): session.intend(.showHistory(.datastore(key)))
    case (.verify, .index(let index)):
      if index != session.selections.source?.index { session.intend(.order(by: index)) }
      session.intend(Intent { $0.verify() })
    case (.verify, .datastore(let key)) where session.outline?.datastore(key) != nil:
      if key != session.datastore { session.intend(.openDatastore(key, index: nil)) }
      session.intend(Intent { $0.verify(isWhole: true) })
    default: return false
    }
    return true
  }

  func lineCount(_ session: Session) -> Int { lines(session).count }

  mutating func move(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    let lines = lines(session)
    let before = list.selection
    guard list.move(command, argument: argument, rows: frame.rows, count: lines.count) else { return false }
    skipHeadings(lines, from: before)
    return true
  }

  private func open(_ line: Line, in session: inout Session) {
    switch line {
    case .datastore(let key):
      if let problem = session.outline?.unreadable[key] { return session.complain(problem) }
      session.intend(.openDatastore(key, index: nil))
    case .index(let index): session.intend(.order(by: index))
    case .view(let view): session.intend(Intent { $0.show(view) })
    case .staged(let place): session.intend(.select(place))
    case .leftOut:
      session.intend(.open(.migration))
      return
    case .letter(let letter):
      session.intend(.present(ReviewOverlay(subject: .letter(letter))))
      return
    case .pin(let pin): session.intend(.travel(pin.commit))
    case .commit(let commit): session.intend(.travel(commit.number))
    case .heading, .blank, .picture: return
    }
    session.intend(.focus(.table))
  }

  /// Skips headings and blank lines in the direction of the move.
  private mutating func skipHeadings(_ lines: [Line], from before: Int) {
    let selectable = lines.indices.filter { lines[$0].isSelectable }
    let (above, below) = (selectable.last { $0 <= list.selection }, selectable.first { $0 >= list.selection })
    list.selection = (list.selection < before ? above ?? below : below ?? above) ?? list.selection
  }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    room = frame.rows
    let standing = standingLines(session)
    if session.outline != nil, hasRoomForCommits(below: standing, session) {
      newest.ask(NewestRequest(head: session.head), as: NewestRequest.slot, in: &session)
    }
    if hasPicture(standing, session) { histogram.demand(columns: frame.columns, in: &session) }
    let lines = lines(session, below: standing)
    if !lines.isEmpty { skipHeadings(lines, from: list.selection - 1) }
    list.reveal(rows: frame.rows, count: lines.count)
    if list.selection < frame.rows { list.top = 0 }
  }

  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session) {
    let lines = lines(session)
    let line = list.top + point.row
    guard lines.indices.contains(line), lines[line].isSelectable else { return }
    list.selection = line
    open(lines[line], in: &session)
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let note = session.outline == nil ? "reading…" : nil
    guard
      grid.begin(
        frame, digit: 1, title: "Stores", footer: "", problem: session.outlineProblem, note: note, theme: session.theme)
    else { return }
    let lines = lines(session)
    drawLines(on: &grid, frame: frame, session: session, hasSign: false) { grid, line, rect in
      draw(lines[line], in: rect, on: &grid, session: session)
    }
  }

  private func draw(_ line: Line, in rect: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    /// A name is cut in its middle, because names differ at their ends; a sentence at its end.
    func write(_ sign: String, name: String = "", text: String = "", _ trailing: String, role: Role = .text) {
      let room = max(0, rect.columns - 2 - SafeText.width(trailing))
      grid.write(sign, at: rect.origin, width: 1, style: theme.style(role))
      grid.write(SafeText.cutInTheMiddle(name, to: room) + text, at: rect.at(1), width: room, style: theme.style(role))
      grid.write(trailing, at: rect.at(1), width: rect.columns - 1, style: theme.style(.dim), alignment: .trailing)
    }
    switch line {
    case .blank: break
    case .picture(let row):
      guard row == 0 else { break }
      histogram.draw(
        in: Rect(column: rect.left, row: rect.top, columns: rect.columns, rows: SmallHistogram.rows), on: &grid,
        session: session)
    case .heading(let text, let trailing):
      grid.write(text, at: rect.origin, width: rect.columns, style: theme.style(.header))
      grid.write(
        Self.longest(of: trailing, beside: text, columns: rect.columns), at: rect.origin, width: rect.columns,
        style: theme.style(.dim), alignment: .trailing)
    case .datastore(let key) where session.outline?.unreadable[key] != nil:
      write(theme.warningSign, name: key, "damaged", role: .warning)
    case .datastore(let key):
      let count = session.outline?.datastore(key).map { NumberFormat.count($0.count) } ?? ""
      let isOpen = key == session.datastore
      write(isOpen ? theme.folded : " ", name: key, count, role: isOpen ? .title : .text)
    case .index(let name):
      let isChosen = name == session.selections.source?.index
      write(
        isChosen ? theme.chosen : " ", name: name ?? "id", Self.summary(of: name, in: session),
        role: isChosen ? .title : .text)
    case .leftOut(let count):
      write(theme.warningSign, text: "\(NumberFormat.counted(count, "record")) left out", "", role: .warning)
    case .view(let view):
      // A long filter leaves room for the name.
      let room = rect.columns - 3 - min(SafeText.width(view.name), rect.columns - 8)
      let isChosen = view.filter == session.selections.source?.filter
      write(isChosen ? theme.chosen : " ", name: view.name, SafeText.cut(view.filter, to: max(0, room)))
    case .staged(let place):
      guard let edit = session.staged.edits[place] else { break }
      let (sign, role) = Self.sign(of: edit.kind)
      let label = session.naming.label(of: edit, session.outline?.datastore(edit.datastore)?.descriptor)
      // The identifier, which tells the records apart, has room before the label and the datastore.
      let key = ValueText(key: place.identifier.value).text
      let most = min(rect.columns / 2, rect.columns - 3 - SafeText.width(key))
      let datastore = SafeText.cut(place.datastore, to: max(4, most))
      let isWide = SafeText.width(key) > rect.columns - 2 - SafeText.width(datastore)
      write(sign, name: isWide ? key : "", text: isWide ? "" : named(place.identifier, label), datastore, role: role)
    case .letter(let letter):
      let name = [letter.action, letter.program].first { !$0.isEmpty } ?? letter.name.description
      write(
        letter.reason == nil ? " " : theme.warningSign, text: name, letter.isRefused ? "refused" : "waits",
        role: letter.reason == nil ? .text : .warning)
    case .pin(let pin): write(theme.pinned, name: pin.name, pin.commit.description)
    case .commit(let commit):
      let action = commit.action.isEmpty ? commit.program : commit.action
      write(
        commit.number == session.shown ? theme.chosen : " ", text: "\(commit.number) \(action)",
        session.time.short(commit.date, now: session.now, isNarrow: true))
    }
  }

  static func sign(of kind: ChangeKind) -> (String, Role) {
    switch kind {
    case .insert: ("+", .inserted)
    case .update: ("~", .changed)
    case .delete: ("-", .deleted)
    }
  }

  /// `1:n 12 408`, `stale`, `primary`.
  private static func summary(of name: String?, in session: Session) -> String {
    guard let current = session.current else { return "" }
    guard let name, let index = current.index(name) else { return "primary" }
    if index.descriptor.isStale { return "stale" }
    let direct = index.descriptor.storage == .direct ? " direct" : ""
    return "\(index.descriptor.kind.short)\(direct) \(NumberFormat.count(index.count))"
  }
}

extension IndexKind {
  /// `1:n`.
  var short: String {
    switch self {
    case .primary: "primary"
    case .oneToOne: "1:1"
    case .oneToMany: "1:n"
    case .manyToOne: "n:1"
    case .manyToMany: "n:m"
    }
  }
}

extension StagedStep {
  static func leavingOut(_ place: RecordPlace, of staged: StagedChanges) -> StagedStep {
    guard let edit = staged.edits[place] else { return StagedStep(title: "", edits: []) }
    return StagedStep(
      title: "left \(place.identifier) out",
      edits: [RecordEdit(datastore: place.datastore, identifier: place.identifier, old: edit.old, new: edit.old)])
  }
}

/// The newest commits of the store.
struct NewestRequest: Question, Hashable {
  static let slot = WorkSlot(name: "newest", isSlow: true)
  var head: CommitNumber

  /// As many as fit into any sidebar.
  private static let limit = 40

  func reply(in context: WorkContext) throws(ModelError) -> [CommitDetails] {
    head.rawValue > 0 ? try context.store.commits(from: head, limit: Self.limit, folded: true) : []
  }
}
