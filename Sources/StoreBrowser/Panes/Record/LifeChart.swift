import StrataModel
import StrataTerminal

/// A number over time: each value as a horizontal line from its commit to the next value's commit, with the dates of the first and the
/// last.
struct LifeChart: Sendable {
  /// In nanoseconds since 1970, and in order.
  private let points: [(date: Int64, value: Double)]
  private let ends: (least: Double, most: Double)
  /// The end of the last value's line.
  private let until: Int64

  /// The number of rows of a chart, its dates included.
  static let rows = 3...9

  /// Returns nil if there are not two numbers to compare, or if a value in between is not a number.
  ///
  /// - Parameters:
  ///   - life: The values, oldest first.
  ///   - until: The date of the shown commit.
  init?(_ life: [LifePoint], until: Int64?) {
    points = life.compactMap { point in point.number.map { (point.date, $0) } }
    let values = points.map(\.value)
    guard points.count == life.count, points.count > 1, values.allSatisfy(\.isFinite), let last = points.last?.date,
      let least = values.min(), let most = values.max()
    else { return nil }
    ends = (least, most)
    self.until = max(until ?? last, last)
  }

  /// Returns the dots of the line in a chart of `cells` cells.
  func dots(_ cells: Size, form: ChartForm) -> DotChart {
    var chart = DotChart(cells: cells, form: form)
    let columns = points.indices.map { column(of: points[$0].date, at: $0, chart.columns) } + [chart.columns - 1]
    for (position, point) in points.enumerated() {
      let row = row(of: point.value, chart.rows)
      chart.line(from: (columns[position], row), to: (columns[position + 1], row))
      guard position + 1 < points.count else { break }
      chart.line(
        from: (columns[position + 1], row),
        to: (columns[position + 1], self.row(of: points[position + 1].value, chart.rows)))
    }
    return chart
  }

  /// Returns the column of a date. If all values have one date, they are equally spaced.
  private func column(of date: Int64, at position: Int, _ columns: Int) -> Int {
    guard columns > 1, let first = points.first.map({ Double($0.date) }) else { return 0 }
    guard Double(until) > first else { return position * (columns - 1) / points.count }
    // The last value has a column of its own, even if it is very new.
    let part = (Double(date) - first) / (Double(until) - first)
    return min(columns - 2, Int((part * Double(columns - 1)).rounded()))
  }

  private func row(of value: Double, _ rows: Int) -> Int {
    let (least, most) = ends
    guard most > least else { return rows / 2 }
    return rows - 1 - (least...most).part(of: value, among: rows)
  }

  func draw(in rect: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    let (least, most) = ends
    let labels = [most, least].map {
      ScaledNumber.axis($0 == $0.rounded() && abs($0) < 1e15 ? "\(Int64($0))" : "\($0)")
    }
    let margin = (labels.map { SafeText.width($0) }.max() ?? 0) + 1
    guard rect.rows >= Self.rows.lowerBound, rect.columns >= margin + 12 else { return }
    let plot = Rect(
      column: rect.left + margin, row: rect.top, columns: rect.columns - margin, rows: rect.rows - 1)
    for (label, row) in zip(labels, [plot.top, plot.bottom - 1]) where most > least || row == plot.top {
      grid.write(
        label, at: Point(column: rect.left, row: row), width: margin - 1, style: theme.style(.dim), alignment: .trailing
      )
    }
    grid.draw(dots(Size(columns: plot.columns, rows: plot.rows), form: session.dotForm), in: plot) { _, _ in
      theme.style(.bar)
    }
    let (first, last) = session.time.ends(points[0].date, until)
    grid.drawAxis(
      [AxisLabel(column: 0, text: first, weight: 1), AxisLabel(column: plot.columns, text: last, weight: 2)],
      at: Point(column: plot.left, row: plot.bottom), columns: plot.columns, style: theme.style(.dim))
  }
}
