/// The positions of adjacent upright bars: all equally wide, as wide as there is room for.
package struct BarLayout: Hashable, Sendable {
  package let count: Int
  /// Columns of the picture.
  package let columns: Int
  /// Bars that share a cell: 2 for narrow bars of braille, otherwise 1.
  package let barsPerCell: Int
  /// Cells of a bar and of the gap after it.
  package let pitch: Int
  /// Cells that a bar fills.
  package let width: Int

  /// The largest number of bars in a picture of this width.
  package static func capacity(columns: Int, form: ChartForm) -> Int {
    max(0, columns) * (form == .braille ? 2 : 1)
  }

  package init(count: Int, columns: Int, form: ChartForm) {
    self.count = max(0, count)
    self.columns = max(0, columns)
    barsPerCell = form == .braille && count > columns ? 2 : 1
    pitch = max(1, count > 0 ? self.columns / max(1, (count + barsPerCell - 1) / barsPerCell) : 1)
    width = pitch > 3 ? pitch - 1 : pitch
  }

  /// The first column of a bar, from the left edge of the picture.
  package func column(of bar: Int) -> Int { bar / barsPerCell * pitch }

  /// The columns of a bar, without the gap.
  package func columns(of bar: Int) -> Range<Int> { column(of: bar)..<column(of: bar) + width }

  /// The columns that all bars together take.
  package var used: Int { count == 0 ? 0 : min(columns, column(of: count - 1) + width) }
}

extension CellGrid {
  /// Draws upright bars upwards from the lower edge of `rect`.
  ///
  /// - Parameters:
  ///   - heights: parts of the whole height, 0 to 1; 0 is blank, anything above is at least the lowest sign.
  ///   - style: the style of a bar.
  package mutating func drawBars(
    _ heights: [Double], in rect: Rect, form: ChartForm, style: (_ bar: Int) -> Style
  ) {
    let layout = BarLayout(count: heights.count, columns: rect.columns, form: form)
    guard rect.rows > 0, layout.columns > 0 else { return }
    for bar in stride(from: 0, to: heights.count, by: layout.barsPerCell) where layout.column(of: bar) < rect.columns {
      let last = bar + layout.barsPerCell - 1
      let signs = Self.signs(heights[bar], last < heights.count ? heights[last] : 0, rows: rect.rows, form: form)
      for column in layout.columns(of: bar) where column < rect.columns {
        for (row, sign) in signs.enumerated() where sign != " " {
          self[Point(column: rect.left + column, row: rect.bottom - 1 - row)] = Cell(
            text: sign, width: 1, style: style(bar))
        }
      }
    }
  }

  /// The signs of one bar from the bottom up, or of two that share a cell of braille.
  private static func signs(_ first: Double, _ second: Double, rows: Int, form: ChartForm) -> [String] {
    let steps = form == .ascii ? 2 : form == .braille ? 4 : 8
    let (first, second) = (level(first, steps: rows * steps), level(second, steps: rows * steps))
    return (0..<rows).map { row in
      let part = min(steps, max(0, first - row * steps))
      return switch form {
      case .block: blocks[part]
      case .ascii: part == 0 ? " " : part == 1 ? "." : "#"
      case .braille: BrailleCell.text(left: part, right: min(steps, max(0, second - row * steps)))
      }
    }
  }

  private static func level(_ height: Double, steps: Int) -> Int {
    guard height > 0 else { return 0 }
    return max(1, Int((min(1, height) * Double(steps)).rounded()))
  }

  private static let blocks = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
}

/// The eight dots of a braille cell.
enum BrailleCell {
  /// The bit of a dot, counted from the upper left.
  static func bit(column: Int, row: Int) -> UInt32 {
    let bits: [[UInt32]] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]
    return bits[row & 3][column & 1]
  }

  static func text(_ bits: UInt32) -> String {
    bits == 0 ? " " : Unicode.Scalar(0x2800 + bits).map { String($0) } ?? " "
  }

  /// Returns two bars with `left` and `right` dots, counted from the bottom.
  static func text(left: Int, right: Int) -> String {
    var bits: UInt32 = 0
    for row in 0..<4 {
      if 4 - row <= left { bits |= bit(column: 0, row: row) }
      if 4 - row <= right { bits |= bit(column: 1, row: row) }
    }
    return text(bits)
  }
}
