import StrataEngine
import StrataModel
import StrataSystem

/// Lines of a file or a pipe, one after the other. A line with a record is at most 1,370 MiB long, any other 4 MiB.
package final class LineReader {
  private let descriptor: Int32
  private let name: String
  /// The milliseconds to wait for a silent peer; negative means for ever.
  private let patience: Int32
  private let takesRest: Bool
  private var ahead: [UInt8] = []
  private var at = 0
  private var again: [UInt8]?
  private var hasEnded = false
  private var hasHungUp = false
  private var count = 0
  /// Called after each two seconds in which nothing came.
  var whileSilent: (() -> Void)?
  /// Bytes that were read.
  package private(set) var byteCount = 0

  /// The longest line of a stream: the longest record as base64, and the rest of its line.
  package static let lineLimit = (Int(Limits.value) + 2) / 3 * 4 + plainLimit
  /// The longest line without a record.
  private static let plainLimit = 4 << 20
  private static let chunk = 1 << 16
  /// The milliseconds after which `whileSilent` is called.
  private static let pause: Int32 = 2_000

  /// Takes over an open descriptor, and closes it in the end.
  ///
  /// - Parameter takesRest: Whether bytes after the last end of a line are a line too, and not a part of one that was cut.
  package init(descriptor: Int32, name: String, patience: Int32 = -1, takesRest: Bool = true) {
    self.takesRest = takesRest
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

  /// Closes the descriptor, so that the writer to it gets an error.
  func hangUp() {
    if !hasHungUp { close(descriptor) }
    hasHungUp = true
    hasEnded = true
  }

  /// Whether all has been read, and every line was returned.
  var isAtEnd: Bool { hasEnded && at >= ahead.count }

  /// The next line, without its end; nil at the end.
  ///
  /// - Parameter limit: A longer line is an error; no more than 4 MiB of it are held before it is all there.
  package func next(limit: Int = lineLimit) throws -> [UInt8]? {
    if let line = again.take() {
      count += 1
      return line
    }
    var searched = at
    while true {
      if let end = end(from: searched) { return consume(to: end) }
      searched = ahead.count
      if searched - at >= Self.plainLimit, limit > Self.plainLimit { return try longLine(limit) }
      guard searched - at < limit else { throw tooLong(limit) }
      if hasEnded { return takesRest && at < ahead.count ? consume(to: ahead.count) : nil }
      if at > 0 {
        ahead.removeFirst(at)
        searched -= at
        at = 0
      }
      try readMore()
    }
  }

  private func consume(to end: Int) -> [UInt8] {
    defer { at = min(end + 1, ahead.count) }
    count += 1
    return Array(ahead[at..<end])
  }

  /// The next line, which is long: it is kept in a file until all of it has come. A line without a record is refused.
  private func longLine(_ limit: Int) throws -> [UInt8]? {
    let holdsRecord = ["{\"put\":", "{\"set\":"].contains { ahead[at...].starts(with: $0.utf8) }
    guard holdsRecord else { throw tooLong(Self.plainLimit) }
    let file = try ScratchFile.temporary()
    while true {
      let end = end(from: at)
      try ahead[at..<(end ?? ahead.count)].withUnsafeBytes { try file.append($0) }
      guard file.count < UInt64(limit) else { throw tooLong(limit) }
      at = end.map { $0 + 1 } ?? ahead.count
      if end == nil, hasEnded, !takesRest { return nil }
      if end != nil || hasEnded { break }
      ahead.removeAll(keepingCapacity: true)
      at = 0
      try readMore()
    }
    count += 1
    return try [UInt8](unsafeUninitializedCapacity: Int(file.count)) { bytes, count in
      count = try file.read(into: UnsafeMutableRawBufferPointer(bytes), at: 0)
    }
  }

  /// Makes `next` return the last line again.
  func unread(_ line: [UInt8]) { (again, count) = (line, count - 1) }

  /// The place of the next end of a line in the bytes that were read.
  private func end(from place: Int) -> Int? {
    ahead.withUnsafeBytes { bytes in
      bytes.baseAddress.flatMap { start in
        memchr(start + place, 0x0A, bytes.count - place).map { UnsafeRawPointer($0) - start }
      }
    }
  }

  private func tooLong(_ limit: Int) -> ExchangeError {
    .peer(name: name, reason: "line \(count + 1): a line is longer than \(limit >> 20) MiB")
  }

  /// Waits until there are bytes to read.
  private func waitForBytes() throws {
    var rest = patience
    while rest != 0 {
      let pause = whileSilent == nil ? rest : rest < 0 ? Self.pause : min(rest, Self.pause)
      guard let isThere = isReady(descriptor, for: POLLIN, patience: pause) else { throw failure() }
      if isThere { return }
      if rest > 0 { rest -= pause }
      whileSilent?()
    }
    throw ExchangeError.peer(name: name, reason: "nothing came for \(patience / 1000) seconds")
  }

  private func readMore() throws {
    try waitForBytes()
    var count = 0
    let piece = [UInt8](unsafeUninitializedCapacity: Self.chunk) { bytes, filled in
      count = read(descriptor, bytes.baseAddress, Self.chunk)
      filled = max(0, count)
    }
    ahead += piece
    byteCount += piece.count
    if count == 0 { hasEnded = true }
    if count < 0, errno != EINTR { throw failure() }
  }

  private func failure() -> ExchangeError { .peer(name: name, reason: String(cString: strerror(errno))) }
}

/// Waits until a descriptor can be read, or written. Returns false if that takes longer than `patience` milliseconds, nil if it fails.
func isReady(_ descriptor: Int32, for events: Int32, patience: Int32) -> Bool? {
  var poller = pollfd(fd: descriptor, events: Int16(events), revents: 0)
  while true {
    let ready = poll(&poller, 1, patience)
    if ready >= 0 { return ready > 0 }
    guard errno == EINTR else { return nil }
  }
}
