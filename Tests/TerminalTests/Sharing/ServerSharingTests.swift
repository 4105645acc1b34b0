import Glibc
import StrataTerminal
import Testing

/// Several programs on one store on a server, which is stopped under them.
@Suite(
  "Needs: sharing a store on a server", .serialized, .enabled(if: TestServer.isThere, TestServer.missing))
struct ServerSharingTests {
  private static let size = Size(columns: 110, rows: 30)

  @Test("the server is stopped as by a power cut under two browsers: what is staged and what was committed stays")
  func powerCut() throws {
    let server = try #require(TestServer())
    let store = try SampleStore(on: server)
    let first = try store.browseToPopulation(size: Self.size)
    let second = try store.browseToPopulation(size: Self.size)
    try first.stage("3000000")
    try first.press("w")
    try first.press("Enter Enter")
    first.expect("committed #6")
    try second.waitFor("HEAD #6")
    try second.waitUntilIdle()
    // One has something staged, the other is in its review.
    try first.stage("3100000")
    try second.press("gg j")
    try second.stage("Xamar")
    try second.press("w")
    #expect(server.stopImmediately())
    try second.press("Enter Enter")
    second.expect("✗")
    try first.press("w")
    try first.waitUntilIdle()
    try first.press("Esc Esc")
    first.expect("3100000", "staged")
    #expect(server.start())
    // Nobody has to leave, or to stage anything again: the review that could not be made is made by itself.
    try second.waitFor("the server is back")
    try second.waitFor("Xamar")
    try second.waitUntilIdle()
    second.expectNot("✗")
    // The commit that was begun during the cut may have been made by now.
    for _ in 0..<2 where !second.screen.text.contains("HEAD #7") { try second.press("Enter") }
    second.expect("HEAD #7")
    try first.waitFor("HEAD #7")
    try first.waitUntilIdle()
    try first.press("w")
    try first.press("Enter Enter")
    first.expect("HEAD #8")
    let record = try store.run("get", "City", "53654")
    #expect(record.contains("3100000") && record.contains("Xamar"))
    #expect(try store.run("history", "City", "53654").contains("#6"), "what was acknowledged before the cut")
    for browser in [first, second] {
      try browser.send(Array("Q".utf8))
      #expect(try browser.waitForEnd() == 0)
    }
    #expect(try Spawning.run("strata", ["verify", store.path]).status == 0)
  }

  @Test("a browser that is killed while the server is away finds what it had staged")
  func killedWithoutServer() throws {
    let server = try #require(TestServer())
    let store = try SampleStore(on: server)
    let browser = try store.browseToPopulation(size: Self.size)
    try browser.stage("3000000")
    #expect(server.stopImmediately())
    browser.signal(SIGKILL)
    #expect(try browser.waitForEnd() == -1 - SIGKILL)
    let gone = try Spawning.run("strata", ["info", store.path + "&wait=0"])
    #expect(gone.status == 1 && gone.output.contains("no connection"), "\(gone.output)")
    #expect(server.start())
    let again = try store.browse(size: Self.size)
    again.expect("1 staged change from before", "~53654 Mogadishu")
    try again.press("w")
    again.expect("3000000")
    try again.press("Enter Enter")
    again.expect("HEAD #6")
    #expect(try store.run("get", "City", "53654").contains("3000000"))
  }

  @Test("the sample app is written to a server and warmed up; a second browser watches, and both show the cities")
  func warmUpIsWatched() throws {
    let server = try #require(TestServer.shared)
    let schema = TestServer.newSchema()
    let url = server.location(schema)
    let app = try TerminalProcess("strata", ["demo", url], size: Self.size)
    try app.waitFor("warm up")
    // The app announces its work with a heartbeat, which may come after its own screen shows the work.
    try app.wait("the warm-up is not announced") {
      $0.screen.text.contains("%") && !server.query("select 1 from \(schema).lease where length(progress) > 0").isEmpty
    }
    // The app stands still, so that its work can be watched at any pace. A stopped app renews no lease, and a lease that is not renewed
    // ends after ten seconds of the server's clock; so the test extends it.
    app.signal(SIGSTOP)
    #expect(server.psql("update \(schema).lease set heartbeat = current_timestamp + interval '1 day'") == 0)
    let watcher = try TerminalProcess("strata", [url, "City"], size: Self.size)
    try watcher.waitUntilIdle()
    watcher.expect("City", "warm")
    app.signal(SIGCONT)
    // Of both, what is there is what the app's declaration asks for.
    for browser in [app, watcher] {
      try browser.waitFor("“warm up City”")
      try browser.waitFor("population  1:n 6 204")
    }
  }
}
