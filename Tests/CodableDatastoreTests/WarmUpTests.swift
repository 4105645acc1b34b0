import StrataDocuments

@testable import CodableDatastore
import StrataModel
import Foundation
import StrataLocks
import StrataEngine
import Testing

@Suite("Warm-up and migrations")
struct WarmUpTests {
  let persistence = MemoryPersistence()

  /// What a handler hears, as words.
  final class Heard: Sendable {
    private let words = Mutex<[String]>([])
    var all: [String] { words.withLock { $0 } }
    var handler: ProgressHandler {
      { progress in
        let word =
          switch progress {
          case .evaluating: "evaluating"
          case .working(let current, let total): "\(current) of \(total)"
          case .complete(let total): "complete \(total)"
          }
        self.words.withLock { $0.append(word) }
      }
    }
  }

  func fillPlainly(_ count: Int) async throws {
    let plain = PlainBookFormat.datastore(persistence)
    try await persistence.perform { for book in Book.numbered(1...count) { try await plain.persist(book) } }
  }

  @Test("a record of an older version, whose values the app converts, is no fault for tools that lack the app's types")
  func verifiedWithoutTypes() async throws {
    do {
      let old = BookFormat.datastore(persistence)
      try await old.persist(Book(id: 1, title: "old", shelf: "a"))
      try await old.persist(Book(id: 2, title: "old", shelf: "b"))
    }
    let books = Datastore<BookFormat, ReadWrite>.JSONStore(
      persistence: persistence, version: .second,
      migrations: [
        .first: { decoder, data in
          var book = try decoder.decode(Book.self, from: data)
          (book.title, book.shelf) = (book.title.uppercased(), nil)
          return book
        },
        .second: { decoder, data in try decoder.decode(Book.self, from: data) },
      ])
    try await books.persist(contentsOf: Book.numbered(3...60))
    #expect(try await books.load(where: #Predicate { $0.title == "OLD" }).count == 2)
    let tools = EngineStore(try persistence._store.connection.storeForWriting(), path: "", keepsLock: true)
    let report = try await onThread { try tools.verifyModel(at: tools.head.commit) }
    #expect(report.allFindings.filter { $0.severity == .wrong }.isEmpty, "\(report.allFindings)")
    let notes = report.allFindings.filter { $0.text.contains("the values of 2 records of older versions") }
    #expect(Set(notes.map(\.index)) == ["title", "shelf"])
  }

  @Test("an empty store, a warmed one and a second call report both ends")
  func bothEnds() async throws {
    let books = BookFormat.datastore(persistence)
    let empty = Heard()
    try await books.warm(progressHandler: empty.handler)
    #expect(empty.all == ["evaluating", "complete 0"])
    for book in Book.numbered(1...3) { try await books.persist(book) }
    let again = Heard()
    try await books.warm(progressHandler: again.handler)
    #expect(again.all == ["evaluating", "complete 3"])
    let reader = Heard()
    try await books.readOnly.warm(progressHandler: reader.handler)
    #expect(reader.all == ["evaluating", "complete 3"])
  }

  @Test("new indexes are built, each instance reported once from 0, and then they answer")
  func building() async throws {
    try await fillPlainly(4)
    let books = BookFormat.datastore(persistence)
    let heard = Heard()
    try await books.warm(progressHandler: heard.handler)
    #expect(heard.all == ["evaluating", "0 of 4", "1 of 4", "2 of 4", "3 of 4", "complete 4"])
    #expect(try await books.load("Book 003", from: \.title).all().map(\.id) == [3])
    #expect(try await books.load(20...30, from: \.pages).all().map(\.id) == [2, 3])
    #expect(try await books.load("Everybody", from: \.authors).all().count == 4)
    let again = Heard()
    try await books.warm(progressHandler: again.handler)
    #expect(again.all == ["evaluating", "complete 4"])
  }

  @Test("without warming, the first use builds")
  func implicitBuilding() async throws {
    try await fillPlainly(4)
    let books = BookFormat.datastore(persistence)
    #expect(try await books.load("isbn-3", from: \.isbn)?.id == 3)
    var titles: [String] = []
    for try await book in books.load(..., from: \.title) { titles.append(book.title) }
    #expect(titles.count == 4)
  }

  @Test("a sequence made before the store is warm shows what was there when it was made")
  func coldSequence() async throws {
    try await fillPlainly(2)
    let books = BookFormat.datastore(persistence)
    let sequence = books.load(..., from: \.title)
    #expect(try await sequence.all().map(\.id) == [1, 2])
  }

  @Test("an index that is no longer declared goes, and comes back right")
  func dropping() async throws {
    do {
      let books = BookFormat.datastore(persistence)
      for book in Book.numbered(1...3) { try await books.persist(book) }
    }
    do {
      let plain = PlainBookFormat.datastore(persistence)
      let heard = Heard()
      try await plain.warm(progressHandler: heard.handler)
      #expect(heard.all == ["evaluating", "complete 3"])
      try await plain.persist(Book(id: 2, title: "Other"))
    }
    let books = BookFormat.datastore(persistence)
    #expect(try await books.load("Other", from: \.title).all().map(\.id) == [2])
    #expect(try await books.load("Book 002", from: \.title).all().isEmpty)
  }

  @Test("a store of a newer version is refused again and again, and left alone")
  func newerVersion() async throws {
    do {
      let newer = datastore(version: .second)
      try await newer.persist(Book(id: 1, title: "A"))
    }
    let older = datastore(version: .first)
    for _ in 0..<2 {
      await #expect(throws: DatastoreError.self) { try await older.count }
      await #expect(throws: DatastoreError.self) { try await older.warm() }
      await #expect(throws: DatastoreError.self) { try await older.persist(Book(id: 2, title: "B")) }
      await #expect(throws: DatastoreError.self) { try await older.load(..., from: \.title).all() }
    }
    #expect(try await older.readOnly.count == 1)
  }

  func datastore(version: BookFormat.Version) -> BookFormat.Datastore {
    .JSONStore(
      persistence: persistence, version: version,
      migrations: [
        .first: { try $0.decode(Book.self, from: $1) }, .second: { try $0.decode(Book.self, from: $1) },
      ])
  }

  @Test("reading with a newer version rewrites nothing: the older one still opens the store")
  func versionStamp() async throws {
    do {
      let first = datastore(version: .first)
      try await first.persist(Book(id: 1, title: "A"))
    }
    do {
      let second = datastore(version: .second)
      #expect(try await second.load("A", from: \.title).all().count == 1)
    }
    do {
      let first = datastore(version: .first)
      #expect(try await first.count == 1)
      try await first.persist(Book(id: 2, title: "B"))
    }
    do {
      let second = datastore(version: .second)
      try await second.persist(Book(id: 3, title: "C"))
    }
    let first = datastore(version: .first)
    await #expect(throws: DatastoreError.self) { try await first.count }
  }

  @Test("a version without a decoder stops what reads its records, and a warm-up that is asked for, but no new record")
  func missingDecoder() async throws {
    do {
      let first = datastore(version: .first)
      try await first.persist(Book(id: 1, title: "A"))
    }
    let second = PlainBookFormat.Datastore.JSONStore(
      persistence: persistence, version: .second, migrations: [.second: { try $0.decode(Book.self, from: $1) }])
    let uses: [@Sendable () async throws -> Void] = [
      { try await second.warm() }, { _ = try await second.load(1) },
      { _ = try await second.load(...).collectInstances(upTo: .infinity) },
      { _ = try await second.persist(Book(id: 1, title: "B")) },
    ]
    for use in uses {
      do {
        try await use()
        Issue.record("it has no decoder")
      } catch DatastoreError.missingDecoder(let version) {
        #expect(version == "1")
      }
    }
    #expect(try await second.persist(Book(id: 2, title: "B")) == nil)
    #expect(try await second.load(2)?.title == "B")
    #expect(try await second.count == 2)
    await #expect(throws: DatastoreError.self) { try await second.load(1) }
  }

  @Test("what a datastore could not read back it does not write")
  func missingOwnDecoder() async throws {
    let books = PlainBookFormat.Datastore.JSONStore(
      persistence: persistence, version: .second, migrations: [.first: { try $0.decode(Book.self, from: $1) }])
    do {
      try await books.persist(Book(id: 1, title: "A"))
      Issue.record("it was written")
    } catch DatastoreError.missingDecoder(let version) {
      #expect(version == "2")
    }
    #expect(try await persistence.head == nil)
  }

  @Test("an index called id is said at the first use")
  func identifierIndex() async throws {
    struct Format: DatastoreFormat {
      enum Version: Int, CaseIterable { case first = 1 }
      typealias Instance = Book
      static let defaultKey: DatastoreKey = "Books"
      static let currentVersion = Version.first
      let id = Index(\.id)
      let title = Index(\.title)
    }
    let books = Format.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Book.self, from: $1) }])
    let fault = IndexDeclarationError(datastore: "Books", index: "id", reason: .namedLikeIdentifier)
    await #expect(throws: fault) { try await books.count }
    await #expect(throws: fault) { try await books.persist(Book(id: 1, title: "A")) }
  }

  @Test("a store of a version that is no case of the program's versions throws a decoding error, every time")
  func unheardOfVersion() async throws {
    struct Format: DatastoreFormat {
      enum Version: Int, CaseIterable { case seventh = 7 }
      typealias Instance = Book
      static let defaultKey = PlainBookFormat.defaultKey
      static let currentVersion = Version.seventh
    }
    do {
      let newer = Format.Datastore.JSONStore(
        persistence: persistence, migrations: [.seventh: { try $0.decode(Book.self, from: $1) }])
      try await newer.persist(Book(id: 1, title: "A"))
    }
    let older = datastore(version: .first)
    let reader = PlainBookFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Book.self, from: $1) }])
    for use in [
      { try await older.warm() }, { _ = try await older.load(1) },
      { _ = try await older.persist(Book(id: 2, title: "B")) }, { _ = try await older.count },
      { _ = try await older.rehearseMigration() },
    ] as [@Sendable () async throws -> Void] {
      await #expect(throws: DecodingError.self) { try await use() }
    }
    await #expect {
      try await reader.load(1)
    } throws: {
      let error = $0 as? UnreadableInstanceError
      return error?.version == "7" && error?.underlying is DecodingError
    }
    #expect(try await reader.count == 1)
  }

  @Test("migrating the entire store has its own name in the history")
  func migrationName() async throws {
    do { try await datastore(version: .first).persist(Book(id: 1, title: "A")) }
    let second = datastore(version: .second)
    try await second.migrateEntireStore(ifLessThan: .second)
    #expect(try await persistence.head?.action == "migrate Books")
  }

  @Test("a conversion that changes an indexed value is found by its new value, and its records stay movable")
  func changedConversion() async throws {
    do {
      let first = datastore(version: .first)
      for book in Book.numbered(1...5) { try await first.persist(book) }
    }
    let second = BookFormat.Datastore.JSONStore(
      persistence: persistence, version: .second,
      migrations: [
        .first: { decoder, data in
          var book = try decoder.decode(Book.self, from: data)
          book.title = "New " + book.title
          return book
        },
        .second: { try $0.decode(Book.self, from: $1) },
      ])
    #expect(try await second.load("New Book 003", from: \.title).all().map(\.id) == [3])
    #expect(try await second.load("Book 003", from: \.title).all().isEmpty)
    #expect(try await second.persist(Book(id: 3, title: "Third"))?.title == "New Book 003")
    #expect(try await second.delete(4).title == "New Book 004")
    #expect(try await second.load(..., from: \.title).all().map(\.id) == [1, 2, 5, 3])
  }

  @Test("a decoder that throws fails the warm-up, and the store is as before")
  func failure() async throws {
    try await fillPlainly(5)
    struct Refusal: Error {}
    let books = BookFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          if book.id == 3 { throw Refusal() }
          return book
        },
        .second: { try $0.decode(Book.self, from: $1) },
      ])
    await #expect(throws: Refusal.self) { try await books.warm() }
    await #expect(throws: UnreadableInstanceError.self) { try await books.load("Book 001", from: \.title).all() }
    let failures = Mutex<[WarmUpProgress.Failure]>([])
    await #expect(throws: Refusal.self) {
      try await books.warm { progress in failures.withLock { $0 = progress.failures } }
    }
    #expect(failures.withLock { $0.map(\.identifier) } == ["3"])
  }

  @Test("failures name the identifier, the version and where in the record decoding failed")
  func failurePaths() async throws {
    do {
      let loose = LooseFormat.Datastore.JSONStore(
        persistence: persistence, migrations: [.only: { try $0.decode(LooseBook.self, from: $1) }])
      for id in 1...3 { try await loose.persist(LooseBook(id: id, title: id == 2 ? nil : "T\(id)")) }
    }
    let strict = StrictFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(StrictBook.self, from: $1) }])
    let last = Mutex<WarmUpProgress?>(nil)
    await #expect(throws: UnreadableInstanceError.self) {
      try await strict.warm { progress in last.withLock { $0 = progress } }
    }
    let progress = try #require(last.withLock { $0 })
    #expect(progress.failures.map(\.identifier) == ["2"])
    #expect(progress.failures.map(\.decodingPath) == [".title"])
    #expect(progress.failures.map(\.version) == ["1"])
    #expect(progress.steps.map(\.title) == ["read", "decode and migrate", "sort", "write index title"])
  }

  struct LooseBook: Codable, Identifiable, Sendable {
    var id: Int
    var title: String?
  }
  struct LooseFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only = 1 }
    typealias Instance = LooseBook
    static let defaultKey: DatastoreKey = "Strict"
    static let currentVersion = Version.only
  }
  struct StrictBook: Codable, Identifiable, Sendable {
    var id: Int
    var title: String
  }
  struct StrictFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only = 1 }
    typealias Instance = StrictBook
    static let defaultKey: DatastoreKey = "Strict"
    static let currentVersion = Version.only
    let title = Index(\.title)
  }

  @Test("a cancelled warm-up leaves the store at the commit before")
  func cancellation() async throws {
    try await fillPlainly(300)
    let books = BookFormat.datastore(persistence)
    let begun = Gate()
    let gate = Gate()
    let task = Task {
      try await books.warm { (progress: CodableDatastore.Progress) in
        guard case .working(100, _) = progress else { return }
        begun.open()
        await gate.wait()
      }
    }
    await begun.wait()
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    let engine = try #require(try persistence._store.connection.storeForReading(forWriter: true))
    let ending = try #require(engine.activity.flatMap { Activity(bytes: $0) }?.ending, "others see that it ended")
    #expect(ending.commit == nil && ending.reason == nil)
    let heard = Heard()
    try await books.warm(progressHandler: heard.handler)
    #expect(heard.all.count == 302 && engine.activity == nil)
  }

  @Test("a warm-up is complete when its commit is there, not before", arguments: [false, true])
  func completeWhenCommitted(isDetailed: Bool) async throws {
    try await fillPlainly(3)
    let heads = Mutex<[Commit.Number?]>([])
    let note: @Sendable (Bool) async -> Void = { [persistence] isComplete in
      guard isComplete else { return }
      let head = try? await persistence.head?.id
      heads.withLock { $0.append(head) }
    }
    let books = BookFormat.datastore(persistence)
    if isDetailed {
      try await books.warm(reporting: { await note($0.isComplete) })
    } else {
      try await books.warm { (progress: CodableDatastore.Progress) in
        if case .complete = progress { await note(true) }
      }
    }
    #expect(heads.withLock { $0 } == [2])
  }

  @Test("a warm-up that begins again because another's task was cancelled counts from the beginning")
  func countsFromTheBeginning() async throws {
    try await fillPlainly(300)
    let books = BookFormat.datastore(persistence)
    let (begun, gate) = (Gate(), Gate())
    let first = Task {
      try await books.warm { (progress: CodableDatastore.Progress) in
        guard case .working(100, _) = progress else { return }
        begun.open()
        await gate.wait()
      }
    }
    await begun.wait()
    let heard = Heard()
    let second = Task { try await books.warm(progressHandler: heard.handler) }
    first.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await first.value }
    try await second.value
    #expect(heard.all.suffix(301) == (0..<300).map { "\($0) of 300" } + ["complete 300"])
  }

  @Test("many tasks warm at once: one builds, all hear")
  func manyTasks() async throws {
    try await fillPlainly(50)
    let books = BookFormat.datastore(persistence)
    let heard = (0..<8).map { _ in Heard() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for heard in heard { group.addTask { try await books.warm(progressHandler: heard.handler) } }
      try await group.waitForAll()
    }
    #expect(heard.allSatisfy { $0.all.first == "evaluating" && $0.all.last == "complete 50" })
    #expect(heard.contains { $0.all.count == 52 })
  }

  @Test("a changed identifier type converts every record and loses none")
  func changedIdentifier() async throws {
    try await fillPlainly(30)
    let books = TextBookFormat.Datastore.JSONStore(
      persistence: persistence, key: "Books",
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          return TextBook(id: "b\(book.id)", title: book.title)
        },
        .second: { try $0.decode(TextBook.self, from: $1) },
      ])
    #expect(try await books.count == 30)
    #expect(try await books.load("b7")?.title == "Book 007")
    #expect(try await books.load("Book 011", from: \.title).all().map(\.id) == ["b11"])
    try await books.persist(TextBook(id: "b7", title: "Seven"))
    #expect(try await books.count == 30)
  }

  struct TextBook: Codable, Identifiable, Sendable {
    var id: String
    var title: String
  }
  struct TextBookFormat: DatastoreFormat {
    typealias Version = BookFormat.Version
    typealias Instance = TextBook
    static let defaultKey: DatastoreKey = "Books"
    static let currentVersion = Version.second
    let title = Index(\.title)
  }

  @Test("migrating the entire store writes old instances anew")
  func entireStore() async throws {
    do {
      let first = datastore(version: .first)
      for book in Book.numbered(1...4) { try await first.persist(book) }
    }
    do {
      let second = datastore(version: .second)
      try await second.persist(Book(id: 9, title: "Nine"))
      let heard = Heard()
      try await second.migrateEntireStore(ifLessThan: .second, progressHandler: heard.handler)
      #expect(heard.all.first == "evaluating" && heard.all.last == "complete 5")
      #expect(heard.all.count == 7)
    }
    let only = BookFormat.Datastore.JSONStore(
      persistence: persistence, version: .second, migrations: [.second: { try $0.decode(Book.self, from: $1) }])
    #expect(try await only.load(...).all().count == 5)
    #expect(try await only.load(10...20, from: \.pages).all().map(\.id) == [1, 2])
    #expect(try await only.load("isbn-2", from: \.isbn)?.id == 2)
  }

  @Test("migrating an index builds it anew where an older version built it")
  func oneIndex() async throws {
    do {
      let first = datastore(version: .first)
      for book in Book.numbered(1...3) { try await first.persist(book) }
      let heard = Heard()
      try await first.migrate(index: \.title, ifLessThan: .first, progressHandler: heard.handler)
      #expect(heard.all == ["evaluating", "complete 3"])
    }
    let second = datastore(version: .second)
    let heard = Heard()
    try await second.migrate(index: \.title, ifLessThan: .second, progressHandler: heard.handler)
    #expect(heard.all.count == 5)
    #expect(try await second.load("Book 002", from: \.title).all().map(\.id) == [2])
  }

  @Test("warming up within a transaction is part of it")
  func withinTransaction() async throws {
    struct Refusal: Error {}
    try await fillPlainly(3)
    let books = BookFormat.datastore(persistence)
    try? await persistence.perform {
      try await books.warm()
      #expect(try await books.load("Book 002", from: \.title).all().map(\.id) == [2])
      throw Refusal()
    }
    #expect(try await books.load("Book 002", from: \.title).all().map(\.id) == [2])
  }

  @Test("the descriptor says everything that a tool without the types needs")
  func descriptor() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let state = try Transactions.readState(for: persistence._store)
    let tree = try #require(try state.tree(.records(of: "Books")))
    let descriptor = try DatastoreDescriptor(bytes: tree.attributes.array)
    #expect(descriptor.key == "Books")
    #expect(descriptor.version == "1")
    #expect(!descriptor.versionIsString)
    #expect(descriptor.instanceType == "Book")
    #expect(descriptor.identifierType == "Int")
    #expect(descriptor.identifierEncoding == .integer)
    #expect(descriptor.identifierPath == ".id")
    #expect(descriptor.coding == .json)
    #expect(descriptor.indexes.map(\.name) == ["authors", "isbn", "pages", "shelf", "title"])
    #expect(descriptor.indexes.map(\.keyPathName) == [".authors", ".isbn", ".pages", ".shelf", ".title"])
    #expect(descriptor.indexes.map(\.storage) == [.reference, .direct, .direct, .reference, .reference])
    #expect(descriptor.index("shelf")?.encoding == .optional(.string))
    #expect(descriptor.index("authors")?.kind == .manyToMany)
  }
}
