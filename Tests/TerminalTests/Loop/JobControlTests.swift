import Glibc
import StrataTerminal
import Testing

@Suite("Sharing the terminal")
struct JobControlTests {
  private func shell() throws -> TerminalProcess {
    let process = try TerminalProcess(
      "/bin/bash", ["--norc", "--noprofile", "-i"],
      environment: ["PS1": "ready> ", "INPUTRC": "/dev/null", "HISTFILE": nil])
    try process.waitFor("ready>")
    return process
  }

  @Test("^z gives the terminal to the shell and fg brings the picture back")
  func suspending() throws {
    let process = try shell()
    try process.send(Array("\(Built.path("terminal-card"))\r".utf8))
    try process.waitFor("0 events")
    try process.send([0x1A])
    try process.waitFor("Stopped")
    #expect(!process.screen.modes.contains(1049))
    #expect(process.screen.modes.isDisjoint(with: [1000, 1006]))
    process.resize(Size(columns: 70, rows: 20))
    try process.send(Array("clear; fg\r".utf8))
    try process.waitFor("resumed")
    #expect(process.screen.text.contains("Terminal 70x20"))
    #expect(process.screen.modes.isSuperset(of: [1049, 1000, 1006]))
    try process.send(Array("q".utf8))
    try process.wait("the shell does not come back") { !$0.screen.modes.contains(1049) }
    try process.send(Array("stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo sa\"\"ne; exit\r".utf8))
    try process.waitForEnd()
    #expect(process.screen.text.contains("sane"))
  }

  @Test("a program stopped and continued from outside takes the terminal again")
  func continued() throws {
    let process = try TerminalProcess("terminal-card")
    try process.waitUntilIdle()
    process.signal(SIGCONT)
    try process.waitFor("resumed")
    #expect(process.screen.modes.isSuperset(of: [1049, 2004, 1000, 1006]))
    try process.press("j")
    #expect(process.screen.text.contains("key j"))
  }

  /// An editor that shows who it is and takes a line from the terminal.
  private func editor(_ end: String) -> String {
    Scratch.file(
      named: "editor",
      """
      #!/bin/bash
      read -r _ _ _ _ group _ _ foreground _ < /proc/self/stat
      [ "$group" = "$foreground" ] && echo "in the foreground"
      echo "the editor has the keys: $*"
      read -r line
      echo "$line" > "${@: -1}"
      \(end)
      """, mode: 0o755)
  }

  @Test("the editor is in the foreground, gets the keys, and the picture comes back at the new size")
  func editing() throws {
    let file = Scratch.file(named: "value", "before")
    let process = try TerminalProcess("terminal-card", [file], environment: ["EDITOR": editor("exit 0")])
    try process.waitUntilIdle()
    try process.send(Array("E".utf8))
    try process.waitFor("the editor has the keys")
    #expect(process.screen.text.contains("in the foreground"))
    #expect(!process.screen.modes.contains(1049))
    process.resize(Size(columns: 60, rows: 15))
    try process.send(Array("typed in the editor\r".utf8))
    try process.waitFor("editor exited(status: 0)")
    #expect(Scratch.text(of: file) == "typed in the editor\n")
    #expect(process.screen.text.contains("Terminal 60x15"))
    #expect(process.screen.modes.contains(1049))
    process.countKeysAnew()
    try process.press("j")
    #expect(process.screen.text.contains("key j"))
    #expect(!process.screen.text.contains("key t"))
  }

  @Test("keys that are pressed behind the one that starts the editor reach neither the editor nor the program")
  func typedAheadOfEditor() throws {
    let file = Scratch.file(named: "value", "before")
    let process = try TerminalProcess("terminal-card", [file], environment: ["EDITOR": editor("exit 0")])
    try process.waitUntilIdle()
    try process.send(Array("Exyz".utf8))
    try process.waitFor("the editor has the keys")
    try process.send(Array("typed\r".utf8))
    try process.waitFor("editor exited(status: 0)")
    #expect(Scratch.text(of: file) == "typed\n")
    process.countKeysAnew()
    try process.press("j")
    #expect(process.screen.text.contains("key j") && !process.screen.text.contains("key z"))
  }

  @Test("an editor that fails, is killed or does not exist is told")
  func badEditors() throws {
    for (command, words) in [
      (editor("exit 3"), "editor exited(status: 3)"), (editor("kill -9 $$"), "editor exited(status: 137)"),
      ("/no/such/editor", "editor exited(status: 127)"),
    ] {
      let process = try TerminalProcess(
        "terminal-card", [Scratch.path("value")], environment: ["VISUAL": command, "EDITOR": "false"])
      try process.waitUntilIdle()
      try process.send(Array("E".utf8))
      if command != "/no/such/editor" {
        try process.waitFor("the editor has the keys")
        try process.send([0x0D])
      }
      try process.waitFor(words)
      #expect(process.screen.modes.isSuperset(of: [1049, 2004]))
    }
  }

  @Test("an editor that is killed and leaves the keys raw does not leave them so to the shell")
  func rawEditor() throws {
    let raw = editor("stty raw -echo; kill -9 $$")
    let process = try TerminalProcess("terminal-card", [Scratch.path("value")], environment: ["EDITOR": raw])
    try process.waitUntilIdle()
    try process.send(Array("E".utf8))
    try process.waitFor("the editor has the keys")
    try process.send([0x0D])
    try process.waitFor("editor exited(status: 137)")
    try process.send(Array("q".utf8))
    #expect(try process.waitForEnd() == 0)
    #expect(process.isTermiosAsBefore)
  }
}
