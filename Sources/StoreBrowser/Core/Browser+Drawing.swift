package import StrataTerminal
import StrataModel

/// The picture: title, panes, foot, and what lies over them.
extension Browser {
  /// The whole screen at a size; depends on nothing but the state.
  package func draw(size: Size) -> CellGrid {
    var drawings = PaneDrawings()
    return draw(size: size, &drawings)
  }

  /// The same, with what was drawn before: panes that did not change are not drawn again.
  package mutating func picture(size: Size) -> CellGrid {
    var drawings = drawings
    // One owner of the cells while they are changed.
    self.drawings = PaneDrawings()
    defer { self.drawings = drawings }
    return draw(size: size, &drawings)
  }

  private func draw(size: Size, _ drawings: inout PaneDrawings) -> CellGrid {
    let layout = layout(of: size)
    guard !layout.isTooSmall else { return Layout.demand(for: size, name: session.storeName) }
    let placed = layout.panes.compactMap { placed in
      panes[placed.pane].map {
        (pane: $0, frame: frame(of: placed.pane, placed.rect, isFocused: placed.pane == focus && overlays.isEmpty))
      }
    }
    drawings.draw(placed, size: size, session: session)
    drawings.draw(lines, layout)
    var grid = drawings.grid
    tour?.draw(on: &grid, in: body, browser: self)
    if let message, messageRows > 1 {
      let foot = Rect(column: 0, row: size.rows - messageRows, columns: size.columns, rows: messageRows)
      grid.fill(foot)
      grid.writeWrapped(message.text, in: foot, at: messageGap, style: session.theme.style(message.role))
    }
    for overlay in overlays {
      let frame = frame(of: overlay.id, overlay.rect(in: body, session: session), isFocused: true)
      grid.fill(frame.rect)
      overlay.draw(on: &grid, frame: frame, session: session)
    }
    return grid
  }

  /// Between what a long message is broken: a key stays with its words.
  private var messageGap: String { pendingKeys.isEmpty ? " " : "  " }

  /// The lines that the message needs. More than one are drawn over the panes, so that nothing of it is cut.
  var messageRows: Int {
    let lines = message?.text.wrapped(to: session.size.columns - 2, at: messageGap).count ?? 1
    return min(lines, session.size.rows / 2)
  }

  /// The area between title and foot.
  var body: Rect {
    Rect(column: 0, row: 1, columns: session.size.columns, rows: max(1, session.size.rows - 2))
  }

  // MARK: Title

  /// The lines above and below the panes.
  private var lines: ScreenLines {
    let most = session.size.columns * 3 / 4
    var standing = titleRight(wide: session.size.columns >= 110)
    var width = SafeText.width(standing)
    if width > most {
      width = SafeText.width(titleRight(wide: false))
      standing = titleRight(wide: false, excess: max(0, width - most))
    }
    let room = session.size.columns - min(width, most) - 3
    let state = state
    return ScreenLines(
      theme: session.theme, store: titleLeft(in: room), status: standing,
      isOfThePast: session.asOf != nil, message: message, keys: footerKeys(beside: state).map { [$0.keys, $0.short] },
      state: state)
  }

  /// The store and what is open in it. If there is no room, the first parts after the store are left out.
  private func titleLeft(in room: Int) -> String {
    var parts = [session.storeName]
    if let source = table.source {
      parts.append(source.datastore)
      if let index = source.index { parts.append(index) }
    }
    switch view.kind.pane {
    case nil, .table, .stores: break
    case .record: record.place.map { parts.append(named($0.identifier, record.label(session))) }
    case .some(let pane): parts.append(PaneTable.entry(pane).name)
    }
    func text() -> String { parts.joined(separator: " \(session.theme.separator) ") }
    while parts.count > 1, SafeText.width(text()) > room { parts.remove(at: 1) }
    return text()
  }

  /// - Parameter excess: The columns by which the name of the running work is to be shorter.
  private func titleRight(wide: Bool, excess: Int = 0) -> String {
    var parts: [String] = []
    if let words = session.keepingWords { parts.append(words) }
    if let chip = workChip(excess: excess) { parts.append(chip) }
    if let asOf = session.asOf {
      let age =
        session.outline?.commit.number == asOf
        ? session.outline.map { " (\(session.time.short($0.commit.date, now: session.now)))" } ?? "" : ""
      parts.append("AS OF \(asOf)\(age) read-only")
    } else if session.shown.rawValue == 0 {
      parts.append("nothing is committed yet")
    } else {
      // A commit that stays while newer ones come is not the head.
      var text = "\(session.shown == session.head ? "HEAD" : "HELD") \(session.shown)"
      if let commit = session.outline?.commit, commit.number == session.shown {
        if wide, !commit.action.isEmpty { text += " “\(commit.action)”" }
        text += " \(session.time.short(commit.date, now: session.now))"
      }
      parts.append(text)
    }
    if session.asOf == nil { parts.append(session.writingRefusal == nil ? "RW" : "RO") }
    // If a chip shows the work, a narrow title has no room to name the writer: the cockpit names it. Whether it still
    // writes on a server that is away is not known.
    if let writer = session.status.writer, session.awaySince == nil,
      wide || !session.runs.contains(where: \.isRunning)
    {
      parts.append("held by \(writer.name)\(writer.since > 0 ? " since \(session.time.clock(writer.since))" : "")")
    }
    if let next = session.status.nextPruning {
      parts.append("history not shortened, next try \(session.time.clock(next))")
    }
    if let since = session.awaySince {
      parts.append("server away since \(session.time.clock(since))")
    } else if let silence = session.silence {
      parts.append("no answer from the store for \(silence) s")
    } else if !session.status.isInPlace {
      parts.append("deleted or moved")
    } else if session.unseen > 0 {
      parts.append("\(session.unseen) new")
    } else if session.isFollowing, session.configuration.isWatched {
      parts.append(session.theme.live)
    } else {
      parts.append("paused")
    }
    return parts.joined(separator: " \(session.theme.dot) ")
  }

  /// The work that runs here or in another program, shown on every screen: `⟳ describe City 57 %`.
  private func workChip(excess: Int) -> String? {
    let sign = session.theme.isASCII ? "@" : "⟳"
    func short(_ label: String) -> String { SafeText.cut(label, to: max(8, min(28, SafeText.width(label)) - excess)) }
    func chip(_ label: String, _ percent: Int?, stalled: Int?) -> String {
      let part = percent.map { " \($0) %" } ?? ""
      let stall = stalled.map { ", nothing for \($0) s" } ?? ""
      return "\(sign) \(short(label))\(part)\(stall)"
    }
    if let run = session.runs.last(where: \.isRunning) {
      return chip(run.title, run.percent, stalled: run.stalled(at: session.now))
    }
    if session.longWork.isEmpty, let failed = session.unseenFailure {
      return "\(session.theme.problemSign) \(short(failed.title)) failed"
    }
    return session.longWork.first.map { work in
      let percent = work.progress.flatMap { progress in
        progress.total.flatMap { $0 > 0 ? min(100, progress.done * 100 / $0) : nil }
      }
      return chip(work.label, percent, stalled: work.stalled(at: session.now))
    }
  }

  // MARK: Foot

  /// The message at the left of the foot, before the keys; nil if there is none.
  var message: StatusText? {
    let theme = session.theme
    if !pendingKeys.isEmpty {
      let keys = pendingKeys.map(\.description).joined()
      let next = keymap.continuations(of: pendingKeys, in: target).map {
        "\($0.key) \(CommandTable.entry($0.command).short)"
      }
      return StatusText("\(keys)…   \(next.joined(separator: "  "))", .title)
    }
    if let awaitsLetter { return StatusText(CommandTable.entry(awaitsLetter).title, .title) }
    if let notice = session.notice {
      switch notice.kind {
      case .said: return StatusText(notice.text)
      case .warning: return StatusText("\(theme.warningSign) \(notice.text)", .warning)
      case .problem: return StatusText("\(theme.problemSign) \(notice.text)", .problem)
      }
    }
    guard session.longWork.isEmpty, let run = session.unseenFailure, case .failed(let reason) = run.ending else {
      return nil
    }
    // The cockpit says why; a narrow foot needs the room for keys.
    let why = session.size.columns < 100 ? "" : ": \(reason)"
    return StatusText("\(theme.problemSign) \(run.title) failed\(why) — 6 shows it", .problem)
  }

  /// The state at the right of the foot: the running work, the meaning of the selected row's sign, the staged changes, or the store's size.
  private var state: StatusText {
    if let latency = session.latency { return StatusText(latency.text, .dim) }
    var room: Int { session.size.columns - 4 - offeredKeys.suffix(2).reduce(0) { $0 + $1.width } }
    if let work = session.longWork.first(where: { !$0.id.slot.isInCockpit }) {
      return StatusText(SafeText.cut(text(of: work), to: room))
    }
    if let run = session.runs.last(where: \.isRunning), view.kind != .migration {
      let keys = run.id == nil ? "another program's, 6 shows it" : "^c cancels, 6 shows it"
      return StatusText(SafeText.cut(run.line(keys: keys, theme: session.theme, width: room), to: room))
    }
    if focus == .table, overlays.isEmpty, let meaning = table.signMeaning(session) {
      return StatusText(SafeText.cut(meaning, to: room), .dim)
    }
    // Over everything else w and u mean something else.
    if !session.staged.isEmpty, overlays.isEmpty, refusal(of: .review) == nil {
      let totals = session.staged.totals
      return StatusText("staged ~\(totals.updated) +\(totals.inserted) -\(totals.deleted)")
    }
    if macro.isRecording { return StatusText("recording keys — :record stops", .dim) }
    guard session.size.columns >= 100, let outline = session.outline else { return StatusText("") }
    let records = outline.datastores.reduce(0) { $0 + $1.count }
    let bytes = outline.byteCount.map { " \(session.theme.dot) \(NumberFormat.bytes($0))" } ?? ""
    return StatusText("\(NumberFormat.counted(records, "record"))\(bytes)", .dim)
  }

  private func text(of work: RunningWork) -> String {
    var text = "\(work.isAskedToEnd ? "cancelling " : "")\(work.label)…"
    if let progress = work.progress {
      text += " \(NumberFormat.count(progress.done))"
      if let total = progress.total {
        text += " of \(NumberFormat.count(total)) (\(NumberFormat.percent(progress.done, of: total)))"
      }
    }
    if let seconds = work.stalled(at: session.now) { text += ", nothing for \(seconds) s" }
    return text + (work.isAskedToEnd ? " — Q leaves" : " — Esc cancels")
  }

  // MARK: Keys

  struct FooterKey: Sendable, Hashable {
    var keys: String
    var short: String
    var command: Command
    var width: Int { SafeText.width(keys) + SafeText.width(short) + 3 }
  }

  /// The keys at the foot of the screen, as many as fit beside the state: of what the pane with the keys offers, what works now.
  func footerKeys() -> [FooterKey] { footerKeys(beside: state) }

  private func footerKeys(beside state: StatusText) -> [FooterKey] {
    guard pendingKeys.isEmpty, awaitsLetter == nil else { return [] }
    let keys = offeredKeys
    // The last two, help and close, are always there, unless a message needs their room.
    let last = keys.suffix(2).filter { refusal(of: $0.command) == nil }
    let lastKeysWidth = last.reduce(0) { $0 + $1.width }
    var room = session.size.columns - keysStart - lastKeysWidth - (state.text.isEmpty ? 0 : state.width + 1)
    if room < 0, message != nil { return [] }
    // Most do not fit, so they are not asked whether they work.
    let kept = keys.dropLast(2).filter { key in
      guard key.width <= room, refusal(of: key.command) == nil else { return false }
      room -= key.width
      return true
    }
    return kept + last
  }

  /// The column of the first key.
  var keysStart: Int { message.map { $0.width + 4 } ?? 1 }

  /// The keys of the pane with the keys, whether they work now or not.
  private var offeredKeys: [FooterKey] {
    guard let pane = pane(target) else { return [] }
    let canMove = (pane as? any ListPane).map { $0.lineCount(session) > 1 } ?? true
    return pane.footer(session).compactMap { command in
      guard command != .down || canMove, let key = keymap.keys(for: command).first else { return nil }
      let quits = command == .close && overlays.isEmpty && views.count == 1
      return FooterKey(
        keys: key == "Enter" ? session.theme.enterKey : key,
        short: quits ? "quit" : pane.short(command) ?? CommandTable.entry(command).short, command: command)
    }
  }
}
