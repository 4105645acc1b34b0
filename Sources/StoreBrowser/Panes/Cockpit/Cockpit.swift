import StrataModel
import StrataTerminal

/// The picture of one run: a bar for the whole, a row a step with its bar, rate and time, the result in words, the worker and the
/// waiters, and the rate over time.
struct Cockpit {
  let run: WorkRun
  let width: Int
  let session: Session

  var theme: Theme { session.theme }
  private var now: Int64 { session.now }

  /// The lines above the failures.
  var lines: [[Span]] {
    var lines = [headline]
    if run.activity.steps.isEmpty, run.isRunning {
      lines.append([Span("reading before the first is taken…", theme.style(.dim))])
    }
    lines += whole
    lines += steps
    if let words = run.words {
      let isBad = if case .failed = run.ending { true } else { false }
      lines += words.wrapped(to: width).map { [Span($0, theme.style(isBad ? .problem : .title))] }
    }
    let sentences = [comparison ?? "", sentence].filter { !$0.isEmpty }
    return lines + sentences.flatMap { $0.wrapped(to: width) }.map { [Span($0, theme.style(.dim))] }
  }

  private var headline: [Span] {
    var spans = [Span(run.title, theme.style(.title))]
    if let seconds = run.stalled(at: now) {
      spans.append(Span("  \(theme.warningSign) nothing for \(seconds) s", theme.style(.warning)))
    }
    return spans
  }

  // MARK: The whole

  /// One bar over the whole width, and under it the figures.
  private var whole: [[Span]] {
    guard run.isRunning, let percent = run.percent else { return [] }
    let part = run.activity.share ?? Double(run.activity.done) / Double(max(1, run.activity.total))
    let bar = Bars.progress(Int(part * 100_000), of: 100_000, width: width, isASCII: theme.isASCII)
    var figures = ["\(percent) %", "\(TimeText.duration(seconds: run.seconds(at: now))) gone"]
    if let left = Self.left(run.activity) { figures.append(left) }
    return [
      [Span(bar, theme.style(.bar))],
      [Span(figures.joined(separator: " \(theme.dot) "))],
    ]
  }

  /// `0:40–0:55 left`; nil while too little is known.
  static func left(_ activity: Activity) -> String? {
    guard let left = activity.secondsLeft else { return nil }
    let ends = [left.lowerBound, left.upperBound].map { TimeText.duration(seconds: $0) }
    return (ends[0] == ends[1] ? ends[0] : ends.joined(separator: "–")) + " left"
  }

  /// The running build against the last of its kind.
  private var comparison: String? {
    guard run.isRunning, run.isBuild,
      let last = session.remembered.builds?.last(where: { $0.title == run.title && $0.outcome == "complete" })
    else { return nil }
    var text = "the last time: \(last.figures(dot: theme.dot))"
    if let left = run.activity.secondsLeft {
      let seconds = run.seconds(at: now) + (left.lowerBound + left.upperBound) / 2
      text += " \(theme.dot) this time about \(TimeText.duration(seconds: seconds))"
    }
    return text
  }

  // MARK: Rate and past builds

  /// Draws the rate over time with the resources of the work beside it, and the past builds, as far as there is room.
  func drawBelow(in rect: Rect, on grid: inout CellGrid, past: [[Span]]) {
    guard rect.rows > 0 else { return }
    let pastRows = past.isEmpty ? 0 : min(past.count + 1, max(0, rect.rows - 5))
    let curveRows = min(9, rect.rows - pastRows)
    var top = rect.top
    if curveRows >= 1 {
      drawCurve(in: Rect(column: rect.left, row: top, columns: rect.columns, rows: curveRows), on: &grid)
      top += curveStep != nil && curveRows >= 3 ? curveRows + 1 : 2
    }
    for line in past where top < rect.bottom {
      grid.write(line, at: Point(column: rect.left, row: top), width: rect.columns)
      top += 1
    }
  }

  /// The step whose rates are shown: the one under way, afterwards the one that took longest.
  private var curveStep: Activity.Step? {
    let measured = run.activity.steps.filter { ($0.course?.count ?? 0) > 2 }
    if run.isRunning, let current = run.activity.currentStep, measured.contains(current) { return current }
    return measured.max { ($0.seconds ?? 0) < ($1.seconds ?? 0) }
  }

  private func drawCurve(in rect: Rect, on grid: inout CellGrid) {
    guard let step = curveStep, let course = step.course, let greatest = course.max(), greatest > 0 else {
      if let takes = takes { grid.write(takes, at: rect.origin, width: rect.columns, style: theme.style(.dim)) }
      return
    }
    let last = run.isRunning ? step.rate.map { Int($0) } ?? course[course.count - 1] : course[course.count - 1]
    let heading =
      "\(step.title): \(NumberFormat.count(last))/s \(run.isRunning ? "now" : "at the end"), "
      + "\(NumberFormat.count(greatest))/s at most"
    var top = rect.top
    if let takes {
      // Beside the rates if there is room, otherwise a line of its own above them.
      let fits = SafeText.width(heading) + SafeText.width(takes) + 3 <= rect.columns
      grid.write(
        takes, at: rect.origin, width: rect.columns, style: theme.style(.dim), alignment: fits ? .trailing : .leading)
      if !fits { top += 1 }
    }
    let place = Point(column: rect.left, row: top)
    if top < rect.bottom { grid.write(heading, at: place, width: rect.columns, style: theme.style(.dim)) }
    let chart = Rect(column: rect.left, row: top + 1, columns: rect.columns, rows: rect.bottom - top - 1)
    guard chart.rows >= 2 else { return }
    if session.readsAsLines {
      let rows = course.enumerated().map { ChartTable.Row(label: "a second, part \($0 + 1)", count: $1) }
      return ChartTable(rows: rows).draw(in: chart, on: &grid, theme: theme)
    }
    grid.draw(Self.curve(course, in: chart.size, form: session.dotForm), in: chart) { _, _ in theme.style(.bar) }
  }

  /// A line through the rates, over the whole width, from zero to the greatest.
  static func curve(_ course: [Int], in cells: Size, form: ChartForm) -> DotChart {
    var chart = DotChart(cells: cells, form: form)
    let greatest = Double(max(1, course.max() ?? 1))
    let points = course.enumerated().map { position, rate in
      (
        column: position * (chart.columns - 1) / max(1, course.count - 1),
        row: chart.rows - 1 - Int((Double(rate) / greatest * Double(chart.rows - 1)).rounded())
      )
    }
    for (start, end) in zip(points, points.dropFirst()) { chart.line(from: start, to: end) }
    // Two lines meet in a dot, which is one dot all the same.
    chart.counts = chart.counts.map { $0.map { min($0, 1) } }
    return chart
  }

  /// `memory 61 MB · temporary 12 MB · log +8.1 MB`: what was measured last while it ran.
  private var takes: String? {
    guard let figures = run.activity.figures else { return nil }
    var parts: [String] = []
    if let memory = figures.memory { parts.append("memory \(NumberFormat.bytes(memory))") }
    if figures.temporary > 0 { parts.append("temporary \(NumberFormat.bytes(figures.temporary))") }
    if let growth = run.activity.growth { parts.append("log +\(NumberFormat.bytes(growth))") }
    return parts.isEmpty ? nil : parts.joined(separator: " \(theme.dot) ")
  }
}
