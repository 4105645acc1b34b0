import StrataLocks
import Testing

@testable import StrataEngine

@Suite("Writing and reading beside another process")
struct BesideWriterTests {
  private func options(idleSeconds: Double = 3600, lookDistance: Int64 = .max) -> StoreOptions {
    var options = StoreOptions(idleSeconds: idleSeconds)
    options.lookDistance = lookDistance
    return options
  }

  private func store(at path: String, _ disk: any Disk, idleSeconds: Double = 3600) throws -> FileStore {
    let store = try FileStore.create(at: path, options: options(idleSeconds: idleSeconds), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    return store
  }

  private func untilLetGo(_ store: FileStore) { while store.writing.holdsLock { yieldThread() } }

  // MARK: The lock

  @Test("after idleness the lock is free, another process commits, and the next transaction builds on that")
  func idle() throws {
    let folder = TemporaryFolder()
    let first = try store(at: folder.store(), SystemDisk(), idleSeconds: 0.001)
    let second = try FileStore.open(at: folder.store(), options: options())
    for round in 0..<5 {
      try first.change { try $0.put(key(round), bytes("first"), in: people) }
      untilLetGo(first)
      try second.change { try $0.put(key(100 + round), bytes("second"), in: people) }
      #expect(try first.refresh().text(key(100 + round)) == "second")
      second.releaseLock()
    }
    untilLetGo(first)
    #expect(first.writer == nil)
    #expect(try second.refresh().tree(people)?.entryCount == 10)
    #expect(second.head.commit.number == 11)
    #expect(try FileStore.verify(at: folder.store(), disk: SystemDisk()).isClean)
  }

  @Test("what was noted on letting go vouches for all: nothing is adopted or cut by the next writer")
  func notedEnd() throws {
    let disk = HookedDisk()
    let first = try store(at: "store", disk, idleSeconds: 0.001)
    let transaction = try first.beginBlocking()
    try transaction.put(key(1), bytes("collated"), in: people)
    _ = try transaction.commit(CommitInfo(durability: .collated))
    untilLetGo(first)
    let second = try FileStore.open(at: "store", options: options(), disk: disk)
    #expect(second.openingReport == OpeningReport())
    #expect(try second.head.text(key(1)) == "collated")
    let before = second.counts.syncs
    try second.change { try $0.put(key(2), bytes("2"), in: people) }
    #expect(second.counts.syncs - before == 1)
    #expect(second.openingReport == OpeningReport())
  }

  @Test("the lock is kept while a transaction is open, however long, and let go of where nothing was committed")
  func openTransaction() throws {
    let folder = TemporaryFolder()
    let first = try store(at: folder.store(), SystemDisk(), idleSeconds: 0.001)
    untilLetGo(first)
    let transaction = try first.beginBlocking()
    let second = try FileStore.open(at: folder.store(), options: StoreOptions(lockPatience: 0.05))
    #expect(throws: StorageError.self) { try second.beginBlocking() }
    transaction.cancel()
    untilLetGo(first)
    try second.change { try $0.put(key(1), bytes("second"), in: people) }
  }

  @Test("to take the lock again where nobody wrote meanwhile reads no frame and syncs nothing of its own")
  func takenAgain() throws {
    let folder = TemporaryFolder()
    let store = try store(at: folder.store(), SystemDisk())
    for number in 0..<300 { try store.change { try $0.put(key(number), bytes("\(number)"), in: people) } }
    store.releaseLock()
    let before = store.counts
    try store.beginBlocking().cancel()
    #expect(store.counts.frameReads == before.frameReads)
    #expect(store.counts.nodeReads == before.nodeReads)
    #expect(store.counts.syncs == before.syncs)
    // The word on who writes, and no more.
    #expect(store.counts.writes == before.writes)
    try store.change { try $0.put(key(1), bytes("again"), in: people) }
    #expect(store.counts.syncs == before.syncs + 1)
    try store.close()
    #expect(try FileStore.verify(at: folder.store(), disk: SystemDisk()).isClean)
  }

  @Test("data that was put back while the lock was free is not taken for what was left, though the lock file says so")
  func putBack() throws {
    let folder = TemporaryFolder()
    let disk = SystemDisk()
    let store = try store(at: folder.store(), disk)
    store.releaseLock()
    let data = folder.store() + "/data"
    let old = try contents(data, disk)
    try store.change { try $0.put(key(1), bytes("new"), in: people) }
    store.releaseLock()
    // As `cp` does: the same file, with other contents.
    try disk.open(data, .readWrite).write(old, at: 0)
    let before = store.counts.frameReads
    // Whatever becomes of it, it is looked at.
    _ = try? store.change { try $0.put(key(2), bytes("2"), in: people) }
    #expect(store.counts.frameReads > before)
    #expect((try? store.head.text(key(1))) != "new")
  }

  private func contents(_ path: String, _ disk: SystemDisk) throws -> [UInt8] {
    let file = try disk.open(path, .read)
    let block = MemoryBlock(count: Int(try file.status.size))
    let count = try file.read(into: block.bytes, at: 0)
    return Array(block.bytes.prefix(count))
  }

  @Test("tasks wait for the lock to be taken again without holding a thread of the pool")
  func tasks() async throws {
    let folder = TemporaryFolder()
    let store = try store(at: folder.store(), SystemDisk(), idleSeconds: 0.001)
    for round in 0..<3 {
      untilLetGo(store)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          group.addTask {
            let transaction = try await store.begin()
            try transaction.put(key(round * 8 + number), bytes("x"), in: people)
            try await transaction.commit()?.durable()
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(try store.head.tree(people)?.entryCount == 24)
    try store.close()
  }

  // MARK: Reading

  @Test("a reader sees each commit of another process, and where nothing has changed it asks the disk nothing")
  func noQuestions() throws {
    let disk = MemoryDisk()
    let writer = try store(at: "store", disk)
    let asked = AskedDisk(disk)
    let reader = try FileStore.open(at: "store", options: options(), disk: asked)
    try reader.refresh()
    _ = asked.questions()
    for number in 0..<100 {
      try writer.change { try $0.put(key(number), bytes("\(number)"), in: people) }
      #expect(try reader.refresh().text(key(number)) == "\(number)")
      let state = try #require(reader.visibleState)
      #expect(try reader.refresh().commit.number == writer.head.commit.number)
      #expect(reader.visibleState == state)
    }
    writer.releaseLock()
    try reader.refresh()
    _ = asked.questions()
    for _ in 0..<10 { #expect(try reader.refresh().commit.number == 101) }
    #expect(asked.questions() == [])
    #expect(reader.visibleState != nil)
  }

  @Test(
    "most commits of another process are seen without a question; a larger file, another writer or generation takes a look"
  )
  func fewQuestions() throws {
    let disk = MemoryDisk()
    let writer = try store(at: "store", disk)
    let asked = AskedDisk(disk)
    let reader = try FileStore.open(at: "store", options: options(), disk: asked)
    try reader.refresh()
    var looks = 0
    for number in 0..<200 {
      try writer.change { try $0.put(key(number), bytes("\(number)"), in: people) }
      _ = asked.questions()
      #expect(try reader.refresh().text(key(number)) == "\(number)")
      if !asked.questions().isEmpty { looks += 1 }
    }
    #expect(looks < 20)

    _ = try writer.compact(.last(3))
    #expect(try reader.refresh().commit.number == writer.head.commit.number)
    #expect(reader.identity.generation == 2)
    writer.releaseLock()
    let other = try FileStore.open(at: "store", options: options(), disk: disk)
    try other.change { try $0.put(key(1), bytes("other"), in: people) }
    #expect(try reader.refresh().text(key(1)) == "other")
    other.releaseLock()
    try writer.change { try $0.put(key(1), bytes("writer"), in: people) }
    #expect(try reader.refresh().text(key(1)) == "writer")
  }

  @Test("the number of the visible state changes when another process has committed")
  func visibleState() throws {
    let disk = MemoryDisk()
    let writer = try store(at: "store", disk)
    let reader = try FileStore.open(at: "store", options: options(), disk: disk)
    #expect(reader.visibleState == nil)
    try reader.refresh()
    let state = try #require(reader.visibleState)
    try writer.change { try $0.put(key(1), bytes("1"), in: people) }
    #expect(reader.visibleState == nil)
    try reader.refresh()
    #expect(try #require(reader.visibleState) != state)
  }

  @Test("what the words cannot tell is found by the next whole look: a file that took the data's place, or the lock's")
  func wholeLooks() throws {
    let disk = MemoryDisk()
    let first = try store(at: "store", disk)
    let second = try store(at: "other", disk)
    try second.change { try $0.put(key(1), bytes("other"), in: people) }
    let reader = try FileStore.open(at: "store", options: options(lookDistance: 0), disk: disk)
    try reader.refresh()
    try first.close()
    try second.close()
    try disk.rename("other/data", to: "store/data")
    #expect(try reader.refresh().text(key(1)) == "other")
    try disk.rename("other/lock", to: "store/lock")
    let writer = try FileStore.open(at: "store", options: options(), disk: disk)
    try writer.change { try $0.put(key(1), bytes("anew"), in: people) }
    #expect(try reader.refresh().text(key(1)) == "anew")
  }

  @Test("threads that read beside a writer see whole commits, in their order, none later than it was reported")
  func threads() throws {
    let folder = TemporaryFolder()
    let writer = try store(at: folder.store(), SystemDisk())
    let reader = try FileStore.open(at: folder.store(), options: StoreOptions(isReadOnly: true))
    let reported = Atomic<UInt64>(1)
    let wrong = Atomic(0)
    let signals = (0..<3).map { _ in Signal() }
    for signal in signals {
      try startThread {
        var newest: UInt64 = 0
        while newest < 400 {
          let least = reported.load(ordering: .acquiring)
          let view = try? reader.refresh()
          let number = view?.commit.number ?? 0
          let text = try? view?.text(key(0))
          if number < max(least, newest) || number > 1 && text != "\(number)" { wrong.add(1, ordering: .relaxed) }
          newest = max(newest, number)
        }
        signal.fire()
      }
    }
    for number in 2...400 {
      try writer.change { try $0.put(key(0), bytes("\(number)"), in: people) }
      reported.store(UInt64(number), ordering: .releasing)
    }
    for signal in signals { signal.wait() }
    let count = wrong.load(ordering: .relaxed)
    #expect(count == 0)
  }
}
