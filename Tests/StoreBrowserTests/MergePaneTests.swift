import StrataDocuments
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

  @Test("decisions of one merge stay while another one is decided, also from a file that kept those of one alone")
  func drafts() throws {
    let copies = try CopiedStore.edited()
    let files = BrowserFiles(folder: copies.folder + "/state")
    let driver = driver(copies, files: files)
    driver.press("7 g f w t Esc")
    let first = try copies.here.resolve("remotes/laptop")
    try Sample.change(copies.laptop, "City", "611717", ".population", to: 8)
    driver.press("7 g f w t t Esc")
    try driver.play(":merge \(first.rawValue)")
    #expect(driver.shows("1 of 2 conflicts settled"), "\(driver.screen)")
    driver.press("Esc 7 w")
    #expect(driver.shows("2 of 2 conflicts settled"), "\(driver.screen)")
    driver.press("c Enter")
    #expect(driver.browser.session.remembered.mergeDrafts.count == 1, "\(driver.screen)")

    var former = Remembered()
    former.merge = driver.browser.session.remembered.mergeDrafts.first
    try files.save(former)
    #expect(files.loadRemembered().remembered.mergeDrafts.count == 1)
  }
}
