import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Rows that are still to come")
struct UnfinishedRowsTests {
  private static let all = ":filter timezone != \"X\""

  private func driver(_ store: (any ReadableStore)? = nil) throws -> Driver {
    Driver(try store ?? Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
  }

  @Test("rows of a range are marked in their order, also those that were never on the screen")
  func markedRange() throws {
    let driver = Driver(try Sample.large(500), size: Size(columns: 120, rows: 20), start: .init(datastore: "Item"))
    driver.press("v G Space")
    #expect(driver.browser.table.marks.map(\.description) == (0..<500).map { "\($0)" }, "\(driver.screen)")
  }

  @Test("a filter that was left fills no rows of the order that is shown by then")
  func leftFilter() throws {
    let driver = try driver()
    driver.isHolding = true
    try driver.play(Self.all)
    let filter = try #require(driver.browser.session.running[.filter]?.id)
    driver.browser.openDatastore("Country", index: nil)
    driver.tell(.tick(nil))
    driver.releaseAll { $0.slot != .filter }
    try driver.play(":sort population")
    driver.releaseAll { $0.slot != .filter }
    #expect(driver.browser.table.ranks == [1, 0, 2], "\(driver.screen)")
    driver.tell(.work(filter, .progress(Progress(done: 3, total: 10, found: .ranks([0, 1, 2])))))
    #expect(driver.browser.table.ranks == [1, 0, 2], "\(driver.screen)")
    driver.release()
    #expect(driver.browser.table.ranks == [1, 0, 2], "\(driver.screen)")
  }

  @Test("Esc that ends a search leaves the filter running, and does not say that it stopped")
  func endedSearch() throws {
    let driver = try driver()
    driver.isHolding = true
    try driver.play(Self.all)
    let filter = try #require(driver.browser.session.running[.filter]?.id)
    driver.tell(.work(filter, .progress(Progress(done: 3, total: 10, found: .plan("SCAN", count: nil)))))
    driver.tell(.work(filter, .progress(Progress(done: 3, total: 10, found: .ranks([1, 2])))))
    try driver.play("keys /\ntype x\nkeys Enter")
    #expect(driver.browser.session.isRunning(.search))
    driver.press("Esc")
    #expect(!driver.browser.session.isRunning(.search) && driver.browser.session.isRunning(.filter))
    #expect(driver.browser.table.scan?.isRunning == true && !driver.shows("stopped"), "\(driver.screen)")
  }

  @Test("an export that waits for rows begins when they are found, also if another view is open by then")
  func exportOutOfSight() throws {
    let driver = try driver()
    driver.isHolding = true
    try driver.play(Self.all)
    driver.press("3")
    try driver.play(":export /tmp/strata-no-folder/cities.jsonl")
    #expect(driver.status.contains("export follows"), "\(driver.screen)")
    driver.press("g H")
    #expect(driver.browser.layout.rect(of: .table) == nil && driver.browser.table.waiting != nil, "\(driver.screen)")
    driver.releaseAll { $0.slot != .export }
    #expect(driver.browser.session.isRunning(.export) && driver.browser.focus == .history, "\(driver.screen)")
  }

  @Test("a hit is gone to by its record if the rows were sorted during the search")
  func sortedMeanwhile() throws {
    let driver = try driver()
    try driver.play(":filter population > 0")
    driver.isHolding = true
    try driver.play(":sort timezone desc")
    driver.releaseAll { $0.slot != .sort }
    #expect(driver.browser.table.storedCount == 10 && driver.browser.session.isRunning(.sort), "\(driver.screen)")
    try driver.play("keys /\ntype Kyōto\nkeys Enter")
    driver.releaseFirst { $0.slot == .sort }
    driver.release()
    #expect(driver.browser.table.ranks?.first != 0, "\(driver.screen)")
    #expect(driver.selectedIdentifier == "1857910", "\(driver.screen)")
  }

  @Test(
    "a table that could not be read is asked for again with the store's outline, and does not stay as it was before")
  func askedAgain() throws {
    let store = try Sample.store()
    let driver = try driver(store)
    driver.isHolding = true
    try Sample.change(store, "City", "2661552", ".population", to: 7)
    driver.tell(.storeStirred)
    driver.releaseFirst { $0.slot == .refresh }
    let table = try #require(driver.browser.session.running[.table]?.id, "\(driver.screen)")
    driver.tell(.work(table, .failed(.storage("damaged node at byte 4711", kind: .damaged))))
    driver.release()
    #expect(driver.browser.table.opened?.commit == store.head.commit && !driver.shows("4711"), "\(driver.screen)")
  }

  @Test(
    "an export, a change and a delete of all rows wait for the rows of a filter",
    arguments: ["export", "set", "delete"])
  func waiting(command: String) throws {
    let file = "/tmp/strata-waiting-\(UInt64.random(in: 0 ... .max)).jsonl"
    defer { TestFile.remove(file) }
    let arguments = ["export": " \(file)", "set": " population = 7"]
    let driver = try driver()
    driver.isHolding = true
    try driver.play(Self.all)
    try driver.play(":\(command)\(arguments[command] ?? "")")
    #expect(driver.status.contains("still being found") && driver.browser.overlays.isEmpty, "\(driver.screen)")
    driver.release()
    if command == "export" {
      #expect(try TestFile.lines(file).count == 10, "\(driver.screen)")
    } else {
      #expect((driver.browser.overlays.last as? BulkOverlay)?.asked.which.count == 10, "\(driver.screen)")
    }
  }

  @Test("a preview that waits for rows does not come over a line that is being typed by then")
  func typedMeanwhile() throws {
    let driver = try driver()
    driver.isHolding = true
    try driver.play(Self.all)
    try driver.play(":set population = 7")
    driver.press("/")
    driver.release()
    #expect(driver.browser.table.ranks?.count == 10 && driver.browser.overlays.count == 1, "\(driver.screen)")
    #expect(driver.browser.overlays.last is Prompt, "\(driver.screen)")
    driver.press("Esc")
    #expect((driver.browser.overlays.last as? BulkOverlay)?.asked.which.count == 10, "\(driver.screen)")
  }

  @Test("a command that waits for rows is given up with another command, and with the filter")
  func givenUp() throws {
    for keys in ["j", "Esc"] {
      let driver = try driver()
      driver.isHolding = true
      try driver.play(Self.all)
      try driver.play(":set population = 7")
      driver.press(keys)
      driver.release()
      #expect(driver.browser.overlays.isEmpty, "\(keys): \(driver.screen)")
    }
  }

  @Test("an export that waits for rows does not write those found so far when rows cannot be read")
  func unreadable() throws {
    let driver = try driver()
    driver.isHolding = true
    try driver.play(Self.all)
    let filter = try #require(driver.browser.session.running[.filter]?.id)
    driver.tell(.work(filter, .progress(Progress(done: 3, total: 10, found: .plan("SCAN", count: nil)))))
    try driver.play(":export /tmp/strata-unread.jsonl")
    #expect(driver.browser.table.waiting != nil, "\(driver.screen)")
    driver.browser.table.rows = [:]
    driver.tell(.work(filter, .progress(Progress(done: 3, total: 10, found: .ranks([1, 2])))))
    let rows = try #require(driver.browser.session.running[.rows]?.id, "\(driver.screen)")
    driver.tell(.work(rows, .failed(.storage("damaged node at byte 4711", kind: .damaged))))
    #expect(driver.status.contains("export is left out") && driver.browser.table.waiting == nil, "\(driver.screen)")
    #expect(!driver.works.contains { $0 is ExportRequest }, "\(driver.screen)")
  }

  @Test("a view with a condition, a limit and groups counts the rows that it shows")
  func limitedGroups() throws {
    let driver = try driver()
    let query = "where population > 200000\norder name\nlimit 2\ngroup countrycode\n"
    driver.browser.show(NamedView(name: "two", datastore: "City", filter: "", query: query))
    driver.tell(.tick(nil))
    let groups = driver.browser.panes[GroupPane.self].reply?.groups ?? []
    #expect(
      groups.map { "\($0.cells[0].searchText) \($0.cells[1].compactJSON)" } == ["CH 1", "JP 1"], "\(driver.screen)")
  }

  @Test("Enter on a value that was counted in filtered rows shows these rows of it, and no others")
  func countedInFilter() throws {
    let driver = try driver()
    try driver.play(":filter population > 200000")
    try driver.play(":frequency countrycode")
    let counted = try #require(driver.browser.panes[FrequencyPane.self].selected?.count)
    driver.press("Enter")
    #expect(counted == 3 && driver.browser.table.storedCount == 3, "\(driver.screen)")
  }

  @Test("a rectangle in a plot of filtered rows keeps the filter")
  func rectangleInFilter() throws {
    let driver = try driver()
    try driver.play(":filter timezone != \"Asia/Tokyo\"")
    try driver.play(":plot population geonameid")
    driver.press("g g v G Enter")
    #expect(driver.browser.table.storedCount == 6, "\(driver.screen)")
  }

  @Test("a range from stored records to a staged new one is marked whole")
  func markedNew() throws {
    let driver = try driver()
    let new = RecordContent(version: "", bytes: Array(#"{"geonameid":9000000,"name":"New"}"#.utf8))
    let city = try #require(try driver.store.head.datastore("City"))
    let edit = RecordEdit(
      datastore: "City", identifier: try city.identifier(parsing: "9000000"), old: nil, new: new)
    driver.browser.stage(StagedStep(title: "new", edits: [edit]))
    driver.press("G k v j Space")
    #expect(driver.browser.table.marks.map(\.description) == ["2661604", "9000000"], "\(driver.screen)")
  }

  @Test("the identifier is not taken for a field that has its value in the first rows alone")
  func identifierField() throws {
    let store = try Sample.documents([["id": 1, "a": 1]])
    var descriptor = try #require(try store.refresh().datastore("T")).descriptor
    descriptor.identifierPath = nil
    let transaction = try store.engine.beginBlocking()
    try DatastoreWriter.store(descriptor, in: transaction)
    try transaction.commit(CommitInfo(action: "without the path"))?.wait()
    let driver = Driver(store, start: .init(datastore: "T"))
    let key = try #require(try store.refresh().datastore("T")).identifier(parsing: "2")
    let new = RecordContent(version: descriptor.version, bytes: Array(#"{"id":2,"a":7}"#.utf8))
    let edit = RecordEdit(datastore: "T", identifier: key, old: nil, new: new)
    _ = try store.commit(ChangeSet(changes: [edit]), named: "from outside", options: EditOptions())
    driver.tell(.storeStirred)
    #expect(driver.browser.table.columns.identifierPath == ".id", "\(driver.screen)")
    #expect(
      driver.browser.table.visibleColumns(driver.browser.session).map(\.title) == ["id", "a"], "\(driver.screen)")
  }

  @Test("the column of a hit is gone to once, and not again with the rows of another commit")
  func hitColumn() throws {
    let store = try Sample.store()
    let driver = try driver(store)
    try driver.play("keys /\ntype Bern\nkeys Enter")
    #expect(driver.browser.table.selectedPath(driver.browser.session) == ".name", "\(driver.screen)")
    driver.press("l")
    let path = driver.browser.table.selectedPath(driver.browser.session)
    try Sample.change(store, "City", "611717", ".population", to: 7)
    driver.tell(.storeStirred)
    #expect(driver.browser.table.selectedPath(driver.browser.session) == path && path != ".name", "\(driver.screen)")
  }

  @Test("a filter that was typed at a commit without the index of the order stays when the order comes back")
  func keptFilter() throws {
    let driver = try driver()
    try driver.play(":add-index zone=timezone")
    driver.browser.returnToMain(focus: .table)
    driver.browser.table.order(by: "zone")
    driver.tell(.tick(nil))
    driver.press(",")
    #expect(driver.browser.table.source?.index == nil, "\(driver.screen)")
    try driver.play(":filter population > 200000")
    driver.press(".")
    #expect(driver.browser.table.source?.index == "zone", "\(driver.screen)")
    #expect(driver.browser.table.source?.filter == "population > 200000" && driver.browser.table.storedCount == 5)
  }

  @Test("an order comes back though the filter that was typed at a commit without its index was left")
  func leftLine() throws {
    let driver = try driver()
    try driver.play(":add-index zone=timezone")
    driver.browser.returnToMain(focus: .table)
    driver.browser.table.order(by: "zone")
    driver.tell(.tick(nil))
    driver.press(", f")
    driver.type("population > 200000")
    #expect(driver.browser.table.source?.index == nil && driver.browser.table.storedCount == 5, "\(driver.screen)")
    driver.press("Esc Esc")
    try driver.play(":travel head")
    #expect(driver.browser.table.source == RowSource(datastore: "City", index: "zone"), "\(driver.screen)")
  }

  @Test("Esc on a filter leads back to no index that another program dropped while it was typed")
  func droppedMeanwhile() throws {
    let store = try Sample.store()
    let driver = try driver(store)
    driver.browser.table.order(by: "population")
    driver.tell(.tick(nil))
    driver.press("f")
    driver.type("population > 200000")
    #expect(driver.browser.table.storedCount == 5, "\(driver.screen)")
    _ = try store.dropIndex("population", of: "City")
    driver.tell(.storeStirred)
    driver.press("Esc Esc")
    #expect(driver.browser.table.source?.index == nil && driver.browser.table.problem == nil, "\(driver.screen)")
    #expect(driver.selectedIdentifier != nil, "\(driver.screen)")
  }

  private static func first(_ limit: Int, _ driver: Driver) throws {
    var source = try #require(driver.browser.table.source)
    (source.filter, source.limit) = ("population > 0", limit)
    source.sort = [SortOrder(path: ".timezone", isDescending: true)]
    driver.browser.table.show(source, anchor: .position(0))
    driver.tell(.tick(nil))
  }

  @Test("the cursor stays on the first row when its record is sorted behind the limit")
  func sortedBehindLimit() throws {
    let driver = try driver()
    try Self.first(2, driver)
    #expect(driver.browser.table.ranks?.count == 10 && driver.browser.table.ranks?.prefix(2).contains(0) == false)
    #expect(driver.browser.table.storedCount == 2 && driver.browser.table.list.selection == 0, "\(driver.screen)")
  }

  @Test("a search begins again if its hit was sorted behind the limit meanwhile")
  func hitBehindLimit() throws {
    let driver = try driver()
    driver.isHolding = true
    try Self.first(4, driver)
    driver.releaseAll { [.table, .filter].contains($0.slot) }
    #expect(driver.browser.table.ranks == Array(0..<10) && driver.browser.session.isRunning(.sort), "\(driver.screen)")
    try driver.play("keys /\ntype Tbilisi\nkeys Enter")
    driver.releaseFirst { $0.slot == .sort }
    driver.release()
    #expect(driver.browser.table.ranks?.prefix(4) == [6, 7, 8, 9], "\(driver.screen)")
    #expect(driver.browser.table.list.selection == 0 && driver.status.contains("no match"), "\(driver.screen)")
  }

  @Test("a record behind a limit is gone to, and not the last one within the limit")
  func behindLimit() throws {
    let driver = try driver()
    var source = try #require(driver.browser.table.source)
    source.limit = 3
    driver.browser.table.show(source, anchor: .position(0))
    driver.tell(.tick(nil))
    #expect(driver.browser.table.storedCount == 3, "\(driver.screen)")
    driver.browser.goTo("2661552", in: "City")
    driver.tell(.tick(nil))
    #expect(driver.selectedIdentifier == "2661552", "\(driver.screen)")
  }
}
