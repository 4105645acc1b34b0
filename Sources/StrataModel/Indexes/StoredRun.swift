import StrataEngine

/// Sorted runs of entries, one behind the other in a file.
struct SpilledRuns: Sendable {
  let file: ScratchFile
  private(set) var places: [Range<UInt64>] = []

  init(_ file: ScratchFile) { self.file = file }

  /// Writes a run, which is empty then.
  mutating func write(_ run: inout EntryRun) throws {
    run.sort()
    let start = file.count
    var writer = RunWriter(file)
    try run.forEach { try writer.append($0) }
    try writer.flush()
    places.append(start..<file.count)
    run.removeAll()
  }
}

/// Writes a sorted run of entries: for each the key's length (4 bytes), offset, length and check of its record (8, 4, 4), and the key.
struct RunWriter {
  static let headSize = 20
  private static let bufferSize = 1 << 16

  private let file: ScratchFile
  private var buffer = [UInt8](repeating: 0, count: bufferSize + headSize + Limits.key)
  /// Bytes of the buffer that are not in the file yet.
  private var filled = 0

  init(_ file: ScratchFile) { self.file = file }

  mutating func append(_ entry: SortedEntry) throws(StorageError) {
    let end = filled + Self.headSize + entry.key.count
    if end > buffer.count { buffer += repeatElement(0, count: end - buffer.count) }
    buffer.withUnsafeMutableBytes { buffer in
      let head = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      head.storeBytes(of: UInt32(truncatingIfNeeded: entry.key.count), as: UInt32.self)
      head.storeBytes(of: entry.reference.place, toByteOffset: 4, as: UInt64.self)
      head.storeBytes(of: entry.reference.length, toByteOffset: 12, as: UInt32.self)
      head.storeBytes(of: entry.reference.check, toByteOffset: 16, as: UInt32.self)
      UnsafeMutableRawBufferPointer(rebasing: head[Self.headSize...]).copyMemory(from: entry.key)
    }
    filled = end
    if filled >= Self.bufferSize { try flush() }
  }

  mutating func flush() throws(StorageError) {
    let result = buffer.withUnsafeBytes { bytes in
      Result { () throws(StorageError) in try file.append(UnsafeRawBufferPointer(rebasing: bytes[..<filled])) }
    }
    try result.get()
    filled = 0
  }
}

/// Merges sorted runs of a file: of equal keys it returns the entry of the latest run.
struct RunMerge: ~Copyable {
  private let readers: [RunReader]
  /// The entry of each run that has one left, as a heap: none comes before the one at half its place.
  private var heads: [Head] = []
  private var isStanding = false

  /// The key of a run's next entry. Counted references would be counted at each comparison.
  private struct Head {
    /// The key's first eight bytes, which are usually enough to compare two keys.
    var beginning: UInt64
    var key: UnsafeRawBufferPointer
    var run: Int

    init(_ reader: RunReader, run: Int) {
      key = reader.entry.key
      beginning = key.beginning
      self.run = run
    }

    func hasKey(of other: Head) -> Bool { beginning == other.beginning && compareKeys(key, other.key) == 0 }

    /// Whether its entry is returned before another's: equal keys of later runs first.
    func precedes(_ other: Head) -> Bool {
      if beginning != other.beginning { return beginning < other.beginning }
      let order = compareKeys(key, other.key)
      return order != 0 ? order < 0 : run > other.run
    }
  }

  /// Bytes that all runs together are read ahead by.
  private static let memory = 8 << 20

  init(_ runs: SpilledRuns) throws(StorageError) {
    let size = max(1 << 14, min(1 << 18, Self.memory / max(1, runs.places.count)))
    readers = runs.places.map { RunReader($0, of: runs.file, bufferSize: size) }
    for (run, reader) in readers.enumerated() {
      if try reader.next() { heads.append(Head(reader, run: run)) }
    }
    for place in heads.indices.reversed() { sink(place) }
  }

  /// The entry that comes next, valid until the next call.
  mutating func next() throws(StorageError) -> SortedEntry? {
    if isStanding {
      let last = heads[0]
      // Earlier entries of the key are passed over: the latest run's came out.
      while let place = firstChild, heads[place].hasKey(of: last) { try advance(place) }
      try advance(0)
    }
    isStanding = !heads.isEmpty
    return heads.first.map { readers[$0.run].entry }
  }

  /// The child of the top that comes first.
  private var firstChild: Int? {
    guard heads.count > 1 else { return nil }
    return heads.count > 2 && heads[2].precedes(heads[1]) ? 2 : 1
  }

  private mutating func advance(_ place: Int) throws(StorageError) {
    let run = heads[place].run
    if try readers[run].next() {
      heads[place] = Head(readers[run], run: run)
    } else {
      heads.swapAt(place, heads.count - 1)
      heads.removeLast()
    }
    sink(place)
  }

  private mutating func sink(_ start: Int) {
    var place = start
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < heads.count && heads[child].precedes(heads[least]) { least = child }
      if least == place { return }
      heads.swapAt(place, least)
      place = least
    }
  }
}

private final class RunReader {
  private let file: ScratchFile
  private var position: UInt64
  private let end: UInt64
  private var buffer: UnsafeMutableRawBufferPointer
  /// How many bytes of the buffer were read from the file.
  private var filled = 0
  /// The offset of the next entry in the buffer.
  private var offset = 0
  private(set) var entry = SortedEntry(key: UnsafeRawBufferPointer(start: nil, count: 0), reference: .none)

  init(_ run: Range<UInt64>, of file: ScratchFile, bufferSize: Int) {
    self.file = file
    position = run.lowerBound
    end = run.upperBound
    buffer = .allocate(byteCount: bufferSize + RunWriter.headSize + Limits.key, alignment: 8)
  }

  deinit { buffer.deallocate() }

  /// Advances to the next entry; returns false at the end.
  func next() throws(StorageError) -> Bool {
    try fill(RunWriter.headSize)
    if filled == offset { return false }
    let head = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[offset...])
    let count = Int(head.loadUnaligned(as: UInt32.self))
    let reference = RecordReference(
      place: head.loadUnaligned(fromByteOffset: 4, as: UInt64.self),
      length: head.loadUnaligned(fromByteOffset: 12, as: UInt32.self),
      check: head.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
    try fill(RunWriter.headSize + count)
    let start = offset + RunWriter.headSize
    guard start + count <= filled else { throw .damaged(what: "run of sorted entries", offset: FileOffset(position)) }
    entry = SortedEntry(
      key: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[start..<start + count]),
      reference: reference)
    offset = start + count
    return true
  }

  /// Makes sure that `count` bytes of the run are in the buffer, if it has as many left.
  private func fill(_ count: Int) throws(StorageError) {
    guard filled - offset < count, position < end else { return }
    let rest = filled - offset
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[offset..<filled]))
    offset = 0
    if count > buffer.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<rest]))
      buffer.deallocate()
      buffer = larger
    }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[rest..<min(buffer.count, rest + Int(end - position))])
    let read = try file.read(into: room, at: position)
    guard read == room.count else { throw .damaged(what: "run of sorted entries", offset: FileOffset(position)) }
    position += UInt64(read)
    filled = rest + read
  }
}
