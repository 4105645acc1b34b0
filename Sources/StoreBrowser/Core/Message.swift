package import DatastoreModel
package import TerminalKit

/// What the browser hears: the terminal, and the answers of its own work.
package enum Message: Sendable {
  /// A key, a paste, the mouse, a new size, a signal.
  case event(TerminalEvent)
  /// A command by name, from a script or an embedding app.
  case command(Command, argument: String?)
  /// Something that work had to say.
  case work(WorkID, WorkReport)
  /// The files of the store changed: perhaps a commit, a writer, an activity.
  case storeStirred
  /// A second has passed, while something runs; with what the process and the store take now.
  case tick(WorkFigures?)
  /// The editor that an effect started has ended.
  case editorClosed(EditorOutcome)
}

/// What running work reports.
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
  /// What was found meanwhile, so that the first hit shows at once.
  package var found: Found

  package enum Found: Sendable, Hashable {
    case nothing
    /// How rows are found, and how many, where ranks tell.
    case plan(String, count: Int?)
    /// Ranks of rows that a filter keeps, ascending.
    case ranks([Int])
    case hits([PickaxeHit])
    /// What a question of a pane knows so far.
    case part(PartialReply)
    case activity(Activity)
    /// Records read to prove which fields the indexes are made from.
    case proof
  }

  package init(done: Int, total: Int?, found: Found = .nothing) {
    self.done = done
    self.total = total
    self.found = found
  }
}

/// A reply that is not whole yet; those of one question are told apart by their number.
package struct PartialReply: Sendable, Hashable {
  package var number: Int
  package var value: any Sendable

  package static func == (left: Self, right: Self) -> Bool { left.number == right.number }
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// What the browser wants done outside of it.
package enum Effect: Sendable {
  case start(WorkID, any Question)
  case cancel(WorkID)
  /// Leave; the farewell is for the shell, after the terminal is restored.
  case quit(status: Int32, farewell: String?)
  case suspend
  /// Paint every cell anew.
  case repaint
  case bell
  /// Put text on the clipboard by way of the terminal (OSC 52).
  case copy(String)
  /// Hand the terminal to the user's editor; it answers with `Message.editorClosed`.
  case edit(EditorRequest)
  case mouse(isOn: Bool)
  /// Send a tick every second, or no more.
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
  /// Where the cursor should stand, from 1.
  package var line: Int
  package var column: Int
}

/// How an editor came back.
package struct EditorOutcome: Sendable, Hashable {
  /// The text as it was left; nil where the editor failed or its file could not be read.
  package var text: String?
  /// Why there is no text, as a sentence.
  package var problem: String?
}

/// One piece of work: what it is for, and a number, so that a late answer to an old question is known as such.
package struct WorkID: Hashable, Sendable {
  package var slot: WorkSlot
  package var serial: Int
}

/// What work is for. At most one of each runs; starting another cancels the one before. A pane that asks something of its
/// own names its slot in its own file.
package struct WorkSlot: Hashable, Sendable {
  package let name: String
  /// Whether a person waits for it, so that it is shown and can be called off.
  let isLong: Bool
  /// Whether it keeps something that a person did, so that it is finished even when its answer is not waited for.
  let isKept: Bool
  /// Whether it is shown in the cockpit (pane 6), and calling it off asks first.
  let isInCockpit: Bool
  /// Whether it may take a while though nobody waits for it, so that quick questions do not stand behind it.
  let isSlow: Bool
  /// Whether what is on the screen lacks nothing of it, so that no picture waits for it.
  let isAhead: Bool

  init(
    _ name: String, isLong: Bool = false, isKept: Bool = false, isInCockpit: Bool = false, isSlow: Bool = false,
    isAhead: Bool = false
  ) {
    self.name = name
    self.isLong = isLong
    self.isKept = isKept
    self.isInCockpit = isInCockpit
    self.isSlow = isSlow
    self.isAhead = isAhead
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
  /// Rows beside the screen, for the keys to come.
  static let rowsAhead = WorkSlot("rows-ahead", isAhead: true)
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
  /// The life of a record's fields, which nobody asked for by a key.
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
