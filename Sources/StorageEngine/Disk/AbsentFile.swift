/// A file that is not there: each call fails.
final class AbsentFile: DiskFile {
  private func failure(_ operation: String) -> DiskError { DiskError(operation: operation, path: "", code: 2) }

  var status: FileStatus { get throws(DiskError) { throw failure("fstat") } }
  func reopened() throws(DiskError) -> (any DiskFile)? { nil }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    throw failure("pread")
  }
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) { throw failure("pwrite") }
  func zero(_ range: Range<UInt64>) throws(DiskError) { throw failure("pwrite") }
  func writeBack(_ range: Range<UInt64>) throws(DiskError) { throw failure("sync_file_range") }
  func sync() throws(DiskError) { throw failure("fdatasync") }
  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { nil }
  func tryLock() throws(DiskError) -> Bool { throw failure("fcntl") }
  func unlock() throws(DiskError) { throw failure("fcntl") }
  func isLockedElsewhere() throws(DiskError) -> Bool { throw failure("fcntl") }
}
