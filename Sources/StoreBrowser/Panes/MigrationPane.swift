import DatastoreModel
import TerminalKit

/// Pane 6: what is being warmed up, here or in another process, and what failed.
struct MigrationPane: Pane {
  let id = PaneID.migration
  private(set) var run: MigrationRun?
  /// Whether it runs in this browser.
  private(set) var isOurs = false
  private(set) var failures: [WarmUpFailure] = []
  private(set) var leftOut: [RecordPlace] = []
  private(set) var outcome: String?
  private var finishedAt: Int64?
  private var log: [String] = []
  var list = ListWindow()

  /// What another process says it does; nil when it is done or gone.
  mutating func hear(_ activity: Activity?, at now: Int64) {
    guard !isOurs else { return }
    take(activity, at: now)
  }

  private mutating func take(_ activity: Activity?, at now: Int64) {
    guard let activity else {
      if run != nil, finishedAt == nil { finishedAt = now }
      return
    }
    if run?.isContinued(by: activity) == true {
      run?.take(activity, at: now)
      return
    }
    if let run { log += run.log }
    run = MigrationRun(activity, at: now)
    finishedAt = nil
  }

  mutating func start(in session: inout Session) {
    isOurs = true
    outcome = nil
    failures = []
    finishedAt = nil
    session.start(.warmUp, .warmUp(leavingOut: leftOut), label: "warm-up")
  }

  /// Shows the building of an index like a warm-up.
  mutating func start(_ change: IndexChange, of datastore: String, in session: inout Session) {
    isOurs = true
    outcome = nil
    failures = []
    finishedAt = nil
    session.start(.warmUp, .changeIndex(change, datastore: datastore), label: change.title)
  }

  mutating func receive(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {
    guard slot == .warmUp, case .activity(let activity) = progress.found else { return }
    take(activity, at: session.now)
  }

  mutating func receive(_ answer: Answer, in session: inout Session) {
    guard case .warmedUp(let answer) = answer else { return }
    isOurs = false
    finishedAt = session.now
    failures = answer.result.failures
    if let commit = answer.result.commit {
      outcome = "complete: commit \(commit)"
    } else if failures.isEmpty {
      outcome = "nothing to do: everything is as the formats declare"
    } else {
      outcome = "\(failures.count) records do not decode; the store is as it was"
    }
  }

  mutating func stopped(_ text: String, at now: Int64) {
    isOurs = false
    finishedAt = now
    outcome = text
  }

  var selected: WarmUpFailure? { failures.indices.contains(list.selection) ? failures[list.selection] : nil }

  func refusal(of command: Command, in session: Session) -> String? {
    switch command {
    case .retry:
      if !session.configuration.canWarmUp { return "there are no formats here to migrate to: the app brings them" }
      if isOurs { return "it runs" }
    case .leaveOut, .editExternally, .edit, .open:
      if selected == nil { return "no failing record is selected" }
    default: break
    }
    return nil
  }

  mutating func perform(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    if list.perform(command, argument: argument, rows: 5, count: failures.count) { return true }
    switch command {
    case .retry: start(in: &session)
    case .log:
      let lines = log + (run?.log ?? [])
      session.intend(.present(.text(TextOverlay(title: "Migration log", lines: lines.isEmpty ? ["nothing yet"] : lines))))
    case .leaveOut:
      guard let selected else { return false }
      leftOut.append(selected.place)
      failures.remove(at: list.selection)
      list.select(list.selection, count: failures.count)
      session.say("\(selected.place.identifier) is left out at the next run (a)")
    case .open, .edit:
      guard let selected else { return false }
      session.intend(.select(selected.place, note: nil))
      session.intend(.focus(.record))
    case .editExternally:
      guard let selected else { return false }
      session.intend(.select(selected.place, note: nil))
      session.intend(.perform(.editExternally, argument: nil))
    default: return false
    }
    return true
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    var footer = ""
    if let run {
      let elapsed = Double((finishedAt ?? session.now) - run.startedAt) / 1e9
      footer = "started \(session.time.clockWithSeconds(run.startedAt)) · \(TimeText.duration(seconds: elapsed))"
    }
    grid.border(frame, digit: 6, title: "Migration", footer: footer, theme: theme)
    let inside = frame.inside.inset(columns: 1, rows: 0)
    var lines = activityLines(width: inside.columns, session: session)
    if let outcome { lines += [[Span(outcome, theme.style(failures.isEmpty ? .title : .problem))]] }
    if !failures.isEmpty { lines += [[], [Span("failures  \(failures.count)", theme.style(.header))]] }
    let first = lines.count
    for failure in failures {
      lines.append([
        Span("  \(failure.place.datastore)/\(failure.place.identifier)  ", theme.style(.key)), Span(failure.reason),
        Span("  \(NumberFormat.bytes(failure.byteCount))  E fix  x leave out", theme.style(.dim)),
      ])
    }
    let top = max(0, min(first + list.selection - inside.rows + 1, lines.count - inside.rows))
    for row in 0..<inside.rows where lines.indices.contains(top + row) {
      grid.write(lines[top + row], at: Point(column: inside.left, row: inside.top + row), width: inside.columns)
      if !failures.isEmpty, top + row == first + list.selection {
        let rect = Rect(column: inside.left, row: inside.top + row, columns: inside.columns, rows: 1)
        grid.write(theme.cursor, at: rect.origin, width: 1)
        grid.select(rect, frame: frame, theme: theme)
      }
    }
    if frame.isFocused, failures.isEmpty { grid.cursor = Point(column: inside.left, row: inside.top) }
  }

  private func activityLines(width: Int, session: Session) -> [[Span]] {
    let theme = session.theme
    guard let run else {
      let text =
        session.configuration.canWarmUp
        ? "nothing runs; a starts the migration to the formats of this app"
        : "nothing runs; another program's warm-up is shown here as it happens"
      return [[Span(text, theme.style(.dim))]]
    }
    let isRunning = finishedAt == nil
    var lines: [[Span]] = [[Span(run.title, theme.style(.title))]]
    if isRunning, !isOurs { lines[0].append(Span("  in another process", theme.style(.dim))) }
    for step in run.steps {
      lines.append(Self.line(step, theme: theme))
      if !step.isComplete, step.done > 0, isRunning { lines.append(bar(step, width: width, theme: theme)) }
    }
    guard isRunning else { return lines }
    if let rate = run.rates.rate { lines.append(Self.rateLine(rate, run, theme: theme)) }
    return lines + [[], [Span("browsing stays on \(session.shown) until it is committed", theme.style(.dim))]]
  }

  private static func line(_ step: MigrationRun.Step, theme: Theme) -> [Span] {
    let state = step.isComplete ? "complete \(theme.check)" : step.done > 0 ? "working" : "waiting"
    var spans = [Span("\(step.title)  "), Span(state, theme.style(step.isComplete ? .inserted : .dim))]
    guard step.isComplete else {
      return spans + [Span("  \(NumberFormat.count(step.done)) / \(NumberFormat.count(step.total))")]
    }
    spans.append(Span("  \(NumberFormat.count(step.total)) records"))
    if let seconds = step.seconds, step.total > 0 {
      let rate = NumberFormat.count(Int(Double(step.total) / seconds))
      spans.append(Span("  \(NumberFormat.fixed(seconds, digits: 2)) s  \(rate)/s", theme.style(.dim)))
    }
    return spans
  }

  private func bar(_ step: MigrationRun.Step, width: Int, theme: Theme) -> [Span] {
    let percent = NumberFormat.percent(step.done, of: step.total)
    let room = max(4, min(48, width - percent.count - 4))
    return [
      Span(Bars.progress(step.done, of: step.total, width: room, isASCII: theme.isASCII), theme.style(.bar)),
      Span("  \(percent)"),
    ]
  }

  private static func rateLine(_ rate: Double, _ run: MigrationRun, theme: Theme) -> [Span] {
    var spans = [
      Span("rate  ", theme.style(.dim)), Span(Bars.spark(run.rates.recent, isASCII: theme.isASCII), theme.style(.bar)),
      Span("  \(NumberFormat.count(Int(rate)))/s"),
    ]
    if let range = run.rates.remaining(of: run.total - run.done) {
      spans.append(
        Span("   eta \(TimeText.duration(seconds: range.lowerBound))–\(TimeText.duration(seconds: range.upperBound))"))
    }
    return spans
  }
}
