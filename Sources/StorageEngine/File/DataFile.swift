import Synchronization

/// One generation of a store's data, as everything that reads sees it: bytes at offsets, checked.
///
/// Bytes that were once readable never change, so reading needs no lock. Safe from any thread.
final class DataFile: Sendable {
  let file: any DiskFile
  let path: String
  let header: FileHeader
  /// Which file it is; another one may lie at the path by now.
  let identity: FileIdentity
  let counters: Counters
  private let mapping: (any DiskMapping)?
  // The mapping's first byte; valid as long as the mapping, which this object keeps.
  nonisolated(unsafe) private let base: UnsafeRawPointer?
  private let mappedBytes: UInt64
  private let readableEnd: Atomic<UInt64>

  init(file: any DiskFile, path: String, header: FileHeader, readsMapped: Bool, counters: Counters) throws(StorageError) {
    self.file = file
    self.path = path
    self.header = header
    self.counters = counters
    let status = try engineCall { () throws(DiskError) in try file.status }
    identity = status.identity
    // Address space costs nothing; what grows beyond it is read by calls.
    let capacity = max(DataFile.usualMapping, Int(clamping: status.size).multipliedClamped(by: 2))
    mapping = readsMapped ? try engineCall { () throws(DiskError) in try file.map(capacity: capacity) } : nil
    base = mapping?.bytes.baseAddress
    mappedBytes = UInt64(mapping?.bytes.count ?? 0)
    readableEnd = Atomic(0)
  }

  private static let usualMapping = 1 << 36

  /// Bytes before this may be read. It only grows, and never beyond the file's end.
  var end: UInt64 { readableEnd.load(ordering: .acquiring) }

  func extend(to newEnd: UInt64) {
    readableEnd.max(newEnd, ordering: .releasing)
  }

  /// Bytes of the file, where they lie if they are mapped, else in memory of their own.
  func bytes(at offset: UInt64, count: Int, what: String) throws(StorageError) -> Bytes {
    let limit = end
    guard count >= 0, offset <= limit, UInt64(count) <= limit - offset else { throw .damaged(what: what, offset: offset) }
    if let base, let mapping, offset + UInt64(count) <= mappedBytes {
      return Bytes(owner: mapping, bytes: UnsafeRawBufferPointer(start: base + Int(offset), count: count))
    }
    let block = try read(at: offset, count: count, what: what)
    return Bytes(owner: block, bytes: UnsafeRawBufferPointer(block.bytes))
  }

  private func read(at offset: UInt64, count: Int, what: String) throws(StorageError) -> MemoryBlock {
    let block = MemoryBlock(count: count)
    let done = try engineCall { () throws(DiskError) in try file.read(into: block.bytes, at: offset) }
    guard done == count else { throw .damaged(what: what, offset: offset) }
    return block
  }

  /// A node, with its check verified.
  func node(at pointer: NodePointer) throws(StorageError) -> Node {
    let offset = pointer.offset
    let count = Int(pointer.length)
    let limit = end
    guard offset <= limit, UInt64(count) <= limit - offset else {
      throw .damaged(what: "pointer to a tree node", offset: offset)
    }
    counters.nodeReads.add(1)
    let bytes: UnsafeRawBufferPointer
    let owner: Node.Owner
    if let base, let mapping, offset + UInt64(count) <= mappedBytes {
      bytes = UnsafeRawBufferPointer(start: base + Int(offset), count: count)
      owner = .mapping(mapping)
    } else {
      let block = try read(at: offset, count: count, what: "tree node")
      bytes = UnsafeRawBufferPointer(block.bytes)
      owner = .block(block)
    }
    guard header.nodeCheck(bytes, at: offset) == pointer.check else { throw .damaged(what: "tree node", offset: offset) }
    return Node(view: try NodeView(bytes, offset: offset), owner: owner)
  }
}

/// A number that any thread may add to.
struct Counter: ~Copyable, Sendable {
  private let total = Atomic<UInt64>(0)

  func add(_ more: UInt64) { total.add(more, ordering: .relaxed) }
  var value: UInt64 { total.load(ordering: .relaxed) }
}

/// Counts of work, from any thread.
final class Counters: Sendable {
  let nodeReads = Counter()
  let frameReads = Counter()
  let valueReads = Counter()
  let bytesWritten = Counter()
  let writes = Counter()
  let syncs = Counter()
  let commits = Counter()
  let nodesWritten = Counter()
  let nodeBytesWritten = Counter()

  var counts: WorkCounts {
    var counts = WorkCounts()
    counts.nodeReads = nodeReads.value
    counts.frameReads = frameReads.value
    counts.valueReads = valueReads.value
    counts.bytesWritten = bytesWritten.value
    counts.writes = writes.value
    counts.syncs = syncs.value
    counts.commits = commits.value
    counts.nodesWritten = nodesWritten.value
    counts.nodeBytesWritten = nodeBytesWritten.value
    return counts
  }
}

/// Makes a disk's error one of the store's.
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
