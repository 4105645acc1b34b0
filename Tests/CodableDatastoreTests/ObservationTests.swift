import CodableDatastore
import Foundation
import Testing

@Suite("Observation and sequences")
struct ObservationTests {
  let persistence = MemoryPersistence()
  struct Refusal: Error {}

  func words(_ events: [ObservedEvent<Int, Book>]) -> [String] {
    events.map { event in
      switch event {
      case .created(let id, let new): "created \(id) \(new.title)"
      case .updated(let id, let old, let new): "updated \(id) \(old.title) \(new.title)"
      case .deleted(let id, let old): "deleted \(id) \(old.title)"
      }
    }
  }

  @Test("changes come after their commit, in the order of the calls, none of what was taken back")
  func order() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "before"))
    let events = try await books.observe()
    try await books.persist(Book(id: 2, title: "A"))
    try await persistence.perform {
      try await books.persist(Book(id: 3, title: "B"))
      try? await persistence.perform {
        try await books.persist(Book(id: 4, title: "gone"))
        throw Refusal()
      }
      try await persistence.perform { try await books.persist(Book(id: 5, title: "child")) }
      try await books.persist(Book(id: 3, title: "B2"))
    }
    try? await persistence.perform {
      try await books.delete(1)
      throw Refusal()
    }
    try await books.delete(2)
    let heard = try await events.collectInstances(upTo: 5)
    #expect(words(heard) == ["created 2 A", "created 3 B", "created 5 child", "updated 3 B B2", "deleted 2 A"])
  }

  @Test("persisting an equal value is an update too, in its place among others")
  func unchanged() async throws {
    let books = BookFormat.datastore(persistence)
    let book = Book(id: 1, title: "A")
    try await books.persist(book)
    let events = try await books.observe()
    try await books.persist(book)
    try await books.persist(Book(id: 2, title: "B"))
    try await books.persist(book)
    let heard = try await events.collectInstances(upTo: 3)
    #expect(words(heard) == ["updated 1 A A", "created 2 B", "updated 1 A A"])
  }

  @Test("what is the first to listen, in the middle of a transaction, hears all that the transaction commits")
  func withinTransaction() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    var live = books.live().makeAsyncIterator()
    try await persistence.perform {
      try await books.persist(Book(id: 2, title: "B"))
      let shown = try await live.next(isolation: #isolation)
      #expect(shown?.map(\.id) == [1])
      try await books.persist(Book(id: 3, title: "C"))
    }
    #expect(try await live.next()?.map(\.id) == [1, 2, 3])
  }

  @Test("one instance can be observed; a read-only view hears its writer; other datastores are not heard")
  func filtered() async throws {
    let books = BookFormat.datastore(persistence)
    let others = BookFormat.datastore(persistence, key: "others")
    let one = try await books.readOnly.observe(2)
    let same = try await books.observe(Book(id: 2, title: ""))
    for id in 1...3 {
      try await books.persist(Book(id: id, title: "\(id)"))
      try await others.persist(Book(id: id, title: "other \(id)"))
    }
    try await books.delete(2)
    #expect(words(try await one.collectInstances(upTo: 2)) == ["created 2 2", "deleted 2 2"])
    #expect(words(try await same.collectInstances(upTo: 2)) == ["created 2 2", "deleted 2 2"])
  }

  @Test("when a change arrives it can be read")
  func readable() async throws {
    let books = BookFormat.datastore(persistence)
    let events = try await books.observe()
    let watcher = Task {
      var seen = 0
      for try await event in events {
        #expect(try await books.load(event.id) != nil)
        seen += 1
        if seen == 50 { break }
      }
    }
    for book in Book.numbered(1...50) { try await books.persist(book) }
    try await watcher.value
  }

  @Test("a cancelled observer ends")
  func cancelling() async throws {
    let books = BookFormat.datastore(persistence)
    let events = try await books.observe()
    let watcher = Task { for try await _ in events {} }
    watcher.cancel()
    _ = await watcher.result
  }

  @Test(
    "a sequence shows what was there when it was made, can be read twice, left early and ignored",
    .enabled(if: !TestedStore.isServed))
  func sequences() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...10) { try await books.persist(book) }
    let all = books.load(...)
    _ = books.load(..., from: \.title)
    for try await book in books.load(...) {
      try await books.delete(book)
      if book.id == 5 { break }
    }
    #expect(try await all.all().map(\.id) == Array(1...10))
    #expect(try await all.all().map(\.id) == Array(1...10))
    #expect(try await books.count == 5)
    #expect(try await all.firstInstance?.id == 1)
    #expect(try await all.collectInstances(upTo: 3).map(\.id) == [1, 2, 3])
    #expect(try await all.collectInstances(upTo: 0).isEmpty)
    #expect(try await all.collectInstances(upTo: .infinity).count == 10)
    let titles: some AsyncInstances<String> = all.map(\.title)
    #expect(try await titles.collectInstances(upTo: 1) == ["Book 001"])
    let some: some AsyncInstances<Book> = all.filter { $0.id > 8 }
    #expect(try await some.collectInstances(upTo: .infinity).map(\.id) == [9, 10])
  }

  @Test("a sequence made in a transaction shows what was written up to then")
  func sequenceInTransaction() async throws {
    let books = BookFormat.datastore(persistence)
    try await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      let sequence = books.load(...)
      let byTitle = books.load(..., from: \.title)
      try await books.persist(Book(id: 2, title: "B"))
      #expect(try await sequence.all().map(\.id) == [1])
      #expect(try await byTitle.all().map(\.id) == [1])
      #expect(try await books.load(...).all().map(\.id) == [1, 2])
    }
  }

  @Test("a decoder that throws ends a sequence after what came before")
  func failingDecoder() async throws {
    do {
      let books = PlainBookFormat.datastore(persistence)
      for book in Book.numbered(1...5) { try await books.persist(book) }
    }
    let books = PlainBookFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          if book.id == 3 { throw Refusal() }
          return book
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    var ids: [Int] = []
    await #expect(throws: Refusal.self) { for try await book in books.load(...) { ids.append(book.id) } }
    #expect(ids == [1, 2])
  }

  @Test("a key path that is not a stored index is said to be missing, from the iteration")
  func missingIndex() async throws {
    let books = ComputedFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Book.self, from: $1) }])
    let sequence = books.load("x", from: \.computed)
    await #expect(throws: DatastoreError.self) { try await sequence.all() }
  }

  struct ComputedFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Book
    static let defaultKey: DatastoreKey = "Computed"
    static let currentVersion = Version.only
    var computed: Index<String> { Index(\.title) }
  }

  @Test("a cancelled reader ends")
  func cancelledReader() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered(1...10) { try await books.persist(book) }
    let begun = Gate()
    let gate = Gate()
    let task = Task {
      for try await book in books.load(...) where book.id == 2 {
        begun.open()
        await gate.wait()
      }
    }
    await begun.wait()
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
