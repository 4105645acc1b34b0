import StrataDocuments
import StrataModel
import StrataTerminal

/// The state that all panes share: the store, the shown commit, the staged changes, the running work.
struct Session: Sendable {
  let configuration: BrowserConfiguration
  var size = Size(columns: 80, rows: 24)
  /// Nanoseconds since 1970, at the last message.
  var now: Int64

  /// The path of the store, and what was found when it was opened.
  let path: String
  /// The store's name in titles: the end of its path, or the database and the schema of its URL.
  let storeName: String
  let openingReport: [String]
  var status: StoreStatus
  /// The newest commit this browser has seen.
  var head: CommitNumber
  var shown: CommitNumber
  /// The commit that the user went to; nil while the head is shown.
  var asOf: CommitNumber?
  /// The commit that was shown before the user went to the past. If it is not the head, it is shown again when the user leaves the past,
  /// unless the head is followed.
  var held: CommitNumber
  /// The commit that Esc returns to.
  var present: CommitNumber { isFollowing ? head : held }
  /// The history as far as this browser knows it.
  var edition: HistoryEdition { HistoryEdition(head: head, generation: status.generation) }
  /// The datastores and indexes as of `shown`; nil until they were read.
  var outline: Outline?
  /// Why they cannot be read, until they are.
  var outlineProblem: String?
  /// The datastore that table, record and index are about.
  var datastore: String?
  var isFollowing = true
  /// The time since which the store's server cannot be reached; nil if it can be reached, or if there is no server.
  var awaySince: Int64?
  /// Whether something could not be read because the server could not be reached, and is asked again when it can be.
  var lacksAnswers = false
  /// How often a server was back that could not be reached.
  var returns = 0
  /// Commits newer than the one shown, while following is off.
  var unseen = 0

  /// The selections of the table and the history, for the panes that follow them.
  var selections = Selections()

  var staged = StagedChanges() {
    didSet {
      stagedRevision += 1
      sortInsertions()
    }
  }
  /// The state of the file that keeps the staged changes.
  var keeping = Keeping()
  /// Grows with every change of `staged`.
  private(set) var stagedRevision = 0
  /// The records to be inserted, by datastore: the last rows of its table, without those that lie among the others.
  private(set) var insertions: [String: [RecordEdit]] = [:]
  /// The records to be inserted into a datastore, if the shown state can be edited.
  func shownInsertions(_ datastore: String) -> [RecordEdit] { asOf == nil ? insertions[datastore] ?? [] : [] }
  /// Staged new records whose identifiers other programs have given to records meanwhile. Those have the rows.
  var taken: Set<RecordPlace> = [] { didSet { if taken != oldValue { sortInsertions() } } }
  var remembered = Remembered()

  /// The user's choices of labels and references in this store.
  var naming: Naming { remembered.naming }

  /// The texts typed into fields and not staged, by place; kept between two starts.
  var drafts: [String: String] {
    get { remembered.drafts ?? [:] }
    set {
      guard newValue != drafts else { return }
      remember { $0.drafts = newValue.isEmpty ? nil : newValue }
    }
  }

  var notice: Notice?
  /// The text that was searched for last, which panes mark wherever they show it. Esc ends that.
  var markedText: SearchText?
  var isMouseOn: Bool
  var latency: Latency?

  /// Work that was started and has not ended.
  var running: [WorkSlot: RunningWork] = [:]
  /// The work shown in the cockpit: running, or ended, with its result.
  var runs: [WorkRun] = []
  private(set) var effects: [Effect] = []
  private(set) var intents: [Intent] = []
  private var nextSerial = 1

  init(configuration: BrowserConfiguration, store: any ReadableStore, status: StoreStatus) {
    self.configuration = configuration
    (path, openingReport, self.status) = (store.path, store.openingReport, status)
    storeName = Self.storeName(at: path)
    head = store.head.commit
    (shown, held) = (head, head)
    now = configuration.clock()
    isMouseOn = configuration.settings.mouse
    isFollowing = configuration.settings.follows
    theme = configuration.theme
  }

  private static func storeName(at path: String) -> String {
    guard let mark = path.firstRange(of: "://") else { return DocumentFile.fileName(of: path) }
    let parts = path[mark.upperBound...].split(separator: "?", maxSplits: 1)
    let schema = parts.dropFirst().first?.split(separator: "&").first { $0.hasPrefix("schema=") }?.dropFirst(7)
    let database = parts.first?.split(separator: "/").last
    return [database, schema].compactMap { $0.map(String.init) }.joined(separator: "/")
  }

  /// The sentence for the shell about what was done with a store in memory.
  var left: String?

  var theme: Theme
  var copied = Copied()
  /// How copied text reaches the clipboard.
  var clipboard = ClipboardRoute.terminal
  /// Whether charts are written as tables, because the screen is read as lines.
  var readsAsLines = false
  var time: TimeText { configuration.time }
  /// The damage because of which the last reply of work is not whole, as a sentence.
  var gaps: [WorkSlot: String] = [:]
  var current: Outline.Datastore? { outline?.datastore(datastore) }

  private mutating func sortInsertions() {
    insertions = [:]
    guard staged.totals.inserted > 0 else { return }
    for key in Set(staged.edits.keys.map(\.datastore)) {
      insertions[key] = staged.insertions(in: key).filter { !taken.contains($0.place) }
    }
  }

  // MARK: Speaking to the outside

  mutating func emit(_ effect: Effect) { effects.append(effect) }
  mutating func emit(_ action: TerminalAction) { effects.append(.terminal(action)) }
  /// Asks the rest of the browser for something, or for several things in this order.
  mutating func intend(_ wanted: Intent...) { intents += wanted }

  /// Changes what is remembered beyond this run, and saves it.
  mutating func remember(_ change: (inout Remembered) -> Void) {
    change(&remembered)
    // A save would replace what has not been read yet.
    guard !isRunning(.remembered) else { return }
    start(.settings, Inquiry { [remembered] context throws(ModelError) in try context.files.save(remembered) })
  }

  /// Starts work. Earlier work in the same slot is cancelled and its reply will be ignored.
  ///
  /// - Parameter use: Takes the reply, after the panes that take replies of the slot.
  mutating func start<Work: Question>(
    _ slot: WorkSlot, _ work: Work, label: String = "", then use: (@Sendable (inout Browser, Work.Reply) -> Void)? = nil
  ) {
    cancel(slot)
    let id = WorkID(slot: slot, serial: nextSerial)
    nextSerial += 1
    running[slot] = RunningWork(id: id, label: label, startedAt: now, movedAt: now) { browser, reply in
      if let reply = reply as? Work.Reply { use?(&browser, reply) }
    }
    beginRun(id, label)
    effects.append(.start(id, work))
  }

  mutating func cancel(_ slot: WorkSlot) {
    guard let work = running.removeValue(forKey: slot) else { return }
    endRun(work.id, .cancelled)
    effects.append(.cancel(work.id))
  }

  /// Asks work to end, and still takes its reply: it may have finished already.
  mutating func askToEnd(_ slot: WorkSlot) {
    guard let work = running[slot] else { return }
    running[slot]?.isAskedToEnd = true
    effects.append(.cancel(work.id))
  }

  func isRunning(_ slot: WorkSlot) -> Bool { running[slot] != nil }
  var isCommitting: Bool { isRunning(.commit) || isRunning(.mergeCommit) }

  /// Reads what the shown commit has, and the state of the store.
  mutating func readOutline() {
    let outline = Inquiry { [shown] context throws(ModelError) in (try context.outline(at: shown), context.status) }
    start(.outline, outline) { $0.show($1.0, $1.1) }
  }

  /// Why work that is shown in the cockpit cannot be started: work of the same kind runs, and is not cancelled without asking.
  func runningRefusal(_ slot: WorkSlot) -> String? {
    guard slot.isInCockpit, let work = running[slot] else { return nil }
    return "\(work.label) runs; ^c cancels it, 6 shows it"
  }

  /// The long work that the user waits for, the newest first.
  var longWork: [RunningWork] {
    running.values.filter { $0.id.slot.isLong }.sorted { $0.id.serial > $1.id.serial }
  }

  mutating func drainEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  mutating func removeNextIntent() -> Intent? { intents.isEmpty ? nil : intents.removeFirst() }

  /// How the columns of a datastore are arranged: by hand, or by the config file. In an opened file, the field that identifies the rows
  /// comes before the others.
  func columnChoice(_ datastore: String) -> ColumnChoice {
    if let choice = remembered.columns[datastore] { return choice }
    var choice = ColumnChoice()
    choice.order =
      configuration.settings.columns[datastore] ?? configuration.documentFile?.identifier.map { [$0.description] } ?? []
    return choice
  }

  /// Arranges the columns of a datastore, which is remembered.
  mutating func arrange(_ choice: ColumnChoice, of datastore: String) {
    remember { $0.columns[datastore] = choice == ColumnChoice() ? nil : choice }
  }

  /// A record's identifier, with the record's label if it is known.
  func name(of place: RecordPlace) -> String {
    StoreBrowser.named(place.identifier, selections.named?.place == place ? selections.named?.label : nil)
  }

  // MARK: Messages to the user

  mutating func say(_ text: String) { notice = Notice(text: text, kind: .said) }
  /// Says something beside what was said since the last key.
  mutating func add(_ text: String) {
    notice = Notice(text: notice.map { "\($0.text); \(text)" } ?? text, kind: notice?.kind ?? .said)
  }
  mutating func warn(_ text: String) { notice = Notice(text: text, kind: .warning) }
  mutating func complain(_ text: String) {
    notice = Notice(text: text, kind: .problem)
  }

  /// Shows the description of an error.
  mutating func complain(_ error: ModelError) {
    if error.isFailure { complain(error.description) } else { warn(error.description) }
  }

  /// Why nothing can be staged or written now; nil when it can.
  var writingRefusal: String? {
    if configuration.isReadOnly { return "read-only: the browser was started so" }
    if case .readOnly(let reason) = status.access { return "read-only: \(reason)" }
    // If the kept changes cannot be read, they must not be overwritten.
    return keeping.isRead ? nil : keeping.problem
  }

  /// Why nothing in the shown commit can be edited; nil when it can.
  var editingRefusal: String? {
    if let writingRefusal { return writingRefusal }
    if let asOf { return "read-only: this is as of \(asOf); :travel head returns" }
    return nil
  }
}

extension ModelError {
  /// Whether something failed, and is shown as a failure; a refused request is not a failure.
  var isFailure: Bool {
    switch self {
    case .failures, .disorder, .unreadable, .storage: true
    default: false
    }
  }
}

/// The current selections. Panes that follow others read them here.
struct Selections: Sendable, Hashable {
  var panes: Set<PaneID> = []
  /// The rows of the table, and the record under its cursor.
  var source: RowSource?
  var record: RecordPlace?
  /// Its rank in the order of the rows, and the field under the cursor.
  var rank: Int?
  var path: String?
  /// The record of the record pane with its label, if it was read.
  var named: NamedRecord?
  /// The scope of the history, and the commit under its cursor.
  var scope = HistoryScope.store
  var commit: CommitNumber?
  /// The difference requested by W; otherwise the selected commit's is shown.
  var difference: DifferenceSource?
  /// The state of the filter that is being typed.
  var filterStatus: FilterStatus?
  /// The state of the search that is being typed.
  var searchStatus: String?
}

struct NamedRecord: Sendable, Hashable {
  var place: RecordPlace
  var label: String
}

/// A sentence for the status line.
struct Notice: Sendable, Hashable {
  enum Kind: Sendable, Hashable { case said, warning, problem }
  var text: String
  var kind: Kind
}

/// Work under way.
struct RunningWork: Sendable {
  let id: WorkID
  /// The label in the status line; empty for work that the user does not wait for.
  let label: String
  let startedAt: Int64
  /// When progress was last reported.
  var movedAt: Int64
  private(set) var progress: Progress?
  /// Whether the user asked it to end, and its reply is still waited for.
  var isAskedToEnd = false
  /// Takes the reply.
  let use: @Sendable (inout Browser, any Sendable) -> Void

  mutating func update(_ progress: Progress, at now: Int64) {
    if progress.done != self.progress?.done || progress.total != self.progress?.total { movedAt = now }
    self.progress = progress
  }

  /// For how many seconds there has been no progress; nil below three seconds, which say nothing.
  func stalled(at now: Int64) -> Int? {
    let seconds = Int((now - movedAt) / 1_000_000_000)
    return seconds >= 3 ? seconds : nil
  }
}
