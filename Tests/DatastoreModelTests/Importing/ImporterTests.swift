import Documents
import StorageEngine
import Testing

@testable import DatastoreModel

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

  private func run(_ documents: [Document], into store: OwnStore, _ plan: ImportPlan) throws -> ImportReport {
    var source = DocumentList(documents, name: "cities.jsonl")
    return try Importer(store, plan).run(&source)
  }

  @Test("an import makes the datastore with guessed types, declared rules and right indexes, in one commit")
  func fresh() throws {
    let store = OwnStore.memory()
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

  @Test("imported again: new, changed and unchanged are told apart, and nothing changed is no commit")
  func again() throws {
    let store = OwnStore.memory()
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
    let store = OwnStore.memory()
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

  @Test(
    "an import is told in steps: read, written, an index each; a listener that says no ends it with nothing written")
  func steps() throws {
    let store = OwnStore.memory()
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
      heard.with { $0 } == ["read for types", "write the records", "index name", "index population", "index tags"])
    let other = OwnStore.memory()
    for last in ["read for types", "write the records", "index tags"] {
      #expect(throws: ModelError.self) {
        _ = try Importer(other, plan(), activity: { $0.steps.last?.title != last }).run(&source)
      }
      #expect(other.head.commit.rawValue == 0)
    }
  }

  @Test("a dry run counts the same and writes nothing")
  func dryRun() throws {
    let store = OwnStore.memory()
    let report = try run((1...50).map { Cities.document($0) }, into: store, plan { $0.isDryRun = true })
    #expect(report.new == 50)
    #expect(report.commit == nil)
    #expect(try store.head.datastores.isEmpty)
    #expect(store.writer == nil)
  }

  @Test("what cannot be imported is rejected with its place and reason, the rest goes in")
  func rejections() throws {
    let store = OwnStore.memory()
    var source = DocumentList([
      ImportRow(.document(Cities.document(1)), place: SourcePlace("f", line: 1)),
      ImportRow(.unreadable("expected a value"), place: SourcePlace("f", line: 2, column: 7)),
      ImportRow(.document(["name": "no id"]), place: SourcePlace("f", line: 3)),
      ImportRow(.document([1, 2]), place: SourcePlace("f", line: 4)),
      ImportRow(.document(["id": "four", "name": "x", "population": 1, "tags": []]), place: SourcePlace("f", line: 5)),
      ImportRow(.document(["id": 6, "name": "x", "population": "many", "tags": []]), place: SourcePlace("f", line: 6)),
      ImportRow(
        .document(["id": 7, "name": .string(String(repeating: "x", count: 20_000)), "population": 1]),
        place: SourcePlace("f", line: 7)),
      ImportRow(.document(Cities.document(8)), place: SourcePlace("f", line: 8)),
    ])
    let report = try Importer(store, plan()).run(&source)
    #expect(report.new == 2)
    #expect(report.rejected == 6)
    #expect(report.rejections.map(\.place) == ["f:2:7", "f:3", "f:4", "f:5", "f:6", "f:7"])
    #expect(report.rejections[1].reason == ".id is missing, which is the identifier")
    #expect(report.rejections[3].description == #"f:5: the identifier .id is "four", which is no integer"#)
    #expect(report.rejections[4].reason.hasPrefix(#"index population: .population is "many", which is no integer"#))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("with new-only an identifier that exists is rejected, also one of the same file")
  func newOnly() throws {
    let store = OwnStore.memory()
    _ = try run([Cities.document(1)], into: store, plan())
    let report = try run(
      [Cities.document(1, name: "x"), Cities.document(2), Cities.document(2)], into: store,
      plan { $0.existing = .kept })
    #expect(report.new == 1)
    #expect(report.rejections.map(\.reason) == ["there is a record 1 already", "there is a record 2 already"])
    #expect(try store.city(1) == Cities.document(1))
  }

  /// A store whose records have two versions, and another member in each.
  private func versions() throws -> OwnStore {
    let store = OwnStore.memory()
    let lines: [Document] = [
      ["id": 1, "version": "2026-01", "value": ["id": 1, "name": "a"]],
      ["id": 2, "version": "2026-02", "value": ["id": 2, "title": "b"]],
    ]
    let report = try run(lines, into: store, plan { $0.indexes = [] })
    #expect(report.new == 2 && report.descriptor.version == "2026-02" && report.descriptor.versionIsString)
    return store
  }

  private func version(_ identifier: Int, _ store: OwnStore) throws -> String? {
    try store.headView.requiredDatastore("City").record(Cities.key(identifier))?.version
  }

  @Test("a record keeps its version: unchanged it is unchanged, changed it is of the version that it was")
  func keptVersions() throws {
    let store = try versions()
    let same = try run([["id": 1, "name": "a"], ["id": 2, "title": "b"]], into: store, plan { $0.indexes = [] })
    #expect((same.unchanged, same.changed) == (2, 0))
    #expect(try run([["id": 1, "name": "x"]], into: store, plan { $0.indexes = [] }).changed == 1)
    #expect(try version(1, store) == "2026-01")
    #expect(try store.changes(putting: [["id": 1, "name": "x"]], into: "City").isEmpty)
    let put = try store.changes(putting: [["id": 1, "name": "y"], ["id": 3, "title": "c"]], into: "City")
    #expect(put.changes.map(\.new?.version) == ["2026-01", "2026-02"])
  }

  @Test("a new record that has not the members of the newest version is refused, with the version that it has")
  func newVersions() throws {
    let store = try versions()
    for document: Document in [["id": 3, "name": "c"], ["id": 3], ["id": 3, "title": 5]] {
      #expect {
        try run([document], into: store, plan { $0.indexes = [] })
      } throws: { error in
        guard case .refused(let reason)? = error as? ModelError else { return false }
        return reason.contains("newest version 2026-02") && reason.contains("--version ")
      }
      #expect(throws: ModelError.self) { try store.changes(putting: [document], into: "City") }
    }
    #expect(
      try run(
        [["id": 3, "name": "c"]], into: store,
        plan {
          $0.indexes = []; $0.version = "2026-01"
        }
      ).new == 1)
    #expect(try version(3, store) == "2026-01")
    #expect(try run([["id": 4, "title": "d"]], into: store, plan { $0.indexes = [] }).new == 1)
    #expect(try version(4, store) == "2026-02")
    let line: Document = ["id": 5, "version": "2026-01", "value": ["id": 5, "name": "e"]]
    #expect(try run([line], into: store, plan { $0.indexes = [] }).new == 1)
    #expect(try version(5, store) == "2026-01")
  }

  /// Imports a table into a store with these records, and returns the report and the documents as JSON.
  private func importTable(
    _ text: String, over documents: [Document], _ change: (inout ImportPlan) -> Void = { _ in }
  ) throws -> (ImportReport, [String]) {
    let store = OwnStore.memory()
    if !documents.isEmpty { _ = try run(documents, into: store, plan { $0.indexes = [] }) }
    var source = try TableSource(bytes: Array(text.utf8), name: "f.csv")
    let report = try Importer(
      store,
      plan {
        $0.indexes = []
        change(&$0)
      }
    ).run(&source)
    var found: [String] = []
    if let records = try store.headView.ownDatastore("City") {
      for entry in try records.primary.entries(at: 0..<records.count) {
        found.append(try #require(try records.record(entry.identifier)).document().compactJSON)
      }
    }
    return (report, found)
  }

  @Test("what the records have decides the type of a cell; one that cannot be of it is left out with its place")
  func storedTypes() throws {
    let records: [Document] = [
      ["id": 1, "code": "48", "n": 5, "ok": true], ["id": 2, "code": "AB", "n": 6, "ok": false],
    ]
    let (report, found) = try importTable(
      "id,code,n,ok\n1,49,5,true\n2,AB,N/A,true\nA4,X,1,true\n3,07,1,yes\n4,08,2,FALSE\n", over: records)
    #expect((report.new, report.changed, report.rejected) == (1, 1, 3))
    #expect(report.rejections.map(\.place) == ["f.csv:3:6", "f.csv:4", "f.csv:5:8"])
    #expect(report.rejections.first?.reason == "n is “N/A”, and it is Double in the records of City")
    #expect(report.rejections[1].reason == "id is “A4”, and it is Int as the identifier of City")
    #expect(
      found == [
        #"{"id":1,"code":"49","n":5,"ok":true}"#, #"{"id":2,"code":"AB","n":6,"ok":false}"#,
        #"{"id":4,"code":"08","n":2,"ok":false}"#,
      ])
    let typed = try importTable("id,code,n,ok\n1,49,5,true\n", over: records) {
      $0.types = [DocumentPath([.member("code")]): .integer]
    }
    #expect(typed.1[0] == #"{"id":1,"code":49,"n":5,"ok":true}"#)
  }

  @Test("what an export printed comes back as it was, whatever the types and whatever is missing")
  func exported() throws {
    let records: [Document] = [
      ["id": 1, "a": "48", "b": nil, "l": [1, "2"], "o": ["x": 1.50]], ["id": 2, "a": 48, "c": true, "o": ["x": "1"]],
      ["id": 3, "a": "", "d": "true", "e": [:]],
    ]
    var writer = TableWriter(.csv, columns: TableWriter.columns(of: records))
    var text = writer.beginning
    for record in records { text += writer.row(record) }
    let (report, _) = try importTable(String(decoding: text, as: UTF8.self), over: records)
    #expect((report.unchanged, report.changed, report.rejected) == (3, 0, 0))
  }

  @Test(
    "a file that lacks a field of the records is refused with what would be lost; merged it changes its own fields only"
  )
  func losses() throws {
    let records: [Document] = [["id": 1, "a": 1, "b": ["c": 2, "d": 3]], ["id": 2, "a": 1, "b": ["c": 2, "d": 3]]]
    let text = "id,b.c\n1,9\n3,9\n"
    let (refused, before) = try importTable(text, over: records)
    #expect(
      refused.commit == nil
        && refused.lossText == ".a (1 record), .b.d (1 record)".replacing(".a", with: "a").replacing(".b", with: "b"))
    #expect(before.count == 2)
    let (_, merged) = try importTable(text, over: records) { $0.existing = .merged }
    #expect(merged.first == #"{"id":1,"a":1,"b":{"c":9,"d":3}}"#)
    let (_, replaced) = try importTable(text, over: records) { $0.existing = .replacedWhole }
    #expect(replaced.first == #"{"id":1,"b":{"c":9}}"#)
    #expect(try importTable("id,b.c\n7,9\n", over: records).0.new == 1, "new records lose nothing")
  }

  @Test("a document without a member that others of its file have loses it; where no document has it, that is asked")
  func documentLosses() throws {
    let records: [Document] = [["id": 1, "a": 1, "b": 1], ["id": 2, "a": 1, "b": 1]]
    func imported(_ documents: [Document], _ existing: ImportPlan.Existing) throws -> (ImportReport, Document?) {
      let store = OwnStore.memory()
      _ = try run(records, into: store, plan { $0.indexes = [] })
      let report = try run(
        documents, into: store,
        plan {
          $0.indexes = []
          $0.existing = existing
        })
      return (report, try store.city(1))
    }
    #expect(try imported([["id": 1, "a": 2], ["id": 2, "a": 1, "b": 1]], .replaced).1 == ["id": 1, "a": 2])
    let refused = try imported([["id": 1, "a": 2]], .replaced)
    #expect(refused.0.lossText == "b (1 record)" && refused.0.commit == nil && refused.1 == records[0])
    #expect(try imported([["id": 1, "a": 2]], .merged).1 == ["id": 1, "a": 2, "b": 1])
    #expect(try imported([["id": 1, "a": 2]], .replacedWhole).1 == ["id": 1, "a": 2])
  }

  @Test("identifiers that look like decimals stay apart, and so do large integers beside a fraction")
  func decimalIdentifiers() throws {
    let (texts, found) = try importTable("id,a\n1.1,x\n1.10,y\n", over: [])
    #expect(texts.new == 2 && texts.descriptor.identifierEncoding == .string)
    #expect(found == [#"{"id":"1.1","a":"x"}"#, #"{"id":"1.10","a":"y"}"#])
    #expect(try importTable("id,a\n1.5,x\n2,y\n", over: []).0.descriptor.identifierEncoding == .double)
    let large = try importTable("id,a\n0.5,x\n9007199254740992,y\n9007199254740993,z\n", over: []).0
    #expect(large.new == 3 && large.descriptor.identifierEncoding == .decimal)
    let (same, _) = try importTable("id,a\n1.10,z\n1.1,y\n", over: [["id": 1.5, "a": "x"]])
    #expect(same.new == 1 && same.repeats.count == 1)
    let (kept, names) = try importTable("id,a\n1,z\n01,y\n", over: [["id": "x", "a": "x"]])
    #expect(kept.new == 2 && names.contains(#"{"id":"1","a":"z"}"#))
  }

  @Test("names without a row make no datastore, and an identifier that comes twice is one record in the counts")
  func emptyAndRepeated() throws {
    let (report, found) = try importTable("id,name\n", over: [])
    #expect(report.commit == nil && found.isEmpty)
    let twice = try importTable(
      "id,a\n1,y\n1,x\n2,x\n2,z\n3,q\n3,r\n", over: [["id": 1, "a": "x"], ["id": 2, "a": "x"]]
    ).0
    #expect((twice.new, twice.changed, twice.unchanged, twice.repeated) == (1, 1, 1, 3))
    #expect(twice.repeats.count == 3)
  }

  @Test("numbers that are not all whole are doubles, and what may be missing is optional")
  func guesses() throws {
    let store = OwnStore.memory()
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
    let store = OwnStore.memory()
    var source = DocumentList([
      ImportRow(.document(["name": "a", "population": 1]), key: "12", place: SourcePlace("f", line: 1)),
      ImportRow(.document(["name": "b", "population": 1, "id": 13]), key: "13", place: SourcePlace("f", line: 2)),
    ])
    #expect(try Importer(store, plan()).run(&source).new == 2)
    #expect(try store.city(12)?[member: "id"] == 12)
  }

  @Test("what is read is stored as it would be written, whether the file has it so or not")
  func texts() throws {
    let store = OwnStore.memory()
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
    let store = OwnStore.memory()
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
    let store = OwnStore.memory()
    var source = DocumentList((1...2_000).map { Cities.document($0) })
    let importer = try Importer(store, plan()) { done, total in total == 0 || done < 1_000 }
    #expect(throws: ModelError.cancelled) { try importer.run(&source) }
    #expect(try store.head.datastores.isEmpty)
    var again = DocumentList((1...2_000).map { Cities.document($0) })
    #expect(try Importer(store, plan()).run(&again).new == 2_000)
  }

  @Test("indexes are added, rebuilt and dropped on an imported datastore, each in one commit")
  func indexCommands() throws {
    let store = OwnStore.memory()
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
      try onStorage { () throws(StorageError) in
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
    let store = OwnStore.memory(program: "Tests")
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
          ".country is missing, and the index needs a value", ".country is 12, which is no text",
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
    let mend = Cities.edit(7, from: documents[6], to: Cities.document(7))
    _ = try store.commit(ChangeSet(changes: [mend]), named: "mend", options: EditOptions())
    #expect(try store.headView.requiredDatastore("City").leftOutCount == 1)
    #expect(try store.index("country").count == 39)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }
}
