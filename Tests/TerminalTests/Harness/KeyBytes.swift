import StrataLocks
import StrataTerminal

/// What an xterm sends for keys.
enum KeyBytes {
  /// The bytes of keys as written in key tables, key by key: `j j Enter`, `gg`, `^d`.
  static func keys(_ keys: String) -> [[UInt8]] {
    (KeyChord.sequence(keys) ?? []).map(bytes)
  }

  private static func bytes(of chord: KeyChord) -> [UInt8] {
    if let character = chord.character { return Array(String(character).utf8) }
    if chord.modifiers == .control, case .character(let letter) = chord.key, let ascii = letter.asciiValue {
      return [ascii & 0x1F]
    }
    let held = chord.modifiers.isEmpty ? nil : 1 + Int(chord.modifiers.rawValue)
    switch chord.key {
    case .enter: return [0x0D]
    case .tab: return chord.modifiers.contains(.shift) ? Array("\u{1B}[Z".utf8) : [0x09]
    case .escape: return [0x1B]
    case .backspace: return [0x7F]
    case .up: return cursor("A", held)
    case .down: return cursor("B", held)
    case .right: return cursor("C", held)
    case .left: return cursor("D", held)
    case .home: return cursor("H", held)
    case .end: return cursor("F", held)
    case .insert: return numbered(2, held)
    case .delete: return numbered(3, held)
    case .pageUp: return numbered(5, held)
    case .pageDown: return numbered(6, held)
    case .function(let number): return numbered(number < 6 ? number + 10 : number + 11, held)
    case .character: return []
    }
  }

  private static func cursor(_ final: String, _ held: Int?) -> [UInt8] {
    Array((held.map { "\u{1B}[1;\($0)\(final)" } ?? "\u{1B}[\(final)").utf8)
  }

  private static func numbered(_ number: Int, _ held: Int?) -> [UInt8] {
    Array((held.map { "\u{1B}[\(number);\($0)~" } ?? "\u{1B}[\(number)~").utf8)
  }
}

/// Numbers that are given once.
final class Counter: Sendable {
  private let last = Mutex(0)

  func next() -> Int {
    last.withLock { last in
      last += 1
      return last
    }
  }
}
