import DiskSimulation
import Glibc
import StrataLocks
import Testing

@testable import StrataEngine

@Suite("Zeros ahead of the frames")
struct ZeroAheadTests {
  /// A store that counts as large from its first byte on.
  private var options: StoreOptions {
    var options = StoreOptions()
    options.largeStore = 0
    return options
  }

  @Test("in a large store no commit writes zeros or syncs them; a thread does both")
  func thread() throws {
    let disk = HookedDisk()
    let own = pthread_self()
    let counts = Mutex((own: 0, zeros: 0, syncs: 0))
    disk.hooks.withLock { hooks in
      hooks.zero = {
        let isOwn = pthread_equal(pthread_self(), own) != 0
        counts.withLock { if isOwn { $0.own += 1 } else { $0.zeros += 1 } }
      }
      hooks.sync = {
        let isOwn = pthread_equal(pthread_self(), own) != 0
        counts.withLock { if !isOwn { $0.syncs += 1 } }
      }
    }
    let store = try FileStore.create(at: "large", options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    var commits = 0
    // Small commits: a thread that a busy machine starts late still finds zeros to write.
    while counts.withLock({ $0.syncs < 3 }), commits < 500_000 {
      try store.change { try $0.put(key(commits % 50), [UInt8](repeating: 1, count: 100), in: people) }
      commits += 1
    }
    try store.close()
    let found = counts.withLock { $0 }
    #expect(found.own == 0)
    #expect(found.syncs >= 3)
    #expect(found.zeros >= found.syncs)
    #expect(store.fileBytes >= store.dataBytes)
    #expect(try FileStore.verify(at: "large", disk: disk).isClean)
  }

  @Test("in a small store nearly every commit finds zeros where it is written, and leaves the file as long as it was")
  func small() throws {
    let disk = HookedDisk()
    let zeros = Mutex(0)
    let store = try FileStore.create(at: "small", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    disk.hooks.withLock { hooks in hooks.zero = { zeros.withLock { $0 += 1 } } }
    var lengths = [store.fileBytes]
    let begin = store.dataBytes
    for number in 0..<200 {
      try store.change { try $0.put(key(number), bytes("\(number)"), in: people) }
      #expect(store.fileBytes > store.dataBytes)
      if store.fileBytes != lengths.last { lengths.append(store.fileBytes) }
    }
    let most = Int((store.dataBytes - begin) / (128 << 10)) + 1
    #expect(lengths.count - 1 <= most, "the file grew \(lengths.count - 1) times")
    #expect(zeros.withLock { $0 } <= most)
    #expect(most < 20)
  }

  @Test(
    "a failed sync of zeros poisons the store, because it may have been a commit's; so does one that brings a part of them to the disk",
    arguments: [\HookedDisk.Hooks.sync, \.writeBack])
  func failedSync(call: any WritableKeyPath<HookedDisk.Hooks, HookedDisk.Hook> & Sendable) throws {
    let disk = HookedDisk()
    let own = pthread_self()
    let store = try FileStore.create(at: "large", options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    disk.hooks.withLock { hooks in
      hooks[keyPath: call] = { () throws(DiskError) in
        if pthread_equal(pthread_self(), own) == 0 { throw DiskError(operation: "fdatasync", path: "data", code: EIO) }
      }
    }
    var commits = 0
    let error = #expect(throws: StorageError.self) {
      while commits < 20_000 {
        commits += 1
        try store.change { try $0.put(key(1), [UInt8](repeating: 1, count: 10_000), in: people) }
      }
    }
    guard case .poisoned? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(
    "a page that was lost is told to the commit that syncs it, also where the thread that writes zeros is told first")
  func lostPage() throws {
    let disk = HookedDisk()
    let own = pthread_self()
    let store = try FileStore.create(at: "large", options: options, disk: disk)
    let (begins, goesOn) = (Signal(), Signal())
    let zeros = store.writing.zeros
    disk.hooks.withLock { hooks in
      hooks.writeBack = {
        begins.fire()
        goesOn.wait()
      }
      hooks.sync = {
        guard pthread_equal(pthread_self(), own) != 0 else { return }
        // A page of this commit is lost while the thread waits for its zeros, and that one is told of it first.
        begins.wait()
        disk.losePage()
        goesOn.fire()
        zeros.waitWhileBusy()
      }
    }
    #expect(throws: StorageError.self) { try store.change { try $0.createTree(people, kind: .records) } }
    #expect(disk.told.withLock { $0 } == ["sync_file_range", "fdatasync"])
    #expect(store.head.commit.number == 0)
  }

  @Test("an error that appears elsewhere while a commit is synced fails the commit, though its own sync succeeds")
  func errorElsewhere() throws {
    let disk = HookedDisk()
    let own = pthread_self()
    let store = try FileStore.create(at: "large", options: options, disk: disk)
    let cause = DiskError(operation: "sync_file_range", path: "data", code: EIO)
    let (begins, goesOn) = (Signal(), Signal())
    let zeros = store.writing.zeros
    disk.hooks.withLock { hooks in
      hooks.writeBack = { () throws(DiskError) in
        begins.fire()
        goesOn.wait()
        throw cause
      }
      hooks.sync = {
        guard pthread_equal(pthread_self(), own) != 0 else { return }
        begins.wait()
        goesOn.fire()
        zeros.waitWhileBusy()
      }
    }
    #expect(throws: StorageError.poisoned(cause: cause)) {
      try store.change { try $0.createTree(people, kind: .records) }
    }
    #expect(store.head.commit.number == 0)
  }

  @Test("an error other than want of room poisons the store where zeros are written, by a thread or by a commit")
  func failedZeros() throws {
    for largeStore in [0, FileOffset.unreachable] {
      let disk = HookedDisk()
      var options = StoreOptions()
      options.largeStore = largeStore
      let store = try FileStore.create(at: "store", options: options, disk: disk)
      try store.change { try $0.createTree(people, kind: .records) }
      let code = Mutex(ENOSPC)
      disk.hooks.withLock { hooks in
        hooks.zero = { () throws(DiskError) in
          throw DiskError(operation: "pwrite", path: "data", code: code.withLock { $0 })
        }
      }
      func fill(_ count: Int) throws {
        for _ in 0..<count {
          try store.change { try $0.put(key(1), [UInt8](repeating: 1, count: 100), in: people) }
        }
      }
      // Where there is no room for zeros there is for frames. Small ones: a thread that a busy machine starts late still writes zeros.
      try fill(5_000)
      code.withLock { $0 = EIO }
      #expect(throws: StorageError.poisoned(cause: DiskError(operation: "pwrite", path: "data", code: EIO))) {
        try fill(200_000)
      }
    }
  }

  @Test(
    "a thread that begins late, when its work was ended and another's begun in another file, leaves both files alone")
  func late() throws {
    let disk = HookedDisk()
    let stores = try ["old", "new"].map { try FileStore.create(at: $0, options: StoreOptions(), disk: disk) }
    let files = stores.map(\.publication.current.file)
    let threads = Mutex<[@Sendable () -> Void]>([])
    let zeros = ZeroAhead(largeStore: 0, counters: Counters()) { thread in threads.withLock { $0.append(thread) } }
    let end: FileOffset = 0x10_0000
    zeros.begin(at: end)
    zeros.provide(behind: end, in: files[0]) { _ in }
    let middle: FileOffset = 0x8_0000
    zeros.begin(at: middle)
    zeros.provide(behind: middle, in: files[1]) { _ in }
    let begun = threads.withLock { $0 }
    #expect(begun.count == 2)
    begun[0]()
    #expect(try files[0].file.status.end < middle)
    begun[1]()
    #expect(try files[1].file.status.end > middle)
  }

  /// Holds the first zeros back that are written, until `goesOn` fires; then `body` runs, and they are written.
  private func holdBackZeros(
    on disk: HookedDisk, until goesOn: Signal, _ body: @escaping @Sendable () throws(DiskError) -> Void
  ) -> Signal {
    let begins = Signal()
    let isFirst = Mutex(true)
    disk.hooks.withLock { hooks in
      hooks.zero = { () throws(DiskError) in
        let isHeldBack = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        guard isHeldBack else { return }
        begins.fire()
        goesOn.wait()
        try body()
      }
    }
    return begins
  }

  /// Lets others run until something is so, or so often that they would have made it so.
  private func look(for condition: () throws(DiskError) -> Bool) throws(DiskError) -> Bool {
    for _ in 0..<10_000 {
      if try condition() { return true }
      yieldThread()
    }
    return false
  }

  @Test(
    "the writer's lock is held until the zeros that a thread writes are there, also where a sync failed",
    arguments: [false, true])
  func release(afterFailure: Bool) throws {
    let disk = HookedDisk()
    let own = pthread_self()
    let goesOn = Signal()
    let wasLetGo = Mutex<Bool?>(nil)
    let begins = holdBackZeros(on: disk, until: goesOn) { [self] () throws(DiskError) in
      let lock = try disk.open("large/lock", .read)
      let isFree = try look { () throws(DiskError) in try !lock.isLockedElsewhere() }
      wasLetGo.withLock { $0 = isFree }
    }
    let store = try FileStore.create(at: "large", options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    begins.wait()
    if afterFailure {
      let cause = DiskError(operation: "fdatasync", path: "data", code: EIO)
      disk.hooks.withLock { hooks in
        hooks.sync = { () throws(DiskError) in if pthread_equal(pthread_self(), own) != 0 { throw cause } }
      }
      #expect(throws: StorageError.poisoned(cause: cause)) {
        try store.change { try $0.put(key(1), bytes("x"), in: people) }
      }
    }
    goesOn.fire()
    store.releaseLock()
    #expect(wasLetGo.withLock { $0 } == false)

    disk.hooks.withLock { $0.sync = {} }
    let next = try FileStore.open(at: "large", options: options, disk: disk)
    try next.change { try $0.createTree(TreeName(Array("towns".utf8)), kind: .entries) }
    #expect(try FileStore.verify(at: "large", disk: disk).isClean)
    guard !afterFailure else { return }
    // Had the file changed after the lock was let go of, the next writer would take it for a copy.
    #expect(try next.commit(2).origin == next.commit(1).origin)
  }

  @Test("a compaction ends once no zeros are written any more to the file that it replaced")
  func compaction() throws {
    let disk = HookedDisk()
    let store = try FileStore.create(at: "large", options: options, disk: disk)
    let old = try disk.status("large/data")?.identity
    var room: UInt64 { store.fileBytes - store.dataBytes }
    func put(_ count: Int) throws {
      try store.change { try $0.put(key(1), [UInt8](repeating: 1, count: count), in: people) }
    }
    try store.change { try $0.createTree(people, kind: .records) }
    // A thread writes them, which a busy machine may let wait for long.
    while room <= 100 << 10 { yieldThread() }
    store.writing.zeros.stop()
    // So few are left that one more commit calls for others.
    while room > 76 << 10 { try put(1_000) }

    let goesOn = Signal()
    let isOver = Mutex(false)
    let wasOver = Mutex<Bool?>(nil)
    let begins = holdBackZeros(on: disk, until: goesOn) { [self] () throws(DiskError) in
      // With an end, so that a compaction that waits for these zeros fails the test instead of holding it up.
      var looks = 0
      while try disk.status("large/data")?.identity == old {
        looks += 1
        if looks == 5_000_000 { return }
        yieldThread()
      }
      let found = try look { () throws(DiskError) in isOver.withLock { $0 } }
      wasOver.withLock { $0 = found }
    }
    // Begun when everything is copied: until then a compaction lets zeros be written.
    let failure = Mutex<(any Error)?>(nil)
    _ = try store.compact(.all) { step in
      guard step.commitsDone == step.commitsToDo else { return true }
      do { try put(20_000) } catch { failure.withLock { $0 = error } }
      begins.wait()
      goesOn.fire()
      return true
    }
    isOver.withLock { $0 = true }
    #expect(failure.withLock { $0 } == nil)
    #expect(wasOver.withLock { $0 } == false)
    for number in 0..<50 { try store.change { try $0.put(key(number), bytes("\(number)"), in: people) } }
    try store.close()
    #expect(try FileStore.verify(at: "large", disk: disk).isClean)
  }

  @Test("there are zeros behind the frames of each commit, also of a compacted store that is shorter than it was")
  func always() throws {
    let store = try FileStore.create(at: "small", options: StoreOptions(), disk: MemoryDisk())
    try store.change { try $0.createTree(people, kind: .records) }
    func write(_ count: Int) throws {
      for number in 0..<count {
        try store.change { try $0.put(key(1), [UInt8](repeating: UInt8(number), count: 10_000), in: people) }
        #expect(store.fileBytes > store.dataBytes, "commit \(store.head.commit.number)")
      }
    }
    try write(60)
    _ = try store.compact(.last(1))
    let shorter = store.fileBytes
    try write(30)
    #expect(store.fileBytes > shorter)
  }

  @Test("a writer that finds zeros behind the frames writes no others")
  func found() throws {
    let disk = HookedDisk()
    let store = try FileStore.create(at: "small", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    try store.close()
    let zeros = Mutex(0)
    disk.hooks.withLock { $0.zero = { zeros.withLock { $0 += 1 } } }
    let next = try FileStore.open(at: "small", options: StoreOptions(), disk: disk)
    for number in 0..<5 { try next.change { try $0.put(key(number), bytes("x"), in: people) } }
    #expect(zeros.withLock { $0 } == 0)
    #expect(next.fileBytes > next.dataBytes)
  }

  @Test("power cuts while a thread writes zeros")
  func powerCuts() async throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 21)
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk, options: options)
    runner.promised = { disk.note($0) }
    try runner.run([
      .commit([.create(tree: 0), .create(tree: 1)]), .commit([.bulk(tree: 0, from: 0, count: 150, size: 600)]),
      .group((0..<4).map { [.put(tree: 0, key: $0, size: 30_000)] }), .reopen,
      .commit([.put(tree: 0, key: 1, size: 90_000)]), .commit([.delete(tree: 0, key: 1)]),
    ])
    let model = runner.model
    try runner.store.close()
    disk.note(model.newest)
    var run = PowerCutRun()
    let workload = RecordedWorkload(
      name: "zeros by a thread", record: disk.record, start: disk.start, finish: disk.image, model: model)
    await run.add(workload, seed: 1, recoveryStride: .max)
    #expect(run.failures.isEmpty, "\(run.failures.count) failures, the first: \(run.failures.prefix(5))")
  }

  @Test(
    "what a cancelled transaction had written is zeroed by the next one, if the disk had no room for that at first",
    arguments: [false, true])
  func zeroedLater(isReleased: Bool) throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 5)
    let store = try FileStore.create(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    let transaction = try store.beginBlocking()
    for number in 0..<40 {
      try transaction.put(key(number), [UInt8](repeating: 7, count: 100_000), in: people)
    }
    disk.plant(DiskFault(call: .zero, number: 1, code: ENOSPC, isLasting: true))
    transaction.cancel()
    #expect(try behindEnd(store, disk) > 0)
    #expect(throws: (any Error).self) { try store.beginBlocking() }
    if isReleased { store.releaseLock() }
    disk.plant(nil)
    for number in 1...2 {
      try store.change { try $0.put(key(number), [UInt8(number)], in: people) }
      #expect(try behindEnd(store, disk) == 0)
    }
    try store.close()
    #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).isClean)
    #expect(try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(), disk: disk).head.commit.number == 3)
  }

  /// The number of bytes behind the newest commit that are not zero.
  private func behindEnd(_ store: FileStore, _ disk: SimulatedDisk) throws -> Int {
    let contents = try #require(disk.image.contents(at: RecordedWorkload.path + "/data")).array
    return contents.dropFirst(Int(store.dataBytes)).count { $0 != 0 }
  }
}
