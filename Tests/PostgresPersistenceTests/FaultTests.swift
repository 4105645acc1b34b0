import CodableDatastore
import Foundation
import StrataEngine
import StrataLocks
import Testing

/// Networks and servers that fail under programs of the typed library. The servers are these tests' own, which they stop.
@Suite("Faults under a typed store on a server", .serialized, .enabled(if: TestServer.isThere, TestServer.missing))
struct TypedFaultTests {
  private static let breakable = TestServer()
  private static let isSoak = ProcessInfo.processInfo.environment["STRATA_SOAK"] != nil

  /// Persists a book, again and again while the server cannot be reached: then nothing was written. What became of it is always known.
  private func persist(_ book: Book, in books: BookFormat.Datastore) async throws {
    while true {
      do {
        _ = try await books.persist(book)
        return
      } catch let error as StoreError where error.kind == .unreachable {
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  /// Does something while four tasks save one book after the other; what those were told is saved.
  ///
  /// - Parameter body: gets a function that waits until so many more are saved, and throws where a task has ended: it would wait for ever.
  private func underWriters(
    of books: BookFormat.Datastore, _ body: (_ saved: (Int) async throws -> Void) async throws -> Void
  ) async throws -> [Book] {
    let acknowledged = Box<[Book]>([])
    let isOver = Box(false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          defer { isOver.change { $0 = true } }
          var number = task
          while !isOver.value {
            let book = Book.numbered([number])[0]
            try await persist(book, in: books)
            acknowledged.change { $0.append(book) }
            number += 4
          }
        }
      }
      defer { isOver.change { $0 = true } }
      try await body { count in
        let wanted = acknowledged.value.count + count
        while acknowledged.value.count < wanted {
          // What a task that has ended says comes first.
          if isOver.value { try await group.waitForAll() }
          try #require(!isOver.value, "a task has ended")
          try await Task.sleep(for: .milliseconds(2))
        }
      }
      isOver.change { $0 = true }
      try await group.waitForAll()
    }
    return acknowledged.value
  }

  /// Each book that was acknowledged is there once, and nothing else is; every index leads to the same ones.
  private func check(_ books: BookFormat.Datastore, hold acknowledged: [Book]) async throws {
    let expected = acknowledged.sorted { $0.id < $1.id }
    #expect(try await books.load(...).all() == expected)
    #expect(try await books.load(..., from: \.title).all().map(\.id).sorted() == expected.map(\.id))
    #expect(try await books.load(..., from: \.pages).all().map(\.id).sorted() == expected.map(\.id))
    #expect(try await books.load("Everybody", from: \.authors).all().map(\.id) == expected.map(\.id))
    for book in expected { #expect(try await books.history(of: book.id).all().count == 1, "book \(book.id)") }
  }

  @Test("a connection that is cut at any byte of a persist leaves it committed once", arguments: [true, false])
  func cuts(_ isToServer: Bool) async throws {
    let server = try #require(TestServer.shared)
    let proxy = try #require(CuttingProxy(to: server))
    defer { proxy.close() }
    let schema = TestServer.newSchema()
    let persistence = MemoryPersistence(at: server.location(schema, folder: proxy.folder))
    let books = BookFormat.datastore(persistence)
    let numbered = Book.numbered(1...400)
    for round in 0..<200 {
      // The connections are warm again: what is cut is a persist, and not the preparing of statements.
      try await books.persist(numbered[2 * round])
      proxy.arm(CuttingProxy.Cut(isToServer: isToServer, bytes: 1 + round * (isToServer ? 13 : 4)))
      try await books.persist(numbered[2 * round + 1])
    }
    #expect(proxy.cutCount > 100)
    let direct = MemoryPersistence(at: server.location(schema))
    let commits = try await direct.commits.all().filter { !$0.isMaintenance }
    #expect(commits.count == 400)
    try await check(BookFormat.datastore(direct), hold: numbered)
  }

  @Test("when the server is stopped as by a power cut under four tasks, what they were told is there once")
  func powerCuts() async throws {
    let server = try #require(Self.breakable)
    let persistence = MemoryPersistence(at: server.location())
    let books = BookFormat.datastore(persistence)
    let acknowledged = try await underWriters(of: books) { saved in
      for _ in 0..<(Self.isSoak ? 50 : 4) {
        try await saved(25)
        #expect(server.stopImmediately())
        #expect(server.start())
      }
    }
    try await check(books, hold: acknowledged)
  }

  @Test(
    "the primary is lost and its standby takes over: the app goes on through its list of hosts, and nothing is lost")
  func failover() async throws {
    let primary = try #require(TestServer())
    let standby = try #require(TestServer(standbyOf: primary))
    let location =
      "postgres://strata@/postgres?host=\(primary.folder),\(standby.folder)&port=\(primary.port),\(standby.port)"
      + "&target_session_attrs=primary&schema=library"
    let books = BookFormat.datastore(MemoryPersistence(at: location))
    let acknowledged = try await underWriters(of: books) { saved in
      try await saved(50)
      #expect(primary.stopImmediately())
      #expect(standby.promote())
      try await saved(50)
    }
    try await check(books, hold: acknowledged)
    let direct = BookFormat.datastore(MemoryPersistence(at: standby.location("library")))
    try await check(direct, hold: acknowledged)
  }

  @Test(
    "while the server is away and is not waited for each call says so in a sentence; afterwards the same persistence goes on"
  )
  func away() async throws {
    let server = try #require(Self.breakable)
    let schema = TestServer.newSchema()
    let persistence = MemoryPersistence(at: server.location(schema, more: "&wait=0"))
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...3) { try await books.persist(book) }
    // The reads of a browser do not wait, however long those of the app may.
    let shown = BookFormat.datastore(MemoryPersistence(at: server.location(schema, more: "&wait=3600")))
    #expect(try await shown.load(1) != nil)
    #expect(server.stopImmediately())
    let calls: [() async throws -> Void] = [
      { _ = try await ReadPatience.$isNone.withValue(true) { try await shown.load(2) } },
      { _ = try await books.load(1) }, { _ = try await books.load("Book 001", from: \.title).all() },
      { _ = try await books.persist(Book(id: 4, title: "Four")) }, { _ = try await books.count },
      { try await persistence.perform { _ = try await books.persist(Book(id: 5, title: "Five")) } },
    ]
    for call in calls {
      let error = await #expect(throws: StoreError.self) { try await call() }
      #expect(error?.kind == .unreachable, "\(String(describing: error))")
      #expect(error?.message.contains("\n") == false)
    }
    #expect(server.start())
    try await check(books, hold: Book.numbered(1...3))
    try await books.persist(Book.numbered(4...4)[0])
    try await check(books, hold: Book.numbered(1...4))
  }

  @Test("connections that a firewall has cut while nobody used them are noticed by no caller")
  func idleConnections() async throws {
    let server = try #require(TestServer.shared)
    let schema = TestServer.newSchema()
    let persistence = MemoryPersistence(at: server.location(schema, more: "&application_name=\(schema)"))
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...3) { try await books.persist(book) }
    func cut() {
      #expect(
        server.psql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = '\(schema)'") == 0)
    }
    cut()
    #expect(try await books.load(2)?.title == "Book 002")
    cut()
    try await books.persist(Book.numbered(4...4)[0])
    cut()
    // A datastore that is made takes numbers for its trees.
    let other = BookFormat.datastore(persistence, key: "Others")
    try await other.persist(Book(id: 1, title: "One"))
    cut()
    // And one that is warmed up takes a lease: of another declaration, as another process has it.
    let second = MemoryPersistence(
      at: server.location(schema, more: "&application_name=\(schema)&connect_timeout=10"))
    #expect(try await second.head != nil)
    cut()
    try await PlainBookFormat.datastore(second).warm()
    try await check(books, hold: Book.numbered(1...4))
  }

  @Test(
    "a disk that is full stops writes with a sentence and loses nothing; with room they go on",
    .enabled(if: SmallDisk.isPossible, "a small file system cannot be mounted here"))
  func fullDisk() async throws {
    let server = try #require(TestServer())
    let disk = try #require(SmallDisk(in: server, megabytes: 6))
    defer { disk.remove() }
    #expect(server.psql("create tablespace small location '\(disk.path)'") == 0)
    #expect(server.psql("alter role strata set default_tablespace = small") == 0)
    let novels = NovelFormat.datastore(MemoryPersistence(at: server.location()))
    var kept: [Novel] = []
    var failure: StoreError?
    while failure == nil, kept.count < 4_000 {
      // Letters that no compression makes small.
      let text = (0..<1_000).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
      let novel = Novel(id: kept.count, text: text)
      do {
        try await novels.persist(novel)
        kept.append(novel)
      } catch let error as StoreError {
        failure = error
      }
    }
    #expect(failure?.message.contains("There is no room on the server") == true, "\(String(describing: failure))")
    #expect(kept.count > 10)
    #expect(try await novels.load(...).all() == kept)
    #expect(disk.resize(megabytes: 64))
    kept.append(Novel(id: kept.count, text: "there is room"))
    try await novels.persist(kept[kept.count - 1])
    #expect(try await novels.load(...).all() == kept)
  }
}

/// Records that no index makes keys of.
private struct Novel: Codable, Hashable, Identifiable, Sendable {
  var id: Int
  var text: String
}

private struct NovelFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case first = 1 }
  typealias Instance = Novel
  static let defaultKey: DatastoreKey = "Novels"
  static let currentVersion = Version.first

  static func datastore(_ persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Novel.self, from: $1) }])
  }
}

/// A file system of a few megabytes in a server's folder.
private struct SmallDisk {
  let path: String

  /// Whether one can be mounted here: as root, outside of most containers.
  static let isPossible: Bool = {
    guard let server = TestServer.shared, let disk = SmallDisk(in: server, megabytes: 1) else { return false }
    disk.remove()
    return true
  }()

  init?(in server: TestServer, megabytes: Int) {
    path = server.folder + "/disk"
    guard (try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)) != nil,
      ChildProgram.run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", path]) == 0
    else { return nil }
    // Of whoever the server runs as.
    guard ChildProgram.run("/bin/chown", ["--reference=\(server.folder)", path]) == 0 else {
      remove()
      return nil
    }
  }

  func resize(megabytes: Int) -> Bool {
    ChildProgram.run("/bin/mount", ["-o", "remount,size=\(megabytes)m", path]) == 0
  }

  func remove() { _ = ChildProgram.run("/bin/umount", ["-l", path]) }
}
