import Foundation

/// Types that between them use every way in which a type can be coded.
enum CodedTypes {
  struct Flat: Codable, Equatable, Randomized {
    var id: Int
    var name: String
    var code: String
    var population: Int
    var latitude: Double
    var share: Float
    var isCapital: Bool
    var zone: String?

    static func random(using random: inout some RandomNumberGenerator) -> Flat {
      Flat(
        id: .any(&random), name: .any(&random), code: .any(&random), population: .any(&random), latitude: .any(&random),
        share: .any(&random), isCapital: .random(using: &random),
        zone: Bool.random(using: &random) ? nil : .any(&random))
    }
  }

  struct Numbers: Codable, Equatable, Randomized {
    var small: Int8
    var short: Int16
    var middle: Int32
    var long: Int64
    var byte: UInt8
    var word: UInt16
    var wide: UInt32
    var longest: UInt64
    var double: Double?
    var decimal: Decimal
    var doubles: [Double]
    var floats: [Float]

    static func random(using random: inout some RandomNumberGenerator) -> Numbers {
      Numbers(
        small: .any(&random), short: .any(&random), middle: .any(&random), long: .any(&random), byte: .any(&random),
        word: .any(&random), wide: .any(&random), longest: .any(&random), double: .any(&random),
        decimal: Decimal(Int.any(&random) % 1_000_000_000) / Decimal(1000),
        doubles: (0..<Int.random(in: 0...5, using: &random)).map { _ in .any(&random) },
        floats: (0..<Int.random(in: 0...5, using: &random)).map { _ in .any(&random) })
    }
  }

  struct Nested: Codable, Equatable, Randomized {
    struct Stop: Codable, Hashable {
      var name: String
      var at: Date
      var links: [URL]
    }
    enum Kind: String, Codable { case walk, ride, flight }
    enum Choice: Codable, Equatable { case none, one(Int), two(first: String, second: [Bool]) }

    var id: UUID
    var begun: Date
    var kind: Kind
    var choice: Choice
    var stops: [Stop]
    var tags: [String: Int]
    var counts: [Int: String]
    var table: [[Int?]]
    var data: Data
    var optional: [String: Stop?]

    static func random(using random: inout some RandomNumberGenerator) -> Nested {
      func stop(_ random: inout some RandomNumberGenerator) -> Stop {
        Stop(
          name: .any(&random), at: Date(timeIntervalSinceReferenceDate: .any(&random)),
          links: [URL(string: "https://example.org/a?b=\(Int.any(&random))&c=%20")].compactMap { $0 })
      }
      return Nested(
        id: UUID(), begun: Date(timeIntervalSinceReferenceDate: .any(&random)),
        kind: [.walk, .ride, .flight].random(&random),
        choice: [.none, .one(.any(&random)), .two(first: .any(&random), second: [true, false])].random(&random),
        stops: (0..<Int.random(in: 0...3, using: &random)).map { _ in stop(&random) },
        tags: Dictionary((0..<Int.random(in: 0...9, using: &random)).map { _ in (.any(&random), .any(&random)) }) {
          $1
        },
        counts: Dictionary((0..<Int.random(in: 0...9, using: &random)).map { _ in (.any(&random), .any(&random)) }) {
          $1
        },
        table: (0..<Int.random(in: 0...3, using: &random)).map { _ in
          (0..<Int.random(in: 0...3, using: &random)).map { _ in Bool.random(using: &random) ? nil : .any(&random) }
        },
        data: Data((0..<Int.random(in: 0...20, using: &random)).map { _ in .any(&random) }),
        optional: ["a": nil, "b": stop(&random)])
    }
  }

  /// A class with a superclass, containers that are filled by turns, and a member that is encoded twice.
  class Base: Codable {
    var base: String
    init(base: String) { self.base = base }
  }

  final class Derived: Base, Randomized, Equatable {
    var more: [Int]
    var pair: (Int, String)

    enum Keys: String, CodingKey { case more, outer, again, zero }
    enum Inner: String, CodingKey { case number, text, list }

    init(base: String, more: [Int], pair: (Int, String)) {
      self.more = more
      self.pair = pair
      super.init(base: base)
    }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      more = try container.decode([Int].self, forKey: .more)
      let inner = try container.nestedContainer(keyedBy: Inner.self, forKey: .outer)
      var list = try inner.nestedUnkeyedContainer(forKey: .list)
      pair = (try list.decode(Int.self), try inner.decode(String.self, forKey: .text))
      if try !list.decodeNil() || !list.isAtEnd || container.allKeys.count != 3 || container.contains(.zero) {
        throw DecodingError.dataCorruptedError(forKey: .more, in: container, debugDescription: "another list")
      }
      try super.init(from: container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      var inner = container.nestedContainer(keyedBy: Inner.self, forKey: .outer)
      var list = inner.nestedUnkeyedContainer(forKey: .list)
      try list.encode(pair.0)
      try container.encode("first", forKey: .again)
      try super.encode(to: container.superEncoder())
      try inner.encode(pair.1, forKey: .text)
      try list.encodeNil()
      try container.encode(more, forKey: .more)
      try container.encode("second", forKey: .again)
    }

    static func == (left: Derived, right: Derived) -> Bool {
      left.base == right.base && left.more == right.more && left.pair == right.pair
    }

    static func random(using random: inout some RandomNumberGenerator) -> Derived {
      Derived(base: .any(&random), more: [.any(&random), 2], pair: (.any(&random), .any(&random)))
    }
  }

  /// A value that tries one type after another, as decoders of mixed lists do.
  enum Mixed: Codable, Equatable, Randomized {
    case number(Int)
    case text(String)
    case list([Mixed])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int.self) {
        self = .number(number)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else {
        self = .list(try container.decode([Mixed].self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .number(let number): try container.encode(number)
      case .text(let text): try container.encode(text)
      case .list(let list): try container.encode(list)
      }
    }

    static func random(using random: inout some RandomNumberGenerator) -> Mixed {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: .number(.any(&random))
      case 1: .text(.any(&random))
      default: .list((0..<Int.random(in: 0...2, using: &random)).map { _ in .random(using: &random) })
      }
    }
  }
}

/// A type of which tests make values at random.
protocol Randomized: Codable {
  static func random(using random: inout some RandomNumberGenerator) -> Self
}

extension FixedWidthInteger {
  /// Any value, small ones and the bounds often.
  static func any(_ random: inout some RandomNumberGenerator) -> Self {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: .min
    case 1: .max
    case 2, 3: Self(truncatingIfNeeded: Int.random(in: -1000...1000, using: &random))
    default: .random(in: .min ... .max, using: &random)
    }
  }
}

extension Array {
  /// Any element; the array has one.
  func random(_ random: inout some RandomNumberGenerator) -> Element { self[.random(in: indices, using: &random)] }
}

extension BinaryFloatingPoint where RawSignificand: FixedWidthInteger, RawExponent: FixedWidthInteger {
  /// Any finite value: whole ones, short fractions and all exponents.
  static func any(_ random: inout some RandomNumberGenerator) -> Self {
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      return [0, -0.0, 1, -1, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 1e16, 1e15, 0.1].random(&random)
    case 1, 2: return Self(Int.random(in: -100_000_000...100_000_000, using: &random))
    case 3: return Self(Int.random(in: -1_000_000...1_000_000, using: &random)) / 1000
    default:
      while true {
        let value = Self(
          sign: Bool.random(using: &random) ? .plus : .minus,
          exponentBitPattern: .random(in: 0...RawExponent((1 << UInt64(Self.exponentBitCount)) - 2), using: &random),
          significandBitPattern: .random(
            in: 0 ... .max >> RawSignificand(RawSignificand.bitWidth - Self.significandBitCount), using: &random))
        if value.isFinite { return value }
      }
    }
  }
}

extension String {
  /// Any text: short ASCII, control characters, quotes, letters of several bytes, decomposed ones and emoji.
  static func any(_ random: inout some RandomNumberGenerator) -> String {
    let parts = [
      "a", "B", "city", "0", " ", "/", "\"", "\\", "\n", "\u{1}", "\u{1F}", "\u{7F}", "é", "e\u{301}", "漢", "👩‍👩‍👧",
      "\u{2028}", "name",
      "\u{10FFFF}", "\u{8}\u{C}\r\t",
    ]
    return (0..<Int.random(in: 0...6, using: &random)).map { _ in parts.random(&random) }.joined()
  }
}

/// Keeps the path of an error that it catches, with the numbers of its keys.
struct Caught: Decodable, Equatable {
  var path: [String] = []

  init(from decoder: any Decoder) throws {
    do {
      _ = try decoder.singleValueContainer().decode([String: [Int: Int]].self)
    } catch DecodingError.typeMismatch(_, let context) {
      path = context.codingPath.map { "\($0.stringValue) \($0.intValue ?? -1)" }
    }
  }
}
