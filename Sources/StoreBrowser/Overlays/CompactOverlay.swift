import StrataEngine
import StrataModel
import StrataTerminal

/// The estimate of a compaction, then its progress: first shows bytes before and after; Enter begins, Esc cancels.
struct CompactOverlay: Pane {
  static let entry = PaneEntry(id: "compact", name: "Compact", work: [.rewrite, .estimate], footer: [.open, .escape])

  let retention: CommitRetention
  /// The typed retention.
  let keeps: String
  private var reading = Reading<Rewrite>()
  private var isRunning = false

  init(_ retention: CommitRetention, keeps: String) { (self.retention, self.keeps) = (retention, keeps) }

  private var estimate: RewriteReport? { reading.reply?.report }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    // It may have been cancelled.
    isRunning = isRunning && session.isRunning(.rewrite)
    reading.ask(.estimate(retention), as: .estimate, label: "estimate", in: &session)
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    guard let reply = reply as? RewriteReply else { return }
    if reply.rewrite == reading.request { reading.take(reply) }
    if case .compact = reply.rewrite { session.intend(.dismiss) }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    reading.problem = error.description
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .interrupt where isRunning: return false
    case .escape, .close, .interrupt:
      session.intend(.dismiss)
      if isRunning { session.say("the compaction goes on; 6 shows it") }
    case .open: start(in: &session)
    default: return false
    }
    return true
  }

  func footer(_ session: Session) -> [Command] {
    canStart ? [.open, .escape] : isRunning ? [.interrupt, .escape] : [.escape]
  }

  func short(_ command: Command) -> String? {
    if command == .open { return "compact" }
    if command == .interrupt { return "cancel, the store stays as it is" }
    return isRunning ? "look elsewhere meanwhile" : canStart ? "leave it" : "close"
  }

  private var canStart: Bool { !isRunning && (estimate?.commitsSquashed ?? 0) > 0 }

  /// Begins, or tries again; nothing happens before the estimate has arrived.
  private mutating func start(in session: inout Session) {
    guard canStart else { return }
    (reading.problem, isRunning) = (nil, true)
    session.start(.rewrite, Rewrite.compact(retention), label: "compact") { $0.rewritten($1) }
  }

  // MARK: Drawing

  func rect(in body: Rect, session: Session) -> Rect {
    let width = min(body.columns, 76)
    let lines = lines(width: width - 4, session: session)
    return body.centered(Size(columns: width, rows: min(body.rows, max(6, lines.count + 2))))
  }

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let lines = lines(width: frame.rect.columns - 4, session: session)
    grid.border(frame, digit: nil, title: "Compact, keep \(keeps)", footer: "", theme: session.theme)
    for (row, spans) in lines.enumerated() where row < frame.rows {
      grid.write(spans, at: frame.inside.at(1, row), width: frame.columns - 2)
    }
    grid.cursor = frame.inside.origin
  }

  private func lines(width: Int, session: Session) -> [[Span]] {
    let theme = session.theme
    var lines: [[Span]] = []
    if let problem = reading.problem {
      lines += "\(theme.problemSign) \(problem)".wrapped(to: width).map { [Span($0, theme.style(.problem))] }
    }
    guard let estimate else { return lines.isEmpty ? [[Span("reading the commits…", theme.style(.dim))]] : lines }
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

/// The store as a whole: compaction and copies.
extension Browser {
  mutating func compact(_ text: String) {
    do throws(ModelError) {
      present(CompactOverlay(try CommitRetention(parsing: text.trimmed), keeps: text.trimmed))
    } catch { session.complain(error) }
  }

  mutating func copyStore(to path: String) {
    session.start(.rewrite, Rewrite.copy(to: path, at: session.asOf), label: "copy to \(path)") { $0.rewritten($1) }
  }

  fileprivate mutating func rewritten(_ reply: RewriteReply) {
    if case .compact = reply.rewrite {
      history.reset()
      travel(to: nil)
    }
    session.say(reply.sentence)
  }
}
