import StrataDocuments
import StrataModel
import Foundation
import StrataLocks
import StrataEngine
import Testing

@testable import CodableDatastore

@Suite("Observers hear everything once, in order")
struct FollowingTests {
  struct Refusal: Error {}

  @Test("a live result sorted by what is not an order holds the right instances")
  func noOrder() async throws {
    struct Reading: Codable, Hashable, Identifiable, Sendable {
      var id: Int
      var value: Double?
      var number: Double { value ?? .nan }
    }
    struct ReadingFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case first }
      typealias Instance = Reading
      static let defaultKey: DatastoreKey = "Readings"
      static let currentVersion = Version.first
    }
    let persistence = MemoryPersistence()
    let readings = ReadingFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try $0.decode(Reading.self, from: $1) }])
    func value(_ number: Int) -> Double? { number % 3 == 0 ? nil : Double(number * 37 % 101) }
    for id in 0..<60 { try await readings.persist(Reading(id: id, value: value(id))) }
    var results = readings.live(sortedBy: { $0.number < $1.number }).makeAsyncIterator()
    let first = try #require(try await results.next())
    #expect(Set(first) == Set(try await readings.load(...).all()))
    for step in 0..<200 {
      let id = step * 7 % 60
      if step % 5 == 0, try await readings.load(id) != nil {
        try await readings.delete(id)
      } else {
        try await readings.persist(Reading(id: id, value: value(step)))
      }
      let stored = try await readings.load(...).all()
      let shown = try #require(try await results.next())
      #expect(Set(shown) == Set(stored) && shown.count == stored.count)
    }
  }

  @Test("many changes at once come to what a loop over the records comes to")
  func manyChanges() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    try await persistence.perform { for book in Book.numbered(1...300) { try await books.persist(book) } }
    var results = books.live(where: { $0.pages % 20 == 0 }, sortedBy: { $0.title > $1.title }).makeAsyncIterator()
    var unsorted = books.live().makeAsyncIterator()
    _ = try await results.next()
    _ = try await unsorted.next()
    try await persistence.perform {
      for id in stride(from: 1, through: 300, by: 2) { try await books.delete(id) }
      for book in Book.numbered(250...600) { try await books.persist(book) }
    }
    let all = try await books.load(...).all()
    #expect(try await results.next() == all.filter { $0.pages % 20 == 0 }.sorted { $0.title > $1.title })
    #expect(try await unsorted.next() == all)
  }

  @Test("a live result begun within a transaction shows what is committed, before and after")
  func liveWithin() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    var results = books.live().makeAsyncIterator()
    try? await persistence.perform {
      try await books.persist(Book(id: 2, title: "B"))
      let shown = try await results.next(isolation: #isolation)
      #expect(shown?.map(\.id) == [1])
      throw Refusal()
    }
    var others = books.live().makeAsyncIterator()
    try await persistence.perform {
      try await books.persist(Book(id: 3, title: "C"))
      let shown = try await others.next(isolation: #isolation)
      #expect(shown?.map(\.id) == [1])
    }
    #expect(try await results.next()?.map(\.id) == [1, 3])
    #expect(try await others.next()?.map(\.id) == [1, 3])
  }

  @Test("what observers hear adds up to what is there, whatever is undone and restored meanwhile")
  func addingUp() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    try await books.persist(Book(id: 0, title: "first"))
    let first = try #require(try await disk.head)
    var heard = [0: Book(id: 0, title: "first")]
    let changes = try await books.observe()
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for step in 0..<30 {
            let id = (task * 7 + step) % 20
            switch (task, step % 4) {
            case (0, _): _ = try? await disk.undo()
            case (1, 0): _ = try? await disk.restore(first.id)
            case (2, 0): _ = try? await disk.redo()
            case (3, _): _ = try? await books.deleteIfPresent(id)
            default: _ = try? await books.persist(Book(id: id, title: "\(task), \(step)"))
            }
          }
        }
      }
    }
    try await books.persist(Book(id: 99, title: "last"))
    for try await change in changes {
      switch change {
      case .created(let id, let new):
        #expect(heard[id] == nil)
        heard[id] = new
      case .updated(let id, let old, let new):
        #expect(heard[id] == old)
        heard[id] = new
      case .deleted(let id, let old):
        #expect(heard[id] == old)
        heard[id] = nil
      }
      if change.id == 99 { break }
    }
    let stored = try await books.load(...).all()
    #expect(heard.values.sorted { $0.id < $1.id } == stored)
  }

  @Test("a change that does not decode is thrown in its place, and the next one comes after it")
  func undecodable() async throws {
    struct Unreadable: Error {}
    let persistence = MemoryPersistence()
    let books = BookFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let book = try decoder.decode(Book.self, from: data)
          if book.title == "unreadable" { throw Unreadable() }
          return book
        }, .second: { try $0.decode(Book.self, from: $1) },
      ])
    var changes = try await books.observe().makeAsyncIterator()
    try await books.persist(Book(id: 1, title: "A"))
    try await books.persist(Book(id: 2, title: "unreadable"))
    try await books.persist(Book(id: 3, title: "C"))
    #expect(try await changes.next()?.id == 1)
    do {
      _ = try await changes.next()
      Issue.record("it was passed over")
    } catch let error as UnreadableChangeError {
      #expect(error.identifier == "2" && error.commit == 2 && error.underlying is Unreadable)
    }
    #expect(try await changes.next()?.id == 3)
  }

  @Test("changes of other processes that cannot be read once are said to be, and told the next time")
  func readingFails() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    let connection = persistence._store.connection
    let before = try #require(try connection.currentView(forWriter: true))
    try await books.persist(Book(id: 2, title: "B"))
    let after = try #require(try connection.currentView(forWriter: true))

    final class Watch: DiskWatch {}
    let publication = ChangeReporter()
    let buffer = ChangeBuffer(hearsOtherProcesses: true)
    publication.add(buffer, for: "Books")
    try publication.beginFollowing(at: before) { Watch() }
    publication.notice {
      after
    } changes: { _, _, _ in
      throw Refusal()
    }
    await #expect(throws: Refusal.self) { try await buffer.next() }
    publication.notice {
      throw Refusal()
    } changes: { _, _, _ in
      []
    }
    await #expect(throws: Refusal.self) { try await buffer.next() }
    for _ in 0..<2 {
      publication.notice {
        after
      } changes: { old, new, datastore in
        try ChangeWalk(from: old, to: new, datastore: datastore).all()
      }
    }
    #expect(buffer.popAll().map(\.commit) == [2])
  }

  @Test(
    "of changes that nobody reads no more wait than the limit; the iteration says once what was missed, and goes on")
  func unread() async throws {
    let place = TemporaryPlace()
    var configuration = StoreConfiguration()
    configuration.waitingChangesLimit = 50_000
    let disk = try DiskPersistence(readWriteURL: place.url, configuration: configuration)
    let books = BookFormat.datastore(disk)
    try await books.persist(Book(id: 0, title: "first"))
    var changes = try await books.observe().makeAsyncIterator()
    var live = books.live().makeAsyncIterator()
    #expect(try await live.next()?.count == 1)
    // Of one commit all is told, however much it is.
    try await disk.perform { for book in Book.numbered(1...400) { try await books.persist(book) } }
    #expect(try await changes.next()?.id == 1)
    for round in 0..<400 { try await books.persist(Book(id: 1000, title: "round \(round)")) }
    var missed: ChangesMissed?
    do {
      _ = try await changes.next()
    } catch let error as ChangesMissed {
      missed = error
    }
    #expect(missed?.datastore == "Books" && missed?.first == 2)
    let last = try #require(missed?.last.rawValue)
    let newest = try #require(try await disk.head?.id.rawValue)
    #expect(last > 200 && last < newest)
    var titles: [String] = []
    for _ in last..<newest {
      if case .updated(1000, _, let book)? = try await changes.next() { titles.append(book.title) }
    }
    #expect(titles == (Int(last) - 2..<400).map { "round \($0)" })
    let shown = try #require(try await live.next())
    let stored = try await books.load(...).all()
    #expect(shown == stored)
  }

  @Test("a persistence that only reads can be told to read without a mapping")
  func unmappedReader() async throws {
    let place = TemporaryPlace()
    try await BookFormat.datastore(try DiskPersistence(readWriteURL: place.url)).persist(Book(id: 1, title: "A"))
    let reader = DiskPersistence(readOnlyURL: place.url, readsThroughMapping: false)
    #expect(reader._store.connection.configuration.readsThroughMapping == false)
    let books = BookFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: reader, migrations: [.first: { try $0.decode(Book.self, from: $1) }])
    #expect(try await books.load(1)?.title == "A")
  }

  @Test("what a commit changed is told without being copied, and in the order of the commits, failures among them")
  func tellingOfMany() async throws {
    let publication = ChangeReporter()
    let (all, one, other) = (ChangeBuffer(), ChangeBuffer { $0.key == [7] }, ChangeBuffer())
    publication.add(all, for: "Books")
    publication.add(one, for: "Books")
    publication.add(other, for: "Authors")
    let many = (0..<2000).map { StoredChange(datastore: "Books", key: [UInt8(truncatingIfNeeded: $0)]) }
    let place = many.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    all.append(many)
    all.fail(Refusal())
    all.append([StoredChange(datastore: "Books", key: [1], commit: 9)])
    let told = all.popAll()
    #expect(told.count == 2000 && told.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } == place)
    await #expect(throws: Refusal.self) { try await all.next() }
    #expect(try await all.next()?.commit == 9)

    let commit = publication.append(many + [StoredChange(datastore: "Authors", key: [7])], pending: nil, base: 5)
    #expect(all.popAll().isEmpty)
    _ = try await commit.finish(isDurable: true)
    #expect(all.popAll().map(\.commit) == Array(repeating: 5, count: 2000))
    #expect(try await one.next()?.key == [7])
    #expect(one.popAll().map(\.key) == Array(repeating: [7], count: 7))
    #expect(other.popAll().map(\.datastore) == ["Authors"])
  }

  @Test(
    "a live result beside a newer program ends with the error that every other call throws", arguments: [true, false])
  func newerProgram(knowsVersion: Bool) async throws {
    typealias Copies = SeveralCopiesTests
    let place = TemporaryPlace()
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let newer = Datastore<Copies.NoteFormat, ReadWrite>(
      store: _StoreHandle(connection: StoreConnection(path: place.url.path), isReadOnly: false), key: "Notes",
      version: .second, coding: .json, encoder: { try JSONEncoder().encode($0) },
      decoders: [
        .second: {
          let note = try JSONDecoder().decode(Copies.Note.self, from: $0)
          return (note.id, note)
        }
      ])
    func expectEnd<Format: DatastoreFormat>(
      of notes: Datastore<Format, ReadWrite>, _ first: Format.Instance, isSame: (any Error, any Error) -> Bool
    ) async throws where Format.Instance: Identifiable, Format.Identifier == Format.Instance.ID {
      try await notes.persist(first)
      var live = notes.live().makeAsyncIterator()
      #expect(try await live.next()?.count == 1)
      try await newer.persist(Copies.Note(id: 2, title: "T2", body: "b2", stars: 0))
      let other = try await #require(throws: (any Error).self) { try await notes.count }
      do {
        let shown = try await live.next()
        Issue.record("it shows \(String(describing: shown))")
      } catch {
        #expect(isSame(error, other), "\(error)")
      }
    }
    if knowsVersion {
      let notes = Datastore<Copies.NoteFormat, ReadWrite>.JSONStore(
        persistence: persistence, version: .first, migrations: [.first: { try $0.decode(Copies.Note.self, from: $1) }])
      try await expectEnd(of: notes, Copies.Note(id: 1, title: "T1", body: "b1", stars: 0)) { error, other in
        guard case DatastoreError.incompatibleVersion("2") = error else { return false }
        return error.localizedDescription == other.localizedDescription
      }
    } else {
      let notes = Datastore<Copies.OldNoteFormat, ReadWrite>.JSONStore(
        persistence: persistence, migrations: [.first: { try $0.decode(Copies.OldNote.self, from: $1) }])
      try await expectEnd(of: notes, Copies.OldNote(id: 1, text: "T1:b1", stars: 0)) { error, other in
        error is DecodingError && "\(error)" == "\(other)"
      }
      let reader = Datastore<Copies.OldNoteFormat, ReadOnly>.readOnlyJSONStore(
        persistence: DiskPersistence(readOnlyURL: place.url),
        migrations: [.first: { try $0.decode(Copies.OldNote.self, from: $1) }])
      let error = await #expect(throws: UnreadableInstanceError.self) { try await reader.load(2) }
      #expect(
        error?.errorDescription == "The instance 2 of Notes, written by version 2, cannot be decoded: "
          + "Version 2 is not a case of Version: a newer program has written it. Update this program.")
    }
  }

  enum First: CaseIterable { case other, own, reader }

  @Test(
    "what begins to listen before there is a store hears the commits of other processes from the first one on",
    arguments: First.allCases)
  func beforeTheStore(first: First) async throws {
    let place = TemporaryPlace()
    func expectAll<Mode>(
      _ books: Datastore<BookFormat, Mode>, _ own: [Int], _ write: () async throws -> Void
    ) async throws {
      var live = books.live().makeAsyncIterator()
      #expect(try await live.next() == [])
      var changes = try await books.observe(includingOtherProcesses: true).makeAsyncIterator()
      try await write()
      let there = LiveTests().otherProcess(place)
      for id in 1...2 { try await there.persist(Book(id: id, title: "\(id)")) }
      var heard: [Int] = []
      while heard.last != 2 { heard.append(try #require(try await changes.next()).id) }
      #expect(heard == own + [1, 2] || heard == own + [2])
      var shown: [Int] = []
      while shown != own + [1, 2] { shown = try #require(try await live.next()).map(\.id) }
    }
    guard first != .reader else {
      let reader = DiskPersistence(readOnlyURL: place.url)
      return try await expectAll(
        .readOnlyJSONStore(persistence: reader, migrations: [.first: { try $0.decode(Book.self, from: $1) }]), []
      ) {}
    }
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(persistence)
    try await expectAll(books, first == .own ? [0] : []) {
      guard first == .own else { return }
      try await books.persist(Book(id: 0, title: "own"))
      try await persistence.releaseWriter()
    }
  }

  @Test("redo brings back what undo took back, and says so in the history")
  func redo() async throws {
    let persistence = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    try await persistence.perform(actionName: "Rename") { _ = try await books.persist(Book(id: 1, title: "B")) }
    #expect(try await persistence.redo() == nil)
    try await persistence.undo()
    #expect(try await books.load(1)?.title == "A")
    try await persistence.redo()
    #expect(try await books.load(1)?.title == "B")
    #expect(try await persistence.head?.action == "redo Rename")
    #expect(try await persistence.redo() == nil)
    try await persistence.undo()
    #expect(try await books.load(1)?.title == "A")
  }

  @Test("live results follow a head that another process put back, as a step back over a merge does")
  func headPutBack() async throws {
    let place = TemporaryPlace()
    let here = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    let there = LiveTests().otherProcess(place)
    for id in 1...3 { try await here.persist(Book(id: id, title: "\(id)")) }
    var all = here.load(...).live().makeAsyncIterator()
    var range = here.load(0..., from: \.pages).live().makeAsyncIterator()
    #expect(try await all.next()?.count == 3)
    #expect(try await range.next()?.count == 3)
    try here.core.store.connection.storeForWriting().releaseLock()
    let engine = try there.core.store.connection.storeForWriting()
    let transaction = try engine.beginBlocking()
    var info = CommitInfo(action: "step back", flags: .bookkeeping, movesHead: false)
    info.head = 1
    try transaction.commit(info)?.wait()
    engine.releaseLock()
    #expect(try await all.next()?.map(\.id) == [1])
    #expect(try await range.next()?.map(\.id) == [1])
    try await here.persist(Book(id: 4, title: "4"))
    #expect(try await all.next()?.map(\.id) == [1, 4])
  }
}
