/// The contents of a node's cells beside their keys.
enum NodeForm: UInt8 {
  /// Pointers to children.
  case inner = 1
  /// Record references.
  case references = 2
  /// Nothing.
  case bare = 3
  /// A byte for the kind, then the payload of that kind.
  case mixed = 4

  /// Inlined: every access to a node begins with it, and the compiler's own version is a call.
  @inline(__always)
  init?(rawValue: UInt8) {
    switch rawValue {
    case 1: self = .inner
    case 2: self = .references
    case 3: self = .bare
    case 4: self = .mixed
    default: return nil
    }
  }

  /// The size of a cell's fixed part, if all have the same.
  @inline(__always)
  var fixedSize: Int? {
    switch self {
    case .inner: NodePointer.size
    case .references: EntryReference.size
    case .bare: 0
    case .mixed: nil
    }
  }
}

/// The bytes of one node, stored or still in memory: both have the same layout.
///
/// ```
/// 0     1      2      4          6               6+2n      6+2n+p
/// form  level  n      p          n × cell end    prefix    cells: fixed part, rest of the key …
/// ```
///
/// Nothing in the bytes is trusted: each cell is checked against the node's length when it is read, and a misfit throws `damaged`. The view
/// does not keep its memory alive; `Node` does.
struct NodeView {
  static let headerSize = 6
  /// A leaf or inner node is split when it grows beyond this; only long keys make nodes longer. Small nodes keep the history
  /// short: at 1,024 bytes a commit into two indexes of 100,000 entries would add a quarter more, and reads would hardly be
  /// faster; at 512 it would add a seventh less, and inserting many would be slower by a fifth.
  static let targetSize = 768

  let base: UnsafeRawPointer
  let length: Int
  let form: NodeForm
  let level: UInt8
  let count: Int
  let prefixLength: Int
  let heap: Int
  /// The offset of the node in the file, for messages.
  let offset: FileOffset

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, offset: FileOffset) throws(StorageError) {
    guard let start = bytes.baseAddress, bytes.count >= NodeView.headerSize, let form = NodeForm(rawValue: bytes[0])
    else { throw .damaged(what: "tree node", offset: offset) }
    base = start
    length = bytes.count
    self.form = form
    level = bytes[1]
    count = Int(loadInteger(UInt16.self, bytes, at: 2))
    prefixLength = Int(loadInteger(UInt16.self, bytes, at: 4))
    heap = NodeView.headerSize + 2 * count + prefixLength
    self.offset = offset
    guard count > 0, heap <= length, (form == .inner) == (level > 0) else {
      throw .damaged(what: "tree node", offset: offset)
    }
  }

  var damage: StorageError { .damaged(what: "tree node", offset: offset) }

  var prefix: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + (NodeView.headerSize + 2 * count), count: prefixLength)
  }

  /// The end of a cell, counted from the heap.
  @inline(__always)
  func end(_ index: Int) -> Int {
    Int(UInt16(littleEndian: base.loadUnaligned(fromByteOffset: NodeView.headerSize &+ 2 &* index, as: UInt16.self)))
  }

  @inline(__always)
  func cell(_ index: Int) throws(StorageError) -> UnsafeRawBufferPointer {
    let start = index == 0 ? 0 : end(index - 1)
    let end = end(index)
    guard start <= end, heap + end <= length else { throw damage }
    return UnsafeRawBufferPointer(start: base + (heap + start), count: end - start)
  }

  @inline(__always)
  func fixedSize(of cell: UnsafeRawBufferPointer) throws(StorageError) -> Int {
    let size = if let size = form.fixedSize { size } else { try mixedSize(of: cell) }
    guard size <= cell.count else { throw damage }
    return size
  }

  private func mixedSize(of cell: UnsafeRawBufferPointer) throws(StorageError) -> Int {
    guard cell.count > 0 else { throw damage }
    switch cell[0] {
    case 0: return 1
    case 1: return 1 + EntryReference.size
    case 2:
      guard cell.count > 1 else { throw damage }
      return 3 + Int(cell[1])  // tag, length minus one, bytes
    default: throw damage
    }
  }

  /// Throws if any cell does not lie within the node, or is too short for its fixed part.
  func checkCells() throws(StorageError) {
    guard let fixedSize = form.fixedSize else {
      for index in 0..<count { _ = try suffix(index) }
      return
    }
    // The cells lie one behind the other, so that the last end is the greatest. Nothing can overflow: ends are 16-bit numbers. A cell that
    // is too short makes the sign negative; without a branch for each, several are checked at once.
    let fixed = Int32(truncatingIfNeeded: fixedSize)
    var signs = Int32(truncatingIfNeeded: end(0)) &- fixed
    for index in 1..<count {
      signs |= Int32(truncatingIfNeeded: end(index)) &- Int32(truncatingIfNeeded: end(index &- 1)) &- fixed
    }
    guard signs >= 0, heap + end(count - 1) <= length else { throw damage }
  }

  /// The rest of a cell's key after the prefix.
  @inline(__always)
  func suffix(_ index: Int) throws(StorageError) -> UnsafeRawBufferPointer {
    let cell = try cell(index)
    return UnsafeRawBufferPointer(rebasing: cell[(try fixedSize(of: cell))...])
  }

  @inline(__always)
  func fixed(_ index: Int) throws(StorageError) -> UnsafeRawBufferPointer {
    let cell = try cell(index)
    return UnsafeRawBufferPointer(rebasing: cell[..<(try fixedSize(of: cell))])
  }

  func key(_ index: Int) throws(StorageError) -> [UInt8] {
    if form == .inner, index == 0 { return [] }
    let suffix = try suffix(index)
    return [UInt8](unsafeUninitializedCapacity: prefixLength + suffix.count) { buffer, count in
      let target = UnsafeMutableRawBufferPointer(buffer)
      target.copyMemory(from: prefix)
      UnsafeMutableRawBufferPointer(rebasing: target[prefixLength...]).copyMemory(from: suffix)
      count = prefixLength + suffix.count
    }
  }

  /// Appends a leaf's whole key.
  func appendKey(_ index: Int, to key: inout [UInt8]) throws(StorageError) {
    let suffix = try suffix(index)
    key.append(contentsOf: prefix)
    key.append(contentsOf: suffix)
  }

  func keyBytes(_ index: Int) throws(StorageError) -> Bytes {
    let suffix = try suffix(index)
    let block = MemoryBlock(count: prefixLength + suffix.count)
    block.bytes.copyMemory(from: prefix)
    UnsafeMutableRawBufferPointer(rebasing: block.bytes[prefixLength...]).copyMemory(from: suffix)
    return Bytes(block)
  }

  /// A leaf's cell, with a copy of its key.
  func entry(_ index: Int) throws(StorageError) -> Entry {
    Entry(key: try keyBytes(index), payload: try payload(index))
  }

  @inline(__always)
  func pointer(_ index: Int) throws(StorageError) -> NodePointer {
    let cell = try cell(index)
    guard form == .inner, cell.count >= NodePointer.size else { throw damage }
    return NodePointer(take: cell)
  }

  /// The place of the child pointer in an inner node's cell, counted from the node's first byte.
  func pointerPlace(_ index: Int) throws(StorageError) -> Int {
    guard index < count, try fixed(index).count == NodePointer.size else { throw damage }
    return heap + (index == 0 ? 0 : end(index - 1))
  }

  /// The number of leaf entries below a cell.
  func childCount(_ index: Int) throws(StorageError) -> UInt64 { try pointer(index).count }

  /// The payload of a leaf's cell.
  @inline(__always)
  func payload(_ index: Int) throws(StorageError) -> Payload {
    let fixed = try fixed(index)
    switch form {
    case .inner: throw damage
    case .references: return .entry(EntryReference(take: fixed))
    case .bare: return .none
    case .mixed:
      switch fixed[0] {
      case 0: return .none
      case 1: return .entry(EntryReference(take: UnsafeRawBufferPointer(rebasing: fixed[1...])))
      default: return .bytes(Bytes(copying: UnsafeRawBufferPointer(rebasing: fixed[2...])))
      }
    }
  }
}

extension EntryReference {
  static let size = 14
  package static let none = EntryReference(offset: 0, length: 0, check: 0)

  /// Reads a reference from `size` bytes.
  @inline(__always)
  init(take bytes: UnsafeRawBufferPointer) {
    self.init(
      offset: FileOffset(take: bytes, at: 0), length: loadInteger(UInt32.self, bytes, at: 6),
      check: loadInteger(UInt32.self, bytes, at: 10))
  }
}
