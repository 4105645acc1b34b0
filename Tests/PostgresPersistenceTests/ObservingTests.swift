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
    try publication.beginFollowing(at: begin) { Watch() }
    for number in 2...4 { try await theirs.persist(Book(id: number, title: "theirs")) }
    for number in pinned {
      _ = try there._store.engine().write(CommitInfo(names: ["pin \(number)": begin.commit.number + number])) { _ in }
    }
    _ = try there._store.engine().compact(.last(1)) { _ in true }
    for _ in 0..<2 {
      publication.noticeEach {
        try engine.refresh()
      } isOvertaken: {
        false
      } changes: { told, number, datastore in
        let (old, new) = try throwingStoreErrors {
          (try engine.view(at: told), try engine.view(at: number))
        }
        return try ChangeWalk(from: old, to: new, datastore: datastore).all()
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
}

extension StoredChange {
  /// The last byte of the key, which is that of a small number.
  fileprivate var identifierOfBook: Int { Int(key.last ?? 0) }
}
