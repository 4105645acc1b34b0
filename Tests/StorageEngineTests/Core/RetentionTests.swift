import Locks
import Testing

@testable import StorageEngine

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

  private func store(_ retention: Retention, on disk: any Disk = MemoryDisk()) throws -> FileStore {
    var options = StoreOptions(retention: retention)
    // So that nothing happens but what a test does.
    options.idleSeconds = 3600
    let store = try FileStore.create(at: "kept", options: options, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    return store
  }

  private func untilPruned(_ store: FileStore) { while store.schedule.withLock({ $0.isRunning }) { letOthersRun() } }

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
            while !store.isEndingCompactions { letOthersRun() }
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
