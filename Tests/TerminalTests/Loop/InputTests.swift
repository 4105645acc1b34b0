import Glibc
import StrataTerminal
import Testing

@Suite("Keys as a terminal sends them")
struct InputTests {
  private func card(_ environment: [String: String?] = [:], size: Size = Size(columns: 80, rows: 24)) throws
    -> TerminalProcess
  {
    let process = try TerminalProcess("terminal-card", environment: environment, size: size)
    try process.waitUntilIdle()
    return process
  }

  @Test("each key arrives under its name")
  func names() throws {
    let process = try card(size: Size(columns: 80, rows: 60))
    let keys = "j Up PageDown Home C-Right F5 Delete S-Tab Enter ^d"
    try process.press(keys)
    for key in keys.split(separator: " ") { #expect(process.screen.text.contains("key \(key) ")) }
    try process.type("é日🚑")
    #expect(process.screen.text.contains("key 日"))
  }

  @Test("a lone escape is a key after a moment; one that begins a sequence is not, however late the rest comes")
  func escape() throws {
    let process = try card()
    try process.press("Esc")
    #expect(process.screen.text.contains("1 key Esc"))

    let patient = try card(["ESCDELAY": "10000"])
    try patient.send([0x1B])
    while patient.unreadBytes > 0 { sched_yield() }
    try patient.send(Array("OA".utf8))
    try patient.waitUntilIdle()
    #expect(patient.screen.text.contains("1 key Up"))
    #expect(patient.screen.text.contains("1 events"))
  }

  @Test("a lone escape is a key after a moment also if results come all the time")
  func escapeAmongResults() throws {
    let process = try card()
    try process.press("! k")
    try process.send([0x1B])
    try process.waitFor("3 key Esc")
  }

  @Test("a paste of 100 KB is one event")
  func paste() throws {
    let process = try card()
    let text = String(repeating: "q\u{1B}[A pasted line\n", count: 6_000)
    try process.type("\u{1B}[200~\(text)\u{1B}[201~")
    #expect(process.screen.text.contains("1 paste of \(text.utf8.count) bytes"))
    #expect(process.screen.text.contains("1 events"))
  }

  @Test("a thousand keys typed ahead all arrive, in fewer pictures than keys")
  func typeAhead() throws {
    let process = try card()
    try process.type(String(repeating: "j", count: 1_000))
    #expect(process.screen.text.contains("1000 key j"))
    #expect(process.screen.text.contains("1000 events"))
    let titles = String(decoding: process.screen.transcript, as: UTF8.self).split(separator: "key j").count
    #expect(titles < 1_000)
  }

  @Test("clicks and the wheel carry their cell, also beyond column 223; they can be switched off")
  func mouse() throws {
    let process = try card(size: Size(columns: 300, rows: 40))
    try process.type("\u{1B}[<0;250;30M\u{1B}[<65;1;2M")
    #expect(process.screen.text.contains("press(button: 1) at 250,30"))
    #expect(process.screen.text.contains("wheelDown at 1,2"))
    try process.press("m")
    #expect(process.screen.modes.isDisjoint(with: [1000, 1006]))
    try process.press("m")
    #expect(process.screen.modes.isSuperset(of: [1000, 1006]))
  }

  @Test("copying reaches plain terminals, and those behind tmux and screen; too long a text only rings")
  func copying() throws {
    let plain = try card()
    try plain.press("y")
    #expect(plain.screen.copied == ["U3RyYXRh"])
    try plain.press("Y")
    #expect(plain.screen.copied.count == 1)
    #expect(plain.screen.bells == 1)

    let tmux = try card(["TMUX": "/tmp/tmux-0/default,1,0", "TERM": "tmux-256color"])
    try tmux.press("y")
    #expect(tmux.screen.deviceStrings == [Array("tmux;\u{1B}\u{1B}]52;c;U3RyYXRh\u{7}".utf8)])

    let screen = try card(["TERM": "screen-256color"])
    try screen.press("y")
    #expect(screen.screen.deviceStrings == [Array("\u{1B}]52;c;U3RyYXRh\u{7}".utf8)])
  }
}
