import DatastoreModel

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Lines of a file or a pipe, one after the other. A line is at most 256 MiB long.
package final class LineReader {
  private let descriptor: Int32
  private let name: String
  /// How long a silent peer is waited for, in milliseconds; negative: for ever.
  private let patience: Int32
  private var ahead: [UInt8] = []
  private var at = 0
  private var isAtEnd = false
  private var hasHungUp = false
  /// Bytes that were read.
  package private(set) var byteCount = 0

  /// The longest line of a stream: a record of 128 MiB as base64, and what stands around it.
  package static let lineLimit = 256 << 20
  private static let chunk = 1 << 16

  /// Takes over an open descriptor, and closes it in the end.
  package init(descriptor: Int32, name: String, patience: Int32 = -1) {
    self.descriptor = descriptor
    self.name = name
    self.patience = patience
  }

  /// Opens a file; `-` is standard input.
  package convenience init(path: String, patience: Int32 = -1) throws {
    let descriptor = path == "-" ? dup(0) : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ModelError.noSuchStore(path: path, reason: String(cString: strerror(errno)))
    }
    self.init(descriptor: descriptor, name: path == "-" ? "standard input" : path, patience: patience)
  }

  deinit { hangUp() }

  /// Lets go of the descriptor, so that who writes to it hears that nobody reads.
  func hangUp() {
    if !hasHungUp { close(descriptor) }
    hasHungUp = true
    isAtEnd = true
  }

  /// The next line, without its end; nil at the end. What follows the last end of a line is a line too.
  ///
  /// - Parameter limit: A longer line is an error; not much more than so many bytes are held.
  package func next(limit: Int = lineLimit) throws -> [UInt8]? {
    var searched = at
    while true {
      if let end = ahead[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { at = end + 1 }
        return Array(ahead[at..<end])
      }
      searched = ahead.count
      guard searched - at < limit else {
        throw ExchangeError.peer(name: name, reason: "a line is longer than \(limit >> 20) MiB")
      }
      if isAtEnd {
        guard at < ahead.count else { return nil }
        defer { at = ahead.count }
        return Array(ahead[at...])
      }
      if at > 0 {
        ahead.removeFirst(at)
        searched -= at
        at = 0
      }
      try readMore()
    }
  }

  private func readMore() throws {
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      let ready = poll(&poller, 1, patience)
      if ready > 0 { break }
      if ready == 0 {
        throw ExchangeError.peer(name: name, reason: "nothing came for \(patience / 1000) seconds")
      }
      guard errno == EINTR else { throw failure() }
    }
    let start = ahead.count
    ahead.append(contentsOf: repeatElement(0, count: Self.chunk))
    let count = ahead.withUnsafeMutableBytes { bytes in
      read(descriptor, bytes.baseAddress.map { $0 + start }, Self.chunk)
    }
    ahead.removeLast(Self.chunk - max(0, count))
    byteCount += max(0, count)
    if count == 0 { isAtEnd = true }
    if count < 0, errno != EINTR { throw failure() }
  }

  private func failure() -> ExchangeError { .peer(name: name, reason: String(cString: strerror(errno))) }
}
