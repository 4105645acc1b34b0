import CodableDatastore
import Foundation
import Testing

@Suite("Scenarios: opening datastores")
struct OpeningScenarios {
  let persistence = MemoryPersistence()
  let track = Track.numbered(7...7)[0]

  static func decodeTrack(_ decoder: JSONDecoder, _ data: Data) async throws -> Track {
    try decoder.decode(Track.self, from: data)
  }

  @Test("every spelling of a JSON store names the same datastore")
  func spellings() async throws {
    let contextual: TrackFormat.Datastore = .JSONStore(
      persistence: persistence,
      migrations: [.first: { try $0.decode(Track.self, from: $1) }, .second: { try $0.decode(Track.self, from: $1) }])
    let inferred = Datastore.JSONStore(
      persistence: persistence, format: TrackFormat.self,
      migrations: [.first: { try $0.decode(Track.self, from: $1) }, .second: { try $0.decode(Track.self, from: $1) }])
    let placeholder = Datastore<TrackFormat, _>.JSONStore(
      persistence: persistence,
      migrations: [.first: Self.decodeTrack, .second: Self.decodeTrack])
    let long = TrackFormat.Datastore.JSONStore(
      persistence: persistence, format: TrackFormat.self, key: "Tracks", version: .second, encoder: JSONEncoder(),
      decoder: JSONDecoder(),
      migrations: [
        .first: { decoder, data in
          await Task.yield()
          return try decoder.decode(Track.self, from: data)
        },
        .second: { decoder, data in
          let track = try decoder.decode(Track.self, from: data)
          return track
        },
      ], configuration: .init(pageSize: 4096))
    try await contextual.persist(track)
    #expect(try await inferred.load(track.id) == track)
    #expect(try await placeholder.load(track.id) == track)
    #expect(try await long.load(track.id) == track)
  }

  @Test("migrations that answer an identifier too may be given for identifiable instances")
  func identifiersFromMigrations() async throws {
    let tracks = TrackFormat.Datastore.JSONStore(
      persistence: persistence,
      migrations: [
        .second: { decoder, data in
          let track = try decoder.decode(Track.self, from: data)
          return (id: track.id, instance: track)
        }
      ])
    try await tracks.persist(track)
    #expect(try await tracks.load(id: track.id) == track)
  }

  @Test("property lists, binary and XML, are read by one read-only store", arguments: [true, false])
  func propertyLists(isBinary: Bool) async throws {
    let writer = TrackFormat.Datastore.propertyListStore(
      persistence: persistence, outputFormat: isBinary ? .binary : .xml,
      migrations: [.first: { try $0.decode(Track.self, from: $1) }, .second: { try $0.decode(Track.self, from: $1) }])
    try await writer.persist(track)
    let reader = TrackFormat.ReadOnlyDatastore.readOnlyPropertyListStore(
      persistence: persistence,
      migrations: [.first: { try $0.decode(Track.self, from: $1) }, .second: { try $0.decode(Track.self, from: $1) }])
    #expect(try await reader.load(track.id) == track)
    #expect(try await reader.load("C-7", from: \.catalogueNumber) == track)
  }

  @Test("a configured encoder and decoder are used")
  func configuredCoders() async throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let tracks = TrackFormat.Datastore.JSONStore(
      persistence: persistence, encoder: encoder, decoder: decoder,
      migrations: [.second: { try $0.decode(Track.self, from: $1) }])
    try await tracks.persist(track)
    #expect(try await tracks.load(track.id) == track)
    let plain = TrackFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: persistence, migrations: [.second: { try $0.decode(Track.self, from: $1) }])
    await #expect(throws: UnreadableInstanceError.self) { try await plain.load(track.id) }
  }

  @Test("instances without an identifier of their own live under the one given")
  func separateIdentifiers() async throws {
    let settings = SettingFormat.settings(in: persistence)
    #expect(try await settings.persist(Setting(value: "blue"), to: "color") == nil)
    #expect(try await settings.persist(Setting(value: "red"), to: "color") == Setting(value: "blue"))
    #expect(try await settings.load("color") == Setting(value: "red"))
    #expect(try await settings.load(id: "colour") == nil)
    #expect(try await settings.delete("color") == Setting(value: "red"))
    #expect(try await settings.count == 0)
  }

  @Test("datastores of one format and different keys do not meet")
  func keys() async throws {
    let here = TrackFormat.tracks(in: persistence)
    let there = TrackFormat.tracks(in: persistence, key: "ein anderer/Schlüssel \u{0}💿")
    try await here.persist(track)
    #expect(try await there.count == 0)
    try await there.persist(Track(id: track.id, name: "Other"))
    #expect(try await here.load(track.id)?.name == "Track 7")
    #expect(try await there.load(track.id)?.name == "Other")
  }

  @Test("a second writer of the same declaration shares the datastore")
  func sharing() async throws {
    let one = TrackFormat.tracks(in: persistence)
    let two = TrackFormat.tracks(in: persistence)
    try await one.persist(track)
    #expect(try await two.delete(track) == track)
    #expect(try await one.count == 0)
  }

  @Test("an encoder that throws, throws from persist, and nothing is stored")
  func throwingEncoder() async throws {
    let tracks = Datastore<TrackFormat, ReadWrite>(
      persistence: persistence, encoder: { _ in throw ScenarioFailure(number: 3) },
      decoders: [.second: { try JSONDecoder().decode(Track.self, from: $0) }])
    await #expect(throws: ScenarioFailure(number: 3)) { try await tracks.persist(track) }
    #expect(try await tracks.count == 0)
    #expect(try await tracks.load(...).firstInstance == nil)
  }

  @Test("a version without a decoder throws missingDecoder, with the version")
  func missingDecoder() async throws {
    try await OldTrackFormat.tracks(in: persistence).persist(OldTrack(id: track.id, title: "Old"), id: \.id)
    let reader = TrackFormat.ReadOnlyDatastore.readOnlyJSONStore(
      persistence: persistence, migrations: [.second: { try $0.decode(Track.self, from: $1) }])
    do {
      _ = try await reader.load(track.id)
      Issue.record("it has no decoder")
    } catch DatastoreError.missingDecoder(let version) {
      #expect(version.contains("2022-03-01"))
    }
  }
}
