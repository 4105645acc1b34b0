import StrataDocuments
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("The keys of all lists, and the tour")
struct ListKeyTests {
  private func driver(_ steps: String..., store: EngineStore? = nil) throws -> Driver {
    let driver = Driver(
      try store ?? Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    for step in steps { try driver.play(step) }
    return driver
  }

  /// The selected line of a pane, and its lines.
  private func lines<P: ListPane & PermanentPane>(_ type: P.Type, _ driver: Driver) -> (selected: Int, texts: [String])
  {
    let pane = driver.browser.panes[type]
    let rows = (0..<pane.lineCount(driver.browser.session)).map {
      pane.row($0).map(\.searchText).joined(separator: "|")
    }
    return (pane.list.selection, rows)
  }

  private func checkFinding<P: ListPane & PermanentPane>(_ type: P.Type, _ text: String, _ driver: Driver) {
    driver.press("/ ^u")
    driver.type(text)
    driver.press("Enter")
    let (first, texts) = lines(type, driver)
    let hits = texts.indices.filter { texts[$0].lowercased().contains(text) }
    #expect(!hits.isEmpty && first == hits.first, "\(texts)")
    for step in 1...hits.count {
      driver.press("n")
      #expect(lines(type, driver).selected == hits[step % hits.count])
    }
    driver.press("N")
    #expect(lines(type, driver).selected == hits.last)
  }

  @Test("/, n and N find lines in frequencies, groups, descriptions, pickaxe, differences and records side by side")
  func finding() throws {
    try checkFinding(FrequencyPane.self, "tokyo", driver(":frequency timezone"))
    try checkFinding(GroupPane.self, "ge", driver(":group countrycode"))
    try checkFinding(DescribePane.self, "name", driver("keys I"))
    try checkFinding(PickaxePane.self, "zone", driver(":pickaxe Zurich"))
    try checkFinding(DifferencePane.self, "66", driver("keys gH G", ":difference 1 2"))
    try checkFinding(TransposePane.self, "asia", driver("keys Space Space gt"))
  }

  @Test("nothing is saved over a folder, and a folder is not offered to be replaced")
  func folders() throws {
    let folder = "/tmp/strata-list-\(UInt64.random(in: 0 ... .max)).csv"
    TestFile.makeFolder(folder)
    defer { TestFile.remove(folder) }
    for commands in [[":export \(folder)"], [":frequency countrycode", ":export \(folder)"]] {
      let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
      for command in commands { try driver.play(command) }
      #expect(driver.status.contains("is a folder") && driver.browser.overlays.isEmpty, "\(driver.screen)")
    }
  }

  @Test("s saves the lines of a list")
  func saving() throws {
    let file = "/tmp/strata-list-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(file) }
    let driver = try driver(":frequency countrycode", ":export \(file)")
    var counts: [String: Int] = [:]
    for city in try Sample.cityList(of: driver.store) {
      counts[city.1[member: "countrycode"]?.searchText ?? "", default: 0] += 1
    }
    let expected = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key),\($0.value)" }
    #expect(try TestFile.text(file).split(separator: "\n").map(String.init) == ["value,count"] + expected)
    #expect(driver.status.contains("3 lines"))
  }

  @Test("a difference that is read by pages is saved, searched and gone through as a whole")
  func partlyRead() throws {
    let store = try Sample.large(1_000)
    let file = "/tmp/strata-list-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(file) }
    func open(_ steps: String...) throws -> Driver {
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
      for step in ["keys gH Enter"] + steps { try driver.play(step) }
      return driver
    }
    func selected(_ driver: Driver) -> Int { driver.browser.panes[DifferencePane.self].list.selection }
    try #require(lines(DifferencePane.self, open()).texts.count < 1_000)
    for (step, line) in [("keys G", 999), (":700", 699), (":50%", 500), (":+450", 450), ("keys G gg", 0)] {
      #expect(selected(try open(step)) == line, "\(step)")
    }
    let driver = try open(":export \(file)")
    #expect(driver.status.contains("\(NumberFormat.count(1_000)) lines"), "\(driver.status)")
    let saved = try TestFile.text(file).split(separator: "\n").dropFirst().map { $0.split(separator: ",")[1] }
    #expect(saved == (0..<1_000).map { "\($0)" })
    let found = try open("keys /")
    found.type("record 987")
    found.press("Enter")
    #expect(selected(found) == 987, "\(found.screen)")
  }

  private func checkWaiting<P: ListPane & PermanentPane>(
    _ type: P.Type, _ command: String, _ file: String, _ store: EngineStore
  ) throws {
    let whole = try lines(type, driver(command, store: store)).texts
    #expect(whole.count > 1, "\(command)")
    for (step, line) in [
      (":export \(file)", 0), ("keys G", whole.count - 1), (":\(whole.count)", whole.count - 1),
      (":100%", whole.count - 1),
    ] {
      let early = try driver(store: store)
      early.isHolding = true
      try early.play(command)
      try early.play(step)
      early.release()
      #expect(lines(type, early) == (line, whole), "\(command) \(step)\n\(early.screen)")
    }
    let saved = try TestFile.text(file)
    TestFile.remove(file)
    try driver(command, store: store).play(":export \(file)")
    let text = try TestFile.text(file)
    #expect(text == saved && saved.split(separator: "\n").count > 2, "\(command)\n\(saved)\n\(text)")
    TestFile.remove(file)
  }

  @Test("a command about all lines of a list that is still being read waits for them")
  func stillRead() throws {
    let store = try Sample.store()
    for number in 1...30 { try Sample.change(store, "City", "2661552", ".population", to: .number(NumberText(number))) }
    let file = "/tmp/strata-list-\(UInt64.random(in: 0 ... .max)).csv"
    try checkWaiting(PickaxePane.self, ":pickaxe 2", file, store)
    try checkWaiting(FrequencyPane.self, ":frequency countrycode", file, store)
    try checkWaiting(GroupPane.self, ":group countrycode", file, store)
    try checkWaiting(DescribePane.self, ":describe", file, store)
    try checkWaiting(PivotPane.self, ":pivot countrycode timezone", file, store)
    try checkWaiting(TransposePane.self, "keys Space Space gt", file, store)
  }

  @Test("what a search of the history has found stays if the rest cannot be read")
  func failedPickaxe() throws {
    let store = try Sample.store()
    let hits = try driver(":pickaxe Zurich", store: store).browser.panes[PickaxePane.self].hits
    let driver = try driver(store: store)
    driver.isHolding = true
    try driver.play(":pickaxe Zurich")
    let id = try #require(driver.held.last { $0.1 is PickaxeRequest }?.0)
    driver.tell(.work(id, .progress(Progress(done: 1, total: nil, found: .hits(hits)))))
    driver.tell(.work(id, .failed(.storage("frame 7 is damaged", kind: .damaged))))
    #expect(driver.shows(", then failed") && driver.shows("Europe/Zurich"), "\(driver.screen)")
    #expect(driver.status.contains("frame 7 is damaged"), "\(driver.screen)")
  }

  @Test("the cursor beside records side by side stays on its field when another program takes a difference away")
  func keptField() throws {
    let store = try Sample.documents([
      ["id": 1, "a": 0, "b": 1, "c": 1, "d": 1], ["id": 2, "a": 0, "b": 2, "c": 2, "d": 2],
    ])
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
    try driver.play("keys Space Space gt gt")
    let field = { (pane: TransposePane) in pane.row(pane.list.selection).first }
    for _ in 0..<4 where field(driver.browser.panes[TransposePane.self]) != "c" { driver.press("j") }
    try #require(driver.browser.panes[TransposePane.self].lines.count == 4, "\(driver.screen)")
    try Sample.change(store, "T", "2", ".b", to: 1)
    driver.tell(.storeStirred)
    let pane = driver.browser.panes[TransposePane.self]
    #expect(pane.lines.count == 3 && field(pane) == "c", "\(driver.screen)")
  }

  @Test("a search in the lines of a list runs beside the screen, and the keys behind it wait for its end")
  func searchBeside() throws {
    let driver = try driver(":pivot countrycode timezone")
    let pane = { driver.browser.panes[PivotPane.self] }
    driver.isHolding = true
    driver.press("/")
    driver.type("GE")
    driver.press("Enter j")
    #expect(pane().list.selection == 0 && driver.shows("search “GE”"), "\(driver.screen)")
    driver.release()
    #expect(pane().rows[pane().list.selection] == "JP", "\(driver.screen)")
  }

  @Test("of many marked records a hundred are shown side by side, and that is said")
  func manySideBySide() throws {
    let driver = try driver(store: Sample.large(150))
    for _ in 0..<120 { driver.press("Space") }
    driver.press("g t")
    #expect(driver.browser.panes[TransposePane.self].reply?.titles.count == 100)
    #expect(driver.browser.session.notice?.text == "the first 100 of 120 marked records", "\(driver.screen)")
  }

  @Test("a column of a saved list whose name occurs before gets its number")
  func repeatedNames() throws {
    let file = "/tmp/strata-list-\(UInt64.random(in: 0 ... .max)).jsonl"
    defer { TestFile.remove(file) }
    let store = try Sample.documents([["id": "field", "n": 1], ["id": "other", "n": 2]])
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
    try driver.play("keys Space Space gt")
    try driver.play(":export \(file)")
    #expect(driver.browser.panes[TransposePane.self].rowColumns == ["field", "field", "other"], "\(driver.screen)")
    #expect(try TestFile.text(file).contains("\"field (2)\":\"field\",\"other\":\"other\""), "\(driver.screen)")
  }

  @Test("a position in the history is one among all commits, also if only the newest were read")
  func positions() throws {
    let store = try Sample.documents([["id": 1, "n": 0]])
    for number in 2...450 { try Sample.change(store, "T", "1", ".n", to: .number(NumberText(number))) }
    for (step, commit) in [
      (":300", 151), (":+440", 10), (":50%", 225), (":101%", 1), ("keys G", 1), ("keys G gg", 450),
    ] {
      let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
      try driver.play("keys gH")
      try driver.play(step)
      #expect(driver.browser.history.selected?.commit.number.rawValue == UInt64(commit), "\(step)")
    }
  }

  @Test("a key that can do nothing in a list says where it works")
  func refusals() throws {
    let driver = try driver(":frequency countrycode", "keys z")
    #expect(driver.status.contains("freeze-column: not here: it works in pane 2"), "\(driver.status)")
    try driver.play(":frequency countrycode")
    driver.press("n")
    #expect(driver.status.contains("nothing was searched for yet"), "\(driver.status)")
  }

  @Test("a commit of another program is no step of the tour")
  func tourBesideWriter() throws {
    let store = try Sample.store()
    let driver = try driver(":tour", ":tour next", ":tour next", store: store)
    for (step, title) in [(3, "Edit and review"), (4, "History and undo"), (5, "Reindex")] {
      #expect(driver.shows("Tour \(step) of 6: \(title)"))
      try Sample.change(store, "City", "611717", ".population", to: .number(NumberText(step)))
      driver.tell(.storeStirred)
      #expect(driver.browser.session.head == store.head.commit && driver.shows("Tour \(step) of 6"), "\(driver.screen)")
      try driver.play(":tour next")
    }
  }

  @Test("the tour goes on by what is done, in six steps, and a step can be left out")
  func tour() throws {
    let driver = try driver(":tour")
    #expect(driver.shows("Tour 1 of 6: Look"))
    driver.press("Enter")
    #expect(driver.shows("Tour 2 of 6: Range"))
    driver.press("2")
    try driver.play(":sort population")
    driver.press("j (")
    #expect(driver.shows("Tour 3 of 6: Edit and review"))
    driver.press("l e ^u")
    driver.type("5")
    driver.press("Enter")
    #expect(driver.shows("Tour 3 of 6"), "staged is not committed")
    driver.press("w Enter")
    driver.press("Enter")
    #expect(driver.shows("Tour 4 of 6: History and undo"), "\(driver.screen)")
    try driver.play(":tour next")
    #expect(driver.shows("Tour 5 of 6: Reindex"))
    try driver.play(":rebuild-index name")
    #expect(driver.shows("Tour 6 of 6: Leave"), "\(driver.screen)")
    try driver.play(":tour next")
    #expect(!driver.shows("Tour 6") && driver.status.contains("the tour is over"))
    // The steps name what this store has.
    let plain = Driver(try Sample.documents([["id": 1]]), size: Size(columns: 120, rows: 40))
    try plain.play(":tour next")
    try plain.play(":tour")
    #expect(!Tour.steps.contains { $0.text(plain.browser).contains("population") })
    #expect(Tour.steps[4].text(plain.browser).contains(":add-index"))
    let indexed = try Driver(Sample.documents([["id": 1, "size": 2]], [Sample.index("size")]))
    #expect(Tour.steps[1].text(indexed.browser).contains("column size"))
    #expect(Tour.steps[4].text(indexed.browser).contains(":rebuild-index size"))
    let other = try self.driver(":tour", ":tour")
    #expect(!other.shows("Tour 1"))
  }
}
