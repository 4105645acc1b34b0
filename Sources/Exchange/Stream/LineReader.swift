import DatastoreModel

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Lines of a file or a pipe, one after the other. A line that holds a record is at most 172 MiB long, another one 4 MiB.
package final class LineReader {
  private let descriptor: Int32
  private let name: String
  /// How long a silent peer is waited for, in milliseconds; negative: for ever.
  private let patience: Int32
  private var ahead: [UInt8] = []
  private var at = 0
  private var isAtEnd = false
  private var hasHungUp = false
  /// How many lines were read.
  private var count = 0
  /// Bytes that were read.
  package private(set) var byteCount = 0

  /// The longest line of a stream: a record of 128 MiB as base64, and what stands around it.
  package static let lineLimit = 172 << 20
  /// The longest line that holds no record.
  private static let plainLimit = 4 << 20
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
        count += 1
        return Array(ahead[at..<end])
      }
      if searched - at < Self.plainLimit, ahead.count - at >= Self.plainLimit, limit > Self.plainLimit {
        try checkLength(ahead[at...], limit)
      }
      searched = ahead.count
      guard searched - at < limit else { throw tooLong(limit) }
      if isAtEnd {
        guard at < ahead.count else { return nil }
        defer { at = ahead.count }
        count += 1
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

  /// Refuses a long line before it is held: one that is to hold no record, and in a file one whose end is too far away.
  private func checkLength(_ beginning: ArraySlice<UInt8>, _ limit: Int) throws {
    let holdsRecord = ["{\"put\":", "{\"set\":"].contains { beginning.starts(with: $0.utf8) }
    guard holdsRecord else { throw tooLong(Self.plainLimit) }
    var place = lseek(descriptor, 0, SEEK_CUR)
    let last = place + off_t(limit - beginning.count)
    var piece = [UInt8](repeating: 0, count: Self.chunk * 16)
    while place >= 0, case let found = pread(descriptor, &piece, piece.count, place), found > 0 {
      if memchr(piece, 0x0A, found) != nil { return }
      place += off_t(found)
      if place > last { throw tooLong(limit) }
    }
  }

  private func tooLong(_ limit: Int) -> ExchangeError {
    .peer(name: name, reason: "line \(count + 1): a line is longer than \(limit >> 20) MiB")
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
    var count = 0
    let piece = [UInt8](unsafeUninitializedCapacity: Self.chunk) { bytes, filled in
      count = read(descriptor, bytes.baseAddress, Self.chunk)
      filled = max(0, count)
    }
    ahead += piece
    byteCount += piece.count
    if count == 0 { isAtEnd = true }
    if count < 0, errno != EINTR { throw failure() }
  }

  private func failure() -> ExchangeError { .peer(name: name, reason: String(cString: strerror(errno))) }
}
