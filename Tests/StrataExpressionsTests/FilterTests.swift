import StrataDocuments
import Testing

@testable import StrataExpressions

struct FilterTests {
  private let city: Document = [
    "name": "San José", "population": 1_412_000, "price": 8.50, "capital": true, "note": nil, "tags": ["big", 7],
    "dims": ["w": 12.7, "odd name": 1], "founded": "1738-06-02", "mayor": "Lem",
  ]

  @Test(
    "filters keep what they say",
    arguments: [
      ("population > 1000000", true), ("population > 1_412_000", false), ("population >= 1412000", true),
      ("population = 1412000.0", true),
      ("population = 1.412M", true), ("population = 1412k", true), ("population > 2M", false),
      ("population < 0.002G", true), ("population between 1M and 1_500K and capital", true),
      ("population in (1k, 1.412M)", true),
      ("-2M < population", true),
      ("population == 1.412e6", true), ("1000000 < population", true), ("population <> 5", true),
      ("population != 1412000", false),
      ("price = 8.5", true), ("price < 8.500000000000000000001", true), ("name ^= \"San\"", true),
      ("name ^= 'san'", false), ("name $= \"José\"", true),
      ("name *= \"Jos\"", true), ("name *= \"\"", true), ("name = \"San Jose\u{301}\"", true),
      ("name *= \"e\u{301}\"", true), ("name > \"S\"", true), ("name ~ /^san/i", true),
      ("name ~ /^san/", false), ("name ~ /^[/S]an\\/?/", true), ("name ~ /[^/]/ and capital", true),
      ("name ~ \"J.s\"", true), ("capital", true), ("not capital", false),
      ("!capital", false), ("capital = false", false),
      ("note is null", true), ("note = null", true), ("note is not null", false), ("missing is null", true),
      ("missing != null", false), ("missing < 5", false),
      ("missing != 5", true), ("name < 5", false), ("name != 5", true), ("tags has \"big\"", true),
      ("tags has 7.0", true), ("tags has \"small\"", false),
      ("dims has \"w\"", true), ("dims has \"h\"", false), ("dims.w > 12", true), (#".dims."odd name" = 1"#, true),
      (#"dims["odd name"] = 1"#, true), ("tags[1] = 7", true),
      ("tags[5] is null", true), ("name in (\"Lem\", \"San José\")", true), ("population in (1, 2)", false),
      ("population not in (1, 2)", true), ("population in ()", false),
      ("population in [1412000]", true), ("founded < 1900-01-01", true), ("founded = 1738-06-02", true),
      ("founded > \"1738\"", true),
      ("population > 1 and price < 1", false), ("population > 1 or price < 1", true),
      ("price < 1 and price > 1 or capital", true), ("capital or price < 1 and price > 1", true),
      ("(capital or price < 1) and price > 100", false), ("not (price < 1 or price > 100)", true),
      ("not price < 1 and capital", true), ("population > 1 && capital", true),
      ("capital || missing", true), ("POPULATION is null", true), ("population > 1 AND capital", true), ("true", true),
      ("name = mayor", false), ("mayor < name", true),
      ("tags = \"[\\\"big\\\", 7]\"", true), ("population >= -5", true), ("population > 0.5", true),
      ("price ~ /^8/", true), ("\"population\" = 1412000", true), ("\"name\" in (\"Lem\")", false),
      ("'note' is null", true), ("\"population\" < 5", false),
    ])
  func matches(text: String, isKept: Bool) throws {
    #expect(try Filter(parsing: text).matches(city) == isKept)
  }

  @Test(
    "what is not a filter is refused at its column",
    arguments: [
      ("", 1), ("population >", 13), ("population > and", 14), ("population 5", 12), ("(a = 1", 7), ("a = 1)", 6),
      ("a = \"x", 5), ("a ~ 5", 5), ("a ~ /x(/", 7), ("a in 5", 6),
      ("a in (1 2)", 9), ("a is 5", 6), ("a not 5", 7), ("5", 2), ("a = 1 b = 2", 7), ("a ^= 5", 6), ("a[x] = 1", 3),
      ("a. = 1", 3), ("a = 1.2.3", 5), ("a = \"\\q\"", 6),
      ("a = #", 5), ("a = 5kg", 6), ("a = 5 M", 7), ("a = 5MM", 6), ("a = 5m", 6), ("a = 5M_", 6), ("a = 1.2.3M", 5),
      ("true = 1", 1), ("null is null", 1), ("and = 1", 1), ("a ~ \"x(\"", 7), ("a = 'x' and", 12),
    ])
  func refused(text: String, column: Int) {
    #expect { try Filter(parsing: text) } throws: { ($0 as? ExpressionError)?.column == column }
  }

  @Test("deep nesting and arbitrary text are refused or read, and never trap", arguments: 1...4 as ClosedRange<UInt64>)
  func hostile(seed: UInt64) {
    #expect(throws: ExpressionError.self) { try Filter(parsing: String(repeating: "(", count: 100_000)) }
    #expect(throws: ExpressionError.self) { try Filter(parsing: String(repeating: "not ", count: 100_000) + "a") }
    var random = SeededGenerator(seed: seed)
    let parts = [
      "a", ".b", "[0]", "=", "<", "and", "or", "not", "(", ")", "\"x\"", "5", "-", "/a/", "~", "in", "has", "is",
      "null", ",", " ", " ", "\\", "'", "2026-11-17", "1e9", "é", "\0",
    ]
    for _ in 0..<4000 {
      let text = (0..<Int.random(in: 0...9, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        .joined()
      if let filter = try? Filter(parsing: text) { _ = filter.matches(city) }
      _ = try? Assignment(parsing: "a = " + text).apply(to: city)
    }
  }

  @Test("the filter of a cell keeps its record")
  func likeThisCell() throws {
    for field in city.fields + [(.root, city), (DocumentPath([.member("tags")]), city[member: "tags"] ?? nil)] {
      let text = Filter.text(of: field.path, being: field.value)
      #expect(try Filter(parsing: text).matches(city), "\(text)")
    }
    let dated: Document = [
      "d": .date(0.5), "far": .date(-1e300), "nan": .number(NumberText(Double.nan)), "x": .data([1, 2]), "odd name": 1,
      "in": 2, "OR": 4,
      "": 3, "\u{8}\u{C}\u{1}": "\u{8}\u{C}\u{1}",
    ]
    for field in dated.fields {
      #expect(try Filter(parsing: Filter.text(of: field.path, being: field.value)).matches(dated))
    }
  }
}
