import Foundation
import Testing

@testable import CodableDatastore

@Suite("The library's own JSON coders")
struct StandardCoderTests {
  private let foundationEncoder: JSONEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return encoder
  }()
  private let foundationDecoder = JSONDecoder()
  private let encoder = StandardJSONEncoder()
  private let decoder = StandardJSONDecoder()

  private static var types: [any Randomized.Type] {
    [
      CodedTypes.Flat.self, CodedTypes.Numbers.self, CodedTypes.Nested.self, CodedTypes.Derived.self,
      CodedTypes.Mixed.self,
    ]
  }

  @Test(
    "random values of every kind of type have Foundation's bytes, and decode as Foundation decodes them",
    arguments: 0..<5)
  func values(type: Int) throws {
    try check(Self.types[type], seed: UInt64(type))
  }

  private func check<T: Randomized>(_ type: T.Type, seed: UInt64) throws {
    var random = Seeded(seed)
    var (ownCount, unreadCount) = (0, 0)
    for _ in 0..<400 {
      let value = T.random(using: &random)
      let bytes = try foundationEncoder.encode(value)
      let own = try encoder.encode(value)
      #expect(own == bytes, "\(String(decoding: own, as: UTF8.self)) for \(String(decoding: bytes, as: UTF8.self))")
      let back = try decoder.decode(T.self, from: bytes)
      #expect(try foundationEncoder.encode(back) == bytes)
      var unaided: T?
      if bytes.withUnsafeBytes({ decoder.decode($0, into: &unaided) }) { ownCount += 1 }
      let record = try encoder.record(of: value, behind: [7, 8], decodingBy: decoder)
      #expect(record.map { $0.bytes == [7, 8] + bytes } != false)
      guard let decoded = record?.decoded else { continue }
      #expect(try foundationEncoder.encode(decoded) == bytes)
      unreadCount += 1
    }
    // Numbers at the ends of their ranges, of which there are more here than anywhere else, are left to Foundation.
    #expect(ownCount > 100, "\(ownCount) of 400 were decoded without Foundation")
    #expect(unreadCount >= ownCount, "\(unreadCount) of 400 were decoded without their text")
  }

  @Test("damaged texts decode to what Foundation gives, or fail with its error and coding path", arguments: 0..<5)
  func damaged(type: Int) throws {
    try checkDamaged(Self.types[type], seed: UInt64(100 + type))
  }

  private func checkDamaged<T: Randomized>(_ type: T.Type, seed: UInt64) throws {
    var random = Seeded(seed)
    let pieces = [
      "null", "1", "-", "1.0", "1e2", "01", "1e400", "\"", "\\", "\\u", "\\ud800", "\\u00e9", "{", "}", "[", "]", ",",
      ":", " ", "\n", "true",
      "\u{1}", "é", "{}", "[]", "\"x\"", "0", "9999999999999999999999", "-0", "1E5", "1.", ".5", "+1", "\"id\":1,",
    ]
    for _ in 0..<1500 {
      var bytes = try Array(foundationEncoder.encode(T.random(using: &random)))
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where place < bytes.count: bytes[place] = .random(in: 0 ... .max, using: &random)
        case 1 where place < bytes.count: bytes.remove(at: place)
        default: bytes.insert(contentsOf: pieces.random(&random).utf8, at: place)
        }
      }
      try expectSame(T.self, Data(bytes))
    }
  }

  private func expectSame<T: Codable>(_ type: T.Type, _ data: Data) throws {
    let expected = Result { try foundationDecoder.decode(T.self, from: data) }
    let found = Result { try decoder.decode(T.self, from: data) }
    let text = String(decoding: data, as: UTF8.self)
    switch (expected, found) {
    case (.success(let expected), .success(let found)):
      #expect(try foundationEncoder.encode(expected) == foundationEncoder.encode(found), "\(text)")
    case (.failure(let expected), .failure(let found)):
      // Which of several faults in a dictionary comes first is by chance, in Foundation's decoder too.
      let isByChance = T.self == CodedTypes.Nested.self
      #expect(isByChance || "\(expected)" == "\(found)", "\(text)")
    default: Issue.record("\(found) instead of \(expected) for \(text)")
    }
  }

  @Test("each number has Foundation's meaning for every type of number")
  func numbers() throws {
    var random = Seeded(7)
    var texts = [
      "0", "-0", "1", "1.0", "-1.5", "1e2", "1E-2", "123456789012345678", "1234567890123456789", "18446744073709551615",
      "9223372036854775808", "0.1", "1e308", "1e309", "5e-324", "1e-400", "123456.789012345678", "0.000001",
      "9007199254740993",
      "3.4028236e38", "01", "1.", "-", "1e", "1.5e+10", "00", "-01", "0x1", "NaN",
    ]
    for _ in 0..<20_000 { texts.append("\(Double.any(&random))") }
    for _ in 0..<2_000 { texts.append("\(Int.any(&random)).\(UInt16.any(&random))e\(Int8.any(&random))") }
    for text in texts {
      let data = Data("[\(text)]".utf8)
      try expectSame([Double].self, data)
      guard text.utf8.count < 24 else { continue }
      try expectSame([Int].self, data)
      try expectSame([Float].self, data)
      try expectSame([UInt8].self, data)
      try expectSame([Decimal].self, data)
    }
  }

  @Test(
    "an equal set, and an equal dictionary that is written as a list, have equal bytes whatever their order in memory")
  func unordered() throws {
    struct Bag: Codable, Equatable {
      var words: Set<String>
      var counts: [UUID: Int]
      var list: [String]
    }
    let words = (0..<40).map { "word \($0)" }
    let identifiers = (0..<40).map { _ in UUID() }
    func bag(_ order: [Int]) -> Bag {
      var (set, counts) = (Set<String>(minimumCapacity: order[0] * 50), [UUID: Int](minimumCapacity: order[1] * 50))
      for index in order { (_, counts[identifiers[index]]) = (set.insert(words[index]), index) }
      return Bag(words: set, counts: counts, list: ["b", "a"])
    }
    let first = try encoder.encode(bag(Array(0..<40)))
    #expect(try encoder.encode(bag((0..<40).reversed())) == first)
    #expect(try foundationDecoder.decode(Bag.self, from: first) == bag(Array(0..<40)))
    let text = String(decoding: first, as: UTF8.self)
    #expect(
      text.contains(#""list":["b","a"]"#) && text.contains(#""words":["word 0","word 1","word 10","word 11","word 12""#)
    )
  }

  @Test("a value that is decoded from what was written of it has what its text says")
  func rewritten() throws {
    let record = try encoder.record(of: Rewritten(), behind: [], decodingBy: decoder)
    let decoded = try #require(record?.decoded)
    #expect(decoded == (try foundationDecoder.decode(Rewritten.self, from: Data(try #require(record).bytes))))
    #expect(decoded.texts == ["name": ["NEW"], "größe": ["1", "2", "3"], "a\"b": ["text"], "list": ["x", "y"]])
  }

  /// Writes members twice, adds to lists, and has names of every kind.
  private struct Rewritten: Codable, Equatable {
    var texts: [String: [String]] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: JSONKey.self)
      for key in members.allKeys {
        if let text = try? members.decode(String.self, forKey: key) {
          texts[key.stringValue] = [text.uppercased() == text ? text : text.lowercased()]
        } else {
          texts[key.stringValue] = try members.decode([String].self, forKey: key)
        }
      }
    }

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: JSONKey.self)
      try members.encode("old", forKey: JSONKey(stringValue: "name"))
      try members.encode("NEW", forKey: JSONKey(stringValue: "name"))
      try members.encode("Text", forKey: JSONKey(stringValue: "a\"b"))
      try members.superEncoder(forKey: JSONKey(stringValue: "größe")).encodeThree()
      try members.encode(["x", "y"], forKey: JSONKey(stringValue: "list"))
    }
  }

  @Test("a changed strategy is Foundation's to follow")
  func strategies() throws {
    let (encoder, decoder) = (StandardJSONEncoder(), StandardJSONDecoder())
    encoder.dateEncodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .iso8601
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
    let data = try encoder.encode([date])
    #expect(String(decoding: data, as: UTF8.self) == #"["2023-03-08T20:26:40Z"]"#)
    #expect(try decoder.decode([Date].self, from: data) == [date])
  }

  @Test("what cannot be encoded fails with Foundation's error")
  func unencodable() {
    #expect(throws: EncodingError.self) { try encoder.encode(["a": Double.nan]) }
    #expect(throws: EncodingError.self) { try encoder.encode(Empty()) }
  }

  @Test("a decimal number that is none cannot be encoded, because no decoder reads what Foundation writes for it")
  func decimalNaN() throws {
    let failure = #expect(throws: EncodingError.self) { try encoder.encode(["a": [1, Decimal.nan]]) }
    guard case .invalidValue(_, let context)? = failure else { throw try #require(failure) }
    #expect(context.codingPath.map(\.stringValue) == ["a", "Index 1"])
    #expect(throws: EncodingError.self) {
      try encoder.record(of: [Decimal.nan], behind: [], decodingBy: decoder)
    }
    #expect(try encoder.encode(["a": Decimal(1)]) == Data(#"{"a":1}"#.utf8))
  }

  @Test("a value that looks at where it lies finds the keys and positions that Foundation's coders give it")
  func places() throws {
    let places = Places(paths: [])
    let bytes = try foundationEncoder.encode(places)
    #expect(try encoder.encode(places) == bytes)
    #expect(String(decoding: bytes, as: UTF8.self).contains("seven 7"))
    #expect(try decoder.decode(Places.self, from: bytes) == foundationDecoder.decode(Places.self, from: bytes))
    #expect(try decoder.decode(Places.self, from: bytes).paths.contains("seven 7"))
    let named = Data(#"{"n":{"8":"x"}}"#.utf8)
    #expect(try decoder.decode(Caught.self, from: named) == foundationDecoder.decode(Caught.self, from: named))
    let data = Data("[7,null]".utf8)
    var positions: Positions?
    #expect(data.withUnsafeBytes { decoder.decode($0, into: &positions) }, "a list's end needs no other decoder")
    #expect(try positions == foundationDecoder.decode(Positions.self, from: data))
  }

  /// The paths that its coders report.
  private struct Places: Codable, Equatable {
    enum Key: Int, CodingKey { case seven = 7, list }

    var paths: [String]

    init(paths: [String]) { self.paths = paths }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Key.self)
      paths = [try Self.text(members.superDecoder(forKey: .seven).codingPath)]
      var list = try members.nestedUnkeyedContainer(forKey: .list)
      paths += [Self.text(members.codingPath), Self.text(list.codingPath)]
      paths.append(Self.text(try list.superDecoder().codingPath))
    }

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: Key.self)
      let other = members.superEncoder(forKey: .seven)
      var text = other.singleValueContainer()
      try text.encode(Self.text(other.codingPath))
      var list = members.nestedUnkeyedContainer(forKey: .list)
      try list.encode(Self.text(list.codingPath))
      try list.encode(Self.text(list.superEncoder().codingPath))
    }

    private static func text(_ path: [any CodingKey]) -> String {
      path.map { "\($0.stringValue) \($0.intValue.map { "\($0)" } ?? "-")" }.joined(separator: ", ")
    }
  }

  private struct Positions: Decodable, Equatable {
    var positions: [Int] = []

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      for _ in 0..<4 { positions.append(try list.decodeIfPresent(Int.self) ?? list.currentIndex) }
    }
  }

  @Test(
    "members whose names are one text in different normal forms are one member, as Foundation writes and finds them")
  func normalForms() throws {
    let (short, long) = (JSONKey(stringValue: "\u{e9}"), JSONKey(stringValue: "e\u{301}"))
    for keys in [[short, long], [long, short], [short, JSONKey(stringValue: "z"), long, short], [short, short]] {
      let value = Members(keys: keys)
      let bytes = try foundationEncoder.encode(value)
      #expect(try encoder.encode(value) == bytes)
      #expect(try foundationDecoder.decode([String: Int].self, from: bytes)["\u{e9}"] == keys.count - 1)
      for key in [short, long] {
        #expect(try decoder.decode([String: Int].self, from: bytes)[key.stringValue] == keys.count - 1)
      }
    }
    let nested = NestedMembers(keys: [short, long])
    #expect(try encoder.encode(nested) == foundationEncoder.encode(nested))
    let record = try encoder.record(of: ["\u{e9}": 1, "\u{e8}": 2], behind: [], decodingBy: decoder)
    #expect(record != nil)
  }

  private struct Members: Encodable {
    var keys: [JSONKey]

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: JSONKey.self)
      for (place, key) in keys.enumerated() { try members.encode(place, forKey: key) }
    }
  }

  private struct NestedMembers: Encodable {
    var keys: [JSONKey]

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: JSONKey.self)
      for key in keys {
        var list = members.nestedUnkeyedContainer(forKey: key)
        try list.encode(1)
      }
    }
  }

  @Test("a value that is nested as deeply as Foundation allows is encoded and decoded, and no deeper one")
  func depth() throws {
    for depth in [199, 200, 201, 510, 511, 512, 513, 600] {
      let value = (0..<depth).reduce(Nest.end) { nest, level in level % 2 == 0 ? .list(nest) : .member(nest) }
      let expected = try? foundationEncoder.encode(value)
      #expect((expected == nil) == (depth >= 512))
      #expect((try? encoder.encode(value)) == expected)
      #expect((try? encoder.record(of: value, behind: [], decodingBy: decoder)).flatMap { $0 } == nil || depth < 512)
      if let expected { #expect(try encoder.encode(decoder.decode(Nest.self, from: expected)) == expected) }
    }
  }

  /// Lists and objects in one another.
  private indirect enum Nest: Codable {
    case end, list(Nest), member(Nest)

    init(from decoder: any Decoder) throws {
      if var list = try? decoder.unkeyedContainer() {
        self = .list(try list.decode(Nest.self))
      } else if let member = try? decoder.container(keyedBy: JSONKey.self) {
        self = .member(try member.decode(Nest.self, forKey: JSONKey(stringValue: "a")))
      } else {
        self = .end
      }
    }

    func encode(to encoder: any Encoder) throws {
      switch self {
      case .end:
        var single = encoder.singleValueContainer()
        try single.encode(1)
      case .list(let nest):
        var list = encoder.unkeyedContainer()
        try list.encode(nest)
      case .member(let nest):
        var member = encoder.container(keyedBy: JSONKey.self)
        try member.encode(nest, forKey: JSONKey(stringValue: "a"))
      }
    }
  }

  @Test("very many names of every kind are decoded, and of equal ones the first counts")
  func names() throws {
    let value = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("größe \"\($0)\"", $0) })
    #expect(try decoder.decode([String: Int].self, from: foundationEncoder.encode(value)) == value)
    try expectSame([String: Int].self, Data(#"{"\u00e9":1,"é":2,"e\u0301":3,"a":4,"a":5}"#.utf8))
  }

  @Test("values of more tokens than a coder keeps memory for are encoded and decoded one after the other")
  func large() throws {
    for round in 0..<4 {
      let value = Array(repeating: round, count: 150_000)
      let bytes = try encoder.encode(value)
      #expect(try decoder.decode([Int].self, from: bytes) == value)
      #expect(try encoder.record(of: value, behind: [], decodingBy: decoder)?.decoded == value)
    }
  }

  /// Encodes nothing.
  private struct Empty: Encodable { func encode(to encoder: any Encoder) {} }

  @Test("a decoder that is kept beyond its call reads neither the old text nor the next one")
  func escaping() throws {
    _ = try decoder.decode(Keeping.self, from: Data(#"{"a":1}"#.utf8))
    _ = try decoder.decode([String: Int].self, from: Data(#"{"b":2,"c":3}"#.utf8))
    let kept = try #require(Keeping.kept)
    #expect(throws: DecodingError.self) { try kept.container(keyedBy: JSONKey.self) }
  }

  /// Keeps the decoder that it is given.
  private struct Keeping: Decodable {
    // Only the test above touches it.
    nonisolated(unsafe) static var kept: (any Decoder)?
    init(from decoder: any Decoder) throws { Self.kept = decoder }
  }
}

extension Encoder {
  /// Encodes one text, then three, of which two as a list.
  fileprivate func encodeThree() throws {
    var single = singleValueContainer()
    try single.encode("gone")
    try single.encode(["1", "2"])
    var list = unkeyedContainer()
    try list.encode("3")
  }
}

/// A generator whose numbers follow from a seed (SplitMix64).
private struct Seeded: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
