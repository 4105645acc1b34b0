import StrataDocuments
import Testing

@testable import StrataModel

struct KeyIntervalTests {
  @Test(
    "ranges are read and shown as typed and as Swift",
    arguments: [
      ("\"Ca\" ..< \"Le\"", KeyEncoding.string, "\"Ca\" ..< \"Le\"", "\"Ca\"..<\"Le\""),
      ("Ca..<Le", .string, "\"Ca\" ..< \"Le\"", "\"Ca\"..<\"Le\""), ("1...5", .integer, "1 ... 5", "1...5"),
      ("1 ..> 5", .integer, "1 ..> 5", "1..>5"), ("..<5", .integer, "..<5", "..<5"),
      ("1>..<5", .integer, "1 >..< 5", "IndexRange(lower: .excluding(1), upper: .excluding(5))"),
      ("...5", .integer, "...5", "...5"),
      ("5...", .integer, "5...", "5..."), ("5..>", .integer, "5 ..>", "5..>"),
      ("..>5", .integer, "...5", "...5"), ("...", .integer, "...", "..."), ("", .integer, "...", "..."),
      ("7", .integer, "7", "IndexRange(only: 7)"), ("1.5...2.5", .double, "1.5 ... 2.5", "1.5...2.5"),
      ("\"a...b\" ..< c", .string, "\"a...b\" ..< \"c\"", "\"a...b\"..<\"c\""),
      ("1,000,000 .. 2M", .integer, "1000000 ..< 2000000", "1000000..<2000000"),
      ("1.5k ..= 2k", .integer, "1500 ... 2000", "1500...2000"), ("> 1M", .integer, "1000000 ..>", "1000000..>"),
      (">= 3", .integer, "3...", "3..."), ("< 2.5", .double, "..<2.5", "..<2.5"), ("<= 4", .integer, "...4", "...4"),
      ("..= \"Le\"", .string, "...\"Le\"", "...\"Le\""), ("5 ..", .integer, "5...", "5..."),
      ("null ... 5", .optional(.integer), "null ... 5", "nil...5"), ("-5 ..< -1", .integer, "-5 ..< -1", "-5..<-1"),
      (
        "2001-01-01 ..< 2001-01-02", .date, "2001-01-01T00:00:00Z ..< 2001-01-02T00:00:00Z",
        "Date(timeIntervalSinceReferenceDate: 0.0)..<Date(timeIntervalSinceReferenceDate: 86400.0)"
      ),
      (
        "[\"FR\", 1] ... [\"FR\", 9]", .compound([.string, .integer]), "[\"FR\", 1] ... [\"FR\", 9]",
        "(\"FR\", 1)...(\"FR\", 9)"
      ),
    ])
  func ranges(text: String, encoding: KeyEncoding, typed: String, swift: String) throws {
    let interval = try KeyInterval(parsing: text, encoding: encoding)
    #expect(interval.description == typed)
    #expect(interval.swiftText == swift)
    #expect(try KeyInterval(parsing: typed, encoding: encoding) == interval)
  }

  @Test(
    "what is not a range is refused at its column",
    arguments: [("1...x", 5), ("x...1", 1), ("1 ..<", 6), ("1...2...3", 6), ("  y", 3), ("1 ... \"2\"", 7)])
  func refused(text: String, column: Int) {
    #expect { try KeyInterval(parsing: text, encoding: .integer) } throws: {
      ($0 as? ExpressionError)?.column == column
    }
  }

  @Test(
    "the ends of a range in the wrong order are refused at the upper one",
    arguments: [
      ("5 .. 1", KeyEncoding.integer, 6), ("5...1", .integer, 5), ("b ..< a", .string, 7),
      ("1 ... 5", .descending(.integer), 7),
    ])
  func reversed(text: String, encoding: KeyEncoding, column: Int) {
    #expect { try KeyInterval(parsing: text, encoding: encoding) } throws: {
      let error = $0 as? ExpressionError
      return error?.column == column && error?.message.contains("wrong way round") == true
    }
    #expect(throws: Never.self) { try KeyInterval(parsing: "5 .. 5", encoding: .integer) }
  }

  @Test(
    "a range is written out",
    arguments: [
      ("1 .. 5", "1 ≤ key < 5"), ("1 ... 5", "1 ≤ key ≤ 5"), ("1 ..> 5", "1 < key ≤ 5"), ("..<5", "key < 5"),
      ("5...", "5 ≤ key"), ("7", "key = 7"), ("...", "all keys"),
    ])
  func reading(text: String, words: String) throws {
    #expect(try KeyInterval(parsing: text, encoding: .integer).reading() == words)
  }

  @Test("where keys descend, greater values lie before an end, and the meaning is written so")
  func descending() throws {
    let encoding = KeyEncoding.descending(.integer)
    for (text, words, matches) in [
      ("> 3", "key > 3", { $0 > 3 }), (">= 3", "key ≥ 3", { $0 >= 3 }), ("< 3", "3 > key", { $0 < 3 }),
      ("<= 3", "3 ≥ key", { $0 <= 3 }), ("5 ..< 3", "5 ≥ key > 3", { $0 <= 5 && $0 > 3 }),
    ] as [(String, String, (Int64) -> Bool)] {
      let interval = try KeyInterval(parsing: text, encoding: encoding)
      #expect(interval.reading(isDescending: true) == words)
      for key in Int64(-9)...9 {
        let bytes = try encoding.encode(.integer(key))
        let isAfterStart =
          switch interval.lower {
          case .open: true
          case .including(let value): try !bytes.lexicographicallyPrecedes(encoding.encode(value))
          case .excluding(let value): try encoding.encode(value).lexicographicallyPrecedes(bytes)
          }
        let isBeforeEnd =
          switch interval.upper {
          case .open: true
          case .including(let value): try !encoding.encode(value).lexicographicallyPrecedes(bytes)
          case .excluding(let value): try bytes.lexicographicallyPrecedes(encoding.encode(value))
          }
        #expect((isAfterStart && isBeforeEnd) == matches(key), "\(text) \(key)")
      }
    }
  }

  @Test("the bounds are places between entries")
  func bounds() throws {
    let interval = try KeyInterval(parsing: "1 ..> 5", encoding: .integer)
    #expect(interval.start == .after(.integer(1)))
    #expect(interval.end == .after(.integer(5)))
    #expect(KeyInterval().start == .start)
    #expect(KeyInterval(upper: .excluding(.null)).end == .before(.null))
  }

  @Test("the call to copy")
  func call() throws {
    let interval = try KeyInterval(parsing: "Ca ..< Le", encoding: .string)
    #expect(interval.swiftCall(from: ".author") == #"load("Ca"..<"Le", from: \.author)"#)
    #expect(interval.swiftCall(from: ".place?.city?") == #"load("Ca"..<"Le", from: \.place?.city)"#)
    #expect(interval.swiftCall(from: nil) == #"load("Ca"..<"Le")"#)
    #expect(KeyValue.string("a\"\\\n\u{200B}").swiftText == #""a\"\\\n\u{200B}""#)
  }
}
