@testable import CodableDatastore
import StrataModel
import Foundation
import StrataEngine
import Testing

private struct Person: Codable, Identifiable, Hashable, Sendable {
  var id: Int
  var name: String
  var mentor: Int?
}

private struct PersonFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Person
  static let defaultKey: DatastoreKey = "Person"
  static let currentVersion = Version.first
  let mentor = Reference(\.mentor, to: PersonFormat.self)
}

private struct Letter: Codable, Identifiable, Hashable, Sendable {
  var id: String
  var from: Int
  var text: String = ""
  /// Read from what is stored, and written nowhere.
  var sender: Int? {
    get { from }
    set {}
  }
}

private struct LetterFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Letter
  static let defaultKey: DatastoreKey = "Letter"
  static let currentVersion = Version.first
  let from = Reference(\.from, to: PersonFormat.self)
  let sender = Reference(\.sender, to: PersonFormat.self)
}

/// The letters before their index said where it leads.
private struct PlainLetterFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Letter
  static let defaultKey: DatastoreKey = "Letter"
  static let currentVersion = Version.first
  let from = Index(\.from)
  let sender = Index(\.sender)
}

/// A reference that is spelled with the key of a datastore of another kind.
private struct MisledFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Letter
  static let defaultKey: DatastoreKey = "Misled"
  static let currentVersion = Version.first
  let from = Reference(\.from, to: PersonFormat.self, key: "Letter")
}

@Suite("References: declarations and costs")
struct ReferenceDeclarationTests {
  private let persistence = MemoryPersistence()

  private func people(_ key: DatastoreKey = PersonFormat.defaultKey) -> PersonFormat.Datastore {
    .JSONStore(
      persistence: persistence, key: key,
      migrations: [.first: { decoder, data in try decoder.decode(Person.self, from: data) }])
  }

  private var letters: LetterFormat.Datastore {
    .JSONStore(
      persistence: persistence, migrations: [.first: { decoder, data in try decoder.decode(Letter.self, from: data) }])
  }

  private var engine: any Engine {
    get throws { try persistence._store.connection.storeForWriting() }
  }

  private func fill(_ count: Int) async throws {
    let (people, letters) = (people(), letters)
    try await persistence.perform {
      for id in 0..<count { try await people.persist(Person(id: id, name: "\(id)")) }
      for id in 0..<count { try await letters.persist(Letter(id: "\(id)", from: id / 10)) }
    }
  }

  // MARK: Declarations

  @Test("a reference whose values are not an identifiers of its target is refused when the second of both comes")
  func otherIdentifiers() async throws {
    let misled: MisledFormat.Datastore = .JSONStore(
      persistence: persistence, migrations: [.first: { decoder, data in try decoder.decode(Letter.self, from: data) }])
    let expected = ReferenceError.otherIdentifiers(
      datastore: "Misled", index: "from", values: "Int", target: "Letter", identifiers: "String")
    try await letters.persist(Letter(id: "a", from: 1))
    let head = try await persistence.head?.id
    await #expect(throws: expected) { try await misled.persist(Letter(id: "b", from: 1)) }
    #expect(
      expected.errorDescription == "The reference from of Misled holds Int, but Letter is kept by String.")
    #expect(try await persistence.head?.id == head)
    let other = ReferenceDeclarationTests()
    let first: MisledFormat.Datastore = .JSONStore(
      persistence: other.persistence,
      migrations: [.first: { decoder, data in try decoder.decode(Letter.self, from: data) }])
    try await first.persist(Letter(id: "b", from: 1))
    await #expect(throws: expected) { try await other.letters.persist(Letter(id: "a", from: 1)) }
    #expect(try await other.letters.count == 0)
  }

  @Test("everybody dangles where the target's datastore is not there")
  func noTarget() async throws {
    for id in 0..<3 { try await letters.persist(Letter(id: "\(id)", from: 7)) }
    #expect(try await letters.dangling(\.from, in: people()).map(\.id) == ["0", "1", "2"])
    try await people().persist(Person(id: 7, name: "Ada"))
    #expect(try await letters.dangling(\.from, in: people()).isEmpty)
  }

  @Test("a format that refers to itself leads to the datastore that it is used for, whatever that one's key is")
  func itself() async throws {
    let authors = people("Authors")
    try await authors.persist(Person(id: 1, name: "Ada"))
    try await authors.persist(Person(id: 2, name: "Charles", mentor: 1))
    #expect(
      try await authors.follow(\.mentor, from: Person(id: 2, name: "", mentor: 1), in: authors).map { $0?.id } == [1])
    #expect(try await authors.dangling(\.mentor, in: authors).isEmpty)
    try await authors.delete(1)
    #expect(try await authors.dangling(\.mentor, in: authors) == [DanglingReference(id: 2, target: 1)])
    let view = try engine.head
    let tree = try #require(try view.tree(.records(of: "Authors")))
    #expect(try DatastoreDescriptor(bytes: tree.attributes.array).index("mentor")?.target == "Authors")
  }

  @Test("a property that can be written and keeps its value cannot be cleared, and nothing is changed")
  func computed() async throws {
    try await people().persist(Person(id: 1, name: "Ada"))
    try await letters.persist(Letter(id: "a", from: 1))
    await #expect(throws: ReferenceError.cannotBeCleared(datastore: "Letter", index: "sender")) {
      try await people().delete(1, references: .clear(letters, \.sender))
    }
    #expect(try await people().load(1) != nil)
  }

  @Test("an index that was there before gains its target without a node of it being written")
  func gainsTarget() async throws {
    do {
      let plain: PlainLetterFormat.Datastore = .JSONStore(
        persistence: persistence,
        migrations: [.first: { decoder, data in try decoder.decode(Letter.self, from: data) }])
      try await persistence.perform {
        for id in 0..<5_000 { try await plain.persist(Letter(id: "\(id)", from: id % 70)) }
      }
    }
    let before = try engine.counts
    try await letters.warm()
    let after = try engine.counts
    #expect(after.commits - before.commits == 1)
    // The catalog says it, which is one node here; the two indexes have hundreds.
    #expect(after.nodesWritten - before.nodesWritten <= 2)
    #expect(try await letters.load(referringTo: 3, through: \.from).collectInstances(upTo: .infinity).count == 72)
  }

  // MARK: Costs

  @Test(
    "who refers to one is read in as many nodes as the index is deep, and one way to each", arguments: [500, 10_000])
  func backlinks(count: Int) async throws {
    try await fill(count)
    let before = try engine.counts
    let found = try await letters.load(referringTo: 7, through: \.from).collectInstances(upTo: .infinity)
    let after = try engine.counts
    #expect(found.count == 10)
    // No tree here is deeper than four: two ways to the ends of the range, one along it, and one to each record.
    #expect(after.nodeReads - before.nodeReads <= 4 * UInt64(3 + 10))
    // Beside the records themselves, what the catalog says of the trees.
    #expect(after.valueReads - before.valueReads <= 10 + 4)
  }

  @Test("what dangles is found by one walk along each tree, and no record is read")
  func danglingCost() async throws {
    try await fill(5_000)
    try await persistence.perform { for id in 100..<200 { try await people().delete(id) } }
    let view = try engine.head
    let before = try engine.counts
    for name in [TreeName.index("from", of: "Letter"), .records(of: "Person")] {
      var cursor = try #require(try view.tree(name)).cursor()
      try cursor.seekToStart()
      while cursor.currentPayload != nil { try cursor.next() }
    }
    let scanned = try engine.counts
    let dangling = try await letters.dangling(\.from, in: people())
    let after = try engine.counts
    #expect(dangling.count == 1_000)
    #expect(after.nodeReads - scanned.nodeReads <= scanned.nodeReads - before.nodeReads + 8)
    // What the catalog says of the trees, whatever they hold.
    #expect(after.valueReads - scanned.valueReads <= 4)
  }

  @Test("the history of a property reads the versions of its own record, whatever else was written")
  func propertyCost() async throws {
    try await fill(300)
    for version in 1...5 {
      try await letters.persist(Letter(id: "7", from: 0, text: "\(version)"))
      for id in 20..<40 { try await letters.persist(Letter(id: "\(id)", from: 0, text: "\(version)")) }
    }
    let before = try engine.counts
    let texts = try await letters.history(of: "7", \.text).collectInstances(upTo: .infinity).map(\.value)
    let after = try engine.counts
    #expect(texts == ["5", "4", "3", "2", "1", ""])
    // A version is its place in the chain and its content.
    #expect(after.valueReads - before.valueReads <= 2 * 6 + 4)
  }
}
