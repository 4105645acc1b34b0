import CStrataCurses
import StrataTerminal

/// Puts the differences between two pictures on the terminal.
struct CursesPainter {
  private let colors: Int
  private var shown: CellGrid?
  private var scalars: [UInt32] = []

  private static let blank: UInt32 = 0x20
  private static let fullBlock: UInt32 = 0x2588

  init(colors: Int) {
    self.colors = colors
  }

  /// Paints the next picture whole.
  mutating func forget() { shown = nil }

  /// Paints `grid`. Sends nothing at all if it equals the picture before.
  mutating func paint(_ grid: CellGrid) {
    guard paintDifference(grid) else { return }
    if let cursor = grid.cursor, grid.bounds.contains(cursor) {
      strata_cursor(Int32(cursor.row), Int32(cursor.column))
    } else {
      strata_cursor(-1, 0)
    }
    strata_flush()
  }

  /// Returns whether anything differs. Copies only the changed rows, so that the caller, which draws the next picture over this one, is the
  /// only owner of it and copies nothing.
  private mutating func paintDifference(_ grid: CellGrid) -> Bool {
    guard var former = shown.take(), former.size == grid.size else {
      for row in 0..<grid.size.rows { _ = paintRow(grid.row(row), over: nil, at: row) }
      shown = grid
      return true
    }
    var differs = former.cursor != grid.cursor
    for row in 0..<grid.size.rows where paintRow(grid.row(row), over: former.row(row), at: row) {
      former.copyRow(row, of: grid)
      differs = true
    }
    former.cursor = grid.cursor
    shown = former
    return differs
  }

  /// Returns whether anything differs.
  private mutating func paintRow(_ cells: ArraySlice<Cell>, over former: ArraySlice<Cell>?, at row: Int) -> Bool {
    if let former, Cell.areSame(cells, former) { return false }
    var differs = false
    for place in cells.indices {
      if let former, former[place] == cells[place] { continue }
      differs = true
      if cells[place].width > 0 { put(cells[place], row: row, column: place - cells.startIndex) }
    }
    return differs
  }

  private mutating func put(_ cell: Cell, row: Int, column: Int) {
    scalars.removeAll(keepingCapacity: true)
    cell.forEachScalar { scalars.append($0) }
    if SafeText.isJoined(scalars) {
      let place = strata_join(scalars, Int32(scalars.count), Int32(cell.width))
      scalars = place > 0 ? [place] : Array(scalars.prefix(1))
    }
    let style = cell.style
    let foreground = style.foreground.number(among: colors)
    let background = style.background.number(among: colors)
    var attributes = style.attributes
    if foreground.isBright { attributes.insert(.bold) }
    // A bar is a blank on that colour: one byte instead of three, fewer if a terminal clears in a colour, and no seams.
    if scalars == [Self.fullBlock], foreground.number >= 0, background.number < 0, attributes.isEmpty {
      return strata_put(Int32(row), Int32(column), [Self.blank], 1, 0, -1, Int32(foreground.number))
    }
    strata_put(
      Int32(row), Int32(column), scalars, Int32(scalars.count), UInt32(attributes.rawValue),
      Int32(foreground.number), Int32(background.number))
  }
}
