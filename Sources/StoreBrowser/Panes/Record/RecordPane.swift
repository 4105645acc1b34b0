import StrataDocuments
import StrataModel
import StrataExpressions

/// Pane 3: one record as a tree, as JSON, or as bytes.
struct RecordPane: ListPane, PermanentPane, Equatable {
  static let entry = PaneEntry(
    id: .record, digit: 3, name: "Record", work: [.record, .blame, .life, .references],
    footer: [
      .down, .edit, .editExternally, .valueMenu, .form, .blame, .escape, .history, .copyValue, .nextRecord, .review,
      .help, .close,
    ], isAlwaysKept: true
  ) { RecordPane() }

  struct RequestedTargets: Sendable, Hashable {
    var arranged: Arranged
    var naming: Naming
    var joined: [Join]?
    var computed: [Assignment]?
  }

  struct Arranged: Sendable, Hashable {
    var request: RecordRequest?
    var staged: RecordEdit?
    var form: Form
  }

  enum Form: String, Sendable, Hashable {
    case tree, json = "JSON", hex

    var next: Self { self == .tree ? .json : self == .json ? .hex : .tree }
  }

  /// The requested record, which follows the selection of the table.
  private(set) var place: RecordPlace?
  /// The stored record, compared by its request, because a commit never changes.
  @Derived private(set) var answer: RecordAnswer?
  private var read: RecordRequest?
  private var pending: RecordRequest?
  var form = Form.tree
  var list = ListWindow()
  private var toggled: Set<DocumentPath> = []
  private(set) var tree = RecordTree()
  private(set) var text: [String] = []
  /// The document whose lines the tree shows: the stored one, or the staged one over it.
  @Derived private(set) var document: Document?
  /// The paths at which `document` differs from the stored document, with the stored value; nil for a new value.
  private(set) var differences: [DocumentPath: Document?] = [:]
  /// Whether another program has changed meanwhile what the staged edit changes.
  private(set) var isOvertaken = false
  /// The inputs from which `document` was made, so that it is not made or compared again with every key.
  private(set) var arranged: Arranged?
  var searchText: SearchText?
  private(set) var blaming = Reading<BlameRequest>()
  var showsBlame = false
  /// The commit from which blame is requested; nil stands for the shown commit.
  private var blameFrom: CommitNumber?
  /// The targets of the references in `document`.
  var targets: [DocumentPath: ReferenceTarget] = [:]
  /// The joined and computed fields of the record, beside `document`.
  @Derived var derived: [Document.Member] = []
  /// The inputs of the last request for the targets of references and the derived fields.
  var askedTargets: RequestedTargets?
  /// A command that waits for the record to be read.
  var waiting: Command?
  /// The path to select when the record arrives.
  private var wantedPath: DocumentPath?
  /// The record that has this path; nil if the path applies to whichever record arrives.
  private var wantedPlace: RecordPlace?

  /// Whether the shown record is the requested one, as of the shown commit.
  func isCurrent(_ session: Session) -> Bool {
    answer != nil && answer?.request == place.map { RecordRequest(place: $0, commit: session.shown) }
  }

  func absence(_ session: Session) -> String { "there is no such record at \(session.shown)" }

  var stored: RecordContent? { answer?.record?.stored }
  var blame: BlameAnswer? { blaming.reply }

  func short(_ command: Command) -> String? { command == .form ? form.next.rawValue : nil }

  var selectedLine: TreeLine? { form == .tree ? list.selected(of: tree.lines) : nil }

  /// Returns the record's label, or nil if it was not read or has no label.
  func label(_ session: Session) -> String? {
    guard let place, let document, answer?.request.place == place else { return nil }
    return session.naming.label(of: document, in: place.datastore)
  }

  /// Returns the target of a line's value, or nil if the value is not a reference or its target is not known yet.
  func target(of line: TreeLine) -> ReferenceTarget? { targets[line.valuePath] }

  /// Follows the table to another record; fold states and the selected path stay.
  mutating func follow(_ place: RecordPlace?) {
    guard place != self.place else { return }
    if wantedPlace == nil, let line = selectedLine { wantedPath = line.path }
    self.place = place
    blaming = Reading()
    blameFrom = nil
    (targets, derived) = ([:], [])
    askedTargets = nil
    if place == nil {
      waiting = nil
      (answer, read) = (nil, nil)
      pending = nil
      document = nil
      tree = RecordTree()
      text = []
    }
  }

  /// Takes the requested record if it was read with the rows of the table.
  mutating func showIfRequested(_ record: Record, in session: inout Session) {
    guard let place, place.identifier == record.identifier else { return }
    let request = RecordRequest(place: place, commit: session.shown)
    guard answer?.request != request else { return }
    session.cancel(.record)
    pending = request
    answered(RecordAnswer(request, record), in: &session)
  }

  /// Puts the selection on a field, now or when the record comes.
  ///
  /// - Parameter place: A record that the table is about to show.
  mutating func select(_ path: DocumentPath, of place: RecordPlace? = nil) {
    (wantedPath, wantedPlace) = (path, place)
    applyWantedPath()
  }

  mutating func askAgain(in session: inout Session) { (pending, askedTargets) = (answer?.request, nil) }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard let place else { return }
    let request = RecordRequest(place: place, commit: session.shown)
    if answer?.request != request, pending != request {
      pending = request
      session.start(.record, request)
    }
    if isCurrent(session) { arrange(session) }
    if frame != .hidden { list.reveal(rows: frame.rows, count: count) }
    guard isCurrent(session) else { return }
    demandTargets(place, in: &session)
    if showsBlame || frame.isFocused, answer?.record != nil { demandBlame(place, in: &session) }
  }

  private mutating func demandBlame(_ place: RecordPlace, in session: inout Session) {
    let request = BlameRequest(place: place, from: blameFrom ?? session.shown)
    // Of the two kinds of work only the one that was asked last may answer.
    if request != blaming.request { session.cancel(showsBlame ? .life : .blame) }
    blaming.ask(request, as: showsBlame ? .blame : .life, label: showsBlame ? "blame" : "", in: &session)
  }

  var count: Int {
    switch form {
    case .tree: tree.lines.count
    case .json: text.count
    case .hex: (((answer?.record?.content.count ?? 0) + 15) / 16)
    }
  }

  /// Makes the document as it will be: the stored one, with the staged edit over it if the head is shown.
  private mutating func arrange(_ session: Session) {
    let staged = session.asOf == nil ? place.flatMap { session.staged.edits[$0] } : nil
    let wanted = Arranged(request: answer?.request, staged: staged, form: form)
    guard arranged != wanted else { return }
    arranged = wanted
    // The cursor stays on its field.
    wantedPath = wantedPath ?? selectedLine?.path
    document = answer?.document
    var before = document
    isOvertaken = false
    if let staged, let descriptor = session.outline?.datastore(staged.datastore)?.descriptor {
      let merged = staged.over(stored, descriptor)
      isOvertaken = merged.isConflict
      if let content = merged.edit.new { document = try? descriptor.document(of: content) }
      // The record that was edited, if what is stored now cannot be read.
      if before == nil, let old = merged.edit.old, old != .damaged { before = try? descriptor.document(of: old) }
    }
    tree = RecordTree()
    text = []
    differences = [:]
    guard let document else { return }
    if staged != nil, let before {
      for change in Document.difference(before, document) where change.new != nil {
        differences[change.path] = .some(change.old)
      }
    }
    if form == .json {
      text = TextLines.split(document.prettyText)
    }
    rebuild()
    applyWantedPath()
  }

  mutating func rebuild() {
    guard let document else { return }
    tree = RecordTree(document, derived: derived, toggled: toggled)
  }

  mutating func applyWantedPath() {
    guard let wantedPath, wantedPlace == nil || wantedPlace == answer?.request.place else { return }
    wantedPlace = nil
    if let line = tree.lines.firstIndex(where: { $0.path == wantedPath }) {
      list.selection = line
      self.wantedPath = nil
    } else if let line = tree.lines.lastIndex(where: { $0.path.contains(wantedPath) }) {
      list.selection = line
    }
  }

  /// Returns the value at a path before the staged edit: nil if nothing is staged there, a nil inside if the value is new.
  func before(_ path: DocumentPath) -> Document?? {
    if let exact = differences[path] { return exact }
    // A part of a new value is new. A value with a changed part has changed.
    if differences.contains(where: { $0.key.contains(path) }) { return .some(nil) }
    return differences.keys.contains { path.contains($0) } ? .some(answer?.document?[path]) : nil
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let answer as RecordAnswer where answer.request == pending:
      pending = nil
      let isSame = self.answer?.request.place == answer.request.place
      self.answer = answer
      read = answer.request
      // The record that a jump led to no longer exists.
      if wantedPlace != answer.request.place { wantedPlace = nil }
      arranged = nil
      if !isSame { list.top = 0 }
      arrange(session)
      list.selection = max(0, min(list.selection, count - 1))
      if let waiting {
        self.waiting = nil
        session.intend(.run(waiting, argument: nil))
      }
    case let reply as ReferencesReply where reply.place == place && reply.commit == session.shown:
      targets = reply.targets
      showDerived(reply.derived)
    default: blaming.take(reply)
    }
  }

  // MARK: Commands

  func refusal(of command: Command, in session: Session) -> String? {
    guard place != nil else { return "no record is selected" }
    if let derivation = derivation(barring: command, in: session) { return derivation }
    switch command {
    case .searchNext, .searchPrevious:
      if searchText == nil { return "nothing was searched for yet (/)" }
    case .open, .edit, .valueMenu, .restoreField, .copyPath, .moveUp, .moveDown:
      if form != .tree { return "only in the tree (t)" }
    default: break
    }
    return nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    // The cursor is where the user moves it.
    if wantedPlace == nil { wantedPath = nil }
    switch command {
    case .left: fold(true)
    case .right: fold(false)
    case .open: open(in: &session)
    case .form: nextForm(session)
    case .blame: stepBlame(in: &session)
    case .copyValue: copyValue(in: &session)
    case .copyPath: session.copy(selectedLine?.path.description ?? ".", what: "path")
    case .copyKey: if let place { session.copy(place.identifier.description, what: "key") }
    case .search, .searchNext, .searchPrevious: search(command, argument, in: &session)
    case .history:
      guard let place else { return false }
      if let line = selectedLine, !line.path.isRoot, !line.isDerived {
        session.intend(.showHistory(.field(place, path: line.path.description)))
      } else {
        session.intend(.showHistory(.record(place)))
      }
    default: return false
    }
    return true
  }

  private mutating func fold(_ folds: Bool) {
    guard let line = selectedLine else { return }
    if line.isBranch, line.isFolded != folds {
      toggle(line.path)
    } else if folds, let parent = line.path.parent,
      let parentLine = tree.lines.firstIndex(where: { $0.path == parent })
    {
      list.selection = parentLine
    }
  }

  /// Unfolds the lines that hide a path, and selects it.
  mutating func reveal(_ path: DocumentPath) {
    while !tree.lines.contains(where: { $0.path == path }),
      let branch = tree.lines.last(where: { $0.isFolded && $0.path.contains(path) })
    {
      toggle(branch.path)
    }
    if let line = tree.lines.firstIndex(where: { $0.path == path }) { list.selection = line }
  }

  private mutating func toggle(_ path: DocumentPath) {
    if toggled.remove(path) == nil { toggled.insert(path) }
    rebuild()
  }

  private mutating func open(in session: inout Session) {
    guard let line = selectedLine else { return }
    if line.isBranch, target(of: line) == nil { return toggle(line.path) }
    guard let value = whole?[line.valuePath] else { return }
    let isShownWhole = if case .data = value { true } else { line.value.isCut }
    if isShownWhole {
      session.intend(.present(TextOverlay(title: line.path.description, value: value)))
    } else {
      let descriptor = session.outline?.datastore(place?.datastore)?.descriptor
      // The target may still be looked up.
      let declared = descriptor.flatMap { session.naming.fields(of: $0).target(of: line.valuePath) }
      let datastore = target(of: line)?.datastore ?? (value == .null ? nil : declared)
      let field = line.path.components.lastMember ?? ""
      session.intend(Intent { $0.follow(value, field: field, to: datastore) })
    }
  }

  private mutating func nextForm(_ session: Session) {
    form = form.next
    list = ListWindow()
    if isCurrent(session) { arrange(session) }
  }

  /// Steps through blame: off → on at the shown commit → on at the record as it was before the commit of the selected field.
  private mutating func stepBlame(in session: inout Session) {
    guard showsBlame else {
      showsBlame = true
      blameFrom = nil
      // It was cancelled before.
      if blame == nil, !session.isRunning(.life) { blaming = Reading() }
      return
    }
    guard let blame, let line = selectedLine, let commit = blame.commits[line.path.description]?.number,
      let before = blame.lives.values.joined().map(\.commit).filter({ $0 < commit }).max()
    else {
      showsBlame = false
      blaming = Reading()
      return
    }
    blameFrom = before
    session.say("blame before \(commit)")
  }

  private func copyValue(in session: inout Session) {
    guard let line = selectedLine, let value = whole?[line.valuePath] else {
      if let document { session.copy(document.compactJSON, what: "record") }
      return
    }
    session.copy(value)
  }

  func lineCount(_ session: Session) -> Int { count }

  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) { if slot == .blame { showsBlame = false } }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    session.complain(error)
    guard slot == .record, let request = pending else { return }
    // When the server is back, it is asked again.
    if case .storage(_, kind: .unreachable) = error { return waiting = nil }
    answered(RecordAnswer(request: request, problem: error.description), in: &session)
  }
}

extension [DocumentPath.Component] {
  /// The last member in the path: `authors` for `.authors[0]`.
  var lastMember: String? {
    for component in reversed() { if case .member(let name) = component { return name } }
    return nil
  }
}
