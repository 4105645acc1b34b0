import StrataDocuments
@testable import StrataModel
import Testing

/// What a description says of fields is counted again with a loop over the documents.
@Suite struct DescriptionTests {
  private static func documents(_ count: Int) -> [Document] {
    (0..<count).map { id in
      var members: [Document.Member] = [
        .init("id", .number(NumberText(id))),
        .init("name", .string("City \(id % (count / 2))")),
        .init("country", id % 11 == 0 ? .null : .string(["CH", "FR", "IR", "JP"][id % 13 % 4])),
        .init("population", .number(NumberText(id * 7_919 % 100_003))),
        .init("place", ["latitude": .number(NumberText(Double(id % 180) - 90.5)), "isPort": .bool(id % 3 == 0)]),
        .init("tags", .array((0..<(id % 4)).map { .string("t\($0)") })),
      ]
      if id % 5 == 0 { members.append(.init("note", id % 10 == 0 ? "text" : 12)) }
      return .object(members)
    }
  }

  private static func store(_ documents: [Document]) throws -> EngineStore {
    let store = EngineStore.memory()
    var list = DocumentList(documents)
    let plan = ImportPlan(
      datastore: "City", identifier: try DocumentPath(parsing: "id"),
      indexes: [.init(name: "byName", path: try DocumentPath(parsing: "name"))])
    _ = try Importer(store, plan).run(&list)
    return store
  }

  private static func describe(_ store: EngineStore) throws -> DatastoreDescription {
    let datastore = try #require(try store.head.datastore("City"))
    var fields = RowDescription()
    try fields.see(recordsOf: datastore)
    return try fields.description(indexes: datastore)
  }

  @Test("each figure of each field is that of a loop over the records", arguments: [40, 2_000, 24_000])
  func figures(count: Int) throws {
    let documents = Self.documents(count)
    let description = try Self.describe(Self.store(documents))
    #expect(description.isComplete && description.read == count && description.unreadable == 0)
    let names = description.fields.map(\.name)
    #expect(Set(names) == ["id", "name", "country", "population", "place.latitude", "place.isPort", "tags", "note"])
    for field in description.fields {
      let path = try #require(field.path)
      let met = documents.map { $0[path] }
      let values = met.flatMap { value -> [Document] in
        if case .array(let elements)? = value { elements } else { value.map { [$0] } ?? [] }
      }.filter { $0 != .null }
      #expect(field.missing == met.count { $0 == nil }, "\(field.name)")
      #expect(field.nulls == met.count { $0 == .null }, "\(field.name)")
      #expect(field.count == values.count, "\(field.name)")
      let texts = Dictionary(grouping: values) { $0.compactJSON }.mapValues(\.count)
      if field.isEstimated {
        let ratio = Double(field.distinct) / Double(texts.count)
        #expect(abs(ratio - 1) < 0.04, "\(field.name): \(field.distinct)")
      } else {
        #expect(field.distinct == texts.count, "\(field.name)")
        let expected = texts.values.sorted(by: >).prefix(8)
        #expect(field.commonest.map(\.count) == Array(expected), "\(field.name)")
        // Numbers come before texts, and everything else is in its own order.
        let sorted = Set(values).sorted { left, right in
          let (one, two) = (texts[left.compactJSON] ?? 0, texts[right.compactJSON] ?? 0)
          if one != two { return one > two }
          switch (left, right) {
          case (.number(let left), .number(let right)): return left.double < right.double
          case (.string(let left), .string(let right)): return left < right
          case (.bool(let left), .bool): return !left
          default: if case .number = left { return true } else { return false }
          }
        }
        #expect(field.commonest.map(\.value) == Array(sorted.prefix(8)), "\(field.name)")
      }
      for common in field.commonest {
        let count = texts[common.value.compactJSON] ?? 0
        #expect(common.count <= count)
      }
      let numbers = values.compactMap { value -> Double? in
        if case .number(let number) = value { number.double } else { nil }
      }.sorted()
      if !numbers.isEmpty {
        #expect(field.least == .number(NumberText(numbers[0])))
        #expect(field.greatest == .number(NumberText(numbers[numbers.count - 1])))
        let mean = numbers.reduce(0, +) / Double(numbers.count)
        #expect(abs((field.mean?.double ?? .nan) - mean) < 1e-6)
        #expect(abs((field.sum?.double ?? .nan) - numbers.reduce(0, +)) < 1e-3)
        let places = [1, 2, 3].map { (numbers.count * $0 + 3) / 4 - 1 }
        let quartiles = places.map { Document.number(NumberText(numbers[$0])) }
        #expect(field.quartiles == quartiles, "\(field.name)")
        #expect(field.distribution.reduce(0, +) == numbers.count)
      }
    }
  }

  @Test("whole numbers beyond 2^53 keep their digits in the ends, the quartiles, the sum and the mean")
  func wholeNumbers() throws {
    let texts = [
      "9007199254740993", "9007199254740992", "9007199254740995", "9007199254740997", "-9223372036854775808",
      "18446744073709551615", "18446744073709551614", "9007199254740991",
    ]
    let field = try Self.summary(of: texts)
    #expect(field.least == .number(NumberText(unchecked: "-9223372036854775808")))
    #expect(field.greatest == .number(NumberText(unchecked: "18446744073709551615")))
    let quartiles = ["9007199254740991", "9007199254740993", "9007199254740997"]
    #expect(field.quartiles == quartiles.map { .number(NumberText(unchecked: $0)) })
    let sum = texts.reduce(Int128(0)) { $0 + (Int128($1) ?? 0) }
    #expect(field.sum?.text == "\(sum)" && !field.isRounded)
    #expect(field.mean?.text == "3464394013354754048.625")
    #expect(field.distinct == texts.count)
  }

  @Test("decimal numbers are summed digit by digit, and numbers of many digits are told apart by all of them")
  func decimals() throws {
    let field = try Self.summary(of: Array(repeating: "0.1", count: 10) + ["0.2", "1e2", "-0.30"])
    #expect(field.sum?.text == "100.9" && field.mean?.text == "7.7615384615384615")
    #expect(field.distinct == 4)
    let long = try Self.summary(of: ["0.12345678901234567890", "0.1234567890123456789", "0.12345678901234567891"])
    #expect(long.distinct == 2)
    let wide = try Self.summary(of: ["1e300", "1"])
    #expect(wide.isRounded && wide.sum?.double == 1e300)
    // A double holds none of the sums on the way, or loses what is left at the end.
    let beyond = try Self.summary(of: ["1.5e308", "1e308", "-2e308", "5e-324"])
    #expect(beyond.isRounded && beyond.sum?.text == "5e307", "\(beyond.sum?.text ?? "none")")
    let rest = try Self.summary(of: ["1e300", "1", "2.5", "-1e300"])
    #expect(rest.isRounded && rest.sum?.double == 0, "\(rest.sum?.text ?? "none")")
    let near = try Self.summary(of: Array(repeating: "1e21", count: 88) + Array(repeating: "1e-18", count: 86))
    #expect(near.isRounded && near.sum?.double == 88e21, "\(near.sum?.text ?? "none")")
    let huge = try Self.summary(of: ["2e308", "3e308", "-1e309"])
    #expect(huge.least == .number(NumberText(unchecked: "-1e309")))
    #expect(huge.greatest == .number(NumberText(unchecked: "3e308")))
    #expect(huge.sum?.text == "-5e308" && !huge.isRounded, "\(huge.sum?.text ?? "none")")
  }

  @Test("a text is one value in both Unicode forms: to a description, as an identifier and as the name of a member")
  func composedTexts() throws {
    let forms = ["\u{E9}", "e\u{301}"]
    var rows = RowDescription()
    for form in forms.reversed() { rows.see(["name": .string(form)]) }
    rows.see(["name": "f"])
    let field = try #require(try rows.description().fields.first)
    #expect(field.distinct == 2 && field.least == "f" && field.greatest == .string(forms[0]))
    var table = try TableSource(bytes: Array("code,n\n\(forms[0]),1\n\(forms[1]),2\n".utf8), name: "a.csv")
    #expect(try IdentifierChoice(&table, name: "a").path == nil)
    var json = try TableSource(bytes: Array("{\"\(forms[0])\":1,\"\(forms[1])\":2}\n".utf8), name: "a.jsonl")
    while try json.next() != nil {}
    #expect(json.notes.count == 1)
  }

  private static func summary(of numbers: [String]) throws -> FieldDescription {
    var rows = RowDescription()
    for number in numbers { rows.see(["n": .number(NumberText(unchecked: number))]) }
    return try #require(try rows.description().fields.first)
  }

  @Test("100,000 distinct values are counted exactly, and one more is estimated, in 16 MB", arguments: [20, 600])
  func distinct(length: Int) {
    var tally = ValueTally()
    var largest = 0
    func add(_ place: Int) {
      let text = String(repeating: "x", count: length - 6) + String(100_000 + place)
      tally.add(ValueHash.text(of: text), .string(text))
      if place.isMultiple(of: 1_000) { largest = max(largest, tally.byteCount) }
    }
    for place in 0..<100_000 { add(place) }
    for place in 0..<300 { add(place * 333 % 100) }
    #expect(tally.isExact && tally.distinct == 100_000)
    #expect(tally.commonest(3).map(\.count) == [4, 4, 4])
    for place in 100_000..<130_000 { add(place) }
    #expect(!tally.isExact && abs(Double(tally.distinct) / 130_000 - 1) < 0.04)
    #expect(largest > 1 << 20 && largest <= 16_000_000)
  }

  @Test("what a tally has to estimate, an index counts exactly")
  func indexedDistinct() throws {
    let ranks = try Self.store(Self.documents(2_000)).head.datastore("City")
    let index = try #require(ranks?.indexes.first)
    var keys: [String: Int] = [:]
    try index.forEachKey(in: 0..<(try index.count), {}) { key, run in keys[key.description] = run.count }
    #expect(keys.count == 1_000 && keys.values.allSatisfy { $0 == 2 })
    var part: [Range<Int>] = []
    try index.forEachKey(in: 101..<108, {}) { _, run in part.append(run) }
    #expect(part == [101..<102, 102..<104, 104..<106, 106..<108])
  }

  @Test("the distinct elements of lists are counted in their index; how often each occurs is a lower bound then")
  func indexedElements() throws {
    let documents: [Document] = (0..<1_010).map { id in
      let own = (0..<100).map { Document.string("e\(id * 100 + $0)") }
      return ["id": .number(NumberText(id)), "tags": .array(own + [.string("all"), .string("all")])]
    }
    let store = EngineStore.memory()
    var list = DocumentList(documents)
    let plan = ImportPlan(
      datastore: "City", identifier: try DocumentPath(parsing: "id"),
      indexes: [.init(name: "byTag", path: try DocumentPath(parsing: "tags"), kind: .manyToMany)])
    _ = try Importer(store, plan).run(&list)
    let field = try #require(try Self.describe(store).fields.first { $0.name == "tags" })
    #expect(field.distinct == 101_001 && !field.isEstimated && field.areCountsLeast)
    #expect(field.commonest.allSatisfy { $0.count <= 2_020 })
  }

  @Test("an index gives the ends and the quartiles of a text")
  func indexed() throws {
    let documents = Self.documents(500)
    let field = try #require(try Self.describe(Self.store(documents)).fields.first { $0.name == "name" })
    let names = documents.compactMap { document -> String? in
      if case .string(let name)? = document[member: "name"] { name } else { nil }
    }.sorted()
    #expect(field.index == "byName")
    #expect(field.least == .string(names[0]) && field.greatest == .string(names[499]))
    #expect(field.quartiles == [.string(names[124]), .string(names[249]), .string(names[374])])
  }

  @Test("a description of a part says of how much it is, and lists of objects have fields of their own")
  func parts() throws {
    let documents: [Document] = (0..<1_000).map {
      ["id": .number(NumberText($0)), "lines": .array([["sku": .string("a\($0 % 3)")], ["sku": "b"]])]
    }
    let datastore = try #require(try Self.store(documents).head.datastore("City"))
    var fields = RowDescription()
    try fields.see(recordsOf: datastore, limit: 300)
    let part = try fields.description(of: 300, 1_000, indexes: datastore)
    #expect(part.read == 300 && part.total == 1_000 && !part.isComplete)
    let sku = try #require(part.fields.first { $0.name == "lines[].sku" })
    #expect(sku.path == nil && sku.count == 600 && sku.distinct == 4)
    #expect(sku.commonest.first?.count == 300)
  }

  @Test("an empty datastore has no fields, and records that are not documents are counted")
  func nothing() throws {
    let store = try Self.store(Self.documents(10))
    let datastore = try #require(try store.head.datastore("City"))
    var fields = RowDescription()
    #expect(try fields.description().fields.isEmpty)
    fields.see(nil)
    try fields.see(recordsOf: datastore)
    let description = try fields.description()
    #expect(description.unreadable == 1 && description.total == 11)
  }

  @Test("texts that are dates are counted in the bins of the calendar, and other texts beside the axis")
  func textDates() throws {
    let texts = (0..<360).map { place in
      "20\(10 + place % 12)-\(place % 9 + 1 < 10 ? "0" : "")\(place % 9 + 1)-05T10:00:00Z"
    }
    let documents = (texts + ["n/a"]).enumerated().map { place, text -> Document in
      ["id": .number(NumberText(place)), "name": .string(text)]
    }
    let index = try #require(try Self.store(documents).head.datastore("City")?.indexes.first)
    let histogram = try Histogram(of: index, bins: 20)
    #expect(histogram.form == .calendar(.year) && histogram.bins.count == 12)
    for bin in histogram.bins { #expect(bin.count == texts.count { $0.hasPrefix(bin.label) }, "\(bin.label)") }
    #expect(histogram.asides.map(\.count) == [1])
  }

  @Test("dates without a time are counted in the bin that begins with their day, however narrow the bins are")
  func textDays() throws {
    let days = ["2026-11-16", "2026-11-17", "2026-11-18"]
    let documents = (0..<30).map { place -> Document in
      ["id": .number(NumberText(place)), "name": .string(days[place % 3])]
    }
    let index = try #require(try Self.store(documents).head.datastore("City")?.indexes.first)
    let histogram = try Histogram(of: index, bins: 60)
    #expect(histogram.form == .calendar(.second))
    for day in days { #expect(histogram.bins.first { $0.lower == .string(day) }?.count == 10, "\(day)") }
  }

  @Test("points are counted into the dots that they lie in")
  func scatter() {
    let frame = ScatterCount.Frame(x: -180...180, y: -90...90)
    var count = ScatterCount(frame, columns: 36, rows: 18, series: 2)
    var expected: [Int: UInt32] = [:]
    var beside = 0
    for place in 0..<5_000 {
      let (x, y) = (Double(place * 37 % 400) - 200, Double(place * 91 % 190) - 95)
      count.add(x, y, series: place % 2)
      if abs(x) > 180 || abs(y) > 90 {
        beside += 1
        continue
      }
      let (column, row) = (min(35, Int((x + 180) / 10)), 17 - min(17, Int((y + 90) / 10)))
      expected[(place % 2) * 1_000 + row * 36 + column, default: 0] += 1
      let values = count.values(column: column, row: row)
      #expect(values.x.contains(x) && values.y.contains(y))
    }
    #expect(count.outside == beside && count.inside == 5_000 - beside)
    for series in 0..<2 {
      for place in 0..<(36 * 18) { #expect(count.counts[series][place] == expected[series * 1_000 + place] ?? 0) }
    }
    #expect(count.dot(.nan, 0) == nil)
  }

  @Test("the strip counts commits and changed records in each part of the time")
  func strip() throws {
    let commits = (0..<60).map { place in
      CommitDetails(
        number: CommitNumber(UInt64(60 - place)), parents: [], date: Int64(60 - place) * 10_000_000_000, action: "",
        changes: [ChangeCount(datastore: "City", inserted: place, updated: 1, deleted: 0)])
    }
    let strip = try #require(CommitStrip(commits, parts: 10))
    #expect(strip.axis == .time)
    #expect(strip.parts.map(\.commitCount).reduce(0, +) == 60)
    #expect(strip.parts.map(\.changeCount).reduce(0, +) == (1...60).reduce(0, +))
    for commit in commits {
      let part = try #require(strip.part(of: commit.number))
      let width = 590e9 / 10
      #expect(part == min(9, Int(Double(commit.date - 10_000_000_000) / width)))
    }
    var burst = commits
    for place in burst.indices.dropFirst() { burst[place].date = 5 }
    #expect(CommitStrip(burst, parts: 10)?.axis == .commits)
    #expect(CommitStrip(Array(commits.suffix(5)), parts: 10)?.axis == .commits)
    #expect(CommitStrip([], parts: 10) == nil)
    var apart = commits
    (apart[0].date, apart[apart.count - 1].date) = (.max, -9_000_000_000_000_000_000)
    #expect(CommitStrip(apart, parts: 10)?.parts.map(\.commitCount).reduce(0, +) == 60)
    for place in apart.indices { apart[place].date = .min }
    #expect(CommitStrip(apart, parts: 10)?.axis == .commits)
  }
}
