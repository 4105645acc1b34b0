import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Following and travelling")
struct FollowingTests {
  @Test("another program's commit appears; the changed row is marked until the next key in the pane")
  func follow() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City", identifier: "1850147"))
    try Sample.change(store, "City", "615532", ".population", to: 42)
    driver.tell(.storeStirred)
    #expect(driver.title.contains("HEAD #5"))
    #expect(driver.shows("~      615532"))
    #expect(driver.shows("42"))
    #expect(driver.selectedIdentifier == "1850147")
    driver.press("l")
    #expect(!driver.shows("~      615532"))
  }

  @Test("the browser says that another store took the place of the open one, and edits nothing any more")
  func replaced() throws {
    let copies = try CopiedStore()
    let driver = Driver(copies.here, start: .init(datastore: "City"))
    driver.press("j l l e ^u")
    driver.type("XX")
    driver.press("Enter")
    let path = copies.folder + "/other.strata"
    let other = try EngineStore.open(path: path, program: "tests", author: "bob", creates: true)
    try Sample.add([Sample.city(1, "Other", "CH", 1, "X", [])], to: other, Sample.cityPlan(), "other")
    copies.here.engine.releaseLock()
    try SystemDisk().rename(copies.here.path, to: copies.folder + "/away.strata")
    driver.tell(.storeStirred)
    #expect(driver.status.contains("the store was deleted or moved"), "\(driver.status)")
    try SystemDisk().rename(path, to: copies.here.path)
    // Within a tenth of a second, a look at the files of the store is not repeated.
    var looks = 0
    while !driver.status.contains("another store"), looks < 20_000 {
      driver.tell(.storeStirred)
      looks += 1
    }
    for _ in 0..<2 {
      driver.tell(.storeStirred)
      #expect(driver.title.contains("HEAD #1"), "\(driver.screen)")
      #expect(driver.status.contains("another store took its place"), "\(driver.screen)")
      #expect(driver.title.contains("deleted or moved"), "\(driver.title)")
    }
    driver.press("j e")
    #expect(driver.status.contains("another store took its place"), "\(driver.screen)")
    #expect(driver.shows("XX"), "\(driver.screen)")
  }

  @Test("commits that another program removed leave the list, and one that is shown gives way to the head")
  func removedCommits() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press("4")
    #expect(driver.shows("import countries") && driver.browser.history.count == 4)
    driver.press("G T")
    #expect(driver.title.contains("AS OF #1"))
    _ = try store.engine.compact(.last(1)) { _ in true }
    driver.tell(.storeStirred)
    #expect(driver.title.contains("HEAD #4") && driver.status.contains("#1"), "\(driver.screen)")
    #expect(driver.browser.history.count == 1 && !driver.shows("import countries"), "\(driver.screen)")
  }

  @Test("a commit that is held and that another program removed gives way to the head")
  func removedWhileHeld() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press("F")
    try Sample.change(store, "City", "611717", ".population", to: 12_345)
    driver.tell(.storeStirred)
    try #require(driver.title.contains("HELD #4"), "\(driver.screen)")
    _ = try store.engine.compact(.last(1)) { _ in true }
    driver.tell(.storeStirred)
    #expect(driver.title.contains("HEAD #5") && driver.status.contains("#4"), "\(driver.screen)")
    #expect(driver.shows("12345"), "\(driver.screen)")
  }

  @Test("a commit is followed also if the one before it was removed meanwhile")
  func removedBeforeLooking() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try Sample.change(store, "City", "611717", ".population", to: 12_345)
    _ = try store.engine.compact(.last(1)) { _ in true }
    driver.tell(.storeStirred)
    #expect(driver.title.contains("HEAD #5") && driver.shows("12345"), "\(driver.screen)")
    try Sample.change(store, "City", "611717", ".population", to: 54_321)
    driver.tell(.storeStirred)
    #expect(driver.title.contains("HEAD #6") && driver.shows("54321"), "\(driver.screen)")
  }

  @Test("an order that is requested at a commit that is being removed is that of the head")
  func orderOfRemovedCommit() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play(":older")
    driver.isHolding = true
    _ = try store.engine.compact(.last(1)) { _ in true }
    driver.tell(.storeStirred)
    try driver.play(":sort name desc")
    driver.release()
    #expect(driver.title.contains("HEAD #4") && driver.shows("City by name"), "\(driver.screen)")
    #expect(driver.browser.table.source?.isDescending == true, "\(driver.screen)")
  }

  @Test("the size in the foot is that of the store after another program has compacted it")
  func sizeAfterCompaction() throws {
    let store = try Sample.large(1000)
    let long = Document.string(String(repeating: "long ", count: 100_000))
    for name in [long, "short"] { try Sample.change(store, "Item", "1", ".name", to: name) }
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    let before = NumberFormat.bytes(try store.byteCount)
    #expect(driver.shows("· \(before)"), "\(driver.screen)")
    _ = try store.engine.compact(.last(1)) { _ in true }
    let after = NumberFormat.bytes(try store.byteCount)
    #expect(after != before)
    driver.tell(.storeStirred)
    #expect(driver.shows("· \(after)"), "\(driver.screen)")
  }

  @Test("a commit before, on and after the selection leaves it on its record; a delete moves it to the successor")
  func selection() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City", identifier: "1850147"))
    try Sample.add(
      [Sample.city(1, "First", "CH", 1, "X", []), Sample.city(9_999_999, "Last", "CH", 1, "X", [])], to: store,
      Sample.cityPlan(), "two more")
    driver.tell(.storeStirred)
    #expect(driver.selectedIdentifier == "1850147")
    #expect(driver.shows("row 4 of 12"))
    try Sample.change(store, "City", "1850147", ".population", to: 1)
    driver.tell(.storeStirred)
    #expect(driver.selectedIdentifier == "1850147")
    try Sample.delete(store, "City", "1850147")
    driver.tell(.storeStirred)
    #expect(driver.selectedIdentifier == "1853909")
    #expect(driver.status.contains("successor") || driver.status.contains("deleted"))
  }

  @Test("if a record leaves the range of the table, a message says so, and the selection is on its successor")
  func selectionOutOfRange() throws {
    let store = try Sample.large(100)
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    driver.browser.table.order(by: "value")
    driver.press("g g")
    driver.browser.table.setRange(KeyInterval(lower: .including(.integer(10)), upper: .excluding(.integer(20))))
    driver.press("g g j j")
    let selected = try #require(driver.selectedIdentifier)
    let next = driver.browser.table.row(at: driver.browser.table.list.selection + 1)?.entry.identifier.description
    try Sample.change(store, "Item", selected, ".value", to: 90)
    driver.tell(.storeStirred)
    #expect(driver.selectedIdentifier == next && driver.shows("of 9"), "\(driver.screen)")
    #expect(driver.status.contains("\(selected) is not here any more"), "\(driver.status)")
  }

  @Test("the cursor stays on its field when an order by an index, or its end, moves the columns")
  func columnOfTheCursor() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    var path: String? { driver.browser.table.selectedPath(driver.browser.session) }
    for _ in 0..<12 where path != ".population" { driver.press("l") }
    #expect(path == ".population")
    for key in ["o", "O", "U"] {
      driver.press(key)
      #expect(path == ".population", "after \(key): \(driver.screen)")
    }
    driver.press("g <")
    #expect(path == ".population")
  }

  @Test("a filtered or sorted table keeps its rows until those of a newer commit are found, however fast commits come")
  func renewal() throws {
    for command in ["filter population > 1000000", "sort timezone"] {
      let store = try Sample.store()
      let driver = Driver(store, start: .init(datastore: "City"))
      driver.press(":")
      driver.type(command)
      driver.press("Enter j")
      let (kept, count) = (driver.selectedIdentifier, driver.browser.table.count(driver.browser.session))
      let scans = { driver.works.count { $0 is FilterRequest || $0 is SortRequest } }
      let before = scans()
      driver.isHolding = true
      for population in [5_000_000, 6_000_000] {
        try Sample.change(store, "City", "2661552", ".population", to: .number(NumberText(population)))
        driver.tell(.storeStirred)
        driver.releaseAll { $0.slot != .filter && $0.slot != .sort }
        #expect(driver.shows("row 2 of \(count) ") && driver.selectedIdentifier == kept, "\(driver.screen)")
      }
      #expect(driver.title.contains("HEAD #6") && scans() == before + 1, "what is being filled is filled first")
      driver.press("g g")
      #expect(driver.shows("row 1 of \(count) "))
      let first = driver.selectedIdentifier
      driver.isHolding = false
      driver.release()
      #expect(scans() == before + 2 && driver.selectedIdentifier == first)
      #expect(driver.shows(" of \(command.hasPrefix("filter") ? count + 1 : count) "), "\(driver.screen)")
      #expect(driver.browser.table.renewal == nil && driver.browser.table.opened?.commit == store.head.commit)
    }
  }

  @Test(
    "called off while it is filled anew, a filtered table shows the rows found so far; travelling does not wait for it")
  func renewalCalledOff() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("f")
    driver.type("population > 1000000")
    driver.press("Enter")
    driver.isHolding = true
    try Sample.change(store, "City", "2661552", ".population", to: 5_000_000)
    driver.tell(.storeStirred)
    driver.releaseAll { $0.slot != .filter }
    driver.press("Esc")
    driver.releaseAll { _ in true }
    #expect(driver.browser.table.renewal == nil && driver.shows("row 0 of 0+ · read 0 of"), "\(driver.screen)")
    try Sample.change(store, "City", "2661552", ".population", to: 6_000_000)
    driver.tell(.storeStirred)
    driver.releaseAll { $0.slot != .filter }
    driver.press(",")
    driver.isHolding = false
    driver.release()
    #expect(driver.title.contains("AS OF #5") && driver.shows("of 5 "), "\(driver.screen)")
  }

  @Test("what was written from a filtered table is shown in its row at once")
  func written() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("f")
    driver.type("countrycode = \"CH\"")
    driver.press("Enter : ")
    driver.type("set name = \"Anew\"")
    driver.press("Enter Enter w Enter")
    driver.isHolding = true
    driver.press("Enter")
    driver.releaseAll { $0.slot != .filter }
    #expect(driver.browser.session.staged.isEmpty && driver.shows("Anew"), "\(driver.screen)")
    driver.release()
    #expect(driver.shows("Anew"))
  }

  @Test("holding still names the held commit and counts what is new, and following again shows it")
  func pause() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("F")
    #expect(driver.title.contains("paused"))
    for value in [1, 2] { try Sample.change(store, "City", "615532", ".population", to: .number(NumberText(value))) }
    driver.tell(.storeStirred)
    #expect(driver.title.contains("2 new"))
    #expect(driver.title.contains("HELD #4"))
    driver.press("F")
    #expect(driver.title.contains("HEAD #6"))
  }

  @Test("while a commit is held, the commits of others count as new and one's own do not")
  func ownCommits() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press("F d d w Enter Enter")
    #expect(store.head.commit.rawValue == 5 && driver.browser.session.unseen == 0, "\(driver.title)")
    driver.press("j d d w Enter")
    try Sample.change(store, "City", "2661552", ".timezone", to: "CET")
    driver.press("Enter")
    #expect(store.head.commit.rawValue == 7 && driver.browser.session.unseen == 1, "\(driver.title)")
  }

  @Test("another program's commit just before one's own is marked in its row, and one's own is not")
  func othersBeforeOwn() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City", identifier: "1850147"))
    driver.go(to: ".population")
    driver.press("e ^u 7 Enter w Enter")
    try Sample.change(store, "City", "615532", ".population", to: 42)
    driver.press("Enter")
    #expect(store.head.commit.rawValue == 6)
    #expect(driver.browser.table.changed.keys.map(\.description) == ["615532"], "\(driver.screen)")
  }

  @Test("Esc returns from the past to the commit that is held, and to the head where it is followed")
  func heldBeforeThePast() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press("F")
    for value in [1, 2] { try Sample.change(store, "City", "615532", ".population", to: .number(NumberText(value))) }
    driver.tell(.storeStirred)
    driver.press(",")
    #expect(driver.title.contains("AS OF #3"), "\(driver.screen)")
    #expect(driver.status.contains("Esc returns to #4"), "\(driver.status)")
    #expect(driver.browser.footerKeys().first { $0.keys == "Esc" }?.short == "leave the past")
    driver.press("Esc")
    #expect(driver.title.contains("HELD #4") && driver.title.contains("2 new"), "\(driver.title)")
    driver.press(", F Esc")
    #expect(driver.title.contains("HEAD #6"), "\(driver.title)")
  }

  @Test("one commit newer leads on from a commit that is held, to the newest")
  func newerThanHeld() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("F")
    for value in [1, 2] { try Sample.change(store, "City", "615532", ".population", to: .number(NumberText(value))) }
    driver.tell(.storeStirred)
    driver.press(".")
    #expect(driver.title.contains("AS OF #5"), "\(driver.screen)")
    driver.press(".")
    #expect(driver.title.contains("HEAD #6"), "\(driver.screen)")
    driver.press(".")
    #expect(driver.status.contains("this is the newest commit"), "\(driver.screen)")
  }

  @Test("where a store does not tell of commits, one's own are shown at once, and F F shows those of others")
  func unwatched() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City")) {
      $0.isWatched = false
    }
    driver.press("d d w Enter Enter")
    #expect(driver.browser.session.shown == store.head.commit, "\(driver.screen)")
    #expect(driver.browser.table.storedCount == 9 && driver.title.contains("paused"), "\(driver.screen)")
    try Sample.delete(store, "City", "2661552")
    driver.press("F F")
    #expect(driver.browser.session.shown == store.head.commit, "\(driver.screen)")
    #expect(driver.browser.table.storedCount == 8 && driver.title.contains("paused"), "\(driver.screen)")
  }

  @Test("a slow look at the store ends though more commits come, and another one follows it")
  func slowLook() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.isHolding = true
    driver.tell(.storeStirred)
    let first = try #require(driver.held.first { $0.0.slot == .refresh }?.0)
    for value in [1, 2] {
      try Sample.change(store, "City", "615532", ".population", to: .number(NumberText(value)))
      driver.tell(.storeStirred)
    }
    #expect(driver.held.map { $0.0 } == [first])
    driver.releaseOne()
    #expect(driver.browser.session.head == store.head.commit)
    #expect(driver.held.contains { $0.0.slot == .refresh && $0.0 != first })
    driver.release()
    #expect(driver.title.contains("HEAD #6"), "\(driver.screen)")
  }

  @Test("another program's commit during one that is cancelled is shown after it")
  func cancelledCommit() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("d d w Enter")
    driver.isHolding = true
    driver.press("Enter")
    let commit = try #require(driver.held.first { $0.0.slot == .commit }?.0, "\(driver.screen)")
    try Sample.change(store, "City", "615532", ".population", to: 1)
    driver.tell(.storeStirred)
    driver.press("Esc")
    driver.isHolding = false
    driver.tell(.work(commit, .failed(.cancelled)))
    #expect(driver.title.contains("HEAD #5"), "\(driver.screen)")
    #expect(driver.browser.session.staged.count == 1)
  }

  @Test("while the server is away the header says so, what is staged stays, and it is live again without a key")
  func away() throws {
    let store = try Sample.store()
    let served = HeldStore(store)
    let driver = Driver(served, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    #expect(driver.title.contains("⟳ live"))
    driver.press("d d")
    served.goAway()
    driver.tell(.storeStirred)
    #expect(!driver.title.contains("live"), "\(driver.title)")
    #expect(driver.title.contains("server away since \(TimeText.utc.clock(Sample.now))"), "\(driver.title)")
    #expect(driver.status.contains("no connection"))
    driver.press("w Enter Enter")
    #expect(driver.shows("no connection"))
    #expect(driver.browser.session.staged.count == 1)
    driver.press("Esc")
    served.comeBack()
    driver.tell(.storeStirred)
    #expect(driver.title.contains("⟳ live"), "\(driver.title)")
    #expect(driver.status.contains("the server is back"))
    #expect(!driver.shows("no connection"))
    driver.press("w Enter Enter")
    #expect(try store.refresh().datastore("City")?.count == 9)
  }

  @Test("of a store that answers nothing the header says so after some seconds, and for how long")
  func silent() throws {
    let clock = SetClock()
    let driver = Driver(try Sample.large(500), size: Size(columns: 120, rows: 30), start: .init(datastore: "Item")) {
      $0.clock = { clock.now }
    }
    driver.isHolding = true
    driver.press("G")
    clock.pass(seconds: 2)
    driver.tell(.tick(nil))
    #expect(driver.title.contains("⟳ live"), "\(driver.title)")
    clock.pass(seconds: 2)
    driver.tell(.tick(nil))
    #expect(driver.title.contains(" · no answer from the store for 4 s"), "\(driver.title)")
    #expect(!driver.title.contains("live"), "\(driver.title)")
    driver.release()
    #expect(driver.title.contains("⟳ live"), "\(driver.title)")
    driver.tell(.tick(nil))
    guard case .clock(isOn: false)? = driver.outward.last else {
      Issue.record("the clock still ticks")
      return
    }
  }

  @Test(
    "what could not be read while the server was away is read when it is back, and no record has another one's title")
  func unread() throws {
    let store = try Sample.large(500)
    let served = HeldStore(store, holdsRecords: true)
    let driver = Driver(served, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    served.goAway()
    driver.tell(.storeStirred)
    driver.press("G")
    #expect(!driver.shows("Record 499"), "\(driver.screen)")
    #expect(driver.shows("3 Record · 0 Record 0"), "\(driver.screen)")
    served.comeBack()
    driver.tell(.storeStirred)
    #expect(driver.shows("Record 499") && driver.shows("3 Record · 499 Record 499"), "\(driver.screen)")
    #expect(!driver.shows("no connection"), "\(driver.screen)")
  }

  @Test(
    "a pane whose question failed while the server was away asks it again when the server is back",
    arguments: [
      ":group group value", ":pivot group value", ":frequency name", ":describe", ":plot id value", ":pickaxe Record 7",
    ])
  func unanswered(command: String) throws {
    let store = try Sample.large(50)
    let served = HeldStore(store, holdsRecords: true)
    let driver = Driver(served, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    let expected = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    try expected.play(command)
    served.goAway()
    try driver.play(command)
    #expect(driver.shows("no connection"), "\(driver.screen)")
    served.comeBack()
    driver.tell(.storeStirred)
    #expect(driver.lines.dropFirst().dropLast() == expected.lines.dropFirst().dropLast(), "\(driver.screen)")
  }

  @Test("a table and a histogram that could not be opened while the server was away are opened when it is back")
  func unopened() throws {
    let store = try Sample.large(50)
    try Sample.change(store, "Item", "7", ".value", to: 99)
    let served = HeldStore(store, holdsRecords: true)
    let held = Driver(served, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    let expected = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    try expected.play(":travel 1")
    served.goAway()
    try held.play(":travel 1")
    #expect(held.shows("no connection") && !held.shows("Record 7"), "\(held.screen)")
    served.comeBack()
    held.tell(.storeStirred)
    #expect(held.lines.dropFirst().dropLast() == expected.lines.dropFirst().dropLast(), "\(held.screen)")
  }

  @Test("the whole interface as of a commit, stepped while the selection stays on its record")
  func travel() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".population", to: 1)
    let driver = Driver(store, start: .init(datastore: "City", identifier: "2661552"))
    driver.press("T")
    driver.type("head~1")
    driver.press("Enter")
    #expect(driver.title.contains("AS OF #4"))
    #expect(driver.title.contains("read-only"))
    #expect(driver.selectedIdentifier == "2661552")
    #expect(driver.shows("121631"))
    driver.press(", ,")
    #expect(driver.title.contains("AS OF #2"))
    #expect(driver.selectedIdentifier == "2661552")
    #expect(driver.shows("of 4"))
    driver.press("e")
    #expect(driver.status.contains("as of #2"))
    driver.press(". .")
    #expect(driver.title.contains("AS OF #4"))
    driver.press("Esc")
    #expect(driver.title.contains("HEAD #5"))
    #expect(driver.selectedIdentifier == "2661552")
  }

  @Test("a commit that is not there is refused with a sentence")
  func wrongCommit() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("T")
    driver.type("99")
    driver.press("Enter")
    #expect(driver.status.contains("99"))
    #expect(driver.title.contains("HEAD #4"))
  }

  @Test("blame says for every field which commit wrote it, and the values over time")
  func blame() throws {
    let store = try Sample.store()
    for value in [1000, 2000] {
      try Sample.change(store, "City", "2661552", ".population", to: .number(NumberText(value)))
    }
    let driver = Driver(
      store, size: Size(columns: 80, rows: 40), start: .init(datastore: "City", identifier: "2661552"))
    driver.press("Enter b j j j")
    #expect(driver.shows("#6 from outside"))
    #expect(driver.shows("#2 import CH: 4 cities"))
    #expect(driver.shows("population over time"))
    #expect(driver.shows("#5 1000"))
    driver.press("b")
    #expect(driver.shows("#5 from outside"))
  }

  @Test("blame goes on before the commit that brought a deleted record back, and ends where the record was made")
  func blameOfTheDeleted() throws {
    let store = try Sample.store()
    try Sample.add([["id": 1, "n": 1]], to: store, Sample.plan("Own", "id", []), "add Own")
    let driver = Driver(store, size: Size(columns: 160, rows: 40), start: .init(datastore: "Own", identifier: "1"))
    driver.press("2 d d w Enter Enter")
    let back = try store.undo(store.head.commit, named: "bring it back", options: EditOptions())
    driver.tell(.storeStirred)
    driver.press("3 b")
    #expect(driver.lines.contains { $0.contains("┃  n  ") && $0.contains("\(back) bring it back") }, "\(driver.screen)")
    driver.press("b")
    #expect(driver.lines.contains { $0.contains("┃  n  ") && $0.contains("add Own") }, "\(driver.screen)")
    driver.press("b")
    #expect(!driver.shows("· blame"), "\(driver.screen)")
  }

  @Test("a blame that is still read is not shown at the record that the cursor has gone to", arguments: [false, true])
  func lateBlame(showsBlame: Bool) throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.isHolding = true
    driver.press(showsBlame ? "Enter b 2 j" : "Enter 2 j")
    driver.releaseAll { $0.slot == .record }
    let blames: Set<WorkSlot> = [.life, .blame]
    driver.releaseFirst { $0.slot == .life }
    #expect(driver.browser.record.blame == nil)
    driver.press("3")
    driver.releaseAll { blames.contains($0.slot) }
    let shown = try #require(driver.browser.record.place)
    let request = try #require(driver.works.last { $0 is BlameRequest } as? BlameRequest)
    #expect(request.place == shown && driver.browser.record.blame != nil)
  }

  @Test("values are searched through the history")
  func pickaxe() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".timezone", to: "Europe/Bern")
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press("S")
    driver.type("europe/bern")
    driver.press("Enter")
    #expect(driver.shows("1 hit in 4 commits"))
    #expect(driver.shows("+ \"Europe/Bern\""))
    driver.press("Enter")
    #expect(driver.shows("Difference  #4 → #5"))
  }

  @Test("W between two commits shows what differs, each field old and new")
  func difference() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".population", to: 1)
    try Sample.change(store, "City", "2661552", ".population", to: 2)
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press("g H v j j W")
    #expect(driver.shows("Difference  #4 → #6"))
    #expect(driver.shows("- 121631"))
    #expect(driver.shows("+ 2"))
  }

  @Test(":difference between two commits works in every pane")
  func namedDifference() throws {
    for pane in 1...5 {
      let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
      driver.press("\(pane) :")
      driver.type("difference 2 4")
      driver.press("Enter")
      #expect(driver.browser.view.kind == .difference && driver.shows("#2 → #4"), "pane \(pane)")
    }
  }

  @Test(":difference takes times with spaces, in quotes")
  func quotedDifference() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    try driver.play(":difference \"2100-01-01 00:00\" 2")
    #expect(driver.browser.view.kind == .difference && driver.shows("#2 → #4"), "\(driver.screen)")
  }

  @Test(
    "a store whose folder was moved is called so and takes no edits, keeps what is staged, and goes on when it is back")
  func movedFolder() throws {
    let copies = try CopiedStore()
    let driver = Driver(copies.here, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.press("l e ^u")
    driver.type("Moved")
    driver.press("Enter")
    try TestFile.move(copies.here.path, to: copies.folder + "/there.strata")
    driver.press("w Enter Enter")
    #expect(driver.shows("there is nothing at this path"), "\(driver.screen)")
    #expect(!driver.shows("/lock"), "\(driver.screen)")
    driver.press("Esc Esc")
    driver.tell(.storeStirred)
    #expect(driver.title.contains("RO · deleted or moved"), "\(driver.title)")
    driver.press("2 e")
    #expect(driver.status.contains("read-only: the store was deleted or moved"), "\(driver.status)")
    #expect(driver.browser.session.staged.totals.updated == 1)
    try TestFile.move(copies.folder + "/there.strata", to: copies.here.path)
    driver.tell(.storeStirred)
    #expect(driver.title.contains("RW · ⟳ live"), "\(driver.title)")
    driver.press("w Enter Enter")
    #expect(driver.browser.session.staged.isEmpty && driver.title.contains("HEAD #2"), "\(driver.screen)")
  }

  @Test("a row that another program's commit brings into an empty table is shown in the record pane, too")
  func firstRow() throws {
    let store = try Sample.documents([["id": 1, "n": 0], ["id": 2, "n": 0]], [Sample.index("n")])
    let driver = Driver(store, start: .init(datastore: "T"))
    try driver.play(":sort id desc")
    driver.press("f")
    driver.type("n = 5")
    driver.press("Enter")
    try Sample.change(store, "T", "2", ".n", to: 5)
    driver.tell(.storeStirred)
    #expect(driver.selectedIdentifier == "2")
    #expect(driver.lines.contains { $0.contains("3 Record · 2") }, "\(driver.screen)")
  }
}
