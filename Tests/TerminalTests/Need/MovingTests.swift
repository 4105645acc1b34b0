import StrataTerminal
import Testing

@Suite("Needs: moving and finding one's way")
struct MovingTests {
  @Test("vim keys + arrows")
  func moving() throws {
    let browser = try SampleStore().browse()
    browser.expect("row 1 of 300")
    for (keys, row) in [
      ("j j", 3), ("k", 2), ("Down Down", 4), ("Up", 3), ("G", 300), ("gg", 1), ("End", 300), ("Home", 1),
    ] {
      try browser.press(keys)
      browser.expect("row \(row) of 300")
    }
    for (command, row) in [("12", 12), ("50%", 151), ("+12", 163), ("-2", 161), ("9999", 300)] {
      try browser.run(command)
      browser.expect("row \(row) of 300")
    }
    try browser.press("gg PageDown")
    browser.expectNot("row 1 of")
    try browser.press("PageUp ^d ^u")
    browser.expect("row 1 of 300")
    #expect(browser.cursorLine.contains("32767"))
  }

  @Test("panes, jump to pane")
  func panes() throws {
    let browser = try SampleStore().browse()
    browser.expect("┏━ 2 City")
    try browser.press("1")
    browser.expect("┏━ 1 Stores", "┌─ 2 City")
    try browser.press("3")
    browser.expect("┏━ 3 Record")
    try browser.press("Tab")
    browser.expect("┏━ 1 Stores")
    try browser.press("2 +")
    try browser.press("+")
    browser.expect("┏━ 2 City")
    browser.expectNot("3 Record")
    try browser.press("_ _")
    browser.expect("3 Record")
    try browser.press("4")
    browser.expect("┏━ 4 History")
    try browser.press("q")
    browser.expect("┏━ 2 City")
    try browser.press("5")
    browser.expect("┏━ 5 Index")
    try browser.press("q 6")
    browser.expect("┏━ 6 Migration")
  }

  @Test("context key help")
  func contextHelp() throws {
    let browser = try SampleStore().browse()
    browser.expect("f filter", "? help")
    try browser.press("3")
    browser.expect("b blame")
    try browser.press("4")
    browser.expect("W diff")
    try browser.press("g")
    browser.expect("g…")
    try browser.press("Esc ?")
    browser.expect("Keys here: History", "move down")
    try browser.press("?")
    browser.expect("Help and commands")
  }

  @Test("help is searchable and runnable")
  func help() throws {
    let browser = try SampleStore().browse()
    try browser.press("?")
    try browser.type("time-trav")
    browser.expect("find: time-trav", "time-travel to a commit", "T")
    try browser.press("Esc ?")
    try browser.type("history of the store")
    try browser.press("Enter")
    browser.expect("┏━ 4 History", "import City")
    // What is not possible here says why instead of hiding.
    try browser.press("q ?")
    try browser.type("revert")
    browser.expect("not here")
  }

  @Test("command palette")
  func palette() throws {
    let browser = try SampleStore().browse()
    try browser.press(":")
    try browser.type("store-h")
    browser.expect(":store-history")
    try browser.press("Tab Enter")
    browser.expect("4 History")
    try browser.press("q :")
    try browser.press("Up")
    browser.expect("store-h")
    try browser.press("Esc")
    try browser.run("no-such-command")
    browser.expect("no command")
    try browser.press("Esc")
    try browser.run("sort population")
    browser.expect("by population")
  }

  @Test("mouse")
  func mouse() throws {
    let browser = try SampleStore().browse()
    #expect(browser.screen.modes.isSuperset(of: [1000, 1006]))
    try browser.type("\u{1B}[<0;40;8M\u{1B}[<0;40;8m")
    browser.expect("row 5 of 300")
    try browser.type("\u{1B}[<65;40;8M")
    browser.expectNot("row 5 of 300")
    try browser.type("\u{1B}[<0;5;5M\u{1B}[<0;5;5m")
    browser.expect("Country", "of 252")
    // A header sorts, a second time in reverse; a second click on a row opens it; a key at the foot is pressed.
    try browser.click(36, 3)
    browser.expect("by name", "▲")
    try browser.click(36, 3)
    browser.expect("▼")
    try browser.click(40, 8)
    try browser.click(40, 8)
    browser.expect("┏━ 3 Record")
    let foot = try #require(browser.screen.lines[23].firstRange(of: "? help"))
    try browser.click(SafeText.width(String(browser.screen.lines[23][..<foot.lowerBound])) + 1, 24)
    browser.expect("Keys here: Record")
    try browser.press("Esc gH")
    try browser.click(20, 7)
    browser.expect("▶    #4", "now 2800000")
    try browser.press("q gm")
    #expect(browser.screen.modes.isDisjoint(with: [1000, 1006]))
    try browser.press("gm")
    #expect(browser.screen.modes.contains(1000))
  }

  @Test("resize, small screens")
  func resizing() throws {
    let browser = try SampleStore().browse()
    try browser.press("j j")
    for size in [(300, 100), (160, 48), (100, 30), (59, 20), (40, 10)] {
      browser.resize(Size(columns: size.0, rows: size.1))
      try browser.waitUntilIdle()
      browser.expect("row 3 of 300")
      #expect(browser.screen.lines.allSatisfy { SafeText.width($0) == size.0 })
    }
    browser.resize(Size(columns: 39, rows: 9))
    try browser.waitUntilIdle()
    browser.expect("make the window 40×10")
    browser.resize(Size(columns: 1, rows: 1))
    try browser.waitUntilIdle()
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<60 {
      browser.resize(
        Size(columns: .random(in: 1...200, using: &generator), rows: .random(in: 1...60, using: &generator)))
    }
    // In every modal too.
    for keys in ["?", "Esc :", "Esc f", "Esc w", "Esc 3 e"] {
      try browser.press(keys)
      browser.resize(Size(columns: 1, rows: 2))
      browser.resize(Size(columns: 61, rows: 17))
      try browser.waitUntilIdle()
      #expect(browser.screen.lines.allSatisfy { SafeText.width($0) == 61 })
    }
    browser.resize(Size(columns: 80, rows: 24))
    try browser.press("Esc 2 gg")
    browser.expect("row 1 of 300", "┏━ 2 City")
  }

  @Test("accessibility")
  func accessibility() throws {
    let store = try SampleStore()
    let browser = try store.browse()
    // The terminal's own cursor is on what is selected, in every pane.
    for (keys, text) in [
      ("j", "32900"), ("1", "City"), ("j", "Country"), ("3", "geonameid"), ("j j", "latitude"), ("gH", "#5"),
      ("j", "#4"), ("q 5", "32900"), ("q ?", "Move"), ("?", "find"),
    ] {
      try browser.press(keys)
      #expect(browser.screen.modes.contains(25))
      #expect(browser.cursorLine.contains(text), "after \(keys) the cursor is on: \(browser.cursorLine)")
    }
    let (status, output) = try Spawning.run("strata", [store.path, "--plain"], input: "j j\nq\n")
    #expect(status == 0)
    #expect(output.contains("2 City") && output.contains("row 3 of 300"))
    #expect(!output.contains { "┌│┏┃".contains($0) })
  }
}

extension TerminalProcess {
  /// Clicks at a column and row, from 1.
  fileprivate func click(_ column: Int, _ row: Int) throws {
    try type("\u{1B}[<0;\(column);\(row)M\u{1B}[<0;\(column);\(row)m")
  }
}
