import StrataDocuments
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("Fields whose names are not a plain words")
struct FieldNameTests {
  private static let names = ["odd name", "postal-code", "2020", "in", "a.b"]

  private func driver(_ name: String) throws -> Driver {
    let documents = (0..<12).map { number -> Document in
      .object([
        .init("id", .number(NumberText(number))), .init(name, .number(NumberText(number * 7 % 4))),
        .init("kind", .string(number.isMultiple(of: 2) ? "even" : "odd")),
        .init("size", .number(NumberText(number))),
      ])
    }
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: 120, rows: 24), start: .init(datastore: "T"))
    driver.browser.table.column = try #require(
      driver.browser.table.visibleColumns(driver.browser.session).firstIndex { $0.title == name })
    return driver
  }

  private func shown(_ driver: Driver) -> [String] {
    let table = driver.browser.table
    return (0..<table.count(driver.browser.session)).compactMap { table.row(at: $0)?.entry.identifier.description }
  }

  @Test("a column of such a name is sorted, filtered, counted, grouped and searched by its keys", arguments: names)
  func keys(name: String) throws {
    let value = { (number: Int) in number * 7 % 4 }
    let driver = try driver(name)
    driver.press("o")
    let sorted = (0..<12).sorted { (value($0), $0) < (value($1), $1) }.map(String.init)
    #expect(shown(driver) == sorted, "\(driver.screen)")
    driver.press("U g g j")
    let kept = (0..<12).filter { value($0) == value(1) }.map(String.init)
    driver.press("&")
    #expect(shown(driver) == kept, "\(driver.screen)")
    driver.press("Esc #")
    #expect(driver.browser.panes[FrequencyPane.self].reply?.values.map(\.count) == [3, 3, 3, 3], "\(driver.screen)")
    #expect(driver.shows("T by \(name)"), "\(driver.screen)")
    driver.press("Enter")
    #expect(shown(driver).count == 3, "\(driver.screen)")
    driver.press("Esc g b")
    #expect(driver.browser.panes[GroupPane.self].reply?.groups.map(\.count) == [3, 3, 3, 3], "\(driver.screen)")
    driver.press("Enter")
    #expect(shown(driver).count == 3, "\(driver.screen)")
    driver.press("Esc g P")
    #expect(driver.shows("Pivot"), "\(driver.screen)")
    driver.press("q g /")
    driver.type("3")
    driver.press("Enter")
    #expect(driver.status.contains("hit 1 of 3"), "\(driver.status)")
  }

  @Test("a name with a space is typed in quotes, or alone as it is")
  func typed() throws {
    let driver = try driver("odd name")
    for command in [":sort odd name", ":sort \"odd name\"", ":sort .\"odd name\" desc"] {
      try driver.play(command)
      #expect(driver.browser.table.source?.sort.map(\.path) == [".\"odd name\""], "\(driver.status)")
    }
    try driver.play(":frequency odd name")
    #expect(driver.browser.panes[FrequencyPane.self].reply?.values.count == 4, "\(driver.screen)")
    driver.press("q")
    try driver.play(":group \"odd name\" size")
    #expect(driver.browser.panes[GroupPane.self].reply?.groups.count == 4, "\(driver.screen)")
    driver.press("q")
    try driver.play(":pivot \"odd name\" kind size")
    #expect(driver.shows("T by .\"odd name\" × kind"), "\(driver.screen)")
    driver.press("q")
    try driver.play(":plot \"odd name\" size by kind")
    #expect(!driver.status.contains("⚠"), "\(driver.status)")
    driver.press("q")
    driver.press("f")
    driver.type("od")
    driver.press("Tab Tab")
    driver.type(" = 3")
    driver.press("Enter")
    #expect(shown(driver) == (0..<12).filter { $0 * 7 % 4 == 3 }.map(String.init), "\(driver.screen)")
    try driver.play(":filter odd = 3")
    #expect(driver.shows("no record that was read has “odd”"), "\(driver.screen)")
  }

  @Test("an index is added over a name with blanks or a colon, and of no kind that an index cannot have")
  func indexNames() throws {
    let blank = try IndexChange(adding: "x = Order ID : one-to-one")
    #expect(blank == .add(name: "x", path: DocumentPath([.member("Order ID")]), kind: .oneToOne))
    let colon = try IndexChange(adding: "x=\"a:b\"")
    #expect(colon == .add(name: "x", path: DocumentPath([.member("a:b")]), kind: .oneToMany))
    for kind in ["primary", "one-to-two", ""] {
      #expect(throws: ModelError.self) { try IndexChange(adding: "x=name:\(kind)") }
    }
  }
}
