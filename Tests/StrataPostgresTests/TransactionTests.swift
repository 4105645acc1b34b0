import Foundation
@testable import StrataPostgres
import StrataEngine
import Testing

@Suite("Transactions on a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct TransactionTests {
  private static let records = TreeName([1])

  private func filled(_ count: Int = 0, rowPatience: Double = 30) throws -> ServerStore {
    let store = try TestServer.store(rowPatience: rowPatience)
    try store.change { transaction throws(StorageError) in
      try transaction.createTree(Self.records, kind: .records)
      for number in 0..<count { try transaction.set(.key(number), [0], in: Self.records) }
    }
    return store
  }

  @Test("a transaction sees its own changes, and nobody else does before it is committed")
  func ownChanges() throws {
    let store = try filled(10)
    let transaction = try store.transaction()
    try transaction.set(.key(3), [3], in: Self.records)
    try transaction.set(.key(20), [20], in: Self.records)
    try transaction.delete(.key(5), in: Self.records)
    let savepoint = try transaction.savepoint()
    try transaction.delete(.key(0), in: Self.records)
    try transaction.rollback(to: savepoint)
    let page = try transaction.page(limit: 100, in: Self.records)
    #expect(page.map(\.key) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 20].map { .key($0) })
    #expect(page[3].payload == .bytes([3]))
    #expect(
      try transaction.page(limit: 3, isReversed: true, in: Self.records).map(\.key)
        == [20, 9, 8].map { .key($0) })
    #expect(
      try transaction.page(KeyRange(lower: .key(4)), limit: 2, in: Self.records).map(\.key)
        == [4, 6].map { .key($0) })
    #expect(try transaction.count(in: Self.records) == 10)
    #expect(try transaction.rank(of: .key(6), in: Self.records) == 5)
    #expect(try transaction.look(for: .key(5), in: Self.records) == nil)
    #expect(try store.refreshed().served(Self.records)?.count == 10)
    #expect(try store.newest.served(Self.records)?.look(for: .key(20)) == nil)
    _ = try transaction.commit(CommitInfo(action: "three", names: ["one": 0]))
    #expect(try store.newest.served(Self.records)?.look(for: .key(20)) != nil)
    #expect(throws: StorageError.transactionEnded) { try transaction.set([1], [1], in: Self.records) }
    let commit = store.newest.commit
    #expect(commit.action == "three" && commit.author == "ada" && commit.program == "tests")
    #expect(commit.parents == [commit.number - 1])
    #expect(try store.names == ["one": commit.number])
    let counts = try #require(try store.commit(commit.number).counts.first)
    #expect(counts.inserted == 1 && counts.updated == 1 && counts.deleted == 1)
    // A change of nothing is no commit.
    #expect(try store.transaction().commit() == nil)
  }

  @Test("what was read and then changed by somebody else is a conflict, and what was not read is none")
  func conflicts() throws {
    let store = try filled(100)
    let other = try ServerStore.open(store.url)
    func collides(
      reading: (ServerTransaction) throws -> Void, writing: @escaping (ServerTransaction) throws(StorageError) -> Void
    ) throws -> TransactionConflict? {
      let transaction = try store.transaction(on: store.refreshed())
      try reading(transaction)
      try transaction.set(.key(200), [1], in: Self.records)
      try other.refreshed()
      try other.change(CommitInfo(), writing)
      do {
        _ = try transaction.commit()
        return nil
      } catch StorageError.conflict(let conflict) {
        return conflict
      }
    }
    let updatesTen = { (other: ServerTransaction) throws(StorageError) in try other.set(.key(10), [9], in: Self.records)
    }
    let found = try collides(reading: { _ = try $0.look(for: .key(10), in: Self.records) }, writing: updatesTen)
    #expect(found?.places.first?.key == .key(10))
    #expect(try collides(reading: { _ = try $0.look(for: .key(11), in: Self.records) }, writing: updatesTen) == nil)
    // What was not there when it was looked for, and is written by both.
    let inserted = try collides(
      reading: {
        #expect(try $0.look(for: .key(250), in: Self.records) == nil)
        try $0.put(.key(250), [7], in: Self.records)
      },
      writing: { other throws(StorageError) in try other.set(.key(250), [8], in: Self.records) })
    #expect(inserted?.places.map(\.key) == [.key(250)])
    #expect(value(try store.refreshed().served(Self.records)?.look(for: .key(250))) == 8)
    // A range: an update in it, an insertion, a deletion; and one beside it.
    let range = KeyRange(lower: .key(20), upper: .key(30))
    for (write, isConflict) in [
      ({ (other: ServerTransaction) throws(StorageError) in try other.set(.key(25), [8], in: Self.records) }, true),
      ({ other throws(StorageError) in try other.set(.key(25) + [1], [8], in: Self.records) }, true),
      ({ other throws(StorageError) in try other.delete(.key(29), in: Self.records) }, true),
      ({ other throws(StorageError) in try other.delete(.key(30), in: Self.records) }, false),
      ({ other throws(StorageError) in try other.set(.key(19), [8], in: Self.records) }, false),
    ] {
      let conflict = try collides(
        reading: { _ = try $0.page(range, limit: 100, in: Self.records) }, writing: write)
      #expect((conflict != nil) == isConflict)
    }
    // Only as much of a range counts as was looked at.
    let partial = try collides(
      reading: { _ = try $0.page(KeyRange(lower: .key(40)), limit: 5, in: Self.records) },
      writing: { other throws(StorageError) in try other.set(.key(50), [8], in: Self.records) })
    #expect(partial == nil)
    // A count goes by what is there and is not.
    let count = try collides(
      reading: { _ = try $0.count(in: Self.records) },
      writing: { other throws(StorageError) in try other.set(.key(300), [8], in: Self.records) })
    #expect(count != nil)
    // The tree itself.
    let tree = try collides(
      reading: { _ = try $0.served(Self.records) },
      writing: { other throws(StorageError) in try other.setAttributes([5], of: Self.records) })
    #expect(tree?.places.first?.key == nil && tree?.places.isEmpty == false)
  }

  /// A transaction that wrote the sum of what it read, so that any read that was not of its place in the order shows.
  private struct Done: Codable, Sendable {
    var number: UInt64 = 0
    var keys: [Int]
    var range: Range<Int>
    var target: Int
    /// -1: it deleted.
    var sum: Int
  }

  /// What one of several processes did.
  private struct Report: Codable, Sendable {
    var done: [Done] = []
    var conflicts = 0
  }

  private static let processes = 8

  /// Does random transactions, as one of several processes, and writes down what came through.
  private static func work(_ location: String, _ worker: Int, _ file: String) throws {
    let own = try ServerStore.open(ServerURL(parsing: location))
    var dice = Dice(UInt64(worker) + 11)
    func prepare() throws -> (transaction: ServerTransaction, done: Done) {
      let keys = (0..<dice.roll(3)).map { _ in dice.roll(40) }
      let start = dice.roll(38)
      let range = start..<(start + dice.roll(6))
      let target = dice.roll(40)
      let deletes = dice.roll(6) == 0
      let transaction = try own.transaction(on: own.refreshed())
      var sum = 0
      for key in keys { sum += value(try transaction.look(for: .key(key), in: records)) }
      for entry in try transaction.page(
        KeyRange(lower: .key(range.lowerBound), upper: .key(range.upperBound)), limit: 100, in: records)
      {
        sum += value(entry) + 1
      }
      sum = (sum * 31 + worker + 1) & 0xFFFFFF
      if deletes {
        try transaction.delete(.key(target), in: records)
        sum = -1
      } else {
        try transaction.set(.key(target), bytes(sum), in: records)
      }
      return (transaction, Done(keys: keys, range: range, target: target, sum: sum))
    }
    var report = Report()
    for _ in 0..<15 {
      // Two at a time, so that some collide also where the machine runs one process after the other.
      for (transaction, step) in try [prepare(), prepare()] {
        do {
          guard let commit = try transaction.commit() else { continue }
          var step = step
          step.number = commit.number
          report.done.append(step)
        } catch StorageError.conflict {
          report.conflicts += 1
        }
      }
    }
    try JSONEncoder().encode(report).write(to: URL(filePath: file))
  }

  @Test("random transactions of keys and ranges by 8 processes are explained by the order of their commits")
  func serial() async throws {
    let store = try filled(40)
    let location = try #require(TestServer.shared).location(store.url.schema)
    let files = (0..<Self.processes).map { _ in NSTemporaryDirectory() + "strata-done-\(UInt64.random(in: 0 ... .max))"
    }
    await withTaskGroup(of: Void.self) { group in
      for (worker, file) in files.enumerated() {
        group.addTask {
          await #expect(processExitsWith: .success) {
            [location = location as String, worker = worker as Int, file = file as String] in
            try TransactionTests.work(location, worker, file)
          }
        }
      }
    }
    let reports = try files.map { file in
      defer { try? FileManager.default.removeItem(atPath: file) }
      return try JSONDecoder().decode(Report.self, from: Data(contentsOf: URL(filePath: file)))
    }
    let order = reports.flatMap(\.done).sorted { $0.number < $1.number }
    #expect(Set(order.map(\.number)).count == order.count)
    #expect(order.count > 60, "too few came through")
    #expect(reports.reduce(0) { $0 + $1.conflicts } > 0, "nothing collided, so nothing was tried")
    var model = Dictionary(uniqueKeysWithValues: (0..<40).map { ($0, 0) })
    for step in order {
      if step.sum < 0 {
        model[step.target] = nil
        continue
      }
      var sum = step.keys.reduce(0) { $0 + (model[$1] ?? 0) }
      for key in step.range { if let value = model[key] { sum += value + 1 } }
      let workers = (0..<Self.processes).map { (sum * 31 + $0 + 1) & 0xFFFFFF }
      #expect(workers.contains(step.sum), "commit \(step.number) read something else")
      model[step.target] = step.sum
    }
    let final = try #require(try store.refreshed().served(Self.records)).entries(limit: 100)
    #expect(final.map { value($0) } == model.keys.sorted().map { model[$0] ?? -1 })
  }

  @Test("many tasks that add to the same counters lose none")
  func counters() async throws {
    let store = try filled(4)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask {
          for step in 0..<5 {
            while true {
              let transaction = try store.transaction()
              let key = [UInt8].key((task + step) % 4)
              let old = value(try transaction.look(for: key, in: Self.records))
              try transaction.set(key, bytes(old + 1), in: Self.records)
              do {
                _ = try await transaction.commitAsync(CommitInfo()) { _ in }
                break
              } catch StorageError.conflict {
                try store.refreshed()
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let sum = try #require(try store.refreshed().served(Self.records)).entries(limit: 10).reduce(0) { $0 + value($1) }
    #expect(sum == 80)
  }

  @Test("commits that wait at the same time share a flush; each is a commit of its own, made on the one before")
  func sharedFlush() async throws {
    let store = try filled(4, rowPatience: 86_400)
    let holder = try store.pool.connect()
    try holder.exchange([Statement("begin"), store.tables.statement("select one from {store} for update")])
    let before = store.roundTrips
    let failures = Box<[String]>([])
    // What follows the flush of the test's first commit would take along all that have come by then.
    while !store.commits.isIdle { await Task.yield() }
    let group = DispatchGroup()
    for number in 0..<64 {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        do {
          let transaction = try store.transaction()
          try transaction.set(.key(1_000 + number), [1], in: Self.records)
          _ = try transaction.commit()
        } catch {
          failures.change { $0.append("\(error)") }
        }
      }
    }
    // The first flush waits for the row, and the others for it.
    while failures.value.isEmpty, store.commits.waitingCount < 63 { await Task.yield() }
    try holder.exchange([Statement("rollback")])
    await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
    #expect(failures.value.isEmpty)
    #expect(store.roundTrips - before < 32)
    #expect(try store.refreshed().served(Self.records)?.count == 4 + 64)
    let commits = try store.commits(upTo: store.newest.asOf, limit: 300)
    #expect(commits.last?.number == 1)
    for (commit, parent) in zip(commits, commits.dropFirst()) { #expect(commit.parents == [parent.number]) }
  }
}

private func value(_ entry: ServerEntry?) -> Int {
  guard case .bytes(let bytes)? = entry?.payload else { return 0 }
  return bytes.reduce(0) { $0 << 8 | Int($1) }
}

private func bytes(_ number: Int) -> [UInt8] {
  [UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
}
