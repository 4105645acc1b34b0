import Foundation
import Testing

@testable import CodableDatastore

@Suite("Persistences")
struct PersistenceTests {
  let place = TemporaryPlace()

  @Test("making a persistence touches no file, the first write creates what it needs")
  func laziness() async throws {
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(persistence)
    #expect(try await books.count == 0)
    #expect(try await books.load(...).all() == [])
    #expect(!FileManager.default.fileExists(atPath: place.url.path))
    try await books.persist(Book(id: 1, title: "A"))
    #expect(FileManager.default.fileExists(atPath: place.url.path))
  }

  @Test("anything but a file URL is refused")
  func notAFile() throws {
    let url = try #require(URL(string: "https://example.com/store"))
    #expect(throws: DiskPersistenceError.notFileURL) { try DiskPersistence(readWriteURL: url) }
  }

  @Test("creating a store twice is fine")
  func creation() async throws {
    let persistence = try DiskPersistence(readWriteURL: place.url)
    try await persistence.createPersistenceIfNecessary()
    try await persistence.createPersistenceIfNecessary()
    #expect(FileManager.default.fileExists(atPath: place.url.path))
  }

  @Test(
    "two persistences of a store that is not there yet share one writer, though one is made through a link to its folder"
  )
  func linkedBeforeCreation() async throws {
    let folder = place.url.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder.appending(path: "real"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      at: folder.appending(path: "link"), withDestinationURL: folder.appending(path: "real"))
    let direct = try DiskPersistence(readWriteURL: folder.appending(path: "real/new/Test.strata"))
    let linked = try DiskPersistence(readWriteURL: folder.appending(path: "link/new/Test.strata/"))
    #expect(direct._store.connection === linked._store.connection)
    try await BookFormat.datastore(direct).persist(Book(id: 1, title: "A"))
    try await BookFormat.datastore(linked).persist(Book(id: 2, title: "B"))
    #expect(try await BookFormat.datastore(direct).count == 2)
  }

  @Test("a persistence without a configuration takes over that of an open one, and the usual one if all are closed")
  func keptConfiguration() async throws {
    var configuration = StoreConfiguration()
    configuration.retention = .last(5)
    let configured = try DiskPersistence(readWriteURL: place.url, configuration: configuration)
    let plain = try DiskPersistence(readWriteURL: place.url)
    #expect(configured._store.connection.configuration == configuration)
    try await configured.close()
    try await plain.close()
    let later = try DiskPersistence(readWriteURL: place.url)
    #expect(later._store.connection.configuration == StoreConfiguration())
  }

  @Test("a link that leads to nothing is not an empty store, and the error names it")
  func danglingLink() async throws {
    let folder = place.url.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      at: place.url, withDestinationURL: folder.appending(path: "nowhere"))
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    for body in [
      { @Sendable in _ = try await books.count }, { @Sendable in _ = try await books.persist(Book(id: 1, title: "A")) },
    ] {
      let error = await #expect(throws: StoreError.self) { try await body() }
      #expect(error?.kind == .notAStore)
      #expect(error?.message.contains("is a symbolic link that leads to nothing") == true)
    }
  }

  @Test("a store that cannot be made leaves no folder behind, and the reason is told")
  func tooLongPath() async throws {
    let folder = place.url.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let deep = (0..<45).reduce(folder) { url, _ in url.appending(path: String(repeating: "n", count: 100)) }
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: deep))
    let error = await #expect(throws: StoreError.self) { try await books.persist(Book(id: 1, title: "A")) }
    #expect(error?.message.contains("File name too long") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("an empty folder becomes a store")
  func emptyFolder() async throws {
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: true)
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    #expect(try await books.count == 0)
    try await books.persist(Book(id: 1, title: "A"))
    #expect(try await books.count == 1)
  }

  @Test("an app may have its store beside other files, which stay as they are")
  func otherFiles() async throws {
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: true)
    let letter = place.url.appending(path: "letter.txt")
    try Data("Dear".utf8).write(to: letter)
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await books.persist(Book(id: 1, title: "A"))
    #expect(try await books.count == 1)
    #expect(try Data(contentsOf: letter) == Data("Dear".utf8))
  }

  @Test("everything is there again after closing")
  func reopening() async throws {
    let numbered = Book.numbered(1...50)
    do {
      let persistence = try DiskPersistence(readWriteURL: place.url)
      let books = BookFormat.datastore(persistence)
      for book in numbered { try await books.persist(book) }
      try await persistence.close()
      await #expect(throws: StoreError.self) { try await books.count }
    }
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    #expect(try await books.load(...).all() == numbered)
    #expect(try await books.load(10...30, from: \.pages).all().map(\.id) == [1, 2, 3])
    #expect(try await books.load("isbn-7", from: \.isbn)?.id == 7)
  }

  @Test("a damaged store says so, reads as it was before, and refuses to be written")
  func damage() async throws {
    let data = place.url.appending(path: "data")
    var ends: [Int] = []
    do {
      let persistence = try DiskPersistence(readWriteURL: place.url)
      let books = BookFormat.datastore(persistence)
      for number in 1...3 {
        try await books.persist(Book(id: number, title: "A"))
        ends.append(try Data(contentsOf: data).lastIndex { $0 != 0 } ?? 0)
      }
      #expect(try persistence.damage == nil)
      try await persistence.close()
    }
    try Data(contentsOf: data).prefix(ends[1] + 8).write(to: data)
    let reader = DiskPersistence(readOnlyURL: place.url)
    #expect(try reader.damage?.contains("the store can be read up to commit #2") == true)
    let writer = try DiskPersistence(readWriteURL: place.url)
    #expect(try writer.damage != nil)
    do {
      let books = BookFormat.datastore(writer)
      #expect(try await books.count == 2)
      await #expect(throws: StoreError.self) { try await books.persist(Book(id: 4, title: "D")) }
    }
    // An updated app, whose new index cannot be built.
    let books = NewBookFormat.Datastore.JSONStore(
      persistence: writer, migrations: [.first: { try $0.decode(Book.self, from: $1) }])
    #expect(try await books.count == 2)
    #expect(try await books.load(1)?.title == "A")
    #expect(try await books.load("A", from: \.title).all().map(\.id) == [1, 2])
    let error = await #expect(throws: StoreError.self) { try await books.load("A", from: \.latest).all() }
    #expect(error?.kind == .readOnly)
  }

  struct NewBookFormat: DatastoreFormat {
    typealias Version = BookFormat.Version
    typealias Instance = Book
    static let defaultKey = BookFormat.defaultKey
    static let currentVersion = Version.first
    let title = Index(\.title)
    let latest = Index(\.title.descending)
  }

  @Test("a store is read through calls where its configuration says so")
  func unmapped() async throws {
    var configuration = StoreConfiguration()
    configuration.readsThroughMapping = false
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url, configuration: configuration))
    try await books.persist(Book(id: 1, title: "A"))
    #expect(try await books.count == 1)
    // Cut short by another program, a mapped file would end the process.
    let file = try FileHandle(forWritingTo: place.url.appending(path: "data"))
    try file.truncate(atOffset: 100)
    await #expect(throws: StoreError.self) { try await books.load(1) }
  }

  @Test("a read-only persistence creates nothing, reads nothing as empty, and follows the writer")
  func readOnly() async throws {
    let reader = DiskPersistence(readOnlyURL: place.url)
    let readBooks = BookFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: reader, migrations: [.first: { try $0.decode(Book.self, from: $1) }])
    #expect(try await readBooks.count == 0)
    #expect(!FileManager.default.fileExists(atPath: place.url.path))
    let writer = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(writer)
    for book in Book.numbered(1...5) {
      try await books.persist(book)
      #expect(try await readBooks.count == book.id)
      #expect(try await readBooks.load(book.title, from: \.title).all() == [book])
    }
    try await writer.close()
    #expect(try await readBooks.count == 5)
  }

  @Test("a program that only reads finds the commits that another has made since, and their names")
  func commitsOfOthers() async throws {
    // As in another process: the two share no connection.
    let writer = try DiskPersistence(readWriteURL: place.url, slices: .shared)
    let books = BookFormat.datastore(writer)
    try await books.persist(Book(id: 1, title: "One"))
    let reader = DiskPersistence(readOnlyURL: place.url)
    #expect(try await reader.head?.id == 1)
    try await books.persist(Book(id: 1, title: "Two"))
    #expect(try await reader.commit(2).id == 2)
    try await books.persist(Book(id: 1, title: "Three"))
    #expect(try await reader.commit(notLaterThan: .distantFuture).id == 3)
    try await writer.name("here")
    #expect(try await reader.namedCommits == ["here": 3])
  }

  @Test("two persistences of one place share the store")
  func sharing() async throws {
    let first = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    let second = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await first.persist(Book(id: 1, title: "A"))
    #expect(try await second.load(1)?.title == "A")
    try await second.persist(Book(id: 2, title: "B"))
    #expect(try await first.count == 2)
  }

  @Test("a store that was removed is not seen by whoever asks for its place again")
  func removed() async throws {
    let old = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await old.persist(Book(id: 1, title: "A"))
    try FileManager.default.removeItem(at: place.url)
    let new = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    #expect(try await new.count == 0)
    try await new.persist(Book(id: 2, title: "B"))
    #expect(try await new.count == 1)
    _ = old
  }

  @Test("a folder of the original library is not taken for an empty store")
  func originalFolder() async throws {
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: true)
    let information = #"{"version":"alpha","modificationDate":"2026-11-20T13:53:53.486Z"}"#
    try Data(information.utf8).write(to: place.url.appending(path: "Info.json"))
    await #expect(throws: StoreError.self) {
      try await BookFormat.datastore(DiskPersistence(readWriteURL: place.url)).count
    }
  }

  @Test("two writers that declare a key differently do not go together")
  func duplicateWriters() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let others = PlainBookFormat.datastore(persistence)
    await #expect(throws: DatastoreInterfaceError.duplicateWriters) { try await others.count }
    #expect(try await books.count == 1)
  }

  @Test("what ran on a thread of its own is let go of when its result is there, and declares no key any more")
  func workIsLetGoOf() async throws {
    final class Needed: Sendable {}
    // Where the thread is the last to let go, one of some thousand rounds shows it on a busy machine.
    for _ in 0..<100_000 {
      weak var needed: Needed?
      do {
        let owned = Needed()
        needed = owned
        try await onThread { withExtendedLifetime(owned) {} }
      }
      #expect(needed == nil)
    }
  }

  @Test("keys that are equal as texts are one datastore, however their accents are written")
  func equalKeys() async throws {
    let (composed, decomposed): (DatastoreKey, DatastoreKey) = ("caf\u{E9}", "cafe\u{301}")
    #expect(composed == decomposed)
    do {
      let persistence = try DiskPersistence(readWriteURL: place.url)
      try await BookFormat.datastore(persistence, key: decomposed).persist(Book(id: 1, title: "A", shelf: "x"))
      try await persistence.close()
    }
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(persistence, key: composed)
    #expect(try await books.load(1)?.title == "A")
    try await books.persist(Book(id: 2, title: "B", shelf: "x"))
    #expect(try await books.load("x", from: \.shelf).all().map(\.id).sorted() == [1, 2])
    #expect(try await persistence.commits.all().first?.changes.map(\.datastore) == [decomposed])
    #expect(try await persistence.undo() != nil)
    #expect(try await books.count == 1)
  }

  @Test("the default store needs no bundle identifier")
  func defaultStore() throws {
    _ = try DiskPersistence.defaultStore()
    _ = try DiskPersistence.readOnlyDefaultStore()
  }

  @Test("a file that is not a store is said to be none, and is left alone")
  func notAStore() async throws {
    let folder = place.url.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("hello".utf8).write(to: place.url)
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    await #expect(throws: StoreError.self) { try await books.persist(Book(id: 1, title: "A")) }
    #expect(try Data(contentsOf: place.url) == Data("hello".utf8))
  }
}
