import StrataLocks
import Testing

@testable import StrataEngine

@Suite("Commits that wait together")
struct GroupCommitTests {
  private func store(on disk: HookedDisk) throws -> FileStore {
    let store = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    return store
  }

  @Test("a store whose last reference goes with a job of its writer is closed, and leaves the lock free")
  func releasedByItsOwnThread() throws {
    let folder = TemporaryFolder()
    var store: FileStore? = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store?.change { try $0.createTree(people, kind: .records) }
    let writer = try #require(store?.writing)
    writer.monitor.withLock { [store] in writer.shared.jobs.append { withExtendedLifetime(store) {} } }
    store = nil
    writer.wakeThread(always: true)
    let next = try FileStore.open(at: folder.store(), options: StoreOptions())
    try next.change { try $0.put(key(1), bytes("next"), in: people) }
    #expect(try next.head.text(key(1)) == "next")
  }

  @Test("64 tasks share syncs, and each hears when its own commit is durable")
  func sharing() async throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    let before = store.counts
    // A sync takes until all have written, as on a slow disk.
    disk.holdSyncs(untilWritten: 64)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          let transaction = try await store.begin()
          try transaction.put(key(number), bytes("\(number)"), in: people)
          let pending = try #require(try transaction.commit())
          try await pending.durable()
          #expect(store.head.commit.number >= pending.number)
          #expect(try store.head.text(key(number)) == "\(number)")
        }
      }
      try await group.waitForAll()
    }
    #expect(store.counts.commits - before.commits == 64)
    #expect(store.counts.syncs - before.syncs <= 8)
    #expect(try store.head.tree(people)?.entryCount == 64)
  }

  @Test("threads that wait share syncs too")
  func threads() throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    let before = store.counts
    disk.holdSyncs(untilWritten: 8)
    var signals: [Signal] = []
    for number in 0..<8 {
      let signal = Signal()
      signals.append(signal)
      try startThread {
        _ = try? store.change { try $0.put(key(number), bytes("x"), in: people) }
        signal.fire()
      }
    }
    for signal in signals { signal.wait() }
    #expect(try store.head.tree(people)?.entryCount == 8)
    #expect(store.counts.syncs - before.syncs <= 8)
  }

  @Test("who waits behind a thread that gathers is not forgotten when another one syncs for that")
  func handedOver() throws {
    let disk = HookedDisk()
    var options = StoreOptions()
    options.gatheringTime = 60_000_000_000
    // Else idleness would see to what is not durable.
    options.idleSeconds = 3600
    let store = try FileStore.create(at: "store", options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    func pending(_ number: Int) throws -> PendingCommit {
      let transaction = try store.beginBlocking()
      try transaction.put(key(number), bytes("x"), in: people)
      return try #require(try transaction.commit())
    }
    let signals = (0..<3).map { _ in Signal() }
    let first = try pending(1)
    let opener = try store.beginBlocking()
    // It waits for the opener, who may write more.
    try startThread {
      try? first.wait()
      signals[0].fire()
    }
    while !store.writing.isGathering { yieldThread() }
    let (isSyncing, maySync) = (Signal(), Signal())
    disk.hooks.withLock { hooks in
      hooks.sync = {
        isSyncing.fire()
        maySync.wait()
      }
    }
    try startThread {
      try? first.wait(gathers: false)
      signals[1].fire()
    }
    isSyncing.wait()
    disk.hooks.withLock { $0.sync = {} }
    opener.cancel()
    let second = try pending(2)
    try startThread {
      try? second.wait()
      signals[2].fire()
    }
    while store.writing.waitingThreads == 0 { yieldThread() }
    maySync.fire()
    signals[0].wait()
    signals[1].wait()
    // Whoever was the last to go has told the third to see to itself.
    #expect(store.writing.waitingThreads == 0)
    try second.wait(gathers: false)
    signals[2].wait()
    #expect(store.head.commit.number == second.number)
  }

  /// Eight transactions in the queue, of which the third meets with `failure`; what became of each.
  private func queue(
    _ disk: HookedDisk, _ store: FileStore, failThird: @escaping @Sendable (FileTransaction) throws -> Void
  ) async throws -> [Result<UInt64, any Error>] {
    let opener = try store.beginBlocking()
    var tasks: [Task<UInt64, any Error>] = []
    for number in 1...8 {
      // Each joins the queue before the next one is made, so their order is known.
      let waiting = store.writing.waitingForTurn
      tasks.append(
        Task {
          let transaction = try await store.begin()
          try transaction.put(key(number), bytes("\(number)"), in: people)
          if number == 3 { try failThird(transaction) }
          let pending = try #require(try transaction.commit())
          try await pending.durable()
          return pending.number
        })
      while store.writing.waitingForTurn == waiting { await Task.yield() }
    }
    opener.cancel()
    var results: [Result<UInt64, any Error>] = []
    for task in tasks { results.append(await task.result) }
    return results
  }

  @Test("a transaction whose own closure throws fails alone")
  func ownFailure() async throws {
    struct Mistake: Error {}
    let disk = HookedDisk()
    let store = try store(on: disk)
    let results = try await queue(disk, store) { transaction in
      transaction.cancel()
      throw Mistake()
    }
    #expect(results.map { (try? $0.get()) != nil } == [true, true, false, true, true, true, true, true])
    #expect(results.compactMap { try? $0.get() } == Array(2...8))
    #expect(try store.head.tree(people)?.entryCount == 7)
    #expect(try store.head.text(key(3)) == nil)
  }

  @Test("a full disk fails the transaction that met it, and the store stays open")
  func fullDisk() async throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    let results = try await queue(disk, store) { _ in
      disk.failNextWrite(DiskError(operation: "pwrite", path: "store/data", code: MemoryDiskCode.tooLarge))
    }
    #expect(results.indices.filter { (try? results[$0].get()) == nil } == [2])
    let cause = DiskError(operation: "pwrite", path: "store/data", code: MemoryDiskCode.tooLarge)
    #expect(throws: StorageError.full(cause)) { try results[2].get() }
    for number in 1...8 { #expect(try store.head.text(key(number)) == (number == 3 ? nil : "\(number)")) }
    // There is room again, and what comes next is kept and read back.
    try store.change { try $0.put(key(9), bytes("9"), in: people) }
    try store.close()
    let again = try FileStore.open(at: "store", options: StoreOptions(), disk: disk)
    #expect(try again.head.text(key(9)) == "9")
    #expect(again.openingReport.damage == nil)
  }

  @Test(
    "after a write that failed for another reason than want of room the store takes no more, and opening it again does")
  func failedWrite() throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    try store.change { try $0.put(key(1), bytes("1"), in: people) }
    let cause = DiskError(operation: "pwrite", path: "store/data", code: 5)
    disk.failNextWrite(cause)
    #expect(throws: StorageError.io(cause)) { try store.change { try $0.put(key(2), bytes("2"), in: people) } }
    try expectPoison(cause, store, disk)
  }

  @Test("where the place of a frame that failed cannot be made zero again, the store takes no more")
  func failedZeros() throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    try store.change { try $0.put(key(1), bytes("1"), in: people) }
    let cause = DiskError(operation: "fallocate", path: "store/data", code: 5)
    disk.failNextWrite(DiskError(operation: "pwrite", path: "store/data", code: MemoryDiskCode.tooLarge))
    disk.hooks.withLock { $0.zero = { () throws(DiskError) in throw cause } }
    #expect(throws: StorageError.self) { try store.change { try $0.put(key(2), bytes("2"), in: people) } }
    try expectPoison(cause, store, disk)
  }

  private func expectPoison(_ cause: DiskError, _ store: FileStore, _ disk: HookedDisk) throws {
    disk.hooks.withLock { $0 = HookedDisk.Hooks() }
    #expect(throws: StorageError.poisoned(cause: cause)) { try store.beginBlocking() }
    try store.close()
    let again = try FileStore.open(at: "store", options: StoreOptions(), disk: disk)
    try again.change { try $0.put(key(3), bytes("3"), in: people) }
    #expect(try again.head.text(key(1)) == "1")
    #expect(try again.head.text(key(2)) == nil)
    #expect(try again.head.text(key(3)) == "3")
  }

  @Test("a failed sync fails all that wait, poisons the store, and opening again finds whole commits")
  func failedSync() async throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    let results = try await queue(disk, store) { _ in
      disk.hooks.withLock { hooks in
        hooks.sync = { () throws(DiskError) in throw DiskError(operation: "fdatasync", path: "store/data", code: 5) }
      }
    }
    let cause = DiskError(operation: "fdatasync", path: "store/data", code: 5)
    // The first two may have been durable before the failure; none after it is.
    for index in 2..<8 {
      #expect(throws: StorageError.poisoned(cause: cause)) { try results[index].get() }
    }
    #expect(throws: StorageError.poisoned(cause: cause)) { try store.beginBlocking() }
    let seen = store.head.commit.number
    #expect(seen <= 3)

    disk.hooks.withLock { $0 = HookedDisk.Hooks() }
    #expect(throws: StorageError.self) { try store.close() }
    let again = try FileStore.open(at: "store", options: StoreOptions(), disk: disk)
    #expect(again.head.commit.number >= seen)
    try again.change { try $0.put(key(20), bytes("20"), in: people) }
    #expect(try again.head.text(key(20)) == "20")
  }

  @Test(
    "a collated commit is seen at once here, durable with the next plain one, and its failure is thrown by the next write"
  )
  func collated() throws {
    let disk = HookedDisk()
    let store = try store(on: disk)
    let before = store.counts.syncs
    let transaction = try store.beginBlocking()
    try transaction.put(key(1), bytes("a"), in: people)
    _ = try transaction.commit(CommitInfo(durability: .collated))
    #expect(try store.head.text(key(1)) == "a")
    #expect(store.counts.syncs == before)
    let other = try FileStore.open(at: "store", options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(try other.refresh().text(key(1)) == nil)
    try store.change { try $0.put(key(2), bytes("b"), in: people) }
    #expect(store.counts.syncs == before + 1)
    #expect(try other.refresh().text(key(1)) == "a")

    let second = try store.beginBlocking()
    try second.put(key(3), bytes("c"), in: people)
    let pending = try #require(try second.commit(CommitInfo(durability: .collated)))
    disk.hooks.withLock { hooks in
      hooks.sync = { () throws(DiskError) in throw DiskError(operation: "fdatasync", path: "store/data", code: 5) }
    }
    #expect(throws: StorageError.self) { try pending.wait() }
    #expect(throws: StorageError.self) { try store.beginBlocking() }
  }

  @Test("threads that wait for their commits go on when a compaction has made them durable")
  func compaction() throws {
    let disk = HookedDisk(of: "data.compact")
    var options = StoreOptions()
    // So long that nobody syncs for them.
    options.gatheringTime = 3_600_000_000_000
    let store = try FileStore.create(at: "store", options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    let pending = try (1...3).map { number in
      let transaction = try store.beginBlocking()
      try transaction.put(key(number), bytes("\(number)"), in: people)
      return try #require(try transaction.commit())
    }
    let done = pending.map { _ in Signal() }
    let hasBegun = Atomic(false)
    disk.hooks.withLock { hooks in
      hooks.sync = { () throws(DiskError) in
        // In the last turn of the compaction, which nobody else has then.
        guard store.writing.isTurnTaken, !hasBegun.exchange(true, ordering: .relaxed) else { return }
        for (pending, done) in zip(pending, done) {
          try startThread {
            try? pending.wait()
            done.fire()
          }
        }
        while !store.writing.isGathering || store.writing.waitingThreads < 2 { yieldThread() }
      }
    }
    _ = try store.compact(.all)
    let hasWaited = hasBegun.load(ordering: .relaxed)
    #expect(hasWaited)
    for signal in done { signal.wait() }
    #expect(try store.head.text(key(3)) == "3")
  }

  @Test("a task does not wait any longer when the transaction behind it throws")
  func failedBehind() async throws {
    var options = StoreOptions()
    // So long that a wait for its end would be noticed.
    (options.gatheringTime, options.idleSeconds) = (3_600_000_000_000, 3600)
    let store = try FileStore.create(at: "store", options: options, disk: HookedDisk())
    try store.change { try $0.createTree(people, kind: .records) }
    let transaction = try await store.begin()
    try transaction.put(key(1), bytes("1"), in: people)
    let pending = try #require(try transaction.commit())
    let other = try await store.begin()
    let task = Task { try await pending.durable() }
    while !store.writing.isGathering { await Task.yield() }
    other.cancel()
    try await task.value
    #expect(store.head.commit.number == 2)
  }

  @Test("closing waits for no other commits before it syncs what is there")
  func closing() throws {
    var options = StoreOptions()
    options.gatheringTime = 3_600_000_000_000
    let store = try FileStore.create(at: "store", options: options, disk: HookedDisk())
    let transaction = try store.beginBlocking()
    try transaction.createTree(people, kind: .records)
    let pending = try transaction.commit(CommitInfo(durability: .collated))
    try store.close()
    try pending?.wait()
    #expect(store.counts.syncs == 1)
  }
}

extension Writer {
  var isTurnTaken: Bool { monitor.withLock { shared.queue.turns.isTaken } }
  /// Whether one that leads waits for those that write before it syncs.
  var isGathering: Bool { monitor.withLock { shared.queue.isGathering } }
  var waitingThreads: Int { monitor.withLock { shared.queue.sleepingThreads } }
}
