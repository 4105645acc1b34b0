import TerminalKit

/// All commands with their keys: typing searches, Enter runs. Where a command is not available it says why.
struct HelpOverlay: Sendable {
  var field = TextField()
  var list = ListWindow()
  private(set) var entries = CommandTable.all

  var selected: CommandEntry? { entries.indices.contains(list.selection) ? entries[list.selection] : nil }

  /// Letters search; arrows, pages and `^n` `^p` move. False: the key is for the browser (Enter, Esc).
  mutating func apply(_ chord: KeyChord, rows: Int) -> Bool {
    switch chord.description {
    case "Down", "^n": list.move(by: 1, count: entries.count)
    case "Up", "^p": list.move(by: -1, count: entries.count)
    case "PageDown": list.move(by: rows, count: entries.count)
    case "PageUp": list.move(by: -rows, count: entries.count)
    case "Home": list.select(0, count: entries.count)
    case "End": list.select(entries.count - 1, count: entries.count)
    default:
      guard field.apply(chord) else { return false }
      entries = FuzzySearch.entries(matching: field.text)
      list = ListWindow()
    }
    list.reveal(rows: rows, count: entries.count)
    return true
  }

  static func rect(in body: Rect) -> Rect {
    body.centered(Size(columns: min(body.columns - 2, 100), rows: min(body.rows, max(8, body.rows - 2))))
  }

  static func rows(in body: Rect) -> Int { max(1, rect(in: body).rows - 5) }

  func draw(
    on grid: inout CellGrid, in body: Rect, session: Session, keymap: Keymap, refusal: (Command) -> String?
  ) {
    let theme = session.theme
    let rect = Self.rect(in: body)
    grid.fill(rect)
    let frame = PaneFrame(rect: rect, isFocused: true)
    grid.border(frame, digit: nil, title: "?  Help and commands", footer: "Esc close", theme: theme)
    let inside = frame.inside
    grid.write("find: ", at: inside.origin, style: theme.style(.title))
    field.draw(into: &grid, at: Point(column: inside.left + 6, row: inside.top), width: max(4, inside.columns - 26))
    let cursor = grid.cursor
    grid.write(
      "\(entries.count) of \(CommandTable.all.count) commands", at: inside.origin, width: inside.columns,
      style: theme.style(.dim), alignment: .trailing)
    for row in 0..<Self.rows(in: body) where entries.indices.contains(list.top + row) {
      let line = Rect(column: inside.left, row: inside.top + 2 + row, columns: inside.columns, rows: 1)
      draw(
        entries[list.top + row], isSelected: list.top + row == list.selection, in: line, frame: frame, on: &grid,
        theme: theme, keymap: keymap, refusal: refusal)
    }
    if let selected {
      grid.write(
        "\(theme.enterKey) run it · \(selected.help)", at: Point(column: inside.left, row: inside.bottom - 1),
        width: inside.columns, style: theme.style(.dim))
    }
    // The text cursor stays in the search field; the selected line is marked by its sign.
    grid.cursor = cursor
  }

  private func draw(
    _ entry: CommandEntry, isSelected: Bool, in line: Rect, frame: PaneFrame, on grid: inout CellGrid, theme: Theme,
    keymap: Keymap, refusal: (Command) -> String?
  ) {
    let reason = refusal(entry.command)
    let keys = keymap.keys(for: entry.command).prefix(2).joined(separator: "  ")
    if isSelected { grid.write(theme.cursor, at: line.origin, width: 1) }
    grid.write(
      keys.isEmpty ? "—" : keys, at: Point(column: line.left + 2, row: line.top), width: 12, style: theme.style(.key))
    let room = line.columns - 15
    let place = "\(entry.group.rawValue)  :\(entry.name)"
    let tail = min(SafeText.width(place), room - SafeText.width(entry.title) - 2)
    let title = reason.map { "\(entry.title)   not here: \($0)" } ?? entry.title
    grid.write(
      title, at: Point(column: line.left + 15, row: line.top), width: room,
      style: theme.style(reason == nil ? .text : .dim))
    if reason == nil, tail > 8 {
      grid.write(
        place, at: Point(column: line.right - tail, row: line.top), width: tail,
        style: theme.style(.dim), alignment: .trailing)
    }
    if isSelected { grid.restyle(line) { $0.attributes.formUnion(.reverse) } }
  }
}
