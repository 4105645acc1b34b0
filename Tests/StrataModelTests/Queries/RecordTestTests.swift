import StrataModel
import StrataDocuments
import StrataExpressions
import Testing

@Suite("filters over the bytes of records")
struct RecordTestTests {
  @Test("a filter keeps a record's bytes exactly if it keeps the document")
  func equalsDocument() throws {
    var random = SeededGenerator(seed: 4)
    var (kept, told) = (0, 0)
    for _ in 0..<3_000 {
      let filter = try Filter(parsing: random.condition())
      var test = RecordTest(filter)
      var condition = ByteCondition(filter.queryCondition, readsWhole: true) { subject in
        if case .path(let path) = subject { path } else { nil }
      }
      for _ in 0..<6 {
        let text = random.text(of: random.document())
        let isMet = filter.matches(try JSONParser.parse(text))
        try text.withUnsafeBytes { bytes in
          let keeps = try test.keeps(bytes, .json)
          #expect(keeps == isMet, "\(filter): \(String(decoding: text, as: UTF8.self))")
          if let holds = condition?.holds(for: bytes, presumed: { _ in nil }) {
            #expect(holds == isMet, "\(filter): \(String(decoding: text, as: UTF8.self))")
            told += 1
          }
        }
        if isMet { kept += 1 }
      }
    }
    #expect((1_500...16_000).contains(kept))
    #expect(told > 2_000)
  }

  @Test("a filter over bytes that are not a document throws, wherever in them the fault lies")
  func unreadable() throws {
    var test = RecordTest(try Filter(parsing: "a = 1"))
    for text in [#"{"a":1"#, #"{"a":1,"b":01}"#, #"{"b":"\x","a":1}"#, #"{"a":1} x"#, ""] {
      #expect(throws: DocumentError.self) {
        try Array(text.utf8).withUnsafeBytes { try test.keeps($0, .json) }
      }
    }
  }

  @Test(
    "the whole document is an object, and not null",
    arguments: [(". is null", false), (". is not null", true), (". has \"a\"", true)])
  func whole(text: String, isKept: Bool) throws {
    var test = RecordTest(try Filter(parsing: text))
    #expect(try Array(#"{"a":1}"#.utf8).withUnsafeBytes { try test.keeps($0, .json) } == isKept)
  }

  @Test("property lists are filtered as documents")
  func propertyLists() throws {
    var test = RecordTest(try Filter(parsing: "a.b > 1"))
    for (document, isKept) in [(["a": ["b": 2]], true), (["a": ["b": 1]], false)] as [(Document, Bool)] {
      for coding in [RecordCoding.binaryPropertyList, .xmlPropertyList] {
        #expect(try coding.encode(document).withUnsafeBytes { try test.keeps($0, coding) } == isKept)
      }
    }
  }
}

extension SeededGenerator {
  /// The text of a document as other programs may write it: with spaces, escapes, other forms of a number, and names that stand twice.
  fileprivate mutating func text(of document: Document) -> [UInt8] {
    var text = document.compactJSON
    switch Int.random(in: 0...9, using: &self) {
    case 0: text = text.replacing(",", with: " ,\n")
    case 1: text = text.replacing("\"a\"", with: "\"\\u0061\"")
    case 2: text = text.replacing(":1", with: ":1.0")
    case 3: text = text.replacing(":2", with: ":0.2e1")
    case 4: text = text.replacing("{\"a\":", with: "{\"a\":2,\"a\":")
    case 5: text = text.replacing("\"b\":", with: "\"b\":{\"a\":1},\"b\":")
    case 6: text = text.replacing("-3", with: "-3.50").replacing(":3", with: ":900719925474099300000")
    default: break
    }
    return Array(text.utf8)
  }

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
      "1", "-3.5", "2.0", "0", "true", "false", "null", #""a""#, #""é""#, #""""#, "2020-01-01", "'[1]'", "'{}'",
    ])
    switch Int.random(in: depth > 2 ? 3...15 : 0...15, using: &self) {
    case 0: return "(\(condition(depth: depth + 1))) and (\(condition(depth: depth + 1)))"
    case 1: return "(\(condition(depth: depth + 1))) or (\(condition(depth: depth + 1)))"
    case 2: return "not (\(condition(depth: depth + 1)))"
    case 3: return "\(path) is null"
    case 4: return "\(path) is not null"
    case 5: return "\(path) in (\(literal), 1, \"a\")"
    case 6: return "\(path) has \(literal)"
    case 7: return "\(path) *= \"a\""
    case 8: return "\(path) ~ /[a-z]/i"
    case 9: return "\(path) ^= \(one(["\"a\"", "\"é\"", "\"Z\""]))"
    default: return "\(path) \(one(["=", "!=", "<", "<=", ">", ">="])) \(literal)"
    }
  }
}
