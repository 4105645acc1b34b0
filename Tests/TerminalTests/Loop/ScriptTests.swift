import StrataTerminal
import Testing

@Suite("Scripts without a terminal")
struct ScriptTests {
  @Test("a script is played and the last picture written, as text, as looks and as SVG")
  func playing() throws {
    let folder = Scratch.folder(named: "script")
    let script = Scratch.file(named: "keys", "keys j Enter\nresize 60x20\nscreen \(folder)/a.txt\ntype x\n")
    for name in ["out.txt", "out.styles", "out.svg"] {
      let (status, output) = try Spawning.run("terminal-card", ["--script", script, "80x24", "\(folder)/\(name)"])
      #expect(status == 0 && output.isEmpty, "\(output)")
    }
    let lines = Scratch.text(of: folder + "/out.txt").split(separator: "\n")
    #expect(lines.count == 20)
    #expect(lines[0].hasPrefix("┌─ Terminal 60x20"))
    #expect(lines.contains { $0.hasPrefix("┃4 key x") })
    #expect(!Scratch.text(of: folder + "/a.txt").contains("key x"))
    #expect(Scratch.text(of: folder + "/out.styles").contains("a standard on black"))
    #expect(Scratch.text(of: folder + "/out.svg").hasSuffix("</svg>\n"))
  }

  @Test("a bad or missing script gets a sentence with the line")
  func mistakes() throws {
    let script = Scratch.file(named: "keys", "keys j\nkeys Entr\n")
    let (status, output) = try Spawning.run("terminal-card", ["--script", script, "80x24", "-"])
    #expect(status == 1)
    #expect(output.contains("line 2: no key is called “Entr”"))
    #expect(try Spawning.run("terminal-card", ["--script", "/none", "80x24", "-"]).output.contains("/none"))
  }

  @Test("what was recorded on a terminal replays to the same picture without one")
  func replay() throws {
    let folder = Scratch.folder(named: "record")
    let process = try TerminalProcess("terminal-card", size: Size(columns: 70, rows: 30), directory: folder)
    try process.waitUntilIdle()
    try process.press("r")
    try process.press("j PageDown Esc")
    try process.type("\u{1B}[200~two\nlines\u{1B}[201~é")
    process.resize(Size(columns: 66, rows: 28))
    try process.waitUntilIdle()
    try process.press("k")
    let (status, _) = try Spawning.run(
      "terminal-card", ["--script", folder + "/recorded.keys", "10x10", folder + "/again.txt"])
    #expect(status == 0)
    // The first event of the original is the key that began the recording; that of the replay is the size.
    let events = { (text: String) in
      text.split(separator: "\n").drop { !$0.contains(" Keys ") }.dropFirst(3).map { line in
        String(line.drop { $0 == "┃" || $0.isNumber })
      }
    }
    #expect(events(Scratch.text(of: folder + "/again.txt")) == events(process.screen.text))
  }

  @Test("as lines, panes come one after the other without borders, and then only what changes")
  func lines() throws {
    let (status, output) = try Spawning.run("terminal-card", ["--plain"], input: "j k\ntype x\nkeys Entr\nq\n")
    #expect(status == 0)
    let lines = output.split(separator: "\n")
    #expect(lines.first == "Terminal 80x24, 256 colours")
    #expect(!output.contains { "┌─│┃━".contains($0) })
    #expect(lines.contains("(0 events)") && lines.contains("(2 events)"))
    #expect(lines.filter { $0.contains("Žofie") }.count == 1)
    #expect(lines.contains("1 key j") && lines.contains("3 key x"))
    #expect(lines.contains("no key is called “Entr”"))
  }
}
