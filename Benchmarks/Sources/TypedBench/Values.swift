import StrataAtlas
import CodableDatastore
import FoundationEssentials
import Measuring

/// Stores with compressed values beside stores without, in turns: how big they are, and how fast.
struct Values {
  let cities: [City]
  let folder: URL

  private struct Compressed: CityStore {
    typealias Instance = City
    static let defaultKey: DatastoreKey = "City"
    static let currentVersion = BenchVersion.only
    static let compression: ValueCompression? = .values

    let name = Index(\.name)
    let country = Index(\.countrycode)
  }

  private struct Times {
    var load: [Double] = []
    var commit: [Double] = []
    var bulk: [Double] = []
    var compaction: [Double] = []
    var bytes: UInt64 = 0
  }

  func run(rounds: Int) async throws {
    let plain = try DiskPersistence(readWriteURL: folder.appending(path: "plain.strata"))
    let packed = try DiskPersistence(readWriteURL: folder.appending(path: "packed.strata"))
    let (plainStore, packedStore) = (TwoIndexes.datastore(in: plain), Compressed.datastore(in: packed))
    try await fill(plainStore, plain)
    try await fill(packedStore, packed)
    var (theirs, ours) = (Times(), Times())
    for round in 0..<rounds {
      try await measure(plainStore, plain, round, &theirs)
      try await measure(packedStore, packed, round, &ours)
    }
    print(
      "file of \(cities.count) cities: \(theirs.bytes) → \(ours.bytes) bytes, \(fixed(Double(ours.bytes) / Double(theirs.bytes)))×"
    )
    print("| Work (compressed values) | Against | Ours | Theirs | Ratio (min–max) | To reach |")
    print("|---|---|---|---|---|---|")
    for (work, path, goal) in [
      ("load by identifier, at random", \Times.load, "≥ 0.93×"), ("durable commit of one city", \.commit, "≥ 0.97×"),
      ("persist in one transaction, two indexes", \.bulk, "≥ 0.9×"),
      ("compaction to the newest commit", \.compaction, "≥ 0.5×"),
    ] {
      let row = Row(
        work: work, rival: "values as they are", ours: ours[keyPath: path], theirs: theirs[keyPath: path], goal: goal)
      print(row.markdown)
    }
  }

  private func fill<Format: CityStore>(
    _ store: Datastore<Format, ReadWrite>, _ persistence: DiskPersistence<ReadWrite>
  ) async throws {
    try await store.warm()
    try await persistence.perform(actionName: "bulk") { for city in cities { try await store.persist(city) } }
    try await persistence.shortenHistory(keeping: .last(1))
  }

  private func measure<Format: CityStore>(
    _ store: Datastore<Format, ReadWrite>, _ persistence: DiskPersistence<ReadWrite>, _ round: Int, _ times: inout Times
  ) async throws {
    var generator = SplitMix(state: UInt64(round) + 1)
    let places = (0..<20_000).map { _ in Int(generator.next() % UInt64(cities.count)) }
    for place in places { sink &+= try await store.load(cities[place].id)?.population ?? 0 }
    var begin = processorSeconds()
    for place in places { sink &+= try await store.load(cities[place].id)?.population ?? 0 }
    times.load.append((processorSeconds() - begin) / Double(places.count))

    begin = seconds()
    for place in places.prefix(300) {
      var city = cities[place]
      city.population += round + 1
      try await store.persist(city)
    }
    times.commit.append((seconds() - begin) / 300)

    begin = processorSeconds()
    try await persistence.perform(actionName: "bulk") {
      for place in stride(from: round % 5, to: cities.count, by: 5) {
        var city = cities[place]
        city.population += 1_000 + round
        try await store.persist(city)
      }
    }
    times.bulk.append((processorSeconds() - begin) / Double(cities.count / 5))

    // By the clock, because a compaction uses two processors.
    begin = seconds()
    times.bytes = try await persistence.shortenHistory(keeping: .last(1)).bytesAfter
    times.compaction.append(seconds() - begin)
  }
}
