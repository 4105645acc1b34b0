import StrataTerminal

/// The contents of a chart in words, for users who read the screen as lines (`--plain`).
struct ChartTable: Sendable, Hashable {
  /// The labels of the axis with their counts.
  var rows: [Row]

  struct Row: Sendable, Hashable {
    var label: String
    var count: Int
  }

  /// Draws the rows that are not empty, from top to bottom and then in the next column. If there are more than have room, adjacent rows are
  /// combined.
  func draw(in rect: Rect, on grid: inout CellGrid, theme: Theme) {
    var shown = rows.filter { $0.count > 0 }
    while true {
      let width = (shown.map { SafeText.width(Self.text($0)) }.max() ?? 0) + 3
      let columns = max(1, (rect.columns + 3) / max(1, width))
      guard shown.count > columns * rect.rows, shown.count > 1 else {
        for (position, row) in shown.enumerated() {
          grid.write(
            Self.text(row), at: rect.at(position / rect.rows * width, position % rect.rows),
            width: min(width, rect.columns), style: theme.style(.text))
        }
        return
      }
      shown = Self.halved(shown)
    }
  }

  private static func text(_ row: Row) -> String { "\(row.label): \(NumberFormat.count(row.count))" }

  private static func halved(_ rows: [Row]) -> [Row] {
    stride(from: 0, to: rows.count, by: 2).map { position in
      guard position + 1 < rows.count else { return rows[position] }
      return Row(label: rows[position].label, count: rows[position].count + rows[position + 1].count)
    }
  }
}
