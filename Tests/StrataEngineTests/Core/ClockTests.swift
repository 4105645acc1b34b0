import StrataLocks
import Testing

@testable import StrataEngine

/// A disk whose clock a test sets.
private final class ClockedDisk: ForwardingDisk {
  let base: any Disk = MemoryDisk()
  let clock = Mutex<Int64>(0)

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile { try base.open(path, mode) }
  func now() -> Int64 { clock.withLock { $0 } }
}

@Suite("A clock that stood ahead")
struct ClockTests {
  private static let day: Int64 = 86_400_000_000_000
  private let disk = ClockedDisk()

  /// A store with a commit at each of some days.
  private func store(_ days: [Int64]) throws -> FileStore {
    let store = try FileStore.create(at: "clocked", options: StoreOptions(), disk: disk)
    for (number, day) in days.enumerated() {
      disk.clock.withLock { $0 = day * Self.day }
      try store.change { transaction in
        if number == 0 { try transaction.createTree(people, kind: .records) }
        try transaction.put(key(number), bytes("\(day)"), in: people)
      }
    }
    return store
  }

  @Test("dates go on ascending, and each commit keeps its writer's clock, also after a compaction and in a copy")
  func kept() throws {
    let days: [Int64] = [10, 11, 3_660, 12, 13, 14]
    let store = try store(days)
    func clocks(_ store: FileStore) throws -> [UInt64: Int64] {
      var clocks: [UInt64: Int64] = [:]
      try store.forEachDescent { descent throws(StorageError) in
        let commit = try store.commit(descent.number)
        #expect(commit.number < 3 || commit.date == 3_660 * Self.day)
        clocks[commit.number] = try store.clock(of: commit) / Self.day
        return true
      }
      return clocks
    }
    #expect(try clocks(store) == [1: 10, 2: 11, 3: 3_660, 4: 12, 5: 13, 6: 14])
    _ = try store.copy(to: "copied", at: nil, onto: nil) { _ in true }
    #expect(try clocks(FileStore.open(at: "copied", options: StoreOptions(), disk: disk))[5] == 13)
    let before = try store.commit(5)
    _ = try store.compact(.last(2)) { _ in true }
    #expect(try clocks(store) == [5: 13, 6: 14])
    #expect(try store.clock(of: before) / Self.day == 13)
    _ = try store.compact(.last(1)) { _ in true }
    #expect(try clocks(store) == [6: 14])
    try store.close()
    #expect(try FileStore.verify(at: "clocked", disk: disk) { _ in true }.isClean)
  }

  @Test("a time is looked for by the clocks, before, in and behind the years that a clock stood ahead")
  func times() throws {
    // Ahead twice: once until now, once for a day that is over.
    let days: [Int64] = [10, 11, 14, 12, 13, 15, 16, 3_660] + Array(17...60)
    let store = try store(days)
    let head = store.head.commit.number
    func at(_ day: Int64) throws -> Int64 {
      let found = try store.ancestor(of: head, notLaterThan: day * Self.day)
      return days[Int(found.number) - 1]
    }
    for day in [10, 11, 12, 13, 15, 16] + Array(17...60) as [Int64] { #expect(try at(day) == day) }
    #expect(try at(59 + 1) == 60)
    #expect(throws: StorageError.noCommitAsOld(date: 9 * Self.day)) {
      try store.ancestor(of: head, notLaterThan: 9 * Self.day)
    }
  }

  @Test("a history kept by its age is kept by the clocks")
  func age() throws {
    let store = try store([10, 11, 3_660] + Array(12...40))
    disk.clock.withLock { $0 = 41 * Self.day }
    let report = try store.compact(.younger(5 * Self.day)) { _ in true }
    #expect(report.commitsKept == 5)
  }

  @Test(
    "rules by count and by age combine, and a compaction that goes on remembers both",
    arguments: [
      (Retention.both(last: 3, younger: 5 * day), 3), (.both(last: 8, younger: 5 * day), 5),
      (.either(last: 3, younger: 5 * day), 5), (.either(last: 8, younger: 5 * day), 8),
      (.both(last: 1, younger: 0), 1), (.either(last: 1, younger: 0), 1),
    ])
  func combined(retention: Retention, kept: Int) throws {
    let store = try store(Array(10...40))
    disk.clock.withLock { $0 = 41 * Self.day }
    #expect(try store.compactionEstimate(retention).commitsKept == kept)
    let plan = CompactionPlan(of: store.publication.current, retention, date: 7)
    #expect(plan.encoded(seed: 3).withUnsafeBytes { CompactionPlan($0, seed: 3) } == plan)
    #expect(try store.compact(retention) { _ in true }.commitsKept == kept)
    try store.close()
    #expect(try FileStore.verify(at: "clocked", disk: disk) { _ in true }.isClean)
  }

  @Test("a clock more than a day behind the newest date is reported, and one within a day is not")
  func reported() throws {
    let store = try store([10, 3_660, 12])
    #expect(store.openingReport.notes.count == 1)
    #expect(store.openingReport.notes.first?.contains("dated 3648 days after this computer's clock") == true)
    disk.clock.withLock { $0 = 3_659 * Self.day + 1 }
    #expect(store.openingReport.notes.isEmpty)
  }
}
