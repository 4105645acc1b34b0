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
  // What follows is used by the extensions beside this file, and by nothing else.
  let monitor = Monitor()
  var shared: Shared
  /// The newest commit that is durable, as tasks that go on ask for it without the monitor. Set while that is held.
  let durableNumber: Atomic<UInt64>
  private var tail: Tail

  /// Guarded by `monitor`.
  struct Shared {
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
    let patience = Int64(min(max(0, options.lockPatience), 1e9) * 1e9)
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
  func moveHold(to durableEnd: UInt64) {
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
}

extension LockHold {
  static let unknown = LockHold(
    processIdentifier: 0, program: "", since: 0, generation: 0, durableEnd: 0, session: 0)
}
