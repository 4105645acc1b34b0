import CodableDatastore
import Foundation
import StrataDocuments
import StrataEngine
import StrataLocks
import StrataModel
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

  @Test("an import that met the write of another program takes all of its rows when it is made again")
  func repeatedImport() async throws {
    let location = try #require(TestServer.shared).location()
    let persistences = ["first", "second"].map { MemoryPersistence(at: location + "&application_name=\($0)") }
    for persistence in persistences {
      try await PlainBookFormat.datastore(persistence).persist(Book(id: 1, title: "Ulysses"))
    }
    let stores = try persistences.map { persistence in
      let engine = try persistence._store.engine()
      return EngineStore(engine, path: engine.path)
    }
    let plan = ImportPlan(datastore: "Row", identifier: DocumentPath([.member("id")]))
    func rows(_ text: String) throws(ModelError) -> TableSource {
      try TableSource(bytes: Array(text.utf8), name: "rows.jsonl")
    }
    var before = try rows("{\"id\":1,\"n\":1}\n")
    _ = try Importer(stores[0], plan).run(&before)
    var source = InterruptedRows(try rows("{\"id\":1,\"n\":3}\n{\"id\":2,\"n\":3}\n{\"id\":3,\"n\":3}\n")) {
      guard var row = try? rows("{\"id\":1,\"n\":2}\n") else { return }
      _ = try? Importer(stores[1], plan).run(&row)
    }
    let report = try Importer(stores[0], plan).run(&source)
    #expect(source.isInterrupted && report.new == 2 && report.changed == 1, "\(report)")
    #expect(try stores[0].head.datastore("Row")?.count == 3)
  }
}

/// Rows, and the work of another program when the first one is read to be written.
private struct InterruptedRows: ImportSource {
  private var rows: TableSource
  private let interrupt: () -> Void
  private(set) var isInterrupted = false

  init(_ rows: TableSource, _ interrupt: @escaping () -> Void) { (self.rows, self.interrupt) = (rows, interrupt) }

  mutating func rewind() throws(ModelError) { try rows.rewind() }

  mutating func next(_ wanted: WantedParts) throws(ModelError) -> ImportRow? {
    if case .text = wanted, !isInterrupted {
      isInterrupted = true
      interrupt()
    }
    return try rows.next(wanted)
  }
}
