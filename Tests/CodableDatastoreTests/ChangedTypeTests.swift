import CodableDatastore
import Foundation
import StrataLocks
import Testing

/// A property whose type changed, while the version of the format did not.
@Suite("Instances that no longer decode")
struct ChangedTypeTests {
  enum Version: Int, CaseIterable { case first = 1, second = 2 }

  struct Part: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var name: String
    var weight: Int
  }
  struct PartFormat: DatastoreFormat {
    typealias Version = ChangedTypeTests.Version
    typealias Instance = Part
    static let defaultKey: DatastoreKey = "Parts"
    static let currentVersion = Version.first
    let name = Index(\.name)
    let weight = Index(\.weight)
  }

  /// As later code has it.
  struct NewPart: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var name: String
    var weight: String
  }
  struct NewPartFormat: DatastoreFormat {
    typealias Version = ChangedTypeTests.Version
    typealias Instance = NewPart
    static let defaultKey: DatastoreKey = "Parts"
    static let currentVersion = Version.first
    let name = Index(\.name)
    let weight = Index(\.weight)
  }
  struct UnindexedPartFormat: DatastoreFormat {
    typealias Version = ChangedTypeTests.Version
    typealias Instance = NewPart
    static let defaultKey: DatastoreKey = "Parts"
    static let currentVersion = Version.first
  }
  struct MigratedPartFormat: DatastoreFormat {
    typealias Version = ChangedTypeTests.Version
    typealias Instance = NewPart
    static let defaultKey: DatastoreKey = "Parts"
    static let currentVersion = Version.second
    let name = Index(\.name)
    let weight = Index(\.weight)
  }

  let place = TemporaryPlace()

  private func fill() async throws {
    let parts = try DiskPersistence(readWriteURL: place.url).datastore(PartFormat.self)
    for id in 1...5 { try await parts.persist(Part(id: id, name: "P\(id)", weight: id * 10)) }
  }

  private func isUnreadable(_ error: any Error, id: String) -> Bool {
    guard let error = error as? UnreadableInstanceError else { return false }
    return error.datastore == "Parts" && error.identifier == id && error.version == "1" && error.codingPath == ".weight"
      && error.errorDescription?.contains("declare a new version") == true
  }

  @Test("a missing migration stops what needs the instance, and the new index, and nothing else")
  func missingMigration() async throws {
    enum Three: Int, CaseIterable { case first = 1, second = 2, third = 3 }
    struct Note: Codable, Hashable, Identifiable, Sendable { var id: Int; var title: String }
    struct NoteFormat: DatastoreFormat {
      typealias Version = Three
      typealias Instance = Note
      static let defaultKey: DatastoreKey = "Notes"
      static let currentVersion = Three.third
      let title = Index(\.title)
    }
    struct PlainFormat: DatastoreFormat {
      typealias Version = Three
      typealias Instance = Note
      static let defaultKey: DatastoreKey = "Notes"
      static let currentVersion = Three.second
    }
    let decode: @Sendable (JSONDecoder, Data) throws -> Note = { try $0.decode(Note.self, from: $1) }
    do {
      let persistence = try DiskPersistence(readWriteURL: place.url)
      for (id, version) in [(1, Three.first), (2, .second)] {
        try await PlainFormat.Datastore.JSONStore(
          persistence: persistence, version: version, migrations: [.first: decode, .second: decode]
        ).persist(Note(id: id, title: "T\(id)"))
      }
      try await persistence.close()
    }
    let notes = NoteFormat.Datastore.JSONStore(
      persistence: try DiskPersistence(readWriteURL: place.url), migrations: [.first: decode, .third: decode])
    #expect(try await notes.count == 2)
    #expect(try await notes.load(1)?.title == "T1")
    try await notes.persist(Note(id: 3, title: "T3"))
    #expect(try await notes.load(3)?.title == "T3")
    let reported = Mutex<[String]>([])
    let left = notes.load(...).skippingUnreadable { error in reported.withLock { $0.append(error.identifier) } }
    #expect(try await left.all().map(\.id) == [1, 3])
    #expect(reported.withLock { $0 } == ["2"])
    await #expect(throws: DatastoreError.self) { try await notes.load(2) }
    await #expect(throws: DatastoreError.self) { try await notes.warm() }
    await #expect(throws: (any Error).self) { try await notes.load("T1", from: \.title).all() }
  }

  @Test("a migration that throws an error of its own stops what needs the instance, and the index, and no more")
  func migrationThatThrows() async throws {
    struct Odd: Error {}
    try await fill()
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let parts = MigratedPartFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let part = try decoder.decode(Part.self, from: data)
          if part.id == 2 { throw Odd() }
          return NewPart(id: part.id, name: part.name, weight: "\(part.weight) g")
        }, .second: { try $0.decode(NewPart.self, from: $1) },
      ])
    @Sendable func isOdd(_ error: any Error) -> Bool {
      guard let error = error as? UnreadableInstanceError else { return false }
      return error.datastore == "Parts" && error.identifier == "2" && error.version == "1" && error.codingPath.isEmpty
        && error.underlying is Odd && error.errorDescription?.contains("Odd(). The decoder of version 1 threw") == true
    }
    #expect(try await parts.count == 5)
    #expect(try await parts.load(1)?.weight == "10 g")
    try await parts.persist(NewPart(id: 9, name: "P9", weight: "9 g"))
    #expect(try await parts.load(9)?.weight == "9 g")
    await #expect(throws: Odd.self) { try await parts.load(2) }
    await #expect(throws: Odd.self) { try await parts.load(...).all() }
    await #expect { try await parts.load("30 g", from: \.weight).all() } throws: { isOdd($0) }
    // A plan is that of a read.
    let last = parts.load(where: #Predicate { $0.id > 5 })
    #expect(try await last.all().map(\.id) == [9])
    #expect(try await last.explain().hasPrefix("INDEX id"))
    let heavy = parts.load(where: #Predicate { $0.weight == "30 g" })
    await #expect { try await heavy.all() } throws: { isOdd($0) }
    await #expect { try await heavy.explain() } throws: { isOdd($0) }
    await #expect(throws: Odd.self) { try await parts.warm() }
    await #expect(throws: Odd.self) { try await parts.migrateEntireStore(ifLessThan: .second) }
    await #expect(throws: Odd.self) { try await parts.delete(2) }
    let odd = Mutex<[Bool]>([])
    let rest = parts.load(...).skippingUnreadable { error in odd.withLock { $0.append(isOdd(error)) } }
    #expect(try await rest.all().map(\.id) == [1, 3, 4, 5, 9])
    #expect(odd.withLock { $0 } == [true])
    try await parts.persist(NewPart(id: 2, name: "P2", weight: "20 g"))
    #expect(try await parts.load("20 g", from: \.weight).all().map(\.id) == [2])
  }

  @Test("a selection can leave them out, and reports each of them")
  func leftOut() async throws {
    try await fill()
    let parts = try DiskPersistence(readWriteURL: place.url).datastore(UnindexedPartFormat.self)
    let new = NewPart(id: 9, name: "P9", weight: "9 g")
    try await parts.persist(new)
    let reported = Mutex<Set<String>>([])
    func left(_ selection: Selection<UnindexedPartFormat, ReadWrite>) -> Selection<UnindexedPartFormat, ReadWrite> {
      reported.withLock { $0 = [] }
      return selection.skippingUnreadable { error in reported.withLock { _ = $0.insert(error.identifier) } }
    }
    let all = Set((1...5).map(String.init))
    #expect(try await left(parts.load(...)).all() == [new])
    #expect(reported.withLock { $0 } == all)
    #expect(try await left(parts.load(2...)).all() == [new])
    #expect(reported.withLock { $0 } == all.subtracting(["1"]))
    #expect(try await left(parts.load(...)).scanning().sorted(by: \.name, .descending).all() == [new])
    #expect(reported.withLock { $0 } == all)
    let groups = try await left(parts.load(...)).grouped(by: \.weight) { $0.count }
    #expect(groups.map(\.key) == ["9 g"] && groups.map(\.figures) == [1])
    #expect(reported.withLock { $0 } == all)
    #expect(try await left(parts.load(...)).update { $0.weight = "8 g" } == 1)
    #expect(try await left(parts.load(...)).select(\.weight).all() == ["8 g"])
    #expect(try await left(parts.load(...)).live().firstInstance?.map(\.id) == [9])
  }

  @Test("without an index over it, only what needs such an instance throws, and says which and what to do")
  func unindexed() async throws {
    try await fill()
    let parts = try DiskPersistence(readWriteURL: place.url).datastore(UnindexedPartFormat.self)
    #expect(try await parts.count == 5)
    try await parts.persist(NewPart(id: 9, name: "P9", weight: "9 g"))
    #expect(try await parts.load(9)?.weight == "9 g")
    await #expect { try await parts.load(2) } throws: { isUnreadable($0, id: "2") }
    await #expect { try await parts.load(...).all() } throws: { isUnreadable($0, id: "1") }
    await #expect { try await parts.load(where: #Predicate { $0.name == "P3" }).scanning().all() } throws: {
      isUnreadable($0, id: "1")
    }
    let third = parts.load(where: #Predicate { $0.name == "P3" }).scanning()
    await #expect { try await third.count } throws: { isUnreadable($0, id: "1") }
    await #expect { try await third.sorted(by: \.name).all() } throws: { isUnreadable($0, id: "1") }
    await #expect { try await parts.delete(2) } throws: { isUnreadable($0, id: "2") }
    #expect(try await parts.count == 6)
  }

  @Test("such an instance is replaced and deleted as any other, with its entries in the indexes")
  func replaced() async throws {
    try await fill()
    do {
      let parts = try DiskPersistence(readWriteURL: place.url).datastore(UnindexedPartFormat.self)
      #expect(try await parts.persist(NewPart(id: 2, name: "P2", weight: "2 g")) == nil)
      #expect(try await parts.load(2)?.weight == "2 g")
      #expect(try await parts.deleteIfPresent(1) == nil)
      await #expect { try await parts.load(3...4).delete { _ in true } } throws: { isUnreadable($0, id: "3") }
      #expect(try await parts.load(3...4).delete() == 2)
      #expect(try await parts.load(5...).delete() == 1)
      #expect(try await parts.load(...).all().map(\.id) == [2])
      #expect(try await parts.load(...).delete() == 1)
    }
    let old = try DiskPersistence(readWriteURL: place.url).datastore(PartFormat.self)
    #expect(try await old.load(..., from: \.name).all().isEmpty)
  }

  @Test("such an instance is replaced and deleted where the indexes are behind it")
  func replacedBehindIndexes() async throws {
    try await fill()
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let parts = persistence.datastore(NewPartFormat.self)
    for id in 1...3 { try await parts.persist(NewPart(id: id, name: "N\(id)", weight: "\(id) g")) }
    #expect(try await parts.load(4...).delete() == 2)
    try await parts.warm()
    #expect(try await parts.load(..., from: \.name).all().map(\.name) == ["N1", "N2", "N3"])
    #expect(try await parts.load("P2", from: \.name).all().isEmpty)
    #expect(try await parts.load(..., from: \.weight).all().map(\.id) == [1, 2, 3])
  }

  @Test("with an index over it, counts, readable instances and new ones go on, and the indexes answer once all decode")
  func indexed() async throws {
    try await fill()
    do {
      let persistence = try DiskPersistence(readWriteURL: place.url)
      let parts = persistence.datastore(NewPartFormat.self)
      #expect(try await parts.count == 5)
      for id in 8...9 { try await parts.persist(NewPart(id: id, name: "P\(id)", weight: "\(id) g")) }
      #expect(try await parts.count == 7)
      #expect(try await parts.load(9)?.weight == "9 g")
      await #expect { try await parts.load(4) } throws: { isUnreadable($0, id: "4") }
      await #expect { try await parts.load("9 g", from: \.weight).all() } throws: { isUnreadable($0, id: "1") }
      await #expect { try await parts.load(where: #Predicate { $0.weight == "9 g" }).count } throws: {
        isUnreadable($0, id: "1")
      }
      await #expect { try await parts.warm() } throws: { isUnreadable($0, id: "1") }
      try await persistence.perform {
        try await parts.persist(NewPart(id: 10, name: "P10", weight: "10 g"))
        #expect(try await parts.load(10)?.name == "P10")
      }
      #expect(try await parts.load("P9", from: \.name).all().map(\.id) == [9])
    }
    // The old program finds an index that is behind, and what it cannot read.
    do {
      let old = try DiskPersistence(readWriteURL: place.url).datastore(PartFormat.self)
      #expect(try await old.load(2)?.weight == 20)
      await #expect(throws: UnreadableInstanceError.self) { try await old.load(20, from: \.weight).all() }
    }
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let narrow = MigratedPartFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let part = try decoder.decode(Part.self, from: data)
          return NewPart(id: part.id, name: part.name, weight: "\(part.weight) g")
        }, .second: { try $0.decode(NewPart.self, from: $1) },
      ])
    // Names the instance that was written under the old number.
    await #expect { try await narrow.load(9) } throws: { error in
      guard let error = error as? UnreadableInstanceError else { return false }
      return error.identifier == "9" && error.version == "1" && error.codingPath == ".weight"
        && error.errorDescription?.contains("migration of version 1 must decode it") == true
    }
    let wide = MigratedPartFormat.Datastore.JSONStore(
      persistence: try DiskPersistence(readWriteURL: place.url),
      migrations: [
        .first: { decoder, data in
          if let part = try? decoder.decode(NewPart.self, from: data) { return part }
          let part = try decoder.decode(Part.self, from: data)
          return NewPart(id: part.id, name: part.name, weight: "\(part.weight) g")
        }, .second: { try $0.decode(NewPart.self, from: $1) },
      ])
    #expect(try await wide.load("20 g", from: \.weight).all().map(\.id) == [2])
    #expect(try await wide.load(..., from: \.weight).all().count == 8)
    #expect(try await wide.load(where: #Predicate { $0.name == "P10" }).count == 1)
  }

  @Test("an error names an instance by the identifier that the store has, and is made of sentences")
  func oldIdentifier() async throws {
    struct Named: Codable, Identifiable, Sendable { var id: String }
    struct NamedFormat: DatastoreFormat {
      typealias Version = ChangedTypeTests.Version
      typealias Instance = Named
      static let defaultKey: DatastoreKey = "Parts"
      static let currentVersion = Version.second
    }
    struct Overweight: LocalizedError { var errorDescription: String? { "too heavy" } }
    try await fill()
    let named = NamedFormat.Datastore.JSONStore(
      persistence: try DiskPersistence(readWriteURL: place.url),
      migrations: [
        .first: { decoder, data in
          let part = try decoder.decode(Part.self, from: data)
          if part.id == 4 { throw Overweight() }
          return Named(id: part.name)
        }, .second: { try $0.decode(Named.self, from: $1) },
      ])
    await #expect { try await named.load("P1") } throws: { error in
      guard let error = error as? UnreadableInstanceError else { return false }
      return error.identifier == "4" && error.errorDescription?.contains("too heavy. The decoder of version 1") == true
    }
    #expect(try await named.rehearseMigration().failures.map(\.identifier) == ["4"])
  }

  @Test(
    "after a change of the identifier's type the count goes on, and every other call says which migration is missing")
  func changedIdentifier() async throws {
    struct Named: Codable, Hashable, Identifiable, Sendable { var id: String; var name: String }
    struct NamedFormat: DatastoreFormat {
      typealias Version = ChangedTypeTests.Version
      typealias Instance = Named
      static let defaultKey: DatastoreKey = "Parts"
      static let currentVersion = Version.first
      let name = Index(\.name)
    }
    try await fill()
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let named = persistence.datastore(NamedFormat.self)
    func isUnreadable(_ error: any Error) -> Bool {
      guard let error = error as? UnreadableInstanceError else { return false }
      return error.identifier == "1" && error.codingPath == ".id"
        && error.errorDescription?.contains("a migration that decodes version 1") == true
    }
    let head = try await persistence.head?.id
    #expect(try await named.count == 5)
    for options in [TransactionOptions.readOnly, []] {
      let count = try await persistence.perform(options: options) { try await named.count }
      #expect(count == 5)
    }
    await #expect { try await named.load("1") } throws: { isUnreadable($0) }
    await #expect { try await named.load(...).all() } throws: { isUnreadable($0) }
    await #expect { try await named.load("P1", from: \.name).count } throws: { isUnreadable($0) }
    await #expect { try await named.persist(Named(id: "a", name: "A")) } throws: { isUnreadable($0) }
    #expect(try await persistence.head?.id == head)
  }

  @Test("a state whose identifiers were of another type is read whole and by indexes, and not by identifiers")
  func formerIdentifiers() async throws {
    struct Named: Codable, Hashable, Identifiable, Sendable {
      var id: String
      var name: String
    }
    struct NamedFormat: DatastoreFormat {
      typealias Version = ChangedTypeTests.Version
      typealias Instance = Named
      static let defaultKey: DatastoreKey = "Parts"
      static let currentVersion = Version.second
      let name = Index(\.name)
      static let migrations: [Version: @Sendable (JSONDecoder, Data) async throws -> Named] = [
        .first: { decoder, data in
          let part = try decoder.decode(Part.self, from: data)
          return Named(id: "p\(part.id)", name: part.name)
        },
        .second: { decoder, data in try decoder.decode(Named.self, from: data) },
      ]
    }
    try await fill()
    let reading = NamedFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: DiskPersistence(readOnlyURL: place.url), migrations: NamedFormat.migrations)
    let whole = try await reading.load(...).all()
    #expect(whole.map(\.id).sorted() == (1...5).map { "p\($0)" })
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let before = try #require(try await persistence.head?.id)

    func expectRefusals(_ past: NamedFormat.ReadOnlyDatastore) async throws {
      #expect(try await past.load(...).all() == whole)
      #expect(try await past.count == 5)
      #expect(try await past.load("P1", from: \.name).all().map(\.id) == ["p1"])
      let query = past.load(where: #Predicate { $0.id == "p2" })
      #expect(try await query.scanning().all().map(\.id) == ["p2"])
      await #expect(throws: UnindexedQueryError.self) { try await query.all() }
      for call in [
        { _ = try await past.load("p2") }, { _ = try await past.load(ids: ["p2"]) },
        { _ = try await past.load("p1"..<"p3").all() }, { _ = try await past.load("p1"...).count },
      ] as [() async throws -> Void] {
        let error = await #expect(throws: StoreError.self) { try await call() }
        #expect(error?.kind == .refused && error?.message.contains("identifiers of Parts") == true)
      }
    }
    try await expectRefusals(reading)
    let named = NamedFormat.Datastore.JSONStore(persistence: persistence, migrations: NamedFormat.migrations)
    #expect(try await named.load("p2")?.id == "p2")
    try await expectRefusals(try await named.view(at: before))
    #expect(try await reading.load("p2")?.id == "p2")
    #expect(try await reading.load("p1"..<"p3").all().map(\.id) == ["p1", "p2"])
  }

  @Test("an instance that does not decode exists too, and is not replaced by one that was made")
  func resolveBesideUnreadable() async throws {
    let place = TemporaryPlace()
    try await DiskPersistence(readWriteURL: place.url).datastore(PartFormat.self)
      .persist(Part(id: 2, name: "P2", weight: 20))
    let parts = try DiskPersistence(readWriteURL: place.url).datastore(UnindexedPartFormat.self)
    await #expect(throws: DatastoreInterfaceError.instanceAlreadyExists) {
      try await parts.resolve(.identifier(1), orCreate: { NewPart(id: 2, name: "New", weight: "1 g") })
    }
    await #expect(throws: UnreadableInstanceError.self) { try await parts.load(2) }
  }

  @Test("the first instances of a sort are as many as there are, beside one that does not decode and is left out")
  func limitBesideUnreadable() async throws {
    let place = TemporaryPlace()
    try await DiskPersistence(readWriteURL: place.url).datastore(PartFormat.self)
      .persist(Part(id: 50, name: "Z", weight: 1))
    let parts = try DiskPersistence(readWriteURL: place.url).datastore(UnindexedPartFormat.self)
    let numbers = (1...60).filter { $0 != 50 }
    try await parts.persist(contentsOf: numbers.map { NewPart(id: $0, name: "P\(100 + $0)", weight: "\($0) g") })
    let last = parts.load(...).scanning().sorted(by: \.name, .descending).skippingUnreadable()
    #expect(try await last.first?.id == 60)
    #expect(try await last.limit(2).all().map(\.id) == [60, 59])
    #expect(try await last.limit(2, offset: 1).select(\.weight).all() == ["59 g", "58 g"])
    #expect(try await last.max(of: \.name) == "P160")
    // Nor do pages without a sort count it.
    let page = parts.load(...).skippingUnreadable().limit(2, offset: 50)
    #expect(try await page.all().map(\.id) == [52, 53])
    #expect(try await page.select(\.weight).all() == ["52 g", "53 g"])
    #expect(try await page.select(\.name).all() == ["P152", "P153"])
    #expect(try await page.limit(2, offset: 48).select(\.name).all() == ["P149", "P151"])
  }
}
