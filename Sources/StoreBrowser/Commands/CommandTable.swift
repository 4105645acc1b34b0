/// One row of the command table: all that keys, palette, help, footer, man page and completions need of a command, its
/// panes, the reason why it may not work now, and its effect.
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
  /// The panes in which it means something; empty is everywhere.
  package var contexts: [PaneID]
  /// Why the command does not work now, whatever pane has the focus; nil if it always works.
  var refusal: Refusal?
  /// Runs the command if the pane with the focus does not handle it.
  var handler: (@Sendable (inout Browser, String?) -> Void)?

  package var name: String { command.rawValue }
}

/// The argument of a command that is typed after `:` or written in a script.
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
  case exchange = "Exchange"
  case migration = "Migration"
  case program = "Program"
}

/// The one table of commands.
package enum CommandTable {
  package static func entry(_ command: Command) -> CommandEntry {
    byName[command.rawValue] ?? row(command, [], command.rawValue, command.rawValue, .program, "")
  }

  static func isKnown(_ name: String) -> Bool { byName[name] != nil }

  package static let all: [CommandEntry] = {
    let lists = [
      moving, places, table, record, index, history, writing, migration, program,
    ]
    let entries = lists.flatMap(\.self) + PaneTable.all.flatMap(\.commands)
    return CommandGroup.allCases.flatMap { group in entries.filter { $0.group == group } }
  }()

  /// Whether one pane may get both commands, so that one key cannot mean both.
  static func canMeet(_ first: Command, _ second: Command) -> Bool {
    let (mine, others) = (Set(entry(first).contexts), Set(entry(second).contexts))
    // A letter means the same in all panes but those that have keys of their own.
    func isOrdinary(_ contexts: Set<PaneID>) -> Bool { contexts.isEmpty || !contexts.isSubset(of: panesWithOwnKeys) }
    if isOrdinary(mine), isOrdinary(others) { return true }
    return !mine.intersection(others).isDisjoint(with: panesWithOwnKeys)
  }

  private static let panesWithOwnKeys = Set(PaneTable.all.filter { $0.hasOwnKeys || $0.make == nil }.map(\.id))

  private static let byName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  /// A row.
  ///
  /// - Parameters:
  ///   - contexts: the panes in which it means something; empty is everywhere.
  ///   - refusal: why it does not work now, whatever pane has the keys.
  ///   - handler: runs the command if the pane with the focus does not handle it.
  static func row(
    _ command: Command, _ keys: [String], _ title: String, _ short: String, _ group: CommandGroup,
    argument: CommandArgument? = nil, verb: String? = nil, _ help: String, in contexts: [PaneID] = [],
    unless refusal: Refusal? = nil,
    handler: (@Sendable (inout Browser, String?) -> Void)? = nil
  ) -> CommandEntry {
    CommandEntry(
      command: command, title: title, short: short, group: group, keys: keys, argument: argument, verb: verb,
      help: help, contexts: contexts, refusal: refusal, handler: handler)
  }

  /// The row of the command that goes to the pane with a digit.
  static func pane(_ digit: Int, _ name: String, short: String? = nil, _ help: String) -> CommandEntry {
    row(
      Command(stringLiteral: "pane-\(digit)"), ["\(digit)"], "pane \(digit): \(name)", short ?? name, .places, help
    ) { browser, _ in browser.goToPane(digit) }
  }
}
