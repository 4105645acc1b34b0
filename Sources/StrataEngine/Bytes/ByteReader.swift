/// Reads fields one after the other and never beyond the end: missing or impossible fields throw `damaged`.
package struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var position: Int
  private let what: String
  /// The place of the bytes in the file, for messages.
  private let offset: FileOffset

  /// `bytes` must outlive the reader.
  package init(_ bytes: UnsafeRawBufferPointer, what: String, offset: FileOffset = 0) {
    self.bytes = bytes
    position = 0
    self.what = what
    self.offset = offset
  }

  package var remaining: Int { bytes.count - position }

  var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[position...]) }

  package var damage: StorageError { .damaged(what: what, offset: offset &+ UInt64(position)) }

  @inline(__always)
  package mutating func read(_ count: Int) throws(StorageError) -> UnsafeRawBufferPointer {
    let start = position
    try skip(count)
    return UnsafeRawBufferPointer(rebasing: bytes[start..<position])
  }

  mutating func read(_ count: UInt64) throws(StorageError) -> UnsafeRawBufferPointer {
    guard let count = Int(exactly: count) else { throw damage }
    return try read(count)
  }

  @inline(__always)
  mutating func skip(_ count: Int) throws(StorageError) {
    guard count >= 0, count <= remaining else { throw damage }
    position += count
  }

  @inline(__always)
  mutating func byte() throws(StorageError) -> UInt8 {
    guard position < bytes.count else { throw damage }
    defer { position += 1 }
    return bytes[position]
  }

  package mutating func fixed<T: FixedWidthInteger>(_ type: T.Type = T.self) throws(StorageError) -> T {
    try loadInteger(T.self, read(T.bitWidth / 8), at: 0)
  }

  @inline(__always)
  mutating func varint() throws(StorageError) -> UInt64 {
    let first = try byte()
    // Most are small.
    return first < 0x80 ? UInt64(first) : try varint(after: first)
  }

  private mutating func varint(after first: UInt8) throws(StorageError) -> UInt64 {
    var result = UInt64(first & 0x7F)
    var shift: UInt64 = 7
    while true {
      let next = try byte()
      let bits = UInt64(next & 0x7F)
      guard shift < 63 || (shift == 63 && bits <= 1) else { throw damage }
      result |= bits << shift
      if next & 0x80 == 0 { return result }
      shift += 7
    }
  }

  mutating func text() throws(StorageError) -> String {
    let count = try varint()
    guard count <= UInt64(Limits.text) else { throw damage }
    let bytes = try read(count)
    guard let text = String(validating: bytes, as: UTF8.self) else { throw damage }
    return text
  }

  mutating func reference() throws(StorageError) -> EntryReference {
    EntryReference(take: try read(EntryReference.size))
  }

  mutating func nodePointer() throws(StorageError) -> NodePointer {
    NodePointer(take: try read(NodePointer.size))
  }
}

/// A little-endian number inside of bytes; the caller has checked that it lies there.
@inline(__always)
func loadInteger<T: FixedWidthInteger>(_ type: T.Type, _ bytes: UnsafeRawBufferPointer, at position: Int) -> T {
  T(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: T.self))
}
