import StrataModel
import StrataDocuments
import FoundationEssentials
import StrataTerminal
import Testing

@testable import StoreBrowser

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Leaving a file that was edited")
struct LeavingTests {
  @Test("a row that could not be read is told when leaving, and stays in the file with the link that leads to it")
  func leavingUnreadable() throws {
    let folder = "/tmp/strata-leaving-\(UInt64.random(in: 0 ... .max))"
    TestFile.makeFolder(folder)
    defer { TestFile.remove(folder) }
    try TestFile.write("name,qty\nbolt,5\nscrew\n", to: folder + "/real.csv")
    try #require(symlink("real.csv", folder + "/in.csv") == 0)
    try #require(chmod(folder + "/real.csv", 0o640) == 0)
    let (store, file) = try DocumentFile.open(folder + "/in.csv")
    _ = try Sample.change(store, file.datastore, "1", ".qty", to: 6)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("u Enter Enter u")
    #expect(
      driver.status.contains("there is no commit to take back"), "the rows of a file are no edit: \(driver.screen)")
    driver.press("^r Enter Enter q")
    #expect(driver.shows("with the 1 row that could not be read"), "\(driver.screen)")
    driver.press("j j Enter")
    #expect(driver.hasQuit)
    #expect(try TestFile.text(folder + "/real.csv") == "name,qty\nbolt,6\nscrew\n")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder + "/in.csv") == "real.csv")
    #expect(try TestFile.permissions(folder + "/real.csv") == 0o640)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["in.csv", "real.csv"])
  }

  @Test(
    "an opened file names the column that identifies its records and shows it first, and is written with what is staged, after its review"
  )
  func identified() throws {
    let path = "/tmp/leaving-\(UInt32.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(path) }
    try TestFile.write("name,qty,id\nbolt,5,b7\nnut,7,n2\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    #expect(driver.status.contains("2 records by row, identified by id (--id COLUMN chooses)"), "\(driver.status)")
    let titles = driver.browser.table.visibleColumns(driver.browser.session).map(\.title)
    #expect(titles == ["row", "id", "name", "qty"])
    _ = try Sample.change(store, file.datastore, "1", ".qty", to: 6)
    driver.tell(.storeStirred)
    driver.press("d d q j j Enter")
    #expect(!driver.hasQuit && driver.screen.contains("delete"), "\(driver.screen)")
    driver.press("Esc q j j Enter Enter Enter")
    #expect(driver.farewell?.hasSuffix("was written anew") == true, "\(driver.screen)")
    #expect(try TestFile.text(path) == "name,qty,id\nnut,7,n2\n")
  }

  @Test("the first row of a file that has a header alone is proposed with its columns, committed and written")
  func firstRow() throws {
    let path = "/tmp/leaving-\(UInt32.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(path) }
    try TestFile.write("name,a.qty\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("i")
    let text = try #require(driver.editorRequest?.text)
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("//") }.joined()
    let template = try JSONParser.parse(Array(lines.utf8))
    #expect(template == ["name": nil, "a": ["qty": nil], "row": 1], "\(text)")
    driver.tell(.editorClosed(EditorOutcome(text: #"{"name":"bolt","a":{"qty":5},"row":1}"#)))
    driver.press("w Enter Enter")
    #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
    driver.press("q j j Enter")
    #expect(try TestFile.text(path) == "name,a.qty\nbolt,5\n")
  }

  @Test("after the last of all row numbers, the same one is proposed")
  func lastRow() throws {
    let path = "/tmp/leaving-\(UInt32.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(path) }
    try TestFile.write("name,qty\nbolt,5\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("i")
    driver.tell(.editorClosed(EditorOutcome(text: #"{"name":"nut","qty":7,"row":9223372036854775807}"#)))
    #expect(driver.browser.session.staged.count == 1, "\(driver.screen)")
    driver.press("i")
    #expect(driver.editorRequest?.text.contains("\"row\": 9223372036854775807") == true, "\(driver.screen)")
  }

  @Test("a new row of an opened file, and copies of rows, are proposed under the next row numbers")
  func nextRow() throws {
    let path = "/tmp/leaving-\(UInt32.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(path) }
    try TestFile.write("name,qty\nbolt,5\nnut,7\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("i")
    #expect(driver.editorRequest?.text.contains("\"row\": 3") == true, "\(driver.editorRequest?.text ?? "")")
    driver.tell(.editorClosed(EditorOutcome(text: "{\"name\": \"screw\", \"qty\": 1, \"row\": 3}")))
    driver.press("g g D")
    #expect(driver.editorRequest?.text.contains("\"row\": 4") == true, "\(driver.editorRequest?.text ?? "")")
    driver.tell(.editorClosed(EditorOutcome(text: driver.editorRequest?.text)))
    driver.press("w Enter Enter i")
    #expect(driver.editorRequest?.text.contains("\"row\": 5") == true, "\(driver.editorRequest?.text ?? "")")
    driver.tell(.editorClosed(EditorOutcome(text: "")))
    driver.press("q j j Enter")
    #expect(try TestFile.text(path) == "name,qty\nbolt,5\nnut,7\nscrew,1\nbolt,5\n")
  }

  @Test("what is staged while the file is written is not left behind: the browser stays")
  func stagedMeanwhile() throws {
    let path = "/tmp/leaving-\(UInt32.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(path) }
    try TestFile.write("name,qty\nbolt,5\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    _ = try Sample.change(store, file.datastore, "1", ".qty", to: 6)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("q j j")
    driver.isHolding = true
    driver.press("Enter l e ^u")
    driver.type("nut")
    driver.press("Enter")
    driver.release()
    #expect(!driver.hasQuit && driver.browser.session.staged.count == 1, "\(driver.screen)")
    #expect(driver.status.contains("without what was done meanwhile"), "\(driver.screen)")
    #expect(try TestFile.text(path) == "name,qty\nbolt,6\n")
    driver.press("u q j j j Enter")
    #expect(driver.hasQuit, "\(driver.screen)")
  }

  @Test("a file with another name is written in place, with a copy of what it was")
  func leavingLinked() throws {
    let folder = "/tmp/strata-leaving-\(UInt64.random(in: 0 ... .max))"
    TestFile.makeFolder(folder)
    defer { TestFile.remove(folder) }
    try TestFile.write("name,qty\nbolt,5\n", to: folder + "/in.csv")
    try #require(link(folder + "/in.csv", folder + "/other.csv") == 0)
    let (store, file) = try DocumentFile.open(folder + "/in.csv")
    _ = try Sample.change(store, file.datastore, "1", ".qty", to: 6)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("q j j Enter")
    #expect(driver.hasQuit && driver.farewell?.contains("what it was lies at") == true)
    #expect(try TestFile.text(folder + "/other.csv") == "name,qty\nbolt,6\n")
    #expect(try TestFile.text(folder + "/in.csv.before-1") == "name,qty\nbolt,5\n")
  }

  @Test("a file that another program changed is not replaced: compare, put the edits into it, or write another one")
  func leavingChanged() throws {
    let path = "/tmp/leaving-\(UInt32.random(in: 0 ... .max)).csv"
    defer { for name in [path, path.replacing(".csv", with: "-2.csv")] { TestFile.remove(name) } }
    try TestFile.write("name,qty\nbolt,5\nnut,7\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    func open() -> Driver { Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file } }
    _ = try Sample.change(store, file.datastore, "1", ".qty", to: 6)
    try TestFile.write("name,qty\nbolt,5\nnut,8\n", to: path)
    let driver = open()
    driver.press("q j j Enter")
    #expect(!driver.hasQuit && driver.shows("was changed by another program: 1 row"), "\(driver.screen)")
    #expect(try TestFile.text(path) == "name,qty\nbolt,5\nnut,8\n")
    driver.press("j Enter")
    #expect(driver.shows("qty   was 7   in the file 8   mine 7"), "\(driver.screen)")
    driver.press("Esc q j j Enter j j j Enter")
    #expect(driver.hasQuit && driver.farewell?.contains("-2.csv was written") == true, "\(driver.screen)")
    #expect(try TestFile.text(path.replacing(".csv", with: "-2.csv")) == "name,qty\nbolt,6\nnut,7\n")
    let other = open()
    other.press("q j j Enter j j Enter")
    #expect(other.hasQuit)
    #expect(try TestFile.text(path) == "name,qty\nbolt,6\nnut,8\n")
  }

  @Test(
    "a file that was removed, or became another thing, is named, and the records can be written there again or beside it",
    arguments: [false, true])
  func leavingLost(isFolder: Bool) throws {
    let path = "/tmp/leaving-\(UInt32.random(in: 0 ... .max)).csv"
    let beside = path.replacing(".csv", with: "-2.csv")
    defer { for name in [path, beside] { TestFile.remove(name) } }
    try TestFile.write("name,qty\nbolt,5\nscrew\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    _ = try Sample.change(store, file.datastore, "1", ".qty", to: 6)
    TestFile.remove(path)
    if isFolder { TestFile.makeFolder(path) }
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("q j j Enter")
    #expect(!driver.hasQuit && driver.shows(".csv cannot be read any more"), "\(driver.screen)")
    #expect(driver.shows(isFolder ? "write another file" : "write it again"), "\(driver.screen)")
    #expect(driver.shows(", without 1 unreadable row"), "\(driver.screen)")
    driver.press("j Enter")
    #expect(driver.hasQuit, "\(driver.screen)")
    #expect(try TestFile.text(isFolder ? beside : path) == "name,qty\nbolt,6\n")
  }

  @Test("commits on other contents of a file are named when it is opened, and made again when it has those contents")
  func otherContents() throws {
    let folder = "/tmp/strata-leaving-\(UInt64.random(in: 0 ... .max))"
    TestFile.makeFolder(folder)
    defer { TestFile.remove(folder) }
    let (path, before) = (folder + "/in.csv", "name,qty\nbolt,5\n")
    func greeting(_ content: String, edits: Bool = false) throws -> String? {
      try TestFile.write(content, to: path)
      let (store, file) = try DocumentFile.open(path)
      let (files, greeting) = try BrowserFiles.files(in: folder + "/state", of: file, in: store)
      guard edits else { return greeting }
      let driver = Driver(store, start: .init(datastore: file.datastore), files: files) { $0.documentFile = file }
      _ = try Sample.change(store, file.datastore, "1", ".qty", to: 6)
      driver.tell(.storeStirred)
      return greeting
    }
    #expect(try greeting(before, edits: true) == nil)
    #expect(
      try greeting("name,qty\nnut,1\n")
        == "in.csv was changed: what was done on its former contents is there again when it has them")
    #expect(try greeting(before) == "1 commit of the last time made again; q asks what becomes of them")
  }

  @Test("staged changes of other contents of a file do not meet its rows, and are there again with those contents")
  func otherRows() throws {
    let folder = "/tmp/strata-leaving-\(UInt64.random(in: 0 ... .max))"
    TestFile.makeFolder(folder)
    defer { TestFile.remove(folder) }
    let (path, before) = (folder + "/in.csv", "name,qty\nbolt,5\nnut,7\n")
    func open(_ content: String) throws -> Driver {
      try TestFile.write(content, to: path)
      let (store, file) = try DocumentFile.open(path)
      let (files, greeting) = try BrowserFiles.files(in: folder + "/state", of: file, in: store)
      return Driver(store, start: .init(datastore: file.datastore), files: files) {
        ($0.documentFile, $0.greeting) = (file, greeting)
      }
    }
    func edit() throws {
      let driver = try open(before)
      driver.press("l l e ^u")
      driver.type("9")
      driver.press("Enter j d d")
      #expect(driver.browser.session.staged.count == 2)
    }
    try edit()
    func inserted() throws {
      let driver = try open("name,qty\nscrew,5\nbolt,5\nnut,7\n")
      #expect(driver.browser.session.staged.isEmpty, "\(driver.screen)")
      #expect(driver.status.contains("in.csv was changed: "), "\(driver.status)")
    }
    try inserted()
    let driver = try open(before)
    #expect(driver.browser.session.staged.count == 2 && driver.status.contains("2 staged changes"), "\(driver.status)")
  }

  @Test(
    "drafts and bookmarks of an opened file belong to its contents: rows of others do not get them, and a written file keeps them"
  )
  func rememberedRows() throws {
    let folder = "/tmp/strata-leaving-\(UInt64.random(in: 0 ... .max))"
    TestFile.makeFolder(folder)
    defer { TestFile.remove(folder) }
    let (path, before) = (folder + "/in.csv", "name,qty\nbolt,5\nnut,7\n")
    func open(_ content: String? = nil) throws -> Driver {
      if let content { try TestFile.write(content, to: path) }
      let (store, file) = try DocumentFile.open(path)
      let (files, greeting) = try BrowserFiles.files(in: folder + "/state", of: file, in: store)
      return Driver(store, start: .init(datastore: file.datastore), files: files) {
        ($0.documentFile, $0.greeting) = (file, greeting)
      }
    }
    func isKept(_ driver: Driver) -> Bool {
      driver.press("' a")
      let isMarked = driver.selectedIdentifier == "2"
      driver.press("g g l l e")
      // A draft that was changed is kept again.
      defer { driver.press("z Esc") }
      return isMarked && driver.shows("wxyz")
    }
    func edit() throws {
      let driver = try open(before)
      driver.press("j m a k l l e ^u")
      driver.type("wxyz")
      driver.press("Esc")
      driver.press("/")
      driver.type("bolt")
      driver.press("Enter")
    }
    try edit()
    func others() throws {
      let driver = try open("name,qty\nscrew,5\nbolt,5\nnut,7\n")
      #expect(driver.status.contains("in.csv was changed: "), "\(driver.status)")
      #expect(driver.browser.session.remembered.searches == ["bolt"])
      driver.press("' a")
      #expect(driver.selectedIdentifier == "1" && driver.status.contains("there is no bookmark a"), "\(driver.status)")
      driver.press("l l e")
      #expect(!driver.shows("wxyz"), "\(driver.screen)")
    }
    try others()
    func write() throws {
      let driver = try open(before)
      #expect(isKept(driver), "\(driver.screen)")
      driver.press("j e ^u")
      driver.type("9")
      driver.press("Enter w Enter Enter")
      driver.press("q j j Enter")
      #expect(driver.hasQuit, "\(driver.screen)")
    }
    try write()
    #expect(try TestFile.text(path) == "name,qty\nbolt,5\nnut,9\n")
    let driver = try open()
    #expect(driver.browser.session.configuration.greeting == nil)
    #expect(isKept(driver), "\(driver.screen)")
  }

  @Test("the farewell says that rows whose field does not tell them apart were saved by their numbers")
  func leavingByRow() throws {
    let path = "/tmp/leaving-\(UInt32.random(in: 0 ... .max)).csv"
    defer { for name in [path, path.replacing(".csv", with: ".strata")] { TestFile.remove(name) } }
    try TestFile.write("id,qty\n1,5\n2,7\n", to: path)
    let (store, file) = try DocumentFile.open(path)
    _ = try Sample.change(store, file.datastore, "1", ".id", to: 2)
    let driver = Driver(store, start: .init(datastore: file.datastore)) { $0.documentFile = file }
    driver.press("q j Enter")
    #expect(
      driver.farewell?.hasSuffix(".strata, 2 commits, by the numbers of the rows: id does not tell all apart") == true,
      "\(driver.screen)")
  }

  /// A browser on a city's population, which is staged.
  private func staged(files: BrowserFiles = .none, isHolding: Bool = false) throws -> Driver {
    let driver = Driver(try Sample.store(), start: .init(datastore: "City", identifier: "2661552"), files: files)
    while driver.browser.table.selectedPath(driver.browser.session) != ".population" { driver.press("l") }
    driver.isHolding = isHolding
    driver.press("e ^u")
    driver.type("8")
    driver.press("Enter")
    return driver
  }

  @Test("if the staged changes cannot be kept, the line says first what another Q does: the reason may not fit into it")
  func unkept() throws {
    let driver = try staged(isHolding: true)
    driver.press("Q")
    let saving = try #require(driver.held.last { $0.0.slot == .staging }?.0)
    driver.tell(.work(saving, .failed(.storage("the staged changes cannot be kept: ENOSPC", kind: .failed))))
    #expect(driver.status.contains("Q again leaves without it: the staged changes"), "\(driver.status)")
  }

  @Test("without a home folder nothing that is staged is called kept")
  func noHome() throws {
    let driver = try staged(files: BrowserFiles(forStoreAt: "/tmp/Atlas.strata", of: nil, environment: [:]))
    #expect(driver.title.contains("staged NOT on disk"), "\(driver.title)")
    driver.press("Q Q")
    #expect(driver.hasQuit)
    let farewell = driver.farewell ?? ""
    #expect(farewell.contains("NOT kept") && farewell.contains("neither HOME nor XDG_STATE_HOME"), "\(farewell)")
  }
}
