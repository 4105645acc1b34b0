/// The place of a node, its length, the check that it must have, and the number of leaf entries below it.
struct NodePointer: Hashable, Sendable {
  static let size = 17

  var offset: FileOffset
  var length: UInt16
  var check: UInt32
  /// At most 2⁴⁰ − 1.
  var count: UInt64

  /// No node: an empty tree, or a child that is not in the file yet.
  static let none = NodePointer(offset: 0, length: 0, check: 0, count: 0)

  var isNone: Bool { offset == 0 }

  /// A pointer to a node that is not in the file yet: empty except for the count.
  static func fresh(count: UInt64) -> NodePointer { NodePointer(offset: 0, length: 0, check: 0, count: count) }
}

extension NodePointer {
  /// Reads `size` bytes.
  @inline(__always)
  init(take bytes: UnsafeRawBufferPointer) {
    self.init(
      offset: FileOffset(take: bytes, at: 0), length: loadInteger(UInt16.self, bytes, at: 6),
      check: loadInteger(UInt32.self, bytes, at: 8),
      count: UInt64(loadInteger(UInt32.self, bytes, at: 12)) | UInt64(bytes[16]) << 32)
  }

  /// Writes `size` bytes.
  func store(into target: UnsafeMutableRawPointer) {
    offset.store(into: target)
    target.storeBytes(of: length.littleEndian, toByteOffset: 6, as: UInt16.self)
    target.storeBytes(of: check.littleEndian, toByteOffset: 8, as: UInt32.self)
    NodePointer.store(count: count, into: target)
  }

  static func store(count: UInt64, into target: UnsafeMutableRawPointer) {
    target.storeBytes(of: UInt32(truncatingIfNeeded: count).littleEndian, toByteOffset: 12, as: UInt32.self)
    target.storeBytes(of: UInt8(truncatingIfNeeded: count >> 32), toByteOffset: 16, as: UInt8.self)
  }
}
