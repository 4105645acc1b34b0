/// Reads a value from its start on.
///
/// Of a value of more than a MiB, one of the pieces that have a check each is in memory at a time. Any other value is read whole: a
/// compressed one, which has at most a MiB, and one of a server.
package struct ValueReader: Sendable {
  /// The number of bytes that were not returned yet.
  package private(set) var remaining: Int
  /// Those of them that were read.
  package private(set) var atHand = Bytes()
  private let source: RecordSource
  private var end: FileOffset = 0
  private var checks = Bytes()

  init(_ record: RecordReference, in source: RecordSource) throws(StorageError) {
    self.source = source
    guard let reference = record.entry, Int(reference.length) > ChangeEntry.largeValue,
      case let head = try source.bytes(at: reference.offset, count: Int(ChangeEntry.longestKeyed)),
      case let entry = try head.withUnsafeBytes({ head throws(StorageError) in
        try ChangeEntry(head, offset: reference.offset)
      }), entry.isLarge
    else {
      atHand = try source.value(of: record)
      remaining = atHand.count
      return
    }
    remaining = Int(entry.valueLength)
    end = reference.offset &+ UInt64(entry.valueStart) &+ entry.valueLength
    checks = try source.bytes(at: end, count: entry.checksLength)
    let check = head[0..<entry.valueStart].withUnsafeBytes { source.file.header.check($0) }
    guard entry.length == UInt64(reference.length), entry.kind != .delete,
      checks.withUnsafeBytes({ checksum(check, $0) }) == reference.check
    else { throw .damaged(what: "record", offset: reference.offset) }
    source.file.counters.valueReads.add(1)
    try readPiece()
  }

  private mutating func readPiece() throws(StorageError) {
    let offset = end - UInt64(remaining)
    let piece = try source.bytes(at: offset, count: min(ChangeEntry.largeValue, remaining))
    let place = checks.count - 4 * ((remaining - 1) / ChangeEntry.largeValue + 1)
    let check = checks.withUnsafeBytes { loadInteger(UInt32.self, $0, at: place) }
    guard piece.withUnsafeBytes({ source.file.header.check($0) }) == check else {
      throw .damaged(what: "record", offset: offset)
    }
    atHand = piece
  }

  /// Returns the next bytes: at most `count`, none at the end.
  ///
  /// - Throws: `StorageError` if they cannot be read, or are damaged.
  package mutating func next(atMost count: Int) throws(StorageError) -> Bytes {
    if atHand.isEmpty, remaining > 0 { try readPiece() }
    let part = atHand[0..<min(count, atHand.count)]
    atHand = atHand[part.count..<atHand.count]
    remaining -= part.count
    return part
  }
}
