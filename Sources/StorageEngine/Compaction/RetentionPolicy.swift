import Locks

/// When a store that has a retention is worth pruning, as far as that is known without reading its history.
///
/// It is asked after each idleness, on the thread that syncs for tasks, so an answer costs a few comparisons. What a look at the
/// history has found is remembered until there is reason to look again.
struct RetentionSchedule {
  private(set) var isRunning = false
  private var generation: UInt64?
  /// Nothing was to be pruned: it is looked again when the file has grown to this, or at this time.
  private var nextEnd: FileOffset = 0
  private var nextDate: Int64 = .max

  /// Fewer dead bytes than these are not worth a new file.
  private static let leastDeadBytes: UInt64 = 1 << 20

  /// Whether more bytes are dead than alive, and many.
  static func pays(_ state: Publication.State) -> Bool {
    let dead = state.chain.end.bytes.subtractingClamped(state.head.liveBytes)
    return dead > max(leastDeadBytes, state.head.liveBytes)
  }

  /// Whether to look at the history now; the caller does, and calls `end`.
  mutating func begin(_ state: Publication.State, now: Int64) -> Bool {
    guard !isRunning, Self.pays(state) else { return false }
    let isNews =
      generation != state.file.header.identity.generation || state.chain.end >= nextEnd || now >= nextDate
    isRunning = isNews
    return isNews
  }

  /// Ends what was begun. `keepsAll`: of this state nothing was to be pruned, by its age not before `date`.
  mutating func end(keepsAll state: Publication.State? = nil, until date: Int64 = .max) {
    isRunning = false
    generation = state?.file.header.identity.generation
    guard let state else { return }
    nextEnd = state.chain.end &+ max(Self.leastDeadBytes, state.chain.end.bytes / 8)
    nextDate = date
  }
}

extension FileStore {
  /// Begins to prune by the store's own policy, if it has one and that may pay, on a thread of its own; whether it has begun. Called
  /// on the writer's thread when the store is idle. It goes on beside writers, and ends when the store is closed; what was copied until
  /// then stays for the next time.
  @discardableResult
  func pruneWhileIdle() -> Bool {
    guard let retention = options.retention, retention != .all, !isEndingCompactions,
      schedule.withLock({ $0.begin(publication.current, now: disk.now()) })
    else { return false }
    do {
      try startThread { self.prune(retention) }
      return true
    } catch {
      schedule.withLock { $0.end() }
      return false
    }
  }

  private func prune(_ retention: Retention) {
    let state = publication.current
    guard let kept = try? kept(of: state, retention) else { return schedule.withLock { $0.end() } }
    if UInt64(kept.count) < state.newest.links.orderDepth {
      _ = try? compact(retention, keepsMore: true)
      return schedule.withLock { $0.end() }
    }
    var date = Int64.max
    if case .younger(let age) = retention, let oldest = kept.first {
      date = oldest.date.addingReportingOverflow(age).partialValue
    }
    schedule.withLock { $0.end(keepsAll: state, until: date) }
  }

  /// Larger files are not pruned on closing, which waits for it; they are when the store is idle.
  private static let largestAtClose = FileOffset(16 << 20)

  /// Compacts a small store by its own policy, where that pays: at most as much is copied as a moment allows. The caller has the
  /// compactions' turn.
  func pruneAtClose() throws(StorageError) {
    let state = publication.current
    guard let retention = options.retention, retention != .all, state.chain.end <= FileStore.largestAtClose,
      RetentionSchedule.pays(state), try UInt64(kept(of: state, retention).count) < state.newest.links.orderDepth
    else { return }
    _ = try compactInTurn(retention, keepsMore: false) { _ in true }
  }

  private func kept(of state: Publication.State, _ retention: Retention) throws(StorageError) -> [CommitRecord] {
    try keptCommits(of: state, now: disk.now()).select(retention, named: try state.names().map(\.commit))
  }

  /// Chooses commits, until the store ends compactions.
  func keptCommits(of state: Publication.State, now: Int64) -> KeptCommits {
    KeptCommits(state, now: now) { self.isEndingCompactions }
  }
}
