import Glibc
import StrataTerminal
import Testing

@Suite("Needs: the program")
struct ProgramTests {
  @Test("crash-safe terminal", arguments: [SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT])
  func crashes(signal: Int32) throws {
    let store = try SampleStore()
    let browser = try store.browse(environment: ["SWIFT_BACKTRACE": "enable=no"])
    try browser.press("j dd")
    browser.signal(signal)
    #expect(try browser.waitForEnd() == -1 - signal, "it ends by the signal")
    #expect(browser.isTermiosAsBefore)
    #expect(browser.screen.modes.isDisjoint(with: [1049, 2004, 1000, 1006]) && browser.screen.modes.contains(25))
    #expect(try store.run("get", "City", "32900").contains("Golest"))
    try store.browse().expect("1 staged change from before")
  }

  @Test("NO_COLOR")
  func noColor() throws {
    let browser = try SampleStore().browse(environment: ["NO_COLOR": "1"])
    try browser.press("j Space j")
    browser.expect(" ●       32900")
    try browser.press("dd")
    browser.expect(" -       32900")
    let looks = browser.screen.places.joined().map(\.look)
    #expect(looks.allSatisfy { $0.foreground == nil && $0.background == nil })
  }

  @Test("themes")
  func themes() throws {
    for (terminal, limit) in [("xterm-256color", 256), ("xterm", 8), ("linux", 8), ("vt100", 0)] {
      let browser = try SampleStore().browse(environment: ["TERM": terminal])
      try browser.press("j Space dd")
      let looks = browser.screen.places.joined().map(\.look)
      #expect(looks.allSatisfy { ($0.foreground ?? -1) < limit })
      #expect(looks.allSatisfy { $0.background == nil }, "the terminal's own background is never painted over")
      browser.expect("▶", "┏━ 2 City")
      #expect(looks.contains { $0.isReversed }, "the selection is seen without colour")
    }
    let store = try SampleStore()
    for (reply, key) in [("ffff/ffff/ffff", 19), ("0000/2b2b/3636", 75)] {
      let browser = try store.browse(environment: ["TERM": "xterm-256color"])
      #expect(browser.screen.backgroundQuestions == 1)
      try browser.send(Array("\u{1B}]11;rgb:\(reply)\u{1B}\\".utf8))
      try browser.waitUntilIdle()
      #expect(browser.screen.places.joined().contains { $0.look.foreground == key }, "the theme suits the background")
      try browser.press("j")
      browser.expect("row 2 of 300")
    }
    let ascii = try SampleStore().browse(environment: ["LANG": "C"])
    #expect(ascii.screen.transcript.allSatisfy { $0 < 0x80 })
    ascii.expect("+- 2 City")
  }

  @Test("read-only mode")
  func readOnly() throws {
    let store = try SampleStore()
    let browser = try store.browse(["--read-only"])
    browser.expect(" RO ")
    for keys in ["dd", "3 e", "2 i", "D", "u"] {
      try browser.press(keys)
      browser.expect("read-only")
    }
  }

  @Test("scriptable, headless")
  func scripts() throws {
    let store = try SampleStore()
    let recording = Scratch.path("session.keys")
    let browser = try store.browse()
    try browser.run("record \(recording)")
    try browser.press("j j Enter j")
    try browser.run("record")
    let (status, output) = try Spawning.run(
      "strata", [store.path, "--script", recording, "--size", "80x24", "--dump-screen", "-"])
    #expect(status == 0, "\(output)")
    #expect(output.contains("row 3 of 300"))
    let panes = { (text: String) in text.split(separator: "\n").dropFirst().prefix(20) }
    #expect(panes(output).map(String.init) == panes(browser.screen.text).map(String.init))
    let verbs = try Spawning.run("strata", ["info", store.path, "--json"])
    #expect(verbs.status == 0 && verbs.output.contains("\"datastores\""))
  }

  @Test("config file")
  func configuration() throws {
    let store = try SampleStore()
    let folder = Scratch.folder(named: "config")
    let file = folder + "/strata/config"
    mkdir(folder + "/strata", 0o755)
    Scratch.write("# a comment\nmouse = off\ntheme = plain\n", to: file)
    let browser = try store.browse(environment: ["XDG_CONFIG_HOME": folder])
    #expect(browser.screen.modes.isDisjoint(with: [1000, 1006]))
    #expect(browser.screen.places.joined().allSatisfy { $0.look.foreground == nil })

    // A mistake is told with its line, and the rest holds.
    Scratch.write("mouse = off\ntheme = pink\n", to: file)
    let mistaken = try TerminalProcess("strata", [store.path], environment: ["XDG_CONFIG_HOME": folder])
    try mistaken.wait("the mistake is not told") {
      String(decoding: $0.screen.transcript, as: UTF8.self).contains("2:") || $0.screen.text.contains("line 2")
    }
    let (_, output) = try Spawning.run(
      "strata", ["--print-config"], environment: ["XDG_CONFIG_HOME": folder])
    #expect(output.contains("mouse"))
  }

  @Test("rebind keys")
  func rebinding() throws {
    let store = try SampleStore()
    let folder = Scratch.folder(named: "config")
    mkdir(folder + "/strata", 0o755)
    Scratch.write("bind store-history = X, g H\n", to: folder + "/strata/config")
    let browser = try store.browse(environment: ["XDG_CONFIG_HOME": folder])
    try browser.press("X")
    browser.expect("┏━ 4 History")
    try browser.press("q gH")
    browser.expect("┏━ 4 History")
    try browser.press("q ?")
    try browser.type("history of the store")
    browser.expect("X")
  }

  @Test("shell completion")
  func completion() throws {
    for shell in ["bash", "zsh", "fish"] {
      let (status, script) = try Spawning.run("strata", ["completions", shell])
      #expect(status == 0)
      for verb in ["info", "records", "get", "history", "diff", "export", "watch", "import", "put", "undo", "restore"] {
        #expect(script.contains(verb), "\(verb) in \(shell)")
      }
      guard shell == "bash" else { continue }
      let file = Scratch.file(named: "completions", script)
      #expect(try Spawning.run("/bin/bash", ["-n", file]).status == 0)
    }
  }

  @Test("man page")
  func manual() throws {
    let (status, page) = try Spawning.run("strata", ["man"])
    #expect(status == 0)
    #expect(page.contains(".TH"))
    for word in ["store-history", "travel", "records", "verify", "import"] {
      #expect(page.replacing("\\-", with: "-").contains(word), "\(word)")
    }
  }

  @Test("progress, cancel, ETA")
  func progress() throws {
    let cities = Scratch.file(named: "cities.jsonl", SampleStore.cities.joined(separator: "\n") + "\n")
    let path = Scratch.folder(named: "demo") + "/Atlas.strata"
    let browser = try TerminalProcess(
      "strata", ["demo", path, "--cities", cities], size: Size(columns: 100, rows: 30))
    // The sample begins on its table; the title says what runs, and one key shows it.
    try browser.waitFor("Cities of the world")
    try browser.press("M")
    try browser.waitFor("complete")
    try browser.waitUntilIdle()
    browser.expect("6 Migration")
    try browser.press("2 j")
    browser.expect("row 2 of 300")
    try browser.press("M")
    browser.expect("6 Migration", "complete")
  }
}
