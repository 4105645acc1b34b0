/// A key with the modifiers held down, as it is written in key tables, scripts and help.
///
///     j   G   ?   ^d   Space   Enter   Tab   S-Tab   Esc   Left   C-Right   M-Up   PageDown   F5
///
/// `^i` is `Tab`, `^m` is `Enter` and `^[` is `Esc`: terminals send the same byte for both.
package struct KeyChord: Hashable, Sendable, LosslessStringConvertible {
  /// A key without modifiers.
  package enum Key: Hashable, Sendable {
    /// A key that writes, as the character that it wrote; shift is part of that.
    case character(Character)
    case enter
    case tab
    case escape
    /// The key that deletes the character before the cursor.
    case backspace
    /// The key that deletes the character at the cursor.
    case delete
    case insert
    case up
    case down
    case left
    case right
    case home
    case end
    case pageUp
    case pageDown
    /// F1 to F24.
    case function(Int)
  }

  /// Modifier keys.
  package struct Modifiers: OptionSet, Hashable, Sendable {
    /// The modifiers as bits.
    package let rawValue: UInt8
    /// Makes modifiers from bits.
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Shift; only with keys that do not write.
    package static let shift = Modifiers(rawValue: 1)
    /// Alt, also called Meta.
    package static let alt = Modifiers(rawValue: 2)
    package static let control = Modifiers(rawValue: 4)
  }

  package var key: Key
  /// The modifiers held down with it.
  package var modifiers: Modifiers

  /// Makes a chord.
  package init(_ key: Key, _ modifiers: Modifiers = []) {
    self.key = key
    self.modifiers = modifiers
  }

  /// The chord of a key that writes `character`.
  package init(writing character: Character) {
    self.init(.character(character))
  }

  /// The character that the chord writes into a text field; nil if it writes none.
  package var character: Character? {
    guard modifiers.isEmpty, case .character(let character) = key else { return nil }
    return character
  }

  /// Reads a chord as it is written in key tables. Returns nil if no key has this name.
  package init?(_ description: String) {
    if description.count == 1, let character = description.first {
      guard character != " " else { return nil }
      self.init(writing: character)
      return
    }
    var rest = Substring(description)
    var modifiers: Modifiers = []
    while rest.count > 2, let prefix = Self.prefixes.first(where: { rest.hasPrefix($0.text) }) {
      modifiers.formUnion(prefix.modifier)
      rest = rest.dropFirst(2)
    }
    if rest.count == 2, rest.first == "^", let letter = rest.last {
      switch letter {
      case "i": self.init(.tab, modifiers)
      case "m": self.init(.enter, modifiers)
      case "[": self.init(.escape, modifiers)
      default: self.init(.character(Character(letter.lowercased())), modifiers.union(.control))
      }
      return
    }
    if let named = Self.names.first(where: { $0.name == rest }) {
      self.init(named.key, modifiers)
    } else if rest.first == "F", let number = Int(rest.dropFirst()), (1...24).contains(number) {
      self.init(.function(number), modifiers)
    } else if rest.count == 1, !modifiers.isEmpty, let character = rest.first {
      self.init(.character(character), modifiers)
    } else {
      return nil
    }
  }

  /// The chord as it is written in key tables.
  package var description: String {
    var held = modifiers
    var text: String
    switch key {
    case .character(let character):
      text = character == " " ? "Space" : String(character)
      if held.contains(.control), character != " " {
        held.remove(.control)
        text = "^" + text
      }
    case .function(let number):
      text = "F\(number)"
    default:
      text = Self.names.first { $0.key == key }?.name ?? "?"
    }
    for prefix in Self.prefixes.reversed() where held.contains(prefix.modifier) { text = prefix.text + text }
    return text
  }

  /// Reads several chords: words between spaces, each a chord or, if it is not one, one chord per character.
  ///
  /// `gg`, `^w j` and `dd Enter` are two, two and three chords.
  package static func sequence(_ text: String) -> [KeyChord]? {
    var chords: [KeyChord] = []
    for word in text.split(separator: " ") {
      if let chord = KeyChord(String(word)) {
        chords.append(chord)
        continue
      }
      var rest = word
      while let character = rest.first {
        let length = character == "^" && rest.count > 1 ? 2 : 1
        guard let chord = KeyChord(String(rest.prefix(length))) else { return nil }
        chords.append(chord)
        rest = rest.dropFirst(length)
      }
    }
    return chords.isEmpty ? nil : chords
  }

  private static let prefixes: [(text: String, modifier: Modifiers)] = [
    ("C-", .control), ("M-", .alt), ("S-", .shift),
  ]

  private static let names: [(name: String, key: Key)] = [
    ("Space", .character(" ")), ("Enter", .enter), ("Tab", .tab), ("Esc", .escape), ("Backspace", .backspace),
    ("Delete", .delete), ("Insert", .insert), ("Up", .up), ("Down", .down), ("Left", .left), ("Right", .right),
    ("Home", .home), ("End", .end), ("PageUp", .pageUp), ("PageDown", .pageDown),
  ]
}
