import CodableDatastore
import StrataModel
import StrataDocuments
import FoundationEssentials
import Measuring
import StrataEngine

/// A page far behind in the order of an index: what the library reads it in, and the nodes that the one run of queries reads for it.
struct Pages {
  let folder: URL

  func run(count: Int) async throws {
    let url = folder.appending(path: "pages.strata")
    let (page, offset) = (100, count / 3)
    let took = try await read(page, behind: offset, of: count, in: url)
    let store = try EngineStore.open(path: url.path, readOnly: true)
    guard let items = try store.head.datastore("Item") else { throw BenchError(description: "no items") }
    // The app declared the index in its own process; here nothing but the records tells its rule.
    try items.proveRules(nil)
    let query = RecordQuery(sort: [(DocumentPath([.member("value")]), false)])
    let plan = try query.plan(in: items)
    let before = store.engine.counts.nodeReads
    var run = try query.run(plan, in: items, limit: page, offset: offset)
    while let record = try run.next() { sink &+= record.identifier.bytes.count }
    let nodes = store.engine.counts.nodeReads - before
    print("| Pages | Measured | To reach |")
    print("|---|---|---|")
    let what = "a page of \(page) at offset \(offset) of \(count), along an index (`\(plan.text)`)"
    print("| \(what): median of five | \(duration(took)) | – |")
    print("| the same: node reads | \(nodes) | – |")
  }

  private func read(_ page: Int, behind offset: Int, of count: Int, in url: URL) async throws -> Double {
    let persistence = try DiskPersistence(readWriteURL: url)
    let items = Items.datastore(in: persistence)
    for first in stride(from: 0, to: count, by: 100_000) {
      try await items.persist(
        contentsOf: (first..<min(first + 100_000, count)).map { Item(id: $0, value: $0 &* 7919 % count) })
    }
    let query = items.load(where: #Predicate { $0.value >= 0 }).sorted(by: \.value).limit(page, offset: offset)
    var times: [Double] = []
    for _ in 0..<5 {
      let start = seconds()
      for try await item in query { sink &+= item.value }
      times.append(seconds() - start)
    }
    try await persistence.close()
    return Spread(times).median
  }
}

private struct Item: Codable, Identifiable, Sendable {
  var id: Int
  var value: Int
}

private struct Items: DatastoreFormat {
  typealias Instance = Item
  typealias Version = BenchVersion
  static let defaultKey: DatastoreKey = "Item"
  static let currentVersion = BenchVersion.only

  let value = Index(\.value)

  static func datastore(in persistence: DiskPersistence<ReadWrite>) -> CodableDatastore.Datastore<Self, ReadWrite> {
    .JSONStore(persistence: persistence, migrations: [.only: { try $0.decode(Item.self, from: $1) }])
  }
}
