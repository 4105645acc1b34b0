/// The control sequences that terminals send for keys and the mouse: xterm's, and those of the Linux console, rxvt,
/// screen and tmux where they differ.
enum KeySequences {
  /// The key of `ESC O byte`.
  static func shiftedThree(_ byte: UInt8) -> KeyChord? {
    switch byte {
    case 0x4D: KeyChord(.enter)
    case 0x49: KeyChord(.tab)
    case 0x50...0x53: KeyChord(.function(Int(byte) - 0x4F))
    default: cursorKey(byte).map { KeyChord($0) }
    }
  }

  /// Returns the event of `ESC [ parameters final`, or nil if it has no meaning here.
  static func control(_ parameters: [UInt8], final: UInt8) -> TerminalEvent? {
    if parameters.first == 0x3C, final == 0x4D || final == 0x6D {
      return mouse(numbers(parameters.dropFirst()), isRelease: final == 0x6D).map { .mouse($0) }
    }
    if parameters.first == 0x3F { return report(parameters.dropFirst(), final: final) }
    let values = numbers(parameters[...])
    let held = modifiers(values.count > 1 ? values[1] : 1)
    switch final {
    case 0x52 where values.count == 2 && values[0] == 2:
      // The position of the cursor after the output of `strata_screen_open`: after four characters, or after one.
      return values[1] == 5 ? .repeatsCharacters : nil
    case 0x52 where values.count == 2 && (3...5).contains(values[0]):
      return .measured(sample: values[0] - 3, columns: values[1] - 1)
    case 0x7E:
      return values.first.flatMap(numberedKey).map { .key(KeyChord($0, held)) }
    case 0x5A:
      return .key(KeyChord(.tab, .shift))
    case 0x50...0x53 where values.count > 1:
      return .key(KeyChord(.function(Int(final) - 0x4F), held))
    case 0x61...0x64:
      return cursorKey(final - 0x20).map { .key(KeyChord($0, .shift)) }
    default:
      return cursorKey(final).map { .key(KeyChord($0, held)) }
    }
  }

  /// The reply to a query of a mode: `CSI ? 2026 ; 2 $ y`, where 1 and 2 stand for modes that can be set.
  private static func report(_ parameters: ArraySlice<UInt8>, final: UInt8) -> TerminalEvent? {
    guard final == 0x79, parameters.last == 0x24 else { return nil }
    let values = numbers(parameters.dropLast())
    return values.count == 2 && values[0] == 2026 && [1, 2].contains(values[1]) ? .synchronizesUpdates : nil
  }

  /// The reply to a query of the background: `11;rgb:ffff/ffff/ffff`, with one to four hexadecimal digits a colour.
  static func background(_ reply: [UInt8]) -> TerminalEvent? {
    let text = String(decoding: reply, as: UTF8.self)
    guard text.hasPrefix("11;rgb:") || text.hasPrefix("11;rgba:"), let colon = text.firstIndex(of: ":") else {
      return nil
    }
    let parts = text[text.index(after: colon)...].split(separator: "/").prefix(3)
    let shares = parts.compactMap { part in
      Int(part, radix: 16).map { Double($0) / Double(1 << (4 * min(4, part.count)) - 1) }
    }
    guard shares.count == 3 else { return nil }
    return .background(isLight: 0.299 * shares[0] + 0.587 * shares[1] + 0.114 * shares[2] > 0.5)
  }

  private static func cursorKey(_ byte: UInt8) -> KeyChord.Key? {
    switch byte {
    case 0x41: .up
    case 0x42: .down
    case 0x43: .right
    case 0x44: .left
    case 0x48: .home
    case 0x46: .end
    default: nil
    }
  }

  private static func numberedKey(_ number: Int) -> KeyChord.Key? {
    switch number {
    case 1, 7: .home
    case 2: .insert
    case 3: .delete
    case 4, 8: .end
    case 5: .pageUp
    case 6: .pageDown
    case 11...15: .function(number - 10)
    case 17...21: .function(number - 11)
    case 23...26: .function(number - 12)
    case 28, 29: .function(number - 13)
    case 31...34: .function(number - 14)
    default: nil
    }
  }

  private static func modifiers(_ parameter: Int) -> KeyChord.Modifiers {
    // Ours are the same bits.
    2...16 ~= parameter ? KeyChord.Modifiers(rawValue: UInt8((parameter - 1) & 7)) : []
  }

  private static func mouse(_ values: [Int], isRelease: Bool) -> MouseEvent? {
    guard values.count == 3, values[1] >= 1, values[2] >= 1 else { return nil }
    let point = Point(column: values[1] - 1, row: values[2] - 1)
    // The keys held down mean nothing. Motion is not asked for.
    switch values[0] & ~0b11100 {
    case 64: return MouseEvent(kind: .wheelUp, point: point)
    case 65: return MouseEvent(kind: .wheelDown, point: point)
    case let code where 0...2 ~= code:
      return MouseEvent(kind: isRelease ? .release(button: code + 1) : .press(button: code + 1), point: point)
    default: return nil
    }
  }

  /// The decimal numbers between semicolons, of an overlong one the first digits; an empty one is 0.
  private static func numbers(_ bytes: ArraySlice<UInt8>) -> [Int] {
    bytes.split(separator: 0x3B, omittingEmptySubsequences: false)
      .map { Int(String(decoding: $0.prefix(6), as: UTF8.self)) ?? 0 }
  }
}
