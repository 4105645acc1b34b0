import StrataDocuments
import StrataModel
import StrataTerminal
import Testing

@testable import StoreBrowser

@Suite("Changing a store")
struct WritingTests {
  private func city(_ store: EngineStore, _ identifier: String) throws -> Document? {
    guard let datastore = try store.refresh().datastore("City") else { return nil }
    return try datastore.record(datastore.identifier(parsing: identifier))?.document()
  }

  private func population(_ store: EngineStore, _ identifier: String) throws -> Document? {
    try city(store, identifier)?[DocumentPath(parsing: ".population")]
  }

  /// A browser with the selection on a city's population.
  private func onPopulation(_ store: EngineStore, _ identifier: String, files: BrowserFiles = .none) -> Driver {
    let driver = Driver(store, start: .init(datastore: "City", identifier: identifier), files: files)
    while driver.browser.table.selectedPath(driver.browser.session) != ".population" { driver.press("l") }
    return driver
  }

  @Test("edit, review, commit with a name, and take it back: each a commit")
  func editCommitUndo() throws {
    let store = try Sample.store()
    let driver = onPopulation(store, "2661552")
    driver.press("e ^u")
    driver.type("134591")
    driver.press("Enter")
    #expect(try population(store, "2661552") == 121_631, "nothing is written before the review")
    #expect(driver.shows("121631 → 134591"))
    driver.press("w")
    #expect(driver.shows("- 121631"))
    #expect(driver.shows("+ 134591"))
    driver.press("Enter")
    #expect(driver.shows("City 2661552: population"))
    driver.press("Enter")
    #expect(try population(store, "2661552") == 134_591)
    #expect(driver.status.contains("committed #5"))
    #expect(driver.title.contains("HEAD #5"))
    driver.tell(.storeStirred)
    #expect(!driver.shows("changed"), "what one commits oneself is not an other program's change")
    #expect(try store.commit(CommitNumber(5)).action == "City 2661552: population")
    driver.press("u")
    #expect(driver.shows("Undo: take back #5") && driver.shows("undoable with ^r"))
    driver.press("Enter Enter")
    #expect(try population(store, "2661552") == 121_631)
    #expect(try store.commit(CommitNumber(6)).undoes == CommitNumber(5))
    #expect(driver.status.contains("— ^r takes it back"), "\(driver.screen)")
    driver.press("^r Enter Enter")
    #expect(try population(store, "2661552") == 134_591)
    #expect(driver.status.contains("— u takes it back"), "\(driver.screen)")
    driver.press("4 j R")
    #expect(driver.shows("take back the undo #6"), "\(driver.screen)")
  }

  @Test("three undos in a row go back three commits")
  func threeUndos() throws {
    let store = try Sample.store()
    for value in [1, 2, 3] {
      try Sample.change(store, "City", "2661552", ".population", to: .number(NumberText(value)))
    }
    let driver = Driver(store, start: .init(datastore: "City"))
    for expected in [Document(2), 1, 121_631] {
      driver.press("u Enter Enter")
      #expect(try population(store, "2661552") == expected)
    }
  }

  @Test("the review of an undo names what later commits keep, and says why nothing is left")
  func olderUndo() throws {
    let store = try Sample.store()
    let documents = try ["2661552", "2661604"].map { identifier in
      let datastore = try #require(try store.head.datastore("City"))
      let record = try #require(try datastore.record(datastore.identifier(parsing: identifier)))
      return try record.document().setting(DocumentPath(parsing: ".population"), to: 1)
    }
    _ = try store.commit(store.changes(putting: documents, into: "City"), named: "both", options: EditOptions())
    try Sample.change(store, "City", "2661552", ".population", to: 2)
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("4 j R")
    #expect(driver.shows("take back #5") && driver.shows("1 record"), "\(driver.screen)")
    #expect(driver.shows("later changes stay in 1 record: City 2661552 .population"), "\(driver.screen)")
    driver.press("Esc")
    try Sample.change(store, "City", "2661604", ".population", to: 3)
    driver.tell(.storeStirred)
    driver.press("R")
    #expect(driver.shows("later commits changed all that #5 changed"), "\(driver.screen)")
  }

  @Test("wrong input keeps the text and explains; a suggestion is offered and taken by Enter")
  func typedEditor() throws {
    let driver = onPopulation(try Sample.store(), "2661552")
    driver.press("e ^u")
    driver.type("12 x")
    driver.press("Enter")
    #expect(driver.shows("not an integer: “12 x”"))
    #expect(driver.shows("12 x"))
    driver.press("^u")
    driver.type("134 591")
    driver.press("Enter")
    #expect(driver.shows("takes 134591"))
    driver.press("Enter")
    #expect(driver.shows("121631 → 134591"))
  }

  @Test("u and ^r move within what is staged while anything is; x leaves one out")
  func stagedUndo() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("d d j d d")
    #expect(driver.browser.session.staged.count == 2)
    driver.press("u")
    #expect(driver.browser.session.staged.count == 1)
    driver.press("^r")
    #expect(driver.browser.session.staged.count == 2)
    driver.press("x")
    #expect(driver.browser.session.staged.count == 1)
    driver.press("u")
    #expect(driver.browser.session.staged.count == 2)
  }

  @Test("staged changes survive: another browser of the same folder has them")
  func survival() throws {
    let folder = "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))"
    defer { TestFile.remove(folder) }
    let store = try Sample.store()
    var driver: Driver? = onPopulation(store, "2661552", files: BrowserFiles(folder: folder))
    driver?.press("e ^u")
    driver?.type("7")
    driver?.press("Enter q")
    #expect(driver?.farewell == "1 staged change kept for Atlas.strata")
    driver = nil
    let again = Driver(store, start: .init(datastore: "City"), files: BrowserFiles(folder: folder))
    #expect(again.browser.session.staged.count == 1)
    #expect(again.status.contains("1 staged change from before"))
    again.press("w Enter Enter")
    #expect(try population(store, "2661552") == 7)
    #expect(again.browser.session.staged.isEmpty)
  }

  @Test("a moved head is rebased where no field overlaps, and said")
  func rebase() throws {
    let store = try Sample.store()
    let driver = onPopulation(store, "2661552")
    driver.press("e ^u")
    driver.type("5")
    driver.press("Enter")
    try Sample.change(store, "City", "2661552", ".timezone", to: "Europe/Bern")
    driver.press("w")
    #expect(driver.shows("the head moved #4 → #5 since you began: no conflict is open"))
    driver.press("Enter Enter")
    let path = try DocumentPath(parsing: ".timezone")
    #expect(try population(store, "2661552") == 5)
    #expect(try city(store, "2661552")?[path] == "Europe/Bern")
  }

  @Test("what was edited in an older state than the newest, while following is off, is rebased as well")
  func rebasePaused() throws {
    let store = try Sample.store()
    let driver = onPopulation(store, "2661552")
    driver.press("F")
    try Sample.change(store, "City", "2661552", ".timezone", to: "Europe/Bern")
    driver.tell(.storeStirred)
    #expect(driver.title.contains("1 new"))
    driver.press("e ^u")
    driver.type("5")
    driver.press("Enter w")
    #expect(driver.shows("the head moved #4 → #5 since you began: no conflict is open"))
    driver.press("Enter Enter")
    #expect(try population(store, "2661552") == 5)
    #expect(try city(store, "2661552")?[DocumentPath(parsing: ".timezone")] == "Europe/Bern")
  }

  @Test("a review tells how far it is from its first record on, in one percentage, also where the head has moved")
  func reviewProgress() throws {
    let store = try Sample.large(2_000)
    let driver = Driver(store, start: .init(datastore: "Item"))
    try driver.play(":set name = \"x\"")
    driver.press("Enter")
    #expect(driver.browser.session.staged.count == 2_000)
    for hasMoved in [false, true] {
      if hasMoved { try Sample.change(store, "Item", "7", ".group", to: "elsewhere") }
      let heard = Locked<[Int]>([])
      let context = WorkContext(store: store) { progress in
        if progress.found == .nothing, let total = progress.total {
          heard.with { $0.append(progress.done * 100 / total) }
        }
      }
      let request = ReviewRequest(subject: .staged(driver.browser.session.staged.changes))
      #expect(try request.reply(in: context).rebased?.hasMoved == hasMoved)
      let shares = heard.with { $0 }
      #expect(shares.first == 0 && shares == shares.sorted() && shares.contains { $0 > 80 }, "\(shares)")
      #expect(Set(shares).count > 6, "\(shares)")
    }
  }

  @Test("a review of an older state than the head's is marked as such")
  func oldReview() throws {
    let store = try Sample.store()
    let driver = onPopulation(store, "2661552")
    driver.press("u")
    #expect(driver.shows("Undo: take back #4") && !driver.shows("by now"))
    try Sample.change(store, "City", "2661552", ".timezone", to: "Europe/Bern")
    driver.tell(.storeStirred)
    #expect(driver.shows("⚠ this is as of #4; the head is #5 by now"))
  }

  @Test("red is for failures only: what cannot be done is not red, what failed is")
  func red() throws {
    let red = Theme().style(.problem).foreground
    func isRed(_ driver: Driver) -> Bool {
      let grid = driver.grid
      return (0..<grid.size.rows).contains { row in
        grid.row(row).contains {
          $0.style.foreground == red && $0.text != " " && !$0.style.attributes.contains(.strike)
        }
      }
    }
    for keys in [
      "e", "u u", "^r", "w", "R", "x", "r", "p", "@", "a", "E", "T", "y k", "o o", "'", "' q", "M a", "5 ( ) V",
      "3 d d", "n", "N",
    ] {
      let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
      driver.press(keys)
      #expect(!isRed(driver), "\(keys): \(driver.screen)")
    }
    for command in [
      ":travel 99", ":pin 7 7", ":restore 99", ":compact 1", ":unpin nothing", ":remote", ":drop-index none", ":view",
      ":rebuild-index none", ":goto-nothing", ":forget-view none",
    ] {
      let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
      driver.press(":")
      driver.type(String(command.dropFirst()))
      // What is wrong with a line that is being typed is shown at its place, until it is right.
      driver.press("Enter Esc Esc")
      #expect(!isRed(driver), "\(command): \(driver.screen)")
    }
    let held = HeldStore(
      try Sample.store(), by: WriterHold(processIdentifier: 7, program: "other", since: Sample.now))
    let locked = Driver(held, start: .init(datastore: "City"))
    locked.press("d d w Enter Enter")
    #expect(locked.shows("other") && !isRed(locked), "\(locked.screen)")
    held.letGo()
    held.goAway()
    locked.press("Enter")
    #expect(isRed(locked), "\(locked.screen)")
  }

  @Test("an overlap shows base, mine and theirs, and nothing is written until it is decided", arguments: ["m", "t"])
  func conflict(choice: String) throws {
    let store = try Sample.store()
    let driver = onPopulation(store, "2661552")
    driver.press("e ^u")
    driver.type("5")
    driver.press("Enter")
    try Sample.change(store, "City", "2661552", ".population", to: 6)
    driver.press("w")
    #expect(driver.shows("base 121631"))
    #expect(driver.shows("mine 5"))
    #expect(driver.shows("theirs 6"))
    driver.press("Enter")
    #expect(driver.shows("✗"))
    #expect(try population(store, "2661552") == 6)
    driver.press("j")
    driver.press(choice)
    if choice == "m" {
      #expect(driver.browser.session.staged.steps.last?.title == "population of 2661552 as decided")
      #expect(driver.shows("no conflict is open") && !driver.shows("no field overlaps"), "\(driver.screen)")
      driver.press("Enter Enter")
      #expect(try population(store, "2661552") == 5)
    } else {
      #expect(driver.browser.session.staged.isEmpty)
      #expect(try population(store, "2661552") == 6)
    }
  }

  @Test("marks are deleted together, in one commit")
  func markedDelete() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("Space Space Space")
    #expect(driver.shows("3 marked"))
    driver.press("d d w Enter Enter")
    #expect(try store.refresh().datastore("City")?.count == 7)
    driver.press("u Enter Enter")
    #expect(try store.refresh().datastore("City")?.count == 10)
  }

  @Test("a list that is staged and that another program lengthens shows what is staged, and that it changed meanwhile")
  func overtakenList() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 160, rows: 40), start: .init(datastore: "City"))
    let identifier = try #require(driver.selectedIdentifier)
    func names(_ names: [String]) -> Document { .array(names.map { .string($0) }) }
    try Sample.change(store, "City", identifier, ".alternatenames", to: names(["amber", "green", "blue"]))
    driver.tell(.storeStirred)
    let place = try #require(driver.browser.table.selectedPlace(driver.browser.session))
    let old = try #require(try store.head.datastore("City")?.record(place.identifier))
    let new = try old.document().setting(DocumentPath(parsing: ".alternatenames[1]"), to: .string("GREEN"))
    driver.browser.stage(
      StagedStep(
        title: "GREEN",
        edits: [
          RecordEdit(
            datastore: "City", identifier: place.identifier, old: old.stored,
            new: RecordContent(version: old.version, bytes: try old.coding.encode(new)))
        ]))
    try Sample.change(store, "City", identifier, ".alternatenames", to: names(["red", "amber", "green", "blue"]))
    driver.tell(.storeStirred)
    driver.press("3")
    #expect(driver.shows("⚠ changed meanwhile"), "\(driver.screen)")
    let heading = try #require(driver.lines.first { $0.contains("alternatenames") && $0.contains("staged") })
    #expect(heading.contains("(3) [\"amber\", \"GR"), "\(driver.screen)")
  }

  @Test("a marked record that another program deletes is marked no more")
  func markedElsewhere() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("Space Space Space")
    let gone = try #require(driver.browser.table.marks.first)
    try Sample.delete(store, "City", "\(gone)")
    driver.tell(.storeStirred)
    #expect(driver.shows("2 marked") && !driver.browser.table.isMarked(gone), "\(driver.screen)")
  }

  @Test(":set changes all that a filter shows, after a preview with count and samples")
  func bulkSet() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("f")
    driver.type("countrycode = \"CH\"")
    driver.press("Enter :")
    driver.type("set population = population * 2")
    driver.press("Enter")
    #expect(driver.shows("4 records"))
    #expect(driver.shows("+ 683460"))
    #expect(driver.shows("new values of population from 243 262 to 683 460"))
    driver.press("Enter w Enter Enter")
    #expect(try population(store, "2661552") == 243_262)
    #expect(try population(store, "611717") == 1_049_498)
  }

  @Test("a :set of a field that no record has says so, because a text without quotes would make the field null")
  func bulkUnknown() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("Space Space l e")
    driver.type("Bern")
    driver.press("Enter")
    #expect(driver.shows("2 become null"), "\(driver.screen)")
    #expect(
      driver.status.contains("no record that was read has “Bern”; a text is written in quotes"), "\(driver.status)")
    driver.press("Esc e")
    driver.type("\"Bern\"")
    driver.press("Enter")
    #expect(!driver.status.contains("no record") && driver.shows("+ \"Bern\""), "\(driver.screen)")
  }

  @Test("a failing :set lists the record and leaves it as it is")
  func bulkFailure() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press(":")
    driver.type("set population = population / 7")
    driver.press("Enter")
    #expect(driver.shows("holds integers"))
    #expect(driver.shows("fail and stay as they are"))
  }

  @Test("E opens the record; what does not parse opens again at the place; an empty file cancels")
  func externalEditor() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City", identifier: "2661552"))
    driver.press("E")
    let request = try #require(driver.editorRequest)
    #expect(request.fileExtension == "json")
    #expect(request.text.hasPrefix("// City 2661552"))
    #expect(request.text.contains("\"population\": 121631"))
    driver.tell(.editorClosed(EditorOutcome(text: "// x\n{\"name\": \"Bern\",\n  oops}\n")))
    let again = try #require(driver.editorRequest)
    #expect(again.text.contains("oops"))
    #expect(again.text.hasPrefix("// line 4, column 3"), "as the editor counts")
    #expect(again.line == 4)
    #expect(again.column == 3)
    driver.tell(.editorClosed(EditorOutcome(text: request.text.replacing("121631", with: "9"))))
    #expect(driver.shows("9"))
    #expect(driver.browser.session.staged.count == 1)
    driver.press("E")
    driver.tell(.editorClosed(EditorOutcome(text: "")))
    #expect(driver.browser.session.staged.count == 1)
    #expect(driver.status.contains("nothing was changed"))
  }

  @Test("D copies under another identifier; one that is taken opens the editor again with the text")
  func duplicate() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City", identifier: "2661552"))
    driver.press("D")
    let request = try #require(driver.editorRequest)
    driver.tell(.editorClosed(EditorOutcome(text: request.text)))
    let again = try #require(driver.editorRequest)
    #expect(again.text.contains("has a record 2661552 already"))
    #expect(again.text.contains("\"Bern\""))
    driver.tell(.editorClosed(EditorOutcome(text: request.text.replacing("2661552", with: "77"))))
    #expect(driver.selectedIdentifier == "77")
    driver.press("w Enter Enter")
    #expect(try city(store, "77") != nil)
  }

  @Test("r brings a record back as it was; c a single field")
  func restore() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".population", to: 1)
    try Sample.change(store, "City", "2661552", ".timezone", to: "X")
    let driver = Driver(store, start: .init(datastore: "City", identifier: "2661552"))
    driver.press("H G r")
    #expect(driver.browser.session.staged.count == 1)
    driver.press("w Enter Enter")
    #expect(try population(store, "2661552") == 121_631)
    let path = try DocumentPath(parsing: ".timezone")
    #expect(try city(store, "2661552")?[path] == "Europe/Zurich")
  }

  @Test("R takes back an older commit and keeps later changes of other fields")
  func revert() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "2661552", ".population", to: 1)
    try Sample.change(store, "City", "2661552", ".timezone", to: "X")
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("g H j R Enter Enter")
    #expect(try population(store, "2661552") == 121_631)
    let path = try DocumentPath(parsing: ".timezone")
    #expect(try city(store, "2661552")?[path] == "X")
  }

  @Test("read-only: every writing command answers with the reason")
  func readOnly() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City")) { $0.isReadOnly = true }
    #expect(driver.title.contains("RO"))
    for keys in ["e", "E", "i", "D", "d d", "u", "^r", "C"] {
      driver.press(keys)
      #expect(driver.status.contains("read-only"), "\(keys): \(driver.status)")
      #expect(driver.browser.session.staged.isEmpty)
    }
  }

  @Test(":restore brings the whole store back to a commit, :pin names one")
  func restoreStore() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press(":")
    driver.type("pin before")
    driver.press("Enter")
    #expect(driver.shows("PINS") || driver.status.contains("before"))
    try Sample.delete(store, "City", "2661552")
    driver.tell(.storeStirred)
    driver.press(":")
    driver.type("restore before")
    driver.press("Enter")
    #expect(driver.shows("Restore the whole store to #4"))
    driver.press("Enter Enter")
    #expect(try city(store, "2661552") != nil)
  }

  @Test("the editor steps through the values that the field has in other records")
  func valuesSeen() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2661552"))
    while driver.browser.table.selectedPath(driver.browser.session) != ".countrycode" { driver.press("l") }
    driver.press("e")
    #expect(driver.shows("values seen"))
    driver.press("Down Down")
    #expect(driver.shows("┃ JP "))
    driver.press("Up Enter")
    #expect(driver.browser.session.staged.count == 1)
    #expect(driver.browser.record.document?[try DocumentPath(parsing: ".countrycode")] == "GE")
  }

  @Test("list elements are added, moved and removed; the selection stays on the one that is moved")
  func listElements() throws {
    let store = try Sample.store()
    let driver = Driver(
      store, size: Size(columns: 120, rows: 40), start: .init(datastore: "City", identifier: "2660646"))
    driver.press("3 G k k")
    #expect(driver.browser.record.selectedLine?.path.description == ".alternatenames[0]")
    driver.press("g k")
    #expect(driver.status.contains("the first already"))
    driver.press("g j g j")
    #expect(driver.browser.record.selectedLine?.path.description == ".alternatenames[2]")
    driver.press("g j")
    #expect(driver.status.contains("the last already"))
    driver.press("k d d i")
    driver.type("Ginevra")
    driver.press("Enter w Enter Enter")
    let names = try #require(city(store, "2660646")?[DocumentPath(parsing: ".alternatenames")])
    #expect(names == ["Genf", "Ginevra", "Geneva"])
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("a commit shows how far it is, and Esc cancels it: it is heard to the end, and what is staged stays")
  func commitProgress() throws {
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("Space Space Space d d w Enter")
    driver.isHolding = true
    driver.press("Enter")
    let id = try #require(driver.held.last?.0)
    driver.tell(.work(id, .progress(Progress(done: 1, total: 3))))
    #expect(driver.shows("committing  1 of 3  33.3 %"))
    driver.press("j Enter q Esc")
    #expect(driver.shows("committing"), "it may be too late")
    driver.tell(.work(id, .failed(.cancelled)))
    #expect(driver.status.contains("nothing was written"))
    #expect(driver.browser.session.staged.count == 3)
    driver.release()
    driver.press("Enter")
    #expect(try store.refresh().datastore("City")?.count == 7)
  }

  @Test("while the rules of indexes are proven the review shows how far it is, and Esc cancels it, staged and all")
  func proving() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("d d")
    driver.isHolding = true
    driver.press("w")
    let id = try #require(driver.held.last?.0)
    #expect(id.slot == .review)
    driver.tell(.work(id, .progress(Progress(done: 512, total: 2_048, found: .proof))))
    #expect(driver.shows("512 of 2 048 records"))
    #expect(driver.shows("25.0 %"))
    driver.press("Esc")
    #expect(driver.held.isEmpty)
    #expect(driver.browser.session.staged.count == 1)
    driver.isHolding = false
    driver.press("w Enter Enter")
    #expect(driver.title.contains("HEAD #5"))
    #expect(driver.browser.session.staged.isEmpty)
  }

  @Test("while another process holds the lock editing goes on, a commit says who, and is made when it is free again")
  func held() throws {
    let store = try Sample.store()
    let hold = WriterHold(processIdentifier: 812, program: "Atlas", since: Sample.now - 3_600_000_000_000)
    let held = HeldStore(store, by: hold)
    let driver = Driver(held, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    #expect(driver.title.contains("held by Atlas (pid 812) since"))
    driver.press("d d")
    #expect(driver.browser.session.staged.count == 1)
    driver.press("w Enter Enter")
    #expect(driver.shows("held by Atlas (pid 812) since"))
    #expect(driver.browser.session.staged.count == 1)
    held.letGo()
    driver.tell(.storeStirred)
    #expect(!driver.title.contains("held by"))
    #expect(try store.refresh().datastore("City")?.count == 9)
    #expect(driver.status.contains("committed #5") && driver.browser.session.staged.isEmpty, "\(driver.status)")
  }

  @Test(
    "a commit that waited for the lock is not made by itself if Esc stopped it, or if something else would be written",
    arguments: [true, false])
  func stoppedWaiting(isStopped: Bool) throws {
    let store = try Sample.store()
    let held = HeldStore(store, by: WriterHold(processIdentifier: 812, program: "Atlas", since: Sample.now))
    let driver = Driver(held, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press("d d w Enter Enter")
    #expect(driver.status.contains("it is committed when the lock is free"), "\(driver.status)")
    if isStopped {
      driver.press("Esc")
    } else {
      let identifier = try #require(driver.browser.session.staged.order.first).identifier.description
      try Sample.change(store, "City", identifier, ".population", to: 1)
    }
    held.letGo()
    driver.tell(.storeStirred)
    #expect(
      driver.browser.overlays.last is ReviewOverlay && driver.browser.session.staged.count == 1, "\(driver.screen)")
    #expect(try store.refresh().datastore("City")?.count == 10)
    #expect(driver.status.contains("the lock is free again"), "\(driver.status)")
  }
}
