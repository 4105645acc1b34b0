import StrataPostgres
import StrataEngine
import Testing

@Suite("Clocks of those who write to a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct ClockTests {
  private static let day: Int64 = 86_400_000_000_000
  private static let tree = TreeName([1])

  /// A store file of which the third commit was dated years ahead, and two more came after it.
  private func file() throws -> FileStore {
    let file = FileStore.memory()
    for (place, clock) in [20_010, 20_011, 23_660, 20_012, 20_013].enumerated() {
      var info = CommitInfo(date: place < 2 ? Int64(clock) * Self.day : 23_660 * Self.day)
      info.clock = Int64(clock) * Self.day
      try file.make(info) { transaction in
        if place == 0 { try transaction.createTree(Self.tree, kind: .records) }
        try transaction.put([UInt8(place)], [1], in: Self.tree)
      }
    }
    return file
  }

  private func write(_ key: UInt8, to store: ServerStore) throws {
    try store.change { transaction throws(StorageError) in try transaction.set([key], [1], in: Self.tree) }
  }

  private func days(_ store: any Engine) throws -> [UInt64: Int64] {
    var days: [UInt64: Int64] = [:]
    try store.forEachDescent { descent throws(StorageError) in
      days[descent.number] = try store.clock(of: store.commit(descent.number)) / Self.day
      return true
    }
    return days
  }

  @Test("a copy to a server and back keeps each commit's clock, and a time is looked for by it")
  func copies() throws {
    let file = try file()
    let store = try TestServer.store()
    try HistoryUpload.run(from: file, to: store)
    let expected: [UInt64: Int64] = [1: 20_010, 2: 20_011, 3: 23_660, 4: 20_012, 5: 20_013]
    #expect(try days(store) == expected)
    for day in [20_010, 20_011, 20_012, 20_013, 23_660] as [Int64] {
      let found = try store.ancestor(of: 5, notLaterThan: day * Self.day)
      #expect(try found.number == file.ancestor(of: 5, notLaterThan: day * Self.day).number, "\(day)")
    }
    #expect(throws: StorageError.noCommitAsOld(date: Self.day)) { try store.ancestor(of: 5, notLaterThan: Self.day) }
    let back = FileStore.memory()
    try HistoryDownload.run(from: store, to: back)
    #expect(try days(back) == expected)
  }

  @Test("behind a commit that is dated ahead, a new one keeps its writer's clock, and the history's age is told by it")
  func commits() throws {
    let store = try TestServer.store()
    try HistoryUpload.run(from: file(), to: store)
    let now = FileStore.memory()
    try now.make { try $0.createTree(Self.tree, kind: .records) }
    let (ahead, today) = (23_660 * Self.day, now.head.commit.date)
    try write(8, to: store)
    let commit = try store.refresh().commit
    #expect(commit.date == ahead)
    #expect(try (today...today + Self.day).contains(store.clock(of: commit)))
    let other = try ServerStore.open(store.url)
    #expect(try other.clock(of: other.head.commit) == store.clock(of: commit))
    #expect(try other.ancestor(of: commit.number, notLaterThan: today - Self.day).number == 5)
    // All of 2024 is older than a day; by the dates, nothing from the third commit on would be.
    let report = try other.compact(.younger(Self.day)) { _ in true }
    #expect(report.commitsKept == 1)
    #expect(try days(other).keys.sorted() == [6])
  }

  @Test("a newest date more than a day ahead of this computer's clock is reported, as of a file")
  func ahead() throws {
    let store = try TestServer.store()
    #expect(store.openingReport.notes.isEmpty)
    let file = try file()
    try HistoryUpload.run(from: file, to: store)
    #expect(store.openingReport.notes.count == 1)
    #expect(store.openingReport.notes.first?.contains("days after this computer's clock") == true)
    #expect(store.openingReport.notes == file.openingReport.notes)
    #expect(try ServerStore.open(store.url, isReadOnly: true).openingReport.notes == file.openingReport.notes)
  }

  @Test(
    "a store without clocks gets them from the first who may add them, and is written and read without them until then")
  func upgrade() throws {
    let server = try #require(TestServer.shared)
    let store = try TestServer.store()
    let schema = store.url.schema
    try HistoryUpload.run(from: file(), to: store)
    server.psql("alter table \(schema).commit drop column clock")
    server.psql(
      "grant usage on schema \(schema) to reader; grant select, insert, update, delete on all tables in schema \(schema) to reader"
    )
    let writer = try ServerStore.open(server.url(schema, user: "reader"))
    #expect(writer.readOnlyReason == nil)
    try write(8, to: writer)
    #expect(try days(writer)[6] == 23_660)
    #expect(try days(ServerStore.open(store.url, isReadOnly: true))[6] == 23_660)
    let owner = try ServerStore.open(store.url)
    // Who opened it before goes on beside.
    try write(9, to: writer)
    try write(7, to: owner)
    let days = try days(ServerStore.open(server.url(schema, user: "reader")))
    #expect(days[7] == 23_660)
    #expect(try #require(days[8]) < 23_660)
  }
}
