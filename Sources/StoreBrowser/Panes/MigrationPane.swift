import DatastoreModel
import TerminalKit

/// Pane 6: what is being warmed up, here or in another process, and what failed.
struct MigrationPane: Pane {
  let id = PaneID.migration
  private(set) var activity: Activity?
  /// Whether it runs in this browser.
  private(set) var isOurs = false
  private(set) var failures: [WarmUpFailure] = []
  private(set) var leftOut: [RecordPlace] = []
  private(set) var outcome: String?
  private var rates = RateMeter()
  private var finishedAt: Int64?
  private(set) var log: [String] = []
  var list = ListWindow()

  /// What another process says it does; nil when it is done or gone.
  mutating func hear(_ activity: Activity?, at now: Int64) {
    guard !isOurs else { return }
    take(activity, at: now)
  }

  private mutating func take(_ activity: Activity?, at now: Int64) {
    guard let activity else {
      if self.activity != nil, finishedAt == nil { finishedAt = now }
      return
    }
    if activity.title != self.activity?.title || activity.startedAt != self.activity?.startedAt {
      rates = RateMeter()
      finishedAt = nil
      log.append("started \(activity.title)")
    }
    for step in activity.steps where step.isComplete {
      let line = "complete \(step.title): \(NumberFormat.count(step.total))"
      if !log.contains(line) { log.append(line) }
    }
    self.activity = activity
    rates.note(done: activity.done, at: now)
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
    outcome.map { log.append($0) }
  }

  mutating func stopped(_ text: String, at now: Int64) {
    isOurs = false
    finishedAt = now
    outcome = text
    log.append(text)
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
      session.intend(.present(.text(TextOverlay(title: "Migration log", lines: log.isEmpty ? ["nothing yet"] : log))))
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
    if let activity {
      let elapsed = Double((finishedAt ?? session.now) - activity.startedAt) / 1e9
      footer = "started \(session.time.clockWithSeconds(activity.startedAt)) · \(TimeText.duration(seconds: elapsed))"
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
    guard let activity else {
      let text =
        session.configuration.canWarmUp
        ? "nothing runs; a starts the migration to the formats of this app"
        : "nothing runs; another program's warm-up is shown here as it happens"
      return [[Span(text, theme.style(.dim))]]
    }
    var lines: [[Span]] = [[Span(activity.title, theme.style(.title))]]
    if finishedAt == nil {
      lines[0].append(Span(isOurs ? "" : "  in another process", theme.style(.dim)))
    }
    let steps =
      activity.steps.isEmpty
      ? [
        Activity.Step(
          title: activity.title, done: activity.done, total: activity.total, isComplete: activity.done == activity.total
        )
      ] : activity.steps
    for step in steps {
      let state = step.isComplete ? "complete \(theme.check)" : step.done > 0 ? "working" : "waiting"
      lines.append([
        Span("\(step.title)  "), Span(state, theme.style(step.isComplete ? .inserted : .dim)),
        Span("  \(NumberFormat.count(step.done)) / \(NumberFormat.count(step.total))"),
      ])
      if !step.isComplete, step.done > 0, finishedAt == nil {
        lines.append(bar(step, width: width, theme: theme))
      }
    }
    if finishedAt == nil, let rate = rates.rate { lines.append(rateLine(rate, activity, theme: theme)) }
    if finishedAt == nil {
      lines += [[], [Span("browsing stays on \(session.shown) until it is committed", theme.style(.dim))]]
    }
    return lines
  }

  private func bar(_ step: Activity.Step, width: Int, theme: Theme) -> [Span] {
    let percent = NumberFormat.percent(step.done, of: step.total)
    let room = max(4, min(48, width - percent.count - 4))
    return [
      Span(Bars.progress(step.done, of: step.total, width: room, isASCII: theme.isASCII), theme.style(.bar)),
      Span("  \(percent)"),
    ]
  }

  private func rateLine(_ rate: Double, _ activity: Activity, theme: Theme) -> [Span] {
    var spans = [
      Span("rate  ", theme.style(.dim)), Span(Bars.spark(rates.recent, isASCII: theme.isASCII), theme.style(.bar)),
      Span("  \(NumberFormat.count(Int(rate)))/s"),
    ]
    if let range = rates.remaining(of: activity.total - activity.done) {
      spans.append(
        Span("   eta \(TimeText.duration(seconds: range.lowerBound))–\(TimeText.duration(seconds: range.upperBound))"))
    }
    return spans
  }
}

/// Rates of work, measured: an average that forgets in about three seconds, and the rates of the last pieces.
struct RateMeter: Sendable, Hashable {
  private(set) var rate: Double?
  private(set) var recent: [Double] = []
  private var last: (done: Int, at: Int64)?

  mutating func note(done: Int, at now: Int64) {
    guard let last else {
      self.last = (done, now)
      return
    }
    let seconds = Double(now - last.at) / 1e9
    guard seconds >= 0.05, done > last.done else { return }
    let current = Double(done - last.done) / seconds
    let weight = min(1, seconds / 3)
    rate = rate.map { $0 + (current - $0) * weight } ?? current
    recent.append(current)
    if recent.count > 24 { recent.removeFirst() }
    self.last = (done, now)
  }

  /// Seconds that so much more takes, from the 80th to the 20th percentile of the recent rates; nil before three.
  func remaining(of work: Int) -> ClosedRange<Double>? {
    guard recent.count >= 3, work >= 0 else { return nil }
    let sorted = recent.sorted()
    let slow = sorted[sorted.count / 5]
    let fast = sorted[min(sorted.count - 1, sorted.count * 4 / 5)]
    guard slow > 0, fast >= slow else { return nil }
    return Double(work) / fast...Double(work) / slow
  }

  static func == (left: Self, right: Self) -> Bool { left.rate == right.rate && left.recent == right.recent }
  func hash(into hasher: inout Hasher) { hasher.combine(recent) }
}
