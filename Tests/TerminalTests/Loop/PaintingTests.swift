import Glibc
import StrataTerminal
import Testing

@Suite("Painting")
struct PaintingTests {
  private func card(_ environment: [String: String?] = [:], size: Size = Size(columns: 80, rows: 24)) throws
    -> TerminalProcess
  {
    let process = try TerminalProcess("terminal-card", environment: environment, size: size)
    try process.waitUntilIdle()
    return process
  }

  @Test(
    "every kind of terminal shows the same text, also one like xterm that no machine describes",
    arguments: ["xterm-256color", "tmux-256color", "screen-256color", "linux", "xterm", "vt100", "xterm-unborn"])
  func terminals(name: String) throws {
    let reference = try card()
    let process = try card(["TERM": name])
    try process.press("j")
    try reference.press("j")
    let colors = ["linux": "8", "xterm": "8", "vt100": "0"][name] ?? "256"
    #expect(process.screen.lines[0].hasPrefix("┌─ Terminal 80x24, \(colors) colours ─"))
    #expect(process.screen.lines.dropFirst() == reference.screen.lines.dropFirst())
    #expect(process.screen.unknown == [])
    try process.send(Array("q".utf8))
    #expect(try process.waitForEnd() == 0)
    #expect(process.isTermiosAsBefore)
    #expect(process.screen.modes.contains(25))
  }

  @Test("NO_COLOR paints none")
  func noColor() throws {
    let process = try card(["NO_COLOR": "1"])
    #expect(process.screen.text.contains("0 colours"))
    let colored = process.screen.places.joined().filter { $0.look.foreground != nil || $0.look.background != nil }
    #expect(colored.isEmpty)
    let other = try card()
    #expect(other.screen.places.joined().contains { $0.look.background == 1 })
    let few = try card(["TERM": "xterm"])
    #expect(few.screen.places.joined().allSatisfy { ($0.look.background ?? 0) < 8 })
  }

  @Test("LANG=C gets ASCII only, in the same columns; a UTF-8 locale that is not installed still is UTF-8")
  func ascii() throws {
    for language in ["C", "POSIX"] {
      let process = try card(["LANG": language])
      #expect(process.screen.transcript.allSatisfy { $0 < 0x80 })
      #expect(process.screen.lines[0].hasPrefix("+- Terminal 80x24"))
      #expect(process.screen.lines[2].hasSuffix("|"))
    }
    let process = try card(["LANG": "xx_YY.UTF-8"])
    #expect(process.screen.lines[0].hasPrefix("┌─ Terminal"))
  }

  @Test("unprintable text never reaches the terminal and no column moves")
  func hostileText() throws {
    let process = try card()
    #expect(process.screen.text.contains("a⟨U+202E⟩b␛[2J"))
    for row in 3...8 {
      #expect(process.screen.places[row][31].text == "▏", "row \(row): \(process.screen.lines[row])")
      #expect(process.screen.places[row][79].text == "│")
    }
  }

  @Test("a key costs what it changes, and nothing is sent while nothing happens")
  func bytes() throws {
    let process = try card(size: Size(columns: 160, rows: 48))
    let start = process.screen.paintedBytes
    #expect(start <= 8_000)
    for _ in 0..<5 {
      let before = process.screen.paintedBytes
      try process.press("j")
      let cost = process.screen.paintedBytes - before
      #expect(cost > 0 && cost <= 300)
    }
    let before = process.screen.paintedBytes
    process.signal(SIGWINCH)
    try process.waitFor("resize 160x48")
    #expect(process.screen.paintedBytes > before)
  }

  @Test("a terminal that knows synchronized updates gets each picture between its marks; others are asked once")
  func synchronizedUpdates() throws {
    let process = try card(size: Size(columns: 160, rows: 48))
    #expect(process.screen.questions == 1)
    #expect(process.screen.timesOff[2026] == nil, "it has not answered")
    try process.send(Array("\u{1B}[?2026;2$y".utf8))
    try process.waitUntilIdle()
    let before = process.screen.timesOff[2026] ?? 0
    try process.press("j")
    #expect(process.screen.timesOff[2026] == before + 1)
    try process.press("^l")
    #expect(process.screen.timesOff[2026] == before + 2, "one picture of many bytes is one update")
    #expect(!process.screen.modes.contains(2026))
    let console = try card(["TERM": "linux"])
    #expect(console.screen.questions == 0)
  }

  @Test("a terminal that repeats characters is sent runs of them; one that was only asked is not")
  func repeating() throws {
    let process = try card(size: Size(columns: 160, rows: 48))
    #expect(process.screen.cursorQuestions == 4)
    func costOfAll() throws -> Int {
      let before = process.screen.paintedBytes
      try process.press("^l")
      return process.screen.paintedBytes - before
    }
    let whole = try costOfAll()
    try process.send(Array("\u{1B}[2;2R".utf8))
    try process.waitUntilIdle()
    let unanswered = try costOfAll()
    #expect(abs(unanswered - whole) < 100, "where four characters became one, nothing is repeated")
    try process.send(Array("\u{1B}[2;5R".utf8))
    try process.waitUntilIdle()
    let repeated = try costOfAll()
    #expect(repeated < whole * 2 / 3, "\(repeated) of \(whole) bytes")
    let lines = process.screen.lines
    #expect(lines[0].contains(String(repeating: "─", count: 100)) && lines.allSatisfy { SafeText.width($0) == 160 })
    #expect(process.screen.unknown == [])
    // What knows no such thing by its description is not asked.
    #expect(try card(["TERM": "linux"]).screen.cursorQuestions == 0)
  }

  @Test("a loop with nothing to do waits without a timer")
  func idle() throws {
    let process = try card()
    #expect(process.waitsForEvents)
  }

  @Test("a storm of resizes ends in a picture of the last size, down to one cell")
  func resizeStorm() throws {
    let process = try card()
    var generator = SeededGenerator(seed: 42)
    for _ in 0..<150 {
      let size = Size(columns: .random(in: 1...200, using: &generator), rows: .random(in: 1...60, using: &generator))
      process.resize(size)
    }
    for size in [Size(columns: 1, rows: 1), Size(columns: 300, rows: 100), Size(columns: 40, rows: 10)] {
      process.resize(size)
      try process.waitUntilIdle()
    }
    try process.press("j")
    #expect(process.screen.lines[0].hasPrefix("┌─ Terminal 40x10, 256 colours"))
    #expect(process.screen.lines.last?.contains("events ━┛") == true)
    #expect(process.screen.lines.allSatisfy { SafeText.width($0) == 40 })
    #expect(process.screen.unknown == [])
    #expect(process.waitsForEvents, "curses tells itself of a resize, which must not be taken for another one")
  }

  @Test("^l repairs a picture that something else has spoilt")
  func repaint() throws {
    let process = try card()
    let whole = process.screen.text
    process.screenIsSpoilt()
    #expect(process.screen.text != whole)
    try process.press("^l")
    #expect(process.screen.text.replacing("1 events", with: "0 events").hasPrefix(String(whole.prefix(900))))
  }

  @Test("a reader that stops reading holds up the picture and nothing grows")
  func slowReader() throws {
    let process = try card(size: Size(columns: 160, rows: 48))
    let memory = {
      Int(Scratch.text(of: "/proc/\(process.process)/statm").split(separator: " ").dropFirst().first ?? "") ?? 0
    }
    try process.press("^l")
    let before = memory()
    var sent = 0
    for _ in 0..<200 {
      let count = process.sendWithoutReading([0x0C])
      sent += count
    }
    try process.waitUntilIdle()
    #expect(process.screen.text.contains("\(sent + 1) events"))
    #expect(memory() - before < 1_000, "pages of 4 KB")
  }
}

extension TerminalProcess {
  /// Whether the main thread sleeps until something happens.
  fileprivate var waitsForEvents: Bool {
    // The system call that it sleeps in, and its arguments: poll has number 7 on x86-64, and with a time-out of -1
    // nothing but an event ends it.
    #if arch(x86_64)
      var words: [Substring] = []
      repeat {
        words = Scratch.text(of: "/proc/\(process)/syscall").split(whereSeparator: \.isWhitespace)
      } while words.first == "running"
      return words.first == "7" && words.count > 3 && words[3].hasSuffix("ffffffff")
    #else
      return true
    #endif
  }
}

/// A generator with a seed, so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
