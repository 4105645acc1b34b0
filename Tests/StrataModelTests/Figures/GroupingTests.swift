import StrataModel
import StrataDocuments
import StrataExpressions
import Testing

/// Groups are counted again with a loop over the documents.
@Suite("Groups") struct GroupingTests {
  private static let documents: [Document] = (0..<20_000).map { id in
    var members: [Document.Member] = [
      .init("id", .number(NumberText(id))),
      .init("country", id % 11 == 0 ? .null : .string(["CH", "FR", "IR", "JP"][id % 13 % 4])),
      .init("kind", .number(NumberText(unchecked: ["1.0", "1", "2"][id % 3]))),
      .init("name", .string("City \(id * 7_919 % 20_011)")),
    ]
    if id % 5 != 0 {
      members.append(.init("population", id % 17 == 0 ? .null : .number(NumberText(unchecked: "\(id % 401).25"))))
    }
    return .object(members)
  }

  private static func datastore() throws -> any ReadableDatastore {
    let store = EngineStore.memory()
    var list = DocumentList(documents)
    let plan = ImportPlan(
      datastore: "City", identifier: try DocumentPath(parsing: "id"),
      indexes: [.init(name: "byCountry", path: try DocumentPath(parsing: "country"))])
    _ = try Importer(store, plan).run(&list)
    return try #require(try store.head.datastore("City"))
  }

  private static func path(_ text: String) throws -> DocumentPath { try DocumentPath(parsing: text) }

  @Test(
    "figures of each group are those of a loop over the records", arguments: ["", "id >= 4000", "country = \"CH\""])
  func figures(condition: String) throws {
    let datastore = try Self.datastore()
    let (country, population, name) = (try Self.path("country"), try Self.path("population"), try Self.path("name"))
    let grouping = RecordGrouping(
      by: [country], figures: [.count, .sum(population), .mean(population), .least(name), .greatest(name)])
    let query = RecordQuery(filter: condition.isEmpty ? nil : try Filter(parsing: condition))
    let groups = try grouping.groups(of: query, in: datastore)
    let kept = Self.documents.filter { query.filter?.matches($0) ?? true }
    let expected = Dictionary(grouping: kept) { $0[country]?.compactJSON ?? "null" }
    #expect(
      groups.map { $0.keys[0].compactJSON }
        == expected.keys.sorted { ($0 == "null" ? "" : $0) < ($1 == "null" ? "" : $1) })
    for group in groups {
      let records = try #require(expected[group.keys[0].compactJSON])
      // Populations have two digits behind the point, so hundredths are whole.
      let hundredths = records.compactMap { document -> Int? in
        guard case .number(let number)? = document[population] else { return nil }
        return Int((number.double * 100).rounded())
      }
      let names = records.compactMap { document -> String? in
        if case .string(let text)? = document[name] { text } else { nil }
      }
      #expect(group.count == records.count && group.figures[0] == .number(NumberText(Int64(records.count))))
      guard case .number(let sum) = group.figures[1], case .number(let mean) = group.figures[2] else {
        Issue.record("no numbers: \(group.figures)")
        continue
      }
      let total = hundredths.reduce(0, +)
      #expect(Int((sum.double * 100).rounded()) == total)
      #expect(abs(mean.double - Double(total) / 100 / Double(hundredths.count)) < 1e-9)
      #expect(group.figures[3] == names.min().map { .string($0) })
      #expect(group.figures[4] == names.max().map { .string($0) })
    }
  }

  @Test("counts by a declared index read a record for each group, and say so")
  func byIndex() throws {
    let datastore = try Self.datastore()
    let grouping = RecordGrouping(by: [try Self.path("country")], figures: [.count])
    #expect(try grouping.explanation(of: RecordQuery(), in: datastore).hasPrefix("INDEX byCountry"))
    let narrowed = RecordQuery(filter: try Filter(parsing: "id >= 0"))
    #expect(try !grouping.explanation(of: narrowed, in: datastore).hasPrefix("INDEX byCountry"))
    #expect(try grouping.groups(of: RecordQuery(), in: datastore) == grouping.groups(of: narrowed, in: datastore))
  }

  @Test(
    "equal numbers are one group however they are written, null and missing are one, and groups are sorted by any column"
  )
  func keys() throws {
    let datastore = try Self.datastore()
    let kinds = try RecordGrouping(by: [Self.path("kind")], figures: [.count]).groups(of: RecordQuery(), in: datastore)
    #expect(kinds.map(\.count) == [13_334, 6_666])
    let populations = RecordGrouping(by: [try Self.path("population")], figures: [])
    let groups = try populations.groups(of: RecordQuery(), in: datastore)
    let population = try Self.path("population")
    let missing = Self.documents.count { document in
      if case .number? = document[population] { false } else { true }
    }
    #expect(groups[0].keys == [.null] && groups[0].count == missing)
    var byCount = try RecordGrouping(by: [Self.path("country"), Self.path("kind")], figures: [.count])
      .groups(of: RecordQuery(), in: datastore)
    byCount.sort(by: 2, isDescending: true)
    #expect(byCount.map(\.count) == byCount.map(\.count).sorted(by: >) && byCount.count == 10)
  }

  @Test(
    "through a list of objects a record is in the group of each value, as its filter finds it, and figures are of all")
  func lists() throws {
    let orders: [Document] = (0..<400).map { id in
      let items: [Document] = (0..<id % 4).map { place in
        let sku = ["a", "b", "c"][(place + id) * 7 % 3]
        return .object([.init("sku", .string(sku)), .init("price", .number(NumberText(place + id)))])
      }
      return .object([
        .init("id", .number(NumberText(id))), .init("kind", .number(NumberText(id % 2))), .init("items", .array(items)),
      ])
    }
    let store = EngineStore.memory()
    var list = DocumentList(orders)
    _ = try Importer(store, ImportPlan(datastore: "Order", identifier: try Self.path("id"))).run(&list)
    let datastore = try #require(try store.head.datastore("Order"))
    let (sku, price, kind) = (try Self.path("items.sku"), try Self.path("items.price"), try Self.path("kind"))
    let grouping = RecordGrouping(by: [sku, kind], figures: [.count, .sum(price), .greatest(price)])
    let groups = try grouping.groups(of: RecordQuery(), in: datastore)
    #expect(groups.count == 7)
    for group in groups {
      let filter = try Filter(
        parsing: zip([sku, kind], group.keys).map { Filter.text(of: $0, being: $1) }.joined(separator: " and "))
      let found = orders.filter { filter.matches($0) }
      var prices: [Int] = []
      for case .array(let items)? in found.map({ $0[member: "items"] }) {
        for case .number(let number)? in items.map({ $0[member: "price"] }) { prices.append(Int(number.double)) }
      }
      #expect(group.count == found.count && !found.isEmpty)
      #expect(group.figures[1] == .number(NumberText(prices.reduce(0, +))))
      #expect(group.figures[2] == prices.max().map { .number(NumberText($0)) } ?? .null)
    }
  }

  @Test("a path through some lists is counted by its values and not by an index, which has none of those")
  func listsInSomeRecords() throws {
    let store = EngineStore.memory()
    var list = DocumentList([
      ["id": 1, "a": ["b": "m"]], ["id": 2, "a": [["b": "z"], ["b": "m"]]], ["id": 3, "a": ["b": "d"]], ["id": 4],
    ])
    let path = try Self.path("a.b")
    let plan = ImportPlan(
      datastore: "City", identifier: try Self.path("id"), indexes: [.init(name: "ab", path: path)])
    _ = try Importer(store, plan).run(&list)
    let datastore = try #require(try store.head.datastore("City"))
    let groups = try RecordGrouping(by: [path], figures: [.count]).groups(of: RecordQuery(), in: datastore)
    #expect(groups.map(\.keys) == [[.null], ["d"], ["m"], ["z"]])
    #expect(groups.map(\.count) == [1, 1, 2, 1])
  }
}
