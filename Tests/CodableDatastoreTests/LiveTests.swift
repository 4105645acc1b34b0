import StrataDocuments

@testable import CodableDatastore
import StrataModel
import Foundation
import StrataLocks
import StrataEngine
import Testing

@Suite("Live results, backups, rehearsals and other processes")
struct LiveTests {
  let persistence = MemoryPersistence()

  @Test("a live result is kept current, sorted and filtered, with one decode per changed record")
  func live() async throws {
    let decodes = Mutex(0)
    let books = BookFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          decodes.withLock { $0 += 1 }
          return try decoder.decode(Book.self, from: data)
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    try await persistence.perform { for book in Book.numbered(1...200) { try await books.persist(book) } }
    decodes.withLock { $0 = 0 }
    var results = books.live(where: { $0.pages >= 1000 }, sortedBy: { $0.pages > $1.pages }).makeAsyncIterator()
    let first = try #require(try await results.next())
    #expect(first.map(\.pages) == (100...200).map { $0 * 10 }.reversed())
    #expect(decodes.withLock { $0 } == 200)
    try await books.persist(Book(id: 500, title: "new", pages: 1005))
    decodes.withLock { $0 = 0 }
    let second = try #require(try await results.next())
    #expect(second.map(\.pages) == [2000] + first.dropFirst().dropLast().map(\.pages) + [1005, 1000])
    #expect(decodes.withLock { $0 } == 1)
    try await persistence.perform {
      try await books.delete(id: 500)
      try await books.persist(Book(id: 150, title: "small", pages: 1))
      try await books.persist(Book(id: 100, title: "big", pages: 9999))
    }
    let third = try #require(try await results.next())
    #expect(third.first?.id == 100)
    #expect(third.count == 100)
    #expect(!third.contains { $0.id == 150 })
    #expect(third.map(\.pages) == third.map(\.pages).sorted(by: >))
  }

  @Test("without an order a live result is in that of the identifiers")
  func unsorted() async throws {
    let books = BookFormat.datastore(persistence)
    for book in Book.numbered([5, 1, 3]) { try await books.persist(book) }
    var results = books.live().makeAsyncIterator()
    #expect(try await results.next()?.map(\.id) == [1, 3, 5])
    try await books.persist(Book(id: 4, title: "four"))
    #expect(try await results.next()?.map(\.id) == [1, 3, 4, 5])
    try await books.persist(Book(id: 2, title: "two"))
    try await books.delete(id: 5)
    #expect(try await results.next()?.map(\.id) == [1, 2, 3, 4])
  }

  @Test("a page that is kept current goes on when a record that no longer decodes is replaced")
  func replacedUnreadable() async throws {
    let isBroken = Mutex(false)
    let books = PlainBookFormat.Datastore(
      persistence: persistence, encoder: { try JSONEncoder().encode($0) },
      decoders: [
        .first: { data in
          let book = try JSONDecoder().decode(Book.self, from: data)
          guard book.title == "B", isBroken.withLock({ $0 }) else { return book }
          throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "broken"))
        }
      ])
    for (id, title) in [(1, "A"), (2, "B"), (3, "C")] { try await books.persist(Book(id: id, title: title)) }
    var pages = books.load(...).limit(2, offset: 1).live().makeAsyncIterator()
    #expect(try await pages.next()?.map(\.title) == ["B", "C"])
    isBroken.withLock { $0 = true }
    try await books.persist(Book(id: 2, title: "D"))
    #expect(try await pages.next()?.map(\.title) == ["D", "C"])
  }

  @MainActor @Test("an observable result follows on the main actor")
  func observable() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let results = LiveResults(of: books)
    while results.instances.isEmpty { await Task.yield() }
    #expect(results.instances.map(\.id) == [1])
    try await books.persist(Book(id: 2, title: "B"))
    while results.instances.count < 2 { await Task.yield() }
    #expect(results.instances.map(\.id) == [1, 2])
    #expect(results.failure == nil)
  }

  @Test("a clone of a file is a file of its own; where none can be made nothing is left")
  func clones() throws {
    let place = TemporaryPlace()
    let folder = place.url.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (source, target) = (folder.appending(path: "source"), folder.appending(path: "target"))
    try Data("one".utf8).write(to: source)
    let isCloned = FileClone.make(of: source.path, at: target.path)
    #expect(FileManager.default.fileExists(atPath: target.path) == isCloned)
    guard isCloned else { return }
    try Data("two".utf8).write(to: source)
    #expect(try Data(contentsOf: target) == Data("one".utf8))
    #expect(!FileClone.make(of: source.path, at: target.path))
  }

  @Test("a store that is told to keep the newest commits shortens its history when it is closed")
  func retention() async throws {
    let place = TemporaryPlace()
    var configuration = StoreConfiguration()
    #expect(configuration.retention == .everything)
    configuration.retention = .last(5)
    do {
      let persistence = try DiskPersistence(readWriteURL: place.url, configuration: configuration)
      let blobs = BlobDatastore(persistence: persistence)
      for round in 1...40 { try await blobs.persist(Data(repeating: UInt8(round), count: 300_000), to: "one") }
      try await persistence.close()
    }
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let commits = try await persistence.commits.all()
    #expect(commits.first?.id.rawValue == 40)
    #expect(commits.count == 5)
    #expect(try await BlobDatastore(persistence: persistence).load("one") == Data(repeating: 40, count: 300_000))
  }

  @Test("a backup of a live store is a store of its own, with the history")
  func backups() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    for book in Book.numbered(1...20) { try await books.persist(book) }
    let folder = place.url.deletingLastPathComponent()
    let backup = folder.appending(path: "Backup.strata")
    try await disk.backUp(to: backup)
    try await books.delete(id: 1)
    let copy = try DiskPersistence(readWriteURL: backup)
    let copied = BookFormat.datastore(copy)
    #expect(try await copied.load(...).all() == Book.numbered(1...20))
    #expect(try await copy.commits.all().count == 20)
    try await copied.persist(Book(id: 99, title: "only in the copy"))
    #expect(try await books.load(id: 99) == nil)
    let error = await #expect(throws: StoreError.self) { try await disk.backUp(to: backup) }
    #expect(error?.kind == .refused && error?.message.contains("choose a location where nothing lies") == true)
    await #expect(throws: StoreError.self) { try await disk.backUp(to: place.url.appending(path: "a/Copy.strata")) }
    #expect(!FileManager.default.fileExists(atPath: place.url.appending(path: "a").path))
    try await copy.close()
    let restored = try await DiskPersistence<ReadWrite>.restore(
      backup: backup, to: folder.appending(path: "Again.strata"))
    #expect(try await BookFormat.datastore(restored).count == 21)
  }

  @Test("a migration is rehearsed before there is a store, as in one without instances")
  func emptyRehearsal() async throws {
    let rehearsal = try await BookFormat.datastore(MemoryPersistence()).rehearseMigration()
    #expect(rehearsal.succeeds && rehearsal.total == 0)
  }

  @Test("a migration is rehearsed without writing")
  func rehearsal() async throws {
    do {
      let plain = PlainBookFormat.datastore(persistence)
      for book in Book.numbered(1...10) { try await plain.persist(book) }
    }
    struct Refusal: Error {}
    let books = BookFormat.Datastore.JSONStore(
      persistence: persistence, version: .second,
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          if book.id == 7 { throw Refusal() }
          return book
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    let before = try #require(try await persistence.head).id
    let rehearsal = try await books.rehearseMigration()
    #expect(rehearsal.total == 10)
    #expect(rehearsal.converted == ["1": 9])
    #expect(rehearsal.failures.map(\.identifier) == ["7"])
    #expect(rehearsal.entries["authors"] == 18)
    #expect(rehearsal.rebuiltIndexes == ["authors", "isbn", "pages", "shelf", "title"])
    #expect(!rehearsal.succeeds)
    #expect(try await persistence.head?.id == before)
  }

  /// The books of a store as another process opens it: nothing is shared but the files.
  func otherProcess(_ place: TemporaryPlace) -> BookFormat.Datastore {
    let store = _StoreHandle(connection: StoreConnection(path: place.url.path), isReadOnly: false)
    return BookFormat.Datastore(
      store: store, key: "Books", version: .first, coding: .json, encoder: { try JSONEncoder().encode($0) },
      decoders: [
        .first: {
          let book = try JSONDecoder().decode(Book.self, from: $0)
          return (book.id, book)
        }
      ])
  }

  @Test("an undo, a restore and a redo build on a commit that is on its way to the disk")
  func beforeDurable() async throws {
    let books = PlainBookFormat.datastore(persistence)
    for title in ["One", "Two"] { try await books.persist(Book(id: 1, title: title)) }
    let engine = try books.core.store.connection.storeForWriting()
    func deleteWithoutWaiting() throws {
      let transaction = try engine.beginBlocking()
      try transaction.delete(books.core.key(of: 1), in: .records(of: "Books"))
      _ = try transaction.commit()
    }
    try deleteWithoutWaiting()
    #expect(try await persistence.undo() == 4)
    #expect(try await books.load(1)?.title == "Two")
    try deleteWithoutWaiting()
    #expect(try await persistence.restore(1) == 6)
    #expect(try await books.load(1)?.title == "One")
    try await persistence.undo()
    #expect(try await books.load(1) == nil)
    try deleteWithoutWaiting()
    #expect(try await persistence.redo() == 8)
    #expect(try await books.load(1)?.title == "One")
  }

  @Test("a load that begins after another process's persist returned sees it")
  func otherProcesses() async throws {
    let place = TemporaryPlace()
    let here = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    let there = otherProcess(place)
    #expect(try await here.count == 0)
    for book in Book.numbered(1...5) {
      try await there.persist(book)
      #expect(try await here.load(book.id) == book)
      #expect(try await here.load(book.title, from: \.title).all() == [book])
    }
    // While it is in a transaction; it keeps the lock for a while after it.
    let engine = try there.core.store.connection.storeForWriting()
    let transaction = try engine.beginBlocking()
    let error = await #expect(throws: StoreError.self) { try await here.persist(Book(id: 9, title: "held")) }
    transaction.cancel()
    #expect(error?.message.contains("try again") == true)
    guard case .locked = error?.kind else {
      Issue.record("the error names the holder")
      return
    }
    engine.releaseLock()
    try await here.persist(Book(id: 9, title: "let go"))
    #expect(try await there.load(9)?.title == "let go")
  }

  @Test(
    "two processes that write in turns, each after the other has let go of the lock: an observer hears of all"
  )
  func writingInTurns() async throws {
    let place = TemporaryPlace()
    let here = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    let there = otherProcess(place)
    try await here.persist(Book(id: 0, title: "first"))
    let events = try await here.observe(includingOtherProcesses: true)
    let (ours, theirs) = (here.core.store.connection, there.core.store.connection)
    for number in stride(from: 1, to: 40, by: 2) {
      try ours.storeForWriting().releaseLock()
      try await there.persist(Book(id: number, title: "there"))
      try theirs.storeForWriting().releaseLock()
      try await here.persist(Book(id: number + 1, title: "here"))
    }
    var ids: [Int] = []
    for try await event in events {
      ids.append(event.id)
      if ids.count == 40 { break }
    }
    #expect(ids.sorted() == Array(1...40))
    #expect(ids.filter { $0 % 2 == 0 } == Array(stride(from: 2, through: 40, by: 2)))
  }

  @Test("an observer hears of what another process committed before it compacted the observer's own commits away")
  func othersAfterCompaction() async throws {
    let place = TemporaryPlace()
    let here = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    let there = otherProcess(place)
    let (ours, theirs) = (here.core.store.connection, there.core.store.connection)
    try await here.persist(Book(id: 0, title: "first"))
    let events = try await here.observe(includingOtherProcesses: true)
    for number in stride(from: 1, to: 20, by: 4) {
      try await here.persist(Book(id: number, title: "here"))
      try ours.storeForWriting().releaseLock()
      for other in 1...3 { try await there.persist(Book(id: number + other, title: "there")) }
      let engine = try theirs.storeForWriting()
      _ = try engine.compact(.last(1)) { _ in true }
      engine.releaseLock()
    }
    var ids: [Int] = []
    for try await event in events {
      ids.append(event.id)
      if ids.count == 20 { break }
    }
    #expect(ids.sorted() == Array(1...20))
  }

  @Test("a process that has not written for a while lets another one write")
  func idleTime() async throws {
    let place = TemporaryPlace()
    var configuration = StoreConfiguration()
    configuration.writerIdleTime = .milliseconds(1)
    let here = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url, configuration: configuration))
    let there = otherProcess(place)
    try await here.persist(Book(id: 1, title: "here"))
    // Nobody has let go of anything by itself.
    try await there.persist(Book(id: 2, title: "there"))
    #expect(try await here.load(2)?.title == "there")
  }

  @Test("observers can hear of other processes, and a live result follows them")
  func observingOthers() async throws {
    let place = TemporaryPlace()
    let there = otherProcess(place)
    try await there.persist(Book(id: 1, title: "A"))
    let here = BookFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: DiskPersistence(readOnlyURL: place.url),
      migrations: [.first: { try $0.decode(Book.self, from: $1) }])
    let events = try await here.observe(includingOtherProcesses: true)
    var live = here.live().makeAsyncIterator()
    #expect(try await live.next()?.map(\.id) == [1])
    try await there.persist(Book(id: 2, title: "B"))
    try await there.delete(id: 1)
    // Two commits that are found at once are reported in the order of identifiers.
    var isDeleted: [Int: Bool] = [:]
    for try await event in events {
      isDeleted[event.id] = if case .deleted = event { true } else { false }
      if isDeleted.count == 2 { break }
    }
    #expect(isDeleted == [1: true, 2: false])
    var last: [Int] = []
    while last != [2] { last = try #require(try await live.next()).map(\.id) }
  }
}
