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
  case finished(any Sendable)
  case failed(ModelError)
  case cancelled
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
  /// Leave; the farewell is for the shell, after the terminal is restored.
  case quit(status: Int32, farewell: String?)
  case suspend
  /// Paint every cell again.
  case repaint
  case bell
  /// Put text on the clipboard by way of the terminal (OSC 52).
  case copy(String)
  /// Hand the terminal to the user's editor; the reply is `Message.editorClosed`.
  case edit(EditorRequest)
  case mouse(isOn: Bool)
  /// Send a tick every second, or stop sending ticks.
  case clock(isOn: Bool)
  /// Write every further event to a script file.
  case record(path: String)
  case stopRecording
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
  let isLong: Bool
  /// Whether it saves something that the user did, so that it is finished even when no one waits for its reply.
  let isKept: Bool
  /// Whether it is shown in the cockpit (pane 6), and cancelling it asks first.
  let isInCockpit: Bool
  /// Whether it may take a while although the user does not wait for it, so that quick questions do not queue behind it.
  let isSlow: Bool
  /// Whether the screen is complete without it, so that no picture waits for it.
  let isPrefetch: Bool

  init(
    _ name: String, isLong: Bool = false, isKept: Bool = false, isInCockpit: Bool = false, isSlow: Bool = false,
    isPrefetch: Bool = false
  ) {
    self.name = name
    self.isLong = isLong
    self.isKept = isKept
    self.isInCockpit = isInCockpit
    self.isSlow = isSlow
    self.isPrefetch = isPrefetch
  }

  package static func == (left: WorkSlot, right: WorkSlot) -> Bool { left.name == right.name }
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension WorkSlot {
  package static let outline = WorkSlot("outline")
  package static let table = WorkSlot("table")
  package static let resolve = WorkSlot("resolve")
  package static let staging = WorkSlot("staging", isKept: true)
  package static let review = WorkSlot("review", isLong: true)
  package static let commit = WorkSlot("commit", isLong: true, isKept: true)
  static let settings = WorkSlot("settings", isKept: true)
  static let refresh = WorkSlot("refresh")
  static let rows = WorkSlot("rows")
  /// Rows outside the screen, for the next keys.
  static let rowsAhead = WorkSlot("rows-ahead", isPrefetch: true)
  static let record = WorkSlot("record")
  static let gather = WorkSlot("gather", isLong: true)
  static let editedDocuments = WorkSlot("edited-documents")
  static let search = WorkSlot("search", isLong: true)
  static let filter = WorkSlot("filter", isLong: true)
  static let sort = WorkSlot("sort", isLong: true)
  static let history = WorkSlot("history")
  static let changes = WorkSlot("changes")
  static let fields = WorkSlot("fields")
  static let blame = WorkSlot("blame", isLong: true)
  /// The life of a record's fields, which no key requested.
  static let life = WorkSlot("life")
  static let references = WorkSlot("references")
  static let identify = WorkSlot("identify")
  static let keys = WorkSlot("keys")
  static let range = WorkSlot("range")
  static let distinct = WorkSlot("distinct", isSlow: true)
  static let verify = WorkSlot("verify", isLong: true, isInCockpit: true)
  static let referrers = WorkSlot("referrers", isLong: true)
  static let bulk = WorkSlot("bulk", isLong: true)
  static let export = WorkSlot("export", isLong: true, isInCockpit: true)
  static let pin = WorkSlot("pin")
  static let warmUp = WorkSlot("warm-up", isLong: true, isInCockpit: true)
  static let estimate = WorkSlot("estimate", isLong: true)
  static let rewrite = WorkSlot("rewrite", isLong: true, isInCockpit: true)
}
