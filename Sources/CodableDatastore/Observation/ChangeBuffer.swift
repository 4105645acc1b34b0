import StrataLocks

/// The changes that wait for one observer.
final class ChangeBuffer: Sendable {
  /// A change, or the error because of which some could not be read.
  typealias News = Result<StoredChange, any Error>

  private let state = Mutex(State())
  private struct State {
    /// The readers that wait, in their order: one sequence may be iterated by several tasks, each of which gets other changes.
    var waiting: [(ticket: UInt64, reader: CheckedContinuation<News?, Never>)] = []
    var lastTicket: UInt64 = 0
    var isEnded = false
    /// Changes that come at once stay together: those of a commit are put here without being copied.
    private var batches: ArraySlice<(news: Batch, bytes: Int)> = []
    /// How many changes of the first batch were taken.
    private var taken = 0
    /// About how many bytes the batches take.
    private var bytes = 0
    /// The changes that were dropped before the first batch.
    private var missed: ChangesMissed?

    private enum Batch {
      case changes([StoredChange])
      case failure(any Error)
    }

    /// Changes that come at once are always kept: they are in memory already, and an observer that reads in time must get them.
    mutating func append(_ changes: [StoredChange], limit: Int) {
      append(.changes(changes), changes.reduce(0) { $0 + $1.byteCount }, limit)
    }

    mutating func append(_ error: any Error, limit: Int) {
      append(.failure(error), StoredChange.bytesBesideRecords, limit)
    }

    private mutating func append(_ news: Batch, _ count: Int, _ limit: Int) {
      if bytes + count > limit { drop() }
      bytes += count
      batches.append((news, count))
    }

    /// Drops all waiting changes, and notes which commits made them.
    private mutating func drop() {
      for case (.changes(let changes), _) in batches {
        guard let first = changes.first, let last = changes.last else { continue }
        missed = ChangesMissed(
          datastore: DatastoreKey(first.datastore), first: missed?.first ?? Commit.Number(first.commit),
          last: Commit.Number(last.commit))
      }
      (batches, taken, bytes) = ([], 0, 0)
    }

    mutating func popFirst() -> News? {
      if let missed = self.missed.take() { return .failure(missed) }
      switch batches.first?.news {
      case nil: return nil
      case .failure(let error)?:
        dropFirst()
        return .failure(error)
      case .changes(let changes)?:
        let change = changes[taken]
        taken += 1
        if taken == changes.count { dropFirst() }
        return .success(change)
      }
    }

    /// The changes up to the next failure.
    mutating func popChanges() -> [StoredChange] {
      var all: [StoredChange] = []
      if missed != nil { return all }
      while case .changes(let changes)? = batches.first?.news {
        if all.isEmpty, taken == 0 { all = changes } else { all += changes[taken...] }
        dropFirst()
      }
      return all
    }

    private mutating func dropFirst() {
      bytes -= batches[batches.startIndex].bytes
      // A slice keeps the elements that are removed.
      batches[batches.startIndex].news = .changes([])
      batches.removeFirst()
      taken = 0
      if batches.isEmpty { batches = [] }
    }
  }
  /// Selects the wanted changes; if nil, all are wanted.
  private let isWanted: (@Sendable (StoredChange) -> Bool)?
  let hearsOtherProcesses: Bool
  private let limit: Int

  init(
    hearsOtherProcesses: Bool = false, limit: Int = StoreConfiguration().waitingChangesLimit,
    isWanted: (@Sendable (StoredChange) -> Bool)? = nil
  ) {
    self.limit = limit
    self.hearsOtherProcesses = hearsOtherProcesses
    self.isWanted = isWanted
  }

  /// The number of readers that wait.
  var readers: Int { state.withLock { $0.waiting.count } }

  /// The waiting changes, up to one that could not be read.
  func popAll() -> [StoredChange] { state.withLock { $0.popChanges() } }

  func append(_ changes: [StoredChange]) {
    let wanted = if let isWanted { changes.filter(isWanted) } else { changes }
    if !wanted.isEmpty { add { $0.append(wanted, limit: limit) } }
  }

  /// Makes the observer's iteration throw the error because of which changes could not be read.
  func fail(_ error: any Error) { add { $0.append(error, limit: limit) } }

  /// Makes the observer's iteration end after the changes that wait.
  func end() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.isEnded = true
      return state.waiting
    }
    for (_, reader) in waiting { reader.resume(returning: nil) }
  }

  private func add(_ append: (inout State) -> Void) {
    let served = state.withLock { state in
      append(&state)
      var served: [(CheckedContinuation<News?, Never>, News)] = []
      while !state.waiting.isEmpty, let news = state.popFirst() {
        served.append((state.waiting.removeFirst().reader, news))
      }
      return served
    }
    for (reader, news) in served { reader.resume(returning: news) }
  }

  /// The next change; nil once the reading task is cancelled, and when the persistence was closed.
  ///
  /// - Throws: The error because of which changes could not be read, instead of them; later ones come when it is called again.
  func next() async throws -> StoredChange? {
    let (first, ticket) = state.withLock { state in
      state.lastTicket += 1
      return (state.popFirst(), state.lastTicket)
    }
    if let first { return try first.get() }
    let news = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let news: News?? = state.withLock { state in
          if let news = state.popFirst() { return news }
          if Task.isCancelled || state.isEnded { return .some(nil) }
          state.waiting.append((ticket, continuation))
          return nil
        }
        if let news { continuation.resume(returning: news) }
      }
    } onCancel: {
      let reader = state.withLock { state in
        state.waiting.firstIndex { $0.ticket == ticket }.map { state.waiting.remove(at: $0).reader }
      }
      reader?.resume(returning: nil)
    }
    return try news?.get()
  }
}
