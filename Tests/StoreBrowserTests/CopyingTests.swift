import StrataDocuments
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("Copies of records, and blocks of cells")
struct CopyingTests {
  private func driver(_ store: EngineStore, _ steps: String...) throws -> Driver {
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    for step in steps { try driver.play(step) }
    return driver
  }

  @Test(
    "a value that is copied in the table, the record, a list or records side by side is put into a field, with its type",
    arguments: [
      ("l l l y y", 1_049_498), ("3 g g j j j y y 2", 1_049_498), ("g t g g j j j y y Esc", 1_049_498),
      (": f r e q u e n c y Space p o p u l a t i o n Enter y y Esc", 121_631),
    ])
  func values(keys: String, value: Document) throws {
    let driver = try driver(Sample.store())
    // What was copied before does not count.
    driver.press("y r \(keys) 3 g g j p")
    #expect(try driver.stagedDocuments()["611717"]?[member: "name"] == value, "\(driver.screen)")
  }

  @Test("no key changes the identifier, and each says at once what makes a record under another one")
  func identifier() throws {
    let driver = try driver(Sample.store())
    for keys in ["3 g g e", "3 g g C", "3 g g j y y k p", "3 g g E", "2 e", "2 C"] {
      driver.press(keys)
      #expect(driver.status.contains("the identifier stays; D makes a copy"), "\(keys): \(driver.screen)")
      #expect(driver.browser.session.staged.isEmpty && driver.browser.overlays.isEmpty && driver.editorRequest == nil)
    }
  }

  // MARK: Records

  @Test("a record that is copied in its pane is pasted as a new one, as it is staged")
  func recordFromPane() throws {
    let driver = try driver(Sample.store())
    driver.press("3 g g j e ^u")
    driver.type("Tiflis")
    driver.press("Enter y r")
    #expect(driver.copied?.contains("\"name\":\"Tiflis\"") == true, "\(driver.copied ?? "nothing")")
    driver.press("2 p")
    let text = try #require(driver.editorRequest?.text)
    driver.tell(.editorClosed(EditorOutcome(text: text.replacing("611717", with: "5"))))
    #expect(try driver.stagedDocuments()["5"]?[member: "name"] == "Tiflis", "\(driver.screen)")
  }

  @Test("of several copies each has the version of its own record, also behind one that cannot be read")
  func versionsOfSeveral() throws {
    let driver = Driver(try Sample.documents([["id": 1]]), start: .init(datastore: "T"))
    let descriptor = try #require(driver.browser.session.current).descriptor
    driver.browser.session.copied = Copied(
      records: try [("1", "{\"id\":1}"), ("2", "{"), ("3", "{\"id\":3}")].map { version, text in
        let key = descriptor.storedKey(try descriptor.identifierEncoding.encode(.integer(1)))
        return Record(identifier: key, version: version, content: Array(text.utf8), coding: descriptor.coding)
      }, datastore: "T")
    driver.press("p")
    driver.tell(.editorClosed(EditorOutcome(text: "{\"id\":11}\n{\"id\":13}\n")))
    let staged = driver.browser.session.staged
    #expect(staged.order.compactMap { staged.edits[$0]?.new?.version } == ["1", "3"], "\(driver.screen)")
    #expect(!driver.status.contains("without a line"), "\(driver.screen)")
  }

  @Test("a new record has the version of what is staged of the selected one, whose fields it has")
  func versionOfStaged() throws {
    let driver = Driver(try Sample.documents([["id": 1, "n": 2]]), start: .init(datastore: "T"))
    let (place, stored) = (try #require(driver.browser.record.place), try #require(driver.browser.record.stored))
    let older = RecordContent(version: "7", bytes: stored.bytes)
    let edit = RecordEdit(datastore: "T", identifier: place.identifier, old: stored, new: older)
    driver.browser.stage(StagedStep(title: "restored", edits: [edit]))
    driver.press("i")
    driver.tell(.editorClosed(EditorOutcome(text: "{\"id\":9,\"n\":3}")))
    let inserted = driver.browser.session.staged.edits.values.filter { $0.kind == .insert }
    #expect(inserted.map { $0.new?.version } == ["7"], "\(driver.screen)")
  }

  @Test("the template of a new record waits for the selected record, whose fields it has")
  func templateWaits() throws {
    let store = try Sample.documents([["id": 1, "text": .string(String(repeating: "x", count: 100_000))]])
    try Sample.add(Sample.countries, to: store, Sample.plan("Country", "iso", []), "import countries")
    let driver = Driver(store, start: .init(datastore: "Country"))
    driver.isHolding = true
    driver.browser.openDatastore("T", index: nil)
    driver.tell(.tick(nil))
    driver.releaseAll { $0.slot == .table }
    driver.press("i")
    driver.release()
    let text = try #require(driver.editorRequest?.text)
    #expect(text.contains("\"text\""), "\(text)")
  }

  @Test("a copy has the version of its record, and in another datastore the version that new records have there")
  func versions() throws {
    let store = try Sample.store()
    let cities = try #require(try store.refresh().datastore("City"))
    let record = try #require(try cities.record(cities.identifier(parsing: "611717")))
    var edit = RecordEdit(datastore: "City", identifier: record.identifier, old: record.stored, new: record.stored)
    edit.new?.version = "7"
    _ = try store.commit(
      ChangeSet(base: store.head.commit, changes: [edit]), named: "a later version", options: EditOptions())
    for (datastore, version) in [("City", "7"), ("Country", "1")] {
      let driver = try driver(store)
      driver.press("y r")
      driver.browser.openDatastore(datastore, index: nil)
      try driver.play("keys p")
      let text = try #require(driver.editorRequest?.text)
      driver.tell(
        .editorClosed(EditorOutcome(text: text.replacing("611717", with: "5, \"iso\": \"XX\""))))
      let staged = driver.browser.session.staged.edits.values
      #expect(staged.map { $0.new?.version } == [version], "\(driver.screen)")
    }
  }

  // MARK: A block of cells

  @Test("a pasted block is staged after a preview, as a loop over the records changes them; refused rows are named")
  func block() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store)
    let driver = try driver(store)
    driver.go(to: ".name")
    driver.press("j")
    let block = [("A", "GE", "5"), ("", "XX", "6"), ("C \"c\"\tc", "CH", "many"), ("D", "JP", "8")]
    let text = block.map { name, code, people in
      let quoted = name.contains("\t") ? "\"\(name.replacing("\"", with: "\"\""))\"" : name
      return "\(quoted)\t\(code)\t\(people)\r\n"
    }.joined()
    driver.tell(.event(.paste(text)))
    #expect(driver.shows("paste of 4 rows × 3 columns") && driver.browser.session.staged.isEmpty, "\(driver.screen)")
    #expect(driver.shows("\(cities[3].0)  population: not an integer: “many”"), "\(driver.screen)")
    #expect(driver.shows("3 records · 1 fails and stays as it is"), "\(driver.screen)")
    driver.press("Enter")
    var expected: [String: Document] = [:]
    for (city, row) in zip(cities.dropFirst(), block) {
      guard let people = Int(row.2) else { continue }
      expected[city.0] = try city.1.setting(DocumentPath(parsing: ".name"), to: .string(row.0))
        .setting(DocumentPath(parsing: ".countrycode"), to: .string(row.1))
        .setting(DocumentPath(parsing: ".population"), to: .number(NumberText(people)))
    }
    #expect(try driver.stagedDocuments() == expected, "\(driver.screen)")
    #expect(driver.status.contains("paste of 4 rows × 3 columns in 3 records"), "\(driver.status)")
    driver.press("u")
    #expect(driver.browser.session.staged.isEmpty)
  }

  @Test("the preview of a block says for each of its columns between which numbers the new values are")
  func rangesOfBlock() throws {
    let store = try Sample.documents([1, 2, 3].map { .object([.init("id", $0), .init("a", 1), .init("b", 2)]) })
    let driver = Driver(store, start: .init(datastore: "T"))
    driver.press("l")
    driver.tell(.event(.paste("40\t7\n41\t7\n40\t9\n")))
    #expect(
      driver.shows("new values of a from 40 to 41") && driver.shows("new values of b from 7 to 9"), "\(driver.screen)")
  }

  @Test("a block that is too wide, or meets the identifier, is refused with the reason; rows below the last are named")
  func refusedBlocks() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store)
    let driver = try driver(store, "keys G")
    driver.tell(.event(.paste("1\tNew\n2\tOld\n")))
    #expect(driver.shows("\(cities[9].0)  geonameid: the identifier stays"), "\(driver.screen)")
    #expect(driver.shows("row 2 of the block  there is no record below the last"), "\(driver.screen)")
    driver.press("Enter Esc")
    #expect(driver.browser.session.staged.isEmpty)
    driver.tell(.event(.paste("\(cities[9].0)\tNew")))
    #expect(driver.shows("1 record") && driver.shows("+ \"New\""), "\(driver.screen)")
    driver.press("Enter")
    #expect(try driver.stagedDocuments()[cities[9].0]?[member: "name"] == "New")
    driver.tell(.event(.paste("1\t2\t3\t4\t5\t6\t7\t8\t9")))
    #expect(driver.status.contains("not pasted: the block is 9 columns wide"), "\(driver.status)")
    try driver.play(":travel 2")
    driver.tell(.event(.paste("1")))
    #expect(driver.status.contains("not pasted: "), "\(driver.status)")
  }
}

extension Driver {
  /// Moves the cursor of the table to the column of a path.
  func go(to path: String) {
    press("h h h h h h h h")
    for _ in 0..<20 where browser.table.selectedPath(browser.session) != path { press("l") }
  }

  /// The documents that are staged, by identifier.
  func stagedDocuments() throws -> [String: Document] {
    var documents: [String: Document] = [:]
    for edit in browser.session.staged.edits.values {
      documents["\(edit.identifier)"] = try edit.new.map { try RecordCoding.json.document(of: $0.bytes) }
    }
    return documents
  }
}
