import Documents
import DatastoreModel
import TerminalKit

/// What all panes share: the store, the moment that is shown, what is staged, what runs.
struct Session: Sendable {
  let configuration: BrowserConfiguration
  var size = Size(columns: 80, rows: 24)
  /// Nanoseconds since 1970, at the last message.
  var now: Int64

  var facts: StoreFacts
  /// The newest commit this browser has seen.
  var head: CommitNumber
  var shown: CommitNumber
  /// The commit travelled to; nil while the head is shown.
  var asOf: CommitNumber?
  /// What `shown` holds; nil until it was read.
  var outline: Outline?
  /// The datastore that table, record and index are about.
  var datastore: String?
  var isFollowing = true
  /// Since when the store's server cannot be reached; nil where it can, or there is none.
  var awaySince: Int64?
  /// Commits newer than the one shown, while following is off.
  var unseen = 0

  /// What the table and the history have selected, for the panes that follow them.
  var looking = Looking()

  var staged = StagedChanges() {
    didSet {
      stagedRevision += 1
      sortInsertions()
    }
  }
  /// How that stands with the file that keeps it.
  var keeping = Keeping()
  /// Grows with every change of what is staged.
  private(set) var stagedRevision = 0
  /// The records to be inserted, by datastore: the last rows of its table.
  private(set) var insertions: [String: [RecordEdit]] = [:]
  var remembered = Remembered()

  /// What was typed into a field's editor and left there by Esc.
  var drafts: [FieldPlace: String] = [:]

  var notice: Notice?
  var isMouseOn: Bool
  var latency: Latency?

  /// Work that was started and has not ended.
  var running: [WorkSlot: RunningWork] = [:]
  /// What is shown in the cockpit: it runs, or has ended with what came of it.
  var runs: [WorkRun] = []
  private(set) var effects: [Effect] = []
  private(set) var intents: [Intent] = []
  private var nextSerial = 1

  init(configuration: BrowserConfiguration, facts: StoreFacts, head: CommitNumber) {
    self.configuration = configuration
    self.facts = facts
    self.head = head
    shown = head
    now = configuration.clock()
    isMouseOn = configuration.settings.mouse
    isFollowing = configuration.settings.follows
    theme = configuration.theme
  }

  /// What became of a store in memory, for the shell.
  var left: String?

  var theme: Theme
  /// Which way copied text goes.
  var clipboard = ClipboardRoute.terminal
  /// Whether charts are written as tables, to be read as lines.
  var readsAsLines = false
  var time: TimeText { configuration.time }
  var current: Outline.Datastore? { outline?.datastore(datastore) }

  private mutating func sortInsertions() {
    insertions = [:]
    guard staged.totals.inserted > 0 else { return }
    for key in Set(staged.edits.keys.map(\.datastore)) { insertions[key] = staged.insertions(in: key) }
  }

  // MARK: Speaking to the outside

  mutating func emit(_ effect: Effect) { effects.append(effect) }
  mutating func intend(_ intent: Intent) { intents.append(intent) }

  /// Starts work; what ran in the same slot is cancelled and its answer will not be heard.
  @discardableResult
  mutating func start(_ slot: WorkSlot, _ work: any Question, label: String = "") -> WorkID {
    cancel(slot)
    let id = WorkID(slot: slot, serial: nextSerial)
    nextSerial += 1
    running[slot] = RunningWork(id: id, label: label, startedAt: now, movedAt: now)
    noteRun(id, label)
    effects.append(.start(id, work))
    return id
  }

  mutating func cancel(_ slot: WorkSlot) {
    guard let work = running.removeValue(forKey: slot) else { return }
    endRun(work.id, .cancelled)
    effects.append(.cancel(work.id))
  }

  /// Asks work to end, and goes on hearing it: it may be done already.
  mutating func askToEnd(_ slot: WorkSlot) {
    if let work = running[slot] { effects.append(.cancel(work.id)) }
  }

  func isRunning(_ slot: WorkSlot) -> Bool { running[slot] != nil }

  /// Why work that is shown in the cockpit cannot be started: one of the same kind runs, and is not called off unasked.
  func runningRefusal(_ slot: WorkSlot) -> String? {
    guard slot.isInCockpit, let work = running[slot] else { return nil }
    return "\(work.label) runs; ^c cancels it, 6 shows it"
  }

  /// The long work that a person waits for, the newest first.
  var longWork: [RunningWork] {
    running.values.filter { $0.id.slot.isLong }.sorted { $0.id.serial > $1.id.serial }
  }

  mutating func drainEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  mutating func removeNextIntent() -> Intent? { intents.isEmpty ? nil : intents.removeFirst() }

  /// How the columns of a datastore are arranged: by hand, or by the config file.
  func columnChoice(_ datastore: String) -> ColumnChoice {
    if let choice = remembered.columns[datastore] { return choice }
    var choice = ColumnChoice()
    choice.order = configuration.settings.columns[datastore] ?? []
    return choice
  }

  /// A record's identifier, with what it is called where that is known.
  func name(of place: RecordPlace) -> String {
    StoreBrowser.named(place.identifier, looking.named?.place == place ? looking.named?.label : nil)
  }

  // MARK: Speaking to the person

  mutating func say(_ text: String) { notice = Notice(text: text, kind: .said) }
  mutating func warn(_ text: String) { notice = Notice(text: text, kind: .warning) }
  mutating func complain(_ text: String) {
    notice = Notice(text: text, kind: .problem)
  }

  /// Says what an error says; only what failed looks like a failure, not what cannot be done.
  mutating func complain(_ error: ModelError) {
    switch error {
    case .failures, .disorder, .unreadable, .storage: complain(error.description)
    default: warn(error.description)
    }
  }

  /// Why nothing can be staged or written now; nil when it can.
  var writingRefusal: String? {
    if configuration.isReadOnly { return "read-only: the browser was started so" }
    if case .readOnly(let reason) = facts.access { return "read-only: \(reason)" }
    // What is kept and cannot be read is not saved over.
    return keeping.isRead ? nil : keeping.problem
  }

  /// Why nothing can be edited in what is shown; nil when it can.
  var editingRefusal: String? {
    if let writingRefusal { return writingRefusal }
    if let asOf { return "read-only: this is as of \(asOf); Esc returns to the head" }
    return nil
  }
}

/// What is being looked at: panes that follow others read it here.
struct Looking: Sendable, Hashable {
  var panes: Set<PaneID> = []
  /// The rows of the table, and the record under its cursor.
  var source: RowSource?
  var record: RecordPlace?
  /// Its rank in the order of the rows, and the field under the cursor.
  var rank: Int?
  var path: String?
  /// The record of the record pane, where it has been read, with what it is called.
  var named: NamedRecord?
  /// What the history shows, and the commit under its cursor.
  var scope = HistoryScope.store
  var commit: CommitNumber?
  /// The difference that was asked for by W; otherwise the selected commit's is shown.
  var difference: DifferenceSource?
  /// What is known of the filter that is being typed.
  var filterStanding: FilterStanding?
  /// What is known of the search that is being typed.
  var searchStanding: String?
}

/// A record with what it is called.
struct NamedRecord: Sendable, Hashable {
  var place: RecordPlace
  var label: String
}

/// A field of a record.
struct FieldPlace: Sendable, Hashable {
  var record: RecordPlace
  var path: DocumentPath
  /// A new element that is to stand there.
  var isNew: Bool
}

/// A sentence for the status line.
struct Notice: Sendable, Hashable {
  enum Kind: Sendable, Hashable { case said, warning, problem }
  var text: String
  var kind: Kind
}

/// Work under way.
struct RunningWork: Sendable, Hashable {
  var id: WorkID
  /// As the status line calls it; empty for work nobody waits for.
  var label: String
  var startedAt: Int64
  /// When something was last heard to be done.
  var movedAt: Int64
  private(set) var progress: Progress?

  mutating func note(_ progress: Progress, at now: Int64) {
    if progress.done != self.progress?.done || progress.total != self.progress?.total { movedAt = now }
    self.progress = progress
  }

  /// For how many seconds nothing has been done; nil while that says nothing.
  func stalled(at now: Int64) -> Int? {
    let seconds = Int((now - movedAt) / 1_000_000_000)
    return seconds >= 3 ? seconds : nil
  }
}

/// What a pane wants of the rest of the browser.
enum Intent: Sendable {
  case openDatastore(String, index: String?)
  case order(by: String?)
  case setRange(KeyInterval?)
  case filter(String?)
  case focus(PaneID)
  case open(ViewKind)
  /// Closes the view of a pane, where it is open.
  case closeView(PaneID)
  case select(RecordPlace, note: String?)
  case showHistory(HistoryScope)
  case showDifference(CommitNumber?, CommitNumber)
  case travel(CommitNumber?)
  /// Lays a pane over the others.
  case present(any Pane)
  /// Takes the topmost overlay away.
  case dismiss
  case submit(Prompt)
  case promptChanged(Prompt)
  case choose(MenuOverlay.Choice)
  case stageField(ValueEditor, Document)
  case leaveFieldOut(RecordPlace, DocumentPath)
  /// Shows other rows in the table; `^o` goes back to those before.
  case show(RowSource, anchor: TableRequest.Anchor)
  case clearMarks
  /// Opens the review of what is staged, where something is.
  case reviewStaged
  case startMigration(mending: [RecordEdit])
  case run(Command, argument: String?)
  case ask(Command)
  /// Looks for commits that are not seen yet.
  case look
  case stage(StagedStep)
  /// What was staged of a record is in the store.
  case settle(RecordPlace)
  case follow(reference: Document, field: String, to: String?)
  case remember
}
