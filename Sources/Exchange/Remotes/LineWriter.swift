#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Writes lines to a pipe, in blocks. A reader that has gone, or takes nothing for as long as patience lasts, is an error.
package final class LineWriter {
  private let descriptor: Int32
  private let name: String
  private let patience: Int32
  private var waiting: [UInt8] = []
  /// Bytes that were written.
  package private(set) var byteCount = 0

  /// What a pipe that has room takes at once, so that the write does not wait.
  private static let piece = Int(PIPE_BUF)

  /// The descriptor stays the caller's to close.
  ///
  /// - Parameter patience: How long a reader is waited for that takes nothing, in milliseconds; negative: for ever.
  package init(descriptor: Int32, name: String, patience: Int32 = -1) {
    self.descriptor = descriptor
    self.name = name
    self.patience = patience
  }

  package func add(_ bytes: [UInt8]) throws {
    waiting += bytes
    if waiting.count >= 1 << 16 { try flush() }
  }

  package func flush() throws {
    defer { waiting.removeAll(keepingCapacity: true) }
    try withoutPipeSignal {
      var written = 0
      while written < waiting.count {
        try waitForRoom()
        let count = waiting.withUnsafeBytes { bytes in
          write(descriptor, bytes.baseAddress.map { $0 + written }, min(Self.piece, bytes.count - written))
        }
        if count >= 0 {
          written += count
          byteCount += count
        } else if errno != EINTR {
          throw failure(String(cString: strerror(errno)))
        }
      }
    }
  }

  private func waitForRoom() throws {
    guard patience >= 0 else { return }
    var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    while true {
      let ready = poll(&poller, 1, patience)
      if ready > 0 { return }
      if ready == 0 { throw failure("it takes nothing for \(patience / 1000) seconds") }
      guard errno == EINTR else { throw failure(String(cString: strerror(errno))) }
    }
  }

  private func failure(_ reason: String) -> ExchangeError { .peer(name: name, reason: reason) }
}
