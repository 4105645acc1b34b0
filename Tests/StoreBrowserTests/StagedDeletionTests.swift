import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Deleting records of which some are new")
struct StagedDeletionTests {
  /// A browser with two staged copies of Bern, 5000 and 5001, and the cursor on the first.
  private func copies() throws -> Driver {
    let driver = Driver(
      try Sample.store(), size: Size(columns: 120, rows: 40), start: .init(datastore: "City", identifier: "2661552"))
    for (old, new) in [("2661552", "5000"), ("5000", "5001")] {
      driver.press("D")
      let text = try #require(driver.editorRequest?.text)
      driver.tell(.editorClosed(EditorOutcome(text: text.replacing(old, with: new))))
    }
    driver.press("k")
    #expect(driver.selectedIdentifier == "5000", "\(driver.screen)")
    return driver
  }

  @Test("a marked new record is taken out, and not the one that the cursor is on by then")
  func marked() throws {
    let driver = try copies()
    driver.press("Space d d")
    #expect(driver.browser.session.staged.order.map(\.identifier.description) == ["5001"], "\(driver.screen)")
  }

  @Test("stored and new records that are marked are deleted in one step")
  func mixed() throws {
    let driver = try copies()
    driver.press("Space g g Space d d")
    #expect(driver.browser.session.staged.totals.deleted == 1 && driver.browser.session.staged.totals.inserted == 1)
    driver.press("u")
    #expect(driver.browser.session.staged.totals.deleted == 0 && driver.browser.session.staged.totals.inserted == 2)
  }

  @Test("a range over stored and new records is deleted, marked and copied as a whole")
  func rangeOverBoth() throws {
    let driver = try copies()
    driver.press("k v j d d")
    let staged = { driver.browser.session.staged }
    #expect(staged().totals.deleted == 1 && staged().totals.inserted == 1, "\(driver.screen)")
    driver.press("u")
    #expect(staged().totals.deleted == 0 && staged().totals.inserted == 2, "\(driver.screen)")
    try driver.play(":first\n:last")
    #expect(driver.selectedIdentifier == "5001", "\(driver.screen)")
    driver.press("v k k y r")
    #expect(driver.browser.session.copied.records.map(\.identifier.description) == ["2661604", "5000", "5001"])
    driver.press("Space")
    #expect(driver.browser.table.marks.map(\.description) == ["2661604", "5000", "5001"], "\(driver.screen)")
  }

  @Test("a change and a delete of a range over stored and new records are of both", arguments: ["set", "delete"])
  func previewOverBoth(command: String) throws {
    let driver = try copies()
    driver.press("k v j")
    try driver.play(":\(command)\(command == "set" ? " population = 7" : "")")
    let reply = try #require((driver.browser.overlays.last as? BulkOverlay)?.reply, "\(driver.screen)")
    #expect(reply.edits.map(\.identifier.description) == ["2661604", "5000"], "\(driver.screen)")
    driver.press("Enter")
    let totals = driver.browser.session.staged.totals
    #expect([totals.updated, totals.deleted, totals.inserted] == (command == "set" ? [1, 0, 2] : [0, 1, 1]))
  }

  @Test("a range of new records is taken out as a whole")
  func range() throws {
    let driver = try copies()
    driver.press("v j d d")
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
  }
}

@Suite("A range of rows while another program commits")
struct RangeTests {
  /// A browser with a range of two rows: 1850147 and 1853909.
  private func range(_ store: EngineStore, _ keys: String = "") -> Driver {
    let driver = Driver(store, start: .init(datastore: "City", identifier: "1850147"))
    driver.press("\(keys) v j")
    return driver
  }

  @Test(
    "the range stays on its records, also among the rows of a filter",
    arguments: ["", "f p o p u l a t i o n > 1 Enter"])
  func records(keys: String) throws {
    let store = try Sample.store()
    let driver = range(store, keys)
    #expect(driver.shows("range of 2"), "\(driver.screen)")
    try Sample.delete(store, "City", "611717")
    driver.tell(.storeStirred)
    #expect(driver.shows("range of 2"), "\(driver.screen)")
    driver.press("d d")
    let staged = driver.browser.session.staged.order.map(\.identifier.description)
    #expect(staged == ["1850147", "1853909"], "\(driver.screen)")
  }

  @Test("a range that begins at a row that is not read yet stays on its record", arguments: ["G v k", "G v g g"])
  func unread(keys: String) throws {
    let store = try Sample.large(2_000)
    let driver = Driver(store, start: .init(datastore: "Item"))
    driver.isHolding = true
    driver.press(keys)
    driver.release()
    #expect(driver.browser.table.rangeStart == 1_999)
    try Sample.delete(store, "Item", "5")
    driver.tell(.storeStirred)
    #expect(driver.browser.table.rangeStart == 1_998 && !driver.status.contains("has ended"), "\(driver.screen)")
  }

  @Test("the range ends if its first record is deleted")
  func gone() throws {
    let store = try Sample.store()
    let driver = range(store)
    try Sample.delete(store, "City", "1850147")
    driver.tell(.storeStirred)
    #expect(driver.browser.table.rangeStart == nil && driver.status.contains("the range has ended"), "\(driver.screen)")
  }
}
