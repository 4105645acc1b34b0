import CodableDatastore
import Foundation
import Measuring
import PostgresPersistence

/// A record of about 200 bytes, with two indexes.
struct Item: Codable, Hashable, Identifiable, Sendable {
  var id: Int
  var name: String
  var shelf: Int
  var text: String

  init(_ id: Int) {
    self.id = id
    name = "item \(1_000_000 + id &* 7_919 % 1_000_000)"
    shelf = id % 1_000
    text = String(repeating: "strata ", count: 20)
  }
}

struct ItemFormat: DatastoreFormat {
  enum Version: Int, CaseIterable { case first = 1 }
  typealias Instance = Item
  static let defaultKey: DatastoreKey = "Item"
  static let currentVersion = Version.first
  let name = Index(\.name)
  let shelf = Index(\.shelf)

  static func datastore(_ persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(persistence: persistence, migrations: [.first: { try $0.decode(Item.self, from: $1) }])
  }
}

/// The typed library on PostgreSQL beside a client that is written by hand with plain tables, on the same server in one run.
///
///     with-server ServerBench [ROUNDS] [beside]
///
/// `beside` leaves the commits of many clients out.
@main
struct ServerBench {
  let server: String

  static func main() async throws {
    guard let server = ProcessInfo.processInfo.environment["STRATA_SERVER"] else {
      throw BenchError(description: "$STRATA_SERVER is the URL of a server; with-server makes one")
    }
    let bench = ServerBench(server: server)
    let words = CommandLine.arguments.dropFirst()
    try await bench.compare(rounds: words.first.flatMap { Int($0) } ?? 3)
    if !words.contains("beside") { try await bench.count() }
  }

  /// The URL of a schema; `program` keeps connections of several clients apart.
  private func url(_ schema: String, program: String = "bench", delay: Int = 0) -> String {
    let options = delay == 0 ? "" : "&options=-c%20commit_delay%3D\(delay)%20-c%20commit_siblings%3D0"
    return "\(server)&schema=\(schema)&application_name=\(program)\(options)"
  }

  // MARK: Beside the client

  private func compare(rounds: Int) async throws {
    let items = (0..<100_000).map { Item($0) }
    var rows: [String: (ours: [Spent], theirs: [Spent])] = [:]
    func add(_ work: String, _ ours: Spent, _ theirs: Spent, of count: Int) {
      rows[work, default: ([], [])].ours.append(ours.each(of: count))
      rows[work, default: ([], [])].theirs.append(theirs.each(of: count))
    }
    let processors = try Processors(server)
    func time(_ body: () async throws -> Void) async throws -> Spent { try await processors.measure(body) }
    for round in 0..<rounds {
      try PlainClient.prepare(server)
      let plain = try PlainClient(server)
      let persistence = try await PostgresPersistence(readWriteURL: url("beside\(round)"))
      let ours = ItemFormat.datastore(persistence)
      let theirBulk = try await time { try plain.bulk(items) }
      let ourBulk = try await time {
        try await persistence.perform { for item in items { try await ours.persist(item) } }
      }
      add("bulk of 100,000 in one transaction", ourBulk, theirBulk, of: items.count)
      var random = SplitMix(state: UInt64(round) + 1)
      let places = (0..<1_000).map { _ in Int.random(in: 0..<items.count, using: &random) }
      let theirLoads = try await time { for place in places { _ = try plain.load(place) } }
      let ourLoads = try await time { for place in places { _ = try await ours.load(place) } }
      add("load by identifier", ourLoads, theirLoads, of: places.count)
      let theirRanges = try await time {
        for place in places.prefix(200) { _ = try plain.range(from: items[place].name) }
      }
      let ourRanges = try await time {
        for place in places.prefix(200) {
          var left = 100
          for try await _ in ours.load(items[place].name..., from: \.name) {
            left -= 1
            if left == 0 { break }
          }
        }
      }
      add("100 through an index", ourRanges, theirRanges, of: 200)
      let new = (0..<300).map { Item(200_000 + round * 1_000 + $0) }
      let theirCommits = try await time { for item in new { try plain.persist(item) } }
      let ourCommits = try await time { for item in new { try await ours.persist(item) } }
      add("durable commit of one record", ourCommits, theirCommits, of: new.count)
      try await persistence.close()
    }
    print("| Work | Against | Ours | Theirs | Ratio (min–max) | To reach |")
    print("|---|---|---|---|---|---|")
    for (work, goal) in [
      ("durable commit of one record", "≥ 0.5×"), ("bulk of 100,000 in one transaction", "≥ 0.4×"),
      ("load by identifier", "≥ 0.7×"), ("100 through an index", "≥ 0.7×"),
    ] {
      guard let row = rows[work] else { continue }
      print(
        Row(
          work: work, rival: "libpq by hand", ours: row.ours.map(\.wall), theirs: row.theirs.map(\.wall), goal: goal
        ).markdown)
    }
    print()
    print("Where the time goes: processor time for each, medians.")
    print()
    print("| Work | Our client | Our server | Their client | Their server |")
    print("|---|---|---|---|---|")
    for (work, row) in rows.sorted(by: { $0.key < $1.key }) {
      let cells = [row.ours.map(\.client), row.ours.map(\.server), row.theirs.map(\.client), row.theirs.map(\.server)]
      let texts = cells.map { "\(Int(($0.sorted()[$0.count / 2] * 1e6).rounded())) µs" }
      print("| \(work) | \(texts.joined(separator: " | ")) |")
    }
  }

  // MARK: Commits a second

  private func count() async throws {
    for (delay, name) in [(0, "the disk's own flush"), (1_000, "a flush of one millisecond (`commit_delay`)")] {
      print()
      print("Commits a second, each of one new record, at \(name):")
      print()
      print("| | 1 | 4 | 16 | 32 | 64 |")
      print("|---|---|---|---|---|---|")
      for isOneProcess in [false, true] {
        var cells: [String] = []
        for width in [1, 4, 16, 32, 64] {
          if !isOneProcess, width == 64 {
            cells.append("–")
            continue
          }
          cells.append(String(Int(try await commits(width, isOneProcess: isOneProcess, delay: delay))))
        }
        let who = isOneProcess ? "tasks of one client" : "clients with connections of their own"
        print("| \(who) | \(cells.joined(separator: " | ")) |")
      }
    }
  }

  private func commits(_ width: Int, isOneProcess: Bool, delay: Int) async throws -> Double {
    let schema = "rate\(width)\(isOneProcess ? "tasks" : "clients")\(delay)"
    var datastores: [ItemFormat.Datastore] = []
    for client in 0..<(isOneProcess ? 1 : width) {
      let persistence = try await PostgresPersistence(
        readWriteURL: url(schema, program: "client\(client)", delay: delay))
      datastores.append(ItemFormat.datastore(persistence))
    }
    // Their trees are made, and their statements prepared.
    for (number, items) in datastores.enumerated() {
      for turn in 0..<3 { try await items.persist(Item(10_000_000 + number * 10 + turn)) }
    }
    let clock = ContinuousClock()
    let end = clock.now + .seconds(2)
    let done = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<width {
        let items = datastores[isOneProcess ? 0 : task]
        group.addTask {
          var count = 0
          while clock.now < end {
            try await items.persist(Item(task * 100_000 + count))
            count += 1
          }
          return count
        }
      }
      return try await group.reduce(0, +)
    }
    return Double(done) / 2
  }
}
