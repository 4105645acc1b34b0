import Atlas
import CodableDatastore
import FoundationEssentials
import Glibc
import Measuring

/// The typed library beside the bare coders: what it costs to load, to persist and to warm up.
@main
struct TypedBench {
  static func main() async throws {
    let rounds = 5
    let cities = try sampleCities()
    var scratch = Array("/tmp/strata-bench.XXXXXX".utf8CString)
    guard let made = mkdtemp(&scratch) else { throw BenchError(description: "no folder for the bench") }
    let folder = URL(filePath: String(decoding: scratch.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    _ = made
    defer { try? FileManager.default.removeItem(at: folder) }

    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let encoded = try cities.map { try encoder.encode($0) }
    let decoder = JSONDecoder()

    var (persists, encodes, loads, decodes, warmUps, decodeAlls) =
      ([Double](), [Double](), [Double](), [Double](), [Double](), [Double]())
    for round in 0..<rounds {
      let url = folder.appending(path: "round\(round).strata")
      let persistence = try DiskPersistence(readWriteURL: url)
      let first = FirstCityFormat.datastore(in: persistence)
      try await first.warm()
      encodes.append(try time { for city in cities { sink &+= try encoder.encode(city).count } } / Double(cities.count))
      persists.append(
        try await time {
          try await persistence.perform(actionName: "bulk") { for city in cities { try await first.persist(city) } }
        } / Double(cities.count))

      var generator = SplitMix(state: UInt64(round) + 1)
      let positions = (0..<20_000).map { _ in Int(generator.next() % UInt64(cities.count)) }
      decodes.append(
        try time {
          for position in positions { sink &+= try decoder.decode(City.self, from: encoded[position]).population }
        } / Double(positions.count))
      loads.append(
        try await time {
          for position in positions { sink &+= try await first.load(cities[position].id)?.population ?? 0 }
        } / Double(positions.count))

      decodeAlls.append(try time { for data in encoded { sink &+= try decoder.decode(City.self, from: data).population } })
      try await persistence.close()
      let again = try DiskPersistence(readWriteURL: url)
      let second = CityFormat.datastore(in: again)
      warmUps.append(try await time { try await second.warm() })
      try await again.close()
    }

    print("| Work (\(cities.count) cities) | Against | Ours | Theirs | Ratio (min–max) | To reach |\n|---|---|---|---|---|---|")
    print(Row(work: "typed load by identifier", rival: "JSONDecoder alone", ours: loads, theirs: decodes, goal: "≥ 0.8×").markdown)
    print(
      Row(
        work: "typed persist in a bulk transaction, three indexes", rival: "JSONEncoder alone", ours: persists,
        theirs: encodes, goal: "≥ 0.4× (two indexes)"
      ).markdown)
    print(
      Row(
        work: "warm-up that builds two indexes and re-evaluates three", rival: "decoding all once", ours: warmUps,
        theirs: decodeAlls, goal: "≥ 0.6× (three indexes)"
      ).markdown)
  }

  /// The cities of the file that the first argument names, else of the sample.
  private static func sampleCities() throws -> [City] {
    let folder = URL(filePath: #filePath).appending(path: "../../../../Sources/Atlas/Resources").standardizedFileURL
    return try Sample(folder: folder.path, citiesFile: CommandLine.arguments.dropFirst().first).cities
  }
}

/// What the compiler may not leave out.
nonisolated(unsafe) var sink = 0  // Only the main task reads or writes it.

struct BenchError: Error, CustomStringConvertible {
  var description: String
}

/// The seconds that asynchronous work takes.
func time(_ work: () async throws -> Void) async rethrows -> Double {
  let start = seconds()
  try await work()
  return seconds() - start
}
