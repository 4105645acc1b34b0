import Documents
import DatastoreModel
import TerminalKit
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

  @Test("Enter takes what is shown without reading anything again; Esc brings back what was there")
  func ending() throws {
    let driver = try driver()
    driver.press("j j j f")
    driver.type("countrycode = \"CH\"")
    let scans = { driver.works.count { if case .filter = $0 { true } else { false } } }
    let before = scans()
    driver.press("Enter")
    #expect(scans() == before)
    #expect(driver.shows("filter countrycode = \"CH\"") && driver.shows("of 4"))
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

  @Test("each key takes back the reading for the one before")
  func cancelling() throws {
    let driver = try driver()
    driver.press("f")
    driver.isHolding = true
    driver.type("population > 1")
    let first = try #require(driver.browser.session.running[.filter]?.id)
    driver.type("0")
    let second = try #require(driver.browser.session.running[.filter]?.id)
    #expect(second != first)
    #expect(driver.held.map(\.0).filter { $0.slot == .filter } == [second])
    driver.press("Esc")
    #expect(driver.browser.session.running[.filter] == nil)
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
