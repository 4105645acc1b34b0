import StrataSystem

/// The bytes of a user's file.
package enum FileBytes {
  private static let chunk = 1 << 18

  /// All bytes of a file.
  package static func read(_ path: String) throws(ModelError) -> [UInt8] {
    var bytes: [UInt8] = []
    try forEachChunk(of: path) { bytes += $0 }
    return bytes
  }

  /// Returns a digest of a file, which changes with its bytes. Reads the file once.
  package static func digest(of path: String) throws(ModelError) -> UInt64 {
    var digest: UInt64 = 0
    try forEachChunk(of: path) { digest = ValueHash.text($0, seed: digest) }
    return digest
  }

  package static func digest(of bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBufferPointer { bytes in
      stride(from: 0, to: bytes.count, by: chunk).reduce(0) { digest, start in
        ValueHash.text(UnsafeBufferPointer(rebasing: bytes[start..<min(bytes.count, start + chunk)]), seed: digest)
      }
    }
  }

  private static func forEachChunk(
    of path: String, _ body: (UnsafeBufferPointer<UInt8>) -> Void
  ) throws(ModelError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path) }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: chunk)
    while true {
      // Every chunk except the last is full, because the digest depends on the chunks.
      var filled = 0
      while filled < chunk {
        let count = buffer.withUnsafeMutableBytes { bytes in
          StrataSystem.read(descriptor, bytes.baseAddress.map { $0 + filled }, chunk - filled)
        }
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw failure(path) }
        if count == 0 { break }
        filled += count
      }
      guard filled > 0 else { return }
      buffer.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<filled])) }
    }
  }

  private static func failure(_ path: String) -> ModelError {
    .storage("\(path): \(String(cString: strerror(errno)))", kind: .failed)
  }
}
