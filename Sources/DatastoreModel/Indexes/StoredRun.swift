import StorageEngine

/// Writes a sorted run of entries: for each the key's length (2 bytes), whether it is a removal (1), offset, length and check of its record (8,
/// 4, 4), and the key.
struct RunWriter {
  static let headSize = 19
  private static let bufferSize = 1 << 16

  private let file: ScratchFile
  private var buffer: [UInt8] = []

  init(_ file: ScratchFile) {
    self.file = file
    buffer.reserveCapacity(Self.bufferSize + Self.headSize + Limits.key)
  }

  mutating func append(_ entry: SortedEntry) throws(StorageError) {
    append(UInt16(truncatingIfNeeded: entry.key.count))
    buffer.append(entry.isRemoval ? 1 : 0)
    append(entry.reference.place)
    append(entry.reference.length)
    append(entry.reference.check)
    buffer.append(contentsOf: entry.key)
    if buffer.count >= Self.bufferSize { try flush() }
  }

  mutating func flush() throws(StorageError) {
    let result = buffer.withUnsafeBytes { bytes in
      Result { () throws(StorageError) in try file.append(bytes) }
    }
    try result.get()
    buffer.removeAll(keepingCapacity: true)
  }

  private mutating func append(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number) { buffer.append(contentsOf: $0) }
  }
}

/// Merges sorted runs of a file: of equal keys the entry of the latest run comes out.
struct RunMerge: ~Copyable {
  /// The runs that have an entry left, as a heap: none comes before the one at half its place.
  private var readers: [RunReader]

  /// Bytes that all runs together are read ahead by.
  private static let memory = 8 << 20

  init(_ runs: [Range<UInt64>], of file: ScratchFile) throws(StorageError) {
    readers = []
    let size = max(1 << 14, min(1 << 18, Self.memory / max(1, runs.count)))
    for (number, run) in runs.enumerated() {
      let reader = RunReader(run, number, of: file, bufferSize: size)
      if try reader.next() { readers.append(reader) }
    }
    for place in readers.indices.reversed() { sink(place) }
  }

  /// The entry that comes next, valid until the next call.
  mutating func next() throws(StorageError) -> SortedEntry? {
    if isStanding {
      let last = readers[0]
      // Earlier entries of the key are passed over: the latest run's came out.
      while readers.count > 1, let place = firstChild, readers[place].hasKey(of: last) { try advance(place) }
      try advance(0)
    }
    isStanding = !readers.isEmpty
    return readers.first?.entry
  }

  private var isStanding = false

  /// The child of the top that comes first.
  private var firstChild: Int? {
    guard readers.count > 1 else { return nil }
    return readers.count > 2 && readers[2].precedes(readers[1]) ? 2 : 1
  }

  private mutating func advance(_ place: Int) throws(StorageError) {
    if try !readers[place].next() {
      readers.swapAt(place, readers.count - 1)
      readers.removeLast()
    }
    sink(place)
  }

  private mutating func sink(_ start: Int) {
    var place = start
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < readers.count && readers[child].precedes(readers[least]) { least = child }
      if least == place { return }
      readers.swapAt(place, least)
      place = least
    }
  }
}

/// Reads one sorted run from its beginning.
private final class RunReader {
  private let file: ScratchFile
  private let number: Int
  private var position: UInt64
  private let end: UInt64
  private let buffer: UnsafeMutableRawBufferPointer
  /// What of the buffer was read from the file.
  private var filled = 0
  /// Where the next entry begins in it.
  private var offset = 0
  private(set) var entry = SortedEntry(
    key: UnsafeRawBufferPointer(start: nil, count: 0), reference: .none, isRemoval: false)

  init(_ run: Range<UInt64>, _ number: Int, of file: ScratchFile, bufferSize: Int) {
    self.file = file
    self.number = number
    position = run.lowerBound
    end = run.upperBound
    buffer = .allocate(byteCount: bufferSize + RunWriter.headSize + Limits.key, alignment: 8)
  }

  deinit { buffer.deallocate() }

  func hasKey(of other: RunReader) -> Bool { compareKeys(entry.key, other.entry.key) == 0 }

  /// Whether its entry comes out before another's: equal keys of later runs first.
  func precedes(_ other: RunReader) -> Bool {
    let order = compareKeys(entry.key, other.entry.key)
    return order != 0 ? order < 0 : number > other.number
  }

  /// Goes to the next entry; false at the end.
  func next() throws(StorageError) -> Bool {
    try fill(RunWriter.headSize)
    if filled == offset { return false }
    let head = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[offset...])
    let count = Int(head.loadUnaligned(as: UInt16.self))
    let reference = RecordReference(
      place: head.loadUnaligned(fromByteOffset: 3, as: UInt64.self),
      length: head.loadUnaligned(fromByteOffset: 11, as: UInt32.self),
      check: head.loadUnaligned(fromByteOffset: 15, as: UInt32.self))
    let isRemoval = head[2] != 0
    try fill(RunWriter.headSize + count)
    let start = offset + RunWriter.headSize
    guard start + count <= filled else { throw .damaged(what: "run of sorted entries", offset: FileOffset(position)) }
    entry = SortedEntry(
      key: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[start..<start + count]),
      reference: reference, isRemoval: isRemoval)
    offset = start + count
    return true
  }

  /// Sees that so many bytes of the run are there, if it has as many left.
  private func fill(_ count: Int) throws(StorageError) {
    guard filled - offset < count, position < end else { return }
    let rest = filled - offset
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[offset..<filled]))
    offset = 0
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[rest..<min(buffer.count, rest + Int(end - position))])
    let read = try file.read(into: room, at: position)
    guard read == room.count else { throw .damaged(what: "run of sorted entries", offset: FileOffset(position)) }
    position += UInt64(read)
    filled = rest + read
  }
}
