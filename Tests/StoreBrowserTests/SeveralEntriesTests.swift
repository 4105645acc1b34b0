import StrataDocuments
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("Tables along an index that has a record at several places, or not at all")
struct SeveralEntriesTests {
  /// The records of `tags`, in its order: a 1, a 2, b 1, b 2, c 2; record 3 has no tag.
  private func driver(_ steps: String..., along index: String = "tags") throws -> Driver {
    let records: [Document] = [
      ["id": 1, "name": "one", "size": 10, "tags": ["a", "b"]],
      ["id": 2, "name": "two", "size": 20, "tags": ["a", "b", "c"]],
      ["id": 3, "name": "none", "size": 30, "tags": []],
    ]
    let indexes = try [Sample.index("name"), Sample.index("size"), Sample.index("tags", .manyToMany)]
    let driver = Driver(
      try Sample.documents(records, indexes), size: Size(columns: 120, rows: 30), start: .init(datastore: "T"))
    driver.browser.table.order(by: index)
    driver.press("j")
    for step in steps { try driver.play(step) }
    return driver
  }

  private func rows(_ driver: Driver) -> [String] {
    let table = driver.browser.table
    return (0..<table.storedCount).map { place in
      table.row(at: place).map { "\($0.entry.value) \($0.entry.identifier)" } ?? "none"
    }
  }

  @Test("a filter keeps the same rows where an index serves it and where all are read, also in a range")
  func filter() throws {
    let all = try driver(":filter name =~ /one|none/")
    #expect(all.shows("SCAN") && rows(all).count == 2, "\(all.screen)")
    let served = try driver(":filter name in (\"one\", \"none\")")
    #expect(served.shows("INDEX name") && rows(served) == rows(all), "\(served.screen)")
    let ranged = try driver(":filter = b", ":filter name = \"one\"")
    #expect(ranged.shows("INDEX name") && rows(ranged) == [rows(all)[1]], "\(ranged.screen)")
  }

  @Test("groups and figures are of the records that have rows, each once")
  func groups() throws {
    let grouped = try driver(":group name size")
    let groups = try #require(grouped.browser.panes[GroupPane.self].reply).groups
    #expect(groups.map { $0.cells[0] } == ["one", "two"] && groups.map(\.count) == [1, 1], "\(grouped.screen)")
  }

  @Test("an export has each record once, however far apart its rows are")
  func export() throws {
    let path = "/tmp/strata-export-\(UInt64.random(in: 0 ... .max)).jsonl"
    defer { TestFile.remove(path) }
    let records = (0..<200).map { number -> Document in
      .object([.init("id", .number(NumberText(number))), .init("tags", ["a", "b"])])
    }
    let store = try Sample.documents(records, [Sample.index("tags", .manyToMany)])
    let driver = Driver(store, start: .init(datastore: "T"))
    driver.browser.table.order(by: "tags")
    driver.press("j")
    try driver.play(":export \(path)")
    #expect(driver.status.contains("200 records"), "\(driver.status)")
    #expect(try TestFile.lines(path).count == 200)
  }

  @Test("each row of a pasted block is for its row of the table; a record that stands above already is named")
  func block() throws {
    let driver = try driver("keys g g")
    driver.go(to: ".name")
    driver.tell(.event(.paste("first\nsecond\nthird\n")))
    #expect(driver.shows("row 3 of the block  1 stands above already"), "\(driver.screen)")
    driver.press("Enter")
    let names = try driver.stagedDocuments().mapValues { $0[member: "name"] }
    #expect(names == ["1": "first", "2": "second"], "\(driver.screen)")
  }

  @Test("the cross-hair of a plot tells computed values too")
  func crossHair() throws {
    let driver = try driver(":column double = size * 2", ":plot double size", along: "size")
    let pane = try #require(driver.browser.panes[.plot] as? PlotPane)
    #expect(pane.point.map { "\($0.x) \($0.y)" } == "40 20", "\(driver.screen)")
  }
}
