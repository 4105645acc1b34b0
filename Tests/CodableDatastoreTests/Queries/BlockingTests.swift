import CodableDatastore
import Foundation
import StrataLocks
import Testing

@Suite("Blocking calls")
struct BlockingTests {
  let place = TemporaryPlace()

  /// An instance that notes the thread that it is decoded on.
  struct Seen: Codable, Identifiable, Sendable {
    static let decoding = Mutex<Set<ObjectIdentifier>>([])
    var id: Int
    var value: Int

    init(id: Int, value: Int) { (self.id, self.value) = (id, value) }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      (id, value) = (try container.decode(Int.self, forKey: .id), try container.decode(Int.self, forKey: .value))
      _ = Self.decoding.withLock { $0.insert(ObjectIdentifier(Thread.current)) }
    }
  }

  struct SeenFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Seen
    static let defaultKey: DatastoreKey = "Seen"
    static let currentVersion = Version.one
    let value = Index(\.value)
  }

  /// A lock that a thread and the task which waits for it pass one after the other. Resuming hands the result over already; the thread
  /// sanitizer does not see that where the task had not gone to sleep yet, and this it sees.
  private final class Handover: Sendable {
    private let mutex = Mutex(())
    func pass() { mutex.withLock { _ in } }
  }

  /// Runs code that is not async on a thread of its own.
  private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let handover = Handover()
    defer { handover.pass() }
    return try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        let result = Result { try body() }
        handover.pass()
        continuation.resume(with: result)
      }
    }
  }

  @Test("a closure makes calls of a datastore and of a query that have no blocking form")
  func closures() async throws {
    let books = try BookFormat.datastore(DiskPersistence(readWriteURL: place.url))
    try await books.persist(contentsOf: Book.numbered(1...20))
    let pages = try await onThread {
      try books.blocking { try await $0.load(...).sum(of: \.pages) }
    }
    let selected = try await onThread {
      let long = books.blocking.load(where: #Predicate { $0.pages > 0 })
      return try long { try await $0.sum(of: \.pages) }
    }
    let total = Book.numbered(1...20).reduce(0) { $0 + $1.pages }
    #expect(pages == total && selected == total)
  }

  @Test("a script of five lines reads a store")
  func script() async throws {
    let url = place.url
    try await BookFormat.datastore(DiskPersistence(readWriteURL: url)).persist(contentsOf: Book.numbered(1...20))
    let titles = try await onThread {
      let books = try DiskPersistence(readOnlyURL: url).blocking.datastore(BookFormat.self)
      return try books.load(150..., from: \.pages).map(\.title)
    }
    #expect(titles == Book.numbered(15...20).map(\.title))
  }

  @Test("every call answers as the async one does")
  func mirrored() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    let all = Book.numbered(1...12)
    try await onThread {
      let blocking = books.blocking
      try blocking.persist(contentsOf: all)
      #expect(try blocking.count == 12)
      #expect(try blocking.load(3) == all[2])
      #expect(try blocking.load(ids: [2, 99]) == [all[1], nil])
      #expect(try blocking.load(2..<5) == Array(all[1..<4]))
      #expect(try blocking.load(..., order: .descending) == all.reversed())
      #expect(try blocking.load("isbn-4", from: \.isbn) == all[3])
      #expect(try blocking.load(prefix: "Book 01", from: \.title) == Array(all[9...]))
      #expect(try blocking.load(50..<80, from: \.pages) == Array(all[4..<7]))
      #expect(try blocking.collect { $0.load("Everybody", from: \.authors) }.count == 12)
      let query = blocking.load(where: #Predicate { $0.pages > 50 }).sorted(by: \.pages, .descending)
      #expect(try query.all == all[5...].reversed())
      #expect(try query.count == 7)
      #expect(try query.first == all[11])
      #expect(try query.exists)
      #expect(try query.min(of: \.pages) == 60)
      #expect(try query.limit(2).after(query.cursor(after: all[11])).all == [all[10], all[9]])
      #expect(try query.explain().hasPrefix("INDEX pages"))
      let walk = query.walk()
      #expect(try walk.next() == all[11])
      #expect(try walk.next() == all[10])
      let before = try persistence.blocking.head?.id
      #expect(try blocking.update(1) { $0.title = "New" }.new.title == "New")
      #expect(try blocking.load(where: #Predicate { $0.pages <= 30 }).update { $0.shelf = "Z" } == 3)
      #expect(try blocking.load(where: #Predicate { $0.pages == 40 }).delete() == 1)
      #expect(try blocking.delete(5).id == 5)
      #expect(try blocking.deleteIfPresent(5) == nil)
      #expect(try blocking.delete(6...8) { $0.id != 7 } == 2)
      #expect(try blocking.delete(120..., from: \.pages) == 1)
      #expect(try blocking.count == 7)
      let old = try blocking.view(at: #require(before))
      #expect(try old.load(...) == all)
      #expect(try blocking.history(of: 1).count == 3)
      #expect(try blocking.history(of: 1, \.title).map(\.value) == ["New", "Book 001"])
      #expect(try blocking.changes(from: #require(before)).count == 8)
      #expect(try persistence.blocking.commits().first?.id == persistence.blocking.head?.id)
      try persistence.blocking.restore(#require(before))
      #expect(try blocking.load(...) == all)
      #expect(throws: DatastoreInterfaceError.instanceNotFound) { try blocking.delete(999) }
      #expect(throws: UnindexedQueryError.self) {
        try blocking.load(where: #Predicate { $0.title.contains("x") }).all
      }
    }
  }

  @Test("two copies exchange, and a migration is rehearsed")
  func exchanging() async throws {
    let other = TemporaryPlace()
    let (url, otherURL) = (place.url, other.url)
    try await onThread {
      let here = try DiskPersistence(readWriteURL: url)
      let books = BookFormat.datastore(here)
      try books.blocking.persist(contentsOf: Book.numbered(1...3))
      #expect(try books.blocking.rehearseMigration().total == 3)
      let there = try DiskPersistence(readWriteURL: otherURL)
      let exchange = there.blocking
      try exchange.addRemote(RemoteStore(name: "desk", location: url.path(percentEncoded: false)))
      #expect(try exchange.remotes.map(\.name) == ["desk"])
      #expect(try exchange.fetch(from: "desk") > 0)
      #expect(try !exchange.planMerge(with: "desk").isOpen)
      #expect(try !exchange.merge(with: "desk").isOpen)
      let copies = BookFormat.datastore(there).blocking
      #expect(try copies.count == 3)
      try copies.delete(2)
      #expect(try exchange.push(to: "desk") == 1)
      #expect(try books.blocking.load(...).map(\.id) == [1, 3])
      #expect(try !exchange.exchange(with: "desk").isOpen)
      try exchange.removeRemote(named: "desk")
      #expect(try exchange.remotes.isEmpty)
    }
  }

  @Test("a read begins and ends on the thread that asked")
  func thread() async throws {
    let seen: SeenFormat.Datastore = .JSONStore(persistence: MemoryPersistence())
    try await seen.persist(contentsOf: (0..<2000).map { Seen(id: $0, value: $0 % 7) })
    let (own, met) = try await onThread {
      Seen.decoding.withLock { $0 = [] }
      let blocking = seen.blocking
      try blocking.warm()
      #expect(try blocking.load(...).count == 2000)
      #expect(try blocking.load(3) != nil)
      #expect(try blocking.load(where: #Predicate { $0.value == 3 }).all.count == 286)
      #expect(try blocking.load(where: #Predicate { $0.value * 2 == 6 }).scanning().count == 286)
      return (ObjectIdentifier(Thread.current), Seen.decoding.withLock { $0 })
    }
    #expect(met == [own])
  }

  @Test("a transaction is kept whole or not at all; what is called in it joins")
  func transaction() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    try await onThread {
      #expect(throws: Stop.self) { try Self.abandon(books, in: persistence) }
      #expect(try books.blocking.count == 0)
      try Self.keep(books, in: persistence)
      #expect(try books.blocking.load(1)?.pages == 3)
      #expect(try persistence.blocking.head?.action == "three")
      #expect(try persistence.blocking.commits().count == 1)
    }
  }

  private struct Stop: Error {}

  private static func abandon(_ books: BookFormat.Datastore, in persistence: MemoryPersistence) throws {
    try persistence.blocking.perform { () throws -> Void in
      try books.blocking.persist(Book.numbered(1...1)[0])
      guard try books.blocking.count == 1 else { return }
      throw Stop()
    }
  }

  private static func keep(_ books: BookFormat.Datastore, in persistence: MemoryPersistence) throws {
    try persistence.blocking.perform(actionName: "three") { () throws -> Void in
      try books.blocking.persist(contentsOf: Book.numbered(1...3))
      try persistence.blocking.perform { () throws -> Void in
        try books.blocking.update(1) { $0.pages = try books.blocking.count }
      }
    }
  }

  @Test("within an async transaction a call throws instead of waiting for itself")
  func refused() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    func write() throws { try books.blocking.persist(Book.numbered(1...1)[0]) }
    func count() throws -> Int { try books.blocking.count }
    try await persistence.perform {
      #expect { try write() } throws: { ($0 as? StoreError)?.kind == .refused }
      #expect(throws: StoreError.self) { try count() }
      try await books.persist(Book.numbered(2...2)[0])
    }
    #expect(try await books.load(...).all().map(\.id) == [2])
  }

  @Test("300 blocking and 300 async writes lose nothing")
  func together() async throws {
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<6 {
        group.addTask {
          try await onThread {
            for book in Book.numbered((thread * 50 + 1)...(thread * 50 + 50)) { try books.blocking.persist(book) }
          }
        }
      }
      for book in Book.numbered(301...600) { group.addTask { _ = try await books.persist(book) } }
      try await group.waitForAll()
    }
    #expect(try await books.load(...).all() == Book.numbered(1...600))
    #expect(try await books.load(where: #Predicate { $0.pages >= 10 }).count == 600)
  }

  @Test("no blocking call may be made from async code: each says so to the compiler")
  func unavailable() throws {
    var root = URL(filePath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    let folder = root.appending(path: "Sources/CodableDatastore/Blocking")
    var calls = 0
    for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
      let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
      for (number, line) in lines.enumerated() where line.hasPrefix("  public func") || line.hasPrefix("  public var") {
        let before = lines[max(0, number - 3)..<number]
        let isMarked = before.contains { $0.contains("@available(*, noasync)") }
        // What only says what is wanted reads nothing.
        let isDescription =
          !isMarked && line.contains("-> Self") || line.contains("func cursor") || line.contains("func sorted")
        #expect(isMarked || isDescription, "\(file.lastPathComponent):\(number + 1)")
        calls += 1
      }
    }
    #expect(calls > 40)
  }

  @Test("an observer's walk waits for each change")
  func observing() async throws {
    let books = BookFormat.datastore(MemoryPersistence())
    try await onThread {
      let events = try books.blocking.walk { try await $0.observe() }
      try books.blocking.persist(contentsOf: Book.numbered(1...2))
      #expect(try events.next()?.id == 1)
      #expect(try events.next()?.id == 2)
    }
  }
  @Test("a damaged version is an error in its place, and the iteration goes on behind it")
  func damagedVersion() async throws {
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    for title in ["First", "Second", "Third"] { try await books.persist(Book(id: 1, title: "\(title) title")) }
    try await books.persist(Book(id: 2, title: "Another"))
    let file = place.url.appending(path: "data")
    var data = try Data(contentsOf: file)
    let content = try #require(data.range(of: Data("Second title".utf8)))
    data[content.lowerBound] ^= 1
    let handle = try FileHandle(forWritingTo: file)
    try handle.seek(toOffset: UInt64(content.lowerBound))
    try handle.write(contentsOf: data[content.lowerBound..<content.upperBound])
    try handle.close()

    func read<Element>(_ instances: some AsyncInstances<Element>, _ text: (Element) -> String) async -> [String] {
      var (iterator, found) = (instances.makeAsyncIterator(), [String]())
      while found.count < 9 {
        do {
          guard let element = try await iterator.next() else { break }
          found.append(text(element))
        } catch let error as UnreadableChangeError {
          found.append("\(error.identifier) \(error.commit)")
        } catch {
          found.append("\(error)")
        }
      }
      return found
    }
    #expect(await read(books.history(of: 1)) { $0.instance?.title ?? "" } == ["Third title", "1 #2", "First title"])
    let titles = ["Third title", "1 #2", "First title"]
    #expect(await read(books.history(of: 1, \.title)) { $0.value ?? "" } == titles)
    #expect(await read(books.changes(from: 2)) { "\($0.id)" } == ["1 #4", "2"])
    #expect(await read(books.changes(from: 1)) { "\($0.id)" } == ["1", "2"])
    try await onThread {
      let walk = try books.blocking.walk { $0.history(of: 1) }
      #expect(try walk.next()?.instance?.title == "Third title")
      #expect(throws: UnreadableChangeError.self) { try walk.next() }
      #expect(try walk.next()?.instance?.title == "First title")
      #expect(try walk.next() == nil)
    }
  }
}
