import Glibc
import StrataTerminal
import Testing

/// A store on another computer. In the place of ssh a script runs the command here.
@Suite("Needs: a store over a line of ssh")
struct LineSharingTests {
  private static let size = Size(columns: 110, rows: 30)

  /// The other side of a line: a script in the place of ssh, which notes the process that it becomes.
  private struct OtherSide {
    let store: SampleStore
    private let script: String
    private let processes: String

    init(path: String = Built.path("strata")) throws {
      store = try SampleStore()
      processes = Scratch.path("processes")
      let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
      script = Scratch.file(
        named: "ssh",
        """
        #!/bin/sh
        shift 2
        echo $$ >> '\(processes)'
        PATH='\(folder)':/usr/bin:/bin exec /bin/sh -c "exec $1"

        """, mode: 0o755)
    }

    var location: String { "ssh://there\(store.path)" }
    var environment: [String: String?] { ["STRATA_SSH": script, "SWIFT_BACKTRACE": "interactive=no"] }

    /// The `strata serve` that was started last.
    func process() throws -> pid_t {
      let last = Scratch.text(of: processes).split(separator: "\n").last.flatMap { pid_t($0) }
      return try #require(last)
    }

    var count: Int { Scratch.text(of: processes).split(separator: "\n").count }

    func browse(_ arguments: [String] = []) throws -> TerminalProcess {
      let browser = try TerminalProcess(
        "strata", [location] + arguments, environment: environment, size: LineSharingTests.size)
      try browser.waitUntilIdle()
      return browser
    }

    func run(_ words: String...) throws -> (status: Int32, output: String) {
      try Spawning.run("/usr/bin/env", ["STRATA_SSH=\(script)", Built.path("strata")] + words)
    }
  }

  @Test("what is edited here is committed there, and what another program commits there shows here")
  func editing() throws {
    let there = try OtherSide()
    let browser = try there.browse(["City", "53654"])
    browser.expect("Mogadishu", "HEAD #5", "RW")
    try browser.run("6")
    try browser.press("3 j j j j j")
    try browser.stage("3000000")
    try browser.press("w")
    browser.expect("every index stays right")
    try browser.press("Enter Enter")
    browser.expect("committed #6")
    #expect(try there.store.run("get", "City", "53654").contains("3000000"))
    try there.store.count(53654, 4_000_000)
    try browser.waitFor("HEAD #7")
    try browser.waitFor("4000000")
    try browser.waitUntilIdle()
    try browser.press("u")
    try browser.press("Enter Enter")
    browser.expect("HEAD #8")
    #expect(try there.store.run("get", "City", "53654").contains("3000000"))
    try browser.send(Array("Q".utf8))
    #expect(try browser.waitForEnd() == 0)
    #expect(try Spawning.run("strata", ["verify", there.store.path]).status == 0)
    #expect(there.count == 1)
  }

  @Test("while an answer is on its way the cursor moves in the rows that are loaded, and the table says that it reads")
  func slowLine() throws {
    let there = try OtherSide()
    let browser = try there.browse(["City"])
    kill(try there.process(), SIGSTOP)
    try browser.send(Array("jjj".utf8))
    try browser.waitFor("row 4 of 300")
    browser.expectNot("reading…")
    try browser.send(Array("G".utf8))
    try browser.waitFor("row 300 of 300 100% · reading…")
    try browser.send(Array("gg".utf8))
    try browser.waitFor("row 1 of 300")
    kill(try there.process(), SIGCONT)
    try browser.waitUntilIdle()
    try browser.press("G")
    browser.expect("row 300 of 300")
    browser.expectNot("reading…")
    kill(try there.process(), SIGSTOP)
    defer { _ = try? kill(there.process(), SIGCONT) }
    try browser.send(Array("Q".utf8))
    #expect(try browser.waitForEnd() == 0)
  }

  @Test("a line that breaks leaves everything on the screen, and what is staged; it connects again by itself")
  func brokenLine() throws {
    let there = try OtherSide()
    let browser = try there.browse(["City"])
    try browser.run("6")
    try browser.press("3 j j j j j")
    try browser.stage("3000000")
    kill(try there.process(), SIGKILL)
    try browser.waitFor("the server is back")
    try browser.waitUntilIdle()
    browser.expect("3000000", "staged", "HEAD #5")
    try browser.press("w")
    try browser.press("Enter Enter")
    browser.expect("HEAD #6")
    #expect(try there.store.run("get", "City", "53654").contains("3000000"))
    #expect(there.count == 2)
    // The store is gone from there: the browser says so, and keeps what it has.
    try #require(rename(there.store.path, there.store.path + ".away") == 0)
    try browser.waitFor("deleted or moved")
    kill(try there.process(), SIGKILL)
    try browser.waitFor("server away")
    browser.expect("Mogadishu")
    try #require(rename(there.store.path + ".away", there.store.path) == 0)
    try browser.waitFor("the server is back")
  }

  @Test("staged edits are found again under the URL, however it is written")
  func staged() throws {
    let there = try OtherSide()
    let browser = try there.browse(["City"])
    try browser.run("6")
    try browser.press("3 j j j j j")
    try browser.stage("3000000")
    browser.signal(SIGKILL)
    _ = try browser.waitForEnd()
    let again = try there.browse(["City"])
    again.expect("1 staged change from before")
  }

  @Test("verbs read over the line, and say what is missing on the other side")
  func verbs() throws {
    let there = try OtherSide()
    for words in [
      ["records", "City", "--limit", "5", "--json"], ["history"], ["get", "City", "53654"], ["diff", "3", "5"],
    ] {
      let (verb, rest) = (words[0], Array(words.dropFirst()))
      let over = try Spawning.run(
        "/usr/bin/env",
        there.environment.compactMap { name, value in value.map { "\(name)=\($0)" } } + [
          Built.path("strata"), verb, there.location,
        ] + rest)
      let here = try Spawning.run("strata", [verb, there.store.path] + rest)
      #expect(over.status == 0, "\(over.output)")
      #expect(over.output == here.output)
    }
    let refused = try there.run("verify", there.location)
    #expect(refused.status == 1 && refused.output.contains("strata clone"))
    let missing = try there.run("info", there.location + "-not")
    #expect(missing.status == 1 && missing.output.contains("there is nothing at this path"))
    let bare = try OtherSide(path: "/nowhere/strata")
    let without = try bare.run("info", bare.location)
    #expect(without.status == 1 && without.output.contains("there is no strata on the other side's PATH"))
  }
}
