import CodableDatastore
import Foundation
import StrataLocks
import Testing

@Suite("Transactions")
struct TransactionTests {
  let persistence = MemoryPersistence()
  struct Refusal: Error {}

  @Test("all writes of a transaction are kept together, or none")
  func atomicity() async throws {
    let books = BookFormat.datastore(persistence)
    let events = EventFormat.datastore(persistence)
    let event = Event(id: UUID(), when: .now)
    let answer = try await persistence.perform(actionName: "both") {
      try await books.persist(Book(id: 1, title: "A"))
      try await events.persist(event)
      return 12
    }
    #expect(answer == 12)
    await #expect(throws: Refusal.self) {
      try await persistence.perform {
        try await books.persist(Book(id: 2, title: "B"))
        try await books.delete(1)
        try await events.delete(event)
        throw Refusal()
      }
    }
    #expect(try await books.load(...).all().map(\.id) == [1])
    #expect(try await books.load("A", from: \.title).all().map(\.id) == [1])
    #expect(try await events.count == 1)
  }

  @Test("a rolled-back first write leaves a datastore as if it had never been")
  func rolledBackFirstWrite() async throws {
    let books = BookFormat.datastore(persistence)
    try? await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      throw Refusal()
    }
    #expect(try await books.count == 0)
    try await books.persist(Book(id: 2, title: "B"))
    #expect(try await books.load("B", from: \.title).all().map(\.id) == [2])
  }

  @Test("own writes are seen inside at once, and outside after the commit")
  func visibility() async throws {
    let books = BookFormat.datastore(persistence)
    try await persistence.perform { persistence, isDurable in
      #expect(isDurable)
      _ = persistence
      try await books.persist(Book(id: 1, title: "A", isbn: "x"))
      #expect(try await books.count == 1)
      #expect(try await books.load(1)?.title == "A")
      #expect(try await books.load("x", from: \.isbn)?.id == 1)
      #expect(try await books.load("A"..., from: \.title).all().count == 1)
      let outside = try await Task.detached { try await books.count }.value
      #expect(outside == 0)
    }
    #expect(try await books.count == 1)
  }

  @Test("a child's failure takes back the child only")
  func nesting() async throws {
    let books = BookFormat.datastore(persistence)
    try await persistence.perform {
      try await books.persist(Book(id: 1, title: "parent"))
      try? await persistence.perform { _, isDurable in
        #expect(!isDurable)
        #expect(try await books.count == 1)
        try await books.persist(Book(id: 2, title: "child"))
        try await books.delete(1)
        #expect(try await books.count == 1)
        throw Refusal()
      }
      #expect(try await books.load(...).all().map(\.id) == [1])
      try await persistence.perform { try await books.persist(Book(id: 3, title: "other child")) }
      #expect(try await books.count == 2)
    }
    #expect(try await books.load(...).all().map(\.id) == [1, 3])
    #expect(try await books.load("child", from: \.title).all().isEmpty)
  }

  @Test("child tasks join, detached ones do not")
  func joining() async throws {
    let books = BookFormat.datastore(persistence)
    try? await persistence.perform {
      async let first = books.persist(Book(id: 1, title: "async let"))
      _ = try await first
      _ = try await Task { try await books.persist(Book(id: 2, title: "task")) }.value
      try await withThrowingTaskGroup(of: Void.self) { group in
        for id in 3..<10 { group.addTask { try await books.persist(Book(id: id, title: "group")) } }
        try await group.waitForAll()
      }
      #expect(try await books.count == 9)
      throw Refusal()
    }
    #expect(try await books.count == 0)
  }

  @Test(
    "transactions run one after the other, in the order in which they asked", .enabled(if: !TestedStore.isServed))
  func queue() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(Book(id: 0, title: "counter", pages: 0))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<500 {
        group.addTask {
          try await persistence.perform {
            var book = try #require(try await books.load(0))
            book.pages += 1
            try await books.persist(book)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await books.load(0)?.pages == 500)
  }

  @Test("a reading transaction keeps one state of all datastores")
  func readers() async throws {
    let books = BookFormat.datastore(persistence)
    let events = EventFormat.datastore(persistence)
    try await books.persist(Book(id: 1, title: "A"))
    try await persistence.perform(options: .readOnly) { _, isDurable in
      #expect(!isDurable)
      #expect(try await books.count == 1)
      try await Task.detached {
        try await persistence.perform {
          try await books.persist(Book(id: 2, title: "B"))
          try await events.persist(Event(id: UUID(), when: .now))
        }
      }.value
      #expect(try await books.count == 1)
      #expect(try await events.count == 0)
      #expect(try await books.load("B", from: \.title).all().isEmpty)
      await #expect(throws: DiskPersistenceError.cannotWrite) { try await books.persist(Book(id: 3, title: "C")) }
    }
    #expect(try await books.count == 2)
    #expect(try await events.count == 1)
  }

  @Test("readers run beside a writer that is in the middle of its work")
  func readersBesideWriter() async throws {
    let books = BookFormat.datastore(persistence)
    try await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      try await Task.detached {
        try await persistence.perform(options: .readOnly) {
          let count = try await books.count
          #expect(count == 0)
        }
      }.value
    }
  }

  @Test("a read-only child sees its parent's writes as of its beginning")
  func readOnlyChild() async throws {
    let books = BookFormat.datastore(persistence)
    try await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      try await persistence.perform(options: .readOnly) {
        let count = try await books.count
        #expect(count == 1)
        #expect(try await books.load("A", from: \.title).all().count == 1)
      }
      try await books.persist(Book(id: 2, title: "B"))
    }
    #expect(try await books.count == 2)
  }

  @Test("first use within a reading transaction works")
  func firstUseWhileReading() async throws {
    do {
      let plain = PlainBookFormat.datastore(persistence)
      for book in Book.numbered(1...5) { try await plain.persist(book) }
    }
    let books = BookFormat.datastore(persistence)
    try await persistence.perform(options: .readOnly) {
      let found = try await books.load("Book 003", from: \.title).all()
      #expect(found.map(\.id) == [3])
    }
  }

  @Test("a task that outlives its transaction is told so")
  func escaping() async throws {
    let books = BookFormat.datastore(persistence)
    let gate = Gate()
    let task = try await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      return Task {
        await gate.wait()
        _ = try await books.persist(Book(id: 2, title: "B"))
      }
    }
    gate.open()
    await #expect(throws: DatastoreInterfaceError.transactionInactive) { try await task.value }
    #expect(try await books.count == 1)
    try await books.persist(Book(id: 3, title: "C"))
    #expect(try await books.count == 2)
  }

  @Test("an iteration of what a transaction wrote throws once that is rolled back, and tells of no damage")
  func rolledBackIterations() async throws {
    let books = BookFormat.datastore(persistence)
    try await books.persist(contentsOf: Book.numbered(1..<9))
    var begun: [Selection<BookFormat, ReadWrite>.Iterator] = []
    for failing in 0..<3 {
      begun = []
      try? await persistence.perform {
        try? await persistence.perform {
          try await persistence.perform {
            try await books.persist(contentsOf: Book.numbered(10..<60))
            for query in [
              books.load(...), books.load("B"..., from: \.title), books.load(..., from: \.authors).limit(90),
            ] {
              var iterator = query.makeAsyncIterator()
              #expect(try await iterator.next() != nil)
              begun.append(iterator)
            }
            if failing == 0 { throw Refusal() }
          }
          if failing == 1 { throw Refusal() }
        }
        try await books.persist(contentsOf: Book.numbered(60..<99))
        if failing == 2 { throw Refusal() }
      }
      try await books.persist(contentsOf: Book.numbered(100..<150))
      for var iterator in begun {
        await #expect(throws: DatastoreInterfaceError.transactionInactive) { while try await iterator.next() != nil {} }
      }
    }
  }

  @Test("a child transaction that outlives its parent is taken back")
  func escapingChild() async throws {
    let books = BookFormat.datastore(persistence)
    let begun = Gate()
    let gate = Gate()
    let task = try await persistence.perform {
      let task = Task {
        try await persistence.perform {
          _ = try await books.persist(Book(id: 2, title: "B"))
          begun.open()
          await gate.wait()
        }
      }
      await begun.wait()
      return task
    }
    gate.open()
    await #expect(throws: DatastoreInterfaceError.transactionInactive) { try await task.value }
    #expect(try await books.count == 0)
    try await books.persist(Book(id: 3, title: "C"))
    #expect(try await books.count == 1)
  }

  @Test("the history of another persistence is not changed within a transaction")
  func historyOfAnother() async throws {
    let other = MemoryPersistence()
    let (books, otherBooks) = (BookFormat.datastore(persistence), BookFormat.datastore(other))
    try await otherBooks.persist(Book(id: 1, title: "other"))
    let head = try #require(try await other.head?.id)
    for change: @Sendable () async throws -> Void in [
      { try await other.undo() }, { try await other.restore(head) }, { try await other.name("first") },
    ] {
      await #expect { try await persistence.perform { try await change() } } throws: {
        ($0 as? StoreError)?.kind == .refused
      }
    }
    #expect(try await otherBooks.count == 1)
    #expect(try await other.head?.id == head)
    #expect(try await books.count == 0)
  }

  @Test("reading another persistence within a transaction is fine, writing to it is not, detached is")
  func twoPersistences() async throws {
    let other = MemoryPersistence()
    let books = BookFormat.datastore(persistence)
    let otherBooks = BookFormat.datastore(other)
    try await otherBooks.persist(Book(id: 1, title: "other"))
    await #expect(throws: DatastoreInterfaceError.transactingWithinExternalPersistence) {
      try await persistence.perform {
        try await books.persist(Book(id: 1, title: "A"))
        #expect(try await otherBooks.count == 1)
        try await otherBooks.persist(Book(id: 2, title: "B"))
      }
    }
    #expect(try await books.count == 0)
    #expect(try await otherBooks.count == 1)
    try await persistence.perform {
      try await books.persist(Book(id: 1, title: "A"))
      _ = try await Task.detached { try await otherBooks.persist(Book(id: 2, title: "B")) }.value
    }
    #expect(try await books.count == 1)
    #expect(try await otherBooks.count == 2)
  }

  @Test(
    "a cancelled task that waits for its turn leaves, and the next one comes", .enabled(if: !TestedStore.isServed))
  func cancellation() async throws {
    let books = BookFormat.datastore(persistence)
    let begun = Gate()
    let gate = Gate()
    let holder = Task.detached {
      try await persistence.perform {
        begun.open()
        await gate.wait()
        try await books.persist(Book(id: 1, title: "A"))
      }
    }
    await begun.wait()
    let waiting = Task.detached { try await books.persist(Book(id: 2, title: "B")) }
    let last = Task.detached { try await books.persist(Book(id: 3, title: "C")) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    gate.open()
    _ = try await holder.value
    _ = try await last.value
    #expect(try await books.load(...).all().map(\.id) == [1, 3])
  }

  @Test("collated writes are seen at once and become durable with the next plain one")
  func collating() async throws {
    let place = TemporaryPlace()
    let disk = try DiskPersistence(readWriteURL: place.url)
    let books = BookFormat.datastore(disk)
    try await disk.perform(options: .collateWrites) { _, isDurable in
      #expect(!isDurable)
      try await books.persist(Book(id: 1, title: "A"))
    }
    #expect(try await books.count == 1)
    try await books.persist(Book(id: 2, title: "B"))
    try await disk.close()
    let again = BookFormat.datastore(try DiskPersistence(readWriteURL: place.url))
    #expect(try await again.count == 2)
  }

  @MainActor @Test("the closure runs on the caller's actor")
  func isolation() async throws {
    let books = BookFormat.datastore(persistence)
    var local = 0
    let counter = NotSendable()
    let same = try await persistence.perform {
      MainActor.assertIsolated()
      local += 1
      counter.count += 1
      try await books.persist(Book(id: 1, title: "A"))
      MainActor.assertIsolated()
      return counter
    }
    #expect(local == 1)
    #expect(same === counter && counter.count == 1)
  }

  final class NotSendable { var count = 0 }
}

/// Lets tasks wait until it is opened.
final class Gate: Sendable {
  private let state = Mutex((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  func open() {
    let waiting = state.withLock { state in
      defer { state = (true, []) }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
