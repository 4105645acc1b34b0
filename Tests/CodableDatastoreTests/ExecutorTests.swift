import Foundation
import Testing

@testable import CodableDatastore

@Suite("Where calls run")
struct ExecutorTests {
  @Test("a persist from an actor leaves it at most once, for the sync, and a load not at all")
  func actors() async throws {
    // On a disk, because a sync in memory may be over before anybody waits for it; and where no slice ends.
    let place = TemporaryPlace()
    var configuration = StoreConfiguration()
    configuration.writerIdleTime = .seconds(3600)
    let disk = try DiskPersistence(readWriteURL: place.url, configuration: configuration, slices: .ofStandingClock())
    let books = BookFormat.datastore(disk)
    try await books.persist(Book(id: 0, title: "The first takes the store's lock"))
    let worker = Worker()
    let persisting = try await worker.returns { _ in for book in Book.numbered(1...50) { try await books.persist(book) }
    }
    #expect(persisting <= 50)
    let loading = try await worker.returns { _ in
      for identifier in 1...50 {
        let book = try await books.load(identifier)
        #expect(book?.id == identifier)
      }
    }
    #expect(loading == 0)
  }
}
