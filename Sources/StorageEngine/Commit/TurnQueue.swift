import Synchronization

/// Whose turn it is to write: one at a time, first come, first served.
final class TurnQueue: Sendable {
  private enum Waiter {
    case task(CheckedContinuation<Void, Never>)
    case thread(Signal)
  }

  private struct State {
    var isTaken = false
    var waiters: [Waiter] = []
    /// The first of `waiters` that still waits.
    var first = 0
  }

  private let state = Mutex(State())

  /// How many wait.
  var waiting: Int { state.withLock { $0.waiters.count - $0.first } }

  /// Whether anyone has the turn.
  var isTaken: Bool { state.withLock { $0.isTaken } }

  /// Takes the turn if nobody has it and nobody waits.
  func tryTake() -> Bool {
    state.withLock { state in
      guard !state.isTaken else { return false }
      state.isTaken = true
      return true
    }
  }

  /// Waits for the turn without holding a thread.
  nonisolated(nonsending) func take() async {
    if tryTake() { return }
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.isTaken else {
          state.isTaken = true
          return true
        }
        state.waiters.append(.task(continuation))
        return false
      }
      if isFree { continuation.resume() }
    }
  }

  /// Waits for the turn, holding the thread.
  func takeBlocking() {
    let signal = state.withLock { state -> Signal? in
      guard state.isTaken else {
        state.isTaken = true
        return nil
      }
      let signal = Signal(isAnnounced: state.waiters.isEmpty)
      state.waiters.append(.thread(signal))
      return signal
    }
    signal?.wait()
  }

  /// Gives the turn to the one that has waited longest, and wakes the thread that comes after it: waking takes longer
  /// than a small commit, so it is done while that commit is made.
  func pass() {
    let (next, second) = state.withLock { state -> (Waiter?, Waiter?) in
      guard state.first < state.waiters.count else {
        state.isTaken = false
        return (nil, nil)
      }
      let next = state.waiters[state.first]
      state.first += 1
      guard state.first == state.waiters.count else { return (next, state.waiters[state.first]) }
      state.waiters.removeAll(keepingCapacity: true)
      state.first = 0
      return (next, nil)
    }
    switch next {
    case nil: break
    case .task(let continuation): continuation.resume()
    case .thread(let signal): signal.fire()
    }
    if case .thread(let signal) = second { signal.announce() }
  }
}
