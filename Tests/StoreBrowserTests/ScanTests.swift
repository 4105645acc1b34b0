import StrataDocuments
import StrataModel
import StrataExpressions
import StrataEngine
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Searching, filtering, sorting, counting")
struct ScanTests {
  @Test("/ in a text index seeks by what the key begins with; elsewhere it scans and says so")
  func search() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.browser.table.order(by: "name")
    driver.press("/")
    driver.type("Jō")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "1861060")
    #expect(driver.status.contains("INDEX name"))
    driver.browser.table.order(by: nil)
    driver.press("g g /")
    driver.type("tokyo")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "1850147")
    #expect(driver.status.contains("SCAN"))
    driver.press("n")
    #expect(driver.selectedIdentifier == "1853909")
    driver.press("N")
    #expect(driver.selectedIdentifier == "1850147")
    driver.press("/")
    driver.type("no such text")
    driver.press("Enter")
    #expect(driver.status.contains("no match"))
  }

  @Test("/ goes along while one types, says which of how many, and Esc goes back to where it began")
  func typedSearch() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("j j")
    let origin = driver.selectedIdentifier
    driver.press("/")
    driver.type("asia/t")
    let expected = try Sample.cityList(of: driver.store).filter { city in
      city.1.fields.contains { $0.value.searchText.lowercased().contains("asia/t") }
    }.map(\.0)
    #expect(expected.contains(driver.selectedIdentifier ?? ""))
    let place = try #require(expected.firstIndex(of: driver.selectedIdentifier ?? ""))
    #expect(driver.keys.contains("\(place + 1) of \(expected.count)"))
    driver.type("zzz")
    #expect(driver.keys.contains("no match"))
    driver.press("Esc")
    #expect(driver.selectedIdentifier == origin)
    driver.press("/")
    driver.type("asia/tok")
    driver.press("Enter n")
    #expect(expected.contains(driver.selectedIdentifier ?? ""))
  }

  @Test(
    "hits stay marked until Esc; n says which of how many and when it goes on from the top, and goes to the hit's column"
  )
  func markedHits() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    let expected = try Sample.cityList(of: driver.store).filter { city in
      city.1.fields.contains { $0.value.searchText.lowercased().contains("asia/tok") }
    }.map(\.0)
    driver.press("/")
    driver.type("asia/tok")
    driver.press("Enter")
    for step in 0...expected.count {
      let place = step % expected.count
      #expect(driver.selectedIdentifier == expected[place])
      #expect(driver.status.contains("hit \(place + 1) of \(expected.count)"), "\(driver.status)")
      #expect(driver.status.contains("from the top again") == (step == expected.count), "\(driver.status)")
      #expect(driver.status.contains("in .timezone"))
      driver.press("n")
    }
    #expect(driver.browser.table.selectedPath(driver.browser.session) == ".timezone")
    func marked() -> Int {
      let grid = driver.grid
      return (0..<grid.size.rows).count { row in
        let cells = Array(grid.row(row))
        return cells.indices.contains { place in
          place + 8 <= cells.count && cells[place..<place + 8].map(\.text).joined() == "Asia/Tok"
            && cells[place..<place + 8].allSatisfy { $0.style.attributes.isSuperset(of: [.bold, .underline]) }
        }
      }
    }
    #expect(marked() > 0)
    driver.press("Esc g g")
    #expect(marked() == 0)
  }

  @Test("a filter that two indexes serve reads only the records that both lead to, and keeps the table's order")
  func indexedFilter() throws {
    let driver = Driver(try Sample.large(2000), start: .init(datastore: "Item"))
    driver.press("f")
    driver.type("value < 40 and group = \"g3\"")
    driver.press("Enter")
    #expect(driver.shows("INTERSECT"))
    let kept = driver.browser.table.ranks ?? []
    #expect(kept == kept.sorted())
    #expect(kept.count == (0..<2000).count { $0 * 7919 % 2000 < 40 && $0 % 10 == 3 })
    #expect(driver.browser.table.scan?.read == kept.count)
  }

  @Test("a filter without index scans, an inverted one keeps the others, Esc takes it away")
  func scannedFilter() throws {
    let driver = Driver(try Sample.large(500), start: .init(datastore: "Item"))
    driver.press("f")
    driver.type("name $= \"7\"")
    driver.press("Enter")
    #expect(driver.shows("SCAN"))
    #expect(driver.browser.table.storedCount == 50)
    driver.press("f ^u")
    driver.type("!name $= \"7\"")
    driver.press("Enter")
    #expect(driver.browser.table.storedCount == 450)
    driver.press("Esc")
    #expect(driver.browser.table.storedCount == 500)
  }

  @Test(
    "a condition by an index's name keeps the rows of a loop, where the index answers it and where all are looked through"
  )
  func filterByIndexName() throws {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Sizes.strata", program: "tests")
    let documents = (0..<700).map { number -> Document in
      .object([
        .init("id", .number(NumberText(number))), .init("population", .number(NumberText(number * 31 % 700))),
        .init("group", .string("g\(number % 10)")),
      ])
    }
    let size = ImportPlan.Index(name: "size", path: try DocumentPath(parsing: "population"), kind: .oneToMany)
    try Sample.add(documents, to: store, Sample.plan("Item", "id", [size, Sample.index("group")]), "fill")
    func driver(_ filter: String) throws -> Driver {
      let driver = Driver(store, start: .init(datastore: "Item"))
      driver.press("f")
      driver.type(filter)
      driver.press("Enter")
      return driver
    }
    for (filter, holds) in [
      ("size > 650", { $0 > 650 }), ("size != 31", { $0 != 31 }), ("not (size > 650)", { $0 <= 650 }),
      ("!size > 650", { $0 <= 650 }),
    ] as [(String, (Int) -> Bool)] {
      let driver = try driver(filter)
      let expected = (0..<700).filter { holds($0 * 31 % 700) }
      #expect((driver.browser.table.ranks ?? []) == expected, "\(filter)")
    }
    let along = Driver(store, start: .init(datastore: "Item"))
    while along.browser.table.selectedPath(along.browser.session) != ".group" { along.press("l") }
    along.press("o")
    #expect(along.browser.table.source?.index == "group")
    along.press("f")
    along.type("size != 31")
    along.press("Enter")
    #expect(along.browser.table.storedCount == 699)
  }

  @Test("a filter or a sort that Esc stops says how much was read, and that there may be more")
  func stopped() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 140, rows: 30), start: .init(datastore: "City"))
    driver.isHolding = true
    try driver.play(":filter timezone != \"X\"")
    let id = try #require(driver.browser.session.running[.filter]?.id)
    driver.tell(.work(id, .progress(Progress(done: 3, total: 10, found: .plan("SCAN", count: nil)))))
    driver.tell(.work(id, .progress(Progress(done: 3, total: 10, found: .ranks([1, 2])))))
    driver.press("Esc")
    #expect(driver.shows("of 2+ · read 3 of 10, stopped") && !driver.shows("2 records"), "\(driver.screen)")
    let sorted = Driver(try Sample.store(), size: Size(columns: 140, rows: 30), start: .init(datastore: "City"))
    sorted.isHolding = true
    try sorted.play(":sort timezone")
    sorted.releaseAll { $0.slot != .sort && $0.slot != .filter }
    #expect(sorted.browser.session.running[.sort] != nil)
    sorted.press("Esc")
    #expect(sorted.shows("stopped before the first row") && !sorted.shows("no records"), "\(sorted.screen)")
    sorted.release()
    sorted.press("S")
    sorted.isHolding = true
    sorted.type("x")
    sorted.press("Enter Esc")
    #expect(sorted.shows("stopped before a value was found") && sorted.shows("commits, stopped"), "\(sorted.screen)")
  }

  @Test("& filters to the rows like this cell, and :view keeps the filter under a name")
  func like() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2661552"))
    while driver.browser.table.selectedPath(driver.browser.session) != ".countrycode" { driver.press("l") }
    driver.press("&")
    #expect(driver.shows("row 3 of 4"))
    #expect(driver.browser.table.source?.filter == "countrycode = \"CH\"")
    driver.press(":")
    driver.type("view Swiss")
    driver.press("Enter")
    driver.resize(Size(columns: 80, rows: 40))
    #expect(driver.shows("VIEWS"))
    #expect(driver.shows("Swiss"))
  }

  @Test("o on an indexed column is the index's order at once; on another a sort in the background")
  func sort() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    while driver.browser.table.selectedPath(driver.browser.session) != ".population" { driver.press("l") }
    driver.press("O")
    #expect(driver.browser.table.source?.index == "population")
    #expect(driver.browser.table.source?.isDescending == true)
    driver.press("g g")
    #expect(driver.selectedIdentifier == "1850147")
    while driver.browser.table.selectedPath(driver.browser.session) != ".timezone" { driver.press("l") }
    driver.press("o g g")
    #expect(driver.browser.table.source?.sort.map(\.path) == [".timezone"])
    #expect(driver.selectedIdentifier == "615532" || driver.selectedIdentifier == "611717")
    driver.press("G O g g")
    #expect(driver.shows("timezone ▼"))
  }

  @Test(
    "g o sorts by one column more, and turns one around that is there; :sort takes several; ties keep the table's order"
  )
  func sortBySeveral() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    func shown() -> [String] {
      (0..<10).compactMap { driver.browser.table.row(at: $0)?.entry.identifier.description }
    }
    let cities = try Sample.cityList(of: driver.store)
    func text(_ city: Document, _ path: String) -> String {
      if case .string(let text)? = try? city[DocumentPath(parsing: path)] { text } else { "" }
    }
    driver.press(":")
    driver.type("sort timezone:desc, name")
    driver.press("Enter")
    let expected = cities.sorted {
      let (left, right) = (text($0.1, ".timezone"), text($1.1, ".timezone"))
      return left != right ? left > right : text($0.1, ".name") < text($1.1, ".name")
    }
    #expect(shown() == expected.map(\.0))
    #expect(driver.shows("timezone ▼, name ▲"))
    while driver.browser.table.selectedPath(driver.browser.session) != ".name" { driver.press("l") }
    driver.press("g o")
    #expect(driver.shows("name ▼"))
    let turned = cities.sorted {
      let (left, right) = (text($0.1, ".timezone"), text($1.1, ".timezone"))
      return left != right ? left > right : text($0.1, ".name") > text($1.1, ".name")
    }
    #expect(shown() == turned.map(\.0))
    driver.press(":")
    driver.type("sort name,, population")
    driver.press("Enter")
    #expect(driver.shows("a field to sort by is expected"))
  }

  @Test(":explain shows the plan that the verbs print, and what was read and kept")
  func explain() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("f")
    driver.type("population > 1000000 and name ^= \"T\"")
    driver.press("Enter :")
    driver.type("explain")
    driver.press("Enter")
    let datastore = try #require(try driver.store.head.datastore("City"))
    let plan = try RecordQuery(filter: Filter(parsing: "population > 1000000 and name ^= \"T\"")).plan(in: datastore)
    for part in plan.parts { #expect(driver.shows(String(part.prefix(60)))) }
    let kept = try Sample.cityList(of: driver.store).count { city in
      guard case .string(let name)? = city.1[DocumentPath([.member("name")])] else { return false }
      return name.hasPrefix("T") && (city.1[DocumentPath([.member("population")])]?.number ?? 0) > 1_000_000
    }
    #expect(driver.shows("kept \(kept)"))
  }

  @Test(":set with a condition stages every record of the datastore that meets it, whatever the table shows")
  func setWhere() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("f")
    driver.type("countrycode = \"GE\"")
    driver.press("Enter :")
    driver.type("set timezone = \"Here\" where population > 1000000")
    driver.press("Enter")
    let big = try Sample.cityList(of: driver.store).filter {
      ($0.1[.init([.member("population")])]?.number ?? 0) > 1_000_000
    }
    #expect(driver.shows("\(big.count) records"))
    driver.press("Enter")
    #expect(driver.browser.session.staged.count == big.count)
    driver.press(":")
    driver.type("set timezone = 1 where population >")
    driver.press("Enter")
    #expect(driver.browser.overlays.last is Prompt, "what does not parse keeps the prompt open")
  }

  @Test("# counts distinct values, from an index where there is one; Enter filters to the value")
  func frequency() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    while driver.browser.table.selectedPath(driver.browser.session) != ".countrycode" { driver.press("l") }
    driver.press("#")
    #expect(driver.shows("3 values · INDEX countrycode"))
    driver.press("j j Enter")
    #expect(driver.browser.table.source?.filter == "countrycode = \"GE\"")
    #expect(driver.shows("of 2"))
    driver.press("Esc")
    while driver.browser.table.selectedPath(driver.browser.session) != ".population" { driver.press("l") }
    driver.press("#")
    #expect(driver.shows("min 121 631"))
    #expect(driver.shows("max 8 336 599"))
    #expect(driver.shows("nulls 0"))
  }

  @Test("windows: a table of any length keeps only rows near the screen, and no count is read twice")
  func windows() throws {
    let driver = Driver(try Sample.large(3000), start: .init(datastore: "Item"))
    driver.press("G")
    #expect(driver.selectedIdentifier == "2999")
    #expect(driver.browser.table.rows.count <= 60)
    for _ in 0..<40 { driver.press("PageUp") }
    #expect(driver.browser.table.rows.count <= 60)
    driver.press(":")
    driver.type("50%")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "1500")
    driver.press(":")
    driver.type("+12")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "1512")
  }

  @Test("export writes what is shown as JSON Lines, JSON or CSV", arguments: ["jsonl", "json", "csv"])
  func export(format: String) throws {
    let path = "/tmp/strata-export-\(UInt64.random(in: 0 ... .max)).\(format)"
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("f")
    driver.type("countrycode = \"GE\"")
    driver.press("Enter s ^u")
    driver.type(path)
    driver.press("Enter")
    #expect(driver.status.contains("2 records"))
    let text = try TestFile.text(path)
    switch format {
    case "csv":
      #expect(text.hasPrefix("geonameid,name,countrycode,population"))
      #expect(text.contains("611717,თბილისი,GE,1049498"))
    case "json":
      #expect(
        try JSONParser.parse(text)
          == .array(
            text.split(separator: "\n").dropFirst().dropLast().map {
              try JSONParser.parse($0.hasSuffix(",") ? String($0.dropLast()) : String($0))
            }))
    default: #expect(text.split(separator: "\n").count == 2)
    }
    TestFile.remove(path)
  }

  @Test("columns are hidden, widened, moved and remembered per store")
  func columns() throws {
    let folder = "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))"
    defer { TestFile.remove(folder) }
    let store = try Sample.store()
    var driver: Driver? = Driver(store, start: .init(datastore: "City"), files: BrowserFiles(folder: folder))
    driver?.press("l l -")
    #expect(driver?.browser.session.remembered.columns["City"]?.hidden == [".countrycode"])
    driver?.press("h g >")
    driver = nil
    let again = Driver(store, start: .init(datastore: "City"), files: BrowserFiles(folder: folder))
    let titles = again.browser.table.visibleColumns(again.browser.session).map(\.title)
    #expect(titles == ["geonameid", "population", "name", "timezone", "alternatenames"])
    again.press("=")
    #expect(again.browser.table.visibleColumns(again.browser.session).contains { $0.title == "countrycode" })
  }

  @Test("bookmarks lead back to their record, ^o and gi through places")
  func places() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2661552"))
    driver.press("m a g g ' a")
    #expect(driver.selectedIdentifier == "2661552")
    driver.press("1 g g j Enter")
    #expect(driver.browser.session.datastore == "Country")
    driver.press("^o")
    #expect(driver.browser.session.datastore == "City")
    #expect(driver.selectedIdentifier == "2661552")
    driver.press("g i")
    #expect(driver.browser.session.datastore == "Country")
  }

  @Test("Enter on an identifier of another datastore goes there; without a declaration gr only says where its value is")
  func references() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2661552"))
    driver.press("3 j j Enter")
    #expect(driver.browser.session.datastore == "Country")
    #expect(driver.selectedIdentifier == "CH")
    driver.press("g r")
    #expect(driver.shows("Entries with CH; no index is known to lead to Country"), "\(driver.screen)")
    #expect(driver.shows("City by countrycode"))
    #expect(driver.shows("4 entries"))
    driver.press("Enter")
    #expect(driver.browser.session.datastore == "City")
    #expect(driver.shows("of 4"))
  }

  @Test("verify compares an index with its records")
  func verify() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.browser.table.order(by: "alternatenames")
    driver.press("V")
    #expect(driver.status.contains("verify ✓ 16 entries, 10 records"))
  }

  @Test("verify finds a wrong entry of an index of several fields, and names it")
  func verifyCompound() throws {
    let store = try Sample.store()
    var index = try #require(try store.refresh().datastore("City")?.descriptor.index("name"))
    (index.name, index.keyPathName, index.rule) = ("town", nil, nil)
    index.tiers = [
      IndexTier(valueType: "String", rule: ".countrycode"),
      IndexTier(valueType: "Int", rule: ".population"),
    ]
    index.encoding = .compound([.string, .integer])
    _ = try store.addIndex(index, to: "City", options: EditOptions())
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.browser.table.order(by: "town")
    driver.press("V")
    #expect(driver.status.contains("verify ✓ 10 entries, 10 records: 0 orphans, 0 missing"), "\(driver.status)")

    let bern = try #require(try store.head.datastore("City")).identifier(parsing: "2661552")
    let wrong = EntryKey.make(
      value: try index.encoding.encode(.compound([.string("CH"), .integer(7)])), identifier: bern.bytes)
    let transaction = try store.engine.beginBlocking()
    _ = try transaction.insert(wrong, .none, in: .index("town", of: "City"))
    try transaction.commit(CommitInfo(action: "damage"))?.wait()
    driver.tell(.storeStirred)
    driver.press("V")
    #expect(driver.status.contains("✗ verify 11 entries, 10 records: 1 orphan, 0 missing"), "\(driver.status)")
    #expect(driver.shows("is too many"), "\(driver.screen)")
  }

  @Test("an index that is stale says so in the table, and disagrees with its records without being wrong")
  func stale() throws {
    let store = try Sample.store()
    var descriptor = try #require(try store.refresh().datastore("City")).descriptor
    var index = try #require(descriptor.index("name"))
    index.isStale = true
    descriptor.setIndex("name", to: index)
    let transaction = try store.engine.beginBlocking()
    try DatastoreWriter.store(descriptor, in: transaction)
    try transaction.commit(CommitInfo(action: "mark stale"))?.wait()
    try Sample.change(store, "City", "2661552", ".name", to: "Berna")
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.browser.table.order(by: "name")
    #expect(driver.shows("by name ⚠ stale"))
    driver.press("V")
    #expect(driver.status.contains("verify ✓ 10 entries, 10 records"), "\(driver.status)")
    #expect(driver.status.contains("stale: name (2 entries disagree)"), "\(driver.status)")
  }

  @Test("copying goes through the terminal: value, path, key, record, Swift range")
  func copying() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2661552"))
    driver.press("l y y")
    #expect(driver.copied == "Bern")
    driver.press("y k")
    #expect(driver.copied == "2661552")
    driver.press("y p")
    #expect(driver.copied == ".name")
    driver.press("y r")
    #expect(driver.copied?.contains("\"population\":121631") == true)
    driver.browser.table.order(by: "population")
    driver.press("f ^u")
    driver.type("= 100000 ..< 200000")
    driver.press("Enter 5 y k")
    #expect(driver.copied?.contains("load(100000..<200000, from:") == true)
  }

  @Test("what is copied is the value and not the line that shows it, also of a record that is not read yet")
  func copiedValues() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".name", to: "Bern\nBärn")
    try Sample.change(store, "City", "2661552", ".timezone", to: .null)
    let driver = Driver(store, start: .init(datastore: "City", identifier: "2661552"))
    let cities = try Sample.cityList(of: store)
    func names(_ identifier: String?) -> String? {
      cities.first { $0.0 == identifier }?.1[member: "alternatenames"]?.compactJSON
    }
    for (path, text) in [(".name", "Bern\nBärn"), (".timezone", "null"), (".alternatenames", names("2661552"))] {
      driver.press("h h h h h h h h")
      while driver.browser.table.selectedPath(driver.browser.session) != path { driver.press("l") }
      driver.press("y y")
      #expect(driver.copied == text, "\(path)")
    }
    driver.isHolding = true
    driver.press("k y y")
    driver.release()
    #expect(driver.selectedIdentifier != "2661552" && driver.copied == names(driver.selectedIdentifier))
    try driver.play(":group countrycode population")
    driver.press("l l y y")
    #expect(driver.copied.flatMap { Int($0) } != nil, "\(driver.copied ?? "")")
  }
}

extension Sample {
  /// The cities of a store with their identifiers, by a loop over the records.
  static func cityList(of store: any ReadableStore) throws -> [(String, Document)] {
    guard let datastore = try store.head.datastore("City") else { return [] }
    var records = try datastore.records()
    var cities: [(String, Document)] = []
    while try records.next() {
      if let record = try records.record() { cities.append((record.identifier.description, try record.document())) }
    }
    return cities
  }
}
