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

  private let monitor = Monitor()
  private var shared: Shared
  private var tail: Tail

  /// Guarded by `monitor`.
  private struct Shared {
    /// The end of the frames that were appended, and the newest commit in them.
    var appended: Publication.State
    /// The end of what is durable, and the newest commit in it. Who waits goes by the number: a compaction moves the ends.
    var durableEnd: UInt64
    var durableNumber: UInt64
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
    var activity = ActivityState()
  }

  private struct ActivityState {
    /// What was said and has not reached the file; empty: nothing any more.
    var pending: [UInt8]?
    var lastWritten: Int64 = 0
    var isShown = false
  }

  /// The writer's lock while it is held.
  struct HeldLock {
    let file: any DiskFile
    var since: Int64
  }

  /// Owned by the holder of the turn.
  private struct Tail {
    var origin: UInt64 = 0
    var isPrepared = false
    var jumps: [UInt64: Lineage] = [:]
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
    shared = Shared(appended: current, durableEnd: durableEnd, durableNumber: current.newest.number)
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
    var current = publication.current
    if try Reading.isReplaced(current.file, disk: disk, folder: folder) {
      current = try Reading.open(
        disk: disk, folder: folder, options: options, counters: counters, limit: nil
      ).state
    }
    let file = current.file
    let status = try engineCall { () throws(DiskError) in try file.file.status }
    file.extend(to: status.size)
    let slots = try Opening(file: file, limit: status.size).readSlots()
    let slot = slots.first

    // Forward from what is known here; another writer may have appended since.
    let scanner = FrameScanner(file: file)
    var chain = current.chain
    var adopted = 0
    while let next = try scanner.next(after: chain, limit: status.size, verifiesHash: true) {
      chain = next
      adopted += 1
    }
    let newest = chain.offset == 0 ? CommitRecord.beginning(of: file.header) : try file.record(at: chain.offset)
    let head = try newest.head(in: file)
    guard chain.end <= status.size else { throw .damaged(what: "end of the file", offset: status.size) }
    if let slot, slot.durableEnd > chain.end { throw .damaged(what: "frame", offset: chain.end) }

    // The page cache may show bytes that the disk never got, so what no slot vouches for is written again.
    let vouched = max(slot?.durableEnd ?? FileLayout.firstFrame, FileLayout.firstFrame)
    var isDirty = false
    if chain.end > vouched {
      try rewrite(vouched..<chain.end, of: file)
      isDirty = true
    }
    var opening = OpeningReport()
    opening.adoptedCommits = adopted
    if let garbageEnd = try lastNonzero(in: chain.end..<status.size, of: file) {
      opening.cutBytes = garbageEnd - chain.end
      opening.keptAside = keepAside(chain.end..<garbageEnd, of: file, number: chain.number)
      try engineCall { () throws(DiskError) in try file.file.zero(chain.end..<garbageEnd) }
      isDirty = true
    }
    if try writeSession(in: file, chain: chain, slot: slot) { isDirty = true }
    if isDirty {
      try engineCall { () throws(DiskError) in try file.file.sync() }
      counters.syncs.add(1)
    }

    let state = Publication.State(file: file, newest: newest, head: head, chain: chain)
    zeros.begin(at: max(status.size, chain.end))
    tail.isPrepared = true
    tail.jumps.removeAll()
    monitor.withLock {
      shared.appended = state
      shared.durableEnd = chain.end
      shared.durableNumber = chain.number
      shared.slotSequence = slot?.sequence ?? 0
      shared.slotEnd = slot?.durableEnd ?? 0
      shared.slotIsClean = slot?.isClean ?? false
    }
    publication.show(state)
    writeHold(durableEnd: chain.end)
    if opening.cutBytes > 0 {
      opening.notes.append(
        "\(opening.cutBytes) bytes after commit #\(chain.number) belonged to no whole commit and were cut")
      report(opening)
    }
  }

  private func rewrite(_ range: Range<UInt64>, of file: DataFile) throws(StorageError) {
    var place = range.lowerBound
    while place < range.upperBound {
      let count = Int(min(1 << 20, range.upperBound - place))
      // Copied first: a mapping must not be the source of a write to its own pages.
      let piece = Bytes(try file.bytes(at: place, count: count, what: "frame").array)
      try piece.withUnsafeBytes { bytes throws(StorageError) in
        try engineCall { () throws(DiskError) in try file.file.write(bytes, at: place) }
      }
      place += UInt64(count)
    }
  }

  /// The end of the last byte in a range that is not zero.
  private func lastNonzero(in range: Range<UInt64>, of file: DataFile) throws(StorageError) -> UInt64? {
    var end = range.upperBound
    while end > range.lowerBound {
      let count = Int(min(1 << 16, end - range.lowerBound))
      let piece = try file.bytes(at: end - UInt64(count), count: count, what: "tail")
      if let last = piece.withUnsafeBytes({ $0.lastNonzero }) { return end - UInt64(count) + UInt64(last) + 1 }
      end -= UInt64(count)
    }
    return nil
  }

  /// Puts bytes that are about to be cut into a file beside the data; nil where that is not possible.
  private func keepAside(_ range: Range<UInt64>, of file: DataFile, number: UInt64) -> String? {
    let path = "\(folder)/cut-after-\(number)-\(String(disk.randomNumber(), radix: 16))"
    do {
      let aside = try disk.open(path, .create)
      var place = range.lowerBound
      while place < range.upperBound {
        let count = Int(min(1 << 20, range.upperBound - place))
        let piece = try file.bytes(at: place, count: count, what: "tail")
        try piece.withUnsafeBytes { bytes throws(DiskError) in try aside.write(bytes, at: place - range.lowerBound) }
        place += UInt64(count)
      }
      return path
    } catch {
      return nil
    }
  }

  /// Notes this session and its origin in page 0; whether anything was written.
  private func writeSession(in file: DataFile, chain: ChainEnd, slot: Slot?) throws(StorageError) -> Bool {
    let bytes = try file.bytes(at: FileLayout.sessionOffset, count: SessionBlock.size, what: "session block")
    let old = bytes.withUnsafeBytes { SessionBlock($0) }
    if let old, old.session == session, old.file == file.identity {
      tail.origin = old.origin
      return false
    }
    let hold = try LockFile(disk: disk, folder: folder).look().hold
    var origin = disk.randomNumber() | 1
    if let old, let hold, old.file == file.identity, old.session == hold.session, hold.durableEnd <= chain.end,
      hold.generation == file.header.identity.generation
    {
      origin = old.origin
    }
    tail.origin = origin
    let block = SessionBlock(session: session, file: file.identity, origin: origin, date: disk.now()).encoded()
    try write(block, at: FileLayout.sessionOffset, to: file)
    return true
  }

  private func write(_ bytes: [UInt8], at offset: UInt64, to file: DataFile) throws(StorageError) {
    try engineCall { () throws(DiskError) in
      let written = bytes.withUnsafeBytes { bytes in
        Result { () throws(DiskError) in try file.file.write(bytes, at: offset) }
      }
      try written.get()
    }
    counters.writes.add(1)
    counters.bytesWritten.add(UInt64(bytes.count))
  }

  /// Tells other processes how far the data is durable. Failing is harmless: they find out a commit later.
  private func writeHold(durableEnd: UInt64) {
    let (lock, generation) = monitor.withLock { (shared.lock, shared.appended.file.header.identity.generation) }
    guard let lock else { return }
    let hold = LockHold(
      processIdentifier: processIdentifier(), program: options.program, since: lock.since, generation: generation,
      durableEnd: durableEnd, session: session
    ).encoded()
    hold.withUnsafeBytes { try? lock.file.write($0, at: 0) }
  }

  // MARK: Appending

  /// Lineages of commits that were looked up for jumps; the caller has the turn.
  func lineage(_ link: CommitLink, isOrder: Bool, in file: DataFile) throws(StorageError) -> Lineage {
    let key = link.offset << 1 | (isOrder ? 1 : 0)
    if let known = tail.jumps[key] { return known }
    let record = try file.record(link)
    if tail.jumps.count > 512 { tail.jumps.removeAll(keepingCapacity: true) }
    tail.jumps[link.offset << 1] = record.links.ancestry
    tail.jumps[link.offset << 1 | 1] = record.links.order
    return isOrder ? record.links.order : record.links.ancestry
  }

  /// Takes a frame that was written into the chain. The caller has the turn.
  func append(_ state: Publication.State, durability: Durability) {
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
    monitor.withLock {
      shared.poison = shared.poison ?? error
      resumeWaiters()
      monitor.notifyAll()
    }
  }

  // MARK: Durability

  /// How long a sync waits for those that write at this moment, in nanoseconds: a few dozen small commits.
  private static let gatheringTime: Int64 = 4_000_000
  /// How many tasks that wait for a sync are enough to begin it.
  private static let gatheredTasks = 64

  /// Waits until a commit and all before it are durable, syncing if nobody does. One sync serves all that wait, so it begins
  /// once nobody writes: the last one in the queue syncs for all before it. `gathers`: whether to wait for those that write.
  func waitUntilDurable(_ number: UInt64, gathers: Bool = true) throws(StorageError) {
    monitor.lock()
    defer { monitor.unlock() }
    while shared.durableNumber < number {
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
        let isNews = monitor.wait(nanoseconds: Writer.gatheringTime)
        shared.isLed = false
        if isNews || shared.isSyncing { continue }
      }
      syncHoldingMonitor()
    }
  }

  /// As `waitUntilDurable`, without holding a thread.
  func untilDurable(_ number: UInt64) async throws(StorageError) {
    await withCheckedContinuation { continuation in
      let isSettled = monitor.withLock {
        if shared.durableNumber >= number || shared.poison != nil { return true }
        shared.waitingTasks.append((number, continuation))
        return false
      }
      if isSettled { continuation.resume() } else { wakeThread(always: true) }
    }
    let (durableNumber, poison) = monitor.withLock { (shared.durableNumber, shared.poison) }
    if durableNumber < number, let poison { throw .poisoned(cause: poison) }
  }

  /// Called with the monitor held and nobody syncing; lets go of it meanwhile.
  private func syncHoldingMonitor() {
    shared.isSyncing = true
    let target = shared.appended
    monitor.unlock()
    var failure: DiskError?
    do {
      try target.file.file.sync()
      counters.syncs.add(1)
      publication.show(target)
      writeHold(durableEnd: target.chain.end)
    } catch {
      failure = error
    }
    monitor.lock()
    shared.isSyncing = false
    if let failure {
      shared.poison = shared.poison ?? failure
    } else {
      shared.durableEnd = max(shared.durableEnd, target.chain.end)
      shared.durableNumber = max(shared.durableNumber, target.chain.number)
      if shared.durableEnd &- shared.slotEnd >= Writer.slotDistance { writeSlotHoldingMonitor(target, isClean: false) }
    }
    resumeWaiters()
    monitor.notifyAll()
  }

  private static let slotDistance: UInt64 = 4 << 20

  /// Wakes those whose commit is durable or never will be; of the threads also one more, which leads the rest.
  private func resumeWaiters() {
    let isOver = { [shared] (number: UInt64) in number <= shared.durableNumber || shared.poison != nil }
    let tasks = shared.waitingTasks.filter { isOver($0.number) }
    if !tasks.isEmpty { shared.waitingTasks.removeAll { isOver($0.number) } }
    for task in tasks { task.continuation.resume() }
    var threads = shared.waitingThreads.filter { isOver($0.number) }
    if !threads.isEmpty { shared.waitingThreads.removeAll { isOver($0.number) } }
    if !shared.isLed, let leader = shared.waitingThreads.first {
      shared.waitingThreads.removeFirst()
      threads.append(leader)
    }
    for thread in threads { thread.signal.fire() }
  }

  /// Notes a durable state in the older slot. A slot is a hint, so failing is harmless.
  private func writeSlotHoldingMonitor(_ state: Publication.State, isClean: Bool) {
    let slot = Slot(
      sequence: shared.slotSequence &+ 1, generation: state.file.header.identity.generation,
      frameOffset: state.chain.offset, number: state.chain.number, frameHash: state.chain.hash, isClean: isClean,
      durableEnd: state.chain.end, zeroedEnd: state.chain.end)
    let place = FileLayout.slotOffsets[Int(slot.sequence % 2)]
    let bytes = slot.encoded(seed: state.file.header.seed)
    guard (try? write(bytes, at: place, to: state.file)) != nil else { return }
    shared.slotSequence = slot.sequence
    shared.slotEnd = state.chain.end
    shared.slotIsClean = isClean
  }

  /// Goes on with another file that holds the same commits, all durable, also those that were not in the file before. The
  /// caller has the turn.
  func adopt(_ state: Publication.State, zeroedEnd: UInt64) {
    zeros.begin(at: zeroedEnd)
    tail.jumps.removeAll()
    monitor.withLock {
      while shared.isSyncing { monitor.wait() }
      shared.appended = state
      shared.slotSequence = 1
      shared.slotEnd = state.chain.end
      shared.slotIsClean = true
    }
    publication.show(state)
    writeHold(durableEnd: state.chain.end)
    // Who is told that a commit is durable may look for it at once.
    monitor.withLock {
      shared.durableEnd = state.chain.end
      shared.durableNumber = state.chain.number
      resumeWaiters()
      monitor.notifyAll()
    }
  }

  // MARK: Activity

  private static let activityDistance: Int64 = 100_000_000

  func setActivity(_ bytes: [UInt8]?) {
    let now = disk.now()
    let isDue = monitor.withLock {
      shared.activity.pending = bytes ?? []
      return bytes == nil || now &- shared.activity.lastWritten >= Writer.activityDistance
    }
    if isDue { writeActivity(now) }
  }

  /// Brings what was said last into the file. It is only for show, so failing is harmless.
  private func writeActivity(_ now: Int64) {
    let bytes = monitor.withLock { () -> [UInt8]? in
      guard shared.lock != nil, let bytes = shared.activity.pending else { return nil }
      if bytes.isEmpty, !shared.activity.isShown {
        shared.activity.pending = nil
        return nil
      }
      shared.activity = ActivityState(pending: nil, lastWritten: now, isShown: !bytes.isEmpty)
      return bytes
    }
    guard let bytes else { return }
    try? ActivityFile(disk: disk, folder: folder).write(bytes, session: session)
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
      let hold = LockHold(
        processIdentifier: 0, program: options.program, since: disk.now(),
        generation: current.file.header.identity.generation, durableEnd: chain.end, session: session
      ).encoded()
      // First unlocked, then told: whoever is woken by the change finds the lock free.
      dropLock()
      hold.withUnsafeBytes { try? file.write($0, at: 0) }
    }
    tail.isPrepared = false
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
  func run<R: Sendable>(_ job: @escaping @Sendable () -> R) async -> R {
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
    let isNew = monitor.withLock {
      if shared.isThreadResting || always { monitor.ring() }
      defer { shared.hasThread = true }
      return !shared.hasThread
    }
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
        if gathers, !shared.isSyncing, monitor.waitForBell(nanoseconds: Writer.gatheringTime) { continue }
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
