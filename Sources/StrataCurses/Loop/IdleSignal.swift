import CStrataCurses
import StrataSystem
import StrataTerminal

/// Tells a test that nothing is left to do, so that it never has to guess by time.
///
/// When the variable `STRATA_IDLE_FD` names a descriptor, the loop writes one message to it each time it has painted and
/// goes to wait with no key unread, no background work open and no sequence half read:
///
///     ESC ] 7777 ; idle ; BYTES ; COLUMNSxROWS BEL
///
/// BYTES is the number of input bytes read so far, so that a test does not take a message from before a key for the reply to it. Terminals
/// skip the message. With descriptor 1 it comes in the stream of the picture itself: a reader that has met it has the whole picture.
struct IdleSignal {
  private let file: Int32
  private var last = ""

  /// Returns nil if the environment does not ask for it.
  init?() {
    guard let file = Environment["STRATA_IDLE_FD"].flatMap({ Int32($0) }), file >= 0 else { return nil }
    self.file = file
  }

  /// The loop has something to do.
  mutating func interrupt() { last = "" }

  /// Reports that the loop is idle, once.
  mutating func tell(inputBytes: Int, size: Size) {
    let message = "\u{1B}]7777;idle;\(inputBytes);\(size)\u{7}"
    guard message != last else { return }
    last = message
    let bytes = Array(message.utf8)
    _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
  }
}
