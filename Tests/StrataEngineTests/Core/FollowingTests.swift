import DiskSimulation
import StrataLocks
import Testing

@testable import StrataEngine

@Suite("Another process's store")
struct FollowingTests {
  @Test("a reader sees whole commits, in order, as soon as they are reported, and holds nobody up")
  func reader() throws {
    let folder = TemporaryFolder()
    let writer = try FileStore.create(at: folder.store(), options: StoreOptions(program: "writer"))
    let reader = try FileStore.open(at: folder.store(), options: StoreOptions(isReadOnly: true))
    #expect(reader.head.commit.number == 0)
    try writer.change { try $0.createTree(people, kind: .records) }
    var seen: UInt64 = 0
    for number in 1...200 {
      try writer.change { try $0.put(key(number), bytes("\(number)"), in: people) }
      let view = try reader.refresh()
      #expect(view.commit.number == writer.head.commit.number)
      #expect(view.commit.number > seen)
      seen = view.commit.number
      #expect(try view.text(key(number)) == "\(number)")
    }
    #expect(reader.writer?.processIdentifier == processIdentifier())
    #expect(reader.writer?.program == "writer")
    writer.releaseLock()
    #expect(reader.writer == nil)
    #expect(throws: StorageError.readOnly(reason: "it was opened so")) { try reader.beginBlocking() }
  }

  @Test(
    "data that loses its name while it is being opened is not read: whoever let go of it did not see the open, and may free it"
  )
  func replacedWhileOpening() throws {
    let disk = MemoryDisk()
    for (name, text) in [("store", "old"), ("other", "new")] {
      let store = try FileStore.create(at: name, options: StoreOptions(), disk: disk)
      try store.change { transaction in
        try transaction.createTree(people, kind: .records)
        try transaction.put(key(1), bytes(text), in: people)
      }
      try store.close()
    }
    let replacing = ReplacingDisk(disk) { () throws(DiskError) in try disk.rename("other/data", to: "store/data") }
    let store = try FileStore.open(at: "store", options: StoreOptions(isReadOnly: true), disk: replacing)
    #expect(try store.head.text(key(1)) == "new")
  }

  @Test("where files are not mapped, to look whether another process has committed asks the disk four things at most")
  func questions() throws {
    let disk = MemoryDisk()
    let writer = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try writer.change { try $0.createTree(people, kind: .records) }
    let asked = AskedDisk(disk)
    let reader = try FileStore.open(
      at: "store", options: StoreOptions(isReadOnly: true, readsMapped: false), disk: asked)
    try reader.refresh()

    _ = asked.questions()
    #expect(try reader.refresh().commit.number == 1)
    #expect(asked.questions() == ["status lock", "lock query lock", "read lock", "status data"])
    try writer.change { try $0.put(key(1), bytes("1"), in: people) }
    #expect(try reader.refresh().text(key(1)) == "1")

    writer.releaseLock()
    try reader.refresh()
    _ = asked.questions()
    #expect(try reader.refresh().commit.number == 2)
    #expect(asked.questions().filter { $0 != "read data" } == ["status lock", "lock query lock", "status data"])
    try writer.change { try $0.put(key(1), bytes("2"), in: people) }
    writer.releaseLock()
    #expect(try reader.refresh().text(key(1)) == "2")
  }

  @Test("a reader sees the commits of a store that took the place of the one it had open, under the same lock file")
  func replaced() throws {
    let disk = MemoryDisk()
    let first = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try first.change { try $0.createTree(people, kind: .records) }
    for number in 1...20 { try first.change { try $0.put(key(number), bytes("first"), in: people) } }
    let reader = try FileStore.open(at: "store", options: StoreOptions(isReadOnly: true), disk: disk)
    try first.close()
    #expect(try reader.refresh().commit.number == 21)
    try FileStore.create(at: "other", options: StoreOptions(), disk: disk).close()
    try disk.rename("other/data", to: "store/data")
    let second = try FileStore.open(at: "store", options: StoreOptions(), disk: disk)
    try second.change { try $0.createTree(people, kind: .records) }
    try second.change { try $0.put(key(1), bytes("second"), in: people) }
    // The same generation, and less of it.
    let view = try reader.refresh()
    #expect(view.commit.number == 2)
    #expect(try view.text(key(1)) == "second")
  }

  @Test("a store that has compacted notices that another one compacts after it, reading and before it writes")
  func compactedByBoth() throws {
    let disk = MemoryDisk()
    let first = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try first.change { try $0.createTree(people, kind: .records) }
    try first.change { try $0.put(key(1), bytes("first"), in: people) }
    _ = try first.compact(.all)
    first.releaseLock()
    let second = try FileStore.open(at: "store", options: StoreOptions(), disk: disk)
    try second.change { try $0.put(key(1), bytes("second"), in: people) }
    _ = try second.compact(.all)
    #expect(try first.refresh().text(key(1)) == "second")
    _ = try second.compact(.all)
    second.releaseLock()
    try first.change { try $0.put(key(2), bytes("first again"), in: people) }
    first.releaseLock()
    let view = try FileStore.open(at: "store", options: StoreOptions(), disk: disk).head
    #expect(try view.text(key(1)) == "second")
    #expect(try view.text(key(2)) == "first again")
  }

  @Test("a reader follows forks, merges, names that come, move and go, restores and compactions")
  func forks() throws {
    let folder = TemporaryFolder()
    let writer = try FileStore.create(at: folder.store(), options: StoreOptions())
    let reader = try FileStore.open(at: folder.store(), options: StoreOptions(isReadOnly: true))
    try writer.change { try $0.createTree(people, kind: .records) }
    var random = RandomSource(seed: 12)
    var oldest: UInt64 = 1
    for step in 2...160 {
      let newest = writer.newestNumber
      var info = CommitInfo(action: "step \(step)")
      var base: UInt64?
      switch random.next() % 8 {
      case 0, 1:
        base = max(oldest, random.next() % newest + 1)
        info.names = ["side \(random.next() % 3)": 0]
      case 2:
        let head = writer.head.commit.number
        let other = max(oldest, random.next() % newest + 1)
        if other != head { info.parents = [head, other] }
      case 3: info.names = ["side \(random.next() % 3)": random.next() % 2 == 0 ? nil : 0]
      case 4:
        base = max(oldest, random.next() % newest + 1)
        info.movesHead = true
      default: break
      }
      let number = try writer.change(info, on: base) { transaction in
        if step % 23 == 0 { return try transaction.restore(nil, from: try writer.view(at: max(oldest, newest / 2))) }
        try transaction.put(key(Int(random.next() % 50)), bytes("\(step)"), in: people)
      }
      if step % 40 == 0 {
        _ = try writer.compact(.last(4))
        oldest = number
      }
      let head = try reader.refresh()
      #expect(head.commit == writer.head.commit)
      #expect(try reader.names == writer.names)
      let seen = try reader.view(at: number)
      #expect(seen.commit == (try writer.commit(number)))
      var cursor = try difference(seen, writer.view(at: number), tree: people)
      #expect(try cursor.next() == nil)
    }
    #expect(reader.identity.generation == 5)
  }

  @Test("a follower is woken by commits and by the writer's leaving")
  func follow() throws {
    let folder = TemporaryFolder()
    let writer = try FileStore.create(at: folder.store(), options: StoreOptions())
    try writer.change { try $0.createTree(people, kind: .records) }
    let reader = try FileStore.open(at: folder.store(), options: StoreOptions(isReadOnly: true))
    let monitor = Monitor()
    let calls = Mutex(0)
    let token = try reader.follow {
      calls.withLock { $0 += 1 }
      monitor.withLock { monitor.notifyAll() }
    }
    func wait(until isTrue: () throws -> Bool) rethrows {
      monitor.lock()
      defer { monitor.unlock() }
      while try !isTrue() { monitor.wait() }
    }
    try writer.change { try $0.put(key(1), bytes("a"), in: people) }
    wait { calls.withLock { $0 } > 0 }
    #expect(try reader.refresh().commit.number == 2)
    try writer.close()
    wait { reader.writer == nil }
    // Another store that takes the name is followed, too.
    try SystemDisk().rename(folder.store(), to: folder.store("away"))
    let other = try FileStore.create(at: folder.store(), options: StoreOptions())
    for number in 0..<5 { try other.change { try $0.createTree(TreeName([UInt8(number)]), kind: .records) } }
    wait { (try? reader.refresh().commit.number) == 5 }
    withExtendedLifetime(token) {}
  }

  @Test("a second writer waits for its patience and is then told who writes")
  func secondWriter() throws {
    let folder = TemporaryFolder()
    let first = try FileStore.create(at: folder.store(), options: StoreOptions(program: "first"))
    try first.change { try $0.createTree(people, kind: .records) }
    let second = try FileStore.open(at: folder.store(), options: StoreOptions(lockPatience: 0.01))
    let refusal = #expect(throws: StorageError.self) { try second.beginBlocking() }
    #expect(refusal?.description == "held by first (pid \(processIdentifier()))")
    first.releaseLock()
    try second.change { try $0.put(key(1), bytes("second"), in: people) }
    second.releaseLock()
    // The first one builds on what the second one did.
    try first.change { try $0.put(key(2), bytes("first"), in: people) }
    #expect(first.head.commit.number == 3)
    #expect(try first.head.text(key(1)) == "second")
    #expect(try second.refresh().text(key(2)) == "first")
  }

  @Test("a writer who goes without a word leaves whole commits, and the next one goes on")
  func deadWriter() throws {
    let folder = TemporaryFolder()
    var writer: FileStore? = try FileStore.create(at: folder.store(), options: StoreOptions())
    try writer?.change { try $0.createTree(people, kind: .records) }
    let transaction = try #require(try writer?.beginBlocking())
    try transaction.put(key(1), bytes("not durable"), in: people)
    _ = try transaction.commit(CommitInfo(durability: .collated))
    // What a kill leaves behind: the file as it is, and a lock file that nobody holds.
    let disk = SystemDisk()
    let copy = folder.store("killed")
    try disk.makeDirectory(copy)
    for name in ["data", "lock"] {
      let source = try disk.open(folder.store() + "/" + name, .read)
      let target = try disk.open(copy + "/" + name, .create)
      let block = MemoryBlock(count: Int(try source.status.size))
      _ = try source.read(into: block.bytes, at: 0)
      try target.write(UnsafeRawBufferPointer(block.bytes), at: 0)
    }
    writer = nil
    let reader = try FileStore.open(at: copy, options: StoreOptions(isReadOnly: true))
    #expect(reader.head.commit.number == 2)
    #expect(reader.writer == nil)
    let next = try FileStore.open(at: copy, options: StoreOptions())
    try next.change { try $0.put(key(2), bytes("next"), in: people) }
    #expect(try next.head.text(key(1)) == "not durable")
    #expect(try reader.refresh().text(key(2)) == "next")
  }

  @Test("without a lock file, and where nothing can be written, a store is read")
  func readOnlyMedia() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("a"), in: people)
    }
    try store.close()
    try disk.unlink("store/lock")
    let reader = try FileStore.open(at: "store", options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(try reader.refresh().text(key(1)) == "a")
    #expect(try disk.status("store/lock") == nil)
  }

  @Test("what a writer is busy with is seen while it holds the lock, and not after")
  func activity() throws {
    let folder = TemporaryFolder()
    let writer = try FileStore.create(at: folder.store(), options: StoreOptions())
    let reader = try FileStore.open(at: folder.store(), options: StoreOptions(isReadOnly: true))
    let transaction = try writer.beginBlocking()
    writer.setActivity(bytes("warm-up"))
    #expect(reader.activity == bytes("warm-up"))
    transaction.cancel()
    writer.releaseLock()
    #expect(reader.activity == nil)
  }

  @Test("what is not a store says so in one sentence")
  func noStore() throws {
    let folder = TemporaryFolder()
    #expect(throws: StorageError.notFound(path: folder.store())) {
      try FileStore.open(at: folder.store(), options: StoreOptions())
    }
    #expect(throws: StorageError.notAStore(path: folder.path)) {
      try FileStore.open(at: folder.path, options: StoreOptions())
    }
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    #expect(throws: StorageError.alreadyExists(path: folder.store())) {
      try FileStore.create(at: folder.store(), options: StoreOptions())
    }
    try store.close()
    #expect(throws: StorageError.closed) { try store.beginBlocking() }
    var header = try FileHeader(reading: SystemDisk().open(folder.store() + "/data", .read), path: "")
    header.requiredFeatures = 1 << 20 | 6
    let file = try SystemDisk().open(folder.store() + "/data", .readWrite)
    try header.encoded().withUnsafeBytes { try file.write($0, at: 0) }
    #expect(throws: StorageError.newerFormat(version: 1, requiredFeatures: 1 << 20 | 2)) {
      try FileStore.open(at: folder.store(), options: StoreOptions())
    }
  }

  /// A disk on which something happens once, when it is asked about the data.
  private final class InterruptedDisk: ForwardingDisk {
    let base: any Disk
    let hook = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ base: any Disk) { self.base = base }

    func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile { try base.open(path, mode) }
    func status(_ path: String) throws(DiskError) -> FileStatus? {
      if path.hasSuffix("/data") { hook.withLock { $0.take() }?() }
      return try base.status(path)
    }
  }

  @Test("a writer that comes while the tail is read shows no commit that is not durable")
  func writerWhileReading() throws {
    let disk = InterruptedDisk(MemoryDisk())
    let writer = try FileStore.create(at: "shared", options: StoreOptions(), disk: disk.base)
    try writer.change { try $0.createTree(people, kind: .records) }
    writer.releaseLock()
    let reader = try FileStore.open(at: "shared", options: StoreOptions(isReadOnly: true), disk: disk)
    disk.hook.withLock {
      $0 = {
        #expect(throws: Never.self) {
          let transaction = try writer.beginBlocking()
          try transaction.put(key(1), bytes("not durable"), in: people)
          _ = try transaction.commit(CommitInfo(durability: .collated))
        }
      }
    }
    #expect(try reader.refresh().commit.number == 1)
    #expect(writer.head.commit.number == 2)
    try writer.change { try $0.put(key(1), bytes("durable"), in: people) }
    #expect(try reader.refresh().text(key(1)) == "durable")
  }
}

/// A disk that does something each time that it has opened a store's data, before anyone has it.
private final class ReplacingDisk: ForwardingDisk {
  let base: any Disk
  private let replace: @Sendable () throws(DiskError) -> Void

  init(_ base: any Disk, _ replace: @escaping @Sendable () throws(DiskError) -> Void) {
    self.base = base
    self.replace = replace
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let file = try base.open(path, mode)
    if path.hasSuffix("/data"), try base.status("other/data") != nil { try replace() }
    return file
  }
}
