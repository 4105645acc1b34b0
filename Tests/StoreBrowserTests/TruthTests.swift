import StrataModel
import StrataDocuments
import StrataEngine
import StrataTerminal
import Testing

@testable import StoreBrowser

/// What the screen says is so.
@Suite("Truth")
struct TruthTests {
  @Test("blame of a list names the newest commit that changed one of its parts")
  func blameOfContainers() throws {
    let store = try Sample.store()
    let changed = try Sample.change(store, "City", "2657896", ".alternatenames[1]", to: "Turigum")
    let request = BlameRequest(
      place: RecordPlace(
        datastore: "City",
        identifier: try #require(try store.refresh().datastore("City")).identifier(parsing: "2657896")),
      from: store.head.commit)
    let answer = try request.reply(in: WorkContext(store: store))
    #expect(answer.commits[".alternatenames"]?.number == changed)
    #expect(answer.commits[".alternatenames[1]"]?.number == changed)
    #expect(answer.commits[".alternatenames[0]"]?.number != changed)
    #expect(answer.commits[".name"]?.number != changed)
  }

  @Test("in a narrow pane blame leaves the values their room: the number of the commit is enough")
  func narrowBlame() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 100, rows: 30), start: .init(datastore: "City"))
    driver.press("3 b 2")
    let line = try #require(driver.lines.first { $0.contains("population ") && $0.contains("#3") })
    #expect(line.contains("1049498"), "\(line)")
    driver.press("3 + +")
    #expect(driver.lines.contains { $0.contains("1049498") && $0.contains("#3 import GE") }, "\(driver.screen)")
  }

  @Test("a macro edits the record that it stood on when it was recorded, not the one before")
  func macroWaits() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    try driver.play(":record")
    driver.press("j l l l e ^u 5 Enter")
    try driver.play(":record")
    let first = driver.selectedIdentifier
    driver.isHolding = true
    driver.press("h h h @")
    while !driver.held.isEmpty { driver.releaseOne() }
    driver.isHolding = false
    #expect(first == "615532")
    let edited = driver.browser.session.staged.order.map(\.identifier.description)
    #expect(edited == ["615532", "1850147"])
  }

  @Test(
    "a macro has what was pasted, and no key of the command that ended it, however that was called",
    arguments: [": r e c o r d Enter", "^p r e c o r d Enter", "? r e c o r d Enter"])
  func wholeMacro(end: String) throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.go(to: ".name")
    try driver.play(":record")
    try driver.play(":+1")
    driver.press("e ^u")
    driver.tell(.event(.paste("New")))
    driver.press("Enter")
    driver.press(end)
    let first = try #require(driver.selectedIdentifier)
    #expect(driver.status.contains("recorded"), "\(driver.screen)")
    driver.press("g g @")
    #expect(driver.browser.overlays.isEmpty && !driver.browser.macro.isRecording, "\(driver.screen)")
    let edits = driver.browser.session.staged.edits.values
    #expect(edits.count == 1 && first == edits.first?.identifier.description, "\(driver.screen)")
    driver.press("j")
    driver.press("@")
    #expect(driver.browser.session.staged.edits.count == 2, "\(driver.screen)")
    for edit in driver.browser.session.staged.edits.values {
      let document = try edit.new.map { try RecordCoding.json.document(of: $0.bytes) }
      #expect(document?[member: "name"] == "New", "\(driver.screen)")
    }
  }

  @Test("Enter that was typed ahead does not confirm a review, whether typed or replayed")
  func enterAheadOfReview() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("d d")
    driver.isHolding = true
    driver.press("w Enter Enter")
    driver.release()
    #expect(driver.browser.overlays.last is ReviewOverlay)
    #expect((driver.browser.overlays.last as? ReviewOverlay)?.name == nil)
    #expect(store.head.commit.rawValue == 4)
    #expect(driver.shows("press it again"))
    driver.press("Enter Enter")
    #expect(store.head.commit.rawValue == 5)
  }

  @Test("keys after a jump reach what was shown when they were pressed; Esc takes them back")
  func typeAhead() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.isHolding = true
    driver.press("l l l o d d")
    driver.press("Esc")
    driver.release()
    #expect(driver.browser.session.staged.isEmpty)
  }

  @Test("keys that were typed behind the one that opens the user's editor run as no commands")
  func typedBeforeEditor() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.isHolding = true
    try driver.play(":travel head")
    driver.press("E d d")
    #expect(driver.browser.typeAhead.count == 3, "\(driver.screen)")
    driver.release()
    #expect(driver.editorRequest != nil && driver.browser.typeAhead.isEmpty, "\(driver.screen)")
    driver.tell(.editorClosed(EditorOutcome(text: driver.editorRequest?.text)))
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
  }

  @Test("an edit that is typed before its row is read waits for it, and no letter of the text is taken for a command")
  func editAhead() throws {
    let driver = Driver(try Sample.large(1000), start: .init(datastore: "Item"))
    driver.press("l l")
    driver.isHolding = true
    driver.press("G k k k e ^u 7 7 7 Enter")
    #expect(!driver.shows("no record is selected") && driver.browser.session.staged.isEmpty)
    driver.release()
    #expect(driver.browser.focus == .table && driver.browser.overlays.isEmpty, "\(driver.screen)")
    #expect(driver.browser.session.staged.order.map(\.identifier.description) == ["996"], "\(driver.screen)")
    #expect(driver.lines.contains { $0.contains("▶~") && $0.contains("777") }, "\(driver.screen)")
  }

  @Test("a staged value is shown in the column of the index that orders the table, too, and is copied with its record")
  func stagedKey() throws {
    let driver = Driver(try Sample.large(20), start: .init(datastore: "Item"))
    try driver.play(": sort value")
    driver.press("l j e ^u 7 8 9 Enter")
    #expect(driver.lines.contains { $0.contains("▶~") && $0.contains(" 789 ") }, "\(driver.screen)")
    driver.press("y r")
    #expect(driver.copied?.contains("789") == true, "\(driver.copied ?? "")")
    driver.press("D")
    let text = try #require(driver.editorRequest?.text)
    let id = try #require(driver.selectedIdentifier)
    driver.tell(.editorClosed(EditorOutcome(text: text.replacing("\(id)", with: "500"))))
    #expect(driver.lines.contains { $0.contains("▶+") && $0.contains(" 789 ") }, "\(driver.screen)")
  }

  @Test("a key of an index is one row with all of its entries, also where one jumps into its midst")
  func keysAreWhole() throws {
    let store = try Sample.large(1000)
    let context = WorkContext(store: store)
    let request = KeysRequest(
      datastore: "Item", index: "group", commit: store.head.commit, range: nil, anchor: .from(rank: 350), limit: 3)
    let rows = try request.reply(in: context).rows
    #expect(rows.map(\.key) == [.string("g3"), .string("g4"), .string("g5")])
    #expect(rows.map(\.count) == [100, 100, 100])
    #expect(rows.map(\.rank) == [300, 400, 500])
  }

  @Test("what was verified at a commit does not stand for the next")
  func verifiedIsOfItsCommit() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 100, rows: 30), start: .init(datastore: "City"))
    driver.press("l l l o 5 V")
    #expect(driver.shows("0 orphans · 0 missing"))
    try Sample.change(store, "City", "2657896", ".population", to: 1)
    driver.tell(.storeStirred)
    #expect(!driver.shows("0 orphans · 0 missing"))
    #expect(driver.shows("verified at #4, not at #5"))
  }

  @Test(
    "a step that failed at its end is not a complete one, in pane and log, and while it begins the pane says what runs")
  func failedStep() throws {
    var run = WorkRun(
      Activity(
        title: "City: add index x", done: 10, total: 10, startedAt: 0,
        steps: [.init(title: "add index x", done: 10, total: 10, isComplete: true)]), at: 1)
    run.end(.failed("no"), at: 2)
    #expect(run.activity.steps.allSatisfy { run.hasFailed($0) })
    #expect(run.log.contains { $0.hasPrefix("failed add index x") })
    #expect(!run.log.contains { $0.hasPrefix("complete") })
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.isHolding = true
    try driver.play(":add-index zone=timezone")
    #expect(!driver.shows("nothing runs"))
    #expect(driver.shows("add index zone"))
  }

  @Test(
    "an element of a list that was removed or moved is not taken for the one in its place, in the changes and in a restore"
  )
  func movedElements() throws {
    let store = try Sample.documents([["id": 1, "l": ["a", "b", "c"], "x": [1, 2]]])
    try Sample.change(store, "T", "1", ".l", to: ["b", "z"])
    let driver = Driver(store, size: Size(columns: 120, rows: 30))
    func changes() -> [String] {
      driver.press("g H")
      return driver.lines.compactMap { line in
        line.split(separator: "│").last.flatMap {
          $0.contains("- \"") || $0.contains("+ \"") || $0.contains("now") ? String($0).trimmed : nil
        }
      }
    }
    #expect(changes() == ["l[0]  - \"a\"", "l[1]  - \"c\"", "+ \"z\""], "\(driver.screen)")
    driver.press("Esc Esc")
    // It is not "q" now: the element was removed, and the changed one went down.
    try Sample.change(store, "T", "1", ".l", to: ["q", "b", "z"])
    driver.tell(.storeStirred)
    driver.press("g H j")
    #expect(!driver.shows("now"), "\(driver.screen)")
    driver.press("Tab j c")
    #expect(
      driver.browser.session.staged.edits.values.first?.new.map { String(decoding: $0.bytes, as: UTF8.self) }?
        .replacing(" ", with: "").contains("[\"a\",\"b\",\"c\"]") == true, "\(driver.screen)")
  }

  @Test("a filter with a name that no record has says so, with the nearest that there is")
  func unknownName() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 160, rows: 24), start: .init(datastore: "City"))
    try driver.play(": filter country == \"JP\"")
    #expect(driver.shows("no record that was read has “country”"))
    #expect(driver.shows("countrycode"))
    try driver.play(": filter pupulatoin > 5")
    #expect(driver.shows("no record that was read has “pupulatoin”; did you mean population?"), "\(driver.screen)")
  }

  @Test("a filter that compares lists with a value says how their elements are found, and only if nothing matches")
  func listFilter() throws {
    let store = EngineStore(FileStore.memory(options: StoreOptions()), path: "/tmp/Lists.strata", program: "tests")
    try Sample.add([["id": 1, "tags": ["pear", "fig"]]], to: store, Sample.plan("Item", "id", []), "fill")
    let driver = Driver(store, size: Size(columns: 160, rows: 24), start: .init(datastore: "Item"))
    let plain = [
      #"tags = "fig""#, #"id = 1 and not tags != "fig""#, #"tags > 3"#, #"tags contains "fig""#,
      #"tags in ("fig", "pear")"#, #"tags =~ /fig/"#,
    ]
    for filter in plain {
      try driver.play(": filter \(filter)")
      #expect(driver.shows("tags is a list: tags has … finds its elements"), "\(driver.screen)")
    }
    for filter in [#"tags has "plum""#, #"id = 7"#] {
      try driver.play(": filter \(filter)")
      #expect(driver.shows("no record matches"), "\(driver.screen)")
    }
    try driver.play(": filter tags has \"fig\"")
    #expect(driver.browser.table.storedCount == 1 && !driver.shows("is a list"))
  }

  @Test("an element inserted at the head of a list is the only one that is shown as changed")
  func insertedElement() throws {
    let old: Document = ["list": ["a", "b", "c"]]
    let new: Document = ["list": ["x", "a", "b", "c"]]
    #expect(Document.difference(old, new).map(\.path.description) == [".list[0]"])
    let both: Document = ["list": ["x", "a", "b", "c", "y"]]
    #expect(Document.difference(old, both).map(\.path.description) == [".list[0]", ".list[4]"])
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    let place = try #require(driver.browser.table.selectedPlace(driver.browser.session))
    let document = try #require(driver.browser.record.document)
    let stored = driver.browser.record.stored
    driver.browser.stageField(
      place, over: stored, try DocumentPath(parsing: ".alternatenames"), ["Neu", "Tbilisi", "Tiflis"])
    driver.press("3")
    let staged = driver.lines.filter { $0.contains("staged") && ($0.contains("Tbilisi") || $0.contains("Tiflis")) }
    #expect(document[try DocumentPath(parsing: ".alternatenames")] == ["Tbilisi", "Tiflis"])
    #expect(staged.allSatisfy { $0.contains("alternatenames") || $0.contains("→ (3)") }, "\(driver.screen)")
  }

  @Test("the footer names what works now: in the past no editing, but the way through it")
  func footer() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 24), start: .init(datastore: "City"))
    #expect(driver.keys.contains("e edit"))
    #expect(!driver.keys.contains("w commit"))
    try driver.play(": travel 3")
    #expect(!driver.keys.contains("e edit"))
    #expect(!driver.keys.contains("dd delete"))
    #expect(driver.keys.contains(", older"))
    #expect(driver.keys.contains(". newer"))
  }

  @Test("numbers are whole or scaled and say so, never cut")
  func numbers() {
    #expect(NumberFormat.fitting("1525152", in: 7) == "1525152")
    #expect(NumberFormat.fitting("1525152", in: 6) == "1.53 M")
    #expect(NumberFormat.fitting("1525152", in: 5) == "1.5 M")
    #expect(NumberFormat.fitting("-123456789", in: 6) == "-123 M")
    for text in ["1525152", "-123456789.25", "0.000012345678", "1e300", "99999999999999999999"] {
      for width in 1...20 {
        let fitted = NumberFormat.fitting(text, in: width)
        #expect(fitted.utf8.count <= width)
        guard !fitted.hasPrefix("#") else { continue }
        let units = [" k": 1e3, " M": 1e6, " G": 1e9, " T": 1e12, " P": 1e15]
        let unit = units.first { fitted.hasSuffix($0.key) }
        let value = (Double(unit.map { String(fitted.dropLast($0.key.count)) } ?? fitted) ?? .nan) * (unit?.value ?? 1)
        let true_ = Double(text) ?? .nan
        #expect(abs(value - true_) <= abs(true_) * 0.51, "\(text) in \(width): \(fitted)")
      }
    }
  }

  @Test("a column of numbers that has no room takes it from the widest text: no cell says only that it does not fit")
  func numberColumns() throws {
    for columns in stride(from: 60, through: 170, by: 1) {
      let driver = Driver(
        try Sample.store(), size: Size(columns: columns, rows: 40), start: .init(datastore: "City"))
      let rows = driver.lines.filter { $0.contains("Tbilisi") || $0.contains("Zürich") || $0.contains("大阪") }
      #expect(!rows.isEmpty && rows.allSatisfy { !$0.contains("##") }, "\(columns):\n\(driver.screen)")
    }
  }

  @Test("names that begin alike do not look the same in a narrow pane")
  func names() {
    #expect(SafeText.cutInTheMiddle("currencycode", to: 9) != SafeText.cutInTheMiddle("currencyname", to: 9))
    #expect(SafeText.cutInTheMiddle("currencycode", to: 9) == "curr…code")
    #expect(SafeText.cutInTheMiddle("name", to: 9) == "name")
    #expect(SafeText.width(SafeText.cutInTheMiddle("東京都大阪府", to: 7)) <= 7)
  }

  @Test("names of indexes that differ in their ends alone do not look the same in the sidebar")
  func longIndexNames() throws {
    let names = ["accountsReceivable", "accountsReceivableOpen", "accountsReceivablePaid"]
    let record = Document.object([.init("id", 1)] + names.map { .init($0, 1) })
    let store = try Sample.documents([record], names.map { try Sample.index($0) })
    let driver = Driver(store, size: Size(columns: 100, rows: 30), start: .init(datastore: "T"))
    let shown = driver.lines.compactMap { $0.contains("1:n") ? $0.split(separator: "┃").first : nil }
    #expect(Set(shown).count == 3, "\(driver.screen)")
  }

  @Test("a text in a table has quotes if truth, null or a number beside it is written like it, and no other text has")
  func textsLikeOthers() throws {
    let values: [Document] = [.bool(true), "true", .null, "—", "plain", "5", ""]
    let numbers: [Document] = [5, "5", 6, "n/a", 7, 8, 9]
    let store = try Sample.documents(
      values.indices.map {
        .object([.init("id", .string("r\($0)")), .init("flag", values[$0]), .init("count", numbers[$0])])
      })
    let driver = Driver(store, size: Size(columns: 50, rows: 24), start: .init(datastore: "T"))
    let shown = driver.lines.filter { $0.contains("  r") }.map { $0.split(separator: " ").dropFirst().dropLast() }
      .map { $0.drop { !$0.hasPrefix("r") }.dropFirst().map(String.init) }
    #expect(
      shown == [
        ["true", "5"], ["\"true\"", "\"5\""], ["—", "6"], ["\"—\"", "n/a"], ["plain", "7"], ["5", "8"], ["9"],
      ], "\(driver.screen)")
  }

  @Test("a column gets the room of its format, and a duration that is too long to write stays a number")
  func roomOfFormats() throws {
    let store = try Sample.documents(
      [0, 1_795_190_400].map {
        .object([.init("id", $0), .init("at", $0), .init("size", 9_007_199_254_740_993), .init("long", 1_000_000_000)])
      })
    let driver = Driver(store, size: Size(columns: 100, rows: 24), start: .init(datastore: "T"))
    driver.press("+ + l")
    try driver.play(":format dateFromSeconds")
    #expect(driver.shows("1970-01-01 00:00:00") && driver.shows("2026-11-20 16:00:00"), "\(driver.screen)")
    driver.press("l")
    try driver.play(":format thousands")
    #expect(driver.shows("9 007 199 254 740 993"), "\(driver.screen)")
    driver.press("l")
    try driver.play(":format duration")
    #expect(driver.shows(" 1000000000 ") && !driver.shows("—"), "\(driver.screen)")
  }

  @Test("the review of a delete names the records that refer to it by a field whose target the user has said")
  func saidReferences() throws {
    let driver = Driver(
      try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City", identifier: "611717"))
    try driver.play(":reference countrycode Country")
    driver.press("3 j j Enter 2")
    #expect(driver.selectedIdentifier == "GE", "\(driver.screen)")
    driver.press("d d w")
    for city in Sample.cities.joined() {
      let identifier = city[member: "geonameid"]?.compactJSON ?? ""
      let isLosing = city[member: "countrycode"] == "GE"
      #expect(driver.shows("City/\(identifier) would name Country/GE") == isLosing, "\(driver.screen)")
    }
  }
}
