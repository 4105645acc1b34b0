extension Verb {
  /// The browser itself: what `strata` does without a verb.
  package static let browse = Verb(
    "", [.optional("PATH"), .optional("DATASTORE"), .optional("ID")],
    [.at, .readOnly, .plain, .ascii, .configuration, .script, .size, .dumpScreen],
    summary: "Open the browser on a store.",
    details: """
      Without PATH it lists the stores of this directory, those opened lately, and the sample. A PATH that is \
      called like a verb is written ./info.
      """)

  /// Every verb, in the order of the manual.
  package static let all: [Verb] = [
    Verb(
      "demo", [.optional("PATH")],
      [
        Option(name: "--again", value: nil, summary: "Write the sample anew."),
        Option(
          name: "--cities", value: "FILE",
          summary: "Take another file of cities: JSON Lines, or one object keyed by identifier."),
        .script, .size, .dumpScreen,
      ],
      summary: "Open the browser on the sample store, which is written the first time.",
      details: "The sample lies in $XDG_DATA_HOME/strata/Atlas.strata, or at PATH."),
    Verb(
      "info", [.required("PATH")], [.json], summary: "Print what is in a store: datastores, indexes, commits, bytes."),
    Verb(
      "records", [.required("PATH"), .required("DATASTORE")],
      [
        Option(name: "--index", value: "NAME", summary: "Go along an index; without it, by identifier."),
        Option(name: "--equal", value: "V", summary: "Only entries of this value."),
        Option(name: "--from", value: "V", summary: "Begin at this value."),
        Option(name: "--above", value: "V", summary: "Begin after this value."),
        Option(name: "--below", value: "V", summary: "End before this value."),
        Option(name: "--through", value: "V", summary: "End with this value."),
        Option(name: "--descending", value: nil, summary: "The exact reverse order."),
        .filter,
        Option(
          name: "--sort", value: "FIELD[:desc]", summary: "In the order of a field; again for the next.", repeats: true),
        Option(name: "--limit", value: "N", summary: "At most N records."),
        Option(name: "--offset", value: "N", summary: "Leave out the first N."),
        Option(name: "--after", value: "CURSOR", summary: "Go on where a run with --limit stopped."),
        Option(name: "--count", value: nil, summary: "Print only how many there are."),
        Option(name: "--explain", value: nil, summary: "Print only how the records would be found."),
        .at, .json,
      ],
      summary: "Print the records of a datastore, one a line.",
      details: """
        Along an index that --index names a record is printed once for each of its entries, in the order of the entries.
        Without it records come by identifier, or as --sort says, and the indexes that serve --where are found by \
        themselves; --explain tells which, its first word being INDEX, UNION, INTERSECT or SCAN.
        """),
    Verb(
      "get", [.required("PATH"), .required("DATASTORE"), .required("ID")], [.at, .json], summary: "Print one record."),
    Verb(
      "history", [.required("PATH"), .optional("DATASTORE"), .optional("ID")],
      [
        Option(name: "--field", value: "PATH", summary: "Only the values of one field of the record."),
        Option(name: "--limit", value: "N", summary: "At most N commits."), .json,
      ],
      summary: "Print the commits of a store, a datastore, a record or a field, newest first."),
    Verb(
      "diff", [.required("PATH"), .required("FROM"), .required("TO")], [.json],
      summary: "Print what differs between two commits."),
    Verb(
      "export", [.required("PATH"), .optional("DATASTORE")],
      [
        Option(
          name: "--format", value: "FORMAT", summary: "The form of the output; jsonl without it.",
          choices: ["jsonl", "json", "csv"]),
        .filter, .at,
      ],
      summary: "Print whole datastores, or the records of one that a filter keeps."),
    Verb(
      "watch", [.required("PATH")], [.json],
      summary: "Print each new commit, and what the writer is busy with, until interrupted."),
    Verb(
      "import", [.required("PATH"), .required("DATASTORE"), .required("FILE")],
      [
        Option(name: "--id", value: "FIELD", summary: "The field that is the identifier."),
        Option(
          name: "--index", value: "NAME=FIELDPATH[:KIND]",
          summary: "An index over a field: one-to-one, one-to-many (where none is given), many-to-many or many-to-one.",
          repeats: true),
        Option(name: "--direct", value: "NAME", summary: "Let this index lead straight to the record.", repeats: true),
        Option(name: "--new-only", value: nil, summary: "Refuse identifiers that exist."),
        Option(name: "--dry-run", value: nil, summary: "Read and check everything, write nothing."),
        Option(name: "--name", value: "TEXT", summary: "The name of the commit."),
        .json,
      ],
      summary: "Put the documents of a file into a datastore, in one commit.",
      details: "JSON Lines, a JSON array, a JSON object keyed by identifier, CSV or TSV, as the file begins."),
    Verb(
      "put", [.required("PATH"), .required("DATASTORE"), .optional("FILE")],
      [Option(name: "--name", value: "TEXT", summary: "The name of the commit."), .json],
      summary: "Put JSON documents from a file or standard input, in one commit."),
    Verb(
      "delete", [.required("PATH"), .required("DATASTORE"), Verb.Operand(name: "ID", kind: .repeatedOrNone)],
      [.filter, Option(name: "--name", value: "TEXT", summary: "The name of the commit."), .json],
      summary: "Delete records by identifier or by a filter, in one commit."),
    Verb(
      "undo", [.required("PATH"), .optional("COMMIT")], [.json],
      summary: "Take back the newest commit that is not taken back yet, by a new commit."),
    Verb("redo", [.required("PATH")], [.json], summary: "Take back the newest undo, by a new commit."),
    Verb(
      "restore", [.required("PATH"), .required("COMMIT"), .optional("DATASTORE"), .optional("ID")], [.json],
      summary: "Bring back the state of a commit, of the store, a datastore or a record, by a new commit."),
    Verb(
      "pin", [.required("PATH"), .optional("NAME"), .optional("COMMIT")],
      [Option(name: "--remove", value: nil, summary: "Remove the name."), .json],
      summary: "Give a commit a name; without a NAME, print the names."),
    Verb(
      "copy", [.required("PATH"), .required("NEW")], [.at, .json],
      summary: "Write a consistent copy of a store that may be in use."),
    Verb(
      "compact", [.required("PATH")],
      [
        Option(
          name: "--keep", value: "all|N|AGE",
          summary: "The history to keep: all, the last N commits (only setting a name is none), or an age."),
        Option(name: "--dry-run", value: nil, summary: "Say what it would do, and do nothing."),
        .json,
      ],
      summary: "Rewrite a store without what no kept commit needs."),
    Verb(
      "verify", [.required("PATH")], [.json], summary: "Check everything in a store and name what is wrong."),
    Verb(
      "salvage", [.required("PATH"), .required("NEW")], [.json],
      summary: "Write a new store from what is readable of a damaged one."),
    Verb(
      "convert", [.required("FOLDER"), .required("PATH")],
      [Option(name: "--no-history", value: nil, summary: "Only the newest state."), .json],
      summary: "Make a store from a folder of the original CodableDatastore library."),
    Verb(
      "help", [.optional("VERB")], summary: "Print how the program, or one verb, is used."),
    Verb(
      "man", [.optional("PAGE")], summary: "Print a manual page: strata.1 or strata.5."),
    Verb(
      "completions", [.required("SHELL")], summary: "Print the completions for bash, zsh or fish."),
  ]

  /// The verb of a name, or nil.
  package static func named(_ name: String) -> Verb? { all.first { $0.name == name } }
}

extension Verb.Option {
  static let json = Self(name: "--json", value: nil, summary: "Print JSON Lines instead of text for people.")
  static let filter = Self(
    name: "--where", value: "EXPR", summary: "Only records that a condition keeps, as population > 1000000.")
  static let at = Self(
    name: "--at", value: "COMMIT",
    summary: "As of a commit: a number, head, head~3, a pin's name, or a time (the newest commit not later).")
  static let readOnly = Self(name: "--read-only", value: nil, summary: "Change nothing, whatever is asked.")
  static let plain = Self(name: "--plain", value: nil, summary: "Print panes as lines, for braille and pipes.")
  static let ascii = Self(name: "--ascii", value: nil, summary: "Draw with ASCII characters only.")
  static let configuration = Self(
    name: "--print-config", value: nil, summary: "Print the configuration in force and where each line comes from.")
  static let script = Self(name: "--script", value: "FILE", summary: "Play keys from a file, without a terminal.")
  static let size = Self(
    name: "--size", value: "WxH", summary: "The size of the screen for --script; 80x24 without it.")
  static let dumpScreen = Self(
    name: "--dump-screen", value: "FILE", summary: "Write the last screen of --script there.")
}
