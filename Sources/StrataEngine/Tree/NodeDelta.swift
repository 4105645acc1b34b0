/// A stored node that consists of its differences from another node, its base. The base is whole, and lies before it in the file.
///
/// ```
/// 0     1      2                  4                                   16
/// 5     level  number of patches  base: offset 6, length 2, check 4   patches …
/// ```
///
/// A patch begins with a varint: four times the index of one of the base's cells, plus the operation. A replacement has the cell's new
/// fixed part. An insertion, before that cell, has a length and that number of bytes of a cell. A removal has nothing. Indexes ascend;
/// only an insertion is followed by a patch of the same index.
///
/// Nothing in the bytes is trusted: whatever does not fit throws `damaged`.
struct NodeDelta {
  static let form: UInt8 = 5
  static let headerSize = 16
  /// The number of bytes of patches up to which a node is written as a delta. At 64 a commit into two indexes of 100,000 entries would take
  /// a third more bytes, because more nodes are written whole; at 512 a quarter more, because patches are written again and again.
  static let mostBytes = 128
  /// The longest delta that a writer makes. A reader takes longer ones, too, and does not keep their nodes.
  static let usualLength = headerSize + mostBytes

  enum Operation: UInt64 { case replace, insert, remove }

  /// The base, without a count.
  let base: NodePointer
  private let bytes: UnsafeRawBufferPointer
  private let offset: FileOffset

  @inline(__always)
  static func isOne(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.first == form }

  /// `bytes` must outlive the delta.
  init(_ bytes: UnsafeRawBufferPointer, offset: FileOffset) throws(StorageError) {
    guard NodeDelta.isOne(bytes), bytes.count >= NodeDelta.headerSize else {
      throw .damaged(what: "tree node", offset: offset)
    }
    base = NodePointer(
      offset: FileOffset(take: bytes, at: 4), length: loadInteger(UInt16.self, bytes, at: 10),
      check: loadInteger(UInt32.self, bytes, at: 12), count: 0)
    self.bytes = bytes
    self.offset = offset
    guard !base.isNone, base.offset + UInt64(base.length) <= offset else {
      throw .damaged(what: "tree node", offset: offset)
    }
  }

  // MARK: Reading

  /// Applies the patches. Returns the whole node.
  func applied(to base: NodeView) throws(StorageError) -> FreshNode {
    let node = try FreshNode(copyingStored: base)
    var patches = try patches(of: base)
    // How many cells the node has more than the base before the patch.
    var added = 0
    while let patch = try patches.next() {
      let index = patch.index + added
      if patch.operation == .replace, try base.fixed(patch.index).count == patch.bytes.count {
        node.replaceFixed(at: index, patch.bytes)
        continue
      }
      if patch.operation != .insert {
        node.removeRaw(at: index)
        added -= 1
      }
      if patch.operation != .remove {
        let suffix = patch.operation == .replace ? try base.suffix(patch.index) : .none
        guard node.length + patch.bytes.count + suffix.count + 2 <= UInt16.max else { throw patches.reader.damage }
        node.insertRaw(at: index, fixed: patch.bytes, suffix: suffix)
        added += 1
      }
    }
    _ = try NodeView(node.bytes, offset: offset)
    return node
  }

  private func patches(of base: NodeView) throws(StorageError) -> Patches {
    guard base.level == bytes[1] else { throw .damaged(what: "tree node", offset: offset) }
    var reader = ByteReader(bytes, what: "tree node", offset: offset)
    try reader.skip(NodeDelta.headerSize)
    return Patches(base: base, reader: reader, left: Int(loadInteger(UInt16.self, bytes, at: 2)))
  }

  private struct Patches {
    let base: NodeView
    var reader: ByteReader
    var left: Int
    /// The lowest index that the next patch may have.
    var least = 0

    /// The next patch, with its new fixed part or its new cell. Returns nil at the end.
    mutating func next() throws(StorageError) -> (operation: Operation, index: Int, bytes: UnsafeRawBufferPointer)? {
      guard left > 0 else {
        if reader.remaining > 0 { throw reader.damage }
        return nil
      }
      left -= 1
      let head = try reader.varint()
      guard let operation = Operation(rawValue: head & 3), head >> 2 <= UInt64(base.count) else { throw reader.damage }
      let index = Int(head >> 2)
      guard index >= least, operation == .insert || index < base.count else { throw reader.damage }
      least = operation == .insert ? index : index + 1
      switch operation {
      case .replace: return (operation, index, try reader.read(try base.fixedSize(of: reader.rest)))
      case .insert:
        let cell = try reader.read(try reader.varint())
        _ = try base.fixedSize(of: cell)
        return (operation, index, cell)
      case .remove: return (operation, index, .none)
      }
    }
  }

  // MARK: Writing

  /// Appends a node to an empty buffer as a delta. Returns false, with something in the buffer, if the nodes differ in form, level or
  /// prefix, if the patches take more than `limit` bytes, or if the delta takes more than two fifths of the node.
  static func write(
    _ node: NodeView, from base: NodeView, at pointer: NodePointer, limit: Int, into buffer: ByteBuffer
  ) throws(StorageError) -> Bool {
    let most = min(headerSize + limit, node.length * 2 / 5)
    guard node.form == base.form, node.level == base.level, compareBytes(node.prefix, base.prefix) == 0 else {
      return false
    }
    buffer.append(byte: form)
    buffer.append(byte: node.level)
    buffer.append(UInt16(0))
    buffer.append(pointer)
    buffer.removeLast(to: headerSize)
    var (old, new, patches) = (0, 0, 0)
    func begin(_ operation: Operation) {
      buffer.append(varint: UInt64(old) << 2 | operation.rawValue)
      patches += 1
    }
    while buffer.count <= most, old < base.count || new < node.count {
      // Most cells are equal, which one look at all of a cell shows.
      if old < base.count, new < node.count, compareBytes(try base.cell(old), try node.cell(new)) == 0 {
        (old, new) = (old + 1, new + 1)
        continue
      }
      if old < base.count, new < node.count, compareBytes(try base.suffix(old), try node.suffix(new)) == 0 {
        begin(.replace)
        buffer.append(try node.fixed(new))
        (old, new) = (old + 1, new + 1)
      } else if old < base.count, try !node.hasSuffix(try base.suffix(old), from: new) {
        begin(.remove)
        old += 1
      } else {
        let cell = try node.cell(new)
        begin(.insert)
        buffer.append(varint: UInt64(cell.count))
        buffer.append(cell)
        new += 1
      }
    }
    guard buffer.count <= most else { return false }
    buffer.mutableBytes.storeBytes(of: UInt16(patches).littleEndian, toByteOffset: 2, as: UInt16.self)
    return true
  }
}

extension NodeView {
  fileprivate func hasSuffix(_ suffix: UnsafeRawBufferPointer, from first: Int) throws(StorageError) -> Bool {
    for index in first..<count where try compareBytes(self.suffix(index), suffix) == 0 { return true }
    return false
  }
}
