import StorageEngine

/// The file `ancestry` in a store's folder: which commits the store has and what they were made on, as an exchange has read it, so that the
/// next one reads only what is new. It is no part of the store: what does not fit the data is read anew, and who takes it away loses
/// time alone.
///
/// FORMAT.md says what is in it. It belongs to the file of the data with the same identity and generation, in which the commit with the newest
/// number is the one that it names; all before that one is what it was, as nothing in a file is changed.
struct AncestryFile {
  private let path: String

  private static let magic = Array("Ancestry".utf8)
  private static let form: UInt32 = 1
  private static let headerSize = 88
  /// A longer one is nobody's.
  private static let limit = 1 << 30

  init(storeAt folder: String) { path = folder + "/ancestry" }

  /// What is known of a store's commits; nil where the file is not there, is damaged, or is of another file of data.
  func read(of store: any Engine) -> CommitGraph? {
    guard let bytes = contents() else { return nil }
    return bytes.withUnsafeBytes { bytes in
      var reader = AncestryReader(bytes)
      guard reader.bytes(8) == Self.magic, reader.number() as UInt32? == Self.form,
        let check = reader.number() as UInt32?, check == crc32c(0, Array(bytes.dropFirst(16))),
        let header = Header(&reader),
        let newest = try? store.commit(header.newest), header == Header(of: store.identity, newest)
      else { return nil }
      return CommitGraph(&reader, generation: header.generation, newest: header.newest)
    }
  }

  /// Writes what is known of a store's commits, durably.
  func write(_ graph: CommitGraph, of store: any Engine) throws {
    let identity = store.identity
    let newest = try store.commit(graph.newest)
    // Compaction may just have put another file in place.
    guard identity.generation == graph.generation else { return }
    var rest: [UInt8] = []
    rest.reserveCapacity(Self.headerSize + graph.encodedSize)
    Header(of: identity, newest).encode(into: &rest)
    graph.encode(into: &rest)
    var bytes = Self.magic
    bytes.append(Self.form)
    bytes.append(crc32c(0, rest))
    try DurableFile.replace(path, with: bytes + rest)
  }

  private func contents() -> [UInt8]? {
    guard let file = try? SystemDisk().open(path, .read), let status = try? file.status, !status.isDirectory,
      (Self.headerSize...Self.limit).contains(Int(clamping: status.size))
    else { return nil }
    let size = Int(status.size)
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
      filled =
        (try? file.read(
          into: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<size]), at: 0)) ?? 0
    }
    return bytes.count == size ? bytes : nil
  }

  /// Which file of data it belongs to, and up to where.
  private struct Header: Equatable {
    var store: (UInt64, UInt64)
    var generation: UInt64
    var newest: UInt64
    var identity: CommitIdentity
    var date: Int64

    init(of store: StoreIdentity, _ newest: CommitRecord) {
      self.store = (store.high, store.low)
      generation = store.generation
      self.newest = newest.number
      identity = newest.identity
      date = newest.date
    }

    init?(_ reader: inout AncestryReader) {
      guard let high: UInt64 = reader.number(), let low: UInt64 = reader.number(),
        let generation: UInt64 = reader.number(), let newest: UInt64 = reader.number(),
        let identity = reader.identity(), let date: Int64 = reader.number()
      else { return nil }
      (store, self.generation, self.newest, self.identity, self.date) = (
        (high, low), generation, newest, identity, date
      )
    }

    func encode(into bytes: inout [UInt8]) {
      bytes.append(store.0)
      bytes.append(store.1)
      bytes.append(generation)
      bytes.append(newest)
      bytes.append(identity)
      bytes.append(date)
    }

    static func == (left: Header, right: Header) -> Bool {
      left.store == right.store && left.generation == right.generation && left.newest == right.newest
        && left.identity == right.identity && left.date == right.date
    }
  }
}

extension CommitGraph {
  var encodedSize: Int { 16 + entries.count * 36 + placesOfNumbers.count * 4 + undone.count * 20 + squashed.count * 64 }

  func encode(into bytes: inout [UInt8]) {
    for count in [entries.count, placesOfNumbers.count, undone.count, squashed.count] { bytes.append(UInt32(count)) }
    for entry in entries {
      bytes.append(entry.identity)
      bytes.append(entry.number)
      bytes.append(entry.parents.0)
      bytes.append(entry.parents.1)
      bytes.append(UInt32(entry.isKnown ? 1 : 0))
    }
    for place in placesOfNumbers { bytes.append(place) }
    for (place, identity) in undone {
      bytes.append(place)
      bytes.append(identity)
    }
    for (place, runs) in squashed {
      bytes.append(place)
      bytes.append(UInt32(runs.count))
      for run in runs {
        bytes.append(CommitIdentity(origin: run.origin, number: run.numbers.lowerBound))
        bytes.append(run.numbers.upperBound)
        bytes.append(UInt32(run.parents.count))
        for parent in run.parents { bytes.append(parent) }
      }
    }
  }

  /// Nil where it is none.
  fileprivate init?(_ reader: inout AncestryReader, generation: UInt64, newest: UInt64) {
    guard let entryCount = reader.count(of: 36), let numberCount = reader.count(of: 4),
      let undoneCount = reader.count(of: 20), let squashedCount = reader.count(of: 8)
    else { return nil }
    self.init(generation: generation, newest: newest)
    entries.reserveCapacity(entryCount)
    places.reserveCapacity(entryCount)
    let (all, parents) = (0..<Place(entryCount), -1..<Place(entryCount))
    for place in all {
      guard let identity = reader.identity(), let number: UInt64 = reader.number(), let first: Place = reader.number(),
        let second: Place = reader.number(), let isKnown: UInt32 = reader.number(), parents.contains(first),
        parents.contains(second)
      else { return nil }
      entries.append(Entry(identity: identity, number: number, isKnown: isKnown == 1, parents: (first, second)))
      places[identity] = place
    }
    for _ in 0..<numberCount {
      guard let place: Place = reader.number(), all.contains(place), case let number = entries[Int(place)].number,
        number > numbers.last ?? 0, number <= newest
      else { return nil }
      placesOfNumbers.append(place)
      numbers.append(number)
    }
    for _ in 0..<undoneCount {
      guard let place: Place = reader.number(), all.contains(place), let identity = reader.identity() else {
        return nil
      }
      undone[place] = identity
    }
    for _ in 0..<squashedCount {
      guard let place: Place = reader.number(), all.contains(place), let count = reader.count(of: 28) else {
        return nil
      }
      for _ in 0..<count {
        guard let run = reader.run() else { return nil }
        squashed[place, default: []].append(run)
      }
    }
    guard reader.isAtEnd else { return nil }
  }
}

/// Reads numbers one after the other; nil where nothing is left.
private struct AncestryReader {
  private let bytes: UnsafeRawBufferPointer
  private var at = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { at == bytes.count }

  mutating func number<Number: FixedWidthInteger>() -> Number? {
    let size = MemoryLayout<Number>.size
    guard bytes.count - at >= size else { return nil }
    defer { at += size }
    return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: Number.self))
  }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard bytes.count - at >= count else { return nil }
    defer { at += count }
    return Array(bytes[at..<(at + count)])
  }

  mutating func identity() -> CommitIdentity? {
    guard let origin: UInt64 = number(), let number: UInt64 = number() else { return nil }
    return CommitIdentity(origin: origin, number: number)
  }

  /// A number of things of which each takes so many bytes at least.
  mutating func count(of size: Int) -> Int? {
    guard let count: UInt32 = number(), Int(count) <= bytes.count / size else { return nil }
    return Int(count)
  }

  mutating func run() -> Pedigree.Run? {
    guard let first = identity(), let last: UInt64 = number(), last >= first.number, let count = count(of: 16) else {
      return nil
    }
    var parents: [CommitIdentity] = []
    for _ in 0..<count {
      guard let parent = identity() else { return nil }
      parents.append(parent)
    }
    return Pedigree.Run(origin: first.origin, numbers: first.number...last, parents: parents)
  }
}

extension [UInt8] {
  fileprivate mutating func append<Number: FixedWidthInteger>(_ number: Number) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  fileprivate mutating func append(_ identity: CommitIdentity) {
    append(identity.origin)
    append(identity.number)
  }
}
