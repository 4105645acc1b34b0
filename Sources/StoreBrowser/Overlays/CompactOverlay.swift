import DatastoreModel
import TerminalKit

/// What a compaction would do, then how far it is: bytes before and after first, Enter begins, Esc cancels.
struct CompactOverlay: Sendable {
  let retention: HistoryRetention
  /// What was typed.
  let keeps: String
  private(set) var estimate: RewriteReport?
  private(set) var isRunning = false
  private(set) var problem: String?
  private var isAsked = false

  init(_ retention: HistoryRetention, keeps: String) {
    self.retention = retention
    self.keeps = keeps
  }

  mutating func demand(in session: inout Session) {
    guard !isAsked else { return }
    isAsked = true
    session.start(.rewrite, .rewrite(.estimate(retention)), label: "estimate")
  }

  mutating func take(_ estimate: RewriteReport) { self.estimate = estimate }

  mutating func fail(_ text: String) {
    problem = text
    isRunning = false
  }

  /// Begins, or tries again; nothing happens before the estimate is there.
  mutating func start(in session: inout Session) {
    guard let estimate, !isRunning, estimate.commitsSquashed > 0 else { return }
    isRunning = true
    problem = nil
    session.start(.rewrite, .rewrite(.compact(retention)), label: "compact")
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, in body: Rect, session: Session) {
    let theme = session.theme
    let width = min(body.columns, 76)
    let lines = lines(width: width - 4, session: session)
    let rect = body.centered(Size(columns: width, rows: min(body.rows, max(6, lines.count + 2))))
    grid.fill(rect)
    let frame = PaneFrame(rect: rect, isFocused: true)
    grid.border(frame, digit: nil, title: "Compact, keep \(keeps)", footer: footer(theme), theme: theme)
    for (row, spans) in lines.enumerated() where row < frame.rows {
      grid.write(spans, at: Point(column: frame.inside.left + 1, row: frame.inside.top + row), width: frame.columns - 2)
    }
    grid.cursor = frame.inside.origin
  }

  private func footer(_ theme: Theme) -> String {
    if isRunning { return "Esc cancels and leaves the store as it is" }
    guard let estimate, estimate.commitsSquashed > 0 else { return "Esc close" }
    return "\(theme.enterKey) compact · Esc leave it"
  }

  private func lines(width: Int, session: Session) -> [[Span]] {
    let theme = session.theme
    var lines: [[Span]] = []
    if let problem {
      lines += "\(theme.problemSign) \(problem)".wrapped(to: width).map { [Span($0, theme.style(.problem))] }
    }
    guard let estimate else { return problem == nil ? [[Span("reading the commits…", theme.style(.dim))]] : lines }
    lines.append([
      Span("\(NumberFormat.bytes(estimate.bytesBefore)) \(theme.arrow) ", theme.style(.title)),
      Span(
        estimate.commitsSquashed > 0 ? "about \(NumberFormat.bytes(estimate.bytesAfter))" : "no less",
        theme.style(.title)),
    ])
    let kept = "\(NumberFormat.counted(estimate.commitsKept, "commit")) \(estimate.commitsKept == 1 ? "is" : "are")"
    guard estimate.commitsSquashed > 0 else {
      return lines + [[Span("\(kept) kept, which is all: there is nothing to gain", theme.style(.dim))]]
    }
    if isRunning {
      let progress = session.running[.rewrite]?.progress
      let (done, total) = (progress?.done ?? 0, progress?.total ?? estimate.commitsKept)
      let bar = Bars.progress(done, of: total, width: max(4, min(48, width - 10)), isASCII: theme.isASCII)
      return lines + [
        [], [Span(bar, theme.style(.bar)), Span("  \(NumberFormat.percent(done, of: total))")],
        [Span("\(NumberFormat.count(done)) of \(NumberFormat.count(total)) commits", theme.style(.dim))],
      ]
    }
    let squashed = "\(NumberFormat.count(estimate.commitsSquashed)) \(estimate.commitsSquashed == 1 ? "is" : "are")"
    let text =
      "\(kept) kept, the head and all pins among them. \(squashed) squashed into the next one kept: "
      + "what they held between can no longer be opened, and this cannot be taken back. :copy PATH keeps everything "
      + "elsewhere first."
    return lines + [[]] + text.wrapped(to: width).map { [Span($0)] }
  }
}
