/// Turns the bytes that a terminal sends into events.
///
/// It is a value without a clock: bytes may arrive cut anywhere, and what is incomplete waits inside. A lone `ESC` is a
/// key only if nothing follows, so while `awaitsMore` is true its owner waits a moment (25 ms by default) and then calls
/// `flush()`. `ESC` before anything that begins no sequence is the Escape key and then that key, however fast they come:
/// no key of ours needs Alt, and a person who types ahead must not lose either.
package struct EscapeParser: Sendable {
  /// The longest control sequence; a longer one is dropped.
  static let sequenceLimit = 64
  /// The most bytes of one `paste` event; a longer paste comes as several.
  static let pasteLimit = 4 << 20

  private enum State: Sendable {
    case ground
    case escape
    case control([UInt8])
    case shiftedThree
    case linuxFunction
    /// The byte after ESC that begins a reply, or a key by itself.
    case introducer(UInt8)
    /// Of a reply: its bytes, up to a limit, if it is an operating system command.
    case string(sawEscape: Bool, [UInt8]?)
    case text(needed: Int, [UInt8])
    case paste([UInt8])
  }

  private var state = State.ground

  /// A parser at the start of its input.
  package init() {}

  /// Whether the bytes so far may be a key by themselves or the beginning of a sequence.
  package var awaitsMore: Bool {
    switch state {
    case .escape, .control, .shiftedThree, .linuxFunction, .introducer: true
    case .ground, .string, .text, .paste: false
    }
  }

  /// Reads further bytes.
  package mutating func feed(_ bytes: some Sequence<UInt8>) -> [TerminalEvent] {
    var events: [TerminalEvent] = []
    for byte in bytes { read(byte, &events) }
    return events
  }

  /// Nothing followed in time: what waits becomes keys.
  package mutating func flush() -> [TerminalEvent] {
    defer { if awaitsMore { state = .ground } }
    switch state {
    case .escape: return [.key(KeyChord(.escape))]
    case .control(let bytes): return keys(after: "[", bytes)
    case .shiftedThree: return keys(after: "O", [])
    case .linuxFunction: return keys(after: "[", [0x5B])
    case .introducer(let byte): return keys(after: letter(byte), [])
    case .ground, .string, .text, .paste: return []
    }
  }

  private func keys(after introducer: Character, _ bytes: [UInt8]) -> [TerminalEvent] {
    [.key(KeyChord(.escape)), .key(KeyChord(writing: introducer))]
      + bytes.map { .key(KeyChord(writing: Character(Unicode.Scalar($0)))) }
  }

  private mutating func read(_ byte: UInt8, _ events: inout [TerminalEvent]) {
    switch state {
    case .ground: readPlain(byte, &events)
    case .escape: readAfterEscape(byte, &events)
    case .control(let bytes): readControl(byte, after: bytes, &events)
    case .shiftedThree:
      state = .ground
      events += KeySequences.shiftedThree(byte).map { [.key($0)] } ?? []
    case .linuxFunction:
      state = .ground
      if (0x41...0x45).contains(byte) { events.append(.key(KeyChord(.function(Int(byte) - 0x40)))) }
    case .introducer(let first): readString(byte, false, first == 0x5D ? [] : nil, &events)
    case .string(let sawEscape, let bytes): readString(byte, sawEscape, bytes, &events)
    case .text(let needed, let bytes): readText(byte, needed, bytes, &events)
    case .paste: readPaste(byte, &events)
    }
  }

  private mutating func readPlain(_ byte: UInt8, _ events: inout [TerminalEvent]) {
    switch byte {
    case 0x1B: state = .escape
    case 0x0D, 0x0A: events.append(.key(KeyChord(.enter)))
    case 0x09: events.append(.key(KeyChord(.tab)))
    case 0x08, 0x7F: events.append(.key(KeyChord(.backspace)))
    case 0x00: events.append(.key(KeyChord(.character(" "), .control)))
    case 0x01...0x1A: events.append(.key(KeyChord(.character(letter(byte + 0x60)), .control)))
    case 0x1C...0x1F: events.append(.key(KeyChord(.character(letter(byte + 0x40)), .control)))
    case 0x20...0x7E: events.append(.key(KeyChord(writing: letter(byte))))
    case 0xC2...0xDF: state = .text(needed: 2, [byte])
    case 0xE0...0xEF: state = .text(needed: 3, [byte])
    case 0xF0...0xF4: state = .text(needed: 4, [byte])
    default: events.append(.key(KeyChord(writing: "\u{FFFD}")))
    }
  }

  private func letter(_ byte: UInt8) -> Character { Character(Unicode.Scalar(byte)) }

  private mutating func readAfterEscape(_ byte: UInt8, _ events: inout [TerminalEvent]) {
    switch byte {
    case 0x5B: state = .control([])
    case 0x4F: state = .shiftedThree
    case 0x5D, 0x50, 0x5F, 0x5E, 0x58: state = .introducer(byte)
    case 0x1B: events.append(.key(KeyChord(.escape)))
    default:
      events.append(.key(KeyChord(.escape)))
      state = .ground
      readPlain(byte, &events)
    }
  }

  private mutating func readControl(_ byte: UInt8, after bytes: [UInt8], _ events: inout [TerminalEvent]) {
    switch byte {
    case 0x5B where bytes.isEmpty: state = .linuxFunction
    case 0x20...0x3F where bytes.count < Self.sequenceLimit: state = .control(bytes + [byte])
    case 0x20...0x3F: state = .ground
    case 0x40...0x7E:
      state = .ground
      if bytes == Array("200".utf8), byte == 0x7E {
        state = .paste([])
      } else {
        events += KeySequences.control(bytes, final: byte).map { [$0] } ?? []
      }
    default:
      state = .ground
      readPlain(byte, &events)
    }
  }

  /// Replies of the terminal (`OSC … ST`, `DCS … ST`): all but the colour of the background are dropped. A control character or another
  /// sequence ends a reply, so that keys typed after Esc that look like the beginning of one do not swallow all that follow.
  private mutating func readString(_ byte: UInt8, _ sawEscape: Bool, _ bytes: [UInt8]?, _ events: inout [TerminalEvent])
  {
    switch byte {
    case 0x07,
      0x5C where byte == 0x07 || sawEscape:
      state = .ground
      events += bytes.flatMap(KeySequences.background).map { [$0] } ?? []
    case 0x1B: state = .string(sawEscape: true, bytes)
    case _ where sawEscape: readAfterEscape(byte, &events)
    case 0x00..<0x20:
      state = .ground
      readPlain(byte, &events)
    default:
      state = .string(sawEscape: false, bytes.map { $0.count < Self.sequenceLimit ? $0 + [byte] : $0 })
    }
  }

  private mutating func readText(_ byte: UInt8, _ needed: Int, _ bytes: [UInt8], _ events: inout [TerminalEvent]) {
    guard (0x80...0xBF).contains(byte) else {
      state = .ground
      events.append(.key(KeyChord(writing: "\u{FFFD}")))
      readPlain(byte, &events)
      return
    }
    let all = bytes + [byte]
    guard all.count == needed else {
      state = .text(needed: needed, all)
      return
    }
    state = .ground
    events += String(decoding: all, as: UTF8.self).map { .key(KeyChord(writing: $0)) }
  }

  private mutating func readPaste(_ byte: UInt8, _ events: inout [TerminalEvent]) {
    guard case .paste(var bytes) = state else { return }
    state = .ground  // so that the bytes below are the only owner and grow in place
    bytes.append(byte)
    if byte == 0x7E, bytes.suffix(Self.pasteEnd.count).elementsEqual(Self.pasteEnd) {
      bytes.removeLast(Self.pasteEnd.count)
      events.append(Self.paste(of: bytes))
      return
    }
    if bytes.count >= Self.pasteLimit, byte < 0x80, byte != 0x1B, !bytes.suffix(Self.pasteEnd.count).contains(0x1B) {
      events.append(Self.paste(of: bytes))
      bytes.removeAll()
    }
    state = .paste(bytes)
  }

  /// Terminals send the line ends of a paste as the Enter key does.
  private static func paste(of bytes: [UInt8]) -> TerminalEvent {
    .paste(String(String(decoding: bytes, as: UTF8.self).map { $0 == "\r" || $0 == "\r\n" ? "\n" : $0 }))
  }

  private static let pasteEnd = Array("\u{1B}[201~".utf8)
}
