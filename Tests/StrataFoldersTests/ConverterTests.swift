import StrataDocuments
import StrataModel
import Foundation
import StrataEngine
import Testing

@testable import StrataFolders

@Suite("Converting folders")
struct ConverterTests {
  /// A folder converted, both open.
  private struct Converted {
    let folder: FolderStore
    let store: EngineStore
    let report: ConversionReport
    private let directory: TemporaryDirectory

    init(_ path: String, keepsHistory: Bool = true) throws {
      directory = try TemporaryDirectory()
      let target = directory.path + "/converted.strata"
      let converter = try FolderConverter(from: path, to: target, keepsHistory: keepsHistory)
      report = try converter.run()
      folder = try FolderStore(at: path)
      store = try EngineStore.open(path: target)
    }
  }

  private func compare(
    _ converted: any ReadableDatastore, with original: any ReadableDatastore, stale: Set<String>
  ) throws {
    #expect(converted.descriptor.key == original.descriptor.key)
    #expect(converted.descriptor.instanceType == original.descriptor.instanceType)
    #expect(converted.descriptor.identifierType == original.descriptor.identifierType)
    let records = try original.allRecords()
    #expect(try converted.count == records.count)
    let copies = try converted.primary.entries(at: 0..<records.count)
    #expect(copies.map(\.identifier) == records.map(\.identifier))
    #expect(copies.map(\.value) == records.map(\.identifier.value))
    for record in records { #expect(try converted.record(record.identifier)?.stored == record.stored) }
    #expect(converted.indexes.map(\.descriptor.name) == original.indexes.map(\.descriptor.name))
    for (copy, index) in zip(converted.indexes, original.indexes) {
      #expect(copy.descriptor.kind == index.descriptor.kind)
      #expect(copy.descriptor.storage == index.descriptor.storage)
      #expect(copy.descriptor.encoding == index.descriptor.encoding)
      #expect(copy.descriptor.isStale == stale.contains(index.descriptor.name))
      if copy.descriptor.isStale { continue }
      let entries = try copy.entries(at: 0..<(try copy.count))
      let expected = try index.entries(at: 0..<(try index.count))
      #expect(entries == expected)
    }
  }

  @Test(
    "a converted store has the same rows, and at each of them the same datastores, records and entries",
    .enabled(if: Fixture.areThere, Fixture.absence), arguments: Fixture.names)
  func fixtures(_ name: String) throws {
    let fixture = try Fixture(name)
    let before = try FolderState(of: fixture.path)
    let converted = try Converted(fixture.path)
    let rows = try converted.folder.commits(from: converted.folder.head.commit, limit: .max, folded: true)
    let copies = try converted.store.commits(from: converted.store.head.commit, limit: .max, folded: true)
    #expect(copies.map(\.action) == rows.map(\.action))
    #expect(copies.map(\.date) == rows.map(\.date))
    #expect(copies.map(\.changes) == rows.map(\.changes))
    #expect(converted.report.commitCount == Int(converted.store.commitCount))
    let stale = Set(converted.report.staleIndexes.map { "\($0.datastore)/\($0.index)" })
    for (copy, row) in zip(copies, rows) {
      let view = try converted.store.view(at: copy.number)
      for datastore in try converted.folder.view(at: row.number).datastores where try datastore.count > 0 {
        let key = datastore.descriptor.key
        let isStale = { (index: any ReadableIndex) in
          try stale.contains("\(key)/\(index.descriptor.name)")
            ? view.isStale(index.descriptor.name, in: key) : hasLongKeys(index)
        }
        let names = try datastore.indexes.filter(isStale).map(\.descriptor.name)
        try compare(try #require(try view.datastore(key)), with: datastore, stale: Set(names))
      }
    }
    #expect(
      try converted.store.head.datastores.map(\.descriptor.key)
        == converted.folder.head.datastores.map(\.descriptor.key))
    #expect(
      try converted.store.verifyModel(at: converted.store.head.commit).allFindings.filter { $0.severity == .wrong }
        .isEmpty)
    try converted.store.engine.close()
    #expect(try FileStore.verify(at: converted.store.path, disk: SystemDisk()) { _ in true }.isClean)
    #expect(converted.report.omissions.allSatisfy { $0.contains("values longer than") })
    #expect(try FolderState(of: fixture.path) == before)
  }

  private func hasLongKeys(_ index: any ReadableIndex) throws -> Bool {
    try index.entries(at: 0..<(try index.count)).contains {
      try index.descriptor.encoding.encode($0.value).count > StoreBuilder.keyLimit - 100
    }
  }

  @Test(
    "indexes over dates, and those that disagree with their records, are stale and listed",
    .enabled(if: Fixture.areThere, Fixture.absence))
  func staleIndexes() throws {
    for (name, expected) in [("plist", ["gadgets.binary/made"]), ("migrated", ["people/name"]), ("books", [])]
    where Fixture.names.contains(name) {
      let fixture = try Fixture(name)
      let report = try Converted(fixture.path).report
      withExtendedLifetime(fixture) {}
      #expect(report.staleIndexes.map { "\($0.datastore)/\($0.index)" } == expected)
    }
  }

  // MARK: Built cases

  private typealias Entry = FolderBuilder.Entry

  @Test("random histories of two datastores give the same states, differences and versions", arguments: [UInt64](1...5))
  func randomHistories(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let builder = try FolderBuilder()
    builder.pageSize = 220
    var state: [Int: Int] = [:]
    var places: [String] = []
    for step in 0..<14 {
      for _ in 0..<(numbers.next() % 30) {
        let key = Int(numbers.next() % 60)
        if numbers.next() % 3 == 0 { state[key] = nil } else { state[key] = Int(numbers.next() % 12) }
      }
      if numbers.next() % 2 == 0 { places.insert("\"p\(step)\"", at: Int(numbers.next() % UInt64(places.count + 1))) }
      let sorted = state.sorted { $0.key < $1.key }
      let byValue = state.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
      builder.commit(
        [
          .init(
            key: "things", records: sorted.map { .record("\($0.key)", "{\"n\":\($0.value)}") },
            indexes: [
              .init(
                name: "n", type: "OneToManyIndex(Int)", entries: byValue.map { .reference("\($0.value)", "\($0.key)") }),
              .init(
                name: "d", type: "OneToManyIndex(Int)", isDirect: true,
                entries: byValue.map { .direct("\($0.value)", "\($0.key)", "{\"n\":\($0.value)}") }),
            ]),
          .init(
            key: "places", identifierType: "Place", records: places.map { .record($0, "{\"v\":\(step / 3)}") },
            indexes: [
              .init(name: "v", type: "OneToManyIndex(Int)", entries: places.map { .reference("\(step / 3)", $0) })
            ]),
        ], action: "step \(step)")
    }
    let converted = try Converted(builder.path)
    for number in 1...14 {
      let commit = CommitNumber(UInt64(number))
      for datastore in try converted.folder.view(at: commit).datastores {
        let copy = try #require(try converted.store.view(at: commit).datastore(datastore.descriptor.key))
        try compare(copy, with: datastore, stale: [])
      }
      #expect(try converted.store.commit(commit).changes == converted.folder.commit(commit).changes)
    }
    for key in 0..<60 {
      let identifier = StoredKey(
        bytes: try KeyEncoding.integer.encode(.integer(Int64(key))), value: .integer(Int64(key)))
      let copies = try converted.store.versions(
        of: identifier, in: "things", from: converted.store.head.commit, limit: 100)
      let versions = try converted.folder.versions(
        of: identifier, in: "things", from: converted.folder.head.commit, limit: 100)
      #expect(copies.map(\.commit.number) == versions.map(\.commit.number))
      #expect(try copies.map { try $0.record?.stored } == versions.map { try $0.record?.stored })
    }
  }

  @Test("registered datastores exist from the commit that registered them, and those never written have no records")
  func registrations() throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "a", records: nil)])
    builder.commit([.init(key: "a", records: [.record("1", "{}")])], action: "write")
    builder.commit(
      [.init(key: "a", records: [.record("1", "{}")]), .init(key: "never", records: nil)], action: "write")
    let converted = try Converted(builder.path)
    let rows = try converted.store.commits(from: converted.store.head.commit, limit: 9, folded: true)
    #expect(rows.map(\.action) == ["write"])
    #expect(try converted.store.view(at: CommitNumber(1)).datastore("a")?.count == 0)
    #expect(try converted.store.head.datastore("never")?.count == 0)
    #expect(try converted.store.head.datastores.count == 2)
  }

  @Test("without history the newest state is one commit")
  func withoutHistory() throws {
    let builder = try FolderBuilder()
    for number in 1...4 {
      builder.commit([.init(key: "a", records: (0..<number).map { .record("\($0)", "{}") })], action: "write \(number)")
    }
    let converted = try Converted(builder.path, keepsHistory: false)
    #expect(try converted.store.commits(from: converted.store.head.commit, limit: 9, folded: true).count == 1)
    #expect(try converted.store.head.datastore("a")?.count == 4)
    #expect(converted.report.commitCount == 1)
  }

  @Test("commits that change no record are rows all the same, with their names")
  func emptyRows() throws {
    let builder = try FolderBuilder()
    let state = FolderBuilder.Datastore(key: "a", records: [.record("1", "{}")])
    builder.commit([state], action: "write")
    builder.commit([state], action: "insert then delete")
    builder.commit([state], action: "")
    let converted = try Converted(builder.path)
    let rows = try converted.store.commits(from: converted.store.head.commit, limit: 9, folded: true)
    #expect(rows.map(\.action) == ["", "insert then delete", "write"])
  }

  @Test("a changed identifier type keeps both states in the history")
  func identifierTypes() throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "a", records: (0..<5).map { .record("\($0)", "{}") })], action: "numbers")
    builder.commit([.init(key: "a", identifierType: "String", records: [.record("\"x\"", "{}")])], action: "texts")
    let converted = try Converted(builder.path)
    #expect(try converted.store.view(at: CommitNumber(1)).datastore("a")?.count == 5)
    #expect(try converted.store.head.datastore("a")?.primary.entries(at: 0..<5).map(\.value) == [.string("x")])
  }

  @Test("damage is left out and told, and everything else is converted")
  func damage() throws {
    let builder = try FolderBuilder()
    builder.pageSize = 200
    for number in 0..<3 {
      builder.commit(
        [
          .init(
            key: "a", records: (0..<40).map { .record("\($0)", "{\"v\":\($0 == 30 ? number : 0)}") },
            indexes: [
              .init(name: "n", type: "OneToManyIndex(Int)", entries: (0..<40).map { .reference("\($0)", "\($0)") })
            ])
        ], action: "write \(number)")
    }
    let page = try #require(builder.files(".datastorepage").first { $0.contains("Primary") })
    remove(page, of: builder)
    let converted = try Converted(builder.path)
    #expect(converted.report.omissions.contains { $0.contains(page) })
    #expect(converted.report.staleIndexes.map(\.index) == ["n"])
    let count = try #require(try converted.store.head.datastore("a")?.count)
    #expect(count > 20 && count < 40)
    #expect(try converted.store.commits(from: converted.store.head.commit, limit: 9, folded: true).count == 3)
    #expect(
      try converted.store.head.datastore("a")?.allRecords().contains { $0.content == Array("{\"v\":2}".utf8) } == true)
  }

  @Test("records out of order are all carried over, in order")
  func disorder() throws {
    let builder = try FolderBuilder()
    builder.pageSize = 120
    for round in 0..<3 {
      var order = Array(0..<30)
      order.swapAt(3, 20 + round)
      builder.commit([.init(key: "a", records: order.map { .record("\($0)", "{\"r\":\(round)}") })], action: "\(round)")
    }
    let converted = try Converted(builder.path)
    let datastore = try #require(try converted.store.head.datastore("a"))
    #expect(try datastore.primary.entries(at: 0..<99).map(\.value) == (0..<30).map { .integer($0) })
    for record in try datastore.allRecords() { #expect(record.content == Array("{\"r\":2}".utf8)) }
  }

  @Test("identifiers and values that are too long for a key are left out and told")
  func longKeys() throws {
    let long = "\"\(String(repeating: "x", count: StoreBuilder.keyLimit + 1))\""
    let builder = try FolderBuilder()
    builder.commit([
      .init(
        key: "a", identifierType: "String", records: [.record("\"a\"", "{\"t\":\(long)}"), .record(long, "{}")],
        indexes: [.init(name: "t", type: "OneToManyIndex(String)", entries: [.reference(long, "\"a\"")])])
    ])
    let converted = try Converted(builder.path)
    #expect(try converted.store.head.datastore("a")?.count == 1)
    #expect(converted.report.staleIndexes.map(\.index) == ["t"])
    #expect(converted.report.omissions.contains { $0.contains("identifier is longer than") })
  }

  @Test("nothing lies at the target when a conversion is stopped, fails, or finds something there")
  func stopping() throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "a", records: (0..<40).map { .record("\($0)", "{}") })], action: "write")
    let target = builder.directory.path + "/new.strata"
    var calls = 0
    let converter = try FolderConverter(from: builder.path, to: target) { _ in
      calls += 1
      return calls < 2
    }
    #expect(throws: ModelError.cancelled) { try converter.run() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: builder.directory.path) == ["built.persistencestore"])
    try Data().write(to: URL(filePath: target))
    let other = try FolderConverter(from: builder.path, to: target)
    #expect(throws: ModelError.self) { try other.run() }
    #expect(throws: ModelError.self) { try FolderConverter(from: builder.directory.path, to: target + "2") }
  }

  @Test(
    "an order that only the app knows is learned by numbers between those of the neighbours", arguments: [UInt64](1...4)
  )
  func learnedOrder(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let order = StoredOrder()
    var list: [[UInt8]] = []
    for step in 0..<400 {
      let place = Int(numbers.next() % 2 == 0 ? 0 : numbers.next() % UInt64(list.count + 1))
      list.insert(Array("\(step)".utf8), at: place)
      let stretch = Array(list[max(0, place - 1)..<min(list.count, place + 2)])
      #expect(order.learn(stretch))
    }
    for (left, right) in zip(list, list.dropFirst()) {
      let compare = order.comparison(to: right).place
      #expect(try left.withUnsafeBytes { try compare($0) } < 0)
      #expect(try right.withUnsafeBytes { try compare($0) } == 0)
    }
    #expect(!order.learn([list[5], list[2]]))
  }
}

extension ReadableView {
  fileprivate func isStale(_ index: String, in datastore: String) -> Bool {
    ((try? self.datastore(datastore)) ?? nil)?.descriptor.index(index)?.isStale ?? false
  }
}
