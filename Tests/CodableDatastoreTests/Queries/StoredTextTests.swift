import StrataEngine
import StrataModel
import StrataDocuments
import Foundation
import StrataLocks
import Testing

@testable import CodableDatastore

@Suite("Conditions on the stored text of records")
struct StoredTextTests {
  struct Place: Codable, Hashable, Sendable {
    var city: String
    var height: Int?
  }

  struct Item: Codable, Hashable, Sendable {
    enum CodingKeys: String, CodingKey {
      case name, town, size
      case small = "s"
      case rating, share, isOpen, isNew, place, tags
    }
    var name: String
    var town: String?
    var size: UInt64
    var small: Int8
    var rating: Double
    var share: Double?
    var isOpen: Bool
    var isNew: Bool?
    var place: Place
    var tags: [String]
  }

  // MARK: Where the text has a property

  private func layout<Instance: Codable>(of instance: Instance) throws -> StoredLayout {
    let text = try StandardJSONEncoder().encode(instance)
    let traced = text.withUnsafeBytes { StandardJSONDecoder().traced(Instance.self, from: $0) }
    let (value, trace) = try #require(traced)
    return StoredLayout(of: value, trace)
  }

  private func name<Instance, Value>(
    of path: KeyPath<Instance, Value>, in layout: StoredLayout
  ) -> String? {
    MemoryLayout<Instance>.offset(of: path).flatMap { layout.path(at: $0, of: Value.self)?.shortText }
  }

  private static let item = Item(
    name: "A", town: nil, size: 1, small: 2, rating: 0.5, share: nil, isOpen: true, isNew: nil,
    place: Place(city: "X", height: nil), tags: [])

  @Test(
    "a stored property is found by the position at which its struct asked for it, also when it is renamed, nested or nil"
  )
  func layout() throws {
    let layout = try layout(of: Self.item)
    #expect(name(of: \Item.name, in: layout) == "name")
    #expect(name(of: \Item.town, in: layout) == "town")
    #expect(name(of: \Item.small, in: layout) == "s")
    #expect(name(of: \Item.isNew, in: layout) == "isNew")
    #expect(name(of: \Item.place.city, in: layout) == "place.city")
    #expect(name(of: \Item.place.height, in: layout) == "place.height")
  }

  /// Asks in another order than it stores.
  private struct Turned: Codable {
    enum CodingKeys: String, CodingKey { case b, a }
    var a: Int
    var b: Int
  }

  /// Asks for more than it stores.
  private struct Asking: Codable {
    var a: Int
    enum CodingKeys: String, CodingKey { case a, old }
    init(a: Int) { self.a = a }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      a = try container.decodeIfPresent(Int.self, forKey: .old) ?? container.decode(Int.self, forKey: .a)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(a, forKey: .a)
    }
  }

  /// Looks whether a member is there.
  private struct Looking: Codable {
    var a: Int
    init(a: Int) { self.a = a }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      a = container.contains(.a) ? try container.decode(Int.self, forKey: .a) : 7
    }
  }

  /// Has a member of another type than the property's.
  private struct Converting: Codable {
    var a: Int
    init(a: Int) { self.a = a }
    init(from decoder: any Decoder) throws {
      a = Int(try decoder.container(keyedBy: CodingKeys.self).decode(UInt8.self, forKey: .a))
    }
  }

  /// Has keys that are not its own.
  private struct Borrowing: Codable {
    enum Keys: String, CodingKey { case a }
    var a: Int
    init(a: Int) { self.a = a }
    init(from decoder: any Decoder) throws {
      a = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .a)
    }
  }

  /// Does not decode all that it stores.
  private struct Keeping: Codable {
    enum CodingKeys: CodingKey { case a }
    var note = 1
    var a: Int
  }

  @Test("a property of a type that asks otherwise than the compiler does is not found")
  func unknown() throws {
    #expect(name(of: \Turned.a, in: try layout(of: Turned(a: 1, b: 2))) == nil)
    #expect(name(of: \Asking.a, in: try layout(of: Asking(a: 1))) == nil)
    #expect(name(of: \Looking.a, in: try layout(of: Looking(a: 1))) == nil)
    #expect(name(of: \Converting.a, in: try layout(of: Converting(a: 1))) == nil)
    #expect(name(of: \Borrowing.a, in: try layout(of: Borrowing(a: 1))) == nil)
    #expect(name(of: \Keeping.a, in: try layout(of: Keeping(a: 1))) == nil)
  }

  @Test("a decoder with a changed strategy has no text that tells")
  func strategies() throws {
    let decoder = StandardJSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    #expect(!decoder.isStandard)
    #expect(try StandardJSONEncoder().encode(Self.item).withUnsafeBytes { decoder.traced(Item.self, from: $0) } == nil)
  }

  // MARK: What a text tells

  private static let town: String? = "Zug"
  private static let predicates: [Predicate<Item>] = {
    let (limit, half, prefix, no) = (3 as UInt64, 0.5, "A", nil as String?)
    let list = ["A", "K", "é"]
    return [
      #Predicate { $0.name == "A" }, #Predicate { $0.name != "e\u{301}" }, #Predicate { $0.name < "B" },
      #Predicate { $0.name >= "\u{212A}" }, #Predicate { $0.name.starts(with: prefix) },
      #Predicate { list.contains($0.name) }, #Predicate { $0.town == town }, #Predicate { $0.town != town },
      #Predicate { $0.town == no }, #Predicate { ($0.town ?? "B") < "C" }, #Predicate { $0.size > limit },
      #Predicate { $0.size <= 18_446_744_073_709_551_614 }, #Predicate { !($0.small < 2) },
      #Predicate { (0..<2).contains($0.small) }, #Predicate { $0.rating < half }, #Predicate { $0.rating == 0.1 },
      #Predicate { $0.share == half }, #Predicate { ($0.share ?? 1) > half }, #Predicate { $0.isOpen },
      #Predicate { $0.isNew == true }, #Predicate { $0.isNew != true }, #Predicate { $0.place.city == "X" },
      #Predicate { $0.place.height == 3 }, #Predicate { $0.tags.contains("a") },
      #Predicate { $0.name == "A" && $0.size > limit }, #Predicate { $0.isOpen || $0.tags.isEmpty },
      #Predicate { !($0.name == "A" || $0.town == no) }, #Predicate { $0.tags.isEmpty && $0.rating < half },
    ]
  }()

  /// An item's text, with members that are missing, stand twice or are written in unusual forms.
  private static func text(using random: inout some RandomNumberGenerator) -> String {
    func one(_ choices: String...) -> String { choices.randomElement(using: &random) ?? "" }
    var members = [
      "\"isNew\":" + one("null", "true", "false", "1"), "\"isOpen\":" + one("true", "false", "true", "0"),
      "\"name\":" + one("\"A\"", "\"B\"", "\"K\"", "\"\u{212A}\"", "\"é\"", "\"\\u0041\"", "\"A\\nB\"", "5"),
      "\"place\":"
        + one(
          "{\"city\":\"X\",\"height\":3}", "{\"city\":\"Y\"}", "{\"height\":null,\"city\":\"X\"}", "null",
          "{\"city\":\"X\",\"city\":\"Y\"}"),
      "\"rating\":" + one("0.5", "0.1", "0.10000000000000001", "1e-1", "5", "-0", "1e400", "\"x\""),
      "\"s\":" + one("1", "2", "2.0", "2.5", "300", "-1", "01"), "\"share\":" + one("0.5", "null", "2", "0.25"),
      "\"size\":" + one("3", "4", "18446744073709551615", "9223372036854775807", "-1", "3e0", "0"),
      "\"tags\":" + one("[]", "[\"a\"]", "[\"b\",\"a\"]"),
      "\"town\":" + one("null", "\"Zug\"", "\"Bern\"", "\"Z\\u0075g\""),
    ]
    if Int.random(in: 0..<3, using: &random) == 0 { members.remove(at: Int.random(in: 0..<10, using: &random)) }
    if Int.random(in: 0..<8, using: &random) == 0 { members.insert("\"town\":\"Zug\"", at: 0) }
    if Int.random(in: 0..<8, using: &random) == 0 { members.insert("\"\\u006eame\":\"A\"", at: 0) }
    if Int.random(in: 0..<8, using: &random) == 0 { members.insert("\"größe\":[{\"name\":\"A\"}]", at: 0) }
    if Int.random(in: 0..<8, using: &random) == 0 { members.shuffle(using: &random) }
    let comma = Int.random(in: 0..<8, using: &random) == 0 ? " , " : ","
    return "{" + members.joined(separator: comma) + "}"
  }

  @Test("what a text tells is what its instance says, for every predicate and text")
  func told() throws {
    var random = SystemRandomNumberGenerator()
    let layout = try layout(of: Self.item)
    var (told, decoded) = (Array(repeating: 0, count: Self.predicates.count), 0)
    for (index, predicate) in Self.predicates.enumerated() {
      guard var test = StoredTest([predicate], layout: layout, without: [], behind: []) else { continue }
      for _ in 0..<600 {
        let text = Data(Self.text(using: &random).utf8)
        let holds = test.text.holds(for: Bytes(Array(text)))
        guard let item = try? JSONDecoder().decode(Item.self, from: text) else { continue }
        decoded += 1
        #expect(
          text.withUnsafeBytes { test.difference(of: $0, from: item) } == nil,
          "\(String(decoding: text, as: UTF8.self))")
        guard let holds else { continue }
        told[index] += 1
        #expect(try holds == predicate.evaluate(item), "\(predicate): \(String(decoding: text, as: UTF8.self))")
      }
    }
    #expect(decoded > 1_000)
    // All but those about a list alone.
    let silent = told.indices.filter { told[$0] == 0 }
    #expect(silent == [23], "\(silent)")
  }

  private struct Wide: Codable, Hashable, Sendable {
    var number: Int128
    var size: UInt128?
  }

  @Test("of integers of 128 bits a text tells what their instance says, whatever they are compared with")
  func wideIntegers() throws {
    let (low, high, top) = (Int128(Int64.min) - 1, Int128(Int64.max) * 10, UInt128(UInt64.max) + 1)
    let predicates: [Predicate<Wide>] = [
      #Predicate { $0.number < high }, #Predicate { $0.number <= low }, #Predicate { $0.number > high },
      #Predicate { $0.number >= low }, #Predicate { $0.number == high },
      #Predicate { (low..<high).contains($0.number) },
      #Predicate { ($0.size ?? 0) < top }, #Predicate { ($0.size ?? 0) >= top },
    ]
    let layout = try layout(of: Wide(number: 1, size: 2))
    for predicate in predicates {
      var test = try #require(StoredTest([predicate], layout: layout, without: [], behind: []))
      for number in [-5, 0, 7, low, high] {
        let wide = Wide(number: number, size: 3)
        let holds = test.text.holds(for: Bytes(Array(try StandardJSONEncoder().encode(wide))))
        #expect(holds != nil || number == low || number == high)
        if let holds { #expect(try holds == predicate.evaluate(wide), "\(predicate): \(number)") }
      }
    }
  }

  // MARK: Queries

  /// Makes something else of a rare value.
  struct Tidy: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var name: String
    var count: Int

    init(id: Int, name: String, count: Int) { (self.id, self.name, self.count) = (id, name, count) }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(Int.self, forKey: .id)
      let name = try container.decode(String.self, forKey: .name)
      self.name = name == "odd" ? "even" : name
      count = try container.decode(Int.self, forKey: .count)
    }
  }

  private struct TidyFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Tidy
    static let defaultKey: DatastoreKey = "Tidy"
    static let currentVersion = Version.one
    let count = Index(\.count)
  }

  private struct PlainFormat: DatastoreFormat {
    typealias Version = TidyFormat.Version
    typealias Instance = Tidy
    static let defaultKey: DatastoreKey = "Tidy"
    static let currentVersion = Version.one
    static let testsStoredText = false
    let count = Index(\.count)
  }

  /// With some odd records.
  private func tidies(count: Int, odd: Set<Int>) -> [Tidy] {
    (0..<count).map { Tidy(id: $0, name: odd.contains($0) ? "odd" : ["even", "other"][$0 % 2], count: $0 % 10) }
  }

  private func filled<Format: DatastoreFormat<TidyFormat.Version, Tidy, Int>>(
    _ format: Format.Type, _ tidies: [Tidy]
  ) async throws -> CodableDatastore.Datastore<Format, ReadWrite> {
    let persistence = MemoryPersistence()
    let store = persistence.datastore(format)
    try await persistence.perform { for tidy in tidies { try await store.persist(tidy) } }
    return store
  }

  @Test("counts over texts are right with one processor and with several")
  func counts() async throws {
    for count in [10, 3_000, 9_000] {
      let store = try await filled(TidyFormat.self, tidies(count: count, odd: []))
      let query = store.load(where: #Predicate { $0.name == "even" }).scanning()
      #expect(try await query.count == count / 2)
      #expect(try await query.where(#Predicate { $0.id > 7 }).count == count / 2 - 4)
      #expect(try await query.exists)
      #expect(try await store.load(where: #Predicate { $0.name == "none" }).scanning().count == 0)
      #expect(try await store.load(where: #Predicate { $0.name == "none" }).scanning().exists == false)
      #expect(try await query.sum(of: \.count) == (0..<count).filter { $0 % 2 == 0 }.reduce(0) { $0 + $1 % 10 })
      #expect(store.core.stored.withLock { $0.layout } != nil || count == 10)
      #expect(try await !query.explain().contains("DECODE"))
    }
  }

  @Test("what is deleted meets the conditions as an instance, whatever its text says")
  func deleted() async throws {
    let store = try await filled(TidyFormat.self, tidies(count: 3_000, odd: [1_000, 1_002]))
    // Traced on records whose texts and instances agree.
    #expect(try await store.load(where: #Predicate { $0.name == "even" }).scanning().limit(3).all().count == 3)
    #expect(try await store.load(where: #Predicate { $0.name == "odd" }).scanning().delete() == 0)
    let even = store.load(where: #Predicate { $0.name == "even" }).scanning()
    let expected = try await store.load(...).collectInstances(upTo: .infinity).filter { $0.name == "even" }
    #expect(try await even.delete() == expected.count)
    #expect(try await store.count == 3_000 - expected.count)
  }

  @Test(
    "a value that an init(from:) changes turns texts off when an instance with it is decoded, and the answer is whole")
  func changedValue() async throws {
    // One odd record of each is decoded in any case: it is one of those that are compared.
    for odd in [[20], [78], [40, 78]] as [Set<Int>] {
      let store = try await filled(TidyFormat.self, tidies(count: 3_000, odd: odd))
      let expected = (0..<3_000).filter { $0 % 2 == 0 || odd.contains($0) }
      let query = store.load(where: #Predicate { $0.name == "even" }).scanning()
      #expect(try await query.count == expected.count)
      #expect(try await query.explain().hasSuffix(" · DECODE name"))
      #expect(try await query.collectInstances(upTo: .infinity).map(\.id) == expected)
      #expect(try await !store.load(where: #Predicate { $0.count == 3 }).explain().contains("DECODE"))
    }
  }

  @Test(
    "an instance that its text would have left out is not missing from sums, deletions and sorts, nor from an iteration unnoticed"
  )
  func changedAnswer() async throws {
    // The first is left out by its text, the second is compared.
    let tidies = tidies(count: 3_000, odd: [40, 78])
    let expected = tidies.filter { $0.id % 2 == 0 }
    func query(_ store: CodableDatastore.Datastore<TidyFormat, ReadWrite>) -> Query<TidyFormat, ReadWrite> {
      store.load(where: #Predicate { $0.name == "even" }).scanning()
    }
    #expect(try await query(filled(TidyFormat.self, tidies)).sum(of: \.id) == expected.map(\.id).reduce(0, +))
    let sorted = try await query(filled(TidyFormat.self, tidies)).sorted(by: \.name).limit(3, offset: 19)
      .collectInstances(upTo: .infinity)
    #expect(sorted.map(\.id) == [38, 40, 42])
    let store = try await filled(TidyFormat.self, tidies)
    #expect(try await query(store).delete() == expected.count)
    #expect(try await store.count == 3_000 - expected.count)
    let walked = try await filled(TidyFormat.self, tidies)
    await #expect(throws: DecodedOtherwise.self) { for try await _ in query(walked) {} }
    #expect(try await query(walked).collectInstances(upTo: .infinity).map(\.id) == expected.map(\.id))
  }

  @Test("an instance that only its text would let in is in no sum, sort or group, nor unnoticed in selected values")
  func changedWithin() async throws {
    func query() async throws -> Query<TidyFormat, ReadWrite> {
      let store = try await filled(TidyFormat.self, tidies(count: 3_000, odd: [40]))
      return store.load(where: #Predicate { $0.name == "odd" }).scanning()
    }
    #expect(try await query().sum(of: \.id) == 0)
    #expect(try await query().sorted(by: \.count).all().isEmpty)
    #expect(try await query().grouped(by: \.name) { $0.count }.isEmpty)
    let selected = try await query().select(\.name)
    await #expect(throws: DecodedOtherwise.self) { try await selected.all() }
    #expect(try await selected.all().isEmpty)
  }

  @Test("a format can forbid texts")
  func forbidden() async throws {
    let store = try await filled(PlainFormat.self, tidies(count: 3_000, odd: [1_001]))
    #expect(try await store.load(where: #Predicate { $0.name == "even" }).scanning().count == 1_501)
    #expect(store.core.stored.withLock { $0.layout } == nil)
  }

  @Test("queries by an index with a second condition answer as a loop does, whatever the conditions")
  func secondConditions() async throws {
    var random = SystemRandomNumberGenerator()
    let tidies = (0..<4_000).map { id in
      Tidy(id: id, name: ["A", "é", "B\"", "K", "even"].randomElement(using: &random) ?? "", count: id % 7)
    }
    let store = try await filled(TidyFormat.self, tidies)
    for (count, name) in (0..<7).flatMap({ count in ["A", "é", "B\"", "K", "e\u{301}", "Z"].map { (count, $0) } }) {
      let expected = tidies.filter { $0.count == count && $0.name < name }
      let query = store.load(where: #Predicate { $0.count == count && $0.name < name })
      #expect(try await query.collectInstances(upTo: .infinity) == expected)
      #expect(try await query.count == expected.count)
      #expect(try await query.first == expected.first)
      #expect(
        try await query.sorted(by: \.name).limit(3).collectInstances(upTo: .infinity).map(\.name)
          == Array(expected.map(\.name).sorted().prefix(3)))
    }
  }
}
