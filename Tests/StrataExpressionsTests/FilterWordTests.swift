import StrataDocuments
import Testing

@testable import StrataExpressions

@Suite("Comparisons that are words")
struct FilterWordTests {
  private let city: Document = [
    "name": "San José", "population": 5, "between": 3, "tags": ["big"], "since": "2026-11-17T00:30:00Z",
    "note": "a\r\nb\rc",
  ]

  @Test(
    "each word says what its symbol does",
    arguments: [
      ("population between 5 and 6", true), ("population between 6 and 9", false),
      ("population = 4 .. 5", false), ("population = 4..6", true), ("population = 5 ..< 5.5", true),
      ("population = 3...5", true), ("population == 3 ..= 5 and name like \"San%\"", true),
      ("\"population\" = 6..9", false),
      ("population between 1 and 5 and name contains \"José\"", true), ("name starts with \"San\"", true),
      ("name starts with \"san\"", false), ("name ends with \"é\"", true), ("name like \"San%\"", true),
      ("name like \"%os_\"", true), ("name like \"San\"", false), ("name like \"%n J%\"", true),
      ("name like \"%\"", true),
      ("population like \"5%\"", false), ("population like \"_\"", false), ("population like \"%\"", false),
      ("name like \"S_n%\"", true), ("name like \"S.n%\"", false), ("name =~ /^SAN/", true), ("name =~ \"jos\"", true),
      ("note like \"a%b_c\"", true), ("not name like \"San%\"", false), ("between between 2 and 4", true),
      ("since = 2026-11-17..2026-11-18", true), ("since = 2026-11-16...2026-11-17T01:00:00.5Z", true),
      ("since = 2026-11-16T22:00:00Z..<2026-11-17", false),
      ("\"population\" between 5 and 6", true), ("3 between between and population", true),
      ("'name' contains \"José\"", true), ("\"name\" starts with \"San\"", true), ("\"name\" $= \"é\"", true),
      ("\"name\" like \"San%\"", true), ("\"name\" like \"S_n%\"", true), ("\"name\" ~ /^San/", true),
      ("\"name\" =~ \"jos\"", true), ("\"San José, CA\" contains name", true), ("\"tags\" has \"big\"", true),
    ])
  func words(_ text: String, _ expected: Bool) throws {
    #expect(try Filter(parsing: text).matches(city) == expected)
  }

  @Test(
    "through a list of objects one value is to lie within the range, where of two conditions each may hold for another one",
    arguments: [
      ("authors.age between 1 and 5", false), ("authors.age = 1..11", true), ("authors.age = 1..10", false),
      ("not authors.age between 0 and 5", false), ("authors.age >= 1 and authors.age <= 5", true),
    ])
  func rangesThroughLists(_ text: String, _ expected: Bool) throws {
    let book: Document = ["authors": [["age": 0], ["age": 10]]]
    let filter = try Filter(parsing: text)
    #expect(filter.matches(book) == expected)
    #expect(try Filter(parsing: filter.condition.description).condition == filter.condition)
  }

  @Test(
    "what is missing is told with its column",
    arguments: [
      ("a = 1 ..", 9), ("a = 1 .. or", 10), ("a between 1", 12), ("a between 1 or 2", 13), ("a starts \"x\"", 10),
      ("a like 5", 8), ("a contains 5", 12),
      ("a =~ 5", 6),
    ])
  func columns(_ text: String, _ column: Int) {
    #expect { try Filter(parsing: text) } throws: { ($0 as? ExpressionError)?.column == column }
  }

  @Test("a condition is written as it can be typed again, and paths can be exchanged")
  func parts() throws {
    for text in [
      "a = 1 and (b > 2 or c is null)", "not (a = 1 or b = 2)", "a in (1, 2)", "a has \"x\"", "a ^= \"x\"",
      "a is not null", "a != 3", "a ~ /x/i", "a",
      #"a ~ "^/\\d""#, #"a =~ "\\/x""#,
    ] {
      let filter = try Filter(parsing: text)
      #expect(filter.condition.description == text)
      #expect(try Filter(parsing: filter.condition.description).condition == filter.condition)
    }
    let other = try Filter(parsing: "a = 1 and b > a").replacing {
      $0.shortText == "a" ? DocumentPath([.member("z")]) : $0
    }
    #expect(other.condition.description == "z = 1 and b > z")
    #expect(other.paths.map(\.shortText) == ["z", "b", "z"])
  }
}
