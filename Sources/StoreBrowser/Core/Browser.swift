import StrataModel
import StrataDocuments
package import StrataTerminal

/// The browser: state, messages in, effects and pictures out. It reads no store, starts no thread and paints nothing.
///
///     var browser = Browser(configuration: BrowserConfiguration(), store: store)
///     for effect in browser.start(size: Size(columns: 80, rows: 24)) { runtime.run(effect) }
///     for effect in browser.update(with: .event(.key(KeyChord("j")))) { runtime.run(effect) }
///     painter.paint(browser.draw(size: size))
package struct Browser: Sendable {
  var session: Session
  var keymap: Keymap

  var panes: PaneSet
  /// The state of the panes at the last picture.
  var drawings = PaneDrawings()
  /// Stacked views, each with its focused pane; the lowest is the main one.
  var views: [OpenView] = [OpenView(kind: .main, focus: .table)]
  /// The overlays, which have the keys; the topmost is last.
  var overlays: [any Pane] = []

  /// Keys that may become a sequence.
  var pendingKeys: [KeyChord] = []
  /// A command that waits for the letter of a bookmark.
  var awaitsLetter: Command?
  var jumps = JumpList()
  var viewChanges = ViewChanges()
  /// The tour, while it is taken.
  var tour: Tour?
  var macro = Macro()
  /// Events that wait for their screen. The keys of a macro come before those that were typed.
  var typeAhead: ArraySlice<TypedAhead> = []
  /// The rows shown before the filter that is being typed.
  var preview: FilterPreview?
  /// The subject of the external editor.
  var editing: ExternalEdit?
  /// The text from the editor that is being reviewed.
  var external: ExternalEdit?
  /// The text that was left in the editor with its mistake; the editor opens on it when its subject is edited again.
  var refused: ExternalEdit?
  var isStarted = false
  var clockIsOn = false
  /// Whether the store has changed since the look at it that goes on began.
  var looksAgain = false
  /// The commits of this browser that the next look must not take for another program's.
  var ownMove: HeadMove?
  /// The work for which a first ^c asked whether to cancel it.
  var cancelIsAsked: WorkID?

  struct OpenView: Sendable, Hashable {
    var kind: ViewKind
    var focus: PaneID
  }

  /// Takes the facts about the store that need no reading, unless its status is to be read too: nil.
  init(
    configuration: BrowserConfiguration, store: any ReadableStore, status: StoreStatus? = nil, parts: Parts? = nil
  ) {
    session = Session(configuration: configuration, store: store, status: status ?? StoreStatus(of: store))
    let parts = parts ?? Parts(configuration)
    (keymap, panes) = (parts.keymap, parts.panes)
    session.hear(session.status.activity)
  }

  /// The parts that need no store, so that they are made while it is opened.
  struct Parts {
    let keymap: Keymap
    let panes = PaneSet()

    init(_ configuration: BrowserConfiguration) { keymap = configuration.keymap }
  }

  /// Returns the first effects: they fill the screen, and read the changes kept last time.
  package mutating func start(size: Size) -> [Effect] {
    session.size = size
    session.readOutline()
    session.start(.remembered, Inquiry { $0.files.loadRemembered() }) { $0.haveRead($1) }
    if let problem = session.configuration.problems.first { session.warn(problem.description) }
    if session.configuration.problems.isEmpty, let hidden = keymap.hidden.first {
      let more = keymap.hidden.count - 1
      session.warn(hidden + (more > 0 ? "; and \(more) more" : ""))
    }
    if let report = session.openingReport.first { session.warn(report) }
    if let file = session.configuration.documentFile, session.configuration.greeting == nil { tell(of: file) }
    if let greeting = session.configuration.greeting, session.notice == nil { session.say(greeting) }
    if session.configuration.warmsUpAtStart, session.configuration.canWarmUp {
      if session.configuration.startsAtMigration {
        views.append(OpenView(kind: .migration, focus: .migration))
      }
      with(MigrationPane.self) { $0.start(in: &$1) }
    }
    performIntents()
    setClock(atTick: false)
    return session.drainEffects()
  }

  /// Handles one message with all its consequences.
  package mutating func update(with message: Message) -> [Effect] {
    session.now = session.configuration.clock()
    switch message {
    case .event(let event): hear(event)
    case .command(let command, let argument): run(command, argument: argument)
    case .work(let id, let report): hear(report, of: id)
    // If each change restarted the look, it would not end while another program writes.
    case .storeStirred: if session.isRunning(.refresh) { looksAgain = true } else { look() }
    case .tick(let figures):
      if let figures { session.updateRuns(figures) }
      if session.isWorkElsewhereSilent, !session.isRunning(.refresh) { look() }
    case .editorClosed(let outcome): editorClosed(outcome)
    }
    performIntents()
    if tour?.isDone(self) == true { tour?.goOn() }
    handOnTypeAhead()
    let isTick = if case .tick = message { true } else { false }
    setClock(atTick: isTick)
    return session.drainEffects()
  }

  /// While something runs a clock ticks, which distinguishes stalled work from slow work. A tick that finds nothing running stops it, so
  /// that not each key starts and stops a clock.
  private mutating func setClock(atTick: Bool) {
    guard session.needsClock != clockIsOn, !clockIsOn || atTick else { return }
    clockIsOn.toggle()
    session.emit(.clock(isOn: clockIsOn))
  }

  /// Looks for other processes' commits, but not while this browser writes, so that its commit is not taken for another's.
  mutating func look() {
    looksAgain = session.isCommitting || session.isRunning(.transfer)
    guard !looksAgain else { return }
    let request = RefreshRequest(
      known: session.head, details: session.outline?.commit, own: ownMove, shown: session.datastore)
    session.start(.refresh, request) { $0.follow($1, changedIn: request.shown) }
  }

  // MARK: Layout

  var view: OpenView {
    get { views.last ?? OpenView(kind: .main, focus: .table) }
    set { if views.isEmpty { views = [newValue] } else { views[views.count - 1] = newValue } }
  }

  var focus: PaneID {
    get { view.focus }
    set { view.focus = newValue }
  }

  /// The share of the screen that the focused pane takes, as it was last set in a layout like this.
  var mode: ScreenMode {
    get { session.remembered.sizes?[sizeName].flatMap(ScreenMode.init(rawValue:)) ?? .normal }
    set {
      guard newValue != mode else { return }
      var sizes = session.remembered.sizes ?? [:]
      sizes[sizeName] = newValue == .normal ? nil : newValue.rawValue
      session.remember { $0.sizes = sizes }
    }
  }

  private var sizeName: String {
    let width = session.size.columns
    return "\(width < 60 ? "one" : width < 100 ? "narrow" : width < 140 ? "wide" : "everything")/\(focus.rawValue)"
  }

  var layout: Layout { layout(of: session.size) }

  func layout(of size: Size) -> Layout {
    let isWithoutDifference = panes[.difference]?.leavesRoom == true
    return Layout(size: size, view: view.kind, focus: focus, mode: mode, isWithoutDifference: isWithoutDifference)
  }

  func frame(of pane: PaneID, in layout: Layout) -> PaneFrame {
    if let overlay = overlays.last(where: { $0.id == pane }) {
      return frame(of: pane, overlay.rect(in: body, session: session), isFocused: overlays.last?.id == pane)
    }
    guard let rect = layout.rect(of: pane) else { return .hidden }
    return frame(of: pane, rect, isFocused: pane == focus && overlays.isEmpty)
  }

  func frame(of pane: PaneID, _ rect: Rect, isFocused: Bool) -> PaneFrame {
    let leavesOut =
      !session.gaps.isEmpty && PaneTable.entry(pane).work.contains { session.gaps[$0] != nil }
      && (pane != .table || table.source?.needsScan == true)
    return PaneFrame(rect: rect, isFocused: isFocused, leavesOut: leavesOut)
  }

  /// Returns a pane by its name, for reading: an overlay, or one of the panes.
  func pane(_ id: PaneID) -> (any Pane)? { overlays.last { $0.id == id } ?? panes[id] }

  /// Runs a closure with a pane and the session. Returns nil if no pane and no overlay has this name now.
  @discardableResult
  mutating func with<Result>(_ id: PaneID, _ body: (inout any Pane, inout Session) -> Result) -> Result? {
    if let top = overlays.lastIndex(where: { $0.id == id }) { return body(&overlays[top], &session) }
    guard var pane = panes.remove(id) else { return nil }
    defer { panes.put(pane) }
    return body(&pane, &session)
  }

  /// Runs a closure with the pane of a type and the session.
  mutating func with<P: PermanentPane, Result>(_ type: P.Type, _ body: (inout P, inout Session) -> Result) -> Result {
    body(&panes[type], &session)
  }

  // MARK: After every message

  /// Handles the requests of panes to each other, and lets everything on the screen request missing data.
  mutating func performIntents() {
    // A waiting command must not take the keys of an overlay that was opened meanwhile.
    if overlays.isEmpty { for pane in layout.panes { with(pane.pane) { $0.goOn(in: &$1) } } }
    // A file is written whatever is on the screen.
    if table.waiting?.command == .export { with(TablePane.self) { $0.goOn(in: &$1) } }
    for _ in 0..<8 {
      var hadIntent = false
      while let intent = session.removeNextIntent() {
        hadIntent = true
        intent.fulfil(&self)
      }
      synchronize()
      recordView()
      demand()
      // The table may have put its cursor on a row that it did not have before.
      if !hadIntent, session.selections.record == table.selectedPlace(session) { return }
    }
  }

  /// Updates the panes that follow others.
  private mutating func synchronize() {
    session.selections.panes = Set(layout.panes.map(\.pane))
    if session.selections.panes.contains(.migration) {
      for run in session.runs.indices where !session.runs[run].isRunning { session.runs[run].isSeen = true }
    }
    let table = table
    session.selections.source = table.source
    session.selections.record = table.selectedPlace(session)
    session.selections.rank = table.selectedRank
    session.selections.path =
      focus == .record ? record.selectedLine?.path.description : table.selectedPath(session) ?? session.selections.path
    let followed = session.selections.record ?? keptPlace
    let read = session.selections.record == nil ? nil : table.selectedRecord(session)
    if record.waiting != nil, followed != record.place {
      // Text typed for one record must not reach another.
      (record.waiting, typeAhead) = (nil, [])
      session.add("the record is not under the cursor any more, and what was typed for it is left out")
    }
    with(RecordPane.self) { record, session in
      record.follow(followed)
      if let read { record.showIfRequested(read, in: &session) }
      guard let place = record.place, let label = record.label(session) else { return }
      session.selections.named = NamedRecord(place: place, label: label)
    }
    session.selections.commit = history.selected?.commit.number
    session.selections.scope = history.scope
    session.selections.filterStatus = standingOfFilter
    session.selections.searchStatus = table.searchStanding(session)
  }

  /// While rows are being read, the record pane stays on its record instead of flickering.
  private var keptPlace: RecordPlace? {
    guard let place = record.place, place.datastore == table.source?.datastore, table.count(session) > 0 else {
      return nil
    }
    return place
  }

  private mutating func demand() {
    let layout = layout
    for entry in PaneTable.panes where isAsked(entry, in: layout) {
      let frame = frame(of: entry.id, in: layout)
      if entry.id == .table, frame == .hidden, session.outline == nil { continue }
      demand(entry.id, frame)
    }
    for overlay in overlays { demand(overlay.id, frame(of: overlay.id, in: layout)) }
  }

  /// Whether a pane requests its data. One that gave its room away finds out whether it needs it again.
  private func isAsked(_ entry: PaneEntry, in layout: Layout) -> Bool {
    entry.isAlwaysKept || layout.rect(of: entry.id) != nil
      || panes[entry.id]?.leavesRoom == true
        && PaneTable.panes.contains { $0.view.contains(entry.id) && layout.rect(of: $0.id) != nil }
  }

  private mutating func demand(_ id: PaneID, _ frame: PaneFrame) {
    with(id) { pane, session in
      pane.demand(frame: frame, in: &session)
      // A pane that is not on the screen keeps its place in its list.
      if frame != .hidden { pane.reveal(frame, session) }
    }
  }
}

// MARK: Panes that the rest of the browser speaks to by name

extension Browser {
  var table: TablePane {
    get { panes[TablePane.self] }
    _modify { yield &panes[TablePane.self] }
  }
  var record: RecordPane {
    get { panes[RecordPane.self] }
    _modify { yield &panes[RecordPane.self] }
  }
  var history: HistoryPane {
    get { panes[HistoryPane.self] }
    _modify { yield &panes[HistoryPane.self] }
  }
}
