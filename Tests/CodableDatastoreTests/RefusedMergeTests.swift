import CodableDatastore
import Foundation
import StrataLocks
import Testing

@Suite("Merges with which something is wrong")
struct RefusedMergeTests {
  private let ours = TemporaryPlace()
  private let theirs = TemporaryPlace()
  private let shared = TemporaryPlace()

  /// A time that does not end before it starts.
  struct Span: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var start: Int
    var end: Int
    var note = ""

    init(_ start: Int, _ end: Int, note: String = "", id: Int = 1) {
      (self.id, self.start, self.end, self.note) = (id, start, end, note)
    }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      id = try members.decode(Int.self, forKey: .id)
      start = try members.decode(Int.self, forKey: .start)
      end = try members.decode(Int.self, forKey: .end)
      note = try members.decode(String.self, forKey: .note)
      if start > end { throw Backwards() }
    }
  }

  struct Backwards: Error {}

  struct SpanFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case first = 1 }
    typealias Instance = Span
    static let defaultKey: DatastoreKey = "Spans"
    static let currentVersion = Version.first
    let start = Index(\.start)
  }

  /// Two copies of a store with one span, which both have edited since; the copy here has it open.
  private func edited(
    from span: Span = Span(1, 10), here: Span, there: Span
  ) async throws -> (store: DiskPersistence<ReadWrite>, SpanFormat.Datastore, SpanFormat.Datastore) {
    let (desk, copy) = (try DiskPersistence(readWriteURL: theirs.url), try DiskPersistence(readWriteURL: ours.url))
    let (far, near) = (desk.datastore(SpanFormat.self), copy.datastore(SpanFormat.self))
    try await far.persist(span)
    try await copy.addRemote(RemoteStore(name: "desk", location: theirs.url.path(percentEncoded: false)))
    try await copy.exchange(with: "desk")
    try await far.persist(there)
    try await near.persist(here)
    return (copy, near, far)
  }

  @Test(
    "two changes that the type refuses together are one conflict, which the record of one side settles",
    arguments: [MergeSettlement.ours, .theirs, .later])
  func undecodable(_ settlement: MergeSettlement) async throws {
    let (here, there) = (Span(1, 5), Span(8, 10, note: "x"))
    let (store, near, far) = try await edited(here: here, there: there)
    let open = try await store.exchange(with: "desk")
    #expect(open.isOpen && open.commit == nil)
    #expect(open.conflicts.map(\.fields) == [[]])
    #expect(open.conflicts[0].description.contains("does not decode as Span"), "\(open.conflicts[0])")
    #expect(try await near.load(1) == here)
    let report = try await store.exchange(with: "desk", settling: settlement)
    #expect(report.conflicts.map(\.isSettled) == [true])
    for datastore in [near, far] {
      #expect(try await datastore.load(1) == (settlement == .theirs ? there : here))
    }
    // The value that lost is in the history.
    var states: Set<Span> = []
    for try await commit in store.commits {
      if let span = try await near.view(at: commit.id).load(1) { states.insert(span) }
    }
    #expect(states.isSuperset(of: [here, there]))
  }

  @Test("a chooser's sides are tried together, and it is asked for the record if the type refuses them")
  func chosen() async throws {
    let (store, near, _) = try await edited(here: Span(7, 9), there: Span(2, 5))
    let asked = Mutex<[String]>([])
    func merge(_ sides: [String: MergeChoice]) async throws -> MergeReport {
      asked.withLock { $0 = [] }
      return try await store.merge(with: "desk") { conflict in
        asked.withLock { $0.append(conflict.field ?? "record") }
        return sides[conflict.field ?? "record"] ?? .open
      }
    }
    try await store.fetch(from: "desk")
    #expect(try await merge([".end": .theirs, ".start": .ours]).isOpen)
    #expect(asked.withLock(\.self) == [".end", ".start", "record"])
    // The end alone would lie before our start.
    #expect(try await !merge([".end": .theirs, ".start": .theirs]).isOpen)
    #expect(asked.withLock(\.self) == [".end", ".start"])
    #expect(try await near.load(1) == Span(2, 5))
  }

  @Test("a save of what was read before is refused as a conflict if the type refuses both changes together")
  func readBefore() async throws {
    let spans = MemoryPersistence()
    let datastore = spans.datastore(SpanFormat.self)
    try await datastore.persist(Span(1, 10))
    let read = try #require(try await spans.head).id
    try await datastore.persist(Span(1, 5))
    let error = await #expect(throws: StoreError.self) { try await datastore.persist(Span(8, 10), readAt: read) }
    #expect(error?.message.contains("changed meanwhile") == true)
    #expect(try await datastore.load(1) == Span(1, 5))
  }

  @Test("a chooser gets the contents of a blob as base64")
  func blob() async throws {
    let (desk, copy) = (try DiskPersistence(readWriteURL: theirs.url), try DiskPersistence(readWriteURL: ours.url))
    let (far, near) = (BlobDatastore(persistence: desk), BlobDatastore(persistence: copy))
    try await far.persist(Data([1, 255]), to: "x")
    try await copy.addRemote(RemoteStore(name: "desk", location: theirs.url.path(percentEncoded: false)))
    try await copy.exchange(with: "desk")
    try await far.persist(Data([2, 255]), to: "x")
    try await near.persist(Data([3, 255]), to: "x")
    let asked = Mutex<[MergeReport.FieldConflict]>([])
    try await copy.exchange(with: "desk") { conflict in
      asked.withLock { $0.append(conflict) }
      return .theirs
    }
    let values = asked.withLock { $0.map { [$0.base, $0.ours, $0.theirs] } }
    #expect(values == [[#""Af8=""#, #""A/8=""#, #""Av8=""#]])
    #expect(try await near.load("x") == Data([2, 255]))
  }

  @Test("stores that were not made as copies are merged if that is asked for")
  func unrelated() async throws {
    let (desk, copy) = (try DiskPersistence(readWriteURL: theirs.url), try DiskPersistence(readWriteURL: ours.url))
    let (far, near) = (desk.datastore(SpanFormat.self), copy.datastore(SpanFormat.self))
    try await far.persist(Span(1, 2, id: 1))
    try await near.persist(Span(3, 4, id: 2))
    try await copy.addRemote(RemoteStore(name: "desk", location: theirs.url.path(percentEncoded: false)))
    let error = await #expect(throws: StoreError.self) { try await copy.exchange(with: "desk") }
    #expect(error?.message.contains("unrelated: true") == true)
    #expect(try await copy.exchange(with: "desk", unrelated: true).isOpen == false)
    for datastore in [near, far] {
      #expect(try await datastore.load(...).all() == [Span(1, 2, id: 1), Span(3, 4, id: 2)])
    }
    #expect(try await copy.exchange(with: "desk").commit != nil)
  }

  @Test("a store in memory has no other copies, and writes no file")
  func inMemory() async throws {
    let persistence = MemoryPersistence()
    await #expect(throws: StoreError.self) {
      try await persistence.addRemote(RemoteStore(name: "desk", location: theirs.url.path(percentEncoded: false)))
    }
    #expect(!FileManager.default.fileExists(atPath: "/remotes"))
    #expect(try await persistence.remotes.isEmpty)
  }

  // MARK: A folder of which a part has come

  private var folder: URL { shared.url.deletingLastPathComponent() }

  /// The files of commits in the folder, the first ones first.
  private var files: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".jsonl") }.sorted()
    }
  }

  private func copies() async throws -> (DiskPersistence<ReadWrite>, DiskPersistence<ReadWrite>) {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (desk, copy) = (try DiskPersistence(readWriteURL: theirs.url), try DiskPersistence(readWriteURL: ours.url))
    try await desk.datastore(SpanFormat.self).persist(Span(1, 2, id: 1))
    for store in [desk, copy] {
      try await store.addRemote(RemoteStore(name: "stick", location: "folder:\(folder.path)"))
      try await store.exchange(with: "stick")
    }
    return (desk, copy)
  }

  @Test(
    "a file of a folder that has come in part, or before those it builds on, is not there yet, and keeps nothing else from being exchanged"
  )
  func parts() async throws {
    let (desk, copy) = try await copies()
    let first = try files
    for id in 2...3 {
      try await desk.datastore(SpanFormat.self).persist(Span(1, 2, id: id))
      try await desk.exchange(with: "stick")
    }
    let new = try files.filter { !first.contains($0) }
    #expect(new.count == 2)
    var contents: [Data] = []
    for file in new { contents.append(try Data(contentsOf: folder.appending(path: file))) }
    for length in [0, contents[0].count / 2, contents[0].count - 2] {
      try contents[0].prefix(length).write(to: folder.appending(path: new[0]))
      try await copy.datastore(SpanFormat.self).persist(Span(1, 2 + length, id: 7))
      let report = try await copy.exchange(with: "stick")
      #expect(report.notes.count == 2, "\(report.notes)")
      for file in new { #expect(report.notes.contains { $0.contains(file) }) }
      #expect(try await copy.datastore(SpanFormat.self).load(...).all().map(\.id) == [1, 7])
    }
    try contents[0].write(to: folder.appending(path: new[0]))
    for store in [copy, desk] { #expect(try await store.exchange(with: "stick").notes.isEmpty) }
    for store in [copy, desk] {
      #expect(try await store.datastore(SpanFormat.self).load(...).all().map(\.id) == [1, 2, 3, 7])
    }
  }

  @Test("a store without commits waits for a folder of which only a part has come, because its own would be unrelated")
  func nothingYet() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (desk, copy) = (try DiskPersistence(readWriteURL: theirs.url), try DiskPersistence(readWriteURL: ours.url))
    try await desk.datastore(SpanFormat.self).persist(Span(1, 2))
    for store in [desk, copy] {
      try await store.addRemote(RemoteStore(name: "stick", location: "folder:\(folder.path)"))
    }
    try await desk.exchange(with: "stick")
    let file = folder.appending(path: try #require(try files.first))
    let whole = try Data(contentsOf: file)
    try whole.prefix(whole.count / 2).write(to: file)
    await #expect(throws: StoreError.self) { try await copy.exchange(with: "stick") }
    try whole.write(to: file)
    try await copy.exchange(with: "stick")
    #expect(try await copy.datastore(SpanFormat.self).load(1) == Span(1, 2))
  }
  @Test("two stores of one process that exchange with each other at the same time both succeed")
  func eachOther() async throws {
    let (desk, copy) = (try DiskPersistence(readWriteURL: theirs.url), try DiskPersistence(readWriteURL: ours.url))
    let (far, near) = (desk.datastore(SpanFormat.self), copy.datastore(SpanFormat.self))
    try await far.persist(Span(1, 2, id: 0))
    try await copy.addRemote(RemoteStore(name: "desk", location: theirs.url.path(percentEncoded: false)))
    try await desk.addRemote(RemoteStore(name: "copy", location: ours.url.path(percentEncoded: false)))
    try await copy.exchange(with: "desk")
    for round in 1...10 {
      try await far.persist(Span(1, round, id: 2 * round))
      try await near.persist(Span(1, round, id: 2 * round + 1))
      async let one = copy.exchange(with: "desk")
      async let other = desk.exchange(with: "copy")
      let reports = try await [one, other]
      #expect(reports.allSatisfy { !$0.isOpen })
      for datastore in [near, far] { #expect(try await datastore.count == 2 * round + 1) }
    }
  }
}
