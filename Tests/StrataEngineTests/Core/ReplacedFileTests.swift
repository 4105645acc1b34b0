import StrataLocks
import Testing

@testable import StrataEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What lies under a store's names may be another file, or other bytes, than what an open store has seen there.
@Suite("Files that were replaced under an open store")
struct ReplacedFileTests {
  private let folder = TemporaryFolder()

  private func contents(_ name: String) throws -> [UInt8] {
    let file = try SystemDisk().open(folder.store(name) + "/data", .read)
    let block = MemoryBlock(count: Int(try file.status.size))
    _ = try file.read(into: block.bytes, at: 0)
    return [UInt8](block.bytes)
  }

  /// Writes over a store's data as `cp` does: into the same file.
  private func overwrite(_ name: String, with bytes: [UInt8]) throws {
    let descriptor = open(folder.store(name) + "/data", O_WRONLY | O_TRUNC | O_CLOEXEC)
    #expect(descriptor >= 0 && pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
    close(descriptor)
  }

  private func create(_ name: String) throws -> FileStore {
    try FileStore.create(at: folder.store(name), options: StoreOptions())
  }

  private func expectWhole(_ name: String) throws {
    let report = try FileStore.verify(at: folder.store(name), disk: SystemDisk())
    #expect(report.isClean, "\(report.findings)")
  }

  @Test("a file that only a later program may write is not written either where it came while the store was open")
  func optionalFeature() throws {
    let store = try create("A")
    try store.change { try $0.createTree(people, kind: .records) }
    store.releaseLock()
    var bytes = try contents("A")
    bytes[24] = 1
    let check = bytes.withUnsafeBytes { checksum(0, UnsafeRawBufferPointer(rebasing: $0[..<508])) }
    withUnsafeBytes(of: check.littleEndian) { bytes.replaceSubrange(508..<512, with: $0) }
    let other = try SystemDisk().open(folder.store() + "/data.other", .create)
    try other.write(bytes, at: 0)
    try SystemDisk().rename(folder.store() + "/data.other", to: folder.store() + "/data")
    #expect(throws: StorageError.readOnly(reason: "it has features that this program does not know")) {
      try store.change { try $0.put(key(1), bytes, in: people) }
    }
    #expect(try contents("A") == bytes)
  }

  // MARK: Under a writer that holds the lock

  /// A store with a commit, and a copy of its data beside it, as a backup that is about to be put back.
  private func withBackup(_ name: String) throws -> (store: FileStore, backup: String) {
    let store = try create(name)
    try store.change { try $0.createTree(people, kind: .records) }
    let backup = folder.path + "/backup of " + name
    try SystemDisk().open(backup, .create).write(try contents(name), at: 0)
    return (store, backup)
  }

  private func expectReplaced(_ name: String, file: String = "data", _ body: () throws -> Void) {
    let error = #expect(throws: StorageError.self) { try body() }
    let path = folder.store(name) + "/" + file
    #expect("\(error as Any)".contains("\(path) was taken away or replaced"), "\(error as Any)")
  }

  @Test("no commit is reported durable in a file that has lost its name to another, and none after it")
  func replacedUnderWriter() throws {
    let (store, backup) = try withBackup("A")
    try store.change { try $0.put(key(1), bytes("before"), in: people) }
    let seen = store.head.commit.number
    try SystemDisk().rename(backup, to: folder.store("A") + "/data")
    for _ in 0..<2 { expectReplaced("A") { try store.change { try $0.put(key(2), bytes("lost"), in: people) } } }
    #expect(store.head.commit.number == seen)
    try? store.close()
    // What was put back is as it was, and is gone on with.
    try expectWhole("A")
    let again = try FileStore.open(at: folder.store("A"), options: StoreOptions())
    #expect(again.openingReport.damage == nil)
    #expect(try again.change { try $0.put(key(1), bytes("after"), in: people) } == 2)
  }

  @Test("nor a commit whose file lost its name after the transaction had begun")
  func replacedUnderTransaction() throws {
    let (store, backup) = try withBackup("A")
    let transaction = try store.beginBlocking()
    try transaction.put(key(1), bytes("late"), in: people)
    try SystemDisk().rename(backup, to: folder.store("A") + "/data")
    let there = try contents("A")
    expectReplaced("A") { try transaction.commit()?.wait() }
    #expect(try contents("A") == there)
  }

  @Test("nor in one that was taken away, or whose folder was", arguments: [true, false])
  func removedUnderWriter(withFolder: Bool) throws {
    let (store, _) = try withBackup("A")
    unlink(folder.store("A") + "/data")
    if withFolder {
      unlink(folder.store("A") + "/lock")
      #expect(rmdir(folder.store("A")) == 0)
    }
    expectReplaced("A") { try store.change { try $0.put(key(2), bytes("lost"), in: people) } }
  }

  @Test(
    "a writer that finds another lock file waits for the one that still writes, whose durable commits stay and whose refused one does not",
    arguments: [false, true])
  func replacedLock(compacts: Bool) throws {
    let (store, _) = try withBackup("A")
    try store.change { try $0.put(key(1), bytes("first"), in: people) }
    if compacts { _ = try store.compact(.all) }
    unlink(folder.store("A") + "/lock")
    let other = try FileStore.open(at: folder.store("A"), options: StoreOptions(lockPatience: 0))
    let refused = #expect(throws: StorageError.self) {
      try other.change { try $0.put(key(3), bytes("written over"), in: people) }
    }
    #expect("\(refused as Any)".contains("held by another process"))
    expectReplaced("A", file: "lock") { try store.change { try $0.put(key(2), bytes("refused"), in: people) } }
    // It has let go of the data.
    try other.change { try $0.put(key(3), bytes("kept"), in: people) }
    expectReplaced("A", file: "lock") { try store.change { try $0.put(key(2), bytes("refused"), in: people) } }
    try? store.close()
    try other.close()
    try expectWhole("A")
    let again = try FileStore.open(at: folder.store("A"), options: StoreOptions())
    #expect(try [1, 2, 3].map { try again.head.text(key($0)) } == ["first", nil, "kept"])
  }

  @Test("nor in a file that lost its name after the lock was let go of and taken again")
  func replacedAfterRest() throws {
    let (store, backup) = try withBackup("A")
    try store.change { try $0.put(key(1), bytes("before"), in: people) }
    store.releaseLock()
    try store.change { try $0.put(key(1), bytes("after the rest"), in: people) }
    try SystemDisk().rename(backup, to: folder.store("A") + "/data")
    expectReplaced("A") { try store.change { try $0.put(key(2), bytes("lost"), in: people) } }
    #expect(store.writer == nil)
    let again = try FileStore.open(at: folder.store("A"), options: StoreOptions(lockPatience: 0))
    #expect(try again.change { try $0.put(key(1), bytes("into the backup"), in: people) } == 2)
  }

  @Test("nor where the file from before a compaction comes back, which was the store's own until then")
  func oldGenerationUnderWriter() throws {
    let (store, _) = try withBackup("A")
    try store.change { try $0.put(key(1), bytes("before"), in: people) }
    // A second name keeps the old file.
    let old = folder.path + "/old generation"
    try #require(link(folder.store("A") + "/data", old) == 0)
    _ = try store.compact(.last(1)) { _ in true }
    try store.change { try $0.put(key(1), bytes("after"), in: people) }
    let seen = store.head.commit.number
    try SystemDisk().rename(old, to: folder.store("A") + "/data")
    expectReplaced("A") { try store.change { try $0.put(key(2), bytes("lost"), in: people) } }
    #expect(store.head.commit.number == seen)
  }

  @Test("a compaction does not put its file in the place of one that came meanwhile")
  func replacedUnderCompaction() throws {
    let (store, backup) = try withBackup("A")
    for number in 0..<20 { try store.change { try $0.put(key(1), bytes("\(number)"), in: people) } }
    let restored = try SystemDisk().status(backup)?.identity
    var isReplaced = false
    expectReplaced("A") {
      _ = try store.compact(.last(1)) { _ in
        if !isReplaced { try? SystemDisk().rename(backup, to: folder.store("A") + "/data") }
        isReplaced = true
        return true
      }
    }
    #expect(try SystemDisk().status(folder.store("A") + "/data")?.identity == restored)
    #expect(try SystemDisk().status(folder.store("A") + "/data.compact") == nil)
    expectReplaced("A") { try store.change { try $0.put(key(2), bytes("lost"), in: people) } }
    try expectWhole("A")
  }

  @Test("nor in the place of one that came while its own last bytes were synced")
  func replacedUnderLastSync() throws {
    let disk = HookedDisk(SystemDisk(), of: "data.compact")
    let store = try FileStore.create(at: folder.store("A"), options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<5 { try store.change { try $0.put(key(1), bytes("\(number)"), in: people) } }
    let (backup, data) = (folder.path + "/backup of A", folder.store("A") + "/data")
    try SystemDisk().open(backup, .create).write(try contents("A"), at: 0)
    let restored = try SystemDisk().status(backup)?.identity
    disk.hooks.withLock { $0.sync = { try? SystemDisk().rename(backup, to: data) } }
    expectReplaced("A") { _ = try store.compact(.last(1)) }
    #expect(try SystemDisk().status(data)?.identity == restored)
    try expectWhole("A")
  }

  @Test(
    "a store whose folder is moved while it is written goes on there, until another one takes the folder's place: then no commit is reported durable"
  )
  func movedFolder() throws {
    let (store, _) = try withBackup("A")
    #expect(rename(folder.store("A"), folder.store("B")) == 0)
    try store.change { try $0.put(key(1), bytes("moved"), in: people) }
    // By its path nothing can be put in the data's place.
    let busy = #expect(throws: StorageError.self) { try store.compact(.last(1)) }
    #expect("\(busy as Any)".contains("was moved"))
    try store.change { try $0.put(key(2), bytes("as well"), in: people) }
    let other = try create("A")
    try other.change { try $0.createTree(people, kind: .records) }
    expectReplaced("A") { try store.change { try $0.put(key(3), bytes("lost"), in: people) } }
    expectReplaced("A") { _ = try store.compact(.last(1)) }
    try? store.close()
    try other.close()
    try expectWhole("A")
    try expectWhole("B")
    let moved = try FileStore.open(at: folder.store("B"), options: StoreOptions())
    #expect(try [1, 2, 3].map { try moved.head.text(key($0)) } == ["moved", "as well", nil])
  }

  @Test("a compaction of the writer's own is not a replacement, and one sync asks once for each name")
  func ownCompaction() throws {
    let (store, _) = try withBackup("A")
    for number in 0..<5 { try store.change { try $0.put(key(1), bytes("\(number)"), in: people) } }
    _ = try store.compact(.last(1))
    try store.change { try $0.put(key(2), bytes("after"), in: people) }
    store.releaseLock()
    try store.change { try $0.put(key(2), bytes("later"), in: people) }
    #expect(try store.head.text(key(2)) == "later")
    try store.close()
    try expectWhole("A")
  }

  // MARK: A store without its data

  @Test("a store whose data is missing is told of, and no empty one is made in its place")
  func missingData() throws {
    let (store, _) = try withBackup("A")
    try store.close()
    unlink(folder.store("A") + "/data")
    let path = folder.store("A")
    #expect(FileStore.exists(at: path, disk: SystemDisk()))
    for body in [
      { _ = try FileStore.create(at: path, options: StoreOptions()) },
      { _ = try FileStore.open(at: path, options: StoreOptions()) },
      { _ = try FileStore.open(at: path, options: StoreOptions(isReadOnly: true)) },
    ] {
      let error = #expect(throws: StorageError.self) { try body() }
      #expect("\(error as Any)".contains("the data of the store at \(path) is missing"), "\(error as Any)")
    }
    #expect(try SystemDisk().list(path).sorted() == ["lock"])
    // Bytes that were kept aside tell of a store as well.
    unlink(path + "/lock")
    try SystemDisk().open(path + "/cut-after-7-abc", .create).write([1], at: 0)
    #expect(throws: StorageError.self) { try FileStore.create(at: path, options: StoreOptions()) }
    unlink(path + "/cut-after-7-abc")
    try FileStore.create(at: path, options: StoreOptions()).close()
  }

  @Test("no store is made over a person's own file or folder with the name of a store's lock")
  func ownLock() throws {
    let path = folder.store("A")
    let lock = path + "/lock"
    try SystemDisk().makeDirectory(path)
    try SystemDisk().open(lock, .create).write(bytes("my notes"), at: 0)
    func expectRefused() throws {
      #expect(!FileStore.exists(at: path, disk: SystemDisk()))
      #expect(throws: StorageError.alreadyExists(path: lock)) {
        try FileStore.openOrCreate(at: path, options: StoreOptions())
      }
      #expect(try SystemDisk().list(path) == ["lock"])
    }
    try expectRefused()
    #expect(try SystemDisk().status(lock)?.size == 8)
    try SystemDisk().unlink(lock)
    try SystemDisk().makeDirectory(lock)
    try expectRefused()
  }

  @Test("another copy's commit in the place of the newest one is what the next commit is built on")
  func otherCommit() throws {
    let first = try create("A")
    try first.change { try $0.createTree(people, kind: .records) }
    try first.close()
    let second = try create("B")
    try overwrite("B", with: try contents("A"))
    try second.close()
    // Two commits of the same length.
    let (one, two) = (
      try FileStore.open(at: folder.store("A"), options: StoreOptions()),
      try FileStore.open(at: folder.store("B"), options: StoreOptions())
    )
    try one.change(CommitInfo(date: 1, action: "one")) { try $0.put(key(1), bytes("one"), in: people) }
    try two.change(CommitInfo(date: 1, action: "two")) { try $0.put(key(1), bytes("two"), in: people) }
    #expect(one.dataBytes == two.dataBytes)
    one.releaseLock()
    try two.close()
    try overwrite("A", with: try contents("B"))

    let number = try one.change { try $0.put(key(2), bytes("more"), in: people) }
    #expect(number == 3)
    #expect(try one.head.text(key(1)) == "two")
    try one.close()
    try expectWhole("A")
    let again = try FileStore.open(at: folder.store("A"), options: StoreOptions())
    #expect(try again.head.text(key(1)) == "two")
    #expect(try again.head.text(key(2)) == "more")
  }

  @Test("an older copy written over the store is gone on with, and a store written over an empty one is not cut away")
  func olderCopy() throws {
    let store = try create("A")
    let empty = try contents("A")
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("x"), in: people)
    }
    store.releaseLock()
    let older = try contents("A")
    for number in 2..<6 { try store.change { try $0.put(key(number), bytes("x"), in: people) } }
    store.releaseLock()
    try overwrite("A", with: older)
    #expect(try store.change { try $0.put(key(9), bytes("nine"), in: people) } == 2)
    try store.close()
    try expectWhole("A")

    try overwrite("A", with: empty)
    let fresh = try FileStore.open(at: folder.store("A"), options: StoreOptions())
    let other = try create("C")
    try other.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("kept"), in: people)
    }
    try other.close()
    try overwrite("A", with: try contents("C"))
    #expect(try fresh.change { try $0.put(key(2), bytes("more"), in: people) } == 2)
    #expect(try fresh.head.text(key(1)) == "kept")
    #expect(fresh.openingReport.cutBytes == 0)
    try fresh.close()
    try expectWhole("A")
  }

  @Test("a reader that was slow does not bring back a file that another one has replaced")
  func slowReader() throws {
    let store = try create("A")
    try store.change { try $0.createTree(people, kind: .records) }
    let before = store.publication.current
    try store.change { try $0.put(key(1), bytes("x"), in: people) }
    let slow = store.publication.current
    _ = try store.compact(.all)
    let number = try store.change { try $0.put(key(2), bytes("y"), in: people) }
    // As after a refresh that began before all this.
    #expect(!store.publication.show(slow, after: before))
    #expect(store.head.commit.number == number)
    #expect(try store.head.text(key(2)) == "y")
  }

  @Test(
    "a link in the place of a file that only a store makes leads no writer to another file", arguments: [true, false])
  func links(isDangling: Bool) throws {
    let store = try create("A")
    try store.change { try $0.createTree(people, kind: .records) }
    try store.close()
    let (lock, activity, other) = (
      folder.store() + "/lock", folder.store() + "/activity", folder.path + "/somebody's notes"
    )
    if !isDangling { try SystemDisk().open(other, .create).write(bytes("my notes"), at: 0) }
    #expect(unlink(lock) == 0 && symlink(other, lock) == 0)
    let linked = try FileStore.open(at: folder.store(), options: StoreOptions())
    #expect(try linked.head.tree(people)?.entryCount == 0)
    #expect(throws: StorageError.io(DiskError(operation: "open", path: lock, code: ELOOP))) {
      try linked.change { try $0.put(key(1), bytes("x"), in: people) }
    }
    #expect(unlink(lock) == 0 && symlink(other, activity) == 0)
    let active = try FileStore.open(at: folder.store(), options: StoreOptions())
    try active.change { try $0.put(key(1), bytes("x"), in: people) }
    active.setActivity(bytes("busy"))
    try active.close()
    if isDangling {
      #expect(try SystemDisk().status(other) == nil)
    } else {
      let block = MemoryBlock(count: 100)
      #expect(try SystemDisk().open(other, .read).read(into: block.bytes, at: 0) == 8)
    }
  }

  @Test("of a file that was made a tebibyte long nothing is read that was never written")
  func sparse() throws {
    let store = try create("A")
    try store.change { try $0.createTree(people, kind: .records) }
    try store.close()
    let path = folder.store() + "/data"
    // Where a file system has no files of this size there is nothing to test.
    guard truncate(path, 1 << 40) == 0 else { return }
    try expectWhole("A")
    let long = try FileStore.open(at: folder.store(), options: StoreOptions())
    try long.change { try $0.put(key(1), bytes("x"), in: people) }
    #expect(long.openingReport.cutBytes == 0)
    try long.close()
    // What lies in it far behind the frames is cut all the same.
    try SystemDisk().open(path, .readWrite).write([1], at: 1 << 39)
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    try again.change { try $0.put(key(2), bytes("y"), in: people) }
    #expect(again.openingReport.cutBytes > 1 << 38)
  }

  @Test("parts of a file that were never written are told from those that were")
  func writtenParts() throws {
    let file = try SystemDisk().open(folder.path + "/parts", .create)
    try file.write([1], at: 3 << 20)
    try file.write([1], at: 8 << 20)
    let all: Range<UInt64> = 0..<16 << 20
    let parts = try file.writtenParts(of: all)
    for place: UInt64 in [3 << 20, 8 << 20] {
      #expect(parts.contains { $0.contains(place) })
      #expect(try file.writtenParts(of: place..<place + 1) == [place..<place + 1])
    }
    #expect(parts == [all] || !parts.contains { $0.contains(5 << 20) })
    #expect(parts == parts.sorted { $0.lowerBound < $1.lowerBound })
  }
}
