import StrataDocuments
import StrataTerminal
import Testing

@testable import StrataModel
@testable import StoreBrowser

@Suite("The group view")
struct GroupTests {
  private struct Expected: Equatable {
    var key: String
    var count: Int
    var sum: Int
    var least: Int
    var greatest: Int
  }

  /// What a loop over the records finds.
  private func groups(_ store: EngineStore, where isKept: (Int) -> Bool = { _ in true }) throws -> [Expected] {
    var found: [String: [Int]] = [:]
    let datastore = try #require(try store.head.datastore("Item"))
    for rank in 0..<(try datastore.count) {
      guard let entry = try datastore.primary.entries(at: rank..<rank + 1).first,
        let document = try datastore.record(entry.identifier)?.document(),
        case .string(let group)? = document[DocumentPath([.member("group")])],
        case .number(let number)? = document[DocumentPath([.member("value")])], let value = Int(number.text)
      else { continue }
      if isKept(value) { found[group, default: []].append(value) }
    }
    return found.map { key, values in
      Expected(
        key: key, count: values.count, sum: values.reduce(0, +), least: values.min() ?? 0, greatest: values.max() ?? 0)
    }.sorted { $0.key < $1.key }
  }

  private func shown(_ driver: Driver) throws -> [Expected] {
    let reply = try #require(driver.browser.panes[GroupPane.self].reply)
    #expect(reply.columns == ["group", "count", "sum(value)", "mean(value)", "least(value)", "greatest(value)"])
    return try reply.groups.map { group in
      let numbers = try group.cells.dropFirst().map { cell -> Int in
        guard case .number(let number) = cell else { throw ModelError.cancelled }
        return Int(Double(number.text) ?? 0)
      }
      guard case .string(let key) = group.cells[0] else { throw ModelError.cancelled }
      return Expected(key: key, count: numbers[0], sum: numbers[1], least: numbers[3], greatest: numbers[4])
    }
  }

  private func driver(_ store: EngineStore, _ keys: String) throws -> Driver {
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    try driver.play(keys)
    return driver
  }

  @Test(
    "gb groups by the column, with count, sum, mean, least and greatest of a field, as a loop over the records finds them"
  )
  func figures() throws {
    let store = try Sample.large(997)
    let driver = try driver(store, ":group group value")
    #expect(try shown(driver) == groups(store))
    #expect(driver.shows("g0") && driver.shows("10 groups"), "\(driver.screen)")
    #expect(
      driver.shows("Item by group ") && driver.shows("figures of value") && driver.shows("count     sum"),
      "\(driver.screen)")
    #expect(!driver.shows("…"), "nothing is cut")
    let other = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "Item"))
    let column = try #require(
      other.browser.table.visibleColumns(other.browser.session).firstIndex { $0.path == ".group" })
    for _ in 0..<column { other.press("l") }
    other.press("gb")
    #expect(try shown(other) == groups(store))
  }

  @Test("bars beside the groups measure the figure that they are sorted by, or the count")
  func bars() throws {
    let store = try Sample.large(997)
    let driver = try driver(store, ":group group value")
    func bars() -> [Int] { driver.lines.compactMap { line in line.contains("█") ? line.count { $0 == "█" } : nil } }
    let byCount = bars()
    #expect(
      byCount.count == 10 && driver.shows("greatest   count "),
      "\(driver.screen)")
    try driver.play(":sort sum(value)")
    let bySum = bars()
    let sums = try groups(store).map(\.sum).sorted()
    let (widest, greatest) = (try #require(bySum.last), Double(try #require(sums.last)))
    #expect(driver.shows("greatest   sum(value) "), "\(driver.screen)")
    #expect(bySum == sums.map { Int(Double($0) / greatest * Double(widest * 8)) / 8 }, "\(driver.screen)")
  }

  @Test("a comma between the fields of a group or a pivot is no part of a name")
  func commas() throws {
    let store = try Sample.large(997)
    #expect(try shown(driver(store, ":group group, value")) == groups(store))
    #expect(try driver(store, ":pivot group, value").shows("Item by group × value"))
  }

  @Test("the view of the table counts: its filter and its range of an index")
  func view() throws {
    let store = try Sample.large(997)
    let filtered = try driver(store, ":filter value < 300")
    try filtered.play(":group group value")
    #expect(try shown(filtered) == groups(store) { $0 < 300 })
    let ranged = try driver(store, ":sort value")
    ranged.browser.table.setRange(KeyInterval(lower: .including(.integer(100)), upper: .excluding(.integer(500))))
    try ranged.play(":group group value")
    #expect(try shown(ranged) == groups(store) { (100..<500).contains($0) })
  }

  @Test(
    "groups are sorted by any column, turned round by the same key, and Enter shows the records of one within the filter"
  )
  func sorting() throws {
    let store = try Sample.large(997)
    let driver = try driver(store, ":filter value < 300")
    try driver.play(":group group value")
    driver.press("l l o")
    #expect(try shown(driver).map(\.sum) == groups(store) { $0 < 300 }.map(\.sum).sorted())
    driver.press("o")
    let descending = try shown(driver)
    #expect(try descending.map(\.sum) == groups(store) { $0 < 300 }.map(\.sum).sorted(by: >))
    driver.press("j Enter")
    #expect(driver.browser.view.kind == .main)
    #expect(driver.browser.table.source?.filter == "group = \"\(descending[1].key)\" and (value < 300)")
    #expect(driver.browser.table.storedCount == descending[1].count)
  }

  @Test("groups are sorted by the name that a column shows, and stay so with the figures of the next field")
  func sortedByName() throws {
    let driver = try driver(Sample.large(997), ":group group value")
    try driver.play(":sort mean desc")
    let groups = { try #require(driver.browser.panes[GroupPane.self].reply?.groups) }
    func column(_ column: Int) throws -> [Double] { try groups().compactMap { $0.cells[column].number } }
    #expect(try column(3) == column(3).sorted(by: >) && column(3) != column(3).sorted(), "\(driver.screen)")
    driver.press("g b")
    #expect(driver.shows("mean ▼"), "\(driver.screen)")
    #expect(try column(3) == column(3).sorted(by: >), "\(driver.screen)")
  }

  @Test("in a narrow window no figure is cut, and the cursor brings the columns that have no room")
  func narrow() throws {
    let store = try Sample.large(997)
    let driver = Driver(store, size: Size(columns: 40, rows: 20), start: .init(datastore: "Item"))
    try driver.play(":group group value")
    let expected = try groups(store)
    func figures(_ line: Int) -> [String] {
      let text = driver.lines[line + 3].replacing("▶", with: " ").filter { $0 != "┃" }
      return text.split(separator: "  ").map { String($0).trimmed }.filter { !$0.isEmpty }
    }
    for _ in 0..<6 {
      for (line, group) in expected.enumerated() {
        let whole = [group.count, group.sum, group.least, group.greatest].map { NumberFormat.count($0) }
        let mean = NumberFormat.exact(NumberText(Double(group.sum) / Double(group.count)))
        let shown = figures(line)
        #expect(shown.first == group.key)
        for figure in shown.dropFirst() where !figure.contains("k") {
          #expect(whole.contains(figure) || mean.hasPrefix(figure.prefix(6)), "\(figure) of \(whole) \(mean)")
        }
      }
      driver.press("l")
    }
    #expect(driver.shows("greatest"), "\(driver.screen)")
  }

  @Test("groups, pivots and counts of values are those of the shown commit, and the cursor stays on its line")
  func renewed() throws {
    let store = try Sample.large(100)
    let driver = try driver(store, ":group group value")
    driver.press("G")
    try Sample.change(store, "Item", "3", ".group", to: "a")
    driver.tell(.storeStirred)
    #expect(try shown(driver) == groups(store), "\(driver.screen)")
    let pane = driver.browser.panes[GroupPane.self]
    #expect(pane.selected?.keys == [.string("g9")])
    driver.press("q")
    try driver.play(":frequency group")
    try Sample.change(store, "Item", "3", ".group", to: "b")
    driver.tell(.storeStirred)
    let counted = driver.browser.panes[FrequencyPane.self].reply?.values.map(\.value.text) ?? []
    #expect(counted.contains("b") && !counted.contains("a"), "\(driver.screen)")
    driver.press("q")
    try driver.play(":pivot group name")
    try Sample.change(store, "Item", "3", ".group", to: "c")
    driver.isHolding = true
    driver.tell(.storeStirred)
    driver.releaseAll { $0.slot != PivotPane.question }
    #expect(driver.shows("as of #"), "\(driver.screen)")
    driver.release()
    #expect(driver.browser.panes[PivotPane.self].rows.first == .string("c"), "\(driver.screen)")
    #expect(!driver.shows("as of #"))
  }

  @Test("a field that no record has is reported, and so is a pivot without figures to step through")
  func unknown() throws {
    let driver = try driver(Sample.large(20), ":group grup value")
    #expect(driver.status.contains("“grup”; did you mean group?"), "\(driver.status)")
    driver.press("q")
    try driver.play(":pivot group naem")
    #expect(driver.status.contains("“naem”; did you mean name?"), "\(driver.status)")
    driver.press("g P")
    #expect(driver.status.contains("figures are of a third field"), "\(driver.status)")
  }

  @Test("the group of records with an empty text is distinct from that of records without a value")
  func emptyText() throws {
    let store = try Sample.documents([["id": 1, "note": ""], ["id": 2, "note": .null], ["id": 3, "note": "a"]])
    let driver = Driver(store, size: Size(columns: 80, rows: 24), start: .init(datastore: "T"))
    try driver.play(":group note")
    for key in ["—", "\"\"", "a"] {
      #expect(driver.lines.contains { $0.contains("  \(key) ") || $0.contains("▶ \(key) ") }, "\(driver.screen)")
    }
  }

  @Test("a text does not look like the number, truth or null beside it, and the group of both zeros has no sign")
  func alike() throws {
    let values: [Document] =
      [
        "true", true, "1.5", 1.5, "—", .null,
      ] + ["-0.0", "0.0", "-1e-400", "1e-400"].map { .number(NumberText(unchecked: $0)) }
    let documents = values.enumerated().map { ["id": .number(NumberText($0)), "v": $1, "w": 1] as Document }
    let driver = Driver(try Sample.documents(documents), start: .init(datastore: "T"))
    for command in [":group v w", ":frequency v", ":pivot v w"] {
      try driver.play(command)
      let keys = driver.lines.dropFirst(command == ":frequency v" ? 4 : 3).prefix(9).compactMap {
        $0.split(whereSeparator: { " ┃▶".contains($0) }).first.map(String.init)
      }
      let texts = ["\"1.5\"", "\"true\"", "\"—\"", "0.0", "1.5", "true", "—", "-1e-400", "1e-400"]
      #expect(keys.sorted() == texts.sorted(), "\(driver.screen)")
      driver.press("q")
    }
  }

  @Test("a pivot has one line and one column for texts that differ only in their normal form")
  func normalForms() throws {
    let (one, other): (Document, Document) = ("\u{E9}", "e\u{301}")
    let pairs = [(one, "x"), (other, "y"), (other, "x"), ("x", one), ("y", other), ("y", one)]
    let documents = pairs.enumerated().map { ["id": .number(NumberText($0)), "a": $1.0, "b": $1.1] as Document }
    let driver = Driver(try Sample.documents(documents), start: .init(datastore: "T"))
    try driver.play(":pivot a b")
    let pane = driver.browser.panes[PivotPane.self]
    let counts = pane.rows.indices.map { row in pane.columns.indices.map { pane.value(row, $0)?.searchText } }
    #expect(counts == [[nil, nil, "1"], [nil, nil, "2"], ["2", "1", nil]], "\(driver.screen)")
  }

  @Test("the lines' values in a pivot have the room that those on the screen need")
  func pivotRoom() throws {
    let documents = (10..<70).map { number -> Document in
      let text = number == 65 ? String(repeating: "x", count: 30) : "\(number)"
      return ["id": .number(NumberText(number)), "a": .string("k" + text), "b": "b"]
    }
    let driver = Driver(try Sample.documents(documents), start: .init(datastore: "T"))
    try driver.play(":pivot a b")
    #expect(driver.lines.contains("┃▶ k10   1" + String(repeating: " ", count: 69) + "┃"), "\(driver.screen)")
    driver.press("G")
    #expect(driver.lines.contains { $0.contains("kxxxxxxxxxx") && !$0.hasPrefix("┃  k10") }, "\(driver.screen)")
  }

  @Test(
    "a number that is too long for the room of a counted or grouped value is scaled, and not cut",
    arguments: [":frequency v", ":group v w", ":pivot v w", ":pivot w v"])
  func longNumbers(command: String) throws {
    let number = Document.number(NumberText(unchecked: "12345" + String(repeating: "0", count: 45)))
    let documents: [Document] = [["id": 1, "v": number, "w": 1]]
    let driver = Driver(
      try Sample.documents(documents), size: Size(columns: 40, rows: 12), start: .init(datastore: "T"))
    try driver.play(command)
    #expect(
      driver.lines.dropFirst().contains { $0.contains("1.234e49") || $0.contains("1.235e49") }, "\(driver.screen)")
  }

  @Test("saved groups and pivots have fields and values as their headings, whole and as they are")
  func plainHeadings() throws {
    let file = "/tmp/strata-pivot-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(file) }
    let long = String(repeating: "long ", count: 100)
    let values: [Document] = ["line\nbreak", .string(long + "a"), .string(long + "b"), .null, "a name"]
    let documents = values.enumerated().map {
      ["id": .number(NumberText($0)), "v": $1, "a name": "x", "line\nbreak": 1] as Document
    }
    let driver = Driver(try Sample.documents(documents), start: .init(datastore: "T"))
    try driver.play(":pivot \"a name\" v")
    try driver.play(":export \(file)")
    #expect(
      try TestFile.text(file)
        == "a name,null,\"\"\"a name\"\"\",\"line\nbreak\",\(long)a,\(long)b\nx,1,1,1,1,1\n")
    TestFile.remove(file)
    try driver.play("keys q")
    try driver.play(#":group "line\nbreak""#)
    try driver.play(":export \(file)")
    #expect(try TestFile.text(file) == "\"line\nbreak\",count\n1,5\n", "\(driver.screen)")
  }

  @Test("saved groups of a field that is called like a figure have the values of both, each under a name of its own")
  func likeFigure() throws {
    let documents: [Document] = [["id": 1, "count": 7], ["id": 2, "count": 7]]
    let driver = Driver(try Sample.documents(documents), start: .init(datastore: "T"))
    try driver.play(":group count")
    for (ending, text) in [("csv", "count,count(*)\n7,2\n"), ("jsonl", "{\"count\":7,\"count(*)\":2}\n")] {
      let file = "/tmp/strata-groups-\(UInt64.random(in: 0 ... .max)).\(ending)"
      defer { TestFile.remove(file) }
      try driver.play(":export \(file)")
      #expect(try TestFile.text(file) == text, "\(driver.screen)")
    }
  }

  @Test("a saved pivot has the values as its headings, with quotes only where a text is written like another value")
  func headings() throws {
    let file = "/tmp/strata-pivot-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(file) }
    let values: [Document] = [1.5, "1.5", "2026-11-17", "a.b", .null]
    let documents = values.enumerated().map { ["id": .number(NumberText($0)), "v": $1, "w": ["x": 1]] as Document }
    let driver = Driver(try Sample.documents(documents), start: .init(datastore: "T"))
    try driver.play(":pivot w.x v")
    try driver.play(":export \(file)")
    #expect(try TestFile.text(file) == "w.x,null,1.5,\"\"\"1.5\"\"\",2026-11-17,a.b\n1,1,1,1,1,1\n")
  }

  @Test("a field that is an object in some records is no unknown part of the others' values")
  func mixedParts() throws {
    let documents: [Document] = [["id": 1, "v": 2], ["id": 2, "v": ["a": 3]]]
    let driver = Driver(try Sample.documents(documents), start: .init(datastore: "T"))
    try driver.play(":group v.a")
    #expect(!driver.status.contains("has no part"), "\(driver.status)")
    try driver.play("keys q")
    try driver.play(":group v.b")
    #expect(driver.status.contains("v has no part “b”"), "\(driver.status)")
  }

  @Test("a closed list of groups or values holds no reply")
  func closed() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    for command in [":group name", ":pivot name countrycode", ":frequency name"] {
      try driver.play(command)
      driver.press("q")
    }
    try driver.play(":group name")
    driver.press("Enter")
    let panes = driver.browser.panes
    #expect(panes[GroupPane.self].reply == nil && panes[PivotPane.self].rows.isEmpty)
    #expect(panes[FrequencyPane.self].reply == nil)
    #expect(driver.browser.table.storedCount == 1)
  }

  @Test("figures of groups and pivots with and without a fraction stand with their decimal points below each other")
  func decimalPoints() throws {
    let values = [1234.5, 20_000, 7.25, 123_456.125]
    let documents = values.enumerated().map { number, value -> Document in
      [
        "id": .number(NumberText(number)), "key": .string("k\(number)"), "all": "x",
        "value": .number(NumberText(value)),
      ]
    }
    let driver = Driver(try Sample.documents(documents), size: Size(columns: 120, rows: 24))
    for command in [":group key value", ":pivot key all value"] {
      try driver.play(command)
      if command.hasPrefix(":pivot") { driver.press("gP") }
      for text in ["  1 234.5   ", " 20 000     ", "      7.25  ", "123 456.125 "] {
        #expect(driver.shows(text), "\(text): \(driver.screen)")
      }
      // The sum of k1 is whole.
      let points = driver.lines.filter { $0.contains(" k") && !$0.contains(" k1") }.compactMap { line in
        line.firstIndex(of: ".").map { line.distance(from: line.startIndex, to: $0) }
      }
      #expect(points.count == 3 && Set(points).count == 1, "\(driver.screen)")
      try driver.play("keys Esc")
    }
  }

  @Test("keys that are identifiers have no separators")
  func identifiers() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play(":group geonameid")
    #expect(driver.shows(" 611717 ") && !driver.shows("611 717"), "\(driver.screen)")
  }

  @Test(
    "the keys of groups and pivots are written as in the table: identifiers, dates and chosen forms without separators")
  func plainKeys() throws {
    let documents = (0..<30).map { number -> Document in
      let values = [
        ("id", number), ("parentId", 12_345 + number % 3), ("createdAt", 1_600_000_000 + number % 2),
        ("size", 54_321 + number % 2), ("amount", 123_456_789_012 * number),
      ]
      return .object(values.map { Document.Member($0.0, .number(NumberText($0.1))) })
    }
    let driver = Driver(try Sample.documents(documents), size: Size(columns: 80, rows: 24))
    for (field, text) in [("parentId", "12345"), ("createdAt", "1600000000"), ("size", "54 321")] {
      try driver.play(":group \(field)")
      #expect(driver.lines.contains { $0.contains(" \(text) ") }, "\(driver.screen)")
      try driver.play("keys Esc")
      try driver.play(":pivot \(field) parentId")
      #expect(driver.lines.contains { $0.contains(" \(text) ") } && driver.shows("12345"), "\(driver.screen)")
      try driver.play("keys Esc")
    }
    try driver.play(":frequency createdAt")
    #expect(driver.shows("min 1600000000 · max 1600000001"), "\(driver.screen)")
    try driver.play("keys Esc")
    while driver.browser.table.selectedPath(driver.browser.session) != ".size" { driver.press("l") }
    try driver.play(":format plain")
    try driver.play(":group size amount")
    #expect(driver.lines.contains { $0.contains(" 54321 ") }, "\(driver.screen)")
    // A figure that is too wide is scaled; its digits do not stand without separators among others that have them.
    #expect(!driver.lines.contains { line in line.split(separator: " ").contains { $0.count > 10 && Int($0) != nil } })
  }

  @Test("a search in groups that are being read does not move the cursor of the table behind them")
  func searchedEarly() throws {
    let driver = Driver(try Sample.large(50), start: .init(datastore: "Item"))
    driver.isHolding = true
    driver.browser.run(.group, argument: "group")
    driver.tell(.command(.search, argument: "Record 7"))
    #expect(driver.status.contains("the groups are being read"), "\(driver.screen)")
    #expect(!driver.held.contains { $0.0.slot == .search })
  }

  @Test("a search in a pivot goes to the cell that has the text, and to the title of a column")
  func searchedPivot() throws {
    let driver = Driver(try Sample.store(), size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play(":pivot timezone countrycode population")
    func search(_ text: String) -> [Int] {
      driver.press("/")
      driver.type(text)
      driver.press("Enter")
      let pane = driver.browser.panes[PivotPane.self]
      return [pane.list.selection, pane.column]
    }
    #expect(driver.browser.panes[PivotPane.self].columns.map(\.searchText) == ["CH", "GE", "JP"])
    #expect(search("JP") == [0, 2] && driver.status.contains("column JP"), "\(driver.screen)")
    #expect(search("Zurich") == [2, 0], "\(driver.screen)")
    driver.press("gP")
    #expect(search("1 171 304") == [0, 1], "\(driver.screen)")
    #expect(search("nowhere") == [0, 1] && driver.status.contains("no line with “nowhere”"), "\(driver.status)")
  }

  @Test(
    ":pivot counts by two fields as a loop over the records does, steps through figures, and Enter shows a cell's records"
  )
  func pivot() throws {
    let store = try Sample.store()
    var counts: [[String]: [Double]] = [:]
    for city in try Sample.cityList(of: store) where city.1[member: "timezone"]?.searchText != "Asia/Tbilisi" {
      let key = ["countrycode", "timezone"].map { city.1[member: $0]?.searchText ?? "" }
      counts[key, default: []].append(Double(city.1[member: "population"]?.searchText ?? "") ?? 0)
    }
    let driver = Driver(store, size: Size(columns: 120, rows: 30), start: .init(datastore: "City"))
    try driver.play(":filter timezone != \"Asia/Tbilisi\"")
    try driver.play(":pivot countrycode timezone population")
    func shown() -> [[String]: Double] {
      let pane = driver.browser.panes[PivotPane.self]
      var shown: [[String]: Double] = [:]
      for (row, first) in pane.rows.enumerated() {
        for (column, second) in pane.columns.enumerated() {
          guard let value = pane.value(row, column) else { continue }
          shown[[first.searchText, second.searchText]] = Double(value.searchText)
        }
      }
      return shown
    }
    #expect(
      shown() == counts.mapValues { Double($0.count) } && driver.shows("City by countrycode × timezone")
        && driver.shows("count · "))
    driver.press("gP")
    #expect(shown() == counts.mapValues { $0.reduce(0, +) } && driver.shows("sum(population)"))
    driver.press("gP")
    for (key, mean) in shown() {
      #expect(abs(mean - (counts[key] ?? []).reduce(0, +) / Double(counts[key]?.count ?? 1)) < 1e-3)
    }
    driver.press("Enter")
    #expect(driver.status.contains("no record is in this cell"), "\(driver.status)")
    driver.press("l Enter")
    #expect(
      driver.browser.table.source?.filter?.hasPrefix("countrycode = \"CH\" and timezone = \"Europe/Zurich\" and (")
        == true)
    #expect(driver.browser.table.storedCount == 4)
  }

  @Test("groups are saved in the order in which they are shown, and no file is replaced")
  func export() throws {
    let file = "/tmp/strata-groups-\(UInt64.random(in: 0 ... .max)).csv"
    defer { TestFile.remove(file) }
    let store = try Sample.large(100)
    let driver = try driver(store, ":group group value")
    driver.press("O")
    try driver.play(":export \(file)")
    let lines = try TestFile.text(file).split(separator: "\n").map(String.init)
    #expect(lines.first == "group,count,sum(value),mean(value),least(value),greatest(value)")
    let expected = try groups(store).reversed().map { "\($0.key),\($0.count),\($0.sum)," }
    #expect(lines.count == 11 && zip(lines.dropFirst(), expected).allSatisfy { $0.hasPrefix($1) }, "\(lines)")
    try driver.play(":export \(file)")
    #expect(driver.status.contains("is there already"), "\(driver.status)")
  }
}
