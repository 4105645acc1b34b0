import StrataTerminal

/// An event that was typed, pasted or replayed before its screen was complete.
struct TypedAhead: Sendable {
  var event: TerminalEvent
  /// Whether it comes from a macro, which was recorded on completed screens.
  var isReplayed = false
}

extension Browser {
  /// Work whose reply the next key depends on: the key must act on the screen that was shown when it was pressed.
  private static let awaited: Set<WorkSlot> = [
    .remembered, .outline, .table, .resolve, .review, .commit, .gather, .editedDocuments, .identify, .range,
    .mergePlan, .mergeCheck, .mergeCommit, .join, .lineSearch, RecordPane.bytes,
  ]

  /// Work beside the screens, for which not even a macro waits.
  private static let unawaited: Set<WorkSlot> = [
    .refresh, .settings, .staging, .histogram, .distinct, .warmUp, .rewrite, .remotes, .verify, .export, .importFile,
    .typing, .typedPlan, CommitStripRequest.slot, StepChangesRequest.slot, PlotPointRequest.slot, NewestRequest.slot,
    SmallHistogram.slot, .proof,
  ]

  private static let discarding = [KeyChord(.escape), KeyChord(.character("c"), .control)]

  /// Handles one event: at once if the screen is complete, otherwise after the awaited replies. Esc and ^c do not wait, and discard the
  /// events typed ahead before them; nor does Q while a commit runs.
  mutating func hear(_ event: TerminalEvent) {
    switch event {
    case .key(let chord) where layout.isTooSmall: pressUnseen(chord)
    case .paste where layout.isTooSmall, .mouse where layout.isTooSmall: break
    case .key(let chord)
    where Self.discarding.contains(overlays.isEmpty ? keymap.unaliased(chord) : chord):
      typeAhead = []
      (session.keeping.waiting, record.waiting) = (nil, nil)
      act(on: event)
    case .key(let chord)
    where session.isCommitting && typeAhead.isEmpty
      && keymap.meaning(of: [chord], in: focus) == .command(.quit):
      // A server or a disk that does not answer keeps no user in the program.
      quit()
    case .key, .paste, .mouse:
      let waits = !typeAhead.isEmpty || isAwaiting(replay: false) || isTooEarly(event)
      if waits { typeAhead.append(TypedAhead(event: event)) } else { act(on: event) }
    default: act(on: event)
    }
  }

  /// In too small a window nothing shows what a key would reach, so only those that leave, cancel and repaint work.
  private mutating func pressUnseen(_ chord: KeyChord) {
    switch keymap.meaning(of: [chord], in: focus) {
    case .command(.quit): quit()
    case .command(let command) where [.interrupt, .suspend, .repaint].contains(command): run(command, argument: nil)
    default: break
    }
  }

  /// Handles waiting events, as far as their screens are complete.
  mutating func handOnTypeAhead() {
    while let next = typeAhead.first, !isAwaiting(replay: next.isReplayed), !isTooEarly(next.event) {
      typeAhead.removeFirst()
      if confirmsReview(next.event) {
        session.warn("Enter was pressed before the review was there; look, and press it again")
        continue
      }
      act(on: next.event)
      performIntents()
    }
  }

  private func isAwaiting(replay: Bool) -> Bool {
    // A macro goes on after the editor, as it was recorded.
    if replay, editing != nil { return true }
    guard !session.running.isEmpty else { return false }
    if record.waiting != nil || session.keeping.waiting != nil { return true }
    return session.running.contains { slot, work in
      if replay { return !Self.unawaited.contains(slot) }
      // A read that takes so long that it reports progress delays no key; Esc cancels it. A folder of kept views that hangs delays none
      // either; nothing is saved there then.
      return Self.awaited.contains(slot) && !(slot == .gather && work.progress != nil)
        && !(slot == .remembered && work.stalled(at: session.now) != nil)
    }
  }

  /// Whether the command of a key is refused while the rows or lines of its pane are being read. Otherwise the text that is typed behind an
  /// `e` would be taken for commands. In the finder Enter waits for the records, of which one may be the best line.
  private func isTooEarly(_ event: TerminalEvent) -> Bool {
    if case .key(let chord) = event, overlays.last is FinderOverlay, session.isRunning(FindRequest.slot) {
      return keymap.meaning(of: [chord], in: target) == .command(.open)
    }
    guard case .key(let chord) = event, overlays.isEmpty, awaitsLetter == nil,
      PaneTable.entry(focus).work.contains(where: {
        !$0.isLong && !Self.unawaited.contains($0) && session.isRunning($0)
      }), case .command(let command) = keymap.meaning(of: pendingKeys + [chord], in: focus)
    else { return false }
    return refusal(of: command) != nil
  }

  /// Whether a key would confirm a step towards writing the changes of a review.
  private func confirmsReview(_ event: TerminalEvent) -> Bool {
    guard case .key(let chord) = event, overlays.last is ReviewOverlay else { return false }
    return keymap.meaning(of: [chord], in: .review) == .command(.open)
  }
}
