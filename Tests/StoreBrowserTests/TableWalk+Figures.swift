import StrataDocuments
import StrataModel
import Testing

@testable import StoreBrowser

/// Groups, pivots, counts of values and descriptions of the rows, against a loop over the records.
extension TableWalk {
  /// Opens one of the panes that count the rows, compares it, and closes it.
  mutating func figures() throws {
    settle()
    try check()
    guard !hasFailed, let state = states[driver.browser.session.shown] else { return }
    let datastore = try store.view(at: driver.browser.session.shown).datastore("T")
    guard let index = try datastore?.index(driver.browser.table.source?.index) else { return fail("no index") }
    let items = Set(try rows(of: state, index)).compactMap { state[$0] }
    let path = ["name", "group", "n", "tags"][number(0..<4)]
    switch number(0..<4) {
    case 0: try compareGroups(items)
    case 1: try comparePivot(items)
    case 2: try compareFrequency(of: path, items)
    default: try compareDescription(of: path, items)
    }
    driver.press("q")
    try check()
  }

  private mutating func open(_ command: String) throws {
    log.append(command)
    try driver.play(command)
    settle()
  }

  /// The values of a field, with each element of a list.
  private static func values(of path: String, in item: Item) -> [String] {
    switch path {
    case "name": [item.name]
    case "group": [item.group]
    case "tags": item.tags
    default: item.n.map { ["\($0)"] } ?? []
    }
  }

  /// A text or a number as it is shown; `none` for anything else.
  private static func written(_ value: Document?) -> String {
    switch value {
    case .string(let text): text
    case .number(let number): number.text
    default: "none"
    }
  }

  private mutating func compareGroups(_ items: [Item]) throws {
    try open(":group group n")
    guard let reply = driver.browser.panes[GroupPane.self].reply else { return fail("no groups") }
    let shown = reply.groups.map { group in [0, 1, 2, 4, 5].map { TableWalk.written(group.cells[$0]) } }
    let expected = Dictionary(grouping: items, by: \.group).map { key, members -> [String] in
      let numbers = members.compactMap(\.n)
      let ends = [numbers.min(), numbers.max()].map { $0.map(String.init) ?? "none" }
      let sum = numbers.isEmpty ? ["0", "none"] : ["\(numbers.reduce(0, +))"]
      let isNoSum = numbers.isEmpty && shown.contains { $0[0] == key && $0[2] == "none" }
      return [key, "\(members.count)", isNoSum ? "none" : sum[0]] + ends
    }
    if shown.sorted(by: { $0[0] < $1[0] }) != expected.sorted(by: { $0[0] < $1[0] }) {
      fail("groups \(shown) are not \(expected)")
    }
  }

  private mutating func comparePivot(_ items: [Item]) throws {
    try open(":pivot group name")
    let pivot = driver.browser.panes[PivotPane.self]
    var shown: [[String]: String] = [:]
    for (row, line) in pivot.rows.enumerated() {
      for (column, title) in pivot.columns.enumerated() {
        if let value = pivot.value(row, column) {
          shown[[line, title].map(TableWalk.written)] = TableWalk.written(value)
        }
      }
    }
    let expected = Dictionary(grouping: items) { [$0.group, $0.name] }.mapValues { "\($0.count)" }
    if shown != expected { fail("the pivot \(shown) is not \(expected)") }
  }

  private mutating func compareFrequency(of path: String, _ items: [Item]) throws {
    try open(":frequency \(path)")
    guard let reply = driver.browser.panes[FrequencyPane.self].reply else { return fail("no counts of \(path)") }
    let shown = Dictionary(
      reply.values.map { (TableWalk.written($0.document), $0.count) },
      uniquingKeysWith: { first, second in first + second })
    let values = items.flatMap { TableWalk.values(of: path, in: $0) }
    let expected = Dictionary(grouping: values) { $0 }.mapValues(\.count)
    if shown.filter({ $0.key != "none" }) != expected { fail("the counts of \(path) \(shown) are not \(expected)") }
    let nulls = items.count { path == "n" && $0.n == nil }
    if reply.nulls != nulls { fail("\(reply.nulls) nulls of \(path) are not \(nulls)") }
  }

  private mutating func compareDescription(of path: String, _ items: [Item]) throws {
    try open(":describe")
    guard let reply = driver.browser.panes[DescribePane.self].reply else { return fail("no description") }
    let values = items.flatMap { TableWalk.values(of: path, in: $0) }
    guard let field = reply.fields.first(where: { $0.path?.description == ".\(path)" }) else {
      return values.isEmpty ? () : fail("\(path) is not described: \(reply.fields.map(\.name))")
    }
    let shown = [
      "\(field.count)", "\(field.nulls + field.missing)", TableWalk.written(field.least),
      TableWalk.written(field.greatest), field.sum?.text ?? "none",
    ]
    let numbers = path == "n" ? items.compactMap(\.n) : []
    let ends = path == "tags" ? shown[2...3] : [values.min() ?? "none", values.max() ?? "none"]
    let missing = items.count { path == "n" && $0.n == nil }
    let expected =
      ["\(values.count)", "\(missing)"] + ends + [numbers.isEmpty ? "none" : "\(numbers.reduce(0, +))"]
    if shown != expected { fail("the description of \(path) \(shown) is not \(expected)") }
    if field.distinct != Set(values).count, path != "tags" { fail("\(field.distinct) values of \(path)") }
  }
}
