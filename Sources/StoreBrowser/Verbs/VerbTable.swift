import StrataModel

extension Verb {
  /// The browser itself: what `strata` does without a verb.
  package static let browse = Verb(
    "", [.optional("PATH"), .optional("DATASTORE"), .optional("ID")],
    [.at, .identifier, .encoding, .readOnly, .plain, .ascii, .configuration, .script, .size, .dumpScreen],
    summary: "Open the browser on a store.",
    details: """
      Without PATH it lists the stores of this directory, those opened lately, and the sample, on a terminal to \
      choose from, with a preview. A PATH that is \
      called like a verb is written ./info. A PATH that is a file of CSV, TSV, JSON or JSON Lines is opened as a store \
      in memory; the file itself is only written when asked for, and then only what was edited changes in it. \
      A PATH ssh://[user@]host[:port]/path, or ssh://host/~/path, is a store on another computer, where strata must be \
      installed: it is read and edited there, over one line of ssh.
      """)

  /// Every verb, in the order of the manual.
  package static let all: [Verb] = [
    Verb(
      "demo", [.optional("PATH")],
      [
        .flag("--again", "Write the sample again."),
        Option("--cities", "FILE", "Take another file of cities: JSON Lines, or one object keyed by identifier.")
          .without("--entities"),
        .flag(
          "--entities",
          "The countries as records without a type, which refer to their capitals, neighbours and currencies."),
        .script, .size, .dumpScreen,
      ],
      summary: "Open the browser on the sample store, which is written the first time.",
      details: "The sample lies in $XDG_DATA_HOME/strata/Atlas.strata (Countries.strata with --entities), or at PATH, "
        + "which may be the URL of an empty schema on a server."),
    Verb(
      "info", [.required("PATH")], [.encoding, .json],
      summary: "Print what is in a store: datastores, indexes, commits, bytes."),
    Verb(
      "records", [.required("PATH"), .optional("DATASTORE")],
      [
        Option("--index", "NAME", "Go along an index; without it, by identifier."),
        Option("--equal", "V", "Only entries of this value.").without("--from", "--above", "--below", "--through"),
        Option("--from", "V", "Begin at this value.").without("--above"),
        Option("--above", "V", "Begin after this value."),
        Option("--below", "V", "End before this value.").without("--through"),
        Option("--through", "V", "End with this value."),
        .flag("--descending", "The exact reverse order."),
        .filter,
        Option("--sort", "FIELD[:desc]", "In the order of a field; again for the next.", repeats: true),
        Option("--limit", "N", "At most N records."),
        Option("--offset", "N", "Leave out the first N."),
        Option("--after", "CURSOR", "Go on where a run with --limit stopped.")
          .without("--count", "--distinct", "--group-by"),
        .flag("--count", "Print only how many there are; with --group-by, in each group."),
        Option("--select", "FIELDS", "Print only these fields, with tabs between them.", repeats: true)
          .without("--distinct", "--group-by"),
        Option("--distinct", "FIELDS", "Print each value that fields have once.", repeats: true).without("--group-by"),
        Option("--group-by", "FIELDS", "Print a line for each value of fields.", repeats: true),
        .figure("--sum", "The sum of a field in each group."),
        .figure("--mean", "The mean of a field in each group."),
        .figure("--least", "The least value of a field in each group."),
        .figure("--greatest", "The greatest value of a field in each group."),
        .flag("--explain", "Print only how the records would be found."),
        .encoding, .at, .json, .strict,
      ],
      summary: "Print the records of a datastore, one a line.",
      details: """
        Without DATASTORE the only one of the store is meant, as for a file. \
        Along an index that --index names a record is printed once for each of its entries, in the order of the entries.
        Without it records come by identifier, or as --sort says, and the indexes that serve --where are found by \
        themselves; --explain tells which, its first word being INDEX, UNION, INTERSECT or SCAN.
        FIELDS are names or paths with commas between them. Groups are sorted by their fields, or by a column that --sort \
        names: --group-by country --count --sum population --sort 'sum(population):desc' --limit 10.
        """),
    Verb(
      "get", [.required("PATH"), .required("DATASTORE"), .required("ID")], [.encoding, .at, .json],
      summary: "Print one record."),
    Verb(
      "history", [.required("PATH"), .optional("DATASTORE"), .optional("ID")],
      [
        Option("--field", "PATH", "Only the values of one field of the record."),
        Option("--limit", "N", "At most N commits."), .json,
      ],
      summary: "Print the commits of a store, a datastore, a record or a field, newest first."),
    Verb(
      "blame", [.required("PATH"), .required("DATASTORE"), .required("ID")], [.at, .json],
      summary: "Print for every field of a record the commit that last wrote it.",
      details: """
        A list or an object comes before what it holds, with the newest commit that changed anything in it. Lists are \
        compared as lists: an element that came or went leaves the others with their commits.
        """),
    Verb(
      "describe", [.required("PATH"), .optional("DATASTORE")], [.filter, .encoding, .at, .json],
      summary:
        "Print what is in each field: types, nulls, distinct values, quartiles, sum, mean, the commonest values.",
      details:
        "Beyond 100,000 distinct values of a field that no index has, their number is estimated (~), and the counts of the "
        + "commonest are lower bounds; beyond 1,048,576 numbers the quartiles are those of a sample."),
    Verb(
      "diff", [.required("PATH"), .required("FROM"), .required("TO")], [.json],
      summary: "Print what differs between two commits."),
    Verb(
      "export", [.required("PATH"), .optional("DATASTORE")],
      [
        Option(
          "--format", "FORMAT", "The form of the output; jsonl without it.", choices: ["jsonl", "json", "csv", "tsv"]),
        .flag("--versions", "Print each record with its identifier and the version that wrote it, which import reads."),
        .flag("--entities", "Print entities in their interchange form.").only(with: "--compact", "--history", "--at"),
        .flag("--compact", "Of entities, bare values where nothing is lost by it.").with("--entities"),
        .flag("--history", "Print all commits, for import --history; of entities, with what each property was before.")
          .only(with: "--entities", "--compact", "--since", "--format", "--encoding", "--at", "--strict"),
        Option("--since", "COMMIT", "Of a history, only what came after a commit.").with("--history"),
        .flag("--interchange", "Print the store without its history as one JSON document, for import --interchange.")
          .only(with: "--encoding", "--at", "--strict"),
        .filter, .encoding, .at, .strict,
      ],
      summary: "Print whole datastores, the records of one that a filter keeps, or a store with its history.",
      details: """
        With --history, and without --entities, the commits of head are printed as JSON Lines, each with its changes: \
        what strata fetch reads from another store.
        """),
    Verb(
      "references", [.required("PATH"), .required("DATASTORE"), .required("ID")],
      [
        Option(
          "--through", "INDEX", "Only by the indexes of this name, whether they are declared as references or not."),
        .at, .json,
      ],
      summary: "Print which records refer to a record.",
      details: "A line for each reference: datastore, identifier, index. Found by the indexes; no record is read."),
    Verb(
      "watch", [.required("PATH")], [.json],
      summary: "Print each new commit, and what the writer is busy with, until interrupted."),
    Verb(
      "warm", [.required("PATH"), .optional("DATASTORE")], [.json],
      summary: "Rebuild the indexes that are stale, and say which of them need the app.",
      details: """
        An index that was marked stale is rebuilt if its rule is declared or proven, one commit each. Progress is \
        printed once a second: in plain lines on a terminal, as JSON Lines otherwise. The status is 1 if an index \
        needs the app or a record does not fit.
        """),
    Verb(
      "import", [.required("PATH"), .optional("DATASTORE"), .optional("FILE")],
      [
        Option(
          "--history", "FILE",
          "Take in commits that export --history printed; head moves where nothing of it is lost."
        ).only(with: "--json"),
        Option("--interchange", "FILE", "Make the datastores that export --interchange printed, in one commit.")
          .only(with: "--name", "--json"),
        .identifier, .encoding, .version,
        Option(
          "--type", "COLUMN=TYPE", "Read a column of cells as text, integer, number, bool or json.", repeats: true),
        .flag("--merge", "Of records that exist, change only the fields that the file has.")
          .without("--replace", "--new-only"),
        .flag("--replace", "Replace records that exist, also by less than they have.").without("--new-only"),
        Option(
          "--index", "NAME=FIELDPATH[:KIND]",
          "An index over a field: one-to-one, many-to-one, many-to-many or one-to-many. Without KIND lists get many-to-many.",
          repeats: true),
        Option("--direct", "NAME", "Let this index lead straight to the record.", repeats: true),
        .flag("--new-only", "Refuse identifiers that exist."),
        .flag("--dry-run", "Read and check everything, write nothing."),
        .flag("--entities", "Take in entities in their interchange form.").only(with: "--name", "--json"),
        .compress,
        Option("--name", "TEXT", "The name of the commit."),
        .json,
      ],
      summary: "Put the documents of a file into a datastore, in one commit.",
      details: """
        JSON Lines, a JSON array, a JSON object keyed by identifier, CSV or TSV, as the file begins. Without --id the \
        identifier is that of the datastore; of a new one a unique field called id, _id, uuid, guid, key, code or identifier, or \
        ending in id. A document without one is refused alone. Cells are read as the types that the records of the datastore have: a \
        fraction among whole numbers is refused, unless --type says that the column has numbers. There " 7 ", +7 and .5 are numbers; \
        1,000, (7) and 7% are refused, because their meaning differs from program to program. A record that is changed keeps its \
        version; a new one takes the newest, which its members must fit. A file that lacks a field of the records that it would \
        replace is refused without --merge or --replace. If nothing is read of a file that has contents, the \
        status is 1. On a server --history goes on from head, or is refused: nothing lies beside head there.
        """),
    Verb(
      "put", [.required("PATH"), .required("DATASTORE"), .optional("FILE")],
      [
        .encoding, .version, Option("--name", "TEXT", "The name of the commit."),
        .flag("--inbox", "Leave them in the inbox, for the owner of the store to commit."),
        .json,
      ],
      summary: "Put JSON documents from a file or standard input, in one commit.",
      details: """
        Each document replaces the record of its identifier, or is a new record; of several with one identifier the last counts. \
        The cells of a CSV or TSV file are read as the types that the records have. A file without documents is refused: status 1.
        """),
    Verb(
      "inbox", [.required("PATH")],
      [
        .flag("--apply", "Apply the letters that wait, each as a commit."),
        Option("--drop", "LETTER", "Delete a letter that waits or was refused.").only(with: "--json"),
        Option("--again", "LETTER", "Apply a letter that was refused, as if it were sent again."),
        .json,
      ],
      summary: "Print the letters of other programs that wait for the owner of a store, or were refused.",
      details: """
        A letter holds changes that a program leaves without opening the store; it lies in the folder inbox of the store. \
        --apply needs the rules of all indexes, as every edit without the app does; it ends with 1 if a letter was refused or \
        still waits.
        """),
    Verb(
      "delete", [.required("PATH"), .required("DATASTORE"), Verb.Operand(name: "ID", kind: .repeatedOrNone)],
      [.filter, Option("--name", "TEXT", "The name of the commit."), .json],
      summary: "Delete records by identifier or by a filter, in one commit.",
      details:
        "A filter that compares a field with a name that no record has is refused: a text without quotes may be meant."),
    Verb(
      "undo", [.required("PATH"), .optional("COMMIT")], [.json],
      summary: "Take back the newest commit that is not taken back yet, by a new commit."),
    Verb("redo", [.required("PATH")], [.json], summary: "Take back the newest undo, by a new commit."),
    Verb(
      "restore", [.required("PATH"), .required("COMMIT"), .optional("DATASTORE"), .optional("ID")], [.json],
      summary: "Bring back the state of a commit, of the store, a datastore or a record, by a new commit."),
    Verb(
      "pin", [.required("PATH"), .optional("NAME"), .optional("COMMIT")],
      [.flag("--remove", "Remove the name."), .json],
      summary: "Give a commit a name; without a NAME, print the names."),
    Verb(
      "remote", [.required("PATH"), .optional("add|remove"), .optional("NAME"), .optional("LOCATION")], [.json],
      summary: "Print the other copies of a store, or add or remove one.",
      details: """
        LOCATION is the path of another store, as seen from the folder that this one lies in, ssh://[user@]host[:port]/path, \
        host:path, folder:PATH, a folder that something else carries, or the URL of a store on PostgreSQL, without a password, which PGPASSWORD \
        or ~/.pgpass give. Remotes are kept beside the store and are not part of its history. \
        Printed with each is how many commits this store is ahead and behind of what was fetched last.
        """),
    Verb(
      "fetch", [.required("PATH"), .optional("NAME")],
      [.flag("--pins", "Bring the other side's names too, as remotes/NAME/PIN."), .json],
      summary: "Bring the commits of other copies that are missing here, without merging them.",
      details: "Without NAME, of all remotes. Their heads are named remotes/NAME, and can be looked at like any commit."
    ),
    Verb(
      "merge", [.required("PATH"), .optional("NAME|COMMIT")],
      [
        .ours, .theirs, .later, .unrelated, .dryRun,
        .flag("--step-back", "Put head back over a merge that no other copy has.").only(with: "--json"), .json,
      ],
      summary: "Merge what was fetched into head, field by field.",
      details: """
        If both sides changed the same field of a record, nothing is written, the conflicts are printed and the status \
        is 1, unless --ours, --theirs or --later says how to settle them. Without NAME, all remotes are merged. While a merge was \
        not sent, --step-back puts head back to what it was before; undo takes the other side's work back everywhere. An index or a \
        version that both sides defined otherwise keeps no record from being merged: ours stays, or with --theirs theirs. --json \
        tells each record that changes (put, delete, merge) on a line, and each conflict with its three values.
        """),
    Verb(
      "push", [.required("PATH"), .optional("NAME")], [.json],
      summary: "Send commits to other copies, and move their head where nothing of theirs is lost."),
    Verb(
      "exchange", [.required("PATH"), Verb.Operand(name: "NAME", kind: .repeatedOrNone)],
      [.ours, .theirs, .later, .unrelated, .json],
      summary: "Fetch from other copies, merge, and push to them: afterwards all have the same.",
      details: "Without NAME, with all remotes. Fetched commits that a conflict keeps from being merged are kept."),
    Verb(
      "clone", [.required("LOCATION"), .required("PATH")], [.json],
      summary: "Make another copy of a store, with its history, that exchanges with it as the remote origin."),
    Verb(
      "serve", [.required("PATH")],
      [.flag("--read-only", "Send, and take nothing in.")],
      summary: "Answer another strata on standard input and output, as ssh starts it.",
      details: "A store on a server is served with --read-only alone."),
    Verb(
      "copy", [.required("PATH"), .required("NEW")], [.at, .json],
      summary: "Write a consistent copy of a store that may be in use.",
      details: """
        PATH or NEW may be the URL of a store on PostgreSQL, postgres://USER@HOST/DATABASE?schema=NAME: the copy has \
        the whole history then, and the schema of NEW must be empty or not there.
        """),
    Verb(
      "compact", [.required("PATH"), Verb.Operand(name: "DATASTORE", kind: .repeatedOrNone)],
      [
        .compress.without("--no-compress", "--dry-run"),
        .flag("--no-compress", "Store the values of the datastores, or of all, as they are.").without("--dry-run"),
        Option(
          "--keep", "all|N|AGE",
          "The history to keep: all, the last N commits (only setting a name is none), an age, or '100 or 30d', '100 and 30d'."
        ),
        .flag("--dry-run", "Say what it would do, and do nothing."),
        .flag("--no-deltas", "Write whole tree nodes, which programs from before node deltas read."),
        .json,
      ],
      summary: "Rewrite a store without what no kept commit needs.",
      details: """
        A DATASTORE is given with --compress or --no-compress, which stay in force for later compactions. Programs that do \
        not know compressed values refuse the store from then on. Datastores with less than 256 KiB of values stay as they are.
        """),
    Verb(
      "verify", [.required("PATH")], [.json], summary: "Check everything in a store and name what is wrong."),
    Verb(
      "salvage", [.required("PATH"), .required("NEW")], [.json],
      summary: "Write a new store from what is readable of a damaged one."),
    Verb(
      "convert", [.required("FOLDER"), .required("PATH")],
      [.flag("--no-history", "Only the newest state."), .json],
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
  static let compress = flag("--compress", "Compress the values of the datastores, to about a third.")
  static let identifier = Self("--id", "FIELD", "The field of a file that tells its documents apart.")
  static let encoding = Self(
    "--encoding", "NAME",
    "The encoding of a file that does not say it: latin1, utf-16le or utf-16be.",
    choices: TextEncoding.allCases.map(\.rawValue))
  static let version = Self("--version", "V", "The version of new records; the newest without it.")
  static let json = flag("--json", "Print JSON Lines instead of text for people.")
  static let filter = Self("--where", "EXPR", "Only records that a condition keeps, as population > 1000000.")
  static let at = Self(
    "--at", "COMMIT", "As of a commit: a number, head, head~3, a pin's name, or a time (the newest commit not later).")
  static let strict = flag(
    "--strict", "End at the first record that cannot be read; without it the others are printed, and the status is 3.")
  static let ours = flag("--ours", "Settle conflicts as this store has it.").without("--theirs", "--later")
  static let theirs = flag("--theirs", "Settle conflicts as the other store has it.").without("--later")
  static let later = flag("--later", "Settle conflicts as the later change of the field has it.")
  static let unrelated = flag("--unrelated", "Also where the two have no commit in common.")
  static let dryRun = flag("--dry-run", "Say what it would do, and do nothing.")
  static let readOnly = flag("--read-only", "Change nothing, whatever is asked.")
  static let plain = flag("--plain", "Print panes as lines, for braille and pipes.")
  static let ascii = flag("--ascii", "Draw with ASCII characters only.")
  static let configuration = flag("--print-config", "Print the configuration in force and where each line comes from.")
    .only()
  static let script = Self("--script", "FILE", "Play keys from a file, without a terminal.").without("--plain")
  static let size = Self("--size", "WxH", "The size of the screen for --script or --plain; 80x24 without it.")
    .with("--script", "--plain")
  static let dumpScreen = Self("--dump-screen", "FILE", "Write the last screen of --script there.").with("--script")

  /// An option that computes a figure over the records of a group.
  static func figure(_ name: String, _ summary: String) -> Self {
    Self(name, "FIELDS", summary, repeats: true).with("--group-by")
  }
}
