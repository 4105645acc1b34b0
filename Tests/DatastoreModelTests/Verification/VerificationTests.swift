import StorageEngine
import Testing

@testable import DatastoreModel

@Suite("Verifying indexes against records")
struct VerificationTests {
  private func damage(_ store: OwnStore, _ body: (WriteTransaction) throws(StorageError) -> Void) throws {
    _ = try store.transact(CommitInfo(action: "damage")) { transaction throws(ModelError) in
      try onStorage { () throws(StorageError) in try body(transaction) }
    }
  }

  private func entry(_ value: String, _ id: Int) throws -> [UInt8] {
    EntryKey.make(value: try KeyEncoding.string.encode(.string(value)), identifier: Cities.key(id).bytes)
  }

  @Test("a right store is clean, and says how it knows each index")
  func clean() throws {
    let store = try Cities.store(60)
    let report = try store.verifyModel(at: store.head.commit)
    #expect(report.isClean)
    #expect(report.datastores.map(\.records) == [60])
    let tags = try #require(report.datastores.first?.indexes.first { $0.name == "tags" })
    #expect(tags.rule == ".tags")
    #expect(tags.entries > 60)
    #expect((tags.missing, tags.strays) == (0, 0))
  }

  @Test("a missing entry, a stray one, and one of a record that is not there are each named")
  func plantedFaults() throws {
    let store = try Cities.store(60)
    let (missing, stray, orphan) = (try entry("City 7", 7), try entry("Atlantis", 8), try entry("Nowhere", 999))
    try damage(store) { transaction throws(StorageError) in
      _ = try transaction.remove(missing, in: .index("name", of: "City"))
      _ = try transaction.insert(stray, .none, in: .index("name", of: "City"))
      _ = try transaction.insert(orphan, .none, in: .index("name", of: "City"))
    }
    let report = try store.verifyModel(at: store.head.commit)
    let name = try #require(report.datastores.first?.indexes.first { $0.name == "name" })
    #expect((name.missing, name.strays) == (1, 2))
    #expect(
      Set(name.findings.map(\.text)) == [
        #"the entry "City 7" is missing"#,
        #"the entry "Atlantis" is too many: the record has not got this value"#,
        #"the entry "Nowhere" is too many: there is no such record"#,
      ])
    #expect(report.datastores.first?.indexes.filter { !$0.findings.isEmpty }.map(\.name) == ["name"])
    #expect(try store.verifyModel(at: CommitNumber(1)).isClean)
  }

  @Test("a record that does not parse, a direct entry that is behind, and trees without descriptor are found")
  func otherFaults() throws {
    let store = try Cities.store(60)
    let value = EntryKey.make(value: try KeyEncoding.integer.encode(.integer(500)), identifier: Cities.key(5).bytes)
    let six = try #require(try store.headView.requiredDatastore("City").entry(Cities.key(6).bytes)?.payload.record)
    try damage(store) { transaction throws(StorageError) in
      _ = try transaction.put(
        Cities.key(3).bytes, RecordBytes.make(version: "1", content: [0x7B]), in: .records(of: "City"))
      _ = try transaction.insert(value, .record(six), in: .index("population", of: "City"))
      try transaction.createTree(.index("ghost", of: "City"), kind: .entries)
      try transaction.dropTree(.index("tags", of: "City"))
    }
    let report = try store.verifyModel(at: store.head.commit)
    let texts = report.allFindings.filter { $0.severity == .wrong }.map(\.description)
    #expect(texts.contains { $0.hasPrefix("City 3: it cannot be read") })
    #expect(texts.contains { $0.hasPrefix("City index population 5: the entry 500 refers to an older version") })
    #expect(texts.contains("City index ghost: there is a tree, and no descriptor names it"))
    #expect(texts.contains { $0.hasPrefix("City index tags: its tree is missing") })
  }

  @Test("duplicates of a kind that is meant for one record are a note")
  func duplicates() throws {
    let store = try Cities.store(10)
    try Cities.write([Cities.document(3, name: "City 4")], to: store)
    let report = try store.verifyModel(at: store.head.commit)
    #expect(report.isClean)
    #expect(report.allFindings.map(\.text).contains(#""City 4" belongs to 2 records: 3, 4"#))
  }

  @Test("a single index of a single datastore is verified in place, and verification can be cancelled")
  func inPlace() throws {
    let store = try Cities.store(600)
    let report = try store.verifyModel(at: store.head.commit, datastore: "City", index: "tags")
    #expect(report.datastores.first?.indexes.map(\.name) == ["tags"])
    #expect(throws: ModelError.cancelled) {
      try store.verifyModel(at: store.head.commit) { done, _ in done < 300 }
    }
    #expect(throws: ModelError.noSuchDatastore("Town", known: ["City"])) {
      try store.verifyModel(at: store.head.commit, datastore: "Town")
    }
  }
}
