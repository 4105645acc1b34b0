extension DataFile {
  /// The place of the last byte in a range that is not zero, or nil. What was never written is not read, so that a file which
  /// somebody has made as long as a disk is wide costs nothing.
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
