import StrataDocuments
import StrataModel
import Foundation
import Testing

@testable import StrataFolders

@Suite("Reading folders")
struct ReadingTests {
  private func numbered(_ range: Range<Int>, size: Int = 60) -> [FolderBuilder.Entry] {
    range.map { .record("\($0)", "{\"id\":\($0),\"t\":\"\(String(repeating: "t", count: size))\"}") }
  }

  @Test("the first screen of a large store reads a handful of pages, and its end counts each page once")
  func laziness() throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "things", records: numbered(0..<5000))], action: "import")
    let pages = builder.files(".datastorepage").count
    let store = try builder.open()
    #expect(store.contents.pageReadCount == 0)
    let datastore = try #require(try store.head.datastore("things"))
    #expect(try datastore.count == 5000)
    #expect(try datastore.primary.entries(at: 0..<40).map(\.value) == (0..<40).map { .integer($0) })
    #expect(store.contents.pageReadCount <= 3)
    let key = try datastore.identifier(parsing: "4711")
    #expect(try datastore.record(key)?.version == "1")
    #expect(store.contents.pageReadCount <= 3 + 10)
    #expect(try datastore.primary.entries(at: 4990..<6000).map(\.value) == (4990..<5000).map { .integer($0) })
    #expect(store.contents.pageReadCount <= pages + 3 + 10)
    #expect(try datastore.primary.rank(of: .before(.integer(100))) == 100)
    #expect(try datastore.primary.rank(of: .after(.integer(100))) == 101)
    #expect(try datastore.primary.rank(of: key, value: nil) == 4711)
    #expect(try store.head.datastore("things")?.primary.count == 5000)
  }

  @Test(
    "records longer than pages, heads and tails on one page, and tiny pages read the same",
    arguments: [24, 40, 100, 512, 4096])
  func pageSizes(_ size: Int) throws {
    let builder = try FolderBuilder()
    builder.pageSize = size
    let records = (0..<120).map {
      FolderBuilder.Entry.record("\($0)", String(repeating: "\($0 % 10)", count: $0 * $0 % 700))
    }
    builder.commit([.init(key: "things", records: records)])
    let datastore = try #require(try builder.open().head.datastore("things"))
    let index = datastore.primary
    #expect(try index.rank(of: .end) == 120)
    for (number, record) in records.enumerated() {
      let entry = try #require(try index.entries(at: number..<(number + 1)).first)
      #expect(entry.value == .integer(Int64(number)))
      #expect(try datastore.record(entry.identifier)?.content == record.content)
      #expect(try index.rank(of: .before(entry.value)) == number)
    }
    #expect(try datastore.record(StoredKey(bytes: [1, 2, 3], value: .null)) == nil)
  }

  @Test("a record that lies out of order is found, in each of its versions")
  func versionsOutOfOrder() throws {
    let builder = try FolderBuilder()
    builder.pageSize = 120
    for round in 0..<3 {
      var order = Array(0..<30)
      order.swapAt(3, 20 + round)
      builder.commit([.init(key: "a", records: order.map { .record("\($0)", "{\"r\":\(round)}") })], action: "\(round)")
    }
    let store = try builder.open()
    let datastore = try #require(try store.head.datastore("a"))
    for identifier in [3, 22] {
      let key = try datastore.identifier(parsing: "\(identifier)")
      #expect(try datastore.record(key) != nil)
      let versions = try store.versions(of: key, in: "a", from: store.head.commit, limit: 9)
      #expect(versions.map(\.commit.number) == [3, 2, 1].map(CommitNumber.init), "\(identifier)")
    }
  }

  @Test("composite identifiers keep their stored order and are found in whatever layout they are written")
  func compositeIdentifiers() throws {
    let builder = try FolderBuilder()
    let identifiers = [
      "{\n  \"number\" : 9,\n  \"region\" : \"EU\"\n}", #"{"region":"EU","number":10}"#, #"{"number":1,"region":"US"}"#,
    ]
    builder.commit([
      .init(
        key: "places", identifierType: "Place", records: identifiers.map { .record($0, "{}") },
        indexes: [
          .init(
            name: "colour", type: "OneToManyIndex(Color)",
            entries: zip(["\"red\"", "\"green\"", "\"blue\""], identifiers).map { .reference($0, $1) })
        ])
    ])
    let datastore = try #require(try builder.open().head.datastore("places"))
    #expect(datastore.descriptor.identifierEncoding == .comparator("Place"))
    let typed = try datastore.identifier(parsing: #"{"number":10,"region":"EU"}"#)
    #expect(try datastore.record(typed)?.identifier == typed)
    #expect(try datastore.primary.rank(of: typed, value: nil) == 1)
    let colours = try #require(datastore.indexes.first)
    #expect(try colours.entries(at: 0..<3).map(\.value.description) == ["\"red\"", "\"green\"", "\"blue\""])
    let green = try colours.value(parsing: "\"green\"")
    #expect(try colours.rank(of: .before(green)) == 1)
    #expect(try colours.rank(of: .after(green)) == 2)
    #expect(throws: ModelError.self) { try colours.rank(of: .before(.document("yellow"))) }
  }

  @Test("an app's own type that is called like a known one keeps its stored order")
  func misleadingTypeName() throws {
    let builder = try FolderBuilder()
    builder.commit([
      .init(key: "things", identifierType: "Date", records: ["\"soon\"", "\"later\""].map { .record($0, "{}") })
    ])
    let datastore = try #require(try builder.open().head.datastore("things"))
    #expect(datastore.descriptor.identifierEncoding == .comparator("Date"))
    #expect(try datastore.primary.entries(at: 0..<9).map(\.value.description) == ["\"soon\"", "\"later\""])
  }

  @Test("ranges of strings follow the order of their normal form, with awkward strings as bounds")
  func awkwardStrings() throws {
    let texts = [
      "", " ", "!", "0", "10", "9", "A", "Z", "a", "e\u{301}", "z", "ß", "é", "ö", "Ω", "日本", "\u{1F600}", "a\u{0}b",
      "a\"b", "a/b", "\n",
    ]
    let type = ValueType(named: "String")
    func key(_ text: String) throws -> StoredKey { try type.key(parsing: Document.string(text).json(.compact)) }
    var known: Set<[UInt8]> = []
    let sorted = try texts.filter { known.insert(try key($0).bytes).inserted }
      .sorted { try key($0).bytes.precedes(try key($1).bytes) }
    let builder = try FolderBuilder()
    builder.pageSize = 64
    builder.commit([
      .init(key: "words", identifierType: "String", records: sorted.map { .record(FolderBuilder.literal($0), "{}") })
    ])
    let datastore = try #require(try builder.open().head.datastore("words"))
    for (rank, text) in sorted.enumerated() {
      #expect(try datastore.primary.rank(of: .before(.string(text))) == rank)
      #expect(try datastore.primary.rank(of: .after(.string(text))) == rank + 1)
      #expect(try datastore.record(try key(text)) != nil)
    }
    #expect(try datastore.record(try key("e\u{301}")) != nil)
    #expect(sorted == sorted.sorted())
  }

  @Test("a difference of two states reads only the pages that they do not share")
  func differenceReadsLittle() throws {
    let builder = try FolderBuilder()
    var records = numbered(0..<4000)
    builder.commit([.init(key: "things", records: records)], action: "import")
    records[2000] = .record("2000", "{\"id\":2000,\"t\":\"\(String(repeating: "u", count: 60))\"}")
    builder.commit([.init(key: "things", records: records)], action: "edit")
    let store = try builder.open()
    let changes = try store.changes(of: store.head.commit).next(10)
    #expect(changes.map(\.identifier.value) == [.integer(2000)])
    #expect(changes.first?.old != nil && changes.first?.new != nil)
    #expect(store.contents.pageReadCount < 12)
  }

  @Test("states of identifiers that only the app can order are paired by identifier", arguments: [UInt64](1...6))
  func unknownOrderDifferences(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let order = (0..<80).map { "\"k\($0 &* 7919 % 81)\"" }
    func state() -> [(String, String)] {
      order.filter { _ in numbers.next() % 3 > 0 }.map { ($0, "{\"v\":\(numbers.next() % 2)}") }
    }
    let builder = try FolderBuilder()
    builder.pageSize = 200
    let (old, new) = (state(), state())
    for state in [old, new] {
      builder.commit([.init(key: "things", identifierType: "Kind", records: state.map { .record($0.0, $0.1) })])
    }
    let store = try builder.open()
    let reader = try store.changes(of: CommitNumber(2))
    var found: [String: [String?]] = [:]
    while case let changes = try reader.next(5), !changes.isEmpty {
      for change in changes {
        #expect(found[change.identifier.description] == nil)
        found[change.identifier.description] = [change.old, change.new].map {
          $0.map { String(decoding: $0.content, as: UTF8.self) }
        }
      }
    }
    var expected: [String: [String?]] = [:]
    let (before, after) = (Dictionary(uniqueKeysWithValues: old), Dictionary(uniqueKeysWithValues: new))
    for key in order where before[key] != after[key] { expected[key] = [before[key], after[key]] }
    #expect(found == expected)
  }

  @Test("a datastore that is registered and was never written is there and empty")
  func registration() throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "a", records: nil)])
    builder.commit([.init(key: "a", records: numbered(0..<2))], action: "write")
    builder.commit([.init(key: "a", records: numbered(0..<2)), .init(key: "b", records: nil)], action: "write")
    let store = try builder.open()
    #expect(try store.head.datastores.map { try $0.count } == [2, 0])
    #expect(try store.head.datastore("b")?.primary.entries(at: 0..<5).isEmpty == true)
  }

  @Test("times, steps and numbers name commits")
  func names() throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "a", records: nil)])
    for number in 1...3 { builder.commit([.init(key: "a", records: numbered(0..<number))], action: "write \(number)") }
    let store = try builder.open()
    #expect(try store.resolve("head") == CommitNumber(4))
    #expect(try store.resolve("head~2") == CommitNumber(2))
    #expect(try store.resolve("#3") == CommitNumber(3))
    #expect(throws: ModelError.self) { try store.resolve("head~3") }
    #expect(throws: ModelError.self) { try store.resolve("17") }
    #expect(try store.resolve("2027-01-01") == CommitNumber(4))
    #expect(throws: ModelError.self) { try store.resolve("2020-01-01") }
  }

  @Test("a commit of another process is told once, and a rewrite of Info.json not at all")
  func following() async throws {
    let builder = try FolderBuilder()
    builder.commit([.init(key: "a", records: numbered(0..<1))], action: "one")
    let store = try builder.open()
    #expect(store.head.commit == CommitNumber(1))
    let (calls, caller) = AsyncStream.makeStream(of: Void.self)
    let token = try store.follow { caller.yield() }
    builder.point(to: try #require(builder.current))
    builder.commit([.init(key: "a", records: numbered(0..<2))], action: "two")
    for await _ in calls { break }
    #expect(try store.refresh().commit == CommitNumber(2))
    #expect(try store.head.datastore("a")?.count == 2)
    // Whatever is told twice of one commit stands in the stream by the time that the next one is told.
    builder.point(to: try #require(builder.current))
    builder.commit([.init(key: "a", records: numbered(0..<3))], action: "three")
    for await _ in calls { break }
    #expect(try store.refresh().commit == CommitNumber(3))
    withExtendedLifetime(token) {}
  }

  @Test("a refresh walks only the new part of the history, and a branch of another writer all of it")
  func refreshing() throws {
    let builder = try FolderBuilder()
    let first = builder.commit([.init(key: "a", records: numbered(0..<1))], action: "one")
    builder.commit([.init(key: "a", records: numbered(0..<2))], action: "two")
    let store = try builder.open()
    builder.commit([.init(key: "a", records: numbered(0..<3))], action: "three")
    #expect(try store.refresh().commit == CommitNumber(3))
    #expect(try store.commits(from: CommitNumber(3), limit: 9, folded: true).map(\.action) == ["three", "two", "one"])
    builder.commit([.init(key: "a", records: numbered(0..<4))], action: "other", preceding: first.description)
    #expect(try store.refresh().commit == CommitNumber(2))
    #expect(try store.commits(from: CommitNumber(2), limit: 9, folded: true).map(\.action) == ["other", "one"])
  }

  @Test("a folder is known by its Info.json or by its snapshots, and nothing else is taken for one")
  func recognition() throws {
    let builder = try FolderBuilder()
    #expect(OriginalFolder.exists(at: builder.path))
    builder.commit([.init(key: "a")])
    builder.write("Info.json", "torn")
    #expect(OriginalFolder.exists(at: builder.path))
    #expect(!OriginalFolder.exists(at: builder.directory.path))
    #expect(!OriginalFolder.exists(at: builder.path + "/Info.json"))
    #expect(!OriginalFolder.exists(at: builder.path + "/nothing"))
    #expect(OriginalFolder.advice(for: "x").contains("strata convert x"))
  }
}
