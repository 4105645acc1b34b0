import StrataModel
import StrataTerminal

/// Pane 6, the cockpit: every long work, here or in another process, while it runs and with what came of it; and the records
/// that a migration could not convert.
struct MigrationPane: PermanentPane {
  static let entry = PaneEntry(
    id: .migration, digit: 6, name: "Migration", work: [.warmUp, MaintenanceRequest.slot],
    footer: [.interrupt, .retry, .log, .editExternally, .leaveOut, .help, .close]
  ) { MigrationPane() }

  private(set) var failures: [WarmUpFailure] = []
  private var failureCount = 0
  /// Those that failed in any run since it was begun: what was mended then goes into each later run.
  private var failedPlaces: Set<RecordPlace> = []
  /// The work that `a` runs again: a change of an index; nil for the warm-up to the formats of the app.
  private var change: (IndexChange, datastore: String)?
  private(set) var leftOut: [RecordPlace] = []
  /// The changes that the run makes first.
  private var mending: [RecordEdit] = []
  /// Whether there are records that failed or were left out.
  private var listsRecords = false
  /// Builds of the past, as their commits show them.
  private var maintenance = Reading<MaintenanceRequest>()
  var list = ListWindow()

  mutating func start(mending edits: [RecordEdit] = [], in session: inout Session) {
    (failures, failureCount, mending) = ([], 0, edits)
    if let (change, datastore) = change {
      session.start(
        .warmUp, IndexChangeRequest(change: change, datastore: datastore, leavingOut: leftOut, mending: edits),
        label: change.title
      ) { $0.changed($1) }
    } else {
      let request = WarmUpRequest(leavingOut: leftOut, mending: edits)
      session.start(.warmUp, request, label: "warm-up") { browser, answer in
        // The app's persistence commits it, and this browser's view of the store has not read it yet.
        browser.ownMove = answer.result.commit.map { HeadMove(from: nil, to: $0) }
        browser.look()
      }
    }
  }

  /// Shows the building of an index like a warm-up.
  mutating func start(_ change: IndexChange, of datastore: String, in session: inout Session) {
    (self.change, leftOut, failedPlaces) = ((change, datastore), [], [])
    start(in: &session)
  }

  /// The staged edits of the records that failed. The next run makes them in its transaction.
  private func mended(_ session: Session) -> ChangeSet {
    let places = session.staged.order.filter { failedPlaces.contains($0) && !leftOut.contains($0) }
    return ChangeSet(base: session.staged.base, changes: places.compactMap { session.staged.edits[$0] })
  }

  /// Requests the past builds while the pane is on the screen.
  mutating func demand(frame: PaneFrame, in session: inout Session) {
    listsRecords = !rows(session).isEmpty
    guard frame != .hidden else { return }
    maintenance.ask(MaintenanceRequest(history: session.edition), as: MaintenanceRequest.slot, in: &session)
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let answer as WarmUpAnswer:
      end(answer.result.commit, answer.result.failures)
      guard answer.result.commit != nil else { return }
    case IndexChangeRequest.Reply.failed(let failures, let total): return end(nil, failures, total: total)
    case IndexChangeRequest.Reply.changed(let report):
      end(report.commit, [])
      change = nil
      leftOut = []
    default: return maintenance.take(reply)
    }
    // Their changes are in the store by now, but not what was staged since.
    for edit in mending where session.staged.edits[edit.place] == edit {
      session.staged.add(.leavingOut(edit.place, of: session.staged))
    }
    if !mending.isEmpty { session.keepStaged() }
    mending = []
  }

  private mutating func end(_ commit: CommitNumber?, _ failures: [WarmUpFailure], total: Int? = nil) {
    (self.failures, failureCount) = (failures, total ?? failures.count)
    failedPlaces.formUnion(failures.map(\.place))
    if commit != nil { failedPlaces = [] }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == MaintenanceRequest.slot { return maintenance.reply = nil }
    session.complain(error)
  }

  /// The records that failed, while it runs the first of them; if nothing failed and nothing runs, those that an earlier run left out.
  private func rows(_ session: Session) -> [WarmUpFailure] {
    if !failures.isEmpty { return failures }
    guard let run = session.run else { return leftOutBefore(session) }
    if run.isRunning { return (run.activity.failures ?? []).prefix(3).map { failure($0, session) } }
    let left = run.id == nil ? run.activity.ending?.failures ?? [] : []
    return left.isEmpty ? leftOutBefore(session) : left.map { failure($0, session) }
  }

  private func leftOutBefore(_ session: Session) -> [WarmUpFailure] {
    guard let current = session.current else { return [] }
    return current.leftOut.map { record in
      WarmUpFailure(
        place: RecordPlace(datastore: current.key, identifier: record.identifier), reason: record.reason, byteCount: 0)
    }
  }

  private func failure(_ failure: Activity.Failure, _ session: Session) -> WarmUpFailure {
    let key = session.outline?.datastore(failure.datastore)?.descriptor.storedKey(failure.identifier)
    let place = RecordPlace(
      datastore: failure.datastore,
      identifier: key ?? StoredKey(bytes: failure.identifier, value: .data(failure.identifier)))
    return WarmUpFailure(place: place, reason: failure.reason, byteCount: 0)
  }

  private func selected(_ session: Session) -> WarmUpFailure? {
    let rows = rows(session)
    return rows.isEmpty ? nil : rows[max(0, min(list.selection, rows.count - 1))]
  }

  func footer(_ session: Session) -> [Command] {
    if let run = session.run, run.isRunning {
      let rows: [Command] = rows(session).isEmpty ? [] : [.open, .editExternally]
      return (run.id == nil ? [] : [.interrupt]) + rows + [.log, .pane2, .help, .close]
    }
    if rows(session).isEmpty { return [.open, .retry, .log, .help, .close] }
    return [.open, .editExternally, .leaveOut, .retry, .log, .help, .close]
  }

  func short(_ command: Command) -> String? {
    switch command {
    case .open: listsRecords ? "look at the record" : "browse the records"
    case .retry: failures.isEmpty ? "start" : "run again"
    case .pane2: "browse meanwhile"
    default: nil
    }
  }

  func refusal(of command: Command, in session: Session) -> String? {
    // A migration or the change of an index.
    let runs = session.isRunning(.warmUp)
    switch command {
    case .retry:
      if change == nil, !session.configuration.canWarmUp {
        return "there are no formats here to migrate to: the app brings them"
      }
      if runs { return "it runs" }
    case .open where rows(session).isEmpty:
      return runs ? "it runs" : nil
    case .leaveOut, .editExternally, .edit, .open:
      if selected(session) == nil { return "no failing record is selected" }
      if command == .leaveOut, failures.isEmpty {
        if runs { return "when it has ended, a record can be left out of the next run; E mends it" }
        return session.run?.activity.ending == nil
          ? "it is left out already; E mends it" : "the program that builds says what is left out; E mends it"
      }
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
      let lines = session.runs.flatMap(\.log)
      session.intend(
        .present(TextOverlay(title: "Log of what ran here", lines: lines.isEmpty ? ["nothing yet"] : lines)))
    case .leaveOut:
      guard let selected = selected(session) else { return false }
      if let index = leftOut.firstIndex(of: selected.place) {
        leftOut.remove(at: index)
        session.say("\(selected.place.identifier) is not left out")
      } else {
        leftOut.append(selected.place)
        list.move(by: 1, count: failures.count)
        session.say("\(selected.place.identifier) is left out at the next run (a)")
      }
    case .open where rows(session).isEmpty:
      session.intend(.closeView(id), .focus(.table))
    case .open, .edit:
      guard let selected = selected(session) else { return false }
      session.intend(.select(selected.place, field: selected.path), .focus(.record))
    case .editExternally:
      guard let selected = selected(session) else { return false }
      session.gather(.mend(reason: selected.reason), of: selected.place)
    default: return false
    }
    return true
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let run = session.run
    var footer = ""
    if let run {
      footer =
        "started \(session.time.clockWithSeconds(run.startedAt)) \(theme.dot) "
        + TimeText.duration(seconds: run.seconds(at: session.now))
    }
    grid.border(frame, digit: 6, title: "Migration", footer: footer, theme: theme)
    let inside = frame.inside.inset(columns: 1, rows: 0)
    let cockpit = run.map { Cockpit(run: $0, width: inside.columns, session: session) }
    var lines: [[Span]] =
      cockpit?.lines ?? Self.idleText(session).wrapped(to: inside.columns).map { [Span($0, theme.style(.dim))] }
    let rows = rows(session)
    if let heading = heading(session) { lines += [[], [Span(heading, theme.style(.header))]] }
    let first = lines.count
    let selection = first + max(0, min(list.selection, rows.count - 1))
    let count = first + rows.count
    // In a small window what runs shows how far it is, and what has ended shows its result.
    let top = rows.isEmpty && run?.isRunning == true ? 0 : max(0, min(selection - inside.rows + 1, count - inside.rows))
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
    if frame.isFocused, rows.isEmpty { grid.cursor = inside.origin }
    let room = Rect(
      column: inside.left, row: inside.top + count + 1, columns: inside.columns, rows: inside.rows - count - 1)
    let past = pastLines(session)
    if let cockpit { return cockpit.drawBelow(in: room, on: &grid, past: past) }
    for (row, line) in past.enumerated() where row < room.rows {
      grid.write(line, at: room.at(0, row), width: room.columns)
    }
  }

  /// The runs of this session, the builds that were remembered, and the builds that only commits show; the newest first.
  private func pastLines(_ session: Session) -> [[Span]] {
    let theme = session.theme
    var past: [(at: Int64, title: String, words: String)] = []
    for run in session.runs where run != session.run && !run.isBuild {
      past.append((run.endedAt ?? run.startedAt, run.title, run.words ?? (run.isRunning ? "runs" : "ended")))
    }
    let builds = session.remembered.builds ?? []
    for build in builds where build.startedAt != session.run?.startedAt || build.title != session.run?.title {
      let worker = build.worker.map { " \(theme.dot) by \($0)" } ?? ""
      let words = "\(build.outcome) \(theme.dot) \(build.figures(dot: theme.dot))\(worker)"
      past.append((build.startedAt, build.title, words))
    }
    for commit in maintenance.reply ?? [] where commit.date < builds.first?.startedAt ?? .max {
      past.append(
        (commit.date, commit.action, "\(commit.number) \(theme.dot) \(NumberFormat.bytes(commit.byteCount)) written"))
    }
    guard !past.isEmpty else { return [] }
    return [[Span("before", theme.style(.header))]]
      + past.sorted { $0.at > $1.at }.map { line in
        [
          Span("\(session.time.short(line.at, now: session.now))  ", theme.style(.dim)), Span("\(line.title)  "),
          Span(line.words, theme.style(.dim)),
        ]
      }
  }

  private static func idleText(_ session: Session) -> String {
    session.configuration.canWarmUp
      ? "nothing runs; a migrates to the formats of this app: indexes first, then records of older versions"
      : "nothing runs; imports, index builds, exports and what other programs do are shown here as they happen"
  }

  private func heading(_ session: Session) -> String? {
    let run = session.run
    var count = failureCount
    if failures.isEmpty {
      count = (run?.isRunning == true ? run?.activity.failureCount : run?.activity.ending?.failureCount) ?? 0
    }
    if count > 0 { return "failures  \(NumberFormat.count(count))" }
    guard !session.isRunning(.warmUp), let current = session.current, current.leftOutCount > 0 else { return nil }
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
    let words = SafeText.width("\(failure.place.datastore)/\(failure.place.identifier)  \(failure.reason)") + 4
    let size = "\(NumberFormat.bytes(failure.byteCount))  "
    if failure.byteCount > 0, words + SafeText.width(size + note) <= rect.columns { note = size + note }
    let noteWidth = min(rect.columns, SafeText.width(note))
    grid.write(note, at: rect.origin, width: rect.columns, style: theme.style(.dim), alignment: .trailing)
    grid.write(
      [
        Span(sign, theme.style(.changed)),
        Span("\(failure.place.datastore)/\(failure.place.identifier)  ", theme.style(.key)), Span(failure.reason),
      ], at: rect.origin, width: max(0, rect.columns - noteWidth - 2))
  }
}
