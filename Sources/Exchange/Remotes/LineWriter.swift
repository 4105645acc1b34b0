#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Writes lines to a pipe, in blocks.
package final class LineWriter {
  private let descriptor: Int32
  private let name: String
  private var waiting: [UInt8] = []

  /// The descriptor stays the caller's to close.
  package init(descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
    // A peer that has gone is an error to tell of, and no reason to end.
    signal(SIGPIPE, SIG_IGN)
  }

  package func add(_ bytes: [UInt8]) throws {
    waiting += bytes
    if waiting.count >= 1 << 16 { try flush() }
  }

  package func flush() throws {
    var written = 0
    defer { waiting.removeAll(keepingCapacity: true) }
    while written < waiting.count {
      let count = waiting.withUnsafeBytes { bytes in
        write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw ExchangeError.peer(name: name, reason: String(cString: strerror(errno)))
      }
    }
  }
}
