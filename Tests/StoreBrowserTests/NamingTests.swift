import StrataModel
import StrataDocuments
import Foundation
import StrataEngine
import StrataTerminal
import Testing

@testable import StoreBrowser

/// References and labels: what a screen says is compared with a loop over the records.
@Suite("References and labels in the browser")
struct NamingTests {
  /// The sample, whose cities say that their country code leads to a country.
  static func declared() throws -> EngineStore {
    let store = try Sample.store()
    try redescribe(store, "City") { descriptor in
      var index = try #require(descriptor.index("countrycode"))
      index.target = "Country"
      descriptor.setIndex(index.name, to: index)
    }
    return store
  }

  static func redescribe(
    _ store: EngineStore, _ datastore: String, _ change: (inout DatastoreDescriptor) throws -> Void
  ) throws {
    var descriptor = try #require(try store.refresh().datastore(datastore)).descriptor
    try change(&descriptor)
    let changed = descriptor
    _ = try store.engine.write(CommitInfo(action: "declare")) { transaction throws(ModelError) in
      try DatastoreWriter.store(changed, in: transaction)
    }.get()
    _ = try store.refresh()
  }

  static func driver(_ store: EngineStore, _ datastore: String = "City", files: BrowserFiles = .none) -> Driver {
    Driver(store, size: Size(columns: 80, rows: 50), start: .init(datastore: datastore), files: files)
  }

  static let names = Dictionary(
    uniqueKeysWithValues: Sample.countries.map { ($0.text("iso"), $0.text("name")) })
  static let cities = Sample.cities.flatMap { $0 }

  // MARK: The review

  @Test("a review tells which references would name what is not there; records that go together leave none")
  func danglingInReview() throws {
    let store = try Self.declared()
    let driver = Driver(store, size: Size(columns: 120, rows: 50), start: .init(datastore: "Country"))
    driver.press("G d d w")
    let losing = Self.cities.filter { $0.text("countrycode") == "JP" }.compactMap {
      $0[member: "geonameid"]?.compactJSON
    }
    #expect(losing.count == 4)
    for identifier in losing { #expect(driver.shows("⚠ City/\(identifier) would name Country/"), "\(driver.screen)") }
    #expect(driver.screen.components(separatedBy: "would name").count == 1 + losing.count)
    #expect(!driver.shows("4 warnings"), "\(driver.screen)")
    driver.resize(Size(columns: 80, rows: 16))
    #expect(!driver.shows("would name") && driver.shows("4 warnings at the end of the list"), "\(driver.screen)")
    driver.resize(Size(columns: 120, rows: 50))

    func edit(_ datastore: String, _ identifier: String, _ change: (Document) throws -> Document?) throws -> RecordEdit
    {
      let target = try #require(try store.refresh().datastore(datastore))
      let record = try #require(try target.record(target.identifier(parsing: identifier)))
      let new = try change(record.document()).map {
        RecordContent(version: record.version, bytes: try record.coding.encode($0))
      }
      return RecordEdit(datastore: datastore, identifier: record.identifier, old: record.stored, new: new)
    }
    func told(_ edits: [RecordEdit]) throws -> [String] {
      try store.preview(ChangeSet(base: store.head.commit, changes: edits), options: EditOptions()).dangling.map {
        "\($0.place.identifier) \($0.target.identifier.value)"
      }
    }
    func setting(_ path: String, _ value: Document) -> (Document) throws -> Document? {
      { try $0.setting(DocumentPath(parsing: path), to: value) }
    }
    let japan = try edit("Country", "JP") { _ in nil }
    let named = "\(japan.identifier.value)"
    // A city that is edited elsewhere still names it.
    let tokyo = try edit("City", "1850147", setting(".population", 1))
    #expect(try Set(told([japan, tokyo])) == Set(losing.map { "\($0) \(named)" }))
    // What goes too, or names another country, is not told.
    let moved = try edit("City", "1850147", setting(".countrycode", "CH"))
    let osaka = try edit("City", "1853909") { _ in nil }
    #expect(try told([japan, moved, osaka]).count == losing.count - 2)
    #expect(try told([edit("City", "1850147", setting(".countrycode", "XX"))]).count == 1)
    #expect(try told([tokyo]).isEmpty && told([moved]).isEmpty && told([osaka]).isEmpty)
  }

  // MARK: The record pane

  @Test("each record shows where its references lead; Enter follows and ^o comes back")
  func follow() throws {
    let driver = Self.driver(try Self.declared())
    driver.press("3")
    for _ in Self.cities {
      let identifier = try #require(driver.selectedIdentifier)
      let city = try #require(Self.cities.first { $0[member: "geonameid"]?.compactJSON == identifier })
      let name = try #require(Self.names[city.text("countrycode")])
      #expect(driver.shows("\"\(city.text("countrycode"))\" → Country \(name)"), "\(identifier):\n\(driver.screen)")
      #expect(driver.shows("Record · \(identifier) \(city.text("name"))"))
      driver.press("J")
    }
    driver.press("g g j j Enter")
    #expect(driver.browser.table.source?.datastore == "Country")
    #expect(driver.selectedIdentifier == "CH", "\(driver.screen)")
    driver.press("^o")
    #expect(driver.browser.table.source?.datastore == "City")
    #expect(driver.selectedIdentifier == "2661604")
    // Back on the field, so that another Enter follows it again.
    #expect(driver.browser.focus == .record)
    #expect(driver.browser.record.selectedLine?.path == DocumentPath([.member("countrycode")]), "\(driver.screen)")
  }

  @Test("what dangles is marked in words, also while it is only staged, and Enter says that it leads nowhere")
  func dangling() throws {
    let store = try Self.declared()
    try Sample.change(store, "City", "611717", ".countrycode", to: "XX")
    let driver = Self.driver(store)
    driver.press("3 j j")
    #expect(driver.shows("\"XX\" ✗ not in Country"), "\(driver.screen)")
    driver.press("Enter")
    #expect(driver.status.contains("Country has no record \"XX\": the reference dangles"), "\(driver.status)")
    #expect(driver.browser.table.source?.datastore == "City")
    // Also while the target is still looked up.
    driver.browser.record.targets = [:]
    driver.press("Enter")
    #expect(driver.browser.overlays.isEmpty, "\(driver.screen)")
    #expect(driver.status.contains("Country has no record \"XX\": the reference dangles"), "\(driver.status)")
    driver.press("e ^u")
    driver.type("JP")
    driver.press("Enter")
    #expect(driver.shows("→ Country Japan"), "\(driver.screen)")
    driver.press("e ^u")
    driver.type("YY")
    driver.press("Enter")
    #expect(driver.shows("✗ not in Country"), "\(driver.screen)")
  }

  @Test("who refers to each record is what a loop counts, by the index that leads there, and nobody is said to")
  func referrers() throws {
    let store = try Self.declared()
    try Sample.add(
      [["iso": "FR", "name": "France", "continent": "EU", "population": 1]], to: store,
      Sample.plan("Country", "iso", [Sample.index("name"), Sample.index("continent")]), "one more")
    for (code, name) in Self.names {
      let driver = Self.driver(store, "Country")
      try driver.play(": filter iso = \"\(code)\"")
      driver.press("g r")
      let expected = Self.cities.filter { $0.text("countrycode") == code }
      #expect(driver.shows("Records that refer to \(code) \(name)"), "\(driver.screen)")
      let first = expected.map { $0[member: "geonameid"]?.number ?? 0 }.min().map { "\(Int($0))" } ?? ""
      let label = expected.first { $0[member: "geonameid"]?.compactJSON == first }?.text("name") ?? ""
      #expect(driver.shows("City by countrycode  \(first) \(label)"), "\(driver.screen)")
      #expect(driver.shows("\(expected.count) entries"), "\(driver.screen)")
      driver.press("Enter")
      #expect(driver.browser.table.source?.datastore == "City")
      #expect(driver.browser.table.bounds.count == expected.count)
    }
    let driver = Self.driver(store, "Country")
    try driver.play(": filter iso = \"FR\"")
    driver.press("g r")
    #expect(driver.status.contains("no record refers to FR France"), "\(driver.status)")
  }

  // MARK: What a person tells

  @Test("a field leads where a person says, in this browser, and that is remembered; what makes no sense is told")
  func told() throws {
    let store = try Sample.store()
    let driver = Self.driver(store)
    driver.press("3")
    #expect(!driver.shows("→ Country"))
    for (command, complaint) in [
      (": reference countrycode Nowhere", "there is no datastore Nowhere; there are City, Country"),
      (": reference nothing Country", "no record that was read has “nothing”"),
      (": reference countrycode", "leads nowhere"),
      (": reference countrycode b c", "there is no datastore b c"), (": reference \"a b\" c", "has “a b”"),
      (": reference .[x Country", "is not a field"),
    ] {
      try driver.play(command)
      #expect(driver.status.contains(complaint), "\(command): \(driver.status)")
      #expect(driver.browser.session.remembered.references ?? [:] == [:])
    }
    try driver.play(": reference countrycode Country")
    #expect(driver.shows("\"GE\" → Country Georgia"), "\(driver.screen)")
    #expect(store.head.commit == driver.browser.session.head)
    driver.press("j j Enter g r")
    #expect(driver.shows("City by countrycode  611717"), "\(driver.screen)")
    let kept = try JSONEncoder().encode(driver.browser.session.remembered)
    let again = try JSONDecoder().decode(Remembered.self, from: kept)
    #expect(again.naming == driver.browser.session.naming)
    #expect(again.references == ["City": [".countrycode": "Country"]])
    let declared = Self.driver(try Self.declared())
    try declared.play(": reference countrycode City")
    #expect(declared.status.contains("countrycode is declared to lead to Country"), "\(declared.status)")
  }

  @Test("files of before there were labels are read")
  func oldFiles() throws {
    let old = Data(#"{"columns":{},"views":[],"bookmarks":{},"searches":[],"commands":[]}"#.utf8)
    #expect(try JSONDecoder().decode(Remembered.self, from: old).naming == Naming())
  }

  @Test("a column shows the label that its references lead to, as in a loop, and stays a column of identifiers")
  func columns() throws {
    let store = try Self.declared()
    try Sample.change(store, "City", "615532", ".countrycode", to: "XX")
    let driver = Self.driver(store)
    driver.press("l l")
    #expect(driver.browser.table.selectedPath(driver.browser.session) == ".countrycode")
    try driver.play(": format label")
    for city in Self.cities {
      let code = city[member: "geonameid"]?.compactJSON == "615532" ? "XX" : city.text("countrycode")
      let shown = Self.names[code].map { "\(code) → \($0)" } ?? "\(code) ✗"
      let line = driver.lines.first { $0.contains(city[member: "geonameid"]?.compactJSON ?? "?") && $0.contains(shown) }
      #expect(line != nil, "\(shown):\n\(driver.screen)")
    }
    driver.press("&")
    #expect(driver.browser.table.source?.filter?.contains("GE") == true)
    driver.press("Esc")
    try driver.play(": format plain")
    #expect(!driver.lines.contains { $0.contains("→ Georgia") && $0.contains("1049498") }, "\(driver.screen)")
    driver.press("l")
    try driver.play(": format label")
    #expect(driver.status.contains("leads nowhere"), "\(driver.status)")
  }

  @Test("records are called by the field that a person chose, in every place that names one")
  func label() throws {
    let store = try Sample.store()
    let driver = Self.driver(store)
    try driver.play(": label timezone")
    #expect(driver.shows("Record · 611717 Asia/Tbilisi"), "\(driver.screen)")
    driver.press("5")
    #expect(driver.shows("611717 Asia/Tbilisi"))
    driver.press("q 3 H")
    #expect(driver.shows("City/611717 Asia/Tbilisi"), "\(driver.screen)")
    driver.press("q 2 d d w")
    #expect(driver.shows("City/611717  Asia/Tbilisi"), "\(driver.screen)")
    driver.press("Esc")
    try driver.play(": label")
    #expect(driver.shows("Record · 611717 თბილისი"), "\(driver.screen)")
    try driver.play(": label nothing")
    #expect(driver.status.contains("no record that was read has “nothing”"), "\(driver.status)")
  }

  @Test(
    "a record is called by its name, title or label, else by its first text that is not a code",
    arguments: [
      (["id": "a", "title": "Solaris", "name": ""], "Solaris"),
      (["id": "abcdef", "code": "xy", "note": "abcd\nb c"], "abcd"),
      (["id": "abcdef", "note": "long text"], "long text"), (["n": 1], nil), (["label": "L"], "L"),
    ] as [(Document, String?)])
  func labels(document: Document, label: String?) { #expect(document.label() == label) }

  @Test("a label is one short line, however long the text is that it is made of")
  func longLabel() {
    let text = "\n\nten megabytes" + String(repeating: " of text", count: 1_000_000)
    let label = Document.object([.init("note", .string(text))]).label()
    #expect(label?.count == 80 && label?.hasPrefix("ten megabytes of text") == true && label?.hasSuffix("…") == true)
    #expect(Document.object([.init("note", "first\nsecond")]).label() == "first")
  }

  // MARK: Entities

  static func entity(_ id: String, _ type: String, _ properties: [(String, String, Document)]) -> Document {
    let date: Document = "2020-01-21T10:00:00.000Z"
    return .object([
      .init("created", date), .init("id", .string(id)),
      .init(
        "properties",
        .object(
          properties.map { name, kind, value in
            .init(name, .object([.init("datestamp", date), .init(kind, value), .init("type", .string(kind))]))
          })), .init("type", .string(type)),
    ])
  }

  static func entities() throws -> EngineStore {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Entities.strata", program: "tests")
    try Sample.add(
      [
        entity(
          "book-7", "book", [("author", "entity", "person-3"), ("name", "string", "Dune"), ("pages", "integer", 412)]),
        entity("book-8", "book", [("author", "entity", "nobody"), ("name", "string", "Emma")]),
        entity("person-3", "person", [("name", "string", "Frank")]),
      ], to: store, Sample.plan("Entities", "id", [Sample.index("type")]), "entities")
    try redescribe(store, "Entities") { $0.instanceType = "Entity" }
    return store
  }

  @Test("entities are shown by their type and label, their properties in a line each, and Enter follows")
  func entities() throws {
    let driver = Self.driver(try Self.entities(), "Entities")
    #expect(driver.shows("Record · book-7 book Dune"), "\(driver.screen)")
    #expect(driver.lines.contains { $0.contains("book-7") && $0.contains("Dune") && $0.contains("→ person Frank") })
    #expect(driver.lines.contains { $0.contains("book-8") && $0.contains("nobody ✗") }, "\(driver.screen)")
    driver.press("3")
    #expect(driver.shows("\"person-3\" → Entities person Frank"), "\(driver.screen)")
    #expect(driver.shows("412"))
    let author = try #require(driver.browser.record.tree.lines.firstIndex { $0.name == "author" })
    for _ in 0..<author { driver.press("j") }
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "person-3", "\(driver.screen)")
    driver.press("^o")
    #expect(driver.selectedIdentifier == "book-7")
    // Unfolded, a property shows all that is kept of it.
    driver.press("3 g g")
    for _ in 0..<author { driver.press("j") }
    driver.press("l")
    #expect(driver.browser.record.tree.lines.contains { $0.name == "datestamp" }, "\(driver.screen)")
  }

  // MARK: The life of a number

  static let days: [(day: Int64, value: Int)] = [(0, 100), (10, 300), (20, 250), (60, 900), (100, 0)]

  /// A record whose number was another one on some days.
  static func gauge() throws -> EngineStore {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Gauge.strata", program: "tests")
    let descriptor = DatastoreDescriptor(
      key: "Gauge", identifierType: "String", identifierEncoding: .string, coding: .json, identifierPath: ".id")
    let key = try descriptor.identifierEncoding.encode(.string("Aare"))
    for (day, value) in days {
      let content: Document = ["id": "Aare", "level": .number(NumberText(value)), "place": "Bern, Schönau"]
      let bytes = RecordBytes.make(version: "1", content: try RecordCoding.json.encode(content))
      let date = 1_767_225_600_000_000_000 + day * 86_400_000_000_000
      _ = try store.engine.write(CommitInfo(date: date, action: "measure")) { transaction throws(ModelError) in
        try onStorage {
          if try transaction.tree(.records(of: "Gauge")) == nil {
            try DatastoreWriter.create(descriptor, in: transaction)
          }
          let writer = DatastoreWriter(descriptor, in: transaction)
          try writer.put(key, bytes, values: [], replacing: writer.current(key), oldValues: [])
          try writer.finish()
        }
      }.get()
    }
    _ = try store.refresh()
    return store
  }

  @Test("a number over time is a line through the values of all versions, at the dates of their commits")
  func life() throws {
    let store = try Self.gauge()
    let driver = Driver(store, size: Size(columns: 80, rows: 50), start: .init(datastore: "Gauge"))
    driver.press("3 j")
    #expect(driver.browser.record.selectedLine?.name == "level")
    #expect(driver.shows("2026-01-01") && driver.shows("2026-04-11"), "\(driver.screen)")
    #expect(driver.shows("900"))
    let life = try #require(driver.browser.record.blame?.lives[".level"])
    let versions = try store.versions(
      of: StoredKey(bytes: try KeyEncoding.string.encode(.string("Aare")), value: .string("Aare")), in: "Gauge",
      from: store.head.commit, limit: 100)
    let expected = try versions.reversed().compactMap { version in
      try version.record?.document()[member: "level"]?.number.map { (version.commit.date, $0) }
    }
    #expect(life.map(\.date) == expected.map(\.0) && life.map(\.number) == expected.map(\.1))
    // In each column of dots lies the value that was in force on that day, and at the ends of a step what it left.
    let cells = Size(columns: 40, rows: 6)
    let chart = try #require(LifeChart(life, until: expected.last?.0)).dots(cells, form: .braille)
    let (first, last) = (expected[0].0, expected[expected.count - 1].0)
    for column in 0..<chart.columns {
      let filled = (0..<chart.rows).filter { chart.counts[0][$0 * chart.columns + column] > 0 }
      let date = first + Int64(Double(last - first) * Double(column) / Double(chart.columns - 1))
      let step = Int64(1.5 * Double(last - first) / Double(chart.columns - 1))
      let near = expected.indices.filter { place in
        let end = place + 1 < expected.count ? expected[place + 1].0 : .max
        return expected[place].0 <= date + step && end >= date - step
      }.map { expected[$0].1 }
      let rows = near.map { chart.rows - 1 - min(chart.rows - 1, Int($0 / 900 * Double(chart.rows))) }
      #expect(!filled.isEmpty, "column \(column)")
      #expect(filled.first ?? 0 >= rows.min() ?? 0 && filled.last ?? 0 <= rows.max() ?? 0, "column \(column)")
    }
    driver.press("j")
    #expect(!driver.shows("2026-01-01"), "what is not a number has no line")
  }

  @Test("the life of a number at each size is as it was", arguments: [false, true])
  func picture(isASCII: Bool) throws {
    for size in [Size(columns: 80, rows: 40), Size(columns: 120, rows: 40)] {
      let driver = Driver(try Self.gauge(), size: size, start: .init(datastore: "Gauge")) {
        $0.theme.isASCII = isASCII
      }
      driver.press("3 j b")
      try Snapshot.check(
        isASCII ? driver.grid.asciiOnly() : driver.grid, named: "picture-life-\(size)\(isASCII ? "-ascii" : "")")
    }
  }
}

extension Document {
  fileprivate func text(_ name: String) -> String {
    if case .string(let text)? = self[member: name] { text } else { "" }
  }
}
