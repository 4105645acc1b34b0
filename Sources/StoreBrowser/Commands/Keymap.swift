package import TerminalKit

/// Which keys mean which command: the table's, with a person's changes.
package struct Keymap: Sendable, Hashable {
  private var commands: [[KeyChord]: Command] = [:]
  private var prefixes: Set<[KeyChord]> = []
  private var names: [Command: [String]] = [:]

  /// The keys of the command table.
  package static let standard = Keymap(bindings: [:])

  /// The keys of the command table, but for some commands others.
  package init(bindings: [Command: [String]]) {
    for entry in CommandTable.all {
      for key in bindings[entry.command] ?? entry.keys { bind(key, to: entry.command) }
    }
  }

  private mutating func bind(_ key: String, to command: Command) {
    guard let chords = KeyChord.sequence(key) else { return }
    commands[chords] = command
    names[command, default: []].append(key.replacing(" ", with: ""))
    for length in 1..<max(1, chords.count) { prefixes.insert(Array(chords.prefix(length))) }
  }

  /// What a sequence of keys means.
  package enum Meaning: Sendable, Hashable {
    case command(Command)
    /// More keys must follow.
    case prefix
    case nothing
  }

  package func meaning(of chords: [KeyChord]) -> Meaning {
    if let command = commands[chords] { return .command(command) }
    return prefixes.contains(chords) ? .prefix : .nothing
  }

  /// The keys of a command as people write them: `gg`, `^d`.
  package func keys(for command: Command) -> [String] { names[command] ?? [] }

  /// What may follow a prefix.
  func continuations(of prefix: [KeyChord]) -> [(key: String, command: Command)] {
    commands.filter { $0.key.count > prefix.count && Array($0.key.prefix(prefix.count)) == prefix }
      .map { ($0.key.dropFirst(prefix.count).map(\.description).joined(), $0.value) }
      .sorted { $0.0 < $1.0 }
  }
}
