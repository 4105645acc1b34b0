import StrataDocuments
import StrataEngine
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("Joined columns, and derived columns in searches and in the record pane")
struct JoiningTests {
  private static let names = ["CH": "Switzerland", "GE": "Georgia", "JP": "Japan"]
  private static let people = ["CH": 8_516_543, "GE": 3_731_000, "JP": 126_529_100]

  private func driver(_ store: EngineStore, _ steps: String...) throws -> Driver {
    let driver = Driver(store, size: Size(columns: 160, rows: 30), start: .init(datastore: "City"))
    for step in [": reference countrycode Country"] + steps { try driver.play(step) }
    return driver
  }

  private func cells(_ driver: Driver, _ path: String) -> [String] {
    let table = driver.browser.table
    return (0..<table.storedCount).map { table.row(at: $0)?.cells[path]?.text ?? "" }
  }

  private func identifiers(_ driver: Driver) -> [String] {
    let table = driver.browser.table
    return (0..<table.storedCount).compactMap { table.row(at: $0)?.entry.identifier.description }
  }

  private func code(_ city: Document) -> String { city[member: "countrycode"]?.searchText ?? "" }

  @Test(
    "a join shows the fields of the records to which a field leads, and null where the record or its field is missing")
  func shows() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "615532", ".countrycode", to: "XX")
    try Sample.change(store, "Country", "JP", ".population", to: .null)
    let cities = try Sample.cityList(of: store).map(\.1)
    let driver = try driver(store, ":join countrycode name, population")
    #expect(driver.status.contains("joined: countrycode leads to Country"), "\(driver.status)")
    #expect(driver.shows("Country.name"), "\(driver.screen)")
    #expect(cells(driver, ".Country.name") == cities.map { Self.names[code($0)] ?? "—" })
    #expect(
      cells(driver, ".Country.population")
        == cities.map { code($0) == "JP" ? "—" : Self.people[code($0)].map(String.init) ?? "—" })
    driver.press("l l l l l l l l")
    while driver.browser.table.selectedPath(driver.browser.session) != ".Country.name" { driver.press("h") }
    driver.press("e")
    #expect(driver.status.contains("it is joined from Country, to which countrycode leads"), "\(driver.status)")
  }

  @Test("columns that are computed or joined while the fields of a join are looked up stay beside it")
  func lookedUp() throws {
    let driver = try driver(Sample.store())
    driver.isHolding = true
    for step in [":join countrycode name", ":column half = population / 2", ":join home = countrycode population"] {
      try driver.play(step)
    }
    driver.release()
    let source = try #require(driver.browser.table.source)
    #expect(source.joined.map(\.name) == ["Country", "home"] && source.computed.count == 1, "\(driver.screen)")
  }

  @Test("a join from a joined column is refused, because no record itself leads further")
  func chains() throws {
    let driver = try driver(Sample.store(), ":reference name Country", ":join home = countrycode name, population")
    let join = ":join far = home.name population"
    for step in [":reference home.name Country", join] { try driver.play(step) }
    #expect(driver.shows("home.name is a derived column"), "\(driver.screen)")
    driver.press("Esc Esc g q")
    let text = try #require(driver.editorRequest?.text)
    driver.tell(.editorClosed(EditorOutcome(text: text + "join    far = home.name population\n")))
    #expect(driver.editorRequest?.text.contains("home.name is a derived column") == true, "\(driver.screen)")
    #expect(driver.browser.table.source?.joined.map(\.name) == ["home"])
  }

  @Test("a condition of a view that misspells a joined column is refused with the name of the column")
  func misspelt() throws {
    let driver = try driver(Sample.store(), "keys g q")
    driver.tell(
      .editorClosed(EditorOutcome(text: "where countrycode.population > 1M\njoin countrycode population\n")))
    #expect(driver.editorRequest?.text.contains("did you mean Country.population") == true, "\(driver.screen)")
  }

  @Test("joined columns are sorted, filtered and grouped by as in a loop, and computed columns are made of them")
  func orders() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store)
    let driver = try driver(store, ":join countrycode name, population", ":sort Country.name desc")
    let sorted = cities.enumerated().sorted {
      let (left, right) = (Self.names[code($0.element.1)] ?? "", Self.names[code($1.element.1)] ?? "")
      return left != right ? left > right : $0.offset < $1.offset
    }
    #expect(identifiers(driver) == sorted.map(\.element.0))
    try driver.play(":filter Country.population > 5M")
    #expect(identifiers(driver) == sorted.filter { Self.people[code($0.element.1)] ?? 0 > 5_000_000 }.map(\.element.0))
    #expect(driver.shows("SCAN"), "\(driver.screen)")
    driver.tell(.command(.filter, argument: ""))
    try driver.play(":group Country.name")
    let groups = try #require(driver.browser.panes[GroupPane.self].reply).groups
    for (code, name) in Self.names {
      let count = cities.count { self.code($0.1) == code }
      #expect(groups.contains { $0.cells[0] == .string(name) && $0.cells[1] == .number(NumberText(count)) })
    }
    driver.press("Esc")
    try driver.play(":column share = population / Country.population")
    try driver.play(":filter share > 0.05")
    let large = sorted.filter { _, city in
      guard case .number(let number)? = city.1[member: "population"], let all = Self.people[code(city.1)] else {
        return false
      }
      return (Double(number.text) ?? 0) / Double(all) > 0.05
    }
    #expect(identifiers(driver) == large.map(\.element.0), "\(driver.screen)")
  }

  @Test("a join is kept with the view, exported, named, and taken away with the filter and the order that need it")
  func kept() throws {
    let file = "/tmp/strata-joined-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(file) }
    let store = try Sample.store()
    let driver = try driver(store, ":join home = countrycode name, continent", ":export \(file)")
    let lines = try TestFile.text(file).split(separator: "\n").map(String.init)
    #expect(lines.first?.contains("home.name") == true && lines.count == 11)
    for (line, city) in zip(lines.dropFirst(), try Sample.cityList(of: store)) {
      #expect(line.hasPrefix(city.0) && line.contains(Self.names[code(city.1)] ?? "?"), "\(line)")
    }
    #expect(driver.browser.session.columnChoice("City").joined == ["home = countrycode name, continent"])
    try driver.play(":filter home.continent = \"AS\"")
    try driver.play(":sort home.name")
    #expect(driver.browser.table.storedCount == 6)
    try driver.play(":join home")
    #expect(
      driver.status.contains(
        "the columns of home are gone, and with it the filter home.continent = \"AS\" and the order by home"),
      "\(driver.status)")
    #expect(driver.browser.table.storedCount == 10 && !driver.shows("home.name"))
    #expect(driver.browser.session.columnChoice("City").joined == nil)
    driver.press("U")
    #expect(driver.browser.session.columnChoice("City").joined != nil)
  }

  @Test("new columns are in sight, and a computed column that needs them is named when they go")
  func dependent() throws {
    let driver = try driver(try Sample.store())
    driver.resize(Size(columns: 80, rows: 24))
    try driver.play(":join countrycode name, population")
    #expect(driver.shows("Country.name"), "\(driver.screen)")
    try driver.play(":column share = population / Country.population")
    try driver.play(":join Country")
    #expect(
      driver.status.contains("the columns of Country are gone; without it share is null"), "\(driver.status)")
  }

  @Test("what cannot be joined is refused with the reason")
  func refusals() throws {
    let driver = try driver(try Sample.store(), ":join countrycode name")
    for (text, words) in [
      ("timezone name", "timezone leads to no datastore; :reference timezone DATASTORE says where"),
      ("countrycode", "nothing is joined as countrycode; there are Country"),
      ("other = countrycode nmae", "Country has no field nmae; did you mean name?"),
      ("name = countrycode name", "the records have a field name"),
      ("countrycode name, name", "name is there already"),
      ("countrycode ,", "from one to 8 fields of Country follow"),
    ] {
      driver.tell(.command(.join, argument: text))
      #expect(driver.status.contains(words), "\(text): \(driver.status)")
    }
    #expect(driver.browser.table.source?.joined.map(\.text) == ["countrycode name"])
  }

  @Test("each joined record is read once for all rows that lead to it")
  func reads() throws {
    let store = try Sample.large(600)
    let groups = (0..<10).map {
      Document.object([.init("key", .string("g\($0)")), .init("name", .string("Group \($0)"))])
    }
    try Sample.add(groups, to: store, Sample.plan("Group", "key", []), "groups")
    var remembered = Naming()
    remembered.references = ["Item": [".group": "Group"]]
    let descriptor = try #require(try store.head.datastore("Item")).descriptor
    var source = RowSource(datastore: "Item")
    func nodes(_ source: RowSource) throws -> UInt64 {
      let context = WorkContext(store: store)
      let request = RowsRequest(source: source, commit: store.head.commit, first: 0, ranks: Array(0..<600))
      _ = try request.reply(in: context)
      let before = store.engine.counts.nodeReads
      let rows = try request.reply(in: context).rows
      #expect(rows.count == 600)
      if let join = source.joined.first {
        for row in rows {
          #expect(row.cells[".\(join.name).name"]?.text == "Group \(row.rank % 10)")
        }
      }
      return UInt64(store.engine.counts.nodeReads - before)
    }
    let plain = try nodes(source)
    source.joined = [try Join(parsing: "group name", of: descriptor, remembered)]
    let joined = try nodes(source)
    #expect(joined - plain <= 10 * 4, "\(plain) then \(joined)")
  }

  @Test("the joined records of a batch of rows are read in the order of their identifiers, not one by one")
  func batches() throws {
    let store = try Sample.large(4_000)
    let targets = (0..<4_000).map { number in
      Document.object([.init("key", .number(NumberText(number))), .init("name", .string("Target \(number)"))])
    }
    try Sample.add(targets, to: store, Sample.plan("Target", "key", []), "targets")
    var naming = Naming()
    naming.references = ["Item": [".value": "Target"]]
    var source = RowSource(datastore: "Item")
    let descriptor = try #require(try store.head.datastore("Item")).descriptor
    source.joined = [try Join(parsing: "value name", of: descriptor, naming)]
    let request = RowsRequest(source: source, commit: store.head.commit, first: 0, ranks: Array(0..<512))
    func nodes(_ work: () throws -> Void) rethrows -> UInt64 {
      let before = store.engine.counts.nodeReads
      try work()
      return store.engine.counts.nodeReads - before
    }
    var plain = request
    plain.source.joined = []
    let withoutJoin = try nodes { _ = try plain.reply(in: WorkContext(store: store)) }
    var rows: [Row] = []
    let withJoin = try nodes { rows = try request.reply(in: WorkContext(store: store)).rows }
    for row in rows {
      #expect(row.cells[".Target.name"]?.text == "Target \(row.rank * 7919 % 4_000)")
    }
    let datastore = try #require(try store.head.datastore("Target"))
    let lookups = try nodes {
      for row in rows { _ = try datastore.record(datastore.identifier(parsing: "\(row.rank * 7919 % 4_000)")) }
    }
    #expect(withJoin - withoutJoin < lookups / 2, "\(withJoin - withoutJoin) instead of \(lookups)")
  }

  @Test("a search finds what computed and joined columns show, in all columns and in one")
  func searches() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store)
    let driver = try driver(store, ":join countrycode name", ":column sign = \"<\" + lower(countrycode) + \">\"")
    for (text, code) in [("switzer", "CH"), ("<jp>", "JP")] {
      driver.press("g g /")
      driver.type(text)
      let expected = cities.count { self.code($0.1) == code }
      #expect(driver.keys.contains("of \(expected)"), "\(driver.keys)")
      driver.press("Enter")
      #expect(driver.selectedIdentifier == cities.first { self.code($0.1) == code }?.0)
      driver.press("n")
      #expect(driver.selectedIdentifier == cities.filter { self.code($0.1) == code }[1].0)
      driver.press("Esc")
    }
    driver.press("g g")
    while driver.browser.table.selectedPath(driver.browser.session) != ".sign" { driver.press("l") }
    driver.press("g /")
    driver.type("<ch>")
    #expect(driver.keys.contains("of 4"), "\(driver.keys)")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "2657896" && driver.status.contains("in .sign"), "\(driver.status)")
  }

  @Test(
    "the record pane shows derived fields below the record's own, finds in them, copies them and says why they stay")
  func record() throws {
    let driver = try driver(
      try Sample.store(), ":join countrycode name", ":column half = population / 2", "keys 3")
    let lines = driver.browser.record.tree.lines
    #expect(lines.filter(\.isDerived).map(\.path.description) == [".Country", ".Country.name", ".half"])
    driver.press("/")
    driver.type("Georgia")
    driver.press("Enter")
    #expect(driver.browser.record.selectedLine?.path.description == ".Country.name", "\(driver.screen)")
    driver.press("y y")
    #expect(driver.copied == "Georgia")
    for key in ["e", "d d", "C"] {
      driver.press(key)
      #expect(driver.status.contains("it is joined from Country"), "\(key): \(driver.status)")
    }
    driver.press("/")
    driver.type("half")
    driver.press("Enter e")
    #expect(driver.status.contains("it is computed: half = population / 2"), "\(driver.status)")
    #expect(driver.browser.session.staged.isEmpty)
    driver.press("2 j 3")
    #expect(driver.browser.record.tree.lines.last?.value.text == "60903", "\(driver.screen)")
  }

  @Test("groups and pivots take the names of indexes for the fields they are of")
  func indexNames() throws {
    let store = try Sample.store()
    var plan = try Sample.cityPlan()
    plan.indexes.append(ImportPlan.Index(name: "zone", path: try DocumentPath(parsing: "timezone"), kind: .oneToMany))
    let other = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Zone.strata", program: "tests")
    try Sample.add(Sample.cities.flatMap { $0 }, to: other, plan, "cities")
    let driver = Driver(other, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    let zones = Dictionary(grouping: try Sample.cityList(of: store)) { $0.1[member: "timezone"]?.searchText ?? "" }
    try driver.play(":group zone")
    let groups = try #require(driver.browser.panes[GroupPane.self].reply).groups
    #expect(groups.count == zones.count)
    for group in groups {
      let count = zones[group.cells[0].searchText]?.count ?? 0
      #expect(group.cells[1] == .number(NumberText(count)))
    }
    driver.press("Esc")
    try driver.play(":pivot zone countrycode")
    #expect(driver.shows("City by timezone × countrycode"), "\(driver.screen)")
    #expect(driver.browser.panes[PivotPane.self].rows.map(\.searchText) == zones.keys.sorted())
  }

  @Test("a join leads to records in an order that only the app knows, which their bytes do not have")
  func disordered() throws {
    let store = try Sample.store()
    try drawFlags(in: store)
    let cities = try Sample.cityList(of: store).map(\.1)
    let driver = Driver(store, size: Size(columns: 160, rows: 30), start: .init(datastore: "City"))
    for step in [": reference countrycode Flag", ":join countrycode name"] { try driver.play(step) }
    #expect(driver.shows("Flag.name"), "\(driver.screen)")
    #expect(cells(driver, ".Flag.name") == cities.map { Self.names[code($0)] ?? "—" })
  }

  @Test("an undo that brings back the state before is not refused for an order that only the app knows")
  func undoOfDisordered() throws {
    let store = try Sample.store()
    try drawFlags(in: store)
    let request = ReviewRequest(subject: .undo(store.head.commit, isRedo: false))
    let answer = try request.reply(in: WorkContext(store: store))
    #expect(answer.changes.count == Self.names.count && answer.preview?.refusals == [])
    _ = try store.undo(store.head.commit, named: "undo")
    #expect(try store.refresh().datastore("Flag") == nil)
  }

  private func drawFlags(in store: EngineStore) throws {
    final class Backwards: KeyComparator {
      func comparison(to key: [UInt8]) -> KeyComparison {
        KeyComparison { stored in key.withUnsafeBytes { compareKeys($0, stored) } }
      }
    }
    let descriptor = DatastoreDescriptor(
      key: "Flag", identifierType: "Code", identifierEncoding: .comparator("Code"), coding: .json,
      identifierPath: ".id")
    _ = try store.engine.write(CommitInfo(action: "draw")) { transaction throws(ModelError) in
      try DatastoreWriter.create(descriptor, in: transaction)
      let writer = DatastoreWriter(descriptor, in: transaction, identifiers: .comparator(Backwards())) { _ in .bytes }
      try onStorage {
        for (code, name) in Self.names {
          let content = try RecordCoding.json.encode(["id": .string(code), "name": .string(name)])
          try writer.put(
            Document.string(code).canonicalBytes, RecordBytes.make(version: "1", content: content), values: [],
            replacing: nil)
        }
        try writer.finish()
      }
    }.get()
  }
}
