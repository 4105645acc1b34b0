/// A node that belongs to a transaction and is not in the file yet.
///
/// Its memory has the layout of a stored node. Children that are fresh, too, are in `children`, at the places of cells whose pointers are
/// empty except for the count.
///
/// A fresh node is changed in place only while one reference to it exists, the one by which the transaction's tree holds it. A snapshot of
/// the tree is a second reference to the root, and then the changed path is copied. So a snapshot never changes.
final class FreshNode: @unchecked Sendable {
  // `@unchecked`: written by the one transaction that holds the only reference; read-only once it is shared.
  // Unchecked exclusivity: no method hands its own node to another one, and the checks at run time cost a fifth of an insertion.
  @exclusivity(unchecked) private(set) var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private(set) var capacity: Int
  @exclusivity(unchecked) private(set) var length: Int
  @exclusivity(unchecked) var children: FreshChildren
  /// The whole stored node of which this one may be written as patches; none if there is none.
  @exclusivity(unchecked) var base = NodePointer.none

  private init(capacity: Int, length: Int, children: FreshChildren = FreshChildren()) {
    memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    self.capacity = capacity
    self.length = length
    self.children = children
  }

  deinit { memory.deallocate() }

  /// A copy of a stored node, whose cells are all checked first: changes rely on them.
  convenience init(copyingStored view: NodeView) throws(StorageError) {
    try view.checkCells()
    self.init(capacity: max(view.length + 160, FreshNode.usualCapacity), length: view.length)
    memory.copyMemory(from: view.base, byteCount: view.length)
  }

  /// A copy of a fresh node that a snapshot shares.
  convenience init(copying node: FreshNode) {
    self.init(capacity: max(node.length + 160, FreshNode.usualCapacity), length: node.length, children: node.children)
    memory.copyMemory(from: node.memory, byteCount: node.length)
    base = node.base
  }

  /// A node without cells; it must get one before it is read.
  convenience init(form: NodeForm, level: UInt8) {
    self.init(capacity: FreshNode.usualCapacity, length: NodeView.headerSize)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: NodeView.headerSize)
    memory.storeBytes(of: form.rawValue, as: UInt8.self)
    memory.storeBytes(of: level, toByteOffset: 1, as: UInt8.self)
  }

  static let usualCapacity = 928
  /// About how many bytes an entry takes in a node beside its key.
  static let bytesBesideKey = 32
  /// A key that does not share the prefix makes every cell longer by it; this limit keeps the node within 64 KiB then.
  private static let longestPrefix = 128

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: length) }

  var view: NodeView {
    get throws(StorageError) { try NodeView(bytes, offset: 0) }
  }

  @inline(__always)
  private func number(at offset: Int) -> Int {
    Int(UInt16(littleEndian: memory.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
  }

  @inline(__always)
  private func set(_ number: Int, at offset: Int) {
    memory.storeBytes(of: UInt16(truncatingIfNeeded: number).littleEndian, toByteOffset: offset, as: UInt16.self)
  }

  private var count: Int {
    get { number(at: 2) }
    set { set(newValue, at: 2) }
  }
  private var prefixLength: Int {
    get { number(at: 4) }
    set { set(newValue, at: 4) }
  }
  private func end(_ index: Int) -> Int { number(at: NodeView.headerSize + 2 * index) }
  private func setEnd(_ index: Int, _ end: Int) { set(end, at: NodeView.headerSize + 2 * index) }

  private func moveEnds(_ cells: Range<Int>, by size: Int) {
    // From memory that is not looked up again with each cell, so that many are moved at a time.
    let ends = memory + NodeView.headerSize
    let change = UInt16(truncatingIfNeeded: size)
    for index in cells {
      let end = UInt16(littleEndian: ends.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self))
      ends.storeBytes(of: (end &+ change).littleEndian, toByteOffset: 2 * index, as: UInt16.self)
    }
  }

  private func grow(to needed: Int) {
    guard needed > capacity else { return }
    let newCapacity = max(needed, capacity + capacity / 2)
    let newMemory = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 8)
    newMemory.copyMemory(from: memory, byteCount: length)
    memory.deallocate()
    memory = newMemory
    capacity = newCapacity
  }

  /// Inserts a cell at `index`, and moves the later ones up. `child` goes with it in an inner node.
  ///
  /// The first cell of an inner node takes no key.
  func insertCell(
    at index: Int, fixed: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, child: FreshNode? = nil
  ) throws(StorageError) {
    let isInner = NodeForm(rawValue: bytes[0]) == .inner
    let takesKey = !(isInner && index == 0)
    var suffix = UnsafeRawBufferPointer.none
    if takesKey {
      let keyedCells = isInner ? count - 1 : count
      if keyedCells <= 0 {
        setFirstPrefix(key)
      } else {
        let common = commonPrefixLength(prefix, key)
        if common < prefixLength { try rebuild(prefixLength: common) }
      }
      suffix = UnsafeRawBufferPointer(rebasing: key[prefixLength...])
    }
    guard length + fixed.count + suffix.count + 2 <= UInt16.max else { throw .damaged(what: "tree node", offset: 0) }
    insertRaw(at: index, fixed: fixed, suffix: suffix)
    if isInner { children.insert(child, at: index) }
  }

  private var prefix: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + (NodeView.headerSize + 2 * count), count: prefixLength)
  }

  private func setFirstPrefix(_ firstKey: UnsafeRawBufferPointer) {
    let key = UnsafeRawBufferPointer(rebasing: firstKey.prefix(FreshNode.longestPrefix))
    // No key depends on the old prefix: the cells, at most one without a key, move behind the new one.
    let cells = count
    let oldHeap = NodeView.headerSize + 2 * cells + prefixLength
    let newHeap = NodeView.headerSize + 2 * cells + key.count
    grow(to: length + key.count)
    (memory + newHeap).copyMemory(from: memory + oldHeap, byteCount: length - oldHeap)
    length += newHeap - oldHeap
    if let start = key.baseAddress, key.count > 0 {
      (memory + (NodeView.headerSize + 2 * cells)).copyMemory(from: start, byteCount: key.count)
    }
    prefixLength = key.count
  }

  /// Inserts a cell with the rest of its key; the caller sees to the prefix, the children and the longest node.
  func insertRaw(at index: Int, fixed: UnsafeRawBufferPointer, suffix: UnsafeRawBufferPointer) {
    let size = fixed.count + suffix.count
    grow(to: length + size + 2)
    let cells = count
    let heap = NodeView.headerSize + 2 * cells + prefixLength
    let start = index == 0 ? 0 : end(index - 1)
    let slot = NodeView.headerSize + 2 * index
    // Later cells move by the cell and its slot; the bytes between the slot and them by the slot alone.
    (memory + (heap + start + size + 2)).copyMemory(from: memory + (heap + start), byteCount: length - heap - start)
    (memory + (slot + 2)).copyMemory(from: memory + slot, byteCount: heap + start - slot)
    count = cells + 1
    setEnd(index, start + size)
    moveEnds(index + 1..<cells + 1, by: size)
    let target = memory + (heap + 2 + start)
    if let source = fixed.baseAddress { target.copyMemory(from: source, byteCount: fixed.count) }
    if let source = suffix.baseAddress { (target + fixed.count).copyMemory(from: source, byteCount: suffix.count) }
    length += size + 2
  }

  /// Removes a cell. The node may be empty then and must not be read. The cell that becomes the first one of an inner node loses its key.
  func removeCell(at index: Int) throws(StorageError) {
    let isInner = NodeForm(rawValue: bytes[0]) == .inner
    removeRaw(at: index)
    if isInner {
      children.remove(at: index)
      if index == 0, count > 0 {
        let fixed = [UInt8](
          UnsafeRawBufferPointer(
            start: memory + (NodeView.headerSize + 2 * count + prefixLength), count: NodePointer.size))
        removeRaw(at: 0)
        fixed.withUnsafeBytes { insertRaw(at: 0, fixed: $0, suffix: .none) }
      }
    }
  }

  func removeRaw(at index: Int) {
    let cells = count
    let heap = NodeView.headerSize + 2 * cells + prefixLength
    let start = index == 0 ? 0 : end(index - 1)
    let size = end(index) - start
    let slot = NodeView.headerSize + 2 * index
    moveEnds(index + 1..<cells, by: -size)
    (memory + slot).copyMemory(from: memory + (slot + 2), byteCount: heap + start - slot - 2)
    (memory + (heap + start - 2)).copyMemory(
      from: memory + (heap + start + size), byteCount: length - heap - start - size)
    length -= size + 2
    count = cells - 1
  }

  /// Replaces a cell's fixed part by another one of the same size.
  func replaceFixed(at index: Int, _ fixed: UnsafeRawBufferPointer) {
    guard let source = fixed.baseAddress else { return }
    let start = index == 0 ? 0 : end(index - 1)
    (memory + (NodeView.headerSize + 2 * count + prefixLength + start)).copyMemory(from: source, byteCount: fixed.count)
  }

  /// Changes the number of leaf entries below a cell of an inner node.
  func setChildCount(at index: Int, _ newCount: UInt64) {
    let start = index == 0 ? 0 : end(index - 1)
    NodePointer.store(count: newCount, into: memory + (NodeView.headerSize + 2 * count + prefixLength + start))
  }

  /// Lays the cells out again behind a shorter prefix.
  private func rebuild(prefixLength newPrefix: Int) throws(StorageError) {
    let copy = try FreshNode.build(from: view, range: 0..<count, prefixLength: newPrefix)
    copy.children = children
    replaceContents(with: copy)
  }

  /// Takes over the contents of another node, which must not be used after that.
  func replaceContents(with other: FreshNode) {
    swap(&memory, &other.memory)
    swap(&capacity, &other.capacity)
    swap(&length, &other.length)
    children = other.children
  }

  /// A node of some of another node's cells, without children, behind the longest prefix that they share.
  static func build(from view: NodeView, range: Range<Int>) throws(StorageError) -> FreshNode {
    // In an inner node the first cell's key is dropped.
    let keyed = view.form == .inner ? range.lowerBound + 1..<max(range.upperBound, range.lowerBound + 1) : range
    guard let first = keyed.first else { return try build(from: view, range: range, prefixLength: 0) }
    let pattern = try view.suffix(first)
    var shared = pattern.count
    for index in keyed.dropFirst() {
      if shared == 0 { break }
      shared = min(shared, commonPrefixLength(pattern, try view.suffix(index)))
    }
    return try build(
      from: view, range: range, prefixLength: max(view.prefixLength, min(view.prefixLength + shared, longestPrefix)))
  }

  private static func build(from view: NodeView, range: Range<Int>, prefixLength: Int) throws(StorageError) -> FreshNode
  {
    let heap = NodeView.headerSize + 2 * range.count + prefixLength
    let growth = max(0, view.prefixLength - prefixLength) * range.count
    guard heap + (view.length - view.heap) + growth <= UInt16.max else { throw view.damage }
    let result = FreshNode(
      capacity: max(heap + (view.length - view.heap) + growth + 160, usualCapacity), length: heap)
    let memory = result.memory
    memory.storeBytes(of: view.form.rawValue, as: UInt8.self)
    memory.storeBytes(of: view.level, toByteOffset: 1, as: UInt8.self)
    result.count = range.count
    result.prefixLength = prefixLength

    // The new prefix is the old one, or its beginning, or continues into the part that the cells share.
    let prefixStart = memory + (NodeView.headerSize + 2 * range.count)
    let kept = min(prefixLength, view.prefixLength)
    if kept > 0, let start = view.prefix.baseAddress { prefixStart.copyMemory(from: start, byteCount: kept) }
    let firstKeyed = view.form == .inner ? range.lowerBound + 1 : range.lowerBound
    if prefixLength > kept, let start = try view.suffix(firstKeyed).baseAddress {
      (prefixStart + kept).copyMemory(from: start, byteCount: prefixLength - kept)
    }

    if prefixLength == view.prefixLength, firstKeyed == range.lowerBound || range.lowerBound == 0 {
      try result.copyCells(range, of: view)
      return result
    }
    var position = heap
    func copy(_ bytes: UnsafeRawBufferPointer) {
      guard let start = bytes.baseAddress else { return }
      (memory + position).copyMemory(from: start, byteCount: bytes.count)
      position += bytes.count
    }
    for index in range {
      copy(try view.fixed(index))
      if view.form != .inner || index > range.lowerBound {
        if prefixLength < view.prefixLength { copy(UnsafeRawBufferPointer(rebasing: view.prefix[prefixLength...])) }
        copy(UnsafeRawBufferPointer(rebasing: try view.suffix(index)[(prefixLength - kept)...]))
      }
      result.setEnd(index - range.lowerBound, position - heap)
    }
    result.length = position
    return result
  }

  /// Takes cells of another node, with the same prefix and the same rests of keys, into this node without cells.
  private func copyCells(_ range: Range<Int>, of view: NodeView) throws(StorageError) {
    guard let first = range.first, let last = range.last, let start = try view.cell(first).baseAddress else { return }
    let shift = first == 0 ? 0 : view.end(first - 1)
    _ = try view.cell(last)
    let count = view.end(last) - shift
    guard count >= 0 else { throw view.damage }
    (memory + length).copyMemory(from: start, byteCount: count)
    for index in range { setEnd(index - first, view.end(index) &- shift) }
    length += count
  }
}

/// How many bytes two keys have in common at their beginnings.
func commonPrefixLength(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
  let limit = min(left.count, right.count)
  var position = 0
  while position < limit, left[position] == right[position] { position += 1 }
  return position
}
