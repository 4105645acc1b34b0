import CStrataCurses
import StrataTerminal

/// Keys, pastes and the mouse, read as bytes and not through ncurses.
///
/// ncurses gives one key a call, knows no bracketed paste, reports the mouse with delays of its own, and makes a wait for
/// keys and for other things at once hard. Read as bytes, a paste of 100 KB is a few reads and one event, a sequence that
/// arrives in two parts waits in the parser, and one `poll` waits for everything.
struct TerminalInput {
  private var parser = EscapeParser()
  private let file: Int32
  private let escapeDelay: Int32
  private var readTime = ContinuousClock.now

  /// Bytes read so far.
  private(set) var count = 0
  /// Whether the terminal is gone.
  var hasEnded = false

  /// - Parameter file: the descriptor to read from. `ESCDELAY` is honoured: how many milliseconds make a lone escape.
  init(file: Int32) {
    self.file = file
    let wanted = Environment["ESCDELAY"].flatMap { Int32($0) } ?? 25
    self.escapeDelay = min(max(wanted, 0), 10_000)
  }

  /// How long to wait for further bytes at most, in milliseconds; -1 is for ever, because nothing waits in the parser. Results and signals
  /// do not prolong it.
  var patience: Int32 {
    guard parser.awaitsMore else { return -1 }
    let left = .milliseconds(escapeDelay) - (ContinuousClock.now - readTime)
    return left > .zero ? Int32(left / .milliseconds(1)) + 1 : 0
  }

  /// Everything that can be read now.
  mutating func readAll() -> [TerminalEvent] {
    var events: [TerminalEvent] = []
    let capacity = 16_384
    while !hasEnded {
      var found = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, initialized in
        found = strata_read(file, buffer.baseAddress, capacity)
        initialized = max(0, found)
      }
      if found < 0 { hasEnded = true }
      guard found > 0 else { break }
      count += found
      readTime = .now
      events += parser.feed(bytes)
      guard strata_has_input(file) else { break }
    }
    return events
  }

  /// Nothing more came in time.
  mutating func giveUpWaiting() -> [TerminalEvent] { parser.flush() }
}
