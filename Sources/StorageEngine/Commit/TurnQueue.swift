import Locks

/// An order in which those that wait are served: one has the turn, the others follow, first come, first served.
struct TurnOrder<Waiter> {
  private(set) var isTaken = false
  /// In the order of their coming, from `first` on; those that left are nil.
  private var waiters: [(ticket: UInt64, waiter: Waiter?)] = []
  private var first = 0
  private var tickets: UInt64 = 0
  /// How many wait.
  private(set) var count = 0

  /// Takes the turn where nobody has it. Nobody waits then.
  mutating func take() -> Bool {
    guard !isTaken else { return false }
    isTaken = true
    return true
  }

  /// Waits behind all others; the ticket is for leaving.
  @discardableResult
  mutating func wait(_ waiter: Waiter) -> UInt64 {
    tickets &+= 1
    waiters.append((tickets, waiter))
    count += 1
    return tickets
  }

  /// Who is served next.
  var next: Waiter? { count > 0 ? waiters[first...].lazy.compactMap(\.waiter).first : nil }

  /// Gives the turn to the next one, who is answered; nil: nobody waited, and nobody has it now.
  mutating func pass() -> Waiter? {
    while first < waiters.count {
      let waiter = waiters[first].waiter
      waiters[first].waiter = nil
      first += 1
      if first == waiters.count {
        waiters.removeAll(keepingCapacity: true)
        first = 0
      } else if first >= 64, first * 2 > waiters.count {
        waiters.removeFirst(first)
        first = 0
      }
      if let waiter {
        count -= 1
        return waiter
      }
    }
    isTaken = false
    return nil
  }

  /// Takes one out that does not want to wait any longer; nil where it waits no more. Cost: grows with those that wait.
  mutating func leave(_ ticket: UInt64) -> Waiter? {
    guard let position = waiters[first...].firstIndex(where: { $0.ticket == ticket }) else { return nil }
    guard let waiter = waiters[position].waiter else { return nil }
    waiters[position].waiter = nil
    count -= 1
    return waiter
  }

  /// Takes all out that wait and are to leave.
  mutating func leaveAll(where leaves: (Waiter) -> Bool = { _ in true }) -> [Waiter] {
    var left: [Waiter] = []
    for position in first..<waiters.count {
      guard let waiter = waiters[position].waiter, leaves(waiter) else { continue }
      left.append(waiter)
      waiters[position].waiter = nil
    }
    count -= left.count
    return left
  }
}

/// Suspends a task until somebody resumes its continuation. A task that is cancelled leaves its place and throws `CancellationError`.
///
/// - Parameters:
///   - join: Takes a place, of which it answers the ticket, or answers at once.
///   - leave: Gives a place up; answers the continuation that waited there, or nil where it was resumed already.
nonisolated(nonsending) func waitInLine<R: Sendable>(
  join: (CheckedContinuation<R, any Error>) -> (ticket: UInt64, answer: Result<R, any Error>?),
  leave: @escaping @Sendable (_ ticket: UInt64) -> CheckedContinuation<R, any Error>?
) async throws -> R {
  // Set once the task waits; before that a cancellation has nothing to take out.
  let place = Mutex<Place>(.none)
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      // The place's lock first, then that of the queue.
      let answer: Result<R, any Error>? = place.withLock { place in
        if case .left = place { return .failure(CancellationError()) }
        let joined = join(continuation)
        if joined.answer == nil { place = .waiting(joined.ticket) }
        return joined.answer
      }
      if let answer { continuation.resume(with: answer) }
    }
  } onCancel: {
    let waiter = place.withLock { place in
      defer { place = .left }
      return if case .waiting(let ticket) = place { leave(ticket) } else { nil as CheckedContinuation<R, any Error>? }
    }
    waiter?.resume(throwing: CancellationError())
  }
}

private enum Place {
  case none
  case waiting(UInt64)
  case left
}

/// Gives one task at a time the turn, in the order in which they asked. A cancelled task takes a turn that is free, and leaves the
/// queue where it would have to wait.
package final class TurnQueue: Sendable {
  private struct State {
    var order = TurnOrder<CheckedContinuation<Void, any Error>>()
    /// What tasks hear that wait or come: for good, and while this turn lasts.
    var closedBy: (any Error)?
    var refusal: (any Error)?

    var reasonToLeave: (any Error)? { closedBy ?? refusal }
  }

  private let state = Mutex(State())

  package init() {}

  /// Waits for the turn without holding a thread. Throws `CancellationError`, or why nobody may wait.
  package nonisolated(nonsending) func take() async throws {
    let isTaken = try state.withLock { state in
      if let error = state.reasonToLeave { throw error }
      return state.order.take()
    }
    if isTaken { return }
    try await waitInLine { (continuation: CheckedContinuation<Void, any Error>) in
      state.withLock { state in
        if let error = state.reasonToLeave { return (0, .failure(error)) }
        if state.order.take() { return (0, .success(())) }
        return (state.order.wait(continuation), nil)
      }
    } leave: { ticket in
      self.state.withLock { $0.order.leave(ticket) }
    }
  }

  /// Gives the turn to the one that has waited longest.
  package func pass() {
    let next = state.withLock { state in
      state.refusal = nil
      return state.order.pass()
    }
    next?.resume()
  }

  /// Sends everybody away who waits or comes later.
  package func close(with error: any Error) { sendAway(with: error) { $0.closedBy = error } }

  /// Sends everybody away who waits or comes, until the turn is passed on. The caller has the turn.
  package func refuse(with error: any Error) { sendAway(with: error) { $0.refusal = error } }

  private func sendAway(with error: any Error, _ note: (inout State) -> Void) {
    let sentAway = state.withLock { state in
      note(&state)
      return state.order.leaveAll()
    }
    for continuation in sentAway { continuation.resume(throwing: error) }
  }
}
