import StrataLocks
import StrataSystem

/// A file without a name. The system removes it when its last holder closes it, even if the process crashes.
package final class TemporaryFile: Sendable {
  private let descriptor: Int32
  private let length = Atomic<Int>(0)

  private static let total = Atomic<Int>(0)

  /// The number of bytes in all temporary files of this process.
  package static var bytesInUse: UInt64 { UInt64(clamping: total.load(ordering: .relaxed)) }

  /// The folder for temporary files: the one in the environment, otherwise the one that the system gives this process.
  package static var folder: String {
    if let folder = getenv("TMPDIR").map({ String(cString: $0) }), !folder.isEmpty { return folder }
    #if canImport(Darwin)
      // A sandbox lets a process write into this folder, but not into the shared one.
      var path = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = confstr(_CS_DARWIN_USER_TEMP_DIR, &path, path.count)
      if count > 1, count <= path.count { return String(cString: path) }
    #endif
    return "/tmp"
  }

  /// Makes one in the folder for temporary files.
  package init() throws(ModelError) {
    let base = Self.folder
    var template = Array("\(base)/strata-part-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Self.failure("no temporary file can be made in \(base)") }
    unlink(template)
  }

  deinit {
    close(descriptor)
    Self.total.subtract(length.load(ordering: .relaxed), ordering: .relaxed)
  }

  /// Writes all bytes at an offset.
  package func write(_ bytes: [UInt8], at offset: Int) throws(ModelError) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        buffer.baseAddress.map { pwrite(descriptor, $0 + done, buffer.count - done, off_t(offset + done)) } ?? 0
      }
      guard count > 0 else { throw Self.failure("the temporary file cannot be written") }
      done += count
    }
    note(end: offset + bytes.count)
  }

  private func note(end: Int) {
    let before = length.load(ordering: .relaxed)
    guard end > before, length.compareExchange(expected: before, desired: end, ordering: .relaxed).exchanged else {
      return
    }
    Self.total.add(end - before, ordering: .relaxed)
  }

  /// Reads up to `count` bytes from an offset; fewer only at the end.
  package func read(at offset: Int, count: Int) throws(ModelError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        buffer.baseAddress.map { pread(descriptor, $0 + done, count - done, off_t(offset + done)) } ?? 0
      }
      guard got >= 0 else { throw Self.failure("the temporary file cannot be read") }
      if got == 0 { break }
      done += got
    }
    bytes.removeSubrange(done...)
    return bytes
  }

  private static func failure(_ what: String) -> ModelError {
    .storage("\(what): \(String(cString: strerror(errno)))", kind: .failed)
  }
}
