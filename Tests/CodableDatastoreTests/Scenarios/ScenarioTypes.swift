import CodableDatastore
import Foundation
import StrataLocks

// The scenarios are written from the public interface alone, as somebody would who has a program for it already.

/// A recording in a music library, in three versions.
struct Track: Codable, Hashable, Identifiable, Sendable {
  var id: UUID
  var name: String
  var genres: Set<String> = []
  var length: Duration = .seconds(60)
  var released: Date = .distantPast
  var rating: Double = 0
  var price: Decimal = 1
  var grade: Grade = .silver
  var position: Position = Position(disc: 1, number: 1)
  var label: String?
  var catalogueNumber: String = ""
}

/// Ordered by hand, against the order of the raw values.
enum Grade: String, Codable, Comparable, CaseIterable, RangedIndexable, DiscreteIndexable, Sendable {
  case silver, gold, platinum
  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}

/// Two numbers, the first counts most.
struct Position: Codable, Hashable, Comparable, RangedIndexable, DiscreteIndexable, Sendable {
  var disc: Int
  var number: Int
  static func < (left: Self, right: Self) -> Bool {
    left.disc != right.disc ? left.disc < right.disc : left.number < right.number
  }
}

/// As the first release of the program had it.
struct OldTrack: Codable, Sendable {
  var id: UUID
  var title: String
}

struct TrackFormat: DatastoreFormat {
  enum Version: String, CaseIterable {
    case first = "2022-03-01"
    case second = "2024-11-20"
  }

  typealias Instance = Track

  static let defaultKey: DatastoreKey = "Tracks"
  static let currentVersion = Version.second

  let name = Index(\.name)
  let genres = ManyToManyIndex(\.genres)
  let length = Index(\.length)
  let released = Index(\.released)
  let rating = Index(\.rating)
  let price = Index(\.price)
  let grade = Index(\.grade)
  let label = Index(\.label)
  @Direct var position = Index(\.position)
  @Direct var catalogueNumber = OneToOneIndex(\.catalogueNumber)

  static func tracks(in persistence: some Persistence<ReadWrite>, key: DatastoreKey = defaultKey) -> Self.Datastore {
    .JSONStore(
      persistence: persistence, key: key,
      migrations: [
        .first: {
          let old = try $0.decode(OldTrack.self, from: $1)
          return Track(id: old.id, name: old.title, catalogueNumber: "old-\(old.title)")
        },
        .second: { try $0.decode(Track.self, from: $1) },
      ])
  }
}

/// What the first release wrote with.
struct OldTrackFormat: DatastoreFormat {
  enum Version: String, CaseIterable { case first = "2022-03-01" }
  typealias Instance = OldTrack
  typealias Identifier = UUID
  static let defaultKey: DatastoreKey = "Tracks"
  static let currentVersion = Version.first

  let title = Index(\.title)

  static func tracks(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in
          let track = try decoder.decode(OldTrack.self, from: data)
          return (id: track.id, instance: track)
        }
      ])
  }
}

/// A thing without an identifier of its own.
struct Setting: Codable, Equatable, Sendable {
  var value: String
}

struct SettingFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case zero, one }
  typealias Instance = Setting
  typealias Identifier = String
  static let defaultKey = DatastoreKey(rawValue: "Settings")
  static let currentVersion: Version = .one

  static func settings(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    Self.Datastore(
      persistence: persistence,
      encoder: { try JSONEncoder().encode(["key": $0.value, "value": $0.value]) },
      decoders: [
        .zero: { _ in ("", Setting(value: "")) },
        .one: { data in
          let values = try JSONDecoder().decode([String: String].self, from: data)
          return (values["key"] ?? "", Setting(value: values["value"] ?? ""))
        },
      ])
  }
}

/// What a handler has heard, in its order.
actor Heard<Element: Sendable> {
  private(set) var all: [Element] = []
  func hear(_ element: Element) { all.append(element) }
}

extension CodableDatastore.Progress {
  var text: String {
    switch self {
    case .evaluating: "evaluating"
    case .working(let current, let total): "\(current)/\(total)"
    case .complete(let total): "complete \(total)"
    }
  }
}

extension Datastore {
  /// Warms up and answers what the handler heard.
  func warmingProgress() async throws -> [String] {
    let heard = Heard<String>()
    try await warm { progress in await heard.hear(progress.text) }
    return await heard.all
  }
}

struct ScenarioFailure: Error, Equatable {
  var number = 0
}

extension Track {
  /// Tracks with names “Track 1”…, in this order of their identifiers.
  static func numbered(_ numbers: ClosedRange<Int>) -> [Track] {
    numbers.map { number in
      Track(
        id: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255))),
        name: "Track \(number)", genres: number.isMultiple(of: 2) ? ["even", "all"] : ["all"],
        length: .seconds(number), released: Date(timeIntervalSince1970: Double(number)), rating: Double(number) / 2,
        price: Decimal(number) / 10, grade: Grade.allCases[number % 3],
        position: Position(disc: number / 10, number: number % 10),
        label: number.isMultiple(of: 3) ? nil : "Label \(number % 3)", catalogueNumber: "C-\(number)")
    }
  }
}
