import Synchronization

extension Store {
  /// Runs `body` in a transaction and returns when its commit is durable: its number, or nil where nothing changed, or what
  /// `body` threw, after which nothing is written. Holds the thread.
  ///
  /// Where several threads call at once, one of them runs the bodies of all, each in a transaction of its own and in the order
  /// of the calls, and syncs once: to hand the turn from thread to thread takes longer than a small commit. So `body` must not
  /// care on which thread it runs, and must not begin another transaction.
  package func write<Failure: Error>(
    _ info: CommitInfo = CommitInfo(), _ body: (WriteTransaction) throws(Failure) -> Void
  ) throws(StorageError) -> Result<UInt64?, Failure> {
    var failure: Failure?
    let number = try sharedWriting.write(to: self, info) { transaction in
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
}

/// What threads want to write and wait for, done by one of them for all.
final class SharedWriting: Sendable {
  private struct State {
    var jobs: [Job] = []
    /// A thread works, or is about to.
    var isLed = false
    /// Threads whose commits are durable and that do not run again yet. What they write next belongs to the next sync.
    var returning = 0
  }

  private let state = Mutex(State())

  /// How many jobs nobody has begun.
  var waiting: Int { state.withLock { $0.jobs.count } }

  /// After so many commits the next thread goes on while this one syncs for those that it did.
  private static let most = 32
  /// How often the one that leads lets others run to see whether they bring more: where nothing tells of any, once there was
  /// more than its own to do, and where threads are on their way.
  private static let looks = (usual: 5, returning: 100)

  /// `body` answers whether to commit.
  func write(to store: Store, _ info: CommitInfo, _ body: (WriteTransaction) -> Bool) throws(StorageError) -> UInt64? {
    try withoutActuallyEscaping(body) { body throws(StorageError) in
      let job = Job(info, body)
      let leads = state.withLock { state in
        state.jobs.append(job)
        defer { state.isLed = true }
        return !state.isLed
      }
      if leads {
        lead(store, job)
      } else if job.isToLead() {
        // Where both share a processor, whoever led before must come to its sync before the next batch is worked on.
        letOthersRun()
        lead(store, job)
      } else {
        state.withLock { $0.returning -= 1 }
      }
      return try job.outcome.get()
    }
  }

  /// Does what there is to do, the caller's `own` first, and syncs for all of it.
  private func lead(_ store: Store, _ own: Job) {
    var done: [Job] = []
    while let job = next(after: done.count) {
      job.run(store)
      done.append(job)
    }
    // The last commit's sync serves all.
    for job in done.reversed() { job.settle() }
    state.withLock { $0.returning += done.count - 1 }
    for job in done where job !== own { job.signal.fire() }
  }

  /// The next job, or nil where there is none, or where the thread that waits for it leads from now on.
  private func next(after done: Int) -> Job? {
    waitForMore(after: done)
    let (job, leader) = state.withLock { state -> (Job?, Job?) in
      guard let first = state.jobs.first else {
        state.isLed = false
        return (nil, nil)
      }
      if done >= Self.most { return (nil, first) }
      state.jobs.removeFirst()
      return (first, nil)
    }
    leader?.makeLead()
    return job
  }

  private func waitForMore(after done: Int) {
    guard done > 0 else { return }
    for look in 0..<Self.looks.returning {
      let (isMore, returning) = state.withLock { (!$0.jobs.isEmpty, $0.returning) }
      if isMore || returning == 0 && (done == 1 || look >= Self.looks.usual) { return }
      letOthersRun()
    }
  }
}

/// One thread's part of what is written together.
private final class Job: @unchecked Sendable {
  // `@unchecked`: `body` and `outcome` are touched by the thread that leads only, and by the thread whose job it is only
  // before the job is queued and after the signal.
  private let info: CommitInfo
  private var body: ((WriteTransaction) -> Bool)?
  private var pending: PendingCommit?
  private(set) var outcome: Result<UInt64?, StorageError> = .success(nil)
  let signal = Signal()
  private let leads = Atomic(false)

  init(_ info: CommitInfo, _ body: @escaping (WriteTransaction) -> Bool) {
    self.info = info
    self.body = body
  }

  /// Commits what the body does.
  func run(_ store: Store) {
    outcome = Result { () throws(StorageError) in
      let transaction = try store.beginBlocking()
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

  func makeLead() {
    leads.store(true, ordering: .releasing)
    signal.fire()
  }
}
