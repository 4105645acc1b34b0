@testable import CodableDatastore
import StrataModel
import Foundation
import Testing

@Suite("Keys")
struct KeyTests {
  /// Keys have the order of their values, and give them back.
  func check<Value: Indexable>(_ values: [Value], sourceLocation: SourceLocation = #_sourceLocation) throws {
    let coder = KeyCoder<Value>.make()
    #expect(coder.comparator == nil, sourceLocation: sourceLocation)
    for left in values {
      let leftKey = try coder.key(of: left)
      #expect(coder.value(of: leftKey) == left, sourceLocation: sourceLocation)
      for right in values {
        let rightKey = try coder.key(of: right)
        #expect((left < right) == leftKey.lexicographicallyPrecedes(rightKey), sourceLocation: sourceLocation)
        #expect((left == right) == (leftKey == rightKey), sourceLocation: sourceLocation)
      }
    }
  }

  @Test("the listed types lie in byte order")
  func byteOrder() throws {
    try check([Int.min, -70000, -1, 0, 1, 255, 256, Int.max])
    try check([Int8.min, 0, .max])
    try check([UInt64.min, 1, .max])
    try check([Int128.min, -1, 0, Int128(Int64.max) + 1, .max])
    try check([UInt128.min, 1, .max])
    try check([-Double.infinity, -1.5, -0.0, 1e-300, 1.5, .infinity])
    try check([-Float.infinity, -1.5, 0, 2.5, .infinity])
    try check(["", "A", "B", "Zürich", "a", "a\u{0}", "a\u{0}b", "東京", "😀"])
    try check([UUID(), UUID(), UUID()].sorted())
    try check([
      Date(timeIntervalSinceReferenceDate: 0.1234567), Date(timeIntervalSinceReferenceDate: 0.1234568), .distantPast,
    ])
    try check([Decimal(-5), Decimal(string: "0.001") ?? 0, Decimal(0), Decimal(string: "1e30") ?? 0])
    try check([Duration.seconds(-1), .zero, .nanoseconds(1), .seconds(1e6)])
  }

  @Test("optionals of the listed types lie in byte order, nil first")
  func optionals() throws {
    try check([Int?.none, -3, 0, 3])
    try check([String?.none, "", "a"])
  }

  enum Priority: Int, Codable, Comparable, OrderedKey {
    case low = 1
    case high = 20
    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  enum Upside: Int, Codable, Comparable, OrderedKey {
    case one = 1
    case two = 2
    static func < (left: Self, right: Self) -> Bool { left.rawValue > right.rawValue }
  }

  @Test("a raw-representable type opts in to byte order with one empty conformance")
  func optIn() throws {
    try check([Priority.low, .high])
    try check([Priority?.none, .low, .high])
    #expect(KeyCoder<Priority>.make().encoding == .integer)
  }

  @Test("an ordered key whose < disagrees with its form is refused")
  func disagreement() throws {
    let coder = KeyCoder<Upside>.make()
    _ = try coder.key(of: .one)
    #expect(throws: NotOrdered.self) { try coder.key(of: .two) }
  }

  @Test("texts in different normal forms, which Swift's < leaves without an order, are keys in any sequence")
  func normalForms() throws {
    enum Title: RawRepresentable, Codable, Comparable, Hashable, OrderedKey {
      case text(String)
      init(rawValue: String) { self = .text(rawValue) }
      var rawValue: String {
        switch self {
        case .text(let text): text
        }
      }
      static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }
    let texts = ["\u{E4}", "a\u{308}", "\u{E4}x", "a\u{308}x", "\u{E9}B", "e\u{301}", "e\u{301}B", "\u{E9}"]
    let titles = KeyCoder<Title>.make()
    let tiers = KeyCoder<CompoundKey<Priority, Descending<String>>>.make()
    for one in texts {
      for other in texts {
        for text in [one, other, one] {
          #expect(try titles.value(of: titles.key(of: .text(text))) == .text(text))
          let key = try tiers.key(of: CompoundKey(.low, Descending(text)))
          #expect(tiers.value(of: key)?.rest.value == text)
        }
      }
    }
  }

  @Test("NaN has no place")
  func notANumber() {
    #expect(throws: NotOrdered.self) { try KeyCoder<Double>.make().key(of: .nan) }
    #expect(throws: NotOrdered.self) { try KeyCoder<Float?>.make().key(of: .nan) }
    #expect(throws: NotOrdered.self) { try KeyCoder<Decimal>.make().key(of: .nan) }
  }

  struct Size: Codable, Hashable, Comparable {
    var name: String
    var rank: Double
    static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
  }

  @Test("other types lie in the order of their own <")
  func comparatorOrder() throws {
    let coder = KeyCoder<Size>.make()
    #expect(coder.encoding == .comparator("Size"))
    let small = try coder.key(of: Size(name: "small", rank: 1))
    let large = try coder.key(of: Size(name: "large", rank: 2.5))
    let twin = try coder.key(of: Size(name: "twin", rank: 1))
    let place = try coder.order.comparison(to: small).place
    func placeOf(_ key: [UInt8]) throws -> Int { try key.withUnsafeBytes { try place($0) } }
    #expect(try placeOf(large) > 0)
    #expect(try placeOf(small) == 0)
    #expect(try placeOf(twin) != 0, "distinct values that compare alike keep distinct places")
    #expect(coder.value(of: large) == Size(name: "large", rank: 2.5))
  }

  @Test("a decoded key is kept, and decoded once")
  func decodedKeys() throws {
    let order = ComparatorOrder<Size>()
    let other = ComparatorOrder<Size>()
    let keys = try (0..<100).map { try other.key(of: Size(name: "\($0)", rank: Double($0))) }
    for _ in 0..<10 { for key in keys { _ = try order.value(of: key) } }
    #expect(order.decodeCount == 100)
  }
}
