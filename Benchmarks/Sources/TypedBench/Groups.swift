import StrataAtlas
import CodableDatastore
import FoundationEssentials
import Measuring

/// Figures and groups along indexes, beside SQLite with the same indexes.
struct Groups {
  let bench: TypedBench

  func run(rounds: Int) async throws {
    var (figures, sums, counts) = (Comparison(), Comparison(), Comparison())
    let persistence = try DiskPersistence(readWriteURL: bench.folder.appending(path: "groups.strata"))
    let cities = CoveringIndexes.datastore(in: persistence)
    try await persistence.perform(actionName: "fill") { for city in bench.cities { try await cities.persist(city) } }
    let table = try SQLiteCities(bench.cities, at: bench.folder.appending(path: "groups.sqlite").path)
    for columns in ["country", "country, population"] { try table.index(columns) }
    let american = cities.load(where: #Predicate { $0.countrycode == "US" })
    let count = bench.cities.count { $0.countrycode == "US" }
    for _ in 0..<rounds {
      var (own, other) = ([(String, [Int])](), [(String, [Int])]())
      try figures.theirs(count) {
        other = try table.rows(
          "SELECT country, count(*), sum(population) FROM cities WHERE country = 'US'", numbers: 2)
      }
      try await figures.ours(count) {
        own = try await Self.figures(of: american)
      }
      try Self.compare(own, other)
      try sums.theirs(bench.cities.count) {
        other = try table.rows(
          "SELECT country, count(*), sum(population) FROM cities GROUP BY country", numbers: 2)
      }
      try await sums.ours(bench.cities.count) {
        own = try await Self.figures(of: cities.load(...))
      }
      try Self.compare(own, other)
      try counts.theirs(bench.cities.count) {
        other = try table.rows("SELECT country, count(*) FROM cities GROUP BY country", numbers: 1)
      }
      try await counts.ours(bench.cities.count) {
        own = []
        for (country, count) in try await cities.load(...).grouped(by: \.countrycode, { $0.count }) {
          own.append((country, [count]))
        }
      }
      try Self.compare(own, other)
    }
    try await persistence.close()
    print(figures.row("count and sum of a country along a covering index, per city", "SQLite by hand", goal: "≥ 0.7×"))
    print(sums.row("count and sum of each country along it, per city", "SQLite by hand", goal: "–"))
    print(counts.row("count of each country along an index, per city", "SQLite by hand", goal: "≥ 2×"))
  }

  private static func figures(of query: Query<CoveringIndexes, ReadWrite>) async throws -> [(String, [Int])] {
    let groups = try await query.grouped(by: \.countrycode) {
      $0.count
      $0.sum(\.population)
    }
    var rows: [(String, [Int])] = []
    for (country, (count, sum)) in groups { rows.append((country, [count, sum])) }
    return rows
  }

  private static func compare(_ own: [(String, [Int])], _ other: [(String, [Int])]) throws {
    guard own.map(\.0) == other.map(\.0), own.map(\.1) == other.map(\.1) else {
      throw BenchError(description: "the figures differ")
    }
  }
}
