import Locks

/// The writing side of an open store: who writes, the tail of the file, and the syncs that transactions share.
///
/// What the parts in the files beside this one are about:
/// * `GroupCommit`: the way of a commit from the turn to those that hear that it is durable;
/// * `WriterLock`: taking the writer's lock from other processes, recovery, and releasing it;
/// * `Writer+Thread`: the writer's own thread, which syncs for tasks and does what is due when nobody writes.
///
/// Three things guard what is shared, and are taken in this order: the turn (one transaction at a time, kept from its beginning to the
/// frame's last byte), `monitor` (never held while the disk is waited for, a slot apart), the lock inside `publication`.
final class Writer: @unchecked Sendable {
  // `@unchecked`: `shared` is only touched while `monitor` is held; `tail` only by the holder of the turn.
  let disk: any Disk
  let folder: String
  let options: StoreOptions
  let publication: Publication
  let counters: Counters
  /// Names this open store in the file and in the lock.
  let session: UInt64
  /// The tail of the file that no frame has taken yet.
  let zeros: ZeroAhead
  /// Why the store cannot be written, or nil.
  let readOnlyReason: String?

  let monitor = Monitor()
  var shared: Shared
  var tail = Tail()
  /// The newest commit that is durable, as tasks that go on ask for it without the monitor. Set while that is held.
  let durableNumber: Atomic<UInt64>
  /// Whether `shared.lock` is there, as readers ask for it without the monitor. Set while that is held.
  let isLocking = Atomic(false)
  /// Threads whose jobs are done and that do not run again yet: see `FileStore.write`.
  let returning = Atomic(0)

  /// Who is to be woken, and how.
  enum Waiter: Sendable {
    case task(CheckedContinuation<Void, Never>)
    /// A task that waits for the turn, and hears whether it has it.
    case turn(CheckedContinuation<Bool, any Error>)
    case thread(Signal)
    case job(SharedJob)

    /// Tells it that it has what it waited for: the turn, or word of its commit. Not to be called with the monitor held: a thread that
    /// wakes often takes the place of the one that woke it, and would at once have to wait for what that one holds.
    func wake() {
      switch self {
      case .task(let continuation): continuation.resume()
      case .turn(let continuation): continuation.resume(returning: true)
      case .thread(let signal): signal.fire()
      case .job(let job): job.makeLead()
      }
    }
  }

  /// Guarded by `monitor`.
  struct Shared {
    var queue: CommitQueue<Waiter>
    /// What the next transaction builds on: the state with the newest frame that was written.
    var appended: Publication.State
    /// Where that which is durable ends. Who waits goes by numbers: a compaction moves the ends.
    var durableEnd: FileOffset
    var isClosed = false
    var lock: HeldLock?
    /// What the writer's thread is to do, and whether it is there, and waits without a time limit.
    var jobs: [@Sendable () -> Void] = []
    var hasThread = false
    var isThreadResting = false
    /// What the store does after idleness.
    var idleWork: (@Sendable () -> Void)?
    /// After how many nanoseconds it does that again though nobody has committed; nil: only after the next commit.
    var idlePause: Int64?
    var activity = ActivityPace()
    /// What the slot says that was written last.
    var slotSequence: UInt64 = 0
    var slotEnd: FileOffset
    var slotIsClean = false
  }

  /// Owned by the holder of the turn.
  struct Tail {
    var origin: UInt64 = 0
    var jumps = KnownJumps()
    var trees = KnownTrees()
    /// Where something lies that was given up, and that there was no room to make zeros of.
    var abandoned: Range<FileOffset>?
    /// What the lock was let go of with; nil while it is held.
    var left: Writer.Left?
  }

  init(
    disk: any Disk, folder: String, options: StoreOptions, publication: Publication, counters: Counters,
    durableEnd: FileOffset, readOnlyReason: String?
  ) {
    self.disk = disk
    self.folder = folder
    self.options = options
    self.publication = publication
    self.counters = counters
    self.readOnlyReason = readOnlyReason
    session = disk.randomNumber() | 1
    zeros = ZeroAhead(largeStore: options.largeStore, counters: counters)
    let current = publication.current
    shared = Shared(
      queue: CommitQueue(durable: current.newest.number), appended: current, durableEnd: durableEnd, slotEnd: durableEnd
    )
    durableNumber = Atomic(current.newest.number)
    #if DEBUG
      monitor.checkInvariants = { [weak self] in self?.shared.queue.checkInvariants() }
    #endif
  }

  // MARK: For who looks on

  /// Where that which is durable ends now.
  var durableEnd: FileOffset { monitor.withLock { shared.durableEnd } }
  var holdsLock: Bool { isLocking.load(ordering: .acquiring) }
  var isTurnTaken: Bool { monitor.withLock { shared.queue.turns.isTaken } }
  /// How many wait for the turn.
  var waitingForTurn: Int { monitor.withLock { shared.queue.turns.count } }
  /// Whether one that leads waits for those that write before it syncs.
  var isGathering: Bool { monitor.withLock { shared.queue.isGathering } }
  /// How many threads wait for one that syncs.
  var waitingThreads: Int { monitor.withLock { shared.queue.sleeping.threads } }

  // MARK: What is known of the tail; for the holder of the turn

  /// The jump of a commit, among its ancestors or in the order of the file.
  func jump(of link: CommitLink, isOrder: Bool, in file: DataFile) throws(StorageError) -> CommitLink? {
    try tail.jumps.jump(of: link, isOrder: isOrder, in: file)
  }

  /// What a catalog says about a tree, where that is known without reading it.
  func known(_ name: TreeName, in catalog: NodePointer) -> KnownTrees.Known? { tail.trees.tree(name, in: catalog) }

  /// Goes on with another file that holds the same commits, all durable, also those that were not in the file before.
  /// `identity`: which file its name leads to.
  func adopt(_ state: Publication.State, zeroedEnd: FileOffset, named identity: FileIdentity) {
    zeros.begin(at: zeroedEnd)
    tail = Tail(origin: tail.origin)
    monitor.withLock {
      while shared.queue.isSyncing { monitor.wait() }
      shared.lock?.names?.follow(identity)
      try? shared.lock?.data?.unlock()
      shared.lock?.data = state.file.file
      shared.appended = state
      shared.slotSequence = 1
      shared.slotEnd = state.chain.end
      shared.slotIsClean = true
    }
    publication.show(state)
    writeHold(state)
    // Who is told that a commit is durable may look for it at once.
    let woken = monitor.withLock {
      shared.durableEnd = state.chain.end
      let woken = shared.queue.madeDurable(state.chain.number)
      noteDurable()
      return woken
    }
    wake(woken)
  }

  /// Ends writing for good: who waits hears of the error, and no transaction begins any more.
  func poison(_ error: DiskError) { poison(.poisoned(cause: error)) }

  func poison(_ error: StorageError) {
    let woken = monitor.withLock {
      monitor.notifyAll()
      return shared.queue.fail(error)
    }
    wake(woken)
  }

  /// Called with the monitor held.
  func noteDurable() {
    durableNumber.store(shared.queue.durable, ordering: .releasing)
    monitor.notifyAll()
  }

  /// Wakes whom the queue says, the monitor being free.
  func wake(_ woken: CommitQueue<Waiter>.Wakeups) {
    if woken.callsThread { wakeThread(always: true) }
    for waiter in woken.waiters { waiter.wake() }
  }
}

/// What the newest catalog says about trees that were written to lately, so that whoever writes to them again need not look
/// there.
struct KnownTrees {
  typealias Known = (entry: CatalogEntry, attributes: Bytes)

  private var catalog = NodePointer.none
  private var trees: [TreeName: Known] = [:]

  /// More are forgotten all at once.
  private static let most = 64

  /// What a catalog says about a tree, where that is known here.
  func tree(_ name: TreeName, in catalog: NodePointer) -> Known? {
    catalog == self.catalog ? trees[name] : nil
  }

  /// Notes what became of trees between two catalogs.
  mutating func note(_ changed: [TreeState], from old: NodePointer, to new: NodePointer) {
    if old != catalog || trees.count > Self.most { trees.removeAll(keepingCapacity: true) }
    catalog = new
    // In their order: a tree that took a dropped one's name comes after it.
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

  /// Each commit has one place, which it shares with others.
  private var known = [Known](repeating: Known(), count: positions)
  private static let positions = 128

  mutating func note(_ record: CommitRecord) {
    known[position(record.number)] = Known(
      offset: record.links.own.offset, ancestry: record.links.ancestry.jump, order: record.links.order.jump)
  }

  /// The jump of a commit, among its ancestors or in the order of the file. Reads its record where it is not known.
  mutating func jump(of link: CommitLink, isOrder: Bool, in file: DataFile) throws(StorageError) -> CommitLink? {
    if known[position(link.number)].offset != link.offset { note(try file.record(link)) }
    let found = known[position(link.number)]
    return isOrder ? found.order : found.ancestry
  }

  private func position(_ number: UInt64) -> Int { Int(truncatingIfNeeded: number % UInt64(Self.positions)) }
}
