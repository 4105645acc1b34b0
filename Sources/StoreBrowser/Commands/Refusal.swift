import StrataModel

/// Why a command does not work now, whatever pane has the keys: as rows of the command table name it.
package struct Refusal: Sendable {
  /// Returns a sentence; nil if the command works.
  let reason: @Sendable (Browser) -> String?

  /// The shown state cannot be edited.
  static let editing = Refusal { $0.focus == .migration || $0.focus == .merge ? nil : $0.session.editingRefusal }

  /// The store cannot be written to.
  static let writing = Refusal { $0.session.writingRefusal }

  /// Work of the same kind runs, and the user waits for it: starting another would cancel it.
  static func running(_ slot: WorkSlot) -> Refusal { Refusal { $0.session.runningRefusal(slot) } }

  /// Refuses if either does; this one is asked first.
  func or(_ other: Refusal) -> Refusal { Refusal { reason($0) ?? other.reason($0) } }

  /// The shown state cannot be edited, or there is nothing to paste.
  static let pasting = editing.or(
    Refusal { browser in
      let hasNone = browser.session.copied.records.isEmpty && browser.session.copied.value == nil
      return hasNone ? "nothing was copied yet (yy, yr)" : nil
    })

  static let reviewing = writing.or(Refusal { $0.session.staged.isEmpty ? "nothing is staged" : nil })

  static let undoing = writing.or(
    Refusal {
      $0.session.staged.canUndo || !$0.session.staged.canRedo
        ? nil : "nothing staged is left to undo; ^r brings it back"
    })

  static let redoing = writing.or(
    Refusal {
      $0.session.staged.canRedo || !$0.session.staged.canUndo ? nil : "there is nothing to redo in what is staged"
    })

  static let retrying = Refusal { $0.panes[MigrationPane.self].refusal(of: .retry, in: $0.session) }

  static let withoutDatastore = Refusal { $0.session.datastore == nil ? "no datastore is open" : nil }

  static let replaying = Refusal { $0.macro.events.isEmpty ? "nothing was recorded yet (:record)" : nil }
}
