/// The parts of a change entry, as they lie in the file.
///
/// ```
/// tag  distance  tree  key length  value length  replaced  key  value  checks of the value's MiB
/// ```
struct ChangeEntry {
  enum Kind: UInt8 {
    case put = 1
    case delete = 2
    case attributes = 3
  }

  static let largeValue = 1 << 20

  /// The key of entries whose value is nodes that a transaction wrote before its last change. They are of the kind of attributes, which
  /// have no key themselves.
  static let nodesKey = Array("nodes".utf8)

  var kind: Kind
  var replaced: EntryReference?
  var replacesDelete: Bool
  /// From the frame's first byte to this entry's.
  var distance: UInt64
  var tree: UInt32
  var keyRange: Range<Int>
  var valueLength: UInt64
  var valueStart: Int
  var isLarge: Bool
  /// Whether the value is stored compressed; `valueLength` is the stored one.
  var isCompressed: Bool

  /// The checks of a large value's pieces, and the whole entry's length.
  var checksLength: Int { isLarge ? 4 * Int((valueLength - 1) / UInt64(ChangeEntry.largeValue) + 1) : 0 }
  var length: UInt64 { UInt64(valueStart) + valueLength + UInt64(checksLength) }

  var valueRange: Range<Int> { valueStart..<valueStart + Int(valueLength) }

  /// Whether the value is nodes.
  var isNodes: Bool { kind == .attributes && !keyRange.isEmpty }

  /// The greatest length of the part before key and value.
  static let longestHead = 1 + 10 + 5 + 3 + 5 + EntryReference.size
  /// The same with the longest key.
  static let longestKeyed = UInt64(longestHead + Limits.key)

  /// The check of all of the entry's bytes in references to it. That of a large entry covers its value by the checks of its pieces.
  func check(_ bytes: UnsafeRawBufferPointer, _ header: FileHeader) -> UInt32 {
    guard isLarge else { return header.check(bytes) }
    let head = header.check(UnsafeRawBufferPointer(rebasing: bytes[..<valueStart]))
    return checksum(head, UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - checksLength)...]))
  }

  /// Reads the part before the value; `bytes` may end there.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, offset: FileOffset) throws(StorageError) {
    var reader = ByteReader(bytes, what: "change entry", offset: offset)
    let tag = try reader.byte()
    guard tag & 0xC0 == 0, let kind = Kind(rawValue: tag & 3) else { throw reader.damage }
    self.kind = kind
    isLarge = tag & 16 != 0
    isCompressed = tag & 32 != 0
    replacesDelete = tag & 8 != 0
    distance = try reader.varint()
    guard let tree = UInt32(exactly: try reader.varint()) else { throw reader.damage }
    self.tree = tree
    let keyLength = try reader.varint()
    valueLength = try reader.varint()
    guard keyLength <= UInt64(Limits.key), valueLength <= Limits.value,
      isLarge == (valueLength > UInt64(ChangeEntry.largeValue)), distance <= offset.bytes,
      !isCompressed || (kind == .put && !isLarge)
    else { throw reader.damage }
    replaced = tag & 4 != 0 ? try reader.reference() : nil
    let keyStart = reader.position
    try reader.skip(Int(keyLength))
    keyRange = keyStart..<reader.position
    valueStart = reader.position
  }

  /// The part before the value, from a writer.
  struct Head {
    var kind: Kind
    var tree: UInt32
    var key: UnsafeRawBufferPointer
    var replaced: EntryReference?
    var replacesDelete = false
    var isCompressed = false

    func append(to buffer: ByteBuffer, distance: UInt64, valueLength: UInt64) {
      var tag = kind.rawValue
      if replaced != nil { tag |= 4 }
      if replacesDelete { tag |= 8 }
      if valueLength > UInt64(ChangeEntry.largeValue) { tag |= 16 }
      if isCompressed { tag |= 32 }
      buffer.append(byte: tag)
      buffer.append(varint: distance)
      buffer.append(varint: UInt64(tree))
      buffer.append(varint: UInt64(key.count))
      buffer.append(varint: valueLength)
      if let replaced { buffer.append(replaced) }
      buffer.append(key)
    }
  }
}

/// Reads the change entries of a frame one after the other, from long pieces of the file.
struct ChangeReader: Sendable {
  private let file: DataFile
  /// The start of the frame, and the end of its changes.
  private let frame: FileOffset
  private let limit: FileOffset
  /// The start of the next entry.
  var position: FileOffset
  private var start: FileOffset = 0
  private var piece = Bytes()

  private static let size: UInt64 = 1 << 18

  init(_ file: DataFile, frame: FileOffset, limit: FileOffset) {
    self.file = file
    self.frame = frame
    self.limit = limit
    position = frame &+ UInt64(FrameHeader.size)
  }

  /// Returns the next entry, the bytes from its first one on, with at least its key, and its reference. The frame does not hold the check
  /// in that reference: it is computed. Returns nil at the end.
  mutating func next() throws(StorageError) -> (entry: ChangeEntry, bytes: Bytes, reference: EntryReference)? {
    guard position < limit else { return nil }
    let rest = limit - position
    if position < start || position + min(rest, ChangeEntry.longestKeyed) > start + UInt64(piece.count) {
      piece = try file.bytes(at: position, count: Int(min(rest, Self.size)), what: "change entry")
      start = position
    }
    let head = piece[Int(position - start)..<piece.count]
    let entry = try head.withUnsafeBytes { bytes throws(StorageError) in try ChangeEntry(bytes, offset: position) }
    guard entry.distance == position - frame, entry.length <= rest, let length = UInt32(exactly: entry.length)
    else { throw .damaged(what: "change entry", offset: position) }
    let reference = EntryReference(offset: position, length: length, check: try check(of: entry, head))
    position += entry.length
    return (entry, head, reference)
  }

  private func check(of entry: ChangeEntry, _ head: Bytes) throws(StorageError) -> UInt32 {
    let (seed, end) = (file.header.seed, position + entry.length)
    if entry.isLarge {
      let check = try file.hash(position..<position + UInt64(entry.valueStart), from: seed)
      return try file.hash(end - UInt64(entry.checksLength)..<end, from: check)
    }
    guard entry.length <= UInt64(head.count) else { return try file.hash(position..<end, from: seed) }
    return head.withUnsafeBytes { file.header.check(UnsafeRawBufferPointer(rebasing: $0[..<Int(entry.length)])) }
  }
}
