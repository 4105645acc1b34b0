import StrataDocuments
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("The filter while it is typed")
struct LiveFilterTests {
  private func driver() throws -> Driver { Driver(try Sample.store(), start: .init(datastore: "City")) }

  @Test("the table follows each key that makes a filter, and stays where a key makes none")
  func following() throws {
    let driver = try driver()
    driver.press("f")
    driver.type("name")
    #expect(driver.shows("row 1 of 10"), "a name alone is the beginning of a comparison")
    driver.type(" ^= \"B")
    #expect(driver.shows("row 1 of 10"))
    driver.type("\"")
    #expect(driver.shows("row 1 of 3"))
    #expect(driver.shows("Batumi") && !driver.shows("Genève"))
    driver.type(" and population >")
    #expect(driver.shows("row 1 of 3"), "what was a filter last is shown on")
    driver.type(" 130000")
    #expect(driver.shows("row 1 of 1") && driver.shows("Basel"))
    driver.press("^u")
    #expect(driver.shows("of 10"), "an empty line filters nothing")
  }

  @Test("a pattern with two dots is a filter, and no range of keys")
  func pattern() throws {
    let driver = try driver()
    driver.press("f")
    driver.type("name ~ /^B..n/")
    driver.press("Enter")
    #expect(driver.shows("row 1 of 1") && driver.shows("Bern") && !driver.shows("Basel"), "\(driver.screen)")
  }

  @Test(
    "the foot of the table keeps the plan and the count of a filter, however long that is and however narrow the screen"
  )
  func planInFoot() throws {
    for size in [Size(columns: 80, rows: 24), Size(columns: 120, rows: 40)] {
      for (filter, standing) in [
        ("population > 1000000", "INDEX population"),
        ("countrycode = \"JP\" and timezone = \"Asia/Tokyo\"", "SCAN"),
      ] {
        let driver = try driver()
        driver.resize(size)
        driver.press("f")
        driver.type(filter)
        driver.press("Enter")
        let foot = driver.lines.last { $0.contains("row 1 of 4") } ?? ""
        #expect(foot.contains(standing) && driver.lines[1].contains("2 City"), "\(driver.screen)")
        #expect(foot.contains(filter.prefix(5)), "\(foot)")
      }
    }
  }

  @Test("the plan and the count are of what is typed, or say of what")
  func standingOfWhat() throws {
    let driver = try driver()
    driver.press("f")
    driver.type("population > 1000000")
    #expect(driver.keys.contains(" INDEX population · 4 records") && !driver.keys.contains("population > 1000000:"))
    driver.type(" and countryc")
    #expect(driver.keys.contains("population > 1000000: INDEX population · 4 records"), "\(driver.keys)")
    driver.type("ode = \"JP\"")
    #expect(driver.keys.contains("· 3 records") && !driver.keys.contains(":"), "\(driver.keys)")
    driver.press("^u")
    driver.type("popp > 5")
    #expect(driver.keys.contains("did you mean population?"), "\(driver.keys)")
  }

  @Test("Enter takes what is shown without reading anything again; Esc brings back what was there")
  func ending() throws {
    let driver = try driver()
    driver.press("j j j f")
    driver.type("countrycode = \"CH\"")
    let scans = { driver.works.count { $0 is FilterRequest } }
    let before = scans()
    driver.press("Enter")
    #expect(scans() == before)
    #expect(driver.browser.table.source?.filter == "countrycode = \"CH\"" && driver.shows("of 4"))
    driver.press("f ^u Up")
    #expect(driver.status.contains("filter countrycode = \"CH\""), "what was typed before is there again")
    driver.press("Esc ^o")
    #expect(driver.selectedIdentifier == "1853909" && driver.shows("row 4 of 10"))
    driver.press("f")
    driver.type("population > 1000000")
    #expect(driver.shows("of 4"))
    driver.press("Esc")
    #expect(driver.selectedIdentifier == "1853909" && driver.shows("row 4 of 10"))
    #expect(driver.browser.table.source?.filter == nil)
  }

  @Test("the prompt says the plan and the count while one types, and which name no record has")
  func standing() throws {
    let driver = try driver()
    driver.press("f")
    driver.type("population > 1000000")
    #expect(driver.keys.contains("INDEX population · 4 records"))
    driver.press("^u")
    driver.type("timezone = \"Asia/Tokyo\"")
    #expect(driver.keys.contains("SCAN · "))
    driver.press("^u")
    driver.type("populatoin > 5")
    #expect(driver.keys.contains("populatoin") && driver.keys.contains("population"))
    driver.press("^u")
    driver.type("population > 1000000")
    driver.press("Enter")
    driver.resize(Size(columns: 160, rows: 40))
    #expect(driver.shows("population > 1000000 · INDEX population"), "\(driver.screen)")
  }

  @Test("Tab walks fields, operators and values that are there; Enter takes what it chose, and submits only then")
  func completing() throws {
    let driver = try driver()
    func field() -> String { (driver.browser.overlays.last as? Prompt)?.field.text ?? "" }
    driver.press("f")
    driver.type("countryc")
    #expect(driver.shows("field, indexed"))
    driver.press("Tab")
    #expect(field() == "countrycode ", "the only one is taken at once")
    driver.type("= ")
    #expect(driver.shows("\"CH\"") && driver.shows("\"JP\""))
    driver.press("Tab Tab S-Tab Tab Enter")
    #expect(field() == "countrycode = \"GE\" ")
    #expect(driver.browser.overlays.last is Prompt)
    #expect(driver.shows("row 1 of 2"))
    driver.type("a")
    driver.press("Tab")
    driver.type("pop")
    driver.press("Tab")
    driver.type("b")
    driver.press("Tab")
    #expect(field() == "countrycode = \"GE\" and population between ")
    driver.press("^u")
    driver.type("name ")
    driver.press("Tab Esc")
    #expect(driver.browser.overlays.last is Prompt, "Esc closes the list first")
    driver.press("Esc")
    #expect(driver.browser.overlays.isEmpty)
    // Also where Tab chose nothing.
    driver.press("f ^u")
    driver.type("name ")
    #expect(driver.shows("starts with "), "\(driver.screen)")
    driver.press("Esc")
    #expect(driver.browser.overlays.last is Prompt && !driver.shows("starts with "))
    driver.type("=")
    #expect((driver.browser.overlays.last as? Prompt)?.field.text == "name =", "the line goes on")
    driver.press("Esc Esc : Esc")
    #expect(driver.browser.overlays.last is Prompt, "the commands are a list too")
    driver.press("Esc")
    #expect(driver.browser.overlays.isEmpty)
  }

  @Test("values of a field without an index are offered for what is typed of them, without quotes and in either case")
  func completingWithoutIndex() throws {
    let driver = try driver()
    driver.press("f")
    driver.type("timezone = asia/tb")
    driver.press("Tab")
    let typed = (driver.browser.overlays.last as? Prompt)?.field.text
    #expect(typed == "timezone = \"Asia/Tbilisi\" ", "\(driver.screen)")
  }

  @Test("? shows how conditions are written, within a text it is itself; Up recalls what was typed before")
  func questionMark() throws {
    let driver = try driver()
    driver.press("f")
    driver.type("name = \"?")
    #expect((driver.browser.overlays.last as? Prompt)?.field.text == "name = \"?")
    driver.type("\"")
    driver.press("Enter f ^u")
    driver.type("?")
    #expect(driver.shows("A condition is asked of each record"))
    driver.press("Esc Up")
    #expect((driver.browser.overlays.last as? Prompt)?.field.text == "name = \"?\"")
  }

  @Test(
    "a range is typed as people write it",
    arguments: ["> 1M", "= 100,000 .. 1M", "<= 150k", "= ..= 150000", "100k .."])
  func ranges(text: String) throws {
    let driver = try driver()
    driver.browser.table.order(by: "population")
    driver.press("f")
    driver.type(text)
    driver.press("Enter")
    let expected = try Sample.cityList(of: driver.store).count { city in
      let number = city.1[DocumentPath([.member("population")])]?.number ?? 0
      return switch text {
      case "> 1M": number > 1_000_000
      case "= 100,000 .. 1M": number >= 100_000 && number < 1_000_000
      case "100k ..": number >= 100_000
      default: number <= 150_000
      }
    }
    #expect(driver.browser.table.storedCount == expected, "\(text)")
  }

  @Test("each key takes back the reading for the one before")
  func cancelling() throws {
    let driver = try driver()
    driver.press("f")
    driver.isHolding = true
    driver.type("population > 1")
    let first = try #require(driver.browser.session.running[.typing]?.id)
    driver.type("0")
    let second = try #require(driver.browser.session.running[.typing]?.id)
    #expect(second != first)
    #expect(driver.held.map(\.0).filter { $0.slot == .typing } == [second])
    driver.press("Esc")
    #expect(driver.browser.session.running[.typing] == nil && driver.browser.session.running[.filter] == nil)
  }

  @Test("while one types the rows stay as they are, the plan and the count come at once, and the rows after a pause")
  func pause() throws {
    let driver = try driver()
    driver.press("f")
    driver.isHolding = true
    driver.type("population > 1M")
    let rows = driver.lines.dropLast(2)
    driver.releaseFirst { $0.slot == .typedPlan }
    #expect(driver.keys.contains("INDEX population · 4 records"), "\(driver.keys)")
    #expect(driver.lines.dropLast(2).map { $0.dropFirst(32) } == rows.map { $0.dropFirst(32) }, "\(driver.screen)")
    #expect(driver.shows("row 1 of 10") && !driver.lines.dropLast(2).contains { $0.contains("> 1M") })
    driver.release()
    #expect(driver.shows("row 1 of 4") && driver.lines.dropLast(2).contains { $0.contains("> 1M") }, "\(driver.screen)")
    // Back to what is shown: nothing is waited for.
    driver.isHolding = true
    driver.type("x")
    driver.press("Backspace")
    #expect(driver.browser.session.running[.typing] == nil && driver.shows("row 1 of 4"))
    driver.release()
    // Enter does not wait for the pause.
    driver.isHolding = true
    driver.press("^u")
    driver.type("countrycode = \"CH\"")
    driver.press("Enter")
    driver.release()
    #expect(driver.browser.table.source?.filter == "countrycode = \"CH\"" && driver.shows("of 4"))
    #expect(driver.browser.session.running.isEmpty)
  }

  @Test("a count is told beforehand only where the rows are all records, each once")
  func countOfRange() throws {
    let driver = try driver()
    driver.browser.table.order(by: "name")
    driver.press("f")
    driver.type("= \"B\" .. \"C\"")
    driver.press("Enter f")
    driver.isHolding = true
    driver.type("population > 1M")
    driver.releaseFirst { $0.slot == .typedPlan }
    #expect(driver.keys.contains("INDEX population") && !driver.keys.contains("records"), "\(driver.keys)")
  }

  @Test("a path through a list of objects keeps the records where one of them fits")
  func listsOfObjects() throws {
    let store = try Sample.store()
    let books: [Document] = [
      ["id": 1, "title": "Roadside Picnic", "authors": [["name": "Arkady"], ["name": "Boris"]]],
      ["id": 2, "title": "Solaris", "authors": [["name": "Stanisław"]]],
      ["id": 3, "title": "Anonymous"], ["id": 4, "title": "Kindred", "authors": ["name": "Octavia"]],
    ]
    try Sample.add(books, to: store, Sample.plan("Book", "id", [Sample.index("title")]), "books")
    let driver = Driver(store, start: .init(datastore: "Book"))
    for (filter, titles): (String, [String]) in [
      ("authors.name = \"Boris\"", ["Roadside"]), ("authors.name ^= \"St\"", ["Solaris"]),
      ("authors.name in (\"Octavia\", \"Arkady\")", ["Roadside", "Kindred"]),
      ("authors.name is null", ["Anonymous"]), ("authors.name != \"Boris\"", ["Solaris", "Anonymous", "Kindred"]),
    ] {
      driver.press("f ^u")
      driver.type(filter)
      driver.press("Enter")
      let shown = (driver.browser.table.ranks ?? []).compactMap { driver.browser.table.rows[$0]?.cells[".title"]?.text }
      #expect(shown.map { String($0.prefix { $0 != " " }) } == titles, "\(filter)")
    }
  }
}
