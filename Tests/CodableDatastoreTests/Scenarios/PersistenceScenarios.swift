import CodableDatastore
import Foundation
import Testing

@Suite("Scenarios: persistences on disk")
struct PersistenceScenarios {
  let place = TemporaryPlace()
  let track = Track.numbered(1...1)[0]

  @Test("making a persistence touches nothing; creating is idempotent; reading nothing creates nothing")
  func touching() async throws {
    let persistence = try DiskPersistence(readWriteURL: place.url)
    #expect(!FileManager.default.fileExists(atPath: place.url.path))
    let tracks = TrackFormat.tracks(in: persistence)
    #expect(try await tracks.count == 0)
    #expect(try await tracks.load(track.id) == nil)
    #expect(try await tracks.load(...).firstInstance == nil)
    #expect(try await tracks.deleteIfPresent(track) == nil)
    await #expect(throws: DatastoreInterfaceError.instanceNotFound) { try await tracks.delete(track) }
    try await persistence.createPersistenceIfNecessary()
    try await persistence.createPersistenceIfNecessary()
    #expect(FileManager.default.fileExists(atPath: place.url.path))
    #expect(try await tracks.count == 0)
  }

  @Test("a URL that is none of a file is refused")
  func urls() throws {
    let url = try #require(URL(string: "https://example.com/store"))
    #expect(throws: DiskPersistenceError.notFileURL) { try DiskPersistence(readWriteURL: url) }
    #expect(DiskPersistenceError.notFileURL.errorDescription?.isEmpty == false)
  }

  @Test("everything is there after the persistence is gone, without closing")
  func reopening() async throws {
    do {
      let tracks = TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url))
      for track in Track.numbered(1...30) { try await tracks.persist(track) }
      try await tracks.delete(Track.numbered(30...30)[0])
    }
    for _ in 0..<3 {
      let tracks = TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url))
      #expect(try await tracks.count == 29)
      #expect(try await tracks.load("C-7", from: \.catalogueNumber)?.name == "Track 7")
      #expect(try await tracks.load("even", from: \.genres).collectInstances(upTo: .infinity).count == 14)
      try await tracks.persist(Track.numbered(7...7)[0])
    }
  }

  @Test("a read-only persistence follows its writer and writes nothing")
  func following() async throws {
    let reader = TrackFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: DiskPersistence(readOnlyURL: place.url),
      migrations: [.first: { try $0.decode(Track.self, from: $1) }, .second: { try $0.decode(Track.self, from: $1) }])
    #expect(try await reader.count == 0)
    #expect(!FileManager.default.fileExists(atPath: place.url.path))
    let tracks = TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url))
    try await tracks.persist(track)
    #expect(try await reader.load(track.id) == track)
    try await tracks.delete(track)
    #expect(try await reader.count == 0)
    #expect(try await reader.load(..., from: \.name).firstInstance == nil)
  }

  @Test("a transaction of a read-only persistence reads")
  func readOnlyTransactions() async throws {
    do { try await TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url)).persist(track) }
    let persistence = DiskPersistence(readOnlyURL: place.url)
    let reader = TrackFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: persistence, migrations: [.second: { try $0.decode(Track.self, from: $1) }])
    let name = try await persistence.perform { try await reader.load(track.id)?.name }
    #expect(name == "Track 1")
  }

  @Test("the read-only side of a datastore follows it live")
  func readOnlySide() async throws {
    let tracks = TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url))
    let reader: TrackFormat.ReadOnlyDatastore = await tracks.readOnly
    try await tracks.persist(track)
    #expect(try await reader.load(track) == track)
    #expect(try await reader.load(instance: track) == track)
  }

  @Test("a snapshot changes nothing that is read")
  func snapshots() async throws {
    let persistence = try DiskPersistence(readWriteURL: place.url)
    let tracks = TrackFormat.tracks(in: persistence)
    try await tracks.persist(track)
    try await persistence._takeSnapshot()
    #expect(try await tracks.load(track.id) == track)
    try await tracks.delete(track)
    try await persistence._takeSnapshot()
    #expect(try await tracks.count == 0)
  }

  @Test("large instances and large keys")
  func large() async throws {
    let tracks = TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url))
    var big = track
    big.name = String(repeating: "ä", count: 6000)
    big.label = String(repeating: "x", count: 2_000_000)
    big.label = nil
    big.genres = Set((0..<500).map { "genre \($0)" })
    try await tracks.persist(big)
    #expect(try await tracks.load(big.name, from: \.name).firstInstance == big)
    #expect(try await tracks.load("genre 499", from: \.genres).firstInstance == big)
    try await tracks.persist(track)
    #expect(try await tracks.load("genre 499", from: \.genres).firstInstance == nil)
  }

  @Test("two instances of a persistence at one place share it")
  func onePlace() async throws {
    let one = TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url))
    let two = TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url))
    try await one.persist(track)
    #expect(try await two.load(track.id) == track)
    try await two.delete(track)
    #expect(try await one.count == 0)
  }

  @Test("many tasks write to a store on disk, and everything arrives")
  func manyWriters() async throws {
    let tracks = TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for track in Track.numbered(1...100) { group.addTask { try await tracks.persist(track) } }
      try await group.waitForAll()
    }
    #expect(try await tracks.count == 100)
    #expect(try await tracks.load(..., from: \.rating).collectInstances(upTo: .infinity).count == 100)
  }

  @Test("collated writes are on disk after the next plain one")
  func collated() async throws {
    do {
      let persistence = try DiskPersistence(readWriteURL: place.url)
      let tracks = TrackFormat.tracks(in: persistence)
      try await persistence.perform(options: .collateWrites) {
        for track in Track.numbered(1...5) { try await tracks.persist(track) }
      }
      #expect(try await tracks.count == 5)
      try await tracks.persist(Track.numbered(6...6)[0])
    }
    #expect(try await TrackFormat.tracks(in: try DiskPersistence(readWriteURL: place.url)).count == 6)
  }
}
