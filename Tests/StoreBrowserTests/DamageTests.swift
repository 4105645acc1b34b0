import StrataDocuments
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

/// Stores of which a part cannot be read, and stores that do not answer.
@Suite("Damage")
struct DamageTests {
  private static let wide = Size(columns: 120, rows: 30)

  @Test("a commit that is not answered can be left, and what was staged stays")
  func unansweredCommit() throws {
    let driver = Driver(try Sample.store(), size: Self.wide, start: .init(datastore: "City"))
    driver.go(to: ".population")
    driver.press("e ^u 7 Enter w Enter")
    driver.isHolding = true
    driver.press("Enter")
    #expect(driver.shows("commit… — Esc cancels"), "\(driver.screen)")
    driver.press("Esc")
    #expect(driver.shows("cancelling commit… — Q leaves"), "\(driver.screen)")
    driver.press("Q")
    #expect(driver.status.contains("waiting for the commit; Q again leaves without waiting"), "\(driver.screen)")
    #expect(!driver.hasQuit)
    driver.press("Q")
    #expect(driver.hasQuit && driver.browser.leavesAtOnce)
    #expect(driver.browser.farewell?.hasPrefix("1 staged change kept for Atlas.strata; the commit") == true)
  }

  @Test("a title that has no room for both names the absence of the server, not the program that had the lock")
  func awayBeforeWriter() throws {
    let hold = WriterHold(processIdentifier: 812, program: "Atlas of all places", since: Sample.now)
    let store = HeldStore(try Sample.store(), by: hold)
    let driver = Driver(store, start: .init(datastore: "City"))
    #expect(driver.title.contains("held by Atlas"), "\(driver.title)")
    store.goAway()
    driver.tell(.storeStirred)
    #expect(driver.title.contains("server away since"), "\(driver.title)")
  }
}
