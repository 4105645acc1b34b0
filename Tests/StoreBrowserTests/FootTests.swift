import StrataDocuments
import StrataEngine
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("The foot, titles and small help")
struct FootTests {
  private static let sizes = [
    Size(columns: 80, rows: 24), Size(columns: 120, rows: 40), Size(columns: 160, rows: 48),
  ]

  @Test("the foot is one line with keys at the left and the state at the right, in every pane", arguments: sizes)
  func oneLine(size: Size) throws {
    for keys in ["", "1", "3", "5", "g H", "M", "7", "F", "g b", "g d", "?"] {
      let driver = Driver(try Sample.store(), size: size, start: .init(datastore: "City"))
      driver.press(keys)
      driver.browser.session.notice = nil
      let last = driver.lines[size.rows - 1], above = driver.lines[size.rows - 2]
      #expect(last.hasPrefix(" ") && last.contains("?") || last.contains("Esc"), "\(keys): \(last)")
      let isBorder = above.contains("─") || above.contains("━")
      #expect(isBorder, "\(keys): the panes reach down to the foot\n\(driver.screen)")
      let drawn = driver.browser.footerKeys().map { "\($0.keys) \($0.short)" }.joined(separator: "  ")
      #expect(last.dropFirst().hasPrefix(drawn), "\(keys): \(last)")
      if size.columns >= 100 { #expect(last.trimmed.hasSuffix("B"), "\(keys): \(last)") }
    }
  }

  @Test("the state says what is staged beside the keys that go on; a message takes the line for as long as it is new")
  func states() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("d d")
    #expect(driver.status.contains("staged: delete 611717") && driver.status.trimmed.hasSuffix("staged ~0 +0 -1"))
    driver.press("j")
    #expect(
      driver.status.trimmed.hasSuffix("staged ~0 +0 -1") && driver.status.contains("w commit"), "\(driver.status)")
    driver.press("Space")
    #expect(driver.status.contains("j move"), "\(driver.status)")
    driver.press("k")
    #expect(driver.status.contains("j move") || driver.status.contains("marked"), "\(driver.status)")
  }

  @Test("a message goes with the next key, also one about a window that this key closes")
  func messageOfWindow() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    try driver.play(":explain")
    driver.press("w")
    let overlay = try #require(driver.browser.overlays.last)
    #expect(driver.status.contains("is open; Esc closes it"), "\(driver.screen)")
    driver.press("Esc")
    #expect(driver.browser.overlays.last?.id != overlay.id && !driver.shows("is open"), "\(driver.screen)")
  }

  @Test("a list with fewer than two lines offers no move")
  func nothingToMove() throws {
    let driver = Driver(try Sample.documents([["id": 1], ["id": 2]]), start: .init(datastore: "T"))
    #expect(driver.keys.contains("j move"), "\(driver.keys)")
    for (filter, count) in [("id = 1", 1), ("id = 3", 0)] {
      try driver.play(":filter \(filter)")
      #expect(
        driver.browser.table.count(driver.browser.session) == count && !driver.keys.contains("j move"), "\(driver.keys)"
      )
    }
  }

  @Test(
    "a message that is wider than the foot goes on over the lines above, and no word of it is cut", arguments: sizes)
  func longMessages(size: Size) throws {
    let driver = Driver(try Sample.store(), size: size, start: .init(datastore: "City"))
    driver.press("g")
    let browser = driver.browser
    for next in browser.keymap.continuations(of: browser.pendingKeys, in: browser.target) {
      #expect(driver.shows("\(next.key) ") && driver.shows(CommandTable.entry(next.command).short), "\(driver.screen)")
    }
    driver.press("Esc")
    let words = (1...60).map { "word\($0)" }
    driver.browser.session.warn(words.joined(separator: " "))
    #expect(words.allSatisfy(driver.shows), "\(driver.screen)")
    driver.press("j")
    #expect(!driver.shows("word1"), "\(driver.screen)")
  }

  @Test("a title says the datastore and its order; what narrows the rows is in the foot of the table")
  func titles() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 160, rows: 40), start: .init(datastore: "City"))
    try driver.play(":filter countrycode = \"JP\"")
    try driver.play(":sort timezone")
    #expect(
      driver.lines[1].contains("2 City by timezone ━") && !driver.lines[1].contains("filter"), "\(driver.lines[1])")
    let foot = try #require(driver.lines.last { $0.contains(" of 4 ") && $0.contains("row") })
    #expect(foot.contains("countrycode = \"JP\" · INDEX countrycode"), "\(foot)")
  }

  @Test("the history shows a day once with its times under it, and authors if there are two")
  func history() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 200, rows: 40), start: .init(datastore: "City")) {
      $0.time = TimeText { time in Int(1_795_166_042 - time / 1_000_000_000) }
    }
    driver.press("g H")
    let rows = driver.lines.dropFirst().filter { $0.contains("import ") && $0.contains("#") }
    #expect(rows.count == 4 && rows.first?.contains("today 09:14") == true, "\(driver.screen)")
    #expect(rows.dropFirst().allSatisfy { $0.contains("           09:14") }, "\(rows)")
    #expect(rows.allSatisfy { !$0.contains("tests") }, "all are of one program")
    #expect(TimeText.utc.under(nil, Sample.now - 86_400_000_000_000, now: Sample.now) == "2026-11-19 16:00")
  }

  @Test("the history has a column of changed counts for each datastore, as in a loop over the commits")
  func counts() throws {
    let store = try Sample.store()
    try Sample.change(store, "Country", "JP", ".population", to: 1)
    try Sample.delete(store, "City", "615532")
    let driver = Driver(store, size: Size(columns: 160, rows: 40), start: .init(datastore: "City"))
    driver.press("g H")
    var starts: [String: Set<Int>] = [:]
    for number in 1...store.head.commit.rawValue {
      let commit = try store.commit(CommitNumber(number))
      let row = try #require(
        driver.lines.dropFirst().first { $0.contains("#\(number) ") && $0.contains(commit.action) })
      for change in commit.changes {
        let counts = [("~", change.updated), ("+", change.inserted), ("-", change.deleted)].filter { $0.1 > 0 }
        let text = "\(change.datastore) " + counts.map { "\($0.0)\($0.1)" }.joined(separator: " ")
        let place = try #require(row.firstRange(of: text), "\(text) in \(row)")
        starts[change.datastore, default: []].insert(row.distance(from: row.startIndex, to: place.lowerBound))
      }
    }
    #expect(starts.count == 2 && starts.values.allSatisfy { $0.count == 1 }, "\(driver.screen)")
  }

  @Test("a commit in which no record differs leaves all the room to the history; the next one brings the changes back")
  func room() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play(":add-index timezone=timezone")
    driver.press("g H")
    #expect(driver.shows("no record differs") && !driver.shows("Changes"), "\(driver.screen)")
    #expect(driver.lines[1].hasSuffix("┓") && driver.lines[1].filter { $0 == "┓" || $0 == "┐" }.count == 1)
    driver.press("j")
    #expect(driver.shows("Changes") && !driver.shows("no record differs"), "\(driver.screen)")
    driver.press("k")
    #expect(!driver.shows("Changes"))
  }

  @Test("columns that were scrolled out come back when the screen has room for all")
  func columnsComeBack() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("l l l l l l")
    #expect(!driver.lines[2].contains(" name "), "\(driver.screen)")
    driver.resize(Size(columns: 200, rows: 40))
    for column in driver.browser.table.visibleColumns(driver.browser.session) {
      #expect(driver.lines[2].contains(" \(column.title) "), "\(column.title) in \(driver.lines[2])")
    }
  }

  @Test("the fault of a bad value is shown while it is typed, and goes when the value is good")
  func live() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("l l l e")
    driver.type("x")
    #expect(driver.shows("not an integer"), "\(driver.screen)")
    driver.press("Backspace")
    #expect(!driver.shows("not an integer"))
    driver.press("^u")
    driver.type("12")
    driver.press("Enter")
    #expect(driver.browser.session.staged.totals.updated == 1)
  }

  @Test("the list of values has each value once, that of a reference the present one and the records")
  func eachOnce() throws {
    let documents: [Document] = (0..<4).map {
      ["id": .number(NumberText($0)), "n": .number(NumberText($0 % 2)), "on": true, "t": "x"]
    }
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: 120, rows: 40), start: .init(datastore: "T"))
    func names(_ path: String) throws -> [String] {
      while driver.browser.table.selectedPath(driver.browser.session) != path { driver.press("l") }
      driver.press("C")
      defer { driver.press("Esc g g") }
      return try #require(driver.browser.overlays.last as? FinderOverlay).items.map(\.words.name)
    }
    for (path, expected) in [
      (".n", ["0", "1", "null"]), (".on", ["true", "false", "null"]), (".t", ["\"x\"", "\"\"", "null"]),
    ] {
      #expect(try names(path) == expected, "\(path)")
      for _ in 0..<4 { driver.press("h") }
    }
    try driver.play(": reference n T")
    let found = try names(".n")
    #expect(found == ["0", "null", "0", "1", "2", "3"], "\(found)")
  }

  @Test("a reference is chosen from the records of its datastore by a few letters, another value from those seen")
  func choosing() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    try driver.play(": reference countrycode Country")
    while driver.browser.table.selectedPath(driver.browser.session) != ".countrycode" { driver.press("l") }
    driver.press("C")
    #expect(driver.shows("Switzerland") && driver.shows("Japan"), "\(driver.screen)")
    driver.type("Jap")
    driver.press("Enter")
    let edit = try #require(driver.browser.session.staged.edits.values.first)
    let document = try #require(edit.new.flatMap { try? RecordCoding.json.document(of: $0.bytes) })
    #expect(document[member: "countrycode"] == .string("JP"), "\(driver.screen)")
    driver.press("j l")
    while driver.browser.table.selectedPath(driver.browser.session) != ".timezone" { driver.press("l") }
    driver.press("C")
    driver.type("zurich")
    driver.press("Enter")
    #expect(driver.browser.session.staged.totals.updated == 2, "\(driver.screen)")
  }

  @Test("e with marked records sets the field in all of them, after a preview")
  func marked() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.press("Space Space Space l l l e")
    #expect(driver.status.contains("set population = ") && driver.keys.contains("3 marked records"), "\(driver.screen)")
    driver.type("population + 1")
    driver.press("Enter")
    #expect(driver.shows("3 records") && driver.browser.session.staged.isEmpty, "\(driver.screen)")
    driver.press("Enter")
    #expect(driver.browser.session.staged.totals.updated == 3)
  }

  @Test(
    "in the past the foot says what the next Esc takes back, and Esc is said to return to the head only when it does")
  func escapeInThePast() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 36), start: .init(datastore: "City"))
    try driver.play(": filter population > 1000000\n: sort timezone")
    driver.press("4 g H ,")
    #expect(driver.browser.session.asOf != nil && driver.status.contains("as of #3"), "\(driver.status)")
    #expect(!driver.status.contains("returns to the head"), "\(driver.status)")
    driver.press("Esc")
    for hint in ["no filter", "no sort", "leave the past"] {
      let keys = driver.browser.footerKeys().first { $0.keys == "Esc" }
      #expect(keys?.short == hint && driver.browser.session.asOf != nil, "\(driver.status)")
      driver.press("Esc")
    }
    #expect(driver.browser.session.asOf == nil)
    driver.press(",")
    #expect(driver.status.contains("Esc returns to the head"), "\(driver.status)")
    driver.press("i")
    #expect(driver.status.contains(":travel head returns"), "\(driver.status)")
    try driver.play(": travel head")
    #expect(driver.browser.session.asOf == nil)
  }

  @Test("the foot of a plot names the filter and the range that its points come from")
  func plotOfAPart() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 160, rows: 40), start: .init(datastore: "City"))
    try driver.play(": filter population > 1000000")
    driver.press("g p")
    #expect(
      driver.lines.contains { $0.contains("point") && $0.contains("filter population > 1000000") }, "\(driver.screen)")
  }
}
