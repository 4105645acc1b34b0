import Locks

/// The way of a commit, from top to bottom. Four files tell it: `FileTransaction` (begin, change, commit), `WriterLock` (may this process
/// write), `Frame` (what is written), and this one (who writes next, and who syncs for whom).
///
/// 1. **The turn.** Transactions append one after the other. Threads and transactions of a program's closure are served in the order in
///    which they came. A task that makes a single change takes the turn when it runs: given to it while it waits for a thread, the turn
///    would be unused for as long as others keep the threads of the pool (`CommitQueue.Claim`). Who has the turn takes the writer's
///    lock where this process has not got it, and looks whether the names still lead to the files that it locked (`WriterLock`).
/// 2. **The frame.** Changes go into the draft of a frame behind the newest one, into zeros that are on the disk already
///    (`FrameDraft`, `ZeroAhead`); nodes, record and trailer follow (`Committing`). These are plain writes.
/// 3. **Appending.** The frame joins the chain, and the turn passes on: the next transaction builds on this one at once.
/// 4. **The sync.** Who waits for a commit leads, or sleeps while another does; one `fdatasync` makes all durable that was appended
///    before it began (`CommitQueue` decides who).
/// 5. **Publication.** First here, for readers of this process; then in the lock file, for other processes; then those are woken that
///    wait for their commits; then, every 4 MiB, a slot notes the end.
///
/// Why in this order:
/// * *Within a frame the order of writes does not matter.* Nothing that a reader goes by leads into it before it is whole: header, trailer
///   and hash must agree, and the header names the frame before by place and hash. A crash leaves a torn frame behind the chain's end,
///   which the next writer cuts off. So one sync is enough, and nothing is ever written over but zeros.
/// * *Nothing is seen before it is durable*, or a reader could act on what a power cut takes back. The one exception is named:
///   `Durability.collated` shows its commit here at once.
/// * *The lock file after the sync*: its durable end is the promise that recovery holds every later writer to.
/// * *Those that wait last*: who hears that its commit is durable may tell another process, which must find it.
/// * *The slot after the sync, and itself not synced*: it must not vouch for what is not there, and without it the next opening only
///   reads further.
/// * *Building on frames that are not durable is safe*, because a sync covers all before it: a later commit is never durable without
///   an earlier one. Where a sync fails nobody knows what is on the disk. So all that wait fail with it, and nothing is appended any
///   more: the store is poisoned until it is opened anew, and recovery reads what there is.
/// * *A frame that could not be written* (the disk is full, the closure threw) is made zeros again by the holder of the turn, before
///   anyone can build on it. If there is no room for zeros over it either, as on a file system that writes every page to a new place, that comes
///   before the first byte of the next turn, or recovery cuts it as a torn frame.
extension Writer {
  // MARK: 1. The turn

  /// How often a task that waits for the turn may find it taken when it runs. Then it is given the turn.
  private static let mostOvertakings = 8

  /// Waits for the turn without holding a thread. Throws `CancellationError`, or what the turn is refused with.
  ///
  /// - Parameter isKept: whether the task may be suspended in its turn. Of tasks that are not, each takes the turn as it runs; one that is
  ///   ready is not kept waiting by another that has no thread.
  nonisolated(nonsending) func takeTurn(isKept: Bool = true) async throws {
    var overtakings = isKept ? Self.mostOvertakings : 0
    while !tryTakeTurn() {
      let claim: CommitQueue<Waiter>.Claim = overtakings < Self.mostOvertakings ? .running : .certain
      let hasTurn = try await waitInLine { (continuation: CheckedContinuation<Bool, any Error>) in
        monitor.withLock {
          if shared.queue.takeTurn() { return (0, .success(true)) }
          return (shared.queue.waitForTurn(.turn(continuation), as: claim), nil)
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

  func refuseTurn(with error: any Error) {
    let refused = monitor.withLock { shared.queue.refuseTurn { if case .turn = $0 { true } else { false } } }
    for case .turn(let continuation) in refused { continuation.resume(throwing: error) }
  }

  /// Waits for the turn, holding the thread.
  func takeTurnBlocking() {
    let signal = monitor.withLock { () -> Signal? in
      if shared.queue.takeTurn(by: threadIdentity()) { return nil }
      let signal = Signal()
      shared.queue.waitForTurn(.thread(signal))
      return signal
    }
    signal?.wait()
  }

  func tryTakeTurn() -> Bool { monitor.withLock { shared.queue.takeTurn(by: threadIdentity()) } }

  func lendingTurn<R>(_ body: () throws -> R) rethrows -> R {
    monitor.withLock { shared.queue.lendTurn(to: threadIdentity()) }
    defer { monitor.withLock { shared.queue.endLending() } }
    return try body()
  }

  /// Takes the turn for a job, or leaves the job to whoever has it; whether it was taken.
  func takeTurn(orQueue job: SharedJob) -> Bool {
    monitor.withLock {
      if shared.queue.takeTurn(by: threadIdentity()) { return true }
      shared.queue.waitForTurn(.job(job), as: .job)
      return false
    }
  }

  /// Gives the turn to the one that has waited longest. `willWait`: the caller has appended a commit and will wait for it.
  func passTurn(willWait: Bool = false) {
    wake(monitor.withLock { shared.queue.passTurn(willWait: willWait) })
  }

  func wake(_ passed: CommitQueue<Waiter>.Passed) {
    for case .turn(let continuation) in passed.running { continuation.resume(returning: false) }
    passed.next?.wake()
    if passed.wakesGatherer { monitor.withLock { monitor.notifyAll() } }
  }

  // MARK: 3. Appending (the second step is the transaction's)

  /// Takes a frame that was written into the chain, with what its catalog says about the trees that it changed or read. The
  /// caller has the turn.
  func append(_ state: Publication.State, trees: [TreeState], from catalog: NodePointer, durability: Durability) {
    tail.trees.note(trees, from: catalog, to: state.newest.links.catalog)
    tail.jumps.note(state.newest)
    zeros.provide(behind: state.chain.end, in: state.file) { self.poison($0) }
    counters.commits.add(1)
    let call = monitor.withLock {
      shared.appended = state
      shared.queue.append(state.chain.number)
      shared.slotIsClean = false
      return callThreadHoldingMonitor()
    }
    if durability == .collated { publication.show(state) }
    wake(call)
  }

  /// Makes the place of a frame that is given up zero again. The caller has the turn.
  func abandon(_ range: Range<FileOffset>, of file: DataFile) {
    guard !range.isEmpty, let end = try? file.file.status.end, end > range.lowerBound else { return }
    tail.abandoned = range.lowerBound..<min(end, range.upperBound)
    try? zeroAbandoned(of: file)
  }

  /// Makes zeros of what was given up, if that was not done yet: nothing may be written before. The caller has the turn.
  func zeroAbandoned(of file: DataFile) throws(StorageError) {
    guard let range = tail.abandoned else { return }
    do {
      try file.file.zero(range)
    } catch {
      if !error.isFull { poison(error) }
      throw StorageError(error)
    }
    tail.abandoned = nil
  }

  // MARK: 4. The sync

  /// Returns when a commit and all before it are durable, holding the thread: it leads, or sleeps while another does. `gathers`:
  /// whether to give those that write at this moment the time to share the sync.
  func waitUntilDurable(_ number: UInt64, gathers: Bool = true) throws(StorageError) {
    var gathers = gathers
    monitor.lock()
    while true {
      var signal: Signal?
      func asleep() -> Waiter {
        let new = Signal()
        signal = new
        return .thread(new)
      }
      switch shared.queue.wait(for: number, gathers: gathers, asleep: asleep()) {
      case .durable:
        leaveHoldingMonitor()
        return
      case .failed(let cause):
        leaveHoldingMonitor()
        throw cause
      case .sleep:
        monitor.unlock()
        signal?.wait()
        monitor.lock()
      case .gather(let gathering): gathers = gatherHoldingMonitor(gathering)
      case .sync: syncHoldingMonitor()
      }
    }
  }

  /// Lets go of the monitor; one that led and has what it wants leaves the rest to another.
  private func leaveHoldingMonitor() {
    let woken = shared.queue.leave()
    monitor.unlock()
    wake(woken)
  }

  nonisolated(nonsending) func untilDurable(_ number: UInt64) async throws(StorageError) {
    await withCheckedContinuation { continuation in
      let call = monitor.withLock {
        let call = shared.queue.sleep(until: number, .task(continuation))
        if call == .gatherer { monitor.notifyAll() }
        return call
      }
      switch call {
      case nil: continuation.resume()
      case .thread: wakeThread(always: true)
      case .gatherer, .nobody: break
      }
    }
    if durableNumber.load(ordering: .acquiring) >= number { return }
    if let failure = monitor.withLock({ shared.queue.failure }) { throw failure }
  }

  /// Waits for those that write, with the monitor held; false: it has taken long enough.
  func gatherHoldingMonitor(_ gathering: UInt64) -> Bool {
    defer { shared.queue.endGathering(gathering) }
    return monitor.wait(nanoseconds: options.gatheringTime)
  }

  /// Syncs, which the queue has asked for; called with the monitor held, and lets go of it meanwhile and to wake those that waited.
  func syncHoldingMonitor() {
    let target = shared.appended
    let names = shared.lock?.names
    monitor.unlock()
    let failure = sync(target, names)
    monitor.lock()
    // An error that was met elsewhere meanwhile may be one of this sync's pages: then it has failed too.
    if failure == nil, shared.queue.failure == nil {
      monitor.unlock()
      publication.show(target)
      moveHold(to: target.chain.end)
      monitor.lock()
      shared.durableEnd = max(shared.durableEnd, target.chain.end)
      if shared.durableEnd &- shared.slotEnd >= Writer.slotDistance { writeSlotHoldingMonitor(target, isClean: false) }
    }
    let woken = failure.map { shared.queue.syncFailed($0) } ?? shared.queue.synced()
    noteDurable()
    monitor.unlock()
    wake(woken)
    monitor.lock()
  }

  /// Why what was synced is not durable in the store, or nil. The names come after the sync: what was put in the data's place before
  /// is what the store is now.
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

  /// Notes a durable state in the older slot. A slot is a hint, so failing is harmless.
  func writeSlotHoldingMonitor(_ state: Publication.State, isClean: Bool) {
    let slot = Slot(
      sequence: shared.slotSequence &+ 1, generation: state.file.header.identity.generation,
      frameOffset: state.chain.offset, number: state.chain.number, frameHash: state.chain.hash, isClean: isClean,
      durableEnd: state.chain.end, zeroedEnd: state.chain.end)
    let position = FileLayout.slotOffsets[Int(slot.sequence % 2)]
    let bytes = slot.encoded(seed: state.file.header.seed)
    guard (try? state.file.write(bytes, at: position)) != nil else { return }
    shared.slotSequence = slot.sequence
    shared.slotEnd = state.chain.end
    shared.slotIsClean = isClean
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
  /// After this number of commits the next thread goes on while this one syncs for those that it did.
  private static let mostJobs = 32
  /// How often the one that leads lets others run to see whether they bring more: if no sign of them exists, once there was
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
