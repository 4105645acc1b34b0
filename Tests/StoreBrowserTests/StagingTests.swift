import StrataModel
import StrataDocuments
import StrataEngine
import StrataTerminal
import Testing

@testable import StoreBrowser

/// What a person typed and staged: never lost, never another record's, and shown as it is.
@Suite("What is staged")
struct StagingTests {
  @Test("staged new records are looked up once for each commit, however many are staged after them")
  func lookedUpOnce() throws {
    let driver = Driver(try Sample.documents([["id": 1]]), start: .init(datastore: "T"))
    func stage(_ numbers: Range<Int>) throws {
      let descriptor = try #require(driver.browser.session.current).descriptor
      let edits = try numbers.map { number in
        RecordEdit(
          datastore: "T",
          identifier: descriptor.storedKey(try descriptor.identifierEncoding.encode(.integer(Int64(number)))),
          old: nil, new: RecordContent(version: "1", bytes: Array("{\"id\":\(number)}".utf8)))
      }
      driver.browser.stage(StagedStep(title: "new", edits: edits))
      driver.press("j")
    }
    func lookups() -> [Int] { driver.works.compactMap { ($0 as? TakenRequest)?.places.count } }
    try stage(10..<2_010)
    #expect(lookups() == [2_000])
    try stage(3_000..<3_001)
    try stage(3_001..<3_003)
    #expect(lookups() == [2_000, 1, 2])
    driver.press("u")
    #expect(lookups() == [2_000, 1, 2])
    // Another program stores one of them: that commit asks for all again, and the next staging for its own only.
    let store = try #require(driver.store as? EngineStore)
    try Sample.add([["id": 20]], to: store, Sample.plan("T", "id", []), "another")
    driver.tell(.storeStirred)
    #expect(lookups() == [2_000, 1, 2, 2_001] && driver.browser.session.taken.count == 1)
    try stage(4_000..<4_001)
    #expect(lookups() == [2_000, 1, 2, 2_001, 1] && driver.browser.session.taken.count == 1)
  }

  private func newFolder() -> String { "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))" }

  private func city(_ store: EngineStore, _ identifier: String) throws -> Document? {
    guard let datastore = try store.refresh().datastore("City") else { return nil }
    return try datastore.record(datastore.identifier(parsing: identifier))?.document()
  }

  /// A browser with the selection on a field of a city.
  private func driver(
    _ store: any ReadableStore, on identifier: String, _ path: String = ".population", files: BrowserFiles = .none,
    size: Size = Size(columns: 120, rows: 40)
  ) -> Driver {
    let driver = Driver(store, size: size, start: .init(datastore: "City", identifier: identifier), files: files)
    while driver.browser.table.selectedPath(driver.browser.session) != path { driver.press("l") }
    return driver
  }

  private func stage(_ text: String, in driver: Driver) {
    driver.press("e ^u")
    driver.type(text)
    driver.press("Enter")
  }

  /// Leaves one staged population in a folder, and has the browser gone.
  private func leaveStaged(_ value: String, of identifier: String, in folder: String, _ store: EngineStore) {
    let driver = driver(store, on: identifier, files: BrowserFiles(folder: folder))
    stage(value, in: driver)
    driver.press("Q")
  }

  // MARK: Kept and read again

  @Test("keys that stage wait until what was kept has been read, and are done on top of it; looking does not wait")
  func keysAheadOfReading() throws {
    let (store, folder) = (try Sample.store(), newFolder())
    defer { TestFile.remove(folder) }
    defer { TestFile.remove(folder) }
    leaveStaged("7", of: "2661552", in: folder, store)
    let driver = Driver(
      store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"), files: BrowserFiles(folder: folder),
      isHolding: true)
    driver.releaseAll(where: { $0.slot != .staging })
    #expect(driver.held.map(\.0.slot) == [.staging])
    driver.press("j")
    #expect(driver.selectedIdentifier == "615532")
    driver.press("d d")
    driver.releaseAll(where: { $0.slot != .staging })
    #expect(driver.browser.session.staged.isEmpty)
    driver.release()
    let staged = driver.browser.session.staged
    #expect(staged.order.map(\.identifier.description) == ["2661552", "615532"])
    #expect(staged.totals.updated == 1 && staged.totals.deleted == 1)
    let kept = try #require(try TestFile.lines(folder + "/staged-1").first)
    #expect(kept.contains("\"steps\":2"), "what was staged then is saved with what was kept")
  }

  @Test("the folder of staged changes is made when they are first read: the first rows do not wait for it")
  func folderAfterRows() throws {
    let (store, folder) = (try Sample.store(), newFolder())
    defer { TestFile.remove(folder) }
    let driver = Driver(
      store, start: .init(datastore: "City"), files: BrowserFiles(folder: folder), isHolding: true)
    driver.releaseAll(where: { $0.slot != .staging })
    #expect(driver.selectedIdentifier != nil && !TestFile.exists(folder))
    driver.release()
    #expect(TestFile.exists(folder))
  }

  @Test("a folder that could not be made is not made for a save either, which would replace what was not read")
  func folderThatFailed() throws {
    let folder = newFolder()
    defer { TestFile.remove(folder) }
    try TestFile.write("not a folder", to: folder)
    let files = BrowserFiles(folder: folder + "/state")
    let kept = try files.loadStaged([], counted: { _ in }, fits: { _ in true })
    #expect(kept.problem?.contains("cannot be kept") == true)
    TestFile.remove(folder)
    #expect(throws: ModelError.self) { try files.save(StagedChanges()) }
  }

  @Test("while what was kept is being read the header counts it, and w waits for it")
  func reviewAheadOfReading() throws {
    let (store, folder) = (try Sample.store(), newFolder())
    defer { TestFile.remove(folder) }
    defer { TestFile.remove(folder) }
    leaveStaged("7", of: "2661552", in: folder, store)
    let driver = Driver(
      store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City"), files: BrowserFiles(folder: folder),
      isHolding: true)
    driver.releaseAll(where: { $0.slot != .staging })
    let id = try #require(driver.held.first?.0)
    driver.tell(.work(id, .progress(Progress(done: 0, total: 87_131))))
    #expect(driver.title.contains("\(NumberFormat.count(87_131)) staged changes are being read"), "\(driver.title)")
    driver.press("w")
    #expect(!driver.shows("nothing is staged"))
    #expect(driver.browser.overlays.isEmpty)
    driver.release()
    #expect(driver.browser.overlays.last is ReviewOverlay)
    #expect(driver.shows("+ 7"), "\(driver.screen)")
  }

  /// A store of two records at the path that all of these have.
  private func remade(_ value: Int) throws -> EngineStore {
    try Sample.documents([["id": 1, "n": .number(NumberText(value))], ["id": 2, "n": 0]])
  }

  private func opened(_ store: EngineStore, _ files: BrowserFiles) -> Driver {
    let driver = Driver(store, size: Size(columns: 120, rows: 40), start: .init(datastore: "T"), files: files)
    driver.press("l")
    return driver
  }

  @Test(
    "staged changes, drafts, bookmarks, past builds and a merge belong to a store, not to another one that is made at its path"
  )
  func remadeStore() throws {
    let (first, second, folder) = (try remade(1), try remade(1), newFolder())
    defer { TestFile.remove(folder) }
    func work() throws {
      let driver = opened(first, BrowserFiles(folder: folder, identity: first.identity))
      stage("7", in: driver)
      try driver.play(":bookmark x")
      driver.browser.session.remembered.mergeDrafts = [MergeDraft(theirs: "a:1", entries: [])]
      driver.browser.session.remembered.builds = [
        PastBuild(title: "n", startedAt: 1, seconds: 1, records: 2, outcome: "complete")
      ]
      driver.press("j e")
      driver.type("5")
      driver.press("Esc Q")
    }
    try work()
    let other = opened(second, BrowserFiles(folder: folder, identity: second.identity)).browser.session
    #expect(other.staged.isEmpty && other.drafts.isEmpty)
    #expect(other.remembered.bookmarks.isEmpty && other.remembered.mergeDrafts.isEmpty)
    #expect(other.remembered.builds == nil)
    let again = opened(first, BrowserFiles(folder: folder, identity: first.identity)).browser.session
    #expect(again.staged.count == 1 && again.drafts.count == 1)
    #expect(again.remembered.bookmarks.count == 1 && again.remembered.mergeDrafts.count == 1)
    #expect(again.remembered.builds?.count == 1)
  }

  @Test("what was kept by the path alone is taken over once, by a store that has the records as they were changed")
  func keptByPath() throws {
    let (own, other, folder) = (try remade(1), try remade(2), newFolder())
    defer { TestFile.remove(folder) }
    func work() throws {
      let driver = opened(own, BrowserFiles(folder: folder))
      stage("7", in: driver)
      try driver.play(":bookmark x")
      driver.press("Q")
    }
    try work()
    func count(_ store: EngineStore) -> Int {
      opened(store, BrowserFiles(folder: folder, identity: store.identity)).browser.session.staged.count
    }
    #expect(count(other) == 0)
    #expect(
      opened(own, BrowserFiles(folder: folder, identity: own.identity)).browser.session.remembered.bookmarks.count == 1)
    #expect(count(own) == 1 && count(own) == 1)
    #expect(!TestFile.exists(folder + "/staged-1"))
    #expect(count(try remade(1)) == 0)
  }

  @Test("what cannot be read is not saved over: nothing can be staged, and the reason is said")
  func unreadable() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"), isHolding: true)
    driver.releaseAll(where: { $0.slot != .staging })
    let id = try #require(driver.held.first?.0)
    driver.tell(.work(id, .failed(.storage("the staged changes cannot be kept: EIO", kind: .failed))))
    driver.isHolding = false
    driver.press("d d")
    #expect(driver.browser.session.staged.isEmpty)
    #expect(driver.shows("EIO"), "\(driver.screen)")
  }

  @Test(
    "until what is staged is on the disk Q waits, says for what, and leaves by itself; pressed again it says what is lost"
  )
  func leavingUnsaved() throws {
    let driver = driver(try Sample.store(), on: "2661552")
    driver.isHolding = true
    stage("7", in: driver)
    driver.press("Q")
    #expect(!driver.hasQuit)
    #expect(driver.status.contains("waiting for the disk to take what is staged"), "\(driver.status)")
    driver.press("Esc")
    driver.release()
    #expect(!driver.hasQuit, "Esc stays")
    driver.isHolding = true
    stage("8", in: driver)
    driver.press("Q")
    driver.releaseAll { $0.slot == .settings }
    #expect(!driver.hasQuit)
    driver.releaseFirst { $0.slot == .staging }
    #expect(driver.hasQuit)
    #expect(driver.farewell == "1 staged change kept for Atlas.strata")
    let other = self.driver(try Sample.store(), on: "2661552")
    other.isHolding = true
    stage("7", in: other)
    other.press("Q Q")
    #expect(other.hasQuit)
    #expect(other.farewell?.contains("1 staged change of Atlas.strata NOT kept") == true, "\(other.farewell ?? "")")
  }

  @Test("a full disk is said, Q does not hide it, and the next saving that succeeds takes the word back")
  func failedSaving() throws {
    let driver = driver(try Sample.store(), on: "2661552")
    driver.isHolding = true
    stage("7", in: driver)
    let id = try #require(driver.held.last { $0.0.slot == .staging }?.0)
    driver.tell(.work(id, .failed(.storage("the staged changes cannot be kept: ENOSPC", kind: .failed))))
    #expect(driver.title.contains("staged NOT on disk"), "\(driver.title)")
    driver.press("Q")
    #expect(!driver.hasQuit)
    driver.press("Esc")
    driver.release()
    #expect(!driver.title.contains("NOT on disk"))
  }

  // MARK: A record, not a row

  @Test("an editor stages for its record also where that has left the filter meanwhile")
  func editorOutsideOfFilter() throws {
    let store = try Sample.store()
    let driver = driver(store, on: "2661552")
    try driver.play(": filter population < 130000")
    while driver.selectedIdentifier != "2661552" { driver.press("j") }
    driver.press("e ^u")
    driver.type("140000")
    try Sample.change(store, "City", "2661552", ".population", to: 999_999)
    driver.tell(.storeStirred)
    driver.press("Enter")
    let edit = try #require(driver.browser.session.staged.edits.values.first)
    #expect(edit.identifier.description == "2661552")
    #expect(driver.status.contains("staged: population of 2661552"), "\(driver.status)")
  }

  @Test("an editor stages for its record also where another program has deleted that meanwhile, and the review tells")
  func editorOfDeleted() throws {
    let store = try Sample.store()
    let driver = driver(store, on: "2661552")
    driver.press("e ^u")
    driver.type("140000")
    try Sample.delete(store, "City", "2661552")
    driver.tell(.storeStirred)
    driver.press("Enter")
    #expect(driver.browser.session.staged.edits.values.first?.identifier.description == "2661552")
    driver.press("w")
    #expect(driver.shows("2661552"), "\(driver.screen)")
    #expect((driver.browser.overlays.last as? ReviewOverlay)?.answer?.rebased?.conflicts.count == 1)
  }

  @Test("a staged edit is its fields, drawn over what another program has made of the record meanwhile")
  func drawnOverTheNewest() throws {
    let store = try Sample.store()
    let driver = driver(store, on: "2661552", ".name")
    stage("Bärn", in: driver)
    try Sample.change(store, "City", "2661552", ".population", to: 777_777)
    driver.tell(.storeStirred)
    let rows = driver.lines.filter { $0.contains("2661552") && $0.contains("Bärn") }
    #expect(rows.contains { $0.contains("777 777") }, "\(driver.screen)")
    driver.press("3")
    let field = try #require(driver.lines.first { $0.contains("population") && $0.contains("777777") })
    #expect(!field.contains("121631"), "\(field)")
    // A second edit goes on from there.
    driver.press("2")
    while driver.browser.table.selectedPath(driver.browser.session) != ".timezone" { driver.press("l") }
    stage("X", in: driver)
    try Sample.change(store, "City", "2661552", ".population", to: 888_888)
    driver.tell(.storeStirred)
    driver.press("w Enter Enter")
    let city = try #require(try city(store, "2661552"))
    #expect(city[try DocumentPath(parsing: ".population")] == 888_888)
    #expect(city[try DocumentPath(parsing: ".name")] == "Bärn")
    #expect(city[try DocumentPath(parsing: ".timezone")] == "X")
  }

  @Test("a field that both changed is shown as the staged one, and the review still asks")
  func sameField() throws {
    let store = try Sample.store()
    let driver = driver(store, on: "2661552")
    stage("7", in: driver)
    try Sample.change(store, "City", "2661552", ".population", to: 888_888)
    driver.tell(.storeStirred)
    #expect(driver.shows("888888 → 7"), "\(driver.screen)")
    while driver.browser.table.selectedPath(driver.browser.session) != ".name" { driver.press("h") }
    stage("Bärn", in: driver)
    driver.press("w")
    #expect((driver.browser.overlays.last as? ReviewOverlay)?.answer?.rebased?.conflicts.count == 1)
  }

  @Test("the heading of a staged list is the list that stands below it, whatever another program made of it")
  func stagedList() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".timezone", to: ["amber", "green"])
    let driver = driver(store, on: "2661552", ".timezone")
    driver.press("3")
    driver.browser.record.select(try DocumentPath(parsing: ".timezone[1]"))
    stage("GREEN", in: driver)
    try Sample.change(store, "City", "2661552", ".timezone", to: ["red", "amber", "green", "blue"])
    driver.tell(.storeStirred)
    let merged = try #require(driver.browser.record.document)
    #expect(merged[member: "timezone"] == ["amber", "GREEN"])
    let heading = try #require(driver.lines.first { $0.contains("▾ timezone") })
    #expect(heading.contains("amber") && !heading.contains("red"), "\(driver.screen)")
  }

  /// A staged copy of a city under an identifier that another program gives to a record, too.
  private func takenInsert() throws -> (store: EngineStore, driver: Driver, count: Int) {
    let store = try Sample.store()
    let driver = driver(store, on: "2661552")
    let count = driver.browser.table.count(driver.browser.session)
    driver.press("D")
    let request = try #require(driver.editorRequest)
    driver.tell(.editorClosed(EditorOutcome(text: request.text.replacing("2661552", with: "5000"))))
    try #require(driver.browser.session.staged.totals.inserted == 1, "\(driver.screen)")
    let datastore = try #require(try store.refresh().datastore("City"))
    let record = try #require(try datastore.record(datastore.identifier(parsing: "2661552")))
    let theirs = try record.document().setting(DocumentPath(parsing: ".geonameid"), to: 5000)
      .setting(DocumentPath(parsing: ".name"), to: "Theirs")
    let edit = RecordEdit(
      datastore: "City", identifier: try datastore.identifier(parsing: "5000"), old: nil,
      new: RecordContent(version: record.version, bytes: try record.coding.encode(theirs)))
    _ = try store.commit(ChangeSet(base: store.head.commit, changes: [edit]), named: "theirs", options: EditOptions())
    driver.tell(.storeStirred)
    return (store, driver, count)
  }

  @Test("a staged new record whose identifier another program has used meanwhile has one row, and is a conflict there")
  func insertTaken() throws {
    let (_, driver, count) = try takenInsert()
    #expect(driver.browser.table.count(driver.browser.session) == count + 1, "\(driver.screen)")
    #expect(driver.lines.filter { $0.contains(" 5000  Bern") }.count == 1, "\(driver.screen)")
    #expect(driver.selectedIdentifier == "5000", "\(driver.screen)")
    driver.press("w")
    #expect((driver.browser.overlays.last as? ReviewOverlay)?.answer?.rebased?.conflicts.count == 1)
    driver.press("m Enter Enter")
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
    #expect(driver.browser.table.count(driver.browser.session) == count + 1)
  }

  @Test(
    "dd on a staged new record whose identifier is used by now takes it out, and deletes nothing of another program")
  func deleteTaken() throws {
    let (_, driver, count) = try takenInsert()
    #expect(driver.selectedIdentifier == "5000", "\(driver.screen)")
    driver.press("d d")
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
    driver.press("d d")
    #expect(driver.browser.session.staged.totals.deleted == 1)
    #expect(driver.browser.table.count(driver.browser.session) == count + 1)
  }

  @Test("a field that another program changed while its editor was open is a conflict that the review asks about")
  func editorOfChanged() throws {
    let store = try Sample.store()
    let driver = driver(store, on: "2661552")
    driver.press("e ^u")
    driver.type("140000")
    try Sample.change(store, "City", "2661552", ".population", to: 888_888)
    driver.tell(.storeStirred)
    driver.press("Enter w")
    #expect(driver.shows("choose m mine, t theirs or b base"), "\(driver.screen)")
  }

  @Test("long texts in conflict leave room for each other in 80 columns")
  func longConflict() throws {
    let store = try Sample.store()
    let driver = driver(store, on: "2661552", ".name")
    stage("Mine " + String(repeating: "long ", count: 40) + "end", in: driver)
    try Sample.change(store, "City", "2661552", ".name", to: .string("Theirs " + String(repeating: "long ", count: 40)))
    driver.tell(.storeStirred)
    driver.resize(Size(columns: 80, rows: 24))
    driver.press("w")
    let line = try #require(driver.lines.first { $0.contains("✗ name") })
    for part in ["base \"Bern\"", "mine \"Mine", "end\"", "theirs \"The"] { #expect(line.contains(part), "\(line)") }
  }

  @Test(
    "on the line of a record in conflict m, t and b decide all its fields, and the foot names them",
    arguments: ["m", "t", "b"])
  func decidedTogether(side: String) throws {
    let store = try Sample.store()
    let driver = driver(store, on: "2661552", ".name")
    stage("Bärn", in: driver)
    while driver.browser.table.selectedPath(driver.browser.session) != ".population" { driver.press("l") }
    stage("7", in: driver)
    try Sample.change(store, "City", "2661552", ".population", to: 888_888)
    try Sample.change(store, "City", "2661552", ".name", to: "Berne")
    driver.tell(.storeStirred)
    driver.press("w")
    #expect(driver.keys.contains("m mine") && driver.keys.contains("t theirs"), "\(driver.keys)")
    driver.press(side)
    if side != "t" { driver.press("Enter Enter") }
    let city = try #require(try city(store, "2661552"))
    let expected: [String: (Document, Document)] = ["m": ("Bärn", 7), "t": ("Berne", 888_888), "b": ("Bern", 121_631)]
    #expect(
      city[member: "name"] == expected[side]?.0 && city[member: "population"] == expected[side]?.1, "\(driver.screen)")
    #expect(driver.browser.session.staged.isEmpty)
  }

  // MARK: The cursor

  @Test("the cursor follows its record when a filtered table is turned round, however the rows come")
  func turnedRound() throws {
    let store = try Sample.large(1_000)
    let driver = Driver(store, start: .init(datastore: "Item"))
    try driver.play(": filter value >= 0")
    driver.press("j j")
    #expect(driver.selectedIdentifier == "2")
    driver.press("h h h h o")
    #expect(driver.browser.table.source?.isDescending == true)
    #expect(driver.selectedIdentifier == "2", "\(driver.screen)")
    driver.press("d d")
    #expect(driver.browser.session.staged.order.map(\.identifier.description) == ["2"])
  }

  @Test("the cursor follows its record through a reload of a filtered or sorted table, and meanwhile belongs to it")
  func reloaded() throws {
    let store = try Sample.large(1_000)
    for command in [": filter name $= \"7\" or id > 500", ": sort name"] {
      let driver = Driver(store, start: .init(datastore: "Item"))
      try driver.play(command)
      driver.press("g g j j j j j")
      let selected = try #require(driver.selectedIdentifier)
      try Sample.change(store, "Item", "999", ".name", to: .string(command))
      driver.isHolding = true
      driver.tell(.storeStirred)
      while let next = driver.held.first?.0.slot, next != .filter, next != .sort { driver.releaseOne() }
      #expect(!driver.held.isEmpty)
      #expect(driver.selectedIdentifier == selected)
      driver.press("d d")
      driver.release()
      #expect(driver.selectedIdentifier == selected)
      #expect(driver.browser.session.staged.order.map(\.identifier.description) == [selected])
    }
  }

  // MARK: Esc

  @Test("Esc ends a count or a plot that nobody looks at any more, and never the program")
  func escape() throws {
    for keys in ["#", ": plot id value Enter", ": describe Enter"] {
      let driver = Driver(try Sample.large(100), start: .init(datastore: "Item"))
      driver.isHolding = true
      if keys.hasPrefix(":") { try driver.play(keys.replacing(" Enter", with: "")) } else { driver.press(keys) }
      driver.press("2 Esc Esc Esc")
      #expect(!driver.hasQuit, "\(keys)")
      driver.release()
      #expect(!driver.hasQuit && driver.browser.session.longWork.isEmpty)
      #expect(driver.browser.views.count == 1)
    }
  }
}
