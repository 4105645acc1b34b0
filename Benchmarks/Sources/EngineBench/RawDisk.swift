import Glibc

/// The limit: the same bytes written over zeros that are there already, and `fdatasync`.
// `@unchecked`: one thread at a time uses it.
final class RawDisk: @unchecked Sendable {
  private let descriptor: Int32
  private let capacity = 64 << 20
  private var offset = 0

  init(folder: String, name: String = "raw") throws {
    descriptor = open(folder + "/" + name, O_RDWR | O_CREAT, 0o644)
    guard descriptor >= 0 else { throw ContenderError(description: "no raw file") }
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    for _ in 0..<(capacity >> 20) { _ = write(descriptor, zeros, zeros.count) }
    fsync(descriptor)
  }

  deinit { close(descriptor) }

  /// Overwrites as many bytes as a commit has, and makes them durable.
  func commit(_ bytes: [UInt8]) throws {
    if offset + bytes.count > capacity { offset = 0 }
    guard pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count, fdatasync(descriptor) == 0 else {
      throw ContenderError(description: "the raw file cannot be written")
    }
    offset += bytes.count
  }
}
