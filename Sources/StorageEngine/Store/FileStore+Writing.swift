import Locks

extension FileStore {
  /// Waits for its turn, and for the writer's lock where another process holds it (for `lockPatience`), without holding a
  /// thread; then begins a transaction on the newest commit, or on `base` (a fork). It runs where its caller does: a way to the
  /// pool and back takes an actor's task longer than to begin.
  package nonisolated(nonsending) func begin(on base: UInt64?) async throws(StorageError) -> FileTransaction {
    do { try await takeTurn() } catch { throw .cancelled }
    return try await beginTaken(on: base)
  }

  /// Waits for the turn alone, without holding a thread. Throws `CancellationError`, or what `refuseTurn` says.
  ///
  /// - Parameter isKept: whether the task may be suspended in its turn.
  package nonisolated(nonsending) func takeTurn(isKept: Bool = true) async throws {
    try await writing.takeTurn(isKept: isKept)
  }

  /// Takes the turn where nobody has it.
  package func tryTakeTurn() -> Bool { writing.tryTakeTurn() }

  package func passTurn() { writing.passTurn() }

  /// Sends the tasks away that wait for the turn.
  package func refuseTurn(with error: any Error) { writing.refuseTurn(with: error) }

  /// How many wait for the turn.
  package var waitingForTurn: Int { writing.waitingForTurn }

  /// Runs, in the turn that the caller has, what begins transactions of its own on this thread: no other comes between them.
  package func lendingTurn<R>(_ body: () throws -> R) rethrows -> R { try writing.lendingTurn(body) }

  /// Begins a transaction in the turn that the caller has, which passes on when it ends, or where it cannot begin.
  package nonisolated(nonsending) func beginTaken(on base: UInt64? = nil) async throws(StorageError) -> FileTransaction
  {
    if writing.holdsLock { return try beginInTurn(on: base) }
    // Taking the lock may wait and recovers the file: not on a thread of the pool.
    let result = await writing.run { Result { () throws(StorageError) in try self.beginInTurn(on: base) } }
    return try result.get()
  }

  /// As `begin(on:)`, holding the thread. A thread that has a transaction open must not begin another one.
  package func beginBlocking(on base: UInt64?) throws(StorageError) -> FileTransaction {
    writing.takeTurnBlocking()
    return try beginInTurn(on: base)
  }

  private func beginInTurn(on base: UInt64?) throws(StorageError) -> FileTransaction {
    do throws(StorageError) {
      return try begin(on: base, keepsTurn: false)
    } catch {
      writing.passTurn()
      throw error
    }
  }

  /// Begins a transaction that leaves the turn, which the caller has, to the caller. `isFirst`: the first one of the turn.
  func beginKeepingTurn(isFirst: Bool) throws(StorageError) -> FileTransaction {
    try begin(on: nil, keepsTurn: true, isFirst: isFirst)
  }

  private func begin(on base: UInt64?, keepsTurn: Bool, isFirst: Bool = true) throws(StorageError) -> FileTransaction {
    let state = try writing.prepareTurn(checksNames: isFirst) { note($0) }
    guard state.newest.number < .max else {
      throw .damaged(what: "commit record", offset: state.newest.links.own.offset)
    }
    var baseRecord = state.head
    if let base, base != baseRecord.number {
      baseRecord = try CommitSearch(file: state.file, newest: state.newest).commit(base)
    }
    return FileTransaction(
      store: self, state: state, base: baseRecord, isFork: base != nil, keepsTurn: keepsTurn,
      origin: writing.tail.origin)
  }
}

extension FileStore {
  /// Runs `body` in a transaction and returns when its commit is durable: its number, or nil where nothing changed, or what
  /// `body` threw, after which nothing is written. Holds the thread.
  ///
  /// Where several threads call at once, the one that has the turn runs the bodies of those behind it, each in a transaction of its own
  /// and in the order of the calls, and syncs once: to hand the turn from thread to thread takes longer than a small commit. So `body`
  /// must not care on which thread it runs, and must not begin another transaction.
  package func write<Failure: Error>(
    _ info: CommitInfo = CommitInfo(), _ body: (any WriteTransaction) throws(Failure) -> Void
  ) throws(StorageError) -> Result<UInt64?, Failure> {
    var failure: Failure?
    let number = try write(info) { transaction in
      do throws(Failure) {
        try body(transaction)
        return true
      } catch let error {
        failure = error
        return false
      }
    }
    if let failure { return .failure(failure) }
    return .success(number)
  }

  /// `body` answers whether to commit.
  private func write(_ info: CommitInfo, body: (FileTransaction) -> Bool) throws(StorageError) -> UInt64? {
    try withoutActuallyEscaping(body) { body throws(StorageError) in
      let job = SharedJob(info, body)
      if writing.takeTurn(orQueue: job) {
        lead(job)
      } else if job.isToLead() {
        // Where both share a processor, whoever led before must come to its sync before the next batch is worked on.
        letOthersRun()
        lead(job)
      } else {
        writing.returning.subtract(1, ordering: .relaxed)
      }
      return try job.outcome.get()
    }
  }

  /// Does the caller's job and those behind it, having the turn, passes the turn on, and syncs for all that it did.
  private func lead(_ own: SharedJob) {
    var done: [SharedJob] = []
    var next = [own]
    while !next.isEmpty {
      for job in next { job.run(self, isFirst: job === own) }
      done += next
      next = writing.nextJobs(after: done.count)
    }
    // The last commit's sync serves all.
    for job in done.reversed() { job.settle() }
    writing.returning.add(done.count - 1, ordering: .relaxed)
    for job in done where job !== own { job.signal.fire() }
  }
}

extension Writer {
  /// After so many commits the next thread goes on while this one syncs for those that it did.
  private static let mostJobs = 32
  /// How often the one that leads lets others run to see whether they bring more: where nothing tells of any, once there was
  /// more than its own to do, and where threads are on their way.
  private static let looks = (usual: 5, returning: 100)

  /// The next jobs for the holder of the turn; none: another has the turn now, or nobody.
  func nextJobs(after done: Int) -> [SharedJob] {
    for look in 0..<Self.looks.returning {
      switch monitor.withLock({ shared.queue.nextJobs(most: Self.mostJobs - done) }) {
      case .take(let waiters):
        return waiters.compactMap { if case .job(let job) = $0 { job } else { nil } }
      case .pass(let passed):
        wake(passed)
        return []
      case .none: break
      }
      let isAwaited = returning.load(ordering: .relaxed) > 0
      if !isAwaited && (done == 1 || look >= Self.looks.usual) { break }
      letOthersRun()
    }
    passTurn(willWait: true)
    return []
  }
}

/// One thread's part of what is written together.
final class SharedJob: @unchecked Sendable {
  // `@unchecked`: `body`, `pending` and `outcome` are touched by the thread that leads only, and by the thread whose job it is only
  // before the job is queued and after the signal.
  private let info: CommitInfo
  private var body: ((FileTransaction) -> Bool)?
  private var pending: PendingCommit?
  private(set) var outcome: Result<UInt64?, StorageError> = .success(nil)
  let signal = Signal()
  private let leads = Atomic(false)

  init(_ info: CommitInfo, _ body: @escaping (FileTransaction) -> Bool) {
    self.info = info
    self.body = body
  }

  /// Commits what the body does. The caller has the turn, and keeps it.
  func run(_ store: FileStore, isFirst: Bool) {
    outcome = Result { () throws(StorageError) in
      let transaction = try store.beginKeepingTurn(isFirst: isFirst)
      guard let body, body(transaction) else {
        transaction.cancel()
        return nil
      }
      pending = try transaction.commit(info)
      return pending?.number
    }
    // The caller's closure must not be held any more when the caller goes on.
    body = nil
  }

  /// Waits until the commit is durable.
  func settle() {
    guard let pending else { return }
    do { try pending.waitAtOnce() } catch { outcome = .failure(error) }
  }

  /// Waits until the job is done, or is to be done by the caller, who leads then.
  func isToLead() -> Bool {
    signal.wait()
    return leads.load(ordering: .acquiring)
  }

  /// Tells the thread whose job it is that it has the turn.
  func makeLead() {
    leads.store(true, ordering: .releasing)
    signal.fire()
  }
}
