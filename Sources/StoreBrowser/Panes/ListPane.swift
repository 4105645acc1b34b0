import StrataModel
import StrataDocuments
import StrataTerminal

/// A pane that is a list of lines with one selected: what all lists do, once. Moving, clicking, scrolling and the look of
/// the selected line come from here; the pane says how many lines there are and draws one.
protocol ListPane: Pane {
  var list: ListWindow { get set }
  func lineCount(_ session: Session) -> Int
  /// Whether all lines were read. Otherwise the pane reads on while a command waits.
  func isWhole(_ session: Session) -> Bool
  /// Rows of the inside above the lines.
  func headerRows(_ frame: PaneFrame) -> Int
  /// Rows of the inside below the lines.
  func footerRows(_ frame: PaneFrame) -> Int
  /// The names of its columns, if its lines are rows of values, which are found and saved; otherwise empty.
  var rowColumns: [String] { get }
  /// The values of a line, one for each column.
  func row(_ line: Int) -> [Document]
  /// Whether lines that follow each other may be parts of one row, which is saved once.
  var hasRowsOfSeveralLines: Bool { get }
  /// The column under the cursor, among `rowColumns`; the first if there is no such cursor.
  var cursorColumn: Int { get set }
  /// Whether the text that is searched for is marked in its lines.
  var marksHits: Bool { get }
}

extension ListPane {
  func isWhole(_ session: Session) -> Bool { true }
  func headerRows(_ frame: PaneFrame) -> Int { 0 }
  func footerRows(_ frame: PaneFrame) -> Int { 0 }
  var rowColumns: [String] { [] }
  func row(_ line: Int) -> [Document] { [] }
  var hasRowsOfSeveralLines: Bool { false }
  var cursorColumn: Int {
    get { 0 }
    set {}
  }
  var marksHits: Bool { Self.entry.make != nil }

  /// The rows in which lines stand.
  func visibleRows(_ frame: PaneFrame) -> Int { max(1, frame.rows - headerRows(frame) - footerRows(frame)) }

  mutating func move(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    waits(command, argument, session)
      || list.move(command, argument: argument, rows: visibleRows(frame), count: lineCount(session))
  }

  /// Lets a command wait if it is about lines that are not read yet. Returns whether it waits: until they are, or until another command.
  private mutating func waits(_ command: Command, _ argument: String?, _ session: Session) -> Bool {
    let lacksLines =
      switch (command, Position(argument ?? "")) {
      case (.last, _), (.goTo, .percent?): true
      case (.goTo, let position?): position.line(from: list.selection, count: 0) >= lineCount(session)
      case (.export, _), (.search, _), (.searchNext, _), (.searchPrevious, _): !rowColumns.isEmpty
      default: false
      }
    list.awaited = lacksLines && !isWhole(session) ? AwaitedCommand(command: command, argument: argument) : nil
    return list.awaited != nil
  }

  mutating func goOn(in session: inout Session) {
    guard let awaited = list.awaited, !waits(awaited.command, awaited.argument, session) else { return }
    let id = Self.entry.id
    session.intend(Intent { $0.deliver(awaited.command, argument: awaited.argument, to: id) })
  }

  mutating func reveal(_ frame: PaneFrame, _ session: Session) {
    list.reveal(rows: visibleRows(frame), count: lineCount(session))
  }

  /// The lines that are in sight.
  func shownLines(_ frame: PaneFrame, _ session: Session) -> Range<Int> {
    var window = list
    window.reveal(rows: visibleRows(frame), count: lineCount(session))
    return window.top..<max(window.top, min(lineCount(session), window.top + visibleRows(frame)))
  }

  /// Changes the lines and stays on the line of the same first value, if it is still there.
  mutating func keepingSelection(_ session: Session, _ change: (inout Self) -> Void) {
    let selected = list.selection < lineCount(session) ? row(list.selection).first : nil
    change(&self)
    guard let selected, let line = (0..<lineCount(session)).first(where: { row($0).first == selected }) else { return }
    list.selection = line
  }

  mutating func click(at point: Point, frame: PaneFrame, in session: inout Session) {
    let line = list.top + point.row - headerRows(frame)
    guard point.row >= headerRows(frame), point.row < headerRows(frame) + visibleRows(frame),
      line < lineCount(session)
    else { return }
    if line == list.selection { session.intend(.run(.open, argument: nil)) }
    list.selection = line
  }

  /// Draws the lines that are in sight, each by `draw`, and makes the selected one look so.
  func drawLines(
    on grid: inout CellGrid, frame: PaneFrame, session: Session, hasSign: Bool = true, selects: Bool = true,
    _ draw: (inout CellGrid, Int, Rect) -> Void
  ) {
    let (inside, shown) = (frame.inside, shownLines(frame, session))
    for line in shown {
      let row = inside.top + headerRows(frame) + line - shown.lowerBound
      let rect = Rect(column: inside.left, row: row, columns: inside.columns, rows: 1)
      draw(&grid, line, rect)
      if marksHits, let text = session.markedText { grid.mark(in: rect, text.places) }
      guard line == min(list.selection, lineCount(session) - 1) else { continue }
      if hasSign { grid.write(session.theme.cursor, at: rect.origin, width: 1) }
      if selects { grid.select(rect, frame: frame, theme: session.theme) }
    }
  }
}

// MARK: The keys of all lists of values

extension ListPane {
  mutating func runOnRows(_ command: Command, argument: String?, in session: inout Session) -> Bool {
    guard !rowColumns.isEmpty else { return false }
    switch command {
    case .search:
      if let argument, !argument.isEmpty { session.markedText = try? SearchText(argument) }
      find(command, in: &session)
    case .searchNext, .searchPrevious: find(command, in: &session)
    case .export:
      guard let file = argument?.trimmed, let format = TableWriter.Format(file: file) else {
        session.warn("a file ends in .jsonl, .json, .csv or .tsv")
        return true
      }
      let export = ListExport(
        columns: rowColumns, count: lineCount(session), row: { [self] in row($0) }, joinsLines: hasRowsOfSeveralLines,
        file: file, format: format)
      session.start(ListExport.slot, export, label: "lines to \(file)") { $0.session.say($1.sentence) }
    default: return false
    }
    return true
  }

  /// Looks for the next line with the text, round to the selected one, and the column that has it; for a title if no line has it. No key
  /// waits for that, because a list may have many lines and columns.
  private func find(_ command: Command, in session: inout Session) {
    guard let text = session.markedText else { return session.warn("nothing was searched for yet (/)") }
    let (id, count) = (Self.entry.id, lineCount(session))
    let search = Inquiry { [self] context throws(ModelError) in
      func isFound(_ value: Document) -> Bool {
        text.occurs(in: value.searchText) || text.occurs(in: NumberFormat.exact(value))
      }
      var (list, columns) = (list, ListWindow(selection: cursorColumn))
      let isRound = try list.select(command, count: count) { line throws(ModelError) in
        try context.goOn()
        return row(line).contains(where: isFound)
      }
      if let isRound {
        let values = row(list.selection)
        let isHere = values.dropFirst(cursorColumn).first.map(isFound) == true
        let column = isHere ? nil : values.firstIndex(where: isFound)
        return FoundLine(line: list.selection, key: values.first, column: column, isRound: isRound)
      }
      let titles = rowColumns
      let isTitle = columns.select(command, count: titles.count) { text.occurs(in: titles[$0]) } != nil
      return FoundLine(column: isTitle ? columns.selection : nil)
    }
    session.start(.lineSearch, search, label: "search “\(text.typed)”") { browser, found in
      browser.with(id) { pane, session in
        guard let list = pane as? any ListPane, list.lineCount(session) == count else { return }
        if found.isRound { session.say(command == .searchPrevious ? "from the end again" : "from the top again") }
        if found.line == nil, found.column == nil {
          session.warn("no line with “\(text.typed)” in \(NumberFormat.count(count)), and no column")
        } else if found.line == nil, let column = found.column {
          session.say("column \(list.rowColumns[column])")
        }
        pane = list.showing(found)
      }
    }
  }

  /// The pane with its cursor on what was found, unless another line stands there by now.
  fileprivate func showing(_ found: FoundLine) -> any Pane {
    var pane = self
    if let line = found.line {
      guard row(line).first == found.key else { return self }
      pane.list.selection = line
    }
    if let column = found.column { pane.cursorColumn = column }
    return pane
  }
}

/// A line with a text, or else the title of a column with it.
private struct FoundLine: Sendable {
  var line: Int?
  var key: Document?
  var column: Int?
  var isRound = false
}
