import StrataModel
import StrataDocuments
import StrataExchange
import StrataExpressions
import StrataEngine

@testable import StoreBrowser

/// A store in a folder and another copy of it, each known to the other as `laptop` and `here`.
final class CopiedStore {
  let folder = "/tmp/strata-copies-\(UInt64.random(in: 0 ... .max))"
  let here: EngineStore
  let laptop: EngineStore

  /// Both have the cities of the sample.
  ///
  /// - Parameter uniqueNames: whether a name may belong to one city alone.
  init(uniqueNames: Bool = false) throws {
    TestFile.makeFolder(folder)
    here = try EngineStore.open(path: folder + "/here.strata", program: "tests", author: "ada", creates: true)
    laptop = try EngineStore.open(path: folder + "/laptop.strata", program: "tests", author: "bob", creates: true)
    var plan = try Sample.cityPlan()
    plan.indexes[0].isUnique = uniqueNames
    try Sample.add(Sample.cities.flatMap { $0 }, to: here, plan, "import cities")
    try RemotesFile(storeAt: here.path).add(Remote(name: "laptop", location: "laptop.strata"))
    try RemotesFile(storeAt: laptop.path).add(Remote(name: "here", location: "here.strata"))
    let exchange = StoreExchange(laptop, now: LocalTime.now)
    let fetched = try exchange.fetch(StorePeer(here, name: "here", now: LocalTime.now), as: "here")
    for head in fetched.heads { _ = try exchange.moveHead(to: head) }
  }

  deinit { TestFile.remove(folder) }

  /// Both change the population of თბილისი and the laptop the zone of Batumi; the laptop deletes Bern, which is renamed here.
  func edit() throws {
    try Sample.change(here, "City", "611717", ".population", to: 5)
    try Sample.change(here, "City", "2661552", ".name", to: "Bärn")
    try Sample.change(laptop, "City", "611717", ".population", to: 7)
    try Sample.change(laptop, "City", "611717", ".timezone", to: "Asia/Yerevan")
    try Sample.change(laptop, "City", "615532", ".timezone", to: "Asia/Yerevan")
    try Sample.delete(laptop, "City", "2661552")
  }

  /// A copy that was edited on both sides.
  static func edited() throws -> CopiedStore {
    let copies = try CopiedStore()
    try copies.edit()
    return copies
  }

  /// What a datastore of a store has, by identifier, as text.
  static func contents(_ store: EngineStore) throws -> [String: String] {
    guard let datastore = try store.refresh().datastore("City") else { return [:] }
    var contents: [String: String] = [:]
    var records = try datastore.records()
    while try records.next() {
      guard let record = try records.record() else { continue }
      contents[record.identifier.description] = String(decoding: try record.document().json(.canonical), as: UTF8.self)
    }
    return contents
  }

  static func value(_ store: EngineStore, _ identifier: String, _ path: String) throws -> Document? {
    guard let datastore = try store.refresh().datastore("City"),
      let record = try datastore.record(datastore.identifier(parsing: identifier))
    else { return nil }
    return try record.document()[DocumentPath(parsing: path)]
  }
}
