/// A text of several lines, in the same field.
extension TextField {
  /// The lines of the text; there is at least one.
  package var lines: [Substring] { text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) }

  /// The line of the cursor, and the number of clusters before the cursor in it.
  package var position: (line: Int, column: Int) {
    let head = text.prefix(cursor)
    let lines = head.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    return (lines.count - 1, lines.last?.count ?? 0)
  }

  /// Moves the cursor to another line, in its column if the line is as long. Returns false if there is no such line.
  package mutating func moveLine(by step: Int) -> Bool {
    let (lines, (line, column)) = (lines, position)
    guard lines.indices.contains(line + step) else { return false }
    let before = lines.prefix(line + step).reduce(0) { $0 + $1.count + 1 }
    moveCursor(to: before + min(column, lines[line + step].count))
    return true
  }

  /// Draws the lines around the cursor into a rectangle. Each line is cut at the edge, and that of the cursor scrolls.
  package func drawLines(into grid: inout CellGrid, in rect: Rect, style: Style = .plain) {
    let (lines, (line, column)) = (lines, position)
    let top = max(0, min(line - rect.rows + 1, lines.count - rect.rows))
    for row in 0..<rect.rows where lines.indices.contains(top + row) && top + row != line {
      var other = TextField(String(lines[top + row]))
      other.moveCursor(to: 0)
      other.draw(into: &grid, at: rect.at(0, row), width: rect.columns, style: style)
    }
    var current = TextField(String(lines[line]), isSelected: isSelected)
    current.moveCursor(to: column)
    current.draw(into: &grid, at: rect.at(0, line - top), width: rect.columns, style: style)
  }
}
