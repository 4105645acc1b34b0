import StrataEngine
import StrataSystem

/// The bytes of a user's file.
package enum FileBytes {
  private static let chunk = 1 << 18

  /// All bytes of a file.
  package static func read(_ path: String) throws(ModelError) -> [UInt8] {
    try onFile(path) { disk throws(DiskError) in try disk.contents(of: path) }
  }

  /// Returns the digest of a file's bytes. Holds one chunk of them at a time.
  package static func digest(of path: String) throws(ModelError) -> UInt64 {
    try onFile(path) { disk throws(DiskError) in
      let file = try disk.open(path, .read)
      var (digest, offset, bytes) = (UInt64(0), UInt64(0), [UInt8](repeating: 0, count: chunk))
      while true {
        let count = try bytes.withUnsafeMutableBytes { buffer in
          Result { () throws(DiskError) in try file.read(into: buffer, at: offset) }
        }.get()
        if count == 0 { return digest }
        digest = bytes.withUnsafeBufferPointer {
          ValueHash.bytes(UnsafeBufferPointer(rebasing: $0[..<count]), seed: digest)
        }
        offset += UInt64(count)
      }
    }
  }

  private static func onFile<Value>(
    _ path: String, _ body: (SystemDisk) throws(DiskError) -> Value
  ) throws(ModelError) -> Value {
    do {
      return try body(SystemDisk())
    } catch {
      guard error.code != ESPIPE else {
        throw .refused(reason: "\(path) is a pipe, which can be read once only: import it, or write it to a file first")
      }
      throw .storage("\(path): \(String(cString: strerror(error.code)))", kind: .failed)
    }
  }

  /// Returns a digest of the bytes of a file, which changes with them.
  package static func digest(of bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBufferPointer { bytes in
      stride(from: 0, to: bytes.count, by: chunk).reduce(0) { digest, start in
        ValueHash.bytes(UnsafeBufferPointer(rebasing: bytes[start..<min(bytes.count, start + chunk)]), seed: digest)
      }
    }
  }
}
