import CodableDatastore
import Foundation
import Testing

/// Programs of their own on one store.
@Suite("Many processes on a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct ProcessTests {
  private static let processes = 16
  private static let turns = 5

  /// Adds to counters, as one of several processes.
  private static func add(_ location: String, _ number: Int) async throws {
    let persistence = MemoryPersistence(at: location)
    let books = BookFormat.datastore(persistence)
    for turn in 0..<turns {
      try await persistence.perform(options: .retriesConflicts) {
        guard var book = try await books.load((number + turn) % 2) else { throw CancellationError() }
        book.pages += 1
        try await books.persist(book)
      }
    }
  }

  @Test("counters that 16 processes add to come out exact")
  func counters() async throws {
    let location = try #require(TestServer.shared).location()
    let persistence = MemoryPersistence(at: location)
    let books = BookFormat.datastore(persistence)
    for id in 0..<2 { try await books.persist(Book(id: id, title: "counter", pages: 0)) }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<Self.processes {
        group.addTask {
          await #expect(processExitsWith: .success) { [location = location as String, number = number as Int] in
            try await ProcessTests.add(location, number)
          }
        }
      }
    }
    let pages = try await books.load(...).all().map(\.pages)
    #expect(pages.reduce(0, +) == Self.processes * Self.turns)
    #expect(try await books.load(..., from: \.pages).all().map(\.pages) == pages.sorted())
    // Each of them is a commit, and a version of its record.
    var versions = 0
    for id in 0..<2 { versions += try await books.history(of: id).all().count }
    #expect(versions == 2 + Self.processes * Self.turns)
  }

  @Test(
    "neither a closure that waits, nor a sequence half read, nor a view of the past holds a snapshot of the database")
  func snapshots() async throws {
    let server = try #require(TestServer.shared)
    let name = TestServer.newSchema()
    let persistence = MemoryPersistence(at: server.location(name, more: "&application_name=\(name)"))
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...300) { try await books.persist(book) }
    func held() -> [String] {
      server.query(
        """
        select state, backend_xmin, query from pg_stat_activity
        where application_name = '\(name)' and (backend_xmin is not null or state like 'idle in%')
        """)
    }
    #expect(server.query("select count(*) from pg_stat_activity where application_name = '\(name)'") != ["0"])
    try await persistence.perform {
      #expect(try await books.load(7) != nil)
      #expect(held() == [])
      try await books.persist(Book(id: 7, title: "changed"))
      #expect(try await books.load(5...20).all().count == 16)
      #expect(held() == [])
    }
    var iterator = books.load(...).makeAsyncIterator()
    _ = try await iterator.next()
    #expect(held() == [])
    let past = try await books.view(at: #require(try await persistence.head).id)
    #expect(try await past.load(7)?.title == "changed")
    #expect(held() == [])
    #expect(try await iterator.next() != nil)
  }
}
