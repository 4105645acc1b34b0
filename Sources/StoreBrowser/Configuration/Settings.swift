package import StrataTerminal

/// The settings from the config file, or their defaults.
package struct Settings: Sendable, Hashable {
  /// Other keys for commands, as chords separated by spaces.
  package var bindings: [Command: [String]] = [:]
  /// Keys that replace others, for keyboards without those.
  package var aliases: [KeyChord: KeyChord] = [:]
  /// Nil chooses it by the abilities of the terminal.
  package var theme: Theme.Name?
  /// The styles of a theme file, and the name of the file.
  var roles: [Role: Style] = [:]
  package var themeFile: String?
  package var mouse = true
  package var ascii = false
  package var follows = true
  /// Stores that are opened read-only, by the end of their path.
  package var readOnly: [String] = []
  /// The first columns of datastores, by document path.
  package var columns: [String: [String]] = [:]

  /// Whether a store is to be opened read-only.
  package func isReadOnly(_ path: String) -> Bool {
    // A shell completes the name of a store with a slash.
    readOnly.contains { path.hasSuffix($0) || $0.hasSuffix("/") && (path + "/").hasSuffix($0) }
  }
}

/// An invalid line of the config file; the rest of the file is used.
package struct SettingsProblem: Error, Sendable, Hashable, CustomStringConvertible {
  package var file: String
  /// From 1.
  package var line: Int
  package var reason: String

  package var description: String { "\(file):\(line): \(reason)" }
}

/// A setting, as the manual lists it.
package struct SettingEntry: Sendable, Hashable {
  /// The text before the equals sign: `bind COMMAND`.
  package var name: String
  /// The possible values.
  package var values: String
  package var help: String

  /// All settings, in the order of the manual.
  package static let all: [SettingEntry] = [
    SettingEntry(
      name: "theme", values: "auto, dark, light, contrast, plain, standard, refined, or NAME",
      help:
        "The colours; auto chooses by those that the terminal has and by its background. NAME is a file themes/NAME beside this "
        + "file, with lines like `selected = black on 229 bold` and `like = dark`. NO_COLOR wins."),
    SettingEntry(name: "mouse", values: "on, off", help: "Whether wheel and clicks are heard; gm switches."),
    SettingEntry(name: "ascii", values: "on, off", help: "Borders and signs in ASCII only."),
    SettingEntry(
      name: "follow", values: "on, off", help: "Whether other programs' commits are shown as they come; F switches."),
    SettingEntry(
      name: "read-only", values: "PATH",
      help: "Stores whose path ends so are opened read-only. May stand several times."),
    SettingEntry(
      name: "columns DATASTORE", values: "FIELD, FIELD…",
      help: "The first columns of a datastore, until they are arranged by hand."),
    SettingEntry(
      name: "bind COMMAND", values: "KEYS KEYS…",
      help: "The keys of a command, instead of its own: gg, ^d, PageDown, Space. Nothing takes its keys away."),
    SettingEntry(
      name: "alias KEY", values: "KEY",
      help: "A key that stands for another, for keyboards without it: alias й = q."),
  ]
}
