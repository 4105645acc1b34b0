/// A position in one of a store's files: bytes from its beginning.
///
/// A type of its own, so that a position is not taken for a length, a commit's number or a count: two positions have a distance
/// and no sum. It costs nothing; in memory and in the file it is the number.
package struct FileOffset: Hashable, Comparable, Sendable, ExpressibleByIntegerLiteral, CustomStringConvertible {
  /// Bytes from the file's beginning.
  package var bytes: UInt64

  @inline(__always)
  package init(_ bytes: UInt64) { self.bytes = bytes }

  /// The position behind a number of bytes, which must not be negative.
  @inline(__always)
  package init(_ bytes: Int) { self.bytes = UInt64(bytes) }

  @inline(__always)
  package init(integerLiteral bytes: UInt64) { self.bytes = bytes }

  /// Behind every file's end.
  package static let unreachable = FileOffset(UInt64.max)

  @inline(__always)
  package static func < (left: FileOffset, right: FileOffset) -> Bool { left.bytes < right.bytes }

  @inline(__always)
  package static func + (position: FileOffset, length: UInt64) -> FileOffset { FileOffset(position.bytes + length) }

  /// As `+`, for numbers out of a file, whose sum the caller checks.
  @inline(__always)
  package static func &+ (position: FileOffset, length: UInt64) -> FileOffset { FileOffset(position.bytes &+ length) }

  @inline(__always)
  package static func += (position: inout FileOffset, length: UInt64) { position.bytes += length }

  @inline(__always)
  package static func - (position: FileOffset, length: UInt64) -> FileOffset { FileOffset(position.bytes - length) }

  /// The bytes from one position to another.
  @inline(__always)
  package static func - (end: FileOffset, start: FileOffset) -> UInt64 { end.bytes - start.bytes }

  /// As `-`, for numbers out of a file, whose difference the caller checks.
  @inline(__always)
  package static func &- (end: FileOffset, start: FileOffset) -> UInt64 { end.bytes &- start.bytes }

  /// The first position at or behind this one that is a multiple of `alignment` bytes.
  package func aligned(to alignment: UInt64) -> FileOffset {
    FileOffset((bytes + (alignment - 1)) / alignment * alignment)
  }

  package var description: String { String(bytes) }

  // In nodes and entries a position takes six bytes.

  /// Reads six bytes at `position`; the caller has checked that they lie there.
  @inline(__always)
  init(take bytes: UnsafeRawBufferPointer, at position: Int) {
    self.bytes =
      UInt64(loadInteger(UInt32.self, bytes, at: position))
      | UInt64(loadInteger(UInt16.self, bytes, at: position + 4)) << 32
  }

  /// Writes six bytes.
  @inline(__always)
  func store(into target: UnsafeMutableRawPointer) {
    target.storeBytes(of: UInt32(truncatingIfNeeded: bytes).littleEndian, as: UInt32.self)
    target.storeBytes(of: UInt16(truncatingIfNeeded: bytes >> 32).littleEndian, toByteOffset: 4, as: UInt16.self)
  }
}

extension Range<FileOffset> {
  /// The bytes in between.
  package var length: UInt64 { upperBound - lowerBound }

  /// The same range as plain numbers, for calls on a file.
  package var bytes: Range<UInt64> { lowerBound.bytes..<upperBound.bytes }
}

extension FileStatus {
  /// The position of the file's end.
  package var end: FileOffset { FileOffset(size) }
}

/// The store's own files are read and written by positions.
extension DiskFile {
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: FileOffset) throws(DiskError) -> Int {
    try read(into: buffer, at: offset.bytes)
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: FileOffset) throws(DiskError) {
    try write(bytes, at: offset.bytes)
  }

  package func zero(_ range: Range<FileOffset>) throws(DiskError) { try zero(range.bytes) }

  package func writeBack(_ range: Range<FileOffset>) throws(DiskError) { try writeBack(range.bytes) }

  package func clear(_ range: Range<FileOffset>) throws(DiskError) { try clear(range.bytes) }
}
