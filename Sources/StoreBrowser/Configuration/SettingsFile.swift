import StrataDocuments
import StrataFoundation
import StrataModel
import StrataSystem
import StrataTerminal

/// The config file: lines of `NAME = VALUE`, with `#` before comments.
package struct SettingsFile: Sendable {
  package var path: String
  package private(set) var settings = Settings()
  package private(set) var problems: [SettingsProblem] = []
  /// Which line each setting is from, for `--print-config`.
  private var origins: [String: Int] = [:]
  private var isPresent = false

  /// `$XDG_CONFIG_HOME/strata/config`, or the same under `~/.config`.
  package static func path(environment: [String: String]) -> String? {
    if let base = environment["XDG_CONFIG_HOME"], !base.isEmpty { return "\(base)/strata/config" }
    if let home = environment["HOME"], !home.isEmpty { return "\(home)/.config/strata/config" }
    return nil
  }

  /// Reads a file; one that is not there says nothing.
  package init(path: String) {
    self.path = path
    isPresent = access(path, F_OK) == 0
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      // Otherwise a store that it protects would be opened for writing without a word.
      if isPresent { problems = [SettingsProblem(file: path, line: 1, reason: "the file cannot be read")] }
      return
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      problems = [SettingsProblem(file: path, line: 1, reason: "the file is not UTF-8")]
      return
    }
    parse(text)
  }

  package init(path: String, text: String) {
    self.path = path
    isPresent = true
    parse(text)
  }

  private mutating func parse(_ text: String) {
    for (number, line) in TextLines.split(text).enumerated() {
      let content = Self.withoutComment(line).trimmed
      guard !content.isEmpty else { continue }
      do {
        try read(content, line: number + 1)
      } catch {
        problems.append(SettingsProblem(file: path, line: number + 1, reason: error.reason))
      }
    }
    let others = CommandTable.all.filter { settings.bindings[$0.command] == nil }
    for entry in CommandTable.all {
      guard let keys = settings.bindings[entry.command] else { continue }
      for other in others where CommandTable.canMeet(other.command, entry.command) {
        guard let clash = Self.clash(of: keys, with: other.keys, isHeld: true) else { continue }
        let line = origins["bind \(entry.name)"] ?? 1
        problems.append(SettingsProblem(file: path, line: line, reason: "\(clash) \(other.name)"))
      }
    }
  }

  /// The beginning of a sentence about keys that cannot be typed beside those of another command, because one is the other's beginning.
  ///
  /// - Parameter isHeld: Whether the other command has its keys from the table, of which it loses the same ones and longer ones.
  private static func clash(of keys: [String], with taken: [String], isHeld: Bool = false) -> String? {
    for key in keys {
      for other in taken {
        guard let mine = KeyChord.sequence(key), let others = KeyChord.sequence(other) else { continue }
        if mine.count > others.count, mine.starts(with: others) { return "“\(key)” begins with “\(other)”, which is" }
        if !isHeld, mine == others { return "“\(key)” is" }
        if !isHeld, others.starts(with: mine) { return "“\(key)” begins “\(other)”, which is" }
      }
    }
    return nil
  }

  private struct Refusal: Error { var reason: String }

  /// A `#` begins a comment at the start of a line or behind two spaces, so that it can be bound as a key; between quotes it does not. A
  /// quote that stands alone is itself a key or a part of a path.
  private static func withoutComment(_ line: String) -> String {
    if line.trimmed.hasPrefix("#") { return "" }
    let places = line.ranges(of: "  # ").map(\.lowerBound)
    func hasOpenQuote(_ text: Substring) -> Bool { !text.count { $0 == "\"" }.isMultiple(of: 2) }
    let comment = places.first { !hasOpenQuote(line[..<$0]) } ?? (hasOpenQuote(line[...]) ? places.first : nil)
    return comment.map { String(line[..<$0]) } ?? line
  }

  /// A text that may be in quotes.
  private static func unquoted(_ text: String) -> String {
    text.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
  }

  private mutating func read(_ line: String, line number: Int) throws(Refusal) {
    guard let equals = line.firstIndex(of: "=") else { throw Refusal(reason: "expected NAME = VALUE") }
    let words = line[..<equals].split(whereSeparator: \.isWhitespace).map(String.init)
    let value = String(line[line.index(after: equals)...]).trimmed
    guard let name = words.first else { throw Refusal(reason: "the name before “=” is missing") }
    // The key of a datastore may have spaces.
    let rest = Self.unquoted(words.dropFirst().joined(separator: " "))
    switch (name, rest.isEmpty ? nil : rest) {
    case ("theme", nil): try theme(value)
    case ("mouse", nil): settings.mouse = try Self.flag(value)
    case ("ascii", nil): settings.ascii = try Self.flag(value)
    case ("follow", nil): settings.follows = try Self.flag(value)
    case ("read-only", nil): settings.readOnly.append(try Self.text(value))
    case ("columns", let datastore?):
      let names = RecordQuery.names(in: value).filter { !$0.isEmpty }
      settings.columns[datastore] = names.map { (try? DocumentPath(named: $0))?.description ?? $0 }
    case ("bind", let command?): try bind(command, value)
    case ("alias", let key?): try alias(key, value)
    case ("columns", nil), ("bind", nil), ("alias", nil): throw Refusal(reason: "\(name) what?")
    default:
      let known = SettingEntry.all.map { $0.name.split(separator: " ")[0] }.joined(separator: ", ")
      throw Refusal(reason: "there is no setting “\(words.joined(separator: " "))”; there are \(known)")
    }
    origins[rest.isEmpty ? name : "\(name) \(rest)"] = number
  }

  private mutating func bind(_ name: String, _ value: String) throws(Refusal) {
    guard let command = Command(rawValue: name) else {
      let near = FuzzySearch.entries(matching: name).first.map { "; perhaps \($0.name)" } ?? ""
      throw Refusal(reason: "there is no command “\(name)”\(near)")
    }
    let keys = Self.keys(value)
    for key in keys where KeyChord.sequence(key) == nil { throw Refusal(reason: "“\(key)” is not a key") }
    for (other, taken) in settings.bindings where other != command && CommandTable.canMeet(other, command) {
      if let clash = Self.clash(of: keys, with: taken) {
        throw Refusal(reason: "\(clash) bound to \(other.rawValue) already")
      }
    }
    settings.bindings[command] = keys
  }

  private mutating func alias(_ key: String, _ value: String) throws(Refusal) {
    guard let from = KeyChord(key) else { throw Refusal(reason: "“\(key)” is not a key") }
    guard let to = KeyChord(value) else { throw Refusal(reason: "“\(value)” is not a key") }
    settings.aliases[from] = to
  }

  private mutating func theme(_ value: String) throws(Refusal) {
    settings.theme = Theme.Name(rawValue: value)
    guard value != "auto", settings.theme == nil else { return }
    let place = (path.split(separator: "/", omittingEmptySubsequences: false).dropLast() + ["themes", value[...]])
      .joined(separator: "/")
    guard !value.contains("/"), let data = try? Data(contentsOf: URL(filePath: place)) else {
      let names = (["auto"] + Theme.Name.allCases.map(\.rawValue)).joined(separator: ", ")
      throw Refusal(reason: "“\(value)” is not a theme; there are \(names), and no file \(place)")
    }
    let file = ThemeFile(parsing: String(decoding: data, as: UTF8.self))
    (settings.theme, settings.roles, settings.themeFile) = (file.base, file.roles, value)
    problems += file.problems.map { SettingsProblem(file: place, line: $0.line, reason: $0.reason) }
  }

  private static func flag(_ value: String) throws(Refusal) -> Bool {
    switch value {
    case "on": return true
    case "off": return false
    default: throw Refusal(reason: "“\(value)” is neither on nor off")
    }
  }

  private static func text(_ value: String) throws(Refusal) -> String {
    let text = unquoted(value)
    guard !text.isEmpty else { throw Refusal(reason: "the value is missing") }
    return text
  }

  /// Keys parted by spaces, with or without commas.
  private static func keys(_ value: String) -> [String] {
    value.split(separator: " ").map { $0.count > 1 && $0.hasSuffix(",") ? String($0.dropLast()) : String($0) }
  }

  // MARK: Printing

  /// The configuration in force, each line with where it comes from; what it prints can be read back.
  package var printed: String {
    var lines = ["# \(path)\(isPresent ? "" : " (not there)")"]
    func line(_ name: String, _ value: String) {
      let origin = origins[name].map { "line \($0)" } ?? "default"
      let text = "\(name) = \(value)"
      lines.append(text + String(repeating: " ", count: max(2, 40 - text.count)) + " # \(origin)")
    }
    line("theme", settings.themeFile ?? settings.theme?.rawValue ?? "auto")
    line("mouse", settings.mouse ? "on" : "off")
    line("ascii", settings.ascii ? "on" : "off")
    line("follow", settings.follows ? "on" : "off")
    for path in settings.readOnly {
      let isPlain = path == path.trimmed && Self.withoutComment(path) == path && Self.unquoted(path) == path
      line("read-only", isPlain ? path : "\"\(path)\"")
    }
    for (datastore, columns) in settings.columns.sorted(by: { $0.key < $1.key }) {
      line("columns \(datastore)", columns.map { String($0.dropFirst()) }.joined(separator: ", "))
    }
    for (from, to) in settings.aliases.sorted(by: { $0.key.description < $1.key.description }) {
      line("alias \(from)", to.description)
    }
    let keymap = Keymap(bindings: settings.bindings)
    for entry in CommandTable.all {
      let keys = settings.bindings[entry.command] ?? entry.keys
      // A command that has lost a key to another one is left as it is.
      guard keymap.keys(for: entry.command).count == keys.count else { continue }
      line("bind \(entry.name)", keys.map { $0.replacing(" ", with: "") }.joined(separator: " "))
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
