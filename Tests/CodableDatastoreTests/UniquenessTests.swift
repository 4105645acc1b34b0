import CodableDatastore
import Foundation
import Testing

@Suite("Uniqueness and renames")
struct UniquenessTests {
  let persistence = MemoryPersistence()

  struct User: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var email: String
  }

  struct UserFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = User
    static let defaultKey: DatastoreKey = "Users"
    static let currentVersion = Version.only
    @Unique var email = OneToOneIndex(\.email)

    static func datastore(_ persistence: MemoryPersistence) -> Self.Datastore {
      .JSONStore(persistence: persistence, migrations: [.only: { try $0.decode(User.self, from: $1) }])
    }
  }

  struct LooseFormat: DatastoreFormat {
    typealias Version = UserFormat.Version
    typealias Instance = User
    static let defaultKey = UserFormat.defaultKey
    static let currentVersion = Version.only
    var email = OneToOneIndex(\.email)

    static func datastore(_ persistence: MemoryPersistence) -> Self.Datastore {
      .JSONStore(persistence: persistence, migrations: [.only: { try $0.decode(User.self, from: $1) }])
    }
  }

  @Test("a duplicate is refused when the transaction ends; swaps pass")
  func unique() async throws {
    let users = UserFormat.datastore(persistence)
    try await users.persist(User(id: 1, email: "a"))
    try await users.persist(User(id: 2, email: "b"))
    let error = await #expect(throws: UniquenessError.self) { try await users.persist(User(id: 3, email: "a")) }
    #expect(error?.values == ["\"a\""])
    #expect(try await users.count == 2)
    try await persistence.perform {
      try await users.persist(User(id: 1, email: "b"))
      try await users.persist(User(id: 2, email: "a"))
    }
    #expect(try await users.load("a", from: \.email)?.id == 2)
  }

  struct TwiceFormat: DatastoreFormat {
    typealias Version = UserFormat.Version
    typealias Instance = User
    static let defaultKey = UserFormat.defaultKey
    static let currentVersion = Version.only
    let address = OneToOneIndex(\.email)
    @Unique var email = OneToOneIndex(\.email)
  }

  @Test("an index that is declared unique and, under an earlier name, plain is unique")
  func declaredTwice() async throws {
    let users = persistence.datastore(TwiceFormat.self)
    try await users.persist(User(id: 1, email: "a"))
    await #expect(throws: UniquenessError.self) { try await users.persist(User(id: 2, email: "a")) }
    #expect(try await users.load("a", from: \.email)?.id == 1)
  }

  struct Member: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var email: String?
    var town: String
    var seat: Int?
  }

  struct MemberFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Member
    static let defaultKey: DatastoreKey = "Members"
    static let currentVersion = Version.only
    @Unique var email = OneToOneIndex(\.email)
    @Unique var seat = OneToOneIndex(\.town, \.seat)
  }

  @Test("any number of instances may have nil for a unique value, or for a tier of it")
  func uniqueNil() async throws {
    let members = persistence.datastore(MemberFormat.self)
    for id in 1...3 { try await members.persist(Member(id: id, town: "Zug")) }
    try await members.persist(Member(id: 4, email: "a", town: "Zug", seat: 1))
    let error = await #expect(throws: UniquenessError.self) {
      try await members.persist(Member(id: 5, email: "a", town: "Bern", seat: 1))
    }
    #expect(error?.values == ["\"a\""])
    await #expect(throws: UniquenessError.self) { try await members.persist(Member(id: 5, town: "Zug", seat: 1)) }
    #expect(try await members.load(where: #Predicate { $0.email == nil }).count == 3)
    #expect(try await members.rehearseMigration().succeeds)
  }

  @Test("over duplicates that are there, opening lists them")
  func existing() async throws {
    do {
      let loose = LooseFormat.datastore(persistence)
      for (id, email) in [(1, "a"), (2, "b"), (3, "a"), (4, "b"), (5, "c")] {
        try await loose.persist(User(id: id, email: email))
      }
    }
    do {
      let users = UserFormat.datastore(persistence)
      let rehearsal = try await users.rehearseMigration()
      #expect(rehearsal.failures.map(\.identifier) == ["3", "4"])
      #expect(rehearsal.failures.first?.reason == "More than one instance of Users has email \"a\".")
      #expect(!rehearsal.succeeds)
      let error = await #expect(throws: UniquenessError.self) { try await users.warm() }
      #expect(error?.values == ["\"a\"", "\"b\""])
    }
    let loose = LooseFormat.datastore(persistence)
    #expect(try await loose.count == 5)
    try await loose.delete(3)
    try await loose.delete(4)
  }
}

@Suite("Unique compound indexes")
struct UniqueCompoundTests {
  struct Room: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var building: String
    var number: Int
  }

  struct RoomFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Room
    static let defaultKey: DatastoreKey = "Rooms"
    static let currentVersion = Version.only
    @Unique var door = OneToOneIndex(\.building, \.number)
  }

  @Test("a pair that is there is refused, its halves are not; one instance is found by the pair")
  func compound() async throws {
    let rooms = MemoryPersistence().datastore(RoomFormat.self)
    try await rooms.persist(Room(id: 1, building: "A", number: 1))
    try await rooms.persist(Room(id: 2, building: "A", number: 2))
    try await rooms.persist(Room(id: 3, building: "B", number: 1))
    await #expect(throws: UniquenessError.self) { try await rooms.persist(Room(id: 4, building: "A", number: 2)) }
    #expect(try await rooms.count == 3)
    let found: Room? = try await rooms.load(CompoundKey("A", 2), from: \.door)
    #expect(found?.id == 2)
    #expect(try await rooms.load(prefix: "A", from: \.door).all().map(\.id) == [1, 2])
    let pair = rooms.load(where: #Predicate { $0.building == "A" && $0.number > 1 })
    #expect(try await pair.explain().hasPrefix("INDEX door"))
    #expect(try await pair.all().map(\.id) == [2])
  }
}
