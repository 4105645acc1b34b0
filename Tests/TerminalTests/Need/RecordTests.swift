import Glibc
import StrataTerminal
import Testing

@Suite("Needs: records and edits")
struct RecordTests {
  @Test("record detail, tree")
  func detail() throws {
    let browser = try SampleStore().browse()
    try browser.run("6")
    try browser.press("3 + +")
    browser.expect("53654", "\"Mogadishu\"", "2.03711", "Double", "String", "▸ alternatenames (111)")
    try browser.press("G l")
    browser.expect("▾ alternatenames", "\"MGQ\"")
    try browser.press("gg t")
    browser.expect("JSON", "\"geonameid\": 53654,")
    try browser.press("t")
    browser.expect("7b")
    try browser.press("t J")
    browser.expect("54225")
    try browser.press("K K")
    browser.expect("52407")
  }

  @Test("edit in place")
  func editing() throws {
    let store = try SampleStore()
    let browser = try store.browseToPopulation()
    try browser.press("e")
    browser.expect("population : Int", "2800000")
    try browser.press("^u")
    try browser.type("3000000")
    try browser.press("Enter")
    browser.expect("2800000 → 3000000", "staged")
    try browser.press("w")
    try browser.press("Enter")
    browser.expect("commit name")
    try browser.press("^u")
    try browser.type("a better count")
    try browser.press("Enter")
    browser.expect("committed #6 “a better count”", "HEAD #6")
    try browser.send(Array("Q".utf8))
    #expect(try browser.waitForEnd() == 0)
    #expect(try store.run("get", "City", "53654").contains("3000000"))
  }

  @Test("edit in $EDITOR")
  func externalEditor() throws {
    let fix = Scratch.file(
      named: "editor", "#!/bin/sh\ngrep -q '^// ' \"$1\" || exit 9\nsed -i 's/2800000/3100000/' \"$1\"\n", mode: 0o755)
    let browser = try SampleStore().browseToPopulation(environment: ["EDITOR": fix])
    try browser.press("E")
    browser.expect("→ 3100000", "staged")
    let record = try SampleStore().browse(environment: ["VISUAL": fix])
    try record.run("6")
    try record.press("E")
    record.expect("edited 53654", "▶~       53654")

    // What does not parse comes back with the mistake on top, and nothing of it is lost.
    let careless = Scratch.file(
      named: "editor",
      """
      #!/bin/sh
      if grep -q '"name": "Mogadishu"' "$1"; then
        sed -i 's/"name": "Mogadishu"/name: "Mogadishu by the sea"/' "$1"
      else
        head -3 "$1" > \(Scratch.home)/mistake
        sed -i 's/  name:/  "name":/' "$1"
      fi
      """, mode: 0o755)
    let other = try SampleStore().browse(environment: ["EDITOR": careless])
    try other.run("6")
    try other.press("E")
    other.expect("edited 53654", "Mogadishu by the sea")
    #expect(Scratch.text(of: Scratch.home + "/mistake").contains("// "))
  }

  @Test("validation at edit time")
  func validation() throws {
    let browser = try SampleStore().browseToPopulation()
    try browser.press("e ^u")
    try browser.type("12x")
    try browser.press("Enter")
    browser.expect("✗ not an integer", "12x")
    try browser.press("Backspace Enter")
    browser.expect("→ 12", "staged")
  }

  @Test("staged changes")
  func staging() throws {
    let store = try SampleStore()
    let browser = try store.browseToPopulation()
    try browser.stage("3000000")
    try browser.press("2 j dd")
    browser.expect("STAGED", "▶-       54225", " ~       53654")
    browser.signal(SIGKILL)
    #expect(try browser.waitForEnd() == -1 - SIGKILL)

    let again = try store.browse()
    again.expect("2 staged changes from before")
    try again.press("w")
    again.expect("City  ~1 +0 -1")
    try again.press("Esc u")
    again.expect("took back: delete 54225")
    try again.press("^r w")
    again.expect("City  ~1 +0 -1")
    try again.press("Esc")
    try again.send(Array("q".utf8))
    #expect(try again.waitForEnd() == 0)
    again.expect("2 staged changes kept for Atlas.strata")
    #expect(again.isTermiosAsBefore)
  }

  @Test("preview before write")
  func preview() throws {
    let store = try SampleStore()
    let browser = try store.browseToPopulation()
    try browser.stage("3000000")
    try browser.press("w")
    browser.expect("- 2800000", "+ 3000000", "population 2800000 → 3000000", "index entries", "✓")
    try store.count(53654, 2_900_000)
    try browser.press("Esc w")
    browser.expect("2900000")
    try browser.press("Esc")
    browser.expect("staged")
    #expect(try store.run("get", "City", "53654").contains("2900000"))
  }

  @Test("confirm destructive")
  func destructive() throws {
    let store = try SampleStore()
    let browser = try store.browse()
    try browser.press("d")
    browser.expect("d…")
    try browser.press("d")
    browser.expect("delete 32767", "▶-       32767")
    #expect(try store.run("get", "City", "32767").contains("Qarchak"))
    try browser.press("w")
    browser.expect("- City/32767")
    try browser.press("Enter Enter")
    browser.expect("HEAD #6", "of 299")
    try browser.press("u")
    try browser.press("Enter Enter")
    browser.expect("HEAD #7", "of 300")
    #expect(try store.run("get", "City", "32767").contains("Qarchak"))
  }

  @Test("CJK, emoji, combining")
  func wideText() throws {
    let store = try SampleStore()
    let names = ["李小龍 — 生平", "Žofie", "e\u{301}te\u{301}", "👩\u{200D}👩\u{200D}👧 x", "ქართული", "ไทย", "🇨🇭"]
    let documents = names.enumerated().map {
      #"{"geonameid":\#($0.offset),"name":"\#($0.element)","countrycode":"CH","population":1}"#
    }
    try store.run("put", "City", input: documents.joined(separator: "\n"))
    let browser = try store.browse()
    browser.expect("李小龍 — 生平", "Žofie", "ქართული", "👩· x")
    let columns = browser.screen.places[3...9].map { row in row.lastIndex { $0.text == "H" } }
    #expect(Set(columns).count == 1, "the country stands in one column: \(columns)\n\(browser.picture)")
    for row in browser.screen.places { #expect(row.count == 80) }
    try browser.press("j j l ga")
    browser.expect("U+0065", "U+0301")
  }

  @Test("hostile text")
  func hostileText() throws {
    let store = try SampleStore()
    let name = #"\u001b[2J\u001b]0;owned\u0007\u202etxt.exe\u0000\nline"#
    try store.run("put", "City", input: #"{"geonameid":1,"name":"\#(name)","countrycode":"IR","population":1}"#)
    let browser = try store.browse()
    browser.expect("␛[2J")
    try browser.press("3 + +")
    browser.expect("⟨U+202E⟩txt.exe", "␀")
    #expect(browser.screen.unknown == [])
    #expect(browser.screen.bells == 0)
  }
}
