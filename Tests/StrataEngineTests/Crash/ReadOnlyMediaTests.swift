import DiskSimulation
import Glibc
import StrataEngine
import Testing

/// Where nothing can be written: no lock can be taken, and recovery happens in memory.
@Suite("Read-only media")
struct ReadOnlyMediaTests {
  private static let steps: [Step] = [
    .commit([.create(tree: 0), .create(tree: 1), .put(tree: 0, key: 1, size: 30)]), .reopen,
    .commit([.put(tree: 0, key: 2, size: 30)]), .commit([.delete(tree: 0, key: 1)]),
  ]

  /// A store whose writer went without a word, as another power cut leaves it: the last commits are in no slot.
  private static func abandoned() throws -> (disk: SimulatedDisk, model: StoreModel) {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 61)
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk)
    try runner.run(steps)
    return (SimulatedDisk(disk.image, seed: 62), runner.model)
  }

  @Test(
    "a store without a clean end shows every whole commit, and its refusal of a writer says why",
    arguments: [true, false])
  func uncleanEnd(hasLock: Bool) throws {
    let (disk, model) = try Self.abandoned()
    if !hasLock { try disk.unlink(RecordedWorkload.path + "/lock") }
    disk.setReadOnly(true)
    let before = disk.record.count
    let store = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    #expect(store.openingReport.damage == nil)
    #expect(store.openingReport.adoptedCommits == 2)
    #expect(try StoreComparison(store: store, model: model).checkAll(promised: model.newest) == model.newest)
    #expect(try store.refresh().commit.number == model.head)
    #expect(store.writer == nil)
    let reason = String(cString: strerror(EROFS))
    #expect(throws: StorageError.readOnly(reason: reason)) { try store.beginBlocking() }
    #expect(throws: StorageError.readOnly(reason: reason)) { try store.compact(.all) }
    try store.close()
    #expect(disk.record.count == before)
    #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).isClean)
  }

  @Test("a torn end is hidden, not cut, and is cut once the media can be written")
  func tornEnd() throws {
    let (whole, model) = try Self.abandoned()
    var image = whole.image
    let number = try #require(image.number(at: DamagedStore.data))
    let bytes = try #require(image.contents(at: DamagedStore.data)?.array)
    let last = try #require(FrameMap(bytes).frames.last)
    image.change(number) { $0.zero(UInt64(last.record.lowerBound)..<UInt64(last.trailer.upperBound)) }
    // With the lock file, which says how far it was durable, it would be damage.
    let folder = try #require(image.number(at: RecordedWorkload.path))
    image.unlink("lock", in: folder)
    let disk = SimulatedDisk(image, seed: 63)
    disk.setReadOnly(true)
    let store = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    #expect(store.head.commit.number == model.newest - 1)
    #expect(store.openingReport.damage == nil)
    #expect(disk.image.contents(at: DamagedStore.data)?.array == image.contents(at: DamagedStore.data)?.array)
    disk.setReadOnly(false)
    let writer = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    let transaction = try writer.beginBlocking()
    #expect(transaction.base.number == model.newest - 1)
    #expect(writer.openingReport.cutBytes > 0)
    transaction.cancel()
    // The bytes that were cut are kept beside the store.
    let kept = try #require(writer.openingReport.keptAside)
    #expect(disk.image.contents(at: kept)?.array.prefix(64) == bytes[last.header].prefix(64))
    try writer.close()
  }

  @Test("a folder that may not be written is read too, on a real disk")
  func forbiddenFolder() async throws {
    let disk = SystemDisk()
    let directory = "/tmp/strata-forbidden-\(disk.randomNumber())"
    try disk.makeDirectory(directory)
    defer { removeStore(directory) }
    let path = "\(directory)/a.strata"
    var runner = try ScriptRunner(creating: path, on: disk)
    try runner.run(Self.steps)
    try runner.store.close()
    for (name, mode) in [("data", 0o444), ("lock", 0o444), ("", 0o555)] { chmod("\(path)/\(name)", mode_t(mode)) }
    defer { for (name, mode) in [("", 0o755), ("data", 0o644)] { chmod("\(path)/\(name)", mode_t(mode)) } }
    let newest = runner.model.newest
    await #expect(processExitsWith: .success) { [path = path as String, newest = newest as UInt64] in
      // To the superuser nothing is forbidden, so the other process becomes somebody else.
      if geteuid() == 0 { #expect(setgid(65_534) == 0 && setuid(65_534) == 0) }
      let store = try FileStore.open(at: path, options: StoreOptions())
      #expect(store.openingReport.damage == nil && store.head.commit.number == newest)
      for number in 1...newest { #expect(try store.view(at: number).trees().count == 2) }
      #expect(try store.refresh().commit.number == newest)
      let refusal = StorageError.readOnly(reason: String(cString: strerror(EACCES)))
      #expect(throws: refusal) { try store.beginBlocking() }
      #expect(throws: refusal) { try store.compact(.all) }
      #expect(throws: StorageError.self) { try store.copy(to: path + "/copy") }
      #expect(try FileStore.verify(at: path, disk: SystemDisk()).isClean)
      #expect(try SystemDisk().list(path).sorted() == ["data", "lock"])
    }
  }
}
