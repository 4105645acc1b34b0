import TerminalKit

/// What was typed, pasted or replayed before the screen that it is meant for was there.
struct TypeAhead: Sendable {
  struct Entry: Sendable {
    var event: TerminalEvent
    /// Whether it is of a macro, which was recorded on screens that had come to rest.
    var isReplayed: Bool
  }

  private(set) var entries: ArraySlice<Entry> = []

  var isEmpty: Bool { entries.isEmpty }
  var next: Entry? { entries.first }

  mutating func wait(_ event: TerminalEvent) { entries.append(Entry(event: event, isReplayed: false)) }

  /// Puts the keys of a macro before everything that waits.
  mutating func replay(_ keys: [KeyChord]) {
    entries = keys.map { Entry(event: .key($0), isReplayed: true) } + entries
  }

  mutating func removeNext() -> Entry? { entries.popFirst() }
  mutating func forget() { entries = [] }
}

extension Browser {
  /// Answers that the next key builds on: what it reaches must be what was shown when it was pressed.
  private static let awaited: Set<WorkSlot> = [
    .outline, .table, .resolve, .review, .commit, .gather, .editedDocuments, .identify, .range, .mergePlan,
    .mergeCheck, .mergeCommit,
  ]

  /// Work that goes on beside the screens, for which not even a macro waits.
  private static let unawaited: Set<WorkSlot> = [
    .refresh, .settings, .staging, .histogram, .strip, .stepChanges, .plotPoint, .distinct, .warmUp, .rewrite,
    .newest, .smallHistogram, .remotes, .verify, .export, .importFile, .typing, .typedPlan,
  ]

  /// One event: at once where the screen is there, after what is awaited otherwise. What takes back does not wait, and
  /// takes back what was typed ahead before it.
  mutating func hear(_ event: TerminalEvent) {
    switch event {
    case .key(let chord) where chord == KeyChord(.escape) || chord == KeyChord(.character("c"), .control):
      typeAhead.forget()
      session.keeping.waiting = nil
      act(on: event)
    case .key, .paste, .mouse:
      if !typeAhead.isEmpty || isAwaiting(replay: false) { typeAhead.wait(event) } else { act(on: event) }
    default: act(on: event)
    }
  }

  /// Hands on what waits, as far as its screens are there.
  mutating func handOnTypeAhead() {
    while let next = typeAhead.next, !isAwaiting(replay: next.isReplayed) {
      _ = typeAhead.removeNext()
      if confirmsReview(next.event) {
        session.warn("Enter was pressed before the review was there; look, and press it again")
        continue
      }
      act(on: next.event)
      settle()
    }
  }

  private func isAwaiting(replay: Bool) -> Bool {
    guard !session.running.isEmpty else { return false }
    if record.isWaiting || session.keeping.waiting != nil { return true }
    return session.running.contains { slot, work in
      if replay { return !Self.unawaited.contains(slot) }
      // What reads so long that it says how far it is holds up no key; Esc calls it off.
      return Self.awaited.contains(slot) && !(slot == .gather && work.progress != nil)
    }
  }

  /// Whether a key would go a step towards writing what a review shows.
  private func confirmsReview(_ event: TerminalEvent) -> Bool {
    guard case .key(let chord) = event, overlays.last is ReviewOverlay else { return false }
    return keymap.meaning(of: [chord], in: .review) == .command(.open)
  }
}
