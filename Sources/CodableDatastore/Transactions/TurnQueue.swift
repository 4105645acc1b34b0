import Synchronization

/// Gives one task at a time the turn, in the order in which they asked. A cancelled task leaves the queue.
final class TurnQueue: Sendable {
  private struct State {
    var isTaken = false
    var isClosed = false
    var nextTicket = 0
    /// In the order of their tickets, from `first` on; left ones are nil.
    var waiting: [(ticket: Int, continuation: CheckedContinuation<Void, any Error>?)] = []
    var first = 0
    /// Cancelled before they could wait.
    var cancelled: Set<Int> = []
  }
  private let state = Mutex(State())

  /// Waits for the turn.
  ///
  /// - Throws: `CancellationError`, or ``DatastoreInterfaceError/transactionInactive`` once the queue is closed.
  func take() async throws {
    try Task.checkCancellation()
    let ticket: Int? = try state.withLock { state in
      if state.isClosed { throw DatastoreInterfaceError.transactionInactive }
      if !state.isTaken {
        state.isTaken = true
        return nil
      }
      state.nextTicket += 1
      return state.nextTicket
    }
    guard let ticket else { return }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        wait(ticket, continuation)
      }
    } onCancel: {
      leave(ticket)
    }
  }

  /// Passes the turn on to whoever asked next.
  func pass() {
    let next: CheckedContinuation<Void, any Error>? = state.withLock { state in
      while state.first < state.waiting.count {
        let continuation = state.waiting[state.first].continuation
        state.waiting[state.first].continuation = nil
        state.first += 1
        if state.first > 64, state.first * 2 > state.waiting.count {
          state.waiting.removeFirst(state.first)
          state.first = 0
        }
        if let continuation { return continuation }
      }
      state.isTaken = false
      return nil
    }
    next?.resume()
  }

  /// Sends everybody away who waits or comes later.
  func close() {
    let sentAway = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting[state.first...].compactMap(\.continuation)
    }
    for continuation in sentAway { continuation.resume(throwing: DatastoreInterfaceError.transactionInactive) }
  }

  private func wait(_ ticket: Int, _ continuation: CheckedContinuation<Void, any Error>) {
    let answer: Result<Void, any Error>? = state.withLock { state in
      if state.cancelled.remove(ticket) != nil { return .failure(CancellationError()) }
      if state.isClosed { return .failure(DatastoreInterfaceError.transactionInactive) }
      if !state.isTaken {
        state.isTaken = true
        return .success(())
      }
      state.waiting.append((ticket, continuation))
      return nil
    }
    if let answer { continuation.resume(with: answer) }
  }

  private func leave(_ ticket: Int) {
    let continuation: CheckedContinuation<Void, any Error>? = state.withLock { state in
      guard let place = state.waiting.firstIndex(where: { $0.ticket == ticket }) else {
        if !state.isClosed { state.cancelled.insert(ticket) }
        return nil
      }
      defer { state.waiting[place].continuation = nil }
      return state.waiting[place].continuation
    }
    continuation?.resume(throwing: CancellationError())
  }
}
