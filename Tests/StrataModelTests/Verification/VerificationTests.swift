import StrataDocuments
import DiskSimulation
import StrataEngine
import Testing

@testable import StrataModel

@Suite("Verifying indexes against records")
struct VerificationTests {
  private func damage(_ store: EngineStore, _ body: (any WriteTransaction) throws(StorageError) -> Void) throws {
    _ = try store.transact(CommitInfo(action: "damage")) { transaction throws(ModelError) in
      try onStorage { try body(transaction) }
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

  @Test("of very many damaged records the first are named, and the number of all")
  func manyFaults() throws {
    let store = try Cities.store(150)
    try damage(store) { transaction throws(StorageError) in
      for id in 1...130 {
        _ = try transaction.put(
          Cities.key(id).bytes, RecordBytes.make(version: "1", content: [0x7B]), in: .records(of: "City"))
      }
    }
    let found = try #require(try store.verifyModel(at: store.head.commit).datastores.first)
    #expect(found.faultyRecords == 130 && found.findings.count { $0.record != nil } == 100)
    #expect(found.findings.contains { $0.text == "130 faults of records in all" })
  }

  @Test("very many records that have no value for an index are counted, and are not faults if they were left out")
  func manyWithoutValue() throws {
    let descriptor = DatastoreDescriptor(
      key: "City", identifierType: "Int", identifierEncoding: .integer, identifierPath: ".id",
      indexes: [IndexDescriptor(name: "size", kind: .oneToMany, encoding: .integer, valueType: "Int", rule: ".size")])
    for isLeftOut in [true, false] {
      let store = EngineStore.memory()
      _ = try store.transact(CommitInfo(action: "import")) { transaction throws(ModelError) in
        try DatastoreWriter.create(descriptor, in: transaction)
        try onStorage {
          let writer = DatastoreWriter(descriptor, in: transaction)
          for id in 1...10_001 {
            try writer.putRecord(Cities.key(id).bytes, RecordBytes.make(version: "1", content: Array("{}".utf8)))
            if isLeftOut { try writer.leaveOut(Cities.key(id).bytes, "no size") }
          }
        }
      }
      let found = try #require(try store.verifyModel(at: store.head.commit).datastores.first)
      #expect(found.isClean == isLeftOut)
      #expect(found.leftOut == (isLeftOut ? 10_001 : 0))
      #expect(found.indexes.first?.findings.count == (isLeftOut ? 0 : 21))
      #expect(isLeftOut || found.indexes.first?.findings.last?.text == "10001 records without a value in all")
    }
  }

  private func markStale(_ names: [String], in store: EngineStore) throws {
    var descriptor = try store.headView.requiredDatastore("City").descriptor
    for name in names {
      var index = try #require(descriptor.index(name))
      index.isStale = true
      descriptor.setIndex(name, to: index)
    }
    _ = try store.transact(CommitInfo(action: "mark stale")) { transaction throws(ModelError) in
      try DatastoreWriter.store(descriptor, in: transaction)
    }
  }

  @Test("what disagrees in an index that is stale is not a fault, but a number in one note, until it is stale no more")
  func stale() throws {
    let store = try Cities.store(60)
    let strays = [try entry("Nowhere", 999), try entry("City 7", 998)]
    try damage(store) { transaction throws(StorageError) in
      for key in strays { _ = try transaction.insert(key, .none, in: .index("name", of: "City")) }
      try transaction.dropTree(.index("tags", of: "City"))
    }
    #expect(try !store.verifyModel(at: store.head.commit).isClean)
    try markStale(["name", "tags"], in: store)
    let report = try store.verifyModel(at: store.head.commit)
    #expect(report.isClean)
    #expect(
      report.allFindings.map(\.description) == [
        "City index name: it is stale, and 2 entries disagree with the records (the app rebuilds it when it opens the store)",
        "City index tags: it is stale (the app rebuilds it when it opens the store)",
      ])
    #expect(report.datastores.first?.indexes.first { $0.name == "name" }?.strays == 2)
  }

  @Test("records that cannot be read, in an index that is stale or not, are faults")
  func staleAndDamaged() throws {
    let store = try Cities.store(60)
    try markStale(["country", "name", "population", "tags"], in: store)
    try damage(store) { transaction throws(StorageError) in
      _ = try transaction.put(
        Cities.key(3).bytes, RecordBytes.make(version: "1", content: [0x7B]), in: .records(of: "City"))
    }
    let report = try store.verifyModel(at: store.head.commit)
    #expect(report.allFindings.filter { $0.severity == .wrong }.map(\.record) == [Cities.key(3)])
  }

  @Test("what is salvaged of a store whose indexes only the app can build is clean, though a record is lost")
  func salvaged() throws {
    let disk = ImageDisk()
    let store = try EngineStore.open(path: "/Cities.strata", creates: true, disk: disk)
    var descriptor = Cities.descriptor
    for name in descriptor.indexes.map(\.name) {
      var index = try #require(descriptor.index(name))
      index.keyPathName = nil
      descriptor.setIndex(name, to: index)
    }
    try Cities.write((1...60).map { Cities.document($0) }, to: store, as: descriptor)
    try store.engine.close()
    let file = try disk.open("/Cities.strata/data", .readWrite)
    var contents = [UInt8](repeating: 0, count: Int(try file.status.size))
    _ = try contents.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    let text = Array(#""name":"City 7""#.utf8)
    let place = try #require((0..<contents.count).first { contents[$0...].starts(with: text) })
    try [0xFF].withUnsafeBytes { try file.write($0, at: UInt64(place)) }

    let summary = try EngineStore.salvage(
      from: "/Cities.strata", to: "/Saved.strata", program: "Tests", author: "", disk: disk)
    #expect(summary.losses.contains { $0.contains("record 7 of City") }, "\(summary.losses)")
    let saved = try EngineStore.open(path: "/Saved.strata", disk: disk)
    #expect(try saved.headView.requiredDatastore("City").count == 59)
    let report = try saved.verifyModel(at: saved.head.commit)
    #expect(report.isClean, "\(report.allFindings)")
    #expect(
      report.allFindings.contains {
        $0.index == "name" && $0.text == "it is stale, and 1 entry disagrees with the records"
      })
  }

  @Test("duplicates of a kind that is meant for one record are a note")
  func duplicates() throws {
    let store = try Cities.store(10)
    try Cities.write([Cities.document(3, name: "City 4")], to: store)
    let report = try store.verifyModel(at: store.head.commit)
    #expect(report.isClean)
    #expect(report.allFindings.map(\.text).contains(#""City 4" belongs to 2 records: 3, 4"#))
  }

  @Test("a single datastore is verified in place, and verification can be cancelled")
  func inPlace() throws {
    let store = try Cities.store(600)
    let report = try store.verifyModel(at: store.head.commit, datastore: "City")
    #expect(report.datastores.map(\.key) == ["City"])
    #expect(throws: ModelError.cancelled) {
      try store.verifyModel(at: store.head.commit) { done, _ in done < 300 }
    }
    #expect(throws: ModelError.noSuchDatastore("Town", known: ["City"])) {
      try store.verifyModel(at: store.head.commit, datastore: "Town")
    }
  }
}
