import StrataModel
import StrataTerminal

/// Commands: whether they work here, and those that belong to no single pane.
extension Browser {
  /// Runs a command as if its key were pressed. If it needs an argument and has none, asks for it.
  package mutating func run(_ command: Command, argument: String?) {
    let entry = CommandTable.entry(command)
    if ![.quit, .close, .interrupt].contains(command) { session.keeping.isLeaving = false }
    if entry.group == .write, session.keeping.holds(command, argument) {
      return session.say("what is staged is being read; \(entry.name) follows")
    }
    // Commits that are named in full can be compared and merged from any pane.
    let isSaidInFull = argument != nil && (command == .difference || command == .merge && session.writingRefusal == nil)
    if !isSaidInFull, let reason = refusal(of: command) {
      session.warn("\(entry.name): not here: \(reason)")
      session.emit(.bell)
      return
    }
    if argument == nil, needsPrompt(command) {
      ask(for: command)
      return
    }
    if entry.contexts.isEmpty || entry.contexts.contains(target) || !overlays.isEmpty,
      deliver(command, argument: argument, to: target)
    {
      return
    }
    if let handler = entry.handler {
      handler(&self, argument)
    } else if entry.group != .move {
      // A move in an empty pane needs no message.
      session.warn("\(entry.name) does nothing here")
    }
  }

  /// Passes a command to a pane. Returns whether the pane ran it.
  @discardableResult
  mutating func deliver(_ command: Command, argument: String?, to id: PaneID) -> Bool {
    let frame = frame(of: id, in: layout)
    let isDone = with(id) { pane, session in
      if pane.run(command, argument: argument, frame: frame, in: &session) { return true }
      guard
        pane.move(command, argument: argument, frame: frame, in: &session)
          || pane.runOnRows(command, argument: argument, in: &session)
      else { return false }
      pane.reveal(frame, session)
      return true
    }
    return isDone ?? false
  }

  private func needsPrompt(_ command: Command) -> Bool {
    switch command {
    case .setBookmark, .goToBookmark: false
    case .travel: focus != .history && focus != .difference && focus != .pickaxe
    case .export: true
    default: CommandTable.entry(command).argument?.isRequired ?? false
    }
  }

  /// Why a command does not work here now; nil if it works.
  package func refusal(of command: Command) -> String? { refusal(of: CommandTable.entry(command)) }

  func refusal(of entry: CommandEntry) -> String? {
    let command = entry.command
    if let overlay = overlays.last {
      guard Self.isHeard(entry, by: overlay) else { return "\(type(of: overlay).entry.name) is open; Esc closes it" }
      return overlay.refusal(of: command, in: session)
    }
    if !entry.contexts.isEmpty, !entry.contexts.contains(focus) {
      return "it works in \(entry.contexts.map(Self.name).joined(separator: ", "))"
    }
    if let reason = entry.refusal?.reason(self) { return reason }
    guard !entry.contexts.isEmpty || [.open, .travel, .history, .verify].contains(command) else { return nil }
    return pane(focus)?.refusal(of: command, in: session)
  }

  private static func name(_ pane: PaneID) -> String {
    pane.digit.map { "pane \($0)" } ?? PaneTable.entry(pane).name.lowercased()
  }

  /// Whether an overlay accepts a command: one of its own, moving, leaving, help.
  private static func isHeard(_ entry: CommandEntry, by overlay: any Pane) -> Bool {
    let row = PaneTable.entry(overlay.id)
    if row.footer.contains(entry.command) || entry.contexts.contains(overlay.id) { return true }
    if !row.commands.isEmpty, entry.command == .palette || entry.command == .help { return true }
    if entry.group == .move, entry.command != .goTo { return true }
    return [.open, .escape, .close, .interrupt, .nextPane, .repaint, .suspend].contains(entry.command)
  }

  // MARK: Panes and views

  mutating func goToPane(_ digit: Int) {
    guard let pane = PaneID(digit: digit) else { return }
    if layout.rect(of: pane) == nil, views.count > 1,
      Layout(size: session.size, view: .main, focus: pane, mode: .normal).rect(of: pane) != nil
    {
      returnToMain(focus: views[0].focus)
    }
    if pane == .history, layout.rect(of: .history) == nil { history.show(history.scope) }
    focusPane(pane)
  }

  /// Focuses a pane. Opens it as a view if it is not on the screen.
  mutating func focusPane(_ pane: PaneID) {
    if pane == .index, focus == .table || focus == .record {
      with(IndexPane.self) { $0.stand(atSelectionOf: &$1) }
    }
    if layout.rect(of: pane) != nil {
      focus = pane
    } else if view.kind.panes.contains(pane), view.kind != .main {
      focus = pane
    } else {
      open(ViewKind(of: pane))
    }
  }

  mutating func open(_ kind: ViewKind) {
    if let index = views.firstIndex(where: { $0.kind == kind }), index > 0 { views.remove(at: index) }
    if kind == .main {
      returnToMain(focus: .table)
    } else {
      views.append(OpenView(kind: kind, focus: kind.panes[0]))
    }
  }

  /// Opens the view of a pane, and changes the pane.
  mutating func open<P: PermanentPane>(_ type: P.Type, _ change: (inout P, inout Session) -> Void) {
    open(ViewKind(of: P.entry.id))
    with(type, change)
  }

  mutating func goToNextPane() {
    let panes =
      session.size.columns < 60
      ? view.kind.panes.sorted { ($0.digit ?? 9) < ($1.digit ?? 9) } : layout.panes.map(\.pane)
    let full = Layout(size: session.size, view: view.kind, focus: focus, mode: .normal).panes.map(\.pane)
    let ring = panes.count > 1 ? panes : full
    guard let position = ring.firstIndex(of: focus) else { return }
    focus = ring[(position + 1) % ring.count]
  }

  /// Closes one layer per press; never quits.
  mutating func escape() {
    guard overlays.isEmpty else {
      dismiss()
      return
    }
    session.notice = nil
    session.markedText = nil
    if let work = session.longWork.first(where: { $0.id.slot != .commit && !$0.id.slot.isInCockpit }) {
      cancelWork(work)
    } else if views.count > 1, focus != view.kind.panes[0], view.kind.panes.count > 1 {
      focus = view.kind.panes[0]
    } else if views.count > 1 {
      close()
    } else if mode != .normal {
      mode = .normal
    } else if leavesPane {
      focus = .table
    } else if let layer = table.layer {
      takeBack(layer)
    } else if session.asOf != nil {
      travel(to: session.present)
    }
  }

  /// Whether Esc leads from a pane of the main screen back to the table before it takes back what the table shows.
  private var leavesPane: Bool { view.kind == .main && ![.table, .stores].contains(focus) }

  /// Whether the next Esc returns from the past.
  var escapesToPresent: Bool {
    overlays.isEmpty && views.count == 1 && mode == .normal && !leavesPane && table.layer == nil
  }

  private mutating func takeBack(_ layer: TablePane.Layer) {
    guard var source = table.source else { return }
    switch layer {
    case .marks: return table.clearMarks()
    case .filter: return unfilter()
    case .sort: source.sort = []
    case .range: source.range = nil
    }
    table.show(source, anchor: table.keepingAnchor())
  }

  mutating func cancelWork(_ work: RunningWork) {
    if work.id.slot.repliesInPart, !work.isAskedToEnd { return session.askToEnd(work.id.slot) }
    session.cancel(work.id.slot)
    wasCancelled(work)
  }

  /// Closes the topmost overlay or view. On the main screen it quits.
  mutating func close() {
    if !overlays.isEmpty {
      dismiss()
    } else if views.count > 1 {
      if let pane = views.last?.kind.pane { closeView(of: pane) }
    } else {
      quit()
    }
  }

  /// Closes the view of a pane, if one is open. A request of a pane never ends the program.
  mutating func closeView(of pane: PaneID) {
    guard let index = views.lastIndex(where: { $0.kind.pane == pane }), index > 0 else { return }
    let closed = views.remove(at: index)
    if closed.kind == .history || closed.kind == .difference { session.selections.difference = nil }
    endQuestions(of: pane)
  }

  /// Shows the main view alone.
  mutating func returnToMain(focus: PaneID) {
    for pane in views.dropFirst().compactMap(\.kind.pane) { endQuestions(of: pane) }
    views = [OpenView(kind: .main, focus: focus)]
  }

  /// Questions of a view or an overlay that is no longer visible need no reply, and a closed list keeps none. Work that the cockpit shows
  /// goes on.
  mutating func endQuestions(of pane: PaneID) {
    guard pane.digit == nil else { return }
    let entry = PaneTable.entry(pane)
    for slot in entry.work where !slot.isKept && !slot.isInCockpit { session.cancel(slot) }
    // A description is kept, because it is short and may be asked for again.
    if CommandTable.rowLists.contains(pane), pane != .describe, let empty = entry.make?() { panes.put(empty) }
  }

  /// Cancels running work from any pane; work in the cockpit after a second press. With nothing running it quits, but not in the cockpit
  /// nor right after such work, because the press may have been meant for the work that has just ended.
  mutating func interrupt() {
    if let work = session.cockpitWork.first {
      guard cancelIsAsked == work.id else {
        cancelIsAsked = work.id
        session.warn("\(work.label) runs; ^c again cancels it, and the store is as it was")
        return
      }
      cancelWork(work)
    } else if !overlays.isEmpty {
      dismiss()
    } else if let work = session.longWork.first(where: { $0.id.slot != .commit }) {
      cancelWork(work)
    } else if let run = session.run, run.isRunning, run.id == nil, view.kind == .migration {
      session.warn("\(run.title) is another program's work, which only that cancels; Q quits")
    } else if let run = session.run, view.kind == .migration || run.hasJustEnded(at: session.now) {
      session.warn("\(run.title) has ended: nothing runs any more; Q quits")
    } else {
      quit()
    }
  }

  // MARK: Jumps

  var here: Jump? {
    table.source.map {
      Jump(
        source: $0, identifier: table.selectedIdentifier(session), asOf: session.asOf,
        field: focus == .record ? record.selectedLine?.path : nil)
    }
  }

  mutating func recordJump() { here.map { jumps.leave($0) } }

  mutating func goBack() {
    guard let here, let jump = jumps.back(from: here) else { return session.warn("there is no place before") }
    go(to: jump)
  }

  mutating func go(to jump: Jump) {
    guard session.asOf != jump.asOf || isThere(jump.source.datastore) else { return }
    if session.datastore != jump.source.datastore { session.datastore = jump.source.datastore }
    if session.asOf != jump.asOf { travel(to: jump.asOf ?? session.present) }
    table.show(jump.source, anchor: jump.identifier.map { .identifier($0) } ?? .position(0))
    adjustOrder()
    if views.count > 1 { returnToMain(focus: .table) }
    guard let field = jump.field, let identifier = jump.identifier else {
      focus = .table
      return
    }
    record.select(field, of: RecordPlace(datastore: jump.source.datastore, identifier: identifier))
    focus = .record
  }

  mutating func setBookmark(_ argument: String?) {
    guard let letter = argument?.first.map(String.init) else {
      awaitsLetter = .setBookmark
      return
    }
    guard let place = table.selectedPlace(session) else { return session.warn("no record is selected") }
    let bookmark = Bookmark(datastore: place.datastore, identifier: place.identifier.value.description)
    session.remember { $0.bookmarks[letter] = bookmark }
    session.say("bookmark \(letter): \(place.datastore)/\(place.identifier)")
  }

  mutating func goToBookmark(_ argument: String?) {
    guard let letter = argument?.first.map(String.init) else {
      awaitsLetter = .goToBookmark
      return
    }
    guard let bookmark = session.remembered.bookmarks[letter] else {
      let known = session.remembered.bookmarks.keys.sorted().joined(separator: " ")
      session.warn("there is no bookmark \(letter)\(known.isEmpty ? "" : "; there are \(known)")")
      return
    }
    goTo(bookmark.identifier, in: bookmark.datastore)
  }

  // MARK: Program

  mutating func toggleMouse() {
    session.isMouseOn.toggle()
    session.emit(.mouse(session.isMouseOn))
    session.say(session.isMouseOn ? "mouse on" : "mouse off: the terminal selects text")
  }

  mutating func toggleRecording(_ file: String?) {
    if macro.isRecording {
      macro.stop()
      session.emit(.stopRecording)
      session.say("recorded \(macro.events.count) keys; @ replays them")
    } else if let file {
      let new = Inquiry { context throws(ModelError) in
        try context.files.requireNew(file)
        try context.files.write(file) { _ throws(ModelError) in }
        return context.files.expanding(file)
      }
      session.start(.resolve, new) { $0.beginRecording($1) }
    } else {
      beginRecording(nil)
    }
  }

  private mutating func beginRecording(_ path: String?) {
    macro = Macro(isRecording: true)
    if let path { session.emit(.record(path: path)) }
    session.say("recording keys; :record stops")
  }

  /// Shows all commands; those that work in the focused pane are first.
  mutating func openHelp() {
    let target = target
    let lines = CommandTable.all.map { entry in
      HelpOverlay.Line(
        entry: entry, keys: keymap.keys(for: entry.command).prefix(2).joined(separator: "  "),
        refusal: refusal(of: entry.command))
    }
    func rank(_ line: HelpOverlay.Line) -> Int {
      line.refusal != nil ? 2 : line.entry.contexts.contains(target) ? 0 : 1
    }
    let sorted = lines.enumerated().sorted {
      (rank($0.element), $0.offset) < (rank($1.element), $1.offset)
    }
    let foremost = pane(target)?.footer(session) ?? []
    present(HelpOverlay(sorted.map(\.element), over: target, foremost: foremost))
  }
}
