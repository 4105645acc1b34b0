import StrataDocuments

@testable import CodableDatastore
import StrataModel
import Foundation
import StrataLocks
import StrataEngine
import Testing

@Suite("Live results, blobs, backups, rehearsals and other processes")
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

  @Test("blobs of any size are kept by name, read in pieces, and part of transactions")
  func blobs() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let blobs = BlobDatastore(persistence: disk)
    #expect(try await blobs.count == 0)
    #expect(try await blobs.load("x") == nil)
    let large = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try await blobs.persist(large, to: "large")
    try await blobs.persist(Data(), to: "empty")
    #expect(try await blobs.load("large") == large)
    #expect(try await blobs.size(of: "large") == 3_000_000)
    #expect(try await blobs.load("empty") == Data())
    var joined = Data()
    var count = 0
    for try await piece in blobs.pieces(of: "large", size: 1_000_000) {
      joined += piece
      count += 1
    }
    #expect(joined == large && count == 3)
    #expect(try await blobs.pieces(of: "large", size: .max).collectInstances(upTo: .infinity) == [large])
    for size in [0, -1, .min] {
      await #expect(throws: StoreError.self) { try await blobs.pieces(of: "large", size: size).firstInstance }
    }
    let file = place.url.deletingLastPathComponent().appending(path: "file")
    try large.write(to: file)
    try await blobs.persist(contentsOf: file, to: "from file")
    #expect(try await blobs.load("from file") == large)
    #expect(try await blobs.names == ["empty", "from file", "large"])
    struct Refusal: Error {}
    try? await disk.perform {
      try await blobs.deleteIfPresent("large")
      throw Refusal()
    }
    #expect(try await blobs.count == 3)
    #expect(try await blobs.deleteIfPresent("large"))
    #expect(try await !blobs.deleteIfPresent("large"))
  }

  @Test("blobs are refused under the key of instances, in reading and in writing")
  func blobsAmongInstances() async throws {
    let books = PlainBookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let blobs = BlobDatastore(persistence: persistence, key: PlainBookFormat.defaultKey)
    let calls: [() async throws -> Any?] = [
      { try await blobs.persist(Data([1]), to: "q") }, { try await blobs.load("q") }, { try await blobs.count },
      { try await blobs.names }, { try await blobs.size(of: "q") }, { try await blobs.deleteIfPresent("q") },
      { try await blobs.pieces(of: "q").firstInstance },
    ]
    for call in calls {
      let error = await #expect(throws: StoreError.self) { _ = try await call() }
      #expect(error?.kind == .refused)
    }
    #expect(try await books.load(...).all().map(\.id) == [1])
  }

  @Test("a transaction that catches the refusal of a blob goes on, and commits the rest")
  func refusedBlobs() async throws {
    let books = PlainBookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let blobs = BlobDatastore(persistence: persistence)
    let wrong = BlobDatastore(persistence: persistence, key: "Books")
    let place = TemporaryPlace()
    let (folder, large) = (place.url.deletingLastPathComponent(), place.url.appending(path: "large"))
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: true)
    try Data().write(to: large)
    // It has no bytes on the disk.
    try FileHandle(forWritingTo: large).truncate(atOffset: 1 << 30)
    try await persistence.perform {
      await #expect(throws: StoreError.self) { try await wrong.persist(Data([1]), to: "q") }
      await #expect(throws: StoreError.self) { try await blobs.persist(contentsOf: folder, to: "folder") }
      await #expect(throws: StoreError.self) { try await blobs.persist(contentsOf: large, to: "large") }
      try await blobs.persist(Data([2]), to: "small")
      try await books.persist(Book(id: 2, title: "B"))
    }
    #expect(try await blobs.names == ["small"])
    #expect(try await books.load(...).all().map(\.id) == [1, 2])
  }

  @Test("instances are refused under the key of blobs, whatever their identifiers are, and the blobs stay")
  func instancesAmongBlobs() async throws {
    struct Note: Codable, Identifiable { var id: String }
    struct NoteFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case first = 1 }
      typealias Instance = Note
      static let defaultKey = PlainBookFormat.defaultKey
      static let currentVersion = Version.first
    }
    let blobs = BlobDatastore(persistence: persistence, key: NoteFormat.defaultKey)
    try await blobs.persist(Data([1]), to: "q")
    func expectRefusal(_ body: () async throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) async {
      let error = await #expect(throws: StoreError.self, sourceLocation: sourceLocation) { try await body() }
      #expect(error?.kind == .refused, sourceLocation: sourceLocation)
    }
    await expectRefusal { try await persistence.datastore(NoteFormat.self).persist(Note(id: "q")) }
    await expectRefusal { try await persistence.datastore(NoteFormat.self).delete("q") }
    await expectRefusal { _ = try await persistence.datastore(NoteFormat.self).load("q") }
    await expectRefusal { _ = try await persistence.datastore(NoteFormat.self).count }
    await expectRefusal { try await PlainBookFormat.datastore(persistence).persist(Book(id: 1, title: "A")) }
    await expectRefusal { try await persistence.perform { try await BookFormat.datastore(persistence).warm() } }
    let reader = Datastore<NoteFormat, ReadOnly>.readOnlyJSONStore(persistence: persistence)
    await expectRefusal { _ = try await reader.load(...).all() }
    await expectRefusal { _ = try await reader.load("q") }
    await expectRefusal { _ = try await reader.count }
    try await blobs.persist(Data([2]), to: "r")
    #expect(try await blobs.names == ["q", "r"])
  }

  @Test("blobs that come piece by piece, few and many, are kept once the last piece is there")
  func streamedBlobs() async throws {
    let blobs = BlobDatastore(persistence: persistence)
    let piece = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    for count in [0, 1, 45] {
      let pieces = AsyncStream { continuation in
        for _ in 0..<count { continuation.yield(piece) }
        continuation.finish()
      }
      try await blobs.persist(pieces: pieces, to: "streamed")
      #expect(try await blobs.size(of: "streamed") == count * piece.count)
      var whole = Data()
      for try await part in blobs.pieces(of: "streamed", size: 77_777) { whole += part }
      #expect(whole == Data(repeatElement(piece, count: count).joined()))
    }
    try await blobs.persist(pieces: blobs.pieces(of: "streamed"), to: "copy")
    #expect(try await blobs.load("copy") == blobs.load("streamed"))
    struct Refusal: Error {}
    let broken = AsyncThrowingStream<Data, any Error> { continuation in
      continuation.yield(piece)
      continuation.finish(throwing: Refusal())
    }
    await #expect(throws: Refusal.self) { try await blobs.persist(pieces: broken, to: "streamed") }
    #expect(try await blobs.size(of: "streamed") == 45 * piece.count)
  }

  @Test("a blob whose task is cancelled before the last piece came is not stored")
  func cancelledBlob() async throws {
    let blobs = BlobDatastore(persistence: persistence)
    let (pieces, continuation) = AsyncStream<Data>.makeStream()
    let task = Task {
      // The stream ends without an error.
      withUnsafeCurrentTask { $0?.cancel() }
      try await blobs.persist(pieces: pieces, to: "streamed")
    }
    continuation.yield(Data([1]))
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await blobs.names.isEmpty)
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
    var ids: [Int] = []
    for try await event in events {
      ids.append(event.id)
      if case .deleted = event { break }
    }
    #expect(ids.contains(2) && ids.last == 1 || ids == [1, 2])
    var last: [Int] = []
    while last != [2] { last = try #require(try await live.next()).map(\.id) }
  }
}
