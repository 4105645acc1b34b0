import StrataEngine
import StrataSystem

/// The bytes of a user's file.
package enum FileBytes {
  private static let chunk = 1 << 18

  /// All bytes of a file.
  package static func read(_ path: String) throws(ModelError) -> [UInt8] {
    do {
      return try SystemDisk().contents(of: path)
    } catch {
      throw .storage("\(path): \(String(cString: strerror(error.code)))", kind: .failed)
    }
  }

  /// Returns a digest of the bytes of a file, which changes with them.
  package static func digest(of bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBufferPointer { bytes in
      stride(from: 0, to: bytes.count, by: chunk).reduce(0) { digest, start in
        ValueHash.text(UnsafeBufferPointer(rebasing: bytes[start..<min(bytes.count, start + chunk)]), seed: digest)
      }
    }
  }
}
