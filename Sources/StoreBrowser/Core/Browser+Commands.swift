import DatastoreModel
import TerminalKit

/// Commands: whether they work here, and what those do that belong to no single pane.
extension Browser {
  /// Does a command as if its key were pressed; without an argument that it needs, asks for it.
  package mutating func run(_ command: Command, argument: String?) {
    // Two commits that are named can be compared from anywhere.
    let isSaidInFull = command == .difference && argument != nil
    if !isSaidInFull, let reason = refusal(of: command) {
      session.warn("\(CommandTable.entry(command).name): not here: \(reason)")
      session.emit(.bell)
      return
    }
    if argument == nil, needsPrompt(command) {
      ask(for: command)
      return
    }
    let frame = focusedFrame
    let contexts = CommandTable.contexts(of: command)
    if contexts.isEmpty || contexts.contains(focus) {
      let isDone = with(focus) { pane, session in
        pane.perform(command, argument: argument, frame: frame, in: &session)
      }
      if isDone { return }
    }
    perform(command, argument: argument)
  }

  private func needsPrompt(_ command: Command) -> Bool {
    switch command {
    case .setBookmark, .goToBookmark: false
    case .travel: focus != .history && focus != .difference && focus != .pickaxe
    case .export: true
    default: CommandTable.entry(command).argument?.isRequired ?? false
    }
  }

  /// Why a command does not work here now; nil where it does.
  package func refusal(of command: Command) -> String? {
    let contexts = CommandTable.contexts(of: command)
    if !contexts.isEmpty, !contexts.contains(focus) {
      return
        "it works in \(contexts.map { $0.digit.map { digit in "pane \(digit)" } ?? $0.rawValue }.joined(separator: ", "))"
    }
    switch command {
    case .edit, .editExternally, .insert, .duplicate, .paste, .deleteRecord, .valueMenu, .moveUp, .moveDown, .set,
      .deleteShown:
      if focus != .migration, let reason = session.editingRefusal { return reason }
    case .restoreRecord, .restoreField, .revert, .restoreStore, .pin, .unpin, .addIndex, .rebuildIndex, .dropIndex,
      .compact:
      if let reason = session.writingRefusal { return reason }
    case .review:
      if let reason = session.writingRefusal { return reason }
      if session.staged.isEmpty { return "nothing is staged" }
    case .undo:
      if let reason = session.writingRefusal { return reason }
      if !session.staged.canUndo, session.staged.canRedo { return "nothing staged is left to undo; ^r brings it back" }
    case .redo:
      if let reason = session.writingRefusal { return reason }
      if session.staged.canUndo, !session.staged.canRedo { return "there is nothing to redo in what is staged" }
    case .back, .forward, .history, .export, .filter, .goTo:
      if session.datastore == nil { return "no datastore is open" }
    case .replay where macro.keys.isEmpty: return "nothing was recorded yet (:record)"
    default: break
    }
    if command == .paste, copied.records.isEmpty, copied.value == nil { return "nothing was copied yet (yy, yr)" }
    guard !contexts.isEmpty || [.open, .travel, .history, .verify].contains(command) else { return nil }
    return pane(focus).refusal(of: command, in: session)
  }

  private mutating func perform(_ command: Command, argument: String?) {
    switch command {
    case .pane1, .pane2, .pane3, .pane4, .pane5, .pane6: goToPane(command)
    case .nextPane: nextPane()
    case .larger: mode = ScreenMode(rawValue: (mode.rawValue + 1) % 3) ?? .normal
    case .smaller: mode = ScreenMode(rawValue: (mode.rawValue + 2) % 3) ?? .normal
    case .escape: escape()
    case .close: close()
    case .quit: quit()
    case .interrupt: interrupt()
    case .back: goBack()
    case .forward: places.forward().map { go(to: $0) }
    case .setBookmark, .goToBookmark: bookmark(command, argument)
    case .nextRecord, .previousRecord: stepRecord(command == .nextRecord ? 1 : -1)
    case .palette: openPalette()
    case .help: overlays.append(.help(HelpOverlay()))
    case .mouse: toggleMouse()
    case .headsUp: session.latency = session.latency == nil ? Latency() : nil
    case .recordMacro: toggleRecording(argument)
    case .replay: replay()
    case .repaint: session.emit(.repaint)
    case .suspend: session.emit(.suspend)
    default: performOnStore(command, argument: argument)
    }
  }

  private mutating func performOnStore(_ command: Command, argument: String?) {
    switch command {
    case .filter: setFilter(argument ?? "")
    case .search: run(on: .table, .search, argument)
    case .nameView: nameView(argument ?? "")
    case .forgetView:
      session.remembered.views.removeAll { $0.name == argument && $0.datastore == session.datastore }
      session.intend(.remember)
    case .frequency: openFrequency(argument)
    case .history: showHistory(session.datastore.map { .datastore($0) } ?? .store)
    case .storeHistory: showHistory(.store)
    case .pickaxe:
      open(.pickaxe)
      pickaxe.show(
        PickaxeRequest(text: argument ?? "", datastore: session.datastore, newest: session.shown), in: &session)
    case .travel: session.start(.resolve, .resolve(argument ?? "head", for: .travel))
    case .olderCommit: stepCommit(-1)
    case .newerCommit: stepCommit(1)
    case .difference: differ(argument)
    case .follow: toggleFollowing()
    case .pin: session.start(.pin, .pin(argument ?? "", shownCommit), label: "pin")
    case .unpin: session.start(.pin, .pin(argument ?? "", nil), label: "unpin")
    case .verify: verify()
    case .referrers: findReferrers()
    case .scalars: showScalars()
    case .export: export(argument ?? "")
    case .warmUp: open(.migration)
    case .retry:
      open(.migration)
      run(on: .migration, .retry, nil)
    case .fold: history.isFolded.toggle()
    case .blame:
      focusPane(.record)
      run(on: .record, .blame, nil)
    default: performWriting(command, argument: argument)
    }
  }

  /// Does a command in another pane than the focused one.
  mutating func run(on id: PaneID, _ command: Command, _ argument: String?) {
    let frame = frame(of: id, in: layout)
    with(id) { pane, session in _ = pane.perform(command, argument: argument, frame: frame, in: &session) }
  }

  // MARK: Panes and views

  private mutating func goToPane(_ command: Command) {
    guard let last = command.rawValue.last, let digit = last.wholeNumberValue, let pane = PaneID(digit: digit) else {
      return
    }
    if layout.rect(of: pane) == nil, views.count > 1,
      Layout(size: session.size, view: .main, focus: pane, mode: .normal).rect(of: pane) != nil
    {
      views = [OpenView(kind: .main, focus: views[0].focus)]
    }
    if pane == .history, layout.rect(of: .history) == nil { history.show(history.scope) }
    focusPane(pane)
  }

  /// Goes to a pane; opens it as a view where it is not on the screen.
  mutating func focusPane(_ pane: PaneID) {
    if layout.rect(of: pane) != nil {
      focus = pane
    } else if view.kind.panes.contains(pane), view.kind != .main {
      focus = pane
    } else {
      open(ViewKind(of: pane))
    }
  }

  mutating func open(_ kind: ViewKind) {
    if let place = views.firstIndex(where: { $0.kind == kind }), place > 0 { views.remove(at: place) }
    if kind == .main {
      views = [OpenView(kind: .main, focus: .table)]
    } else {
      views.append(OpenView(kind: kind, focus: kind.panes[0]))
    }
    if mode == .full { mode = .normal }
  }

  private mutating func nextPane() {
    let panes =
      session.size.columns < 60
      ? view.kind.panes.sorted { ($0.digit ?? 9) < ($1.digit ?? 9) } : layout.panes.map(\.pane)
    let full = Layout(size: session.size, view: view.kind, focus: focus, mode: .normal).panes.map(\.pane)
    let ring = panes.count > 1 ? panes : full
    guard let place = ring.firstIndex(of: focus) else { return }
    focus = ring[(place + 1) % ring.count]
  }

  /// One layer a press; never quits.
  private mutating func escape() {
    session.notice = nil
    if let work = session.longWork.first, work.id.slot != .commit {
      cancelWork(work)
    } else if views.count > 1, focus != view.kind.panes[0], view.kind.panes.count > 1 {
      focus = view.kind.panes[0]
    } else if views.count > 1 {
      close()
    } else if mode != .normal {
      mode = .normal
    } else if !table.marks.isEmpty || table.rangeStart != nil {
      table.clearMarks()
    } else if table.source?.filter != nil {
      unfilter()
    } else if table.source?.sort != nil {
      if var source = table.source {
        source.sort = nil
        table.show(source, anchor: table.keepingAnchor())
      }
    } else if table.source?.range != nil {
      let anchor = table.keepingAnchor()
      if var source = table.source {
        source.range = nil
        table.show(source, anchor: anchor)
      }
    } else if session.asOf != nil {
      travel(to: nil)
    }
  }

  mutating func cancelWork(_ work: RunningWork) {
    session.cancel(work.id.slot)
    session.say("cancelled: \(work.label)")
    switch work.id.slot {
    case .filter, .sort: table.stopScan()
    case .pickaxe: pickaxe.stop()
    case .warmUp: migration.stopped("cancelled; the store is as it was", at: session.now)
    case .frequency: close()
    case .blame: record.showsBlame = false
    default: break
    }
  }

  mutating func close() {
    if views.count > 1 {
      let closed = views.removeLast()
      if closed.kind == .history || closed.kind == .difference { askedDifference = nil }
      if closed.kind == .frequency { session.cancel(.frequency) }
    } else {
      quit()
    }
  }

  mutating func quit() {
    session.emit(.quit(status: 0, farewell: farewell))
  }

  /// What the shell is told: `3 staged changes kept for Atlas.strata`.
  package var farewell: String? {
    let count = session.staged.count
    guard count > 0 else { return nil }
    return "\(count) staged \(count == 1 ? "change" : "changes") kept for \(storeName)"
  }

  var storeName: String { session.facts.path.split(separator: "/").last.map(String.init) ?? session.facts.path }

  private mutating func interrupt() {
    if let work = session.longWork.first { cancelWork(work) } else { quit() }
  }

  // MARK: Places

  var here: Place? {
    table.source.map { Place(source: $0, identifier: table.selectedIdentifier(session), asOf: session.asOf) }
  }

  mutating func leavePlace() { here.map { places.leave($0) } }

  private mutating func goBack() {
    guard let here, let place = places.back(from: here) else {
      session.warn("there is no place before")
      return
    }
    go(to: place)
  }

  private mutating func go(to place: Place) {
    if session.datastore != place.source.datastore { session.datastore = place.source.datastore }
    if session.asOf != place.asOf { travel(to: place.asOf) }
    table.show(place.source, anchor: place.identifier.map { .identifier($0) } ?? .position(0))
    if views.count > 1 { views = [OpenView(kind: .main, focus: .table)] }
    focus = .table
  }

  private mutating func bookmark(_ command: Command, _ argument: String?) {
    guard let letter = argument?.first.map(String.init) else {
      awaitsLetter = command
      return
    }
    if command == .setBookmark {
      guard let place = table.selectedPlace(session) else {
        session.warn("no record is selected")
        return
      }
      session.remembered.bookmarks[letter] = Bookmark(
        datastore: place.datastore, identifier: place.identifier.value.description)
      session.intend(.remember)
      session.say("bookmark \(letter): \(place.datastore)/\(place.identifier)")
    } else if let bookmark = session.remembered.bookmarks[letter] {
      session.start(
        .identify, .identify(datastore: bookmark.datastore, text: bookmark.identifier, commit: session.shown))
    } else {
      let known = session.remembered.bookmarks.keys.sorted().joined(separator: " ")
      session.warn("there is no bookmark \(letter)\(known.isEmpty ? "" : "; there are \(known)")")
    }
  }

  private mutating func stepRecord(_ lines: Int) {
    table.list.move(by: lines, count: table.count(session))
  }

  // MARK: Program

  private mutating func toggleMouse() {
    session.isMouseOn.toggle()
    session.emit(.mouse(isOn: session.isMouseOn))
    session.say(session.isMouseOn ? "mouse on" : "mouse off: the terminal selects text")
  }

  private mutating func toggleRecording(_ file: String?) {
    if macro.isRecording {
      macro.stop()
      session.emit(.stopRecording)
      session.say("recorded \(macro.keys.count) keys; @ replays them")
    } else {
      macro.start(file: file)
      if let file { session.emit(.record(path: file)) }
      session.say("recording keys; :record stops")
    }
  }

  private mutating func replay() {
    guard !macro.isRecording else { return }
    for key in macro.keys { press(key) }
  }
}
