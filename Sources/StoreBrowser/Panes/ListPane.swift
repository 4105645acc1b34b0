import TerminalKit

/// A pane that is a list of lines with one selected: what all lists do, once. Moving, clicking, scrolling and the look of
/// the selected line come from here; the pane says how many lines there are and draws one.
protocol ListPane: Pane {
  var list: ListWindow { get set }
  func lineCount(_ session: Session) -> Int
  /// Rows of the inside above the lines.
  func headerRows(_ frame: PaneFrame) -> Int
  /// Rows of the inside below the lines.
  func footerRows(_ frame: PaneFrame) -> Int
}

extension ListPane {
  func headerRows(_ frame: PaneFrame) -> Int { 0 }
  func footerRows(_ frame: PaneFrame) -> Int { 0 }

  /// The rows in which lines stand.
  func visibleRows(_ frame: PaneFrame) -> Int { max(1, frame.rows - headerRows(frame) - footerRows(frame)) }

  mutating func move(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    list.move(command, argument: argument, rows: visibleRows(frame), count: lineCount(session))
  }

  mutating func reveal(_ frame: PaneFrame, _ session: Session) {
    list.reveal(rows: visibleRows(frame), count: lineCount(session))
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
    on grid: inout CellGrid, frame: PaneFrame, session: Session, hasSign: Bool = true,
    _ draw: (inout CellGrid, Int, Rect) -> Void
  ) {
    let inside = frame.inside
    let count = lineCount(session)
    var window = list
    window.reveal(rows: visibleRows(frame), count: count)
    for row in 0..<visibleRows(frame) where window.top + row < count {
      let rect = Rect(
        column: inside.left, row: inside.top + headerRows(frame) + row, columns: inside.columns, rows: 1)
      draw(&grid, window.top + row, rect)
      guard window.top + row == window.selection else { continue }
      if hasSign { grid.write(session.theme.cursor, at: rect.origin, width: 1) }
      grid.select(rect, frame: frame, theme: session.theme)
    }
  }
}
