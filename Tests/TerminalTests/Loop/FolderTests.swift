import Foundation
import StrataTerminal
import Testing

/// A store that the original library wrote, where this machine has one.
private let archive: String? = {
  let checkout = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
  let shared = ProcessInfo.processInfo.environment["STRATA_SHARED"] ?? checkout.appending(path: "../shared").path
  let path = shared + "/fixtures/multi.tar.gz"
  return FileManager.default.fileExists(atPath: path) ? path : nil
}()

@Suite("Folders of the original library", .enabled(if: archive != nil, "there is no ../shared/fixtures here"))
struct FolderTests {
  @Test("a folder opens in the browser, read-only, with its datastores and its history")
  func opening() throws {
    let folder = Scratch.folder(named: "folder")
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["tar", "xzf", try #require(archive), "-C", folder]
    try process.run()
    process.waitUntilExit()
    let browser = try TerminalProcess(
      "strata", [folder + "/multi.persistencestore", "books"], size: Size(columns: 100, rows: 30))
    try browser.waitFor("row 1 of 6")
    browser.expect("authors", "books", "RO")
    try browser.press("j")
    browser.expect("row 2 of 6")
    try browser.press("e")
    browser.expect("read-only: it is a folder")
    try browser.press("g H")
    browser.expect("4 History")
  }
}
