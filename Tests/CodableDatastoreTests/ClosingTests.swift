import Foundation
import StrataEngine
import Testing

@testable import CodableDatastore

@Suite("Closing a persistence ends what listens to it")
struct ClosingTests {
  @Test("observations end after the changes that were made, live results end, and another persistence's go on")
  func closing() async throws {
    let place = TemporaryPlace()
    let (disk, other) = (try DiskPersistence(readWriteURL: place.url), try DiskPersistence(readWriteURL: place.url))
    let (books, same) = (BookFormat.datastore(disk), BookFormat.datastore(other))
    try await books.persist(Book(id: 1, title: "A"))
    var (changes, own) = (
      try await books.observe().makeAsyncIterator(), try await books.observe(id: 2).makeAsyncIterator()
    )
    var (live, unread) = (
      books.live().makeAsyncIterator(), books.load(where: #Predicate { $0.pages < 5 }).live().makeAsyncIterator()
    )
    var (elsewhere, letters) = (try await same.observe().makeAsyncIterator(), disk.inbox.events.makeAsyncIterator())
    #expect(try await live.next()?.count == 1)
    #expect(try await unread.next()?.isEmpty == true)
    try await books.persist(Book(id: 2, title: "B"))
    try await disk.close()
    #expect(try await changes.next()?.id == 2)
    #expect(try await changes.next() == nil)
    #expect(try await own.next()?.id == 2)
    #expect(try await own.next() == nil)
    while try await live.next() != nil {}
    while try await unread.next() != nil {}
    #expect(await letters.next() == nil)
    await #expect(throws: StoreError.self) { try await books.observe() }
    try await same.persist(Book(id: 3, title: "C"))
    #expect(try await elsewhere.next()?.id == 2)
    #expect(try await elsewhere.next()?.id == 3)
    try await other.close()
  }

  @Test("readers that wait when the persistence is closed are woken")
  func waiting() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    try await books.persist(Book(id: 1, title: "A"))
    let changes = try await books.observe()
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    async let heard = changes.all()
    async let shown = {
      var count = 0
      for try await _ in books.live() {
        count += 1
        start.finish()
      }
      return count
    }()
    for await _ in started {}
    try await disk.close()
    #expect(try await heard.isEmpty)
    #expect(try await shown == 1)
  }

  @Test("a store that is opened again after all its persistences were closed hears other processes again")
  func reopened() async throws {
    let place = TemporaryPlace()
    let first = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(first)
    try await books.persist(Book(id: 1, title: "A"))
    var old = try await books.observe(includingOtherProcesses: true).makeAsyncIterator()
    try await first.close()
    #expect(try await old.next() == nil)
    let second = try DiskPersistence(readWriteURL: place.url)
    var changes = try await BookFormat.datastore(second).observe(includingOtherProcesses: true).makeAsyncIterator()
    try await second.releaseWriter()
    try await LiveTests().otherProcess(place).persist(Book(id: 2, title: "B"))
    #expect(try await changes.next()?.id == 2)
    try await second.close()
    withExtendedLifetime(books) {}
  }

  @Test("if another store lies at the place after all its persistences were closed, an undo in it is reported")
  func replaced() async throws {
    let place = TemporaryPlace()
    let first = try DiskPersistence(readWriteURL: place.url)
    for book in Book.numbered(1...5) { try await BookFormat.datastore(first).persist(book) }
    try await first.close()
    try FileManager.default.removeItem(at: place.url)
    let second = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(second)
    try await books.persist(Book(id: 1, title: "A"))
    var changes = try await books.observe().makeAsyncIterator()
    try await second.undo()
    try await books.persist(Book(id: 2, title: "B"))
    let heard = try await changes.next()
    if case .deleted(1, _) = heard {} else { Issue.record("heard \(String(describing: heard))") }
    withExtendedLifetime(first) {}
  }

  @Test("a persistence that is made while the last one of its place is closed can be used at once")
  func besideClosing() async throws {
    let place = TemporaryPlace()
    var open = try DiskPersistence(readWriteURL: place.url)
    for id in 1...40 {
      let last = open
      try await BookFormat.datastore(last).persist(Book(id: id, title: "before"))
      async let closing: Void = last.close()
      let next = try DiskPersistence(readWriteURL: place.url)
      try await BookFormat.datastore(next).persist(Book(id: id, title: "after"))
      try await closing
      open = next
    }
    #expect(try await BookFormat.datastore(open).load(...).map(\.title).all() == Array(repeating: "after", count: 40))
  }
}
