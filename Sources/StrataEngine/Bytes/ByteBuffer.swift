/// Memory that grows as fields are appended to it. One owner at a time: whoever holds it guards it.
final class ByteBuffer {
  // Unchecked exclusivity: nothing here calls out while it changes these, and fields are appended by the thousand.
  @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private(set) var count = 0

  init(capacity: Int = 4096) {
    memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    self.capacity = capacity
  }

  deinit { memory.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }
  var mutableBytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: memory, count: count) }

  /// Makes room for `extra` more bytes and tells where they begin; the caller fills them and calls `advance`.
  @inline(__always)
  func reserve(_ extra: Int) -> UnsafeMutableRawPointer {
    if count &+ extra > capacity { grow(to: count + extra) }
    return memory + count
  }

  @inline(never)
  private func grow(to needed: Int) {
    let newCapacity = max(needed, capacity * 2)
    let newMemory = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 8)
    newMemory.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = newMemory
    capacity = newCapacity
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

  func append(byte: UInt8) {
    reserve(1).storeBytes(of: byte, as: UInt8.self)
    count += 1
  }

  func append<T: FixedWidthInteger>(_ number: T) {
    reserve(T.bitWidth / 8).storeBytes(of: number.littleEndian, as: T.self)
    count += T.bitWidth / 8
  }

  /// A position as it stands in fixed fields: eight bytes.
  func append(_ offset: FileOffset) { append(offset.bytes) }

  func append(varint number: UInt64) {
    // At most ten bytes of seven bits each.
    let target = reserve(10)
    var rest = number
    var size = 0
    while rest >= 0x80 {
      target.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: size, as: UInt8.self)
      rest >>= 7
      size &+= 1
    }
    target.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: size, as: UInt8.self)
    count += size + 1
  }

  func append(text: String) {
    var text = text
    text.withUTF8 { utf8 in
      append(varint: UInt64(utf8.count))
      append(UnsafeRawBufferPointer(utf8))
    }
  }

  func append(_ reference: EntryReference) {
    reference.store(into: reserve(EntryReference.size))
    count += EntryReference.size
  }

  func append(_ pointer: NodePointer) {
    pointer.store(into: reserve(NodePointer.size))
    count += NodePointer.size
  }

  func append(zeros extra: Int) {
    reserve(extra).initializeMemory(as: UInt8.self, repeating: 0, count: extra)
    count += extra
  }

  func removeLast(to newCount: Int) { count = newCount }
  func removeAll() { count = 0 }
}
