import StrataDocuments
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

/// Stores of which a part cannot be read, and stores that do not answer.
@Suite("Damage")
struct DamageTests {
  private static let wide = Size(columns: 120, rows: 30)

  @Test("a record that cannot be read shows why, and no key takes the record before it for that one")
  func unreadable() throws {
    let store = HeldStore(try Sample.store(), holdsRecords: true)
    let second = "615532"
    try store.damage("City", second)
    let driver = Driver(store, size: Self.wide, start: .init(datastore: "City"))
    #expect(driver.shows("3 Record · 611717"))
    driver.press("j")
    #expect(driver.selectedIdentifier == second)
    #expect(driver.shows("3 Record · \(second)"), "\(driver.screen)")
    #expect(driver.shows("an older"), "\(driver.screen)")
    for keys in ["e", "E", "3 e", "E", "D", "y r", "p", "d d", "2"] {
      driver.press(keys)
      #expect(driver.browser.session.staged.isEmpty && driver.browser.overlays.isEmpty, "\(keys): \(driver.screen)")
    }
    #expect(!driver.outward.contains { if case .edit = $0 { true } else { false } })
    driver.press("k")
    driver.go(to: ".name")
    driver.press("e")
    #expect(driver.browser.overlays.last is ValueEditor)
    #expect(!driver.shows("damaged record at byte 4711 —"), "\(driver.screen)")
  }

  @Test("a record that becomes unreadable keeps its staged edit in its row and in the record pane, where it goes on")
  func stagedEdit() throws {
    let base = try Sample.store()
    let store = HeldStore(base, holdsRecords: true)
    let driver = Driver(store, size: Self.wide, start: .init(datastore: "City", identifier: "2661552"))
    driver.go(to: ".name")
    driver.press("e ^u")
    driver.type("Bärn")
    driver.press("Enter")
    try Sample.change(base, "City", "611717", ".population", to: 5)
    try store.damage("City", "2661552")
    driver.tell(.storeStirred)
    let row = driver.lines.first { $0.contains("▶") && $0.contains("2661552") }
    #expect(row?.contains("~") == true && row?.contains("Bärn") == true, "\(driver.screen)")
    let meaning = driver.browser.table.signMeaning(driver.browser.session)
    #expect(meaning?.contains("what is stored cannot be read: damaged record") == true, "\(driver.screen)")
    driver.press("3")
    #expect(driver.shows("→ \"Bärn\"") && driver.shows("121631"), "\(driver.screen)")
    driver.press("2")
    driver.go(to: ".population")
    driver.press("e ^u 7 Enter")
    let staged = try #require(driver.browser.session.staged.edits.values.first?.new)
    let document = try RecordCoding.json.document(of: staged.bytes)
    #expect(document[member: "name"] == "Bärn" && document[member: "population"] == 7, "\(driver.screen)")
  }

  @Test("what is typed behind a command for a record that cannot be read runs as no command")
  func typedAhead() throws {
    for keys in ["C", "3 i", "3 C"] {
      let store = HeldStore(try Sample.store(), holdsRecords: true)
      try store.damage("City", "615532")
      let driver = Driver(store, size: Self.wide, start: .init(datastore: "City"))
      driver.isHolding = true
      driver.press("j \(keys) g H")
      #expect(driver.browser.views.count == 1 && driver.browser.record.waiting != nil, "\(keys): \(driver.screen)")
      driver.release()
      #expect(driver.browser.views.count == 1 && driver.browser.typeAhead.isEmpty, "\(keys): \(driver.screen)")
    }
  }

  @Test("a record that cannot be read ends no search for values to offer")
  func completions() throws {
    let store = HeldStore(try Sample.store(), holdsRecords: true)
    try store.damage("City", "615532")
    store.damagesWalks = true
    let request = ValuesRequest(datastore: "City", commit: store.head.commit, field: "timezone", typed: "")
    #expect(try request.reply(in: WorkContext(store: store)).values.count == 3)
  }

  @Test("rows of which no field can be read say why")
  func unreadableRows() throws {
    let store = HeldStore(try Sample.store(), holdsRecords: true)
    try store.damage()
    let driver = Driver(store, size: Self.wide, start: .init(datastore: "City"))
    let rows = driver.lines.filter { $0.contains("611717  ") || $0.contains("1861060  ") }
    #expect(rows.count == 2 && rows.allSatisfy { $0.contains("✗ damaged record at byte 4711") }, "\(driver.screen)")
    #expect(!driver.shows("reading…"), "\(driver.screen)")
  }

  @Test(
    "a key in the record pane waits for the record, and does not change the one before it",
    arguments: ["d d", "p", "E"])
  func early(keys: String) throws {
    let long = String(repeating: "x", count: 100_000)
    let documents: [Document] = (1...3).map { number in
      .object([
        .init("id", .number(NumberText(number))), .init("name", .string("n\(number)")), .init("text", .string(long)),
      ])
    }
    let driver = Driver(try Sample.documents(documents), size: Self.wide, start: .init(datastore: "T"))
    driver.press("3 j y y")
    driver.isHolding = true
    driver.press("J \(keys)")
    driver.release()
    for case .edit(let request) in driver.outward { #expect(request.text == "n2\n") }
    let edit = driver.browser.session.staged.edits.values.first
    #expect(keys == "E" ? edit == nil : edit?.identifier.description == "2")
    let texts = [edit?.old, edit?.new].compactMap { $0.map { String(decoding: $0.bytes.prefix(40), as: UTF8.self) } }
    #expect(texts.allSatisfy { $0.contains("\"id\":2") }, "\(texts)")
  }

  @Test("a store whose datastores cannot be read says so in its panes, with the command that saves the rest")
  func unreadableOutline() throws {
    let store = HeldStore(try Sample.store(), holdsRecords: true)
    store.fail(.storage("damaged record at byte 4711", kind: .damaged))
    let driver = Driver(store, size: Self.wide)
    #expect(!driver.shows("reading…"), "\(driver.screen)")
    #expect(driver.status.contains("strata salvage /tmp/Atlas.strata NEW"), "\(driver.screen)")
    #expect(driver.lines[2...4].joined().contains("✗ /tmp/Atlas.strata: damaged"), "\(driver.screen)")
    // Also on a screen that was shown before.
    let later = Driver(store, size: Self.wide, isHolding: true)
    #expect(later.shows("reading…"), "\(later.screen)")
    later.release()
    #expect(!later.shows("reading…"), "\(later.screen)")
  }

  @Test("a commit that is not answered can be left, and what was staged stays")
  func unansweredCommit() throws {
    let driver = Driver(try Sample.store(), size: Self.wide, start: .init(datastore: "City"))
    driver.go(to: ".population")
    driver.press("e ^u 7 Enter w Enter")
    driver.isHolding = true
    driver.press("Enter")
    #expect(driver.shows("commit… — Esc cancels"), "\(driver.screen)")
    driver.press("Esc")
    #expect(driver.shows("cancelling commit… — Q leaves"), "\(driver.screen)")
    driver.press("Q")
    #expect(driver.status.contains("waiting for the commit; Q again leaves without waiting"), "\(driver.screen)")
    #expect(!driver.hasQuit)
    driver.press("Q")
    #expect(driver.hasQuit && driver.browser.leavesAtOnce)
    #expect(driver.browser.farewell?.hasPrefix("1 staged change kept for Atlas.strata; the commit") == true)
  }

  @Test("a process that has just taken the lock, and has not said so yet, is named without figures")
  func unknownHolder() throws {
    let hold = WriterHold(processIdentifier: 0, program: "", since: 0)
    let driver = Driver(
      HeldStore(try Sample.store(), by: hold), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    #expect(driver.title.contains("held by another process ·"), "\(driver.title)")
    #expect(ModelError.locked(hold).description == "held by another process")
  }

  @Test("a title that has no room for both names the absence of the server, not the program that had the lock")
  func awayBeforeWriter() throws {
    let hold = WriterHold(processIdentifier: 812, program: "Atlas of all places", since: Sample.now)
    let store = HeldStore(try Sample.store(), by: hold)
    let driver = Driver(store, start: .init(datastore: "City"))
    #expect(driver.title.contains("held by Atlas"), "\(driver.title)")
    store.goAway()
    driver.tell(.storeStirred)
    #expect(driver.title.contains("server away since"), "\(driver.title)")
  }

  @Test("a search for -0 is not answered by the key 0")
  func minusZero() throws {
    let documents: [Document] = [["id": 0, "at": "x"], ["id": 1, "at": "y-0"]]
    let driver = Driver(try Sample.documents(documents), size: Self.wide, start: .init(datastore: "T"))
    driver.press("/")
    driver.type("-0")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "1", "\(driver.screen)")
    driver.press("gg /")
    driver.type("1")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "1" && driver.status.contains("INDEX"), "\(driver.screen)")
  }

  @Test("the marks of a plot's axes differ, however close together its numbers are")
  func closeMarks() throws {
    let documents: [Document] = (0..<40).map { number in
      .object([
        .init("id", .number(NumberText(number))), .init("t", .number(NumberText(1_700_000_000 + number * 7))),
        .init("v", .number(NumberText(Double(1_234_567) + Double(number) / 16))),
      ])
    }
    let driver = Driver(try Sample.documents(documents), size: Self.wide, start: .init(datastore: "T"))
    for fields in ["t v", "v t"] {
      try driver.play(":plot \(fields)")
      let beside = driver.lines.filter { $0.contains("▏") }
      let marks = beside.map { $0.dropFirst().prefix { $0 != "▏" }.filter { $0 != " " } }.filter { !$0.isEmpty }
      #expect(marks.count >= 3 && Set(marks).count == marks.count, "\(driver.screen)")
      #expect(!driver.shows("1.700 G") && !driver.shows("1.235 M"), "\(driver.screen)")
      driver.press("q")
    }
  }

  @Test("means of groups and pivots have four places, and all of them when they are copied")
  func means() throws {
    let documents: [Document] = [
      ["id": 1, "g": "a", "v": 1], ["id": 2, "g": "a", "v": 1], ["id": 3, "g": "a", "v": 2],
      ["id": 4, "g": "b", "v": 0.0001], ["id": 5, "g": "b", "v": 0.0002], ["id": 6, "g": "b", "v": 0.0002],
      ["id": 7, "g": "c", "v": 0.5],
    ]
    let driver = Driver(try Sample.documents(documents), size: Self.wide, start: .init(datastore: "T"))
    try driver.play(":group g v")
    #expect(driver.shows(" 1.3333 ") && driver.shows(" 0.0001667 ") && driver.shows(" 0.5 "), "\(driver.screen)")
    driver.press("l l l y y")
    #expect(driver.copied?.hasPrefix("1.33333333") == true)
    driver.press("q")
    try driver.play(":pivot g id v")
    driver.press("g P g P")
    #expect(!driver.shows("1.33333"), "\(driver.screen)")
  }

  /// Cities in a store on disk, of which the content of one was damaged.
  private func damagedCities(_ folder: String) throws -> EngineStore {
    TestFile.remove(folder)
    var store = try EngineStore.open(path: folder, program: "tests", creates: true)
    try Sample.add(Sample.cities.flatMap(\.self), to: store, Sample.cityPlan(), "import")
    try Sample.change(store, "City", "2661552", ".population", to: 121_632)
    store = try EngineStore.open(path: folder, program: "tests")
    try TestFile.flip(after: #""name":"Bern","#, in: folder + "/data")
    return store
  }

  /// The same after the damaged record was replaced, and another one changed.
  private func mendedCities(_ folder: String) throws -> EngineStore {
    let store = try damagedCities(folder)
    let cities = try #require(try store.refresh().datastore("City"))
    let key = try cities.identifier(parsing: "2661552")
    let first = try #require(try store.view(at: CommitNumber(1)).datastore("City")?.record(key))
    let edit = RecordEdit(
      datastore: "City", identifier: key, old: try cities.replaceable(key)?.stored, new: first.stored)
    _ = try store.commit(ChangeSet(changes: [edit]), named: "mend", options: EditOptions())
    try Sample.change(store, "City", "2657896", ".population", to: 4)
    return store
  }

  @Test("work that reads many rows reads on behind a damaged record, and says what it left out")
  func readingOn() throws {
    let folder = "/tmp/strata-reading-on-\(UInt64.random(in: 0 ... .max)).strata"
    defer { TestFile.remove(folder) }
    let driver = Driver(try damagedCities(folder), size: Self.wide, start: .init(datastore: "City"))
    let words = "record 2661552 of City is left out: damaged record at byte"
    for (command, found) in [
      ("f timezone = \"Europe/Zurich\"", ["Zürich", "Genève", "Basel"]),
      ("f countrycode = \"CH\"", ["Zürich", "Genève", "Basel"]),
    ] {
      driver.press("f")
      driver.type(String(command.dropFirst(2)))
      #expect(driver.browser.session.notice?.text.contains(words) == true, "\(command)")
      driver.press("Enter")
      #expect(driver.browser.table.ranks?.count == found.count, "\(command): \(driver.screen)")
      #expect(found.allSatisfy { driver.shows($0) } && !driver.shows("Bern"), "\(command): \(driver.screen)")
      driver.press("Esc")
    }
    driver.press("/")
    driver.type("Asia/Tokyo")
    driver.press("Enter")
    #expect(driver.selectedIdentifier == "1850147", "\(driver.screen)")
    #expect(driver.status.contains(words), "\(driver.status)")
    for command in [":group timezone", ":describe", ":frequency timezone", ":pivot countrycode timezone population"] {
      try driver.play(command)
      #expect(driver.status.contains(words), "\(command): \(driver.screen)")
      driver.press("q")
    }
  }

  @Test("a damaged record can be deleted, and restored from the history, which lists the version that cannot be read")
  func mending() throws {
    let folder = "/tmp/strata-mending-\(UInt64.random(in: 0 ... .max)).strata"
    defer { TestFile.remove(folder) }
    let store = try damagedCities(folder)
    let driver = Driver(
      store, size: Self.wide, start: .init(datastore: "City", identifier: "2661552"))
    #expect(driver.selectedIdentifier == "2661552")
    driver.press("3 i")
    #expect(driver.editorRequest == nil && driver.status.contains("damaged record"), "\(driver.screen)")
    driver.press("2 H")
    #expect(driver.shows("cannot be read: d"), "\(driver.screen)")
    driver.press("2 d d")
    let staged = driver.browser.session.staged
    #expect(staged.edits.values.map(\.kind) == [.delete], "\(driver.screen)")
    let deleted = try store.commit(staged.changes, named: "delete", options: EditOptions())
    #expect(try store.view(at: deleted).datastore("City")?.count == 9)
  }

  @Test("copies, duplicates and edits of many records go on behind one that cannot be read, and name it")
  func gathered() throws {
    let store = HeldStore(try Sample.store(), holdsRecords: true)
    try store.damage("City", "615532")
    let driver = Driver(store, size: Self.wide, start: .init(datastore: "City"))
    let words = "record 615532 of City is left out: damaged record at byte 4711"
    driver.press("Space Space Space y r")
    #expect(driver.copied?.split(separator: "\n").count == 2, "\(driver.screen)")
    #expect(driver.browser.session.notice?.text.contains(words) == true, "\(driver.screen)")
    for keys in ["E", "D"] {
      driver.press(keys)
      let lines = driver.editorRequest?.text.split(separator: "\n") ?? []
      #expect(lines.first == "// \(words)" && lines.count { $0.hasPrefix("{") } == 2, "\(keys): \(lines)")
      driver.tell(.editorClosed(EditorOutcome(text: "")))
    }
  }

  @Test("a restore of many records goes on behind a version that cannot be read, names it, and deletes nothing for it")
  func restoringMany() throws {
    let folder = "/tmp/strata-restoring-many-\(UInt64.random(in: 0 ... .max)).strata"
    defer { TestFile.remove(folder) }
    let store = try mendedCities(folder)
    let driver = Driver(store, size: Self.wide, start: .init(datastore: "City", identifier: "2657896"))
    try driver.play(":travel 2")
    driver.press("Space j Space r")
    let edits = driver.browser.session.staged.edits.values
    #expect(edits.map(\.identifier.description) == ["2657896"] && edits.first?.kind == .update, "\(driver.screen)")
    let words = "record 2661552 of City is left out: damaged record"
    #expect(driver.browser.session.notice?.text.contains(words) == true, "\(driver.screen)")
  }

  @Test("the older version of a damaged record can be brought back")
  func restoring() throws {
    let folder = "/tmp/strata-restoring-\(UInt64.random(in: 0 ... .max)).strata"
    defer { TestFile.remove(folder) }
    let store = try damagedCities(folder)
    let driver = Driver(store, size: Self.wide, start: .init(datastore: "City", identifier: "2661552"))
    driver.press("H j r")
    #expect(driver.browser.session.staged.edits.values.map(\.kind) == [.update], "\(driver.screen)")
    let staged = driver.browser.session.staged.changes
    #expect(try store.preview(staged, options: EditOptions()).conflicts.isEmpty)
    _ = try store.commit(staged, named: "restore", options: EditOptions())
    let record = try #require(
      try store.refresh().datastore("City").flatMap { try $0.record($0.identifier(parsing: "2661552")) })
    #expect(try record.document()[member: "population"] == 121_631, "\(driver.screen)")
    #expect(try store.head.datastore("City")?.verify(index: nil, progress: nil).findings.isEmpty == true)
  }
  @Test("what is shown without damaged records says so as long as it is shown")
  func standingNotice() throws {
    let folder = "/tmp/strata-standing-\(UInt64.random(in: 0 ... .max)).strata"
    defer { TestFile.remove(folder) }
    let store = try damagedCities(folder)
    let driver = Driver(store, size: Self.wide, start: .init(datastore: "City"))
    let words = "⚠ damaged records left out"
    #expect(!driver.shows(words))
    driver.press("f")
    driver.type("timezone = \"Europe/Zurich\"")
    driver.press("Enter j j")
    #expect(driver.shows(words), "\(driver.screen)")
    driver.press("Esc")
    #expect(!driver.shows(words), "\(driver.screen)")
    try driver.play(":group timezone")
    driver.press("j")
    #expect(driver.shows(words), "\(driver.screen)")
  }

  @Test("an export and a change of many records leave a damaged one, and name it")
  func bulk() throws {
    let folder = "/tmp/strata-bulk-\(UInt64.random(in: 0 ... .max)).strata"
    defer { TestFile.remove(folder) }
    let driver = Driver(
      try damagedCities(folder), size: Self.wide, start: .init(datastore: "City"), files: BrowserFiles(folder: folder))
    try driver.play(":export \(folder)/out.jsonl")
    #expect(driver.status.contains("record 2661552 of City is left out"), "\(driver.screen)")
    #expect(try TestFile.lines(folder + "/out.jsonl").count == 9)
    for condition in ["", " where timezone = \"Europe/Zurich\""] {
      driver.press("V G")
      try driver.play(":set population = 7\(condition)")
      #expect(driver.shows("2661552") && driver.shows("damaged record at byte"), "\(driver.screen)")
      driver.press("Esc Esc Esc")
    }
  }

  @Test("a damaged record to which others lead takes its own fields from their rows, and nothing else")
  func damagedTarget() throws {
    let store = HeldStore(try Sample.store(), holdsRecords: true)
    try store.damage("Country", "JP")
    store.damagesWalks = true
    let driver = Driver(store, size: Size(columns: 160, rows: 30), start: .init(datastore: "City"))
    try driver.play(":reference countrycode Country")
    try driver.play(":join countrycode name")
    #expect(driver.browser.table.problem == nil && !driver.shows("✗"), "\(driver.screen)")
    #expect(driver.shows("1850147") && driver.shows("Switzerland"), "\(driver.screen)")
    try driver.play(":filter Country.name = \"Georgia\"")
    #expect(driver.shows("615532") && !driver.shows("1850147"), "\(driver.screen)")
    let notice = driver.browser.session.notice?.text
    #expect(notice?.contains("record JP of Country is left out") == true, "\(driver.screen)")
  }

  @Test("a group whose first record is damaged has the value that its index has")
  func damagedGroup() throws {
    let store = HeldStore(try Sample.store(), holdsRecords: true)
    try store.damage("City", "611717")
    let request = GroupRequest(
      source: RowSource(datastore: "City"), commit: store.head.commit, keys: [try DocumentPath(parsing: ".countrycode")]
    )
    guard case .finished(let reply as GroupRequest.Reply, _) = request.report(in: WorkContext(store: store)) else {
      Issue.record("no groups")
      return
    }
    #expect(reply.plan.hasPrefix("INDEX countrycode"))
    #expect(reply.groups.map(\.keys) == [["CH"], ["GE"], ["JP"]])
  }

  @Test("a content that is no document is one field of a difference and of a review, which says so")
  func noDocument() throws {
    let store = try Sample.store()
    let cities = try #require(try store.head.datastore("City"))
    let good = try #require(try cities.record(cities.identifier(parsing: "611717")))
    var bad = good
    bad.content = Array("oops".utf8)
    let change = RecordChange(datastore: "City", identifier: good.identifier, old: bad, new: good)
    let edit = RecordEdit(datastore: "City", identifier: good.identifier, old: bad.stored, new: good.stored)
    for rows in [change.fieldRows(), edit.fields(cities.descriptor)] {
      #expect(rows.count == 1 && rows.first?.old?.text.contains("cannot be read") == true)
      #expect(rows.first?.new?.text.contains("611717") == true)
    }
  }

  @Test("an undo, a history and a difference list a record that cannot be read")
  func histories() throws {
    let folder = "/tmp/strata-histories-\(UInt64.random(in: 0 ... .max)).strata"
    defer { TestFile.remove(folder) }
    let store = try mendedCities(folder)
    let driver = Driver(store, size: Self.wide, start: .init(datastore: "City"))
    driver.press("4")
    driver.press("j Enter")
    #expect(driver.shows("cannot be read: damaged record"), "\(driver.screen)")
    driver.press("R")
    #expect(driver.shows("damage keeps the undo from 1 record: City 2661552"), "\(driver.screen)")
    driver.press("Esc")
    try driver.play(":pickaxe 3")
    #expect(driver.shows("cannot be read"), "\(driver.screen)")
  }

  @Test("a datastore whose descriptor is damaged is listed as such, and the others open")
  func damagedDescriptor() throws {
    let folder = "/tmp/strata-descriptor-\(UInt64.random(in: 0 ... .max)).strata"
    defer { TestFile.remove(folder) }
    var store = try EngineStore.open(path: folder, program: "tests", creates: true)
    try Sample.add(Sample.cities.flatMap(\.self), to: store, Sample.cityPlan(), "import")
    try Sample.add(Sample.cities.flatMap(\.self), to: store, Sample.plan("Town", "geonameid", []), "import")
    store = try EngineStore.open(path: folder, program: "tests")
    try TestFile.flip(after: #""key":"Town","#, in: folder + "/data")
    store = try EngineStore.open(path: folder, program: "tests")
    let driver = Driver(store, size: Self.wide)
    #expect(driver.status.contains("the descriptor of Town cannot be read"), "\(driver.screen)")
    #expect(driver.browser.session.datastore == "City" && driver.shows("Bern"), "\(driver.screen)")
    #expect(driver.lines.contains { $0.contains("⚠Town") && $0.contains("damaged") }, "\(driver.screen)")
    driver.press("1 j Enter")
    #expect(driver.status.contains("descriptor of Town cannot be read") && driver.shows("Bern"), "\(driver.screen)")
  }
}
