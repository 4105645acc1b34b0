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

  /// The key of entries of nodes that a transaction wrote before its last change. They are of the kind of attributes, which
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
  /// Where the value begins, in the entry.
  var valueStart: Int
  var isLarge: Bool

  /// The checks of a large value's pieces, and the whole entry's length.
  var checksLength: Int { isLarge ? 4 * ChangeEntry.pieces(valueLength) : 0 }
  var length: UInt64 { UInt64(valueStart) + valueLength + UInt64(checksLength) }

  /// Whether the value is nodes.
  var isNodes: Bool { kind == .attributes && !keyRange.isEmpty }

  static func pieces(_ valueLength: UInt64) -> Int { Int((valueLength + UInt64(largeValue) - 1) / UInt64(largeValue)) }

  /// The longest that comes before key and value.
  static let longestHead = 1 + 10 + 5 + 3 + 5 + EntryReference.size
  /// The same with the longest key.
  static let longestKeyed = UInt64(longestHead + Limits.key)

  /// The check that references to the entry have, of all of its bytes: that of a large one covers its value by the checks of its pieces.
  func check(_ bytes: UnsafeRawBufferPointer, _ header: FileHeader) -> UInt32 {
    guard isLarge else { return header.check(bytes) }
    let head = header.check(UnsafeRawBufferPointer(rebasing: bytes[..<valueStart]))
    return checksum(head, UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - checksLength)...]))
  }

  /// Reads what comes before the value; `bytes` may end there.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, offset: FileOffset) throws(StorageError) {
    var reader = ByteReader(bytes, what: "change entry", offset: offset)
    let tag = try reader.byte()
    guard tag & 0xE0 == 0, let kind = Kind(rawValue: tag & 3) else { throw reader.damage }
    self.kind = kind
    isLarge = tag & 16 != 0
    replacesDelete = tag & 8 != 0
    distance = try reader.varint()
    guard let tree = UInt32(exactly: try reader.varint()) else { throw reader.damage }
    self.tree = tree
    let keyLength = try reader.varint()
    valueLength = try reader.varint()
    guard keyLength <= UInt64(Limits.key), valueLength <= Limits.value,
      isLarge == (valueLength > UInt64(ChangeEntry.largeValue)), distance <= offset.bytes
    else { throw reader.damage }
    replaced = tag & 4 != 0 ? try reader.reference() : nil
    let keyStart = reader.position
    try reader.skip(Int(keyLength))
    keyRange = keyStart..<reader.position
    valueStart = reader.position
  }

  /// Appends what comes before the value.
  static func appendHead(
    to buffer: ByteBuffer, kind: Kind, distance: UInt64, tree: UInt32, key: UnsafeRawBufferPointer, valueLength: UInt64,
    replaced: EntryReference?, replacesDelete: Bool
  ) {
    var tag = kind.rawValue
    if replaced != nil { tag |= 4 }
    if replacesDelete { tag |= 8 }
    if valueLength > UInt64(largeValue) { tag |= 16 }
    buffer.append(byte: tag)
    buffer.append(varint: distance)
    buffer.append(varint: UInt64(tree))
    buffer.append(varint: UInt64(key.count))
    buffer.append(varint: valueLength)
    if let replaced { buffer.append(replaced) }
    buffer.append(key)
  }
}

extension DataFile {
  /// The change entry that begins at a place of the frame at `frame`, before `limit`, with its reference, which the frame does not hold:
  /// its check is computed. `head` are bytes of the file from there on, its key among them.
  func changeEntry(
    _ head: Bytes, at offset: FileOffset, of frame: FileOffset, limit: FileOffset
  ) throws(StorageError) -> (entry: ChangeEntry, reference: EntryReference) {
    let entry = try head.withUnsafeBytes { bytes throws(StorageError) in try ChangeEntry(bytes, offset: offset) }
    guard entry.distance == offset - frame, entry.length <= limit - offset, let length = UInt32(exactly: entry.length)
    else { throw .damaged(what: "change entry", offset: offset) }
    var check: UInt32
    if entry.isLarge {
      check = try hash(offset..<offset + UInt64(entry.valueStart), from: header.seed)
      check = try hash(offset + entry.length - UInt64(entry.checksLength)..<offset + entry.length, from: check)
    } else if entry.length <= UInt64(head.count) {
      check = head.withUnsafeBytes { header.check(UnsafeRawBufferPointer(rebasing: $0[..<Int(length)])) }
    } else {
      check = try hash(offset..<offset + entry.length, from: header.seed)
    }
    return (entry, EntryReference(offset: offset, length: length, check: check))
  }
}
