import StoreEntities
import Foundation

/// Random entities that are the same for a seed (splitmix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func text() -> String {
    let alphabet = [
      "a", "Z", "é", "e\u{301}", "\u{1F468}\u{200D}\u{1F469}", "\"", "\\", "\n", "\u{1}", "ß", "漢", " ", "=",
      "\u{202E}",
    ]
    return (0..<below(8)).map { _ in alphabet[below(alphabet.count)] }.joined()
  }

  mutating func date() -> Date {
    let seconds = Double(Int64(truncatingIfNeeded: next()) % 4_000_000_000)
    return switch below(4) {
    case 0: Date(timeIntervalSince1970: seconds)
    case 1: Date(timeIntervalSince1970: -seconds / 1000)
    case 2: Date(timeIntervalSinceReferenceDate: seconds + 0.123456789)
    default: Date(timeIntervalSinceReferenceDate: Double(below(1000)) * 1e-9)
    }
  }

  mutating func key() -> EntityKey {
    ["name", "author", "größe", "a b", "history", "string", "x.y", "removed"][below(8)]
  }

  mutating func value(referringTo identifiers: [String], depth: Int) -> EntityValue {
    switch below(depth < 3 ? 8 : 7) {
    case 0: .string(text())
    case 1: .integer(Int(truncatingIfNeeded: next()))
    case 2: .double([0.0, -0.0, 1, 1e300, -1e-300, .pi, 12_345_678.9][below(7)])
    case 3: .boolean(below(2) == 0)
    case 4: .date(date())
    case 5: .data(Data((0..<below(20)).map { _ in UInt8(truncatingIfNeeded: next()) }))
    case 6: .entity(identifiers[below(identifiers.count)])
    default:
      .list(
        (0..<below(4)).map { _ in
          EntityProperty(
            value(referringTo: identifiers, depth: depth + 1), label: below(2) == 0 ? nil : text(), date: date())
        })
    }
  }

  mutating func entity(referringTo identifiers: [String]) -> Entity {
    var entity = Entity(
      "\(text())-\(next())", type: ["book", "person", "größe"][below(3)], created: date())
    for _ in 0..<below(5) {
      entity.set(
        key(), value(referringTo: identifiers, depth: 0), label: below(2) == 0 ? nil : text(),
        date: below(2) == 0 ? entity.created : date())
    }
    return entity
  }
}
