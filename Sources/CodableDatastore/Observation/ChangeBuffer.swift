import Locks

/// The changes that wait for one observer.
final class ChangeBuffer: Sendable {
  /// A change, or why some could not be read.
  typealias News = Result<StoredChange, any Error>

  private let state = Mutex(State())
  private struct State {
    var waiting: CheckedContinuation<News?, Never>?
    /// What came at once stays together: what a commit changed is put here without being copied.
    private var batches: [Batch] = []
    /// The first batch that was not taken, and how many of its changes were.
    private var first = 0
    private var taken = 0

    private enum Batch {
      case changes([StoredChange])
      case failure(any Error)
    }

    mutating func append(_ changes: [StoredChange]) { batches.append(.changes(changes)) }

    mutating func append(_ error: any Error) { batches.append(.failure(error)) }

    mutating func takeFirst() -> News? {
      guard first < batches.count else { return nil }
      switch batches[first] {
      case .failure(let error):
        dropFirst()
        return .failure(error)
      case .changes(let changes):
        let change = changes[taken]
        taken += 1
        if taken == changes.count { dropFirst() }
        return .success(change)
      }
    }

    /// The changes up to the next failure.
    mutating func takeChanges() -> [StoredChange] {
      var all: [StoredChange] = []
      while first < batches.count, case .changes(let changes) = batches[first] {
        if all.isEmpty, taken == 0 { all = changes } else { all += changes[taken...] }
        dropFirst()
      }
      return all
    }

    private mutating func dropFirst() {
      first += 1
      taken = 0
      if first == batches.count {
        batches = []
        first = 0
      } else if first > 1024, first * 2 > batches.count {
        batches.removeFirst(first)
        first = 0
      }
    }
  }
  /// Which changes are wanted; nil: all.
  private let isWanted: (@Sendable (StoredChange) -> Bool)?
  let hearsOtherProcesses: Bool

  init(hearsOtherProcesses: Bool = false, isWanted: (@Sendable (StoredChange) -> Bool)? = nil) {
    self.hearsOtherProcesses = hearsOtherProcesses
    self.isWanted = isWanted
  }

  /// The changes that are there already, up to one that could not be read.
  func takeAll() -> [StoredChange] { state.withLock { $0.takeChanges() } }

  func append(_ changes: [StoredChange]) {
    let wanted = if let isWanted { changes.filter(isWanted) } else { changes }
    if !wanted.isEmpty { add { $0.append(wanted) } }
  }

  /// Has the observer hear why changes could not be read.
  func fail(_ error: any Error) { add { $0.append(error) } }

  private func add(_ append: (inout State) -> Void) {
    let (waiting, first) = state.withLock { state in
      append(&state)
      guard let waiting = state.waiting else { return (nil as CheckedContinuation<News?, Never>?, nil as News?) }
      state.waiting = nil
      return (waiting, state.takeFirst())
    }
    waiting?.resume(returning: first)
  }

  /// The next change; nil once the reading task is cancelled.
  ///
  /// - Throws: Why changes could not be read, in their place; later ones come when it is called again.
  func next() async throws -> StoredChange? {
    if let news = state.withLock({ $0.takeFirst() }) { return try news.get() }
    let news = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let news: News?? = state.withLock { state in
          if let news = state.takeFirst() { return news }
          if Task.isCancelled { return .some(nil) }
          state.waiting = continuation
          return nil
        }
        if let news { continuation.resume(returning: news) }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        defer { state.waiting = nil }
        return state.waiting
      }
      waiting?.resume(returning: nil)
    }
    return try news?.get()
  }
}
