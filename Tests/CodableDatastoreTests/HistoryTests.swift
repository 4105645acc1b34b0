import CodableDatastore
import Foundation
import Testing

@Suite("History")
struct HistoryTests {
  let persistence = MemoryPersistence()

  @Test("commits name what was done, by whom, and how much")
  func commits() async throws {
    let books = BookFormat.datastore(persistence)
    #expect(try await persistence.head == nil)
    try await persistence.perform(actionName: "import") {
      for book in Book.numbered(1...3) { try await books.persist(book) }
    }
    try await persistence.perform(actionName: "correct") {
      try await books.persist(Book(id: 1, title: "One"))
      try await books.delete(2)
    }
    let commits = try await persistence.commits.all()
    #expect(commits.map(\.action) == ["correct", "import"])
    #expect(commits[0].changes == [Commit.Changes(datastore: "Books", inserted: 0, updated: 1, deleted: 1)])
    #expect(commits[1].changes.map(\.inserted) == [3])
    #expect(commits[0].parents == [commits[1].id])
    #expect(commits[0].date >= commits[1].date)
    #expect(!commits[0].program.isEmpty)
    #expect(try await persistence.head?.id == commits[0].id)
    #expect(try await persistence.commit(commits[1].id).action == "import")
    #expect(try await persistence.commit(notLaterThan: .distantFuture).id == commits[0].id)
    #expect(try await persistence.commits(from: commits[1].id).all().count == 1)
    await #expect(throws: StoreError.self) { try await persistence.commit(99) }
  }

  @Test("a view of the past loads like the present")
  func views() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...3) { try await books.persist(book) }
    let then = try #require(try await persistence.head).id
    try await books.persist(Book(id: 2, title: "Changed"))
    try await books.delete(3)
    let view = try await books.view(at: then)
    #expect(try await view.count == 3)
    #expect(try await view.load(2)?.title == "Book 002")
    #expect(try await view.load("Book 002", from: \.title).all().map(\.id) == [2])
    #expect(try await view.load(20..., from: \.pages).all().map(\.id) == [2, 3])
    #expect(try await books.count == 2)
    #expect(try await books.view(at: .distantFuture).count == 2)
    // Whatever asks for the newest state gets that of the view.
    #expect(try await view.changes(from: 1).all().map(\.id) == [2, 3])
    #expect(try await view.changes(of: \.title, since: then).all().isEmpty)
    #expect(try await view.rehearseMigration().total == 3)
  }

  @Test("an index that was not there yet names the commit that brought it")
  func earlierIndex() async throws {
    do {
      let plain = PlainBookFormat.datastore(persistence)
      for book in Book.numbered(1...3) { try await plain.persist(book) }
    }
    let then = try #require(try await persistence.head).id
    let books = BookFormat.datastore(persistence)
    try await books.warm()
    let built = try #require(try await persistence.head)
    #expect(built.isMaintenance)
    try await books.persist(Book(id: 9, title: "Nine"))
    let view = try await books.view(at: then)
    #expect(try await view.load(2)?.title == "Book 002")
    let error = await #expect(throws: IndexNotYetBuiltError.self) {
      try await view.load("Book 002", from: \.title).all()
    }
    #expect(error?.broughtBy == built.id)
    #expect(error?.index == "title")
    let ofQuery = await #expect(throws: IndexNotYetBuiltError.self) {
      try await view.load(where: #Predicate { $0.title == "Book 002" }).all()
    }
    #expect(ofQuery == error)
  }

  @Test("an instance's states, and a property's values, newest first")
  func versions() async throws {
    let books = BookFormat.datastore(persistence)
    for (title, pages) in [("A", 1), ("A", 2), ("B", 2)] {
      try await persistence.perform(actionName: "\(title)\(pages)") {
        try await books.persist(Book(id: 1, title: title, pages: pages))
      }
    }
    try await books.delete(1)
    try await books.persist(Book(id: 1, title: "C", pages: 2))
    let states = try await books.history(of: 1).all()
    #expect(states.map { $0.instance?.title } == ["C", nil, "B", "A", "A"])
    #expect(states.map { $0.instance?.pages } == [2, nil, 2, 2, 1])
    #expect(states[4].commit.action == "A1")
    let titles = try await books.history(of: 1, \.title).all()
    #expect(titles.map(\.value) == ["C", nil, "B", "A"])
    #expect(titles[3].commit.action == "A1")
    let pages = try await books.history(of: 1, \.pages).all()
    #expect(pages.map(\.value) == [2, nil, 2, 1])
    #expect(pages[2].commit.action == "A2")
    #expect(try await books.history(of: 77).all().isEmpty)
  }

  @Test("what is different between two commits")
  func differences() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...5) { try await books.persist(book) }
    let then = try #require(try await persistence.head).id
    try await books.persist(Book(id: 2, title: "Two"))
    try await books.delete(4)
    try await books.persist(Book(id: 9, title: "Nine"))
    let changes = try await books.changes(from: then).all()
    #expect(changes.map(\.id) == [2, 4, 9])
    guard case .updated(_, let old, let new) = changes[0], case .deleted = changes[1], case .created = changes[2] else {
      Issue.record("the wrong kinds of change")
      return
    }
    #expect(old.title == "Book 002" && new.title == "Two")
    let now = try #require(try await persistence.head).id
    #expect(try await books.changes(from: now, to: then).all().count == 3)
  }

  @Test("restoring brings a state back, observers hear of it, and indexes are right")
  func restoring() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...3) { try await books.persist(book) }
    let then = try #require(try await persistence.head).id
    try await books.persist(Book(id: 2, title: "Changed"))
    try await books.delete(3)
    let events = try await books.observe()
    try await persistence.restore(then, actionName: "back")
    #expect(try await books.load(...).all() == Book.numbered(1...3))
    #expect(try await books.load("Book 002", from: \.title).all().map(\.id) == [2])
    #expect(try await books.load("Changed", from: \.title).all().isEmpty)
    #expect(try await events.collectInstances(upTo: 2).map(\.id) == [2, 3])
    #expect(try await persistence.head?.action == "back")
    #expect(try await persistence.head?.restores == then)
  }

  @Test("undoing takes back the newest commit, or an older one without what came later")
  func undoing() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A", pages: 1))
    try await persistence.perform(actionName: "title") { try await books.persist(Book(id: 1, title: "B", pages: 1)) }
    let title = try #require(try await persistence.head).id
    try await persistence.perform(actionName: "pages") { try await books.persist(Book(id: 1, title: "B", pages: 2)) }
    try await persistence.undo(title)
    #expect(try await books.load(1)?.title == "A")
    #expect(try await books.load(1)?.pages == 2)
    #expect(try await books.load("A", from: \.title).all().count == 1)
    #expect(try await books.load("B", from: \.title).all().isEmpty)
    #expect(try await persistence.head?.undoes == title)
    try await persistence.undo()
    #expect(try await books.load(1)?.pages == 1)
  }

  @Test("commits can be named")
  func names() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let first = try #require(try await persistence.head).id
    try await persistence.name("release-1")
    #expect(try await persistence.namedCommits == ["release-1": first])
    try await persistence.removeName("release-1")
    #expect(try await persistence.namedCommits.isEmpty)
  }

  @Test("history is not changed from within a transaction")
  func withinTransaction() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    await #expect(throws: StoreError.self) {
      try await persistence.perform { _ = try await persistence.undo() }
    }
  }
}

extension HistoryTests {
  @Test("a view that is held while the history is shortened tells the versions that it has")
  func heldView() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    for number in 1...6 { try await books.persist(Book(id: 1, title: "\(number)")) }
    let view = try await books.view(at: #require(try await disk.head).id)
    var present = books.history(of: 1).makeAsyncIterator()
    #expect(try await present.next()?.instance?.title == "6")
    let versions = try await view.history(of: 1).all()
    try await books.persist(Book(id: 1, title: "7"))
    try await disk.shortenHistory(keeping: .last(1))
    #expect(try await view.history(of: 1).all().map(\.commit) == versions.map(\.commit))
    #expect(try await present.next()?.instance?.title == "5")
  }

  @Test("direct indexes are read after a history is shortened, whatever was read before, by two persistences")
  func directIndexesAfterShortening() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    let reading = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    for book in Book.numbered(1...30) { try await books.persist(book) }
    for datastore in [books, reading] { #expect(try await datastore.load(7) == Book.numbered(7...7)[0]) }
    for kept in [20, 1] {
      try await disk.shortenHistory(keeping: .last(kept))
      for datastore in [books, reading] {
        #expect(try await datastore.load(..., from: \.pages).all() == Book.numbered(1...30))
        #expect(try await datastore.load("isbn-7", from: \.isbn) == Book.numbered(7...7)[0])
        #expect(try await datastore.load(where: #Predicate { $0.pages == 70 }).all() == Book.numbered(7...7))
      }
    }
  }

  @Test("a history is shortened: the newest and the named commits stay")
  func shortening() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    for book in Book.numbered(1...30) { try await books.persist(book) }
    try await disk.name("tenth", commit: 10)
    let report = try await disk.shortenHistory(keeping: .last(5))
    #expect(report.bytesAfter < report.bytesBefore)
    #expect(report.commitsRemoved > 0)
    let left = try await disk.commits.all()
    #expect(left.count < 10)
    #expect(left.contains { $0.id == 10 })
    #expect(try await books.view(at: 10).count == 10)
    #expect(try await books.load(...).all() == Book.numbered(1...30))
    await #expect(throws: StoreError.self) { try await books.view(at: 3) }
    try await books.persist(Book(id: 99, title: "goes on"))
    #expect(try await books.count == 31)
  }

  @Test("an app switches node deltas off and on; the history stays, and a plain call keeps what the store has")
  func deltas() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    for book in Book.numbered(1...30) { try await books.persist(book) }
    let commits = try await disk.commits.all().map(\.id)
    // The lowest byte of the required features.
    func features() throws -> UInt8 { try Data(contentsOf: place.url.appending(path: "data"))[16] }
    for (isOn, bit) in [(nil, 4), (false, 0), (nil, 0), (true, 4)] as [(Bool?, UInt8)] {
      try await disk.shortenHistory(keeping: .everything, usingNodeDeltas: isOn)
      #expect(try features() == bit)
    }
    #expect(try await disk.commits.all().map(\.id) == commits)
    #expect(try await books.load(...).all() == Book.numbered(1...30))
  }
}

/// Books whose values are compressed, by the format.
private struct CompressedBooks: DatastoreFormat {
  enum Version: Int, CaseIterable { case only = 1 }
  typealias Instance = Book
  static let defaultKey: DatastoreKey = "Compressed"
  static let currentVersion = Version.only
  static let compression: ValueCompression? = .values
}

extension HistoryTests {
  private func books(_ count: Int) -> [Book] {
    (1...count).map { Book(id: $0, title: "a title of some length, as many books have it, the \($0)th of them all") }
  }

  /// By the first required feature of page 0.
  private func areValuesCompressed(_ place: TemporaryPlace) throws -> Bool {
    try Data(contentsOf: place.url.appending(path: "data"), options: .alwaysMapped)[16] & 1 == 1
  }

  @Test(
    "values are compressed if the format says so, or else the configuration, from the next shortening on",
    arguments: [true, false])
  func compression(byFormat: Bool) async throws {
    let place = TemporaryPlace()
    var configuration = StoreConfiguration()
    if !byFormat { configuration.compression = .values }
    let disk = try DiskPersistence(readWriteURL: place.url, configuration: configuration)
    let books = books(4_000)
    if byFormat {
      let store: Datastore<CompressedBooks, ReadWrite> = disk.datastore(CompressedBooks.self)
      try await disk.perform { for book in books { try await store.persist(book) } }
      #expect(try !areValuesCompressed(place))
      let report = try await disk.shortenHistory(keeping: .everything)
      #expect(try areValuesCompressed(place))
      #expect(report.bytesAfter * 3 < report.bytesBefore * 2)
      #expect(try await store.load(...).all() == books)
      try await store.persist(books[7])
      #expect(try await store.load(8) == books[7])
    } else {
      let store = BookFormat.datastore(disk)
      try await disk.perform { for book in books { try await store.persist(book) } }
      try await disk.shortenHistory(keeping: .everything)
      #expect(try areValuesCompressed(place))
      #expect(try await store.load(...).all() == books)
    }
  }
}
