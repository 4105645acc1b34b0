import StrataDocuments
import StrataEngine
import StrataExpressions
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("Computed columns, records side by side, and taking the view back")
struct DerivingTests {
  private func driver(_ store: EngineStore, _ steps: String..., in datastore: String = "City") throws
    -> Driver
  {
    let driver = Driver(
      store, size: Size(columns: 140, rows: 30), start: .init(datastore: datastore))
    for step in steps { try driver.play(step) }
    return driver
  }

  private func number(_ city: Document, _ name: String) -> Double {
    if case .number(let number)? = city[member: name] { Double(number.text) ?? .nan } else { .nan }
  }

  private func cells(_ driver: Driver, _ path: String) -> [String] {
    let table = driver.browser.table
    return (0..<table.storedCount).map { table.row(at: $0)?.cells[path]?.text ?? "" }
  }

  // MARK: Computed columns

  @Test("a small computed value is shown with its exponent, and not as nothing")
  func smallValues() throws {
    let store = try Sample.documents([["id": 1, "n": 1, "m": 30_000_000]])
    let driver = try driver(store, ":column r = n / m", in: "T")
    #expect(cells(driver, ".r").allSatisfy { $0.hasPrefix("3.33") && $0.contains("e-") }, "\(driver.screen)")
    #expect(driver.shows("3.33") && !driver.shows("0.000000"), "\(driver.screen)")
  }

  @Test(
    "a column is computed from each record, sorted and filtered by as a loop over the records does, and says that it reads all"
  )
  func computes() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store)
    let driver = try driver(store, ":column ratio = population / geonameid")
    #expect(driver.shows("ratio"))
    for (shown, city) in zip(cells(driver, ".ratio"), cities) {
      let exact = number(city.1, "population") / number(city.1, "geonameid")
      #expect(abs((Double(shown) ?? .nan) - exact) < 1e-6)
    }
    try driver.play(":sort ratio desc")
    let sorted = cities.sorted {
      number($0.1, "population") / number($0.1, "geonameid") > number($1.1, "population")
        / number($1.1, "geonameid")
    }
    let shown = (0..<10).map { driver.browser.table.row(at: $0)?.entry.identifier.description }
    #expect(shown == sorted.map(\.0))
    try driver.play(":filter ratio > 0.1 and countrycode != \"CH\"")
    let kept = sorted.filter {
      number($0.1, "population") / number($0.1, "geonameid") > 0.1
        && $0.1[member: "countrycode"] != .string("CH")
    }
    #expect(
      (0..<driver.browser.table.storedCount).map {
        driver.browser.table.row(at: $0)?.entry.identifier.description
      } == kept.map(\.0))
    #expect(driver.shows("SCAN"), "\(driver.screen)")
    try driver.play(":explain")
    #expect(driver.shows("SCAN"))
  }

  @Test("a part of a field that has no parts, and a field that no record has, are reported in columns and filters")
  func unknownParts() throws {
    let driver = try driver(Sample.store(), ":column part = countrycode.name")
    #expect(driver.status.contains("countrycode has no part “name”"), "\(driver.status)")
    try driver.play(":column none = populaton * 2")
    #expect(driver.status.contains("“populaton”; did you mean population?"), "\(driver.status)")
    try driver.play(":column twice = none * 2")
    #expect(driver.status.contains("computed: twice") && !driver.status.contains("but"), "\(driver.status)")
    try driver.play(":filter countrycode.name = \"x\"")
    #expect(driver.shows("countrycode has no part “name”"), "\(driver.screen)")
  }

  @Test("no column is computed from itself, and :set takes no derived column for a stored field")
  func derivedNames() throws {
    let store = try Sample.store()
    let driver = try driver(store, ":column ratio = population / geonameid", ":column ratio = ratio + 1")
    #expect(driver.status.contains("cannot be computed from itself"), "\(driver.status)")
    // A column that is changed may read one that was added later, but none that reads it.
    try driver.play(":column half = ratio / 2")
    try driver.play(":column ratio = half + 1")
    #expect(driver.status.contains("cannot be computed from itself"), "\(driver.status)")
    try driver.play(":column more = population + 1")
    try driver.play(":column ratio = more / geonameid")
    #expect(cells(driver, ".half").allSatisfy { Double($0) != nil }, "\(driver.screen)")
    #expect(cells(driver, ".ratio").allSatisfy { Double($0) != nil })
    for step in [": reference countrycode Country", ":join countrycode name"] { try driver.play(step) }
    for text in ["ratio = 3", "population = ratio", "population = 1 where ratio > 0", "name = Country.name"] {
      try driver.play(":set \(text)")
      #expect(driver.shows("it is computed") || driver.shows("it is joined"), "\(driver.screen)")
      driver.press("Enter Esc")
      #expect(driver.browser.session.staged.isEmpty)
    }
  }

  @Test(
    "texts are joined, lists measured, cases told apart; null stays null, and a cell that cannot be computed says why"
  )
  func values() throws {
    let store = try Sample.store()
    let cities = try Sample.cityList(of: store).map(\.1)
    let joined = try driver(store, ":column both = upper(name) + \" \" + countrycode")
    #expect(
      cells(joined, ".both")
        == cities.map {
          "\(($0[member: "name"]?.searchText ?? "").uppercased()) \($0[member: "countrycode"]?.searchText ?? "")"
        })
    let sizes = try driver(
      store,
      ":column size = if(population >= 1M and name != \"Bern\", \"large\", length(alternatenames))")
    #expect(
      cells(sizes, ".size")
        == cities.map { city in
          guard number(city, "population") < 1_000_000,
            case .array(let list)? = city[member: "alternatenames"]
          else {
            return "large"
          }
          return "\(list.count)"
        })
    let missing = try driver(store, ":column twice = nothing * 2")
    #expect(Set(cells(missing, ".twice")) == ["—"])
    let wrong = try driver(store, ":column odd = name * 2")
    #expect(
      cells(wrong, ".odd").allSatisfy { $0.hasPrefix("error: ") && $0.hasSuffix("is not a number") }
    )
    while wrong.browser.table.selectedPath(wrong.browser.session) != ".odd" { wrong.press("l") }
    wrong.press("j k")
    #expect(wrong.status.contains("error: თბილისი is not a number"), "\(wrong.status)")
    let zero = try driver(store, ":column x = 1 / (population - 121631)")
    #expect(cells(zero, ".x").filter { $0 == "error: division by zero" }.count == 1)
  }

  @Test(
    "a column is changed and taken away by its name, with the filter and the order that need it; a field's name is refused"
  )
  func changes() throws {
    let driver = try driver(
      Sample.store(), ":column ratio = population / 2", ":filter ratio > 100000", ":sort ratio",
      ":column ratio = population / 4")
    #expect(driver.browser.table.source?.computed.map(\.text) == ["ratio = population / 4"])
    #expect(
      driver.browser.table.storedCount
        == Sample.cities.flatMap { $0 }.count { number($0, "population") / 4 > 100_000 })
    try driver.play(":column ratio")
    #expect(
      driver.status.contains("gone, and with it the filter ratio > 100000 and the order by ratio"),
      "\(driver.status)")
    #expect(
      driver.browser.table.source?.needsScan == false && driver.browser.table.storedCount == 10)
    #expect(!driver.lines[2].contains("ratio") && driver.browser.session.columnChoice("City").computed == nil)
    try driver.play(":column name = 5")
    #expect(driver.status.contains("the records have a field name"))
    driver.press("g=")
    driver.type("bad = (1")
    driver.press("Enter")
    #expect(driver.browser.overlays.last is Prompt && driver.keys.contains("expected"))
  }

  @Test("the cursor goes to a column that was computed, so that it is in sight")
  func inSight() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 60, rows: 24), start: .init(datastore: "City"))
    try driver.play(":column ratio = population / 7")
    #expect(
      driver.browser.table.selectedPath(driver.browser.session) == ".ratio" && driver.shows("ratio"), "\(driver.screen)"
    )
    driver.press("h")
    try driver.play(":column ratio = population / 8")
    #expect(driver.browser.table.selectedPath(driver.browser.session) == ".ratio")
    driver.press("h")
    #expect(driver.browser.table.selectedPath(driver.browser.session) != ".ratio")
  }

  @Test("computed columns are remembered, exported and grouped by; a computed cell is not edited")
  func kept() throws {
    let file = "/tmp/strata-computed-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(file) }
    let store = try Sample.store()
    let driver = try driver(
      store, ":column large = if(population > 1M, \"yes\", \"no\")", ":export \(file)")
    let lines = try TestFile.text(file).split(separator: "\n").map(String.init)
    let place = try #require(lines.first?.split(separator: ",").firstIndex(of: "large"))
    #expect(lines.count == 11)
    for (line, city) in zip(lines.dropFirst(), try Sample.cityList(of: store)) {
      // No value before it has a comma.
      #expect(
        line.hasPrefix(city.0)
          && line.contains(number(city.1, "population") > 1e6 ? ",yes" : ",no"), "\(line) \(place)")
    }
    try driver.play(":group large population")
    let groups = try #require(driver.browser.panes[GroupPane.self].reply).groups
    let large = Sample.cities.flatMap { $0 }.filter { number($0, "population") > 1e6 }
    #expect(
      groups.map { $0.cells[1] } == [
        .number(NumberText(10 - large.count)), .number(NumberText(large.count)),
      ])
    driver.press("Esc")
    while driver.browser.table.selectedPath(driver.browser.session) != ".large" {
      driver.press("l")
    }
    driver.press("e")
    #expect(driver.status.contains("it is computed: large = if("), "\(driver.status)")
    driver.press("g=")
    #expect(
      driver.status.contains("large = if(population"), "the prompt holds the text: \(driver.status)"
    )
  }

  // MARK: Side by side

  @Test(
    "gt shows marked records side by side with the fields that differ marked, and again those alone"
  )
  func records() throws {
    let store = try Sample.store()
    let driver = try driver(store, "keys Space j Space", "keys gt")
    let cities = try Sample.cityList(of: store)
    let (first, second) = (cities[0].1, cities[2].1)
    let pane = driver.browser.panes[TransposePane.self]
    #expect(
      pane.reply?.titles == [
        "\(cities[0].0) თბილისი", "\(cities[2].0) \(second[member: "name"]?.searchText ?? "")",
      ])
    for line in pane.lines {
      let path = try DocumentPath(parsing: line.path)
      #expect(line.differs == (first[path] != second[path]), "\(line.path)")
    }
    let names = try #require(pane.lines.firstIndex { $0.path == ".alternatenames" })
    #expect(Array(pane.row(names).dropFirst()) == [first, second].map { $0[member: "alternatenames"] ?? .null })
    for _ in 0..<names { driver.press("j") }
    driver.press("yy")
    #expect(driver.copied == first[member: "alternatenames"]?.compactJSON)
    let differing = pane.lines.filter(\.differs).map(\.path)
    driver.press("gt")
    #expect(
      driver.browser.panes[TransposePane.self].lines.map(\.path) == differing && !differing.isEmpty)
    driver.press("l Enter")
    #expect(driver.selectedIdentifier == cities[2].0 && driver.browser.view.kind == .main)
  }

  @Test("records side by side have their staged values, in the view of another commit those of the commit")
  func staged() throws {
    let store = try Sample.store()
    let driver = try driver(store, "keys l e ^u", "type Renamed", "keys Enter j d d g g Space Space Space")
    let cities = try Sample.cityList(of: store)
    func names() throws -> [Document] {
      let pane = driver.browser.panes[TransposePane.self]
      return Array(pane.row(try #require(pane.lines.firstIndex { $0.path == ".name" })).dropFirst())
    }
    driver.press("gt")
    let stored = cities.prefix(3).map { $0.1[member: "name"] ?? .null }
    #expect(try names() == ["Renamed", .null, stored[2]], "\(driver.screen)")
    #expect(driver.shows("\(cities[0].0) Renamed") && driver.shows("\(cities[1].0) (none)"), "\(driver.screen)")
    driver.press("q u u gt")
    #expect(try names() == stored, "\(driver.screen)")
    driver.press("q Esc ^r ^r")
    #expect(driver.browser.session.staged.edits.count == 2)
    try driver.play(":travel 3")
    driver.press("g g gt")
    #expect(try names() == [stored[0]], "\(driver.screen)")
  }

  @Test("two records stand side by side in 80 columns, with names and values that tell them apart")
  func narrow() throws {
    let long = String(repeating: "lorem ipsum ", count: 20)
    let documents: [Document] = [
      [
        "id": 1, "a_name_with_a_long_beginning_first": .string(long), "a_name_with_a_long_beginning_second": 1,
        "kind": "1",
      ],
      [
        "id": 2, "a_name_with_a_long_beginning_first": .string(long + "end"), "a_name_with_a_long_beginning_second": 2,
        "kind": 1,
      ],
    ]
    let driver = Driver(try Sample.documents(documents))
    #expect(driver.lines[2].contains("first"), "\(driver.screen)")
    driver.press("Space j Space gt")
    #expect(driver.lines[2].contains(" 1 lorem") && driver.lines[2].contains(" 2 lorem"), "\(driver.screen)")
    for part in ["ng_first", "g_second", "ipsum end "] { #expect(driver.shows(part), "\(driver.screen)") }
    let kind = try #require(driver.lines.first { $0.contains(" kind ") })
    #expect(kind.contains("\"1\" ") && kind.contains(" 1 "), "\(kind)")
    driver.press("q I")
    for part in ["ng_first", "g_second"] { #expect(driver.shows(part), "\(driver.screen)") }
  }

  @Test("a column that does not fit is not skipped for a narrower one behind it, and a sign says that there are more")
  func unskipped() throws {
    let names = (0..<9).map { "value \($0) of nine" }
    let documents = names.enumerated().map { ["id": .number(NumberText($0)), "v": .string($1)] as Document }
    let driver = Driver(try Sample.documents(documents))
    try driver.play(":pivot id v")
    #expect(driver.lines[2].hasSuffix("▸┃") && !driver.lines[2].contains("◂"), "\(driver.screen)")
    for _ in 1..<9 { driver.press("l") }
    #expect(driver.lines[2].contains("◂value") && driver.lines[2].hasSuffix("value 8 of nine    ┃"), "\(driver.screen)")
    #expect(TableGeometry.slots(of: [40, 40, 3], around: 0, width: 48).map(\.column) == [0])
    #expect(TableGeometry.slots(of: [40, 40, 3], around: 1, width: 48).map(\.column) == [1, 2])
  }

  @Test("a column becomes as wide as the texts on the screen, not only as those of the first rows")
  func widths() throws {
    let documents: [Document] = (1...900).map {
      ["id": .number(NumberText($0)), "name": .string("Item \($0 * $0)"), "n": 1]
    }
    let driver = try driver(Sample.documents(documents), in: "T")
    driver.press("G")
    for number in 880...900 { #expect(driver.shows(" Item \(number * number) "), "\(driver.screen)") }
  }

  @Test("a column that goes and comes back leaves the other columns where they stand")
  func scrolled() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 80, rows: 24), start: .init(datastore: "City"))
    for step in [": reference countrycode Country", ":join countrycode name, population"] { try driver.play(step) }
    for _ in 0..<8 { driver.press("l") }
    func titles() -> [String] {
      let pane = driver.browser.table
      return pane.visibleColumns(driver.browser.session).dropFirst(pane.columnOffset).map(\.title)
    }
    let (before, path) = (titles(), driver.browser.table.selectedPath(driver.browser.session))
    #expect(driver.browser.table.columnOffset > 2, "\(driver.screen)")
    try driver.play(":join Country")
    #expect(driver.browser.table.selectedPath(driver.browser.session) == path)
    let others = before.filter { !$0.hasPrefix("Country.") }
    #expect(Array(titles().suffix(others.count)) == others, "\(driver.screen)")
    driver.press("U")
    #expect(titles() == before && driver.browser.table.selectedPath(driver.browser.session) == path, "\(driver.screen)")
  }

  @Test("the fields that differ alone are not offered if all differ")
  func allDiffer() throws {
    let driver = Driver(try Sample.documents([["id": 1, "name": "a"], ["id": 2, "name": "b"]]))
    try driver.play("keys Space j Space gt")
    #expect(driver.shows("2 fields of 2 differ") && !driver.keys.contains("differences"), "\(driver.screen)")
    driver.press("gt")
    #expect(driver.status.contains("all fields differ"), "\(driver.status)")
  }

  @Test(
    "gt in the history of a record compares two of its versions; W on two marked records shows what differs"
  )
  func versions() throws {
    let store = try Sample.store()
    try Sample.change(store, "City", "611717", ".population", to: 5)
    let driver = try driver(store, "keys H gt")
    let pane = driver.browser.panes[TransposePane.self]
    #expect(pane.lines.filter(\.differs).map(\.path) == [".population"])
    #expect(
      pane.lines.first { $0.path == ".population" }?.values.map { $0?.text } == ["1049498", "5"])
    let first = try Sample.large(5)
    try Sample.change(first, "Item", "3", ".value", to: 77)
    let alone = try self.driver(first, "keys j j j H G gt", in: "Item").browser.panes[TransposePane.self]
    #expect(alone.lines.first { $0.path == ".value" }?.values.map { $0?.text } == ["\(3 * 7_919 % 5)"])
    let pair = try self.driver(store, "keys Space Space W")
    #expect(
      pair.browser.panes[TransposePane.self].showsDifferences && pair.shows("differ"),
      "\(pair.screen)")
  }

  // MARK: The view

  @Test(
    "U takes back the last filter, order, column and form, one after the other, and no record's change"
  )
  func back() throws {
    let driver = try driver(
      Sample.store(), ":sort population", ":filter population > 150000",
      ":column half = population / 2", "keys l l -", ":format hex")
    func state() -> String {
      let (source, choice) = (
        driver.browser.table.source, driver.browser.session.columnChoice("City")
      )
      return
        "\(source?.index ?? "-") \(source?.filter ?? "-") \(choice.computed?.count ?? 0) \(choice.hidden.count) \(choice.formats?.count ?? 0)"
    }
    var seen = [state()]
    for _ in 0..<5 {
      driver.press("U")
      #expect(driver.status.contains("taken back"), "\(driver.status)")
      seen.append(state())
    }
    #expect(
      seen == [
        "population population > 150000 1 1 1", "population population > 150000 1 1 0",
        "population population > 150000 1 0 0",
        "population population > 150000 0 0 0", "population - 0 0 0", "- - 0 0 0",
      ])
    driver.press("U")
    #expect(driver.status.contains("nothing of this view was changed"))
    #expect(driver.browser.table.storedCount == 10)
  }

  @Test("numbers with and without a fraction stand with their decimal points below each other; copies are plain")
  func decimalPoints() throws {
    let values = ["-71.05977", "5", "1234567.5", "0.25", "-3"]
    let documents = values.enumerated().map { place, text -> Document in
      [
        "id": .number(NumberText(place)), "x": .number(NumberText(unchecked: text)),
        "y": .number(NumberText(unchecked: text)),
      ]
    }
    let driver = Driver(
      try Sample.documents(documents, [try Sample.index("y")]), size: Size(columns: 120, rows: 24),
      start: .init(datastore: "T"))
    /// The ends of the whole parts of x and y, line by line.
    func edges(_ order: [Int]) -> Set<[Int]> {
      let lines = driver.lines.dropFirst(3).map { $0.split(separator: "┃").dropFirst().first ?? "" }
      return Set(
        zip(lines, order).map { line, number in
          let text = values[number].replacing("1234567", with: NumberFormat.count(1_234_567))
          let (cells, wanted) = (Array(line), Array("  \(text)"))
          let places = cells.indices.filter { cells[$0...].starts(with: wanted) }
          return places.suffix(2).map { $0 + text.prefix { $0 != "." }.count }
        })
    }
    #expect(edges([0, 1, 2, 3, 4]).count == 1, "\(driver.screen)")
    try driver.play(":sort x")
    #expect(edges([0, 4, 3, 1, 2]).count == 1, "\(driver.screen)")
    driver.browser.table.column = try #require(
      driver.browser.table.visibleColumns(driver.browser.session).firstIndex { $0.path == ".x" })
    driver.press("j j y y")
    #expect(driver.copied == "0.25")
  }

  @Test(
    "numbers from 10,000 on have separators, also with a fraction, but not identifiers, references and dates; copies are plain"
  )
  func separators() throws {
    let store = EngineStore(
      FileStore.memory(options: StoreOptions()), path: "/tmp/Numbers.strata", program: "tests")
    let documents: [Document] = [9_999, 10_000, -1_234_567, 100].map { value in
      [
        "id": .number(NumberText(value + 2_000_000)), "amount": .number(NumberText(value)),
        "parentId": .number(NumberText(value)),
        "changeDate": .number(NumberText(value)), "ratio": 12345.5,
      ]
    }
    try Sample.add(
      documents, to: store, Sample.plan("Number", "id", [Sample.index("amount")]), "fill")
    let driver = try driver(store, "keys l", in: "Number")
    let rows = driver.lines.filter { $0.contains("12 345.5") }
    for text in ["9999", "10 000", "-1 234 567"] {
      #expect(rows.contains { $0.contains("  \(text) ") }, "\(driver.screen)")
    }
    #expect(rows.contains { $0.contains("765433    -1 234 567    -1234567    -1234567 ") }, "\(driver.screen)")
    while driver.browser.table.selectedPath(driver.browser.session) != ".amount" {
      driver.press("l")
    }
    // Digits that have no room for their separators would look like fewer.
    for format in ["", ":format thousands"] {
      try driver.play(format)
      while driver.shows(" -1 234 567 ") { driver.press("<") }
      #expect(driver.shows(" -1.235 M  ") && driver.shows(" 10 000  "), "\(driver.screen)")
      driver.press("> >")
    }
    driver.press("yy")
    #expect(driver.copied == "-1234567")
    driver.press("&")
    #expect(driver.browser.table.source?.filter == "amount = -1234567")
  }
}
