import Testing

@testable import StrataDocuments

@Suite("parts of documents read out of their bytes")
struct DocumentSelectionTests {
  private static let paths = [
    "a", "b", "é", "e\u{301}", "K", "\"c d\"", "a.b", "a.a.b", "b[1]", "b[0].a", "1.é.a", "a.\"c d\".b",
  ]

  @Test("at its paths a selection has what the document has, however the text is laid out")
  func equalsDocument() throws {
    var random = SeededGenerator(seed: 17)
    for _ in 0..<4_000 {
      let document = Document.random(using: &random)
      let bytes = random.spelling(of: document)
      let paths = try Self.paths.filter { _ in Bool.random(using: &random) }.map { try DocumentPath(parsing: $0) }
      let whole = try JSONParser.parse(bytes)
      #expect(whole == document)
      let part = try bytes.withUnsafeBytes { try DocumentSelection(paths).document(ofJSON: $0) }
      for path in paths {
        #expect(part[path] == whole[path], "\(path) of \(whole.compactJSON)")
        #expect(part.values(at: path) == whole.values(at: path), "\(path) of \(whole.compactJSON)")
      }
    }
  }

  @Test("a selection is refused exactly where the whole text is")
  func refusesWhatTheParserRefuses() {
    var random = SeededGenerator(seed: 18)
    let paths = ["a.b", "b"].compactMap { try? DocumentPath(parsing: $0) }
    let selection = DocumentSelection(paths)
    for _ in 0..<30_000 {
      var bytes = random.spelling(of: .random(using: &random))
      for _ in 0..<Int.random(in: 0...2, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0...3, using: &random) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: place)
        case 2: bytes[place] = UInt8.random(in: 0...255, using: &random)
        default: bytes.insert(contentsOf: Self.hard.randomElement(using: &random) ?? [], at: place)
        }
      }
      let whole = Result { () throws(JSONError) in try JSONParser.parse(bytes) }
      let part = bytes.withUnsafeBytes { bytes in
        Result { () throws(JSONError) in try selection.document(ofJSON: bytes) }
      }
      switch (whole, part) {
      case (.success(let whole), .success(let part)):
        for path in paths { #expect(part.values(at: path) == whole.values(at: path)) }
      case (.failure(let whole), .failure(let part)): #expect(whole == part)
      default: Issue.record("\(String(decoding: bytes, as: UTF8.self)): \(whole), \(part)")
      }
    }
  }

  @Test("a part is found at the same place whether the values before it are checked or skipped")
  func findsPartsBehindUncheckedValues() throws {
    var random = SeededGenerator(seed: 19)
    let path = try DocumentPath(parsing: "part")
    let part = try #require(PartPlaces(DocumentSelection([path])).number(of: path))
    var (checked, unchecked) = (PartPlaces(DocumentSelection([path])), PartPlaces(DocumentSelection([path])))
    var foundCount = 0
    for _ in 0..<4_000 {
      let names = ["x", "part", "y", "z"].shuffled(using: &random).prefix(3)
      let members = names.map { Document.Member($0, .random(using: &random)) }
      let bytes = random.spelling(of: .object(members))
      bytes.withUnsafeBytes { bytes in
        guard checked.read(bytes, isWhole: true), unchecked.read(bytes, isWhole: false) else { return }
        #expect(checked[part]?.start == unchecked[part]?.start && checked[part]?.end == unchecked[part]?.end)
        #expect(checked[part]?.kind == unchecked[part]?.kind)
        foundCount += unchecked[part] == nil ? 0 : 1
      }
      let cut = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
      cut.withUnsafeBytes { _ = unchecked.read($0, isWhole: false) }
    }
    #expect(foundCount > 1_000)
  }

  /// Bytes at which a careless reader goes wrong.
  private static let hard: [[UInt8]] = [
    [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0xEF, 0xBB, 0xBF], [0x00],
    [0x1F],
    Array(#"\ud83d\ude00"#.utf8), Array(#"\ud83d"#.utf8), Array(#"\uDE00"#.utf8), Array(#"\/"#.utf8),
    Array(#"\u00e9"#.utf8),
    Array("01".utf8), Array("-".utf8), Array("1e".utf8), Array("1.".utf8), Array(",".utf8), Array("{}".utf8),
    Array("\"".utf8),
  ]

  @Test("the last of two members of one name counts, and names are found however they are written or composed")
  func namesOfMembers() throws {
    for (text, name, value) in [
      (#"{"a":1,"a":2}"#, "a", 2), (#"{"\u0061":1}"#, "a", 1), (#"{"e\u0301":1}"#, "é", 1),
      (#"{"é":1}"#, "e\u{301}", 1),
      (#"{"K":1}"#, "\u{212A}", 1), (#"{"b":{"a":2},"\u212a":1,"K":3}"#, "K", 3),
    ] as [(String, String, Document)] {
      let path = DocumentPath([.member(name)])
      let part = try Array(text.utf8).withUnsafeBytes { try DocumentSelection([path]).document(ofJSON: $0) }
      #expect(part[path] == value, "\(name) of \(text)")
      #expect(try JSONParser.parse(text)[path] == value, "\(name) of \(text)")
    }
  }

  @Test("what is not selected is left out, and whole values are kept")
  func leavesOut() throws {
    let text = Array(#"{"a":{"b":1,"c":[2,3]},"d":[{"e":4,"f":5},6],"g":"h"}"#.utf8)
    func part(_ paths: String...) throws -> String {
      let selection = DocumentSelection(try paths.map { try DocumentPath(parsing: $0) })
      return try text.withUnsafeBytes { try selection.document(ofJSON: $0) }.compactJSON
    }
    #expect(try part("a.c") == #"{"a":{"c":[2,3]}}"#)
    #expect(try part("d.e", "g") == #"{"d":[{"e":4},6],"g":"h"}"#)
    #expect(try part("d[0].e") == #"{"d":[{"e":4,"f":5},6]}"#)
    #expect(try part("a", "a.b") == #"{"a":{"b":1,"c":[2,3]}}"#)
    #expect(try part(".") == String(decoding: text, as: UTF8.self))
    #expect(try part() == "{}")
  }

  @Test("a text counts as compact exactly where writing its document gives the same bytes")
  func compactTexts() throws {
    var random = SeededGenerator(seed: 19)
    var compact = 0
    for _ in 0..<6_000 {
      let document = Document.random(using: &random)
      let written = document.json(.compact)
      let bytes = Bool.random(using: &random) ? written : random.spelling(of: document)
      let isCompact = RecordCoding.json.isCompactJSON(bytes)
      if isCompact { compact += 1 }
      // Some escapes could be told to be needed only by a closer look; nothing is ever taken for compact that is not.
      #expect(!isCompact || bytes == written)
      #expect(isCompact || bytes != written || written.contains(UInt8(ascii: "\\")))
      // Parts of it are read just where it counts as such, also where what is not is one of the parts.
      let selection = DocumentSelection(
        try Self.paths.filter { _ in Bool.random(using: &random) }.map { try DocumentPath(parsing: $0) })
      let (part, parsed) = try bytes.withUnsafeBytes { bytes in
        (selection.document(ofCompactJSON: bytes), try selection.document(ofJSON: bytes))
      }
      #expect(part == (isCompact ? parsed : Document?.none), "\(String(decoding: bytes, as: UTF8.self))")
    }
    #expect(compact > 2_000)
    for text in [
      "", " 1", "1 ", "{\"a\": 1}", "[1,]", "\"\\/\"", "\"\\u0041\"", "\u{FEFF}1", "1\n", "[1,\n2]", "tru", "01",
    ] {
      #expect(!RecordCoding.json.isCompactJSON(Array(text.utf8)), "\(text)")
    }
    #expect(!RecordCoding.xmlPropertyList.isCompactJSON([0x31]))
    #expect(!RecordCoding.json.isCompactJSON([0x22, 0xC3, 0x22]))
  }

  @Test("as many empty lists and objects may stand side by side as one likes, and only so many in one another")
  func depth() throws {
    let wide = "[" + Array(repeating: "[],{}", count: 600).joined(separator: ",") + "]"
    #expect(try JSONParser.parse(wide).fields.count == 1200)
    #expect(RecordCoding.json.isCompactJSON(Array(wide.utf8)))
    for (depth, isFine) in [(JSONParser.depthLimit, true), (JSONParser.depthLimit + 1, false)] {
      let deep = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      #expect(((try? JSONParser.parse(deep)) != nil) == isFine)
      #expect(RecordCoding.json.isCompactJSON(Array(deep.utf8)) == isFine)
      let part = try? Array("{\"a\":\(deep.dropFirst().dropLast()),\"b\":1}".utf8).withUnsafeBytes {
        try DocumentSelection([DocumentPath([.member("b")])]).document(ofJSON: $0)
      }
      #expect((part != nil) == isFine)
    }
  }
}

extension Document {
  /// All that a path of members leads to, through lists too.
  fileprivate func values(at path: DocumentPath) -> [Document] {
    guard case .member(let name)? = path.components.first else { return [self[path] ?? .null] }
    if case .array(let elements) = self { return elements.flatMap { $0.values(at: path) } }
    return self[member: name]?.values(at: DocumentPath(Array(path.components.dropFirst()))) ?? []
  }
}

extension SeededGenerator {
  /// A JSON text of a document, with spaces and escapes here and there that need not be.
  fileprivate mutating func spelling(of document: Document) -> [UInt8] {
    var text = ""
    write(document, to: &text)
    return Array(text.utf8)
  }

  private mutating func write(_ document: Document, to text: inout String) {
    space(&text)
    switch document {
    case .array(let elements):
      text += "["
      for (position, element) in elements.enumerated() {
        if position > 0 { text += "," }
        write(element, to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (position, member) in members.enumerated() {
        if position > 0 { text += "," }
        space(&text)
        write(member.name, to: &text)
        space(&text)
        text += ":"
        write(member.value, to: &text)
      }
      text += "}"
    case .string(let value): write(value, to: &text)
    default: text += document.compactJSON
    }
    space(&text)
  }

  private mutating func write(_ value: String, to text: inout String) {
    guard Int.random(in: 0...3, using: &self) == 0 else { return text += JSONWriter.literal(value) }
    text += "\""
    for unit in value.utf16 {
      let digits = String(unit, radix: 16, uppercase: Bool.random(using: &self))
      text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    text += "\""
  }

  private mutating func space(_ text: inout String) {
    if Int.random(in: 0...5, using: &self) == 0 {
      text += [" ", "\n", "\t", "\r", "  "].randomElement(using: &self) ?? ""
    }
  }
}
