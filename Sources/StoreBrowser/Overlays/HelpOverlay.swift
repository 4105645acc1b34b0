import TerminalKit

/// All commands with their keys: typing searches, Enter runs. Where a command is not available it says why.
///
/// What works in the pane that it was opened over stands first.
struct HelpOverlay: ListPane {
  static let entry = PaneEntry(.help, name: "Help", footer: [.open, .escape])

  struct Line: Sendable {
    var entry: CommandEntry
    /// As people write them: `gg  Home`.
    var keys: String
    /// Why it does not work where help was opened; nil where it does.
    var refusal: String?
  }

  private(set) var field = TextField()
  var list = ListWindow()
  /// All of them, in the order in which they stand before anything is typed.
  private let all: [Line]
  private(set) var lines: [Line]

  init(_ lines: [Line]) {
    all = lines
    self.lines = lines
  }

  var selected: Line? { lines.indices.contains(list.selection) ? lines[list.selection] : nil }

  func lineCount(_ session: Session) -> Int { lines.count }
  func headerRows(_ frame: PaneFrame) -> Int { 2 }
  func footerRows(_ frame: PaneFrame) -> Int { 1 }

  /// Letters search; arrows, pages and `^n` `^p` move.
  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool {
    switch chord.description {
    case "^n": list.move(by: 1, count: lines.count)
    case "^p": list.move(by: -1, count: lines.count)
    case "Down", "Up", "PageDown", "PageUp", "Home", "End": return false
    default:
      guard field.apply(chord) else { return false }
      search()
    }
    return true
  }

  mutating func paste(_ text: String, in session: inout Session) -> Bool {
    field.insert(text.replacing("\n", with: " "))
    search()
    return true
  }

  private mutating func search() {
    lines = field.text.isEmpty ? all : FuzzySearch.sorted(all, by: field.text, entry: \.entry)
    list = ListWindow()
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard command == .open else { return false }
    guard let selected else { return true }
    if let reason = selected.refusal {
      session.warn("\(selected.entry.name): not here: \(reason)")
    } else {
      session.intend(.dismiss)
      session.intend(.perform(selected.entry.command, argument: nil))
    }
    return true
  }

  func short(_ command: Command) -> String? { command == .open ? "run" : "close" }

  func rect(in body: Rect, session: Session) -> Rect {
    body.centered(Size(columns: min(body.columns - 2, 100), rows: min(body.rows, max(8, body.rows - 2))))
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    grid.fill(frame.rect)
    grid.border(frame, digit: nil, title: "?  Help and commands", footer: "type to search", theme: theme)
    let inside = frame.inside
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      draw(lines[line], in: rect, on: &grid, theme: theme)
    }
    grid.write("find: ", at: inside.origin, style: theme.style(.title))
    field.draw(into: &grid, at: Point(column: inside.left + 6, row: inside.top), width: max(4, inside.columns - 26))
    // The text cursor stays in the search field; the selected line is marked by its sign.
    let cursor = grid.cursor
    grid.write(
      "\(lines.count) of \(all.count) commands", at: inside.origin, width: inside.columns,
      style: theme.style(.dim), alignment: .trailing)
    if let selected {
      grid.write(
        "\(theme.enterKey) run it · \(selected.entry.help)", at: Point(column: inside.left, row: inside.bottom - 1),
        width: inside.columns, style: theme.style(.dim))
    }
    grid.cursor = cursor
  }

  private func draw(_ line: Line, in rect: Rect, on grid: inout CellGrid, theme: Theme) {
    let entry = line.entry
    grid.write(
      line.keys.isEmpty ? "—" : line.keys, at: Point(column: rect.left + 2, row: rect.top), width: 12,
      style: theme.style(.key))
    let room = rect.columns - 15
    let name = "\(entry.group.rawValue)  :\(entry.name)"
    let tail = min(SafeText.width(name), room - SafeText.width(entry.title) - 2)
    let title = line.refusal.map { "\(entry.title)   not here: \($0)" } ?? entry.title
    grid.write(
      title, at: Point(column: rect.left + 15, row: rect.top), width: room,
      style: theme.style(line.refusal == nil ? .text : .dim))
    if line.refusal == nil, tail > 8 {
      grid.write(
        name, at: Point(column: rect.right - tail, row: rect.top), width: tail,
        style: theme.style(.dim), alignment: .trailing)
    }
  }
}

extension PaneID {
  static let help: PaneID = "help"
}
