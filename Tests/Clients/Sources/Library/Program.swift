import CodableDatastore
import Foundation

// What each line does is tested elsewhere; here it is to compile in every client, and to choose the right overload.

func check(_ condition: Bool, _ what: String, line: Int = #line) {
  if !condition { fatalError("line \(line): \(what)") }
}

func count(_ books: some AsyncInstances<Book>) async throws -> Int {
  try await books.collectInstances(upTo: .infinity).count
}

@MainActor final class Shelf {
  var books: [Book] = []

  /// The main actor's state can be touched in a transaction.
  func fill(from bookStore: BookStore.Datastore, in persistence: DiskPersistence<ReadWrite>) async throws {
    try await persistence.perform {
      books = try await bookStore.load(...).collectInstances(upTo: .infinity)
    }
  }
}

@main
struct Program {
  static func main() async throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("strata-client-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }

    let persistence = try DiskPersistence(readWriteURL: url)
    try await persistence.createPersistenceIfNecessary()

    do {
      let ancient = AncientBookStore.datastore(for: persistence)
      let book = AncientBook(id: UUID(), name: "Beowulf", isbn: "000")
      try await ancient.persist(book, to: book.id)
      try await ancient.persist(book, id: \.id)
    }

    let bookStore = BookStore.datastore(for: persistence)
    try await bookStore.warm { progress in
      switch progress {
      case .evaluating: break
      case .working(let current, let total): check(current < total, "progress")
      case .complete(let total): check(total == 1, "one book")
      }
    }
    try await bookStore.warm()

    let authorStore = AuthorStore.Datastore.propertyListStore(
      persistence: persistence, outputFormat: .xml,
      migrations: [
        .zero: { try $0.decode(Author.self, from: $1) },
        .one: { try $0.decode(Author.self, from: $1) },
      ])

    let joyce = Author(names: ["James Joyce", "J. Joyce"])
    let ulysses = Book(
      title: "Ulysses", authors: [joyce.id], isbn: ISBN(rawValue: "111"),
      publicationDate: Date(timeIntervalSince1970: -1.5e9),
      price: 12.5, pages: 732)

    try await persistence.perform(actionName: "Add Ulysses") {
      try await authorStore.persist(joyce)
      try await bookStore.persist(ulysses)
    }
    let titles = try await persistence.perform(options: .readOnly) { persistence, isDurable in
      check(!isDurable, "reading is not durable")
      _ = persistence
      return try await bookStore.load(..., from: \.title).map(\.title).collectInstances(upTo: .infinity)
    }
    check(titles == ["Beowulf", "Ulysses"], "titles \(titles)")

    // Single instances.
    let byID: Book? = try await bookStore.load(ulysses.id)
    let alsoByID = try await bookStore.load(id: ulysses.id)
    let stored = try await bookStore.load(ulysses)
    let alsoStored = try await bookStore.load(instance: ulysses)
    let byISBN = try await bookStore.load(ISBN(rawValue: "111"), from: \.isbn)
    let alsoByISBN = try await bookStore.load(index: \.isbn, value: ISBN(rawValue: "111"))
    check([byID, alsoByID, stored, alsoStored, byISBN, alsoByISBN].allSatisfy { $0 == ulysses }, "the same book")
    if let author = try await authorStore.load("J. Joyce", from: \.name) {
      for try await book in bookStore.load(author.id, from: \.author) { check(book == ulysses, "the author's book") }
    }
    for try await book in bookStore.load(ISBN(rawValue: "111"), from: \.isbn) { check(book == ulysses, "a sequence") }
    check(try await bookStore.count == 2, "count")

    // Ranges.
    check(try await count(bookStore.load(...)) == 2, "all")
    check(try await count(bookStore.load(..., order: .descending)) == 2, "all")
    check(try await count(bookStore.load(range: ...)) == 2, "all")
    check(try await count(bookStore.load("A"..<"C", from: \.title)) == 1, "A..<C")
    check(try await count(bookStore.load("A"..."Ulysses", from: \.title)) == 2, "closed")
    check(try await count(bookStore.load("Beowulf" ..> "Ulysses", from: \.title)) == 1, "..>")
    check(try await count(bookStore.load("Beowulf"..>, from: \.title)) == 1, "..>")
    check(try await count(bookStore.load(..<"C", order: .descending, from: \.title)) == 1, "..<")
    check(try await count(bookStore.load(index: \.title, range: "C"...)) == 1, "C...")
    check(try await count(bookStore.load(index: \.title, range: ..., order: .descending)) == 2, "...")
    check(try await count(bookStore.load(index: \.title, value: "Ulysses", order: .descending)) == 1, "value")
    check(try await count(bookStore.load(.init(only: "Ulysses"), from: \.title)) == 1, ".init(only:)")
    check(try await count(bookStore.load(index: \.price, range: .init(lower: .excluding(10)))) == 1, ".init(lower:)")
    check(try await count(bookStore.load(Descending(), from: \.price)) == 2, "own range")
    check(try await count(bookStore.load(nil, from: \.pages)) == 1, "nil")
    check(try await count(bookStore.load(700...800, from: \.pages)) == 1, "optional range")
    check(try await bookStore.load(..., from: \.publicationDate).firstInstance?.title == "Beowulf", "first")
    check(try await bookStore.load(..., from: \.price).collectInstances(upTo: 1).count == 1, "collect")
    let some = bookStore.load(...).compactMap { $0.pages }.filter { $0 > 100 }
    check(try await some.collectInstances(upTo: 5) == [732], "mapped")

    // Observing.
    let events = try await bookStore.observe()
    let one = try await bookStore.observe(ulysses)
    _ = try await bookStore.observe(id: ulysses.id)
    _ = try await bookStore.observe(instance: ulysses)
    let watcher = Task { () -> UUID? in
      for try await event in one {
        switch event {
        case .created(let id, _), .deleted(let id, _): return id
        case .updated(let id, let oldEntry, let newEntry): return oldEntry == newEntry ? nil : id
        }
      }
      return nil
    }
    var changed = ulysses
    changed.price += 1
    let oldValue = try await bookStore.persist(changed)
    check(oldValue == ulysses, "the old value")
    check(try await watcher.value == ulysses.id, "observed")
    check(try await events.firstInstance?.id == ulysses.id, "observed")

    // Deleting.
    check(try await bookStore.deleteIfPresent(UUID()) == nil, "not there")
    check(try await bookStore.delete(changed).price == changed.price, "deleted")
    do {
      try await bookStore.delete(id: ulysses.id)
      check(false, "it is not there")
    } catch DatastoreInterfaceError.instanceNotFound {}

    // Every way to make a datastore.
    let memory = MemoryPersistence()
    let held: [AuthorStore.Version: @Sendable (JSONDecoder, Data) async throws -> Author] = [
      .zero: { try $0.decode(Author.self, from: $1) }, .one: { try $0.decode(Author.self, from: $1) },
    ]
    let inMemory = AuthorStore.Datastore.JSONStore(persistence: memory, migrations: held)
    try await inMemory.persist(joyce)
    check(try await inMemory.load(joyce.id)?.names == joyce.names, "migrations from a variable")
    let heldDecoders: [AuthorStore.Version: @Sendable (Data) async throws -> Author] = [
      .zero: { try JSONDecoder().decode(Author.self, from: $0) },
      .one: { try JSONDecoder().decode(Author.self, from: $0) },
    ]
    let withDecoders = Datastore<AuthorStore, ReadOnly>(persistence: memory, decoders: heldDecoders)
    check(try await withDecoders.count == 1, "decoders from a variable")
    let dataFirst = Datastore<AuthorStore, ReadOnly>.readOnlyJSONStore(
      persistence: memory,
      migrations: [.one: { data, decoder in try decoder.decode(Author.self, from: data) }])
    check(try await dataFirst.load(joyce.id)?.names == joyce.names, "data first")
    let dataFirstShort = AuthorStore.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: memory, migrations: [.one: { try $1.decode(Author.self, from: $0) }])
    check(try await dataFirstShort.load(joyce.id)?.names == joyce.names, "data first")
    let withIdentifier = Datastore.readOnlyJSONStore(
      persistence: memory, format: AuthorStore.self, key: "AuthorStore", version: .one, decoder: JSONDecoder(),
      migrations: [
        .one: { decoder, data in
          let author = try decoder.decode(Author.self, from: data)
          return (id: author.id, instance: author)
        }
      ], configuration: Configuration(pageSize: 4096))
    check(try await withIdentifier.count == 1, "identifier and instance")
    let lists = AuthorStore.ReadOnlyDatastore.readOnlyPropertyListStore(
      persistence: persistence, migrations: [.one: { try $0.decode(Author.self, from: $1) }], configuration: .init())
    check(try await lists.load("James Joyce", from: \.name)?.id == joyce.id, "property lists")
    let own = Datastore<AuthorStore, _>(
      persistence: memory, key: "own", encoder: { try JSONEncoder().encode($0) },
      decoders: [
        .one: { try JSONDecoder().decode(Author.self, from: $0) }, .zero: { _ in throw CocoaError(.coderInvalidValue) },
      ])
    try await own.persist(joyce)
    let ownReader = await own.readOnly
    check(try await ownReader.count == 1, "own coders")
    try await own.migrate(index: \.name, ifLessThan: .one)
    try await own.migrateEntireStore(ifLessThan: .one) { (progress: CodableDatastore.Progress) in _ = progress }

    let reader = BookStore.reader(for: DiskPersistence(readOnlyURL: url))
    check(try await reader.count == 1, "a reader")
    let anyPersistence: any Persistence<ReadWrite> = persistence
    _ = anyPersistence
    try await persistence._takeSnapshot()

    let shelf = Shelf()
    try await shelf.fill(from: bookStore, in: persistence)
    check(await shelf.books.map(\.title) == ["Beowulf"], "the shelf")

    try await persistence.close()
    try await Idioms.run()
    print("ok")
  }
}
