import StrataTerminal

/// First shows one screen of the keys that work in the pane below it. The next key shows all commands: typing searches, Enter runs. If a
/// command is not available, it says why.
struct HelpOverlay: SearchPane {
  static let entry = PaneEntry(id: "help", name: "Help", footer: [.open, .help, .escape])

  struct Line: Sendable {
    var entry: CommandEntry
    /// The keys as users write them: `gg  Home`.
    var keys: String
    /// Why it does not work where help was opened; nil if it works.
    var refusal: String?
  }

  /// Whether the one screen is shown rather than the list of all commands.
  private(set) var isSheet = true
  /// The pane below it, and the commands in its footer.
  private let pane: PaneID
  private let foremost: [Command]
  var field = TextField()
  var list = ListWindow()
  /// All lines, in the order before anything is typed.
  private let all: [Line]
  private(set) var lines: [Line]

  init(_ lines: [Line], over pane: PaneID, foremost: [Command]) {
    self.pane = pane
    self.foremost = foremost
    all = lines
    self.lines = lines
  }

  var selected: Line? { list.selected(of: lines) }

  func lineCount(_ session: Session) -> Int { lines.count }
  func headerRows(_ frame: PaneFrame) -> Int { 2 }
  func footerRows(_ frame: PaneFrame) -> Int { frame.rows < 16 ? 1 : 6 }

  /// Moves in the sheet switch to the list.
  mutating func type(_ chord: KeyChord, in session: inout Session) -> Bool {
    guard isSheet, ["?", "^n", "^p"].contains(chord.description) else { return typeInField(chord, in: &session) }
    isSheet = false
    return true
  }

  /// A move in the sheet switches to the list.
  mutating func move(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard isSheet else {
      return list.move(command, argument: argument, rows: visibleRows(frame), count: lineCount(session))
    }
    guard [.down, .up, .pageDown, .pageUp, .halfDown, .halfUp, .first, .last].contains(command) else { return false }
    isSheet = false
    return true
  }

  mutating func search(in session: inout Session) {
    isSheet = false
    lines = field.text.isEmpty ? all : FuzzySearch.sorted(all, by: field.text) { .init($0.entry) }
    list = ListWindow()
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    guard command == .open else { return false }
    if isSheet {
      isSheet = false
      return true
    }
    guard let selected else { return true }
    if let reason = selected.refusal {
      session.warn("\(selected.entry.name): not here: \(reason)")
    } else {
      session.intend(.dismiss, .run(selected.entry.command, argument: nil))
    }
    return true
  }

  func footer(_ session: Session) -> [Command] { isSheet ? [.help, .escape] : [.open, .escape] }

  func short(_ command: Command) -> String? {
    switch command {
    case .open: "run"
    case .help: "all commands, or type to search"
    default: "close"
    }
  }

  func rect(in body: Rect, session: Session) -> Rect {
    body.centered(Size(columns: min(body.columns - 2, 100), rows: min(body.rows, max(8, body.rows - 2))))
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    if isSheet { return drawSheet(on: &grid, frame: frame, session: session) }
    grid.border(frame, digit: nil, title: "?  Help and commands", footer: "type to search", theme: theme)
    let inside = frame.inside
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      draw(lines[line], in: rect, on: &grid, theme: theme)
    }
    drawField(on: &grid, frame: frame, columns: inside.columns - 26, theme: theme)
    // The text cursor stays in the search field; the selected line is marked by its sign.
    let cursor = grid.cursor
    grid.write(
      "\(lines.count) of \(all.count) commands", at: inside.origin, width: inside.columns,
      style: theme.style(.dim), alignment: .trailing)
    if let selected {
      grid.writeWrapped(
        "\(theme.enterKey) run it · \(selected.entry.help)",
        in: inside.split(top: inside.rows - footerRows(frame)).bottom,
        style: theme.style(.dim))
    }
    grid.cursor = cursor
  }

  // MARK: The sheet

  /// A line of the sheet: a heading, or a command with its keys.
  private enum SheetLine {
    case heading(String)
    case command(Line)
  }

  /// The commands that work in the pane now, by chapter of help. If there is too little room, general commands are left out first.
  private func sheet(capacity: Int) -> [SheetLine] {
    let working = all.filter { line in
      line.refusal == nil && !line.keys.isEmpty
        && (line.entry.contexts.isEmpty || line.entry.contexts.contains(pane))
    }
    func rank(_ line: Line) -> Int {
      foremost.contains(line.entry.command) ? 0 : line.entry.contexts.contains(pane) ? 1 : 2
    }
    var kept = working.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
    while true {
      let names = Set(kept.map(\.element.entry.command))
      var lines: [SheetLine] = []
      for group in CommandGroup.allCases {
        let commands = working.filter { $0.entry.group == group && names.contains($0.entry.command) }
        if !commands.isEmpty { lines += [.heading(group.rawValue)] + commands.map { .command($0) } }
      }
      if lines.count <= capacity || kept.isEmpty { return lines }
      kept.removeLast()
    }
  }

  private func drawSheet(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let name = PaneTable.entry(pane).name
    grid.border(
      frame, digit: nil, title: "?  Keys here: \(name)",
      footer: "? all \(all.count) commands \(theme.dot) letters search",
      theme: theme)
    let inside = frame.inside.inset(columns: 1, rows: 0)
    let columns = max(1, inside.columns / 24)
    let width = inside.columns / columns
    let lines = sheet(capacity: columns * inside.rows)
    for (position, line) in lines.enumerated() {
      let place = inside.at(position / inside.rows * width, position % inside.rows)
      switch line {
      case .heading(let text):
        grid.write(text, at: place, width: width - 1, style: theme.style(.header))
      case .command(let line):
        let keys = line.keys.split(separator: "  ").first.map(String.init) ?? line.keys
        grid.write(keys, at: place, width: 7, style: theme.style(.key).with(.bold))
        let title = SafeText.width(line.entry.title) <= width - 9 ? line.entry.title : line.entry.short
        grid.write(title, at: Point(column: place.column + 8, row: place.row), width: width - 9)
      }
    }
    grid.cursor = inside.origin
  }

  private func draw(_ line: Line, in rect: Rect, on grid: inout CellGrid, theme: Theme) {
    let entry = line.entry
    grid.write(line.keys.isEmpty ? "—" : line.keys, at: rect.at(2), width: 12, style: theme.style(.key))
    let room = rect.columns - 15
    let name = "\(entry.group.rawValue)  :\(entry.name)"
    let tail = min(SafeText.width(name), room - SafeText.width(entry.title) - 2)
    let title = line.refusal.map { "\(entry.title)   not here: \($0)" } ?? entry.title
    grid.write(title, at: rect.at(15), width: room, style: theme.style(line.refusal == nil ? .text : .dim))
    if line.refusal == nil, tail > 8 {
      grid.write(
        name, at: Point(column: rect.right - tail, row: rect.top), width: tail,
        style: theme.style(.dim), alignment: .trailing)
    }
  }
}
