import Foundation
@testable import StrataPostgres
import StrataEngine
import Testing

/// A server whose tables were damaged, or written by another program: whatever its numbers are, they end no program.
@Suite("Numbers that no server of ours has", .enabled(if: TestServer.isThere, TestServer.missing))
struct ForgedNumbersTests {
  private static let records = TreeName([1])

  private func filled() throws -> ServerStore {
    let store = try TestServer.store()
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records)
      try transaction.put([1], [1], in: Self.records)
    }
    for value in 2...3 {
      try store.change(CommitInfo(names: ["n\(value)": 0])) { transaction throws(StorageError) in
        try transaction.put([1], [UInt8(value)], in: Self.records)
      }
    }
    try store.change { transaction throws(StorageError) in try transaction.delete([1], in: Self.records) }
    try store.change { transaction throws(StorageError) in try transaction.put([1], [9], in: Self.records) }
    return store
  }

  /// Reads all of a store, and makes a tree.
  private func use(_ url: ServerURL) throws(StorageError) {
    let store = try ServerStore.open(url)
    try store.forEachCommit { _ in true }
    try store.forEachDescent { _ in true }
    _ = try store.names
    _ = store.activity
    _ = try store.newest.versions(of: [1], in: Self.records, before: nil, limit: 8)
    for number in 1...store.newest.asOf {
      let view = try store.view(at: number)
      guard let tree = try view.tree(Self.records) else { continue }
      _ = try tree.count
      _ = try tree.find([[1], [2]])
      var cursor = tree.cursor()
      try cursor.seekToStart()
      _ = try tree.rank(of: .bytes([2]))
    }
    let transaction = try store.transaction()
    try transaction.createTree(TreeName([2] + .token()), kind: .records)
    try transaction.put([1], [2], in: Self.records)
    _ = try transaction.count(in: Self.records)
    _ = try transaction.commit()
  }

  @Test(
    "each is an error that says so",
    arguments: [
      "update SCHEMA.store set newest = -1", "update SCHEMA.store set newest = 9223372036854775807",
      "update SCHEMA.store set trees = -1", "update SCHEMA.store set next_tree = 2000000000",
      "update SCHEMA.store set next_tree = -5", "update SCHEMA.commit set parents = array[-1]::bigint[]",
      "update SCHEMA.commit set undoes = -9223372036854775808",
      "update SCHEMA.commit set origin_number = -1 where number = 2",
      "update SCHEMA.current set born = 0", "update SCHEMA.current set born = -1",
      "update SCHEMA.current set written = -1",
      "update SCHEMA.history set born = 0 where born = (select min(born) from SCHEMA.history)",
      "update SCHEMA.history set written = -9223372036854775808", "update SCHEMA.tree set tree = 2147483647",
      "update SCHEMA.tree set died = -1", "update SCHEMA.change set inserted = -1",
      "update SCHEMA.change set updated = 9223372036854775807", "update SCHEMA.name set number = -1",
    ])
  func forged(_ sql: String) throws {
    let store = try filled()
    try use(store.url)
    let server = try #require(TestServer.shared)
    #expect(server.psql(sql.replacing("SCHEMA", with: "\"\(store.url.schema)\"")) == 0)
    do throws(StorageError) {
      try use(store.url)
      Issue.record("\(sql) was taken")
    } catch {
      guard case .server(.damaged, let reason) = error else { throw error }
      #expect(reason.hasPrefix("damaged: "))
    }
  }

  @Test("dates may have any number")
  func moments() throws {
    let store = try filled()
    let server = try #require(TestServer.shared)
    for date in [Int64.min, -1, .max] {
      #expect(server.psql("update \"\(store.url.schema)\".commit set date = \(date), clock = \(date)") == 0)
      let store = try ServerStore.open(store.url)
      #expect(store.newest.commit.date == date)
      _ = store.openingReport
      try store.forEachCommit { _ in true }
    }
  }
}
