import Synchronization

/// The writing side of an open store: the lock, the tail of the file, and the sync that transactions share.
///
/// Who has the turn owns the tail. What turns and syncs share is guarded by `monitor`.
final class Writer: @unchecked Sendable {
  // `@unchecked`: `shared` is only touched while `monitor` is held; `tail` only by the holder of the turn.
  let disk: any Disk
  let folder: String
  let options: StoreOptions
  let publication: Publication
  let counters: Counters
  let turns = TurnQueue()
  /// Names this open store in the file and in the lock.
  let session: UInt64
  /// The tail of the file that no frame has taken yet.
  let zeros: ZeroAhead

  private let activity = Mutex(ActivityPace())
  private let monitor = Monitor()
  private var shared: Shared
  /// The newest commit that is durable, as tasks that go on ask for it without the monitor. Set while that is held.
  private let durableNumber: Atomic<UInt64>
  private var tail: Tail

  /// Guarded by `monitor`.
  private struct Shared {
    /// The end of the frames that were appended, and the newest commit in them.
    var appended: Publication.State
    /// The end of what is durable. Who waits goes by the number of the newest commit in it: a compaction moves the ends.
    var durableEnd: UInt64
    var isSyncing = false
    var poison: DiskError?
    var isClosed = false
    var lock: HeldLock?
    /// Tasks that wait for a commit to be durable; the writer's thread syncs for them.
    var waitingTasks: [(number: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
    /// Threads that do; one of them leads, which is to say that it syncs for the others.
    var waitingThreads: [(number: UInt64, signal: Signal)] = []
    var isLed = false
    var jobs: [@Sendable () -> Void] = []
    /// What the store does after idleness.
    var idleWork: (@Sendable () -> Void)?
    var hasThread = false
    /// The thread waits without a time limit.
    var isThreadResting = false
    /// Durable since the last slot was written.
    var slotSequence: UInt64 = 0
    var slotEnd: UInt64 = 0
    var slotIsClean = false
  }

  /// The writer's lock while it is held.
  struct HeldLock {
    let file: any DiskFile
    let since: Int64
    /// What the file says.
    var hold = EncodedHold()
  }

  /// Owned by the holder of the turn.
  private struct Tail {
    var origin: UInt64 = 0
    var jumps = KnownJumps()
    var trees = KnownTrees()
  }

  init(
    disk: any Disk, folder: String, options: StoreOptions, publication: Publication, counters: Counters,
    durableEnd: UInt64, readOnlyReason: String?
  ) {
    self.disk = disk
    self.folder = folder
    self.options = options
    self.publication = publication
    self.counters = counters
    session = disk.randomNumber() | 1
    zeros = ZeroAhead(largeStore: options.largeStore, counters: counters)
    let current = publication.current
    shared = Shared(appended: current, durableEnd: durableEnd)
    durableNumber = Atomic(current.newest.number)
    shared.slotEnd = shared.durableEnd
    tail = Tail()
    self.readOnlyReason = readOnlyReason
  }

  // MARK: Turns

  /// Makes the writer ready to append; the caller has the turn. Takes the lock where it is not held yet.
  func prepareTurn(report: (OpeningReport) -> Void) throws(StorageError) {
    let (poison, isClosed, isLocked) = monitor.withLock { (shared.poison, shared.isClosed, shared.lock != nil) }
    if isClosed { throw .closed }
    if let poison { throw .poisoned(cause: poison) }
    guard !isLocked else { return }
    if let reason = readOnlyReason { throw .readOnly(reason: reason) }
    let lock = try takeLock()
    monitor.withLock { shared.lock = lock }
    do {
      try recover(report: report)
    } catch {
      dropLock()
      throw error
    }
  }

  var holdsLock: Bool { monitor.withLock { shared.lock != nil } }

  /// Why the store cannot be written, or nil.
  let readOnlyReason: String?

  private func takeLock() throws(StorageError) -> HeldLock {
    let lockFile = LockFile(disk: disk, folder: folder)
    let file = try lockFile.openForLocking()
    let patience = Int64(max(0, options.lockPatience) * 1e9)
    // Another process's lock cannot wake anyone here, so it is asked for again, at growing distances.
    var waited: Int64 = 0
    var pause: Int64 = 500_000
    while true {
      if try engineCall({ () throws(DiskError) in try file.tryLock() }) {
        return HeldLock(file: file, since: disk.now())
      }
      guard waited < patience else {
        throw .locked(try LockFile.read(file) ?? .unknown)
      }
      rest(nanoseconds: min(pause, patience - waited))
      waited += pause
      pause = min(pause * 2, 20_000_000)
    }
  }

  private func dropLock() {
    zeros.settle()
    let lock = monitor.withLock { () -> HeldLock? in
      defer { shared.lock = nil }
      return shared.lock
    }
    if let lock { try? lock.file.unlock() }
  }

  /// What a transaction begins from; the caller has the turn and the writer is prepared.
  func beginning() -> (state: Publication.State, origin: UInt64) {
    (monitor.withLock { shared.appended }, tail.origin)
  }

  // MARK: Recovery

  /// Brings this process up to what other writers left, makes sure of it, and cuts what is no commit.
  private func recover(report: (OpeningReport) -> Void) throws(StorageError) {
    let found = try Recovery(disk: disk, folder: folder, options: options, counters: counters, session: session)
      .run(from: publication.current)
    let chain = found.state.chain
    zeros.begin(at: max(found.size, chain.end))
    tail = Tail(origin: found.origin)
    monitor.withLock {
      shared.appended = found.state
      shared.durableEnd = chain.end
      durableNumber.store(chain.number, ordering: .releasing)
      shared.slotSequence = found.slot?.sequence ?? 0
      shared.slotEnd = found.slot?.durableEnd ?? 0
      shared.slotIsClean = found.slot?.isClean ?? false
    }
    publication.show(found.state)
    writeHold(found.state)
    if found.report.cutBytes > 0 { report(found.report) }
  }

  /// Says in the lock file who writes which generation, and how far it is durable.
  private func writeHold(_ state: Publication.State) {
    monitor.withLock {
      guard let since = shared.lock?.since else { return }
      shared.lock?.hold = EncodedHold(
        LockHold(
          processIdentifier: processIdentifier(), program: options.program, since: since,
          generation: state.file.header.identity.generation, durableEnd: state.chain.end, session: session))
    }
    moveHold(to: state.chain.end)
  }

  /// Tells other processes how far the data is durable. Failing is harmless: they find out a commit later.
  private func moveHold(to durableEnd: UInt64) {
    let held = monitor.withLock {
      shared.lock?.hold.move(to: durableEnd)
      return shared.lock
    }
    held?.hold.bytes.withUnsafeBytes { try? held?.file.write($0, at: 0) }
  }

  // MARK: Appending

  /// The jump of a commit, among its ancestors or in the order of the file; the caller has the turn.
  func jump(of link: CommitLink, isOrder: Bool, in file: DataFile) throws(StorageError) -> CommitLink? {
    try tail.jumps.jump(of: link, isOrder: isOrder, in: file)
  }

  /// What a catalog says about a tree, where that is known without reading it; the caller has the turn.
  func known(_ name: TreeName, in catalog: NodePointer) -> KnownTrees.Known? { tail.trees.tree(name, in: catalog) }

  /// Takes a frame that was written into the chain, with what its catalog says about the trees that it changed or read. The
  /// caller has the turn.
  func append(_ state: Publication.State, trees: [TreeState], from catalog: NodePointer, durability: Durability) {
    tail.trees.note(trees, from: catalog, to: state.newest.links.catalog)
    tail.jumps.note(state.newest)
    zeros.provide(behind: state.chain.end, in: state.file) { self.poison($0) }
    counters.commits.add(1)
    monitor.withLock {
      shared.appended = state
      shared.slotIsClean = false
    }
    if durability == .collated { publication.show(state) }
    wakeThread()
  }

  /// Makes the place of a frame that is given up zero again. The caller has the turn.
  func abandon(_ range: Range<UInt64>, of file: DataFile) {
    guard !range.isEmpty, let size = try? file.file.status.size, size > range.lowerBound else { return }
    do {
      try file.file.zero(range.lowerBound..<min(size, range.upperBound))
    } catch {
      poison(error)
    }
  }

  func poison(_ error: DiskError) {
    let settled = monitor.withLock {
      shared.poison = shared.poison ?? error
      monitor.notifyAll()
      return takeSettled()
    }
    settled.wake()
  }

  // MARK: Durability

  /// How many tasks that wait for a sync are enough to begin it.
  private static let gatheredTasks = 64

  /// Waits until a commit and all before it are durable, syncing if nobody does. One sync serves all that wait, so it begins
  /// once nobody writes: the last one in the queue syncs for all before it. `gathers`: whether to wait for those that write.
  func waitUntilDurable(_ number: UInt64, gathers: Bool = true) throws(StorageError) {
    monitor.lock()
    defer {
      // One that led and has what it wants leaves the rest to another.
      let leader = takeLeader()
      monitor.unlock()
      leader?.fire()
    }
    while durableNumber.load(ordering: .relaxed) < number {
      if let poison = shared.poison { throw .poisoned(cause: poison) }
      let othersWrite = gathers && turns.isTaken
      if shared.isSyncing || (shared.isLed && othersWrite) {
        let signal = Signal()
        shared.waitingThreads.append((number, signal))
        monitor.unlock()
        signal.wait()
        monitor.lock()
        continue
      }
      if othersWrite {
        shared.isLed = true
        let isNews = monitor.wait(nanoseconds: options.gatheringTime)
        shared.isLed = false
        if isNews || shared.isSyncing { continue }
      }
      syncHoldingMonitor()
    }
  }

  /// Whether a thread waits for those that write before it syncs.
  var isGathering: Bool { monitor.withLock { shared.isLed } }
  /// How many threads wait for one that syncs.
  var waitingThreads: Int { monitor.withLock { shared.waitingThreads.count } }

  /// As `waitUntilDurable`, without holding a thread.
  nonisolated(nonsending) func untilDurable(_ number: UInt64) async throws(StorageError) {
    await withCheckedContinuation { continuation in
      let isSettled = monitor.withLock {
        if durableNumber.load(ordering: .relaxed) >= number || shared.poison != nil { return true }
        shared.waitingTasks.append((number, continuation))
        return false
      }
      if isSettled { continuation.resume() } else { wakeThread(always: true) }
    }
    if durableNumber.load(ordering: .acquiring) >= number { return }
    if let poison = monitor.withLock({ shared.poison }) { throw .poisoned(cause: poison) }
  }

  /// Called with the monitor held and nobody syncing; lets go of it meanwhile, and to wake those that waited.
  private func syncHoldingMonitor() {
    shared.isSyncing = true
    let target = shared.appended
    monitor.unlock()
    var failure: DiskError?
    do {
      try target.file.file.sync()
      counters.syncs.add(1)
      publication.show(target)
      moveHold(to: target.chain.end)
    } catch {
      failure = error
    }
    monitor.lock()
    shared.isSyncing = false
    if let failure {
      shared.poison = shared.poison ?? failure
    } else {
      shared.durableEnd = max(shared.durableEnd, target.chain.end)
      raiseDurableNumber(to: target.chain.number)
      if shared.durableEnd &- shared.slotEnd >= Writer.slotDistance { writeSlotHoldingMonitor(target, isClean: false) }
    }
    let settled = takeSettled()
    monitor.notifyAll()
    monitor.unlock()
    settled.wake()
    monitor.lock()
  }

  private static let slotDistance: UInt64 = 4 << 20

  /// Called with the monitor held.
  private func raiseDurableNumber(to number: UInt64) {
    durableNumber.store(max(durableNumber.load(ordering: .relaxed), number), ordering: .releasing)
  }

  /// Some that waited and may go on. They are woken when the monitor is free: a thread that wakes often takes the place of the
  /// one that woke it, and would at once have to wait for what that one holds.
  private struct Settled {
    var tasks: [CheckedContinuation<Void, Never>] = []
    var threads: [Signal] = []

    func wake() {
      for task in tasks { task.resume() }
      for thread in threads { thread.fire() }
    }
  }

  /// Those whose commit is durable or never will be, and of the other threads one that leads the rest.
  private func takeSettled() -> Settled {
    let limit = shared.poison == nil ? durableNumber.load(ordering: .relaxed) : .max
    var settled = Settled()
    shared.waitingTasks.removeAll { waiting in
      guard waiting.number <= limit else { return false }
      settled.tasks.append(waiting.continuation)
      return true
    }
    shared.waitingThreads.removeAll { waiting in
      guard waiting.number <= limit else { return false }
      settled.threads.append(waiting.signal)
      return true
    }
    if let leader = takeLeader() { settled.threads.append(leader) }
    return settled
  }

  /// One of the threads that wait, to sync for the others, where nobody does or is about to.
  private func takeLeader() -> Signal? {
    guard !shared.isSyncing, !shared.isLed, !shared.waitingThreads.isEmpty else { return nil }
    return shared.waitingThreads.removeFirst().signal
  }

  /// Notes a durable state in the older slot. A slot is a hint, so failing is harmless.
  private func writeSlotHoldingMonitor(_ state: Publication.State, isClean: Bool) {
    let slot = Slot(
      sequence: shared.slotSequence &+ 1, generation: state.file.header.identity.generation,
      frameOffset: state.chain.offset, number: state.chain.number, frameHash: state.chain.hash, isClean: isClean,
      durableEnd: state.chain.end, zeroedEnd: state.chain.end)
    let place = FileLayout.slotOffsets[Int(slot.sequence % 2)]
    let bytes = slot.encoded(seed: state.file.header.seed)
    guard (try? state.file.write(bytes, at: place)) != nil else { return }
    shared.slotSequence = slot.sequence
    shared.slotEnd = state.chain.end
    shared.slotIsClean = isClean
  }

  /// Goes on with another file that holds the same commits, all durable, also those that were not in the file before. The
  /// caller has the turn.
  func adopt(_ state: Publication.State, zeroedEnd: UInt64) {
    zeros.begin(at: zeroedEnd)
    tail = Tail(origin: tail.origin)
    monitor.withLock {
      while shared.isSyncing { monitor.wait() }
      shared.appended = state
      shared.slotSequence = 1
      shared.slotEnd = state.chain.end
      shared.slotIsClean = true
    }
    publication.show(state)
    writeHold(state)
    // Who is told that a commit is durable may look for it at once.
    let settled = monitor.withLock {
      shared.durableEnd = state.chain.end
      durableNumber.store(state.chain.number, ordering: .releasing)
      monitor.notifyAll()
      return takeSettled()
    }
    settled.wake()
  }

  // MARK: Activity

  /// Tells other processes what this one is busy with; nil: nothing any more. It is only for show, so failing is harmless.
  func setActivity(_ bytes: [UInt8]?) {
    guard holdsLock, let due = activity.withLock({ $0.due(bytes, at: disk.now()) }) else { return }
    try? ActivityFile(disk: disk, folder: folder).write(due, session: session)
  }

  // MARK: Ending

  /// Makes everything durable, notes the end, and lets go of the lock. The caller has the turn.
  func release() throws(StorageError) {
    let chain = monitor.withLock { shared.lock == nil ? nil : shared.appended.chain }
    guard let chain else { return }
    setActivity(nil)
    do {
      try waitUntilDurable(chain.number, gathers: false)
    } catch {
      // A poisoned store writes no more; who opens it anew needs the lock.
      dropLock()
      throw error
    }
    monitor.withLock {
      while shared.isSyncing { monitor.wait() }
      let state = shared.appended
      if state.chain.end != shared.slotEnd || !shared.slotIsClean { writeSlotHoldingMonitor(state, isClean: true) }
    }
    if let file = monitor.withLock({ shared.lock?.file }) {
      let current = publication.current
      zeros.settle()
      let hold = LockHold(
        processIdentifier: 0, program: options.program, since: disk.now(),
        generation: current.file.header.identity.generation, durableEnd: chain.end, session: session,
        changed: (try? current.file.file.status.changed) ?? 0
      ).encoded()
      hold.withUnsafeBytes { try? file.write($0, at: 0) }
      dropLock()
      // Whoever is woken by a change must find the lock free, and the next writer may have it by now: so what is written once
      // more is a byte that every hold has.
      try? file.write([0], at: LockHold.idleByte)
    }
  }

  /// Ends writing for good. The caller has the turn.
  func close() throws(StorageError) {
    defer {
      monitor.withLock {
        shared.isClosed = true
        monitor.notifyAll()
        monitor.ring()
      }
      dropLock()
    }
    try release()
  }

  // MARK: The thread

  /// Runs a job on the writer's own thread, so that no thread of a pool blocks.
  nonisolated(nonsending) func run<R: Sendable>(_ job: @escaping @Sendable () -> R) async -> R {
    let result = await withCheckedContinuation { continuation in
      monitor.withLock {
        shared.jobs.append {
          let result = job()
          self.monitor.withLock {}
          continuation.resume(returning: result)
        }
      }
      wakeThread(always: true)
    }
    // Resuming hands the result over. The thread sanitizer does not see that where the task had not gone to sleep yet; the
    // monitor, passed on both sides, it sees.
    monitor.withLock {}
    return result
  }

  /// Starts the thread where it is not there, and wakes it where it rests. `always`: also out of its wait for idleness.
  private func wakeThread(always: Bool = false) {
    let (isNew, isToRing) = monitor.withLock {
      defer { shared.hasThread = true }
      return (!shared.hasThread, always || shared.isThreadResting)
    }
    // When the monitor is free, for the thread takes it first of all.
    if isToRing { monitor.ring() }
    guard isNew else { return }
    do {
      try startThread { self.work() }
    } catch {
      // Without a thread the caller does the work.
      work(untilIdle: true)
      monitor.withLock { shared.hasThread = false }
    }
  }

  private var idleTime: Int64 { Int64(min(max(0.001, options.idleSeconds), 1e9) * 1e9) }

  /// Syncs for those that wait without a thread, runs jobs, and after idleness makes collated commits durable and notes
  /// the end in a slot.
  private func work(untilIdle: Bool = false) {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      if !shared.jobs.isEmpty {
        let job = shared.jobs.removeFirst()
        monitor.unlock()
        job()
        monitor.lock()
        continue
      }
      let isWaitedFor = !shared.waitingTasks.isEmpty && shared.poison == nil
      if isWaitedFor {
        let gathers = shared.waitingTasks.count < Writer.gatheredTasks && turns.isTaken
        if gathers, !shared.isSyncing, monitor.waitForBell(nanoseconds: options.gatheringTime) { continue }
        if shared.isSyncing { monitor.wait() } else { syncHoldingMonitor() }
        continue
      }
      if shared.isClosed || untilIdle { return }
      let appended = shared.appended.chain.end
      let isSettled =
        shared.poison != nil || shared.lock == nil
        || (appended == shared.durableEnd && appended == shared.slotEnd)
      if isSettled {
        shared.isThreadResting = true
        _ = monitor.waitForBell()
        shared.isThreadResting = false
        continue
      }
      if monitor.waitForBell(nanoseconds: idleTime) || shared.isSyncing || shared.appended.chain.end != appended {
        continue
      }
      if shared.durableEnd < appended { syncHoldingMonitor() }
      if shared.poison == nil, shared.durableEnd == appended, shared.slotEnd != appended {
        writeSlotHoldingMonitor(shared.appended, isClean: false)
      }
      if shared.poison == nil, let idleWork = shared.idleWork {
        monitor.unlock()
        idleWork()
        monitor.lock()
      }
    }
  }

  /// Says what is to be done each time that nobody has committed for a while. It is called on the writer's thread and must be quick.
  func setIdleWork(_ work: @escaping @Sendable () -> Void) { monitor.withLock { shared.idleWork = work } }
}

extension LockHold {
  static let unknown = LockHold(
    processIdentifier: 0, program: "", since: 0, generation: 0, durableEnd: 0, session: 0)
}
