import StrataModel
import StrataDocuments
import StrataExpressions
import StrataEngine
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Letters in the stores pane")
struct LettersTests {
  private static func send(_ action: String, _ city: Int64, _ members: String, to store: EngineStore) throws {
    let change = Letter.Change(
      datastore: "City", identifier: .number(NumberText(city)), kind: .patch(Array(members.utf8)))
    let letter = Letter(date: LocalTime.now, program: "Share", author: "eve", action: action, changes: [change])
    // Each letter is of a sender of its own, as of a process of its own.
    _ = try LetterSender(#require(store.inbox)).send(letter)
  }

  /// Puts the cursor on the first letter of an action.
  private static func select(_ action: String, in driver: Driver) {
    driver.press("1 g g")
    for _ in 0..<40 {
      let pane = driver.browser.panes[StoresPane.self]
      if case .letter(let letter) = pane.lines(driver.browser.session)[pane.list.selection], letter.action == action {
        return
      }
      driver.press("j")
    }
  }

  @Test("are listed; Enter shows one as a review, and a second Enter applies it and none of other senders")
  func applying() throws {
    let copies = try CopiedStore()
    try Self.send("move to Tbilisi", 611_717, #"{"population":5}"#, to: copies.here)
    try Self.send("wait", 615_532, #"{"population":6}"#, to: copies.here)
    let driver = Driver(copies.here, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    #expect(driver.shows("LETTERS") && driver.shows("wait"))
    Self.select("move to Tbilisi", in: driver)
    driver.press("Enter")
    #expect(driver.shows("Letter of Share: move to Tbilisi") && driver.shows("population"))
    #expect(!driver.shows("the head moved"))
    driver.press("Enter")
    #expect(try CopiedStore.value(copies.here, "611717", ".population") == 5)
    #expect(try CopiedStore.value(copies.here, "615532", ".population") != 6)
    #expect(try copies.here.inbox?.waiting().count == 1)
    #expect(driver.status.contains("“move to Tbilisi”"))
    #expect(try copies.here.commit(copies.here.head.commit).author == "eve")
  }

  @Test("are listed as soon as they come, though no commit comes with them")
  func coming() throws {
    let copies = try CopiedStore()
    let driver = Driver(copies.here, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    #expect(!driver.shows("LETTERS"))
    try Self.send("move to Tbilisi", 611_717, #"{"population":5}"#, to: copies.here)
    driver.tell(.storeStirred)
    #expect(driver.shows("LETTERS") && driver.shows("move to Tbilisi"), "\(driver.screen)")
  }

  @Test("that are refused keep their reason, and x in the review deletes one")
  func refusing() throws {
    let copies = try CopiedStore()
    try Self.send("nowhere", 1, #"{"population":5}"#, to: copies.here)
    _ = try copies.here.applyLetters()
    let driver = Driver(copies.here, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    #expect(driver.shows("refused"))
    Self.select("nowhere", in: driver)
    driver.press("Enter x")
    #expect(driver.status.contains("the letter “nowhere” is deleted"))
    #expect(!driver.shows("LETTERS"))
    #expect(try copies.here.inbox?.notices().isEmpty == true)
  }

  @Test("that are deleted after their review was closed leave open what was opened since")
  func deletedLater() throws {
    let copies = try CopiedStore()
    try Self.send("nowhere", 1, #"{"population":5}"#, to: copies.here)
    let driver = Driver(copies.here, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"))
    Self.select("nowhere", in: driver)
    driver.press("Enter")
    driver.isHolding = true
    driver.press("x Esc :")
    driver.type("filter population > 5")
    driver.release()
    #expect(try copies.here.inbox?.notices().isEmpty == true)
    #expect(driver.browser.overlays.last is Prompt && driver.shows("filter population > 5"), "\(driver.screen)")
  }
}
