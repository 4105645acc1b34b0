import StrataLocks

/// The way of a commit, from top to bottom. Four files describe it: `FileTransaction` (begin, change, commit), `WriterLock` (may this
/// process write), `Frame` (the bytes that are written), and this one (which transaction writes next, and which waiter syncs for the
/// others).
///
/// 1. **The turn.** Transactions append one after the other. Threads and transactions of a program's closure are served in the order in
///    which they came. A task that makes a single change takes the turn when it runs. If it were given the turn while it waits for a
///    thread, the turn would stay unused for as long as others keep the threads of the pool (`CommitQueue.Claim`). The holder of the turn
///    takes the writer's lock if this process does not hold it, and checks that the names still lead to the locked files (`WriterLock`).
/// 2. **The frame.** Changes go into the draft of a frame behind the newest one, into zeros that are on the disk already (`FrameDraft`,
///    `ZeroAhead`); nodes, record and trailer follow (`makeFrame`). These are plain writes.
/// 3. **Appending.** The frame joins the chain, and the turn passes on: the next transaction builds on this one at once.
/// 4. **The sync.** A waiter for a commit leads, or sleeps while another leads; one `fdatasync` makes everything durable that was appended
///    before it began (`CommitQueue` chooses the leader).
/// 5. **Publication.** First here, for readers of this process; then in the lock file, for other processes; then the waiters for these
///    commits are woken; then, every 4 MiB, a slot records the end.
///
/// Why in this order:
/// * *Within a frame the order of writes does not matter.* Nothing that a reader follows leads into the frame before it is whole: header,
///   trailer and hash must agree, and the header names the frame before it by place and hash. A crash leaves a torn frame behind the
///   chain's end, which the next writer cuts off. So one sync is enough, and only zeros are ever overwritten.
/// * *Nothing is visible before it is durable.* Otherwise a reader could act on a commit that a power cut takes back. The one exception is
///   named: `Durability.collated` shows its commit here at once.
/// * *The lock file after the sync*: its durable end is the promise that recovery holds every later writer to.
/// * *The waiters last*: a waiter whose commit is durable may tell another process about it, which must find the commit.
/// * *The slot after the sync, and not synced*: it must not vouch for missing bytes. Without it the next opening only reads further.
/// * *Building on frames that are not durable is safe*, because a sync covers all frames before it: a later commit is never durable without
///   an earlier one. If a sync fails, the state of the disk is unknown. So all waiters fail with it, and nothing is appended any more: the
///   store is poisoned until it is opened again, and recovery reads the frames that are there.
/// * *A frame that could not be written* (the disk is full, the closure threw) is zeroed again by the holder of the turn, before another
///   builds on it. If there is no room for zeros either (some file systems write every page to a new place), the first write of the next
///   turn waits for the zeros, or recovery cuts the range as a torn frame.
extension Writer {
  // MARK: 1. The turn

  /// How many times a task that waits for the turn may find it taken when it runs. After that it is given the turn.
  private static let mostOvertakings = 8

  /// Waits for the turn without holding a thread. Throws `CancellationError`, or the error of `refuseTurn`.
  ///
  /// - Parameter isKept: Whether the task may be suspended in its turn. Each task that may not takes the turn when it runs, so that a task
  ///   that is ready does not wait for another that has no thread.
  package nonisolated(nonsending) func acquireTurn(isKept: Bool = true) async throws {
    var overtakings = isKept ? Self.mostOvertakings : 0
    while !tryAcquireTurn() {
      let claim: CommitQueue<Waiter>.Claim = overtakings < Self.mostOvertakings ? .running : .certain
      let hasTurn = try await waitInLine { continuation in
        monitor.withLock {
          shared.queue.acquireTurn() ? nil : shared.queue.waitForTurn(.turn(continuation), as: claim)
        }
      } leave: { ticket in
        if case .turn(let continuation) = self.monitor.withLock({ self.shared.queue.leaveTurn(ticket) }) {
          continuation
        } else {
          nil
        }
      }
      if hasTurn { return }
      overtakings += 1
    }
  }

  /// Makes all tasks that wait for the turn fail with an error.
  package func refuseTurn(with error: any Error) {
    let refused = monitor.withLock { shared.queue.refuseTurn { if case .turn = $0 { true } else { false } } }
    for case .turn(let continuation) in refused { continuation.resume(throwing: error) }
  }

  /// Waits for the turn, and blocks the thread.
  func acquireTurnBlocking() {
    let signal = monitor.withLock { () -> Signal? in
      if shared.queue.acquireTurn(by: threadIdentity()) { return nil }
      let signal = Signal()
      shared.queue.waitForTurn(.thread(signal))
      return signal
    }
    signal?.wait()
  }

  /// Takes the turn if it is free, for a task. The turn is never lent to a task, so its thread does not count.
  package func tryAcquireTurn() -> Bool { monitor.withLock { shared.queue.acquireTurn() } }

  /// Runs a body that begins transactions on this thread, with no other one between them. The caller must hold the turn.
  package func lendingTurn<R>(_ body: () throws -> R) rethrows -> R {
    monitor.withLock { shared.queue.lendTurn(to: threadIdentity()) }
    defer { monitor.withLock { shared.queue.endLending() } }
    return try body()
  }

  /// Takes the turn for a job, or leaves the job to the holder of the turn. Returns whether the turn was taken.
  func acquireTurn(orQueue job: SharedJob) -> Bool {
    monitor.withLock {
      if shared.queue.acquireTurn(by: threadIdentity()) { return true }
      shared.queue.waitForTurn(.job(job), as: .job)
      return false
    }
  }

  /// Gives the turn to the longest waiter. `willWait`: the caller has appended a commit and will wait for it.
  package func passTurn(willWait: Bool = false) {
    wake(monitor.withLock { shared.queue.passTurn(willWait: willWait) })
  }

  // MARK: 3. Appending (the second step is the transaction's)

  /// Adds a written frame to the chain, and records its catalog's entries of the trees that it changed or read. The caller must hold the
  /// turn.
  func append(_ state: Publication.State, trees: [TreeState], from catalog: NodePointer, durability: Durability) {
    tail.trees.record(trees, from: catalog, to: state.newest.links.catalog)
    tail.jumps.record(state.newest)
    zeros.provide(behind: state.chain.end, in: state.file) { self.poison(.poisoned(cause: $0)) }
    counters.commits.add(1)
    let call = monitor.withLock {
      shared.appended = state
      shared.queue.append(state.chain.number)
      shared.slot.isClean = false
      return callThreadHoldingMonitor()
    }
    if durability == .collated { publication.show(state) }
    wake(call)
  }

  /// Zeroes the range of a frame that is given up. The caller must hold the turn.
  func abandon(_ range: Range<FileOffset>, of file: DataFile) {
    guard !range.isEmpty, let end = try? file.file.status.end, end > range.lowerBound else { return }
    tail.abandoned = range.lowerBound..<min(end, range.upperBound)
    try? zeroAbandoned(of: file)
  }

  /// Clears the abandoned range, if that was not done yet: nothing may be written before. The caller must hold the turn.
  func zeroAbandoned(of file: DataFile) throws(StorageError) {
    guard let range = tail.abandoned else { return }
    do {
      try file.file.clear(range)
    } catch {
      if !error.isFull { poison(.poisoned(cause: error)) }
      throw StorageError(error)
    }
    zeros.begin(at: try file.endOfWritten(in: range.lowerBound..<max(range.upperBound, file.end)))
    tail.abandoned = nil
  }

  // MARK: 4. The sync

  /// Blocks the thread until a commit and all before it are durable: the thread leads, or sleeps while another leads. `gathers`: whether to
  /// give transactions that are writing at this moment the time to share the sync.
  func waitUntilDurable(_ number: UInt64, gathers: Bool = true) throws(StorageError) {
    var gathers = gathers
    monitor.lock()
    while true {
      lazy var signal = Signal()
      switch shared.queue.wait(for: number, gathers: gathers, asleep: .thread(signal)) {
      case .durable: return leaveHoldingMonitor()
      case .failed(let cause):
        leaveHoldingMonitor()
        throw cause
      case .sleep:
        monitor.unlock()
        signal.wait()
        monitor.lock()
      case .gather(let gathering): gathers = gatherHoldingMonitor(gathering)
      case .sync: syncHoldingMonitor()
      }
    }
  }

  /// Makes all commits durable that are appended by now.
  package func settle() throws(StorageError) {
    try waitUntilDurable(monitor.withLock { shared.queue.appended }, gathers: false)
  }

  /// Releases the monitor. If the caller led and its own commit is durable, another waiter leads from here.
  private func leaveHoldingMonitor() {
    let woken = shared.queue.leave()
    monitor.unlock()
    wake(woken)
  }

  nonisolated(nonsending) func untilDurable(_ number: UInt64) async throws(StorageError) {
    await withCheckedContinuation { continuation in
      let woken = monitor.withLock { shared.queue.sleep(until: number, .task(continuation)) }
      if let woken { wake(woken) } else { continuation.resume() }
    }
    if durableNumber.load(ordering: .acquiring) >= number { return }
    if let failure = monitor.withLock({ shared.queue.failure }) { throw failure }
  }

  /// Waits for transactions that are writing, with the monitor held. Returns false if that has taken long enough.
  func gatherHoldingMonitor(_ gathering: UInt64) -> Bool {
    defer { shared.queue.endGathering(gathering) }
    return monitor.wait(nanoseconds: options.gatheringTime)
  }

  /// Syncs as the queue decided. Called with the monitor held; releases it during the sync, and to wake the waiters.
  func syncHoldingMonitor() {
    let target = shared.appended
    let names = shared.lock?.names
    monitor.unlock()
    let failure = sync(target, names)
    monitor.lock()
    // An error met elsewhere meanwhile may concern a page of this sync: then the sync has failed, too.
    if failure == nil, shared.queue.failure == nil {
      monitor.unlock()
      publication.show(target)
      moveHold(to: target.chain.end)
      monitor.lock()
      shared.durableEnd = max(shared.durableEnd, target.chain.end)
      if shared.durableEnd &- shared.slot.end >= Writer.slotDistance { writeSlotHoldingMonitor(target, isClean: false) }
    }
    let woken = shared.queue.synced(failure)
    publishDurable()
    monitor.unlock()
    wake(woken)
    monitor.lock()
  }

  /// Returns why the synced state is not durable in the store, or nil if it is. The names are checked after the sync: if another file has
  /// taken the data's name before, that file is the store now.
  private func sync(_ target: Publication.State, _ names: StoreNames?) -> StorageError? {
    do {
      try target.file.file.sync()
    } catch {
      return .poisoned(cause: error)
    }
    counters.syncs.add(1)
    do {
      try names?.check(byPath: false)
      return nil
    } catch {
      if case .io(let cause) = error { return .poisoned(cause: cause) }
      return error
    }
  }

  // MARK: 5. Publication

  private static let slotDistance: UInt64 = 4 << 20

  /// Records a durable state in the older slot. A slot is a hint, so failing is harmless.
  func writeSlotHoldingMonitor(_ state: Publication.State, isClean: Bool) {
    let slot = Slot(
      sequence: shared.slot.sequence &+ 1, generation: state.file.header.identity.generation,
      frameOffset: state.chain.offset, number: state.chain.number, frameHash: state.chain.hash, isClean: isClean,
      durableEnd: state.chain.end, zeroedEnd: state.chain.end)
    let position = FileLayout.slotOffsets[Int(slot.sequence % 2)]
    let bytes = slot.encoded(seed: state.file.header.seed)
    guard (try? state.file.write(bytes, at: position)) != nil else { return }
    shared.slot = (slot.sequence, state.chain.end, isClean)
  }

  /// After this number of commits the next thread goes on while this one syncs for the jobs that it did.
  private static let mostJobs = 32
  /// How many times the leader lets other threads run to see whether they bring more jobs: `usual` once it has done more than its own job,
  /// and `returning` while threads of finished jobs have not run again.
  private static let looks = (usual: 5, returning: 100)

  /// The next jobs for the holder of the turn. If there are none, passes the turn on and returns an empty array.
  func nextJobs(after done: Int) -> [SharedJob] {
    for look in 0..<Self.looks.returning {
      if let waiters = monitor.withLock({ shared.queue.nextJobs(most: Self.mostJobs - done) }) {
        if waiters.isEmpty { break }
        return waiters.compactMap { if case .job(let job) = $0 { job } else { nil } }
      }
      let isAwaited = returning.load(ordering: .relaxed) > 0
      if !isAwaited && (done == 1 || look >= Self.looks.usual) { break }
      yieldThread()
    }
    passTurn(willWait: true)
    return []
  }
}

extension FileStore {
  /// If several threads call at once, the holder of the turn runs the bodies of those behind it, each in a transaction of its own and in
  /// the order of the calls, and syncs once. Passing the turn from thread to thread takes longer than a small commit. So `body` must not
  /// depend on the thread that it runs on, and must not begin another transaction.
  package func write<Failure: Error>(
    _ info: CommitInfo = CommitInfo(), _ body: (any WriteTransaction) throws(Failure) -> Void
  ) throws(StorageError) -> Result<UInt64?, Failure> {
    var failure: Failure?
    func succeeds(_ transaction: FileTransaction) -> Bool {
      do throws(Failure) { try body(transaction) } catch { failure = error }
      return failure == nil
    }
    let number = try withoutActuallyEscaping(succeeds) { succeeds throws(StorageError) in
      let job = SharedJob(info, succeeds)
      if writing.acquireTurn(orQueue: job) {
        lead(job)
      } else if job.waitForOutcome() {
        writing.returning.subtract(1, ordering: .relaxed)
      } else {
        // If both threads share a processor, the earlier leader must come to its sync before the work on the next batch.
        yieldThread()
        lead(job)
      }
      return try job.outcome?.get()
    }
    return failure.map { .failure($0) } ?? .success(number)
  }

  /// Runs the caller's job and those behind it, passes the turn on, and syncs for all of them. The caller must hold the turn.
  private func lead(_ own: SharedJob) {
    var done: [SharedJob] = []
    var next = [own]
    while !next.isEmpty {
      for job in next { job.run(self, isFirst: job === own) }
      done += next
      next = writing.nextJobs(after: done.count)
    }
    // The last commit's sync serves all.
    for job in done.reversed() { job.waitUntilDurable() }
    writing.returning.add(done.count - 1, ordering: .relaxed)
    for job in done where job !== own { job.signal.fire() }
  }
}

/// One thread's part of a group of transactions that are written together.
final class SharedJob: @unchecked Sendable {
  // `@unchecked`: `body`, `pending` and `outcome` are only touched by the leading thread, and by the thread whose job it is before the job
  // is queued and after the signal.
  private let info: CommitInfo
  /// Returns whether to commit.
  private var body: ((FileTransaction) -> Bool)?
  private var pending: PendingCommit?
  /// The number of its commit; a nil number if nothing changed. Nil until the job is done.
  private(set) var outcome: Result<UInt64?, StorageError>?
  let signal = Signal()

  init(_ info: CommitInfo, _ body: @escaping (FileTransaction) -> Bool) {
    self.info = info
    self.body = body
  }

  /// Commits the changes of the body. The caller must hold the turn, and keeps it.
  func run(_ store: FileStore, isFirst: Bool) {
    outcome = Result { () throws(StorageError) in
      let transaction = try store.begin(on: nil, keepsTurn: true, isFirst: isFirst)
      guard let body, body(transaction) else {
        transaction.cancel()
        return nil
      }
      pending = try transaction.commit(info)
      return pending?.number
    }
    // The caller's closure must be released before the caller goes on.
    body = nil
  }

  /// Waits until the commit is durable.
  func waitUntilDurable() {
    guard let pending else { return }
    do { try pending.wait(gathers: false) } catch { outcome = .failure(error) }
  }

  /// Waits until another thread has done the job. Returns false if the caller has the turn and must do it.
  func waitForOutcome() -> Bool {
    signal.wait()
    return outcome != nil
  }
}
