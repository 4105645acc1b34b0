import PostgresPersistence
import StrataEngine
import Testing

@testable import CodableDatastore

@Suite("What observers hear of a server's pruned commits", .enabled(if: TestServer.isThere, TestServer.missing))
struct ObservingTests {
  private final class Watch: DiskWatch {}

  let location: String

  init() throws { location = try #require(TestServer.shared).location() }

  private func other() -> MemoryPersistence {
    MemoryPersistence(at: location + "&application_name=\(UInt32.random(in: 0 ... .max))")
  }

  /// What one who follows from the second of five commits on hears at their end, after all but the last were pruned.
  ///
  /// - Parameter pinned: Commits that are kept by a name.
  private func heard(pinned: [UInt64]) async throws -> ChangeBuffer {
    let (here, there) = (other(), other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    try await ours.persist(Book(id: 1, title: "first"))
    let engine = try here._store.engine()
    let publication = ChangeReporter()
    let buffer = ChangeBuffer(hearsOtherProcesses: true)
    publication.add(buffer, for: "Books")
    let begin = try engine.refresh()
    try publication.beginFollowing(at: begin, isServed: true) { Watch() }
    for number in 2...4 { try await theirs.persist(Book(id: number, title: "theirs")) }
    for number in pinned {
      _ = try there._store.engine().write(CommitInfo(names: ["pin \(number)": begin.commit.number + number])) { _ in }
    }
    _ = try there._store.engine().compact(.last(1)) { _ in true }
    for _ in 0..<2 {
      publication.noticeEach {
        try engine.refresh()
      } at: { number in
        try throwingStoreErrors { try engine.view(at: number) }
      } isOvertaken: {
        false
      }
    }
    return buffer
  }

  @Test("where the state that was told last is pruned, they hear once what they missed, and then what comes")
  func missed() async throws {
    let buffer = try await heard(pinned: [])
    do {
      _ = try await buffer.next()
      Issue.record("nothing was missed")
    } catch let missed as ChangesMissed { #expect(missed.datastore == "Books" && missed.last > missed.first) }
    #expect(buffer.popAll().isEmpty)
  }

  @Test("where that state is kept by a name, they hear the difference between it and the newest one")
  func difference() async throws {
    #expect(try await heard(pinned: [0]).popAll().map(\.identifierOfBook) == [2, 3, 4])
  }

  @Test("what two processes write in turn is heard in the order of the commits, and a live result ends with the last")
  func inTurn() async throws {
    let (here, there) = (other(), other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    try await ours.persist(Book(id: 0, title: "begin"))
    let events = try await ours.observe(includingOtherProcesses: true)
    var live = ours.live().makeAsyncIterator()
    _ = try await live.next()
    var written: [String] = []
    for number in 1...4 {
      for (books, writer) in [(ours, "ours"), (theirs, "theirs")] {
        written.append("\(writer) \(number)")
        try await books.persist(Book(id: 1, title: written.last ?? ""))
      }
    }
    var heard: [String] = []
    for try await event in events {
      if case .created(_, let book) = event { heard.append(book.title) }
      if case .updated(_, _, let book) = event { heard.append(book.title) }
      if heard.count == written.count { break }
    }
    #expect(heard == written)
    try await ours.persist(Book(id: 2, title: "end"))
    while let shown = try await live.next(), shown.last?.title != "end" { #expect(shown.count == 2) }
    #expect(try await ours.load(id: 1)?.title == written.last)
  }

  @Test("tasks of one process that write the same record in turn are heard in the order of the commits")
  func tasks() async throws {
    let books = BookFormat.datastore(other())
    try await books.persist(Book(id: 1, title: "begin", pages: 0))
    let alone = try await books.observe()
    let events = try await books.observe(includingOtherProcesses: true)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var left = 40
          while left > 0 {
            // On a busy machine, a call may lose against the other tasks more often than it is repeated.
            do { _ = try await books.update(1) { $0.pages += 1 } } catch is CodableDatastore.TransactionConflict {
              continue
            }
            left -= 1
          }
        }
      }
      try await group.waitForAll()
    }
    func pages(_ events: some AsyncInstances<ObservedEvent<Int, Book>>) async throws -> [Int] {
      var heard: [Int] = []
      for try await event in events {
        if case .updated(_, _, let book) = event { heard.append(book.pages) }
        if heard.count == 160 { break }
      }
      return heard
    }
    #expect(try await pages(alone) == Array(1...160))
    #expect(try await pages(events) == Array(1...160))
  }

  @Test("the first commits of a store, which others make, are heard")
  func beginning() async throws {
    let (here, there) = (other(), other())
    let (ours, theirs) = (BookFormat.datastore(here), BookFormat.datastore(there))
    let events = try await ours.observe(includingOtherProcesses: true)
    try await theirs.persist(Book(id: 1, title: "first"))
    for try await event in events {
      guard case .created(1, let book) = event else { continue }
      #expect(book.title == "first")
      break
    }
  }
}

extension StoredChange {
  /// The last byte of the key, which is that of a small number.
  fileprivate var identifierOfBook: Int { Int(key.last ?? 0) }
}
