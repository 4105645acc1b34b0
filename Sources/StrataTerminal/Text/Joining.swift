import StrataLocks

extension SafeText {
  /// How a terminal draws sequences that only some terminals join in one cell, according to the replies of its cursor.
  package struct Joining: Hashable, Sendable {
    /// Whether the parts of a sequence have cells of their own.
    package enum Way: UInt8, Hashable, Sendable { case unknown, apart, together }

    /// Vowel signs of Indic scripts that have a width of their own.
    package var vowelSigns = Way.unknown
    /// Emoji with joiners.
    package var emoji = Way.unknown
    /// Emoji with a skin colour.
    package var skinColors = Way.unknown

    package init(vowelSigns: Way = .unknown, emoji: Way = .unknown, skinColors: Way = .unknown) {
      (self.vowelSigns, self.emoji, self.skinColors) = (vowelSigns, emoji, skinColors)
    }

    /// Takes the columns of a sample into account: 0 a letter with a vowel sign, 1 two emoji with a joiner, 2 an emoji with a skin colour.
    package mutating func learn(_ sample: Int, columns: Int) {
      switch (sample, columns) {
      case (0, 1...2): vowelSigns = columns == 1 ? .together : .apart
      case (1, 2), (1, 4): emoji = columns == 2 ? .together : .apart
      case (2, 2), (2, 4): skinColors = columns == 2 ? .together : .apart
      default: break
      }
    }
  }

  /// For the terminal of this process; unknown before it has answered.
  package static var joining: Joining {
    get {
      let bits = joiningBits.load(ordering: .relaxed)
      func way(_ place: UInt8) -> Joining.Way { Joining.Way(rawValue: bits >> place & 3) ?? .unknown }
      return Joining(vowelSigns: way(0), emoji: way(2), skinColors: way(4))
    }
    set {
      joiningBits.store(
        newValue.vowelSigns.rawValue | newValue.emoji.rawValue << 2 | newValue.skinColors.rawValue << 4,
        ordering: .relaxed)
    }
  }

  private static let joiningBits = Atomic<UInt8>(0)

  /// Whether the scalars of a cell are more than a character with its marks, so that a painter must write them as a whole.
  package static func isJoined(_ scalars: [UInt32]) -> Bool {
    // The painter's own placeholders for such cells are characters too, of a Unicode extension that is hardly ever used.
    if scalars.count == 1 { return 0x30000...0x3134A ~= scalars[0] }
    return scalars.dropFirst().contains { scalar in
      Unicode.Scalar(scalar).map { ScalarKind($0) != .mark } ?? false
    }
  }
}
