/// Immutable bytes that keep their owner alive: a file's mapping, or memory of their own.
///
/// A value read from a mapped store is a `Bytes` into the mapping and copies nothing; it stays readable as long as it is held, whatever
/// happens to the store meanwhile. Slicing shares.
package struct Bytes: @unchecked Sendable, Hashable, Comparable, CustomStringConvertible {
  // `@unchecked`: the memory at `start` is never written after the value was made, and `owner` keeps it in place.
  private let owner: AnyObject?
  private let start: UnsafeRawPointer?
  package let count: Int

  /// No bytes.
  package init() {
    owner = nil
    start = nil
    count = 0
  }

  /// A copy of an array.
  package init(_ array: [UInt8]) {
    self = array.withUnsafeBytes { Bytes(copying: $0) }
  }

  /// A copy of memory.
  package init(copying bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 0 else {
      self.init()
      return
    }
    let block = MemoryBlock(count: bytes.count)
    block.bytes.copyMemory(from: bytes)
    self.init(block)
  }

  /// All bytes of a block.
  init(_ block: MemoryBlock) {
    self.init(owner: block.owner, bytes: UnsafeRawBufferPointer(block.bytes))
  }

  /// Bytes inside of memory that `owner` keeps in place and that is not written any more.
  init(owner: AnyObject?, bytes: UnsafeRawBufferPointer) {
    self.owner = owner
    start = bytes.baseAddress
    count = bytes.count
  }

  package var isEmpty: Bool { count == 0 }

  /// Calls `body` with the memory, which is valid for the call only.
  package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    defer { withExtendedLifetime(owner) {} }
    return try body(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// A copy as an array.
  package var array: [UInt8] { withUnsafeBytes { [UInt8]($0) } }

  /// The bytes at `range`, counted from this value's first byte; sharing, not copying.
  package subscript(range: Range<Int>) -> Bytes {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "range outside of the bytes")
    guard let owner, let start, !range.isEmpty else { return Bytes() }
    return Bytes(
      owner: owner, bytes: UnsafeRawBufferPointer(start: start + range.lowerBound, count: range.count))
  }

  package subscript(position: Int) -> UInt8 {
    precondition(position >= 0 && position < count, "position outside of the bytes")
    return withUnsafeBytes { $0[position] }
  }

  package static func == (left: Bytes, right: Bytes) -> Bool {
    left.withUnsafeBytes { left in right.withUnsafeBytes { right in compareBytes(left, right) == 0 } }
  }

  package func hash(into hasher: inout Hasher) {
    withUnsafeBytes { hasher.combine(bytes: $0) }
  }

  /// Byte order: by the first byte that differs. A prefix comes before longer values that begin with it.
  package static func < (left: Bytes, right: Bytes) -> Bool {
    left.withUnsafeBytes { left in right.withUnsafeBytes { right in compareBytes(left, right) < 0 } }
  }

  package var description: String { "\(count) bytes" }
}

extension [UInt8] {
  /// As `withUnsafeBytes`, which does not support typed errors.
  @inline(__always)
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBufferPointer { bytes throws(E) in try body(UnsafeRawBufferPointer(bytes)) }
  }
}

extension UnsafeRawBufferPointer {
  /// No bytes.
  static var none: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}

/// A piece of memory that is freed with its last reference. The bytes lie behind the reference count, mostly in the same line of the
/// processor's cache, because they are read right after they are retained.
struct MemoryBlock: @unchecked Sendable {
  // `@unchecked`: the block's creator fills it before other code can see it; then it is only read.
  private let memory: ManagedBuffer<Int, UInt64>

  /// A block of a number of bytes, which may hold anything.
  init(count: Int) {
    memory = ManagedBuffer.create(minimumCapacity: (count + 7) / 8) { _ in count }
  }

  /// Valid as long as `owner` is.
  var bytes: UnsafeMutableRawBufferPointer {
    memory.withUnsafeMutablePointers { UnsafeMutableRawBufferPointer(start: $1, count: $0.pointee) }
  }

  /// Keeps the bytes in place.
  var owner: AnyObject { memory }
}
