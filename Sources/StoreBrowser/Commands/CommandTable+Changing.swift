extension CommandTable {
  static let history: [CommandEntry] = [
    row(
      .storeHistory, ["g H"], "history of the store", "store history", .history, verb: "history",
      "Shows all commits of the store."),
    row(
      .travel, ["T"], "time-travel to a commit", "travel", .history, argument: .init("COMMIT", isRequired: false),
      "Puts the whole interface as of a commit: a number, `head~3`, a pin, or a time (\"Tuesday\", \"2 hours ago\"); in the "
        + "history, the selected commit. Esc returns."),
    row(
      .olderCommit, [","], "one commit older", "older", .history,
      "Steps the time travel to the next older commit; the selection stays on its record."),
    row(.newerCommit, ["."], "one commit newer", "newer", .history, "Steps the time travel to the next newer commit."),
    row(
      .difference, ["W"], "difference", "diff", .history, argument: .init("FROM TO", isRequired: false), verb: "diff",
      "Shows what differs: between the base set by v and here, without one between this commit and its parent, in the "
        + "table between two marked records."),
    row(
      .pickaxe, ["S"], "search values through the history", "pickaxe", .history, argument: .init("TEXT"),
      "Lists the commits in which a value with this text came or went."),
    row(
      .fold, [], "show or fold commits that changed no data", "fold", .history,
      "Shows or folds the commits that changed no data for a user."),
    row(
      .follow, ["F"], "follow the head on or off", "follow", .history,
      verb: "watch", "Follows other programs' commits as they come, or holds still and counts them."),
    row(
      .pin, [], "give the commit a name", "pin", .history, argument: .init("NAME"),
      "Pins the selected or shown commit under a name, which is accepted wherever a commit is."),
    row(
      .unpin, [], "remove a pin", "unpin", .history, argument: .init("NAME"), "Removes the name; the commit stays."),
  ]

  static let writing: [CommandEntry] = [
    row(
      .edit, ["e"], "edit the field", "edit", .write,
      "Opens the typed editor of the field. What is accepted is staged, not written."),
    row(
      .editExternally, ["E"], "edit in $EDITOR", "$EDITOR", .write, verb: "put",
      "Opens the value, the record or the marked records in $VISUAL or $EDITOR; comes back at line and column when it "
        + "does not parse. An empty file cancels."),
    row(
      .insert, ["i"], "insert a record, field or element", "insert", .write, verb: "put",
      "In the table stages a new record, in a record a new field or list element."),
    row(
      .duplicate, ["D"], "duplicate the record", "duplicate", .write,
      "Stages a copy of the record under a new identifier."),
    row(
      .paste, ["p"], "paste the copied record or value", "paste", .write,
      "Stages the record copied with yr as a new record; in a record, sets the field to the value copied with yy."),
    row(
      .deleteRecord, ["d d"], "stage the delete", "delete", .write, verb: "delete",
      "Stages the delete of the record, of all marked ones or of the range; in a record, of the field or element."),
    row(
      .valueMenu, ["C"], "value menu: null, default, empty, values seen", "value…", .write,
      "Sets the field to null, to an empty value or to one of the values seen in this column."),
    row(
      .moveUp, ["g k"], "move the list element up", "move up", .write,
      "Stages the element of a list one place nearer to its beginning."),
    row(
      .moveDown, ["g j"], "move the list element down", "move down", .write,
      "Stages the element of a list one place nearer to its end."),
    row(
      .leaveOut, ["x"], "unstage; leave a failing record out", "leave out", .write,
      "Takes the selected change out of what is staged; on the migration pane, leaves the failing record out."),
    row(
      .restoreRecord, ["r"], "restore the record", "restore", .write, verb: "restore",
      "Stages the record as it was at the selected commit, or at the commit travelled to."),
    row(
      .restoreField, ["c"], "restore the field", "restore field", .write,
      "Stages the field as it was at the selected commit."),
    row(
      .revert, ["R"], "revert the commit", "revert", .write, verb: "undo",
      "Reviews a commit that takes back the selected one and keeps later changes of other fields."),
    row(
      .restoreStore, [], "restore a datastore or the whole store to a commit", "restore all", .write,
      argument: .init("COMMIT [DATASTORE]"), verb: "restore",
      "Writes a new commit with the state of COMMIT, of one datastore or of the whole store, after a review."),
    row(
      .undo, ["u"], "undo", "undo", .write, verb: "undo",
      "With something staged takes the last change out again; otherwise reviews a commit that takes back the newest one."
    ),
    row(
      .redo, ["^r"], "redo", "redo", .write, verb: "redo",
      "With something staged brings the change back; otherwise reviews a commit that takes back the newest undo."),
    row(
      .review, ["w"], "review and commit", "commit", .write,
      "Shows all that is staged with its fields, index entries and checks; Enter asks for the name, Enter commits."),
    row(
      .set, [], "set a field of all shown or marked records", "set", .write, argument: .init("PATH = EXPR"),
      "Stages `PATH = EXPR` for every marked record, or else every record the table shows, after a preview."),
    row(
      .deleteShown, [], "delete all shown or marked records", "delete shown", .write,
      "Stages the delete of every marked record, or else of every record the filter shows, after a preview."),
    row(
      .compact, [], "rewrite the store without history that is not kept", "compact", .write, argument: .init("KEEP"),
      verb: "compact",
      "Shows the bytes before and after, and on Enter squashes the commits that KEEP leaves out: `all`, a number of "
        + "commits, or an age as `30d`, `12h` or `2w`. Pins and the head are always kept. It cannot be taken back."),
    row(
      .copyStore, [], "write a consistent copy of the store", "copy store", .write, argument: .init("PATH"),
      verb: "copy",
      "Writes the store with its history, up to the commit that is shown, to PATH; the store may be in use meanwhile."),
  ]

  static let migration: [CommandEntry] = [
    row(
      .warmUp, ["M"], "migration pane", "migrate", .migration,
      "Opens the migration pane: what the formats ask for, what runs here or in another process."),
    row(
      .retry, ["a"], "start or retry the migration", "retry", .migration,
      "Starts the migration, or runs it again with what was fixed or left out."),
    row(.log, ["L"], "log of the migration", "log", .migration, "Shows what the migration said, step by step."),
  ]

  static let program: [CommandEntry] = [
    row(
      .palette, [":"], "command line", "cmds", .program,
      "Runs a command by its name with arguments, or goes to a row: `:812`, `:50%`, `:+12`."),
    row(
      .help, ["?"], "help: all commands, searched and run", "help", .program,
      "Shows every command with its keys and why it is not available here; typing searches, Enter runs."),
    row(.quit, ["Q"], "quit from anywhere", "quit", .program, "Quits. What is staged is on disk and stays staged."),
    row(
      .interrupt, ["^c"], "cancel what runs; otherwise quit", "cancel", .program,
      "Cancels what runs; with nothing running it quits."),
    row(
      .mouse, ["g m"], "mouse on or off", "mouse", .program,
      "Switches the mouse off, so that the terminal selects text itself, or on."),
    row(.headsUp, [], "show key to paint times", "hud", .program, "Shows or hides measured times from key to paint."),
    row(
      .recordMacro, [], "record keys to a file, or stop", "record", .program,
      argument: .init("FILE", isRequired: false),
      "Records the keys typed from here on, for @ and, with FILE, as a script for --script."),
    row(.replay, ["@"], "replay the recorded keys", "replay", .program, "Types the recorded keys again."),
    row(.repaint, ["^l"], "repaint", "repaint", .program, "Paints the whole screen anew."),
    row(.suspend, ["^z"], "suspend", "suspend", .program, "Goes to the background of the shell; `fg` returns."),
  ]
}
