import Glibc
import StrataTerminal
import Testing

@Suite("A second opinion", .enabled(if: access("/usr/bin/tmux", X_OK) == 0, "tmux is not installed"))
struct TmuxTests {
  /// Also where a program takes tmux for an xterm, which repeats any character where tmux repeats ASCII alone.
  @Test(
    "tmux shows the same text, widths and cursor as the terminal of these tests",
    arguments: ["tmux-256color", "xterm-256color"])
  func tmux(terminal: String) throws {
    let socket = Scratch.path("tmux")
    func tmux(_ words: String...) throws -> String {
      try Spawning.run(
        "/usr/bin/tmux", ["-S", socket, "-f", "/dev/null"] + words, environment: ["STRATA_IDLE_FD": nil]
      )
      .output
    }
    _ = try tmux("new-session", "-d", "-x", "80", "-y", "24", "TERM=\(terminal) '\(Built.path("terminal-card"))'")
    defer { _ = try? tmux("kill-server") }
    _ = try tmux("set-option", "-g", "status", "off")

    let process = try TerminalProcess("terminal-card", environment: ["TERM": terminal])
    try process.waitUntilIdle()
    try process.press("j Up ^l")
    // Once the question whether it repeats has been answered, all is painted anew.
    _ = try tmux("send-keys", "j", "Up", "C-l")

    // tmux says nothing when it is done, so it is asked until it agrees; the last answer is what fails.
    var seen = ""
    for _ in 0..<500 {
      seen = try tmux("capture-pane", "-p")
      if seen.contains("3 key ^l"), seen.hasPrefix("┌─ Terminal 80x24") { break }
    }
    let text = { (text: String) in
      text.split(separator: "\n").dropFirst().filter { !$0.contains("resize") && !$0.contains("events") }
    }
    #expect(seen.split(separator: "\n").count == 24)
    // Joined emoji are drawn as each terminal draws them, which these two do in ways of their own.
    for (line, expected) in zip(text(seen), text(process.screen.text))
    where !expected.contains("key") && !expected.contains("👩") {
      #expect(line == expected)
    }
  }
}
