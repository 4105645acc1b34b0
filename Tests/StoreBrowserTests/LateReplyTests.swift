import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Replies that come after the datastore was left")
struct LateReplyTests {
  /// A store with many records in Item, and some in Country.
  private func large() throws -> EngineStore {
    let store = try Sample.large(5_000)
    try Sample.add(Sample.countries, to: store, Sample.plan("Country", "iso", []), "import countries")
    return store
  }

  @Test("changes of another program mark no record of the datastore that is open by then")
  func refreshed() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.isHolding = true
    try Sample.change(store, "City", "2661552", ".population", to: 7)
    driver.tell(.storeStirred)
    driver.browser.openDatastore("Country", index: nil)
    driver.release()
    #expect(driver.browser.session.head == store.head.commit)
    #expect(driver.browser.table.changed.isEmpty && !driver.shows("1 changed"), "\(driver.screen)")
  }

  @Test("a step through the commits marks no record of the datastore that is open by then")
  func stepped() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.isHolding = true
    driver.press(",")
    driver.releaseFirst { $0.slot == .resolve }
    driver.browser.openDatastore("Country", index: nil)
    driver.release()
    #expect(driver.title.contains("AS OF #3"), "\(driver.screen)")
    #expect(driver.browser.table.changed.isEmpty && driver.browser.table.step == nil, "\(driver.screen)")
  }

  @Test("records that are marked by a range get no mark in the datastore that is open by then")
  func marked() throws {
    let driver = Driver(try large(), start: .init(datastore: "Item"))
    driver.press("v G")
    driver.isHolding = true
    driver.press("Space")
    driver.browser.openDatastore("Country", index: nil)
    driver.release()
    #expect(driver.browser.table.marks.isEmpty, "\(driver.screen)")
  }

  @Test("the search for repeating values ends no build that has begun meanwhile")
  func built() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.isHolding = true
    try driver.play(":add-index byName=name:one-to-one\n:rebuild-index population")
    let build = try #require(driver.held.first { $0.0.slot == .warmUp }?.0, "\(driver.screen)")
    driver.releaseFirst { $0.slot == RepeatsRequest.slot }
    #expect(driver.held.contains { $0.0 == build }, "\(driver.screen)")
    #expect(driver.status.contains("not now"), "\(driver.screen)")
  }

  @Test("a range that was typed for one datastore cuts no rows of the one that is open by then")
  func ranged() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.browser.openDatastore("City", index: "population")
    driver.tell(.tick(nil))
    driver.press("f")
    driver.type("= 1000 .. 200000")
    driver.isHolding = true
    driver.press("Enter")
    driver.browser.openDatastore("Country", index: nil)
    driver.release()
    #expect(driver.browser.table.source == RowSource(datastore: "Country"), "\(driver.screen)")
    #expect(driver.shows("row 1 of 3"), "\(driver.screen)")
  }

  @Test("a list that comes while a value is typed lies beneath the editor, and takes none of its keys")
  func beneath() throws {
    let driver = Driver(
      try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "Country", identifier: "CH"))
    driver.isHolding = true
    driver.press("g r l e ^u")
    driver.type("Swiss")
    driver.releaseFirst { $0.slot == .referrers }
    driver.type("land")
    driver.press("Enter")
    driver.release()
    let edit = try #require(driver.browser.session.staged.edits.values.first?.new, "\(driver.screen)")
    let name = try driver.browser.session.current?.descriptor.document(of: edit)[member: "name"]
    #expect(name == "Swissland", "\(driver.screen)")
    #expect(driver.browser.overlays.last is MenuOverlay && driver.browser.overlays.count == 1, "\(driver.screen)")
  }

  @Test("a list of referrers leads to no datastore that the commit shown by then does not have")
  func goneReferrers() throws {
    let driver = Driver(
      try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "Country", identifier: "CH"))
    driver.press("g r")
    try #require(driver.browser.overlays.last is MenuOverlay, "\(driver.screen)")
    driver.browser.travel(toNamed: "head~3")
    driver.tell(.tick(nil))
    #expect(driver.browser.session.outline?.datastore("City") == nil, "\(driver.screen)")
    driver.press("Enter")
    #expect(driver.browser.table.source?.datastore == "Country", "\(driver.screen)")
    #expect(driver.status.contains("has no datastore City"), "\(driver.screen)")
  }

  @Test("an exchange that ends with conflicts while a value is typed opens nothing beneath the editor")
  func exchanged() throws {
    let copies = try CopiedStore.edited()
    let driver = Driver(copies.here, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.press("7")
    driver.isHolding = true
    driver.press("X 2 l e ^u")
    driver.type("Ti")
    driver.release()
    #expect(driver.browser.view.kind == .main, "\(driver.screen)")
    #expect(driver.browser.session.notice?.text.contains("w in pane 7") == true, "\(driver.screen)")
    driver.type("flis")
    driver.press("Enter")
    #expect(try driver.stagedDocuments()["611717"]?[member: "name"] == "Tiflis", "\(driver.screen)")
    driver.press("7 w")
    #expect(driver.shows("0 of 2 conflicts settled"), "\(driver.screen)")
  }

  @Test("a column that is taken away while its value is computed does not come back in the record pane")
  func computed() throws {
    let driver = Driver(try Sample.documents([["id": 1, "n": 1]]), start: .init(datastore: "T"))
    driver.isHolding = true
    try driver.play(":column twice = n * 2")
    driver.tell(.tick(nil))
    driver.releaseAll { $0.slot != .references }
    #expect(driver.held.contains { $0.0.slot == .references }, "\(driver.screen)")
    try driver.play(":column twice")
    driver.tell(.tick(nil))
    driver.release()
    #expect(driver.browser.record.derived.isEmpty, "\(driver.screen)")
  }

  @Test("a hit moves no cursor in the datastore that is open by then")
  func found() throws {
    let driver = Driver(try large(), start: .init(datastore: "Item"))
    driver.isHolding = true
    try driver.play("keys /\ntype Record 4000\nkeys Enter")
    driver.browser.openDatastore("Country", index: nil)
    driver.release()
    #expect(driver.browser.table.source?.datastore == "Country")
    #expect(driver.browser.table.list.selection == 0 && !driver.status.contains("SCAN"), "\(driver.screen)")
  }

  @Test(
    "a hit is gone to by its record if another program commits during the search, before or after the rows are there",
    arguments: [false, true])
  func moved(isBefore: Bool) throws {
    let store = try large()
    let driver = Driver(store, start: .init(datastore: "Item"))
    let first = try #require(driver.selectedIdentifier)
    try driver.play("keys /\ntype Record 4000\nkeys Enter")
    let hit = try #require(driver.selectedIdentifier)
    driver.press("g g")
    driver.isHolding = true
    driver.press("n")
    try Sample.delete(store, "Item", first)
    driver.tell(.storeStirred)
    driver.releaseAll { $0.slot != .search && !(isBefore && $0.slot == .table) }
    driver.releaseFirst { $0.slot == .search }
    driver.release()
    #expect(driver.browser.session.shown == store.head.commit)
    #expect(driver.selectedIdentifier == hit, "\(driver.screen)")
  }
}

@Suite("What was staged during a commit")
struct LateStepTests {
  @Test("records whose deletion is staged during a commit stay staged after it, without what was written")
  func deletions() throws {
    let driver = Driver(try Sample.large(6_000), start: .init(datastore: "Item"))
    driver.press("l e ^u x Enter g g j v G")
    driver.isHolding = true
    driver.press("d d")
    let gather = try #require(driver.held.first { $0.0.slot == .gather }?.0)
    // Records that are read for long delay no key.
    driver.tell(.work(gather, .progress(Progress(done: 1, total: 5_999))))
    driver.press("w")
    driver.releaseFirst { $0.slot == .review }
    driver.press("Enter Enter")
    driver.releaseFirst { $0.slot == .gather }
    #expect(driver.browser.session.staged.count == 6_000, "\(driver.screen)")
    driver.release()
    let totals = driver.browser.session.staged.totals
    #expect(totals.deleted == 5_999 && totals.updated == 0, "\(driver.screen)")
    driver.press("w Enter Enter")
    #expect(driver.browser.session.staged.isEmpty && driver.shows("row 1 of 1"), "\(driver.screen)")
  }
}

@Suite("What was left before")
struct LeftBeforeTests {
  @Test("Esc takes back a command that waits for its record")
  func escapedCommand() throws {
    let long = String(repeating: "x", count: 100_000)
    let documents: [Document] = (1...3).map { number in
      .object([
        .init("id", .number(NumberText(number))), .init("name", .string("n\(number)")), .init("text", .string(long)),
      ])
    }
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: 120, rows: 40), start: .init(datastore: "T"))
    driver.press("3 j")
    driver.isHolding = true
    driver.press("J d d Esc")
    driver.release()
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
  }

  @Test("back leads to a record in the order by identifier if the index is gone, and to no datastore that is gone")
  func backToTheGone() throws {
    let store = try Sample.store()
    try Sample.add([["id": 1, "n": 1]], to: store, Sample.plan("Gone", "id", []), "add Gone")
    let added = store.head.commit
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    let places: [(String, String?)] = [("Gone", nil), ("City", "population"), ("Country", nil)]
    for (datastore, index) in places {
      driver.browser.openDatastore(datastore, index: index)
      driver.tell(.tick(nil))
      if index != nil { driver.press("2 G") }
    }
    _ = try store.undo(added, named: "drop Gone", options: EditOptions())
    _ = try store.dropIndex("population", of: "City")
    driver.tell(.storeStirred)
    driver.press("^o")
    #expect(driver.status.contains("has no index population"), "\(driver.screen)")
    #expect(driver.selectedIdentifier == "1850147" && driver.browser.table.problem == nil, "\(driver.screen)")
    driver.press("^o")
    #expect(driver.status.contains("has no datastore Gone"), "\(driver.screen)")
    #expect(driver.selectedIdentifier == "1850147", "\(driver.screen)")
    driver.press("^o")
    #expect(driver.browser.table.source == RowSource(datastore: "City"), "\(driver.screen)")
  }

  @Test("rows are sorted if the index with their order is gone when it is found")
  func orderOfDroppedIndex() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.go(to: ".population")
    driver.isHolding = true
    driver.press("o")
    _ = try store.dropIndex("population", of: "City")
    driver.tell(.storeStirred)
    driver.releaseAll { $0.slot != OrderRequest.slot }
    driver.release()
    let table = driver.browser.table
    #expect(table.source?.index == nil && table.source?.sort.map(\.path) == [".population"], "\(driver.screen)")
    #expect(table.storedCount == 10 && table.problem == nil && driver.title.contains("#5"), "\(driver.screen)")
  }

  @Test("no view in the order of an index that was dropped is taken back to, but the one before it")
  func viewOfDroppedIndex() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    for index in ["population", "name"] {
      driver.browser.table.order(by: index)
      driver.tell(.tick(nil))
    }
    _ = try store.dropIndex("population", of: "City")
    driver.tell(.storeStirred)
    driver.press("2 U")
    #expect(driver.status.contains("taken back: the order"), "\(driver.screen)")
    #expect(driver.browser.table.source == RowSource(datastore: "City") && driver.shows("611717"), "\(driver.screen)")
    driver.press("U")
    #expect(driver.status.contains("nothing of this view was changed"), "\(driver.screen)")
  }

  @Test(
    "what is typed for a record that another program deletes before it is read reaches no other record",
    arguments: [false, true])
  func deletedBeforeRead(isAbsenceFirst: Bool) throws {
    let long = Document.string(String(repeating: "x", count: 100_000))
    let documents: [Document] = (1...3).map { ["id": .number(NumberText($0)), "name": "n", "text": long] }
    let store = try Sample.documents(documents)
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "T"))
    driver.press("l")
    driver.isHolding = true
    driver.press("j e ^u")
    driver.type("mine")
    driver.press("Enter")
    try Sample.delete(store, "T", "2")
    driver.tell(.storeStirred)
    driver.releaseAll { isAbsenceFirst ? $0.slot != .table && $0.slot != .record : $0.slot != .record }
    if isAbsenceFirst { driver.releaseAll { $0.slot == .record } }
    driver.release()
    #expect(driver.selectedIdentifier == "3", "\(driver.screen)")
    #expect(driver.browser.session.staged.isEmpty && driver.browser.overlays.isEmpty, "\(driver.screen)")
    #expect(driver.browser.session.remembered.bookmarks.isEmpty && driver.browser.awaitsLetter == nil)
  }

  @Test("a named view with a mistake opens no text that came from the editor before")
  func mistakeInView() throws {
    let driver = Driver(
      try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City", identifier: "2661552"))
    driver.press("3")
    driver.browser.record.select(try DocumentPath(parsing: ".name"))
    driver.press("E")
    driver.tell(.editorClosed(EditorOutcome(text: "Bärn\n")))
    #expect(driver.browser.session.staged.count == 1, "\(driver.screen)")
    let editors = { driver.outward.count { if case .edit = $0 { true } else { false } } }
    #expect(editors() == 1)
    driver.browser.show(NamedView(name: "big", datastore: "City", filter: "citizens > 5"))
    driver.tell(.tick(nil))
    #expect(editors() == 1 && driver.status.contains("citizens"), "\(driver.screen)")
  }
}
