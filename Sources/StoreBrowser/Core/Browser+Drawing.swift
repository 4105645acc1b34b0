package import TerminalKit
import DatastoreModel

/// The picture: title, panes, status, keys, and what lies over them.
extension Browser {
  /// The whole screen at a size; depends on nothing but the state.
  package func draw(size: Size) -> CellGrid {
    var grid = CellGrid(size: size)
    let layout = Layout(size: size, view: view.kind, focus: focus, mode: mode)
    guard !layout.isTooSmall else {
      grid.write(tooSmallText(size), at: .zero, width: size.columns)
      grid.cursor = .zero
      return grid
    }
    for placed in layout.panes {
      let frame = PaneFrame(rect: placed.rect, isFocused: placed.pane == focus && overlays.isEmpty)
      pane(placed.pane).draw(on: &grid, frame: frame, session: session)
    }
    drawTitle(layout, on: &grid)
    drawStatus(layout, on: &grid)
    drawKeys(layout, on: &grid)
    for overlay in overlays { draw(overlay, layout, on: &grid) }
    return grid
  }

  private func tooSmallText(_ size: Size) -> String {
    "\(storeName): make the window 40×10 or larger (it is \(size.columns)×\(size.rows)); Q quits"
  }

  /// What lies between title and status.
  var body: Rect {
    Rect(column: 0, row: 1, columns: session.size.columns, rows: max(1, session.size.rows - 3))
  }

  private func draw(_ overlay: Overlay, _ layout: Layout, on grid: inout CellGrid) {
    switch overlay {
    case .prompt(let prompt): prompt.draw(on: &grid, layout: layout, session: session)
    case .help(let help):
      help.draw(on: &grid, in: body, session: session, keymap: keymap, refusal: { refusal(of: $0) })
    case .review(let review): review.draw(on: &grid, in: body, session: session)
    case .editor(let editor): editor.draw(on: &grid, in: body, near: nil, session: session)
    case .menu(let menu): menu.draw(on: &grid, in: body, session: session)
    case .text(let text): text.draw(on: &grid, in: body, session: session)
    case .bulk(let bulk): bulk.draw(on: &grid, in: body, session: session)
    case .compact(let compact): compact.draw(on: &grid, in: body, session: session)
    }
  }

  // MARK: Title

  private func drawTitle(_ layout: Layout, on grid: inout CellGrid) {
    let theme = session.theme
    let rect = layout.title
    let right = titleRight(wide: rect.columns >= 110)
    let rightWidth = min(SafeText.width(right), rect.columns * 3 / 4)
    grid.write(
      titleLeft, at: Point(column: 1, row: 0), width: max(0, rect.columns - rightWidth - 3), style: theme.style(.title))
    grid.write(right, at: Point(column: rect.columns - rightWidth - 1, row: 0), width: rightWidth)
    if session.asOf != nil { grid.restyle(rect) { $0.attributes.formUnion(.reverse) } }
  }

  private var titleLeft: String {
    var parts = [storeName]
    if let source = table.source {
      parts.append(source.datastore)
      if let index = source.index { parts.append(index) }
    }
    switch view.kind {
    case .main, .table, .stores: break
    case .record: record.place.map { parts.append(ValueText(key: $0.identifier.value).text) }
    default: parts.append(view.kind.rawValue.prefix(1).uppercased() + view.kind.rawValue.dropFirst())
    }
    return parts.joined(separator: " \(session.theme.separator) ")
  }

  private func titleRight(wide: Bool) -> String {
    var parts: [String] = []
    if let asOf = session.asOf {
      let age =
        session.outline?.commit.number == asOf
        ? session.outline.map { " (\(session.time.short($0.commit.date, now: session.now)))" } ?? "" : ""
      parts.append("AS OF \(asOf)\(age) read-only")
    } else if session.shown.rawValue == 0 {
      parts.append("nothing is committed yet")
    } else if let outline = session.outline, outline.commit.number == session.shown {
      let name = wide && !outline.commit.action.isEmpty ? " “\(outline.commit.action)”" : ""
      parts.append("HEAD \(session.shown)\(name) \(session.time.short(outline.commit.date, now: session.now))")
    } else {
      parts.append("HEAD \(session.shown)")
    }
    if session.asOf == nil { parts.append(session.writingRefusal == nil ? "RW" : "RO") }
    if let writer = session.facts.writer {
      parts.append(
        "held by \(writer.program) (pid \(writer.processIdentifier)) since \(session.time.clock(writer.since))")
    }
    if session.unseen > 0 {
      parts.append("\(session.unseen) new")
    } else if session.isFollowing {
      parts.append(session.theme.live)
    } else {
      parts.append("paused")
    }
    return parts.joined(separator: " \(session.theme.dot) ")
  }

  // MARK: Status

  private func drawStatus(_ layout: Layout, on grid: inout CellGrid) {
    let theme = session.theme
    let rect = layout.status
    let right = statusRight
    let rightWidth = SafeText.width(right)
    let (text, role) = statusLeft
    grid.write(
      text, at: Point(column: 1, row: rect.top), width: max(0, rect.columns - rightWidth - 3), style: theme.style(role))
    grid.write(
      right, at: Point(column: rect.columns - rightWidth - 1, row: rect.top), width: rightWidth,
      style: theme.style(.dim))
  }

  private var statusLeft: (String, Role) {
    let theme = session.theme
    if !pendingKeys.isEmpty {
      let keys = pendingKeys.map(\.description).joined()
      let next = keymap.continuations(of: pendingKeys).map { "\($0.key) \(CommandTable.entry($0.command).short)" }
      return ("\(keys)…   \(next.joined(separator: "  "))", .title)
    }
    if let awaitsLetter { return ("\(CommandTable.entry(awaitsLetter).title)", .title) }
    if let notice = session.notice {
      switch notice.kind {
      case .said: return (notice.text, .text)
      case .warning: return ("\(theme.warningSign) \(notice.text)", .warning)
      case .problem: return ("\(theme.problemSign) \(notice.text)", .problem)
      }
    }
    if let work = session.longWork.first { return (Self.text(of: work, now: session.now), .text) }
    if let activity = session.facts.activity, view.kind != .migration {
      return ("\(activity.title) \(NumberFormat.percent(activity.done, of: activity.total)) — M shows it", .text)
    }
    if !session.staged.isEmpty {
      let totals = session.staged.totals
      return (
        "staged: ~\(totals.updated) +\(totals.inserted) -\(totals.deleted) — w review and commit · u unstage last",
        .text
      )
    }
    return (macro.isRecording ? "recording keys — :record stops" : "", .dim)
  }

  private static func text(of work: RunningWork, now: Int64) -> String {
    var text = "\(work.label)…"
    if let progress = work.progress {
      text += " \(NumberFormat.count(progress.done))"
      if let total = progress.total {
        text += " of \(NumberFormat.count(total)) (\(NumberFormat.percent(progress.done, of: total)))"
      }
    }
    return text + " — Esc cancels"
  }

  private var statusRight: String {
    if let latency = session.latency { return latency.text }
    guard session.size.columns >= 100, let outline = session.outline else { return "" }
    let records = outline.datastores.reduce(0) { $0 + $1.count }
    var text = "\(NumberFormat.count(records)) records"
    if let bytes = outline.byteCount { text += " \(session.theme.dot) \(NumberFormat.bytes(bytes))" }
    return text
  }

  // MARK: Keys

  /// The keys at the foot of the screen, as many as fit: from the command table, for the focused pane or overlay.
  func footerKeys() -> [(String, Command)] {
    let isReadOnly = session.writingRefusal != nil
    let commands = CommandTable.footer(of: focus).filter { !isReadOnly || CommandTable.entry($0).group != .write }
    let keys = commands.compactMap { command in
      keymap.keys(for: command).first.map { ($0 == "Enter" ? session.theme.enterKey : $0, command) }
    }
    func width(_ key: (String, Command)) -> Int {
      SafeText.width("\(key.0) \(CommandTable.entry(key.1).short)") + 2
    }
    // The last two, help and close, are always there.
    var room = session.size.columns - 1 - keys.suffix(2).reduce(0) { $0 + width($1) }
    let kept = keys.dropLast(2).filter { key in
      guard width(key) <= room else { return false }
      room -= width(key)
      return true
    }
    return kept + keys.suffix(2)
  }

  private func drawKeys(_ layout: Layout, on grid: inout CellGrid) {
    let theme = session.theme
    let row = layout.keys.top
    if let text = overlayKeys {
      grid.write(text, at: Point(column: 1, row: row), width: layout.size.columns - 2, style: theme.style(.dim))
      return
    }
    var x = 1
    for (key, command) in footerKeys() {
      x += grid.write(key, at: Point(column: x, row: row), style: theme.style(.key).with(.bold)) + 1
      x += grid.write(CommandTable.entry(command).short, at: Point(column: x, row: row), style: theme.style(.text)) + 2
    }
  }

  private var overlayKeys: String? {
    let enter = session.theme.enterKey
    switch overlays.last {
    case .review(let review)?:
      if review.isCommitting { return "Esc cancel" }
      if review.name != nil { return "\(enter) commit  Esc back to the list" }
      guard case .staged = review.subject else { return "\(enter) name and commit  j/k move  P list  ? help  Esc back" }
      return "\(enter) name and commit  j/k move  x unstage  X mark stale  P list  ? help  Esc back"
    case .editor?: return "\(enter) stage  Esc keep the old value"
    case .menu?: return "j/k move  \(enter) choose  Esc close"
    case .text?: return "j/k move  yy copy  Esc close"
    case .bulk?: return "\(enter) stage  Esc close"
    case .compact?: return "\(enter) compact  Esc close"
    case .help?: return "type to search  ↑ ↓ move  \(enter) run  Esc close"
    case .prompt?, nil: return nil
    }
  }
}
