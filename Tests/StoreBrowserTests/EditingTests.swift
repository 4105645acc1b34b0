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

  // MARK: Numbers

  @Test(
    "a text among numbers becomes a number if one is typed over it, which the editor says; any other text stays one")
  func mended() throws {
    for (typed, value) in [("12.5", 12.5 as Document), ("a few", "a few"), ("12", "12")] {
      let store = try Sample.documents([["id": 1, "share": "12"], ["id": 2, "share": 2.5], ["id": 3, "share": 4]])
      let driver = Driver(store, size: Size(columns: 120, rows: 24), start: .init(datastore: "T"))
      driver.go(to: ".share")
      driver.press("e ^u")
      driver.type(typed)
      #expect(driver.shows("share : Double, as in other records") == (typed == "12.5"), "\(driver.screen)")
      driver.press("Enter")
      #expect(try driver.stagedDocuments()["1"].map { $0[member: "share"] } ?? "12" == value, "\(driver.screen)")
    }
  }

  @Test("an emptied number is refused, and null is offered for it; JSON has no infinity")
  func emptied() throws {
    #expect(NumberText("") == nil)
    let store = try Sample.documents([["id": 1, "share": 2.5, "count": 3, "isOpen": true]])
    for field in [".share", ".count", ".isOpen"] {
      let driver = Driver(store, size: Size(columns: 120, rows: 24), start: .init(datastore: "T"))
      driver.go(to: field)
      driver.press("e ^u Enter")
      #expect(driver.browser.session.staged.isEmpty && driver.shows("an empty text is not"), "\(driver.screen)")
      driver.press("Enter")
      #expect(try driver.stagedDocuments()["1"]?[DocumentPath(parsing: field)] == .null, "\(driver.screen)")
    }
    let driver = Driver(store, size: Size(columns: 120, rows: 24), start: .init(datastore: "T"))
    driver.go(to: ".share")
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
    driver.go(to: ".at")
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
    driver.go(to: ".name")
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
    #expect(try driver.stagedDocuments()[identifier]?[member: "name"] == "one\ntwo\nThree")
    driver.press("e")
    #expect(driver.shows("┃ Three"), "a value of several lines opens with all of them")
    driver.press("Esc u")
    driver.go(to: ".name")
    driver.press("e ^u")
    driver.tell(.event(.paste("a\nb")))
    driver.press("Enter")
    #expect(try driver.stagedDocuments()[identifier]?[member: "name"] == "a\nb")
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
    driver.go(to: ".population")
    driver.press("e")
    #expect(driver.shows("population : Int · index 1:n as declared"), "\(driver.screen)")
  }

  @Test("Tab in the editor offers the values seen, and a reference's records, in a list searched by all it shows")
  func list() throws {
    let driver = try driver(try Sample.store(), ":reference countrycode Country")
    driver.go(to: ".countrycode")
    let identifier = try #require(driver.selectedIdentifier)
    driver.press("e")
    #expect(driver.shows("Tab list"), "\(driver.screen)")
    driver.press("Tab")
    driver.type("zerl")
    driver.press("Enter")
    #expect(try driver.stagedDocuments()[identifier]?[member: "countrycode"] == "CH")
  }

  @Test("a reference's list offers the staged new records of its datastore, too")
  func listOfStaged() throws {
    let store = try Sample.store()
    let driver = try driver(store, ":reference countrycode Country")
    for (datastore, identifier, name) in [("Country", "XX", "Newland"), ("City", "77", "Newtown")] {
      let target = try #require(try store.head.datastore(datastore))
      let model = try #require(try target.record(target.primary.entries(at: 0..<1)[0].identifier))
      let document = try model.document().setting(DocumentPath(parsing: ".name"), to: .string(name))
      let content = RecordContent(version: model.version, bytes: try model.coding.encode(document))
      let edit = RecordEdit(
        datastore: datastore, identifier: try target.identifier(parsing: identifier), old: nil, new: content)
      driver.browser.stage(StagedStep(title: "new \(name)", edits: [edit]))
    }
    driver.press("g g")
    driver.go(to: ".countrycode")
    let identifier = try #require(driver.selectedIdentifier)
    driver.press("e Tab")
    driver.type("newl")
    #expect(driver.shows("XX Newland"), "\(driver.screen)")
    driver.press("^u")
    driver.type("newt")
    let items = try #require(driver.browser.overlays.last as? FinderOverlay).items
    #expect(items.isEmpty, "of another datastore")
    driver.press("^u")
    driver.type("newl")
    driver.press("Enter")
    #expect(try driver.stagedDocuments()[identifier]?[member: "countrycode"] == "XX")
  }

  @Test("a change of many records keeps what was staged of them before")
  func further() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store)
    let driver = try driver(store)
    driver.go(to: ".name")
    driver.press("e ^u")
    driver.type("Renamed")
    driver.press("Enter")
    try driver.play(":set population = 7")
    driver.press("Enter")
    let documents = try driver.stagedDocuments()
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
    #expect(try driver.stagedDocuments().mapValues { $0[member: "price"] } == ["1": 1.65, "2": 2.2])
    try driver.play(":set n = n * 1.1")
    #expect(driver.shows(".n holds integers") && driver.shows("0 records"), "\(driver.screen)")
    driver.press("Esc u")
    driver.go(to: ".price")
    driver.press("j")
    driver.tell(.event(.paste("2.75")))
    driver.press("Enter")
    #expect(try driver.stagedDocuments()["2"]?[member: "price"] == 2.75, "\(driver.screen)")
    driver.press("u e ^u")
    driver.type("2.5")
    #expect(!driver.shows("not an integer"), "\(driver.screen)")
    driver.press("Enter")
    #expect(try driver.stagedDocuments()["2"]?[member: "price"] == 2.5, "\(driver.screen)")
    // Where all values are whole, a fraction is offered and taken by a second Enter.
    driver.go(to: ".n")
    driver.press("e ^u")
    driver.type("2.5")
    driver.press("Enter")
    #expect(driver.shows("not an integer: “2.5” — ⏎ takes 2.5"), "\(driver.screen)")
    driver.press("Enter")
    #expect(try driver.stagedDocuments()["2"]?[member: "n"] == 2.5)
  }

  @Test("where only records without a value are shown, a field of numbers takes a pasted fraction")
  func pastedOverNull() throws {
    let store = try Sample.documents(
      (1...300).map {
        ["id": .number(NumberText($0)), "price": $0 % 13 == 1 ? .null : .number(NumberText(Double($0) + 0.25))]
      })
    let driver = try driver(store, ":filter price = null", datastore: "T")
    driver.go(to: ".price")
    driver.tell(.event(.paste("2.75\n3\n")))
    driver.press("Enter")
    #expect(try driver.stagedDocuments().mapValues { $0[member: "price"] } == ["1": 2.75, "14": 3], "\(driver.screen)")
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
        driver.go(to: field)
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
    driver.go(to: ".note")
    driver.press("e ^u Enter")
    #expect(try driver.stagedDocuments()["1"]?[member: "note"] == "")
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
    driver.go(to: ".code")
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
    driver.go(to: ".population")
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
    driver.go(to: ".timezone")
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

  @Test(":set and a pasted block change staged new rows like the stored rows above them", arguments: [true, false])
  func stagedNewRows(isPasted: Bool) throws {
    let driver = try driver(Sample.documents([["id": 1, "n": 1], ["id": 2, "n": 2]]), datastore: "T")
    let descriptor = try #require(driver.browser.session.current).descriptor
    let edits = try (3...4).map { number in
      RecordEdit(
        datastore: "T", identifier: descriptor.storedKey(try descriptor.identifierEncoding.encode(.integer(number))),
        old: nil, new: RecordContent(version: "1", bytes: Array("{\"id\":\(number),\"n\":\(number)}".utf8)))
    }
    driver.browser.stage(StagedStep(title: "new", edits: edits))
    driver.press("j")
    driver.go(to: ".n")
    if isPasted { driver.tell(.event(.paste("12\n13\n"))) } else { try driver.play(":set n = n + 10 where n > 1") }
    driver.press("Enter")
    let values = try driver.stagedDocuments().mapValues { $0[member: "n"] }
    #expect(values == ["2": 12, "3": 13, "4": isPasted ? 4 : 14], "\(driver.screen)")
    driver.press("u")
    try driver.play(":delete")
    driver.press("Enter")
    #expect(driver.browser.table.insertions(driver.browser.session).isEmpty, "\(driver.screen)")
  }
}
