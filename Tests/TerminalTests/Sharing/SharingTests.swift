import StrataModel
import Glibc
import StrataEngine
import StrataTerminal
import Testing

/// Several programs on one store, and programs that die.
@Suite("Needs: sharing a store")
struct SharingTests {
  private static let size = Size(columns: 110, rows: 30)

  @Test(
    "two browsers: each sees the other's commit by itself, and what is staged is put on top of it",
    arguments: SampleStore.Place.there)
  func twoBrowsers(_ place: SampleStore.Place) throws {
    let store = try SampleStore(on: place)
    let first = try store.browseToPopulation(size: Self.size)
    let second = try store.browseToPopulation(size: Self.size)
    try first.stage("3000000")
    try second.press("gg j")
    try second.stage("Xamar")
    second.expect("Xamar", "staged")
    second.expectNot("3000000")
    try first.press("w")
    try first.press("Enter Enter")
    first.expect("committed #6")
    try second.waitFor("HEAD #6")
    try second.waitUntilIdle()
    second.expect("Xamar", "staged")
    try second.press("w")
    second.expect("the head moved #5 → #6 since you began: no conflict is open")
    try second.press("Enter Enter")
    try first.waitFor("HEAD #7")
    try first.waitFor("Xamar")
    let record = try store.run("get", "City", "53654")
    #expect(record.contains("3000000") && record.contains("Xamar"))

    // The same field: base, mine and theirs, and nothing is written before it is decided.
    try first.stage("1")
    try second.press("gg j j j j j")
    try second.stage("2")
    try second.press("w")
    try second.press("Enter Enter")
    try first.waitFor("HEAD #8")
    try first.waitUntilIdle()
    try first.press("w")
    first.expect("base 3000000", "mine 1", "theirs 2", "choose m mine, t theirs or b base")
    try first.press("Enter")
    #expect(try store.run("get", "City", "53654").contains("\"population\": 2,"))
    try first.press("j m Enter Enter")
    #expect(try store.run("get", "City", "53654").contains("\"population\": 1,"))
    for browser in [first, second] {
      try browser.send(Array("Q".utf8))
      #expect(try browser.waitForEnd() == 0)
    }
    #expect(try Spawning.run("strata", ["verify", store.path]).status == 0)
  }

  @Test("a commit while another program holds the lock names it; what is staged stays, and a second try works")
  func lockHeld() throws {
    let store = try SampleStore()
    let engine = try FileStore.open(
      at: store.path, options: StoreOptions(program: "Ledger", idleSeconds: 3600), disk: SystemDisk())
    try engine.beginBlocking().cancel()
    let browser = try store.browseToPopulation(size: Self.size)
    browser.expect("held by Ledger (pid \(getpid())) since")
    try browser.stage("3000000")
    try browser.press("w")
    try browser.press("Enter Enter")
    browser.expect("⚠", "Ledger", "\(getpid())")
    try browser.press("Esc Esc Esc")
    browser.expect("STAGED", "~53654")
    try browser.press("w")
    try browser.press("Enter Enter")
    browser.expect("⚠ held by Ledger")
    engine.releaseLock()
    try browser.waitFor("HEAD #6")
    try browser.waitUntilIdle()
    browser.expectNot("held by")
    #expect(try store.run("get", "City", "53654").contains("3000000"))
  }

  @Test("killed while the editor is open: the staged changes are there again, and so is the text in its file")
  func killedInEditor() throws {
    let store = try SampleStore()
    let folder = Scratch.folder(named: "editing")
    let editor = Scratch.file(
      named: "editor",
      "#!/bin/sh\nsed -i 's/Mogadishu/Hamar/' \"$1\"\necho the editor waits\nread line\n", mode: 0o755)
    let browser = try store.browse(environment: ["EDITOR": editor, "TMPDIR": folder])
    try browser.press("dd")
    try browser.run("6")
    try browser.send(Array("E".utf8))
    try browser.waitFor("the editor waits")
    let files = Scratch.files(in: folder)
    #expect(files.count == 1)
    var information = stat()
    #expect(stat(files.first ?? "", &information) == 0 && information.st_mode & 0o777 == 0o600)
    browser.signal(SIGKILL)
    #expect(try browser.waitForEnd() == -1 - SIGKILL)
    #expect(Scratch.text(of: files.first ?? "").contains("Hamar"))
    let again = try store.browse()
    again.expect("1 staged change from before", "-       32767")
    #expect(try Spawning.run("strata", ["verify", store.path]).status == 0)
  }

  @Test(":compact shows bytes before and after first, and :copy writes a store that opens")
  func rewriting() throws {
    let store = try SampleStore()
    let browser = try store.browseToPopulation(size: Self.size)
    let copy = Scratch.folder(named: "copies") + "/Copy.strata"
    try browser.run("copy \(copy)")
    browser.expect("5 commits")
    #expect(try Spawning.run("strata", ["verify", copy]).status == 0)
    try browser.run("compact 2")
    browser.expect("Compact, keep 2", "→ about", "2 commits are kept", "3 are squashed")
    try browser.press("Enter")
    browser.expect("2 commits kept, 3 squashed", "HEAD #5")
    try browser.press("gH")
    browser.expect("#5", "#4")
    browser.expectNot("#3 ")
    #expect(try Spawning.run("strata", ["verify", store.path]).status == 0)
    #expect(try Spawning.run("strata", ["history", copy]).output.split(separator: "\n").count == 5)
  }
}
