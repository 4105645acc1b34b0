import DatastoreModel
import TerminalKit

/// One line that is typed at the foot of the screen: a command, a search, a filter, a name.
struct Prompt: Sendable {
  enum Kind: Sendable, Hashable {
    /// `:`, with commands and positions.
    case palette
    /// The argument of a command.
    case argument(Command)

    var label: String {
      switch self {
      case .palette: ":"
      case .argument(.search): "/"
      case .argument(let command): "\(CommandTable.entry(command).name) "
      }
    }
  }

  var kind: Kind
  var field: TextField
  var problem: String?
  /// Where in the text the problem is, from 1.
  var problemColumn: Int?
  var hint = ""
  /// What was typed at this prompt before, newest last.
  var history: [String]
  private var historyPlace: Int?
  private var draft = ""
  /// Commands that the typed name may become.
  private(set) var suggestions: [CommandEntry] = []
  var choice: Int?

  init(_ kind: Kind, text: String = "", history: [String] = [], hint: String = "") {
    self.kind = kind
    self.history = history
    self.hint = hint
    field = TextField(text)
    suggest()
  }

  mutating func insert(_ text: String) {
    field.insert(text.replacing("\n", with: " "))
    changed()
  }

  /// Edits the line; nil where the key ends it or is for the browser.
  mutating func apply(_ chord: KeyChord) -> Bool {
    switch chord.description {
    case "Up", "^p":
      if kind == .palette, choice != nil { moveChoice(-1) } else { recall(-1) }
    case "Down", "^n":
      if kind == .palette, choice != nil || historyPlace == nil { moveChoice(1) } else { recall(1) }
    case "Tab": complete()
    default:
      guard field.apply(chord) else { return false }
      changed()
    }
    return true
  }

  private mutating func changed() {
    problem = nil
    problemColumn = nil
    historyPlace = nil
    choice = nil
    suggest()
  }

  private mutating func recall(_ step: Int) {
    guard !history.isEmpty else { return }
    if historyPlace == nil { draft = field.text }
    let place = (historyPlace ?? history.count) + step
    if place >= history.count {
      historyPlace = nil
      field.set(draft)
    } else {
      historyPlace = max(0, place)
      field.set(history[max(0, place)])
    }
    suggest()
  }

  private mutating func moveChoice(_ step: Int) {
    guard !suggestions.isEmpty else { return }
    let next = (choice ?? (step > 0 ? -1 : 0)) + step
    choice = next < 0 ? nil : min(suggestions.count - 1, next)
  }

  /// Takes the chosen or the first suggestion into the line.
  mutating func complete() {
    guard kind == .palette, let entry = choice.map({ suggestions[$0] }) ?? suggestions.first else { return }
    field.set(entry.name + (entry.argument == nil ? "" : " "))
    choice = nil
    suggest()
  }

  private mutating func suggest() {
    guard kind == .palette, !field.text.contains(" "), Position(field.text) == nil || field.text.isEmpty else {
      suggestions = []
      return
    }
    suggestions = FuzzySearch.entries(matching: field.text).prefix(8).map(\.self)
  }

  func draw(on grid: inout CellGrid, layout: Layout, session: Session) {
    let theme = session.theme
    let status = layout.status
    let keys = layout.keys
    grid.fill(status)
    grid.fill(keys)
    let label = SafeText.width(kind.label)
    grid.write(kind.label, at: Point(column: 1, row: status.top), style: theme.style(.title))
    field.draw(
      into: &grid, at: Point(column: 1 + label, row: status.top), width: max(4, status.columns - label - 2))
    if let problem {
      let place = problemColumn.map { min(keys.columns - 8, max(0, label + $0)) } ?? 1
      grid.write("^", at: Point(column: place, row: keys.top), width: 1, style: theme.style(.problem))
      let text = "\(theme.problemSign) \(problem)"
      let width = SafeText.width(text)
      let start = problemColumn == nil ? 1 : place + 2 + width < keys.columns ? place + 2 : max(1, place - width - 1)
      grid.write(
        text, at: Point(column: start, row: keys.top), width: keys.columns - start, style: theme.style(.problem))
    } else {
      grid.write(
        hint.isEmpty ? defaultHint : hint, at: Point(column: 1, row: keys.top), width: keys.columns - 2,
        style: theme.style(.dim))
    }
    drawSuggestions(on: &grid, layout: layout, theme: theme)
  }

  private var defaultHint: String {
    switch kind {
    case .palette: "a command, or a row: 812 · 50% · +12 · Tab completes · Esc"
    case .argument(let command):
      "\(CommandTable.entry(command).argument?.placeholder ?? "") · Enter · Esc"
    }
  }

  private func drawSuggestions(on grid: inout CellGrid, layout: Layout, theme: Theme) {
    guard !suggestions.isEmpty, layout.size.rows >= 12 else { return }
    let width = min(layout.size.columns - 2, 64)
    let top = layout.status.top - suggestions.count
    for (row, entry) in suggestions.enumerated() {
      let rect = Rect(column: 1, row: top + row, columns: width, rows: 1)
      grid.fill(rect)
      let isChosen = choice == row
      grid.write(
        "\(isChosen ? theme.cursor : " ") :\(entry.name)\(entry.argument.map { " \($0.placeholder)" } ?? "")",
        at: rect.origin, width: 26, style: theme.style(isChosen ? .title : .text))
      grid.write(
        entry.title, at: Point(column: rect.left + 27, row: rect.top), width: width - 27, style: theme.style(.dim))
      if isChosen { grid.restyle(rect) { $0.attributes.formUnion(.reverse) } }
    }
  }
}

/// Finds commands by what is typed.
enum FuzzySearch {
  /// All commands that fit, best first: the name begins so, the title holds it, a key is it, the letters occur in order.
  static func entries(matching text: String) -> [CommandEntry] {
    let text = text.lowercased().trimmed
    guard !text.isEmpty else { return CommandTable.all }
    let scored = CommandTable.all.enumerated().compactMap { place, entry in
      score(entry, text).map { (score: $0, place: place, entry: entry) }
    }
    return scored.sorted { $0.score != $1.score ? $0.score < $1.score : $0.place < $1.place }.map(\.entry)
  }

  private static func score(_ entry: CommandEntry, _ text: String) -> Int? {
    if entry.name == text { return 0 }
    if entry.keys.contains(where: { $0.replacing(" ", with: "").lowercased() == text }) { return 1 }
    if entry.name.hasPrefix(text) { return 2 }
    let title = entry.title.lowercased()
    if title.split(separator: " ").contains(where: { $0.hasPrefix(text) }) { return 3 }
    if entry.name.contains(text) || title.contains(text) { return 4 }
    if entry.group.rawValue.lowercased().hasPrefix(text) { return 5 }
    if entry.help.lowercased().contains(text) { return 6 }
    return text.count >= 3 && isSubsequence(text, of: entry.name) ? 7 : nil
  }

  private static func isSubsequence(_ text: String, of name: String) -> Bool {
    var rest = Substring(text)
    for character in name where character == rest.first { rest.removeFirst() }
    return rest.isEmpty
  }
}
