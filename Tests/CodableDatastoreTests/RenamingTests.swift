import StrataModel
import Foundation
import StrataLocks
import StrataEngine
import Testing

@testable import CodableDatastore

@Suite("Renamed properties")
struct RenamingTests {
  struct Old: Codable, Identifiable, Sendable {
    var id: Int
    var name: String
    var rating: Rating
  }

  struct OldFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Old
    static let defaultKey: DatastoreKey = "Films"
    static let currentVersion = Version.first
    let name = Index(\.name)
    @Direct var rating = Index(\.rating)
  }

  /// Ordered by its own `<` alone.
  struct Rating: Codable, Comparable, Hashable, Sendable, RangedIndexable {
    var stars: Int
    static func < (left: Self, right: Self) -> Bool { left.stars > right.stars }
  }

  struct New: Codable, Identifiable, Sendable {
    enum CodingKeys: String, CodingKey { case id, title = "name", grade = "rating" }
    var id: Int
    var title: String
    var grade: Rating
  }

  struct NewFormat: DatastoreFormat {
    typealias Version = OldFormat.Version
    typealias Instance = New
    static let defaultKey: DatastoreKey = "Films"
    static let currentVersion = Version.first
    static let renamedProperties = ["name": "title", "rating": "grade"]
    let title = Index(\.title)
    @Direct var grade = Index(\.grade)
  }

  private let persistence = MemoryPersistence()

  private func fill() async throws {
    let old = OldFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Old.self, from: $1) }])
    try await persistence.perform {
      for id in 0..<100 { try await old.persist(Old(id: id, name: "Film \(id)", rating: Rating(stars: id % 5))) }
    }
  }

  @Test("an index whose property and label were renamed keeps its entries; no record is decoded for it")
  func labels() async throws {
    try await fill()
    let decodes = Mutex(0)
    let new = NewFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          decodes.withLock { $0 += 1 }
          return try decoder.decode(New.self, from: data)
        }
      ])
    try await new.warm()
    #expect(decodes.withLock { $0 } == 0)
    let all = try await new.load(...).all()
    #expect(try await new.load(..., from: \.title).all().map(\.id) == all.sorted { $0.title < $1.title }.map(\.id))
    #expect(
      try await new.load(..., from: \.grade).all().map(\.id)
        == all.sorted { ($0.grade, $0.id) < ($1.grade, $1.id) }.map(\.id))
    var film = try #require(try await new.load("Film 7", from: \.title).firstInstance)
    film.title = "Seven"
    try await new.persist(film)
    #expect(try await new.load("Film 7", from: \.title).firstInstance == nil)
    #expect(try await new.load("Seven", from: \.title).firstInstance?.id == 7)
    let view = try #require(try persistence._store.currentView())
    #expect(try view.tree(.index("name", of: "Films")) == nil)
    #expect(try view.tree(.index("title", of: "Films"))?.count == 100)
  }

  @Test("where every record is written anew a renamed index is built anew")
  func withMigration() async throws {
    try await fill()
    struct Format: DatastoreFormat {
      enum Version: Int, CaseIterable { case first = 1, second }
      typealias Instance = New
      static let defaultKey: DatastoreKey = "Films"
      static let currentVersion = Version.second
      static let renamedProperties = ["name": "title", "rating": "grade"]
      let title = Index(\.title)
      @Direct var grade = Index(\.grade)
    }
    let new = Format.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { try $0.decode(New.self, from: $1) }, .second: { try $0.decode(New.self, from: $1) },
      ])
    try await new.migrateEntireStore(ifLessThan: .second)
    #expect(try await new.load("Film 7", from: \.title).firstInstance?.id == 7)
    #expect(try await new.load(..., from: \.grade).all().count == 100)
  }

  @Test("a label that alone has changed moves the index too; what else has changed builds it anew")
  func labelAlone() async throws {
    try await fill()
    struct Format: DatastoreFormat {
      typealias Version = OldFormat.Version
      typealias Instance = Old
      static let defaultKey: DatastoreKey = "Films"
      static let currentVersion = Version.first
      let byName = Index(\.name)
      let byRating = Index(\.rating)
    }
    let films = Format.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Old.self, from: $1) }])
    #expect(try await films.load("Film 7", from: \.byName).firstInstance?.id == 7)
    #expect(try await films.load(..., from: \.byRating).all().count == 100)
  }

  /// The name was renamed, and the type of the rating has changed without a new version.
  struct Changed: Codable, Hashable, Identifiable, Sendable {
    enum CodingKeys: String, CodingKey { case id, title = "name", rating }
    var id: Int
    var title: String
    var rating: String
  }

  struct ChangedFormat: DatastoreFormat {
    typealias Version = OldFormat.Version
    typealias Instance = Changed
    static let defaultKey: DatastoreKey = "Films"
    static let currentVersion = Version.first
    static let renamedProperties = ["name": "title"]
    let title = Index(\.title)
    let rating = Index(\.rating)
  }

  @Test("an index that was only renamed is read and written while another one cannot be built")
  func besideOneThatCannotBeBuilt() async throws {
    try await fill()
    let films = persistence.datastore(ChangedFormat.self)
    let before = try #require(try await persistence.head?.id)
    let seventh = #Predicate<Changed> { $0.title == "Film 7" }
    await #expect(throws: UnreadableInstanceError.self) { try await films.warm() }
    #expect(try await films.load(where: seventh).count == 1)
    #expect(try await films.load(..., from: \.title).count == 100)
    let seen = try await persistence.perform(options: .readOnly) { try await films.load("Film 7", from: \.title).count }
    #expect(seen == 1)
    #expect(try await films.view(at: before).load(where: seventh).count == 1)
    #expect(try await persistence.head?.id == before)
    await #expect(throws: UnreadableInstanceError.self) { try await films.load("9", from: \.rating).count }

    let new = Changed(id: 200, title: "Film 200", rating: "9")
    try await persistence.perform {
      #expect(try await films.load("Film 7", from: \.title).count == 1)
      try await films.persist(new)
      #expect(try await films.load("Film 200", from: \.title).all() == [new])
      #expect(try await films.load(..., from: \.title).count == 101)
    }
    #expect(try await films.load("Film 200", from: \.title).all() == [new])
    #expect(try await films.load(..., from: \.title).count == 101)
    await #expect(throws: UnreadableInstanceError.self) { try await films.load("9", from: \.rating).count }
    for id in 0..<100 { try await films.persist(Changed(id: id, title: "Film \(id)", rating: "\(id % 5)")) }
    #expect(try await films.load("9", from: \.rating).all() == [new])
    #expect(try await films.load(..., from: \.title).count == 101)
  }
}
