import StrataAtlas
import CodableDatastore
import FoundationEssentials
import Glibc
import Measuring

/// The typed library beside the bare coders: what it costs to load, to persist and to warm up.
///
///     TypedBench [CITIES.json | sample] [ROUNDS]
///     TypedBench responsiveness
///     TypedBench server
///     TypedBench memory [COUNT]
///     TypedBench references [CITIES.json]
///     TypedBench queries [CITIES.json]
///     TypedBench pages [COUNT]
///     TypedBench values [CITIES.json]
@main
struct TypedBench {
  let cities: [City]
  let folder: URL
  let encoder: JSONEncoder
  let decoder = JSONDecoder()
  /// The cities as the coder alone makes them.
  let encoded: [Data]

  /// What is measured beside the comparisons with coders.
  private enum Section: String { case responsiveness, server, memory, references, queries, pages, letters, values }

  static func main() async throws { try await measure(Array(CommandLine.arguments.dropFirst())) }

  /// On the pool, as a server's tasks run. On Linux the main actor's executor is a queue that goes from thread to thread: what runs there
  /// pays for that at each yield (`responsiveness` tells how much).
  @concurrent private static func measure(_ arguments: [String]) async throws {
    let section = arguments.first.flatMap(Section.init)
    let takesFile = [.references, .queries, .values].contains(section)
    let file = takesFile ? arguments.dropFirst().first : section == nil ? arguments.first : nil
    let bench = try TypedBench(citiesFile: file)
    defer { try? FileManager.default.removeItem(at: bench.folder) }
    let number = arguments.dropFirst().first.flatMap { Int($0) }
    switch section {
    case .responsiveness: try await Responsiveness(cities: bench.cities, folder: bench.folder).run()
    case .server: try await Responsiveness(cities: bench.cities, folder: bench.folder).server()
    case .memory: try await WarmUpMemory(cities: bench.cities, folder: bench.folder).run(count: number ?? 1_000_000)
    case .references: try await References(cities: bench.cities, folder: bench.folder).run(rounds: 5)
    case .queries: try await Queries(bench: bench).run(rounds: 5)
    case .pages: try await Pages(folder: bench.folder).run(count: number ?? 3_000_000)
    case .values:
      try await Values(cities: Array(bench.cities.prefix(100_000)), folder: bench.folder).run(rounds: 5)
    case .letters: try await bench.runLetters(rounds: number ?? 5)
    case nil: try await bench.run(rounds: number ?? 5)
    }
  }

  /// Takes the cities of a file, else those of the sample.
  init(citiesFile: String?) throws {
    let resources = URL(filePath: #filePath).appending(path: "../../../../Sources/StrataAtlas/Resources")
      .standardizedFileURL
    cities = try Sample(folder: resources.path, citiesFile: citiesFile == "sample" ? nil : citiesFile).cities
    var name = Array("/tmp/strata-bench.XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { throw BenchError(description: "no folder for the bench") }
    folder = URL(filePath: String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    self.encoder = encoder
    encoded = try cities.map { try encoder.encode($0) }
  }

  /// The contenders take turns within a round.
  func run(rounds: Int) async throws {
    var (load, idle, scan, range) = (Comparison(), Comparison(), Comparison(), Comparison())
    var (bulk, warmUp, tasks, letters) = (Comparison(), Comparison(), Comparison(), Comparison())
    var (loadOnMain, scanOnMain) = (Comparison(), Comparison())
    for round in 0..<rounds {
      let url = folder.appending(path: "round\(round).strata")
      try await fill(url, &bulk)
      let places = places(SplitMix(state: UInt64(round) + 1))
      let persistence = try DiskPersistence(readWriteURL: url)
      try await buildIndexes(persistence, &warmUp)
      try await loadEach(places, persistence, &load)
      try await read(places, persistence, &scan, &range)
      let onMain = try await readOnMainActor(places, persistence)
      loadOnMain.addOurs(onMain.load, places.count)
      try decodeAlone(places, &loadOnMain)
      scanOnMain.addOurs(onMain.scan, cities.count)
      try decodeAlone(cities.indices, &scanOnMain)
      try await persistence.close()
      try await loadEach(places, try DiskPersistence(readWriteURL: url), &idle)
      try await writeAtOnce(folder.appending(path: "tasks\(round).strata"), &tasks)
      try await applyLetters(folder.appending(path: "letters\(round).strata"), &letters)
      try FileManager.default.removeItem(at: url)
    }
    print("| Work (\(cities.count) cities) | Against | Ours | Theirs | Ratio (min–max) | Allocations | To reach |")
    print("|---|---|---|---|---|---|---|")
    print(load.row("load by identifier, at random", "JSONDecoder alone", goal: "≥ 2×"))
    print(idle.row("the same where another process may write", "JSONDecoder alone", goal: "–"))
    print(scan.row("all in the order of the identifiers", "JSONDecoder alone", goal: "≥ 2.7×"))
    print(loadOnMain.row("load by identifier, from the main actor", "JSONDecoder alone", goal: "≥ 1.6×"))
    print(scanOnMain.row("all in the order of the identifiers, from the main actor", "JSONDecoder alone", goal: "≥ 2×"))
    print(range.row("100 through an index of references", "JSONDecoder alone", goal: "≥ 1.8×"))
    print(bulk.row("persist in one transaction, two indexes", "JSONEncoder alone", goal: "≥ 0.65×"))
    print(warmUp.row("warm-up of three indexes, per city", "JSONDecoder alone", goal: "≥ 3×"))
    print(tasks.row("persist, durable, from 64 tasks", "from one task", goal: "≥ 5×"))
    print(letters.row("apply 1,000 letters of another program", "persist, durable, from 64 tasks", goal: "≥ 0.5×"))
  }

  /// Letters alone.
  func runLetters(rounds: Int) async throws {
    var letters = Comparison()
    for round in 0..<rounds { try await applyLetters(folder.appending(path: "letters\(round).strata"), &letters) }
    print(letters.row("apply 1,000 letters of another program", "persist, durable, from 64 tasks", goal: "≥ 0.5×"))
  }

  private func fill(_ url: URL, _ bulk: inout Comparison) async throws {
    let persistence = try DiskPersistence(readWriteURL: url)
    let store = TwoIndexes.datastore(in: persistence)
    try await store.warm()
    try bulk.theirs(cities.count) { for city in cities { sink &+= try encoder.encode(city).count } }
    try await bulk.ours(cities.count) {
      try await persistence.perform(actionName: "bulk") { for city in cities { try await store.persist(city) } }
    }
    try await persistence.close()
  }

  private func buildIndexes(_ persistence: DiskPersistence<ReadWrite>, _ warmUp: inout Comparison) async throws {
    try await dropIndexes(persistence)
    let store = ThreeIndexes.datastore(in: persistence)
    try warmUp.theirs(cities.count) {
      for data in encoded { sink &+= try decoder.decode(City.self, from: data).population }
    }
    try await warmUp.ours(cities.count) { try await store.warm() }
  }

  /// In a scope of its own, for a key is declared by one living datastore at a time.
  private func dropIndexes(_ persistence: DiskPersistence<ReadWrite>) async throws {
    try await NoIndex.datastore(in: persistence).warm()
  }

  private func places(_ generator: SplitMix) -> [Int] {
    var generator = generator
    return (0..<20_000).map { _ in Int(generator.next() % UInt64(cities.count)) }
  }

  private func loadEach(
    _ places: [Int], _ persistence: DiskPersistence<ReadWrite>, _ load: inout Comparison
  ) async throws {
    let store = ThreeIndexes.datastore(in: persistence)
    try decodeAlone(places, &load)
    try await load.ours(places.count) {
      for place in places { sink &+= try await store.load(cities[place].id)?.population ?? 0 }
    }
  }

  private func read(
    _ places: [Int], _ persistence: DiskPersistence<ReadWrite>, _ scan: inout Comparison, _ range: inout Comparison
  ) async throws {
    let store = ThreeIndexes.datastore(in: persistence)
    try decodeAlone(cities.indices, &scan)
    try await scan.ours(cities.count) {
      for try await city in store.load(...) { sink &+= city.population }
    }
    let starts = places.prefix(200).map { cities[$0].name }
    var found = 0
    let seconds = try await Comparison.measure {
      for start in starts {
        for try await city in store.load(start..., from: \.name) {
          found += 1
          sink &+= city.population
          if found % 100 == 0 { break }
        }
      }
    }
    range.addOurs(seconds, found)
    try decodeAlone(places, &range)
  }

  private func decodeAlone(_ places: some Collection<Int>, _ comparison: inout Comparison) throws {
    try comparison.theirs(places.count) {
      for place in places { sink &+= try decoder.decode(City.self, from: encoded[place]).population }
    }
  }

  /// As apps read.
  @MainActor private func readOnMainActor(
    _ places: [Int], _ persistence: DiskPersistence<ReadWrite>
  ) async throws -> (load: Comparison.Measurement, scan: Comparison.Measurement) {
    let store = ThreeIndexes.datastore(in: persistence)
    let load = try await Comparison.measure {
      for place in places { sink &+= try await store.load(cities[place].id)?.population ?? 0 }
    }
    let scan = try await Comparison.measure { for try await city in store.load(...) { sink &+= city.population } }
    return (load, scan)
  }

  /// Single durable commits: from one task, then from 64 that do not wait for each other.
  private func writeAtOnce(_ url: URL, _ tasks: inout Comparison) async throws {
    let store = TwoIndexes.datastore(in: try DiskPersistence(readWriteURL: url))
    try await store.warm()
    let single = Array(cities.prefix(200))
    let many = Array(cities.dropFirst(200).prefix(6400))
    try await tasks.theirs(single.count) { for city in single { try await store.persist(city) } }
    try await tasks.ours(many.count) { try await persist(many, in: store) }
    try FileManager.default.removeItem(at: url)
  }

  /// Each by a call of its own, from 64 tasks.
  private func persist(_ cities: [City], in store: Datastore<TwoIndexes, ReadWrite>) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<64 {
        group.addTask {
          for place in stride(from: task, to: cities.count, by: 64) { try await store.persist(cities[place]) }
        }
      }
      try await group.waitForAll()
    }
  }

  /// Letters with one record each, and the same records persisted.
  private func applyLetters(_ url: URL, _ letters: inout Comparison) async throws {
    let persistence = try DiskPersistence(readWriteURL: url)
    let store = TwoIndexes.datastore(in: persistence)
    try await store.warm()
    let some = Array(cities.prefix(2000))
    let outbox = try Outbox(storeAt: url)
    for city in some.prefix(1000) { try await outbox.persist(city, in: TwoIndexes.self) }
    try await letters.theirs(1000) { try await persist(Array(some.suffix(1000)), in: store) }
    try await letters.ours(1000) { sink &+= try await persistence.inbox.apply().count }
    try FileManager.default.removeItem(at: url)
  }
}

/// What the compiler may not leave out.
nonisolated(unsafe) var sink = 0  // Only the main task reads or writes it.

struct BenchError: Error, CustomStringConvertible {
  var description: String
}
