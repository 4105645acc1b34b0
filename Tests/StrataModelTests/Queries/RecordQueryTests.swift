import StrataDocuments
import StrataExpressions
import StrataEngine
import Testing

@testable import StrataModel

/// Queries as they are typed, against a loop over the records.
@Suite("Queries over documents")
struct RecordQueryTests {
  private static func store(_ documents: [Document]) throws -> EngineStore {
    let store = try Cities.store(0)
    try Cities.write(documents, to: store)
    return store
  }

  private static func datastore(_ store: EngineStore) throws -> any ReadableDatastore {
    try #require(try store.head.datastore("City"))
  }

  private static func answer(
    _ query: RecordQuery, _ datastore: any ReadableDatastore, limit: Int? = nil, offset: Int = 0,
    after: QueryPosition? = nil
  ) throws -> [Record] {
    let plan = try query.plan(in: datastore, need: limit.map { .first($0) } ?? .all)
    var run = try query.run(plan, in: datastore, limit: limit, offset: offset, after: after)
    var found: [Record] = []
    while let next = try run.next() { found.append(next) }
    // In parts, whose results are said to be so large that the parts stay small.
    var inParts: [StoredKey] = []
    var parts = try query.run(plan, in: datastore, limit: limit, offset: offset, after: after)
    try parts.forEachPart { records throws(ModelError) in
      var keys: [StoredKey] = []
      while try records.next() { if let record = try records.record() { keys.append(record.identifier) } }
      return keys
    } size: {
      $0.count * 1_000_000
    } body: {
      inParts += $0
    }
    #expect(inParts == found.map(\.identifier))
    return found
  }

  @Test("what is made of the parts of a range stays small in memory, and parts with small results grow")
  func sizesOfParts() throws {
    var ends: [Int] = []
    try (0..<40_000).forEachPart({ $0 }, size: { $0.count * 8_000_000 }) { part, done in
      if ends.last != done { ends.append(done) }
    }
    let rounds = zip(ends.dropFirst(), ends).map { $0 - $1 }
    #expect((rounds.max() ?? 0) <= 64, "as many parts of one as four for each processor")
    var parts: [Range<Int>] = []
    try (0..<100_000).forEachPart({ $0 }) { part, _ in parts.append(part) }
    #expect(parts.flatMap { $0 } == Array(0..<100_000))
    #expect(parts.map(\.count).max() == 2_048)
  }

  /// Whether a value comes before another: numbers, then texts, then lists, which are compared element by element.
  private static func precedes(_ left: Document, _ right: Document) -> Bool {
    switch (left, right) {
    case (.number(let one), .number(let two)): return one.double < two.double
    case (.string(let one), .string(let two)): return one < two
    case (.array(let one), .array(let two)):
      for (one, two) in zip(one, two) where one != two { return precedes(one, two) }
      return one.count < two.count
    case (.number, .string), (.number, .array), (.string, .array): return true
    default: return false
    }
  }

  @Test("lists are sorted by their elements, an empty one first, and a list before those that go on with more")
  func lists() {
    var random = SeededGenerator(seed: 5)
    func value(_ depth: Int) -> Document {
      switch Int.random(in: 0...(depth == 0 ? 1 : 3), using: &random) {
      case 0: .number(NumberText([9, 10, -2, 100][Int.random(in: 0..<4, using: &random)]))
      case 1: .string(["", "a", "b", "a,", "ab"][Int.random(in: 0..<5, using: &random)])
      default: .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth - 1) })
      }
    }
    let values: [Document] = [["a"], [], [9], [10], [[]], ["a", "b"]] + (0..<80).map { _ in value(3) }
    for left in values {
      for right in values {
        let (one, two) = (left.sortKey, right.sortKey)
        #expect(one.precedes(two) == Self.precedes(left, right), "\(left.compactJSON) and \(right.compactJSON)")
        #expect((one == two) == (left == right))
      }
    }
  }

  private static func number(_ document: Document?, _ name: String) -> Int {
    if case .number(let number)? = document?[member: name] { Int(number.integer ?? 0) } else { 0 }
  }

  private static func number(_ record: Record, _ name: String) -> Int { number(try? record.document(), name) }

  private static func text(_ document: Document, _ name: String) -> String {
    if case .string(let text)? = document[member: name] { text } else { "" }
  }

  @Test("random conditions, sorts, limits and pages answer as a loop does", arguments: 1...6 as ClosedRange<UInt64>)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var documents: [Int: Document] = [:]
    func document(_ id: Int) -> Document {
      Cities.document(
        id, name: ["Bern", "Basel", "Zürich", "Zug", "Genève"].randomElement(using: &random),
        country: ["CH", "FR", "IR", "DE"].randomElement(using: &random),
        population: Int.random(in: 0..<40, using: &random),
        tags: ["a", "b", "c", "d"].filter { _ in Bool.random(using: &random) })
    }
    for id in 0..<220 { documents[id] = document(id) }
    let store = try Self.store(Array(documents.values))
    var past = [(try Self.datastore(store), documents)]
    for _ in 0..<3 {
      var changed: [Document] = []
      for _ in 0..<15 {
        let id = Int.random(in: 0..<240, using: &random)
        documents[id] = document(id)
      }
      changed = Array(documents.values)
      try Cities.write(changed, to: store)
      past.append((try Self.datastore(store), documents))
    }
    for round in 0..<120 {
      let text = condition(depth: 4, using: &random)
      let (datastore, documents) = past[round % past.count]
      let filter = try Filter(parsing: text)
      var sort: [(path: DocumentPath, isDescending: Bool)] = []
      for name in ["population", "name", "country", "id"] where Int.random(in: 0..<3, using: &random) == 0 {
        sort.append((DocumentPath([.member(name)]), Bool.random(using: &random)))
      }
      let expected = documents.filter { filter.matches($0.value) }.map(\.key).sorted { left, right in
        for (path, isDescending) in sort {
          let (one, two) = (documents[left] ?? .null, documents[right] ?? .null)
          if path.shortText == "population" || path.shortText == "id" {
            let (one, two) = (Self.number(one, path.shortText), Self.number(two, path.shortText))
            if one != two { return (one < two) != isDescending }
          } else {
            let (one, two) = (Self.text(one, path.shortText), Self.text(two, path.shortText))
            if one != two { return (one < two) != isDescending }
          }
        }
        return left < right
      }
      let query = RecordQuery(filter: filter, sort: sort)
      let plan = try query.plan(in: datastore)
      let all = try Self.answer(query, datastore).map { Self.number($0, "id") }
      #expect(all == expected, "\(text) by \(sort): \(plan.text)")
      var counting = try query.run(plan, in: datastore)
      #expect(try counting.count() == expected.count, "\(text): \(plan.text)")
      let (offset, limit) = (Int.random(in: 0..<20, using: &random), Int.random(in: 1..<30, using: &random))
      let page = try Self.answer(query, datastore, limit: limit, offset: offset).map { Self.number($0, "id") }
      #expect(page == Array(expected.dropFirst(offset).prefix(limit)), "\(text) by \(sort): \(plan.text)")
      var paged: [Int] = []
      var after: QueryPosition?
      let size = [7, 19, 43].randomElement(using: &random) ?? 7
      while true {
        let part = try Self.answer(query, datastore, limit: size, after: after)
        paged += part.map { Self.number($0, "id") }
        guard let last = part.last else { break }
        after = try query.position(query.position(after: last, in: datastore).text, in: datastore)
      }
      #expect(paged == expected, "\(text) by \(sort), in pages: \(plan.text)")
    }
  }

  private func condition(depth: Int, using random: inout SeededGenerator) -> String {
    if depth > 0, Bool.random(using: &random) {
      let (left, right) = (condition(depth: depth - 1, using: &random), condition(depth: depth - 1, using: &random))
      return ["(\(left)) and (\(right))", "(\(left)) or (\(right))", "not (\(left))"].randomElement(using: &random)
        ?? left
    }
    let number = Int.random(in: -2..<42, using: &random)
    let symbol = ["=", "!=", "<", "<=", ">", ">="].randomElement(using: &random) ?? "="
    return [
      "population \(symbol) \(number)", "population between \(number - 5) and \(number)", "country \(symbol) \"FR\"",
      "name starts with \"Z\"", "name like \"%e%\"", "name \(symbol) \"Zug\"", "tags has \"b\"",
      "population in (1, 5, 9)",
      "id \(symbol) \(number * 5)", "country in (\"CH\", \"DE\")", "name =~ /^z/", "population is null", "nowhere = 1",
    ].randomElement(using: &random) ?? "true"
  }

  @Test("a count by ranks, a page far behind and the first of an order read few entries")
  func fewReads() throws {
    let store = try Self.store((0..<2_000).map { Cities.document($0) })
    let datastore = try Self.datastore(store)
    let query = RecordQuery(filter: try Filter(parsing: "population > 150000"))
    var run = try query.run(query.plan(in: datastore), in: datastore)
    #expect(try run.count() == 499)
    #expect(run.readCount == 0)
    let ordered = RecordQuery(sort: [(DocumentPath([.member("population")]), true)])
    var page = try ordered.run(
      ordered.plan(in: datastore, need: .first(1_510)), in: datastore, limit: 10, offset: 1_500)
    var found: [Int] = []
    while let next = try page.next() { found.append(Self.number(next, "id")) }
    #expect(found == (490..<500).reversed())
    #expect(page.readCount == 10)
  }

  @Test("of many records each processor looks through a part; the answer is a loop's, in its order, and can be ended")
  func manyRecords() throws {
    let documents = (0..<20_000).map { Cities.document($0, name: "City \($0 * 7919 % 20_000)") }
    let datastore = try Self.datastore(Self.store(documents))
    for (text, sort) in [
      ("name contains \"77\"", []), ("name contains \"9\"", ["name"]), ("name ends with \"123\"", ["id"]),
    ] {
      let filter = try Filter(parsing: text)
      let query = RecordQuery(filter: filter, sort: sort.map { (DocumentPath([.member($0)]), true) })
      let plan = try query.plan(in: datastore)
      #expect(plan.way == .scan)
      var expected = documents.filter { filter.matches($0) }
      if !sort.isEmpty {
        expected.sort { left, right in
          sort == ["id"]
            ? Self.number(left, "id") > Self.number(right, "id") : Self.text(left, "name") > Self.text(right, "name")
        }
      }
      let ids = expected.map { Self.number($0, "id") }
      var run = try query.run(plan, in: datastore)
      var found: [Int] = []
      while let next = try run.next() { found.append(Self.number(next, "id")) }
      #expect(found == ids)
      #expect(run.readCount >= 20_000)
      var counting = try query.run(plan, in: datastore)
      #expect(try counting.count() == ids.count && counting.readCount == 20_000)
      let page = try Self.answer(query, datastore, limit: 5, offset: 40)
      #expect(page.map { Self.number($0, "id") } == Array(ids.dropFirst(40).prefix(5)))
    }
    struct Stop: Error {}
    let query = RecordQuery(filter: try Filter(parsing: "name = \"nobody\""))
    #expect(throws: Stop.self) {
      let scan = QueryPlan(
        way: .scan, order: .along(index: "", isDescending: false), isTested: true, condition: "", rows: 20_000)
      var run = try query.run(scan, in: datastore) { read in if read > 1_000 { throw Stop() } }
      _ = try run.next()
    }
  }

  @Test("of many entries of an index each processor reads a part; the records are a loop's, in its order")
  func manyEntries() throws {
    let documents = (0..<60_000).map {
      Cities.document($0, name: "City \($0 * 7919 % 60_000)", population: $0 * 17 % 60_000)
    }
    let datastore = try Self.datastore(Self.store(documents))
    try datastore.proveRules(nil)
    for text in ["population < 4500", "population < 4500 and name contains \"9\""] {
      let filter = try Filter(parsing: text)
      let query = RecordQuery(filter: filter)
      let plan = try query.plan(in: datastore)
      #expect(plan.way != .scan && plan.order == .identifiers, "\(plan.text)")
      let found = try Self.answer(query, datastore)
      #expect(
        found.map { Self.number($0, "id") }
          == documents.filter { filter.matches($0) }.map { Self.number($0, "id") })
      #expect(plan.isTested || found.count > 4_096)
    }
  }

  @Test("an index that holds another value of one record than its path says serves nothing, though all others agree")
  func otherValues() throws {
    for count in [300, 6_000] {
      let store = try Self.store((0..<count).map { Cities.document($0) })
      // As an app writes that has converted one old record.
      _ = try store.transact(CommitInfo(action: "convert")) { transaction throws(ModelError) in
        let tree = TreeName.index("population", of: "City")
        let old = EntryKey.make(value: try KeyEncoding.integer.encode(.integer(700)), identifier: Cities.key(7).bytes)
        let new = EntryKey.make(value: try KeyEncoding.integer.encode(.integer(-1)), identifier: Cities.key(7).bytes)
        try onStorage {
          _ = try transaction.remove(old, in: tree)
          _ = try transaction.insert(new, .none, in: tree)
        }
      }
      let datastore = try Self.datastore(store)
      for (text, expected) in [("population <= 700", Array(0...7)), ("population < 0", []), ("name = \"City 7\"", [7])]
      {
        let query = RecordQuery(filter: try Filter(parsing: text))
        #expect(try Self.answer(query, datastore).map { Self.number($0, "id") } == expected, "\(text)")
      }
      let first = try Self.answer(
        RecordQuery(sort: [(DocumentPath([.member("population")]), false)]), datastore, limit: 9)
      #expect(first.map { Self.number($0, "id") } == Array(0..<9))
    }
  }

  @Test("an index without a declared rule serves once all records have proven it, and goes on while few of them change")
  func provenIndexes() throws {
    let store = try Self.store((0..<5_000).map { Cities.document($0) })
    let query = RecordQuery(filter: try Filter(parsing: "population < 300"))
    #expect(try query.plan(in: Self.datastore(store)).way == .scan)
    _ = try store.proofs.rules(of: store.headView.requiredDatastore("City"))
    #expect(try query.plan(in: Self.datastore(store)).shortText == "INDEX population")
    try Cities.write([Cities.document(2, population: 4)], to: store)
    #expect(try query.plan(in: Self.datastore(store)).shortText == "INDEX population")
    #expect(try Self.answer(query, Self.datastore(store)).map { Self.number($0, "id") } == [0, 1, 2])
  }

  @Test("records that an index could not take are found and sorted like all others")
  func leftOutRecords() throws {
    let path = DocumentPath([.member("size")])
    var documents = try (0..<300).map { try Cities.document($0).setting(path, to: .number(NumberText($0))) }
    documents[200] = try documents[200].setting(path, to: 3.7)
    let store = try Self.store(documents)
    let size = IndexDescriptor(name: "size", kind: .oneToMany, encoding: .integer, valueType: "Int", rule: ".size")
    _ = try store.addIndex(size, to: "City", options: EditOptions(leavesFailuresOut: true))
    #expect(try store.index("size").count == 299)
    let small = RecordQuery(filter: try Filter(parsing: "size < 5"))
    #expect(try Self.answer(small, Self.datastore(store)).map { Self.number($0, "id") } == [0, 1, 2, 3, 4, 200])
    let first = try Self.answer(RecordQuery(sort: [(path, false)]), Self.datastore(store), limit: 5)
    #expect(first.map { Self.number($0, "id") } == [0, 1, 2, 3, 200])
    // Also if damaged records are left out.
    let rest = ReadableRest(of: try Self.datastore(store), keepsRanks: true) { _ in }
    #expect(try Self.answer(small, rest).map { Self.number($0, "id") } == [0, 1, 2, 3, 4, 200])
  }

  @Test("a record is left out no longer than the index that could not take it is there, or than it cannot")
  func leftOutOfDropped() throws {
    let path = DocumentPath([.member("size")])
    var documents = try (1...30).map { try Cities.document($0).setting(path, to: .number(NumberText($0))) }
    documents[2] = try documents[2].setting(path, to: 3.7)
    let store = try Self.store(documents)
    func index(_ name: String) -> IndexDescriptor {
      IndexDescriptor(name: name, kind: .oneToMany, encoding: .integer, valueType: "Int", rule: ".size")
    }
    func count() throws -> Int { try Self.datastore(store).leftOutCount }
    let options = EditOptions(leavesFailuresOut: true)
    _ = try store.addIndex(index("size"), to: "City", options: options)
    _ = try store.rebuildIndex("size", of: "City", options: options)
    #expect(try count() == 1)
    #expect(try Self.datastore(store).exactIndex(of: DocumentPath([.member("name")])) == nil)
    _ = try store.dropIndex("size", of: "City")
    #expect(try count() == 0)
    #expect(try Self.datastore(store).exactIndex(of: DocumentPath([.member("name")])) != nil)
    // Left out of two, it stays so when one is dropped.
    for name in ["size", "extent"] { _ = try store.addIndex(index(name), to: "City", options: options) }
    _ = try store.dropIndex("size", of: "City")
    #expect(try count() == 1)
    #expect(try Self.datastore(store).exactIndex(of: path) == nil)
  }

  @Test("a number beyond the keys of an index is compared as without one")
  func beyondKeys() throws {
    let path = DocumentPath([.member("price")])
    let store = try Self.store(try (1...9).map { try Cities.document($0).setting(path, to: .number(NumberText($0))) })
    let index = IndexDescriptor(
      name: "price", kind: .oneToMany, encoding: .decimal, valueType: "Decimal", rule: ".price")
    _ = try store.addIndex(index, to: "City", options: EditOptions())
    for (text, count) in [("price > 1e99999", 0), ("price < 1e99999", 9), ("price = 1e99999", 0), ("price > 8", 1)] {
      #expect(
        try Self.answer(RecordQuery(filter: Filter(parsing: text)), Self.datastore(store)).count == count, "\(text)")
    }
  }

  @Test("a name that nothing has is told of with those that look like it")
  func unknownNames() throws {
    let datastore = try Self.datastore(Self.store([Cities.document(1)]))
    func sentences(_ text: String) throws -> [String] {
      try RecordQuery(filter: Filter(parsing: text)).unknownNames(in: datastore).map(\.sentence)
    }
    #expect(try sentences("countr = \"CH\" and name = \"x\"") == ["no field countr; did you mean country?"])
    #expect(try sentences("popluation > 1").first?.contains("population") == true)
    #expect(try sentences("tags has \"a\"").isEmpty)
  }

  @Test("a name that records have as a field means that field, and otherwise the index that is called so")
  func namesOfIndexes() throws {
    let store = EngineStore.memory()
    var list = DocumentList([
      ["id": 1, "country": "x", "nation": "y", "area": "z"], ["id": 2, "country": "y", "nation": "x", "area": "w"],
    ])
    let indexes = try [("country", "nation"), ("zone", "area")].map { name, path in
      ImportPlan.Index(name: name, path: try DocumentPath(parsing: path))
    }
    let plan = ImportPlan(datastore: "City", identifier: try DocumentPath(parsing: "id"), indexes: indexes)
    _ = try Importer(store, plan).run(&list)
    for (text, expected) in [("country = \"x\"", 1), ("nation = \"x\"", 2), ("zone = \"z\"", 1)] {
      let found = try Self.answer(RecordQuery(filter: Filter(parsing: text)), Self.datastore(store))
      #expect(found.map { Self.number($0, "id") } == [expected], "\(text)")
    }
    let sort = RecordQuery(sort: [(DocumentPath([.member("country")]), true)])
    #expect(try Self.answer(sort, Self.datastore(store)).map { Self.number($0, "id") } == [2, 1])
  }

  @Test("a cursor of another query, and text that is none, are refused")
  func cursors() throws {
    let datastore = try Self.datastore(Self.store([Cities.document(1)]))
    let one = RecordQuery(filter: try Filter(parsing: "population > 1"))
    let other = RecordQuery(filter: try Filter(parsing: "population > 2"))
    let found = try #require(try Self.answer(one, datastore).first)
    let cursor = one.position(after: found, in: datastore)
    #expect(throws: ModelError.self) { try other.position(cursor.text, in: datastore) }
    #expect(throws: ModelError.self) { try one.position("x", in: datastore) }
    #expect(throws: ModelError.self) { try other.run(other.plan(in: datastore), in: datastore, after: cursor) }
  }
}
