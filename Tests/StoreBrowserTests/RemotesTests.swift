import StrataModel
import StrataDocuments
import StrataExchange
import StrataExpressions
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Other copies of a store, in the browser")
struct RemotesTests {
  private static func driver(
    _ copies: CopiedStore, files: BrowserFiles = .none, size: Size = Size(columns: 120, rows: 40)
  ) -> Driver {
    Driver(copies.here, size: size, start: .init(datastore: "City"), files: files)
  }

  private static func pane(_ driver: Driver) throws -> RemotesPane {
    try #require(driver.browser.panes[.remotes] as? RemotesPane)
  }

  private static func merge(_ driver: Driver) throws -> MergePane {
    try #require(driver.browser.panes[.merge] as? MergePane)
  }

  // MARK: Pane 7

  @Test("pane 7 says how many commits each side lacks, as a walk of both stores counts them")
  func standing() throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    driver.press("7")
    #expect(driver.shows("laptop") && driver.shows("never"))
    driver.press("g f")
    let row = try #require(try Self.pane(driver).selected)
    #expect(row.firstHeadBehind?.ahead == 2 && row.firstHeadBehind?.behind == 4)
    #expect(driver.shows("both went on: 2 commits here, 4 there"))
    #expect(row.exchangedAt != nil && !driver.shows("never"))
    // Nothing was merged: the records are as they were.
    #expect(try CopiedStore.value(copies.here, "611717", ".population") == 5)
    driver.press("g f")
    #expect(driver.status.contains("nothing new"))
  }

  @Test("a remote is added, refused where it is none, and forgotten with its names")
  func adding() throws {
    let copies = try CopiedStore()
    let driver = Self.driver(copies)
    driver.press("7 i")
    driver.type("stick folder:/tmp/nowhere")
    driver.press("Enter")
    #expect(try RemotesFile(storeAt: copies.here.path).read().map(\.name) == ["laptop", "stick"])
    #expect(driver.shows("stick"))
    driver.press("i")
    driver.type("stick ../other.strata")
    driver.press("Enter")
    #expect(driver.status.contains("there is a remote stick already"))
    driver.press("i")
    driver.type("bad name://x")
    driver.press("Enter")
    #expect(driver.status.contains("is not a kind of remote"))
    driver.press("g f")
    #expect(try copies.here.pins.contains { $0.name == "remotes/laptop" })
    driver.press("d d")
    #expect(try RemotesFile(storeAt: copies.here.path).read().map(\.name) == ["stick"])
    #expect(try !copies.here.pins.contains { $0.name.hasPrefix("remotes/laptop") })
  }

  @Test("a remote that is refused while the others are still being read takes nothing from these")
  func addedEarly() throws {
    let copies = try CopiedStore()
    let driver = Self.driver(copies)
    driver.isHolding = true
    driver.press("7 i")
    driver.type("bad name://x")
    driver.press("Enter")
    driver.release()
    #expect(driver.status.contains("is not a kind of remote") && driver.shows("laptop"), "\(driver.screen)")
  }

  @Test("a remote that is not there says so in its row, and nothing else changes")
  func unreachable() throws {
    let copies = try CopiedStore()
    try RemotesFile(storeAt: copies.here.path).add(Remote(name: "gone", location: "gone.strata"))
    let driver = Self.driver(copies)
    driver.press("7 g g g f")
    #expect(driver.shows("✗ failed"))
    #expect(driver.status.contains("gone.strata"))
    #expect(try CopiedStore.contents(copies.here).count == 10)
  }

  @Test("an exchange without conflicts fetches, merges and sends: both are equal")
  func exchange() throws {
    let copies = try CopiedStore()
    try Sample.change(copies.here, "City", "611717", ".population", to: 5)
    try Sample.change(copies.laptop, "City", "611717", ".timezone", to: "Asia/Yerevan")
    let driver = Self.driver(copies)
    driver.press("7 X")
    #expect(driver.status.contains("1 commit fetched, 1 change merged, 2 commits sent"), "\(driver.screen)")
    let here = try CopiedStore.contents(copies.here)
    #expect(try here == CopiedStore.contents(copies.laptop))
    #expect(try CopiedStore.value(copies.here, "611717", ".population") == 5)
    #expect(try CopiedStore.value(copies.here, "611717", ".timezone") == "Asia/Yerevan")
    #expect(driver.shows("both have the same commits"))
    #expect(driver.browser.session.shown == copies.here.head.commit)
  }

  @Test("what an exchange or a merge of one's own brings is neither counted as new nor marked as another program's")
  func ownMerges() throws {
    for keys in ["7 X", "7 g f w c Enter"] {
      for isHeld in [false, true] {
        let copies = try CopiedStore()
        try Sample.change(copies.here, "City", "611717", ".population", to: 5)
        try Sample.change(copies.laptop, "City", "611717", ".timezone", to: "Asia/Yerevan")
        let driver = Self.driver(copies)
        if isHeld { driver.press("F") }
        driver.press(keys)
        #expect(try CopiedStore.value(copies.here, "611717", ".timezone") == "Asia/Yerevan", "\(driver.screen)")
        let session = driver.browser.session
        #expect(session.head == copies.here.head.commit && session.unseen == 0, "\(driver.title)")
        #expect(driver.browser.table.changed.isEmpty, "\(driver.browser.table.changed)")
      }
    }
  }

  @Test("an exchange with conflicts writes nothing and shows the merge; settled, the next one makes both equal")
  func exchangeWithConflicts() throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    let before = copies.here.head.commit
    driver.press("7 X")
    #expect(copies.here.head.commit == before)
    #expect(driver.browser.view.kind == .init(of: .merge))
    #expect(driver.status.contains("2 conflicts to settle"))
    driver.press("m t c Enter")
    #expect(driver.browser.view.kind != .init(of: .merge))
    driver.press("7 X")
    #expect(try CopiedStore.contents(copies.here) == CopiedStore.contents(copies.laptop))
  }

  // MARK: The merge

  @Test("the merge shows base, ours, theirs and result of each field, and what merges by itself")
  func screen() throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    driver.press("7 g f w")
    let reply = try #require(try Self.merge(driver).reply)
    #expect(reply.conflicts.map(\.place.identifier.description).sorted() == ["2661552", "611717"])
    let city = try #require(reply.conflicts.first { $0.place.identifier.description == "611717" })
    let field = try #require(city.fields.first { $0.path.description == ".population" })
    #expect(field.sides.base == 1_049_498 && field.sides.mine == 5 && field.sides.theirs == 7 && field.isConflict)
    // Edited last on the laptop.
    #expect(field.later == .theirs)
    let zone = try #require(city.fields.first { $0.path.description == ".timezone" })
    #expect(zone.status == .merges("Asia/Yerevan") && zone.sides.mine == zone.sides.base)
    #expect(reply.clean.map(\.place.identifier.description) == ["615532"])
    let line = try #require(
      driver.lines.first { $0.contains(".population") || $0.contains("population") && $0.contains("1049498") })
    #expect(line.contains("1049498") && line.contains(" 5 ") && line.contains(" 7 ") && line.contains("later: theirs"))
    #expect(driver.shows("0 of 2 conflicts settled · 1 clean"))
    #expect(driver.shows("Bärn") && driver.shows("deleted") && driver.shows("edited"))
  }

  @Test("a list that merges by itself is shown whole, because its elements have other positions on each side")
  func mergedList() throws {
    let copies = try CopiedStore()
    try Sample.change(copies.here, "City", "611717", ".population", to: 5)
    try Sample.change(copies.laptop, "City", "611717", ".population", to: 7)
    try Sample.change(copies.laptop, "City", "611717", ".alternatenames", to: ["T'bilisi", "Tbilisi", "Tiflis"])
    let driver = Self.driver(copies)
    driver.press("7 g f w")
    let fields = try #require(try Self.merge(driver).reply?.conflicts.first?.fields)
    #expect(fields.map(\.path.description) == [".population", ".alternatenames"], "\(driver.screen)")
    #expect(fields[1].status == .merges(["T'bilisi", "Tbilisi", "Tiflis"]))
  }

  @Test("a merge tells null from a member that is not there")
  func nulls() throws {
    let copies = try CopiedStore()
    try Sample.change(copies.here, "City", "611717", ".timezone", to: .null)
    let cities = try #require(try copies.laptop.refresh().datastore("City"))
    let record = try #require(try cities.record(cities.identifier(parsing: "611717")))
    var edit = RecordEdit(datastore: "City", identifier: record.identifier, old: record.stored, new: record.stored)
    edit.new?.bytes = try record.coding.encode(record.document().removing(DocumentPath(parsing: ".timezone")))
    let changes = ChangeSet(base: copies.laptop.head.commit, changes: [edit])
    _ = try copies.laptop.commit(changes, named: "removed", options: EditOptions())
    let driver = Self.driver(copies)
    driver.press("7 g f w")
    let line = try #require(driver.lines.first { $0.contains("Asia/Tbilisi") })
    #expect(line.split(separator: " ").filter { ["null", "—"].contains($0) } == ["null", "—"], "\(line)")
    driver.press("m")
    #expect(driver.lines.contains { $0.contains("Asia/Tbilisi") && $0.contains("null  ours") }, "\(driver.screen)")
  }

  @Test("the cursor of a merge ends on the last conflict, not on a line below it")
  func lastLine() throws {
    let copies = try CopiedStore()
    try Sample.change(copies.here, "City", "611717", ".population", to: 5)
    try Sample.change(copies.laptop, "City", "611717", ".population", to: 7)
    let driver = Self.driver(copies)
    driver.press("7 g f w G j")
    let pane = try Self.merge(driver)
    #expect(pane.lines.count == 2 && pane.list.selection == 1, "\(driver.screen)")
  }

  @Test("a merge is committed as it was settled, each field by itself, and one undo takes it back")
  func settle() throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    let before = try CopiedStore.contents(copies.here)
    driver.press("7 g f w c")
    #expect(driver.status.contains("2 conflicts to settle first"))
    // The population by hand, Bern as it is here.
    driver.press("e ^u")
    driver.type("6")
    driver.press("Enter")
    #expect(driver.shows("by hand") && driver.shows("1 of 2 conflicts settled"))
    driver.press("m")
    #expect(driver.shows("2 of 2 conflicts settled"))
    driver.press("c ^u")
    driver.type("Both at last")
    driver.press("Enter")
    #expect(driver.browser.session.outline?.commit.action == "Both at last", "\(driver.screen)")
    #expect(driver.browser.session.outline?.commit.parents.count == 2)
    #expect(try CopiedStore.value(copies.here, "611717", ".population") == 6)
    #expect(try CopiedStore.value(copies.here, "611717", ".timezone") == "Asia/Yerevan")
    #expect(try CopiedStore.value(copies.here, "615532", ".timezone") == "Asia/Yerevan")
    #expect(try CopiedStore.value(copies.here, "2661552", ".name") == "Bärn")
    #expect(try copies.here.verifyModel(at: copies.here.head.commit).isClean)
    driver.press("7 Enter")
    #expect(driver.status.contains("everything that was fetched is merged"), "\(driver.screen)")
    driver.press("2 u")
    #expect(driver.shows("taken back here, and everywhere at the next exchange"), "\(driver.screen)")
    driver.press("Enter Enter")
    #expect(try CopiedStore.contents(copies.here) == before)
  }

  @Test("what is taken of base, ours and theirs is what comes out", arguments: ["m", "t", "b"])
  func sides(key: String) throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    driver.press("7 g f w \(key) \(key) c Enter")
    let expected: [String: (population: Document, bern: Document?)] = [
      "m": (5, "Bärn"), "t": (7, nil), "b": (1_049_498, "Bern"),
    ]
    let wanted = try #require(expected[key])
    #expect(try CopiedStore.value(copies.here, "611717", ".population") == wanted.population)
    #expect(try CopiedStore.value(copies.here, "2661552", ".name") == wanted.bern)
    #expect(try copies.here.verifyModel(at: copies.here.head.commit).isClean)
  }

  @Test(
    "a value that two records would share is told in the merge, and no side of it settles that")
  func collisions() throws {
    let copies = try CopiedStore(uniqueNames: true)
    // Two records take one name, each on one side: nothing but the index says that this cannot be.
    try Sample.change(copies.here, "City", "2661552", ".name", to: "Aarau")
    try Sample.change(copies.laptop, "City", "2661604", ".name", to: "Aarau")
    let driver = Self.driver(copies)
    let head = copies.here.head.commit
    driver.press("7 g f w")
    let reply = try #require(try Self.merge(driver).reply)
    #expect(reply.conflicts.map(\.place.identifier.description) == ["2661604"])
    #expect(driver.shows("name \"Aarau\" would belong to 2661552 and 2661604"), "\(driver.screen)")
    #expect(!driver.shows("x opens a decision"))
    // No side settles it: with either, both would be Aarau.
    for side in ["m", "t"] {
      driver.press("g g \(side) c Enter")
      #expect(copies.here.head.commit == head, "\(driver.screen)")
    }
  }

  @Test("pane 7 and the merge are at each size as they were", arguments: [false, true])
  func pictures(isASCII: Bool) throws {
    for size in [Size(columns: 80, rows: 24), Size(columns: 120, rows: 40), Size(columns: 160, rows: 48)] {
      let copies = try CopiedStore.edited()
      let driver = Driver(copies.here, size: size, start: .init(datastore: "City")) {
        // Every commit was made at 09:14 on the same day, wherever and whenever the test runs.
        $0.time = TimeText { time in Int(1_795_166_042 - time / 1_000_000_000) }
        $0.theme.isASCII = isASCII
      }
      driver.press("7 g f")
      for (name, keys) in [("remotes", ""), ("merge", "w"), ("merge-settled", "m t")] {
        driver.press(keys)
        let grid = isASCII ? driver.grid.asciiOnly() : driver.grid
        try Snapshot.check(grid, named: "\(name)-\(size)\(isASCII ? "-ascii" : "")")
      }
    }
  }

  @Test("the editor of a merged value decides and stages nothing, and its foot says so")
  func decidedByHand() throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    driver.press("7 g f w e")
    #expect(driver.keys.contains("decide") && !driver.keys.contains("stage"), "\(driver.screen)")
    #expect(!driver.shows("Tab list"))
    driver.press("Tab")
    #expect(driver.browser.overlays.last is ValueEditor)
    driver.press("^u")
    driver.type("12345")
    driver.press("Enter")
    #expect(driver.shows("1 of 2 conflicts settled") && driver.browser.session.staged.isEmpty, "\(driver.screen)")
  }

  @Test("the rest is settled by who was later, as the policy of the verbs settles it")
  func later() throws {
    let (copies, others) = (try CopiedStore.edited(), try CopiedStore.edited())
    let driver = Self.driver(copies)
    driver.press("7 g f w a Enter")
    #expect(driver.shows("2 of 2 conflicts settled"))
    driver.press("c Enter")
    let exchange = StoreExchange(others.here, now: LocalTime.now)
    let fetched = try exchange.fetch(StorePeer(others.laptop, name: "laptop", now: LocalTime.now), as: "laptop")
    for head in fetched.heads { _ = try exchange.merge(head, policy: .later) }
    #expect(try CopiedStore.contents(copies.here) == CopiedStore.contents(others.here))
  }

  @Test("a half-settled merge is kept as a draft, also for the next start")
  func draft() throws {
    let copies = try CopiedStore.edited()
    let files = BrowserFiles(folder: copies.folder + "/state")
    let driver = Self.driver(copies, files: files)
    driver.press("7 g f w t Esc")
    #expect(driver.browser.view.kind != .init(of: .merge))
    let again = Self.driver(copies, files: files)
    again.press("7 w")
    #expect(again.shows("1 of 2 conflicts settled"), "\(again.screen)")
    again.press("m c Enter")
    #expect(try CopiedStore.value(copies.here, "611717", ".population") == 7)
    #expect(again.browser.session.remembered.mergeDrafts.isEmpty)
  }

  @Test("a text that was left in a merge's editor is offered in that merge, and not where the field is edited")
  func draftOfDecision() throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    driver.press("7 g f w e ^u")
    driver.type("6")
    driver.press("Esc e")
    let offered = try #require(driver.browser.overlays.last as? ValueEditor)
    #expect(offered.decides && offered.field.text == "6", "\(driver.screen)")
    var editor = ValueEditor(place: offered.place, path: offered.path, old: offered.old)
    editor.offerDraft(in: &driver.browser.session)
    #expect(editor.field.text == FieldKind.text(of: offered.old))
  }

  @Test("a merge whose base moved under the hands is looked at again before it is written")
  func movedMeanwhile() throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    driver.press("7 g f w m m")
    #expect(driver.shows("2 of 2 conflicts settled"))
    try Sample.change(copies.here, "City", "611717", ".population", to: 99)
    let moved = copies.here.head.commit
    driver.press("c Enter")
    #expect(copies.here.head.commit == moved)
    #expect(driver.status.contains("look at the conflicts again"), "\(driver.screen)")
  }

  @Test("where nothing of ours lies beside it the head moves, without a commit")
  func fastForward() throws {
    let copies = try CopiedStore()
    try Sample.change(copies.laptop, "City", "611717", ".population", to: 7)
    let driver = Self.driver(copies)
    driver.press("7 g f w")
    #expect(driver.shows("nothing of ours lies beside it"))
    driver.press("c")
    #expect(try CopiedStore.contents(copies.here) == CopiedStore.contents(copies.laptop))
    #expect(copies.here.head.commit == (try copies.here.resolve("remotes/laptop")))
  }

  // MARK: The history

  @Test("the history of a store with merges shows every commit once, by its graph, over all pages")
  func graph() throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies)
    driver.press("7 g f w m m c Enter g H")
    let rows = (0..<driver.browser.history.count).compactMap { driver.browser.history.row($0)?.commit.number }
    #expect(Set(rows).count == rows.count && rows.count == 8, "\(rows)")
    #expect(driver.shows("●─╮") && driver.shows("○─╯"), "\(driver.screen)")
    // Pages of any length tell the same.
    for limit in 1...4 {
      var (open, told) = ([copies.here.head.commit], [CommitNumber]())
      while !open.isEmpty {
        let page = try copies.here.commitPage(from: open, limit: limit, folded: true)
        told += page.commits.map(\.number)
        open = page.next
      }
      #expect(told == rows)
    }
  }

  @Test(
    "no picture of remotes or merge is cut at a border",
    arguments: [Size(columns: 80, rows: 24), Size(columns: 160, rows: 48)])
  func pictures(size: Size) throws {
    let copies = try CopiedStore.edited()
    let driver = Self.driver(copies, size: size)
    driver.press("7 g f")
    #expect(driver.lines.allSatisfy { SafeText.width($0) <= size.columns })
    #expect(driver.shows("ahead") && driver.shows("last exchange"))
    driver.press("w")
    #expect(driver.shows("result") && driver.shows("later: theirs"), "\(driver.screen)")
    driver.press("m")
    #expect(driver.shows("1 of 2 conflicts settled"))
  }
}
