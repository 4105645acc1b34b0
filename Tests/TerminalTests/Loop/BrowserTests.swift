import Glibc
import StrataTerminal
import Testing

@Suite("The browser on a terminal")
struct BrowserTests {
  @Test("the wheel moves what is under it, and nothing while a text is open")
  func wheel() throws {
    let browser = try SampleStore().browse()
    try browser.press("gH")
    try browser.type("\u{1B}[<65;10;5M")
    browser.expect("4 of 5")
    try browser.type("\u{1B}[<64;10;5M")
    browser.expect("1 of 5")
    try browser.press("?")
    try browser.type("\u{1B}[<65;10;5M")
    browser.expect("Help and commands")
  }

  @Test("the first picture is there before the store is open, and what is typed meanwhile is not lost")
  func firstPicture() throws {
    let store = try SampleStore()
    let browser = try TerminalProcess("strata", [store.path])
    try browser.pressAhead("j j")
    browser.expect("row 3 of 300")
    let transcript = String(decoding: browser.screen.transcript, as: UTF8.self)
    #expect(transcript.contains("opening"))
  }

  @Test("a path that is not a store is reported without a screen, with its status")
  func noStore() throws {
    let file = Scratch.file(named: "text", "no store")
    for path in [file, "/no/such/store"] {
      let process = try TerminalProcess("strata", [path])
      #expect(try process.waitForEnd() != 0)
      #expect(process.screen.transcript.firstRange(of: Array("[?1049h".utf8)) == nil)
      #expect(process.screen.text.contains("strata:"))
    }
  }

  @Test("a store that cannot be opened gives the terminal back and tells why, with status 3")
  func newerStore() throws {
    let store = try SampleStore()
    let file = open(store.path + "/data", O_WRONLY)
    let version: [UInt8] = [9]
    #expect(pwrite(file, version, 1, 8) == 1)
    close(file)
    let process = try TerminalProcess("strata", [store.path])
    #expect(try process.waitForEnd() == 3)
    #expect(process.isTermiosAsBefore && !process.screen.modes.contains(1049))
    #expect(process.screen.text.contains("strata:"))
  }

  @Test("strata alone lists the stores of the directory, those opened lately, and the sample last")
  func list() throws {
    let store = try SampleStore()
    let state = Scratch.folder(named: "state")
    let browser = try TerminalProcess("strata", [store.path], environment: ["XDG_STATE_HOME": state])
    try browser.waitUntilIdle()
    try browser.send(Array("Q".utf8))
    #expect(try browser.waitForEnd() == 0)
    let empty = Scratch.folder(named: "empty")
    let elsewhere = try Spawning.run("strata", [], environment: ["XDG_STATE_HOME": state], directory: empty)
    #expect(
      elsewhere.output == """
        There is no store in this directory.
        Opened lately:
        strata \(store.path)
        strata demo

        """)
    let folder = store.path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    let here = try Spawning.run("strata", [], environment: ["XDG_STATE_HOME": state], directory: folder)
    #expect(here.output == "strata Atlas.strata\nstrata demo\n")
    // A name that is read as a verb or an option.
    #expect(rename(store.path, "\(folder)/--info") == 0)
    let renamed = try Spawning.run("strata", [], environment: ["XDG_STATE_HOME": state], directory: folder)
    #expect(renamed.output == "strata ./--info\nstrata demo\n")
  }
}
