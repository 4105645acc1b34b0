/// The picture as lines for braille displays, screen readers and pipes: pane after pane instead of side by side, without
/// their borders.
extension CellGrid {
  /// Returns the lines: those above the panes, each pane under its title, those below. Spaces at ends and runs of empty lines are removed.
  ///
  /// A pane whose border is broken by another on top of it is left out: the one on top has the focus.
  package func plainLines() -> [String] {
    let panes = Self.wholeFrames(in: self)
    guard let first = panes.map(\.top).min(), let last = panes.map(\.bottom).max() else { return tidy(lines()) }
    let all = lines()
    var result = tidy(Array(all[..<first]))
    for pane in panes {
      result.append("")
      let title = edge(row: pane.top, of: pane)
      if !title.isEmpty { result.append(title) }
      let isClosed = "┘┛".contains(self[Point(column: pane.right - 1, row: pane.bottom - 1)].text)
      let end = isClosed ? pane.bottom - 1 : pane.bottom
      result += tidy((pane.top + 1..<end).map { text(row: $0, columns: pane.left + 1..<pane.right - 1) })
      let footer = isClosed ? edge(row: end, of: pane) : ""
      if !footer.isEmpty { result.append("(\(footer))") }
    }
    return result + [""] + tidy(Array(all[last...]))
  }

  private func text(row: Int, columns: Range<Int>) -> String {
    self.row(row).dropFirst(columns.lowerBound).prefix(columns.count).map(\.text).joined()
  }

  /// Returns the text in the upper or lower edge of a pane.
  private func edge(row: Int, of pane: Rect) -> String {
    let line = text(row: row, columns: pane.left + 1..<pane.right - 1)
    return Self.trimmedEnd(String(line.map { $0 == "─" || $0 == "━" ? " " : $0 }.drop { $0 == " " }))
  }

  private func tidy(_ lines: [String]) -> [String] { lines.map(Self.trimmedEnd).filter { !$0.isEmpty } }

  private static func isFrame(_ text: String) -> Bool { text.unicodeScalars.contains { "\u{2500}"..."\u{257F}" ~= $0 } }

  /// Returns the frames with four complete sides and corners, from top to bottom and left to right. The lower side may lie under text that
  /// has no frame.
  private static func wholeFrames(in grid: CellGrid) -> [Rect] {
    (0..<grid.size.rows).flatMap { row in
      (0..<grid.size.columns).compactMap { frame(in: grid, from: Point(column: $0, row: row)) }
    }
  }

  /// The sides and the right corners of a frame, by its upper left corner.
  private static let sides = ["┌": ("│", "┐", "┘"), "┏": ("┃", "┓", "┛")]

  private static func frame(in grid: CellGrid, from corner: Point) -> Rect? {
    guard let (down, right, low) = sides[grid[corner].text],
      let rightColumn = (corner.column + 1..<grid.size.columns).first(where: {
        grid[Point(column: $0, row: corner.row)].text == right
      })
    else { return nil }
    var row = corner.row + 1
    while row < grid.size.rows, grid[Point(column: rightColumn, row: row)].text == down,
      grid[Point(column: corner.column, row: row)].text == down
    { row += 1 }
    guard row < grid.size.rows else { return nil }
    let ends = [corner.column, rightColumn].map { grid[Point(column: $0, row: row)].text }
    let isClosed = ends[1] == low
    guard isClosed || !ends.contains(where: isFrame) else { return nil }
    return Rect(
      column: corner.column, row: corner.row, columns: rightColumn - corner.column + 1,
      rows: row - corner.row + (isClosed ? 1 : 0))
  }
}
