import StrataDocuments
import StrataLocks
import Testing

@testable import StrataModel

@Suite("A build that is made again")
struct RepeatedBuildTests {
  private let index = IndexDescriptor(
    name: "size", kind: .oneToMany, encoding: .integer, valueType: "Int", rule: ".population")
  private let store = EngineStore.memory(path: "/tmp/Repeated.strata", program: "tests")

  /// Builds the index; how many records were decoded for it.
  private func build(mending: [RecordEdit] = []) throws -> (decoded: Int, failed: [String]) {
    let last = Locked<Activity?>(nil)
    let options = EditOptions(
      mending: ChangeSet(changes: mending),
      activity: { activity in
        last.with { $0 = activity }
        return true
      })
    var failed: [String] = []
    do {
      _ = try store.addIndex(index, to: "City", options: options)
    } catch {
      guard case .failures(let records, _) = error else { throw error }
      failed = records.map(\.identifier.description)
    }
    let activity = try #require(last.with { $0 })
    #expect(activity.failureCount ?? 0 == failed.count, "they are told as they come")
    return (activity.counts.records, failed)
  }

  private func change(_ edits: RecordEdit...) throws {
    _ = try store.commit(ChangeSet(changes: edits), named: "change", options: EditOptions(marksIndexesStale: true))
  }

  /// The identifiers in the order of the index, as a loop over the records finds it.
  private func expected() throws -> [String] {
    let datastore = try #require(try store.refresh().datastore("City"))
    return try (0..<datastore.count).map { rank in
      let entry = try #require(try datastore.primary.entries(at: rank..<rank + 1).first)
      let document = try #require(try datastore.record(entry.identifier)?.document())
      guard case .number(let number)? = document[DocumentPath([.member("population")])] else {
        throw ModelError.cancelled
      }
      return (Int(number.text) ?? 0, entry.identifier.description)
    }.sorted { $0 < $1 }.map(\.1)
  }

  /// A record that the index cannot take.
  private func text(_ id: Int) throws -> Document {
    try Cities.document(id).setting(DocumentPath([.member("population")]), to: "many")
  }

  @Test(
    "after a build that failed only the failed and the changed records are looked at, and the index is as a loop finds it"
  )
  func repeated() throws {
    var descriptor = Cities.descriptor
    descriptor.setIndex("population", to: nil)
    let bad = [3, 77, 500]
    try Cities.write(
      try (1...600).map { bad.contains($0) ? try text($0) : Cities.document($0) }, to: store, as: descriptor)
    let first = try build()
    #expect(first.decoded == 600 && first.failed == ["3", "77", "500"])
    // One is mended by an ordinary commit, and others change, come and go meanwhile.
    try change(
      Cities.edit(3, from: try text(3), to: Cities.document(3)),
      Cities.edit(10, from: Cities.document(10), to: Cities.document(10, population: 9_999_999)),
      Cities.edit(11, from: Cities.document(11), to: nil),
      Cities.edit(601, from: nil, to: Cities.document(601, population: 5)))
    let second = try build(mending: [Cities.edit(77, from: try text(77), to: Cities.document(77, population: 1))])
    #expect(second.decoded == 5 && second.failed == ["500"], "\(second)")
    // What was mended for a build that failed was not written.
    #expect(try store.city(77) == text(77))
    let third = try build(
      mending: [
        Cities.edit(77, from: try text(77), to: Cities.document(77, population: 2)),
        Cities.edit(500, from: try text(500), to: Cities.document(500)),
      ])
    #expect(third.decoded == 5 && third.failed.isEmpty, "\(third)")
    let datastore = try #require(try store.refresh().datastore("City"))
    let built = try #require(datastore.indexes.first { $0.descriptor.name == "size" })
    #expect(try built.entries(at: 0..<built.count).map(\.identifier.description) == expected())
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("a record of which one value is too long leaves none of its entries behind")
  func partly() throws {
    var descriptor = Cities.descriptor
    descriptor.setIndex("tags", to: nil)
    let long = Cities.document(3, tags: ["a", String(repeating: "z", count: 20_000)])
    try Cities.write((1...9).map { $0 == 3 ? long : Cities.document($0, tags: ["b"]) }, to: store, as: descriptor)
    let marks = IndexDescriptor(
      name: "marks", kind: .manyToMany, encoding: .string, valueType: "String", rule: ".tags")
    #expect(throws: ModelError.self) { try store.addIndex(marks, to: "City", options: EditOptions()) }
    try change(Cities.edit(3, from: long, to: Cities.document(3, tags: ["b"])))
    _ = try store.addIndex(marks, to: "City", options: EditOptions())
    let built = try #require(try store.refresh().datastore("City")?.indexes.first { $0.descriptor.name == "marks" })
    #expect(try built.count == 9)
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }

  @Test("another index, or a build after one that succeeded, looks at all records")
  func another() throws {
    var descriptor = Cities.descriptor
    descriptor.setIndex("population", to: nil)
    try Cities.write(try (1...300).map { $0 == 3 ? try text($0) : Cities.document($0) }, to: store, as: descriptor)
    #expect(try build().failed == ["3"])
    let last = Locked<Activity?>(nil)
    let other = IndexDescriptor(name: "other", kind: .oneToMany, encoding: .string, valueType: "String", rule: ".name")
    _ = try store.addIndex(
      other, to: "City",
      options: EditOptions(activity: { activity in
        last.with { $0 = activity }
        return true
      }))
    #expect(last.with { $0?.counts.records } == 300)
    #expect(try build().decoded == 300, "what was kept is gone with the next build")
  }

  @Test("after a compaction, which moves the records, all of them are looked at, and a direct index leads to each")
  func compacted() throws {
    let folder = try TemporaryFolder()
    let store = try EngineStore.open(path: folder.path + "/Cities.strata", creates: true)
    var descriptor = Cities.descriptor
    descriptor.setIndex("population", to: nil)
    try Cities.write(try (1...300).map { $0 == 3 ? try text($0) : Cities.document($0) }, to: store, as: descriptor)
    var direct = index
    direct.storage = .direct
    #expect(throws: ModelError.self) { try store.addIndex(direct, to: "City", options: EditOptions()) }
    _ = try store.commit(
      ChangeSet(changes: [Cities.edit(3, from: try text(3), to: Cities.document(3))]), named: "mend",
      options: EditOptions())
    _ = try store.compact(try CommitRetention(parsing: "1"), progress: nil)
    _ = try store.addIndex(direct, to: "City", options: EditOptions())
    let built = try #require(try store.refresh().datastore("City")?.indexes.first { $0.descriptor.name == "size" })
    #expect(try built.entries(at: 0..<built.count).map(\.identifier.description) == (1...300).map(String.init))
    #expect(try store.verifyModel(at: store.head.commit).isClean)
  }
}
