import StrataLocks

/// An order of waiters: one has the turn, the others follow, first come, first served.
struct TurnOrder<Waiter> {
  private(set) var isTaken = false
  /// By ticket. The tickets ascend in the order of arrival.
  private var waiters: [UInt64: Waiter] = [:]
  /// The ticket of the next waiter, if there is one, and the newest ticket.
  private var first: UInt64 = 1
  private var last: UInt64 = 0

  var count: Int { waiters.count }
  var next: Waiter? { waiters[first] }

  /// Takes the turn if it is free. In that case there are no waiters.
  mutating func acquire() -> Bool {
    guard !isTaken else { return false }
    isTaken = true
    return true
  }

  /// Adds a waiter behind all others. The returned ticket is for leaving.
  mutating func wait(_ waiter: Waiter) -> UInt64 {
    last += 1
    waiters[last] = waiter
    return last
  }

  /// Gives the turn to the next waiter, and returns it. Returns nil if there was no waiter; the turn is free then.
  mutating func pass() -> Waiter? {
    let waiter = leave(first)
    isTaken = waiter != nil
    return waiter
  }

  /// Removes a waiter that does not want to wait any longer. Returns nil if it no longer waits.
  mutating func leave(_ ticket: UInt64) -> Waiter? {
    let waiter = waiters.removeValue(forKey: ticket)
    while first <= last, waiters[first] == nil { first += 1 }
    return waiter
  }

  /// Removes all waiters that are to leave.
  mutating func leaveAll(where leaves: (Waiter) -> Bool = { _ in true }) -> [Waiter] {
    waiters.filter { leaves($0.value) }.keys.sorted().compactMap { leave($0) }
  }
}

/// A task that waits for a turn. It is resumed with whether it has the turn.
typealias TurnContinuation = CheckedContinuation<Bool, any Error>

/// Suspends a task until its continuation is resumed. A task that is cancelled leaves its place and throws `CancellationError`.
///
/// - Parameters:
///   - join: Takes a place and returns its ticket, or nil if the task has the turn at once.
///   - leave: Gives up a place. Returns the continuation that waited there, or nil if it was resumed already.
nonisolated(nonsending) func waitInLine(
  join: (TurnContinuation) throws -> UInt64?, leave: @escaping @Sendable (_ ticket: UInt64) -> TurnContinuation?
) async throws -> Bool {
  // Set once the task waits; before that a cancellation has nothing to remove.
  let place = Mutex<Place>(.none)
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      // The place's lock first, then that of the queue.
      do {
        let hasTurn = try place.withLock { place in
          if case .left = place { throw CancellationError() }
          guard let ticket = try join(continuation) else { return true }
          place = .waiting(ticket)
          return false
        }
        if hasTurn { continuation.resume(returning: true) }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  } onCancel: {
    let waiter = place.withLock { place in
      defer { place = .left }
      return if case .waiting(let ticket) = place { leave(ticket) } else { nil as TurnContinuation? }
    }
    waiter?.resume(throwing: CancellationError())
  }
}

private enum Place {
  case none
  case waiting(UInt64)
  case left
}

/// Gives one task at a time the turn, in the order in which they asked. A cancelled task takes a turn that is free, and leaves the queue if
/// it would have to wait.
package final class TurnQueue: Sendable {
  private struct State {
    var order = TurnOrder<TurnContinuation>()
    /// The errors of tasks that wait or come: for good, and while this turn lasts.
    var closedBy: (any Error)?
    var refusal: (any Error)?

    /// Takes the turn if it is free. Throws the reason if no task may wait.
    mutating func acquire() throws -> Bool {
      if let error = closedBy ?? refusal { throw error }
      return order.acquire()
    }
  }

  private let state = Mutex(State())

  package init() {}

  /// Waits for the turn without holding a thread. Throws `CancellationError`, or the reason why no task may wait.
  package nonisolated(nonsending) func acquire() async throws {
    if try state.withLock({ try $0.acquire() }) { return }
    _ = try await waitInLine { continuation in
      try state.withLock { try $0.acquire() ? nil : $0.order.wait(continuation) }
    } leave: { ticket in
      self.state.withLock { $0.order.leave(ticket) }
    }
  }

  /// Gives the turn to the longest waiter.
  package func pass() {
    let next = state.withLock { state in
      state.refusal = nil
      return state.order.pass()
    }
    next?.resume(returning: true)
  }

  /// Makes all tasks fail that wait for the turn or come later.
  package func close(with error: any Error) { sendAway(with: error) { $0.closedBy = error } }

  /// Makes all tasks fail that wait or come until the turn is passed on. The caller must hold the turn.
  package func refuse(with error: any Error) { sendAway(with: error) { $0.refusal = error } }

  private func sendAway(with error: any Error, _ note: (inout State) -> Void) {
    let sentAway = state.withLock { state in
      note(&state)
      return state.order.leaveAll()
    }
    for continuation in sentAway { continuation.resume(throwing: error) }
  }
}
