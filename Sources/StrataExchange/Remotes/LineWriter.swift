import StrataSystem

/// Writes lines to a pipe, in blocks. A reader that has gone, or reads nothing for `patience`, is an error.
package final class LineWriter {
  let descriptor: Int32
  private let name: String
  private let patience: Int32
  private var waiting: [UInt8] = []
  private(set) var byteCount = 0

  /// The bytes that a pipe with room takes at once, so that the write does not wait.
  private static let piece = Int(PIPE_BUF)

  /// The caller still has to close the descriptor.
  ///
  /// - Parameter patience: The milliseconds to wait for a reader that reads nothing; negative means for ever.
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
    switch isReady(descriptor, for: POLLOUT, patience: patience) {
    case true?: return
    case false?: throw failure("it takes nothing for \(patience / 1000) seconds")
    case nil: throw failure(String(cString: strerror(errno)))
    }
  }

  private func failure(_ reason: String) -> ExchangeError { .peer(name: name, reason: reason) }
}

/// Runs writes to a pipe whose reader may have gone: the write then fails, and the process is not ended. The process's own handling of
/// SIGPIPE stays as it is: the signal is blocked on this thread, and consumed if the writes have raised it.
func withoutPipeSignal<R>(_ body: () throws -> R) throws -> R {
  var pipe = sigset_t()
  sigemptyset(&pipe)
  sigaddset(&pipe, SIGPIPE)
  var pending = sigset_t()
  sigpending(&pending)
  let wasPending = sigismember(&pending, SIGPIPE) == 1
  var before = sigset_t()
  pthread_sigmask(SIG_BLOCK, &pipe, &before)
  defer {
    let code = errno
    if !wasPending {
      sigpending(&pending)
      if sigismember(&pending, SIGPIPE) == 1 {
        var signal: Int32 = 0
        sigwait(&pipe, &signal)
      }
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    errno = code
  }
  return try body()
}
