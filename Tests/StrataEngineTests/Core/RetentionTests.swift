import Glibc
import StrataLocks
import Testing

@testable import StrataEngine

@Suite("A store's own policy")
struct RetentionTests {
  private let disk = MemoryDisk()

  /// The generation after a store was written and closed: so many commits, each with so many new bytes under one key of many.
  private func generation(_ retention: Retention, commits: Int, keys: Int) throws -> UInt64 {
    let store = try FileStore.create(at: "kept", options: StoreOptions(retention: retention), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<commits {
      try store.change { try $0.put(key(number % keys), [UInt8](repeating: 1, count: 200_000), in: people) }
    }
    try store.close()
    return try FileStore.open(at: "kept", options: StoreOptions(), disk: disk).identity.generation
  }

  @Test("it makes room where more is dead than alive")
  func pays() throws { #expect(try generation(.last(2), commits: 20, keys: 1) == 2) }

  @Test("it does nothing where no commit would go, however much is dead")
  func keepsAll() throws { #expect(try generation(.last(100), commits: 20, keys: 1) == 1) }

  @Test("it does nothing where more is alive than dead, nor for a little")
  func littleDead() throws {
    #expect(try generation(.last(2), commits: 30, keys: 20) == 1)
  }

  @Test("nor for less than a MiB")
  func little() throws { #expect(try generation(.last(1), commits: 5, keys: 1) == 1) }
}

@Suite("Pruning while idle, and at closing")
struct PruningTests {
  /// Commits that each write so many bytes under one key.
  private func write(_ store: FileStore, commits: Int, bytes: Int = 200_000) throws {
    for number in 0..<commits {
      try store.change { try $0.put(key(1), [UInt8](repeating: UInt8(number % 250), count: bytes), in: people) }
    }
  }

  private func store(
    _ retention: Retention, on disk: any Disk = MemoryDisk(), first: CommitInfo = CommitInfo()
  ) throws -> FileStore {
    var options = StoreOptions(retention: retention)
    // So that nothing happens but what a test does.
    options.idleSeconds = 3600
    let store = try FileStore.create(at: "kept", options: options, disk: disk)
    try store.change(first) { try $0.createTree(people, kind: .records) }
    return store
  }

  private func untilPruned(_ store: FileStore) { while store.schedule.withLock({ $0.isRunning }) { yieldThread() } }

  @Test("where nothing is to be pruned the history is read once, and again only when there is much more of it")
  func remembered() throws {
    let store = try store(.last(1_000))
    try write(store, commits: 20)
    #expect(store.pruneWhileIdle())
    untilPruned(store)
    let before = store.counts
    for _ in 0..<5 { #expect(!store.pruneWhileIdle()) }
    try write(store, commits: 1)
    #expect(!store.pruneWhileIdle())
    #expect(store.counts.frameReads == before.frameReads)
    try write(store, commits: 10)
    #expect(store.pruneWhileIdle())
    untilPruned(store)
    #expect(store.identity.generation == 1)
  }

  @Test("a commit that only its name keeps, however old it is, is no reason to read the history again and again")
  func namedAndOld() throws {
    let hour: Int64 = 3_600_000_000_000
    for retention in [Retention.younger(hour), .either(last: 1, younger: hour), .younger(.max)] {
      let store = try store(retention, first: CommitInfo(date: 1_000, names: ["first": 0]))
      try write(store, commits: 20)
      #expect(store.pruneWhileIdle())
      untilPruned(store)
      #expect(!store.pruneWhileIdle(), "\(retention)")
      #expect(store.identity.generation == 1)
    }
  }

  @Test("a history that is kept by its age is looked at again when its oldest commit is too old")
  func age() throws {
    let store = try store(.last(1))
    try write(store, commits: 20)
    let state = store.publication.current
    var schedule = RetentionSchedule()
    #expect(schedule.begin(state, now: 100) == true)
    // One at a time.
    #expect(schedule.begin(state, now: 100) == false)
    schedule.end(keepsAll: state, until: 200)
    #expect(schedule.begin(state, now: 199) == false)
    #expect(schedule.begin(state, now: 200) == true)
  }

  @Test("a person's own files with the names of the store's notes stay as they are")
  func ownNotes() throws {
    let disk = MemoryDisk()
    let (names, own) = (["kept/activity", "kept/pruning"], bytes("my own notes"))
    for name in names { try disk.open(name, .create).write(own, at: 0) }
    let store = try store(.last(1), on: disk)
    try write(store, commits: 3)
    store.setActivity(bytes("busy"))
    store.leaveActivity(bytes("done"))
    #expect(throws: StorageError.alreadyExists(path: "kept/pruning")) {
      try NoteFile.pruning(disk, "kept").write(bytes("full"), number: 1)
    }
    #expect(try store.compact(.last(1)).commitsPruned > 0)
    try store.close()
    for name in names {
      let block = MemoryBlock(count: 100)
      let count = try disk.open(name, .read).read(into: block.bytes, at: 0)
      #expect(Array(block.bytes[..<count]) == own, "\(name)")
    }
  }

  @Test("pruning goes on beside writers")
  func besideWriters() throws {
    let store = try store(.last(2))
    try write(store, commits: 20)
    #expect(store.pruneWhileIdle())
    for number in 0..<50 { try store.change { try $0.put(key(2), bytes("\(number)"), in: people) } }
    untilPruned(store)
    #expect(store.identity.generation == 2)
    #expect(try store.head.text(key(2)) == "49")
    try store.close()
  }

  @Test("closing ends a compaction that is under way, whoever asked for it")
  func closing() throws {
    let store = try store(.all)
    try write(store, commits: 50, bytes: 2_000)
    let hasBegun = Signal()
    let outcome = Mutex<StorageError?>(nil)
    let hasEnded = Signal()
    try startThread {
      let isFirst = Mutex(true)
      do throws(StorageError) {
        _ = try store.compact(.last(40)) { _ in
          // Held until closing has asked it to end.
          if isFirst.withLock({ first in
            defer { first = false }; return first
          }) {
            hasBegun.fire()
            while !store.isEndingCompactions { yieldThread() }
          }
          return true
        }
      } catch {
        outcome.withLock { $0 = error }
      }
      hasEnded.fire()
    }
    hasBegun.wait()
    try store.close()
    hasEnded.wait()
    #expect(outcome.withLock { $0 } == .cancelled)
    #expect(store.identity.generation == 1)
  }

  @Test("closing a large store does not compact it; idleness does")
  func largeStore() throws {
    let disk = MemoryDisk()
    let store = try store(.last(2), on: disk)
    try write(store, commits: 100)
    let before = store.counts.bytesWritten
    try store.close()
    #expect(store.counts.bytesWritten - before < 100_000)
    let again = try FileStore.open(at: "kept", options: StoreOptions(retention: .last(2)), disk: disk)
    #expect(again.identity.generation == 1)
    #expect(again.pruneWhileIdle())
    untilPruned(again)
    #expect(again.identity.generation == 2)
    try again.close()
  }
}

/// A disk with a clock and a number of free bytes that a test sets.
private final class PlannedDisk: ForwardingDisk {
  let base: any Disk
  let clock = Mutex<Int64>(1_000_000_000_000_000_000)
  let free = Mutex<UInt64?>(nil)

  init(_ base: any Disk) { self.base = base }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile { try base.open(path, mode) }
  func now() -> Int64 { clock.withLock { $0 } }
  func freeBytes(at path: String) throws(DiskError) -> UInt64? { free.withLock { $0 } }

  func pass(minutes: Int64) { clock.withLock { $0 += minutes * 60_000_000_000 } }
}

@Suite("Pruning that cannot come to its end")
struct FailedPruningTests {
  private let hooked: HookedDisk
  private let disk: PlannedDisk

  init() {
    hooked = HookedDisk(of: "data.compact")
    disk = PlannedDisk(hooked)
  }

  private func open(creates: Bool = false) throws -> FileStore {
    var options = StoreOptions(retention: .last(2))
    // So that nothing happens but what a test does.
    options.idleSeconds = 3600
    guard creates else { return try FileStore.open(at: "kept", options: options, disk: disk) }
    let store = try FileStore.create(at: "kept", options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<20 {
      try store.change { try $0.put(key(1), [UInt8](repeating: UInt8(number), count: 200_000), in: people) }
    }
    return store
  }

  /// Whether an attempt was begun; returns when it has ended.
  private func prunes(_ store: FileStore) -> Bool {
    let hasBegun = store.pruneWhileIdle()
    while store.schedule.withLock({ $0.isRunning }) { yieldThread() }
    return hasBegun
  }

  @Test(
    "each failure doubles the pause before the next attempt, up to a day, for all processes, until one comes to its end"
  )
  func backoff() throws {
    let store = try open(creates: true)
    hooked.hooks.withLock { hooks in
      hooks.write = { () throws(DiskError) in throw DiskError(operation: "pwrite", path: "data.compact", code: ENOSPC) }
    }
    var pause: Int64 = 1
    for attempt in 1...13 {
      #expect(prunes(store))
      let failure = try #require(store.pruningFailure)
      #expect(failure.nextAttempt == disk.now() + pause * 60_000_000_000)
      #expect(failure.reason.contains("no room"))
      #expect(try disk.status("kept/data.compact") == nil)
      #expect(!prunes(store))
      store.releaseLock()
      // Another process, and one that opens the store anew.
      let other = try open()
      #expect(!prunes(other))
      #expect(other.openingReport.notes.last?.contains("the next attempt is in \(pause) min") == true)
      disk.pass(minutes: pause)
      pause = attempt < 11 ? pause * 2 : 1440
    }
    hooked.hooks.withLock { $0.write = {} }
    #expect(prunes(try open()))
    #expect(try open().identity.generation == 2)
    #expect(store.pruningFailure == nil && store.openingReport == OpeningReport())
    #expect(try disk.status("kept/pruning") == nil)
  }

  @Test("nothing is copied where the disk lacks room for the copy and 64 MiB")
  func room() throws {
    let store = try open(creates: true)
    disk.free.withLock { $0 = 64 << 20 }
    #expect(prunes(store))
    #expect(store.pruningFailure?.reason.contains("and 64 MiB are") == true)
    disk.pass(minutes: 1)
    hooked.hooks.withLock { $0.write = { Issue.record("something was copied") } }
    #expect(prunes(store))
    #expect(store.identity.generation == 1)
    hooked.hooks.withLock { $0.write = {} }
    disk.free.withLock { $0 = 70 << 20 }
    disk.pass(minutes: 2)
    #expect(prunes(store))
    #expect(store.identity.generation == 2 && store.pruningFailure == nil)
  }

  @Test("closing waits for the next attempt too, and notes a failure of its own")
  func closing() throws {
    let store = try open(creates: true)
    hooked.hooks.withLock { hooks in
      hooks.write = { () throws(DiskError) in throw DiskError(operation: "pwrite", path: "data.compact", code: ENOSPC) }
    }
    try store.close()
    let again = try open()
    #expect(again.pruningFailure?.nextAttempt == disk.now() + 60_000_000_000)
    hooked.hooks.withLock { $0.write = {} }
    try again.change { try $0.put(key(2), bytes("more"), in: people) }
    try again.close()
    #expect(try open().identity.generation == 1)
    disk.pass(minutes: 1)
    let last = try open()
    try last.change { try $0.put(key(2), bytes("and more"), in: people) }
    try last.close()
    #expect(try open().identity.generation == 2)
  }

  @Test("a clock that was set back by years does not hold the next attempt off")
  func clockSetBack() throws {
    let store = try open(creates: true)
    disk.free.withLock { $0 = 0 }
    disk.pass(minutes: 5_000_000)
    #expect(prunes(store))
    disk.free.withLock { $0 = nil }
    disk.pass(minutes: -5_000_000)
    #expect(prunes(store))
    #expect(store.identity.generation == 2)
  }

  @Test("the writer's thread does its idle work again after a pause, though nobody has committed")
  func repeated() throws {
    let store = try open(creates: true)
    store.releaseLock()
    let isDone = Signal()
    store.writing.setIdleWork { isDone.fire() }
    store.writing.repeatIdleWork(after: 1)
    isDone.wait()
  }
}
