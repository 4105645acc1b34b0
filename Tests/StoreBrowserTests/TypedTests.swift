import StrataModel
import StrataDocuments
@testable import StrataTerminal
import Testing

@testable import StoreBrowser

/// Nothing typed is lost.
@Suite("Nothing typed is lost")
struct TypedTests {
  @Test("Esc in the editor keeps a draft; e offers it again, a second Esc drops it")
  func drafts() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("l l l e ^u 4 2 Esc")
    #expect(driver.browser.session.staged.isEmpty)
    driver.press("e")
    #expect(driver.shows("(draft)"))
    #expect(driver.shows("42"))
    driver.press("Esc e")
    #expect(!driver.shows("(draft)"))
    driver.press("Esc e ^u 4 3 Esc e Enter")
    #expect(driver.browser.session.staged.count == 1)
  }

  @Test("a draft is kept for the next start, also the text that is being typed when the program is killed")
  func keptDrafts() throws {
    let folder = "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))"
    defer { TestFile.remove(folder) }
    let files = BrowserFiles(folder: folder)
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"), files: files)
    driver.press("l l l e ^u 4 2 Esc j e ^u 4 3")
    let again = Driver(try Sample.store(), start: .init(datastore: "City"), files: files)
    again.press("l l l e")
    #expect(again.shows("(draft)") && again.shows("42"), "\(again.screen)")
    again.press("Enter j e")
    #expect(again.shows("(draft)") && again.shows("43"), "\(again.screen)")
    again.press("Esc j e 9 Backspace")
    #expect(again.browser.session.drafts.isEmpty)
  }

  @Test("a range that does not parse keeps the prompt and the text, with the caret at the fault")
  func brokenRange() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("l l l o f")
    driver.type("= x ..< 9")
    driver.press("Enter")
    #expect(driver.browser.overlays.last is Prompt)
    #expect(driver.status.contains("= x ..< 9"))
    driver.press("d d")
    #expect(driver.browser.session.staged.isEmpty)
  }

  @Test("what stands in a prompt is replaced by the first character typed, and edited after an arrow")
  func prefilled() throws {
    var field = TextField("old", isSelected: true)
    _ = field.apply(KeyChord(writing: "n"))
    #expect(field.text == "n")
    field = TextField("old", isSelected: true)
    _ = field.apply(try #require(KeyChord("Left")))
    _ = field.apply(KeyChord(writing: "n"))
    #expect(field.text == "olnd")
    field = TextField("old", isSelected: true)
    _ = field.apply(try #require(KeyChord("Backspace")))
    #expect(field.text.isEmpty)
    let store = try Sample.store()
    let driver = Driver(store, start: .init(datastore: "City"))
    driver.press("d d w Enter")
    driver.type("gone")
    driver.press("Enter")
    #expect(try store.commit(store.head.commit).action == "gone")
  }

  @Test("a template that is left as it was stages nothing; the same identifier twice is said, and nothing is lost")
  func templates() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("i")
    driver.tell(.editorClosed(EditorOutcome(text: driver.editorRequest?.text)))
    #expect(driver.browser.session.staged.isEmpty)
    for name in ["first", "second"] {
      driver.press("i")
      driver.tell(.editorClosed(EditorOutcome(text: "{\"geonameid\": 77, \"name\": \"\(name)\"}")))
    }
    let staged = driver.browser.session.staged
    #expect(staged.count == 1)
    let content = try #require(staged.edits.values.first?.new)
    #expect(String(decoding: content.bytes, as: UTF8.self).contains("first"))
    #expect(driver.editorRequest?.text.contains("second") == true, "the editor is open again on what was typed")
  }

  @Test("a bookmark on a new record leads there before it is committed, and in the past to the record of the past")
  func bookmarkOnNew() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    driver.press("i")
    driver.tell(.editorClosed(EditorOutcome(text: "{\"geonameid\": 77, \"name\": \"new\"}")))
    driver.press("m a g g ' a")
    #expect(driver.selectedIdentifier == "77", "\(driver.screen)")
    driver.press(", ' a")
    #expect(driver.status.contains("77") && driver.selectedIdentifier != "77", "\(driver.screen)")
  }

  @Test("x on a field of the review takes that field out, on the record all of it")
  func leaveFieldOut() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("l e ^u A Enter l l e ^u 5 Enter w")
    let before = try #require(driver.browser.session.staged.order.first)
    driver.press("j x")
    let edit = try #require(driver.browser.session.staged.edits[before])
    let text = String(decoding: try #require(edit.new).bytes, as: UTF8.self)
    #expect(text.contains("\"A\"") != text.contains(":5"))
    #expect(driver.browser.overlays.last is ReviewOverlay)
    driver.press("g g x")
    #expect(driver.browser.session.staged.isEmpty)
  }

  @Test("a file that is there is not replaced unasked, and an ending that cannot be written is refused")
  func export() throws {
    let file = "/tmp/strata-typed-\(UInt64.random(in: 0 ... .max)).jsonl"
    defer { TestFile.remove(file) }
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    try driver.play(": export \(file)")
    #expect(driver.shows("10 records"))
    try driver.play(": filter population > 1000000")
    try driver.play(": export \(file)")
    #expect(driver.browser.overlays.last is MenuOverlay)
    #expect(try TestFile.lines(file).count == 10)
    driver.press("G Enter")
    #expect(try TestFile.lines(file).count == 4)
    driver.press("s")
    driver.type("out.xlsx")
    driver.press("Enter")
    #expect(driver.browser.overlays.last is Prompt)
    #expect(driver.keys.contains("the ending says the format"))
  }

  @Test("^o brings back the range that another order took away, and the found row stands in the middle")
  func places() throws {
    let driver = Driver(try Sample.large(1000), start: .init(datastore: "Item"))
    try driver.play(": go 500")
    let list = driver.browser.table.list
    #expect((3...12).contains(list.selection - list.top))
    driver.press("M q")
    #expect(driver.browser.table.list == list)
    let range = KeyInterval(lower: .including(.integer(3)), upper: .excluding(.integer(90)))
    driver.browser.session.intend(.order(by: "value"))
    driver.press("Esc")
    driver.browser.session.intend(.setRange(range))
    driver.press("l")
    #expect(driver.browser.table.source?.range == range)
    try driver.play(": sort name")
    try driver.play(": sort id")
    driver.press("^o ^o")
    #expect(driver.browser.table.source?.range == range)
  }

  @Test("^c on the migration pane does not quit, whatever ended just before")
  func interrupt() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"), warmUp: FakeWarmUp())
    driver.press("M a ^c")
    #expect(!driver.hasQuit)
  }

  @Test("a number that no Int holds is refused where it is typed")
  func wideNumbers() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("l l l e ^u")
    driver.type("99999999999999999999")
    driver.press("Enter")
    #expect(driver.shows("does not fit into 64 bits"))
    #expect(driver.browser.session.staged.isEmpty)
  }

  @Test("in a window that is too small to show anything no key changes anything, and Q leaves also from an editor")
  func unseen() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.resize(Size(columns: 20, rows: 5))
    driver.press("j d d l e")
    driver.type("x")
    driver.tell(.event(.paste("y")))
    driver.press("Enter w Enter Enter")
    driver.resize(Size(columns: 80, rows: 24))
    #expect(driver.browser.session.staged.isEmpty && driver.browser.overlays.isEmpty, "\(driver.screen)")
    #expect(driver.browser.table.list.selection == 0 && driver.store.head.commit == driver.browser.session.head)
    driver.press("l e")
    driver.type("draft")
    driver.resize(Size(columns: 20, rows: 5))
    driver.press("q")
    #expect(!driver.hasQuit)
    driver.press("Q")
    #expect(driver.hasQuit)
  }

  @Test("Q in too small a window asks once how an opened file is left, which a larger window shows")
  func unseenLeaving() throws {
    let path = "/tmp/typed-\(UInt32.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(path) }
    try TestFile.write("name,qty\nbolt,5\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("d d")
    driver.resize(Size(columns: 20, rows: 5))
    driver.press("Q Q Q")
    driver.resize(Size(columns: 80, rows: 24))
    #expect(!driver.hasQuit && driver.shows("leave without saving"), "\(driver.screen)")
    driver.press("Esc")
    #expect(driver.browser.overlays.isEmpty, "\(driver.screen)")
  }

  @Test("an alias of Enter that is typed ahead confirms no review, and one of Q leaves too small a window")
  func aliases() throws {
    let store = try Sample.store()
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City")) {
      $0.settings.aliases = [KeyChord(writing: "é"): KeyChord(.enter), KeyChord(writing: "Й"): KeyChord(writing: "Q")]
    }
    driver.press("d d")
    driver.isHolding = true
    driver.press("w é é")
    driver.release()
    #expect(driver.status.contains("before the review was there"), "\(driver.screen)")
    #expect((driver.browser.overlays.last as? ReviewOverlay)?.name == nil)
    driver.resize(Size(columns: 20, rows: 5))
    driver.press("Й")
    #expect(driver.hasQuit)
  }

  @Test("an alias of Esc discards what was typed ahead of it")
  func aliasOfEscape() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City")) {
      $0.settings.aliases = [KeyChord(writing: "é"): KeyChord(.escape)]
    }
    driver.isHolding = true
    driver.press("d d d d é")
    #expect(driver.browser.typeAhead.isEmpty, "\(driver.screen)")
    driver.release()
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
  }

  @Test("overlays take the wheel and clicks")
  func mouse() throws {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City"))
    driver.press("? ?")
    driver.tell(.event(.mouse(MouseEvent(kind: .wheelDown, point: Point(column: 30, row: 10)))))
    #expect((driver.browser.overlays.last as? HelpOverlay)?.list.selection == 3)
    driver.press("Esc l C")
    let menu = try #require(driver.browser.overlays.last as? FinderOverlay)
    let rect = menu.rect(in: driver.browser.body, session: driver.browser.session)
    let click = Message.event(
      .mouse(MouseEvent(kind: .press(button: 1), point: Point(column: rect.left + 3, row: rect.top + 3))))
    driver.tell(click)
    #expect((driver.browser.overlays.last as? FinderOverlay)?.list.selection == 1)
  }

  @Test("a whole date that is typed over another one is that date, with its separators and its zone")
  func wholeDate() throws {
    let old = "2026-01-31T23:59:30Z"
    for (start, date) in [
      ("Home", "2025-12-24T08:05:15Z"), ("^u", "2031-02-03T04:05:06Z"), ("Home", "2031-02-30T04:05:06Z"),
    ] {
      let driver = Driver(try Sample.documents([["id": 1, "at": .string(old)]]), start: .init(datastore: "T"))
      driver.press("l e \(start)")
      driver.type(date)
      driver.press("Enter")
      let edit = try #require(driver.browser.session.staged.edits.values.first, "\(driver.screen)")
      let content = try #require(edit.new)
      let document = try #require(driver.browser.session.current).descriptor.document(of: content)
      #expect(document[member: "at"] == .string(date), "\(start)")
    }
  }
}
