import StrataDocuments
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Boundaries")
struct BoundaryTests {
  @Test("a number beyond the doubles is drawn in a column that is narrower")
  func beyondDoubles() throws {
    for text in [String(repeating: "1", count: 400), "1.2345678901234567890123456789012345e400"] {
      let number = try #require(NumberText(text))
      #expect(NumberFormat.exact(.number(number), in: 20) == text)
      let driver = Driver(try Sample.documents([["id": 1, "n": .number(number)], ["id": 2, "n": 5]]))
      #expect(driver.shows(String(text.prefix(20))), "\(driver.screen)")
    }
  }

  @Test(
    "the index pane goes to the first key after those that it has read, by its number and with the table",
    arguments: [Size(columns: 80, rows: 24), Size(columns: 160, rows: 48)])
  func nextKeys(size: Size) throws {
    let driver = Driver(try Sample.large(500), size: size, start: .init(datastore: "Item"))
    if size.columns == 80 { driver.press("5") }
    try driver.play(":121")
    #expect(driver.browser.panes[IndexPane.self].selected?.rank == 120, "\(driver.screen)")
  }

  @Test("a text that is no key of the index leaves the keys in the index pane")
  func wrongKey() throws {
    let driver = Driver(try Sample.large(500), start: .init(datastore: "Item"))
    driver.press("5 j j")
    try driver.play("keys /\ntype abc\nkeys Enter")
    #expect(driver.status.contains("“abc” is not an integer") && !driver.status.contains("column"), "\(driver.screen)")
    #expect(driver.browser.panes[IndexPane.self].selected?.rank == 2, "\(driver.screen)")
    try driver.play("keys /\ntype 30\nkeys Enter")
    #expect(driver.browser.panes[IndexPane.self].selected?.rank == 30, "\(driver.screen)")
  }

  @Test("a plot is read to its end though another program commits meanwhile, and then as of that commit")
  func plotDuringCommits() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    driver.isHolding = true
    try driver.play(":plot geonameid population")
    let plot = try #require(driver.held.first { $0.0.slot == PlotPane.question }?.0, "\(driver.screen)")
    try Sample.change(store, "City", "2661552", ".population", to: 7)
    driver.tell(.storeStirred)
    driver.releaseAll { $0.slot != PlotPane.question }
    #expect(driver.held.map(\.0) == [plot], "\(driver.screen)")
    driver.release()
    #expect((driver.browser.panes[.plot] as? PlotPane)?.reply?.request.commit == store.head.commit)
  }

  @Test("a macro does not contain the key that replays it")
  func replayInMacro() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    try driver.play(":record")
    driver.press("j @")
    #expect(driver.status.contains(":record stops"), "\(driver.screen)")
    try driver.play(":record")
    driver.press("g g @")
    #expect(driver.browser.table.list.selection == 1, "\(driver.screen)")
  }
}
