import StrataDocuments
import StrataModel
import StrataTerminal

extension PlotPane {
  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    guard let reply = begin(on: &grid, frame, title: title, footer: [footer], note: nil, session) else { return }
    let inside = frame.inside
    if session.readsAsLines { return drawTable(reply, in: inside, on: &grid, theme: theme) }
    let form = session.dotForm
    let dots = Self.dots(reply, frame, form)
    let rect = Rect(
      column: inside.left + dots.left, row: inside.top + dots.top, columns: dots.columns, rows: dots.rows)
    drawAxes(reply, around: rect, on: &grid, theme: theme)
    let chart = DotChart(
      form: form, columns: reply.count.columns, rows: reply.count.rows, counts: reply.count.counts)
    grid.draw(chart, in: rect) { series, shade in
      reply.series.isEmpty ? theme.dots(shade: shade) : theme.series(series)
    }
    drawLegend(reply, in: inside, on: &grid, session: session)
    drawCross(reply, in: rect, on: &grid, frame: frame, session: session)
    drawPoint(in: inside, on: &grid, session: session)
  }

  private var title: String {
    guard let reply else { return "Plot of \(subject?.source.datastore ?? "")" }
    let by = reply.request.by.map { " by \($0)" } ?? ""
    return "\(reply.request.source.datastore) at \(Self.name(reply.x)) × \(Self.name(reply.y))\(by)"
  }

  private static func name(_ path: String) -> String { (try? DocumentPath(parsing: path))?.shortText ?? path }

  private var footer: String {
    guard let reply else { return "" }
    let counts = [
      NumberFormat.counted(reply.count.inside, "point"),
      reply.count.outside > 0 ? "\(NumberFormat.count(reply.count.outside)) beside" : nil,
      reply.withoutNumbers > 0 ? "\(NumberFormat.count(reply.withoutNumbers)) without numbers" : nil,
    ]
    return (counts.compactMap(\.self) + reply.request.source.narrowing).joined(separator: " · ")
  }

  /// The points, counted in equal parts of both axes.
  private func drawTable(_ reply: PlotReply, in rect: Rect, on grid: inout CellGrid, theme: Theme) {
    let (across, down) = (6, 6)
    var counts = Array(repeating: 0, count: across * down)
    let (columns, rows) = (max(1, reply.count.columns), max(1, reply.count.rows))
    for series in reply.count.counts {
      for (dot, count) in series.enumerated() where count > 0 {
        counts[dot / columns * down / rows * across + dot % columns * across / columns] += Int(count)
      }
    }
    let frame = reply.count.frame
    func limit(_ range: ClosedRange<Double>, _ part: Int, of parts: Int) -> String {
      let value = range.value(at: Double(part) / Double(parts))
      return NumberFormat.fitting(NumberFormat.fixed(value, digits: 2), in: 9)
    }
    let table = counts.enumerated().map { part, count in
      ChartTable.Row(
        label: "\(Self.name(reply.x)) from \(limit(frame.x, part % across, of: across)), \(Self.name(reply.y)) from "
          + limit(frame.y, down - 1 - part / across, of: down), count: count)
    }
    ChartTable(rows: table).draw(in: rect, on: &grid, theme: theme)
  }

  private func drawAxes(_ reply: PlotReply, around rect: Rect, on grid: inout CellGrid, theme: Theme) {
    let style = theme.style(.dim)
    for row in rect.top..<rect.bottom {
      grid[Point(column: rect.left - 1, row: row)] = Cell(text: theme.isASCII ? "|" : "▏", width: 1, style: style)
    }
    let frame = reply.count.frame
    func marks(_ range: ClosedRange<Double>, parts: Int) -> [RoundNumber] {
      RoundNumbers.linear(from: range.lowerBound, to: range.upperBound, parts: max(1, parts), isWhole: false)
        .filter { range.contains($0.double) }
    }
    let labels = marks(frame.x, parts: rect.columns / 9).map { mark in
      AxisLabel(
        column: frame.x.part(of: mark.double, among: rect.columns),
        text: ScaledNumber.axis(mark.text), weight: mark.coefficient == 0 ? 1 : 0)
    }
    grid.drawAxis(labels, at: Point(column: rect.left, row: rect.bottom), columns: rect.columns, style: style)
    for mark in marks(frame.y, parts: rect.rows / 3) {
      let row = rect.bottom - 1 - frame.y.part(of: mark.double, among: rect.rows)
      let text = ScaledNumber.axis(mark.text)
      // A label that is a cell too long has the axis's own: `-125e306` scaled would be another number.
      let width = text.utf8.count == Self.margin ? Self.margin : Self.margin - 1
      // Of a longer one the last digits tell it from the others; the cross-hair has all of them.
      let shown = text.contains(" ") && text.count > width ? "…" + text.suffix(width - 1) : text
      grid.write(
        NumberFormat.fitting(shown, in: width), at: Point(column: rect.left - Self.margin, row: row), width: width,
        style: style, alignment: .trailing)
    }
  }

  private func drawLegend(_ reply: PlotReply, in inside: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    var spans: [Span] = []
    if reply.series.isEmpty {
      spans = [Span("points a cell  ", theme.style(.dim))]
      for shade in 0..<DotChart.shades {
        spans.append(Span(theme.isASCII ? [".", ":", "o", "@"][shade] : "⣿", theme.dots(shade: shade)))
      }
      spans.append(Span(" few … many", theme.style(.dim)))
    } else {
      for (series, value) in reply.series.enumerated() {
        spans.append(Span("\(theme.isASCII ? DotChart.mark(series) : "●") ", theme.series(series)))
        spans.append(Span("\(value.text)  "))
      }
    }
    grid.write(spans, at: inside.at(1), width: inside.columns - 2)
  }

  private func drawCross(
    _ reply: PlotReply, in rect: Rect, on grid: inout CellGrid, frame: PaneFrame, session: Session
  ) {
    guard let cross, let middle = cell(of: cross, reply, rect, session.dotForm) else { return }
    let theme = session.theme
    if let corner, let other = cell(of: corner, reply, rect, session.dotForm) {
      let (left, right) = (min(middle.column, other.column), max(middle.column, other.column))
      let (top, bottom) = (min(middle.row, other.row), max(middle.row, other.row))
      grid.restyle(Rect(column: left, row: top, columns: right - left + 1, rows: bottom - top + 1)) {
        $0.attributes.formUnion(.reverse)
      }
    }
    let style = theme.style(.found)
    func draw(_ sign: String, at columns: Int, _ rows: Int) {
      let point = Point(column: middle.column + columns, row: middle.row + rows)
      if rect.contains(point), grid[point].text == " " { grid[point] = Cell(text: sign, width: 1, style: style) }
    }
    for step in -3...3 { draw(theme.isASCII ? "-" : "─", at: step, 0) }
    for step in -1...1 { draw(theme.isASCII ? "|" : "│", at: 0, step) }
    grid[middle] = Cell(text: theme.isASCII ? "+" : "┼", width: 1, style: style.with(.reverse))
    if frame.isFocused { grid.cursor = middle }
  }

  private func cell(of value: (x: Double, y: Double), _ reply: PlotReply, _ rect: Rect, _ form: ChartForm) -> Point? {
    guard let dot = reply.count.dot(value.x, value.y) else { return nil }
    return rect.at(dot.column / form.dotsAcross, dot.row / form.dotsDown)
  }

  /// The point under the cross-hair.
  private func drawPoint(in inside: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    guard let reply, let cross else { return }
    let frame = reply.count.frame
    func text(_ value: Double, _ range: ClosedRange<Double>) -> String {
      ScaledNumber.measured(value, step: range.width(ofParts: 1_000))
    }
    var spans: [Span] = []
    if let part = corner.flatMap({ values(from: $0, to: cross, session.dotForm) }) {
      let ends = [(part.x, frame.x), (part.y, frame.y)].map { part, frame in
        "\(text(part.lowerBound, frame)) … \(text(part.upperBound, frame))"
      }
      spans.append(Span("rectangle \(ends.joined(separator: ", "))  \(theme.enterKey) makes it a filter  "))
    } else if let point {
      spans = [
        Span("\(theme.cursor) \(point.identifier) ", theme.style(.key)), Span(point.label + "  ", theme.style(.title)),
        Span("\(Self.name(reply.x)) \(point.x)  \(Self.name(reply.y)) \(point.y)  "),
      ]
    }
    spans.append(Span("cross-hair \(text(cross.x, frame.x)), \(text(cross.y, frame.y))", theme.style(.dim)))
    grid.write(spans, at: Point(column: inside.left + 1, row: inside.bottom - 1), width: inside.columns - 2)
  }
}
