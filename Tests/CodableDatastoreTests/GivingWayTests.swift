import Foundation
import StrataLocks
import Testing

@testable import CodableDatastore

// Time is a clock on which each look takes a tenth of a slice: what runs in a loop without giving way is counted, not timed.

@Suite("Loops give way to others")
struct GivingWayTests {
  let worker = Worker()
  /// As many yields as `calls` looks at such a clock come to; one look begins each slice.
  private func yields(for calls: Int) -> ClosedRange<Int> { calls / 12...calls / 9 }

  private func filled(_ count: Int, slices: TimeSlices) async throws -> (MemoryPersistence, BookFormat.Datastore) {
    let persistence = MemoryPersistence(slices: slices)
    let books = BookFormat.datastore(persistence)
    try await persistence.perform { for book in Book.numbered(1...count) { try await books.persist(book) } }
    return (persistence, books)
  }

  @Test("single loads")
  func loads() async throws {
    let (_, books) = try await filled(10, slices: .ofTenLooks())
    let count = try await worker.returns { _ in for _ in 0..<1000 { _ = try await books.load(5) } }
    #expect(yields(for: 1000).contains(count))
  }

  @Test("counts of a datastore")
  func counts() async throws {
    let (_, books) = try await filled(10, slices: .ofTenLooks())
    let count = try await worker.returns { _ in for _ in 0..<1000 { _ = try await books.count } }
    #expect(yields(for: 1000).contains(count))
  }

  @Test("an iteration, of identifiers and of an index")
  func iterations() async throws {
    let (_, books) = try await filled(500, slices: .ofTenLooks())
    let all = try await worker.returns { _ in for try await _ in books.load(...) {} }
    #expect(yields(for: 500).contains(all))
    let byTitle = try await worker.returns { _ in for try await _ in books.load(..., from: \.title) {} }
    #expect(yields(for: 500).contains(byTitle))
  }

  @Test("queries, of an index and of all")
  func queries() async throws {
    let (_, books) = try await filled(500, slices: .ofTenLooks())
    let indexed = try await worker.returns { _ in
      for try await _ in books.load(where: #Predicate { $0.pages > 0 }) {}
    }
    #expect(indexed >= yields(for: 500).lowerBound)
    let counted = try await worker.returns { _ in
      _ = try await books.load(where: #Predicate { $0.title != $0.isbn }).scanning().count
    }
    #expect(counted >= yields(for: 500).lowerBound)
  }

  @Test("selected values and figures that are read along an index")
  func alongIndex() async throws {
    let (_, books) = try await filled(500, slices: .ofTenLooks())
    let selected = try await worker.returns { _ in
      for try await _ in books.load(..., from: \.title).select(\.title) {}
    }
    #expect(selected >= yields(for: 500 / 16).lowerBound)
    let gathered = try await worker.returns { _ in
      for try await _ in books.load(where: #Predicate { $0.title > "A" }).select(\.title) { break }
    }
    #expect(gathered >= yields(for: 500 / 16).lowerBound)
    let grouped = try await worker.returns { _ in
      for _ in 0..<100 { _ = try await books.load(...).grouped(by: \.title) { $0.max(\.title) } }
    }
    #expect(grouped >= yields(for: 100).lowerBound)
  }

  @Test("slices grow while no other task runs: to twice their length on the main actor, to three times elsewhere")
  func growing() async throws {
    // A yield takes one look: a twentieth of a slice, and so less than the tenth that tells that another task ran.
    let (_, books) = try await filled(10, slices: .ofLooks(20))
    let alone = try await worker.returns { _ in for _ in 0..<8000 { _ = try await books.load(5) } }
    #expect((8000 / 62...8000 / 56).contains(alone))
    let (slices, yields) = (TimeSlices.ofLooks(20), Begun())
    await Task { @MainActor in
      for _ in 0..<1000 where slices.isUsedUp() {
        _ = yields.next()
        await slices.yieldTask()
      }
    }.value
    #expect((1000 / 42...1000 / 38).contains(yields.next() - 1))
  }

  @Test("iterators and loads of one task share a slice")
  func shared() async throws {
    let (_, books) = try await filled(500, slices: .ofTenLooks())
    let count = try await worker.returns { _ in
      for try await book in books.load(...) { _ = try await books.load(book.id) }
    }
    #expect(yields(for: 1000).contains(count))
  }

  @Test("writes in a transaction, and deletes of a range")
  func writes() async throws {
    let (persistence, books) = try await filled(500, slices: .ofTenLooks())
    let written = try await worker.returns { worker in
      try await persistence.perform {
        _ = worker
        for book in Book.numbered(501...1000) { try await books.persist(book) }
      }
    }
    #expect(written >= yields(for: 500).lowerBound)
    let deleted = try await worker.returns { _ in _ = try await books.delete(range: ...) }
    #expect(deleted >= yields(for: 1000).lowerBound)
    #expect(try await books.count == 0)
  }

  @Test("writes that change nothing, each by itself")
  func unchanged() async throws {
    let (_, books) = try await filled(1, slices: .ofTenLooks())
    let count = try await worker.returns { _ in
      for _ in 0..<500 { try await books.persist(Book.numbered(1...1)[0]) }
    }
    #expect(count >= yields(for: 500).lowerBound)
  }

  @Test("what is observed, differs, or was")
  func histories() async throws {
    let (persistence, books) = try await filled(1, slices: .ofTenLooks())
    let first = try #require(try await persistence.head)
    let changes = try await books.observe()
    try await persistence.perform { for book in Book.numbered(2...301) { try await books.persist(book) } }
    let observed = try await worker.returns { _ in
      var left = 300
      for try await _ in changes {
        left -= 1
        if left == 0 { break }
      }
    }
    #expect(yields(for: 300).contains(observed))
    let differences = try await worker.returns { _ in for try await _ in books.changes(from: first.id) {} }
    #expect(yields(for: 300).contains(differences))
  }

  private struct Link: Codable, Identifiable, Sendable {
    var id: Int
    var next: Int
  }

  private struct LinkFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Link
    static let defaultKey: DatastoreKey = "Links"
    static let currentVersion = Version.first
    let next = Reference(\.next, to: LinkFormat.self)
  }

  @Test("a walk along references leaves its executor")
  func references() async throws {
    let persistence = MemoryPersistence(slices: .ofStandingClock())
    let links = persistence.datastore(LinkFormat.self)
    try await persistence.perform { for id in 1...5 { try await links.persist(Link(id: id, next: id + 1)) } }
    let count = try await worker.returns { _ in
      let dangling = try await links.dangling(\.next, in: links)
      #expect(dangling.map(\.target) == [6])
    }
    #expect(count >= 1)
  }

  @Test("the rehearsal of a migration")
  func rehearsal() async throws {
    let (_, books) = try await filled(500, slices: .ofTenLooks())
    let count = try await worker.returns { _ in _ = try await books.rehearseMigration() }
    #expect(count >= yields(for: 500).lowerBound)
  }

  @Test("a task that was suspended just now, or runs shortly, does not leave its executor")
  func short() async throws {
    let (_, books) = try await filled(500, slices: .ofStandingClock())
    let count = try await worker.returns { _ in
      for try await book in books.load(...) { _ = try await books.load(book.id) }
    }
    #expect(count == 0)
  }

  @Test("many changes are appended off the caller's executor, few on it")
  func largeCommits() async throws {
    let persistence = MemoryPersistence(slices: .ofStandingClock())
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 0, title: "first"))
    for (numbers, returns) in [(1...10, 0), (11...2000, 1)] {
      let count = try await worker.returns { worker in
        // Collated, so that nobody waits for a sync.
        try await persistence.perform(options: .collateWrites) {
          _ = worker
          for book in Book.numbered(numbers) { try await books.persist(book) }
        }
      }
      #expect(count == returns)
    }
  }

  @Test("two tasks that meet in a slot both give way")
  func collisions() async throws {
    let slices = TimeSlices.ofTenLooks()
    // 1,100 tasks on 512 slots, none of which ends before all have looked.
    let yields = Begun()
    let gate = Gate()
    try await withThrowingTaskGroup(of: Void.self) { group in
      let begun = Begun()
      for _ in 0..<1100 {
        group.addTask {
          if begun.next() == 1100 { gate.open() }
          await gate.wait()
          for _ in 0..<100 where slices.isUsedUp() {
            _ = yields.next()
            slices.begin()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(yields.next() > 1100)
  }
}

private final class Begun: Sendable {
  private let count = Mutex(0)

  func next() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}
