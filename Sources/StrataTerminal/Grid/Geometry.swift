/// A place on the screen, counted from the upper left corner, which is (0, 0).
package struct Point: Hashable, Sendable {
  /// Columns from the left edge.
  package var column: Int
  /// Rows from the upper edge.
  package var row: Int

  /// Makes the point at `column` and `row`.
  package init(column: Int, row: Int) {
    self.column = column
    self.row = row
  }

  /// The upper left corner.
  package static let zero = Point(column: 0, row: 0)
}

/// A number of columns and rows; never negative.
package struct Size: Hashable, Sendable, LosslessStringConvertible {
  package var columns: Int
  package var rows: Int

  /// Makes a size; negative numbers count as 0.
  package init(columns: Int, rows: Int) {
    self.columns = max(0, columns)
    self.rows = max(0, rows)
  }

  /// Reads `80x24`. Returns nil if it is not two numbers from 1 to 10,000.
  package init?(_ description: String) {
    let parts = description.split(separator: "x", omittingEmptySubsequences: false)
    guard parts.count == 2, let columns = Int(parts[0]), let rows = Int(parts[1]) else { return nil }
    guard (1...10_000).contains(columns), (1...10_000).contains(rows) else { return nil }
    self.init(columns: columns, rows: rows)
  }

  /// `80x24`.
  package var description: String { "\(columns)x\(rows)" }

  /// Whether nothing fits into it.
  package var isEmpty: Bool { columns == 0 || rows == 0 }
}

/// A rectangle of cells.
package struct Rect: Hashable, Sendable {
  /// Its upper left cell.
  package var origin: Point
  /// Its columns and rows.
  package var size: Size

  /// Makes a rectangle of `size` at `origin`.
  package init(origin: Point, size: Size) {
    self.origin = origin
    self.size = size
  }

  /// Makes a rectangle from its four numbers.
  package init(column: Int, row: Int, columns: Int, rows: Int) {
    self.init(origin: Point(column: column, row: row), size: Size(columns: columns, rows: rows))
  }

  /// Makes the rectangle of a whole screen of `size`.
  package init(_ size: Size) {
    self.init(origin: .zero, size: size)
  }

  package var left: Int { origin.column }
  package var top: Int { origin.row }
  /// The column after the last.
  package var right: Int { origin.column + size.columns }
  /// The row after the last.
  package var bottom: Int { origin.row + size.rows }
  package var columns: Int { size.columns }
  package var rows: Int { size.rows }
  /// Whether it has no cell.
  package var isEmpty: Bool { size.isEmpty }

  /// Returns the point at a distance of columns and rows from the origin.
  package func at(_ column: Int, _ row: Int = 0) -> Point { Point(column: left + column, row: top + row) }

  /// Whether `point` is one of its cells.
  package func contains(_ point: Point) -> Bool {
    point.column >= left && point.column < right && point.row >= top && point.row < bottom
  }

  /// Returns the cells in both rectangles; empty if there are none.
  package func intersection(_ other: Rect) -> Rect {
    let column = max(left, other.left)
    let row = max(top, other.top)
    return Rect(
      column: column, row: row, columns: min(right, other.right) - column, rows: min(bottom, other.bottom) - row)
  }

  /// Returns the rectangle without `columns` at both sides and `rows` above and below.
  package func inset(columns: Int = 1, rows: Int = 1) -> Rect {
    Rect(
      column: left + columns, row: top + rows, columns: size.columns - 2 * columns, rows: size.rows - 2 * rows)
  }

  /// Returns its first `columns`, and the rest to the right of them.
  package func split(left columns: Int) -> (left: Rect, right: Rect) {
    let taken = min(max(0, columns), size.columns)
    return (
      Rect(column: left, row: top, columns: taken, rows: rows),
      Rect(column: left + taken, row: top, columns: size.columns - taken, rows: rows)
    )
  }

  /// Returns the part left of its last `columns`, and those columns.
  package func split(right columns: Int) -> (left: Rect, right: Rect) {
    split(left: size.columns - min(max(0, columns), size.columns))
  }

  /// Returns its first `rows`, and the rest below them.
  package func split(top rows: Int) -> (top: Rect, bottom: Rect) {
    let taken = min(max(0, rows), size.rows)
    return (
      Rect(column: left, row: top, columns: columns, rows: taken),
      Rect(column: left, row: top + taken, columns: columns, rows: size.rows - taken)
    )
  }

  /// Returns a rectangle of at most `size` in its middle.
  package func centered(_ size: Size) -> Rect {
    let columns = min(size.columns, self.columns)
    let rows = min(size.rows, self.rows)
    return Rect(
      column: left + (self.columns - columns) / 2, row: top + (self.rows - rows) / 2, columns: columns, rows: rows)
  }
}
