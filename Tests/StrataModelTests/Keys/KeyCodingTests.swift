import StrataDocuments
import Testing

@testable import StrataModel

/// Keys read back, what is typed is read, and no bytes trap.
struct KeyCodingTests {
  static let samples: [(KeyEncoding, [KeyValue])] = [
    (.bool, [.bool(true), .bool(false)]),
    (
      .integer,
      [
        .integer(0), .integer(.min), .integer(.max), .integer(-300), .unsigned(.max),
        .decimal("170141183460469231731687303715884105727"), .decimal("-18446744073709551617"),
      ]
    ),
    (.unsigned, [.integer(0), .integer(255), .unsigned(.max)]),
    (.double, [.double(0), .double(-1.5), .double(.infinity), .double(1e300), .double(.leastNonzeroMagnitude)]),
    (.float, [.double(Double(Float(0.1))), .double(-2)]),
    (.string, [.string(""), .string("a\0b\0"), .string("é中😀"), .string("null")]),
    (.data, [.data([]), .data([0, 0, 255, 1, 0])]),
    (.uuid, [.uuid(UUIDBytes(high: 0x0123_4567_89AB_CDEF, low: .max))]),
    (.date, [.date(0), .date(-0.25), .date(816_685_200.123_456_7), .date(-1e9 - 0.5), .date(1e300), .date(.infinity)]),
    (
      .decimal,
      [.decimal("0"), .decimal("-12.5"), .decimal("1e40"), .decimal("nan"), .decimal("0.001"), .decimal("1.5e-20")]
    ),
    (
      .duration,
      [
        .duration(seconds: 0, attoseconds: 0), .duration(seconds: -1, attoseconds: -500_000_000_000_000_000),
        .duration(seconds: .max, attoseconds: 1),
      ]
    ),
    (.optional(.string), [.null, .string("null"), .string("")]),
    (.descending(.optional(.integer)), [.null, .integer(5), .integer(-5)]),
    (
      .compound([.string, .optional(.date), .descending(.string)]),
      [.compound([.string("a\0"), .null, .string("\0")]), .compound([.string(""), .date(0.5), .string("x")])]
    ),
    (
      .compound([.data, .duration, .optional(.uuid), .double]),
      [
        .compound([
          .data([0x0A, 0x1B, 0x2C]), .duration(seconds: 1, attoseconds: 500_000_000_000_000_000),
          .uuid(UUIDBytes(high: 1, low: 2)), .double(1e300),
        ])
      ]
    ),
    (.comparator("Size"), [.document(["w": 1.5, "h": [1, "x"]]), .document("large")]),
  ]

  @Test("every value reads back from its bytes")
  func bytes() throws {
    for (encoding, values) in Self.samples {
      for value in values { #expect(try encoding.decode(encoding.encode(value)) == value, "\(encoding)") }
    }
  }

  @Test("every value reads back from the text it is shown as")
  func text() throws {
    for (encoding, values) in Self.samples {
      for value in values { #expect(try encoding.parse(value.description) == value, "\(encoding) \(value)") }
    }
  }

  @Test("an encoding reads back from its description")
  func descriptions() {
    for (encoding, _) in Self.samples { #expect(KeyEncoding(encoding.description) == encoding) }
    #expect(
      KeyEncoding("compound(comparator(Pair<(Int, String)>),optional(descending(date)))")
        == .compound([.comparator("Pair<(Int, String)>"), .optional(.descending(.date))]))
    for wrong in [
      "", "text", "optional(", "optional()", "compound(integer", "compound(,)",
      String(repeating: "optional(", count: 99),
    ] {
      #expect(KeyEncoding(wrong) == nil, "\(wrong)")
    }
  }

  @Test("arbitrary bytes and cut keys are refused or read, and never trap", arguments: 1...4 as ClosedRange<UInt64>)
  func hostileBytes(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<4000 {
      for (encoding, values) in Self.samples {
        var bytes = random.bytes(upTo: 24)
        if Bool.random(using: &random), let value = values.randomElement(using: &random) {
          bytes = Array(try encoding.encode(value).dropLast(Int.random(in: 0...3, using: &random)))
          if let index = bytes.indices.randomElement(using: &random) {
            bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
          }
        }
        guard let value = bytes.withUnsafeBytes({ encoding.decode($0) }) else { continue }
        _ = value.description
      }
    }
  }

  @Test("what is typed is read by the type")
  func typed() throws {
    #expect(try KeyEncoding.integer.parse(" 1_000_000 ") == .integer(1_000_000))
    #expect(try KeyEncoding.string.parse("Ca") == .string("Ca"))
    #expect(try KeyEncoding.string.parse("\"Ca\\n\"") == .string("Ca\n"))
    #expect(try KeyEncoding.optional(.string).parse("null") == .null)
    #expect(try KeyEncoding.optional(.string).parse("\"null\"") == .string("null"))
    #expect(try KeyEncoding.double.parse("3") == .double(3))
    #expect(try KeyEncoding.decimal.parse("8.50") == .decimal("8.5"))
    #expect(try KeyEncoding.date.parse("2001-01-01 00:01") == .date(60))
    #expect(try KeyEncoding.date.parse("2001-01-01T02:00:00+02:00") == .date(0))
    #expect(try KeyEncoding.data.parse("AQI=") == .data([1, 2]))
    #expect(try KeyEncoding.duration.parse("1.5 min") == .duration(seconds: 90, attoseconds: 0))
    #expect(
      try KeyEncoding.uuid.parse("e621e1f8-c36c-495a-93fc-0c247a3e6e5f").description
        == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    #expect(
      try KeyEncoding.compound([.string, .date]).parse("[\"FR\", \"2001-01-01\"]")
        == .compound([.string("FR"), .date(0)]))
    #expect(try KeyEncoding.comparator("Kind").parse("large") == .document("large"))
    #expect(try KeyEncoding.comparator("Kind").parse("{\"b\": 1, \"a\": 2}") == .document(["a": 2, "b": 1]))
  }

  @Test(
    "what cannot be of the type is refused with the column",
    arguments: [
      (KeyEncoding.integer, "12x"), (.integer, "1.5"), (.integer, "null"), (.unsigned, "-1"), (.double, "one"),
      (.bool, "yes"),
      (.date, "2026-02-30"), (.date, "2026-11-17 25:00"), (.uuid, "123"), (.data, "0x123"), (.decimal, "1,5"),
      (.compound([.integer]), "[1, 2]"),
      (.string, "\"open"), (.integer, "99999999999999999999999999999999999999999999"), (.duration, "5 moons"),
      (.decimal, "1e99999999999"),
    ])
  func refused(encoding: KeyEncoding, text: String) {
    #expect { try encoding.parse(text) } throws: { error in
      guard case ModelError.invalid(let given, let column, let reason) = error else { return false }
      return given == text && column != nil && reason.contains("as 2026-11-17 09:30") == (encoding == .date)
    }
  }

  @Test("values of the wrong kind are refused, and those that convert without loss are not")
  func conversions() throws {
    #expect(try KeyEncoding.double.encode(.integer(3)) == KeyEncoding.double.encode(.double(3)))
    #expect(try KeyEncoding.integer.encode(.double(3)) == KeyEncoding.integer.encode(.integer(3)))
    #expect(throws: ModelError.self) { try KeyEncoding.integer.encode(.double(3.5)) }
    #expect(throws: ModelError.self) { try KeyEncoding.integer.encode(.null) }
    for numbers in [KeyEncoding.integer, .double, .decimal] {
      #expect(throws: ModelError.self) { try numbers.encode(.date(3)) }
    }
    #expect(throws: ModelError.self) { try KeyEncoding.string.encode(.integer(3)) }
    #expect(throws: ModelError.self) { try KeyEncoding.unsigned.encode(.integer(-3)) }
    #expect(throws: ModelError.self) { try KeyEncoding.compound([.string]).encode(.compound([])) }
    #expect(throws: ModelError.self) { try KeyEncoding.decimal.encode(.decimal("1e99999")) }
    #expect(throws: ModelError.self) { try KeyEncoding.comparator("T").bound(before: .document(1)) }
  }

  @Test("fields of a record become keys of the index's type, or none")
  func fields() {
    #expect(KeyEncoding.optional(.integer).keyValue(from: nil) == .null)
    #expect(KeyEncoding.integer.keyValue(from: nil) == nil)
    #expect(KeyEncoding.date.keyValue(from: "2001-01-01T00:00:01Z") == .date(1))
    #expect(KeyEncoding.date.keyValue(from: 12.5) == .date(12.5))
    #expect(KeyEncoding.data.keyValue(from: "AQI=") == .data([1, 2]))
    #expect(
      KeyEncoding.duration.keyValue(from: [0, 1_500_000_000_000_000_000])
        == .duration(seconds: 1, attoseconds: 500_000_000_000_000_000))
    #expect(KeyEncoding.integer.keyValue(from: 1.5) == nil)
    #expect(KeyEncoding.integer.keyValue(from: "1") == nil)
    #expect(KeyEncoding.double.keyValue(from: .number(NumberText(unchecked: "1e400"))) == nil)
    #expect(KeyEncoding.optional(.integer).keyValue(of: nil) == .null)
    #expect(KeyEncoding.integer.keyValue(of: nil) == nil)
  }
}
