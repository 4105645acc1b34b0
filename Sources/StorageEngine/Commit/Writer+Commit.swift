import Locks

/// The way of a commit, from top to bottom.
///
/// 1. **The turn.** Transactions append one after the other. Threads and transactions of a program's closure are served in the order in
///    which they came. A task that makes a single change takes the turn when it runs: given to it while it waits for a thread, the turn
///    would be unused for as long as others keep the threads of the pool (`CommitQueue.Claim`). Who has the turn takes the writer's
///    lock where this process has not got it, and looks whether the names still lead to the files that it locked (`Writer+Lock`).
/// 2. **The frame.** Changes go into the draft of a frame behind the newest one, into zeros that are on the disk already
///    (`FileTransaction`, `ZeroAhead`); nodes, record and trailer follow (`Committing`). These are plain writes.
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
///   anyone can build on it. If there is no room for zeros over it either, as on a file system that writes everything anew, that comes
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

  /// Sends the tasks away that wait for the turn.
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

  /// Runs what begins transactions of its own as a part of the turn, which the caller has: no other comes between.
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

  /// As `waitUntilDurable`, without holding a thread.
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
      publish(target)
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

  private func publish(_ durable: Publication.State) {
    publication.show(durable)
    moveHold(to: durable.chain.end)
  }

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

extension FileTransaction {
  // MARK: 2 and 3, as the transaction sees them

  /// Appends the changes as one commit and passes the turn on; nil where nothing changed. The commit is not durable yet: wait
  /// for it. When this throws, nothing is kept and the transaction has ended; it throws the error of a change that failed halfway and
  /// was not rolled back.
  package func commit(_ info: CommitInfo) throws(StorageError) -> PendingCommit? { try commit(info) { _ in } }

  /// The same; `appended` hears of the commit, or that there is none, before the turn passes on.
  package func commit(
    _ info: CommitInfo, appended: (PendingCommit?) -> Void
  ) throws(StorageError) -> PendingCommit? {
    try locked { () throws(StorageError) -> PendingCommit? in
      if let failure = state.pointee.failure {
        finish()
        throw failure
      }
      let new: Publication.State
      do throws(StorageError) {
        guard let made = try Committing(self, info).run() else {
          appended(nil)
          finish()
          return nil
        }
        new = made
      } catch {
        // A write that failed for another reason than want of room leaves unknown bytes behind.
        if case .io(let cause) = error { store.writing.poison(cause) }
        finish()
        throw error
      }
      // What a rollback took back may have been written already, and further than the frame reaches.
      store.writing.abandon(new.chain.end..<max(new.chain.end, draft.writtenEnd), of: file)
      store.writing.append(
        new, trees: state.pointee.trees, from: state.pointee.storedCatalog, durability: info.durability)
      let pending = PendingCommit(new, writer: store.writing)
      appended(pending)
      finish(willWait: info.durability == .durable, abandons: false)
      return pending
    }
  }
}

/// A commit that was appended and will be durable with the next sync. Letting go of it without waiting does not take it back.
package struct PendingCommit: Sendable {
  package let number: UInt64
  /// Nil where it is durable already, as all are on a server.
  private let appended: (state: Publication.State, writer: Writer)?

  init(_ state: Publication.State, writer: Writer) {
    number = state.newest.number
    appended = (state, writer)
  }

  /// One that is durable.
  package init(durable number: UInt64) {
    self.number = number
    appended = nil
  }

  /// The state that the commit made, which this process can read already; nil on a server.
  package var view: View? { appended.map { View(commit: $0.state.newest, file: $0.state.file) } }

  /// Returns when the commit is durable, holding no thread meanwhile, and runs where its caller does. Commits that wait at
  /// once share one sync.
  package nonisolated(nonsending) func durable() async throws(StorageError) {
    try await appended?.writer.untilDurable(number)
  }

  /// Returns when the commit is durable; the thread syncs itself, or waits for one that does.
  package func wait() throws(StorageError) { try appended?.writer.waitUntilDurable(number) }

  /// As `wait`, without giving others that write at this moment the time to share the sync.
  func waitAtOnce() throws(StorageError) { try appended?.writer.waitUntilDurable(number, gathers: false) }
}
