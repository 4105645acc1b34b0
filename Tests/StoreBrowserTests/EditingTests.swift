import Foundation
import StrataDocuments
import StrataEngine
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("Editing in place")
struct EditingTests {
  private func driver(_ store: EngineStore, _ steps: String..., datastore: String = "City") throws -> Driver {
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: datastore))
    for step in steps { try driver.play(step) }
    return driver
  }

  private func go(to path: String, _ driver: Driver) {
    driver.press("h h h h h h h h")
    for _ in 0..<20 where driver.browser.table.selectedPath(driver.browser.session) != path { driver.press("l") }
  }

  /// The documents that are staged, by identifier.
  private func staged(_ driver: Driver) throws -> [String: Document] {
    var documents: [String: Document] = [:]
    for edit in driver.browser.session.staged.edits.values {
      documents["\(edit.identifier)"] = try edit.new.map { try RecordCoding.json.document(of: $0.bytes) }
    }
    return documents
  }

  // MARK: Numbers

  @Test(
    "a text among numbers becomes a number if one is typed over it, which the editor says; any other text stays one")
  func mended() throws {
    for (typed, value) in [("12.5", 12.5 as Document), ("a few", "a few"), ("12", "12")] {
      let store = try Sample.documents([["id": 1, "share": "12"], ["id": 2, "share": 2.5], ["id": 3, "share": 4]])
      let driver = Driver(store, size: Size(columns: 120, rows: 24), start: .init(datastore: "T"))
      go(to: ".share", driver)
      driver.press("e ^u")
      driver.type(typed)
      #expect(driver.shows("share : Double, as in other records") == (typed == "12.5"), "\(driver.screen)")
      driver.press("Enter")
      #expect(try staged(driver)["1"].map { $0[member: "share"] } ?? "12" == value, "\(driver.screen)")
    }
  }

  @Test("an emptied number is refused, and null is offered for it; JSON has no infinity")
  func emptied() throws {
    #expect(NumberText("") == nil)
    let store = try Sample.documents([["id": 1, "share": 2.5, "count": 3, "isOpen": true]])
    for field in [".share", ".count", ".isOpen"] {
      let driver = Driver(store, size: Size(columns: 120, rows: 24), start: .init(datastore: "T"))
      go(to: field, driver)
      driver.press("e ^u Enter")
      #expect(driver.browser.session.staged.isEmpty && driver.shows("an empty text is not"), "\(driver.screen)")
      driver.press("Enter")
      #expect(try staged(driver)["1"]?[DocumentPath(parsing: field)] == .null, "\(driver.screen)")
    }
    let driver = Driver(store, size: Size(columns: 120, rows: 24), start: .init(datastore: "T"))
    go(to: ".share", driver)
    driver.press("e ^u")
    driver.type("inf")
    driver.press("Enter Enter")
    #expect(driver.browser.session.staged.isEmpty && driver.shows("not a number"), "\(driver.screen)")
  }

  // MARK: Dates

  @Test("the parts of a date are changed as a calendar does, and all that is behind them stays")
  func dateParts() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
    let units: [Calendar.Component] = [.year, .month, .day, .hour, .minute, .second]
    var random = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      let moment = Date(timeIntervalSince1970: Double(Int64.random(in: -2_000_000_000..<9_000_000_000, using: &random)))
      for (position, unit) in units.enumerated() {
        let step = Bool.random() ? 1 : -1
        var field = TextField(Self.text(of: moment))
        field.moveCursor(to: position == 0 ? 0 : position * 3 + 2)
        let key = try #require(KeyChord(step > 0 ? "Up" : "Down"))
        #expect(DateParts(field)?.apply(key, to: &field) == true)
        let changed = try #require(calendar.date(byAdding: unit, value: step, to: moment))
        #expect(field.text == Self.text(of: changed), "\(moment) \(unit) \(step)")
      }
    }
  }

  private static func text(of moment: Date) -> String {
    String(DateText.text(of: moment.timeIntervalSinceReferenceDate).dropLast()) + ".25+01:00"
  }

  private func dated() throws -> EngineStore {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Dated.strata", program: "tests")
    let documents = (0..<3).map { number -> Document in
      .object([
        .init("id", .number(NumberText(number))), .init("at", .string("2026-01-3\(number == 0 ? 1 : 0)T23:59:30Z")),
      ])
    }
    try Sample.add(documents, to: store, Sample.plan("Event", "id", []), "events")
    return store
  }

  @Test("the arrows choose and change a part of a date, digits are written over it, and a bad one is reported at once")
  func dates() throws {
    let driver = try driver(try dated(), datastore: "Event")
    go(to: ".at", driver)
    driver.press("e")
    #expect(driver.shows("← → a part  ↑ ↓ change it"), "\(driver.screen)")
    driver.press("Up")
    #expect(driver.shows("2026-02-01T23:59:30Z"), "\(driver.screen)")
    driver.press("Left Down Right Right Right")
    driver.type("07")
    #expect(driver.shows("2026-01-01T23:07:30Z"), "\(driver.screen)")
    driver.press("Left")
    driver.type("7")
    #expect(!driver.shows("not a date"), "a text may be anything")
    driver.press("Backspace Esc Esc")
    driver.press("e Enter")
    #expect(driver.browser.session.drafts.isEmpty)
  }

  // MARK: Several lines

  @Test("^o opens a line, the arrows go from line to line, and what is staged has the lines as they were typed")
  func lines() throws {
    let driver = try driver(try Sample.store())
    go(to: ".name", driver)
    let identifier = try #require(driver.selectedIdentifier)
    driver.press("e ^u")
    driver.type("one")
    driver.press("^o")
    driver.type("three")
    driver.press("Up End ^o")
    driver.type("two")
    #expect(driver.shows("┃ one") && driver.shows("┃ two") && driver.shows("┃ three"), "\(driver.screen)")
    driver.press("Down Home Delete")
    driver.type("T")
    driver.press("Enter")
    #expect(try staged(driver)[identifier]?[member: "name"] == "one\ntwo\nThree")
    driver.press("e")
    #expect(driver.shows("┃ Three"), "a value of several lines opens with all of them")
    driver.press("Esc u")
    go(to: ".name", driver)
    driver.press("e ^u")
    driver.tell(.event(.paste("a\nb")))
    driver.press("Enter")
    #expect(try staged(driver)[identifier]?[member: "name"] == "a\nb")
  }

  // MARK: What is said about a field

  @Test("the form says the type of each field, and the kind and the rule of each index that is made from it")
  func words() throws {
    let driver = try driver(try Sample.store(), "keys 3 + +")
    let datastore = try #require(driver.browser.session.current)
    for line in driver.browser.record.tree.lines where line.depth == 0 {
      let shown = try #require(
        driver.lines.dropFirst().first { $0.contains(" \(line.name) ") && !$0.contains("→") }, "\(line.name)")
      if !line.isBranch { #expect(shown.contains(line.type), "\(shown)") }
      for index in datastore.indexes.map(\.descriptor) where index.documentPath == line.path {
        #expect(shown.contains("index \(index.kind.short) as declared"), "\(shown)")
      }
      #expect(shown.contains("index") == datastore.indexes.contains { $0.descriptor.documentPath == line.path })
    }
    driver.press("2")
    go(to: ".population", driver)
    driver.press("e")
    #expect(driver.shows("population : Int · index 1:n as declared"), "\(driver.screen)")
  }

  @Test("Tab in the editor offers the values seen, and a reference's records, in a list searched by all it shows")
  func list() throws {
    let driver = try driver(try Sample.store(), ":reference countrycode Country")
    go(to: ".countrycode", driver)
    let identifier = try #require(driver.selectedIdentifier)
    driver.press("e")
    #expect(driver.shows("Tab list"), "\(driver.screen)")
    driver.press("Tab")
    driver.type("zerl")
    driver.press("Enter")
    #expect(try staged(driver)[identifier]?[member: "countrycode"] == "CH")
  }

  // MARK: A block of cells

  @Test("a pasted block is staged after a preview, as a loop over the records changes them; refused rows are named")
  func block() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store)
    let driver = try driver(store)
    go(to: ".name", driver)
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
    #expect(try staged(driver) == expected, "\(driver.screen)")
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
    #expect(try staged(driver)[cities[9].0]?[member: "name"] == "New")
    driver.tell(.event(.paste("1\t2\t3\t4\t5\t6\t7\t8\t9")))
    #expect(driver.status.contains("not pasted: the block is 9 columns wide"), "\(driver.status)")
    try driver.play(":travel 2")
    driver.tell(.event(.paste("1")))
    #expect(driver.status.contains("not pasted: "), "\(driver.status)")
  }

  @Test("a change of many records keeps what was staged of them before")
  func further() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store)
    let driver = try driver(store)
    go(to: ".name", driver)
    driver.press("e ^u")
    driver.type("Renamed")
    driver.press("Enter")
    try driver.play(":set population = 7")
    driver.press("Enter")
    let documents = try staged(driver)
    for (place, city) in cities.enumerated() {
      #expect(documents[city.0]?[member: "population"] == 7)
      #expect(documents[city.0]?[member: "name"] == (place == 0 ? "Renamed" : city.1[member: "name"]))
    }
  }

  @Test("a whole number in a field where other records have a fraction takes a fraction, typed, pasted or computed")
  func fractions() throws {
    let store = try Sample.documents([["id": 1, "price": 1.5, "n": 1], ["id": 2, "price": 2, "n": 2]])
    let driver = try driver(store, ":set price = price * 1.1", datastore: "T")
    #expect(driver.shows("2 records") && driver.shows("+ 2.2"), "\(driver.screen)")
    driver.press("Enter")
    #expect(try staged(driver).mapValues { $0[member: "price"] } == ["1": 1.65, "2": 2.2])
    try driver.play(":set n = n * 1.1")
    #expect(driver.shows(".n holds integers") && driver.shows("0 records"), "\(driver.screen)")
    driver.press("Esc u")
    go(to: ".price", driver)
    driver.press("j")
    driver.tell(.event(.paste("2.75")))
    driver.press("Enter")
    #expect(try staged(driver)["2"]?[member: "price"] == 2.75, "\(driver.screen)")
    driver.press("u e ^u")
    driver.type("2.5")
    #expect(!driver.shows("not an integer"), "\(driver.screen)")
    driver.press("Enter")
    #expect(try staged(driver)["2"]?[member: "price"] == 2.5, "\(driver.screen)")
    // Where all values are whole, a fraction is offered and taken by a second Enter.
    go(to: ".n", driver)
    driver.press("e ^u")
    driver.type("2.5")
    driver.press("Enter")
    #expect(driver.shows("not an integer: “2.5” — ⏎ takes 2.5"), "\(driver.screen)")
    driver.press("Enter")
    #expect(try staged(driver)["2"]?[member: "n"] == 2.5)
  }

  @Test("where only records without a value are shown, a field of numbers takes a pasted fraction")
  func pastedOverNull() throws {
    let store = try Sample.documents(
      (1...300).map {
        ["id": .number(NumberText($0)), "price": $0 % 13 == 1 ? .null : .number(NumberText(Double($0) + 0.25))]
      })
    let driver = try driver(store, ":filter price = null", datastore: "T")
    go(to: ".price", driver)
    driver.tell(.event(.paste("2.75\n3\n")))
    driver.press("Enter")
    #expect(try staged(driver).mapValues { $0[member: "price"] } == ["1": 2.75, "14": 3], "\(driver.screen)")
  }

  @Test("Enter in an editor whose text was left as it is changes nothing, also if the field is null or missing")
  func untouched() throws {
    let store = try Sample.documents([
      ["id": 1, "note": "a", "n": 1], ["id": 2, "note": .null, "n": .null], ["id": 3],
    ])
    let driver = try driver(store, datastore: "T")
    for row in 1...3 {
      for field in [".note", ".n"] {
        driver.press("g g")
        for _ in 1..<row { driver.press("j") }
        go(to: field, driver)
        driver.press("e Enter")
        #expect(driver.browser.overlays.isEmpty && driver.status.contains("nothing changed"), "\(driver.screen)")
        driver.press("e")
        driver.type("7")
        driver.press("Backspace Enter")
        #expect(driver.browser.overlays.isEmpty && driver.browser.session.staged.isEmpty, "\(driver.screen)")
      }
    }
    #expect(driver.browser.session.drafts.isEmpty)
    driver.press("g g")
    go(to: ".note", driver)
    driver.press("e ^u Enter")
    #expect(try staged(driver)["1"]?[member: "note"] == "")
  }

  @Test("an assignment to the identifier is refused with the reason before any record is staged")
  func assignedIdentifier() throws {
    let driver = try driver(Sample.store(), ":set geonameid = 5")
    #expect(driver.shows("the identifier geonameid stays"), "\(driver.screen)")
    driver.press("Enter Enter")
    #expect(driver.browser.session.staged.isEmpty)
  }

  // MARK: Checks while typing

  @Test("a value that another record has in a one-to-one index is reported while it is typed, also in a kept draft")
  func takenValues() throws {
    let store = try Sample.documents(
      [["id": 1, "code": "a", "n": 1], ["id": 2, "code": "b", "n": 2]], [Sample.index("code", .oneToOne)])
    let driver = try driver(store, datastore: "T")
    go(to: ".code", driver)
    driver.press("e ^u")
    driver.type("b")
    #expect(driver.shows("⚠ 2 has this value already"), "\(driver.screen)")
    driver.type("c")
    #expect(!driver.shows("has this value already"), "\(driver.screen)")
    driver.press("Backspace Esc e")
    #expect(driver.shows("⚠ 2 has this value already"), "\(driver.screen)")
    driver.press("Esc j d d k e ^u")
    driver.type("b")
    #expect(!driver.shows("has this value already"), "record 2 is staged for deletion")
    driver.press("^u")
    driver.type("a")
    #expect(!driver.shows("has this value already"), "the record has it itself")
  }

  @Test("a kept draft shows its error as soon as it is opened again")
  func draftError() throws {
    let driver = try driver(Sample.store())
    go(to: ".population", driver)
    driver.press("e ^u")
    driver.type("many")
    driver.press("Esc")
    #expect(!driver.shows("not an integer"))
    driver.press("e")
    #expect(driver.shows("(draft)") && driver.shows("not an integer: “many”"), "\(driver.screen)")
  }

  @Test("in a record pane of 40 columns the new value of a staged edit is whole, and the old one is cut")
  func narrowEdit() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 40, rows: 20), start: .init(datastore: "City"))
    go(to: ".timezone", driver)
    driver.press("e ^u")
    driver.type("Europe/Busingen")
    driver.press("Enter 3")
    #expect(
      driver.lines.contains { $0.contains("~ timezone") && $0.contains("→ \"Europe/Busingen\"") }, "\(driver.screen)")
  }

  @Test("the preview of a change lists all changes, and scrolls")
  func preview() throws {
    let store = try Sample.large(200)
    let driver = try driver(store, ":set name = \"same\"", datastore: "Item")
    let overlay = try #require(driver.browser.overlays.last as? BulkOverlay)
    #expect(overlay.lineCount(driver.browser.session) == 201)
    driver.press("G")
    #expect(driver.shows("~ 199 name  - \"Record 199\"  + \"same\""), "\(driver.screen)")
    driver.press("Enter")
    #expect(driver.browser.session.staged.totals.updated == 200)
  }
}
