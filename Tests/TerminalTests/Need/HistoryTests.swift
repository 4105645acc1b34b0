import StrataTerminal
import Testing

@Suite("Needs: history")
struct HistoryTests {
  @Test("history timeline")
  func timeline() throws {
    let browser = try SampleStore().browse(size: Size(columns: 120, rows: 30))
    try browser.press("gH")
    browser.expect("4 History", "#5", "#1", "import City: 300 records", "+300", "1 of 5")
    browser.expect("- 2700000", "+ 2800000")
    try browser.press("q")
    try browser.run("6")
    try browser.press("H")
    browser.expect("City/53654", "1 of 4")
    try browser.press("q 3 b")
    browser.expect("population", "#5 count", "#1 impor")
    try browser.press("2 S")
    try browser.type("2600000")
    try browser.press("Enter")
    browser.expect("#4", "#3", "- 2600000", "+ 2600000")
  }

  @Test("diff views")
  func differences() throws {
    let browser = try SampleStore().browse(size: Size(columns: 120, rows: 30))
    try browser.press("gH W")
    browser.expect("#4 → #5", "- 2700000", "+ 2800000")
    try browser.run("difference 2 5")
    browser.expect("#2 → #5", "- 2587183", "+ 2800000")
  }

  @Test("restore, time travel")
  func travel() throws {
    let store = try SampleStore()
    let browser = try store.browse()
    try browser.run("6")
    try browser.press("T")
    try browser.type("3")
    try browser.press("Enter 3 j j j j j")
    browser.expect("AS OF #3", "read-only", "2600000", "row 6 of 300")
    try browser.press(",")
    browser.expect("AS OF #2", "2587183")
    try browser.press(". .")
    browser.expect("AS OF #4", "2700000")
    try browser.press("e")
    browser.expect("read-only")
    try browser.press("r")
    try browser.press("Esc Esc Esc")
    browser.expectNot("AS OF")
    browser.expect("staged ~1", "→ 2700000")
    try browser.press("w")
    try browser.press("Enter Enter")
    browser.expect("committed #6")
    #expect(try store.run("get", "City", "53654").contains("2700000"))
    try browser.press("T")
    try browser.type("head~5")
    try browser.press("Enter")
    browser.expect("AS OF #1")
    browser.expectNot("Country")
  }

  @Test("undo and redo")
  func undo() throws {
    let store = try SampleStore()
    var browser = try store.browse()
    for expected in ["2700000", "2600000", "2587183"] {
      try browser.press("u")
      browser.expect("take back", "+ \(expected)")
      try browser.press("Enter Enter")
      browser.expect("HEAD #")
      #expect(try store.run("get", "City", "53654").contains(expected))
    }
    // Also after a restart.
    try browser.send(Array("Q".utf8))
    try browser.waitForEnd()
    browser = try store.browse()
    try browser.press("^r")
    browser.expect("+ 2600000")
    // Typed ahead, keys wait for the screen that they are about, and Enter never confirms a review.
    try browser.pressAhead("Esc ^r Enter Enter")
    browser.expect("+ 2600000")
    #expect(try !store.run("get", "City", "53654").contains("2600000"))
    try browser.press("Enter Enter")
    #expect(try store.run("get", "City", "53654").contains("2600000"))
    try browser.press("gH j")
    #expect(try store.run("history").contains("count 53654: 2600000"))
  }

  @Test("live follow")
  func following() throws {
    let store = try SampleStore()
    let browser = try store.browse(size: Size(columns: 120, rows: 30))
    try browser.run("6")
    browser.expect("HEAD #5", "2800000")
    try store.count(53654, 2_900_000)
    try browser.waitFor("HEAD #6")
    for text in ["2900000", "row 6 of 300", "▶~       53654", "1 changed"] { try browser.waitFor(text) }
    try browser.press("l")
    browser.expect("▶        53654")
    browser.expectNot("1 changed")

    // Records before and after the selection come and go: it stays on its record.
    try store.run("put", "City", input: #"{"geonameid":5,"name":"New","countrycode":"IR","population":5}"#)
    try browser.waitFor("row 7 of 301")
    try browser.waitForCursor(on: "53654")
    try store.run("delete", "City", "32767")
    try browser.waitFor("row 6 of 300")
    try browser.waitForCursor(on: "53654")

    // The selected record goes: its successor is selected, and that is said.
    try store.run("delete", "City", "53654")
    try browser.waitFor("of 299")
    try browser.waitForCursor(on: "54225")

    try browser.press("F")
    browser.expect("paused")
    try store.count(54225, 1)
    try browser.waitFor("1 new")
    try browser.press("F")
    browser.expect("HEAD #10")
  }
}
