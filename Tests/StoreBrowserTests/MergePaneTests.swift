import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("What is decided in a merge")
struct MergePaneTests {
  private func driver(_ copies: CopiedStore, files: BrowserFiles = .none) -> Driver {
    Driver(copies.here, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"), files: files)
  }

  @Test("after each decision the open conflicts are those that a look at all of them finds")
  func open() throws {
    let copies = try CopiedStore.edited()
    let driver = driver(copies)
    driver.press("7 g f w")
    for keys in ["t", "g g j x", "e ^u 6 Enter", "n m", "g g x", "G x", "a Enter", "g g b", "x", "7 w", "a Enter"] {
      driver.press(keys)
      let pane = try #require(driver.browser.panes[.merge] as? MergePane)
      let conflicts = try #require(pane.reply?.conflicts)
      let open = conflicts.count { $0.settlement(pane.decisions[$0.place] ?? [:]) == nil }
      #expect(pane.openCount == open && driver.shows("\(2 - open) of 2 conflicts settled"), "\(keys): \(driver.screen)")
    }
    try Sample.change(copies.here, "City", "611717", ".population", to: 1_049_498)
    driver.tell(.storeStirred)
    #expect(driver.shows("1 of 1 conflict settled"), "\(driver.screen)")
  }
}
