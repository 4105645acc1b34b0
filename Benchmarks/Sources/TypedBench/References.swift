import StrataAtlas
import CodableDatastore
import StrataModel
import FoundationEssentials
import Measuring
import StrataEngine

/// A stay in a city.
private struct Stay: Codable, Identifiable, Sendable {
  var id: Int
  var city: Int
}

private struct StayFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1 }
  typealias Instance = Stay
  static let defaultKey: DatastoreKey = "Stay"
  static let currentVersion = Version.first
  let city = Reference(\.city, to: NoIndex.self)
}

/// References beside what they are made of: following beside loading by identifier, what dangles beside a walk along both key
/// sets. As many references as there are cities.
struct References {
  let cities: [City]
  let folder: URL

  func run(rounds: Int) async throws {
    var (follow, dangling) = (Comparison(), Comparison())
    let url = folder.appending(path: "references.strata")
    var generator = SplitMix(state: 7)
    do {
      let persistence = try DiskPersistence(readWriteURL: url)
      let (stays, places) = (stays(persistence), NoIndex.datastore(in: persistence))
      try await persistence.perform(actionName: "fill") {
        for city in cities { try await places.persist(city) }
        for id in cities.indices {
          try await stays.persist(Stay(id: id, city: cities[Int(generator.next() % UInt64(cities.count))].id))
        }
      }
      try await persistence.perform(actionName: "leave some out") {
        for city in cities.prefix(cities.count / 100) { try await places.delete(city.id) }
      }
      try await persistence.close()
    }
    for _ in 0..<rounds {
      do {
        let persistence = try DiskPersistence(readWriteURL: url)
        let (stays, places) = (stays(persistence), NoIndex.datastore(in: persistence))
        var some: [Stay] = []
        for _ in 0..<1_000 {
          if let stay = try await stays.load(Int(generator.next() % UInt64(cities.count))) { some.append(stay) }
        }
        try await follow.theirs(some.count) {
          for stay in some { sink &+= try await places.load(stay.city)?.population ?? 0 }
        }
        try await follow.ours(some.count) {
          for found in try await stays.follow(\.city, from: some, in: places) {
            for case let city? in found { sink &+= city.population }
          }
        }
        try await dangling.ours(cities.count) { sink &+= try await stays.dangling(\.city, in: places).count }
        try await persistence.close()
      }
      let store = try FileStore.open(at: url.path, options: StoreOptions())
      try dangling.theirs(cities.count) {
        let view = store.head
        var key: [UInt8] = []
        for name in [TreeName.index("city", of: "Stay"), .records(of: NoIndex.defaultKey.rawValue)] {
          guard var cursor = try view.tree(name)?.cursor() else { continue }
          try cursor.seekToStart()
          while cursor.currentPayload != nil {
            try cursor.copyKey(into: &key)
            sink &+= key.count
            try cursor.next()
          }
        }
      }
    }
    print("| Work (\(cities.count) references) | Against | Ours | Theirs | Ratio (min–max) | Allocations | To reach |")
    print("|---|---|---|---|---|---|---|")
    print(follow.row("follow 1,000 in one pass, each", "load by identifier", goal: "≥ 0.91×"))
    print(dangling.row("what dangles, per reference", "a walk along both key sets", goal: "≥ 0.5×"))
  }

  private func stays(_ persistence: DiskPersistence<ReadWrite>) -> StayFormat.Datastore {
    .JSONStore(
      persistence: persistence, migrations: [.first: { decoder, data in try decoder.decode(Stay.self, from: data) }])
  }
}
