import StrataDocuments
import StrataEngine
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("What was left before")
struct LeftBeforeTests {
  @Test("Esc takes back a command that waits for its record")
  func escapedCommand() throws {
    let long = String(repeating: "x", count: 100_000)
    let documents: [Document] = (1...3).map { number in
      .object([
        .init("id", .number(NumberText(number))), .init("name", .string("n\(number)")), .init("text", .string(long)),
      ])
    }
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: 120, rows: 40), start: .init(datastore: "T"))
    driver.press("3 j")
    driver.isHolding = true
    driver.press("J d d Esc")
    driver.release()
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
  }
}
