import Foundation
import Testing

@testable import CodableDatastore
@testable import StrataEngine

/// A clock by which no time passes.
private struct StandingClock: Clock {
  var now: ContinuousClock.Instant { .now }
  var minimumResolution: Duration { .zero }
  func sleep(until end: ContinuousClock.Instant, tolerance: Duration?) async throws {
    while true { try await Task.sleep(for: .seconds(1_000_000)) }
  }
}

// A limit that no load of the machine reaches: where a test fails, something may wait for ever.
@Suite("A process that is about to be suspended", .timeLimit(.minutes(20)))
struct SuspensionTests {
  struct Note: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var text = ""
  }

  struct NoteFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first }
    typealias Instance = Note
    static let defaultKey: DatastoreKey = "Notes"
    static let currentVersion = Version.first
  }

  struct IndexedNoteFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first, second }
    typealias Instance = Note
    static let defaultKey: DatastoreKey = "Notes"
    static let currentVersion = Version.second
    let text = Index(\.text)
  }

  private let place = TemporaryPlace()

  private func persistence(clock: any Clock<Duration> = StandingClock()) throws -> DiskPersistence<ReadWrite> {
    var configuration = StoreConfiguration()
    // However slow the machine is, the lock is not released for idleness.
    configuration.writerIdleTime = .seconds(1_000_000)
    return try DiskPersistence(
      readWriteURL: place.url, configuration: configuration, slices: .shared, clock: clock)
  }

  /// Whether another process can write, and what it has committed then.
  @discardableResult
  private func writeElsewhere() throws -> UInt64? {
    let other = try FileStore.open(at: place.url.path(), options: StoreOptions(lockPatience: 0))
    do throws(StorageError) {
      let transaction = try other.beginBlocking()
      try transaction.createTree(
        TreeName(Array("\(UInt64.random(in: 0...(.max)))".utf8)), kind: .entries, attributes: [])
      let number = try transaction.commit()?.number
      try other.close()
      return number
    } catch .locked {
      return nil
    }
  }

  @Test("has released the lock; its writes wait until it goes on, and build on what others wrote meanwhile")
  func writesWait() async throws {
    let persistence = try persistence()
    let notes = persistence.datastore(NoteFormat.self)
    try await notes.persist(Note(id: 1))
    #expect(try writeElsewhere() == nil)
    try await persistence.suspend()
    try await persistence.suspend()
    let number = try #require(try writeElsewhere())
    #expect(try await notes.load(1) != nil)
    let writing = Task { try await notes.persist(Note(id: 2)) }
    let blocking = Task { try await onThread { _ = try notes.blocking.persist(Note(id: 3)) } }
    while (persistence._store.connection.openFile?.writing.waitingForTurn ?? 0) < 2 { await Task.yield() }
    #expect(try await notes.load(2) == nil)
    await persistence.resume()
    _ = try await (writing.value, blocking.value)
    #expect(try await notes.count == 3)
    #expect(try await persistence.commits.all().map(\.id.rawValue).contains(number))
  }

  @Test("has made durable what was collated")
  func collated() async throws {
    let persistence = try persistence()
    let notes = persistence.datastore(NoteFormat.self)
    try await notes.persist(Note(id: 1))
    try await persistence.perform(options: .collateWrites) { try await notes.persist(Note(id: 2)) }
    let syncs = persistence._store.connection.openFile?.counters.syncs.value
    try await persistence.suspend()
    #expect(persistence._store.connection.openFile?.counters.syncs.value == syncs.map { $0 + 1 })
  }

  @Test(
    "is not ready while a transaction lasts longer than a second: its action is named, and nothing waits afterwards")
  func lastingTransaction() async throws {
    let clock = ManualClock()
    let persistence = try persistence(clock: clock)
    let notes = persistence.datastore(NoteFormat.self)
    let (begun, ends) = (Gate(), Gate())
    let lasting = Task {
      try await persistence.perform(actionName: "import the list") {
        try await notes.persist(Note(id: 1))
        begun.open()
        await ends.wait()
      }
    }
    await begun.wait()
    let suspending = Task { try await persistence.suspend() }
    while (persistence._store.connection.openFile?.writing.waitingForTurn ?? 0) == 0 { await Task.yield() }
    await clock.advance(by: .seconds(1))
    let error = await #expect(throws: StoreError.self) { try await suspending.value }
    #expect(error?.kind == .refused && error?.message.contains("“import the list”") == true)
    ends.open()
    try await lasting.value
    try await notes.persist(Note(id: 2))
    #expect(try await notes.count == 2)
  }

  @Test("that is cancelled while it prepares goes on writing, or is prepared and goes on when it is told to")
  func cancelled() async throws {
    let persistence = try persistence()
    let notes = persistence.datastore(NoteFormat.self)
    for id in 0..<50 {
      try await notes.persist(Note(id: id))
      let suspending = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await persistence.suspend()
      }
      _ = await suspending.result
      await persistence.resume()
    }
    #expect(try await notes.count == 50)
  }

  @Test("cannot be prepared within a transaction, which would wait for itself")
  func withinTransaction() async throws {
    let persistence = try persistence()
    try await persistence.perform {
      let error = await #expect(throws: StoreError.self) { try await persistence.suspend() }
      #expect(error?.kind == .refused)
    }
  }

  @Test("rolls a warm-up back, which begins again when it goes on")
  func warmUp() async throws {
    let first = try persistence()
    try await first.datastore(NoteFormat.self).persist(Note(id: 1, text: "a"))
    try await first.close()
    let persistence = try persistence()
    let (converting, goesOn) = (Gate(), Gate())
    let notes = IndexedNoteFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          converting.open()
          await goesOn.wait()
          return try decoder.decode(Note.self, from: data)
        },
        .second: { decoder, data in try decoder.decode(Note.self, from: data) },
      ])
    let warming = Task { try await notes.warm() }
    await converting.wait()
    let suspending = Task { try await persistence.suspend() }
    while !persistence._store.connection.suspension.endsWork { await Task.yield() }
    goesOn.open()
    try await suspending.value
    let commits = try await persistence.commits.all().count
    #expect(try writeElsewhere() != nil)
    await persistence.resume()
    try await warming.value
    #expect(try await persistence.commits.all().count == commits + 2)
    #expect(try await notes.load("a", from: \.text).all().map(\.id) == [1])
  }

  @Test("shortens no history; that goes on with the process")
  func shortening() async throws {
    let persistence = try persistence()
    let notes = persistence.datastore(NoteFormat.self)
    for id in 1...20 { try await notes.persist(Note(id: id)) }
    let store = try #require(persistence._store.connection.openFile)
    try await persistence.suspend()
    #expect(throws: StorageError.cancelled) { try store.compact(.last(1)) { _ in true } }
    let shortening = Task { try await persistence.shortenHistory(keeping: .last(1)) }
    while store.writing.waitingForTurn == 0 { await Task.yield() }
    await persistence.resume()
    #expect(try await shortening.value.commitsKept == 1)
  }

  @Test("can be closed, and the store is used as before when it is opened again")
  func closing() async throws {
    let persistence = try persistence()
    try await persistence.datastore(NoteFormat.self).persist(Note(id: 1))
    try await persistence.suspend()
    try await persistence.close()
    let second = try DiskPersistence(readWriteURL: place.url)
    try await second.datastore(NoteFormat.self).persist(Note(id: 2))
    #expect(try await second.datastore(NoteFormat.self).count == 2)
  }

  @Test("without idle time has released the lock when a write returns")
  func withoutIdleTime() async throws {
    var configuration = StoreConfiguration()
    configuration.writerIdleTime = .zero
    let persistence = try DiskPersistence(readWriteURL: place.url, configuration: configuration)
    let notes = persistence.datastore(NoteFormat.self)
    for id in 0..<10 {
      try await notes.persist(Note(id: id))
      #expect(try writeElsewhere() != nil)
      try await onThread { _ = try notes.blocking.persist(Note(id: id + 10)) }
      #expect(try writeElsewhere() != nil)
    }
    #expect(try await notes.count == 20)
  }
}
