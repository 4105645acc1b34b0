import DatastoreModel
import TerminalKit

/// Pane 6: what is being warmed up, here or in another process, and what failed.
struct MigrationPane: Pane {
  static let entry = PaneEntry(
    .migration, digit: 6, name: "Migration", work: [.warmUp],
    footer: [.interrupt, .retry, .log, .editExternally, .leaveOut, .help, .close]
  ) { MigrationPane() }

  private(set) var shownRun: MigrationRun?
  /// Whether it runs in this browser.
  private(set) var isOurs = false
  private(set) var failures: [WarmUpFailure] = []
  private var failureCount = 0
  /// Those that failed in any run since it was begun: what was mended then goes into each later run.
  private var failedPlaces: Set<RecordPlace> = []
  /// What `a` runs again: a change of an index, or with nil the warm-up to the formats of the app.
  private var change: (IndexChange, datastore: String)?
  private(set) var leftOut: [RecordPlace] = []
  /// The changes that the run makes first.
  private var mending: [RecordEdit] = []
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
      if shownRun != nil, finishedAt == nil { finishedAt = now }
      return
    }
    if shownRun?.isContinued(by: activity) == true {
      shownRun?.take(activity, at: now)
      return
    }
    if let run = shownRun { log += run.log }
    shownRun = MigrationRun(activity, at: now)
    finishedAt = nil
  }

  mutating func start(mending edits: [RecordEdit] = [], in session: inout Session) {
    begin(mending: edits)
    if let (change, datastore) = change {
      session.start(
        .warmUp, .changeIndex(change, datastore: datastore, leavingOut: leftOut, mending: edits), label: change.title)
    } else {
      session.start(.warmUp, .warmUp(leavingOut: leftOut, mending: edits), label: "warm-up")
    }
  }

  /// Shows the building of an index like a warm-up.
  mutating func start(_ change: IndexChange, of datastore: String, in session: inout Session) {
    self.change = (change, datastore)
    leftOut = []
    failedPlaces = []
    if let run = shownRun { log += run.log }
    shownRun = nil
    start(in: &session)
  }

  private mutating func begin(mending edits: [RecordEdit]) {
    isOurs = true
    outcome = nil
    failures = []
    failureCount = 0
    finishedAt = nil
    mending = edits
  }

  /// What is staged of the records that failed: it is made with the next run, in its transaction.
  private func mended(_ session: Session) -> ChangeSet {
    let places = session.staged.order.filter { failedPlaces.contains($0) && !leftOut.contains($0) }
    return ChangeSet(base: session.staged.base, changes: places.compactMap { session.staged.edits[$0] })
  }

  mutating func progressed(_ progress: Progress, of slot: WorkSlot, in session: inout Session) {
    guard slot == .warmUp, case .activity(let activity) = progress.found else { return }
    take(activity, at: session.now)
  }

  mutating func answered(_ answer: Answer, in session: inout Session) {
    switch answer {
    case .warmedUp(let answer): end(answer.result.commit, answer.result.failures, in: &session)
    case .indexFailed(let failures, let total):
      end(nil, failures, total: total, in: &session)
    case .indexChanged(let commit, let change):
      end(commit, [], in: &session)
      outcome = "\(change.title): complete: commit \(commit)"
      self.change = nil
      leftOut = []
    default: break
    }
  }

  private mutating func end(
    _ commit: CommitNumber?, _ failures: [WarmUpFailure], total: Int? = nil, in session: inout Session
  ) {
    isOurs = false
    finishedAt = session.now
    self.failures = failures
    failureCount = total ?? failures.count
    failedPlaces.formUnion(failures.map(\.place))
    if let commit {
      outcome = "complete: commit \(commit)"
      for edit in mending { session.intend(.settle(edit.place)) }
      mending = []
      failedPlaces = []
    } else if failures.isEmpty {
      outcome = "nothing to do: everything is as the formats declare"
    } else {
      shownRun?.fail()
      let count = failureCount == 1 ? "1 record does" : "\(NumberFormat.count(failureCount)) records do"
      outcome = "\(count) not \(change == nil ? "decode" : "fit the index"); the store is as it was"
    }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    shownRun?.fail()
    stopped("failed: \(error.description); the store is as it was", at: session.now)
    session.complain(error.description)
  }

  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) {
    stopped("cancelled; the store is as it was", at: session.now)
  }

  private mutating func stopped(_ text: String, at now: Int64) {
    isOurs = false
    finishedAt = now
    outcome = text
  }

  /// The records that failed; while nothing failed and nothing runs, those that an earlier run left out.
  private func rows(_ session: Session) -> [WarmUpFailure] {
    guard failures.isEmpty, !isOurs, let current = session.current else { return failures }
    return current.leftOut.map { record in
      WarmUpFailure(
        place: RecordPlace(datastore: current.key, identifier: record.identifier), reason: record.reason, byteCount: 0)
    }
  }

  private func selected(_ session: Session) -> WarmUpFailure? {
    let rows = rows(session)
    return rows.isEmpty ? nil : rows[max(0, min(list.selection, rows.count - 1))]
  }

  func footer(_ session: Session) -> [Command] {
    if isOurs { return [.interrupt, .log, .help, .close] }
    if rows(session).isEmpty { return [.open, .retry, .log, .help, .close] }
    return [.open, .editExternally, .leaveOut, .retry, .log, .help, .close]
  }

  func short(_ command: Command) -> String? {
    switch command {
    case .open: failures.isEmpty ? "browse the records" : "look at the record"
    case .retry: outcome == nil ? "start" : "run again"
    default: nil
    }
  }

  func refusal(of command: Command, in session: Session) -> String? {
    switch command {
    case .retry:
      if change == nil, !session.configuration.canWarmUp {
        return "there are no formats here to migrate to: the app brings them"
      }
      if isOurs { return "it runs" }
    case .open where rows(session).isEmpty:
      return isOurs ? "it runs" : nil
    case .leaveOut, .editExternally, .edit, .open:
      if selected(session) == nil { return "no failing record is selected" }
      if command == .leaveOut, failures.isEmpty { return "it is left out already; E mends it" }
    default: break
    }
    return nil
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    if list.move(command, argument: argument, rows: 5, count: rows(session).count) { return true }
    switch command {
    case .retry:
      let mended = mended(session)
      if mended.isEmpty {
        start(in: &session)
      } else {
        session.intend(.present(ReviewOverlay(subject: .migration(mended))))
      }
    case .log:
      let lines = log + (shownRun?.log ?? [])
      session.intend(
        .present(TextOverlay(title: "Migration log", lines: lines.isEmpty ? ["nothing yet"] : lines)))
    case .leaveOut:
      guard let selected = selected(session) else { return false }
      if let place = leftOut.firstIndex(of: selected.place) {
        leftOut.remove(at: place)
        session.say("\(selected.place.identifier) is not left out")
      } else {
        leftOut.append(selected.place)
        list.move(by: 1, count: failures.count)
        session.say("\(selected.place.identifier) is left out at the next run (a)")
      }
    case .open where rows(session).isEmpty:
      session.intend(.closeView)
      session.intend(.focus(.table))
    case .open, .edit:
      guard let selected = selected(session) else { return false }
      session.intend(.select(selected.place, note: nil))
      session.intend(.focus(.record))
    case .editExternally:
      guard let selected = selected(session) else { return false }
      session.start(
        .gather,
        .gather(
          GatherRequest(
            commit: session.shown, source: RowSource(datastore: selected.place.datastore),
            which: .identifiers([selected.place.identifier]), purpose: .mend(reason: selected.reason))))
    default: return false
    }
    return true
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    var footer = ""
    if let run = shownRun {
      let elapsed = Double((finishedAt ?? session.now) - run.startedAt) / 1e9
      footer = "started \(session.time.clockWithSeconds(run.startedAt)) · \(TimeText.duration(seconds: elapsed))"
    }
    grid.border(frame, digit: 6, title: "Migration", footer: footer, theme: theme)
    let inside = frame.inside.inset(columns: 1, rows: 0)
    var lines = activityLines(width: inside.columns, session: session)
    if let outcome { lines += [[Span(outcome, theme.style(failures.isEmpty ? .title : .problem))]] }
    let rows = rows(session)
    if let heading = heading(session) { lines += [[], [Span(heading, theme.style(.header))]] }
    let first = lines.count
    let selection = first + max(0, min(list.selection, rows.count - 1))
    let count = first + rows.count
    let top = max(0, min(selection - inside.rows + 1, count - inside.rows))
    for row in 0..<inside.rows where top + row < count {
      let rect = Rect(column: inside.left, row: inside.top + row, columns: inside.columns, rows: 1)
      guard top + row >= first else {
        grid.write(lines[top + row], at: rect.origin, width: rect.columns)
        continue
      }
      draw(rows[top + row - first], in: rect, on: &grid, session)
      if top + row == selection {
        grid.write(theme.cursor, at: rect.origin, width: 1)
        grid.select(rect, frame: frame, theme: theme)
      }
    }
    if frame.isFocused, rows.isEmpty { grid.cursor = Point(column: inside.left, row: inside.top) }
    if inside.rows - count >= 6 {
      drawCourse(
        in: Rect(column: inside.left, row: inside.bottom - 5, columns: inside.columns, rows: 5), on: &grid, session)
    }
  }

  /// The rate over the time of the run; it stays when the run is over.
  private func drawCourse(in rect: Rect, on grid: inout CellGrid, _ session: Session) {
    guard let run = shownRun, run.rates.course.count > 2, let greatest = run.rates.course.max(), greatest > 0 else {
      return
    }
    let theme = session.theme
    let seconds = Double((finishedAt ?? session.now) - run.startedAt) / 1e9
    let label = NumberFormat.count(Int(greatest))
    let margin = max(6, label.count + 2)
    grid.write(
      "records a second over \(TimeText.duration(seconds: seconds))",
      at: Point(column: rect.left + margin, row: rect.top),
      width: rect.columns - margin, style: theme.style(.dim))
    grid.write(
      label, at: Point(column: rect.left, row: rect.top + 1), width: margin - 1, style: theme.style(.dim),
      alignment: .trailing)
    grid.write(
      "0", at: Point(column: rect.left, row: rect.bottom - 1), width: margin - 1, style: theme.style(.dim),
      alignment: .trailing)
    for row in rect.top + 1..<rect.bottom {
      grid[Point(column: rect.left + margin - 1, row: row)] = Cell(
        text: theme.isASCII ? "|" : "▏", width: 1, style: theme.style(.dim))
    }
    grid.drawBars(
      run.rates.course.map { $0 / greatest },
      in: Rect(column: rect.left + margin, row: rect.top + 1, columns: rect.columns - margin, rows: rect.rows - 1),
      form: session.barForm
    ) { _ in theme.style(.bar) }
  }

  private func heading(_ session: Session) -> String? {
    if !failures.isEmpty { return "failures  \(NumberFormat.count(failureCount))" }
    guard !isOurs, let current = session.current, current.leftOutCount > 0 else { return nil }
    return "\(NumberFormat.counted(current.leftOutCount, "record")) left out of \(current.key), in no index built since"
  }

  /// A record that failed: what is wrong with it, and at the edge what can be done.
  private func draw(_ failure: WarmUpFailure, in rect: Rect, on grid: inout CellGrid, _ session: Session) {
    let theme = session.theme
    var (sign, note) = ("  ", "E fix  x skip")
    if leftOut.contains(failure.place) {
      (sign, note) = (" -", "left out by the next run")
    } else if session.staged.edits[failure.place] != nil {
      (sign, note) = (" ~", failures.isEmpty ? "changed: w reviews" : "changed: a runs again")
    } else if failures.isEmpty {
      note = "E fix"
    }
    if failure.byteCount > 0 { note = "\(NumberFormat.bytes(failure.byteCount))  \(note)" }
    let noteWidth = min(rect.columns, SafeText.width(note))
    grid.write(note, at: rect.origin, width: rect.columns, style: theme.style(.dim), alignment: .trailing)
    grid.write(
      [
        Span(sign, theme.style(.changed)),
        Span("\(failure.place.datastore)/\(failure.place.identifier)  ", theme.style(.key)), Span(failure.reason),
      ], at: rect.origin, width: max(0, rect.columns - noteWidth - 2))
  }

  private func activityLines(width: Int, session: Session) -> [[Span]] {
    let theme = session.theme
    guard let run = shownRun else {
      if outcome != nil { return [] }
      if isOurs, let work = session.running[.warmUp] {
        return [
          [Span(work.label, theme.style(.title))], [],
          [Span("reading the records before the first is taken…", theme.style(.dim))],
        ]
      }
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
      lines.append(Self.line(step, isRunning: isRunning, theme: theme))
      if !step.isComplete, step.done > 0, isRunning { lines.append(bar(step, width: width, theme: theme)) }
    }
    guard isRunning else { return lines }
    if let rate = run.rates.rate { lines.append(Self.rateLine(rate, run, theme: theme)) }
    return lines + [[], [Span("browsing stays on \(session.shown) until it is committed", theme.style(.dim))]]
  }

  private static func line(_ step: MigrationRun.Step, isRunning: Bool, theme: Theme) -> [Span] {
    let state =
      step.isComplete
      ? "complete \(theme.check)"
      : step.isFailed ? "failed \(theme.problemSign)" : !isRunning ? "ended" : step.done > 0 ? "working" : "waiting"
    var spans = [
      Span("\(step.title)  "), Span(state, theme.style(step.isComplete ? .inserted : step.isFailed ? .problem : .dim)),
    ]
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
