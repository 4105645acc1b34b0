import StrataModel
import StrataDocuments
import StrataEngine
import StrataExpressions
import StrataLocks
import Testing

@testable import StoreBrowser
@testable import StrataTerminal

@Suite("What the screen says is so")
struct SaidTests {
  private static func driver(_ size: Size = Size(columns: 120, rows: 40)) throws -> Driver {
    Driver(try Sample.store(), size: size, start: .init(datastore: "City"))
  }

  private static func description(_ driver: Driver) throws -> DatastoreDescription {
    try #require((driver.browser.panes[.describe] as? DescribePane)?.reply)
  }

  @Test("a description is of the rows that the table shows: those of its filter, and those of its range")
  func describeShown() throws {
    let driver = try Self.driver()
    driver.press("f")
    driver.type("countrycode = \"JP\"")
    driver.press("Enter I j j j")
    var field = try #require(try Self.description(driver).fields.first { $0.name == "population" })
    #expect(try Self.description(driver).total == 4)
    #expect(field.sum?.integer == 12_579_652 && field.least?.number == 191_000)
    #expect(driver.shows("filter countrycode = \"JP\"") && driver.shows("sum 12 579 652 · mean 3 144 913"))
    driver.press("q f ^u Enter l l l o f")
    driver.type("= 1M ..")
    driver.press("Enter I")
    field = try #require(try Self.description(driver).fields.first { $0.name == "population" })
    #expect(field.count == 4 && field.least?.number == 1_049_498)
    #expect(driver.shows("range 1000000... of population"), "\(driver.screen)")
  }

  @Test("a description names every field, however short the names are, in every width")
  func describeShortNames() throws {
    for columns in [40, 80, 120, 160] {
      let store = try Sample.documents([["id": 1, "a": "x", "bc": 2]])
      let driver = Driver(store, size: Size(columns: columns, rows: 24), start: .init(datastore: "T"))
      driver.press("I")
      let names = driver.lines[3...5].map { $0.dropFirst(3).prefix { $0 != " " } }
      #expect(driver.lines[2].contains("  field") && names == ["id", "a", "bc"], "\(driver.screen)")
    }
  }

  @Test("a description of a filter whose rows are not all found yet is of all of them all the same")
  func describeEarly() throws {
    let driver = try Self.driver()
    driver.press("f")
    driver.type("timezone contains \"Asia\"")
    driver.press("Enter")
    driver.isHolding = true
    driver.press("f ^u")
    driver.type("timezone contains \"Europe\"")
    driver.press("Enter I")
    driver.release()
    #expect(try Self.description(driver).fields.first { $0.name == "name" }?.count == 4)
  }

  @Test("whole numbers of any size are summed by their digits in the frequencies too")
  func frequencySum() throws {
    let store = EngineStore.memory()
    let numbers = ["9007199254740993", "9007199254740993", "9223372036854775807"]
    let documents: [Document] = numbers.enumerated().map { place, number in
      ["id": .number(NumberText(place)), "n": .number(NumberText(unchecked: number))]
    }
    try Sample.add(documents, to: store, Sample.plan("Item", "id", []), "numbers")
    let driver = Driver(store, size: Size(columns: 120, rows: 40))
    driver.press("l #")
    #expect(driver.shows("max 9 223 372 036 854 775 807 · sum 9 241 386 435 364 257 793"), "\(driver.screen)")
  }

  @Test("a value of the frequencies has as many records as its filter, however the records spell it")
  func frequencySpellings() throws {
    let numbers = ["1", "1.0", "1e0", "2", "-0", "0"].map { Document.number(NumberText(unchecked: $0)) }
    let texts = ["1", "\u{E9}", "e\u{301}", "true"].map { Document.string($0) }
    let long = String(repeating: "long ", count: 50)
    let objects = ["a", "b"].map { Document.object([.init("text", .string(long + $0))]) }
    let values = numbers + texts + objects + [true, .null]
    let driver = Driver(
      try Sample.documents(values.enumerated().map { ["id": .number(NumberText($0)), "v": $1] }),
      size: Size(columns: 120, rows: 40), start: .init(datastore: "T"))
    try driver.play(":frequency v")
    let found = try #require(driver.browser.panes[FrequencyPane.self].reply)
    for value in found.values {
      let filter = try Filter(parsing: Filter.text(of: DocumentPath(parsing: ".v"), being: value.document))
      let count = values.enumerated().count { filter.matches(["id": .number(NumberText($0)), "v": $1]) }
      #expect(value.count == count, "\(value)")
    }
    #expect(found.values.filter { $0.document.compactJSON.contains("long") }.map(\.count) == [1, 1])
    #expect(found.values.reduce(0) { $0 + $1.count } == values.count)
  }

  @Test("frequencies and descriptions are taken from an index only if it is proven to hold what the records have")
  func unprovenIndex() throws {
    let store = try Sample.store()
    var descriptor = try #require(try store.refresh().datastore("City")).descriptor
    var index = try #require(descriptor.index("name"))
    (index.rule, index.keyPathName) = (nil, ".name")
    descriptor.setIndex("name", to: index)
    let bern = try #require(try store.head.datastore("City")).identifier(parsing: "2661552")
    let transaction = try store.engine.beginBlocking()
    try DatastoreWriter.store(descriptor, in: transaction)
    _ = try transaction.insert(
      EntryKey.make(value: index.encoding.encode(.string("Zzz")), identifier: bern.bytes), .none,
      in: .index("name", of: "City"))
    try transaction.commit(CommitInfo(action: "an index of other values"))?.wait()
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    try driver.play(":frequency name")
    let found = try #require(driver.browser.panes[FrequencyPane.self].reply)
    let names = Sample.cities.joined().compactMap { $0[member: "name"]?.compactJSON }
    #expect(Set(found.values.map(\.document.compactJSON)) == Set(names) && found.values.allSatisfy { $0.count == 1 })
    driver.press("q")
    try driver.play(":describe")
    let name = try #require(try Self.description(driver).fields.first { $0.name == "name" })
    #expect(name.distinct == names.count && name.greatest?.compactJSON != "\"Zzz\"", "\(name)")
  }

  // MARK: Ranges

  @Test("what a range means is written out before Enter, with the way to take both ends in")
  func rangeReading() throws {
    let driver = try Self.driver(Size(columns: 80, rows: 24))
    driver.press("l l l o f")
    driver.type("= 200k .. 2M")
    #expect(driver.keys.contains("200000 ≤ key < 2000000 · ... for .. takes the upper end in"), "\(driver.screen)")
    driver.press("^u")
    driver.type("= 200k ... 2M")
    #expect(driver.keys.contains("200000 ≤ key ≤ 2000000") && !driver.keys.contains("takes"), "\(driver.screen)")
  }

  @Test("the ends of a range in the wrong order are reported, and the prompt stays")
  func reversedRange() throws {
    let driver = try Self.driver()
    driver.press("l l l o f")
    driver.type("= 2M .. 200k")
    driver.press("Enter")
    #expect(driver.browser.overlays.last is Prompt)
    #expect(driver.keys.contains("the ends are the wrong way round: 200000 comes before 2000000"), "\(driver.screen)")
  }

  @Test("a count of a key with many entries is shown with all of its digits")
  func wideCounts() throws {
    let driver = try Self.driver(Size(columns: 80, rows: 24))
    driver.isHolding = true
    driver.press("l l l o 5")
    while let (id, work) = driver.held.first {
      guard let request = work as? KeysRequest else {
        driver.releaseOne()
        continue
      }
      let row = KeyRow(key: .string("JP"), rank: 0, count: 1_002_345, identifiers: [])
      driver.tell(
        .work(id, .finished(KeysAnswer(request: request, bounds: 0..<1_002_345, count: 1_002_345, rows: [row]))))
      break
    }
    #expect(driver.lines.contains { $0.contains("\"JP\"") && $0.contains(" 1 002 345 ") }, "\(driver.screen)")
  }

  @Test("a one-to-one index over repeating values says so before it is built, with the records")
  func repeats() throws {
    let driver = try Self.driver()
    driver.press(":")
    driver.type("add-index byCountry=countrycode:one-to-one")
    driver.press("Enter")
    #expect(driver.shows("countrycode: 3 values of several records"), "\(driver.screen)")
    #expect(driver.shows("\"GE\"  611717, 615532") && driver.shows("4 records"))
    #expect(driver.browser.session.current?.index("byCountry") == nil)
    driver.press("j Enter")
    #expect(driver.browser.session.current?.index("byCountry")?.descriptor.kind == .oneToMany)
    driver.press("q :")
    driver.type("add-index byName=name:one-to-one")
    driver.press("Enter")
    #expect(driver.browser.session.current?.index("byName")?.descriptor.kind == .oneToOne)
  }

  // MARK: Values, sorts, views

  @Test("Enter on a plain value shows it whole, folded at the width of the window")
  func wholeValue() throws {
    let store = EngineStore.memory()
    let text = (0..<60).map { "word\($0)" }.joined(separator: " ")
    let documents: [Document] = [["id": 1, "note": .string(text), "n": 5]]
    try Sample.add(documents, to: store, Sample.plan("Item", "id", []), "note")
    let driver = Driver(store, size: Size(columns: 80, rows: 24))
    driver.press("3")
    let note = try #require(driver.browser.record.tree.lines.firstIndex { $0.name == "note" })
    for _ in 0..<note { driver.press("j") }
    driver.press("Enter")
    let overlay = try #require(driver.browser.overlays.last as? TextOverlay)
    #expect(
      overlay.lines.joined() == text && overlay.lines.allSatisfy { $0.count <= 80 } && overlay.lines[0].count > 66)
    driver.press("Esc j Enter")
    #expect((driver.browser.overlays.last as? TextOverlay)?.lines == ["5"])
    #expect(driver.browser.session.notice?.kind != .problem)
  }

  @Test("a sort is typed with desc behind the field, and a word that is not a direction is reported at its place")
  func sortSyntax() throws {
    let driver = try Self.driver()
    driver.press(":")
    driver.type("sort population desc")
    driver.press("Enter")
    #expect(driver.browser.table.row(at: 0)?.entry.identifier.description == "1850147", "\(driver.screen)")
    driver.press(":")
    driver.type("sort population dsc")
    driver.press("Enter")
    #expect(driver.keys.contains("“dsc” is not a direction: asc or desc"), "\(driver.screen)")
    #expect((driver.browser.overlays.last as? Prompt)?.problemColumn == "sort population ".count + 1)
    driver.press("Esc Esc :")
    driver.type("sort populaton")
    driver.press("Enter")
    #expect(driver.status.contains("did you mean population?"), "\(driver.status)")
  }

  @Test("a view whose filter is long is listed with its name")
  func longView() throws {
    let driver = try Self.driver(Size(columns: 160, rows: 48))
    driver.press("f")
    driver.type("population > 100000 and timezone starts with \"Asia\" and name != \"Batumi\"")
    driver.press("Enter :")
    driver.type("view bigAsia")
    driver.press("Enter")
    #expect(
      driver.lines.contains { $0.contains("bigAsia  population") || $0.contains("bigAsia population") },
      "\(driver.screen)")
  }

  // MARK: Older versions

  /// A warm-up of a store whose indexes are as declared.
  private final class Rewriting: WarmUpDriver {
    let rewritten = Locked(0)
    func plan() throws(ModelError) -> [String] { [] }
    func warmUp(
      leavingOut: [RecordPlace], mending: [RecordEdit], report: @escaping @Sendable (Activity) -> Bool
    ) throws(ModelError) -> WarmUpResult { WarmUpResult(commit: nil) }
    func rewriteOlderRecords(
      report: @escaping @Sendable (Activity) -> Bool
    ) throws(ModelError) -> WarmUpResult {
      rewritten.with { $0 += 1 }
      return WarmUpResult(commit: CommitNumber(9))
    }
  }

  @Test("a rewrite of older records is promised where there are formats to do it, and M a does it")
  func rewrites() throws {
    let store = try Sample.store()
    try NamingTests.redescribe(store, "City") { $0.version = "2" }
    let plain = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    #expect(plain.shows("an older version") && !plain.shows("rewrites"), "\(plain.screen)")
    let warmUp = Rewriting()
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"), warmUp: warmUp)
    #expect(driver.shows("an older version, M then a rewrites"), "\(driver.screen)")
    driver.press("M a")
    #expect(warmUp.rewritten.with { $0 } == 1)
  }

  @Test("a watcher of an import reads how many rows were left out of it")
  func leftOut() {
    var activity = Activity(title: "import City", done: 600, total: 600, startedAt: 0)
    var ending = Activity.Ending()
    (ending.commit, ending.leftOut) = (2, 300)
    activity.ending = ending
    #expect(WorkRun(activity, at: 1).words == "complete: commit #2, 300 rows left out")
  }

  @Test("a prompt takes no empty name: no view without one is kept, and no path is made of nothing")
  func emptyArgument() throws {
    for (command, missing) in [("view", "NAME"), ("pin", "NAME"), ("copy", "PATH"), ("drop-index", "NAME")] {
      let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
      try driver.play("keys f\ntype population > 5\nkeys Enter\n:\(command)")
      try #require(driver.browser.overlays.last is Prompt, "\(driver.screen)")
      driver.press("Space Enter")
      #expect(driver.shows("\(missing) is missing"), "\(driver.screen)")
      #expect(driver.browser.session.remembered.views.isEmpty && driver.browser.session.runs.isEmpty)
    }
  }

  @Test("a view is named without the spaces around its name, so that it is forgotten by it")
  func spacesOfName() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play("keys f\ntype population > 5\nkeys Enter\n:view")
    driver.type("large ")
    driver.press("Enter")
    #expect(driver.browser.session.remembered.views.map(\.name) == ["large"], "\(driver.screen)")
    try driver.play(":forget-view large")
    #expect(driver.browser.session.remembered.views.isEmpty, "\(driver.screen)")
  }

  // MARK: The picker

  @Test("the picker lists the stores with what is in the one under the cursor, and gives back the chosen one")
  func picker() throws {
    let items = ["Atlas.strata", "Other.strata"].map {
      PickerProgram.Item(title: $0, origin: "here", words: [$0])
    }
    let woken = Locked(0)
    for size in [Size(columns: 80, rows: 24), Size(columns: 50, rows: 24), Size(columns: 160, rows: 48)] {
      let picker = PickerProgram(items, configuration: BrowserConfiguration()) { ["in \($0.title)", "12 records"] }
      _ = picker.start(TerminalSurroundings(size: size), wake: { woken.with { $0 += 1 } })
      while !picker.isIdle { _ = picker.respondToAnswers() }
      #expect(picker.draw(size: size).text().contains("in Atlas.strata"))
      #expect(picker.respond(to: .key(KeyChord(writing: "j"))).isEmpty)
      while !picker.isIdle { _ = picker.respondToAnswers() }
      #expect(picker.draw(size: size).text().contains("in Other.strata"))
      #expect(picker.respond(to: .key(KeyChord(.enter))) == [.quit(status: 0)])
      #expect(picker.chosen == items[1])
    }
    let small = PickerProgram(items, configuration: BrowserConfiguration()) { _ in [] }
    _ = small.start(TerminalSurroundings(size: Size(columns: 80, rows: 24)), wake: {})
    let tiny = Size(columns: 39, rows: 9)
    let text = small.draw(size: tiny).text()
    #expect(text.contains("make the window 40×10 or"), "\(text)")
    // The new size comes before its picture, so that no key reaches a line that was drawn for another size.
    #expect(small.respond(to: .resize(tiny)).isEmpty)
    #expect(small.respond(to: .key(KeyChord(.enter))).isEmpty && small.chosen == nil)
    #expect(small.respond(to: .key(KeyChord(writing: "q"))) == [.quit(status: 0)])
    // A click beside the list, or below it, is on no store.
    let narrow = PickerProgram(
      items + items.map { PickerProgram.Item(title: "more \($0.title)", origin: "here", words: []) },
      configuration: BrowserConfiguration()
    ) { _ in [] }
    _ = narrow.start(TerminalSurroundings(size: Size(columns: 50, rows: 12)), wake: {})
    func click(_ column: Int, _ row: Int) {
      for _ in 0..<2 {
        let press = MouseEvent(kind: .press(button: 1), point: Point(column: column, row: row))
        _ = narrow.respond(to: .mouse(press))
      }
    }
    click(49, 3)
    click(5, 5)
    #expect(narrow.chosen == nil, "\(narrow.draw(size: Size(columns: 50, rows: 12)).text())")
    click(5, 3)
    #expect(narrow.chosen == items[1])
    var aliased = BrowserConfiguration()
    aliased.settings.aliases = [KeyChord(writing: "й"): KeyChord(writing: "q")]
    let other = PickerProgram(items, configuration: aliased) { _ in [] }
    _ = other.start(TerminalSurroundings(size: Size(columns: 80, rows: 24)), wake: {})
    #expect(other.respond(to: .key(KeyChord(writing: "й"))) == [.quit(status: 0)])
    let left = PickerProgram(items, configuration: BrowserConfiguration()) { _ in [] }
    #expect(left.respond(to: .key(KeyChord(.escape))).isEmpty)
    #expect(left.respond(to: .key(KeyChord(writing: "q"))) == [.quit(status: 0)] && left.chosen == nil)
  }
}
