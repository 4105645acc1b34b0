package import StrataTerminal

/// Which keys mean which command: the table's, with a person's changes. A key may mean one thing in a pane and another
/// elsewhere; the row that names the pane wins.
package struct Keymap: Sendable, Hashable {
  private var commands: [[KeyChord]: [Command]] = [:]
  private var prefixes: Set<[KeyChord]> = []
  private var names: [Command: [String]] = [:]
  private let aliases: [KeyChord: KeyChord]

  /// The keys of the command table, with other keys for some commands, and keys that stand for others.
  package init(bindings: [Command: [String]] = [:], aliases: [KeyChord: KeyChord] = [:]) {
    self.aliases = aliases
    let chosen = CommandTable.all.filter { bindings[$0.command] != nil }
    for entry in chosen {
      for key in bindings[entry.command] ?? [] { bind(key, to: entry.command) }
    }
    for entry in CommandTable.all where bindings[entry.command] == nil {
      for key in entry.keys {
        if let other = chosen.first(where: { hides(key, of: entry.command, by: $0.command) }) {
          hidden.append("\(key.replacing(" ", with: "")) is \(other.name) now, and no longer \(entry.name)")
        } else {
          bind(key, to: entry.command)
        }
      }
    }
  }

  /// A sentence for each command that lost a key to the user's bindings.
  package private(set) var hidden: [String] = []

  /// Whether a key of a command cannot be reached any more: it, or a beginning of it, was given to another.
  private func hides(_ key: String, of command: Command, by other: Command) -> Bool {
    guard let chords = KeyChord.sequence(key), CommandTable.canMeet(command, other) else { return false }
    return (1...max(1, chords.count)).contains { commands[Array(chords.prefix($0))]?.contains(other) == true }
  }

  private mutating func bind(_ key: String, to command: Command) {
    guard let chords = KeyChord.sequence(key) else { return }
    commands[chords, default: []].append(command)
    names[command, default: []].append(key.filter { $0 != " " })
    for length in 1..<max(1, chords.count) { prefixes.insert(Array(chords.prefix(length))) }
  }

  /// The meaning of a sequence of keys.
  package enum Meaning: Sendable, Hashable {
    case command(Command)
    /// More keys must follow.
    case prefix
    case nothing
  }

  /// The key that a key stands for, where keys are commands.
  func unaliased(_ chord: KeyChord) -> KeyChord { aliases[chord] ?? chord }

  /// The meaning of typed keys while a pane has the focus.
  package func meaning(of chords: [KeyChord], in pane: PaneID) -> Meaning {
    let chords = chords.map(unaliased)
    if let command = Self.choice(of: commands[chords] ?? [], in: pane) { return .command(command) }
    return prefixes.contains(chords) ? .prefix : .nothing
  }

  private static func choice(of commands: [Command], in pane: PaneID) -> Command? {
    guard commands.count > 1 else { return commands.first }
    func contexts(_ command: Command) -> [PaneID] { CommandTable.entry(command).contexts }
    return commands.first { contexts($0).contains(pane) } ?? commands.first { contexts($0).isEmpty } ?? commands.first
  }

  /// The keys of a command as people write them: `gg`, `^d`.
  package func keys(for command: Command) -> [String] { names[command] ?? [] }

  /// The keys that may follow a prefix, and their commands.
  func continuations(of prefix: [KeyChord], in pane: PaneID) -> [(key: String, command: Command)] {
    let prefix = prefix.map(unaliased)
    return commands.filter { $0.key.count > prefix.count && Array($0.key.prefix(prefix.count)) == prefix }
      .compactMap { chords, commands in
        Self.choice(of: commands, in: pane).map {
          (chords.dropFirst(prefix.count).map(\.description).joined(), $0)
        }
      }
      .sorted { $0.0 < $1.0 }
  }
}
