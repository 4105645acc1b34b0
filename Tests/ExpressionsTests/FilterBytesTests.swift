import Documents
import Testing

@testable import Expressions

@Suite("filters over the bytes of records")
struct FilterBytesTests {
  @Test("a filter keeps a record's bytes exactly where it keeps the document")
  func equalsDocument() throws {
    var random = SeededGenerator(seed: 4)
    var kept = 0
    for _ in 0..<3_000 {
      let filter = try Filter(parsing: random.condition())
      for _ in 0..<4 {
        let document = random.document()
        let isKept = try document.json(.compact).withUnsafeBytes { try filter.matches($0, coding: .json) }
        #expect(isKept == filter.matches(document), "\(filter): \(document.compactJSON)")
        if isKept { kept += 1 }
      }
    }
    #expect((1_000...11_000).contains(kept))
  }

  @Test("a filter over bytes that are no document throws, wherever in them the fault lies")
  func unreadable() throws {
    let filter = try Filter(parsing: "a = 1")
    for text in [#"{"a":1"#, #"{"a":1,"b":01}"#, #"{"b":"\x","a":1}"#, #"{"a":1} x"#, ""] {
      #expect(throws: DocumentError.self) {
        try Array(text.utf8).withUnsafeBytes { try filter.matches($0, coding: .json) }
      }
    }
  }

  @Test("property lists are filtered as documents")
  func propertyLists() throws {
    let filter = try Filter(parsing: "a.b > 1")
    for (document, isKept) in [(["a": ["b": 2]], true), (["a": ["b": 1]], false)] as [(Document, Bool)] {
      for coding in [RecordCoding.binaryPropertyList, .xmlPropertyList] {
        #expect(try coding.encode(document).withUnsafeBytes { try filter.matches($0, coding: coding) } == isKept)
      }
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func one(_ choices: [String]) -> String { choices.randomElement(using: &self) ?? "" }

  fileprivate mutating func document(depth: Int = 0) -> Document {
    switch Int.random(in: depth > 3 ? 2...6 : depth == 0 ? 0...1 : 0...6, using: &self) {
    case 0, 1:
      let names = ["a", "b", "c d", "é", "e\u{301}"].shuffled(using: &self).prefix(Int.random(in: 0...5, using: &self))
      if depth > 0, Bool.random(using: &self) { return .array(names.map { _ in document(depth: depth + 1) }) }
      return .object(names.map { Document.Member($0, document(depth: depth + 1)) })
    case 2: return .null
    case 3: return .bool(Bool.random(using: &self))
    case 4: return .number(NumberText(Int64.random(in: -3...3, using: &self)))
    default: return .string(one(["", "a", "é", "2020-01-01", "Zz", "e\u{301}"]))
    }
  }

  fileprivate mutating func condition(depth: Int = 0) -> String {
    let path = one(["a", "b", "é", #"."c d""#, "a.b", "a.a.b", "b[1]", "b[0].a", "a.é"])
    let literal = one([
      "1", "-3.5", "0", "true", "false", "null", #""a""#, #""é""#, #""""#, "2020-01-01", "'[1]'", "'{}'",
    ])
    switch Int.random(in: depth > 2 ? 3...14 : 0...14, using: &self) {
    case 0: return "(\(condition(depth: depth + 1))) and (\(condition(depth: depth + 1)))"
    case 1: return "(\(condition(depth: depth + 1))) or (\(condition(depth: depth + 1)))"
    case 2: return "not (\(condition(depth: depth + 1)))"
    case 3: return "\(path) is null"
    case 4: return "\(path) is not null"
    case 5: return "\(path) in (\(literal), 1, \"a\")"
    case 6: return "\(path) has \(literal)"
    case 7: return "\(path) *= \"a\""
    case 8: return "\(path) ~ /[a-z]/i"
    default: return "\(path) \(one(["=", "!=", "<", "<=", ">", ">="])) \(literal)"
    }
  }
}
