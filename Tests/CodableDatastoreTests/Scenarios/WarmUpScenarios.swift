import CodableDatastore
import Foundation
import Testing

@Suite("Scenarios: warming up and migrating")
struct WarmUpScenarios {
  let persistence = MemoryPersistence()

  struct BareFormat: DatastoreFormat {
    typealias Version = TrackFormat.Version
    typealias Instance = Track
    static let defaultKey = TrackFormat.defaultKey
    static let currentVersion = Version.second
    let name = Index(\.name)

    static func tracks(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
      .JSONStore(persistence: persistence, migrations: [.second: { try $0.decode(Track.self, from: $1) }])
    }
  }

  /// The same property, once direct, once retyped.
  struct DirectFormat: DatastoreFormat {
    typealias Version = TrackFormat.Version
    typealias Instance = Track
    static let defaultKey = TrackFormat.defaultKey
    static let currentVersion = Version.second
    @Direct var name = Index(\.name)
  }

  struct RetypedFormat: DatastoreFormat {
    typealias Version = TrackFormat.Version
    typealias Instance = Track
    static let defaultKey = TrackFormat.defaultKey
    static let currentVersion = Version.second
    let name = Index(\.name.count)
  }

  func fill(_ count: Int) async throws {
    let bare = BareFormat.tracks(in: persistence)
    try await persistence.perform { for track in Track.numbered(1...count) { try await bare.persist(track) } }
  }

  @Test("nothing to do: evaluating, complete")
  func nothingToDo() async throws {
    try await fill(3)
    let bare = BareFormat.tracks(in: persistence)
    #expect(try await bare.warmingProgress() == ["evaluating", "complete 3"])
    #expect(try await bare.warmingProgress() == ["evaluating", "complete 3"])
  }

  @Test("an empty store reports both ends")
  func empty() async throws {
    #expect(try await BareFormat.tracks(in: persistence).warmingProgress() == ["evaluating", "complete 0"])
  }

  @Test("switching an index to direct, and retyping it, rebuild it")
  func switching() async throws {
    try await fill(2)
    do {
      let direct = DirectFormat.Datastore.JSONStore(
        persistence: persistence, migrations: [.second: { try $0.decode(Track.self, from: $1) }])
      #expect(try await direct.warmingProgress() == ["evaluating", "0/2", "1/2", "complete 2"])
      #expect(try await direct.load("Track 2", from: \.name).firstInstance?.name == "Track 2")
    }
    do {
      let retyped = RetypedFormat.Datastore.JSONStore(
        persistence: persistence, migrations: [.second: { try $0.decode(Track.self, from: $1) }])
      #expect(try await retyped.warmingProgress() == ["evaluating", "0/2", "1/2", "complete 2"])
      #expect(try await retyped.load(7, from: \.name).collectInstances(upTo: .infinity).count == 2)
    }
    let bare = BareFormat.tracks(in: persistence)
    #expect(try await bare.load("Track 1", from: \.name).collectInstances(upTo: .infinity).count == 1)
  }

  @Test("a new version alone rewrites nothing and reports no instance")
  func newVersionAlone() async throws {
    try await OldTrackFormat.tracks(in: persistence).persist(
      OldTrack(id: UUID(), title: "Old"), id: \.id)
    struct NewFormat: DatastoreFormat {
      typealias Version = TrackFormat.Version
      typealias Instance = OldTrack
      typealias Identifier = UUID
      static let defaultKey = TrackFormat.defaultKey
      static let currentVersion = Version.second
      let title = Index(\.title)
    }
    @Sendable func decode(_ decoder: JSONDecoder, _ data: Data) throws -> (id: UUID, instance: OldTrack) {
      let track = try decoder.decode(OldTrack.self, from: data)
      return (track.id, track)
    }
    let new = NewFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.first: { try decode($0, $1) }, .second: { try decode($0, $1) }])
    #expect(try await new.warmingProgress() == ["evaluating", "complete 1"])
    #expect(try await new.load("Old", from: \.title).firstInstance?.title == "Old")
  }

  @Test("records of several versions live side by side, are converted when read, and rewritten when persisted")
  func versionsSideBySide() async throws {
    let old = (1...3).map { OldTrack(id: UUID(), title: "Old \($0)") }
    do {
      let first = OldTrackFormat.tracks(in: persistence)
      for track in old { try await first.persist(track, to: track.id) }
    }
    let tracks = TrackFormat.tracks(in: persistence)
    let new = Track(id: UUID(), name: "New")
    #expect(try await tracks.persist(new) == nil)
    #expect(try await tracks.count == 4)
    #expect(try await tracks.load(old[0].id)?.name == "Old 1")
    #expect(try await tracks.load("old-Old 2", from: \.catalogueNumber)?.id == old[1].id)
    let replaced = try await tracks.persist(Track(id: old[2].id, name: "Replaced"))
    #expect(replaced?.name == "Old 3")
    #expect(try await tracks.delete(id: old[0].id).name == "Old 1")
    let names = try await tracks.load(..., from: \.name).map(\.name).collectInstances(upTo: .infinity)
    #expect(names == ["New", "Old 2", "Replaced"])
  }

  @Test("a store that a newer version wrote throws incompatibleVersion from everything, every time")
  func newerStore() async throws {
    do { try await TrackFormat.tracks(in: persistence).persist(Track(id: UUID(), name: "A")) }
    struct OlderFormat: DatastoreFormat {
      typealias Version = TrackFormat.Version
      typealias Instance = Track
      static let defaultKey = TrackFormat.defaultKey
      static let currentVersion = Version.first
      let name = Index(\.name)
    }
    var current: OlderFormat.Datastore? = OlderFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [.first: { try $0.decode(Track.self, from: $1) }, .second: { try $0.decode(Track.self, from: $1) }])
    for _ in 0..<2 {
      let older = try #require(current)
      do {
        try await older.warm()
        Issue.record("the store is newer")
      } catch DatastoreError.incompatibleVersion(let version) {
        #expect(version?.contains("2024-11-20") == true)
      }
      await #expect(throws: DatastoreError.self) { try await older.count }
      await #expect(throws: DatastoreError.self) { try await older.load(UUID()) }
      await #expect(throws: DatastoreError.self) { try await older.load(..., from: \.name).firstInstance }
      await #expect(throws: DatastoreError.self) { try await older.deleteIfPresent(UUID()) }
      await #expect(throws: DatastoreError.self) { try await older.observe() }
    }
    current = nil
    #expect(try await TrackFormat.tracks(in: persistence).count == 1)
  }

  @Test("calls from many tasks build once, and every handler hears both ends")
  func manyTasks() async throws {
    try await fill(50)
    let tracks = TrackFormat.tracks(in: persistence)
    try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<8 { group.addTask { try await tracks.warmingProgress() } }
      for try await heard in group {
        #expect(heard.first == "evaluating")
        #expect(heard.last == "complete 50")
      }
    }
    #expect(try await tracks.load(50.0..., from: \.rating).collectInstances(upTo: 1).isEmpty)
    #expect(try await tracks.load(25.0..., from: \.rating).collectInstances(upTo: 1).count == 1)
  }

  @Test("the first use in a read-only transaction warms up")
  func readOnlyTransaction() async throws {
    try await fill(5)
    let tracks = TrackFormat.tracks(in: persistence)
    let names = try await persistence.perform(options: .readOnly) {
      try await tracks.load(1.0...2.0, from: \.rating).map(\.name).collectInstances(upTo: .infinity)
    }
    #expect(names == ["Track 2", "Track 3", "Track 4"])
  }

  @Test("an index the store has not got throws indexNotFound from a read-only datastore")
  func readOnlyDatastore() async throws {
    try await fill(2)
    let reader = TrackFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: persistence, migrations: [.second: { try $0.decode(Track.self, from: $1) }])
    #expect(try await reader.load("Track 1", from: \.name).firstInstance?.name == "Track 1")
    await #expect(throws: DatastoreInterfaceError.indexNotFound) {
      try await reader.load(..., from: \.rating).firstInstance
    }
  }

  @Test("forced migrations report both ends, also where there is nothing to do")
  func forcedMigrations() async throws {
    let tracks = TrackFormat.tracks(in: persistence)
    let heard = Heard<String>()
    try await tracks.migrate(index: \.name, ifLessThan: .second) { await heard.hear($0.text) }
    try await tracks.migrateEntireStore(ifLessThan: .second) { await heard.hear($0.text) }
    #expect(await heard.all == ["evaluating", "complete 0", "evaluating", "complete 0"])
    try await tracks.migrate(index: \.position, ifLessThan: .first)
  }

  @Test("a failed warm-up leaves everything as it was, and a later one succeeds")
  func failing() async throws {
    try await fill(4)
    do {
      let broken = TrackFormat.Datastore.JSONStore(
        persistence: persistence,
        migrations: [
          .second: { decoder, data in
            let track = try decoder.decode(Track.self, from: data)
            if track.name == "Track 4" { throw ScenarioFailure(number: 4) }
            return track
          }
        ])
      await #expect(throws: ScenarioFailure(number: 4)) { try await broken.warm() }
    }
    #expect(try await BareFormat.tracks(in: persistence).load("Track 4", from: \.name).firstInstance != nil)
    let tracks = TrackFormat.tracks(in: persistence)
    #expect(
      try await tracks.warmingProgress() == ["evaluating", "0/4", "1/4", "2/4", "3/4", "complete 4"])
  }
}
