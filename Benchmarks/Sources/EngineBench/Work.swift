import Measuring

/// A record of work A: about 200 bytes, with two indexed values.
struct BenchRecord: Sendable {
  var identifier: UInt64
  /// The first index: text.
  var author: [UInt8]
  /// The second index: a number.
  var year: UInt32
  var body: [UInt8]
}

/// Work A of the design: 100,000 records of about 200 bytes with two secondary indexes; the same for every contender.
struct Work: Sendable {
  var records: [BenchRecord]
  private var generator: SplitMix

  init(count: Int, seed: UInt64 = 1) {
    var generator = SplitMix(state: seed)
    records = (0..<count).map { BenchRecord.random(identifier: UInt64($0) &* 2, using: &generator) }
    self.generator = generator
  }

  /// A record with an identifier between those that are there: an insert at a random place.
  mutating func nextInsert() -> BenchRecord {
    let identifier = (generator.next() % UInt64(records.count)) &* 2 &+ 1
    return .random(identifier: identifier, using: &generator)
  }

  /// Another author and year for a record that is there.
  mutating func nextUpdate() -> (old: BenchRecord, new: BenchRecord) {
    let place = Int(generator.next() % UInt64(records.count))
    let old = records[place]
    records[place] = .random(identifier: old.identifier, using: &generator)
    return (old, records[place])
  }

  /// Random positions in ``records``, the same for every contender.
  func randomPositions(_ count: Int, seed: UInt64) -> [Int] {
    var generator = SplitMix(state: seed)
    return (0..<count).map { _ in Int(generator.next() % UInt64(records.count)) }
  }
}

extension BenchRecord {
  static func random(identifier: UInt64, using generator: inout SplitMix) -> Self {
    let author = "author \(generator.next() % 5_000)"
    let body = (0..<160).map { _ in UInt8(truncatingIfNeeded: 97 + generator.next() % 26) }
    return Self(
      identifier: identifier, author: Array(author.utf8), year: UInt32(1_900 + generator.next() % 130), body: body)
  }

  /// Everything but the identifier as one value: what the key-value stores keep.
  var value: [UInt8] {
    var bytes = [UInt8](reserving: author.count + 5 + body.count)
    bytes.append(contentsOf: author)
    bytes.append(0)
    bytes.append(bigEndian: year)
    bytes.append(contentsOf: body)
    return bytes
  }

  var identifierKey: [UInt8] { identifier.bigEndianBytes }

  var authorKey: [UInt8] {
    var bytes = [UInt8](reserving: author.count + 9)
    bytes.append(contentsOf: author)
    bytes.append(0)
    bytes.append(bigEndian: identifier)
    return bytes
  }

  var yearKey: [UInt8] {
    var bytes = [UInt8](reserving: 12)
    bytes.append(bigEndian: year)
    bytes.append(bigEndian: identifier)
    return bytes
  }
}

extension FixedWidthInteger {
  var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian, Array.init) }
}

/// One allocation a key: what a contender does with it is measured, not how it came about.
extension [UInt8] {
  fileprivate init(reserving count: Int) {
    self = []
    reserveCapacity(count)
  }

  fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }
}
