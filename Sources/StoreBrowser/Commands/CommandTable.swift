/// One row of the command table: all that keys, palette, help, footer, man page and completions need of a command.
package struct CommandEntry: Sendable {
  package var command: Command
  /// One line, as help shows it: `history of the selection`.
  package var title: String
  /// One or two words for the footer.
  package var short: String
  package var group: CommandGroup
  /// Default key sequences, chords parted by spaces: `g g`, `^d`, `PageDown`.
  package var keys: [String]
  package var argument: CommandArgument?
  /// The headless verb of `strata` that does the same, if there is one.
  package var verb: String?
  /// A sentence or two for the manual.
  package var help: String

  package var name: String { command.rawValue }
}

/// What a command takes when it is typed after `:` or written in a script.
package struct CommandArgument: Sendable, Hashable {
  /// As the manual writes it: `EXPR`, `NAME`.
  package var placeholder: String
  package var isRequired: Bool

  package init(_ placeholder: String, isRequired: Bool = true) {
    self.placeholder = placeholder
    self.isRequired = isRequired
  }
}

/// The chapters of help and manual.
package enum CommandGroup: String, CaseIterable, Sendable {
  case move = "Move"
  case places = "Go to"
  case table = "Table"
  case record = "Record"
  case index = "Index"
  case history = "History"
  case write = "Change"
  case migration = "Migration"
  case program = "Program"
}

/// The one table of commands.
package enum CommandTable {
  package static func entry(_ command: Command) -> CommandEntry { byCommand[command] ?? missing(command) }

  /// A command typed by its name, or nil.
  package static func command(named name: String) -> Command? { Command(rawValue: name) }

  package static let all: [CommandEntry] = CommandGroup.allCases.flatMap(entries)

  static func entries(of group: CommandGroup) -> [CommandEntry] {
    switch group {
    case .move: moving
    case .places: places
    case .table: table
    case .record: record
    case .index: index
    case .history: history
    case .write: writing
    case .migration: migration
    case .program: program
    }
  }

  private static let byCommand = Dictionary(all.map { ($0.command, $0) }, uniquingKeysWith: { first, _ in first })

  private static func missing(_ command: Command) -> CommandEntry {
    CommandEntry(
      command: command, title: command.rawValue, short: command.rawValue, group: .program, keys: [], help: "")
  }

  static func row(
    _ command: Command, _ keys: [String], _ title: String, _ short: String, _ group: CommandGroup,
    argument: CommandArgument? = nil, verb: String? = nil, _ help: String
  ) -> CommandEntry {
    CommandEntry(
      command: command, title: title, short: short, group: group, keys: keys, argument: argument, verb: verb,
      help: help)
  }
}
