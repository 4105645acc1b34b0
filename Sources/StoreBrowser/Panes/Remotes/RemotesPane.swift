import StrataModel
import StrataExchange
import StrataTerminal

/// Pane 7: the other copies of the store: their locations, how many commits each side lacks, and when they last exchanged.
struct RemotesPane: ListPane, PermanentPane {
  static let entry = PaneEntry(
    id: .remotes, digit: 7, name: "Remotes", work: [.remotes, .remoteChange, .transfer],
    footer: [.fetchCommits, .merge, .sendCommits, .exchange, .addRemote, .down, .help, .close],
    commands: [
      CommandTable.pane(
        7, "remotes",
        "Goes to the other copies of the store: commits that each side lacks, fetch, merge, send, exchange."),
      CommandTable.row(
        .fetchCommits, ["g f"], "fetch the commits of the remote", "fetch", .exchange, verb: "fetch",
        "Brings the commits that are missing here. They can be looked at and compared; nothing of the store changes until "
          + "they are merged.", in: [.remotes]),
      CommandTable.row(
        .merge, ["w"], "look at the merge with what was fetched", "merge", .exchange,
        argument: .init("COMMIT", isRequired: false), verb: "merge",
        "Shows what merging the remote's head, or COMMIT, would do: conflicts are settled field by field there, and nothing is "
          + "written before it is committed.", in: [.remotes], unless: .writing
      ) { browser, argument in browser.merge(argument) },
      CommandTable.row(
        .sendCommits, ["g s"], "send our commits to the remote", "send", .exchange,
        argument: .init("NAME", isRequired: false), verb: "push",
        "Says how many commits would be sent, and asks; with the NAME of a remote sends at once. Refused where the other side "
          + "has commits that are not merged here.", in: [.remotes]),
      CommandTable.row(
        .exchange, ["X"], "exchange with the remote: fetch, merge, send", "exchange", .exchange, verb: "exchange",
        "Fetches, merges and sends in one go. Where fields conflict nothing is written, and the merge is shown.",
        in: [.remotes], unless: .writing),
      CommandTable.row(
        .addRemote, ["i"], "add a remote", "add", .exchange, argument: .init("NAME LOCATION"), verb: "remote",
        "Gives another copy of the store a name: LOCATION is a path, host:path, ssh://host/path, folder:PATH, or "
          + "postgres://host/database of a store on a server.",
        in: [.remotes], unless: .writing),
      CommandTable.row(
        .removeRemote, ["d d"], "forget the remote", "forget", .exchange, verb: "remote",
        "Forgets the name and what was fetched under it; the other copy stays as it is.", in: [.remotes],
        unless: .writing),
    ], hasOwnKeys: true
  ) { RemotesPane() }

  var list = ListWindow()
  private var reading = Reading<RemotesRequest>()
  /// Grows after a change that the head does not show.
  private var revision = 0
  private var wasHidden = true
  /// The error of the last transfer with each remote, if it failed.
  private var problems: [String: String] = [:]
  private var transferring: TransferRequest?

  var rows: [RemoteRow] { reading.reply?.rows ?? [] }
  private var isServed: Bool { reading.reply?.isServed == true }
  var selected: RemoteRow? { list.selected(of: rows) }

  mutating func demand(frame: PaneFrame, in session: inout Session) {
    guard frame != .hidden else {
      wasHidden = true
      return
    }
    // Another program may have fetched since the pane was last visible.
    if wasHidden { revision += 1 }
    wasHidden = false
    reading.ask(RemotesRequest(head: session.head, revision: revision), as: .remotes, in: &session)
  }

  mutating func answered(_ reply: any Sendable, in session: inout Session) {
    switch reply {
    case let reply as RemotesReply:
      reading.problem = nil
      let name = selected?.name
      reading.take(reply)
      if let kept = rows.firstIndex(where: { $0.name == name }) { list.selection = kept }
    case let reply as TransferReply:
      transferring = nil
      revision += 1
      problems[reply.request.remote] = nil
      session.say(reply.sentence)
      if let move = reply.move { session.intend(.wrote(move)) }
      session.intend(.look)
      if let open = reply.unsettled {
        session.intend(.run(.merge, argument: "\(open)"))
        session.warn(
          "\(reply.sentence); \(NumberFormat.counted(reply.unsettledCount, "conflict")) to settle, then c")
      }
    case let sentence as String:
      revision += 1
      session.say(sentence)
      session.intend(.look)
    default: break
    }
  }

  mutating func failed(_ error: ModelError, of slot: WorkSlot, in session: inout Session) {
    if slot == .transfer {
      if let transferring { problems[transferring.remote] = error.description }
      transferring = nil
      // Commits that arrived whole before the failure are in the store.
      revision += 1
      session.intend(.look)
      session.complain(error)
    } else if slot == .remoteChange {
      // A part of it may be done.
      revision += 1
      session.complain(error)
    } else if reading.reply == nil {
      reading.problem = error.description
    } else {
      session.complain(error)
    }
  }

  mutating func cancelled(_ slot: WorkSlot, in session: inout Session) {
    guard slot == .transfer else { return }
    transferring = nil
    revision += 1
  }

  func lineCount(_ session: Session) -> Int { rows.count }
  func headerRows(_ frame: PaneFrame) -> Int { 1 }
  func footerRows(_ frame: PaneFrame) -> Int { frame.rows >= 10 ? 5 : 0 }

  // MARK: Keys

  func refusal(of command: Command, in session: Session) -> String? {
    switch command {
    case .addRemote where isServed: return RemotesFile.refusalOfServer
    case .fetchCommits, .sendCommits, .exchange, .removeRemote:
      if isServed { return RemotesFile.refusalOfServer }
      guard let selected else { return "there is no remote; i adds one" }
      if let reason = session.runningRefusal(.transfer) { return reason }
      if command == .sendCommits, let standing = selected.firstHeadBehind {
        if standing.behind > 0 {
          return "\(selected.name) has commits that are not merged here: gf fetches, w merges, X does all of it"
        }
        if standing.ahead == 0 { return "there is nothing to send: \(selected.name) has all commits" }
      }
    case .merge, .open:
      guard let selected else { return nil }
      guard let standing = selected.firstHeadBehind else { return "nothing was fetched from \(selected.name) yet (gf)" }
      if standing.behind == 0 { return "everything that was fetched is merged" }
    default: break
    }
    return nil
  }

  func footer(_ session: Session) -> [Command] {
    if isServed { return [.help, .close] }
    return rows.isEmpty ? [.addRemote, .help, .close] : Self.entry.footer
  }

  func short(_ command: Command) -> String? {
    guard command == .merge, let behind = selected?.firstHeadBehind?.behind else { return nil }
    return "merge \(behind)"
  }

  mutating func run(_ command: Command, argument: String?, frame: PaneFrame, in session: inout Session) -> Bool {
    switch command {
    case .addRemote: add(argument ?? "", in: &session)
    case .merge where argument != nil: return false
    case .merge, .open:
      guard let head = selected?.firstHeadBehind?.commit else { return false }
      session.intend(.run(.merge, argument: "\(head)"))
    case .fetchCommits: transfer(.fetch, in: &session)
    case .exchange: transfer(.exchange, in: &session)
    case .sendCommits:
      if let argument, let row = rows.firstIndex(where: { $0.name == argument.trimmed }) {
        list.selection = row
        transfer(.send, in: &session)
      } else if let argument {
        session.warn("there is no remote \(argument)")
      } else {
        askToSend(in: &session)
      }
    case .removeRemote:
      guard let name = selected?.name else { return false }
      change(in: &session) { exchange, file in
        try exchange.forget(name)
        try file.remove(name)
        return "\(name) is forgotten; the copy there stays as it is"
      }
    case .copyValue:
      guard let selected else { return false }
      session.copy(selected.location, what: "location")
    default: return false
    }
    return true
  }

  private mutating func add(_ text: String, in session: inout Session) {
    let words = text.split(separator: " ", maxSplits: 1).map { String($0).trimmed }
    guard words.count == 2 else { return session.warn("a remote is a name and a location: laptop ../laptop.strata") }
    let remote = Remote(name: words[0], location: words[1])
    change(in: &session) { _, file in
      try file.add(remote)
      return "\(remote.name) is \(remote.location): gf fetches, X exchanges"
    }
  }

  /// Changes the known remotes; the closure returns a sentence about that.
  private func change(
    in session: inout Session, _ change: @escaping @Sendable (StoreExchange, RemotesFile) throws -> String
  ) {
    let work = Inquiry { context throws(ModelError) in
      try context.exchanging { try change($0, RemotesFile(storeAt: $0.store.path)) }
    }
    session.start(.remoteChange, work)
  }

  private mutating func transfer(_ kind: TransferRequest.Kind, in session: inout Session) {
    guard let name = selected?.name else { return }
    let request = TransferRequest(kind: kind, remote: name)
    transferring = request
    session.start(.transfer, request, label: request.title)
  }

  private func askToSend(in session: inout Session) {
    guard let selected else { return }
    let count = selected.firstHeadBehind.map { NumberFormat.counted($0.ahead, "commit") } ?? "all commits"
    session.intend(
      .present(
        MenuOverlay(
          title: "Send \(count) to \(selected.name)?",
          items: [
            .init(title: "send", detail: selected.location, choice: .run(.sendCommits, argument: selected.name)),
            .init(title: "leave it"),
          ])))
  }

  // MARK: Drawing

  func draw(on grid: inout CellGrid, frame: PaneFrame, session: Session) {
    let theme = session.theme
    let inside = frame.inside
    let empty =
      isServed
      ? RemotesFile.refusalOfServer
      : "No other copy of this store is known. i adds one: a name and a path, host:path, ssh://host/path, postgres://host/database, "
        + "or folder:PATH for a folder that something else carries. Both copies may be edited; X makes them equal again, field by field."
    let note = reading.reply == nil ? "reading…" : rows.isEmpty ? empty : nil
    guard
      grid.begin(
        frame, digit: 7, title: "Remotes", footer: rows.isEmpty ? "" : "\(list.selection + 1) of \(rows.count)",
        problem: reading.problem, note: note, theme: theme)
    else {
      if frame.isFocused, note == empty { grid.cursor = inside.origin }
      return
    }
    let name = min(20, max(4, rows.map { SafeText.width($0.name) }.max() ?? 4))
    let last = inside.columns >= 92 ? 26 : 15
    let columns = TextColumns(
      widths: [name, max(8, inside.columns - name - 7 - 7 - last - 10), 7, 7, last], gap: 2, trailing: [2, 3],
      cutInTheMiddle: [1])
    columns.write(
      ["name", "location", "ahead", "behind", "last exchange"], at: inside.at(2),
      on: &grid, styles: Array(repeating: theme.style(.header), count: 5))
    drawLines(on: &grid, frame: frame, session: session) { grid, line, rect in
      let row = rows[line]
      columns.write(
        [
          row.name, row.location, row.firstHeadBehind.map { NumberFormat.count($0.ahead) } ?? "—",
          row.firstHeadBehind.map { NumberFormat.count($0.behind) } ?? "—", state(row, session),
        ], at: rect.at(2), on: &grid,
        styles: [
          theme.style(.key), theme.style(.text), theme.style(.inserted), theme.style(.changed),
          theme.style(problems[row.name] == nil ? .dim : .problem),
        ])
    }
    if footerRows(frame) > 0, let selected { drawDetail(selected, in: inside, on: &grid, session: session) }
  }

  /// The state of a remote: the running transfer, or the time of the last one.
  private func state(_ row: RemoteRow, _ session: Session) -> String {
    if let transferring, transferring.remote == row.name, let work = session.running[.transfer] {
      let count = work.progress.map { "  \(NumberFormat.count($0.done)) lines" } ?? ""
      return transferring.kind.rawValue + "…" + count
    }
    if problems[row.name] != nil { return "\(session.theme.problemSign) failed" }
    guard let moment = row.exchangedAt else { return "never" }
    return session.time.short(moment, now: session.now)
  }

  /// Describes the selected remote in words.
  private func drawDetail(_ row: RemoteRow, in inside: Rect, on grid: inout CellGrid, session: Session) {
    let theme = session.theme
    let top = inside.bottom - 5
    grid.rule(at: Point(column: inside.left, row: top), columns: inside.columns, theme: theme)
    var lines: [[Span]] = [[Span("\(row.name)  ", theme.style(.key)), Span(row.location)]]
    if let head = row.head {
      lines.append([
        Span("its head  ", theme.style(.dim)),
        Span("\(head.number) “\(head.action)”  \(head.who)  \(session.time.short(head.date, now: session.now))"),
      ])
    }
    if row.state.heads.count > 1 {
      lines.append([Span("\(row.state.heads.count) heads lie in this folder; X merges each", theme.style(.dim))])
    }
    lines.append(
      problems[row.name].map { [Span("\(theme.problemSign) \($0)", theme.style(.problem))] }
        ?? [Span(row.words, theme.style(.text))])
    for (offset, spans) in lines.prefix(4).enumerated() {
      grid.write(spans, at: Point(column: inside.left + 1, row: top + 1 + offset), width: inside.columns - 2)
    }
  }
}

/// Texts side by side, in columns of fixed widths.
struct TextColumns {
  let widths: [Int]
  let gap: Int
  /// The columns whose texts stand at their right ends, and those whose texts are cut in the middle.
  var trailing: Set<Int> = []
  var cutInTheMiddle: Set<Int> = []

  func write(_ texts: [String], at origin: Point, on grid: inout CellGrid, styles: [Style]) {
    var x = origin.column
    for (column, text) in texts.enumerated() {
      let width = widths[column]
      grid.write(
        cutInTheMiddle.contains(column) ? SafeText.cutInTheMiddle(text, to: width) : text,
        at: Point(column: x, row: origin.row), width: width, style: styles[column],
        alignment: trailing.contains(column) ? .trailing : .leading)
      x += width + gap
    }
  }
}
