import DatastoreModel
import TerminalKit

/// One line that is typed at the foot of the screen: a command, a search, a filter, a name.
struct Prompt: Pane {
  static let entry = PaneEntry(.prompt, name: "Prompt", footer: [.open, .escape])

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

  init(_ kind: Kind, text: String = "", isSelected: Bool = false, history: [String] = [], hint: String = "") {
    self.kind = kind
    self.history = history
    self.hint = hint
    field = TextField(text, isSelected: isSelected)
    suggest()
  }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    field.insert(text.replacing("\n", with: " "))
    changed()
    session.intend(.promptChanged(self))
    return true
  }

  /// Edits the line. Enter and Esc are for the keymap.
  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool {
    if chord == KeyChord(.backspace), field.text.isEmpty {
      session.intend(.dismiss)
      return true
    }
    guard edit(chord) else { return false }
    session.intend(.promptChanged(self))
    return true
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard command == .open else { return false }
    if choice != nil { complete() }
    session.intend(.submit(self))
    return true
  }

  private mutating func edit(_ chord: KeyChord) -> Bool {
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

  /// The two lines at the foot of the screen, and above them what the name may become.
  func rect(in body: Rect, session: Session) -> Rect {
    Rect(column: 0, row: body.bottom, columns: body.columns, rows: 2)
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let status = Rect(column: 0, row: frame.rect.top, columns: frame.rect.columns, rows: 1)
    let keys = Rect(column: 0, row: frame.rect.top + 1, columns: frame.rect.columns, rows: 1)
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
    drawSuggestions(on: &grid, above: status, theme: theme)
  }

  private var defaultHint: String {
    switch kind {
    case .palette: "a command, or a row: 812 · 50% · +12 · Tab completes · Esc"
    case .argument(let command):
      "\(CommandTable.entry(command).argument?.placeholder ?? "") · Enter · Esc"
    }
  }

  private func drawSuggestions(on grid: inout CellGrid, above status: Rect, theme: Theme) {
    guard !suggestions.isEmpty, status.top >= 10 else { return }
    let width = min(status.columns - 2, 64)
    let top = status.top - suggestions.count
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

extension PaneID {
  static let prompt: PaneID = "prompt"
}
