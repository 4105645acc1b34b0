import Glibc
import StrataTerminal
import Testing

@Suite("The terminal is given back however a program ends")
struct EndingTests {
  private func card(environment: [String: String?] = [:]) throws -> TerminalProcess {
    let process = try TerminalProcess("terminal-card", environment: environment)
    try process.waitUntilIdle()
    #expect(process.screen.modes.isSuperset(of: [1049, 2004, 1000, 1006]))
    #expect(!process.isTermiosAsBefore)
    return process
  }

  private func expectRestored(_ process: TerminalProcess, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(process.isTermiosAsBefore, "termios differ", sourceLocation: sourceLocation)
    #expect(process.screen.modes.isDisjoint(with: [1049, 2004, 1000, 1006]), sourceLocation: sourceLocation)
    #expect(process.screen.modes.contains(25), "the cursor is hidden", sourceLocation: sourceLocation)
    for mode in [1049, 2004, 1000, 1006] {
      #expect(process.screen.timesOff[mode] == 1, "mode \(mode)", sourceLocation: sourceLocation)
    }
    #expect(process.screen.unknown == [], sourceLocation: sourceLocation)
  }

  @Test("by q and by ^c, with the status that the program chose", arguments: [("q", 0), ("^c", 0), ("! q", 7)])
  func quitting(keys: String, status: Int32) throws {
    let process = try card()
    try process.send(KeyBytes.keys(keys).flatMap { $0 })
    #expect(try process.waitForEnd() == status)
    expectRestored(process)
  }

  @Test(
    "by every signal that ends a process",
    arguments: [SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGSYS, SIGXCPU, SIGUSR1])
  func signals(number: Int32) throws {
    let process = try card(environment: ["SWIFT_BACKTRACE": "enable=no"])
    process.signal(number)
    #expect(try process.waitForEnd() == -1 - number)
    expectRestored(process)
  }

  @Test("by SIGINT, which is ^c")
  func interrupt() throws {
    let process = try card()
    process.signal(SIGINT)
    #expect(try process.waitForEnd() == 0)
    expectRestored(process)
  }

  @Test(
    "by a trap, an index out of range, a fault and an abort of its own, whose words are on the main screen",
    arguments: [
      ("t", SIGILL, "a trap on purpose"), ("o", SIGILL, "Index out of range"), ("s", SIGSEGV, ""), ("a", SIGABRT, ""),
    ])
  func crashes(key: String, signal: Int32, words: String) throws {
    for backtrace in ["enable=no", nil] {
      let process = try card(environment: ["SWIFT_BACKTRACE": backtrace])
      try process.send(KeyBytes.keys("! \(key)").flatMap { $0 })
      #expect(try process.waitForEnd() == -1 - signal)
      expectRestored(process)
      let output = String(decoding: process.screen.transcript, as: UTF8.self)
      let afterwards = output.split(separator: "\u{1B}[?1049l").last ?? ""
      #expect(words.isEmpty || afterwards.contains(words))
      #expect(!output.contains("Press space"), "the backtracer asks questions")
    }
  }

  @Test("standard error waits for the main screen")
  func standardError() throws {
    let process = try card()
    try process.press("! e")
    #expect(!process.screen.text.contains("a line for standard error"))
    try process.send([UInt8(ascii: "q")])
    try process.waitForEnd()
    #expect(process.screen.text.contains("a line for standard error"))
    expectRestored(process)
  }

  @Test("a closed window ends the program")
  func closedWindow() throws {
    let process = try card()
    process.hangUp()
    #expect(try process.waitForEnd() == -1 - SIGHUP)
  }

  @Test("a closed window ends a program that does not end by itself, even if no signal came")
  func closedWindowWithoutSignal() throws {
    // In a session of its own the program has no controlling terminal, whose end would send SIGHUP.
    let process = try TerminalProcess("/bin/sh", ["-c", "trap '' HUP; setsid -w \(Built.path("terminal-card"))"])
    try process.waitUntilIdle()
    try process.press("! w")
    process.hangUp()
    #expect(try process.waitForEnd() == 128 + SIGHUP)
  }

  @Test("further signals, as a logout and a shell that ends send them, do not cut a goodbye short")
  func furtherSignals() throws {
    let process = try card()
    try process.press("! w")
    process.signal(SIGTERM)
    try process.wait("the screen is not given back") { !$0.screen.modes.contains(1049) }
    process.signal(SIGHUP)
    // Its two seconds are over.
    #expect(try process.waitForEnd() == -1 - SIGTERM)
  }

  @Test("without a terminal one sentence names the verbs, and the status is 1")
  func noTerminal() throws {
    let (status, output) = try Spawning.run("terminal-card")
    #expect(status == 1)
    #expect(output.contains("standard input is not a terminal"))
    #expect(output.contains("records"))
    #expect(output.split(separator: "\n").count == 1)
  }

  @Test(
    "an unknown, a missing and a too simple TERM get one sentence and status 1",
    arguments: [
      ("no-such-terminal", "“no-such-terminal”"), ("", "TERM is not set"), ("dumb", "cannot move its cursor"),
    ])
  func unknownTerminal(name: String, words: String) throws {
    let process = try TerminalProcess("terminal-card", environment: ["TERM": name])
    #expect(try process.waitForEnd() == 1)
    #expect(process.screen.text.split(separator: "\n").joined().contains(words))
    #expect(process.isTermiosAsBefore)
    #expect(!process.screen.transcript.contains(0x1B))
  }

  @Test("a closed standard output is not a terminal")
  func closedOutput() throws {
    let process = try TerminalProcess("/bin/sh", ["-c", "exec \(Built.path("terminal-card")) >&-"])
    #expect(try process.waitForEnd() == 1)
    #expect(process.isTermiosAsBefore)
  }
}
