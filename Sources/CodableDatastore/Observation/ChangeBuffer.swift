import Synchronization

/// The changes that wait for one observer.
final class ChangeBuffer: Sendable {
  /// A change, or why some could not be read.
  typealias News = Result<StoredChange, any Error>

  private let state = Mutex(State())
  private struct State {
    var news: [News] = []
    var first = 0
    var waiting: CheckedContinuation<News?, Never>?
    var isEnded = false

    mutating func takeFirst() -> News? {
      guard first < news.count else { return nil }
      defer { dropFirst() }
      return news[first]
    }

    private mutating func dropFirst() {
      first += 1
      if first == news.count {
        news = []
        first = 0
      } else if first > 1024, first * 2 > news.count {
        news.removeFirst(first)
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

  /// The changes that are there already, up to one that could not be read.
  func takeAll() -> [StoredChange] {
    state.withLock { state in
      var changes: [StoredChange] = []
      while state.first < state.news.count, case .success(let change) = state.news[state.first] {
        changes.append(change)
        _ = state.takeFirst()
      }
      return changes
    }
  }

  func append(_ changes: [StoredChange]) { add(changes.filter(isWanted).map { .success($0) }) }

  /// Has the observer hear why changes could not be read.
  func fail(_ error: any Error) { add([.failure(error)]) }

  private func add(_ news: [News]) {
    guard !news.isEmpty else { return }
    let (waiting, first) = state.withLock { state in
      guard !state.isEnded else { return (nil as CheckedContinuation<News?, Never>?, nil as News?) }
      state.news += news
      guard let waiting = state.waiting else { return (nil, nil) }
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
          if state.isEnded || Task.isCancelled { return .some(nil) }
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
