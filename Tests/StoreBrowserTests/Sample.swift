import StrataDocuments
import StrataModel
import StrataLocks
import StrataEngine

/// A value behind a lock.
final class Locked<Value: Sendable>: Sendable {
  private let mutex: Mutex<Value>
  init(_ value: Value) { mutex = Mutex(value) }
  func with<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result { mutex.withLock { body(&$0) } }
}

/// A small store in memory: countries and cities of them, written in several commits.
enum Sample {
  /// The clock of the tests: 2026-11-20 16:00 UTC.
  static let now: Int64 = 1_795_190_400_000_000_000

  static let countries: [Document] = [
    ["iso": "CH", "name": "Switzerland", "continent": "EU", "population": 8_516_543],
    ["iso": "GE", "name": "Georgia", "continent": "AS", "population": 3_731_000],
    ["iso": "JP", "name": "Japan", "continent": "AS", "population": 126_529_100],
  ]

  static let cities: [[Document]] = [
    [
      city(2_657_896, "Zürich", "CH", 341_730, "Europe/Zurich", ["Zurich", "Zurigo", "취리히"]),
      city(2_660_646, "Genève", "CH", 183_981, "Europe/Zurich", ["Geneva", "Genf", "ジュネーヴ"]),
      city(2_661_552, "Bern", "CH", 121_631, "Europe/Zurich", ["Berne", "Berna"]),
      city(2_661_604, "Basel", "CH", 164_488, "Europe/Zurich", []),
    ],
    [
      city(611_717, "თბილისი", "GE", 1_049_498, "Asia/Tbilisi", ["Tbilisi", "Tiflis"]),
      city(615_532, "Batumi", "GE", 121_806, "Asia/Tbilisi", ["ბათუმი"]),
    ],
    [
      city(1_850_147, "東京", "JP", 8_336_599, "Asia/Tokyo", ["Tokyo", "Tokio"]),
      city(1_853_909, "大阪", "JP", 2_592_413, "Asia/Tokyo", ["Osaka"]),
      city(1_857_910, "Kyōto", "JP", 1_459_640, "Asia/Tokyo", ["Kyoto", "京都"]),
      city(1_861_060, "Jōetsu", "JP", 191_000, "Asia/Tokyo", []),
    ],
  ]

  static func city(
    _ identifier: Int, _ name: String, _ country: String, _ population: Int, _ zone: String, _ other: [String]
  ) -> Document {
    .object([
      .init("geonameid", .number(NumberText(identifier))), .init("name", .string(name)),
      .init("countrycode", .string(country)), .init("population", .number(NumberText(population))),
      .init("timezone", .string(zone)), .init("alternatenames", .array(other.map { .string($0) })),
    ])
  }

  static func plan(_ datastore: String, _ identifier: String, _ indexes: [ImportPlan.Index]) throws -> ImportPlan {
    ImportPlan(datastore: datastore, identifier: try DocumentPath(parsing: identifier), indexes: indexes)
  }

  static func index(_ name: String, _ kind: IndexKind = .oneToMany) throws -> ImportPlan.Index {
    ImportPlan.Index(name: name, path: try DocumentPath(parsing: name), kind: kind)
  }

  /// Countries in one commit, then the cities of each country.
  static func store() throws -> EngineStore {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Atlas.strata", program: "tests")
    try add(countries, to: store, plan("Country", "iso", [index("name"), index("continent")]), "import countries")
    for (documents, country) in zip(cities, ["CH", "GE", "JP"]) {
      try add(documents, to: store, cityPlan(), "import \(country): \(documents.count) cities")
    }
    return store
  }

  /// A store with one datastore T of these documents, identified by `id`.
  static func documents(_ documents: [Document], _ indexes: [ImportPlan.Index] = []) throws -> EngineStore {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/T.strata", program: "tests")
    try add(documents, to: store, plan("T", "id", indexes), "import")
    return store
  }

  static func cityPlan() throws -> ImportPlan {
    try plan(
      "City", "geonameid",
      [index("name"), index("countrycode"), index("population"), index("alternatenames", .manyToMany)])
  }

  static func add(_ documents: [Document], to store: EngineStore, _ plan: ImportPlan, _ name: String) throws {
    var source = DocumentList(documents)
    _ = try Importer(store, plan).run(&source, named: name)
  }

  /// A datastore of numbered records, for size.
  static func large(_ count: Int) throws -> EngineStore {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Large.strata", program: "tests")
    let documents = (0..<count).map { number -> Document in
      .object([
        .init("id", .number(NumberText(number))), .init("name", .string("Record \(number)")),
        .init("value", .number(NumberText(number * 7919 % count))), .init("group", .string("g\(number % 10)")),
      ])
    }
    try add(documents, to: store, plan("Item", "id", [index("value"), index("group")]), "fill")
    return store
  }

  /// Changes one field from outside of the browser, as another program does.
  @discardableResult
  static func change(
    _ store: EngineStore, _ datastore: String, _ identifier: String, _ path: String, to value: Document
  )
    throws -> CommitNumber
  {
    guard let target = try store.refresh().datastore(datastore),
      let record = try target.record(target.identifier(parsing: identifier))
    else { throw ModelError.noSuchRecord(identifier, datastore: datastore) }
    let changed = try record.document().setting(DocumentPath(parsing: path), to: value)
    let edit = RecordEdit(
      datastore: datastore, identifier: record.identifier, old: record.stored,
      new: RecordContent(version: record.version, bytes: try record.coding.encode(changed)))
    return try store.commit(
      ChangeSet(base: store.head.commit, changes: [edit]), named: "from outside", options: EditOptions())
  }

  static func delete(_ store: EngineStore, _ datastore: String, _ identifier: String) throws {
    guard let target = try store.refresh().datastore(datastore),
      let record = try target.record(target.identifier(parsing: identifier))
    else { throw ModelError.noSuchRecord(identifier, datastore: datastore) }
    let edit = RecordEdit(datastore: datastore, identifier: record.identifier, old: record.stored, new: nil)
    _ = try store.commit(
      ChangeSet(base: store.head.commit, changes: [edit]), named: "deleted outside", options: EditOptions())
  }
}
