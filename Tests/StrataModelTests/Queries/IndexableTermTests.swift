import StrataDocuments
import StrataExpressions
import Testing

@testable import StrataModel

@Suite("Terms of filters that an index answers")
struct IndexableTermTests {
  @Test("terms that an index can answer")
  func terms() throws {
    func intervals(_ text: String, _ encoding: KeyEncoding) throws -> [String] {
      try Self.terms(of: Filter(parsing: text).queryCondition).flatMap { $0.intervals(in: encoding) ?? [] }.map(
        \.description)
    }
    #expect(try intervals("population > 1000000 and name ^= \"San\"", .integer) == ["1000000 ..>"])
    #expect(try intervals("population > 1000000 and name ^= \"San\"", .string) == ["\"San\" ..< \"Sao\""])
    #expect(try intervals("5 >= population", .integer) == ["...5"])
    #expect(try intervals("population < 5", .optional(.integer)) == ["null >..< 5"])
    #expect(try intervals("population is null", .optional(.integer)) == ["null"])
    #expect(try intervals("population in (1, 2, 1)", .integer) == ["1", "2"])
    #expect(try intervals("tags has \"x\"", .string) == ["\"x\""])
    #expect(try intervals("price < 0.1", .float).count == 1)
    #expect(try intervals("a = 1 or b = 2", .integer).isEmpty)
    #expect(try intervals("a != 1", .integer).isEmpty)
    #expect(try intervals("a = 1.5", .integer).isEmpty)
    #expect(try intervals("a = \"x\"", .integer).isEmpty)
    #expect(try intervals("a = \"x\"", .comparator("T")).isEmpty)
    #expect(try intervals("since < 2026-11-17", .date).count == 1)
    #expect(try intervals("since = \"2026-11-17\"", .date).count == 1)
    #expect(try intervals("since < \"2026-11-17\"", .date).isEmpty, "a text with an offset may be before it")
    #expect(try intervals("id > \"B0000000-0000-0000-0000-000000000000\"", .optional(.uuid)).isEmpty)
    #expect(try Self.terms(of: Filter(parsing: "a = 1 and b has 2").queryCondition).map(\.isElement) == [false, true])
  }

  @Test(
    "an index's intervals hold every record that the filter keeps, and no other where they are exact",
    arguments: 1...4 as ClosedRange<UInt64>)
  func termsAreComplete(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let encodings: [KeyEncoding] = [
      .optional(.integer), .double, .float, .decimal, .descending(.integer), .optional(.string), .descending(.string),
      .date, .descending(.optional(.integer)),
    ]
    var nulls = 0
    for _ in 0..<1500 {
      let encoding = encodings.randomElement(using: &random) ?? .integer
      let isText = "\(encoding)".contains("string")
      func value() -> Document {
        if "\(encoding)".contains("optional"), Int.random(in: 0..<4, using: &random) == 0 { return .null }
        if isText { return .string(random.text()) }
        let number = Int.random(in: -3...3, using: &random)
        if "\(encoding)".contains("integer") { return .number(NumberText(number)) }
        switch Int.random(in: 0..<4, using: &random) {
        // Several of these are one double, or one float.
        case 0: return .number(NumberText((encoding == .float ? 1 << 24 : 1 << 53) + number))
        case 1 where number != 0:
          return .number(NumberText(unchecked: "\(Double(number) / 10)" + String(repeating: "0", count: 20) + "1"))
        default: return .number(NumberText(Double(number) / 10))
        }
      }
      let literal = value()
      let symbol =
        (isText && literal != .null ? ["=", "<", "<=", ">", ">=", "^="] : ["=", "<", "<=", ">", ">="])
        .randomElement(using: &random) ?? "="
      let filter = try Filter(parsing: "a \(symbol) \(literal.literalText)")
      let field = value()
      guard let term = IndexableTermTests.terms(of: filter.queryCondition).first,
        let (intervals, isExact) = term.answer(in: encoding, comparators: false)
      else { continue }
      let key = try encoding.encode(#require(encoding.keyValue(from: field))) + [0x14]
      let isInside = try intervals.contains { interval in
        try isAfter(key, interval.start, encoding) && !isAfter(key, interval.end, encoding)
      }
      let isKept = filter.matches(["a": field])
      if isKept || isExact { #expect(isInside == isKept, "\(filter) \(field) \(encoding)") }
      if literal == .null { nulls += 1 }
    }
    #expect(nulls > 20)
  }

  private func isAfter(_ key: [UInt8], _ bound: KeyBound, _ encoding: KeyEncoding) throws -> Bool {
    switch bound {
    case .start: true
    case .end: false
    case .before(let value): try !key.lexicographicallyPrecedes(encoding.bound(before: value))
    case .after(let value): try !key.lexicographicallyPrecedes(encoding.bound(after: value))
    }
  }

  /// The terms that must all hold.
  private static func terms(of condition: QueryCondition) -> [IndexableTerm] {
    condition.conjuncts.compactMap { if case .term(let term, _) = $0 { term } else { nil } }
  }
}
