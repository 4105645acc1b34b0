import StrataExpressions

/// Finds things by a few typed letters.
enum FuzzySearch {
  /// The words by which something is found.
  struct Words: Sendable, Hashable {
    var name: String
    var keys: [String] = []
    var title = ""
    var group = ""
    var help = ""
  }

  /// All commands that fit, best first.
  static func entries(matching text: String) -> [CommandEntry] {
    sorted(CommandTable.all, by: text) { Words($0) }
  }

  /// Those of some lines that fit, best first, and equal ones in the same order: a key is the text, the name or a word of it begins so, the
  /// title holds it, the letters occur in order.
  ///
  /// - Parameter known: The score of a line that was found by another way; less is better.
  static func sorted<Line>(
    _ lines: [Line], by text: String, words: (Line) -> Words, known: (Line) -> Int? = { _ in nil }
  ) -> [Line] {
    let text = text.lowercased().trimmed
    guard !text.isEmpty else { return lines }
    let scored = lines.enumerated().compactMap { position, line in
      (known(line) ?? score(words(line), text)).map { (score: $0, position: position, line: line) }
    }
    return scored.sorted { $0.score != $1.score ? $0.score < $1.score : $0.position < $1.position }.map(\.line)
  }

  private static func score(_ words: Words, _ text: String) -> Int? {
    let name = words.name.lowercased()
    if name == text { return 0 }
    if words.keys.contains(text) { return 1 }
    if name.hasPrefix(text) { return 2 }
    if name.split(whereSeparator: { !$0.isLetter && !$0.isNumber }).contains(where: { $0.hasPrefix(text) }) { return 3 }
    let title = words.title.lowercased()
    if title.split(separator: " ").contains(where: { $0.hasPrefix(text) }) { return 4 }
    if TextSearch.contains(name, text) || TextSearch.contains(title, text) { return 5 }
    if words.group.lowercased().hasPrefix(text) { return 6 }
    if TextSearch.contains(words.help.lowercased(), text) { return 7 }
    return text.count >= 3 && isSubsequence(text, of: name) ? 8 : nil
  }

  private static func isSubsequence(_ text: String, of name: String) -> Bool {
    var rest = Substring(text)
    for character in name where character == rest.first { rest.removeFirst() }
    return rest.isEmpty
  }
}

extension FuzzySearch.Words {
  init(_ entry: CommandEntry) {
    self.init(
      name: entry.name, keys: entry.keys.map { $0.replacing(" ", with: "").lowercased() }, title: entry.title,
      group: entry.group.rawValue, help: entry.help)
  }
}
