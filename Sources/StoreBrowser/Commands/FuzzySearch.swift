/// Finds commands by what is typed.
enum FuzzySearch {
  /// All commands that fit, best first: a key is it, the name or a word of it begins so, the title holds it, the letters occur in order.
  static func entries(matching text: String) -> [CommandEntry] {
    sorted(CommandTable.all, by: text, entry: \.self)
  }

  /// Those of some lines whose command fits, in the same order.
  static func sorted<Line>(_ lines: [Line], by text: String, entry: (Line) -> CommandEntry) -> [Line] {
    let text = text.lowercased().trimmed
    guard !text.isEmpty else { return lines }
    let scored = lines.enumerated().compactMap { position, line in
      score(entry(line), text).map { (score: $0, position: position, line: line) }
    }
    return scored.sorted { $0.score != $1.score ? $0.score < $1.score : $0.position < $1.position }.map(\.line)
  }

  private static func score(_ entry: CommandEntry, _ text: String) -> Int? {
    if entry.name == text { return 0 }
    if entry.keys.contains(where: { $0.replacing(" ", with: "").lowercased() == text }) { return 1 }
    if entry.name.hasPrefix(text) { return 2 }
    if entry.name.split(separator: "-").contains(where: { $0.hasPrefix(text) }) { return 3 }
    let title = entry.title.lowercased()
    if title.split(separator: " ").contains(where: { $0.hasPrefix(text) }) { return 4 }
    if entry.name.contains(text) || title.contains(text) { return 5 }
    if entry.group.rawValue.lowercased().hasPrefix(text) { return 6 }
    if entry.help.lowercased().contains(text) { return 7 }
    return text.count >= 3 && isSubsequence(text, of: entry.name) ? 8 : nil
  }

  private static func isSubsequence(_ text: String, of name: String) -> Bool {
    var rest = Substring(text)
    for character in name where character == rest.first { rest.removeFirst() }
    return rest.isEmpty
  }
}
