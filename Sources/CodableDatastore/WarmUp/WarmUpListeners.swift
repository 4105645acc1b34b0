import StrataLocks

/// The listeners of a warm-up: one for each caller that waits for it.
final class WarmUpListeners: Sendable {
  private let entries = Mutex<[WarmUpListener]>([])

  func add(_ listener: WarmUpListener) { entries.withLock { $0.append(listener) } }

  func remove(_ listener: WarmUpListener) { entries.withLock { $0.removeAll { $0 === listener } } }

  var current: [WarmUpListener] { entries.withLock { $0 } }

  var collectFailures: Bool { current.contains { $0.detailed != nil } }

  func tell(_ progress: Progress) async {
    for listener in current { await listener.hear(progress) }
  }

  func tell(_ progress: WarmUpProgress) async {
    for listener in current { await listener.detailed?(progress) }
  }
}

/// One caller's handlers. The plain one gets the beginning of the work before anything else, and the end, once each.
final class WarmUpListener: Sendable {
  private let plain: ProgressHandler?
  let detailed: WarmUpHandler?
  private let state = Mutex((hasBegun: false, hasEnded: false))

  init(_ plain: ProgressHandler?, detailed: WarmUpHandler? = nil) {
    self.plain = plain
    self.detailed = detailed
  }

  func hear(_ progress: Progress) async {
    let (beginsNow, isWanted) = state.withLock { state in
      let beginsNow = !state.hasBegun
      state.hasBegun = true
      switch progress {
      case .evaluating: return (beginsNow, false)
      case .working: return (beginsNow, !state.hasEnded)
      case .complete:
        defer { state.hasEnded = true }
        return (beginsNow, !state.hasEnded)
      }
    }
    if beginsNow { await plain?(.evaluating) }
    if isWanted { await plain?(progress) }
  }

  var hasEnded: Bool { state.withLock { $0.hasEnded } }
}
