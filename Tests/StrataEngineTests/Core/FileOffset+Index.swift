@testable import StrataEngine

/// Positions in the arrays of bytes that tests take files apart with.
extension Int {
  init(_ offset: FileOffset) { self.init(offset.bytes) }
}

extension DiskFile {
  /// Writes an array into any file.
  @_disfavoredOverload
  func write(_ bytes: [UInt8], at offset: UInt64) throws(DiskError) { try write(bytes, at: FileOffset(offset)) }
}
