import DiskSimulation
import StrataEngine
import Testing

/// Bytes that look right at a glance and must not be believed: each check of a hash has a test here that fails without it.
@Suite("Bytes that only look right")
struct ForgedBytesTests {
  /// Two stores of one seed that part at their second commit, in its value only.
  private static func twin(_ letter: UInt8) throws -> (disk: SimulatedDisk, store: FileStore) {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 21)
    let store = try FileStore.create(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    for value in [[1], [letter], [3]] as [[UInt8]] {
      let transaction = try store.beginBlocking()
      if value == [1] { try transaction.createTree(ScriptRunner.name(0), kind: .records, attributes: []) }
      try transaction.put([UInt8(value[0])], value, in: ScriptRunner.name(0))
      try transaction.commit(CommitInfo(date: 1_800_000_000_000_000_000))?.wait()
    }
    return (disk, store)
  }

  @Test("a whole frame of another past, left over behind the newest, is never taken into the chain")
  func staleFrame() throws {
    let first = try Self.twin(50).disk.image
    let second = try Self.twin(60).disk.image
    let bytes = try #require(first.contents(at: DamagedStore.data)?.array)
    let others = try #require(second.contents(at: DamagedStore.data)?.array)
    let frames = FrameMap(bytes).frames
    let otherFrames = FrameMap(others).frames
    try #require(frames.count == 3 && otherFrames.count == 3)
    let third = otherFrames[2].header.lowerBound..<otherFrames[2].trailer.upperBound
    #expect(frames[2].header.lowerBound == third.lowerBound, "the twins must not differ in length")
    #expect(
      bytes[frames[1].header] != others[frames[1].header] || bytes[frames[1].trailer] != others[frames[1].trailer])
    var grafted = first
    let number = try #require(grafted.number(at: DamagedStore.data))
    grafted.change(number) { contents in
      Array(others[third]).withUnsafeBytes { contents.write($0, at: UInt64(third.lowerBound)) }
      // The slots are hints, and are lost here.
      contents.zero(4_096..<12_288)
    }
    let store = try FileStore.open(
      at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: ImageDisk(grafted))
    #expect(store.head.commit.number == 2)
  }

  @Test("damage in the newest frame's trailer is told when the store opens")
  func newestTrailer() throws {
    let store = try DamagedStore.make()
    let trailer = try #require(FrameMap(store.bytes).frames.last?.trailer)
    for offset in trailer {
      let outcome = try DamageProbe(store: store, image: store.flipping(offset, 8)).outcome()
      #expect(outcome == .reported, "byte \(offset - trailer.lowerBound) of the trailer: \(outcome)")
    }
  }

  /// A value that lies in pieces with checks of their own, and one whose entry only just is too long for one piece.
  @Test("damage anywhere in a large value is told", arguments: [1 << 20, (1 << 20) + 1, 3 << 20])
  func largeValues(_ size: Int) throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 22)
    let store = try FileStore.create(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    let value = (0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let transaction = try store.beginBlocking()
    try transaction.createTree(ScriptRunner.name(0), kind: .records, attributes: [])
    try transaction.put([1, 2, 3], value, in: ScriptRunner.name(0))
    try transaction.commit(CommitInfo())?.wait()
    try store.close()
    let image = disk.image
    let bytes = try #require(image.contents(at: DamagedStore.data)?.array)
    let changes = try #require(FrameMap(bytes).frames.first?.changes)
    let places = [
      changes.lowerBound, changes.lowerBound + 2, changes.lowerBound + 7, changes.lowerBound + 40,
      changes.lowerBound + changes.count / 2, changes.upperBound - 20, changes.upperBound - 1,
    ]
    for place in places {
      var damaged = image
      let number = try #require(damaged.number(at: DamagedStore.data))
      damaged.change(number) { contents in
        [bytes[place] ^ 0x10].withUnsafeBytes { contents.write($0, at: UInt64(place)) }
      }
      let opened = try FileStore.open(
        at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: ImageDisk(damaged))
      let tree = try #require(try opened.head.tree(ScriptRunner.name(0)))
      let reference = try #require(try tree.find(.bytes([1, 2, 3]))?.payload.record)
      #expect(throws: StorageError.self, "byte \(place - changes.lowerBound)") { try tree.value(of: reference) }
    }
  }

  @Test("a torn or damaged report of activity is not a report")
  func activity() throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 23)
    let writer = try FileStore.create(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    let transaction = try writer.beginBlocking()
    writer.setActivity(Array("rebuilding".utf8))
    let reader = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(reader.activity == Array("rebuilding".utf8))
    let file = try disk.open(RecordedWorkload.path + "/activity", .readWrite)
    for place in 0..<34 {
      var byte: UInt8 = 0
      _ = try withUnsafeMutableBytes(of: &byte) { try file.read(into: $0, at: UInt64(place)) }
      try withUnsafeBytes(of: byte ^ 2) { try file.write($0, at: UInt64(place)) }
      #expect(reader.activity == nil, "byte \(place)")
      try withUnsafeBytes(of: byte) { try file.write($0, at: UInt64(place)) }
    }
    #expect(reader.activity == Array("rebuilding".utf8))
    transaction.cancel()
  }

  // MARK: Names of folders

  /// The newest commit is there in every image after it was promised.
  private func expectPromises(_ disk: SimulatedDisk, _ path: String) throws {
    try CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { image in
      guard let promised = image.notes.last else { return }
      let options = StoreOptions(isReadOnly: true)
      let store = try FileStore.open(at: path, options: options, disk: ImageDisk(image.image))
      #expect(store.head.commit.number >= promised, "\(image.kind) at \(image.position)")
    }
  }

  private func commitOnce(_ store: FileStore, _ disk: SimulatedDisk) throws {
    let transaction = try store.beginBlocking()
    try transaction.createTree(ScriptRunner.name(0), kind: .records, attributes: [])
    try transaction.commit(CommitInfo())?.wait()
    disk.note(1)
  }

  @Test("a store made in folders that were not there is durable with all of them")
  func newFolders() throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 24)
    let path = "/library/one/two/three.strata"
    try commitOnce(try FileStore.create(at: path, options: StoreOptions(), disk: disk), disk)
    try expectPromises(disk, path)
  }

  @Test("a store made in a folder whose name an earlier attempt did not make durable is durable")
  func unsyncedFolder() throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 25)
    try disk.makeDirectory(RecordedWorkload.path)
    try commitOnce(try FileStore.create(at: RecordedWorkload.path, options: StoreOptions(), disk: disk), disk)
    try expectPromises(disk, RecordedWorkload.path)
  }
}
