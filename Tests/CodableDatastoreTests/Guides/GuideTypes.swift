import CodableDatastore
import Foundation

struct Plant: Codable, Identifiable, Sendable {
  var id: UUID = UUID()
  var name: String
  var height: Double
}

struct PlantFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case first = 1 }
  typealias Instance = Plant
  static let defaultKey: DatastoreKey = "Plants"
  static let currentVersion = Version.first

  let name = Index(\.name)
  let height = Index(\.height)
}

extension PlantFormat {
  static func datastore(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [.first: { decoder, data in try decoder.decode(Plant.self, from: data) }])
  }
}

struct City: Codable, Identifiable, Sendable {
  var id: Int
  var name: String
  var country: String
  var population: Int
  var otherNames: [String]
  var code: String
}

struct CityFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case first = 1 }
  typealias Instance = City
  static let defaultKey: DatastoreKey = "Cities"
  static let currentVersion = Version.first

  let name = Index(\.name)
  let largest = Index(\.country, \.population.descending)
  let otherNames = ManyToManyIndex(\.otherNames)
  @Direct var population = Index(\.population)
  @Unique var code = OneToOneIndex(\.code)
}

enum Size: Int, Codable, Comparable, OrderedKey, DiscreteIndexable {
  case small = 1, medium, large
  static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

struct PlainNote: Codable, Identifiable, Sendable {
  var id: Int
  var text: String
}

struct PlainNoteFormat: DatastoreFormat {
  typealias Version = NoteFormat.Version
  typealias Instance = PlainNote
  static let defaultKey: DatastoreKey = "Notes"
  static let currentVersion = Version.plain
}

struct Note: Codable, Identifiable, Sendable {
  var id: Int
  var title: String
  var text: String
}

extension Note {
  init(_ note: PlainNote) {
    let lines = note.text.split(separator: "\n", maxSplits: 1)
    self.init(id: note.id, title: String(lines.first ?? ""), text: String(lines.dropFirst().first ?? ""))
  }
}

struct NoteFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case plain = 1, titled = 2 }
  typealias Instance = Note
  static let defaultKey: DatastoreKey = "Notes"
  static let currentVersion = Version.titled

  let title = Index(\.title)

  static func reader(in persistence: some Persistence) -> Self.ReadOnlyDatastore {
    .readOnlyJSONStore(
      persistence: persistence,
      migrations: [
        .plain: { decoder, data in Note(try decoder.decode(PlainNote.self, from: data)) },
        .titled: { decoder, data in try decoder.decode(Note.self, from: data) },
      ])
  }
}

extension NoteFormat {
  static func datastore(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [
        .plain: { decoder, data in Note(try decoder.decode(PlainNote.self, from: data)) },
        .titled: { decoder, data in try decoder.decode(Note.self, from: data) },
      ])
  }
}

struct Account: Codable, Identifiable, Sendable {
  var id: String
  var balance: Int
}

struct AccountFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case first = 1 }
  typealias Instance = Account
  static let defaultKey: DatastoreKey = "Accounts"
  static let currentVersion = Version.first
}

struct Poet: Codable, Identifiable, Sendable {
  var id: Int
  var name: String
}

struct PoetFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Poet
  static let defaultKey: DatastoreKey = "Poets"
  static let currentVersion = Version.first
  let name = Index(\.name)
}

struct Poem: Codable, Identifiable, Sendable {
  var id: Int
  var title: String
  var poet: Int?
}

struct PoemFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Poem
  static let defaultKey: DatastoreKey = "Poems"
  static let currentVersion = Version.first
  let poet = Reference(\.poet, to: PoetFormat.self)
}
