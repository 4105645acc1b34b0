/// A file that is not there: each call fails.
final class AbsentFile: ReadOnlyFile {
  private func failure(_ operation: String) -> DiskError { DiskError(operation: operation, path: "", code: 2) }

  var status: FileStatus { get throws(DiskError) { throw failure("fstat") } }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    throw failure("pread")
  }
}
