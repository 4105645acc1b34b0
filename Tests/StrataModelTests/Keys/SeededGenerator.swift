/// A generator whose numbers follow from its seed, so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  mutating func bytes(upTo limit: Int) -> [UInt8] {
    (0..<Int.random(in: 0...limit, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
  }

  /// Mostly short, of characters that are hard to order: composed and decomposed, zero bytes, all widths of UTF-8.
  mutating func text() -> String {
    let hard: [Unicode.Scalar] = [
      "\0", "a", "b", "é", "e", "\u{301}", "\u{308}", "\u{323}", "Å", "ß", "Ω", "я", "й", "し", "\u{3099}", "中", "한",
      "\u{11A8}", "\u{FB01}", "\u{FFFD}", "\u{10FFFF}", "😀", "~", " ",
    ]
    var text = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0...6, using: &self) { text.append(hard.randomElement(using: &self) ?? "a") }
    return String(text)
  }
}
