import DatastoreModel
import TerminalKit

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Standard output, in blocks. A reader that closes the pipe ends the verb quietly.
final class Output {
  private var buffer: [UInt8] = []
  private let descriptor: Int32

  init(descriptor: Int32 = STDOUT_FILENO) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    buffer.reserveCapacity(1 << 16)
  }

  /// Whether a person reads along, so that lines must not wait in a buffer.
  let isTerminal: Bool

  /// Adds a line. What a store holds must not steer the terminal that it is shown on; a program gets it as it is.
  ///
  /// - Throws: ``OutputClosed`` once the reader has gone, ``OutputFailed`` where the system refuses the bytes.
  func line(_ text: String) throws {
    buffer.append(contentsOf: (isTerminal ? text.showingControls : text).utf8)
    buffer.append(UInt8(ascii: "\n"))
    if buffer.count >= 1 << 16 { try flush() }
  }

  /// Adds bytes as they are.
  func bytes(_ bytes: some Sequence<UInt8>) throws {
    buffer.append(contentsOf: bytes)
    if buffer.count >= 1 << 16 { try flush() }
  }

  /// Adds what `body` appends.
  func append(_ body: (inout [UInt8]) throws -> Void) throws {
    try body(&buffer)
    if buffer.count >= 1 << 16 { try flush() }
  }

  /// Hands everything over to the system.
  func flush() throws {
    var written = 0
    while written < buffer.count {
      let count = buffer.withUnsafeBytes { bytes in
        write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno == EPIPE {
        throw OutputClosed()
      } else if errno != EINTR {
        throw OutputFailed(code: errno)
      }
    }
    buffer.removeAll(keepingCapacity: true)
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
func complain(_ sentence: String) {
  var text = "strata: \(sentence.showingControls)\n"
  text.withUTF8 { bytes in _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
}

extension String {
  /// As it may go to a terminal: nothing that steers, hides or reorders what is shown. Tabs and ends of lines stay.
  var showingControls: String {
    guard !utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return self }
    var shown = ""
    var piece = Substring.UnicodeScalarView()
    func take() {
      shown += SafeText.shown(String(piece))
      piece = Substring.UnicodeScalarView()
    }
    for scalar in unicodeScalars {
      guard scalar == "\n" || scalar == "\t" else {
        piece.append(scalar)
        continue
      }
      take()
      shown.unicodeScalars.append(scalar)
    }
    take()
    return shown
  }
}
