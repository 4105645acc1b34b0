import StrataModel
import StrataDocuments
import StrataEngine
import StrataTerminal
import Testing

@testable import StoreBrowser

/// Staged values have columns as stored ones do.
@Suite("Columns of staged values")
struct StagedColumnTests {
  private static let long = "a much longer value"

  private func driver(_ documents: [Document]) throws -> Driver {
    Driver(
      try Sample.documents(documents), size: Size(columns: 120, rows: 20), start: .init(datastore: "T"))
  }

  /// The lines of the table, from its left border to its right one.
  private func table(_ driver: Driver) -> String {
    driver.lines.map { line in line.split(separator: "┃").dropFirst().first.map(String.init) ?? "" }.joined(
      separator: "\n")
  }

  private func stage(_ json: String, _ identifier: Int64, in driver: Driver) throws {
    let descriptor = try #require(driver.browser.session.current).descriptor
    let key = descriptor.storedKey(try descriptor.identifierEncoding.encode(.integer(identifier)))
    let edit = RecordEdit(
      datastore: "T", identifier: key, old: nil, new: RecordContent(version: "1", bytes: Array(json.utf8)))
    driver.browser.stage(StagedStep(title: "new", edits: [edit]))
    driver.tell(.event(.key(KeyChord(writing: "j"))))
  }

  @Test("a column grows for a value that is staged, because it was cut beside an empty screen")
  func edited() throws {
    let driver = try driver([["id": 1, "name": "n1"], ["id": 2, "name": "n2"]])
    driver.press("l e ^u")
    driver.type(Self.long)
    driver.press("Enter")
    #expect(table(driver).contains(Self.long), "\(driver.screen)")
  }

  @Test("yy copies and ga spells the value that is shown, which may be staged")
  func copied() throws {
    let driver = try driver([["id": 1, "name": "n1", "more": "m"], ["id": 2, "name": "n2"]])
    driver.press("l e ^u")
    driver.type(Self.long)
    driver.press("Enter g g y y")
    #expect(driver.copied == Self.long, "\(driver.screen)")
    driver.press("g a")
    #expect(driver.shows("0061") && !driver.shows("0031"), "\(driver.screen)")
    driver.press("Esc l y y")
    #expect(driver.copied == "m", "\(driver.screen)")
  }

  @Test("yy on a field that a new record has not copies nothing, and not the record")
  func copiedMissing() throws {
    let driver = try driver([["id": 1, "name": "n1", "more": "m"]])
    try stage("{\"id\":2,\"name\":\"n2\"}", 2, in: driver)
    driver.press("l y y")
    #expect(driver.copied == "n2", "\(driver.screen)")
    driver.press("l y y")
    #expect(driver.copied == "n2" && driver.status.contains("there is no value here"), "\(driver.screen)")
  }

  @Test("a new record's long value and new field have columns before the commit")
  func inserted() throws {
    let driver = try driver([["id": 1, "name": "n1"]])
    try stage("{\"id\":20000,\"name\":\"\(Self.long)\",\"note\":\"seen\"}", 20_000, in: driver)
    #expect(table(driver).contains(Self.long), "\(driver.screen)")
    #expect(table(driver).contains("note") && table(driver).contains("seen"), "\(driver.screen)")
    #expect(table(driver).contains("20000"), "\(driver.screen)")
  }

  @Test("the key of the index that orders the table grows for a staged value")
  func key() throws {
    let store = try Sample.documents([["id": 1, "name": "n1"], ["id": 2, "name": "n2"]], [Sample.index("name")])
    let driver = Driver(store, size: Size(columns: 120, rows: 20), start: .init(datastore: "T"))
    driver.press(":")
    driver.type("sort name")
    driver.press("Enter l e ^u")
    driver.type(Self.long)
    driver.press("Enter")
    #expect(driver.browser.table.source?.index == "name")
    #expect(table(driver).contains(Self.long), "\(driver.screen)")
  }

  @Test("staged values that were kept have columns when the store is opened again")
  func kept() throws {
    let folder = "/tmp/strata-test-\(UInt64.random(in: 0 ... .max))"
    defer { TestFile.remove(folder) }
    let store = try Sample.documents([["id": 1, "name": "n1"], ["id": 2, "name": "n2"]])
    func open() -> Driver {
      Driver(
        store, size: Size(columns: 120, rows: 20), start: .init(datastore: "T"), files: BrowserFiles(folder: folder))
    }
    do {
      // It holds the file of what is staged as long as it lives.
      let first = open()
      first.press("l e ^u")
      first.type(Self.long)
      first.press("Enter Q")
    }
    let second = open()
    #expect(second.browser.session.staged.totals.updated == 1)
    #expect(table(second).contains(Self.long), "\(second.screen)")
  }
}
