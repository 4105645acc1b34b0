import StrataTerminal
import StrataSystem

/// Standard output, written in blocks. If the reader closes the pipe, the verb ends silently.
final class Output {
  private var buffer: [UInt8] = []
  private let descriptor: Int32
  private var written = 0
  /// The number of following bytes to leave out.
  private var leftOut = 0

  init(descriptor: Int32 = STDOUT_FILENO) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    // A block and the part that fills it.
    buffer.reserveCapacity(1 << 17)
  }

  /// Writes a text at once.
  static func print(_ text: String) throws {
    let output = Output()
    try output.bytes(text.utf8)
    try output.flush()
  }

  /// Whether it is a terminal, so that lines must not wait in a buffer.
  let isTerminal: Bool

  /// The number of bytes added so far.
  var count: Int { written + buffer.count }

  /// Leaves out the next `count` bytes.
  func leaveOut(_ count: Int) { leftOut = count }

  /// Adds a line.
  ///
  /// - Throws: ``OutputClosed`` once the reader has gone, ``OutputFailed`` if the system refuses the bytes.
  func line(_ text: String) throws {
    try append { bytes in
      bytes.append(contentsOf: text.utf8)
      bytes.append(UInt8(ascii: "\n"))
    }
  }

  /// Adds bytes.
  func bytes(_ bytes: some Sequence<UInt8>) throws { try append { $0.append(contentsOf: bytes) } }

  /// Adds what `body` appends; nothing if it throws.
  func append(_ body: (inout [UInt8]) throws -> Void) throws {
    let start = buffer.count
    do {
      try body(&buffer)
    } catch {
      buffer.removeSubrange(start...)
      throw error
    }
    if leftOut > 0 {
      let count = min(leftOut, buffer.count - start)
      buffer.removeSubrange(start..<start + count)
      leftOut -= count
    }
    if buffer.count >= 1 << 16 { try flush() }
  }

  /// Passes everything to the system. Stored text must not control a terminal, so control characters are shown there; other readers get the
  /// bytes.
  func flush() throws {
    let bytes = isTerminal ? Array(String(decoding: buffer, as: UTF8.self).showingControls.utf8) : buffer
    let isWritten = writeAll(bytes, to: descriptor)
    let code = errno
    written += buffer.count
    buffer.removeAll(keepingCapacity: true)
    guard isWritten else { throw code == EPIPE ? OutputClosed() as any Error : OutputFailed(code: code) }
  }
}

/// The reader of standard output has gone.
struct OutputClosed: Error {}

/// Standard output cannot be written, as on a full disk.
struct OutputFailed: Error, CustomStringConvertible {
  var code: Int32
  var description: String { "standard output cannot be written: \(String(cString: strerror(code)))" }
}

/// Writes a sentence for the user to standard error.
func complain(_ sentence: String) { writeError("strata: \(sentence.showingControls)\n") }

/// Writes a text to standard error, unchanged.
func writeError(_ text: String) { _ = writeAll(Array(text.utf8), to: STDERR_FILENO) }

extension String {
  /// The text as one line: as the screen shows it if it has ends of lines.
  var onOneLine: String { contains(where: \.isNewline) ? SafeText.shown(self) : self }

  /// The text as it is safe for a terminal: nothing that controls, hides or reorders the output. Tabs and ends of lines stay.
  var showingControls: String {
    guard !utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return self }
    var (shown, rest) = ("", unicodeScalars[...])
    while !rest.isEmpty {
      let piece = rest.prefix { $0 != "\n" && $0 != "\t" }
      shown += SafeText.shown(String(piece))
      rest = rest[piece.endIndex...]
      if let end = rest.popFirst() { shown.unicodeScalars.append(end) }
    }
    return shown
  }
}
