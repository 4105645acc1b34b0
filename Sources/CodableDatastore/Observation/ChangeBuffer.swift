import Synchronization

/// The changes that wait for one observer.
final class ChangeBuffer: Sendable {
  private let state = Mutex(State())
  private struct State {
    var changes: [StoredChange] = []
    var first = 0
    var waiting: CheckedContinuation<StoredChange?, Never>?
    var isEnded = false

    mutating func takeFirst() -> StoredChange? {
      guard first < changes.count else { return nil }
      defer { dropFirst() }
      return changes[first]
    }

    private mutating func dropFirst() {
      first += 1
      if first == changes.count {
        changes = []
        first = 0
      } else if first > 1024, first * 2 > changes.count {
        changes.removeFirst(first)
        first = 0
      }
    }
  }
  /// Which changes are wanted.
  private let isWanted: @Sendable (StoredChange) -> Bool
  let hearsOtherProcesses: Bool

  init(hearsOtherProcesses: Bool = false, isWanted: @escaping @Sendable (StoredChange) -> Bool) {
    self.hearsOtherProcesses = hearsOtherProcesses
    self.isWanted = isWanted
  }

  /// The changes that are there already.
  func takeAll() -> [StoredChange] {
    state.withLock { state in
      var changes: [StoredChange] = []
      while let change = state.takeFirst() { changes.append(change) }
      return changes
    }
  }

  func append(_ change: StoredChange) {
    guard isWanted(change) else { return }
    let waiting: CheckedContinuation<StoredChange?, Never>? = state.withLock { state in
      guard !state.isEnded else { return nil }
      if let waiting = state.waiting {
        state.waiting = nil
        return waiting
      }
      state.changes.append(change)
      return nil
    }
    waiting?.resume(returning: change)
  }

  /// The next change; nil once the reading task is cancelled.
  func next() async -> StoredChange? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let change: StoredChange?? = state.withLock { state in
          if let change = state.takeFirst() { return change }
          if state.isEnded || Task.isCancelled { return .some(nil) }
          state.waiting = continuation
          return nil
        }
        if let change { continuation.resume(returning: change) }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        defer { state.waiting = nil }
        return state.waiting
      }
      waiting?.resume(returning: nil)
    }
  }
}
