import StrataDocuments

/// The name of a snapshot, an iteration or a page: a moment and a random number, always 40 characters.
///
/// ```
/// 2026-11-20 13-53-53-660 D5EC94D8D3596E72
/// └──── GMT, milliseconds ┘└ 64 random bits ┘
/// ```
///
/// It is kept as two integers, so that a list of a million pages is 16 MB and comparing two of them costs nothing. The moment does not give
/// a reliable order: many are made within one millisecond.
package struct DatedIdentifier: Hashable, Sendable, CustomStringConvertible {
  /// The 17 digits of the moment as one decimal number.
  private let moment: UInt64
  private let random: UInt64

  /// The number of characters of every identifier.
  package static let length = 40

  /// The places of digits; the other places of the moment hold these separators.
  private static let pattern: [UInt8] = Array("dddd-dd-dd dd-dd-dd-ddd ".utf8)

  /// Reads an identifier; returns nil for any other text, so that nothing else ever becomes part of a path.
  package init?(_ text: some Collection<UInt8>) {
    guard text.count == Self.length else { return nil }
    var moment: UInt64 = 0
    var random: UInt64 = 0
    for (position, byte) in text.enumerated() {
      guard position < Self.pattern.count else {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): random = random << 4 | UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "A")...UInt8(ascii: "F"): random = random << 4 | UInt64(byte - UInt8(ascii: "A") + 10)
        default: return nil
        }
        continue
      }
      guard Self.pattern[position] == UInt8(ascii: "d") else {
        guard byte == Self.pattern[position] else { return nil }
        continue
      }
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      moment = moment * 10 + UInt64(byte - UInt8(ascii: "0"))
    }
    self.moment = moment
    self.random = random
  }

  package init?(_ text: String) { self.init(text.utf8) }

  /// The folders between a base and the thing itself: `2026/11-20/13-53`.
  package var shard: String {
    let name = description
    return "\(name.prefix(4))/\(name.dropFirst(5).prefix(5))/\(name.dropFirst(11).prefix(5))"
  }

  package var description: String {
    let digits = String(moment).zeroFilled(17)
    func part(_ from: Int, _ count: Int) -> Substring { digits.dropFirst(from).prefix(count) }
    let date = "\(part(0, 4))-\(part(4, 2))-\(part(6, 2))"
    let time = "\(part(8, 2))-\(part(10, 2))-\(part(12, 2))-\(part(14, 3))"
    return "\(date) \(time) \(Hexadecimal.text(of: random, uppercase: true))"
  }
}
