import StrataTerminal
import Testing

@Suite("Needs: tables")
struct TableTests {
  @Test("search, n and N")
  func searching() throws {
    let browser = try SampleStore().browse()
    try browser.press("/")
    try browser.type("\"Asia/Baghdad\"")
    try browser.press("Esc")
    try browser.press("/")
    try browser.type("Hargeysa")
    try browser.press("Enter")
    browser.expect("▶        57289", "SCAN")
    try browser.press("gg")
    try browser.press("/")
    try browser.type("Africa/Moga")
    try browser.press("Enter")
    browser.expect("row 5 of 300")
    try browser.press("n")
    browser.expect("row 6 of 300")
    try browser.press("N")
    browser.expect("row 5 of 300")
    try browser.run("sort name")
    try browser.press("/")
    try browser.type("Mog")
    try browser.press("Enter")
    browser.expect("Mogadishu", "INDEX name")
    #expect(browser.cursorLine.contains("Mogadishu"))
    // In a record, and in the history.
    try browser.press("3 /")
    try browser.type("mgq")
    try browser.press("Enter")
    #expect(browser.cursorLine.contains("\"MGQ\""))
    try browser.press("gH /")
    try browser.type("import city")
    try browser.press("Enter")
    #expect(browser.cursorLine.contains("#1"))
  }

  @Test("incremental filter")
  func filtering() throws {
    let browser = try SampleStore().browse()
    // While it is typed; Esc brings back what was there.
    try browser.press("f")
    try browser.type("population > 1000000 and name ^= \"M\"")
    browser.expect("Mogadishu", "Mosul")
    browser.expectNot("Hargeysa")
    try browser.press("Esc")
    browser.expect("row 1 of 300")
    try browser.press("f")
    try browser.type("population > 1000000 and name ^= \"M\"")
    try browser.press("Enter")
    browser.expect("Mogadishu", "Mosul", "popula", "row 1 of 8")
    browser.expectNot("Hargeysa")
    try browser.press("Esc")
    browser.expect("of 300")
    try browser.press("f")
    try browser.type("population >")
    try browser.press("Enter")
    browser.expect("✗", "^")
    // The list of values goes first, then the line.
    try browser.press("Esc Esc l l &")
    browser.expect("of 10 · ", "INDEX country")
    browser.expectNot(" IR ")
    try browser.press("Esc f")
    try browser.type("!countrycode = \"IR\"")
    try browser.press("Enter")
    browser.expectNot(" IR ")
  }

  @Test("sort")
  func sorting() throws {
    let browser = try SampleStore().browse()
    try browser.run("sort population")
    browser.expect("by population", "INDEX population")
    try browser.press("gg")
    let smallest = browser.cursorLine
    try browser.press("O")
    try browser.run("sort latitude")
    try browser.press("gg")
    #expect(browser.cursorLine != smallest)
    browser.expect("of 300")
    try browser.run("sort-reverse population")
    try browser.press("gg")
    #expect(!browser.cursorLine.contains("Āmol"))
  }

  @Test("columns hide, resize, reorder, freeze")
  func columns() throws {
    let store = try SampleStore()
    var browser = try store.browse()
    let header = { browser.screen.lines[2] }
    browser.expect("name", "countrycode")
    try browser.press("l -")
    #expect(!header().contains(" name "))
    try browser.press("=")
    #expect(header().contains(" name "))
    let before = header()
    try browser.press("h h l > >")
    #expect(header() != before)
    try browser.press("< <")
    #expect(header() == before)
    try browser.press("g>")
    #expect(header().contains(" countrycode  name "))
    try browser.press("g<")
    #expect(header() == before)
    try browser.press("h h h l -")
    try browser.send(Array("Q".utf8))
    #expect(try browser.waitForEnd() == 0)
    browser = try store.browse()
    #expect(!header().contains(" name "), "a hidden column is remembered")
    try browser.press("= h h h z l l l l")
    #expect(header().contains("geonameid"), "a frozen column stays")
  }

  @Test("multi-select, bulk edit")
  func bulk() throws {
    let browser = try SampleStore().browse()
    try browser.press("Space j Space j Space")
    #expect(browser.screen.text.split(separator: "●").count == 4)
    try browser.run("set population = population * 2")
    browser.expect("3 records", "- 251834  + 503668")
    try browser.press("Enter")
    browser.expect("in 3 records", "~       32767")
    try browser.press("w")
    browser.expect("City  ~3 +0 -0")
    try browser.press("Enter Enter")
    browser.expect("committed #6")
    try browser.run("set nonsense = = 2")
    browser.expect("✗")
  }

  @Test("import and export")
  func importAndExport() throws {
    let store = try SampleStore()
    let browser = try store.browse()
    try browser.press("f")
    try browser.type("countrycode = \"SO\"")
    try browser.press("Enter")
    let folder = Scratch.folder(named: "export")
    for ending in ["jsonl", "json", "csv"] {
      try browser.run("export \(folder)/somalia.\(ending)")
      browser.expect("10 records")
    }
    let lines = Scratch.text(of: folder + "/somalia.jsonl").split(separator: "\n")
    #expect(lines.count > 5 && lines.allSatisfy { $0.contains("\"countrycode\":\"SO\"") })
    #expect(Scratch.text(of: folder + "/somalia.csv").split(whereSeparator: \.isNewline).count == lines.count + 1)
    #expect(Scratch.text(of: folder + "/somalia.json").hasPrefix("["))

    try store.run("import", "Somalia", folder + "/somalia.jsonl", "--id", "geonameid")
    try browser.waitFor("Somalia")
  }

  @Test("copy, OSC 52")
  func copying() throws {
    let browser = try SampleStore().browse()
    try browser.press("j")
    try browser.press("yk")
    try browser.press("yr")
    try browser.press("3 j yy")
    try browser.press("yp")
    let copied = browser.screen.copied.map(Self.decoded)
    #expect(copied.count == 4)
    #expect(copied.first == "32900")
    #expect(copied.dropFirst().first?.contains("\"name\"") == true)
    #expect(copied.dropFirst(2).first?.contains("Golestān") == true)
    #expect(copied.last == ".name")

    let tmux = try SampleStore().browse(environment: ["TMUX": "x,1,0", "TERM": "tmux-256color"])
    try tmux.press("yk")
    #expect(tmux.screen.deviceStrings.count == 1)
  }

  @Test("huge data laziness")
  func laziness() throws {
    // Many keys at once are one picture, and the work for a page does not grow with the store.
    let browser = try SampleStore().browse()
    for _ in 0..<20 { try browser.press("PageDown PageDown PageUp") }
    let memory = { Int(Scratch.text(of: "/proc/\(browser.process)/statm").split(separator: " ")[1]) ?? 0 }
    let before = memory()
    for _ in 0..<10 { try browser.type(String(repeating: "\u{1B}[6~", count: 30) + "gg") }
    #expect(memory() - before < 2_000, "pages of 4 KB")
    browser.expect("row 1 of 300")
  }

  private static func decoded(_ base64: String) -> String {
    var bits: UInt32 = 0
    var count = 0
    var bytes: [UInt8] = []
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    for character in base64 where character != "=" {
      bits = bits << 6 | UInt32(alphabet.firstIndex(of: character) ?? 0)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
