import CodableDatastore
import StrataModel
import Foundation
import PostgresPersistence
import StoreEntities
import StrataEngine
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

  /// Books as a declaration without indexes writes them, in a process of its own.
  private func fill(_ numbers: ClosedRange<Int>) async throws {
    let persistence = try other()
    let plain = PlainBookFormat.datastore(persistence)
    try await persistence.perform { for book in Book.numbered(numbers) { try await plain.persist(book) } }
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

  @Test("single calls of stores of entities are made again, too")
  func entities() async throws {
    let stores = [EntityStore(try other()), EntityStore(try other())]
    try await stores[0].add(Entity("e", type: "t"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<6 {
        group.addTask {
          let entities = stores[task % 2]
          for turn in 0..<5 { try await entities.update("e", [EntityKey("key \(task)"): .integer(turn)]) }
          try await entities.relate((.identifier("e"), "t"), EntityKey("to \(task)"), to: (.name("shared"), "t"))
        }
      }
      try await group.waitForAll()
    }
    let entity = try #require(try await stores[0].load("e"))
    #expect((0..<6).allSatisfy { entity[EntityKey("key \($0)")]?.value == .integer(4) })
    #expect(entity.targets.count == 1)
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
    func trips(_ count: UInt64, _ what: String, _ body: () async throws -> Void) async throws {
      let taken = try await roundTrips(persistence, body)
      #expect(taken == count, "\(what)")
    }
    try await trips(1, "a load") {
      let found = try await books.load(200)
      #expect(found?.id == 200)
    }
    try await trips(1, "a load of nothing") {
      let found = try await books.load(7_000)
      #expect(found == nil)
    }
    func page(
      _ what: String, _ expected: [Int], trips count: UInt64 = 1, _ load: () -> some AsyncInstances<Book>
    ) async throws {
      try await trips(count, what) {
        let found = try await load().all()
        #expect(found.map(\.id) == expected, "\(what)")
      }
    }
    try await page("of an index, with its records", Array(100...180)) {
      books.load("Book 100"..."Book 180", from: \.title)
    }
    try await page("of a direct one, backwards", (100...180).reversed()) {
      books.load(1000...1800, order: .descending, from: \.pages)
    }
    try await trips(1, "one value of one") {
      let found = try await books.load("isbn-77", from: \.isbn)
      #expect(found?.id == 77)
    }
    try await page("of the records themselves", Array(11...90)) { books.load(11...90) }
    try await page("of what begins with a text", Array(200...209)) { books.load(prefix: "Book 20", from: \.title) }
    try await page("of nothing", []) { books.load(prefix: "Look", from: \.title) }
    try await trips(1, "as many as a page has, of more") {
      var found: [Int] = []
      for try await book in books.load("Book 100"..., from: \.title) {
        found.append(book.id)
        if found.count == 100 { break }
      }
      #expect(found == Array(100...199))
    }
    // Pages grow: 100, 200, the rest.
    try await page("of everything", Array(1...400), trips: 3) { books.load(..., from: \.title) }
    // Of the past: the newest state is not asked for, but the commit is.
    let then = try #require(try await persistence.head).id
    try await books.persist(Book(id: 900, title: "Book 150 again"))
    let view = try await books.view(at: then)
    try await page("of the past", Array(150...160)) { view.load("Book 150"..."Book 160", from: \.title) }
    // The one above was new, too.
    try await trips(2, "a new record: the newest state with what is there, the flush") {
      try await books.persist(Book(id: 901, title: "New"))
    }
    try await trips(1, "one that is taken to be new, like those before it: the flush, which proves it") {
      try await books.persist(Book(id: 902, title: "New"))
    }
    try await trips(4, "one that is not: the flush that finds that out, and all as without") {
      let found = try await books.persist(Book(id: 901, title: "Newer"))
      #expect(found?.title == "New")
    }
    try await trips(3, "a changed one: also its entries before") {
      let found = try await books.persist(Book(id: 901, title: "Newest"))
      #expect(found?.title == "Newer")
    }
    // A transaction reads its view, and goes out at once, however much it writes.
    try await trips(12, "many new records: each is looked for") {
      try await persistence.perform {
        for book in Book.numbered(500...509) { try await books.persist(book) }
      }
    }
  }

  @Test("a record that is taken to be new and is not is found, and replaced with its entries")
  func wrongGuess() async throws {
    let (here, there) = (try other(), try other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    for book in Book.numbered(1...4) { try await ours.persist(book) }
    try await theirs.persist(Book(id: 5, title: "Ulysses", pages: 7))
    // What somebody else has written meanwhile, what is there since long, and what was deleted.
    #expect(try await ours.persist(Book(id: 5, title: "Odyssey", pages: 8))?.title == "Ulysses")
    for book in Book.numbered(11...13) { #expect(try await ours.persist(book) == nil) }
    #expect(try await ours.persist(Book(id: 1, title: "Iliad"))?.title == "Book 001")
    for book in Book.numbered(21...23) { #expect(try await ours.persist(book) == nil) }
    _ = try await theirs.delete(5)
    #expect(try await ours.persist(Book(id: 5, title: "Aeneid", pages: 9)) == nil)
    #expect(try await theirs.load(5)?.title == "Aeneid")
    for title in ["Ulysses", "Odyssey", "Book 001"] {
      #expect(try await theirs.load(title, from: \.title).all().isEmpty, "\(title)")
    }
    #expect(try await theirs.load(9, from: \.pages).all().map(\.id) == [5])
    #expect(try await theirs.load(..., from: \.title).all().count == 11)
    #expect(try await ours.persist(Book(id: 5, title: "Aeneid", pages: 9))?.title == "Aeneid")
    // Each commit says what it was.
    let counts = try #require(try await here.head).id.rawValue
    #expect(counts == 15)
  }

  @Test("a new datastore of many is copied to the server, with its entries, its counts and its history")
  func manyNew() async throws {
    let persistence = try other()
    let books = BookFormat.datastore(persistence)
    let long = String(repeating: "x", count: 900)
    try await persistence.perform {
      for book in Book.numbered(1...1_500) { try await books.persist(book) }
      try await books.persist(Book(id: 7, title: "Ulysses \(long)"))
      _ = try await books.delete(8)
    }
    #expect(try await books.count == 1_499)
    #expect(try await books.load(7)?.title.hasPrefix("Ulysses") == true)
    #expect(try await books.load("Book 007", from: \.title).all().map(\.id) == [1_007])
    #expect(try await books.load("Book 008", from: \.title).all().map(\.id) == [1_008])
    #expect(try await books.load(..., from: \.title).all().count == 1_499)
    #expect(try await books.load("Book 400", from: \.title).all().map(\.id) == [400, 1_400])
    let first = try #require(try await persistence.head)
    try await books.persist(Book(id: 9, title: "Odyssey"))
    #expect(try await books.view(at: first.id).load(9)?.title == "Book 009")
    #expect(try await books.load("Odyssey", from: \.title).all().map(\.id) == [9])
    // To others as well.
    #expect(try await BookFormat.datastore(try other()).load(..., from: \.pages).all().count == 1_499)
    let engine = try persistence._store.engine()
    #expect(try engine.commit(first.id.rawValue).counts.first?.inserted == 1_499)
  }

  @Test("changes of hundreds of records that were told ahead are looked up at once")
  func foreseenChanges() async throws {
    let persistence = try other()
    let books = PlainBookFormat.datastore(persistence)
    try await persistence.perform { for book in Book.numbered(1...200) { try await books.persist(book) } }
    let engine = try persistence._store.engine()
    let tree = try #require(try engine.head.tree(.records(of: "Books")))
    let found = try (0..<UInt64(200)).map { place in
      var cursor = tree.cursor()
      try cursor.seek(rank: place)
      return try #require(cursor.current)
    }
    let keys = found.map(\.key.array)
    let records = try found.map { try tree.value(of: try #require($0.payload.record)).array }
    let before = engine.counts.roundTrips
    let transaction = try engine.beginBlocking()
    let writer = DatastoreWriter(try DatastoreDescriptor(bytes: tree.attributes.array), in: transaction)
    try writer.prefetch(keys.map { ($0, []) }) { _ in [] }
    for (key, record) in zip(keys, records.reversed()) {
      try writer.put(key, record, values: [], replacing: try writer.current(key), oldValues: [])
    }
    try writer.finish()
    _ = try transaction.commit()
    #expect(engine.counts.roundTrips - before == 3)
    #expect(try await books.load(1)?.id == 200)
  }

  @Test("to prove which fields the indexes are made from, the browser asks for hundreds of records at once")
  func proofs() async throws {
    let persistence = try other()
    let books = BookFormat.datastore(persistence)
    try await persistence.perform { for book in Book.numbered(1...600) { try await books.persist(book) } }
    let engine = try persistence._store.engine()
    let store = EngineStore(engine, path: engine.path)
    var cursor = try #require(try store.head.datastore("Books")).records(at: 0..<1)
    #expect(try cursor.next())
    let record = try #require(try cursor.record())
    let new = RecordContent(
      version: record.version,
      bytes: Array(String(decoding: record.content, as: UTF8.self).replacing("Book 001", with: "Ulysses").utf8))
    let before = engine.counts.roundTrips
    let preview = try store.preview(
      ChangeSet(changes: [RecordEdit(datastore: "Books", identifier: record.identifier, old: record.stored, new: new)]),
      options: EditOptions())
    #expect(preview.refusals.isEmpty && preview.addedEntries == 1 && preview.removedEntries == 1)
    // The samples that the paths are found by are what is left: 48 of each index.
    #expect(engine.counts.roundTrips - before < 900, "\(engine.counts.roundTrips - before)")
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
    for part in ["2", "title", "1000"] {
      #expect("\(try #require(long))".contains(part), "\(String(describing: long))")
    }
    #expect(try await books.count == 1)
    let versions = VersionedFormat.datastore(persistence)
    let order = await #expect(throws: StoreError.self) { try await versions.persist(Versioned(id: Release(major: 1))) }
    #expect(order?.message.contains("OrderedKey") == true, "\(String(describing: order))")
  }

  @Test("a URL that is none, a server that is not there, a store that is not there: a sentence without the password")
  func badInput() async throws {
    let folder = try #require(TestServer.shared).folder
    for url in ["postgres://ada:hush@db:port/x", "postgres://ada:hush@/x?host=\(folder)/nowhere&wait=0", "nonsense"] {
      let found = await #expect(throws: StoreError.self) { _ = try await PostgresPersistence(readWriteURL: url) }
      #expect(
        found.map { !$0.message.contains("hush") && $0.message.hasSuffix(".") } == true, "\(String(describing: found))")
    }
    await #expect(throws: StoreError.self) { _ = try await PostgresPersistence(readOnlyURL: location) }
  }

  @Test("warm-up builds an index once, whoever begins it, and the store fits both")
  func warmUp() async throws {
    let there = try other()
    try await fill(1...50)
    async let first: Void = BookFormat.datastore(try other()).warm()
    async let second: Void = BookFormat.datastore(there).warm()
    _ = try await (first, second)
    let books = BookFormat.datastore(there)
    #expect(try await books.load("Book 007", from: \.title).all().map(\.id) == [7])
    #expect(try await books.load(..., from: \.pages).all().count == 50)
  }

  @Test("a warm-up is watched by another process: it hears of its steps while nothing is committed, and of its end")
  func watchedWarmUp() async throws {
    let (here, there) = (try other(), try other())
    try await fill(1...50)
    let watcher = try there._store.engine()
    let (stirs, stirred) = AsyncStream<Void>.makeStream()
    let following = try watcher.follow { stirred.yield() }
    let (steps, told) = AsyncStream<Void>.makeStream()
    let (permits, permitted) = AsyncStream<Void>.makeStream()
    let permit = Permit(permits)
    let books: BookFormat.Datastore = .JSONStore(
      persistence: here,
      migrations: [
        .first: { decoder, data in
          told.yield()
          await permit.wait()
          return try decoder.decode(Book.self, from: data)
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    let warming = Task {
      do {
        try await books.warm()
      } catch {
        told.finish()
        stirred.finish()
        throw error
      }
    }
    // It stands at its first record.
    for await _ in steps { break }
    var found: Activity?
    for await _ in stirs {
      found = watcher.activity.flatMap { Activity(bytes: $0) }
      if found != nil { break }
    }
    #expect(found?.title.contains("Books") == true, "\(String(describing: found))")
    #expect(found?.steps.isEmpty == false)
    permitted.finish()
    try await warming.value
    for await _ in stirs { if watcher.activity == nil { break } }
    withExtendedLifetime(following) {}
    let theirs = BookFormat.datastore(there)
    #expect(try await theirs.load("Book 007", from: \.title).all().map(\.id) == [7])
  }

  @Test("a warm-up whose lease was taken over writes nothing")
  func lostWarmUp() async throws {
    let persistence = try other()
    try await fill(1...5)
    let before = try #require(try await persistence.head).id
    let server = try #require(TestServer.shared)
    let schema = location.split(separator: "=").last.map(String.init) ?? ""
    let books: BookFormat.Datastore = .JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          server.psql("update \(schema).lease set holder = '\\x00' where what like 'warm up%'")
          return try decoder.decode(Book.self, from: data)
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    let error = await #expect(throws: StoreError.self) { try await books.warm() }
    #expect(error?.message.contains("taken over") == true, "\(String(describing: error))")
    #expect(try await persistence.head?.id == before)
  }

  @Test("a sequence shows what there was when it was first read, however often it is read")
  func sequence() async throws {
    let (here, there) = (try other(), try other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    for book in Book.numbered(1...3) { try await ours.persist(book) }
    let all = ours.load(..., from: \.title)
    try await theirs.delete(1)
    #expect(try await all.all().map(\.id) == [2, 3])
    try await theirs.delete(2)
    try await ours.delete(3)
    #expect(try await all.all().map(\.id) == [2, 3])
    #expect(try await ours.load(..., from: \.title).all().isEmpty)
  }

  @Test("what was made in a transaction shows what it had written by then, and after it too")
  func moments() async throws {
    let persistence = try other()
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "Ulysses"))
    let (before, after) = try await persistence.perform {
      try await books.persist(Book(id: 2, title: "Odyssey"))
      let before = books.load(..., from: \.title)
      try await books.persist(Book(id: 1, title: "Ulysses", pages: 700))
      try await books.delete(2)
      let inside = try await before.all()
      #expect(inside.map(\.title) == ["Odyssey", "Ulysses"] && inside.last?.pages != 700)
      return (before, books.load(..., from: \.title))
    }
    #expect(try await before.all().map(\.id) == [2, 1])
    #expect(try await after.all().map(\.pages) == [700])
  }

  @Test("a zero character, which no text of a server holds, is shown by its symbol in the history")
  func zeros() async throws {
    let persistence = try other()
    let books = BookFormat.datastore(persistence, key: "a\0b")
    try await books.persist(Book(id: 1, title: "Zero \0"))
    #expect(try await books.load("Zero \0", from: \.title).all().map(\.id) == [1])
    #expect(try await persistence.head?.action == "persist a\u{2400}b")
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

/// Lets nobody through until its stream has ended.
private struct Permit {
  private let opening: Task<Void, Never>

  init(_ permits: AsyncStream<Void>) { opening = Task { for await _ in permits {} } }

  func wait() async { await opening.value }
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
