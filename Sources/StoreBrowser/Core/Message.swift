package import StrataModel
package import StrataTerminal

/// The input of the browser: the terminal's events, and the replies of its own work.
package enum Message: Sendable {
  /// A key, a paste, the mouse, a new size, a signal.
  case event(TerminalEvent)
  /// A command by name, from a script or an embedding app.
  case command(Command, argument: String?)
  /// A report of work.
  case work(WorkID, WorkReport)
  /// The files of the store changed: perhaps a commit, a writer, an activity.
  case storeStirred
  /// A second has passed while something runs; with the resources that the process and the store use now.
  case tick(WorkFigures?)
  /// The editor that an effect started has ended.
  case editorClosed(EditorOutcome)
}

/// A report of running work.
package enum WorkReport: Sendable {
  case progress(Progress)
  /// With a sentence about damaged records that the reply is without.
  case finished(any Sendable, leftOut: String? = nil)
  case failed(ModelError)
}

/// How far work is. Totals that are not known are nil, never guessed.
package struct Progress: Sendable, Hashable {
  package var done: Int
  package var total: Int?
  /// The results so far, so that the first hit shows at once.
  package var found = Found.nothing

  package enum Found: Sendable, Hashable {
    case nothing
    /// How rows are found, and how many, if ranks give the count.
    case plan(String, count: Int?)
    /// Ranks of rows that a filter keeps, ascending.
    case ranks([Int])
    case hits([PickaxeHit])
    case part(PartialReply)
    case activity(Activity)
    /// Records read to prove which fields the indexes are made from.
    case proof
  }
}

/// A partial reply; those of one question are distinguished by their number.
package struct PartialReply: Sendable, Hashable {
  package var number: Int
  package var value: any Sendable

  package static func == (left: Self, right: Self) -> Bool { left.number == right.number }
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// A request of the browser to the outside.
package enum Effect: Sendable {
  case start(WorkID, any Question)
  case cancel(WorkID)
  /// Send a tick every second, or stop sending ticks.
  case clock(isOn: Bool)
  /// Hand the terminal to the user's editor; the reply is `Message.editorClosed`.
  case edit(EditorRequest)
  case terminal(TerminalAction)
}

/// A text for `$VISUAL` or `$EDITOR`.
package struct EditorRequest: Sendable, Hashable {
  package var text: String
  /// The ending of the temporary file, as `json`.
  package var fileExtension: String
  /// The cursor's position, from 1.
  package var line: Int
  package var column: Int
}

/// The outcome of an editor.
package struct EditorOutcome: Sendable, Hashable {
  /// The edited text; nil if the editor failed or its file could not be read.
  package var text: String?
  /// Why there is no text, as a sentence.
  package var problem: String?
}

/// One piece of work: its slot, and a number by which a late reply to an old question is recognized.
package struct WorkID: Hashable, Sendable {
  package var slot: WorkSlot
  package var serial: Int
}

/// The kind of a piece of work. At most one of each kind runs; starting another cancels the one before. A pane that has questions of its
/// own names its slot in its own file.
package struct WorkSlot: Hashable, Sendable {
  package let name: String
  /// Whether the user waits for it, so that it is shown and can be cancelled.
  var isLong = false
  /// Whether it saves something that the user did, so that it is finished even when no one waits for its reply.
  var isKept = false
  /// Whether it is shown in the cockpit (pane 6), and cancelling it asks first.
  var isInCockpit = false
  /// Whether it may take a while although the user does not wait for it, so that quick questions do not queue behind it.
  var isSlow = false
  /// Whether work that the user ends replies with what it has found so far.
  var repliesInPart = false
  /// Whether the screen is complete without it, so that no picture waits for it.
  var isPrefetch = false

  package static func == (left: WorkSlot, right: WorkSlot) -> Bool { left.name == right.name }
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }

  package static let outline = WorkSlot(name: "outline")
  package static let table = WorkSlot(name: "table")
  package static let resolve = WorkSlot(name: "resolve")
  package static let staging = WorkSlot(name: "staging", isKept: true)
  package static let review = WorkSlot(name: "review", isLong: true)
  package static let commit = WorkSlot(name: "commit", isLong: true, isKept: true)
  static let settings = WorkSlot(name: "settings", isKept: true)
  /// Reads what `settings` saves.
  static let remembered = WorkSlot(name: "remembered", isKept: true)
  static let refresh = WorkSlot(name: "refresh")
  static let rows = WorkSlot(name: "rows")
  /// Rows outside the screen, for the next keys.
  static let rowsAhead = WorkSlot(name: "rows-ahead", isPrefetch: true)
  static let record = WorkSlot(name: "record")
  static let gather = WorkSlot(name: "gather", isLong: true)
  static let editedDocuments = WorkSlot(name: "edited-documents")
  static let search = WorkSlot(name: "search", isLong: true)
  static let filter = WorkSlot(name: "filter", isLong: true)
  static let sort = WorkSlot(name: "sort", isLong: true)
  static let history = WorkSlot(name: "history")
  static let changes = WorkSlot(name: "changes")
  static let fields = WorkSlot(name: "fields")
  static let blame = WorkSlot(name: "blame", isLong: true)
  /// The life of a record's fields, which no key requested.
  static let life = WorkSlot(name: "life")
  static let references = WorkSlot(name: "references")
  static let identify = WorkSlot(name: "identify")
  static let keys = WorkSlot(name: "keys")
  static let range = WorkSlot(name: "range")
  static let distinct = WorkSlot(name: "distinct", isSlow: true)
  static let verify = WorkSlot(name: "verify", isLong: true, isInCockpit: true)
  static let referrers = WorkSlot(name: "referrers", isLong: true)
  static let bulk = WorkSlot(name: "bulk", isLong: true)
  static let export = WorkSlot(name: "export", isLong: true, isInCockpit: true)
  static let pin = WorkSlot(name: "pin")
  static let warmUp = WorkSlot(name: "warm-up", isLong: true, isInCockpit: true)
  static let estimate = WorkSlot(name: "estimate", isLong: true)
  static let rewrite = WorkSlot(name: "rewrite", isLong: true, isInCockpit: true)
  static let histogram = WorkSlot(name: "histogram")
  static let lineSearch = WorkSlot(name: "line-search", isLong: true)
  static let mergePlan = WorkSlot(name: "merge-plan", isLong: true)
  static let mergeCheck = WorkSlot(name: "merge-check")
  static let mergeCommit = WorkSlot(name: "merge-commit", isLong: true, isKept: true)
  static let remotes = WorkSlot(name: "remotes", isSlow: true)
  static let remoteChange = WorkSlot(name: "remote-change", isKept: true)
  static let transfer = WorkSlot(name: "transfer", isLong: true, isInCockpit: true)
  static let typing = WorkSlot(name: "typing", isSlow: true)
  static let typedPlan = WorkSlot(name: "typed-plan")
  static let survey = WorkSlot(name: "survey", isLong: true)
  static let importPreview = WorkSlot(name: "import-preview", isLong: true)
  static let importFile = WorkSlot(name: "import", isLong: true, isInCockpit: true)
  static let join = WorkSlot(name: "join")
  static let dropLetter = WorkSlot(name: "drop-letter", isKept: true)
  static let proof = WorkSlot(name: "proof", isSlow: true, isPrefetch: true)
}
