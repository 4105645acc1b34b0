import CodableDatastore
import Foundation
import StrataLocks
import Testing

/// Long work of one program while others write without a pause.
@Suite("Work beside writers that never pause", .enabled(if: TestServer.isThere, TestServer.missing))
struct BesideWritersTests {
  @Test("a warm-up that lost three times keeps the writers waiting, and no write is lost")
  func warmUp() async throws {
    let server = try #require(TestServer.shared)
    let location = server.location()
    func persistence() -> MemoryPersistence {
      MemoryPersistence(at: location + "&application_name=\(UInt32.random(in: 0 ... .max))")
    }
    let others = PlainBookFormat.datastore(persistence())
    for book in Book.numbered(1...20) { try await others.persist(book) }
    let writes = Mutex<[Task<Void, any Error>]>([])
    let isWarm = Atomic(false)
    let books: BookFormat.Datastore = .JSONStore(
      persistence: persistence(),
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          guard book.id == 1, !isWarm.load(ordering: .acquiring) else { return book }
          // Each attempt meets a write. It waits for that, or until the server says that the write has to wait.
          let isDone = Atomic(false)
          let number = writes.withLock { $0.count } + 100
          let write = Task.detached {
            _ = try await others.persist(Book(id: number, title: "Beside", pages: number))
            isDone.store(true, ordering: .releasing)
          }
          writes.withLock { $0.append(write) }
          let waiting =
            "select 1 from pg_locks l join pg_class c on c.oid = l.relation where not l.granted"
            + " union all select 1 from pg_locks where not granted and locktype = 'transactionid'"
          while !isDone.load(ordering: .acquiring), server.query(waiting).isEmpty { await Task.yield() }
          return book
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    try await books.warm()
    isWarm.store(true, ordering: .releasing)
    let made = writes.withLock { $0 }
    #expect(made.count == 4)
    for write in made { try await write.value }
    #expect(try await books.count == 20 + made.count)
    #expect(try await books.load("Beside", from: \.title).all().count == made.count)
    #expect(try await books.load("Book 007", from: \.title).all().map(\.id) == [7])
  }
}
