extension CommandTable {
  static let moving: [CommandEntry] = [
    row(.down, ["j", "Down"], "move down", "move", .move, "Moves the selection one line down."),
    row(.up, ["k", "Up"], "move up", "move", .move, "Moves the selection one line up."),
    row(
      .left, ["h", "Left"], "move left, fold", "left", .move,
      "Moves one column to the left; folds a branch of the record tree."),
    row(
      .right, ["l", "Right"], "move right, unfold", "right", .move,
      "Moves one column to the right; unfolds a branch of the record tree."),
    row(.first, ["g g", "Home"], "first line", "first", .move, "Goes to the first line of the pane."),
    row(.last, ["G", "End"], "last line", "last", .move, "Goes to the last line of the pane."),
    row(.halfDown, ["^d"], "half a page down", "½ down", .move, "Moves half a page down."),
    row(.halfUp, ["^u"], "half a page up", "½ up", .move, "Moves half a page up."),
    row(.pageDown, ["PageDown", "^f"], "page down", "page", .move, "Moves one page down."),
    row(.pageUp, ["PageUp", "^b"], "page up", "page", .move, "Moves one page up."),
    row(
      .goTo, [], "go to a row: 812, 50%, +12, -12", "go to", .move, argument: .init("POSITION"),
      "Goes to a row by number (`:812`), by part (`:50%`) or relative to here (`:+12`, `:-12`).",
      unless: .withoutDatastore),
    row(
      .nextRecord, ["J"], "next record", "next", .move,
      "From inside the record pane, shows the next record of the table.", in: [.record, .table]
    ) { browser, _ in browser.table.list.move(by: 1, count: browser.table.count(browser.session)) },
    row(
      "previous-record", ["K"], "previous record", "previous", .move,
      "From inside the record pane, shows the previous record of the table.", in: [.record, .table]
    ) { browser, _ in browser.table.list.move(by: -1, count: browser.table.count(browser.session)) },
  ]

  static let places: [CommandEntry] = [
    pane(1, "stores and indexes", short: "stores", "Goes to the datastores and their indexes."),
    pane(2, "table", "Goes to the table of records."),
    pane(3, "record", "Goes to the record."),
    pane(4, "history", "Goes to the history; opens it where it is not shown."),
    pane(5, "index", "Goes to the index of the table: keys, numbers of entries, histogram, range."),
    pane(6, "migration", "Goes to the migration: what is being warmed up."),
    row(.nextPane, ["Tab"], "next pane", "panes", .places, "Goes to the next pane on the screen.") { browser, _ in
      browser.goToNextPane()
    },
    row(.larger, ["+"], "larger pane", "larger", .places, "Makes the pane larger: normal, half, full screen.") {
      browser, _ in browser.mode = ScreenMode(rawValue: (browser.mode.rawValue + 1) % 3) ?? .normal
    },
    row("smaller", ["_"], "smaller pane", "smaller", .places, "Makes the pane smaller again.") { browser, _ in
      browser.mode = ScreenMode(rawValue: (browser.mode.rawValue + 2) % 3) ?? .normal
    },
    row(
      .open, ["Enter"], "open, drill in, follow a reference", "open", .places,
      "Opens what is selected: the table of a datastore or index, the record, a branch, a long value, the changes of a "
        + "commit, the fields of a change; follows an identifier of another datastore."),
    row(
      .escape, ["Esc"], "back out one step", "back", .places,
      "Takes back one layer a press: prompt or overlay, running work, view, pane, marks, filter, range, time travel. Never "
        + "quits."
    ) { browser, _ in browser.escape() },
    row(
      .close, ["q"], "close the view; on the main screen quit", "close", .places,
      "Closes the topmost view, and quits on the main screen. Staged changes stay staged on disk."
    ) { browser, _ in browser.close() },
    row(
      "back", ["^o"], "back to the place before", "back", .places, "Goes back through the places visited.",
      unless: .withoutDatastore
    ) { browser, _ in browser.goBack() },
    row(
      "forward", ["g i"], "forward again", "forward", .places, "Goes forward again through the places visited.",
      unless: .withoutDatastore
    ) { browser, _ in if let jump = browser.jumps.forward() { browser.go(to: jump) } },
    row(
      .setBookmark, ["m"], "set a bookmark: m and a letter", "bookmark", .places, argument: .init("LETTER"),
      "Sets a bookmark on the selected record under a letter; kept per store."
    ) { browser, argument in browser.setBookmark(argument) },
    row(
      .goToBookmark, ["'"], "go to a bookmark: ' and a letter", "to bookmark", .places, argument: .init("LETTER"),
      "Goes to the bookmark of a letter."
    ) { browser, argument in browser.goToBookmark(argument) },
    row(
      .referrers, ["g r"], "references here", "referrers", .places,
      "Lists the records that refer here, by the indexes that lead to this datastore. If none is known to (`:reference`), lists every "
        + "index that has an entry with this identifier.", in: [.table, .record]
    ) { browser, _ in browser.findReferrers() },
  ]

  /// The panes whose lines are rows of values.
  private static let lists: [PaneID] = [.difference, .pickaxe] + rowLists
  /// The lists that are made from the table's rows.
  static let rowLists: [PaneID] = [.frequency, .describe, .group, .pivot, .transpose]

  static let table: [CommandEntry] = [
    row(
      .mark, ["Space"], "mark or unmark", "mark", .table,
      "Marks the selected record (●). Marked records are what copy, export, delete and bulk edits work on.",
      in: [.table]),
    row(
      .range, ["v"], "start or end a range", "range", .table,
      "In the table, marks from here to where the selection goes; in the history, sets the base of a difference.",
      in: [.table, .history, .plot]),
    row(
      .search, ["/"], "search; on an indexed field a seek", "find", .table, argument: .init("TEXT"),
      "Searches from the selection on. In a table ordered by a text index, `/Sai` seeks to the first key that begins so; "
        + "otherwise the records are scanned, which Esc cancels. A capital letter in TEXT makes case count, `\"Bern\"` finds "
        + "whole values and `/^San/` is a pattern, `/^san/i` in either case. If no value has TEXT, the cursor goes to the "
        + "column of that name. `/` and `N` is the search backwards.",
      in: [.table, .index, .history, .record] + lists),
    row(
      .searchColumn, ["g /"], "search this column only", "find here", .table, argument: .init("TEXT"),
      "Searches as `/` does, but only the values of the column under the cursor; `n` and `N` too.", in: [.table]),
    row(
      .searchNext, ["n"], "next match", "next", .table, "Goes to the next match; in a merge to the next open conflict.",
      in: [.table, .history, .record, .merge] + lists),
    row(
      .searchPrevious, ["N"], "previous match", "previous", .table,
      "Goes to the previous match; in a merge to the open conflict before.",
      in: [.table, .history, .record, .merge] + lists),
    row(
      .filter, ["f"], "filter; = for an index range, ! to invert", "filter", .table, argument: .init("EXPR"),
      verb: "records",
      "Filters the table: `population > 1000000 and name ^= \"San\"`; `!EXPR` inverts; `= 1000 ..< 2000` is a range of the "
        + "index that orders the table. Empty takes the filter away.", unless: .withoutDatastore
    ) { browser, argument in browser.setFilter(argument ?? "") },
    row(
      "conditions", [], "how conditions are written", "conditions", .table,
      "Shows every form of a condition with an example; `?` in the filter's prompt does the same."
    ) { browser, _ in browser.present(TextOverlay(conditions: browser.session.theme)) },
    row(
      .filterLike, ["&"], "filter to rows like this cell", "like this", .table,
      "Filters to the records with the same value in this column.", in: [.table]),
    row(
      .sort, ["o"], "sort by this column", "sort", .table, argument: .init("PATH[:desc], …", isRequired: false),
      "Sorts by the column, or by the fields that are named: `:sort population:desc, name`. At once where an index has the "
        + "order, otherwise keys are gathered in the background. A range of another index stays.", in: [.table, .group]),
    row(
      .sortReverse, ["O"], "sort by this column in reverse", "reverse", .table,
      argument: .init("PATH", isRequired: false), "Sorts by the column in descending order.", in: [.table, .group]),
    row(
      .sortFurther, ["g o"], "sort by this column too", "then by", .table, argument: .init("PATH", isRequired: false),
      "Sorts by this column where the columns before are equal; again on the same column turns it around.",
      in: [.table]),
    row(
      "explain", [], "how the filter and the order are answered", "explain", .table,
      "Shows the plan: which index leads with which range and how many entries, what is tested on each record, and "
        + "whether keys are sorted, as `strata records --explain` does. The browser also finds out from which fields "
        + "undeclared indexes are made; for one run of the verb, a scan is quicker than that.", in: [.table],
      unless: .withoutDatastore
    ) { browser, _ in browser.explain() },
    row(
      .frequency, ["#"], "frequency table of this column", "frequency", .table,
      argument: .init("PATH", isRequired: false),
      "Counts the distinct values of the column, from an index where there is one; Enter filters to the value.",
      in: [.table, .record, .describe]
    ) { browser, argument in browser.openFrequency(argument) },
    row(
      .hideColumn, ["-"], "hide the column; in a plot farther away", "hide", .table,
      "Hides the column, remembered per store; in a plot shows twice as much of both fields.", in: [.table, .plot]),
    row(
      .unhideColumns, ["="], "show hidden columns; in a plot all points", "unhide", .table,
      "Shows all hidden columns again; in a plot all points.", in: [.table, .plot]),
    row(.narrowColumn, ["<"], "narrower column", "narrower", .table, "Makes the column narrower.", in: [.table]),
    row(.widenColumn, [">"], "wider column", "wider", .table, "Makes the column wider.", in: [.table]),
    row(
      .freezeColumn, ["z"], "freeze columns to here", "freeze", .table,
      "Keeps the columns up to this one in sight; again on the same column lets them go.", in: [.table]),
    row(
      .columnLeft, ["g <"], "move the column left", "column left", .table, "Moves the column one place to the left.",
      in: [.table]),
    row(
      .columnRight, ["g >"], "move the column right", "column right", .table,
      "Moves the column one place to the right.", in: [.table]),
    row(
      "undo-view", ["U"], "take the last change of the view back", "view back", .table,
      "Takes back the last change of the filter, the order, the range, or the arrangement, form and computation of columns; "
        + "again the change before. No record is changed.", in: [.table]
    ) { browser, _ in browser.undoViewChange() },
    row(
      .nameView, [], "name the view and keep it under VIEWS", "name view", .table, argument: .init("NAME"),
      "Keeps the filter, range, order, columns and limit of the table under a name; they stand under VIEWS from then on.",
      in: [.table]
    ) { browser, argument in browser.nameView((argument ?? "").trimmed) },
    row(
      "forget-view", [], "forget a named view", "forget view", .table, argument: .init("NAME"),
      "Forgets a named view of this datastore."
    ) { browser, argument in browser.forgetView(argument?.trimmed) },
    row(
      "format", ["g f"], "how the column's values are written", "format", .table,
      argument: .init("FORMAT", isRequired: false),
      "Chooses how the values of the column are written: plain, thousands, bytes, dateFromSeconds, "
        + "dateFromMilliseconds, duration, hex, check; dates as local or relative; `escaped` shows what cannot be seen in a text; `label` where the field leads to another record: `JP → Japan`. "
        + "Numbers from 10,000 on have separators unless `plain` is chosen or the field holds identifiers, references or dates. "
        + "Remembered per store.", in: [.table]
    ) { browser, argument in browser.chooseFormat(argument) },
    row(
      .computedColumn, ["g ="], "compute a column", "compute", .table,
      argument: .init("NAME = EXPR"),
      "Adds a column that is computed from each record: `density = population / area`, `full = first + \" \" + last`, "
        + "`size = if(population > 1M, \"large\", \"small\")`; with lower, upper, trim, length, replace and date. It can be "
        + "sorted, filtered and grouped by, which reads all records, and is exported. A value from null is null; a cell that "
        + "cannot be computed says why. On a computed column the key changes it; NAME alone takes it away.",
      in: [.table], unless: .withoutDatastore
    ) { browser, argument in browser.computeColumn(argument ?? "") },
    row(
      .join, [], "join columns of another datastore", "join", .table, argument: .init("FIELD FIELD, …"),
      "Adds columns with fields of the record to which a field leads: `:join countrycode name, population`. Null stands where "
        + "that record or its field is missing. `home = countrycode name` calls the column `home.name`. They can be sorted, "
        + "filtered and grouped by, which reads all records, and are exported. NAME alone takes them away.",
      in: [.table], unless: .withoutDatastore
    ) { browser, argument in browser.joinColumns(argument ?? "") },
    row(
      "query", ["g q"], "edit the view as text in $EDITOR", "query", .table, verb: "records",
      "Opens the view of the table as text in $VISUAL or $EDITOR: condition, range, order, selected fields, group and limit, with the "
        + "plan as a comment, and the computed and joined columns that they name. The saved text is applied. A mistake opens the "
        + "text again at its line. With `name` the view is kept under VIEWS. An empty file cancels.",
      in: [.table, .group], unless: .withoutDatastore
    ) { browser, _ in browser.openQuery() },
  ]

  static let record: [CommandEntry] = [
    row(
      .form, ["t"], "tree, JSON, hex", "form", .record, "Steps the record pane from tree to JSON to hex.", in: [.record]
    ),
    row(
      .history, ["H"], "history of the selection", "history", .record, verb: "history",
      "Shows the commits that changed what is selected: the datastore, the record, or the field. In the history pane steps "
        + "from the store to the datastore, the record and the field, and follows the selection from then on.",
      unless: .withoutDatastore
    ) { browser, _ in browser.showHistory(browser.session.datastore.map { .datastore($0) } ?? .store) },
    row(
      .blame, ["b"], "blame fields", "blame", .record,
      "Shows for every field the commit that last wrote it, and the field's values over time; again shows the same of the "
        + "record before the commit of the selected field.", in: [.table, .record]
    ) { browser, _ in
      browser.focusPane(.record)
      browser.deliver(.blame, argument: nil, to: .record)
    },
    row(
      .copyValue, ["y y"], "copy the value", "copy", .record,
      "Copies the value to the clipboard by way of the terminal (OSC 52).",
      in: [
        .table, .record, .index, .history, .difference, .frequency, .pickaxe, .describe, .group,
        .pivot, .transpose,
      ]
    ) { browser, _ in browser.copyFromRecord(.copyValue) },
    row(
      .copyPath, ["y p"], "copy the path", "copy path", .record, "Copies the path of the field: `.authors[0]`.",
      in: [.table, .record, .difference, .transpose]
    ) { browser, _ in browser.copyFromRecord(.copyPath) },
    row(
      .copyKey, ["y k"], "copy the key", "copy key", .record,
      "Copies the identifier, or the key of the index; in the index pane the Swift range.",
      in: [.table, .record, .index, .history, .difference, .frequency, .pickaxe]),
    row(
      .copyRecord, ["y r"], "copy the record as JSON", "copy record", .record, verb: "get",
      "Copies the record as JSON; with marks, all marked records, one a line.", in: [.table, .record]
    ) { browser, _ in browser.copyFromRecord(.copyRecord) },
    row(
      .scalars, ["g a"], "the Unicode scalars of the cell", "scalars", .record,
      "Lists the scalars of the text under the cursor, also those that cannot be shown.", in: [.table, .record]
    ) { browser, _ in browser.showScalars() },
    row(
      .export, ["s"], "write or save what is shown to a file", "export", .record,
      argument: .init("FILE", isRequired: false), verb: "export",
      "Writes the marked records, or else all that the table shows, to FILE: `.jsonl`, `.json`, `.csv` or `.tsv` by its ending. "
        + "In other lists it writes their lines.",
      unless: .withoutDatastore.or(.running(.export))
    ) { browser, argument in browser.export(argument ?? "") },
    row(
      "reference", [], "say where a field leads", "reference", .record,
      argument: .init("FIELD DATASTORE"),
      "Says that a field of this datastore holds identifiers of another, where no index declares it: `:reference "
        + "countrycode Country`. The record then shows where it leads, Enter follows, and `gr` finds the records that refer. Without "
        + "DATASTORE it leads nowhere again. Kept by this browser, per store; the store is not changed.",
      in: [.table, .record], unless: .withoutDatastore
    ) { browser, argument in browser.setReference(argument) },
    row(
      "label", [], "the field that records are called by", "label", .record,
      argument: .init("FIELD", isRequired: false),
      "Chooses the field that stands beside the identifier wherever a record of this datastore is named; without FIELD "
        + "it is the name, title, label or first text. Kept by this browser, per store.",
      in: [.table, .record], unless: .withoutDatastore
    ) { browser, argument in browser.setLabel(argument) },
  ]

  static let index: [CommandEntry] = [
    row(
      .lowerBound, ["("], "the range begins at this key", "from here", .index,
      "Sets the lower bound of the index range at the key under the cursor.", in: [.table, .index]),
    row(
      .upperBound, [")"], "the range ends at this key", "to here", .index,
      "Sets the upper bound of the index range at the key under the cursor, which stays inside.", in: [.table, .index]),
    row(
      .verify, ["V"], "verify the index or the store", "verify", .index, verb: "verify",
      "Compares the index with the records, in the background: entries without a record, entries that are missing.",
      unless: .running(.verify)
    ) { browser, _ in browser.verify() },
    row(
      .addIndex, [], "add an index", "add index", .index, argument: .init("NAME=PATH[:KIND]"),
      "Adds an index over a field, as one commit that the migration pane shows. KIND is one-to-one, one-to-many (where "
        + "none is given), many-to-many or many-to-one.", unless: .writing.or(.running(.warmUp))
    ) { browser, argument in browser.changeIndex(.addIndex, argument) },
    row(
      .rebuildIndex, [], "rebuild the index", "rebuild", .index, argument: .init("NAME", isRequired: false),
      "Rebuilds an index from the records: without NAME the one that orders the table.",
      unless: .writing.or(.running(.warmUp))
    ) { browser, argument in browser.changeIndex(.rebuildIndex, argument) },
    row(
      .dropIndex, [], "drop an index", "drop index", .index, argument: .init("NAME"),
      "Drops an index, as a commit; the records stay.", unless: .writing.or(.running(.warmUp))
    ) { browser, argument in browser.changeIndex(.dropIndex, argument) },
  ]
}
