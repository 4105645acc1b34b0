import CodableDatastore
import Foundation
import Testing

@Suite("Writing and reading")
struct WritingTests {
  let persistence = MemoryPersistence()
  var books: BookFormat.Datastore { BookFormat.datastore(persistence) }

  @Test("what is persisted can be loaded")
  func roundTrip() async throws {
    let books = books
    let book = Book(id: 1, title: "Ulysses", authors: ["Joyce"])
    #expect(try await books.persist(book) == nil)
    #expect(try await books.load(1) == book)
    #expect(try await books.load(id: 1) == book)
    #expect(try await books.load(book) == book)
    #expect(try await books.load(instance: book) == book)
    #expect(try await books.count == 1)
  }

  @Test("a store never written is empty")
  func empty() async throws {
    let books = books
    #expect(try await books.count == 0)
    #expect(try await books.load(1) == nil)
    #expect(try await books.load(...).all() == [])
    #expect(try await books.load("x", from: \.title).all() == [])
    #expect(try await books.load("x", from: \.isbn) == nil)
    #expect(try await books.deleteIfPresent(1) == nil)
    await #expect(throws: DatastoreInterfaceError.instanceNotFound) { try await books.delete(1) }
  }

  @Test("persisting again answers what was there")
  func replacing() async throws {
    let books = books
    var book = Book(id: 1, title: "Old")
    try await books.persist(book)
    book.title = "New"
    #expect(try await books.persist(book)?.title == "Old")
    #expect(try await books.load("Old", from: \.title).all() == [])
    #expect(try await books.load("New", from: \.title).all() == [book])
    #expect(try await books.count == 1)
  }

  private struct Priced: Codable, Identifiable, Hashable {
    static let currency = CodingUserInfoKey(rawValue: "currency").unsafelyUnwrapped
    var id: Int
    var price = 1

    init(id: Int) { self.id = id }

    init(from decoder: any Decoder) throws {
      id = try decoder.container(keyedBy: Member.self).decode(Int.self, forKey: .id)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Member.self)
      try container.encode(id, forKey: .id)
      guard let currency = encoder.userInfo[Self.currency] else { preconditionFailure("There is no currency.") }
      try container.encode("\(price) \(currency)", forKey: .price)
    }

    private enum Member: String, CodingKey { case id, price }
  }

  private struct PricedFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Priced
    static let defaultKey: DatastoreKey = "Priced"
    static let currentVersion = Version.first
  }

  @Test("an instance that needs the user info of its encoder is persisted, whichever call made the datastore")
  func userInfo() async throws {
    let encoder = JSONEncoder()
    encoder.userInfo[Priced.currency] = "CHF"
    let plain = PricedFormat.Datastore.JSONStore(persistence: persistence, encoder: encoder)
    let migrating = PricedFormat.Datastore.JSONStore(
      persistence: persistence, key: "Migrated", encoder: encoder,
      migrations: [.first: { decoder, data in try decoder.decode(Priced.self, from: data) }])
    let own = PricedFormat.Datastore(
      persistence: persistence, key: "Own", encoder: { try encoder.encode($0) },
      decoders: [.first: { data in try JSONDecoder().decode(Priced.self, from: data) }])
    for datastore in [plain, migrating, own] {
      try await datastore.persist(Priced(id: 1))
      #expect(try await datastore.load(1) == Priced(id: 1))
    }
  }

  @Test("an instance of very many indexed values is changed in a few of them")
  func manyValues() async throws {
    let books = books
    var book = Book(id: 1, title: "Anthology", authors: (0..<20_000).map { "author \($0)" })
    try await books.persist(book)
    book.title = "Second edition"
    book.authors.removeFirst()
    book.authors.append("new")
    try await books.persist(book)
    #expect(try await books.persist(book) == book)
    #expect(try await books.load("author 0", from: \.authors).all() == [])
    #expect(try await books.load("new", from: \.authors).all() == [book])
    #expect(try await books.load(..., from: \.authors).all().count == 20_000)
  }

  @Test("an identifier need not be the instance's own")
  func foreignIdentifier() async throws {
    let books = books
    let book = Book(id: 1, title: "A")
    try await books.persist(book, to: 7)
    #expect(try await books.load(7) == book)
    #expect(try await books.load(1) == nil)
    try await books.persist(book, id: \.pages)
    #expect(try await books.load(100) == book)
  }

  @Test("deleting answers what was stored, not what was passed")
  func deleting() async throws {
    let books = books
    try await books.persist(Book(id: 1, title: "Stored"))
    let deleted = try await books.delete(instance: Book(id: 1, title: "Passed"))
    #expect(deleted.title == "Stored")
    #expect(try await books.load("Stored", from: \.title).all() == [])
    try await books.persist(Book(id: 2, title: "Two"))
    #expect(try await books.delete(Book(id: 2, title: "")).title == "Two")
    try await books.persist(Book(id: 3, title: "Three"))
    #expect(try await books.deleteIfPresent(Book(id: 3, title: ""))?.title == "Three")
    #expect(try await books.deleteIfPresent(instance: Book(id: 3, title: "")) == nil)
    #expect(try await books.count == 0)
  }

  @Test("ranges of identifiers, all kinds and both directions")
  func identifierRanges() async throws {
    let books = books
    for book in Book.numbered(1...9) { try await books.persist(book) }
    func ids(_ sequence: some AsyncInstances<Book>) async throws -> [Int] { try await sequence.map(\.id).all() }
    #expect(try await ids(books.load(3..<6)) == [3, 4, 5])
    #expect(try await ids(books.load(3...6)) == [3, 4, 5, 6])
    #expect(try await ids(books.load(3 ..> 6)) == [4, 5, 6])
    #expect(try await ids(books.load(..<3)) == [1, 2])
    #expect(try await ids(books.load(...3)) == [1, 2, 3])
    #expect(try await ids(books.load(8...)) == [8, 9])
    #expect(try await ids(books.load(8..>)) == [9])
    #expect(try await ids(books.load(...)) == Array(1...9))
    #expect(try await ids(books.load(range: ...)) == Array(1...9))
    #expect(try await ids(books.load(..., order: .descending)) == Array((1...9).reversed()))
    #expect(try await ids(books.load(range: 2...4, order: .descending)) == [4, 3, 2])
    #expect(try await ids(books.load(.init(only: 4))) == [4])
    #expect(try await ids(books.load(range: .init(lower: .excluding(1), upper: .excluding(3)))) == [2])
    #expect(try await ids(books.load(IndexRange(lower: .including(8), order: .descending))) == [9, 8])
    #expect(
      try await ids(books.load(IndexRange(lower: .including(8), order: .descending), order: .descending)) == [8, 9])
    #expect(try await ids(books.load(IndexRange(lower: .including(6), upper: .including(2)))) == [])
  }

  @Test("ranges of an index, by value and then by identifier, both directions")
  func indexRanges() async throws {
    let books = books
    for book in Book.numbered((1...9).reversed()) { try await books.persist(book) }
    func ids(_ sequence: some AsyncInstances<Book>) async throws -> [Int] { try await sequence.map(\.id).all() }
    #expect(try await ids(books.load("Everybody", from: \.authors)) == Array(1...9))
    #expect(try await ids(books.load("Everybody", order: .descending, from: \.authors)) == Array((1...9).reversed()))
    #expect(try await ids(books.load("Author 1", from: \.authors)) == [1, 4, 7])
    #expect(try await ids(books.load(index: \.authors, value: "Author 0")) == [3, 6, 9])
    #expect(try await ids(books.load(30..<60, from: \.pages)) == [3, 4, 5])
    #expect(try await ids(books.load(index: \.pages, range: 30...60)) == [3, 4, 5, 6])
    #expect(try await ids(books.load(70..>, from: \.pages)) == [8, 9])
    #expect(try await ids(books.load(.init(only: 70), from: \.pages)) == [7])
    #expect(try await ids(books.load("Book 003"..<"Book 005", order: .descending, from: \.title)) == [4, 3])
    #expect(try await ids(books.load(..., from: \.pages)) == Array(1...9))
    #expect(try await ids(books.load(index: \.pages, range: ..., order: .descending)) == Array((1...9).reversed()))
    #expect(try await ids(books.load(nil, from: \.shelf)) == [4, 8])
    #expect(try await ids(books.load(..., from: \.shelf)) == [4, 8, 1, 5, 9, 2, 6, 3, 7])
    #expect(try await ids(books.load("Shelf 2"..., from: \.shelf)) == [2, 6, 3, 7])
    #expect(try await ids(books.load(..., from: \.authors)).count == 18)
  }

  @Test("a one-to-one index answers one instance, that of the lowest identifier, and a sequence where one is asked for")
  func oneToOne() async throws {
    let books = books
    try await books.persist(Book(id: 5, title: "Five", isbn: "same"))
    try await books.persist(Book(id: 3, title: "Three", isbn: "same"))
    #expect(try await books.load("same", from: \.isbn)?.id == 3)
    #expect(try await books.load(index: \.isbn, value: "same")?.id == 3)
    #expect(try await books.load("other", from: \.isbn) == nil)
    var ids: [Int] = []
    for try await book in books.load("same", from: \.isbn) { ids.append(book.id) }
    #expect(ids == [3, 5])
    #expect(try await books.load("same", order: .descending, from: \.isbn).all().map(\.id) == [5, 3])
  }

  @Test("an update moves the entries of all indexes, direct ones too")
  func updates() async throws {
    let books = books
    for book in Book.numbered(1...20) { try await books.persist(book) }
    for var book in Book.numbered(1...20) {
      book.pages = 1000 - book.pages
      book.authors = ["New"]
      try await books.persist(book)
    }
    #expect(try await books.load(..., from: \.pages).all().map(\.pages) == (1...20).map { 1000 - $0 * 10 }.sorted())
    #expect(try await books.load("Everybody", from: \.authors).all().isEmpty)
    #expect(try await books.load("New", from: \.authors).all().count == 20)
    #expect(try await books.load("isbn-3", from: \.isbn)?.pages == 970)
  }

  @Test("datastores of different keys are independent")
  func keys() async throws {
    let first = BookFormat.datastore(persistence, key: "first")
    let second = BookFormat.datastore(persistence, key: "zwei ✓ 2")
    try await first.persist(Book(id: 1, title: "A"))
    #expect(try await second.count == 0)
    try await second.persist(Book(id: 1, title: "B"))
    #expect(try await first.load(1)?.title == "A")
    #expect(try await second.load(1)?.title == "B")
  }

  @Test("a read-only datastore shows what is written at once")
  func readOnly() async throws {
    let books = books
    let reader = await books.readOnly
    #expect(try await reader.count == 0)
    try await books.persist(Book(id: 1, title: "A"))
    #expect(try await reader.load(1)?.title == "A")
    #expect(try await reader.load("A", from: \.title).all().count == 1)
  }

  @Test("an encoder that throws changes nothing")
  func failingEncoder() async throws {
    struct Refusal: Error {}
    let books = BookFormat.Datastore(
      persistence: persistence, encoder: { _ in throw Refusal() },
      decoders: [.first: { try JSONDecoder().decode(Book.self, from: $0) }])
    await #expect(throws: Refusal.self) { try await books.persist(Book(id: 1, title: "A")) }
    #expect(try await books.count == 0)
  }

  @Test("a key that is too long, or NaN, is refused before anything is written")
  func badKeys() async throws {
    let books = books
    try await books.persist(Book(id: 1, title: "A"))
    await #expect(throws: InvalidKeyError.self) {
      try await books.persist(Book(id: 2, title: String(repeating: "x", count: 100_000)))
    }
    #expect(try await books.count == 1)
    #expect(try await books.load("isbn-2", from: \.isbn) == nil)
  }

  @Test("keys of many kilobytes are found, moved and deleted", .enabled(if: !TestedStore.isServed))
  func longKeys() async throws {
    let books = BookFormat.datastore(persistence)
    func title(_ number: Int) -> String { String(repeating: "long ", count: 2500) + "\(100 + number)" }
    for number in (0..<60).shuffled() { try await books.persist(Book(id: number, title: title(number))) }
    #expect(try await books.load(..., from: \.title).all().map(\.id) == Array(0..<60))
    #expect(try await books.load(title(17), from: \.title).all().map(\.id) == [17])
    #expect(try await books.load(title(20)..<title(23), from: \.title).all().map(\.id) == [20, 21, 22])
    for number in 0..<60 where number % 2 == 0 { try await books.persist(Book(id: number, title: "short")) }
    for number in 30..<60 { try await books.delete(number) }
    #expect(
      try await books.load("long"..., from: \.title).all().map(\.id)
        == Array(stride(from: 1, to: 30, by: 2)) + Array(stride(from: 0, to: 30, by: 2)))
  }

  @Test("dates of any precision can be found, moved and deleted")
  func dates() async throws {
    let events = EventFormat.datastore(persistence)
    let when = Date(timeIntervalSinceReferenceDate: 777_777_777.123456789)
    try await events.persist(Event(id: UUID(), when: when))
    let stored = try await events.load(when...when, from: \.when).all()
    #expect(stored.count == 1)
    for event in stored {
      try await events.persist(Event(id: event.id, when: when.addingTimeInterval(0.000001)))
      try await events.delete(id: event.id)
    }
    #expect(try await events.load(..., from: \.when).all().isEmpty)
  }
}

struct Event: Codable, Hashable, Identifiable, Sendable {
  var id: UUID
  var when: Date
}

struct EventFormat: DatastoreFormat {
  enum Version: String, CaseIterable { case a, b }
  typealias Instance = Event
  static let defaultKey: DatastoreKey = "Events"
  static let currentVersion = Version.a
  let when = Index(\.when)

  static func datastore(_ persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .propertyListStore(
      persistence: persistence,
      migrations: [
        .a: { try $0.decode(Event.self, from: $1) },
        .b: { try $0.decode(Event.self, from: $1) },
      ])
  }
}
