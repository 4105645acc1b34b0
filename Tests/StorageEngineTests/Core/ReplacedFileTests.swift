import Testing

@testable import StorageEngine

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

  private func create(_ name: String) throws -> Store {
    try Store.create(at: folder.store(name), options: StoreOptions())
  }

  private func expectWhole(_ name: String) throws {
    let report = try Store.verify(at: folder.store(name), disk: SystemDisk())
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
      try Store.open(at: folder.store("A"), options: StoreOptions()),
      try Store.open(at: folder.store("B"), options: StoreOptions())
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
    let again = try Store.open(at: folder.store("A"), options: StoreOptions())
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
    let fresh = try Store.open(at: folder.store("A"), options: StoreOptions())
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
    let linked = try Store.open(at: folder.store(), options: StoreOptions())
    #expect(try linked.head.tree(people)?.count == 0)
    #expect(throws: StorageError.io(DiskError(operation: "open", path: lock, code: ELOOP))) {
      try linked.change { try $0.put(key(1), bytes("x"), in: people) }
    }
    #expect(unlink(lock) == 0 && symlink(other, activity) == 0)
    let active = try Store.open(at: folder.store(), options: StoreOptions())
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
    let long = try Store.open(at: folder.store(), options: StoreOptions())
    try long.change { try $0.put(key(1), bytes("x"), in: people) }
    #expect(long.openingReport.cutBytes == 0)
    try long.close()
    // What lies in it far behind the frames is cut all the same.
    try SystemDisk().open(path, .readWrite).write([1], at: 1 << 39)
    let again = try Store.open(at: folder.store(), options: StoreOptions())
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
