import StrataEngine
import StrataLocks
import StrataModel

/// A store whose reads are recorded, so that the other side of a line gets the bytes that it will read for the same work.
///
/// It keeps nothing in memory that it has read before: a read from memory would not be recorded. One thread at a time reads.
final class RecordedStore: Sendable {
  private let bytes: RecordedBytes
  private let disk: DurableDisk
  private let engine: FileStore
  private let path: String

  var settled: DurableEnd { disk.end }

  /// Opens the data as far as an open store knows it.
  init(_ store: FileStore, mostPages: Int) throws {
    path = store.path
    let file = try SystemDisk().open(path + "/data", .read)
    bytes = RecordedBytes(file, SentUnits(mostPages: mostPages))
    disk = DurableDisk(path, bytes, try Self.end(of: store, in: file))
    var options = StoreOptions(isReadOnly: true, readsMapped: false)
    options.nodeCacheSize = 0
    engine = try FileStore.open(at: path, options: options, disk: disk)
    guard engine.identity.generation == disk.end.generation else { throw StorageError.replaced(path: path) }
  }

  private static func end(of store: FileStore, in file: any DiskFile) throws -> DurableEnd {
    DurableEnd(
      file: try file.status.identity, generation: store.identity.generation,
      end: min(store.dataBytes, try file.status.size))
  }

  /// Follows an open store. Returns false if it has other data by now, so that it must be recorded again.
  func follow(_ store: FileStore) throws -> Bool {
    guard try SystemDisk().identity(path + "/data") == settled.file else { return false }
    let end = try Self.end(of: store, in: bytes.file)
    guard end.generation == settled.generation, end.end >= settled.end else { return false }
    guard end != settled else { return true }
    bytes.forgetUnit(at: settled.end)
    disk.setEnd(end)
    try engine.refresh()
    return true
  }

  /// Does a reading until its new bytes are more than `budget`. The other side reports bytes that cannot be read.
  func read(_ reading: AnnouncedReading, budget: UInt64) {
    // A value of its own each time, because it remembers what it has counted.
    let store = EngineStore(engine, path: path, access: .readOnly(reason: "it is recorded"), disk: disk)
    try? store.read(reading) { bytes.freshBytes < budget }
  }

  /// Adds a range to what is sent next, even if it was sent before.
  func add(_ range: Range<UInt64>) { bytes.add(range.clamped(to: 0..<settled.end)) }

  /// The recorded bytes that the other side does not have, as runs.
  ///
  /// - Returns: also whether the other side must first drop all that it has.
  func removeRuns() throws -> (runs: [UInt8], drops: Bool) { try bytes.removeRuns(before: settled.end) }
}

/// A file whose reads are recorded.
private final class RecordedBytes: DurableBytes {
  let file: any DiskFile
  private let units: Mutex<SentUnits>

  init(_ file: any DiskFile, _ units: SentUnits) {
    self.file = file
    self.units = Mutex(units)
  }

  var freshBytes: UInt64 { units.withLock { $0.freshBytes } }

  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64, of: FileIdentity
  ) throws(DiskError) -> Int {
    let count = try file.read(into: buffer, at: offset)
    units.withLock { $0.mark(offset..<offset + UInt64(count)) }
    return count
  }

  func add(_ range: Range<UInt64>) { units.withLock { $0.mark(range, again: true) } }
  func forgetUnit(at end: UInt64) { units.withLock { $0.forgetUnit(at: end) } }

  func removeRuns(before end: UInt64) throws -> (runs: [UInt8], drops: Bool) {
    let (ranges, drops) = units.withLock { units in
      let ranges = units.removeFresh()
      let drops = units.isFull
      if drops { units.removeAll() }
      for range in ranges where drops { units.mark(range) }
      _ = drops ? units.removeFresh() : []
      return (ranges, drops)
    }
    var runs: [UInt8] = []
    for range in ranges {
      let range = range.clamped(to: 0..<end)
      var part = [UInt8](repeating: 0, count: range.count)
      let count = try part.withUnsafeMutableBytes { try file.read(into: $0, at: range.lowerBound) }
      guard count == part.count else { throw StorageError.damaged(what: "end of the file", offset: FileOffset(end)) }
      ByteRuns.append(part, at: range.lowerBound, to: &runs)
    }
    return (runs, drops)
  }
}
