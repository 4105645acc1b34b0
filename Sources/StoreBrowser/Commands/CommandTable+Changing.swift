import StrataTerminal

extension CommandTable {
  static let history: [CommandEntry] = [
    row(
      .storeHistory, ["g H"], "history of the store", "store history", .history, verb: "history",
      "Shows all commits of the store."
    ) { browser, _ in browser.showHistory(.store) },
    row(
      .travel, ["T"], "time-travel to a commit", "travel", .history, argument: .init("COMMIT", isRequired: false),
      "Puts the whole interface as of a commit: a number, `head~3`, a pin, or a time (\"Tuesday\", \"2 hours ago\"); in the "
        + "history, the selected commit. Esc returns."
    ) { browser, argument in browser.travel(toNamed: argument ?? "head") },
    row(
      .olderCommit, [","], "one commit older", "older", .history, argument: .init("N", isRequired: false),
      "Steps the time travel to the next older commit, or N commits back; the selection stays on its record."
    ) { browser, argument in browser.stepCommits(argument, sign: -1) },
    row(
      .newerCommit, ["."], "one commit newer", "newer", .history, argument: .init("N", isRequired: false),
      "Steps the time travel to the next newer commit, or N commits on."
    ) { browser, argument in browser.stepCommits(argument, sign: 1) },
    row(
      .difference, ["W"], "difference", "diff", .history, argument: .init("FROM TO", isRequired: false), verb: "diff",
      "Shows what differs: between the base set by v and here, without one between this commit and its parent, in the "
        + "table between two marked records side by side. A time with spaces stands in quotes.",
      in: [.table, .history, .difference]
    ) { browser, argument in browser.differ(argument) },
    row(
      .pickaxe, ["S"], "search values through the history", "pickaxe", .history, argument: .init("TEXT"),
      "Lists the commits in which a value with this text came or went."
    ) { browser, argument in browser.openPickaxe(argument ?? "") },
    row(
      .fold, [], "show or fold commits that changed no data", "fold", .history,
      "Shows or folds the commits that changed no data for a user.", in: [.history]
    ) { browser, _ in browser.history.isFolded.toggle() },
    row(
      "follow", ["F"], "follow the head on or off", "follow", .history,
      verb: "watch", "Follows other programs' commits as they come, or holds still and counts them."
    ) { browser, _ in browser.toggleFollowing() },
    row(
      .pin, [], "give the commit a name", "pin", .history, argument: .init("NAME"),
      "Pins the selected or shown commit under a name, which is accepted wherever a commit is.", unless: .writing
    ) { browser, argument in browser.pin(argument ?? "", to: browser.shownCommit) },
    row(
      "unpin", [], "remove a pin", "unpin", .history, argument: .init("NAME"), "Removes the name; the commit stays.",
      unless: .writing
    ) { browser, argument in browser.pin(argument ?? "", to: nil) },
  ]

  static let writing: [CommandEntry] = [
    row(
      .edit, ["e"], "edit the field", "edit", .write,
      "Opens the typed editor of the field: its value is staged, not written. Arrows choose and change the parts of a date, ^o opens a "
        + "line, Tab lists values and referenced records. With marked records it sets the field in all of them after a preview. Cells that "
        + "are pasted from a spreadsheet fill the table from the cursor, after a preview too.",
      in: [.table, .record, .migration, .merge], unless: .editing
    ) { browser, _ in browser.edit() },
    row(
      .editExternally, ["E"], "edit in $EDITOR", "$EDITOR", .write, verb: "put",
      "Opens the value, the record or the marked records in $VISUAL or $EDITOR; comes back at line and column when it "
        + "does not parse. An empty file cancels.", in: [.table, .record, .migration], unless: .editing
    ) { browser, _ in browser.editExternally() },
    row(
      .insert, ["i"], "insert a record, field or element", "insert", .write, verb: "put",
      "In the table stages a new record, in a record a new field or list element.", in: [.table, .record, .migration],
      unless: .editing
    ) { browser, _ in browser.insert() },
    row(
      .duplicate, ["D"], "duplicate the record", "duplicate", .write,
      "Stages a copy of the record under a new identifier.", in: [.table], unless: .editing),
    row(
      .paste, ["p"], "paste the copied record or value", "paste", .write,
      "Stages the record copied with yr as a new record; in a record, sets the field to the value copied with yy.",
      in: [.table, .record, .migration], unless: .pasting
    ) { browser, _ in browser.paste() },
    row(
      .deleteRecord, ["d d"], "stage the delete", "delete", .write, verb: "delete",
      "Stages the delete of the record, of all marked ones or of the range; in a record, of the field or element.",
      in: [.table, .record, .migration], unless: .editing
    ) { browser, _ in browser.deleteField() },
    row(
      .valueMenu, ["C"], "value menu: null, default, empty, values seen", "value", .write,
      "Sets the field to null, to an empty value or to one of the values seen in this column.",
      in: [.table, .record, .migration], unless: .editing
    ) { browser, _ in browser.openValueMenu() },
    row(
      .moveUp, ["g k"], "move the list element up", "move up", .write,
      "Stages the element of a list one place nearer to its beginning.", in: [.record], unless: .editing
    ) { browser, _ in browser.moveElement(by: -1) },
    row(
      .moveDown, ["g j"], "move the list element down", "move down", .write,
      "Stages the element of a list one place nearer to its end.", in: [.record], unless: .editing
    ) { browser, _ in browser.moveElement(by: 1) },
    row(
      .leaveOut, ["x"], "unstage; leave a failing record out", "leave out", .write,
      "Takes the selected change out of what is staged; on the migration pane, leaves the failing record out.",
      in: [.table, .record, .stores, .migration]
    ) { browser, _ in browser.leaveOut() },
    row(
      .restoreRecord, ["r"], "restore the record", "restore", .write, verb: "restore",
      "Stages the record as it was at the selected commit, or at the commit travelled to.",
      in: [.table, .record, .history, .difference], unless: .writing
    ) { browser, _ in browser.restoreHere(.restoreRecord) },
    row(
      .restoreField, ["c"], "restore the field", "restore field", .write,
      "Stages the field as it was at the selected commit.", in: [.record, .history, .difference],
      unless: .writing
    ) { browser, _ in browser.restoreHere(.restoreField) },
    row(
      .revert, ["R"], "revert the commit", "revert", .write, verb: "undo",
      "Reviews a commit that takes back the selected one and keeps later changes of other fields.",
      in: [.history, .difference], unless: .writing),
    row(
      "restore", [], "restore a datastore or the whole store to a commit", "restore all", .write,
      argument: .init("COMMIT [DATASTORE]"), verb: "restore",
      "Writes a new commit with the state of COMMIT, of one datastore or of the whole store, after a review.",
      unless: .writing
    ) { browser, argument in browser.restoreStore(argument ?? "") },
    row(
      .undo, ["u"], "undo", "undo", .write, verb: "undo",
      "With something staged takes the last change out again; otherwise reviews a commit that takes back the newest one.",
      unless: .undoing
    ) { browser, _ in browser.undo() },
    row(
      "redo", ["^r"], "redo", "redo", .write, verb: "redo",
      "With something staged brings the change back; otherwise reviews a commit that takes back the newest undo.",
      unless: .redoing
    ) { browser, _ in browser.undo(isRedo: true) },
    row(
      .review, ["w"], "review and commit", "commit", .write,
      "Shows all that is staged with its fields, index entries and checks; Enter asks for the name, Enter commits.",
      unless: .reviewing
    ) { browser, _ in browser.openReview() },
    row(
      .set, [], "set a field of all shown or marked records", "set", .write,
      argument: .init("PATH = EXPR [where EXPR]"),
      "Stages `PATH = EXPR` for every marked record, or else every record the table shows, after a preview; with `where` for "
        + "every record of the datastore that the condition keeps.",
      in: [.table], unless: .editing
    ) { browser, argument in browser.bulk(.set(argument ?? "")) },
    row(
      "delete", [], "delete all shown or marked records", "delete shown", .write,
      "Stages the delete of every marked record, or else of every record the filter shows, after a preview.",
      in: [.table], unless: .editing
    ) { browser, _ in browser.bulk(.delete) },
    row(
      .compact, [], "rewrite the store without history that is not kept", "compact", .write, argument: .init("KEEP"),
      verb: "compact",
      "Shows the bytes before and after, and on Enter squashes the commits that KEEP leaves out: `all`, a number of "
        + "commits, an age as `30d`, `12h` or `2w`, or one of each as in `100 or 30d`. Pins and the head are always kept. It cannot be taken back.",
      unless: .writing.or(.running(.rewrite))
    ) { browser, argument in browser.compact(argument ?? "") },
    row(
      .copyStore, [], "write a consistent copy of the store", "copy store", .write, argument: .init("PATH"),
      verb: "copy",
      "Writes the store with its history, up to the commit that is shown, to PATH; the store may be in use meanwhile.",
      unless: .running(.rewrite)
    ) { browser, argument in browser.copyStore(to: argument ?? "") },
  ]

  static let migration: [CommandEntry] = [
    row(
      "warm-up", ["M"], "migration pane", "migrate", .migration,
      "Opens the migration pane: what the formats ask for, and every build here or in another process, with its steps, rates and "
        + "remaining time."
    ) { browser, _ in browser.open(.migration) },
    row(
      .retry, ["a"], "start or retry the migration", "retry", .migration,
      "Starts the migration, or runs it again with what was fixed or left out.", unless: .retrying
    ) { browser, _ in
      browser.open(.migration)
      browser.deliver(.retry, argument: nil, to: .migration)
    },
    row(
      .log, ["L"], "log of the migration", "log", .migration, "Shows what the migration said, step by step.",
      in: [.migration]),
  ]

  static let program: [CommandEntry] = [
    row(
      .palette, [":"], "command line", "cmds", .program,
      "Runs a command by its name with arguments, or goes to a row: `:812`, `:50%`, `:+12`."
    ) { browser, _ in browser.present(Prompt(.palette, history: browser.session.remembered.commands)) },
    row(
      .help, ["?"], "help: all commands, searched and run", "help", .program,
      "Shows every command with its keys and why it is not available here; typing searches, Enter runs."
    ) { browser, _ in browser.openHelp() },
    row(.quit, ["Q"], "quit from anywhere", "quit", .program, "Quits. Staged changes are on disk and stay staged.") {
      browser, _ in browser.quit()
    },
    row(
      .interrupt, ["^c"], "cancel what runs; otherwise quit", "cancel", .program,
      "Cancels what runs; with nothing running it quits."
    ) { browser, _ in browser.interrupt() },
    row(
      "mouse", ["g m"], "mouse on or off", "mouse", .program,
      "Switches the mouse off, so that the terminal selects text itself, or on."
    ) { browser, _ in browser.toggleMouse() },
    row("hud", [], "show key to paint times", "hud", .program, "Shows or hides measured times from key to paint.") {
      browser, _ in browser.session.latency = browser.session.latency == nil ? Latency() : nil
    },
    row(
      "record", [], "record keys to a file, or stop", "record", .program,
      argument: .init("FILE", isRequired: false),
      "Records what is typed, pasted and clicked from here on, for @ and, with FILE, as a script for --script."
    ) { browser, argument in browser.toggleRecording(argument) },
    row(
      "replay", ["@"], "replay the recorded keys", "replay", .program, "Does again what was recorded.",
      unless: .replaying
    ) { browser, _ in
      guard !browser.macro.isRecording else {
        browser.macro.leaveCommandOut()
        return browser.session.warn("keys are being recorded; :record stops that first")
      }
      browser.typeAhead = browser.macro.events.map { .init(event: $0, isReplayed: true) } + browser.typeAhead
    },
    row(.repaint, ["^l"], "repaint", "repaint", .program, "Paints the whole screen again.") { browser, _ in
      browser.session.emit(.repaint)
    },
    row(.suspend, ["^z"], "suspend", "suspend", .program, "Goes to the background of the shell; `fg` returns.") {
      browser, _ in browser.session.emit(.suspend)
    },
    row(
      .chartForm, ["g s"], "charts in braille, blocks or ASCII", "signs", .program,
      "Steps what charts are made of: braille dots, blocks, ASCII. Remembered per store."
    ) { browser, _ in browser.session.stepChartForm() },
    row(
      "tour", [], "a tour in six steps", "tour", .program, argument: .init("next", isRequired: false),
      "Leads through the browser in six steps: look, range, edit and review, history and undo, reindex, leave. Each step "
        + "ends when it is done; `:tour next` leaves it out, and `:tour` ends the tour."
    ) { browser, argument in browser.toggleTour(argument) },
  ]
}
