import StrataAtlas
import CodableDatastore
import FoundationEssentials
import Measuring

/// Queries beside what they are made of: conditions beside decoding the same records and a Swift `if`, the first of a sort beside
/// a scan alone.
struct Queries {
  let bench: TypedBench

  func run(rounds: Int) async throws {
    var (served, first, second, count) = (Comparison(), Comparison(), Comparison(), Comparison())
    var most: UInt64 = 0
    let url = bench.folder.appending(path: "queries.strata")
    let persistence = try DiskPersistence(readWriteURL: url)
    let cities = ThreeIndexes.datastore(in: persistence)
    try await persistence.perform(actionName: "fill") { for city in bench.cities { try await cities.persist(city) } }
    // Half of them, of which the condition keeps half again.
    let limit = bench.cities.map(\.population).sorted()[bench.cities.count / 2]
    let query = cities.load(where: #Predicate { $0.population > limit && $0.latitude > 30 })
    // In the order of the answer, which is not that of the fill.
    let encoded = zip(bench.cities, bench.encoded).filter { $0.0.population > limit }
      .sorted { $0.0.id < $1.0.id }.map(\.1)
    let northernmost = cities.load(where: #Predicate { $0.latitude > -100 }).scanning()
      .sorted(by: \.latitude, .descending).limit(20)
    // Those of one country, of which the condition keeps a fiftieth.
    let own = zip(bench.cities, bench.encoded).filter { $0.0.countrycode == "US" }.sorted { $0.0.id < $1.0.id }
    let large = own.map(\.0.population).sorted()[own.count * 49 / 50]
    let narrow = cities.load(where: #Predicate { $0.countrycode == "US" && $0.population > large })
    let north = 45.0
    let rows = cities.load(where: #Predicate { $0.latitude > north }).scanning()
    let table = try SQLiteCities(bench.cities, at: bench.folder.appending(path: "cities.sqlite").path)
    guard try await rows.count == table.count(population: -1, latitude: north) else {
      throw BenchError(description: "the counts differ")
    }
    for _ in 0..<rounds {
      try second.theirs(own.count) {
        for (_, data) in own {
          let city = try bench.decoder.decode(City.self, from: data)
          if city.population > large { sink &+= city.population }
        }
      }
      try await second.ours(own.count) { for try await city in narrow { sink &+= city.population } }
      try count.theirs(bench.cities.count) { sink &+= try table.count(population: -1, latitude: north) }
      try await count.ours(bench.cities.count) { sink &+= try await rows.count }
      try served.theirs(encoded.count) {
        for data in encoded {
          let city = try bench.decoder.decode(City.self, from: data)
          if city.population > limit, city.latitude > 30 { sink &+= city.population }
        }
      }
      try await served.ours(encoded.count) { for try await city in query { sink &+= city.population } }
      try await first.theirs(bench.cities.count) {
        for try await city in cities.load(...) { sink &+= city.population }
      }
      let before = anonymousMemory()
      let watch = MemoryWatch()
      try await first.ours(bench.cities.count) {
        for try await city in northernmost { sink &+= city.population }
      }
      most = max(most, watch.end() &- before)
    }
    let plan = try await query.explain()
    try await persistence.close()
    print(
      "| Work (\(bench.cities.count) cities) | Against | Ours | Theirs | Ratio (min–max) | Allocations | To reach |")
    print("|---|---|---|---|---|---|---|")
    print(
      served.row(
        "a predicate that an index serves (`\(plan)`), per record read",
        "JSONDecoder on the same records, and an if", goal: "≥ 0.85×"))
    print(
      second.row(
        "a query by one index with a second condition, 2 % hits, per candidate", "JSONDecoder on the candidates",
        goal: "≥ 7×"))
    print(count.row("a count without an index, per city", "SQLite by hand", goal: "≥ 0.14×, ≥ 0.3× on two processors"))
    print(first.row("the first 20 by an unindexed property, per city", "the scan alone", goal: "≥ 0.83×"))
    try await Groups(bench: bench).run(rounds: rounds)
    print("\n| Memory | Measured | To reach |\n|---|---|---|")
    print("| the first 20, beyond what was open | \(fixed(Double(most) / 1e6, digits: 1)) MB | ≤ 16 MB |")
  }
}
