import CodableDatastore
import Foundation
import PostgresPersistence
import StorageEngine
import Testing

/// What is as on a server, and not as on a disk.
@Suite("A typed store on a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct ServerTests {
  let location: String

  init() throws { location = try #require(TestServer.shared).location() }

  /// A persistence with connections of its own, as another process has them.
  private func other() throws -> MemoryPersistence {
    MemoryPersistence(at: location + "&application_name=\(UInt32.random(in: 0 ... .max))")
  }

  private func roundTrips(
    _ persistence: MemoryPersistence, _ body: () async throws -> Void
  ) async throws -> UInt64 {
    let engine = try persistence._store.engine()
    let before = engine.counts.roundTrips
    try await body()
    return engine.counts.roundTrips - before
  }

  @Test("two processes see what the other one wrote, at once")
  func twoProcesses() async throws {
    let (here, there) = (try other(), try other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    try await ours.persist(Book(id: 1, title: "Ulysses"))
    #expect(try await theirs.load(1)?.title == "Ulysses")
    try await theirs.persist(Book(id: 1, title: "Odyssey"))
    #expect(try await ours.load(1)?.title == "Odyssey")
    #expect(try await ours.load("Odyssey", from: \.title).all().map(\.id) == [1])
    #expect(try await ours.load("Ulysses", from: \.title).all().isEmpty)
  }

  @Test("what somebody else changed meanwhile is a conflict that says where; nothing is written")
  func conflict() async throws {
    let (here, there) = (try other(), try other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    try await ours.persist(Book(id: 1, title: "Ulysses"))
    var runs = 0
    let found = await #expect(throws: CodableDatastore.TransactionConflict.self) {
      try await here.perform {
        runs += 1
        let book = try #require(try await ours.load(1))
        try await Task.detached { _ = try await theirs.persist(Book(id: 1, title: "Odyssey")) }.value
        try await ours.persist(Book(id: 2, title: book.title))
      }
    }
    #expect(runs == 1)
    #expect(found?.places.first?.datastore == "Books")
    #expect(try await ours.load(2) == nil)
    #expect(found?.errorDescription?.contains("Books") == true)
  }

  @Test("a closure that may be run again is, on what there is then; a single call always")
  func retries() async throws {
    let (here, there) = (try other(), try other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    try await ours.persist(Book(id: 1, title: "Ulysses"))
    var runs = 0
    try await here.perform(options: .retriesConflicts) {
      runs += 1
      let book = try #require(try await ours.load(1))
      if runs == 1 { try await Task.detached { _ = try await theirs.persist(Book(id: 1, title: "Odyssey")) }.value }
      try await ours.persist(Book(id: 2, title: book.title))
    }
    #expect(runs == 2)
    #expect(try await ours.load(2)?.title == "Odyssey")
    // Single calls of many tasks of two processes on one record.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<16 {
        let books = number % 2 == 0 ? ours : theirs
        group.addTask { try await books.persist(Book(id: 7, title: "\(number)")) }
      }
      try await group.waitForAll()
    }
    #expect(try await ours.load(7) != nil)
    #expect(try await ours.load(range: 7...7).all().count == 1)
  }

  @Test("counters that tasks of several processes add to come out exact")
  func counters() async throws {
    let persistences = [try other(), try other(), try other()]
    let first = BookFormat.datastore(persistences[0])
    for id in 0..<2 { try await first.persist(Book(id: id, title: "counter", pages: 0)) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (number, persistence) in persistences.enumerated() {
        for task in 0..<2 {
          group.addTask {
            let books = BookFormat.datastore(persistence)
            for turn in 0..<5 {
              try await persistence.perform(options: .retriesConflicts) {
                let id = (number + task + turn) % 2
                var book = try #require(try await books.load(id))
                book.pages += 1
                try await books.persist(book)
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await first.load(...).all().map(\.pages).reduce(0, +) == 30)
    // And so are the indexes.
    let pages = try await first.load(...).all().map(\.pages).sorted()
    #expect(try await first.load(..., from: \.pages).all().map(\.pages) == pages)
  }

  @Test("a load by identifier and a page through an index take few round trips, however much there is")
  func roundTrips() async throws {
    let persistence = try other()
    let books = BookFormat.datastore(persistence)
    try await persistence.perform { for book in Book.numbered(1...400) { try await books.persist(book) } }
    _ = try await books.load(1)
    #expect(try await roundTrips(persistence) { _ = try await books.load(200) } <= 2)
    let range = try await roundTrips(persistence) {
      let found = try await books.load("Book 100"..."Book 180", from: \.title).all()
      #expect(found.count == 81)
    }
    #expect(range <= 6, "\(range)")
    // The records that a direct index leads to come in one more.
    let direct = try await roundTrips(persistence) {
      let found = try await books.load(1000...1800, from: \.pages).all()
      #expect(found.count == 81)
    }
    #expect(direct <= 6, "\(direct)")
    let single = try await roundTrips(persistence) { try await books.persist(Book(id: 900, title: "New")) }
    #expect(single <= 5, "\(single)")
  }

  @Test("neither the main actor nor the pool waits for the network")
  @MainActor func waitsElsewhere() async throws {
    let persistence = try other()
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "Ulysses"))
    // One that holds the store's row for as long as the test does not let go of it.
    let server = try #require(TestServer.shared)
    let schema = location.split(separator: "=").last.map(String.init) ?? ""
    let lock = Task.detached {
      server.query("begin; update \(schema).store set newest = newest where one; select pg_sleep(1); commit")
    }
    let write = Task { try await books.persist(Book(id: 2, title: "Odyssey")) }
    // Meanwhile the main actor goes on.
    var turns = 0
    while turns < 1_000 {
      await Task.yield()
      turns += 1
    }
    #expect(turns == 1_000)
    _ = try await write.value
    _ = await lock.value
    #expect(try await books.count == 2)
  }

  @Test(
    "keys that only the app can order, and keys that are too long, are refused with a sentence, before anything is sent"
  )
  func refusals() async throws {
    let persistence = try other()
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "Ulysses"))
    let long = await #expect(throws: (any Error).self) {
      try await books.persist(Book(id: 2, title: String(repeating: "x", count: 1_200)))
    }
    #expect("\(try #require(long))".contains("1000"), "\(String(describing: long))")
    #expect(try await books.count == 1)
    let versions = VersionedFormat.datastore(persistence)
    let order = await #expect(throws: StoreError.self) { try await versions.persist(Versioned(id: Release(major: 1))) }
    #expect(order?.message.contains("OrderedKey") == true, "\(String(describing: order))")
  }

  @Test("a URL that is none, a server that is not there, a store that is not there: a sentence without the password")
  func badInput() async throws {
    let folder = try #require(TestServer.shared).folder
    for url in ["postgres://ada:hush@db:port/x", "postgres://ada:hush@/x?host=\(folder)/nowhere", "nonsense"] {
      let found = await #expect(throws: StoreError.self) { _ = try await PostgresPersistence(readWriteURL: url) }
      #expect(
        found.map { !$0.message.contains("hush") && $0.message.hasSuffix(".") } == true, "\(String(describing: found))")
    }
    await #expect(throws: StoreError.self) { _ = try await PostgresPersistence(readOnlyURL: location) }
  }

  @Test("warm-up builds an index once, whoever begins it, and the store fits both")
  func warmUp() async throws {
    let (here, there) = (try other(), try other())
    let plain = PlainBookFormat.datastore(here)
    try await here.perform { for book in Book.numbered(1...50) { try await plain.persist(book) } }
    async let first: Void = BookFormat.datastore(try other()).warm()
    async let second: Void = BookFormat.datastore(there).warm()
    _ = try await (first, second)
    let books = BookFormat.datastore(there)
    #expect(try await books.load("Book 007", from: \.title).all().map(\.id) == [7])
    #expect(try await books.load(..., from: \.pages).all().count == 50)
  }

  @Test("history, undo and restore are as on a disk")
  func history() async throws {
    let persistence = try other()
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "Ulysses"))
    try await books.persist(Book(id: 1, title: "Odyssey"))
    try await books.delete(1)
    #expect(try await books.history(of: 1).all().map(\.instance?.title) == [nil, "Odyssey", "Ulysses"])
    try await persistence.undo()
    #expect(try await books.load(1)?.title == "Odyssey")
    #expect(try await books.load("Odyssey", from: \.title).all().map(\.id) == [1])
  }

  @Test("observers hear of commits of other processes between their own, each once")
  func observing() async throws {
    let (here, there) = (try other(), try other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    try await ours.persist(Book(id: 0, title: "begin"))
    let events = try await ours.observe(includingOtherProcesses: true)
    for number in 1...3 {
      try await ours.persist(Book(id: number * 2, title: "ours"))
      try await theirs.persist(Book(id: number * 2 + 1, title: "theirs"))
    }
    var heard: [Int] = []
    for try await event in events {
      heard.append(event.id)
      if heard.count == 6 { break }
    }
    #expect(heard.sorted() == [2, 3, 4, 5, 6, 7])
  }
}

/// A type whose order only the app knows.
private struct Release: Codable, Hashable, Comparable, DiscreteIndexable {
  var major: Int

  static func < (left: Release, right: Release) -> Bool { left.major < right.major }
}

private struct Versioned: Codable, Identifiable, Sendable { var id: Release }

private struct VersionedFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case first = 1 }
  typealias Instance = Versioned
  static let defaultKey: DatastoreKey = "Versions"
  static let currentVersion = Version.first

  static func datastore(_ persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [.first: { decoder, data in try decoder.decode(Versioned.self, from: data) }])
  }
}
