#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Wakes one thread that waits for something to have happened; several signals may be heard as one.
///
/// A pipe, because a thread that waits on it costs nothing and the system's own signals end the wait.
final class ChangeSignal: Sendable {
  private let readEnd: Int32
  private let writeEnd: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    _ = pipe(&ends)
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  deinit {
    close(readEnd)
    close(writeEnd)
  }

  /// Wakes the waiting thread, now or when it waits next. From any thread.
  func signal() {
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
  }

  /// Blocks until something was signalled since the last wait.
  func wait() {
    var bytes = [UInt8](repeating: 0, count: 512)
    while read(readEnd, &bytes, bytes.count) < 0, errno == EINTR {}
  }
}
