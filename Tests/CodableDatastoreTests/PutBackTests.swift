import Foundation
import StrataEngine
import StrataLocks
import Testing

@testable import CodableDatastore

@Suite("A head that another process moves back and forth")
struct PutBackTests {
  private let place = TemporaryPlace()
  private struct Refusal: Error {}

  /// Three commits with a book each.
  private func fill(_ books: BookFormat.Datastore) async throws {
    for id in 1...3 { try await books.persist(Book(id: id, title: "\(id)")) }
  }

  /// Moves the head to a commit, as a step back over a merge and a fetch do.
  private func moveHead(to commit: UInt64, beside books: BookFormat.Datastore) throws {
    try books.core.store.connection.storeForWriting().releaseLock()
    let engine = try LiveTests().otherProcess(place).core.store.connection.storeForWriting()
    let transaction = try engine.beginBlocking()
    var info = CommitInfo(action: "exchange", flags: .bookkeeping, movesHead: false)
    info.head = commit
    try transaction.commit(info)?.wait()
    engine.releaseLock()
  }

  @Test("a live result follows a head that comes forward again to a commit whose number it has seen")
  func forwardAgain() async throws {
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await fill(books)
    var live = books.load(...).live().makeAsyncIterator()
    #expect(try await live.next()?.map(\.id) == [1, 2, 3])
    try moveHead(to: 1, beside: books)
    #expect(try await live.next()?.map(\.id) == [1])
    try moveHead(to: 3, beside: books)
    try await books.persist(Book(id: 4, title: "4"))
    #expect(try await live.next()?.map(\.id) == [1, 2, 3, 4])
  }

  @Test("a head that was put back before a live result was read again does not take back newer commits")
  func readAgain() async throws {
    let fails = Atomic(false)
    let books = BookFormat.Datastore.JSONStore(
      persistence: try DiskPersistence(readWriteURL: place.url),
      migrations: [
        .first: { decoder, data in
          if fails.load(ordering: .relaxed) { throw Refusal() }
          return try decoder.decode(Book.self, from: data)
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    try await fill(books)
    var live = books.load(...).live().makeAsyncIterator()
    #expect(try await live.next()?.count == 3)
    try await books.persist(Book(id: 5, title: "5"))
    fails.store(true, ordering: .relaxed)
    do {
      _ = try await live.next()
      Issue.record("it decoded")
    } catch {}
    fails.store(false, ordering: .relaxed)
    try moveHead(to: 1, beside: books)
    try await books.persist(Book(id: 2, title: "again"))
    #expect(try await live.next()?.map(\.id) == [1, 2])
    try await books.persist(Book(id: 6, title: "6"))
    #expect(try await live.next()?.map(\.id) == [1, 2, 6])
  }

  @Test("an index that a commit beside the head lacks is said to be missing, though the head has it and is older")
  func missingIndex() async throws {
    let persistence = try DiskPersistence(readWriteURL: place.url)
    try await PlainBookFormat.datastore(DiskPersistence(readWriteURL: place.url)).persist(Book(id: 1, title: "A"))
    let first = try #require(try await persistence.head?.id)
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await books.persist(Book(id: 2, title: "B"))
    let head = try #require(try await persistence.head?.id)
    let beside = try await persistence.restore(first)
    try moveHead(to: head.rawValue, beside: books)
    #expect(try await books.load("B", from: \.title).all().map(\.id) == [2])
    let view = try await books.view(at: beside)
    let error = await #expect(throws: IndexNotYetBuiltError.self) { try await view.load("A", from: \.title).all() }
    #expect(error?.commit == beside && error?.broughtBy == nil)
  }
}
