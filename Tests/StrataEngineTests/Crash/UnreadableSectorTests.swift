import Testing

@testable import StrataEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A disk with a sector in one file that it cannot read any more.
private struct FailingSector: ForwardingDisk {
  let base: any Disk
  let path: String
  let sector: Range<UInt64>

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let file = try base.open(path, mode)
    return path == self.path ? FailingFile(base: file, path: path, sector: sector) : file
  }
}

private final class FailingFile: ForwardingFile {
  let base: any DiskFile
  private let path: String
  private let sector: Range<UInt64>

  init(base: any DiskFile, path: String, sector: Range<UInt64>) {
    self.base = base
    self.path = path
    self.sector = sector
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    if sector.overlaps(offset..<(offset + UInt64(buffer.count))) {
      throw DiskError(operation: "pread", path: path, code: EIO)
    }
    return try base.read(into: buffer, at: offset)
  }

  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? {
    // To touch the sector in a mapping would end the process.
    throw DiskError(operation: "mmap", path: path, code: EIO)
  }
}

@Suite("Sectors that a disk cannot read")
struct UnreadableSectorTests {
  @Test("wherever one lies, verify tells of damage and salvage saves what is in the others")
  func everySector() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for round in 0..<8 {
      try store.change { transaction in
        for number in 0..<20 {
          try transaction.put(key(round * 20 + number), [UInt8](repeating: UInt8(round), count: 100), in: people)
        }
      }
    }
    let end = store.dataBytes
    try store.close()
    var fewest = 160
    for start in stride(from: UInt64(0), to: end, by: 4096) {
      let failing = FailingSector(base: disk, path: "store/data", sector: start..<(start + 4096))
      let report = try FileStore.verify(at: "store", disk: failing)
      // Slots and what is kept free between them are hints.
      if start == 0 || start >= FileLayout.firstFrame.bytes { #expect(!report.isClean, "sector at \(start)") }
      let path = "saved \(start)"
      _ = try FileStore.salvage(from: "store", to: path, options: StoreOptions(), disk: failing)
      #expect(try FileStore.verify(at: path, disk: disk).isClean, "sector at \(start)")
      let saved = try FileStore.open(at: path, options: StoreOptions(), disk: disk)
      fewest = min(fewest, Int(try saved.head.tree(people)?.entryCount ?? 0))
    }
    // A sector holds less than forty of them.
    #expect(fewest >= 120)
  }

  private let value = String(repeating: "x", count: 100)

  @Test(
    "a store that is read by calls opens though a slot cannot be read, and loses no more than what lies in the sector")
  func readByCalls() throws {
    let disk = MemoryDisk()
    // Of whole nodes: the base of a root that is stored as patches lies elsewhere, and is needed for every key.
    var made = StoreOptions()
    made.writesDeltas = false
    let store = try FileStore.create(at: "store", options: made, disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<160 {
      try store.change { try $0.put(key(number), bytes(value), in: people) }
    }
    let end = store.dataBytes
    try store.close()
    let options = StoreOptions(readsMapped: false)
    // The tree's attributes lie in the first frame, and the root in the last ones.
    for start in stride(from: UInt64(4096), to: end / 4096 * 4096 - 8192, by: 4096) where start != 16_384 {
      let failing = FailingSector(base: disk, path: "store/data", sector: start..<(start + 4096))
      let opened = try FileStore.open(at: "store", options: options, disk: failing)
      var lost = 0
      for number in 0..<160 {
        do {
          let text = try opened.head.text(key(number))
          #expect(text == value)
        } catch let error as StorageError {
          guard case .damaged = error else { throw error }
          lost += 1
        }
      }
      #expect(lost < 60, "sector at \(start): \(lost)")
      if start < FileLayout.firstFrame.bytes { #expect(lost == 0, "sector at \(start)") }
    }
  }

  @Test("a record that cannot be read ends no more than the transaction that needs it: the store goes on being written")
  func writingBeside() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "store", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<160 {
      try store.change { try $0.put(key(number), bytes(value), in: people) }
    }
    try store.close()
    let failing = FailingSector(base: disk, path: "store/data", sector: 20_480..<24_576)
    let opened = try FileStore.open(at: "store", options: StoreOptions(readsMapped: false), disk: failing)
    try opened.change { try $0.put(key(1000), bytes("x"), in: people) }
    let view = opened.head
    let lost = (0..<160).filter { (try? view.text(key($0))) != value }
    #expect(!lost.isEmpty)
    try opened.change { try $0.put(key(1001), bytes("x"), in: people) }
    #expect(try opened.head.text(key(1001)) == "x")
  }
}
