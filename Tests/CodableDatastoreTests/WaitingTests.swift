import StrataModel
import Foundation
import StrataLocks
import StrataEngine
import Testing

@testable import CodableDatastore

// Where a test here fails it waits for ever; the limit is there to end it.

// A limit that no load of the machine reaches: what waits for ever would keep all tests waiting.
@Suite("Nobody waits for ever", .timeLimit(.minutes(20)))
struct WaitingTests {
  struct Refusal: Error {}

  // MARK: Migrations that use other datastores

  struct Shelf: Codable, Identifiable, Sendable {
    var id: Int
    var name: String
  }

  struct Volume: Codable, Identifiable, Sendable {
    var id: Int
    var shelf: String
  }

  /// As the first release declared both: without indexes, and with the shelf by its number.
  struct OldShelfFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Shelf
    static let defaultKey: DatastoreKey = "Shelves"
    static let currentVersion = Version.first
  }

  struct ShelfFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Shelf
    static let defaultKey: DatastoreKey = "Shelves"
    static let currentVersion = Version.first
    let name = Index(\.name)
  }

  struct OldVolume: Codable, Identifiable, Sendable {
    var id: Int
    var shelf: Int
  }

  struct OldVolumeFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = OldVolume
    static let defaultKey: DatastoreKey = "Volumes"
    static let currentVersion = Version.first
  }

  struct VolumeFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1, second }
    typealias Instance = Volume
    static let defaultKey: DatastoreKey = "Volumes"
    static let currentVersion = Version.second
    let shelf = Index(\.shelf)
  }

  /// The same without the index that makes it warm up.
  struct BareVolumeFormat: DatastoreFormat {
    typealias Version = VolumeFormat.Version
    typealias Instance = Volume
    static let defaultKey: DatastoreKey = "Volumes"
    static let currentVersion = Version.second
  }

  let persistence = MemoryPersistence()

  /// Both datastores as the first release left them.
  private func fillOld(volumes: Int) async throws {
    let shelves = OldShelfFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Shelf.self, from: $1) }])
    let old = OldVolumeFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(OldVolume.self, from: $1) }])
    try await persistence.perform {
      for id in 0..<3 { try await shelves.persist(Shelf(id: id, name: "Shelf \(id)")) }
      for id in 0..<volumes { try await old.persist(OldVolume(id: id, shelf: id % 3)) }
    }
  }

  private var shelves: ShelfFormat.Datastore {
    .JSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Shelf.self, from: $1) }])
  }

  private func volumes<Format: DatastoreFormat>(
    _ format: Format.Type, converting: @escaping @Sendable (OldVolume) async throws -> Volume
  ) -> CodableDatastore.Datastore<Format, ReadWrite>
  where Format.Version == VolumeFormat.Version, Format.Instance == Volume, Format.Identifier == Int {
    .JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in try await converting(decoder.decode(OldVolume.self, from: data)) },
        .second: { decoder, data in try decoder.decode(Volume.self, from: data) },
      ])
  }

  @Test("a migration reads a datastore that must be warmed up itself", arguments: [3, 2000])
  func migrationThatLoads(count: Int) async throws {
    try await fillOld(volumes: count)
    let shelves = shelves
    let volumes = volumes(VolumeFormat.self) { old in
      let shelf = try await shelves.load("Shelf \(old.shelf)", from: \.name).firstInstance
      return Volume(id: old.id, shelf: try #require(shelf).name)
    }
    #expect(try await volumes.load("Shelf 1", from: \.shelf).all().count == (count + 1) / 3)
    #expect(try await shelves.load("Shelf 2", from: \.name).all().map(\.id) == [2])
  }

  @Test("so does that of a record that is replaced or deleted, in a transaction and without", arguments: [false, true])
  func migrationWhileWriting(inTransaction: Bool) async throws {
    try await fillOld(volumes: 3)
    let shelves = shelves
    let volumes = volumes(BareVolumeFormat.self) { old in
      let shelf = try await shelves.load("Shelf \(old.shelf)", from: \.name).firstInstance
      return Volume(id: old.id, shelf: try #require(shelf).name)
    }
    let replace = { _ = try await volumes.persist(Volume(id: 0, shelf: "new")) }
    if inTransaction { try await persistence.perform { try await replace() } } else { try await replace() }
    #expect(try await volumes.delete(1).shelf == "Shelf 1")
    #expect(try await volumes.load(...).map(\.shelf).all() == ["new", "Shelf 2"])
    #expect(try await shelves.load("Shelf 2", from: \.name).all().map(\.id) == [2])
  }

  @Test("a migration may read its own datastore by identifier, as it was")
  func migrationOfItself() async throws {
    try await fillOld(volumes: 3)
    let own = Mutex<CodableDatastore.Datastore<VolumeFormat, ReadWrite>?>(nil)
    let volumes = volumes(VolumeFormat.self) { old in
      let before = old.id > 0 ? try await own.withLock { $0 }?.load(old.id - 1) : nil
      return Volume(id: old.id, shelf: (before?.shelf ?? "") + "x")
    }
    own.withLock { $0 = volumes }
    #expect(try await volumes.load("xxx", from: \.shelf).all().map(\.id) == [2])
    own.withLock { $0 = nil }
  }

  @Test("a migration that writes is told that it may not, and the store stays as it was")
  func migrationThatWrites() async throws {
    try await fillOld(volumes: 3)
    let shelves = shelves
    let persistence = persistence
    let writes: [@Sendable () async throws -> Void] = [
      { _ = try await shelves.persist(Shelf(id: 9, name: "new")) },
      { try await persistence.perform { _ = try await shelves.persist(Shelf(id: 9, name: "new")) } },
      { _ = try await shelves.delete(range: ...) },
    ]
    for write in writes {
      let volumes = volumes(VolumeFormat.self) { old in
        try await write()
        return Volume(id: old.id, shelf: "")
      }
      do {
        try await volumes.warm()
        Issue.record("a migration wrote")
      } catch let error as StoreError {
        #expect(error.kind == .refused && error.message.contains("migration of Volumes"))
      }
    }
    #expect(try await shelves.count == 3)
  }

  // MARK: Closing

  @Test("closing within a transaction is refused")
  func closingWithin() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    try await disk.perform {
      try await books.persist(Book(id: 1, title: "A"))
      do {
        try await disk.close()
        Issue.record("it was closed")
      } catch let error as StoreError {
        #expect(error.kind == .refused)
      }
      try await books.persist(Book(id: 2, title: "B"))
    }
    #expect(try await books.count == 2)
    try await disk.close()
    await #expect(throws: StoreError.self) { try await books.count }
  }

  @MainActor
  @Test("closing waits for a suspended transaction of the same actor, and holds up nobody", arguments: [false, true])
  func closingBeside(isCancelled: Bool) async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    let (begun, gate) = (Gate(), Gate())
    let holder = Task { @MainActor in
      try await disk.perform {
        begun.open()
        await gate.wait()
        try await books.persist(Book(id: 1, title: "A"))
      }
    }
    await begun.wait()
    let closing = Task { @MainActor in try await disk.close() }
    if isCancelled { closing.cancel() }
    // Only where the main actor is free does this run before the transaction has ended.
    await Task { @MainActor in gate.open() }.value
    _ = try await holder.value
    try await closing.value
    await #expect(throws: StoreError.self) { try await books.persist(Book(id: 2, title: "B")) }
    #expect(try await BookFormat.datastore(DiskPersistence(readWriteURL: place.url)).count == 1)
  }

  // MARK: Beside nested transactions

  @Test("a write begun beside a nested transaction that waits for it is told so")
  func besideNested() async throws {
    let books = BookFormat.datastore(persistence)
    let persistence = persistence
    try await persistence.perform {
      let nested = Gate()
      let beside = Task {
        await nested.wait()
        _ = try await books.persist(Book(id: 1, title: "beside"))
      }
      do {
        try await persistence.perform {
          nested.open()
          try await beside.value
        }
        Issue.record("it was written")
      } catch let error as StoreError {
        #expect(error.kind == .refused && error.message.contains("nested"))
      }
      try await books.persist(Book(id: 2, title: "after"))
    }
    #expect(try await books.load(...).all().map(\.id) == [2])
  }

  @Test("children of child tasks still take turns")
  func siblings() async throws {
    let books = BookFormat.datastore(persistence)
    try await persistence.perform {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for id in 0..<20 {
          group.addTask { [persistence] in
            if id.isMultiple(of: 2) {
              try await persistence.perform { _ = try await books.persist(Book(id: id, title: "nested")) }
            } else {
              _ = try await books.persist(Book(id: id, title: "plain"))
            }
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(try await books.count == 20)
  }

  // MARK: Transactions that await what was begun beside them

  @Test(
    "a transaction may await what was begun beside it and reads without an index, though it is the first use of datastores that gained one"
  )
  func firstUseBeside() async throws {
    try await fillOld(volumes: 4)
    let (shelves, books, begun) = (shelves, BookFormat.datastore(persistence), Gate())
    let volumes = volumes(VolumeFormat.self) { Volume(id: $0.id, shelf: "Shelf \($0.shelf)") }
    let beside = Task.detached {
      await begun.wait()
      #expect(try await shelves.load(1)?.name == "Shelf 1")
      #expect(try await shelves.count == 3)
      #expect(try await shelves.load(1...).map(\.id).all() == [1, 2])
      for try await live in shelves.load(...).live() {
        #expect(live.map(\.id) == [0, 1, 2])
        break
      }
      #expect(try await shelves.load(where: #Predicate { $0.name == "Shelf 2" }).scanning().count == 1)
      #expect(try await volumes.load(3)?.shelf == "Shelf 0")
      _ = try await shelves.observe()
    }
    try await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      begun.open()
      try await beside.value
    }
    // Where nobody writes the first use warms up.
    #expect(try await shelves.load(1)?.name == "Shelf 1")
    #expect(try await persistence.head?.action == "warm up Shelves")
  }

  @Test("what needs an index that is not built yet waits for the writer, and answers then", arguments: [false, true])
  func indexBeside(asQuery: Bool) async throws {
    try await fillOld(volumes: 3)
    let (shelves, books, begun) = (shelves, BookFormat.datastore(persistence), Gate())
    let beside = Task.detached {
      await begun.wait()
      return asQuery
        ? try await shelves.load(where: #Predicate { $0.name == "Shelf 2" }).all().map(\.id)
        : try await shelves.load("Shelf 2", from: \.name).all().map(\.id)
    }
    try await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      begun.open()
      while (persistence._store.connection.openFile?.writing.waitingForTurn ?? 0) == 0 { await Task.yield() }
    }
    #expect(try await beside.value == [2])
  }

  @Test("a write that waits for a closure which does nothing any more is told whose, after the time that is set")
  func silentTransaction() async throws {
    let clock = ManualClock()
    let persistence = MemoryPersistence(slices: .shared, clock: clock)
    let books = BookFormat.datastore(persistence)
    try await persistence.perform(actionName: "import the list") {
      try await books.persist(Book(id: 1, title: "A"))
      let beside = Task.detached { try await books.persist(Book(id: 2, title: "B")) }
      // As long as it reads it is waited for.
      for _ in 0..<20 {
        await clock.advance(by: .seconds(4))
        _ = try await books.load(1)
      }
      #expect((persistence._store.connection.openFile?.writing.waitingForTurn ?? 0) == 1)
      for _ in 0..<9 { await clock.advance(by: .seconds(4)) }
      let error = await #expect(throws: StoreError.self) { try await beside.value }
      #expect(error?.kind == .refused && error?.message.contains("“import the list”") == true)
      #expect(error?.message.contains("30.0 seconds") == true)
      try await books.persist(Book(id: 3, title: "C"))
    }
    #expect(try await books.load(...).map(\.id).all() == [1, 3])
  }

  @Test("a second persistence of an open store does not change how long its writes wait")
  func silenceOfTheOpening() async throws {
    let (clock, place) = (ManualClock(), TemporaryPlace())
    let persistence = try DiskPersistence(readWriteURL: place.url, slices: .shared, clock: clock)
    let books = BookFormat.datastore(persistence)
    try await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      // As the initializer of another persistence of the location does.
      let other = _StoreHandle(connection: persistence._store.connection, isReadOnly: false) { kept, hasOthers in
        #expect(hasOthers)
        kept.longestSilence = .seconds(1)
      }
      defer { withExtendedLifetime(other) {} }
      let beside = Task.detached { try await books.persist(Book(id: 2, title: "B")) }
      for _ in 0..<9 { await clock.advance(by: .seconds(4)) }
      let error = await #expect(throws: StoreError.self) { try await beside.value }
      #expect(error?.message.contains("30.0 seconds") == true)
    }
  }

  @Test("so is one that waits for the condition of a deletion", arguments: [false, true])
  func silentCondition(inTransaction: Bool) async throws {
    let clock = ManualClock()
    let persistence = MemoryPersistence(slices: .shared, clock: clock)
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    func delete() async throws -> Int {
      try await books.load(...).delete { _ in
        let beside = Task.detached { try await books.persist(Book(id: 2, title: "B")) }
        for _ in 0..<9 { await clock.advance(by: .seconds(4)) }
        await #expect(throws: StoreError.self) { try await beside.value }
        return true
      }
    }
    let count = inTransaction ? try await persistence.perform { try await delete() } : try await delete()
    #expect(count == 1)
    #expect(try await books.count == 0)
  }

  @Test("each instance that a query looks at counts as read, also if it finds none")
  func vainSearch() async throws {
    let books = PlainBookFormat.datastore(persistence)
    try await persistence.perform {
      for book in Book.numbered(1...20) { try await books.persist(book) }
      let work = try #require(Transactions.current?.work)
      let before = work.uses.load(ordering: .relaxed)
      #expect(try await books.load(where: #Predicate { $0.title == "none" }).scanning().first == nil)
      #expect(work.uses.load(ordering: .relaxed) >= before + 20)
    }
  }

  @Test("each value that is selected along an index counts as read too")
  func selectedAlongIndex() async throws {
    let books = BookFormat.datastore(persistence)
    try await persistence.perform {
      for book in Book.numbered(1...20) { try await books.persist(book) }
      let work = try #require(Transactions.current?.work)
      let before = work.uses.load(ordering: .relaxed)
      for try await _ in books.load(..., from: \.title).select(\.title) {}
      #expect(work.uses.load(ordering: .relaxed) >= before + 20)
    }
  }

  @Test(
    "a warm-up is waited for however long it takes, by itself, in a transaction and before the first write of one",
    arguments: [(false, false), (true, false), (true, true)])
  func longWarmUp(inTransaction: Bool, writes: Bool) async throws {
    let place = TemporaryPlace()
    let old = try DiskPersistence(readWriteURL: place.url)
    try await OldShelfFormat.Datastore.JSONStore(
      persistence: old, migrations: [.first: { try $0.decode(Shelf.self, from: $1) }]
    ).persist(Shelf(id: 1, name: "Shelf 1"))
    try await old.close()
    let clock = ManualClock()
    let persistence = try DiskPersistence(readWriteURL: place.url, slices: .shared, clock: clock)
    let (converting, goesOn, books) = (Gate(), Gate(), BookFormat.datastore(persistence))
    let shelves = ShelfFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let shelf = try decoder.decode(Shelf.self, from: data)
          if shelf.id == 1 {
            converting.open()
            await goesOn.wait()
          }
          return shelf
        }
      ])
    let warming = Task.detached {
      if writes {
        _ = try await persistence.perform { try await shelves.persist(Shelf(id: 2, name: "Shelf 2")) }
      } else if inTransaction {
        try await persistence.perform { try await shelves.warm() }
      } else {
        try await shelves.warm()
      }
    }
    await converting.wait()
    let beside = Task.detached { try await books.persist(Book(id: 2, title: "B")) }
    while (persistence._store.connection.openFile?.writing.waitingForTurn ?? 0) == 0 { await Task.yield() }
    if inTransaction { for _ in 0..<20 { await clock.advance(by: .seconds(4)) } } else { clock.jump(by: .seconds(80)) }
    goesOn.open()
    try await warming.value
    _ = try await beside.value
    #expect(try await books.count == 1)
  }

  // MARK: Cancelled tasks

  @Test("a save in a cancelled task goes through where nobody else writes")
  func cancelledSave() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      _ = try await books.persist(Book(id: 1, title: "A"))
      try await disk.perform { _ = try await books.persist(Book(id: 2, title: "B")) }
      _ = try await books.deleteIfPresent(7)
    }
    try await task.value
    #expect(try await books.count == 2)
  }
}
