import StrataDocuments
import StrataModel
import StrataEngine
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Looking at a store")
struct LookingTests {
  @Test("the first screen shows datastores, indexes, records, the record and the commit")
  func firstScreen() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    #expect(driver.title.contains("Atlas.strata ▸ City"))
    #expect(driver.title.contains("HEAD #4"))
    #expect(driver.title.contains("RW"))
    #expect(driver.shows("1 Stores"))
    #expect(driver.shows("2 City"))
    #expect(driver.shows("INDEXES of City"))
    #expect(driver.shows("თბილისი"))
    #expect(driver.shows("row 1 of 10"))
    #expect(driver.shows("countrycode"))
  }

  @Test("in pane 1 V verifies the index under the cursor, and x takes out no change that is not under it")
  func commandsOfLine() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.press("d d 1")
    driver.browser.with(StoresPane.self) { pane, session in
      pane.list.selection = pane.lines(session).firstIndex(of: .index("name")) ?? 0
    }
    driver.press("x")
    #expect(driver.browser.session.staged.count == 1, "\(driver.screen)")
    #expect(driver.status.contains("no staged change is selected"), "\(driver.screen)")
    driver.press("V")
    let request = try #require(driver.works.compactMap { $0 as? VerifyRequest }.last)
    #expect(request.index == "name" && driver.browser.table.source?.index == "name", "\(driver.screen)")
    driver.browser.with(StoresPane.self) { pane, session in
      pane.list.selection = pane.lines(session).firstIndex(of: .datastore("Country")) ?? 0
    }
    driver.press("V")
    #expect((driver.works.compactMap { $0 as? VerifyRequest }.last)?.datastore == "Country", "\(driver.screen)")
  }

  @Test("V on the open datastore in pane 1 verifies all of it, and leaves the order of the table")
  func wholeDatastore() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.browser.table.order(by: "name")
    driver.press("1")
    driver.browser.with(StoresPane.self) { pane, session in
      pane.list.selection = pane.lines(session).firstIndex(of: .datastore("City")) ?? 0
    }
    driver.press("V")
    let request = try #require(driver.works.compactMap { $0 as? VerifyRequest }.last)
    #expect(request.datastore == "City" && request.index == nil, "\(driver.screen)")
    #expect(driver.browser.table.source?.index == "name", "\(driver.screen)")
  }

  @Test("movement keys move the selection and the record follows")
  func movement() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    #expect(driver.selectedIdentifier == "611717")
    driver.press("j")
    #expect(driver.selectedIdentifier == "615532")
    #expect(driver.shows("Record · 615532"))
    driver.press("G")
    #expect(driver.selectedIdentifier == "2661604")
    #expect(driver.shows("row 10 of 10"))
    driver.press("g g")
    #expect(driver.selectedIdentifier == "611717")
    driver.press(":")
    driver.type("3")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "1850147")
  }

  @Test("an index orders the table, the selection staying on its record")
  func order() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("1")
    for _ in 0..<20
    where !driver.browser.panes[StoresPane.self].lines(driver.browser.session).indices.contains(where: {
      driver.browser.panes[StoresPane.self].lines(driver.browser.session)[$0] == .index("population")
        && driver.browser.panes[StoresPane.self].list.selection == $0
    }) { driver.press("j") }
    driver.press("Enter")
    #expect(driver.browser.table.source?.index == "population")
    #expect(driver.selectedIdentifier == "611717")
    #expect(driver.shows("by population"))
    driver.press("g g")
    #expect(driver.selectedIdentifier == "2661552")
  }

  @Test("a description shows the spread of a field whole, or not at all", arguments: [80, 100, 120, 125, 160])
  func wholeSpread(columns: Int) throws {
    let documents = (0..<40).map { ["id": .number(NumberText($0)), "a rather long name of a field": 1] as Document }
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: columns, rows: 30), start: .init(datastore: "T"))
    driver.press("I")
    let isCut = driver.lines.contains { $0.contains("█…") || $0.contains(" …") && $0.contains("rather") }
    #expect(!isCut, "\(driver.screen)")
  }

  @Test("a range has its exact number before any scrolling")
  func range() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.browser.table.order(by: "population")
    driver.press("f")
    driver.press("^u")
    driver.type("= 150000 ..< 2000000")
    driver.press("Enter")
    #expect(driver.status.contains("6 entries"))
    #expect(driver.shows("row 1 of 6"))
    driver.press("Esc")
    #expect(driver.shows("of 10"))
  }

  @Test("H lists the record's commits; Enter leads to the fields, old and new")
  func history() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".population", to: 133_000)
    let driver = Driver(store, start: .init(datastore: "City", identifier: "2661552"))
    #expect(driver.selectedIdentifier == "2661552")
    driver.press("H")
    #expect(driver.shows("from outside"))
    #expect(driver.shows("import CH: 4 cities"))
    driver.press("Enter")
    #expect(driver.shows("- 121631"))
    #expect(driver.shows("+ 133000"))
    driver.press("q")
    #expect(driver.browser.views.count == 1)
    driver.press("g H")
    #expect(driver.shows("import countries"))
  }

  @Test("q closes views and then quits; Q quits from anywhere; Esc never quits")
  func quitting() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("g H")
    #expect(driver.browser.views.count == 2)
    driver.press("Esc Esc Esc Esc")
    #expect(driver.browser.views.count == 1)
    #expect(!driver.hasQuit)
    driver.press("g H q")
    #expect(!driver.hasQuit)
    driver.press("q")
    #expect(driver.hasQuit)
    let other = Driver(try Sample.store(), start: .init(datastore: "City"))
    other.press("g H Q")
    #expect(other.hasQuit)
  }

  @Test("Esc goes from a pane back to the table before it takes back a filter, and the foot says which q quits")
  func leavingTheRecord() throws {
    for columns in [40, 80, 120, 160] {
      let driver = Driver(
        try Sample.store(), size: Size(columns: columns, rows: 40), start: .init(datastore: "City"))
      try driver.play(":filter population > 150000")
      driver.press("j Enter")
      #expect(driver.browser.focus == .record, "\(driver.screen)")
      #expect(columns < 60 || driver.status.contains("Esc back"), "\(driver.screen)")
      #expect(driver.status.contains(columns < 60 ? "q close" : "q quit"), "\(driver.screen)")
      driver.press("Esc")
      #expect(driver.browser.focus == .table && driver.browser.table.source?.filter != nil, "\(driver.screen)")
      driver.press("Esc")
      #expect(driver.browser.table.source?.filter == nil && !driver.hasQuit)
      driver.press("g H")
      #expect(driver.status.contains(columns < 160 ? "q close" : "q quit"), "\(driver.screen)")
      driver.press("Esc")
      #expect(driver.browser.focus == .table && driver.browser.views.count == 1, "\(driver.screen)")
    }
  }

  @Test("a store in which nothing was ever committed says so in every pane")
  func nothingCommitted() throws {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/New.strata", program: "tests")
    let driver = Driver(store, size: Size(columns: 160, rows: 48))
    #expect(driver.title.contains("nothing is committed yet"))
    #expect(!driver.shows("reading…") && !driver.shows("✗"))
    driver.press("j k G 4 j 5 j 3 j 1 j")
    #expect(!driver.status.contains("nothing here"))
  }

  @Test("a footer of a read-only store has no keys that change it")
  func readOnlyFooter() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 160, rows: 48)) { $0.isReadOnly = true }
    #expect(driver.keys.contains("f filter") && !driver.keys.contains("e edit") && !driver.keys.contains("commit"))
  }
}
