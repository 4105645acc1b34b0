import StrataDocuments
import StrataSystem

/// Reads the bytes of a file in pieces: it holds the bytes ahead in memory and releases the consumed ones.
package final class ByteStream {
  private static let chunk = 1 << 18
  /// The largest single value, row or line.
  static let partLimit = 1 << 28

  let name: String
  /// The encoding of the file's text. The bytes that callers get are UTF-8.
  private(set) var encoding = TextEncoding.utf8
  /// The byte that ends a line: a carriage return only in a file whose first line ends in one alone.
  private(set) var lineEnd = UInt8(ascii: "\n")
  private var descriptor: Int32 = -1
  private var ahead: [UInt8]
  private var at = 0
  /// How many bytes of the text lie before those in memory.
  private var base = 0
  private var hasMore: Bool
  private(set) var line = 1
  /// From 1, in characters: the column of the byte at `counted`, which catches up with `at` when the column is needed.
  private var column = 1
  private var counted = 0

  /// Opens a file. Standard input (`-`) and pipes are read whole, because they must be read twice. So is a file that is not UTF-8.
  ///
  /// - Parameter encoding: the file's encoding; nil detects it from the first bytes.
  init(path: String, encoding: TextEncoding? = nil) throws(ModelError) {
    name = path == "-" ? "standard input" : path
    ahead = []
    hasMore = true
    descriptor = path == "-" ? dup(0) : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure(path) }
    if lseek(descriptor, 0, SEEK_SET) != 0 {
      try readWhole()
    }
    try decode(encoding)
  }

  init(bytes: [UInt8], name: String, encoding: TextEncoding? = nil) throws(ModelError) {
    self.name = name
    ahead = bytes
    hasMore = false
    try decode(encoding)
  }

  /// Returns the whole text of a file, a pipe or standard input (`-`), as UTF-8 without a byte order mark.
  package static func text(of path: String) throws(ModelError) -> [UInt8] {
    let stream = try ByteStream(path: path)
    try stream.readWhole()
    try stream.skipByteOrderMark()
    return Array(stream.ahead[stream.at...])
  }

  private func readWhole() throws(ModelError) {
    while try readMore() {}
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  /// Converts text in another encoding to UTF-8, and finds the byte that ends a line.
  private func decode(_ given: TextEncoding?) throws(ModelError) {
    _ = try readMore()
    encoding = if let given { given } else { try TextEncoding.find(ahead.prefix(1 << 16), of: name) }
    if encoding != .utf8 {
      if descriptor >= 0 { try readWhole() }
      ahead = try encoding.text(of: ahead, of: name)
    }
    var isQuoted = false
    let first = ahead.firstIndex { byte in
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      return !isQuoted && (byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r"))
    }
    if let first, ahead[first] == UInt8(ascii: "\r"), first + 1 < ahead.count, ahead[first + 1] != UInt8(ascii: "\n") {
      lineEnd = UInt8(ascii: "\r")
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  func rewind() throws(ModelError) {
    (at, base) = (0, 0)
    (line, column, counted) = (1, 1, 0)
    guard descriptor >= 0 else { return }
    ahead.removeAll(keepingCapacity: true)
    hasMore = true
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.failure(name) }
  }

  /// How many bytes of the text lie before the next one.
  var offset: Int { base + at }

  var isEmpty: Bool { base == 0 && ahead.isEmpty && !hasMore }

  var place: SourcePlace {
    countColumns()
    return SourcePlace(file: name, line: line, column: column == 1 ? nil : column)
  }

  /// The place of an error in the bytes ahead.
  func place(of error: JSONError) -> SourcePlace {
    countColumns()
    let start = error.line == 1 ? column : 1
    return SourcePlace(file: name, line: line + error.line - 1, column: start + error.column - 1)
  }

  func peek() throws(ModelError) -> UInt8? { try byte(0) }

  /// Returns the byte at a distance, or nil after the end.
  func byte(_ offset: Int) throws(ModelError) -> UInt8? {
    while at + offset >= ahead.count {
      guard try readMore() else { return nil }
    }
    return ahead[at + offset]
  }

  /// Returns the place of a byte ahead, which must be in memory.
  func place(of offset: Int) -> SourcePlace {
    let before = ahead[at..<at + offset]
    countColumns()
    let onLine = before.suffix(from: before.lastIndex(of: lineEnd).map { $0 + 1 } ?? at)
    let lines = before.count { $0 == lineEnd }
    let found = (lines == 0 ? column : 1) + onLine.count { $0 & 0xC0 != 0x80 }
    return SourcePlace(file: name, line: line + lines, column: found == 1 ? nil : found)
  }

  /// Calls `body` with the bytes in memory from `offset` on, then with more of them, until it returns a count.
  ///
  /// - Parameter body: gets only bytes that it has not seen yet. Returns how many of them belong to the part, or nil if all do.
  /// - Returns: the length of the part; nil if the bytes end first.
  func length(from offset: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Int?) throws(ModelError) -> Int? {
    var seen = offset
    while true {
      let start = at + seen
      if start < ahead.count {
        let found = ahead.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[start...])) }
        if let found { return seen + found }
        seen = ahead.count - at
      }
      guard seen < Self.partLimit else {
        throw .unreadable(what: "\(name):\(line)", where: "it is longer than 256 MiB")
      }
      guard try readMore() else { return nil }
    }
  }

  var availableCount: Int { ahead.count - at }

  func withBytes<Result>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    ahead.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[at..<(at + count)])) }
  }

  /// Releases the next bytes, which must have been examined.
  func consume(_ count: Int) {
    let end = at + count
    ahead.withUnsafeBufferPointer { bytes in
      while let length = lineLength(UnsafeBufferPointer(rebasing: bytes[at..<end])) {
        at += length + 1
        line += 1
        (column, counted) = (1, at)
      }
    }
    at = end
  }

  /// Returns the length of the first line in some bytes, or nil if it does not end there.
  func lineLength(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard let start = bytes.baseAddress, let end = memchr(start, Int32(lineEnd), bytes.count) else {
      return nil
    }
    return UnsafeRawPointer(end) - UnsafeRawPointer(start)
  }

  private func countColumns() {
    guard counted < at else { return }
    ahead.withUnsafeBufferPointer { bytes in
      for byte in bytes[counted..<at] where byte & 0xC0 != 0x80 { column += 1 }
    }
    counted = at
  }

  /// Consumes a byte order mark, which does not count as a character.
  func skipByteOrderMark() throws(ModelError) {
    guard try byte(0) == 0xEF, try byte(1) == 0xBB, try byte(2) == 0xBF else { return }
    at += 3
    counted = at
  }

  func skipSpace() throws(ModelError) {
    while let next = try peek(), next == 0x20 || next == 0x0A || next == 0x0D || next == 0x09 { consume(1) }
  }

  func consume(byte wanted: UInt8) throws(ModelError) -> Bool {
    guard try peek() == wanted else { return false }
    consume(1)
    return true
  }

  private func readMore() throws(ModelError) -> Bool {
    guard hasMore, descriptor >= 0 else { return false }
    if at > 0 {
      countColumns()
      ahead.removeSubrange(..<at)
      base += at
      (at, counted) = (0, 0)
    }
    let old = ahead.count
    ahead.append(contentsOf: repeatElement(0, count: Self.chunk))
    var count: Int
    repeat {
      count = ahead.withUnsafeMutableBytes { bytes in
        read(descriptor, bytes.baseAddress.map { $0 + old }, Self.chunk)
      }
    } while count < 0 && errno == EINTR
    let code = errno
    ahead.removeLast(Self.chunk - max(0, count))
    guard count >= 0 else { throw Self.failure(name, code) }
    hasMore = count > 0
    return hasMore
  }

  private static func failure(_ path: String, _ code: Int32 = errno) -> ModelError {
    .storage("\(path): \(String(cString: strerror(code)))", kind: .failed)
  }
}
