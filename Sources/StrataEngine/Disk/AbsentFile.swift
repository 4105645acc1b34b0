/// A file that is not there: each call fails.
final class AbsentFile: ReadOnlyFile {
  var status: FileStatus { get throws(DiskError) { throw .notFound("") } }
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    throw .notFound("")
  }
}
