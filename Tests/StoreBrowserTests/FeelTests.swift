import StrataModel
import StrataDocuments
import StrataTerminal
import Testing

@testable import StoreBrowser

/// The small things that a person meets in the first ten minutes.
@Suite("Feel")
struct FeelTests {
  private func driver(
    _ columns: Int = 120, _ rows: Int = 40, store: EngineStore? = nil, warmUp: (any WarmUpDriver)? = nil
  ) throws -> Driver {
    Driver(
      try store ?? Sample.store(), size: Size(columns: columns, rows: rows), start: .init(datastore: "City"),
      warmUp: warmUp)
  }

  // MARK: Help

  @Test(
    "? is one screen of the keys of the pane; ? again is the whole list, a letter searches it",
    arguments: [
      Size(columns: 80, rows: 24), Size(columns: 120, rows: 40), Size(columns: 160, rows: 48),
    ])
  func sheet(size: Size) throws {
    for pane in ["2", "3", "5", "g H", "M"] {
      let driver = try driver(size.columns, size.rows)
      driver.press(pane)
      let focus = driver.browser.focus
      driver.press("?")
      #expect(driver.shows("Keys here: \(PaneTable.entry(focus).name)"))
      // Everything that the pane offers at its foot is on the sheet, with the key that does it.
      for command in driver.browser.pane(focus)?.footer(driver.browser.session) ?? [] {
        guard let key = driver.browser.keymap.keys(for: command).first else { continue }
        let overlay = try #require(driver.browser.overlays.last as? HelpOverlay)
        let works = overlay.lines.contains { $0.entry.command == command && $0.refusal == nil }
        let entry = CommandTable.entry(command)
        let isShown = driver.lines.contains {
          $0.contains(key) && ($0.contains(entry.title) || $0.contains(entry.short))
        }
        #expect(!works || isShown, "\(focus) \(command) \(key)\n\(driver.screen)")
      }
      driver.press("?")
      #expect(driver.shows("\(CommandTable.all.count) of \(CommandTable.all.count) commands"))
      driver.press("Esc ?")
      driver.type("pickaxe")
      #expect(driver.shows("find: pickaxe"))
      driver.press("Esc")
      #expect(driver.browser.overlays.isEmpty)
    }
  }

  // MARK: Differences

  @Test("differences name records by their label, show a single changed field in the line, and unfold all at once")
  func differences() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".population", to: 5)
    try Sample.change(store, "City", "2661604", ".population", to: 6)
    let driver = try driver(store: store)
    try driver.play(": difference 4 6")
    #expect(driver.lines.contains { $0.contains("2661552 Bern") && $0.contains("- 121631") && $0.contains("+ 5") })
    driver.press("q g H j j Tab")
    #expect(driver.browser.focus == .difference)
    #expect(driver.lines.contains { $0.contains("+ City/1850147 東京") })
    driver.press("*")
    #expect(driver.shows("+ \"Tokyo\"") || driver.shows("Asia/Tokyo"))
    let unfolded = driver.screen
    #expect(driver.lines.filter { $0.contains("timezone") }.count >= 3, "\(unfolded)")
    driver.press("*")
    #expect(!driver.shows("timezone  +"))
  }

  @Test("V on an index in pane 1 keeps the filter of the table")
  func verifyFromStores() throws {
    let driver = try driver()
    try driver.play(":filter countrycode = \"CH\"")
    driver.press("1")
    let lines = driver.browser.panes[StoresPane.self].lines(driver.browser.session)
    let line = try #require(lines.firstIndex(of: .index("population")))
    driver.browser.with(StoresPane.self) { pane, _ in pane.list.selection = line }
    driver.press("V")
    let source = driver.browser.table.source
    #expect(source?.index == "population" && source?.filter == "countrycode = \"CH\"", "\(driver.screen)")
  }

  @Test("T in a difference without a record goes to its newer commit, not to the head")
  func travelFromEmptyDifference() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".population", to: 5)
    let driver = try driver(store: store)
    try driver.play(": difference 4 4")
    driver.press("T")
    #expect(driver.browser.session.asOf?.rawValue == 4, "\(driver.screen)")
  }

  @Test("yy in a difference and in a search of the history copies the whole value, as it is")
  func copiedValues() throws {
    let store = try Sample.store()
    let long = String(repeating: "long text\n", count: 200)
    try Sample.change(store, "City", "2661552", ".timezone", to: .string(long))
    let driver = try driver(store: store)
    try driver.play(": difference 4 5")
    driver.press("g g y y")
    #expect(driver.copied == long, "the only field that the line of a record shows")
    driver.press("j y y")
    #expect(driver.copied == "Europe/Zurich", "\(driver.screen)")
    driver.press("j y y")
    #expect(driver.copied == long)
    try driver.play(": difference 3 4")
    driver.press("g g y y")
    #expect(driver.status.contains("choose a field first"), "\(driver.status)")
    try driver.play(": pickaxe long text")
    driver.press("y y")
    #expect(driver.copied == long, "\(driver.screen)")
  }

  // MARK: Scrubbing

  @Test("a step through the commits shows cells that differ as old and new until the next key, and says between which")
  func flash() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "611717", ".population", to: 7)
    let driver = try driver(160, 40, store: store)
    driver.press(",")
    #expect(driver.lines.contains { $0.contains("611717") && $0.contains("7→1 049 498") }, "\(driver.screen)")
    #expect(driver.status.contains("as of #4"))
    driver.press("j k")
    #expect(!driver.shows("7→1 049 498"))
    driver.press(".")
    #expect(driver.shows("1 049 498→7"))
  }

  @Test("the history beside the table stands at the commit that the table shows, and its changes are those")
  func historyFollows() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "611717", ".population", to: 7)
    let driver = try driver(160, 48, store: store)
    for commit in [4, 3, 2] {
      driver.press(",")
      #expect(driver.browser.session.asOf?.rawValue == UInt64(commit))
      #expect(driver.browser.history.selected?.commit.number.rawValue == UInt64(commit))
      #expect(driver.shows("Changes  #\(commit - 1) → #\(commit)"), "\(driver.screen)")
    }
    driver.press("Esc")
    #expect(driver.browser.history.selected?.commit.number == driver.browser.session.head)
    // Who has the keys there stays.
    driver.press("g H j j 2 4")
    let chosen = driver.browser.history.selected?.commit.number
    driver.press(",")
    #expect(driver.browser.history.selected?.commit.number == chosen)
  }

  @Test("an edit is said to be staged; over a review, where u and w mean nothing, no status tells of them")
  func stagedStatus() throws {
    let driver = try driver()
    driver.press("l l l e ^u")
    driver.type("77")
    driver.press("Enter")
    #expect(driver.status.contains("staged: population of"), "\(driver.screen)")
    driver.press("j")
    #expect(driver.status.contains("staged ~1 +0 -0") && driver.status.contains("w commit"), "\(driver.status)")
    driver.press("w")
    #expect(!driver.status.contains("staged ~"), "\(driver.screen)")
    #expect(driver.lines.contains { $0.contains("index population ") && $0.contains(" → 77") }, "\(driver.screen)")
  }

  @Test("a title leaves out what has no room in it, and cuts nothing")
  func titles() throws {
    for columns in [80, 120, 160] {
      let driver = try driver(columns, 48)
      let titles = driver.lines.filter { $0.contains("3 Record") }
      #expect(titles.count == 1 && titles.allSatisfy { !$0.contains("…") }, "\(driver.screen)")
      driver.press("3 b")
      #expect(driver.lines.contains { $0.contains("3 Record") && $0.contains(" · blame") }, "\(driver.screen)")
    }
  }

  @Test("the title of the screen shortens the name of work rather than cut what follows it")
  func failedWork() throws {
    let documents = (0..<20).map { number -> Document in
      ["id": .number(NumberText(number)), "score": number == 7 ? "seven" : .number(NumberText(number))]
    }
    for (columns, name) in [(80, "i"), (80, String(repeating: "index", count: 6)), (120, "index")] {
      let driver = Driver(
        try Sample.documents(documents), size: Size(columns: columns, rows: 30), start: .init(datastore: "T"))
      driver.isHolding = true
      try driver.play(":add-index \(name)=score")
      driver.press("2")
      driver.release()
      #expect(driver.title.contains("failed · HEAD #") && driver.title.hasSuffix("live "), "\(driver.screen)")
      let hasHelp = name.count > 9 || driver.status.contains("? help")
      #expect(driver.status.contains("6 shows it") && hasHelp, "\(driver.screen)")
    }
  }

  @Test("blame before a commit names the value that the earlier commit wrote, beside the shown one")
  func deeperBlame() throws {
    let store = try Sample.store()
    let identifier = try #require(try store.head.datastore("City")?.primary.entries(at: 0..<1).first?.identifier)
    try Sample.change(store, "City", "\(identifier)", ".population", to: 41)
    try Sample.change(store, "City", "\(identifier)", ".population", to: 42)
    let driver = try driver(160, 48, store: store)
    driver.press("3 b")
    func line() -> String { driver.lines.first { $0.contains("population") && $0.contains(" 42 ") } ?? "" }
    for _ in 0..<12 where driver.browser.record.selectedLine?.path.description != ".population" { driver.press("j") }
    #expect(line().contains("42") && !line().contains("was "), "\(driver.screen)")
    driver.press("b")
    #expect(line().contains("was 41"), "\(driver.screen)")
  }

  // MARK: Sizes

  @Test("how large a person made a pane is remembered for that pane and layout, across starts")
  func sizes() throws {
    let driver = try driver()
    driver.press("3 + +")
    #expect(driver.browser.layout.panes.map(\.pane) == [.record])
    driver.press("Esc")
    driver.press("3 +")
    #expect(driver.browser.mode == .half)
    driver.press("2")
    #expect(driver.browser.mode == .normal)
    driver.press("3")
    #expect(driver.browser.mode == .half)
    driver.resize(Size(columns: 90, rows: 30))
    #expect(driver.browser.mode == .normal, "another layout has sizes of its own")
    driver.resize(Size(columns: 120, rows: 40))
    #expect(driver.browser.session.remembered.sizes == ["wide/record": 1])
  }

  // MARK: Order

  @Test("o on the column that orders the rows turns them round, on another orders by that one")
  func direction() throws {
    let driver = try driver()
    driver.press("l l l")
    let path = try #require(driver.browser.table.selectedPath(driver.browser.session))
    driver.press("o")
    let index = driver.browser.table.source?.index
    #expect(index == String(path.dropFirst()))
    #expect(driver.browser.table.source?.isDescending == false)
    driver.press("h h h l o")
    #expect(driver.browser.table.source?.isDescending == true)
    driver.press("o")
    #expect(driver.browser.table.source?.isDescending == false)
  }

  // MARK: Terminals

  @Test("charts are of blocks where braille cannot be shown, and of ASCII where nothing else can")
  func chartForms() throws {
    let driver = try driver()
    #expect(driver.browser.session.dotForm == .braille)
    driver.browser.session.theme.hasBraille = false
    #expect(driver.browser.session.dotForm == .block && driver.browser.session.barForm == .block)
    for _ in 0..<4 {
      driver.press("g s")
      #expect(driver.browser.session.dotForm != .braille && driver.browser.session.barForm != .braille)
    }
    driver.browser.session.theme.isASCII = true
    #expect(driver.browser.session.dotForm == .ascii && driver.browser.session.barForm == .ascii)
  }

  @Test("read as lines, charts are tables whose counts are those of the records")
  func tables() throws {
    let driver = try driver(120, 60)
    driver.browser.session.readsAsLines = true
    try driver.play(": sort population")
    driver.press("5")
    let counts = driver.lines.flatMap { line in
      line.matches(of: /from [^:]*: (\d+)/).compactMap { Int($0.1) }
    }
    #expect(counts.reduce(0, +) == 10, "\(driver.screen)")
    #expect(!driver.lines.contains { $0.contains("▃▃") })
    driver.press("q")
    try driver.play(":plot population geonameid")
    let points = driver.lines.flatMap { line in
      line.matches(of: /population from [^:]*: (\d+)/).compactMap { Int($0.1) }
    }
    #expect(points.reduce(0, +) == 10, "\(driver.screen)")
    driver.press("q g H")
    #expect(driver.shows("records changed in"))
  }

  @Test("copying says which way the text goes")
  func copying() throws {
    let driver = try driver()
    driver.press("y y")
    #expect(driver.status.contains("to the terminal (OSC 52)"))
    driver.browser.session.clipboard = .tmux
    driver.press("y y")
    #expect(driver.status.contains("to tmux and through it"))
    driver.browser.session.clipboard = .screen
    driver.press("y k")
    #expect(driver.status.contains("through screen"))
  }

  @Test("what the shell is told holds nothing that steers a terminal")
  func farewell() throws {
    let store = EngineStore(try Sample.store().engine, path: "/tmp/a\u{1B}[31mb\u{202E}.strata", program: "tests")
    let driver = try driver(store: store)
    driver.press("d d Q")
    let farewell = try #require(driver.farewell)
    #expect(farewell.contains("1 staged change kept"))
    #expect(
      farewell.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E }, "\(farewell.debugDescription)")
    driver.browser.session.left = "saved as /tmp/\u{1B}]0;x\u{7}.strata"
    #expect(driver.browser.farewell?.unicodeScalars.allSatisfy { $0.value >= 0x20 } == true)
  }

  // MARK: Sidebar

  @Test("with room the sidebar ends with the newest commits, Enter shows the store as of one")
  func newestCommits() throws {
    let driver = try driver()
    #expect(driver.lines.contains { $0.contains("COMMITS") })
    #expect(driver.lines.contains { $0.contains("#4 import JP") })
    driver.press("1 G Enter")
    #expect(driver.title.contains("AS OF #1"))
    let small = try self.driver(80, 24)
    #expect(!small.shows("COMMITS"), "no room")
    let large = try self.driver(160, 48)
    #expect(large.shows("4 History") && !large.shows("COMMITS"), "the history stands beside it")
    #expect(large.shows("5 Index") && !large.shows("IDENTIFIERS"))
  }

  // MARK: Names

  @Test("a name that no pane has is not a trap")
  func unknownPane() throws {
    let driver = try driver()
    #expect(driver.browser.with("nothing") { _, _ in true } == nil)
    #expect(driver.browser.deliver(.down, argument: nil, to: "nothing") == false)
    #expect(driver.browser.with(PlotPane.self) { _, _ in true })
  }
}

@Suite("Many records")
struct ManyRecordsTests {
  @Test("what is staged is counted and ordered without a walk, and the same as a walk says")
  func stagedTotals() throws {
    var generator = SeededNumbers(seed: 7)
    var staged = StagedChanges()
    func content(_ number: Int) -> RecordContent { RecordContent(version: "1", bytes: Array("\(number)".utf8)) }
    var order: [RecordPlace] = []
    for turn in 0..<400 {
      let key = StoredKey(bytes: [UInt8(generator.next() % 40)], value: .integer(Int64(turn)))
      let (old, new) = (generator.next() % 3, generator.next() % 3)
      let edit = RecordEdit(
        datastore: "City", identifier: StoredKey(bytes: key.bytes, value: .null),
        old: old == 0 ? nil : content(Int(old)), new: new == 0 ? nil : content(Int(new)))
      staged.add(StagedStep(title: "\(turn)", edits: [edit]))
      if staged.edits[edit.place] == nil {
        order.removeAll { $0 == edit.place }
      } else if !order.contains(edit.place) {
        order.append(edit.place)
      }
      if generator.next() % 5 == 0, let step = staged.undo() {
        _ = step
        _ = staged.redo()
      }
      func count(_ kind: ChangeKind) -> Int { staged.edits.values.count { $0.kind == kind } }
      let totals = staged.totals
      #expect(totals.inserted == count(.insert) && totals.updated == count(.update) && totals.deleted == count(.delete))
      #expect(Set(staged.order) == Set(staged.edits.keys) && staged.order.count == staged.edits.count)
      #expect(staged.first(3) == Array(staged.order.prefix(3)))
    }
  }

  @Test(
    "many records are staged where they are read: keys go on meanwhile, Esc calls it off, and all of them are staged")
  func deleteMany() throws {
    let store = try Sample.large(12_000)
    let driver = Driver(store, start: .init(datastore: "Item"))
    driver.isHolding = true
    driver.press("v G d d")
    let (id, work) = try #require(driver.held.first { $0.1 is GatherRequest }, "nothing is read")
    #expect((work as? GatherRequest)?.staged != nil)
    // Once it says how far it is, no key waits for it.
    driver.tell(.work(id, .progress(Progress(done: 3_000, total: 12_000))))
    #expect(driver.title.contains("25 %"))
    driver.press("g g")
    #expect(driver.browser.table.list.selection == 0)
    driver.press("Esc")
    #expect(!driver.browser.session.isRunning(.gather) && driver.browser.session.staged.isEmpty)
    driver.isHolding = false
    driver.release()
    driver.press("Esc g g v G d d")
    #expect(driver.browser.session.staged.totals.deleted == 12_000)
    #expect(driver.shows("delete 12 000 records"))
    driver.press("u")
    #expect(driver.browser.session.staged.isEmpty)
  }

  @Test("reading many records says how far it is only after a moment, and ends where it is called off")
  func gathering() throws {
    let store = try Sample.large(5_000)
    let cancellation = Cancellation()
    cancellation.cancel()
    let request = GatherRequest(
      commit: store.head.commit, source: RowSource(datastore: "Item"), which: .ranks(RowRanks(list: Array(0..<5_000))),
      purpose: .delete
    )
    #expect(throws: ModelError.cancelled) {
      _ = try request.reply(in: WorkContext(store: store, cancellation: cancellation))
    }
    #expect(try request.reply(in: WorkContext(store: store)).records.count == 5_000)
  }
}

/// Numbers that can be repeated.
private struct SeededNumbers {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state >> 33
  }
}
