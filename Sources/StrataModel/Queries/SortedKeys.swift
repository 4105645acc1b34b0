import StrataEngine

/// A record's place in a sort.
package struct SortedKey: Comparable, Sendable {
  var key: [UInt8]
  var identifier: [UInt8]

  package init(key: [UInt8], identifier: [UInt8]) {
    self.key = key
    self.identifier = identifier
  }

  package init(_ position: QueryPosition) { self.init(key: position.sortKey, identifier: position.identifier) }

  package static func < (left: Self, right: Self) -> Bool {
    if left.key != right.key { return left.key.precedes(right.key) }
    return left.identifier.precedes(right.identifier)
  }
}

/// Decides between equal sort keys by the order of the records.
///
/// That is the order of the identifiers' bytes, or, if only the app can order identifiers, the order of the records' ranks.
package struct SortTie {
  private let records: any QueryEntries
  private let isBytes: Bool

  package init(_ records: any QueryEntries) {
    self.records = records
    isBytes = records.hasBytesAsOrder
  }

  /// Returns bytes that have the order of the records.
  ///
  /// - Parameter rank: the rank of the record, if it is known.
  package func bytes(of identifier: StoredKey, at rank: Int? = nil) throws(ModelError) -> [UInt8] {
    if isBytes { return identifier.bytes }
    let place = if let rank { rank } else { try records.place(of: identifier) ?? .max }
    return Self.bytes(of: place) + identifier.bytes
  }

  /// Returns the identifier for such bytes.
  package func identifier(of bytes: [UInt8]) -> [UInt8] {
    isBytes ? bytes : Array(bytes.dropFirst(MemoryLayout<UInt64>.size))
  }

  /// Returns a key before all keys that come after a position, and before no other, whether the record exists or not.
  package func key(behind position: QueryPosition) throws(ModelError) -> SortedKey {
    if isBytes { return SortedKey(position) }
    let rank = try records.rank(after: StoredKey(bytes: position.identifier, value: .null))
    return SortedKey(key: position.sortKey, identifier: Self.bytes(of: rank))
  }

  private static func bytes(of rank: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(rank).bigEndian) { Array($0) } }
}

/// Sorts keys, each with an identifier: the first ones up to a limit, or all.
///
/// With a limit it holds at most about twice that number of keys. Keys that exceed the memory are sorted and written to an unnamed file as
/// a run. In the end the runs are merged, a piece of each in memory.
package struct SortedKeys {
  /// Bytes held in memory, each key counted with 24 more: some 300,000 keys of numbers.
  package static let memory = 16 << 20

  private let bound: Int
  private let memory: Int
  private let after: SortedKey?
  private var run = KeyRun()
  private var worst: SortedKey?
  private var file: TemporaryFile?
  private var spilled: [Range<Int>] = []

  package init(limit: Int = .max, offset: Int = 0, after: SortedKey? = nil, memory: Int = memory) {
    let (most, isTooLarge) = limit.addingReportingOverflow(offset)
    bound = isTooLarge ? .max : most
    self.after = after
    self.memory = memory
  }

  /// The number of runs written to the file.
  package var runCount: Int { spilled.count }

  /// Whether a key may be among the first ones; otherwise it need not be added.
  package func takes(_ key: [UInt8]) -> Bool { worst.map { !$0.key.precedes(key) } ?? true }

  package mutating func add(_ item: SortedKey) throws(ModelError) {
    if let after, !(after < item) { return }
    if let worst, !(item < worst) { return }
    run.append(item)
    if run.count / 2 > max(bound, 64) { cut() }
    guard run.size > memory else { return }
    if run.count > bound { cut() }
    if run.size > memory / 2 { try spill() }
  }

  /// Returns a walk over the identifiers, in the order of their keys.
  package mutating func walk() throws(ModelError) -> SortedKeyWalk {
    run.sort()
    guard let file else { return SortedKeyWalk(held: run, limit: bound) }
    if run.count > 0 { try spill() }
    return try SortedKeyWalk(merging: spilled, of: file, limit: bound)
  }

  private mutating func cut() {
    run.sort()
    run.keep(first: bound)
    worst = run.last
  }

  private mutating func spill() throws(ModelError) {
    run.sort()
    let target: TemporaryFile
    if let file { target = file } else { target = try TemporaryFile() }
    file = target
    let start = spilled.last?.upperBound ?? 0
    spilled.append(start..<(try run.write(to: target, at: start)))
    run = KeyRun()
  }
}

/// Keys in one run of bytes, so that none needs an array of its own.
private struct KeyRun {
  private struct Place {
    /// The key's first eight bytes, which mostly suffice to compare two keys.
    var beginning: UInt64
    var start: Int
    var keyCount: Int32
    var identifierCount: Int32
  }

  private var bytes: [UInt8] = []
  private var places: [Place] = []

  var count: Int { places.count }
  var size: Int { bytes.count + places.count * MemoryLayout<Place>.stride }
  var last: SortedKey? { places.last.map { SortedKey(key: Array(key($0)), identifier: Array(identifier($0))) } }

  mutating func append(_ item: SortedKey) {
    places.append(
      Place(
        beginning: item.key.beginning, start: bytes.count, keyCount: Int32(clamping: item.key.count),
        identifierCount: Int32(clamping: item.identifier.count)))
    bytes += item.key
    bytes += item.identifier
  }

  func identifier(at place: Int) -> [UInt8] { Array(identifier(places[place])) }

  private func key(_ place: Place) -> ArraySlice<UInt8> { bytes[place.start..<place.start + Int(place.keyCount)] }

  private func identifier(_ place: Place) -> ArraySlice<UInt8> {
    let start = place.start + Int(place.keyCount)
    return bytes[start..<start + Int(place.identifierCount)]
  }

  mutating func sort() {
    bytes.withUnsafeBytes { bytes in
      func part(_ start: Int, _ count: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(count)])
      }
      places.sort { left, right in
        if left.beginning != right.beginning { return left.beginning < right.beginning }
        let order = compareKeys(part(left.start, left.keyCount), part(right.start, right.keyCount))
        if order != 0 { return order < 0 }
        return compareKeys(
          part(left.start + Int(left.keyCount), left.identifierCount),
          part(right.start + Int(right.keyCount), right.identifierCount)) < 0
      }
    }
  }

  /// Releases all but the first ones, after they are sorted.
  mutating func keep(first count: Int) {
    guard count < places.count else { return }
    var kept = KeyRun()
    for place in places.prefix(count) {
      kept.append(SortedKey(key: Array(key(place)), identifier: Array(identifier(place))))
    }
    self = kept
  }

  /// Writes all keys, each as the lengths of key and identifier (4 bytes each) and both. Returns the end of the written bytes.
  func write(to file: TemporaryFile, at start: Int) throws(ModelError) -> Int {
    var end = start
    var block: [UInt8] = []
    for place in places {
      for count in [place.keyCount, place.identifierCount] {
        withUnsafeBytes(of: count.littleEndian) { block.append(contentsOf: $0) }
      }
      block += key(place)
      block += identifier(place)
      guard block.count > 1 << 20 else { continue }
      try file.write(block, at: end)
      end += block.count
      block.removeAll(keepingCapacity: true)
    }
    try file.write(block, at: end)
    return end + block.count
  }
}

/// Walks the sorted identifiers.
package struct SortedKeyWalk {
  private var held = KeyRun()
  private var place = 0
  private var remaining: Int
  private var readers: [KeyRunReader] = []
  private var heads: [SortedKey?] = []

  fileprivate init(held: KeyRun, limit: Int) {
    self.held = held
    remaining = min(held.count, limit)
  }

  fileprivate init(merging runs: [Range<Int>], of file: TemporaryFile, limit: Int) throws(ModelError) {
    remaining = limit
    readers = runs.map { KeyRunReader(file, $0) }
    for reader in readers.indices { heads.append(try readers[reader].next()) }
  }

  /// Returns the identifier of the next key, or nil at the end.
  package mutating func next() throws(ModelError) -> [UInt8]? {
    guard remaining > 0 else { return nil }
    remaining -= 1
    guard !readers.isEmpty else {
      defer { place += 1 }
      return held.identifier(at: place)
    }
    var best: Int?
    for (place, head) in heads.enumerated() {
      guard let head else { continue }
      if let current = best.flatMap({ heads[$0] }), !(head < current) { continue }
      best = place
    }
    guard let best, let item = heads[best] else { return nil }
    heads[best] = try readers[best].next()
    return item.identifier
  }
}

private struct KeyRunReader {
  private let file: TemporaryFile
  private var offset: Int
  private let end: Int
  private var buffer: [UInt8] = []
  private var at = 0

  init(_ file: TemporaryFile, _ run: Range<Int>) {
    self.file = file
    offset = run.lowerBound
    end = run.upperBound
  }

  mutating func next() throws(ModelError) -> SortedKey? {
    guard at < buffer.count || offset < end else { return nil }
    let counts = try bytes(8)
    func count(_ start: Int) -> Int {
      (0..<4).reduce(0) { $0 | Int(counts[counts.startIndex + start + $1]) << (8 * $1) }
    }
    let (keyCount, identifierCount) = (count(0), count(4))
    let both = try bytes(keyCount + identifierCount)
    return SortedKey(key: Array(both.prefix(keyCount)), identifier: Array(both.suffix(identifierCount)))
  }

  private mutating func bytes(_ count: Int) throws(ModelError) -> ArraySlice<UInt8> {
    if buffer.count - at < count {
      buffer.removeFirst(at)
      at = 0
      let more = try file.read(at: offset, count: min(end - offset, max(64 << 10, count - buffer.count)))
      offset += more.count
      buffer += more
      guard buffer.count >= count else {
        throw .storage("the temporary file is shorter than what was written to it", kind: .failed)
      }
    }
    defer { at += count }
    return buffer[at..<at + count]
  }
}
