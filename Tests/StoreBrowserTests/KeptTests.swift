import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Files that the browser keeps")
struct KeptTests {
  private func newFolder() -> String { "/tmp/strata-kept-\(UInt64.random(in: 0 ... .max))" }

  @Test("a key that comes before bookmarks were read waits for them, so that it does not replace them")
  func keysAheadOfRemembered() throws {
    let (store, folder) = (try Sample.store(), newFolder())
    defer { TestFile.remove(folder) }
    let files = BrowserFiles(folder: folder)
    Driver(store, start: .init(datastore: "City"), files: files).press("m a")
    let driver = Driver(store, start: .init(datastore: "City"), files: files, isHolding: true)
    let isReading: (WorkID) -> Bool = { ["settings", "remembered"].contains($0.slot.name) }
    driver.releaseAll { !isReading($0) }
    driver.press("j m b")
    driver.release()
    #expect(driver.browser.session.remembered.bookmarks.keys.sorted() == ["a", "b"])
    #expect(files.loadRemembered().remembered.bookmarks.keys.sorted() == ["a", "b"])
  }

  @Test(
    "what two browsers of a store keep stays, as far as both did not change the same",
    arguments: [nil, "a:1"] as [String?])
  func twoBrowsers(identity: String?) throws {
    let (store, folder) = (try Sample.store(), newFolder())
    defer { TestFile.remove(folder) }
    func files() -> BrowserFiles { BrowserFiles(folder: folder, identity: identity) }
    let drivers = (0..<2).map { _ in Driver(store, start: .init(datastore: "City"), files: files()) }
    for (driver, letter) in zip(drivers + drivers, ["a", "b", "c", "d"]) { driver.press("m \(letter)") }
    drivers[0].press("l -")
    drivers[1].browser.session.remember { $0.labels = ["City": ".timezone"] }
    drivers[1].tell(.tick(nil))
    drivers[0].browser.session.remember { $0.bookmarks["a"] = nil }
    drivers[0].tell(.tick(nil))
    let remembered = files().loadRemembered().remembered
    #expect(remembered.bookmarks.keys.sorted() == ["b", "c", "d"])
    #expect(remembered.columns["City"]?.hidden == [".name"] && remembered.labels == ["City": ".timezone"])
  }

  @Test("a browser that was stopped while it saved keeps no other one from saving")
  func stoppedBrowser() throws {
    let folder = newFolder()
    defer { TestFile.remove(folder) }
    TestFile.makeFolder(folder)
    let lock = open("\(folder)/remembered.lock", O_RDWR | O_CREAT, 0o600)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX) == 0)
    var remembered = Remembered()
    remembered.searches = ["kept"]
    try BrowserFiles(folder: folder).save(remembered)
    #expect(BrowserFiles(folder: folder).loadRemembered().remembered.searches == ["kept"])
  }

  @Test("a folder that hangs keeps keys waiting for three seconds, and nothing is saved there before it is read")
  func hangingFolder() throws {
    let (store, folder, clock) = (try Sample.store(), newFolder(), SetClock())
    defer { TestFile.remove(folder) }
    let files = BrowserFiles(folder: folder)
    Driver(store, start: .init(datastore: "City"), files: files).press("m a")
    let driver = Driver(store, start: .init(datastore: "City"), files: files, isHolding: true) {
      $0.clock = { clock.now }
    }
    driver.releaseAll { $0.slot.name != "remembered" }
    let first = driver.selectedIdentifier
    driver.press("j")
    #expect(driver.selectedIdentifier == first)
    clock.pass(seconds: 4)
    driver.tell(.tick(nil))
    #expect(driver.selectedIdentifier != first)
    driver.press("m b")
    driver.releaseAll { $0.slot.name != "remembered" }
    #expect(files.loadRemembered().remembered.bookmarks.keys.sorted() == ["a"])
    driver.release()
    #expect(driver.status.contains("those set before are not kept"), "\(driver.screen)")
  }

  @Test("keys are recorded into a new file: one that is there stays as it is, and is named")
  func recordedKeys() throws {
    let folder = newFolder()
    TestFile.makeFolder(folder)
    defer { TestFile.remove(folder) }
    try TestFile.write("mine", to: folder + "/notes")
    let driver = Driver(
      try Sample.store(), size: Size(columns: 160, rows: 30), start: .init(datastore: "City"),
      files: BrowserFiles(folder: folder))
    func recorded() -> [String] {
      driver.outward.compactMap { if case .terminal(.record(let path)) = $0 { path } else { nil } }
    }
    try driver.play(":record \(folder)/notes")
    #expect(driver.status.contains("is there already"), "\(driver.screen)")
    try driver.play(":record \(folder)/nowhere/keys")
    #expect(recorded().isEmpty && !driver.browser.macro.isRecording, "\(driver.screen)")
    try driver.play(":record \(folder)/keys")
    #expect(recorded() == [folder + "/keys"] && driver.browser.macro.isRecording, "\(driver.screen)")
    #expect(try TestFile.text(folder + "/notes") == "mine")
  }

  @Test("bookmarks that cannot be read are set aside and said, and no save replaces them", arguments: ["{", "[1]"])
  func damagedRemembered(text: String) throws {
    let (store, folder) = (try Sample.store(), newFolder())
    defer { TestFile.remove(folder) }
    TestFile.makeFolder(folder)
    try TestFile.write(text, to: folder + "/remembered.json")
    let driver = Driver(
      store, size: Size(columns: 160, rows: 30), start: .init(datastore: "City"), files: BrowserFiles(folder: folder))
    #expect(driver.status.contains("bookmarks cannot be read"), "\(driver.screen)")
    driver.press("m a")
    #expect(try TestFile.text(folder + "/remembered.json.unreadable-1") == text)
    #expect(BrowserFiles(folder: folder).loadRemembered().remembered.bookmarks.keys.sorted() == ["a"])
  }

  @Test("kept widths that no screen has are shown as the least and the greatest that keys choose")
  func widths() throws {
    let (store, folder) = (try Sample.store(), newFolder())
    defer { TestFile.remove(folder) }
    let files = BrowserFiles(folder: folder)
    var remembered = Remembered()
    remembered.columns["City"] = ColumnChoice()
    remembered.columns["City"]?.widths = ["id": .max, ".name": .min, ".population": .max]
    try files.save(remembered)
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"), files: files)
    driver.press("l l l")
    let columns = driver.browser.table.visibleColumns(driver.browser.session)
    #expect(Set(columns.map(\.width)).isSubset(of: 1...200) && columns.first?.width == 200, "\(driver.screen)")
  }

  @Test("commits of an opened file that cannot be read are set aside and said")
  func damagedCommits() throws {
    let folder = newFolder()
    TestFile.makeFolder(folder)
    defer { TestFile.remove(folder) }
    try TestFile.write("name,qty\nbolt,5\n", to: folder + "/in.csv")
    let (store, file) = try DocumentFile.open(folder + "/in.csv")
    let commits = "\(folder)/state/commits-\(String(file.digest, radix: 16))"
    TestFile.makeFolder(commits)
    try TestFile.write("{\"steps\":1}\ndamaged\n", to: commits + "/staged-1")
    let greeting = try BrowserFiles.files(in: folder + "/state", of: file, in: store).greeting
    #expect(greeting?.contains("staged-1.unreadable-1") == true, "\(greeting ?? "")")
    #expect(TestFile.exists(commits + "/staged-1.unreadable-1"))
  }

  @Test("a cancelled output that has not ended takes nothing from the next one to the same file")
  func outputAfterCancelled() throws {
    let path = newFolder()
    defer { TestFile.remove(path) }
    let cancelled = try FileOutput(path: path)
    _ = try cancelled.add(Array("old and longer".utf8))
    let output = try FileOutput(path: path)
    _ = try output.add(Array("new".utf8))
    cancelled.discard()
    #expect(try output.finish() == nil)
    #expect(try TestFile.text(path) == "new")
    #expect(["", "-2"].allSatisfy { !TestFile.exists("\(path).part-\(getpid())\($0)") })
  }

  @Test("a file that could not be renamed at its end closes no file that was opened after it")
  func unfinished() throws {
    let path = newFolder()
    defer { TestFile.remove(path) }
    let output = try FileOutput(path: path)
    _ = try output.add([1])
    TestFile.makeFolder(path)
    #expect(throws: ModelError.self) { try output.finish() }
    let other = open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer { _ = close(other) }
    output.discard()
    #expect(fcntl(other, F_GETFD) >= 0)
  }

  @Test("two browsers that save at the same time keep the bookmarks of both")
  func savedAtOnce() async throws {
    let folder = newFolder()
    defer { TestFile.remove(folder) }
    let names = ["a", "b"]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for name in names {
        let files = BrowserFiles(folder: folder)
        var remembered = files.loadRemembered().remembered
        group.addTask {
          for number in 0..<100 {
            remembered.bookmarks["\(name)\(number)"] = Bookmark(datastore: "City", identifier: "\(number)")
            try files.save(remembered)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(BrowserFiles(folder: folder).loadRemembered().remembered.bookmarks.count == 200)
  }
}
