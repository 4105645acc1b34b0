import CodableDatastore
import Foundation
import Testing

@Suite("Scenarios: observing and reading in turn")
struct ObservationScenarios {
  let persistence = MemoryPersistence()
  let tracks: TrackFormat.Datastore

  init() { tracks = TrackFormat.tracks(in: persistence) }

  @Test("events are told by kind, with old and new values")
  func kinds() async throws {
    var track = Track(id: UUID(), name: "A")
    let events = try await tracks.observe()
    try await tracks.persist(track)
    track.name = "B"
    try await tracks.persist(track)
    try await tracks.delete(id: track.id)
    try await tracks.deleteIfPresent(track)
    var names: [String] = []
    for try await event in events {
      #expect(event.id == track.id)
      switch event {
      case .created(let id, let newEntry): names.append("+\(newEntry.name) \(id == track.id)")
      case .updated(_, let oldEntry, let newEntry): names.append("\(oldEntry.name)>\(newEntry.name)")
      case .deleted(_, let oldEntry): names.append("-\(oldEntry.name)")
      }
      if names.count == 3 { break }
    }
    #expect(names == ["+A true", "A>B", "-B"])
  }

  @Test("every observer hears everything, from when it began to listen")
  func severalObservers() async throws {
    try await tracks.persist(Track.numbered(1...1)[0])
    let first = try await tracks.observe()
    try await tracks.persist(Track.numbered(2...2)[0])
    let second = try await tracks.observe()
    try await tracks.persist(Track.numbered(3...3)[0])
    let names: @Sendable (ObservedEvent<UUID, Track>) -> String = { event in
      if case .created(_, let entry) = event { entry.name } else { "" }
    }
    #expect(try await first.map(names).collectInstances(upTo: 2) == ["Track 2", "Track 3"])
    #expect(try await second.map(names).collectInstances(upTo: 1) == ["Track 3"])
  }

  @Test("one instance is observed by identifier, by label or by itself")
  func oneInstance() async throws {
    let (one, other) = (Track.numbered(1...1)[0], Track.numbered(2...2)[0])
    let streams =
      [
        try await tracks.observe(one.id).map(\.id), try await tracks.observe(id: one.id).map(\.id),
        try await tracks.observe(one).map(\.id), try await tracks.observe(instance: one).map(\.id),
      ] as [any AsyncInstances<UUID>]
    try await tracks.persist(other)
    try await tracks.persist(one)
    for stream in streams { #expect(try await stream.firstInstance == one.id) }
  }

  @Test("nothing is told of what was rolled back, and nothing before the commit")
  func rolledBack() async throws {
    let events = try await tracks.observe()
    try? await persistence.perform {
      try await tracks.persist(Track.numbered(1...1)[0])
      throw ScenarioFailure()
    }
    try await persistence.perform {
      try await tracks.persist(Track.numbered(2...2)[0])
      try? await persistence.perform {
        try await tracks.persist(Track.numbered(3...3)[0])
        throw ScenarioFailure()
      }
      try await tracks.persist(Track.numbered(4...4)[0])
    }
    let heard = try await events.map(\.id).collectInstances(upTo: 2)
    #expect(heard == Track.numbered(2...4).map(\.id).filter { $0 != Track.numbered(3...3)[0].id })
  }

  @Test("old entries of an older version are told converted")
  func convertedEntries() async throws {
    let old = OldTrack(id: UUID(), title: "Old")
    let persistence = MemoryPersistence()
    do { try await OldTrackFormat.tracks(in: persistence).persist(old, id: \.id) }
    let tracks = TrackFormat.tracks(in: persistence)
    let events = try await tracks.observe()
    try await tracks.delete(id: old.id)
    guard case .deleted(_, let entry)? = try await events.firstInstance else {
      Issue.record("it was deleted")
      return
    }
    #expect(entry.name == "Old" && entry.catalogueNumber == "old-Old")
  }

  @Test("a late observer of many changes misses none")
  func unbounded() async throws {
    let events = try await tracks.observe()
    for track in Track.numbered(1...300) { try await tracks.persist(track) }
    let ids = try await events.map(\.id).collectInstances(upTo: 300)
    #expect(ids == Track.numbered(1...300).map(\.id))
  }

  @Test("a decoder that fails ends a sequence after the elements before it")
  func failingDecoder() async throws {
    for track in Track.numbered(1...3) { try await tracks.persist(track) }
    let reader = TrackFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: persistence,
      migrations: [
        .second: { decoder, data in
          let track = try decoder.decode(Track.self, from: data)
          if track.name == "Track 3" { throw ScenarioFailure(number: 3) }
          return track
        }
      ])
    var names: [String] = []
    await #expect(throws: ScenarioFailure(number: 3)) {
      for try await track in reader.load(...) { names.append(track.name) }
    }
    #expect(names == ["Track 1", "Track 2"])
  }

  @Test("few instances are decoded for a reader that stops early")
  func lazily() async throws {
    for track in Track.numbered(1...50) { try await tracks.persist(track) }
    let decoded = Heard<String>()
    let reader = TrackFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: persistence,
      migrations: [
        .second: { decoder, data in
          let track = try decoder.decode(Track.self, from: data)
          await decoded.hear(track.name)
          return track
        }
      ])
    _ = try await reader.load(..., from: \.rating).firstInstance
    #expect(await decoded.all.count <= 2)
  }

  @Test("a sequence can be read twice, by several tasks at once, and beside writers")
  func readTwice() async throws {
    for track in Track.numbered(1...20) { try await tracks.persist(track) }
    let sequence = tracks.load(..., from: \.position)
    // On a server it begins when it is first read.
    if TestedStore.isServed { #expect(try await sequence.firstInstance != nil) }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 { group.addTask { try await sequence.collectInstances(upTo: .infinity).count } }
      for track in Track.numbered(1...10) { try await tracks.delete(track) }
      for try await count in group { #expect(count == 20) }
    }
    #expect(try await sequence.collectInstances(upTo: .infinity).count == 20)
    #expect(try await tracks.count == 10)
  }

  @Test("cancelling the reading task ends the loop or throws CancellationError")
  func cancelling() async throws {
    for track in Track.numbered(1...20) { try await tracks.persist(track) }
    let task = Task {
      var count = 0
      while !Task.isCancelled { await Task.yield() }
      for try await _ in tracks.load(...) { count += 1 }
      return count
    }
    task.cancel()
    do { #expect(try await task.value < 20) } catch { #expect(error is CancellationError) }
  }

  struct ForeignFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Track
    static let defaultKey: DatastoreKey = "Foreign"
    static let currentVersion = Version.only
    var computed: Index<String> { Index(\.name) }
    let note = "no index"
  }

  @Test("an index that is a computed property is missing, and says so when it is read")
  func computedIndex() async throws {
    let foreign = ForeignFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Track.self, from: $1) }])
    try await foreign.persist(Track.numbered(1...1)[0])
    let sequence = foreign.load("Track 1", from: \.computed)
    do {
      _ = try await sequence.firstInstance
      Issue.record("it is not a stored property")
    } catch DatastoreError.missingIndex {}
  }
}
