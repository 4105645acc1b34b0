// The system's C library. A file that calls it imports this module instead.
#if canImport(Darwin)
  @_exported public import Darwin
#else
  @_exported public import Glibc
#endif

/// Writes all of some bytes, and repeats calls that a signal interrupts. If it returns false, `errno` has the reason.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
  var done = 0
  while done < bytes.count {
    let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done) }
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return false }
    done += count
  }
  return true
}
