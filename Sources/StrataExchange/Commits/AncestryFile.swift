import StrataModel
import StrataEngine

/// The file `ancestry` in a store's folder: the store's commits and their parents, as an exchange has read them, so that the next one reads
/// only new commits. It is not part of the store: if it does not fit the data, the commits are read again, and removing it costs only time.
///
/// FORMAT.md describes it. It belongs to the data file with the same identity and generation in which the newest commit that it names has
/// the same identity. All commits before that one are unchanged, as nothing in a file is changed.
struct AncestryFile {
  private let path: String

  private static let magic = Array("Ancestry".utf8)
  private static let form: UInt32 = 2
  private static let headerSize = 92
  /// A longer file was not written by this program.
  private static let limit = 1 << 30

  init(storeAt folder: String) { path = folder + "/ancestry" }

  /// The graph of a store's commits; nil if the file does not exist, is damaged, or belongs to another data file.
  func read(of store: any Engine) -> CommitGraph? {
    guard let bytes = try? SystemDisk().contents(of: path, most: Self.limit) else { return nil }
    return try? bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes, what: "ancestry")
      guard try Array(reader.read(8)) == Self.magic, try reader.fixed(UInt32.self) == Self.form,
        try reader.fixed(UInt32.self) == crc32c(0, Array(bytes.dropFirst(16)))
      else { return nil }
      let identity = store.identity
      let header = try Array(reader.read(7 * 8))
      let newest = try store.commit(header[24..<32].reversed().reduce(0) { $0 << 8 | UInt64($1) })
      guard header == Self.header(of: identity, newest) else { return nil }
      return try CommitGraph(&reader, generation: identity.generation, newest: newest.number)
    }
  }

  func write(_ graph: CommitGraph, of store: any Engine) throws {
    let identity = store.identity
    let newest = try store.commit(graph.newest)
    // Compaction may just have put another file in place.
    guard identity.generation == graph.generation else { return }
    var rest = Self.header(of: identity, newest)
    rest.reserveCapacity(Self.headerSize + graph.encodedSize)
    graph.encode(into: &rest)
    var bytes = Self.magic
    bytes.append(Self.form)
    bytes.append(crc32c(0, rest))
    try DurableFile.replace(path, with: bytes + rest)
  }

  /// The data file that it belongs to, and its extent: the store, its generation, and number, identity and date of the newest commit.
  private static func header(of store: StoreIdentity, _ newest: CommitRecord) -> [UInt8] {
    var bytes: [UInt8] = []
    for part in [store.high, store.low, store.generation, newest.number] { bytes.append(part) }
    bytes.append(newest.identity)
    bytes.append(newest.date)
    return bytes
  }
}

extension CommitGraph {
  var encodedSize: Int { 20 + entries.count * 36 + placesOfNumbers.count * 4 + undone.count * 20 + squashed.count * 64 }

  func encode(into bytes: inout [UInt8]) {
    let runs = entries.indices.filter { entries[$0].first < entries[$0].identity.number }
    for count in [entries.count, runs.count, placesOfNumbers.count, undone.count, squashed.count] {
      bytes.append(UInt32(count))
    }
    for entry in entries {
      bytes.append(entry.identity)
      bytes.append(entry.number)
      bytes.append(entry.parents.0)
      bytes.append(entry.parents.1)
      bytes.append(UInt32(entry.isKnown ? 1 : 0))
    }
    for place in runs {
      bytes.append(Place(place))
      bytes.append(entries[place].first)
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

  fileprivate init(_ reader: inout ByteReader, generation: UInt64, newest: UInt64) throws {
    let (entryCount, runCount, numberCount) = (
      try reader.count(of: 36), try reader.count(of: 12), try reader.count(of: 4)
    )
    let (undoneCount, squashedCount) = (try reader.count(of: 20), try reader.count(of: 8))
    self.init(generation: generation, newest: newest)
    entries.reserveCapacity(entryCount)
    places.reserveCapacity(entryCount)
    let all = 0..<Place(entryCount)
    for place in all {
      let identity = try reader.identity()
      let entry = Entry(
        identity: identity, first: identity.number, number: try reader.fixed(),
        parents: (try reader.place(in: -1..<all.upperBound), try reader.place(in: -1..<all.upperBound)),
        isKnown: try reader.fixed(UInt32.self) == 1)
      entries.append(entry)
      places[entry.identity] = place
      origins[identity.origin, default: []].append(place)
    }
    for origin in origins.keys {
      origins[origin]?.sort { entries[Int($0)].identity.number < entries[Int($1)].identity.number }
    }
    for _ in 0..<runCount {
      let place = Int(try reader.place(in: all))
      entries[place].first = try reader.fixed()
      guard entries[place].first < entries[place].identity.number else { throw reader.damage }
    }
    for _ in 0..<numberCount {
      let place = try reader.place(in: all)
      let number = entries[Int(place)].number
      guard number > numbers.last ?? 0, number <= newest else { throw reader.damage }
      placesOfNumbers.append(place)
      numbers.append(number)
    }
    for _ in 0..<undoneCount {
      let place = try reader.place(in: all)
      undone[place] = try reader.identity()
    }
    for _ in 0..<squashedCount {
      let place = try reader.place(in: all)
      for _ in 0..<(try reader.count(of: 28)) { squashed[place, default: []].append(try reader.run()) }
    }
    guard reader.remaining == 0 else { throw reader.damage }
  }
}

extension ByteReader {
  fileprivate mutating func identity() throws -> CommitIdentity {
    CommitIdentity(origin: try fixed(), number: try fixed())
  }

  fileprivate mutating func place(in places: Range<CommitGraph.Place>) throws -> CommitGraph.Place {
    let place: CommitGraph.Place = try fixed()
    guard places.contains(place) else { throw damage }
    return place
  }

  /// A count of things, checked against the least size of each in bytes.
  fileprivate mutating func count(of size: Int) throws -> Int {
    let count = Int(try fixed(UInt32.self))
    guard count <= remaining / size else { throw damage }
    return count
  }

  fileprivate mutating func run() throws -> Pedigree.Run {
    let (first, last) = (try identity(), try fixed(UInt64.self))
    guard last >= first.number else { throw damage }
    var parents: [CommitIdentity] = []
    for _ in 0..<(try count(of: 16)) { parents.append(try identity()) }
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
