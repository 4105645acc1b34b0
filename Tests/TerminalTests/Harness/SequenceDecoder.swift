/// Cuts what a program sends into characters, controls and sequences.
struct SequenceDecoder {
  /// A control sequence: `ESC [ ? 25 h`.
  struct Sequence {
    var intermediate = ""
    var parameters: [Int] = []
    var final: Character = "?"
  }

  /// One piece.
  enum Token {
    case scalar(Unicode.Scalar)
    case control(UInt8)
    case escape(String)
    case sequence(Sequence)
    /// The text of an `OSC`, and the bytes that it took.
    case command(String, length: Int)
    case deviceString([UInt8])
  }

  private enum State {
    case ground
    case escape([UInt8])
    case control([UInt8])
    case command([UInt8])
    case deviceString([UInt8])
    case text([UInt8], needed: Int)
  }

  private var state = State.ground

  /// Reads a byte; a token where one is whole.
  mutating func read(_ byte: UInt8) -> Token? {
    switch state {
    case .ground: return readPlain(byte)
    case .escape(let bytes): return readEscape(bytes + [byte])
    case .control(let bytes):
      guard (0x40...0x7E).contains(byte) else {
        state = .control(bytes + [byte])
        return nil
      }
      state = .ground
      return .sequence(Self.sequence(bytes, final: byte))
    case .command(let bytes):
      let all = bytes + [byte]
      let endsWithString = all.suffix(2).elementsEqual([0x1B, 0x5C])
      guard byte == 0x07 || endsWithString else {
        state = .command(all)
        return nil
      }
      state = .ground
      return .command(String(decoding: all.dropLast(byte == 0x07 ? 1 : 2), as: UTF8.self), length: all.count + 2)
    case .deviceString(let bytes):
      let all = bytes + [byte]
      // tmux doubles the escapes of what it passes on, so that an end is an escape that is not doubled.
      var escapes = 0
      for earlier in all.dropLast().reversed() {
        guard earlier == 0x1B else { break }
        escapes += 1
      }
      guard byte == 0x5C, escapes % 2 == 1 else {
        state = .deviceString(all)
        return nil
      }
      state = .ground
      return .deviceString(Array(all.dropLast(2)))
    case .text(let bytes, let needed):
      let all = bytes + [byte]
      guard all.count == needed else {
        state = .text(all, needed: needed)
        return nil
      }
      state = .ground
      return String(decoding: all, as: UTF8.self).unicodeScalars.first.map { .scalar($0) }
    }
  }

  private mutating func readPlain(_ byte: UInt8) -> Token? {
    switch byte {
    case 0x1B: state = .escape([])
    case 0x00..<0x20, 0x7F: return .control(byte)
    case 0x20..<0x7F: return .scalar(Unicode.Scalar(byte))
    case 0xC0...0xDF: state = .text([byte], needed: 2)
    case 0xE0...0xEF: state = .text([byte], needed: 3)
    case 0xF0...0xF7: state = .text([byte], needed: 4)
    default: return .scalar("\u{FFFD}")
    }
    return nil
  }

  private mutating func readEscape(_ bytes: [UInt8]) -> Token? {
    switch bytes {
    case [0x5B]: state = .control([])
    case [0x5D]: state = .command([])
    case [0x50]: state = .deviceString([])
    case [0x28], [0x29], [0x2A], [0x2B]: state = .escape(bytes)
    default:
      state = .ground
      return .escape(String(decoding: bytes, as: UTF8.self))
    }
    return nil
  }

  private static func sequence(_ bytes: [UInt8], final: UInt8) -> Sequence {
    let isNumber = { (byte: UInt8) in (0x30...0x39).contains(byte) || byte == 0x3B }
    let numbers = bytes.filter(isNumber)
    return Sequence(
      intermediate: String(decoding: bytes.filter { !isNumber($0) }, as: UTF8.self),
      parameters: numbers.isEmpty
        ? []
        : numbers.split(separator: 0x3B, omittingEmptySubsequences: false)
          .map { Int(String(decoding: $0, as: UTF8.self)) ?? 0 },
      final: Character(Unicode.Scalar(final)))
  }
}
