import StrataSystem

/// A picture made of dots, each with how many points lie in it; several series may share it.
///
/// How many points share a cell is its shade; which series has most of them is its mark in ASCII and its style elsewhere.
package struct DotChart: Sendable {
  /// Shades of a cell, from few points to many.
  package static let shades = 4

  package let form: ChartForm
  /// In dots.
  package let columns: Int
  package let rows: Int
  /// By series, then row by row from the top.
  package var counts: [[UInt32]]

  /// An empty picture for a rectangle of cells.
  package init(cells: Size, form: ChartForm, series: Int = 1) {
    self.init(
      form: form, columns: cells.columns * form.dotsAcross, rows: cells.rows * form.dotsDown,
      counts: Array(
        repeating: Array(repeating: 0, count: cells.columns * form.dotsAcross * cells.rows * form.dotsDown),
        count: max(1, series)))
  }

  /// A picture of what was counted elsewhere; `counts` must have `columns` × `rows` numbers a series.
  package init(form: ChartForm, columns: Int, rows: Int, counts: [[UInt32]]) {
    self.form = form
    self.columns = columns
    self.rows = rows
    self.counts = counts.map { $0.count == columns * rows ? $0 : Array(repeating: 0, count: columns * rows) }
  }

  /// Adds a point; nothing happens outside.
  package mutating func add(column: Int, row: Int, series: Int = 0) {
    guard (0..<columns).contains(column), (0..<rows).contains(row), counts.indices.contains(series) else { return }
    counts[series][row * columns + column] &+= 1
  }

  /// Draws a line between two dots, both ends included (J. Bresenham 1965).
  package mutating func line(from start: (column: Int, row: Int), to end: (column: Int, row: Int), series: Int = 0) {
    let (across, down) = (abs(end.column - start.column), -abs(end.row - start.row))
    guard across < 100_000, down > -100_000 else { return }
    let (right, below) = (start.column < end.column ? 1 : -1, start.row < end.row ? 1 : -1)
    var (column, row, error) = (start.column, start.row, across + down)
    while true {
      add(column: column, row: row, series: series)
      if column == end.column, row == end.row { return }
      let doubled = 2 * error
      if doubled >= down {
        error += down
        column += right
      }
      if doubled <= across {
        error += across
        row += below
      }
    }
  }

  /// The dots of a cell that have points, as bits, and how many points each series has there.
  private func cell(column cell: Int, row: Int) -> (bits: UInt32, totals: [Int]) {
    var bits: UInt32 = 0
    var totals = Array(repeating: 0, count: counts.count)
    for down in 0..<form.dotsDown {
      for across in 0..<form.dotsAcross {
        let (dotColumn, dotRow) = (cell * form.dotsAcross + across, row * form.dotsDown + down)
        guard dotColumn < columns, dotRow < rows else { continue }
        for series in counts.indices {
          let count = Int(counts[series][dotRow * columns + dotColumn])
          guard count > 0 else { continue }
          totals[series] += count
          bits |= form == .block ? 1 << UInt32(down * 2 + across) : BrailleCell.bit(column: across, row: down)
        }
      }
    }
    return (bits, totals)
  }

  /// Calls `body` with the sign of each cell that has points, the series with most of them there, and their shade.
  fileprivate func forEachCell(_ body: (_ column: Int, _ row: Int, String, _ series: Int, _ shade: Int) -> Void) {
    let across = (columns + form.dotsAcross - 1) / form.dotsAcross
    let down = (rows + form.dotsDown - 1) / form.dotsDown
    let cells = (0..<down).map { row in (0..<across).map { cell(column: $0, row: row) } }
    let largest = cells.joined().map { $0.totals.reduce(0, +) }.max() ?? 0
    for (row, line) in cells.enumerated() {
      for (column, cell) in line.enumerated() {
        guard let most = cell.totals.max(), most > 0, let series = cell.totals.firstIndex(of: most) else { continue }
        let shade = Self.shade(cell.totals.reduce(0, +), largest: largest)
        let text =
          switch form {
          case .braille: BrailleCell.text(cell.bits)
          case .block: Self.quarters[Int(cell.bits)]
          case .ascii: counts.count > 1 ? Self.mark(series) : Self.densities[shade]
          }
        body(column, row, text, series, shade)
      }
    }
  }

  private static func shade(_ count: Int, largest: Int) -> Int {
    guard largest > 1, count > 1 else { return 0 }
    return min(shades - 1, Int(log(Double(count)) / log(Double(largest)) * Double(shades)))
  }

  /// The mark of a series, in ASCII and in legends.
  package static func mark(_ series: Int) -> String { marks[series % marks.count] }

  private static let marks = ["o", "x", "+", "*", "#", "@"]
  private static let densities = [".", ":", "o", "@"]
  /// Upper left, upper right, lower left, lower right.
  private static let quarters = [" ", "▘", "▝", "▀", "▖", "▌", "▞", "▛", "▗", "▚", "▐", "▜", "▄", "▙", "▟", "█"]
}

extension CellGrid {
  /// Draws a picture made of dots; empty cells stay as they are.
  package mutating func draw(_ chart: DotChart, in rect: Rect, style: (_ series: Int, _ shade: Int) -> Style) {
    chart.forEachCell { column, row, text, series, shade in
      guard column < rect.columns, row < rect.rows else { return }
      self[rect.at(column, row)] = Cell(text: text, width: 1, style: style(series, shade))
    }
  }
}
