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
  /// The editor that an effect started has ended.
  case editorClosed(EditorOutcome)
}

/// What running work reports.
package enum WorkReport: Sendable {
  case progress(Progress)
  case finished(Answer)
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
    /// Ranks of rows that a filter keeps, ascending.
    case ranks([Int])
    case counts([ValueCount])
    case hits([PickaxeHit])
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

/// What the browser wants done outside of it.
package enum Effect: Sendable {
  case start(WorkID, Work)
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

  package init(text: String?, problem: String? = nil) {
    self.text = text
    self.problem = problem
  }
}

/// One piece of work: what it is for, and a number, so that a late answer to an old question is known as such.
package struct WorkID: Hashable, Sendable {
  package var slot: WorkSlot
  package var serial: Int
}

/// What work is for. At most one of each runs; starting another cancels the one before.
package enum WorkSlot: String, Hashable, Sendable, CaseIterable {
  case refresh, outline, settings
  case table, rows, record, gather, place
  case search, filter, sort, frequency, distinct
  case history, changes, fields, blame, pickaxe, resolve, identify
  case keys, range, density, verify, referrers
  case staging, review, commit, bulk, export, pin, warmUp, rewrite

  /// Whether a person waits for it, so that it is shown and Esc cancels it.
  var isLong: Bool {
    switch self {
    case .search, .filter, .sort, .frequency, .pickaxe, .verify, .referrers, .bulk, .export, .review, .commit, .warmUp,
      .blame, .rewrite:
      true
    default: false
    }
  }
}
