/// A picture of the screen: views draw into it, tests compare it and painters put it on a terminal.
///
/// Drawing outside of it is cut off, so that views need not check. If half of a wide cluster is overwritten, the other half becomes a
/// space, so that every row always has exactly its columns.
package struct CellGrid: Sendable, Equatable {
  /// Columns and rows.
  package let size: Size
  /// The position of the terminal's own cursor; nil hides it.
  package var cursor: Point?
  private(set) var cells: [Cell]

  /// Makes an empty picture of `size`.
  package init(size: Size) {
    self.size = size
    self.cells = Array(repeating: .blank, count: size.columns * size.rows)
  }

  /// The whole picture as a rectangle.
  package var bounds: Rect { Rect(size) }

  /// The cell at `point`; a blank one outside. Setting outside does nothing.
  package subscript(point: Point) -> Cell {
    get { bounds.contains(point) ? cells[index(point)] : .blank }
    set {
      guard bounds.contains(point) else { return }
      put(newValue, at: point)
    }
  }

  /// The cells of one row, from left to right; empty for a row outside.
  package func row(_ row: Int) -> ArraySlice<Cell> {
    guard row >= 0, row < size.rows else { return [] }
    return cells[row * size.columns..<(row + 1) * size.columns]
  }

  /// Copies a row from another picture of this size.
  package mutating func copyRow(_ row: Int, of other: CellGrid) {
    guard other.size == size, row >= 0, row < size.rows else { return }
    for place in row * size.columns..<(row + 1) * size.columns { cells[place] = other.cells[place] }
  }

  private func index(_ point: Point) -> Int { point.row * size.columns + point.column }

  /// Puts `cell` at a point inside, keeping wide clusters whole on both sides.
  private mutating func put(_ cell: Cell, at point: Point) {
    let place = index(point)
    clearHalves(at: place, column: point.column)
    guard cell.width == 2 else {
      cells[place] = cell
      return
    }
    guard point.column + 1 < size.columns else {
      cells[place] = Cell(style: cell.style)
      return
    }
    clearHalves(at: place + 1, column: point.column + 1)
    cells[place] = cell
    cells[place + 1] = Cell(text: "", width: 0, style: cell.style)
  }

  private mutating func clearHalves(at place: Int, column: Int) {
    switch cells[place].width {
    case 0 where column > 0: cells[place - 1] = Cell(style: cells[place - 1].style)
    case 2 where column + 1 < size.columns: cells[place + 1] = Cell(style: cells[place + 1].style)
    default: break
    }
  }

  /// Changes the style of every cell of `rect`, and keeps its text.
  package mutating func restyle(_ rect: Rect, _ change: (inout Style) -> Void) {
    let part = rect.intersection(bounds)
    guard !part.isEmpty else { return }
    for row in part.top..<part.bottom {
      for column in part.left..<part.right {
        change(&cells[row * size.columns + column].style)
      }
    }
  }

  /// Makes every cell of `rect` a space in `style`.
  package mutating func fill(_ rect: Rect, style: Style = .plain) {
    fill(rect, with: Cell(style: style))
  }

  /// Makes every cell of `rect` the narrow `cell`.
  package mutating func fill(_ rect: Rect, with cell: Cell) {
    let part = rect.intersection(bounds)
    guard !part.isEmpty else { return }
    for row in part.top..<part.bottom {
      let start = index(Point(column: part.left, row: row))
      clearHalves(from: start, count: part.columns, column: part.left)
      for place in start..<start + part.columns { cells[place] = cell }
    }
  }

  /// Puts adjacent narrow cells inside; wide clusters that they overlap at either end become spaces.
  mutating func put(narrow bytes: UnsafeBufferPointer<UInt8>, look: PackedStyle, at point: Point) {
    guard !bytes.isEmpty else { return }
    let start = index(point)
    clearHalves(from: start, count: bytes.count, column: point.column)
    for offset in bytes.indices { cells[start + offset] = Cell(ascii: bytes[offset], look: look) }
  }

  /// Replaces the remaining halves of wide clusters at both ends of an area to be overwritten with spaces.
  private mutating func clearHalves(from start: Int, count: Int, column: Int) {
    clearHalves(at: start, column: column)
    clearHalves(at: start + count - 1, column: column + count - 1)
  }

  /// Moves the rows of `rect` up by `rows`, or down if it is negative. The rows that are moved in keep their earlier contents.
  package mutating func scroll(_ rect: Rect, by rows: Int) {
    let part = rect.intersection(bounds)
    guard !part.isEmpty, rows != 0, abs(rows) < part.rows else { return }
    let kept = part.rows - abs(rows)
    for offset in 0..<kept {
      let target = rows > 0 ? part.top + offset : part.bottom - 1 - offset
      let (to, from) = (target * size.columns + part.left, (target + rows) * size.columns + part.left)
      for column in 0..<part.columns { cells[to + column] = cells[from + column] }
    }
  }

  /// The same picture in ASCII, column by column, for terminals that can show only ASCII.
  package func asciiOnly() -> CellGrid {
    var plain = CellGrid(size: size)
    plain.cursor = cursor
    for place in cells.indices {
      let cell = cells[place]
      guard cell.width > 0 else { continue }
      let text = SafeText.plainASCII(cell.text, width: Int(cell.width))
      for (offset, character) in text.enumerated() where place + offset < cells.count {
        plain.cells[place + offset] = Cell(text: String(character), width: 1, style: cell.style)
      }
    }
    return plain
  }
}
