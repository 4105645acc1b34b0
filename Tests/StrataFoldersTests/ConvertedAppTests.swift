import CodableDatastore
import Foundation
import Testing

@testable import StrataFolders

/// An app that switches its dependency opens what was converted with its own formats.
@Suite("Apps on converted stores", .enabled(if: Fixture.areThere, Fixture.absence))
struct ConvertedAppTests {
  private func converted(_ name: String, in directory: TemporaryDirectory) throws -> URL {
    let fixture = try Fixture(name)
    defer { withExtendedLifetime(fixture) {} }
    let target = directory.path + "/\(name).strata"
    let converter = try FolderConverter(from: fixture.path, to: target)
    _ = try converter.run()
    return URL(filePath: target)
  }

  struct Person: Codable, Identifiable, Sendable, Equatable {
    var id: UUID
    var first: String
    var last: String
    var email: String?
    var age: Int

    /// As the first version of the app kept people.
    struct First: Codable {
      var id: UUID
      var name: String
      var age: Int
    }
  }

  struct PersonFormat: DatastoreFormat {
    enum Version: String, CaseIterable, Sendable {
      case first = "2024-01-01"
      case second = "2025-06-01"
    }
    typealias Instance = Person
    static let defaultKey: DatastoreKey = "people"
    static let currentVersion = Version.second

    let first = Index(\.first)
    let name = Index(\.last)
    @Direct var email = Index(\.email)
  }

  @Test(
    "people of two versions, with an index that had kept its old meaning",
    .enabled(if: Fixture.names.contains("migrated")))
  func people() async throws {
    let directory = try TemporaryDirectory()
    let persistence = try DiskPersistence(readWriteURL: converted("migrated", in: directory))
    let store = PersonFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let old = try decoder.decode(Person.First.self, from: data)
          let parts = old.name.split(separator: " ")
          return Person(id: old.id, first: String(parts[0]), last: String(parts[1]), age: old.age)
        },
        .second: { decoder, data in try decoder.decode(Person.self, from: data) },
      ])
    try await store.warm()
    #expect(try await store.count == 31)
    // The original library cannot find these: its index `name` holds whole names.
    let found = try await store.load("Last4", from: \.name).collectInstances(upTo: 100)
    #expect(found.map(\.last) == ["Last4"])
    var person = try #require(found.first)
    person.last = "Changed"
    try await store.persist(person)
    #expect(try await store.load("Last4", from: \.name).collectInstances(upTo: 9).isEmpty)
    #expect(try await store.load("Changed", from: \.name).collectInstances(upTo: 9).map(\.id) == [person.id])
    #expect(
      try await store.load("First0", from: \.first).collectInstances(upTo: 99).allSatisfy { $0.first == "First0" })
    let commits = try await persistence.commits.collectInstances(upTo: 20).map(\.action)
    #expect(commits.contains("Import v1"))
  }

  struct Gadget: Codable, Identifiable, Sendable {
    struct Size: Codable, Sendable {
      var w: Double
      var h: Double
    }
    var id: Int
    var name: String
    var blob: Data
    var made: Date
    var size: Size
    var serials: [Int]
    var active: Bool
    var note: String?
    var extra: [String: String]
  }

  struct GadgetFormat: DatastoreFormat {
    enum Version: String, CaseIterable, Sendable { case only = "1" }
    typealias Instance = Gadget
    static let defaultKey: DatastoreKey = "gadgets.binary"
    static let currentVersion = Version.only

    @Direct var made = Index(\.made)
    let serial = ManyToManyIndex(\.serials)
    let name = Index(\.name)
  }

  @Test(
    "binary property lists, and an index over dates that is rebuilt exactly",
    .enabled(if: Fixture.names.contains("plist")))
  func gadgets() async throws {
    let directory = try TemporaryDirectory()
    let persistence = try DiskPersistence(readWriteURL: converted("plist", in: directory))
    let store = GadgetFormat.Datastore.propertyListStore(
      persistence: persistence, migrations: [.only: { decoder, data in try decoder.decode(Gadget.self, from: data) }])
    try await store.warm()
    #expect(try await store.count == 21)
    let all = try await store.load(..., from: \.made).collectInstances(upTo: 99)
    #expect(all.count == 21)
    #expect(all.map(\.made) == all.map(\.made).sorted())
    #expect(try await store.load(5, from: \.serial).collectInstances(upTo: 99).count == 21)
    try await store.delete(all[3])
    #expect(try await store.load(..., from: \.made).collectInstances(upTo: 99).count == 20)
  }

  // MARK: Types whose order only the app knows

  struct Place: Comparable, DiscreteIndexable, RangedIndexable {
    var region: String
    var number: Int

    static func < (left: Self, right: Self) -> Bool { (left.region, left.number) < (right.region, right.number) }
  }

  struct Sight: Codable, Identifiable, Sendable {
    var id: Place
    var stars: Int
  }

  struct SightFormat: DatastoreFormat {
    enum Version: Int, CaseIterable, Sendable { case only = 1 }
    typealias Instance = Sight
    static let defaultKey: DatastoreKey = "sights"
    static let currentVersion = Version.only

    let stars = Index(\.stars)
  }

  @Test("composite identifiers keep their order, and the app finds, changes and inserts records by them")
  func compositeIdentifiers() async throws {
    let builder = try FolderBuilder()
    let places = [("AT", 9), ("AT", 10), ("CH", 1), ("CH", 20)]
    func identifier(_ place: (String, Int)) -> String {
      "{\n  \"number\" : \(place.1),\n  \"region\" : \"\(place.0)\"\n}"
    }
    for count in [2, 4] {
      let records = places.prefix(count).map {
        FolderBuilder.Entry.record(identifier($0), "{\"id\":{\"region\":\"\($0.0)\",\"number\":\($0.1)},\"stars\":3}")
      }
      builder.commit(
        [
          .init(
            key: "sights", identifierType: "Place", records: records,
            indexes: [
              .init(
                name: "stars", type: "OneToManyIndex(Int)",
                entries: places.prefix(count).map { .reference("3", identifier($0)) })
            ])
        ], action: "write \(count)")
    }
    let target = builder.directory.path + "/sights.strata"
    let converter = try FolderConverter(from: builder.path, to: target)
    _ = try converter.run()
    let persistence = try DiskPersistence(readWriteURL: URL(filePath: target))
    let store = SightFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { decoder, data in try decoder.decode(Sight.self, from: data) }])
    try await store.warm()
    #expect(try await store.load(Place(region: "AT", number: 10))?.stars == 3)
    try await store.persist(Sight(id: Place(region: "AT", number: 11), stars: 5))
    try await store.persist(Sight(id: Place(region: "CH", number: 1), stars: 1))
    try await store.delete(Place(region: "AT", number: 9))
    let all = try await store.load(...).collectInstances(upTo: 99)
    #expect(all.map(\.id.number) == [10, 11, 1, 20])
    #expect(try await store.load(1...3, from: \.stars).collectInstances(upTo: 99).map(\.id.number) == [1, 10, 20])
  }

  @Test("the folder itself is refused with a word on converting it")
  func refusal() async throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "a")])
    #expect {
      _ = try DiskPersistence(readWriteURL: URL(filePath: builder.path))
    } throws: { "\($0)".contains("strata convert") || "\($0.localizedDescription)".contains("strata convert") }
  }
}
