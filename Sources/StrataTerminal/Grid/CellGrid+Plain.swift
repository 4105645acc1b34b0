/// The picture as lines for braille displays, screen readers and pipes: pane after pane instead of side by side, without
/// their borders.
extension CellGrid {
  /// Returns the lines: those above the panes, each pane under its title, those below. Spaces at ends and runs of empty lines are removed.
  ///
  /// A pane whose border is broken by another on top of it is left out: the one on top has the focus.
  ///
  /// - Parameter isASCII: Whether the lines are in ASCII. The frames are found in this picture, because they are none in ASCII.
  package func plainLines(isASCII: Bool = false) -> [String] {
    let panes = Self.wholeFrames(in: self)
    let shown = isASCII ? asciiOnly() : self
    let all = shown.lines()
    guard let first = panes.map(\.top).min(), let last = panes.map(\.bottom).max() else { return tidy(all) }
    var result = tidy(Array(all[..<first]))
    for pane in panes {
      result.append("")
      let title = edge(row: pane.top, of: pane, in: shown)
      if !title.isEmpty { result.append(title) }
      let isClosed = "┘┛".contains(self[Point(column: pane.right - 1, row: pane.bottom - 1)].text)
      let end = isClosed ? pane.bottom - 1 : pane.bottom
      result += tidy((pane.top + 1..<end).map { shown.row($0)[inside: pane].map(\.text).joined() })
      let footer = isClosed ? edge(row: end, of: pane, in: shown) : ""
      if !footer.isEmpty { result.append("(\(footer))") }
    }
    return result + [""] + tidy(Array(all[last...]))
  }

  /// Returns the text in the upper or lower edge of a pane, as another picture shows it.
  private func edge(row: Int, of pane: Rect, in shown: CellGrid) -> String {
    let cells = zip(self.row(row)[inside: pane], shown.row(row)[inside: pane])
    let line = cells.map { ["─", "━"].contains($0.text) ? " " : $1.text }.joined()
    return Self.trimmedEnd(String(line.drop { $0 == " " }))
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

extension ArraySlice<Cell> {
  /// The cells of a row that lie between the sides of a pane.
  fileprivate subscript(inside pane: Rect) -> Self { dropFirst(pane.left + 1).prefix(pane.columns - 2) }
}
