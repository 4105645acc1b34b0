import DatastoreModel
import TerminalKit

/// The picture of one run: a line a step with its bar, rate and time, what came of it in words, the rate over time, and
/// the runs before.
struct Cockpit {
  private let run: WorkRun
  private let width: Int
  private let theme: Theme
  private let shown: CommitNumber
  private let now: Int64

  init(_ run: WorkRun, width: Int, session: Session) {
    self.run = run
    self.width = width
    theme = session.theme
    shown = session.shown
    now = session.now
  }

  var lines: [[Span]] {
    var lines = [headline]
    if run.steps.isEmpty, run.isRunning {
      lines.append([Span("reading before the first is taken…", theme.style(.dim))])
    }
    if let whole { lines.append(whole) }
    lines += run.steps.map(line)
    if let figures { lines.append([Span(figures, theme.style(.dim))]) }
    if let words = run.words {
      let isBad = if case .failed = run.ending { true } else { false }
      lines += words.wrapped(to: width).map { [Span($0, theme.style(isBad ? .problem : .title))] }
    }
    return lines
  }

  private var headline: [Span] {
    var spans = [Span(run.title, theme.style(.title))]
    guard run.isRunning else { return spans }
    if run.id == nil { spans.append(Span("  in another process", theme.style(.dim))) }
    if let seconds = run.stalled(at: now) {
      spans.append(Span("  \(theme.warningSign) nothing for \(seconds) s", theme.style(.warning)))
    }
    spans.append(Span("  browsing stays on \(shown) until it is committed", theme.style(.dim)))
    return spans
  }

  /// `memory 61 MB · temporary 12 MB · log +8.1 MB`: what was measured last while it ran.
  private var figures: String? {
    guard let figures = run.figures else { return nil }
    var parts: [String] = []
    if let memory = figures.memory { parts.append("memory \(NumberFormat.bytes(memory))") }
    if figures.temporary > 0 { parts.append("temporary \(NumberFormat.bytes(figures.temporary))") }
    if let growth = run.growth { parts.append("log +\(NumberFormat.bytes(growth))") }
    return parts.isEmpty ? nil : parts.joined(separator: " \(theme.dot) ")
  }

  // MARK: Steps

  /// One bar for the whole, with the time that is left where that can be told.
  private var whole: [Span]? {
    guard run.isRunning, let share = run.share else { return nil }
    let (done, total) = run.part
    var spans = [
      Span(
        Bars.progress(done, of: total, width: max(6, min(40, width - 24)), isASCII: theme.isASCII), theme.style(.bar)),
      Span("  \(Int(share * 100)) %"),
    ]
    if let text = Self.remaining(run.shares, total - done) { spans.append(Span("  \(text)", theme.style(.dim))) }
    return spans
  }

  private static func remaining(_ rates: RateMeter, _ work: Int) -> String? {
    guard let range = rates.remaining(of: work) else { return nil }
    let ends = [range.lowerBound, range.upperBound].map { TimeText.duration(seconds: $0) }
    return ends[0] == ends[1] ? ends[0] : ends.joined(separator: "–")
  }

  private var titleWidth: Int {
    let widest = run.steps.map { SafeText.width($0.title) }.max() ?? 0
    return min(widest, max(10, width * 2 / 5))
  }

  private func line(_ step: WorkRun.Step) -> [Span] {
    let title = SafeText.cutInTheMiddle(step.title, to: titleWidth)
    let padding = String(repeating: " ", count: titleWidth - SafeText.width(title) + 2)
    let figures = figures(step)
    let room = max(0, min(40, width - titleWidth - 4 - 46))
    let done = step.isComplete ? max(step.total, 1) : step.done
    let bar =
      room >= 6 && run.share == nil
      ? Bars.progress(done, of: max(step.total, 1), width: room, isASCII: theme.isASCII) + "  " : ""
    return [Span(title + padding), Span(bar, theme.style(.bar))] + figures
  }

  private func figures(_ step: WorkRun.Step) -> [Span] {
    if step.isComplete {
      var text = "  \(NumberFormat.count(step.total))"
      if let seconds = step.seconds, step.total > 0 {
        text += "  \(NumberFormat.count(Int(Double(step.total) / seconds)))/s"
        text += "  done \(TimeText.duration(seconds: seconds))"
      }
      return [Span("complete \(theme.check)", theme.style(.inserted)), Span(text, theme.style(.dim))]
    }
    let counts =
      step.total > 0
      ? "\(NumberFormat.count(step.done)) / \(NumberFormat.count(step.total))" : NumberFormat.count(step.done)
    if step.isFailed {
      return [Span("failed \(theme.problemSign)", theme.style(.problem)), Span("  at \(counts)", theme.style(.dim))]
    }
    guard run.isRunning else { return [Span("ended at \(counts)", theme.style(.dim))] }
    guard step.done > 0 else { return [Span("waiting", theme.style(.dim))] }
    var spans = [Span(counts)]
    if step.total > 0 { spans.append(Span("  \(NumberFormat.percent(step.done, of: step.total))")) }
    if let rate = step.rates.rate { spans.append(Span("  \(NumberFormat.count(Int(rate)))/s")) }
    if step.total > 0, run.share == nil, let text = Self.remaining(step.rates, step.total - step.done) {
      spans.append(Span("  \(text)", theme.style(.dim)))
    }
    return spans
  }

  // MARK: What lies below

  /// The rate over time, and the runs before, as far as there is room.
  func drawBelow(in rect: Rect, on grid: inout CellGrid, session: Session) {
    let earlier = session.runs.filter { $0 != run }.reversed()
    let courseRows =
      rect.rows >= 5 && hasCourse ? min(8, rect.rows - (rect.rows >= 9 ? min(4, earlier.count + 1) : 0)) : 0
    if courseRows >= 5 {
      drawCourse(
        in: Rect(column: rect.left, row: rect.top, columns: rect.columns, rows: courseRows), on: &grid, session)
    }
    var row = rect.top + (courseRows > 0 ? courseRows + 1 : 0)
    for run in earlier where row < rect.bottom {
      let ended = run.endedAt.map { session.time.clockWithSeconds($0) } ?? "runs"
      let words = run.words ?? (run.isRunning ? "" : "ended")
      grid.write(
        [Span("\(ended)  ", theme.style(.dim)), Span("\(run.title)  "), Span(words, theme.style(.dim))],
        at: Point(column: rect.left, row: row), width: rect.columns)
      row += 1
    }
  }

  private var hasCourse: Bool { run.rates.course.count > 2 && (run.rates.course.max() ?? 0) > 0 }

  /// The rate over the time of the run; it stays when the run is over.
  private func drawCourse(in rect: Rect, on grid: inout CellGrid, _ session: Session) {
    if session.readsAsLines {
      let rows = run.rates.course.enumerated().map { ChartTable.Row(label: "a second, part \($0 + 1)", count: Int($1)) }
      return ChartTable(rows: rows).draw(in: rect, on: &grid, theme: theme)
    }
    let greatest = run.rates.course.max() ?? 1
    let scale = run.isRunning ? run.rates.scale : greatest
    let label = NumberFormat.count(Int(scale))
    let margin = max(6, label.count + 2)
    grid.write(
      "a second, over \(TimeText.duration(seconds: run.seconds(at: now)))"
        + (greatest > scale ? ", at first up to \(NumberFormat.count(Int(greatest)))" : ""),
      at: Point(column: rect.left + margin, row: rect.top),
      width: rect.columns - margin, style: theme.style(.dim))
    for (text, row) in [(label, rect.top + 1), ("0", rect.bottom - 1)] {
      grid.write(
        text, at: Point(column: rect.left, row: row), width: margin - 1, style: theme.style(.dim), alignment: .trailing)
    }
    for row in rect.top + 1..<rect.bottom {
      grid[Point(column: rect.left + margin - 1, row: row)] = Cell(
        text: theme.isASCII ? "|" : "▏", width: 1, style: theme.style(.dim))
    }
    grid.drawBars(
      run.rates.course.map { min(1, $0 / scale) },
      in: Rect(column: rect.left + margin, row: rect.top + 1, columns: rect.columns - margin, rows: rect.rows - 1),
      form: session.barForm
    ) { _ in theme.style(.bar) }
  }
}
