import CodableDatastore
import Foundation
import Synchronization
import Testing

@Suite("Where calls run")
struct ExecutorTests {
  @Test("a persist from an actor leaves it at most once, for the sync, and a load not at all")
  func actors() async throws {
    // On a disk, because a sync in memory may be over before anybody waits for it.
    let place = TemporaryPlace()
    let books = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    try await books.persist(Book(id: 0, title: "The first takes the store's lock"))
    let shop = Shop(books)
    let own = shop.executor.jobs.withLock { $0 }
    try await shop.persist(Book.numbered(1...50))
    let persisting = shop.executor.jobs.withLock { $0 } - own
    // The call itself is one.
    #expect(persisting - 1 <= 50)
    #expect(try await shop.load(1...50) == 50)
    #expect(shop.executor.jobs.withLock { $0 } - own - persisting == 1)
  }
}

/// Persists and loads on an executor of its own.
private actor Shop {
  nonisolated let executor = CountingExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let books: BookFormat.Datastore

  init(_ books: BookFormat.Datastore) { self.books = books }

  func persist(_ new: [Book]) async throws {
    for book in new { try await books.persist(book) }
  }

  func load(_ identifiers: ClosedRange<Int>) async throws -> Int {
    var found = 0
    for identifier in identifiers where try await books.load(identifier) != nil { found += 1 }
    return found
  }
}

/// Counts how often a task comes to it.
private final class CountingExecutor: SerialExecutor {
  let jobs = Mutex(0)
  private let queue = DispatchQueue(label: "counting")

  func enqueue(_ job: consuming ExecutorJob) {
    jobs.withLock { $0 += 1 }
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
