import Documents
import DatastoreModel
import StorageEngine
import TerminalKit
import Testing

@testable import StoreBrowser

@Suite("Searching, filtering, sorting, counting")
struct ScanTests {
  @Test("a sort that does not fit into memory goes through a file and gives the same order", arguments: [false, true])
  func externalSort(isDescending: Bool) throws {
    var random = SystemRandomNumberGenerator()
    let values: [Document?] = (0..<5000).map { number in
      switch number % 7 {
      case 0: nil
      case 1: .null
      case 2: .bool(number % 2 == 0)
      case 3, 4: .number(NumberText(Int.random(in: -50...50, using: &random)))
      case 5: .string("text \(Int.random(in: 0...99, using: &random))")
      default: .date(Double(Int.random(in: 0...9, using: &random)))
      }
    }
    var small = RowSorter(isDescending: isDescending, limit: 10_000)
    var large = RowSorter(isDescending: isDescending)
    for (rank, value) in values.enumerated() {
      try small.add(SortKey(value), rank: rank)
      try large.add(SortKey(value), rank: rank)
    }
    #expect(small.runCount > 10)
    let sorted = try small.sorted(goOn: {})
    #expect(try large.sorted(goOn: {}) == sorted)
    #expect(Set(sorted).count == values.count)
    for (left, right) in zip(sorted, sorted.dropFirst()) {
      let (first, second) = (SortKey(values[left]), SortKey(values[right]))
      #expect(isDescending ? !(first < second) : !(second < first))
      if first == second { #expect(left < right) }
    }
  }

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
    #expect(driver.browser.table.source?.sort?.path == ".timezone")
    #expect(driver.selectedIdentifier == "615532" || driver.selectedIdentifier == "611717")
    driver.press("G O g g")
    #expect(driver.shows("timezone ▼"))
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
    let store = try Sample.store()
    var driver: Driver? = Driver(store, start: .init(datastore: "City"), files: BrowserFiles(folder: folder))
    driver?.press("l l -")
    #expect(driver?.browser.session.remembered.columns["City"]?.hidden == [".countrycode"])
    driver?.press("h g l")
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

  @Test("Enter on an identifier of another datastore goes there; gr lists who refers here")
  func references() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2661552"))
    driver.press("3 j j Enter")
    #expect(driver.browser.session.datastore == "Country")
    #expect(driver.selectedIdentifier == "\"CH\"")
    driver.press("g r")
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
}
