package import DatastoreModel
package import TerminalKit

/// The browser: state, messages in, effects and pictures out. It reads no store, starts no thread and paints nothing.
///
///     var browser = Browser(configuration: BrowserConfiguration(), store: store)
///     for effect in browser.start(size: Size(columns: 80, rows: 24)) { runtime.run(effect) }
///     for effect in browser.receive(.event(.key(KeyChord("j")))) { runtime.run(effect) }
///     painter.paint(browser.draw(size: size))
package struct Browser: Sendable {
  var session: Session
  var keymap: Keymap

  var stores = StoresPane()
  var table = TablePane()
  var record = RecordPane()
  var history = HistoryPane()
  var difference = DifferencePane()
  var index = IndexPane()
  var migration = MigrationPane()
  var frequency = FrequencyPane()
  var pickaxe = PickaxePane()

  /// Views on each other with the pane that had the keys; the lowest is the main one.
  var views: [OpenView] = [OpenView(kind: .main, focus: .table)]
  var overlays: [Overlay] = []
  var mode = ScreenMode.normal

  /// Keys that may become a sequence.
  var pendingKeys: [KeyChord] = []
  /// A command that waits for the letter of a bookmark.
  var awaitsLetter: Command?
  var places = PlaceHistory()
  var macro = Macro()
  var copied = Copied()
  /// What was shown before the filter that is being typed.
  var preview: FilterPreview?
  /// What an editor was opened on.
  var editing: ExternalEdit?
  /// What came back from the editor and is being looked at.
  var external: ExternalEdit?
  var isStarted = false
  /// The difference that was asked for by W; otherwise the selected commit's is shown.
  var askedDifference: DifferenceSource?

  struct OpenView: Sendable, Hashable {
    var kind: ViewKind
    var focus: PaneID
  }

  /// Takes what is known of the store without reading: it may be called before anything is on the screen.
  package init(configuration: BrowserConfiguration, store: any ReadableStore) {
    session = Session(
      configuration: configuration,
      facts: StoreFacts(
        path: store.path, access: store.access, openingReport: store.openingReport, writer: store.writer,
        activity: store.activity), head: store.head.commit)
    keymap = configuration.keymap
    migration.hear(store.activity, at: session.now)
  }

  /// The first effects: what fills the screen, and what was kept from the last time.
  package mutating func start(size: Size) -> [Effect] {
    session.size = size
    session.start(.outline, .outline(session.shown))
    session.start(.settings, .loadRemembered)
    session.start(.staging, .loadStaged)
    if let problem = session.configuration.problems.first { session.warn(problem.description) }
    if let report = session.facts.openingReport.first { session.warn(report) }
    if session.configuration.warmsUpAtStart, session.configuration.canWarmUp {
      views.append(OpenView(kind: .migration, focus: .migration))
      migration.start(in: &session)
    }
    settle()
    return session.takeEffects()
  }

  /// One message, and everything that follows from it.
  package mutating func receive(_ message: Message) -> [Effect] {
    session.now = session.configuration.clock()
    switch message {
    case .event(let event): receive(event)
    case .command(let command, let argument): run(command, argument: argument)
    case .work(let id, let report): receive(report, of: id)
    case .storeStirred: look()
    case .editorClosed(let outcome): editorClosed(outcome)
    }
    settle()
    return session.takeEffects()
  }

  /// Looks for other processes' commits. While one of this browser's own is being written that waits for its answer, so
  /// that it is not taken for another's.
  mutating func look() {
    guard !session.isRunning(.commit) else { return }
    session.start(.refresh, .refresh(since: session.head, shown: session.datastore))
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

  var layout: Layout { Layout(size: session.size, view: view.kind, focus: focus, mode: mode) }

  func frame(of pane: PaneID, in layout: Layout) -> PaneFrame {
    guard let rect = layout.rect(of: pane) else { return .hidden }
    return PaneFrame(rect: rect, isFocused: pane == focus && overlays.isEmpty)
  }

  var focusedFrame: PaneFrame { frame(of: focus, in: layout) }

  /// A pane by its name, for reading.
  func pane(_ id: PaneID) -> any Pane {
    switch id {
    case .stores: stores
    case .table: table
    case .record: record
    case .history: history
    case .index: index
    case .migration: migration
    case .difference: difference
    case .frequency: frequency
    case .pickaxe: pickaxe
    }
  }

  /// Does something with a pane and the session.
  mutating func with<Result>(_ id: PaneID, _ body: (inout any Pane, inout Session) -> Result) -> Result {
    func run<P: Pane>(_ pane: inout P, _ session: inout Session) -> Result {
      var any: any Pane = pane
      let result = body(&any, &session)
      if let changed = any as? P { pane = changed }
      return result
    }
    switch id {
    case .stores: return run(&stores, &session)
    case .table: return run(&table, &session)
    case .record: return run(&record, &session)
    case .history: return run(&history, &session)
    case .index: return run(&index, &session)
    case .migration: return run(&migration, &session)
    case .difference: return run(&difference, &session)
    case .frequency: return run(&frequency, &session)
    case .pickaxe: return run(&pickaxe, &session)
    }
  }

  // MARK: After every message

  /// Does what panes asked of each other, and lets everything on the screen ask for what it lacks.
  mutating func settle() {
    for _ in 0..<8 {
      var hadIntent = false
      while let intent = session.takeIntent() {
        hadIntent = true
        fulfil(intent)
      }
      synchronize()
      demand()
      if !hadIntent { return }
    }
  }

  /// Keeps panes that follow others on what those show.
  private mutating func synchronize() {
    stores.index = table.source?.index
    stores.filter = table.source?.filter
    record.follow(table.selectedPlace(session) ?? keptPlace)
    index.show(table.source?.datastore, index: table.source?.index, range: table.source?.range)
    if let askedDifference {
      difference.show(askedDifference, scope: .store)
    } else if let commit = history.selected?.commit.number {
      difference.show(.commit(commit), scope: history.scope)
    }
  }

  /// While rows are being read the record pane stays on its record instead of flickering.
  private var keptPlace: RecordPlace? {
    guard let place = record.place, place.datastore == table.source?.datastore, table.count(session) > 0 else {
      return nil
    }
    return place
  }

  private mutating func demand() {
    let layout = layout
    for id in PaneID.allCases where id == .table || id == .record || layout.rect(of: id) != nil {
      let frame = frame(of: id, in: layout)
      if id == .table, frame == .hidden, session.outline == nil { continue }
      with(id) { pane, session in pane.demand(frame: frame, in: &session) }
    }
    for place in overlays.indices {
      switch overlays[place] {
      case .review(var review):
        review.demand(in: &session)
        overlays[place] = .review(review)
      case .bulk(var bulk):
        bulk.demand(in: &session)
        overlays[place] = .bulk(bulk)
      case .compact(var compact):
        compact.demand(in: &session)
        overlays[place] = .compact(compact)
      default: break
      }
    }
  }
}
