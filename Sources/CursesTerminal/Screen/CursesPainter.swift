import CCurses
import TerminalKit

/// Puts what differs between two pictures on the terminal.
struct CursesPainter {
  private let colors: Int
  private var shown: CellGrid?
  private var scalars: [UInt32] = []

  init(colors: Int) {
    self.colors = colors
  }

  /// The next picture is painted whole.
  mutating func forget() { shown = nil }

  /// Paints `grid`. Sends nothing at all where it is the picture before.
  mutating func paint(_ grid: CellGrid) {
    guard grid != shown else { return }
    for row in 0..<grid.size.rows { paintRow(row, of: grid) }
    shown = grid
    if let cursor = grid.cursor, grid.bounds.contains(cursor) {
      strata_cursor(Int32(cursor.row), Int32(cursor.column))
    } else {
      strata_cursor(-1, 0)
    }
    strata_flush()
  }

  private mutating func paintRow(_ row: Int, of grid: CellGrid) {
    let cells = grid.row(row)
    let former = shown?.size == grid.size ? shown?.row(row) : nil
    if let former, former == cells { return }
    for column in 0..<grid.size.columns {
      let cell = cells[cells.startIndex + column]
      if let former, former[former.startIndex + column] == cell { continue }
      guard cell.width > 0 else { continue }
      put(cell, row: row, column: column)
    }
  }

  private mutating func put(_ cell: Cell, row: Int, column: Int) {
    scalars.removeAll(keepingCapacity: true)
    for scalar in cell.text.unicodeScalars { scalars.append(scalar.value) }
    let foreground = cell.style.foreground.number(among: colors)
    let background = cell.style.background.number(among: colors)
    var attributes = cell.style.attributes
    if foreground.isBright { attributes.insert(.bold) }
    strata_put(
      Int32(row), Int32(column), scalars, Int32(scalars.count), UInt32(attributes.rawValue),
      Int32(foreground.number), Int32(background.number))
  }
}
