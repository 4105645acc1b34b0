import StrataDocuments
@testable import CodableDatastore
import StrataModel
import Foundation
import StrataEngine
import Testing

@Suite("Records that a warm-up leaves out")
struct LeftOutTests {
  let place = TemporaryPlace()

  struct Refusal: Error {}

  /// Books as a program reads them that cannot convert those of the first version with some identifiers.
  func books(_ persistence: some Persistence<ReadWrite>, refusing refused: Set<Int>) -> BookFormat.Datastore {
    .JSONStore(
      persistence: persistence, version: .second,
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          if refused.contains(book.id) { throw Refusal() }
          return book
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
  }

  func fill() async throws -> DiskPersistence<ReadWrite> {
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let plain = PlainBookFormat.datastore(persistence)
    try await persistence.perform { for book in Book.numbered(1...40) { try await plain.persist(book) } }
    return persistence
  }

  func recordPlace(_ id: Int64) throws -> RecordPlace {
    RecordPlace(
      datastore: "Books",
      identifier: StoredKey(bytes: try KeyEncoding.integer.encode(.integer(id)), value: .integer(id)))
  }

  /// On a thread of its own, as the browser runs it.
  func warmUp(_ store: BrowsableStore, leavingOut ids: [Int64]) async throws -> WarmUpResult {
    let places = try ids.map { try recordPlace($0) }
    let driver = try #require(store.warmUp)
    return try await onThread { try driver.warmUp(leavingOut: places, mending: []) { _ in true } }
  }

  @Test("what is not left out is answered, and nothing is written")
  func answered() async throws {
    let persistence = try await fill()
    let before = try await persistence.head
    let store = try persistence.browsable(with: books(persistence, refusing: [3, 30]))
    let result = try await warmUp(store, leavingOut: [3])
    #expect(result.commit == nil)
    #expect(result.failures.map(\.place) == [try recordPlace(30)])
    #expect(try await persistence.head == before)
  }

  @Test("a left-out record keeps its bytes and version, is in no rebuilt index, and is listed until it is mended")
  func leftOut() async throws {
    let persistence = try await fill()
    let books = books(persistence, refusing: [3, 30])
    let store = try persistence.browsable(with: books)
    let before = try #require(try store.store.refresh().datastore("Books")?.record(recordPlace(3).identifier))
    let result = try await warmUp(store, leavingOut: [3, 30])
    #expect(result.failures.isEmpty)
    #expect(result.commit != nil)

    #expect(try await books.count == 40)
    #expect(try await books.load("Book 002", from: \.title).all().map(\.id) == [2])
    #expect(try await books.load("Book 003", from: \.title).all().isEmpty)
    #expect(try await books.load(..., from: \.pages).all().count == 38)
    await #expect(throws: Refusal.self) { try await books.load(3) }
    await #expect(throws: Refusal.self) { try await books.load(...).all() }
    await #expect(throws: Refusal.self) { try await books.delete(id: 3) }

    let datastore = try #require(try store.store.refresh().datastore("Books"))
    #expect(try datastore.leftOutCount == 2)
    #expect(
      try datastore.leftOut(limit: 9).map(\.identifier) == [recordPlace(3).identifier, recordPlace(30).identifier])
    let after = try #require(try datastore.record(recordPlace(3).identifier))
    #expect(after.stored == before.stored)
    let own = try #require(store.store as? EngineStore)
    #expect(try own.verifyModel(at: own.head.commit).datastores.first?.leftOut == 2)

    #expect(try await books.persist(Book(id: 3, title: "Mended")) == nil)
    #expect(try await books.load("Mended", from: \.title).all().map(\.id) == [3])
    #expect(try store.store.refresh().datastore("Books")?.leftOutCount == 1)
    try await persistence.perform { try await books.persist(Book(id: 30, title: "Mended too")) }
    #expect(try store.store.refresh().datastore("Books")?.leftOutCount == 0)
    #expect(try await books.load(..., from: \.pages).all().count == 40)
  }

  @Test("a record is mended in the transaction of the warm-up, but not where it was changed meanwhile")
  func mended() async throws {
    let persistence = try await fill()
    let books = BookFormat.Datastore.JSONStore(
      persistence: persistence, version: .second,
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          if book.title == "Book 003" { throw Refusal() }
          return book
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    let store = try persistence.browsable(with: books)
    let before = try store.store.refresh().commit
    let identifier = try recordPlace(3).identifier
    let record = try #require(try store.store.head.datastore("Books")?.record(identifier))
    let changed = try record.document().setting(DocumentPath(parsing: ".title"), to: "Mended")
    let content = RecordContent(version: record.version, bytes: try record.coding.encode(changed))
    let stale = RecordEdit(datastore: "Books", identifier: identifier, old: content, new: content)
    let edit = RecordEdit(datastore: "Books", identifier: identifier, old: record.stored, new: content)
    let driver = try #require(store.warmUp)
    await #expect(throws: ModelError.self) {
      try await onThread { try driver.warmUp(leavingOut: [], mending: [stale]) { _ in true } }
    }
    #expect(try store.store.refresh().commit == before)
    let result = try await onThread { try driver.warmUp(leavingOut: [], mending: [edit]) { _ in true } }
    #expect(result.failures.isEmpty)
    #expect(result.commit == CommitNumber(before.rawValue + 1), "one transaction")
    #expect(try await books.load(3)?.title == "Mended")
    #expect(try await books.load("Mended", from: \.title).all().map(\.id) == [3])
    #expect(try await books.load("Book 003", from: \.title).all().isEmpty)
  }

  @Test("a later warm-up leaves out what was left out before, and takes back in what can be converted again")
  func later() async throws {
    let persistence = try await fill()
    do {
      let first = books(persistence, refusing: [3, 30])
      _ = try await warmUp(try persistence.browsable(with: first), leavingOut: [3, 30])
    }
    do {
      let plain = PlainBookFormat.Datastore.JSONStore(
        persistence: persistence, version: .second,
        migrations: [.first: { try $0.decode(Book.self, from: $1) }, .second: { try $0.decode(Book.self, from: $1) }])
      try await plain.warm()
    }
    let second = books(persistence, refusing: [30])
    #expect(try await second.load("Book 003", from: \.title).all().map(\.id) == [3])
    #expect(try await second.load("Book 030", from: \.title).all().isEmpty)
    let store = try persistence.browsable(with: second)
    let datastore = try #require(try store.store.refresh().datastore("Books"))
    #expect(try datastore.leftOut(limit: 9).map(\.identifier) == [recordPlace(30).identifier])
  }

  @Test("a transaction that is taken back leaves the list as it was")
  func rolledBack() async throws {
    let persistence = try await fill()
    let books = books(persistence, refusing: [3])
    let store = try persistence.browsable(with: books)
    _ = try await warmUp(store, leavingOut: [3])
    try await persistence.perform {
      try? await persistence.perform {
        try await books.persist(Book(id: 3, title: "Mended"))
        throw Refusal()
      }
      try await books.persist(Book(id: 50, title: "Another"))
    }
    #expect(try store.store.refresh().datastore("Books")?.leftOutCount == 1)
    try await persistence.perform {
      try? await persistence.perform {
        try await books.persist(Book(id: 3, title: "Mended"))
        throw Refusal()
      }
      try await books.persist(Book(id: 3, title: "Really mended"))
    }
    #expect(try store.store.refresh().datastore("Books")?.leftOutCount == 0)
  }
}
