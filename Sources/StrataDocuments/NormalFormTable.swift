/// Unicode's properties of each character that a normal form changes, from `NormalFormData`.
///
/// It is the same on every platform and with every compiler, as the order of stored keys must be. The standard library's own form has no
/// public interface, and Foundation's depends on the version of the system.
struct NormalFormTable {
  /// The decomposition and the class of a character. Most characters have the zero value: no normal form changes them.
  struct Entry {
    /// Its canonical mapping; `second` is 0 if that is one character, and both are 0 if there is none.
    var first: UInt32 = 0
    var second: UInt32 = 0
    var order: UInt8 = 0
    /// Whether its mapping composes to it again.
    var isComposed = false
    /// Whether it composes with a character before it.
    var follows = false
  }

  static let shared = NormalFormTable()

  private var entries: [Entry] = [Entry()]
  /// For each 256 characters, the start of their entries' numbers in `numbers`. The first 256 numbers are zeros.
  private var pages = [UInt16](repeating: 0, count: 0x1100)
  private var numbers = [UInt16](repeating: 0, count: 256)
  private var compositions: [UInt64: UInt32] = [:]

  private init() {
    var words = Words(NormalFormData.mappings)
    // Numbers that are left out are read as 0.
    var (scalar, lastSecond): (UInt32, UInt32) = (0, 0)
    while let (number, separator) = words.next() {
      guard let (first, after) = words.next() else { break }
      scalar = number == 0 ? scalar + 1 : number
      let isComposed = separator == UInt8(ascii: "=")
      let isPair = after == UInt8(ascii: "+")
      if isPair { lastSecond = words.next()?.number ?? 0 }
      let second = isPair || isComposed ? lastSecond : 0
      update(scalar) { ($0.first, $0.second, $0.isComposed) = (first, second, isComposed) }
      if isComposed {
        update(second) { $0.follows = true }
        compositions[UInt64(first) << 32 | UInt64(second)] = scalar
      }
    }
    words = Words(NormalFormData.classes)
    var last: UInt32 = 0
    while let (number, separator) = words.next() {
      let first = number == 0 ? last + 1 : number
      last = separator == UInt8(ascii: "-") ? words.next()?.number ?? first : first
      guard let (order, _) = words.next() else { break }
      for scalar in first...last { update(scalar) { $0.order = UInt8(order) } }
    }
    for scalar in Hangul.vowels { update(scalar) { $0.follows = true } }
    for scalar in Hangul.finals { update(scalar) { $0.follows = true } }
  }

  private mutating func update(_ scalar: UInt32, _ change: (inout Entry) -> Void) {
    let page = Int(scalar >> 8)
    if pages[page] == 0 {
      pages[page] = UInt16(numbers.count >> 8)
      numbers += [UInt16](repeating: 0, count: 256)
    }
    let place = Int(pages[page]) << 8 + Int(scalar & 0xFF)
    if numbers[place] == 0 {
      numbers[place] = UInt16(entries.count)
      entries.append(Entry())
    }
    change(&entries[Int(numbers[place])])
  }

  subscript(scalar: UInt32) -> Entry {
    entries[Int(numbers[Int(pages[Int(scalar >> 8)]) << 8 + Int(scalar & 0xFF)])]
  }

  /// The character that two compose to, or nil if they stay two.
  func composition(_ first: UInt32, _ second: UInt32) -> UInt32? {
    Hangul.composition(first, second) ?? compositions[UInt64(first) << 32 | UInt64(second)]
  }

  /// The numbers of a text of `NormalFormData`, each with the byte behind it.
  private struct Words {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ text: StaticString) { bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount) }

    mutating func next() -> (number: UInt32, separator: UInt8)? {
      guard position < bytes.count else { return nil }
      var number: UInt32 = 0
      while position < bytes.count {
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "A")...UInt8(ascii: "F"): number = number << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
        default: return (number, byte)
        }
      }
      return (number, 0)
    }
  }
}

/// Korean syllables, which are composed by arithmetic: of a leading consonant, a vowel, and perhaps a final consonant.
enum Hangul {
  static let leading: Range<UInt32> = 0x1100..<0x1113
  static let vowels: Range<UInt32> = 0x1161..<0x1176
  static let finals: Range<UInt32> = 0x11A8..<0x11C3
  static let syllables: Range<UInt32> = 0xAC00..<0xD7A4
  /// The syllables of one leading consonant and vowel: one without a final consonant and one with each.
  private static let span = UInt32(finals.count) + 1

  static func composition(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if leading.contains(first), vowels.contains(second) {
      let pair = (first - leading.lowerBound) * UInt32(vowels.count) + (second - vowels.lowerBound)
      return syllables.lowerBound + pair * span
    }
    guard finals.contains(second), syllables.contains(first), (first - syllables.lowerBound) % span == 0 else {
      return nil
    }
    return first + second - finals.lowerBound + 1
  }

  /// The parts of a syllable; the last is 0 if it has no final consonant.
  static func parts(of syllable: UInt32) -> (UInt32, UInt32, UInt32) {
    let (pair, final) = (syllable - syllables.lowerBound).quotientAndRemainder(dividingBy: span)
    let (first, vowel) = pair.quotientAndRemainder(dividingBy: UInt32(vowels.count))
    return (leading.lowerBound + first, vowels.lowerBound + vowel, final == 0 ? 0 : finals.lowerBound + final - 1)
  }
}
