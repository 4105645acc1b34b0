import StrataDocuments
import StrataEngine
import StrataExpressions
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("The view as text")
struct QueryTests {
  private func driver(_ steps: String...) throws -> Driver {
    let driver = Driver(try Sample.store(), size: Size(columns: 140, rows: 30), start: .init(datastore: "City"))
    for step in steps { try driver.play(step) }
    return driver
  }

  private func save(_ driver: Driver, _ change: (String) -> String) {
    driver.tell(.editorClosed(EditorOutcome(text: change(driver.editorRequest?.text ?? ""))))
  }

  private func identifiers(_ driver: Driver) -> [String] {
    let table = driver.browser.table
    return (0..<table.storedCount).compactMap { table.row(at: $0)?.entry.identifier.description }
  }

  private func population(_ city: Document) -> Int {
    if case .number(let number)? = city[member: "population"] { Int(number.text) ?? 0 } else { 0 }
  }

  @Test(
    "it opens with the condition, the order and the limit, and with its plan as a comment; saved as it is, nothing changes"
  )
  func opens() throws {
    let driver = try driver(":filter population > 150000", ":sort population desc", "keys g q")
    let text = try #require(driver.editorRequest?.text)
    #expect(text.contains("\nwhere   population > 150000\n") && text.contains("\norder   population desc\n"), "\(text)")
    #expect(text.contains("// plan: INDEX population") && text.hasPrefix("// City: "), "\(text)")
    try driver.play(":sort timezone desc")
    driver.press("g q")
    #expect(driver.editorRequest?.text.contains("· SORT timezone descending") == true)
    save(driver) { $0 }
    driver.tell(.command(.filter, argument: ""))
    try driver.play(":sort population desc")
    driver.press("g q")
    #expect(driver.editorRequest?.text.contains("// plan: INDEX population ... · SORT no") == true)
    save(driver) { $0 }
    try driver.play(":filter population > 150000")
    driver.press("g q")
    let before = (driver.browser.table.source, identifiers(driver))
    save(driver) { $0 }
    #expect(driver.browser.table.source == before.0 && identifiers(driver) == before.1)
    driver.press("g q")
    save(driver) { _ in "\n" }
    #expect(driver.status.contains("the view is as it was") && driver.browser.table.source == before.0)
  }

  @Test("the records of a group of limited rows are said to be of all rows")
  func limitedGroup() throws {
    let driver = try driver()
    driver.press("g q")
    save(driver) { _ in "order population desc\nlimit 3\ngroup timezone population\n" }
    driver.press("Enter")
    #expect(driver.status.contains("among all rows, not among the first 3 alone"), "\(driver.screen)")
  }

  @Test("what is saved is applied: condition, order, selected fields and limit, as in a loop over the records")
  func applies() throws {
    let driver = try driver("keys g q")
    save(driver) { _ in
      """
      where countrycode != "CH"
      order population desc, name
      select population, name
      limit 3
      """
    }
    let cities = try Sample.cityList(of: try Sample.store())
    let expected = cities.filter { $0.1[member: "countrycode"] != .string("CH") }
      .sorted { population($0.1) > population($1.1) }.prefix(3).map(\.0)
    #expect(identifiers(driver) == expected, "\(driver.screen)")
    #expect(driver.browser.table.visibleColumns(driver.browser.session).compactMap(\.path) == [".population", ".name"])
    #expect(driver.shows("limit 3") && driver.shows(" of 3 · "), "\(driver.screen)")
    try driver.play(":group countrycode")
    let groups = try #require(driver.browser.panes[GroupPane.self].reply).groups
    #expect(
      groups.map { "\($0.cells[0].searchText) \($0.cells[1].compactJSON)" } == ["JP 3"],
      "the groups are of the shown rows")
    driver.press("Esc g q")
    #expect(driver.editorRequest?.text.contains("select  population, name\n") == true)
    save(driver) { _ in "group countrycode population\n" }
    #expect(driver.shows("City by countrycode") && driver.shows("figures of population"), "\(driver.screen)")
    // From the groups, they are a part of the text.
    driver.press("g q")
    #expect(driver.editorRequest?.text.contains("\ngroup   countrycode population\n") == true)
    save(driver) { _ in "order population desc\nlimit 3\ngroup timezone population\n" }
    let largest = cities.sorted { population($0.1) > population($1.1) }.prefix(3)
    #expect(
      driver.browser.panes[GroupPane.self].reply?.groups.map(\.cells[0].searchText)
        == Set(largest.map { $0.1[member: "timezone"]?.searchText ?? "" }).sorted(), "\(driver.screen)")
    driver.press("g q")
    save(driver) { $0.replacing("timezone population", with: "") }
    #expect(driver.browser.focus == .table && driver.browser.table.source?.limit == 3, "\(driver.screen)")
    driver.press("g q")
    save(driver) { _ in "order name\n" }
    #expect(driver.browser.table.storedCount == 10 && driver.browser.table.source?.limit == nil)
    driver.press("U")
    #expect(driver.browser.table.storedCount == 3)
  }

  @Test(
    "a mistake is shown with its line and column, and the editor opens again at it with the text as it was",
    arguments: [
      ("where population >\n", 1, "expected"), ("order name\nwhere nmae = 5\n", 2, "no field nmae; did you mean name?"),
      ("order name sideways\n", 1, "“sideways” is not a direction"), ("limit few\n", 1, "“few” is not a number"),
      ("select name\n\nwher name = 1\n", 3, "did you mean where?"), ("limit 1\nlimit 2\n", 2, "two lines with limit"),
      ("group a b c\n", 1, "groups are by one field"), ("select .[\n", 1, "is not a field"),
      ("order name\ncolumn a = b +\n", 2, "expected"), ("column x = x + 1\n", 1, "cannot be computed from itself"),
      ("limit 1\ncolumn name = population\n", 2, "the records have a field name"),
      ("limit 1\njoin timezone name\n", 2, "timezone leads to no datastore"),
      ("column a = nmae\n", 1, "no field nmae; did you mean name?"), ("limit 1\nrange 1\n", 2, "A ..< B of INDEX"),
      ("limit 1\nrange 1 ..< 2 of pop\n", 2, "pop"), ("range x ..< 2 of population\n", 1, "x"),
      ("where population > 100\nlimit 0\n", 2, "“0” is not a number"),
      ("where name = \"nope\"\norder nope\n", 2, "no field nope"), ("limit 1\nselect name, *\n", 2, "no field"),
      ("limit 1\norder name, -population\n", 2, "no field"), ("where name = 1\nwhere name = 2\n", 2, "two lines"),
      ("select population\ncolumn population = 1\n", 2, "the records have a field population"),
      ("where name = \"timezone name\"\njoin timezone name\n", 2, "timezone leads to no datastore"),
      ("where name = \"x\"\nrange x ..< 2 of population\n", 2, "x"), ("limit 1\n  wher x\n", 2, "did you mean where?"),
    ])
  func mistakes(text: String, line: Int, words: String) throws {
    let driver = try driver("keys g q")
    let before = driver.browser.table.source
    save(driver) { _ in text }
    let shown = line + 5
    #expect(driver.status.contains("line \(shown), column") && driver.status.contains(words), "\(driver.status)")
    let again = try #require(driver.editorRequest)
    #expect(again.text.hasSuffix(text) && again.text.contains(words) && again.text.hasPrefix("// line \(shown)"))
    let marked = again.text.split(separator: "\n", omittingEmptySubsequences: false)[again.line - 1]
    #expect(marked == text.split(separator: "\n", omittingEmptySubsequences: false)[line - 1])
    #expect(driver.browser.table.source == before)
    save(driver) { _ in "// done\nwhere population > 1M\n" }
    #expect(driver.browser.table.source?.filter == "population > 1M")
  }

  @Test("a name keeps the view under VIEWS, from where all of it comes back")
  func named() throws {
    let driver = try driver("keys g q")
    save(driver) { _ in "where population > 150000\norder name\nlimit 2\nname two\n" }
    #expect(driver.browser.session.remembered.views.map(\.name) == ["two"])
    let shown = identifiers(driver)
    #expect(shown.count == 2)
    driver.press("g q")
    save(driver) { _ in "order population\n" }
    #expect(identifiers(driver).count == 10)
    driver.press("^p")
    driver.type("two")
    driver.press("Enter")
    #expect(identifiers(driver) == shown, "\(driver.screen)")
    try driver.play(":view again")
    #expect(driver.browser.session.remembered.views.last?.query?.contains("limit   2") == true)
  }

  @Test("a view keeps the range of an index, in the order of the index or in another one")
  func range() throws {
    let cities = try Sample.cityList(of: try Sample.store()).filter { (20_000..<150_000).contains(population($0.1)) }
    let byPopulation = cities.sorted { population($0.1) < population($1.1) }.map(\.0)
    #expect(byPopulation.count > 1 && byPopulation.count < 10)
    let driver = try driver(":sort population", ":filter = 20000 ..< 150000", ":view middle")
    #expect(identifiers(driver) == byPopulation, "\(driver.screen)")
    try driver.play(":sort population desc")
    driver.press("g q")
    #expect(driver.editorRequest?.text.contains("\nrange   20000 ..< 150000 of population\n") == true)
    save(driver) { $0.replacing(/order .*/, with: "order name") }
    let name = { (city: Document) in city[member: "name"]?.searchText ?? "" }
    let byName = cities.sorted { name($0.1).utf8.lexicographicallyPrecedes(name($1.1).utf8) }.map(\.0)
    #expect(identifiers(driver) == byName, "\(driver.status)\n\(driver.screen)")
    driver.press("g q")
    save(driver) { $0.replacing(/order .*/, with: "order population desc") }
    #expect(identifiers(driver) == byPopulation.reversed(), "\(driver.status)\n\(driver.screen)")
    #expect(driver.browser.table.source?.sort.isEmpty == true, "the index has this order")
    driver.press("g q")
    save(driver) { $0.replacing(/range .*/, with: "") }
    #expect(identifiers(driver).count == 10)
    driver.press("^p")
    driver.type("middle")
    driver.press("Enter")
    #expect(identifiers(driver) == byPopulation, "\(driver.status)\n\(driver.screen)")
  }

  @Test(
    "a view keeps the computed and joined columns that it uses, and no other ones: it has the same rows in any table")
  func madeColumns() throws {
    let driver = try driver(
      ": reference countrycode Country", ":join home = countrycode population", ":column other = geonameid * 2",
      ":column part = population / home.population", ":column share = part * 100", ":filter share > 1",
      ":sort share desc", ":view large")
    let rows = identifiers(driver)
    #expect(rows.count > 1 && rows.count < 10)
    let view = try #require(driver.browser.session.remembered.views.first)
    #expect(view.query?.contains("column  part = population / home.population\ncolumn  share = part * 100\n") == true)
    #expect(view.query?.contains("join    home = countrycode population\n") == true)
    #expect(view.query?.contains("other") == false, "\(view.query ?? "")")
    // In a table without these columns, and in one in which their names mean others.
    for steps in [[], [":column share = population * 0", ":column mine = population + 1"]] {
      let again = try self.driver(": reference countrycode Country")
      again.browser.session.remembered.views = [view]
      for step in steps { try again.play(step) }
      again.press("^p")
      again.type("large")
      again.press("Enter")
      #expect(identifiers(again) == rows, "\(again.status)\n\(again.screen)")
      #expect(again.browser.table.source?.computed.contains { $0.text.hasPrefix("mine") } == !steps.isEmpty)
      again.press("U")
      let columns = again.browser.table.visibleColumns(again.browser.session).compactMap(\.path)
      #expect(!columns.contains(".home.population") && !columns.contains(".part"), "\(again.screen)")
      #expect(identifiers(again).count == 10 && again.browser.table.source?.joined.isEmpty == true, "\(again.screen)")
    }
    // The text of the view has them, too.
    driver.press("g q")
    #expect(driver.editorRequest?.text.contains("\ncolumn  share = part * 100\n") == true)
    save(driver) {
      $0.replacing("share = part * 100", with: "share = part * 10").replacing("share > 1", with: "share > 0.1")
    }
    #expect(identifiers(driver) == rows && driver.shows("share"), "\(driver.status)\n\(driver.screen)")
    try driver.play(":column share")
    #expect(driver.status.contains("the column share is gone") && driver.status.contains("view large adds it again"))
    try driver.play(":join home")
    #expect(driver.status.contains("view large adds it again"), "\(driver.status)")
  }

  @Test("a line may be indented, also behind a byte order mark, and comments stand anywhere")
  func indented() throws {
    let driver = try driver("keys g q")
    save(driver) { _ in "\u{FEFF}  where population > 1M\n\t// the largest\n\tlimit 1\r\n" }
    #expect(driver.browser.table.source?.filter == "population > 1M", "\(driver.status)")
    #expect(driver.browser.table.source?.limit == 1)
  }

  @Test("a view that is named in the text keeps each column that the text makes, and the name is said")
  func namedColumns() throws {
    let driver = try driver(": reference countrycode Country")
    driver.press("g q")
    save(driver) { _ in
      "where population > 8M\ncolumn half = population / 2\njoin home = countrycode population\nname halves\n"
    }
    let query = try #require(driver.browser.session.remembered.views.first?.query)
    #expect(query.contains("column  half = population / 2\n"), "\(query)")
    #expect(query.contains("join    home = countrycode population\n"), "\(query)")
    // The row under the cursor is not among these any more, which is said behind it.
    #expect(driver.status.contains("view halves: population > 8M; "), "\(driver.status)")
  }

  @Test(
    "a text that is saved again with its mistake does not open the editor again, and is there when it is opened",
    arguments: ["wher x\n", "where nmae = 5\n"])
  func unchangedMistake(text: String) throws {
    let driver = try driver("keys g q")
    let before = driver.browser.table.source
    save(driver) { _ in text }
    let count = driver.outward.count
    save(driver) { $0 }
    #expect(driver.status.contains("left as it was: line 6"), "\(driver.status)")
    #expect(!driver.outward.dropFirst(count).contains { if case .edit = $0 { true } else { false } })
    #expect(driver.browser.table.source == before)
    driver.press("j g q")
    let again = try #require(driver.editorRequest)
    #expect(again.text.hasPrefix("// line 6") && again.text.hasSuffix(text), "\(again.text)")
    save(driver) { _ in "" }
    driver.press("g q")
    #expect(driver.editorRequest?.text.contains(text) == false, "an empty file drops it")
  }

  @Test("a view of a field that is gone says so, and with such a column shows the others; no view is forgotten unsaid")
  func gone() throws {
    let driver = try driver("keys j")
    let (before, columns) = (identifiers(driver), driver.browser.table.visibleColumns(driver.browser.session).count)
    for (name, filter, query) in [
      ("lost", "nmae = 1", nil), ("unsorted", "", "order nmae desc\n"), ("cut", "", "select name, nmae\n"),
    ] {
      driver.browser.session.remembered.views.append(
        NamedView(name: name, datastore: "City", filter: filter, query: query))
      driver.press("^p")
      driver.type(name)
      driver.press("Enter")
      #expect(driver.status.contains("no field nmae; did you mean name?"), "\(driver.screen)")
      #expect(identifiers(driver) == before, "\(driver.screen)")
    }
    #expect(driver.browser.table.visibleColumns(driver.browser.session).count < columns)
    try driver.play(":forget-view lost")
    #expect(driver.browser.session.remembered.views.map(\.name) == ["unsorted", "cut"])
    try driver.play(":forget-view lost")
    #expect(driver.status.contains("there is no view “lost”"), "\(driver.screen)")
  }

  @Test("a limit of many rows, and all rows without one, are a run of the index: work on them gets no list")
  func runs() throws {
    let store = try Sample.large(2_000)
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    try driver.play(":sort value desc")
    driver.press("g q")
    save(driver) { $0.replacing("limit   ", with: "limit   1500") }
    let table = driver.browser.table
    #expect(table.storedCount == 1_500 && table.ranks == nil && table.foundRanks?.isRun == true)
    #expect(Array(table.shownRanks) == (500..<2_000).reversed())
    try driver.play(":frequency group")
    #expect(driver.shows("1 500"), "\(driver.screen)")
    driver.press("Esc")
    guard case .ranks(let all) = table.everything else { return }
    #expect(all.isRun && all.count == 1_500)
  }

  @Test("an editor that fails changes nothing")
  func failure() throws {
    let driver = try driver(":filter population > 1M", "keys g q")
    driver.tell(.editorClosed(EditorOutcome(text: nil, problem: "vi is not there")))
    #expect(driver.status.contains("vi is not there") && driver.browser.table.source?.filter == "population > 1M")
  }
}
