import StrataLocks

/// One generation of a store's data, as all readers see it: bytes at offsets, checked.
///
/// Bytes that were once readable never change, so reading needs no lock. Safe from any thread.
final class DataFile: Sendable {
  let file: any DiskFile
  let header: FileHeader
  /// The dictionaries of compressed values. Nil if the file has none, or if they are damaged.
  let dictionaries: ValueDictionaries?
  /// The identity of the file; another file may have the store's name by now.
  let identity: FileIdentity
  let counters: Counters
  private let mappings: FileMappings
  private let readableEnd: Atomic<UInt64>
  private let verified = VerifiedNodes()
  private let patchedNodes: NodeCache

  init(
    file: any DiskFile, header: FileHeader, readsMapped: Bool, counters: Counters, sizes: MappingSizes = .platform,
    nodeCacheSize: Int = NodeCache.usualSize
  ) throws(StorageError) {
    patchedNodes = NodeCache(size: header.has(.nodeDeltas) ? nodeCacheSize : 0)
    self.file = file
    self.header = header
    self.counters = counters
    dictionaries = try ValueDictionaries(of: header, in: file)
    let status = try engineCall { () throws(DiskError) in try file.status }
    identity = status.identity
    mappings = readsMapped ? try FileMappings(of: file, size: status.size, sizes) : FileMappings()
    readableEnd = Atomic(0)
  }

  /// A file that is read by calls alone, up to an offset.
  convenience init(reading file: any DiskFile, _ header: FileHeader, to end: FileOffset) throws(StorageError) {
    try self.init(file: file, header: header, readsMapped: false, counters: Counters())
    extend(to: end)
  }

  /// A placeholder for trees whose entries a server has: nothing can be read in it. An optional file would be retained for each record that
  /// is read.
  static let none = DataFile()

  private init() {
    patchedNodes = NodeCache(size: 0)
    file = AbsentFile()
    header = FileHeader(identity: StoreIdentity(high: 0, low: 0, generation: 0, created: 0), seed: 0)
    dictionaries = nil
    counters = Counters()
    identity = FileIdentity(device: 0, inode: 0)
    mappings = FileMappings()
    readableEnd = Atomic(0)
  }

  /// Bytes before this may be read. It only grows, and never beyond the file's end.
  var end: FileOffset { FileOffset(readableEnd.load(ordering: .acquiring)) }

  func extend(to newEnd: FileOffset) {
    mappings.extend(to: newEnd, of: file)
    readableEnd.max(newEnd.bytes, ordering: .releasing)
  }

  /// Bytes of the file: in the mapping if they are mapped, otherwise in memory of their own.
  func bytes(at offset: FileOffset, count: Int, what: String) throws(StorageError) -> Bytes {
    try part(at: offset, count: count, what: what) { 0..<$0.count }
  }

  /// The bytes at the range that `find` returns within the bytes read, counted from the first of them.
  ///
  /// - Parameter isCopied: Reads by a call, into memory of their own, even if the bytes are mapped.
  @inline(__always)
  func part(
    at offset: FileOffset, count: Int, what: String, isCopied: Bool = false,
    _ find: (UnsafeRawBufferPointer) throws(StorageError) -> Range<Int>
  ) throws(StorageError) -> Bytes {
    let limit = end
    guard count >= 0, offset <= limit, UInt64(count) <= limit - offset else {
      throw .damaged(what: what, offset: offset)
    }
    if !isCopied, let start = mappings.address(of: offset, count) {
      let bytes = UnsafeRawBufferPointer(start: start, count: count)
      let found = UnsafeRawBufferPointer(rebasing: bytes[try find(bytes)])
      return Bytes(owner: mappings.owner, bytes: found)
    }
    let block = try read(at: offset, count: count, what: what)
    let bytes = UnsafeRawBufferPointer(block.bytes)
    return Bytes(owner: block.owner, bytes: UnsafeRawBufferPointer(rebasing: bytes[try find(bytes)]))
  }

  private func read(at offset: FileOffset, count: Int, what: String) throws(StorageError) -> MemoryBlock {
    let block = MemoryBlock(count: count)
    let done: Int
    do {
      done = try file.read(into: block.bytes, at: offset)
    } catch {
      // Bytes that the disk cannot read are damaged, in the same way as bytes that it reads wrongly.
      throw error.isUnreadable ? .damaged(what: what, offset: offset) : StorageError(error)
    }
    guard done == count else { throw .damaged(what: what, offset: offset) }
    return block
  }

  /// Records a node that is about to be written, with its check computed from the same bytes.
  func trust(_ pointer: NodePointer) {
    if mappings.isMapped { verified.insert(pointer) }
  }

  /// Releases the memory of the pages read through mappings; they stay readable.
  func releaseMemory() { mappings.release() }

  /// A node, with its check verified.
  ///
  /// - Parameter level: That of the node above, if any: levels fall by one, so that no damage makes a walk endless.
  func node(at pointer: NodePointer, below level: UInt8? = nil) throws(StorageError) -> Node {
    counters.nodeReads.add(1)
    var block: MemoryBlock?
    let view = try view(at: pointer, keeping: &block)
    if let level, Int(view.level) + 1 != Int(level) { throw view.damage }
    if let block { return Node(view: view, owner: .block(block)) }
    return Node(view: view, owner: .mapping(mappings.owner))
  }

  /// A copy of a node that a transaction may change, with its check verified.
  func freshNode(at pointer: NodePointer) throws(StorageError) -> FreshNode {
    counters.nodeReads.add(1)
    var block: MemoryBlock?
    let bytes = try storedBytes(of: pointer, keeping: &block)
    defer { withExtendedLifetime(block) {} }
    // A patched node is not kept in the cache, because another node replaces it.
    let delta = NodeDelta.isOne(bytes) ? try NodeDelta(bytes, offset: pointer.offset) : nil
    let fresh =
      if let delta { try patched(delta) } else {
        try FreshNode(copyingStored: try NodeView(bytes, offset: pointer.offset))
      }
    fresh.base = delta?.base ?? pointer
    return fresh
  }

  /// The whole node of which a stored one is patches. Returns nil if the node is whole itself.
  func base(of pointer: NodePointer) throws(StorageError) -> NodePointer? {
    var block: MemoryBlock?
    let bytes = try storedBytes(of: pointer, keeping: &block)
    defer { withExtendedLifetime(block) {} }
    return NodeDelta.isOne(bytes) ? try NodeDelta(bytes, offset: pointer.offset).base : nil
  }

  /// The bytes that are live because of a node: its own, and those of its base.
  func liveBytes(of pointer: NodePointer) throws(StorageError) -> UInt64 {
    UInt64(pointer.length) + UInt64(try base(of: pointer)?.length ?? 0)
  }

  /// A whole node, with its check verified, without counting the read. The view is valid as long as the file, or the block if there is one.
  @inline(__always)
  func view(at pointer: NodePointer, keeping block: inout MemoryBlock?) throws(StorageError) -> NodeView {
    // Most nodes that are this short are deltas. Those that are known need not be looked at.
    if pointer.length <= NodeDelta.usualLength, let known = patchedNodes.find(pointer, keeping: &block) {
      return try NodeView(known, offset: pointer.offset)
    }
    let bytes = try storedBytes(of: pointer, keeping: &block)
    if NodeDelta.isOne(bytes) { return try patched(bytes, pointer, keeping: &block) }
    return try NodeView(bytes, offset: pointer.offset)
  }

  /// The node that a stored delta stands for, kept in the cache.
  ///
  /// A transaction that is not committed has whole nodes only, so the cache has none of its nodes.
  @inline(never)
  private func patched(
    _ bytes: UnsafeRawBufferPointer, _ pointer: NodePointer, keeping block: inout MemoryBlock?
  ) throws(StorageError) -> NodeView {
    // Also if the header names no deltas: a salvage does not know the features of a file whose first page is lost.
    let node = try patched(try NodeDelta(bytes, offset: pointer.offset))
    let whole = MemoryBlock(count: node.length)
    whole.bytes.copyMemory(from: node.bytes)
    if pointer.length <= NodeDelta.usualLength { patchedNodes.insert(whole, at: pointer) }
    block = whole
    return try NodeView(UnsafeRawBufferPointer(whole.bytes), offset: pointer.offset)
  }

  /// The node that a delta stands for. No other place applies patches.
  private func patched(_ delta: NodeDelta) throws(StorageError) -> FreshNode {
    var block: MemoryBlock?
    let base = try storedBytes(of: delta.base, keeping: &block)
    defer { withExtendedLifetime(block) {} }
    counters.nodesPatched.add(1)
    return try delta.applied(to: try NodeView(base, offset: delta.base.offset))
  }

  /// The bytes of a node as they are stored, with their check verified.
  @inline(__always)
  private func storedBytes(
    of pointer: NodePointer, keeping block: inout MemoryBlock?
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    let offset = pointer.offset
    let count = Int(pointer.length)
    let limit = end
    guard offset <= limit, UInt64(count) <= limit - offset else {
      throw .damaged(what: "pointer to a tree node", offset: offset)
    }
    let bytes: UnsafeRawBufferPointer
    if let start = mappings.address(of: offset, count) {
      bytes = UnsafeRawBufferPointer(start: start, count: count)
      if verified.contains(pointer) { return bytes }
    } else {
      let read = try read(at: offset, count: count, what: "tree node")
      block = read
      bytes = UnsafeRawBufferPointer(read.bytes)
    }
    guard header.nodeCheck(bytes, at: offset) == pointer.check else {
      throw .damaged(what: "tree node", offset: offset)
    }
    if mappings.isMapped { verified.insert(pointer) }
    return bytes
  }
}

/// The nodes of a mapping that were verified lately, so that the way from the root is not verified again with every search.
///
/// Each place remembers one node by its offset and check; a node that was replaced by another one is verified again when it is next read.
struct VerifiedNodes: ~Copyable, Sendable {
  private static let count = 1 << 14
  private let memory: AddressSpace
  // The pointer is set once; its words are only touched as atomics.
  nonisolated(unsafe) private let words: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    // Zero bits are a zero; writing them would take 32 pages for a process that reads a few nodes.
    let memory = AddressSpace(count: VerifiedNodes.count * MemoryLayout<Atomic<UInt64>>.stride)
    guard let memory, let start = memory.bytes.baseAddress else { fatalError("out of memory") }
    self.memory = memory
    words = start.bindMemory(to: Atomic<UInt64>.self, capacity: VerifiedNodes.count)
  }

  /// The word for a node: never 0, because no node lies at offset 0.
  @inline(__always)
  private func word(_ pointer: NodePointer) -> UInt64 { pointer.offset.bytes ^ UInt64(pointer.check) << 32 }

  @inline(__always)
  private func position(_ pointer: NodePointer) -> Int {
    Int(truncatingIfNeeded: (pointer.offset.bytes &* 0x9E37_79B9_7F4A_7C15) >> 50)
  }

  @inline(__always)
  func contains(_ pointer: NodePointer) -> Bool {
    words[position(pointer)].load(ordering: .relaxed) == word(pointer)
  }

  @inline(__always)
  func insert(_ pointer: NodePointer) {
    words[position(pointer)].store(word(pointer), ordering: .relaxed)
  }
}

/// A number that any thread may add to.
struct Counter: ~Copyable, Sendable {
  private let total = Atomic<UInt64>(0)

  func add(_ more: UInt64) { total.wrappingAdd(more, ordering: .relaxed) }
  var value: UInt64 { total.load(ordering: .relaxed) }
}

/// A number that is added to so often that each lane of threads has a part of its own. If two threads of a lane add at the same moment,
/// one may be lost.
struct ReadCounter: ~Copyable, Sendable {
  // The pointer is set once; its words are only touched as atomics. An array would be retained for each read.
  nonisolated(unsafe) private let words: UnsafeMutablePointer<Atomic<UInt64>>
  /// From one part to the next: a cache line.
  private static let stride = 8

  init() {
    words = .allocate(capacity: ThreadLane.count * Self.stride)
    for word in 0..<ThreadLane.count * Self.stride { (words + word).initialize(to: Atomic(0)) }
  }

  deinit {
    words.deinitialize(count: ThreadLane.count * Self.stride)
    words.deallocate()
  }

  @inline(__always)
  func add(_ more: UInt64) {
    let part = words + ThreadLane.current * Self.stride
    part.pointee.store(part.pointee.load(ordering: .relaxed) &+ more, ordering: .relaxed)
  }

  var value: UInt64 {
    (0..<ThreadLane.count).reduce(0) { $0 &+ words[$1 * Self.stride].load(ordering: .relaxed) }
  }
}

/// Counts of work, from any thread.
final class Counters: Sendable {
  let nodeReads = ReadCounter()
  let frameReads = ReadCounter()
  let valueReads = ReadCounter()
  let bytesWritten = Counter()
  let writes = Counter()
  let syncs = Counter()
  let commits = Counter()
  let nodesWritten = Counter()
  let nodeBytesWritten = Counter()
  let nodesPatched = ReadCounter()

  var counts: WorkCounts {
    WorkCounts(
      nodeReads: nodeReads.value, frameReads: frameReads.value, valueReads: valueReads.value,
      bytesWritten: bytesWritten.value, writes: writes.value, syncs: syncs.value, commits: commits.value,
      nodesWritten: nodesWritten.value, nodeBytesWritten: nodeBytesWritten.value, nodesPatched: nodesPatched.value)
  }
}

/// Turns a disk's error into one of the store's.
func engineCall<R>(_ body: () throws(DiskError) -> R) throws(StorageError) -> R {
  do {
    return try body()
  } catch {
    throw StorageError(error)
  }
}

extension StorageError {
  init(_ error: DiskError) {
    self = error.isFull ? .full(error) : .io(error)
  }
}

extension Int {
  func multipliedClamped(by factor: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
