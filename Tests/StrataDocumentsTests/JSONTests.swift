import Foundation
import Testing

@testable import StrataDocuments

struct JSONTests {
  @Test("members keep their order and numbers their digits")
  func asStored() throws {
    let text = #"{"b":1.50,"a":-0,"n":1e400,"big":123456789012345678901234567890,"list":[true,null,"é\n"],"":{}}"#
    #expect(try JSONParser.parse(text).compactJSON == text)
  }

  @Test("escapes, surrogate pairs and byte order mark are read")
  func escapes() throws {
    #expect(
      try JSONParser.parse("\u{FEFF} \"\\u0041\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\\\\\\"\" ") == "A😀/\u{8}\u{C}\n\r\t\\\""
    )
  }

  @Test(
    "what is not JSON is refused at its line and column",
    arguments: [
      ("", 1, 1), ("{", 1, 2), ("[1,]", 1, 4), ("{\"a\":1,}", 1, 8), ("[1 2]", 1, 4), ("{\"a\"\n 1}", 2, 2),
      ("tru", 1, 1),
      ("01", 1, 1), ("1.", 1, 1), ("-", 1, 1), ("\"é\u{1}\"", 1, 3), ("\"abc", 1, 1), ("\"\\x\"", 1, 2),
      ("\"\\ud800\"", 1, 2),
      ("\"\\ud800\\u0041\"", 1, 2), ("[]\n\n x", 3, 2), ("{a:1}", 1, 2), ("+1", 1, 1), ("NaN", 1, 1),
      ("\"\\u12\"", 1, 2), ("1e", 1, 1),
    ])
  func errors(text: String, line: Int, column: Int) {
    #expect { try JSONParser.parse(text) } throws: { error in
      guard let error = error as? JSONError else { return false }
      return error.line == line && error.column == column
    }
  }

  @Test("a text is taken as it is exactly where it is UTF-8, wherever its characters lie")
  func wellFormedTexts() {
    let edges: [UInt8] = [
      0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0,
      0xF1,
      0xF3, 0xF4, 0xF5, 0xFF,
    ]
    func check(_ content: [UInt8]) {
      let bytes = [0x22] + content + [0x22]
      let isUTF8 = String(validating: content, as: UTF8.self) != nil
      #expect(RecordCoding.json.isCompactJSON(bytes) == isUTF8)
      #expect(((try? JSONParser.parse(bytes)) != nil) == isUTF8)
    }
    for first in edges {
      for second in edges {
        // At the end of the bytes, and with eight of them behind.
        for rest in [[], Array("and so on".utf8)] { check([first, second] + rest) }
      }
    }
    var random = SeededGenerator(seed: 8)
    for _ in 0..<20_000 {
      let before = [UInt8](repeating: 0x61, count: .random(in: 0...9, using: &random))
      check(before + (0..<Int.random(in: 1...5, using: &random)).map { _ in edges.randomElement(using: &random) ?? 0 })
    }
    for code in stride(from: UInt32(0x80), through: 0x10FFFF, by: 61) {
      if let scalar = Unicode.Scalar(code) { check(Array("é\(Character(scalar))ab\(Character(scalar))".utf8)) }
    }
  }

  @Test("bytes that are not UTF-8 are refused")
  func invalidUTF8() {
    for bytes: [UInt8] in [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0x80, 0x22],
    ] {
      #expect(throws: JSONError.self) { try JSONParser.parse(bytes) }
    }
  }

  @Test("nesting is limited, not the stack")
  func depth() throws {
    let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    #expect(try JSONParser.parse(deep).compactJSON == deep)
    #expect(throws: JSONError.self) { try JSONParser.parse(String(repeating: "[", count: 513)) }
    #expect(throws: JSONError.self) { try JSONParser.parse(String(repeating: "{\"a\":", count: 100_000)) }
  }

  @Test(
    "arbitrary and mutated bytes never trap, and what is read is written and read again",
    arguments: 1...4 as ClosedRange<UInt64>)
  func hostile(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let seedText = Array(
      #"{"name":"Žofie","list":[1,-2.5e3,{"x":null}],"t":true,"s":"a\u00e9\n\"","d":{"w":0.10}}"#.utf8)
    for _ in 0..<5000 {
      var bytes = Bool.random(using: &random) ? seedText : random.bytes(upTo: 30)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        guard let index = bytes.indices.randomElement(using: &random) else { break }
        bytes[index] = seedText.randomElement(using: &random) ?? 0
      }
      guard let document = try? JSONParser.parse(bytes) else { continue }
      #expect(try JSONParser.parse(document.json(.compact)) == document)
      #expect(try JSONParser.parse(document.json(.pretty)) == document)
      #expect(try JSONParser.parse(document.canonicalBytes).canonicalBytes == document.canonicalBytes)
      #expect(JSONRewriter.bytes(of: document, keeping: bytes) == bytes)
    }
  }

  @Test("reads what Foundation writes and Foundation reads what we write")
  func foundation() throws {
    let value = Sample(name: "a/b \"é\" \u{1}", price: 0.1, list: [1, -2], empty: [:], flag: nil, big: .max)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let document = try JSONParser.parse(Array(encoder.encode(value)))
    #expect(document[member: "price"] == 0.1)
    for layout in [JSONWriter.Layout.compact, .pretty, .canonical] {
      #expect(try JSONDecoder().decode(Sample.self, from: Data(document.json(layout))) == value)
    }
  }

  private struct Sample: Codable, Equatable {
    var name: String
    var price: Double
    var list: [Int]
    var empty: [String: Int]
    var flag: Bool?
    var big: UInt64
  }

  @Test("the pretty form has a member a line")
  func pretty() {
    let document: Document = ["a": [1, 2], "b": [], "c": [:]]
    #expect(document.prettyText == "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": [],\n  \"c\": {}\n}")
  }

  @Test("equal documents have one canonical form")
  func canonical() throws {
    let left = try JSONParser.parse(#"{"b":[1.0,10e1],"a":"x","a":"y"}"#)
    let right = try JSONParser.parse(#"{"a":"y","b":[1,1e2]}"#)
    #expect(left == right)
    #expect(left.hashValue == right.hashValue)
    #expect(left.canonicalBytes == right.canonicalBytes)
    #expect(try JSONParser.parse("1") != JSONParser.parse("1.0000000000000000001"))
    #expect(Document.string("e\u{301}") != .string("é"))
    // Canonically equal texts of equally many bytes.
    for (one, other) in [("\u{B7}", "\u{387}"), ("\u{2B9}", "\u{374}")] {
      #expect(Document.string(one) != .string(other) && Document.string(other) != .string(one))
      #expect(Document.object([.init(one, 1)]) != .object([.init(other, 1)]))
    }
    #expect(try JSONParser.parse("-0") == 0)
  }

  @Test(
    "a number has one shortest form, however it is written",
    arguments: [
      ("0", ["0", "-0", "0.0", "0e5", "-0.00"]), ("12", ["12", "12.0", "1.2e1", "120e-1"]),
      ("-0.5", ["-0.5", "-0.50", "-5e-1"]),
      ("1000", ["1000", "1e3", "1000.000"]), ("35.42873", ["35.42873", "35.428730"]), ("1.5e40", ["15e39", "1.5E+40"]),
      ("10.01", ["10.01", "1001e-2"]), ("1e-300", ["1e-300"]), ("nan", ["nan"]),
    ])
  func canonicalNumbers(shortest: String, forms: [String]) throws {
    for form in forms { #expect(try #require(NumberText(form)).canonicalText == shortest) }
  }

  @Test("an edit of one field leaves every other byte as it was")
  func rewriting() throws {
    let original = #"{ "id":1, "url":"http:\/\/x", "price" : 1.50,"tags":[ "a" ,"b"], "in":{"x":1e0} }"#
    func edit(_ change: (Document) throws -> Document) throws -> String {
      let bytes = try RecordCoding.json.encode(
        change(JSONParser.parse(original)), keeping: Array(original.utf8))
      return String(decoding: bytes, as: UTF8.self)
    }
    #expect(try edit { $0 } == original)
    #expect(
      try edit { try $0.setting(DocumentPath(parsing: "price"), to: 2) }
        == #"{ "id":1, "url":"http:\/\/x", "price" : 2,"tags":[ "a" ,"b"], "in":{"x":1e0} }"#)
    #expect(
      try edit { try $0.setting(DocumentPath(parsing: "in.x"), to: 1) }
        == #"{ "id":1, "url":"http:\/\/x", "price" : 1.50,"tags":[ "a" ,"b"], "in":{"x":1} }"#)
    #expect(
      try edit { try $0.removing(DocumentPath(parsing: "url")) }
        == #"{ "id":1, "price" : 1.50,"tags":[ "a" ,"b"], "in":{"x":1e0} }"#)
    #expect(
      try edit { try $0.inserting("c", at: DocumentPath(parsing: "tags[1]")) }
        == #"{ "id":1, "url":"http:\/\/x", "price" : 1.50,"tags":[ "a" ,"c" ,"b"], "in":{"x":1e0} }"#)
    #expect(
      try edit { try $0.setting(DocumentPath(parsing: "new"), to: true) }
        == #"{ "id":1, "url":"http:\/\/x", "price" : 1.50,"tags":[ "a" ,"b"], "in":{"x":1e0}, "new":true }"#)
  }

  @Test(
    "random edits written over the old text read back as the edited document", arguments: 1...4 as ClosedRange<UInt64>)
  func randomRewriting(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<400 {
      let old = Document.random(using: &random)
      let new = Bool.random(using: &random) ? old.mutated(using: &random) : Document.random(using: &random)
      for layout in [JSONWriter.Layout.compact, .pretty] {
        let bytes = try #require(JSONRewriter.bytes(of: new, keeping: old.json(layout)))
        #expect(try JSONParser.parse(bytes).compactJSON == new.compactJSON)
      }
    }
  }
}
