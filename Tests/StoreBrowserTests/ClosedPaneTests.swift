import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Panes whose work ended early, or failed")
struct ClosedPaneTests {
  private func driver(_ store: (any ReadableStore)? = nil) throws -> Driver {
    Driver(try store ?? Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
  }

  @Test("a description that was closed while it was read is read when it is opened again")
  func description() throws {
    let driver = try driver()
    driver.isHolding = true
    driver.press("I q I")
    driver.release()
    #expect(driver.browser.panes[DescribePane.self].reply?.isComplete == true, "\(driver.screen)")
  }

  @Test("a difference that was closed while it was read is read from its beginning when it is opened again")
  func difference() throws {
    let driver = Driver(
      try Sample.large(500), size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    driver.isHolding = true
    for isLast in [false, true] {
      driver.browser.showDifference(nil, CommitNumber(1))
      driver.tell(.tick(nil))
      if !isLast { driver.press("q") }
    }
    driver.release()
    driver.press("G")
    #expect(driver.browser.panes[DifferencePane.self].rows.count == 500, "\(driver.screen)")
  }

  @Test("a blame that Esc cancelled begins again with b")
  func blame() throws {
    let driver = try driver()
    driver.isHolding = true
    driver.press("b")
    #expect(driver.browser.session.isRunning(.blame))
    driver.press("Esc")
    #expect(!driver.browser.session.isRunning(.blame))
    driver.press("b")
    driver.release()
    #expect(driver.browser.record.blame != nil, "\(driver.screen)")
  }

  @Test("records side by side that could not be read are shown as of a commit at which they can be")
  func sideBySide() throws {
    let inner = try Sample.store()
    let store = HeldStore(inner, holdsRecords: true)
    try store.damage("City", "611717")
    let driver = try driver(store)
    driver.press("g t")
    #expect(driver.shows("4711"), "\(driver.screen)")
    try store.damage("City")
    try Sample.change(inner, "City", "611717", ".population", to: 7)
    driver.tell(.storeStirred)
    #expect(!driver.shows("4711") && driver.shows("population"), "\(driver.screen)")
  }

  @Test(
    "the keys and the commits that could not be read are read at the next commit", arguments: [WorkSlot.keys, .history])
  func nextCommit(slot: WorkSlot) throws {
    let store = try Sample.store()
    let driver = try driver(store)
    driver.press(slot == .keys ? "5" : "4")
    driver.isHolding = true
    func problem() -> String? {
      slot == .keys ? driver.browser.panes[IndexPane.self].problem : driver.browser.history.problem
    }
    try Sample.change(store, "City", "2661552", ".population", to: 7)
    driver.tell(.storeStirred)
    driver.releaseFirst { $0.slot == .refresh }
    let work = try #require(driver.browser.session.running[slot]?.id, "\(driver.screen)")
    driver.tell(.work(work, .failed(.storage("damaged node at byte 4711", kind: .damaged))))
    #expect(problem() != nil)
    try Sample.change(store, "City", "2661552", ".population", to: 8)
    driver.tell(.storeStirred)
    driver.release()
    #expect(problem() == nil, "\(driver.screen)")
  }

  @Test("the index pane stays on its key when another program takes one before it away")
  func keptKey() throws {
    let store = try Sample.large(500)
    let driver = Driver(store, start: .init(datastore: "Item"))
    driver.press("5 j j")
    #expect(driver.browser.panes[IndexPane.self].selected?.key.description == "2")
    try Sample.delete(store, "Item", "0")
    driver.tell(.storeStirred)
    #expect(driver.browser.panes[IndexPane.self].selected?.key.description == "2", "\(driver.screen)")
  }

  @Test("a text after the last key leads to that key with all of its entries")
  func pastTheEnd() throws {
    let driver = try driver()
    driver.browser.table.order(by: "countrycode")
    driver.press("5")
    try driver.play("keys /\ntype ZZ\nkeys Enter")
    let pane = driver.browser.panes[IndexPane.self]
    #expect(pane.rows.map(\.count) == [4, 2, 4] && pane.selected?.key == .string("JP"), "\(driver.screen)")
  }

  @Test("V in pane 1 verifies the index under the cursor")
  func verified() throws {
    let driver = try driver()
    driver.press("1 g g")
    func line() -> StoresPane.Line? {
      let pane = driver.browser.panes[StoresPane.self]
      return pane.list.selected(of: pane.lines(driver.browser.session))
    }
    for _ in 0..<40 where line() != .index("population") { driver.press("j") }
    driver.press("V")
    #expect(driver.works.compactMap { $0 as? VerifyRequest }.map(\.index) == ["population"], "\(driver.screen)")
    #expect(driver.browser.table.source?.index == "population")
  }

  @Test("values of lists and plain ones that are counted alike are both saved")
  func savedFrequencies() throws {
    let file = "/tmp/strata-frequencies-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(file) }
    let driver = Driver(
      try Sample.documents([["id": 1, "v": "x"], ["id": 2, "v": ["x"]]]), start: .init(datastore: "T"))
    try driver.play(":frequency v")
    try driver.play(":export \(file)")
    #expect(try TestFile.lines(file) == ["value,count", "x,1", "x,1"], "\(driver.screen)")
  }

  @Test("Enter in a record as JSON says why nothing opens")
  func openInText() throws {
    let driver = try driver()
    driver.press("3 t Enter")
    #expect(driver.status.contains("only in the tree"), "\(driver.screen)")
  }

  @Test("no reference is kept for a joined column, which the records do not have")
  func joinedReference() throws {
    let driver = try driver()
    try driver.play(":reference countrycode Country")
    try driver.play(":join home = countrycode name")
    try driver.play(":reference home.name Country")
    #expect(driver.status.contains("joined from Country"), "\(driver.screen)")
    #expect(driver.browser.session.remembered.references?["City"]?.count == 1)
  }

  @Test("a merge that was closed while it was checked can be committed when it is opened again")
  func closedWhileChecked() throws {
    let copies = try CopiedStore.edited()
    let driver = try driver(copies.here)
    driver.press("7 g f w")
    driver.isHolding = true
    driver.press("m m Esc")
    #expect(driver.browser.view.kind != .init(of: .merge), "\(driver.screen)")
    driver.release()
    driver.press("w c")
    #expect(driver.browser.overlays.last is Prompt, "\(driver.screen)")
  }

  @Test("Esc that comes too late for a merge says so, and a merge that it ended stays open", arguments: [false, true])
  func escapedCommit(isWritten: Bool) throws {
    let copies = try CopiedStore.edited()
    let driver = try driver(copies.here)
    driver.press("7 g f w m m c")
    driver.isHolding = true
    driver.press("Enter")
    let commit = try #require(driver.browser.session.running[.mergeCommit]?.id, "\(driver.screen)")
    driver.press("Esc")
    #expect(!driver.status.contains("cancelled"), "\(driver.screen)")
    let head = copies.here.head.commit
    let merged = MergeReply(sentence: "merged as #9", move: HeadMove(from: head, to: head))
    driver.tell(.work(commit, isWritten ? .finished(merged) : .failed(.cancelled)))
    #expect(driver.status.contains(isWritten ? "merged as #9" : "nothing was merged"), "\(driver.screen)")
    #expect((driver.browser.view.kind == .init(of: .merge)) == !isWritten, "\(driver.screen)")
  }

  @Test("the cursor in a record stays on its field when another program adds an element before it")
  func keptField() throws {
    let store = try Sample.documents([["id": 1, "tags": ["a"], "n": 5]])
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
    driver.press("3")
    driver.browser.record.select(try DocumentPath(parsing: ".n"))
    try Sample.change(store, "T", "1", ".tags", to: ["a", "b"])
    driver.tell(.storeStirred)
    #expect(driver.browser.record.selectedLine?.path.description == ".n", "\(driver.screen)")
  }

  @Test("the cursor in a record does not go back to a field that the record before had")
  func missingField() throws {
    let store = try Sample.documents([
      ["id": 1, "a": ["x": 1, "y": 2], "n": 5], ["id": 2, "a": ["x": 1], "n": 6],
    ])
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
    driver.press("3")
    driver.browser.record.select(try DocumentPath(parsing: ".a.y"))
    driver.press("J")
    #expect(driver.browser.record.selectedLine?.path.description == ".a", "\(driver.screen)")
    driver.press("j j e ^u 7 Enter")
    #expect(driver.browser.session.staged.count == 1)
    #expect(driver.browser.record.selectedLine?.path.description == ".n", "\(driver.screen)")
  }
}
