import StrataLocks

/// The writing side of an open store: the order of writers, the tail of the file, and the syncs that transactions share.
///
/// The parts in the files beside this one:
/// * `GroupCommit`: the way of a commit from the turn to the waiters that are woken when it is durable;
/// * `WriterLock`: taking the writer's lock from other processes, recovery, and releasing it;
/// * `Writer+Thread`: the writer's own thread, which syncs for tasks and does the work that is due when no transaction writes.
///
/// Three things guard the shared state, and are taken in this order: the turn (one transaction at a time, kept from its beginning to the
/// frame's last byte), `monitor` (never held during a wait for the disk, except to write a slot), the lock inside `publication`.
package final class Writer: @unchecked Sendable {
  // `@unchecked`: `shared` is only touched while `monitor` is held; `tail` only by the holder of the turn.
  let reading: StoreReader
  var disk: any Disk { reading.disk }
  var folder: String { reading.folder }
  var options: StoreOptions { reading.options }
  var counters: Counters { reading.counters }
  let publication: Publication
  /// Names this open store in the file and in the lock.
  let session: UInt64
  /// The zeroed tail of the file that no frame has taken yet.
  let zeros: ZeroAhead
  /// Why the store cannot be written, or nil if it can.
  let readOnlyReason: String?
  /// The findings of opening and recovery.
  let report: Mutex<OpeningReport>

  let monitor = Monitor()
  var shared: Shared
  var tail = Tail()
  /// The newest durable commit, for running tasks that read it without the monitor. It is only set while the monitor is held.
  let durableNumber: Atomic<UInt64>
  /// Whether `shared.lock` is set, for readers that do not take the monitor. It is only set while the monitor is held.
  let isLocking = Atomic(false)
  /// The number of threads whose jobs are done and that do not run again yet: see `FileStore.write`.
  let returning = Atomic(0)

  /// A waiter, and how it is woken.
  enum Waiter: Sendable {
    case task(CheckedContinuation<Void, Never>)
    /// A task that waits for the turn. It is resumed with whether it has the turn.
    case turn(CheckedContinuation<Bool, any Error>)
    case thread(Signal)
    case job(SharedJob)

    /// Wakes the waiter because its wait is over: it has the turn, or its commit's outcome is known. Must not be called with the monitor
    /// held: a woken thread often runs at once instead of the one that woke it, and would at once have to wait for the monitor.
    func wake() {
      switch self {
      case .task(let continuation): continuation.resume()
      case .turn(let continuation): continuation.resume(returning: true)
      case .thread(let signal): signal.fire()
      case .job(let job): job.signal.fire()
      }
    }
  }

  /// Guarded by `monitor`.
  struct Shared {
    var queue: CommitQueue<Waiter>
    /// The state with the newest written frame, on which the next transaction builds.
    var appended: Publication.State
    /// The end of the durable part of the file. Waiters compare commit numbers instead, because a compaction moves the ends.
    var durableEnd: FileOffset
    var isClosed = false
    var lock: HeldLock?
    /// The jobs of the writer's thread, whether the thread exists, and whether it waits without a time limit.
    var jobs: [@Sendable () -> Void] = []
    var hasThread = false
    var isThreadResting = false
    /// The work of the store after idleness.
    var idleWork: (@Sendable () -> Void)?
    /// The pause in nanoseconds after which that work repeats though no transaction has committed; if nil, only after the next commit.
    var idlePause: Int64?
    /// When this process's work was last written, and whether it is to be taken back when the work ends.
    var activity: (written: Int64, isShown: Bool) = (0, false)
    /// The contents of the slot that was written last.
    var slot: (sequence: UInt64, end: FileOffset, isClean: Bool)
  }

  /// Owned by the holder of the turn.
  struct Tail {
    var origin: UInt64 = 0
    var jumps = KnownJumps()
    var trees = KnownTrees()
    /// A range of the file that was given up and could not be zeroed for lack of room.
    var abandoned: Range<FileOffset>?
    /// The store as it was when this process released the lock; nil while the lock is held.
    var left: (state: Publication.State, status: FileStatus)?
  }

  init(_ reading: StoreReader, publication: Publication, readOnlyReason: String?, report: OpeningReport) {
    self.reading = reading
    self.publication = publication
    self.readOnlyReason = readOnlyReason
    self.report = Mutex(report)
    session = reading.disk.randomNumber() | 1
    zeros = ZeroAhead(largeStore: reading.options.largeStore, counters: reading.counters)
    let current = publication.current
    let end = current.chain.end
    shared = Shared(
      queue: CommitQueue(durable: current.newest.number), appended: current, durableEnd: end, slot: (0, end, false))
    durableNumber = Atomic(current.newest.number)
    #if DEBUG
      monitor.checkInvariants = { [weak self] in self?.shared.queue.checkInvariants() }
    #endif
  }

  // MARK: State for observers

  var appended: Publication.State { monitor.withLock { shared.appended } }
  var durableEnd: FileOffset { monitor.withLock { shared.durableEnd } }
  var holdsLock: Bool { isLocking.load(ordering: .acquiring) }
  package var waitingForTurn: Int { monitor.withLock { shared.queue.turns.count } }

  /// Switches to another file that holds the same commits, all durable, including those that were not durable in the old file. `identity`:
  /// the file that the name of the data leads to.
  func switchFile(to state: Publication.State, named identity: FileIdentity) {
    zeros.begin(at: state.file.end)
    tail = Tail(origin: tail.origin)
    monitor.withLock {
      while shared.queue.isSyncing { monitor.wait() }
      shared.lock?.names?.follow(identity)
      try? shared.lock?.data?.unlock()
      shared.lock?.data = state.file.file
      shared.appended = state
      shared.slot = (1, state.chain.end, true)
    }
    publication.show(state)
    writeHold(state)
    // A waiter that learns that a commit is durable may look for it at once.
    let woken = monitor.withLock {
      shared.durableEnd = state.chain.end
      let woken = shared.queue.madeDurable(state.chain.number)
      publishDurable()
      return woken
    }
    wake(woken)
  }

  /// Ends writing for good: all waiters fail with the error, and no further transaction begins.
  func poison(_ error: StorageError) {
    let woken = monitor.withLock {
      monitor.notifyAll()
      return shared.queue.fail(error)
    }
    wake(woken)
  }

  /// Publishes the durable number. The monitor must be held.
  func publishDurable() {
    durableNumber.store(shared.queue.durable, ordering: .releasing)
    monitor.notifyAll()
  }

  /// Wakes the waiters that the queue returned. The monitor must not be held.
  func wake(_ woken: CommitQueue<Waiter>.Wakeups) {
    if woken.callsThread { wakeThread(always: true) }
    for case .turn(let continuation) in woken.running { continuation.resume(returning: false) }
    for waiter in woken.waiters { waiter.wake() }
    if woken.wakesGatherer { monitor.withLock { monitor.notifyAll() } }
  }
}

/// The newest catalog's entries of trees that were written to lately, so that the next writer to them need not look them up.
struct KnownTrees {
  typealias Known = (entry: CatalogEntry, attributes: Bytes)

  private var catalog = NodePointer.none
  private var trees: [TreeName: Known] = [:]

  /// If there are more, all are forgotten at once.
  private static let most = 64

  /// A catalog's entry of a tree. Returns nil if it is not known here.
  func tree(_ name: TreeName, in catalog: NodePointer) -> Known? {
    catalog == self.catalog ? trees[name] : nil
  }

  /// Records the changes of trees between two catalogs.
  mutating func record(_ changed: [TreeState], from old: NodePointer, to new: NodePointer) {
    if old != catalog || trees.count > Self.most { trees.removeAll(keepingCapacity: true) }
    catalog = new
    // In their order: a tree that took a dropped tree's name comes after it.
    for tree in changed { trees[tree.name] = tree.isDropped ? nil : (tree.entry, tree.attributes) }
  }
}

/// The jumps of commits that were made or looked up lately. A new commit needs those of others, nearly always of near ones.
struct KnownJumps {
  private struct Known {
    var offset: FileOffset = 0
    var ancestry: CommitLink?
    var order: CommitLink?
  }

  /// Each commit has one position, which it shares with others.
  private var known = [Known](repeating: Known(), count: positions)
  private static let positions = 128

  mutating func record(_ record: CommitRecord) {
    known[position(record.number)] = Known(
      offset: record.links.own.offset, ancestry: record.links.ancestry.jump, order: record.links.order.jump)
  }

  /// The jump of a commit, among its ancestors or in the order of the file. Reads the commit's record if it is not known.
  mutating func jump(of link: CommitLink, isOrder: Bool, in file: DataFile) throws(StorageError) -> CommitLink? {
    if known[position(link.number)].offset != link.offset { record(try file.record(link)) }
    let found = known[position(link.number)]
    return isOrder ? found.order : found.ancestry
  }

  private func position(_ number: UInt64) -> Int { Int(truncatingIfNeeded: number % UInt64(Self.positions)) }
}
