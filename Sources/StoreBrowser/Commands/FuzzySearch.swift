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
    let scored = lines.compactMap { line in (known(line) ?? score(words(line), text)).map { (score: $0, line: line) } }
    return scored.sorted { $0.score < $1.score }.map(\.line)
  }

  private static func score(_ words: Words, _ text: String) -> Int? {
    let name = words.name.lowercased()
    if name == text { return 0 }
    if words.keys.contains(text) { return 1 }
    if name.hasPrefix(text) { return 2 }
    let title = words.title.lowercased()
    let (isInName, isInTitle) = (TextSearch.contains(name, text), TextSearch.contains(title, text))
    let nameWords = isInName ? name.split { !$0.isLetter && !$0.isNumber } : []
    if nameWords.contains(where: { $0.hasPrefix(text) }) { return 3 }
    if isInTitle, title.split(separator: " ").contains(where: { $0.hasPrefix(text) }) { return 4 }
    if isInName || isInTitle { return 5 }
    if words.group.lowercased().hasPrefix(text) { return 6 }
    if TextSearch.contains(words.help.lowercased(), text) { return 7 }
    var rest = Substring(text)
    for character in name where character == rest.first { rest.removeFirst() }
    return text.count >= 3 && rest.isEmpty ? 8 : nil
  }
}

extension FuzzySearch.Words {
  init(_ entry: CommandEntry) {
    self.init(
      name: entry.name, keys: entry.keys.map { $0.replacing(" ", with: "").lowercased() }, title: entry.title,
      group: entry.group.rawValue, help: entry.help)
  }
}
