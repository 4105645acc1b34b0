import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

/// A staged edit whose record another program has changed since: every way to edit goes on from what is shown, and the conflict stays.
@Suite("Edits of overtaken records")
struct OvertakenTests {
  /// A browser on Bern with its population staged as 7, after another program has changed the population and the other names.
  private func overtaken() throws -> (store: EngineStore, driver: Driver) {
    let store = try Sample.store()
    let driver = Driver(
      store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City", identifier: "2661552"))
    while driver.browser.table.selectedPath(driver.browser.session) != ".population" { driver.press("l") }
    driver.press("e ^u 7 Enter")
    try Sample.change(store, "City", "2661552", ".population", to: 888_888)
    try Sample.change(store, "City", "2661552", ".alternatenames", to: ["Berno", "Berne", "Berna"])
    driver.tell(.storeStirred)
    return (store, driver)
  }

  private func bern(_ store: EngineStore) throws -> Document {
    let datastore = try #require(try store.refresh().datastore("City"))
    return try #require(try datastore.record(datastore.identifier(parsing: "2661552"))).document()
  }

  /// Replaces a text in the user's editor.
  private func replace(_ old: String, by new: String, in driver: Driver) throws {
    let text = try #require(driver.editorRequest?.text)
    #expect(text.contains(old))
    driver.tell(.editorClosed(EditorOutcome(text: text.replacing(old, with: new))))
  }

  /// The fields in conflict of the one record that the review shows.
  private func conflict(_ driver: Driver) throws -> EditConflict {
    driver.press("w")
    let review = try #require(driver.browser.overlays.last as? ReviewOverlay)
    let conflicts = try #require(review.answer?.rebased?.conflicts)
    try #require(conflicts.count == 1, "\(driver.screen)")
    return conflicts[0]
  }

  @Test("the cursor of a review that is made again stays on its record, whose line is another by then")
  func reviewedAgain() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.go(to: ".population")
    driver.press("e ^u 7 Enter j e ^u 8 Enter w")
    let place = { (driver.browser.overlays.last as? ReviewOverlay)?.selectedPlace?.identifier.description }
    for _ in 0..<9 where place() != "615532" { driver.press("j") }
    #expect(place() == "615532", "\(driver.screen)")
    try Sample.change(store, "City", "611717", ".population", to: 9)
    driver.press("X")
    let review = driver.browser.overlays.last as? ReviewOverlay
    #expect(review?.answer?.rebased?.conflicts.count == 1 && place() == "615532", "\(driver.screen)")
  }

  @Test("the review lists edits of a datastore that was dropped, so that they can be left out and the others committed")
  func droppedDatastore() throws {
    let store = try Sample.store()
    try Sample.add([["id": 1, "n": 1], ["id": 2, "n": 2]], to: store, Sample.plan("Gone", "id", []), "add Gone")
    let added = store.head.commit
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "Gone"))
    driver.press("l e ^u 7 Enter j d d")
    driver.browser.openDatastore("City", index: nil)
    driver.press("2 l e ^u")
    driver.type("Other")
    driver.press("Enter")
    #expect(driver.browser.session.staged.count == 3, "\(driver.screen)")
    let dropped = try store.undo(added, named: "drop Gone", options: EditOptions())
    driver.tell(.storeStirred)

    driver.press("w")
    let gone = "no datastore Gone; there are City, Country"
    #expect(driver.shows("Gone/1") && driver.shows("Gone/2") && driver.shows(gone), "\(driver.screen)")
    #expect(!driver.shows("name and commit") && !driver.shows("0 fields"), "\(driver.screen)")
    driver.press("Enter")
    #expect(driver.status.contains(gone) && store.head.commit == dropped, "\(driver.screen)")
    driver.press("x x")
    #expect(driver.shows("name and commit"), "\(driver.screen)")
    #expect(driver.browser.session.staged.order.map(\.datastore) == ["City"], "\(driver.screen)")
    driver.press("Enter Enter")
    #expect(driver.browser.session.staged.isEmpty && store.head.commit > dropped, "\(driver.screen)")
  }

  @Test(
    "a field that both changed is asked for after the record was edited in the user's editor, alone or with others",
    arguments: ["E", "Space E"])
  func externalEditor(keys: String) throws {
    let (store, driver) = try overtaken()
    driver.press(keys)
    try replace("\"Bern\"", by: "\"Bärn\"", in: driver)
    #expect(try conflict(driver).fields.map(\.path.description) == [".population"])
    driver.press("m Enter Enter")
    let city = try bern(store)
    #expect(city[member: "population"] == 7 && city[member: "name"] == "Bärn", "\(driver.screen)")
    #expect(city[member: "alternatenames"] == ["Berno", "Berne", "Berna"])
  }

  @Test("leaving the user's editor with the text as it was stages nothing")
  func externalEditorUnchanged() throws {
    let (_, driver) = try overtaken()
    driver.press("E")
    let text = try #require(driver.editorRequest?.text)
    driver.tell(.editorClosed(EditorOutcome(text: text)))
    #expect(driver.browser.session.staged.steps.count == 1, "\(driver.screen)")
  }

  @Test("an element that another program moved is edited where it is shown, though another field is in conflict")
  func movedElement() throws {
    let (store, driver) = try overtaken()
    driver.press("3")
    driver.browser.record.select(try DocumentPath(parsing: ".alternatenames[2]"))
    driver.press("e ^u")
    driver.type("Berna!")
    driver.press("Enter")
    #expect(try conflict(driver).fields.map(\.path.description) == [".population"])
    driver.press("t Enter Enter")
    let city = try bern(store)
    #expect(city[member: "alternatenames"] == ["Berno", "Berne", "Berna!"], "\(driver.screen)")
    #expect(city[member: "population"] == 888_888)
  }

  @Test("an element of a list without an order is edited where it is shown")
  func unorderedElement() throws {
    var descriptor = DatastoreDescriptor(
      key: "Item", identifierType: "Int", identifierEncoding: .integer, identifierPath: ".id")
    descriptor.unorderedFields = [".tags": "set"]
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Sets.strata", program: "tests")
    _ = try store.engine.write(CommitInfo(action: "create")) { [descriptor] transaction throws(ModelError) in
      try DatastoreWriter.create(descriptor, in: transaction)
    }.get()
    try Sample.add([["id": 1, "tags": ["pear", "apple", "fig"]]], to: store, Sample.plan("Item", "id", []), "fill")
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "Item", identifier: "1"))
    driver.press("3")
    driver.browser.record.select(try DocumentPath(parsing: ".tags[0]"))
    #expect(driver.browser.record.selectedLine?.value.text == "\"apple\"", "\(driver.screen)")
    driver.press("e ^u")
    driver.type("plum")
    driver.press("Enter w")
    #expect(driver.shows("plum"), "\(driver.screen)")
    driver.press("Enter Enter")
    let datastore = try #require(try store.refresh().datastore("Item"))
    let item = try #require(try datastore.record(datastore.identifier(parsing: "1"))).document()
    #expect(item[member: "tags"] == ["fig", "pear", "plum"], "\(driver.screen)")
  }

  @Test(
    "a new record whose identifier is used by now is copied once, and edited in the user's editor stays in conflict")
  func takenInsert() throws {
    let store = try Sample.store()
    let driver = Driver(
      store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City", identifier: "2661552"))
    driver.press("D")
    try replace("2661552", by: "5000", in: driver)
    try Sample.add([Sample.city(5_000, "Theirs", "CH", 1, "CET", [])], to: store, Sample.cityPlan(), "theirs")
    driver.tell(.storeStirred)
    try #require(driver.selectedIdentifier == "5000", "\(driver.screen)")
    driver.press("E")
    try replace("\"Bern\"", by: "\"Bärn\"", in: driver)
    driver.press("Space E")
    try replace("\"Bärn\"", by: "\"Bèrn\"", in: driver)
    driver.press("D")
    #expect(driver.editorRequest?.fileExtension == "json", "one record")
    driver.tell(.editorClosed(EditorOutcome(text: "")))
    let conflict = try conflict(driver)
    #expect(conflict.base == nil && conflict.fields.contains { $0.mine == "Bèrn" && $0.theirs == "Theirs" })
  }
}
