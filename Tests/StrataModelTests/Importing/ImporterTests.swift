import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Importing")
struct ImporterTests {
  private func plan(_ change: (inout ImportPlan) -> Void = { _ in }) throws -> ImportPlan {
    var plan = ImportPlan(
      datastore: "City", identifier: try DocumentPath(parsing: "id"),
      indexes: [
        ImportPlan.Index(name: "population", path: try DocumentPath(parsing: "population"), storage: .direct),
        ImportPlan.Index(name: "tags", path: try DocumentPath(parsing: "tags"), kind: .manyToMany),
        ImportPlan.Index(name: "name", path: try DocumentPath(parsing: "name"), kind: .oneToOne),
      ])
    change(&plan)
    return plan
  }

  private func run(_ documents: [Document], into store: EngineStore, _ plan: ImportPlan) throws -> ImportReport {
    var source = DocumentList(documents, name: "cities.jsonl")
    return try Importer(store, plan).run(&source)
  }

  @Test("an import makes the datastore with guessed types, declared rules and right indexes, in one commit")
  func fresh() throws {
    let store = EngineStore.memory()
    let report = try run((1...50).map { Cities.document($0) }, into: store, plan())
    #expect(report.new == 50)
    #expect(report.rejected == 0)
    let number = try #require(report.commit)
    #expect(try store.commit(number).action == "import City: 50 records")
    #expect(report.descriptor.identifierEncoding == .integer)
    #expect(report.descriptor.index("population")?.type == "OneToManyIndex(Int)")
    #expect(report.descriptor.index("tags")?.encoding == .string)
    #expect(try store.entries("population").first == "100 1")
    #expect(try store.commits(from: number, limit: 9, folded: false).count == 1)
    #expect(try store.verifyModel(at: number).isClean)
  }

  @Test("a second import counts new, changed and unchanged records, and makes no commit if none changed")
  func again() throws {
    let store = EngineStore.memory()
    _ = try run((1...50).map { Cities.document($0) }, into: store, plan())
    let head = store.head.commit
    let same = try run((1...50).map { Cities.document($0) }, into: store, plan())
    #expect(same.unchanged == 50)
    #expect(store.head.commit == head)
    let report = try run([Cities.document(1), Cities.document(2, name: "x"), Cities.document(99)], into: store, plan())
    #expect((report.new, report.changed, report.unchanged) == (1, 1, 1))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("rows that share an identifier are told with their places, in a new datastore and in one that has records")
  func repeated() throws {
    let store = EngineStore.memory()
    let documents = [1, 2, 3, 2, 4, 2, 1].map { Cities.document($0, name: "n\($0)") }
    for isDryRun in [true, false] {
      let report = try run(documents, into: store, plan { $0.isDryRun = isDryRun })
      #expect((report.new, report.repeated) == (4, 3))
      #expect(report.repeats.map(\.identifier.description) == ["2", "1"])
      #expect(
        report.repeats.map(\.rows) == [
          ["cities.jsonl:2", "cities.jsonl:4", "cities.jsonl:6"], ["cities.jsonl:1", "cities.jsonl:7"],
        ])
    }
    // Known identifiers are no repeats; the same known one twice is.
    let again = try run([1, 9, 3, 3, 9].map { Cities.document($0) }, into: store, plan())
    #expect(again.repeats.map(\.identifier.description) == ["3", "9"])
    #expect(again.repeats.map(\.count) == [2, 2])
    #expect(try run([1, 2].map { Cities.document($0) }, into: store, plan()).repeats.isEmpty)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("a row that an index cannot hold is refused alone, also where it replaces a record")
  func lackingAValue() throws {
    let store = EngineStore.memory()
    _ = try run((1...5).map { Cities.document($0) }, into: store, plan())
    let lacking = try [2, 9].map { try Cities.document($0).removing(DocumentPath(parsing: ".population")) }
    for existing in [ImportPlan.Existing.replaced, .replacedWhole] {
      let report = try run([Cities.document(1, name: "x")] + lacking, into: store, plan { $0.existing = existing })
      #expect(report.rejections.map(\.place) == ["cities.jsonl:2", "cities.jsonl:3"])
      #expect((report.rejected, report.new, report.losses.count) == (2, 0, 0))
    }
    #expect(try store.headView.requiredDatastore("City").record(Cities.key(2))?.document() == Cities.document(2))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("a row that is refused is no row of its record: nothing replaces it")
  func refusedRow() throws {
    let store = EngineStore.memory()
    _ = try run([Cities.document(1), Cities.document(2)], into: store, plan())
    let lacking = try Cities.document(1).removing(DocumentPath(parsing: ".population"))
    let whole = Cities.document(1, name: "x")
    let report = try run([lacking, whole, Cities.document(2)], into: store, plan())
    #expect((report.changed, report.unchanged, report.rejected) == (1, 1, 1))
    #expect(report.repeats.isEmpty && report.repeated == 0)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test(
    "an import is told in steps: read, written, an index each; a listener that says no ends it with nothing written")
  func steps() throws {
    let store = EngineStore.memory()
    let heard = Locked<[String]>([])
    var source = DocumentList((1...1_000).map { Cities.document($0) })
    _ = try Importer(
      store, plan(),
      activity: { activity in
        for step in activity.steps { heard.with { if !$0.contains(step.title) { $0.append(step.title) } } }
        return true
      }
    ).run(&source)
    #expect(
      heard.with { $0 } == [
        "read for types", "write the records", "write index name", "write index population", "write index tags",
      ])
    let other = EngineStore.memory()
    for last in ["read for types", "write the records", "write index tags"] {
      #expect(throws: ModelError.self) {
        _ = try Importer(other, plan(), activity: { $0.currentStep?.title != last }).run(&source)
      }
      #expect(other.head.commit.rawValue == 0)
    }
  }

  @Test("two indexes of one name are refused, in a new datastore and in one that has records")
  func repeatedIndex() throws {
    let store = EngineStore.memory()
    for documents in [1...2, 3...4] {
      let twice = try plan { $0.indexes.append(ImportPlan.Index(name: "tags", path: DocumentPath([.member("name")]))) }
      #expect(throws: ModelError.self) { try run(documents.map { Cities.document($0) }, into: store, twice) }
      _ = try run(documents.map { Cities.document($0) }, into: store, plan { $0.indexes.removeLast(2) })
    }
    #expect(try store.head.datastore("City")?.count == 4)
  }

  @Test("a dry run counts the same and writes nothing")
  func dryRun() throws {
    let store = EngineStore.memory()
    let report = try run((1...50).map { Cities.document($0) }, into: store, plan { $0.isDryRun = true })
    #expect(report.new == 50)
    #expect(report.commit == nil)
    #expect(try store.head.datastores.isEmpty)
    #expect(store.writer == nil)
  }

  @Test("what cannot be imported is rejected with its place and reason, the rest goes in")
  func rejections() throws {
    let store = EngineStore.memory()
    var source = DocumentList([
      ImportRow(content: .document(Cities.document(1)), place: SourcePlace(file: "f", line: 1)),
      ImportRow(content: .unreadable("expected a value"), place: SourcePlace(file: "f", line: 2, column: 7)),
      ImportRow(content: .document(["name": "no id", "id": nil]), place: SourcePlace(file: "f", line: 3)),
      ImportRow(content: .document([1, 2]), place: SourcePlace(file: "f", line: 4)),
      ImportRow(
        content: .document(["id": "four", "name": "x", "population": 1, "tags": []]),
        place: SourcePlace(file: "f", line: 5)),
      ImportRow(
        content: .document(["id": 6, "name": "x", "population": "many", "tags": []]),
        place: SourcePlace(file: "f", line: 6)),
      ImportRow(
        content: .document(["id": 7, "name": .string(String(repeating: "x", count: 20_000)), "population": 1]),
        place: SourcePlace(file: "f", line: 7)),
      ImportRow(content: .document(Cities.document(8)), place: SourcePlace(file: "f", line: 8)),
    ])
    let report = try Importer(store, plan()).run(&source)
    #expect(report.new == 2)
    #expect(report.rejected == 6)
    #expect(report.rejections.map(\.place) == ["f:2:7", "f:3", "f:4", "f:5", "f:6", "f:7"])
    #expect(report.rejections[1].reason == ".id is null, which is the identifier")
    #expect(report.rejections[3].description == #"f:5: the identifier .id is "four", which is not a valid integer"#)
    #expect(report.rejections[4].reason.hasPrefix(#"index population: .population is "many", which is not"#))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("with new-only an identifier that exists is rejected, also one of the same file")
  func newOnly() throws {
    let store = EngineStore.memory()
    _ = try run([Cities.document(1)], into: store, plan())
    let report = try run(
      [Cities.document(1, name: "x"), Cities.document(2), Cities.document(2)], into: store,
      plan { $0.existing = .kept })
    #expect(report.new == 1)
    #expect(report.rejections.map(\.reason) == ["there is a record 1 already", "there is a record 2 already"])
    #expect(try store.city(1) == Cities.document(1))
  }

  @Test("numbers that are not all whole are doubles, and what may be missing is optional")
  func guesses() throws {
    let store = EngineStore.memory()
    let report = try run(
      [
        ["id": "a", "population": 1.5, "name": "x"], ["id": "b", "population": 2, "name": nil],
        ["id": "c", "name": "y"],
      ], into: store, plan())
    #expect(report.new == 3)
    #expect(report.descriptor.identifierType == "String")
    #expect(report.descriptor.index("population")?.valueType == "Optional<Double>")
    let index = try store.index("population")
    #expect(try index.entries(at: 0..<3).map(\.value) == [.null, .double(1.5), .double(2)])
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("documents that stand under their identifier get it as the field")
  func keyed() throws {
    let store = EngineStore.memory()
    var source = DocumentList([
      ImportRow(content: .document(["name": "a", "population": 1]), key: "12", place: SourcePlace(file: "f", line: 1)),
      ImportRow(
        content: .document(["name": "b", "population": 1, "id": 13]), key: "13", place: SourcePlace(file: "f", line: 2)),
    ])
    #expect(try Importer(store, plan()).run(&source).new == 2)
    #expect(try store.city(12)?[member: "id"] == 12)
  }

  @Test("what is read is stored as it would be written, whether the file has it so or not")
  func texts() throws {
    let store = EngineStore.memory()
    let lines = [
      #"{"id":1,"name":"a","population":10,"tags":["x","y"],"rest":[1.0,{"b":null}]}"#,
      #"{"id": 2, "name": "b", "population": 20, "tags": ["x"], "rest": "é"}"#,
      #"{"id":3,"name":"\u0063","population":30,"tags":[],"rest":"é"}"#,
      #"{"id":4,"name":"d","population":40,"tags":["z"],"rest":"\/"}"#,
      #"{"id":5,"name":"e","population":50,"tags":[],"rest":tru}"#,
    ]
    for _ in 1...2 {
      var source = try TableSource(bytes: Array(lines.joined(separator: "\n").utf8), name: "f")
      let report = try Importer(store, plan()).run(&source)
      #expect((report.new + report.unchanged, report.rejected) == (4, 1))
      #expect(report.rejections.map(\.place) == ["f:5:53"])
    }
    for (identifier, line) in zip(1..., lines.dropLast()) {
      let stored = try #require(try store.headView.requiredDatastore("City").record(Cities.key(identifier)))
      #expect(stored.content == (try JSONParser.parse(line).json(.compact)))
    }
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("an import into a datastore with records fills a new index from all of them")
  func addsIndex() throws {
    let store = EngineStore.memory()
    _ = try run((1...40).map { Cities.document($0) }, into: store, plan { $0.indexes.removeLast(2) })
    let report = try run([Cities.document(41)], into: store, plan())
    #expect(report.new == 1)
    #expect(try store.index("name").count == 41)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
    #expect(throws: ModelError.self) {
      try run([Cities.document(42)], into: store, plan { $0.identifier = DocumentPath([.member("name")]) })
    }
    #expect(throws: ModelError.self) {
      try run([Cities.document(42)], into: store, plan { $0.indexes[2].path = DocumentPath([.member("country")]) })
    }
  }

  @Test("a cancelled import leaves nothing")
  func cancel() throws {
    let store = EngineStore.memory()
    var source = DocumentList((1...2_000).map { Cities.document($0) })
    let importer = try Importer(store, plan()) { done, total in total == 0 || done < 1_000 }
    #expect(throws: ModelError.cancelled) { try importer.run(&source) }
    #expect(try store.head.datastores.isEmpty)
    var again = DocumentList((1...2_000).map { Cities.document($0) })
    #expect(try Importer(store, plan()).run(&again).new == 2_000)
  }

  @Test("indexes are added, rebuilt and dropped on an imported datastore, each in one commit")
  func indexCommands() throws {
    let store = EngineStore.memory()
    _ = try run((1...40).map { Cities.document($0) }, into: store, plan { $0.indexes = [] })
    let place = IndexDescriptor(
      name: "place", kind: .oneToMany, encoding: .compound([.string, .descending(.integer)]), valueType: "Compound",
      tiers: [
        IndexTier(valueType: "String", rule: ".country"),
        IndexTier(valueType: "Int", rule: ".population", isDescending: true),
      ])
    let number = try store.addIndex(place, to: "City", options: EditOptions())
    #expect(try store.commit(number).isMaintenance)
    let first = try #require(try store.entries("place").first)
    #expect(first == #"["CH", 3900] 39"#)
    #expect(try store.index("place").rank(of: .after(.compound([.string("CH")]))) == 13)
    _ = try store.transact(CommitInfo(action: "damage")) { transaction throws(ModelError) in
      try onStorage {
        try transaction.dropTree(.index("place", of: "City"))
        try transaction.createTree(.index("place", of: "City"), kind: .entries)
      }
    }
    #expect(try !store.verifyModel(at: store.head.commit).isClean)
    _ = try store.rebuildIndex("place", of: "City", options: EditOptions())
    #expect(try store.verifyModel(at: store.head.commit).isClean)
    _ = try store.dropIndex("place", of: "City")
    #expect(throws: ModelError.self) { try store.dropIndex("place", of: "City") }
    #expect(try store.headView.tree(.index("place", of: "City")) == nil)
    var unique = IndexDescriptor(
      name: "c", kind: .oneToOne, encoding: .string, valueType: "String", rule: ".country", isUnique: true)
    #expect(throws: ModelError.self) { try store.addIndex(unique, to: "City", options: EditOptions()) }
    unique.rule = nil
    #expect(throws: ModelError.self) { try store.addIndex(unique, to: "City", options: EditOptions()) }
  }

  @Test("records that a new index cannot take are listed, or left out on request until they are mended")
  func failures() throws {
    let store = EngineStore.memory(program: "Tests")
    var documents = (1...40).map { Cities.document($0) }
    documents[6] = try documents[6].removing(DocumentPath(parsing: ".country"))
    documents[8] = try documents[8].setting(DocumentPath(parsing: ".country"), to: 12)
    _ = try run(documents, into: store, plan())
    let head = store.head.commit
    let country = IndexDescriptor(
      name: "country", kind: .oneToMany, encoding: .string, valueType: "String", rule: ".country")
    #expect {
      try store.addIndex(country, to: "City", options: EditOptions())
    } throws: { error in
      guard case .failures(let records, total: 2)? = error as? ModelError else { return false }
      return records.map(\.identifier) == [Cities.key(7), Cities.key(9)]
        && records.map(\.reason) == [
          ".country is missing, and the index needs a value", ".country is 12, which is not a valid text",
        ]
    }
    #expect(store.head.commit == head)
    _ = try store.addIndex(country, to: "City", options: EditOptions(leavesFailuresOut: true))
    let datastore = try store.headView.requiredDatastore("City")
    #expect(try datastore.leftOut(limit: 9).map(\.identifier) == [Cities.key(7), Cities.key(9)])
    #expect(try store.index("country").count == 38)
    let report = try store.verifyModel(at: store.head.commit)
    #expect(report.isClean, "\(report.allFindings)")
    #expect(report.datastores.first?.leftOut == 2)
    // What is left out may come again as it is, but not otherwise.
    #expect(try run([documents[6]], into: store, plan()).unchanged == 1)
    let other = try documents[6].setting(DocumentPath(parsing: ".name"), to: "x")
    #expect(try run([other], into: store, plan()).rejected == 1)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
    let mend = Cities.edit(7, from: documents[6], to: Cities.document(7))
    _ = try store.commit(ChangeSet(changes: [mend]), named: "mend", options: EditOptions())
    #expect(try store.headView.requiredDatastore("City").leftOutCount == 1)
    #expect(try store.index("country").count == 39)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }
}
