import CodableDatastore
import Foundation
import Testing

@Suite("Bad input")
struct BadInputTests {
  let persistence = MemoryPersistence()

  struct Measure: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var value: Double
  }

  struct MeasureFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Measure
    static let defaultKey: DatastoreKey = "Measures"
    static let currentVersion = Version.only
    let value = Index(\.value)
  }

  @Test("NaN is refused as an index value, in writing and in asking")
  func notANumber() async throws {
    let measures = MeasureFormat.Datastore.propertyListStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Measure.self, from: $1) }])
    try await measures.persist(Measure(id: 1, value: 1))
    let error = await #expect(throws: InvalidKeyError.self) { try await measures.persist(Measure(id: 2, value: .nan)) }
    #expect(error?.index == "value")
    await #expect(throws: InvalidKeyError.self) {
      try await measures.load(IndexRange(lower: .including(.nan)), from: \.value).all()
    }
    try await measures.persist(Measure(id: 3, value: -.infinity))
    #expect(try await measures.load(..., from: \.value).all().map(\.id) == [3, 1])
  }

  struct ClashingFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Book
    static let defaultKey: DatastoreKey = "Clashing"
    static let currentVersion = Version.only
    let title = Index(\.title)
    let _title = Index(\.isbn)
  }

  @Test("two indexes of one name are refused at the first use")
  func clashingNames() async throws {
    let books = ClashingFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Book.self, from: $1) }])
    let error = await #expect(throws: IndexDeclarationError.self) { try await books.persist(Book(id: 1, title: "A")) }
    #expect(error?.index == "title")
    await #expect(throws: IndexDeclarationError.self) { try await books.warm() }
  }

  enum Hand: String, Codable, Comparable, CaseIterable, DiscreteIndexable {
    case rock, paper, scissors
    /// Each before the other.
    static func < (left: Self, right: Self) -> Bool { left != right }
  }

  struct Game: Codable, Identifiable, Sendable {
    var id: Int
    var hand: Hand
  }

  struct GameFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Game
    static let defaultKey: DatastoreKey = "Games"
    static let currentVersion = Version.only
    let hand = Index(\.hand)
  }

  @Test("an order that contradicts itself is refused, with the keys, and the store is as before")
  func disorder() async throws {
    let games = GameFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Game.self, from: $1) }])
    var failure: DisorderedKeysError?
    var kept = 0
    for id in 0..<30 where failure == nil {
      do {
        try await games.persist(Game(id: id, hand: Hand.allCases[id % 3]))
        kept += 1
      } catch let error as DisorderedKeysError {
        failure = error
      }
    }
    let error = try #require(failure)
    #expect(error.index == "hand")
    #expect(error.keys.count == 2)
    #expect(try await games.count == kept)
    #expect(try await games.load(..., from: \.hand).all().count == kept)
  }

  struct Throw: Codable, Identifiable, Sendable {
    var id: Contrary
    var number = 0
  }

  /// Each before every other.
  struct Contrary: Codable, Hashable, Comparable, DiscreteIndexable {
    var number: Int
    static func < (left: Self, right: Self) -> Bool { left != right }
  }

  struct ThrowFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Throw
    static let defaultKey: DatastoreKey = "Throws"
    static let currentVersion = Version.only
  }

  @Test("identifiers whose order contradicts itself are refused, and those before them stay")
  func disorderedIdentifiers() async throws {
    let throwing = ThrowFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Throw.self, from: $1) }])
    var kept: [Int] = []
    var failure: DisorderedKeysError?
    for number in 0..<12 where failure == nil {
      do {
        try await throwing.persist(Throw(id: Contrary(number: number)))
        kept.append(number)
      } catch let error as DisorderedKeysError {
        failure = error
      }
    }
    let error = try #require(failure)
    #expect(error.index == nil)
    #expect(error.datastore == "Throws")
    #expect(try await throwing.count == kept.count)
  }

  struct PlainGameFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Game
    static let defaultKey: DatastoreKey = "Games"
    static let currentVersion = Version.only
  }

  @Test("a warm-up that meets disorder fails with the index and the keys, and the store is as before")
  func disorderedWarmUp() async throws {
    do {
      let plain = PlainGameFormat.Datastore.JSONStore(
        persistence: persistence, migrations: [.only: { try $0.decode(Game.self, from: $1) }])
      for id in 0..<30 { try await plain.persist(Game(id: id, hand: Hand.allCases[id % 3])) }
    }
    let before = try await persistence.head
    do {
      let games = GameFormat.Datastore.JSONStore(
        persistence: persistence, migrations: [.only: { try $0.decode(Game.self, from: $1) }])
      let error = await #expect(throws: DisorderedKeysError.self) { try await games.warm() }
      #expect(error?.index == "hand")
    }
    #expect(try await persistence.head == before)
    let plain = PlainGameFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Game.self, from: $1) }])
    #expect(try await plain.count == 30)
  }

  @Test("a coder that returns nothing is refused")
  func nothing() async throws {
    let books = PlainBookFormat.Datastore(
      persistence: persistence, encoder: { _ in Data() },
      decoders: [.first: { try JSONDecoder().decode(Book.self, from: $0) }])
    await #expect(throws: EmptyContentError.self) { try await books.persist(Book(id: 1, title: "A")) }
    #expect(try await books.count == 0)
  }

  @Test("an unknown version is a decoding error, of a store which this program does not fit")
  func unknownVersion() async throws {
    do {
      let books = PlainBookFormat.Datastore.JSONStore(
        persistence: persistence, version: .second, migrations: [.second: { try $0.decode(Book.self, from: $1) }])
      try await books.persist(Book(id: 1, title: "A"))
    }
    let older = OneVersionFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Book.self, from: $1) }])
    let error = await #expect(throws: DecodingError.self) { try await older.load(1) }
    #expect("\(error as Any)".contains("Books: Version "))
    await #expect(throws: DecodingError.self) { try await older.persist(Book(id: 2, title: "B")) }
  }

  struct OneVersionFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Book
    static let defaultKey = PlainBookFormat.defaultKey
    static let currentVersion = Version.first
  }
}
