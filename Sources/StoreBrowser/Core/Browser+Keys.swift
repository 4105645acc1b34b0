import DatastoreModel
import TerminalKit

/// Keys, pastes, the mouse: what they mean where.
extension Browser {
  mutating func receive(_ event: TerminalEvent) {
    switch event {
    case .key(let chord): press(chord)
    case .paste(let text): paste(text)
    case .mouse(let mouse): receive(mouse)
    case .resize(let size): session.size = size
    case .interrupt: quit()
    case .resumed: session.emit(.repaint)
    case .editorEnded: break
    }
  }

  mutating func press(_ chord: KeyChord) {
    macro.note(chord)
    if let overlay = overlays.last {
      pressOverlay(chord, overlay)
      return
    }
    let chord = session.configuration.settings.aliases[chord] ?? chord
    session.notice = nil
    if focus == .table { table.changed = [:] }
    if let command = awaitsLetter {
      awaitsLetter = nil
      guard let letter = chord.character else { return }
      run(command, argument: String(letter))
      return
    }
    pendingKeys.append(chord)
    switch keymap.meaning(of: pendingKeys) {
    case .command(let command):
      pendingKeys = []
      run(command, argument: nil)
    case .prefix: break
    case .nothing:
      let keys = pendingKeys.map(\.description).joined()
      pendingKeys = []
      if chord.description == "Esc" { return }
      session.warn("no command on \(keys); ? lists the keys")
    }
  }

  private mutating func paste(_ text: String) {
    switch overlays.last {
    case .prompt(var prompt)?:
      prompt.insert(text)
      replaceTop(.prompt(prompt))
      previewFilter(prompt)
    case .editor(var editor)?:
      editor.insert(text)
      replaceTop(.editor(editor))
    case .help(var help)?:
      help.field.insert(text)
      replaceTop(.help(help))
    case .review(var review)? where review.name != nil:
      review.name?.insert(text.replacing("\n", with: " "))
      replaceTop(.review(review))
    default: session.warn("nothing here takes a paste; e edits a field")
    }
  }

  mutating func replaceTop(_ overlay: Overlay) { overlays[overlays.count - 1] = overlay }

  // MARK: Overlays

  private mutating func pressOverlay(_ chord: KeyChord, _ overlay: Overlay) {
    if chord.description == "^c" {
      switch overlay {
      case .compact(let compact): pressCompact(KeyChord(.escape), compact)
      case .review(var review):
        if !review.isCommitting { review.name = nil }
        pressReview(KeyChord(.escape), review)
      case .bulk(let bulk): pressBulk(KeyChord(.escape), bulk)
      default:
        overlays.removeLast()
        abandonPreview()
      }
      return
    }
    switch overlay {
    case .prompt(let prompt): pressPrompt(chord, prompt)
    case .help(let help): pressHelp(chord, help)
    case .review(let review): pressReview(chord, review)
    case .editor(let editor): pressEditor(chord, editor)
    case .menu(let menu): pressMenu(chord, menu)
    case .text(let text): pressText(chord, text)
    case .bulk(let bulk): pressBulk(chord, bulk)
    case .compact(let compact): pressCompact(chord, compact)
    }
  }

  private mutating func pressPrompt(_ chord: KeyChord, _ prompt: Prompt) {
    var prompt = prompt
    switch chord.description {
    case "Esc": leavePrompt()
    case "Enter":
      if prompt.choice != nil { prompt.complete() }
      submit(prompt)
    case "Backspace" where prompt.field.text.isEmpty: leavePrompt()
    default:
      guard prompt.apply(chord) else { return }
      replaceTop(.prompt(prompt))
      previewFilter(prompt)
    }
  }

  private mutating func leavePrompt() {
    overlays.removeLast()
    abandonPreview()
  }

  private mutating func pressHelp(_ chord: KeyChord, _ help: HelpOverlay) {
    var help = help
    switch chord.description {
    case "Esc": overlays.removeLast()
    case "Enter":
      guard let entry = help.selected else { return }
      if let reason = refusal(of: entry.command) {
        session.warn("\(entry.name): not here: \(reason)")
        return
      }
      overlays.removeLast()
      run(entry.command, argument: nil)
    default:
      if help.apply(chord, rows: HelpOverlay.rows(in: body)) { replaceTop(.help(help)) }
    }
  }

  private mutating func pressText(_ chord: KeyChord, _ text: TextOverlay) {
    var text = text
    let rows = max(1, body.rows - 4)
    if ["Esc", "q", "Enter"].contains(chord.description) {
      overlays.removeLast()
    } else if case .command(let command) = keymap.meaning(of: [chord]) {
      if command == .copyValue { session.copy(text.lines.joined(separator: "\n"), what: "text") }
      _ = text.perform(command, rows: rows)
      text.list.reveal(rows: rows, count: text.lines.count)
      replaceTop(.text(text))
    } else if chord.description == "g" {
      _ = text.perform(.first, rows: rows)
      text.list.reveal(rows: rows, count: text.lines.count)
      replaceTop(.text(text))
    }
  }

  private mutating func pressMenu(_ chord: KeyChord, _ menu: MenuOverlay) {
    var menu = menu
    switch chord.description {
    case "Esc", "q": overlays.removeLast()
    case "Enter":
      overlays.removeLast()
      guard menu.items.indices.contains(menu.list.selection) else { return }
      choose(menu.items[menu.list.selection].choice)
    default:
      guard case .command(let command) = keymap.meaning(of: [chord]) else { return }
      _ = menu.list.perform(command, argument: nil, rows: max(1, body.rows - 2), count: menu.items.count)
      menu.list.reveal(rows: max(1, body.rows - 2), count: menu.items.count)
      replaceTop(.menu(menu))
    }
  }

  private mutating func pressEditor(_ chord: KeyChord, _ editor: ValueEditor) {
    var editor = editor
    switch chord.description {
    case "Esc": overlays.removeLast()
    case "Enter":
      if let value = editor.accept() {
        overlays.removeLast()
        stageField(editor, value)
      } else {
        replaceTop(.editor(editor))
      }
    default:
      if editor.apply(chord) { replaceTop(.editor(editor)) }
    }
  }

  private mutating func pressBulk(_ chord: KeyChord, _ bulk: BulkOverlay) {
    switch chord.description {
    case "Esc", "q":
      session.cancel(.bulk)
      overlays.removeLast()
    case "Enter":
      guard let answer = bulk.answer, !answer.edits.isEmpty else { return }
      overlays.removeLast()
      stage(StagedStep(title: "\(bulk.title) in \(answer.edits.count) records", edits: answer.edits))
      table.clearMarks()
    default: break
    }
  }

  private mutating func pressReview(_ chord: KeyChord, _ review: ReviewOverlay) {
    var review = review
    if review.isCommitting {
      if chord.description == "Esc" { session.askToEnd(.commit) }
      return
    }
    if review.name != nil {
      switch chord.description {
      case "Esc": review.name = nil
      case "Enter": review.commit(in: &session)
      default: _ = review.name?.apply(chord)
      }
      replaceTop(.review(review))
      return
    }
    switch chord.description {
    case "Esc", "q":
      session.cancel(.review)
      overlays.removeLast()
    case "Enter":
      if let refusal = review.refusal {
        review.fail(refusal)
      } else if case .migration(let changes) = review.subject {
        overlays.removeLast()
        migration.start(mending: changes.changes, in: &session)
        return
      } else {
        review.name = TextField(review.proposedName)
      }
      replaceTop(.review(review))
    case "x":
      guard case .staged = review.subject, let place = review.selectedPlace else { return }
      overlays.removeLast()
      stage(.leavingOut(place, of: session.staged))
      if !session.staged.isEmpty { overlays.append(.review(ReviewOverlay(subject: .staged(session.staged.changes)))) }
    case "m", "t": resolveConflict(review, takesMine: chord.description == "m")
    case "X":
      review.marksIndexesStale.toggle()
      review.renew()
      replaceTop(.review(review))
      session.say(
        review.marksIndexesStale
          ? "indexes without a proven rule will be marked stale" : "indexes stay right or the commit is refused")
    case "P":
      overlays.append(.text(TextOverlay(title: "What is committed", lines: review.document)))
    case "Tab":
      _ = review.list.perform(.down, argument: nil, rows: 10, count: review.lineCount)
      replaceTop(.review(review))
    default:
      guard case .command(let command) = keymap.meaning(of: [chord]) else { return }
      if command == .help {
        run(.help, argument: nil)
        return
      }
      let rows = max(1, body.rows - 6)
      _ = review.list.perform(command, argument: nil, rows: rows, count: review.lineCount)
      review.list.reveal(rows: rows, count: review.lineCount)
      replaceTop(.review(review))
    }
  }

  // MARK: Mouse

  private mutating func receive(_ mouse: MouseEvent) {
    guard session.isMouseOn, overlays.isEmpty else { return }
    let layout = layout
    guard let placed = layout.panes.first(where: { $0.rect.contains(mouse.point) }) else {
      if case .press(button: 1) = mouse.kind, mouse.point.row == layout.keys.top { pressFooter(mouse.point.column) }
      return
    }
    switch mouse.kind {
    case .wheelDown, .wheelUp:
      let frame = frame(of: placed.pane, in: layout)
      for _ in 0..<3 {
        with(placed.pane) { pane, session in
          _ = pane.perform(mouse.kind == .wheelDown ? .down : .up, argument: nil, frame: frame, in: &session)
        }
      }
    case .press(button: 1):
      focus = placed.pane
      let frame = frame(of: placed.pane, in: self.layout)
      let inside = frame.inside
      guard inside.contains(mouse.point) else { return }
      let point = Point(column: mouse.point.column - inside.left, row: mouse.point.row - inside.top)
      with(placed.pane) { pane, session in pane.click(at: point, frame: frame, in: &session) }
    default: break
    }
  }

  /// A click on a key at the foot of the screen presses it.
  private mutating func pressFooter(_ column: Int) {
    var x = 1
    for (key, command) in footerKeys() {
      let width = SafeText.width("\(key) \(CommandTable.entry(command).short)")
      if (x..<x + width).contains(column) {
        run(command, argument: nil)
        return
      }
      x += width + 2
    }
  }
}
