extension DataFile {
  /// Calls `body` with the bytes of a range, at most a MiB at a time, and the start of each piece.
  func forEachPiece(
    of range: Range<FileOffset>, what: String, _ body: (Bytes, FileOffset) throws(StorageError) -> Void
  ) throws(StorageError) {
    var position = range.lowerBound
    while position < range.upperBound {
      let count = Int(min(1 << 20, range.upperBound - position))
      try body(try bytes(at: position, count: count, what: what), position)
      position += UInt64(count)
    }
  }

  /// The end of the bytes that are written at the beginning of a range; the range's start if it begins with a hole.
  func endOfWritten(in range: Range<FileOffset>) throws(StorageError) -> FileOffset {
    let parts = try engineCall { () throws(DiskError) in try file.writtenParts(of: range.bytes) }
    guard let first = parts.first, first.lowerBound == range.lowerBound.bytes else { return range.lowerBound }
    return FileOffset(first.upperBound)
  }

  /// The place of the last nonzero byte in a range, or nil. Ranges that were never written are not read, so that a file that was made as
  /// long as a disk is wide costs nothing.
  func lastNonzero(in range: Range<FileOffset>) throws(StorageError) -> FileOffset? {
    let parts = try engineCall { () throws(DiskError) in try file.writtenParts(of: range.bytes) }
    for part in parts.reversed() {
      let first = FileOffset(part.lowerBound)
      var end = FileOffset(part.upperBound)
      while end > first {
        let count = Int(min(1 << 20, end - first))
        let start = end - UInt64(count)
        let piece = try bytes(at: start, count: count, what: "tail")
        if let last = piece.withUnsafeBytes({ $0.lastNonzero }) { return start + UInt64(last) }
        end = start
      }
    }
    return nil
  }
}
