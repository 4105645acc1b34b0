import DatastoreModel
import TerminalKit

/// What panes ask of the rest of the browser.
extension Browser {
  mutating func fulfil(_ intent: Intent) {
    switch intent {
    case .openDatastore(let key, let index): openDatastore(key, index: index)
    case .order(let index):
      noteJump()
      table.order(by: index)
    case .setRange(let range):
      noteJump()
      table.setRange(range)
    case .filter(let filter):
      noteJump()
      table.setFilter(filter)
    case .focus(let pane): focusPane(pane)
    case .open(let kind): open(kind)
    case .closeView(let pane): closeView(of: pane)
    case .select(let place, let note):
      select(place)
      note.map { session.say($0) }
    case .showHistory(let scope): showHistory(scope)
    case .showDifference(let old, let new): showDifference(old, new)
    case .travel(let commit): travel(to: commit)
    case .present(let overlay): present(overlay)
    case .dismiss: dismiss()
    case .submit(let prompt): submit(prompt)
    case .promptChanged(let prompt): noteTyping(prompt)
    case .choose(let choice): choose(choice)
    case .stageField(let editor, let value):
      if focus == .merge {
        with(MergePane.self) { $0.settle(value, from: editor, in: &$1) }
      } else {
        stageField(editor, value)
      }
    case .leaveFieldOut(let place, let path): leaveFieldOut(place, path)
    case .show(let source, let anchor):
      noteJump()
      table.show(source, anchor: anchor)
    case .clearMarks: table.clearMarks()
    case .reviewStaged: if !session.staged.isEmpty { openReview() }
    case .startMigration(let edits): with(MigrationPane.self) { $0.start(mending: edits, in: &$1) }
    case .run(let command, let argument): runAsked(command, argument)
    case .ask(let command): ask(for: command)
    case .look:
      // Names may have changed though the head has not.
      session.start(.outline, OutlineRequest(commit: session.shown))
      look()
    case .stage(let step): stage(step)
    case .settle(let place):
      session.staged.add(.leavingOut(place, of: session.staged))
      session.keepStaged()
    case .follow(let value, let field, let target): follow(value, field: field, to: target)
    case .remember: session.start(.settings, SaveRememberedRequest(remembered: session.remembered))
    }
  }

  /// What a pane asks for is done as if typed, but for steps of the table that a record pane asks for.
  private mutating func runAsked(_ command: Command, _ argument: String?) {
    switch command {
    case .nextRecord: table.list.move(by: 1, count: table.count(session))
    case .previousRecord: table.list.move(by: -1, count: table.count(session))
    default: run(command, argument: argument)
    }
  }

  mutating func openDatastore(_ key: String, index: String?) {
    guard session.outline?.datastore(key) != nil else { return }
    if session.datastore != nil { noteJump() }
    session.datastore = key
    table.clearFailure()
    table.show(RowSource(datastore: key, index: index), anchor: .position(0))
    table.list = ListWindow()
  }
}
