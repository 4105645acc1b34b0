/// The catalog's entry of a tree.
struct CatalogEntry: Sendable, Hashable {
  var identifier: UInt32
  var kind: TreeKind
  var order: TreeOrder
  var root = NodePointer.none
  var tombstones = NodePointer.none
  var attributes = EntryReference.none
  var nodeBytes: UInt64 = 0
  var entryBytes: UInt64 = 0

  func encoded() -> Bytes {
    let buffer = ByteBuffer(capacity: 128)
    buffer.append(varint: UInt64(identifier))
    buffer.append(byte: kind.rawValue)
    buffer.append(byte: order.rawValue)
    buffer.append(root)
    buffer.append(tombstones)
    buffer.append(attributes)
    buffer.append(varint: nodeBytes)
    buffer.append(varint: entryBytes)
    // The buffer is not written any more.
    return Bytes(owner: buffer, bytes: buffer.bytes)
  }
}

extension CatalogEntry {
  init(_ payload: Payload, catalogAt offset: FileOffset) throws(StorageError) {
    guard case .bytes(let bytes) = payload else { throw .damaged(what: "catalog", offset: offset) }
    self = try bytes.withUnsafeBytes { bytes throws(StorageError) in
      var reader = ByteReader(bytes, what: "catalog", offset: offset)
      guard let identifier = UInt32(exactly: try reader.varint()), let kind = TreeKind(rawValue: try reader.byte()),
        let order = TreeOrder(rawValue: try reader.byte())
      else { throw reader.damage }
      var entry = CatalogEntry(identifier: identifier, kind: kind, order: order)
      entry.root = try reader.nodePointer()
      entry.tombstones = try reader.nodePointer()
      entry.attributes = try reader.reference()
      entry.nodeBytes = try reader.varint()
      entry.entryBytes = try reader.varint()
      return entry
    }
  }
}
