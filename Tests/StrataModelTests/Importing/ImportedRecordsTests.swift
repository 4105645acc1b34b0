import StrataDocuments
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Importing over records")
struct ImportedRecordsTests {
  private func plan(_ change: (inout ImportPlan) -> Void = { _ in }) throws -> ImportPlan {
    var plan = ImportPlan(datastore: "City", identifier: try DocumentPath(parsing: "id"))
    change(&plan)
    return plan
  }

  private func run(_ documents: [Document], into store: EngineStore, _ plan: ImportPlan) throws -> ImportReport {
    var source = DocumentList(documents, name: "cities.jsonl")
    return try Importer(store, plan).run(&source)
  }

  /// A store whose records have two versions, and another member in each.
  private func versions() throws -> EngineStore {
    let store = EngineStore.memory()
    let lines: [Document] = [
      ["id": 1, "version": "2026-01", "value": ["id": 1, "name": "a"]],
      ["id": 2, "version": "2026-02", "value": ["id": 2, "title": "b"]],
    ]
    let report = try run(lines, into: store, plan { $0.indexes = [] })
    #expect(report.new == 2 && report.descriptor.version == "2026-02" && report.descriptor.versionIsString)
    return store
  }

  private func version(_ identifier: Int, _ store: EngineStore) throws -> String? {
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

  @Test("of versions that are numbers the greatest is the newest, in any order", arguments: [false, true])
  func numberedVersions(isReversed: Bool) throws {
    let lines: [Document] = [
      ["id": 1, "version": 9, "value": ["id": 1, "name": "a"]],
      ["id": 2, "version": 10, "value": ["id": 2, "title": "b"]],
    ]
    let report = try run(isReversed ? lines.reversed() : lines, into: .memory(), plan { $0.indexes = [] })
    #expect(report.descriptor.version == "10" && !report.descriptor.versionIsString)
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
    let store = EngineStore.memory()
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
    #expect(report.rejections.first?.reason == "n is “N/A”, and it is a number in the records of City")
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

  @Test("a number may have blanks around it, a plus or no digit before its point; what has several meanings is refused")
  func spelledNumbers() throws {
    let records: [Document] = [["id": 1, "n": 5, "m": 1.5, "ok": true], ["id": 2, "n": 6, "m": 2, "ok": false]]
    let (report, found) = try importTable(
      "id,n,m,ok\n 3 ,+1,.5, TRUE\n4,\u{a0}7 ,-.25,true \n+5,-8, +1.5e3 ,false\n6, ,,\n", over: records)
    #expect((report.new, report.rejected) == (4, 0), "\(report.rejections)")
    #expect(
      found.dropFirst(2) == [
        #"{"id":3,"n":1,"m":0.5,"ok":true}"#, #"{"id":4,"n":7,"m":-0.25,"ok":true}"#,
        #"{"id":5,"n":-8,"m":1.5e3,"ok":false}"#, #"{"id":6,"n":null,"m":null,"ok":null}"#,
      ])
    let odd = [
      "1 234", "\"1,234\"", "\"1,5\"", "(5)", "5%", "$5", "- 5", "+", "-", "+-5", "++5", ".", "-.", "..5", "5.", "007",
      "0x10",
      "1_000", "−5",
      "NaN", "٣", "yes",
    ]
    let (refused, _) = try importTable(
      "id,n,m,ok\n" + odd.enumerated().map { "\($0 + 10),1,\($1),true\n" }.joined(), over: records)
    #expect(refused.rejections.map(\.place) == odd.indices.map { "f.csv:\($0 + 2):6" })
    #expect(refused.rejections.allSatisfy { $0.reason.hasSuffix("and it is a number in the records of City") })
    // Without a rule they stay what they are.
    #expect(try importTable("id,n\n1,+1\n2,.5\n", over: []).1 == [#"{"id":1,"n":"+1"}"#, #"{"id":2,"n":".5"}"#])
  }

  @Test("a fraction is not a whole number, unless a record or an index has fractions, or the user says so")
  func wholeNumbers() throws {
    let records: [Document] = [["id": 1, "n": 5, "m": 1.5], ["id": 2, "n": 6, "m": 2]]
    let (report, found) = try importTable("id,n,m\n1,2.5,2.5\n2,7,1.25\n", over: records)
    #expect((report.changed, report.rejected) == (1, 1))
    #expect(
      report.rejections.first?.reason
        == "n is “2.5”, and it is a whole number in the records of City; --type n=number takes fractions")
    #expect(found == [#"{"id":1,"n":5,"m":1.5}"#, #"{"id":2,"n":7,"m":1.25}"#])
    let store = EngineStore.memory()
    _ = try run(records, into: store, plan { $0.indexes = [] })
    var source = try TableSource(bytes: Array("id,n,m\n3,7,1\n".utf8), name: "b.csv")
    source.follow(try store.shape(of: "City"), identifier: DocumentPath([.member("id")]))
    #expect(source.columns.map(\.type) == [.integer, .integer, .number])
    let typed = try importTable("id,n,m\n1,2.5,2.5\n", over: records) {
      $0.types = [DocumentPath([.member("n")]): .number]
    }
    #expect(typed.1[0] == #"{"id":1,"n":2.5,"m":2.5}"#)
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
      let store = EngineStore.memory()
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
    #expect(try importTable("id,a\n1e2,x\n100,y\n", over: []).0.new == 2)
  }

  @Test("of a file whose identifiers are told apart by their spelling alone the column is still found")
  func speltIdentifiers() throws {
    var source = try TableSource(bytes: Array("id,a\n1.1,x\n1.10,y\n".utf8), name: "a.csv")
    #expect(try IdentifierChoice(&source, name: "a").path == DocumentPath([.member("id")]))
    var json = try TableSource(bytes: Array("{\"id\":1.1}\n{\"id\":1.10}\n".utf8), name: "a.jsonl")
    #expect(try IdentifierChoice(&json, name: "a").path == nil)
  }

  @Test("a name that stands twice in an object is told once with its place, however often the file is read")
  func repeatedNames() throws {
    func notes(_ text: String) throws -> [String] {
      var source = try TableSource(bytes: Array(text.utf8), name: "a.jsonl")
      for _ in 0..<2 {
        try source.rewind()
        while try source.next() != nil {}
      }
      return source.notes
    }
    #expect(try notes(#"{"a":1,"b":{"a":2},"c":[{"a":1},{"a":"b,\"a"}]}"#).isEmpty)
    let rest = "the name a stands twice in one object, and its last value counts"
    #expect(try notes("{\"id\":1}\n{\"a\":1,\"a\":2}\n") == ["a.jsonl:2: \(rest)"])
    #expect(try notes(#"{"a":1,"\u0061":2} {"b":[{"a":1,"a":1}]}"#).count == 1)
    let wide = (0..<20).map { "\"m\($0)\":1" }.joined(separator: ",")
    #expect(try notes("{\(wide)}").isEmpty)
    #expect(try notes("{\(wide),\"m3\":2}").first?.contains("the name m3 stands twice") == true)
    #expect(try TableSource(bytes: Array("id,a,a\n".utf8), name: "a.csv").notes.count == 1)
  }

  @Test("of members of one name the last is stored, so that what decodes a record reads what a filter reads")
  func repeatedMembers() throws {
    for isRead in [true, false] {
      let store = EngineStore.memory()
      let text = #"{"id":1,"a":1,"b":[{"c":1,"d":2,"c":3}],"a":2}"# + "\n" + #"{"id":2,"a":3}"# + "\n"
      var source = try TableSource(bytes: Array(text.utf8), name: "a.jsonl")
      if isRead { while try source.next() != nil {} }
      try source.rewind()
      #expect(try Importer(store, plan { $0.indexes = [] }).run(&source).new == 2)
      let datastore = try store.headView.requiredDatastore("City")
      let contents = try [1, 2].map {
        String(decoding: try #require(try datastore.record(Cities.key($0))).content, as: UTF8.self)
      }
      #expect(contents == [#"{"id":1,"a":2,"b":[{"c":3,"d":2}]}"#, #"{"id":2,"a":3}"#])
    }
  }

  @Test("a datastore whose app does not name its identifier has the member that is it in all records")
  func identifierField() throws {
    let store = EngineStore.memory()
    _ = try run((1...3).map { ["id": .number(NumberText($0)), "n": .number(NumberText($0 % 2))] }, into: store, plan())
    #expect(try store.identifierField(of: "City") == DocumentPath([.member("id")]))
    var descriptor = try store.headView.requiredDatastore("City").descriptor
    descriptor.identifierPath = nil
    _ = try store.transact(CommitInfo(action: "forget")) { transaction throws(ModelError) in
      try DatastoreWriter.store(descriptor, in: transaction)
    }
    #expect(try store.headView.requiredDatastore("City").descriptor.identifierPath == nil)
    #expect(try store.identifierField(of: "City") == DocumentPath([.member("id")]))
    #expect(try store.identifierField(of: "Town") == nil)
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
}
