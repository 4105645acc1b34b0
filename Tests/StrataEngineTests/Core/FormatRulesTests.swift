import DiskSimulation
import Testing

@testable import StrataEngine

/// What version 1 makes of what later programs may write, by the rules in FORMAT.md.
@Suite("Rules of the format for what comes later")
struct FormatRulesTests {
  private func sample() throws -> (disk: SimulatedDisk, bytes: [UInt8]) {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 61)
    let store = try FileStore.create(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    try store.change { try $0.put(key(1), bytes("value"), in: people) }
    try store.close()
    return (disk, try #require(disk.image.contents(at: DamagedStore.data)).array)
  }

  @Test("a field behind the last one of a record is not damage")
  func fieldOfRecord() throws {
    let (disk, bytes) = try sample()
    let forged = try ForgedFrame.last(of: bytes) { $0 + [7, 1, 2, 3] }
    let file = try disk.open(DamagedStore.data, .readWrite)
    try file.zero(0..<UInt64(bytes.count))
    try file.write(forged, at: 0)
    let store = try FileStore.open(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    #expect(store.openingReport.damage == nil)
    #expect(try store.head.text(key(1)) == "value")
    try store.change { try $0.put(key(2), [1], in: people) }
    try store.close()
    #expect(try FileStore.verify(at: DamagedStore.path, disk: disk).isClean)
  }

  @Test(
    "a frame of an unknown kind is not cut off: the store can be read, and not written",
    arguments: [(4, 2), (5, 1), (7, 1)])
  func kindOfFrame(_ place: Int, _ value: UInt8) throws {
    let (disk, bytes) = try sample()
    let writer = try FileStore.open(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    let end = try #require(FrameMap(bytes).frames.last).trailer.upperBound
    let seed = bytes.withUnsafeBytes { loadInteger(UInt32.self, $0, at: 64) }
    var header = FrameHeader(
      number: 3, length: 160, previousOffset: 16_384, previousHash: 1, recordLength: 0, changesLength: 80,
      nodesLength: 0, recordCheck: 0
    ).encoded(seed: seed)
    header[place] = value
    let check = header.withUnsafeBytes { checksum(seed, UnsafeRawBufferPointer(rebasing: $0[..<60])) }
    withUnsafeBytes(of: check.littleEndian) { header.replaceSubrange(60..<64, with: $0) }
    try disk.open(DamagedStore.data, .readWrite).write(header + [UInt8](repeating: 9, count: 96), at: UInt64(end))
    let before = disk.image.contents(at: DamagedStore.data)?.array

    let reason = StorageError.readOnly(reason: "it has commits of a kind that this program does not know")
    let store = try FileStore.open(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    #expect(store.openingReport.damage == nil)
    #expect(try store.head.text(key(1)) == "value")
    #expect(throws: reason) { try store.beginBlocking() }
    #expect(throws: reason) { try writer.beginBlocking() }
    #expect(disk.image.contents(at: DamagedStore.data)?.array == before)
  }
}
