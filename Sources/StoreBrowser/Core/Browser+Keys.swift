import StrataTerminal

/// Keys, pastes, the mouse: what they mean where.
extension Browser {
  /// The pane that has the keys: the topmost overlay, or else the focused pane.
  var target: PaneID { overlays.last?.id ?? focus }

  mutating func act(on event: TerminalEvent) {
    if event.isInput {
      // A command that is being chosen by its name has begun.
      let isChosen = overlays.last is Prompt || overlays.last is any SearchPane
      macro.record(event, begins: !isChosen && pendingKeys.isEmpty && awaitsLetter == nil)
    }
    switch event {
    case .key(let chord): press(chord)
    case .paste(let text):
      guard with(target, { pane, session in pane.paste(text, in: &session) }) != true else { return }
      session.warn("nothing here takes a paste; e edits a field")
    case .mouse(let mouse): act(on: mouse)
    case .resize(let size): session.size = size
    // A signal is not asked back.
    case .interrupt: session.emit(.quit())
    case .resumed: session.emit(.repaint)
    case .background(let isLight): suit(isLight: isLight)
    case .editorEnded, .synchronizesUpdates, .repeatsCharacters, .measured: break
    }
  }

  mutating func press(_ chord: KeyChord) {
    session.notice = nil
    if !overlays.isEmpty, pendingKeys.isEmpty, with(target, { pane, session in pane.type(chord, in: &session) }) == true
    {
      return
    }
    if overlays.isEmpty, focus == .table { table.changed = [:] }
    if let command = awaitsLetter {
      awaitsLetter = nil
      guard let letter = keymap.unaliased(chord).character else { return }
      run(command, argument: String(letter))
      return
    }
    pendingKeys.append(chord)
    switch keymap.meaning(of: pendingKeys, in: target) {
    case .command(let command):
      pendingKeys = []
      run(command, argument: nil)
    case .prefix: break
    case .nothing:
      let keys = pendingKeys.map(\.description).joined()
      pendingKeys = []
      if keymap.unaliased(chord) == KeyChord(.escape) { return }
      session.warn("no command on \(keys); ? lists the keys")
    }
  }

  // MARK: Overlays

  /// Lays a pane over the others; it has the keys until it goes.
  mutating func present(_ overlay: any Pane) {
    var overlay = overlay
    if var editor = overlay as? ValueEditor {
      editor.offerDraft(in: &session)
      overlay = editor
    }
    overlays.append(overlay)
    pendingKeys = []
  }

  /// Lays a pane that comes with a late reply beneath those that have the keys by then: what is typed is not for it.
  mutating func presentLate(_ overlay: any Pane) {
    if overlays.isEmpty { present(overlay) } else { overlays.insert(overlay, at: 0) }
  }

  /// Takes the topmost overlay away.
  mutating func dismiss() {
    guard let overlay = overlays.popLast() else { return }
    if overlay.id == .prompt { abandonPreview() }
    endQuestions(of: overlay.id)
  }

  // MARK: Mouse

  private mutating func act(on mouse: MouseEvent) {
    guard session.isMouseOn else { return }
    let layout = layout
    if case .press(button: 1) = mouse.kind, mouse.point.row == layout.foot.top, target != .prompt {
      pressFooter(mouse.point.column)
      return
    }
    let pane: PaneID
    if let overlay = overlays.last {
      guard overlay.rect(in: body, session: session).contains(mouse.point) else { return }
      pane = overlay.id
    } else {
      guard let placed = layout.panes.first(where: { $0.rect.contains(mouse.point) }) else { return }
      pane = placed.pane
    }
    switch mouse.kind {
    case .wheelDown, .wheelUp:
      for _ in 0..<3 { deliver(mouse.kind == .wheelDown ? .down : .up, argument: nil, to: pane) }
    case .press(button: 1):
      if overlays.isEmpty { focus = pane }
      let frame = frame(of: pane, in: self.layout)
      let inside = frame.inside
      guard inside.contains(mouse.point) else { return }
      let point = Point(column: mouse.point.column - inside.left, row: mouse.point.row - inside.top)
      with(pane) { pane, session in pane.click(at: point, frame: frame, in: &session) }
    default: break
    }
  }

  /// A click on a key at the foot of the screen presses it.
  private mutating func pressFooter(_ column: Int) {
    var x = keysStart
    for key in footerKeys() {
      let width = SafeText.width("\(key.keys) \(key.short)")
      if (x..<x + width).contains(column) {
        run(key.command, argument: nil)
        return
      }
      x += width + 2
    }
  }
}
