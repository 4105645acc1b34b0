import DiskSimulation
import Glibc
import StrataLocks
import Testing

@testable import StrataEngine

@Suite("Compaction")
struct CompactionTests {
  /// A history with every kind of change; what each commit should read as.
  private func history(_ store: FileStore, commits: Int, seed: UInt64) throws -> [UInt64: [Int: String]] {
    var random = RandomSource(seed: seed)
    var states: [UInt64: [Int: String]] = [:]
    var state: [Int: String] = [:]
    let first = try store.change(CommitInfo(action: "create")) { transaction in
      try transaction.createTree(people, kind: .records, attributes: bytes("attributes"))
      try transaction.createTree(byAge, kind: .entries)
      for number in 0..<300 {
        try transaction.put(key(number), bytes("first \(number)"), in: people)
        state[number] = "first \(number)"
      }
      try index(transaction, key(7))
    }
    states[first] = state
    for step in 0..<commits {
      if step % 17 == 16, let old = states.keys.sorted().dropFirst(step / 3).first {
        let number = try store.change(CommitInfo(action: "restore")) {
          try $0.restore(nil, from: try store.view(at: old))
        }
        state = states[old] ?? [:]
        states[number] = state
        continue
      }
      let number = try store.change(CommitInfo(action: "step \(step)")) { transaction in
        for _ in 0...Int(random.next() % 12) {
          let id = Int(random.next() % 400)
          if random.next() % 3 == 0 {
            try transaction.delete(key(id), in: people)
            state[id] = nil
          } else {
            try transaction.put(key(id), bytes("\(step).\(id)"), in: people)
            state[id] = "\(step).\(id)"
          }
        }
        try transaction.put(key(500), bytes("\(step)"), in: people)
        state[500] = "\(step)"
        try index(transaction, key(500))
      }
      states[number] = state
    }
    return states
  }

  /// An entry that refers to a record, as a direct index has.
  private func index(_ transaction: FileTransaction, _ id: [UInt8]) throws {
    let reference = try #require(try transaction.currentReference(of: id, in: people))
    try transaction.insert(bytes("by ") + id, .record(reference), in: byAge)
  }

  private func check(_ view: View, _ expected: [Int: String]?) throws {
    let expected = try #require(expected)
    let tree = try #require(try view.tree(people))
    #expect(tree.entryCount == UInt64(expected.count))
    for (id, text) in expected { #expect(try view.text(key(id)) == text) }
    #expect(tree.attributes.text == "attributes")
    #expect(view.commit.liveBytes == (try LiveBytes(view).count()))
    let entries = try #require(try view.tree(byAge))
    if let text = expected[500] {
      let record = try #require(try entries.find(.bytes(bytes("by ") + key(500)))?.payload.record)
      #expect(try view.value(of: record).text == text)
    }
  }

  private func verify(_ path: String) throws {
    let report = try FileStore.verify(at: path, disk: SystemDisk())
    #expect(report.findings.isEmpty, "\(report.findings)")
  }

  @Test("reads of each commit the nodes that it wrote and those that they took the place of, not their neighbours")
  func nodeReads() throws {
    let store = FileStore.memory(options: StoreOptions())
    let ids = 0..<4_000
    try store.change {
      try $0.createTree(people, kind: .records)
      try $0.createTree(byAge, kind: .entries)
      for id in ids {
        try $0.put(key(id), bytes("first \(id)"), in: people)
        try $0.insert(bytes("\(id % 100)") + key(id), in: byAge)
      }
    }
    let changed = stride(from: 0, to: ids.count, by: 41)
    let whole = store.counts
    for id in changed {
      try store.change {
        try $0.put(key(id), bytes("second \(id)"), in: people)
        try $0.remove(bytes("\(id % 100)") + key(id), in: byAge)
        try $0.insert(bytes("x") + key(id), in: byAge)
      }
    }
    let written = store.counts.nodesWritten - whole.nodesWritten
    let before = store.counts.nodeReads
    _ = try store.compact(.all)
    let first = whole.nodesWritten
    // The first commit's nodes twice, for its entries and for itself; of the others also what the states before had.
    #expect(store.counts.nodeReads - before < 3 * first + 4 * written)
  }

  @Test(
    "kept commits read as before, pruned ones name the nearest kept, and the file is verified",
    arguments: [1, 7, 40, 1000])
  func retention(count: Int) throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let states = try history(store, commits: 60, seed: UInt64(count))
    try store.change(CommitInfo(names: ["pinned": 5])) { _ in }
    var expected = states
    let newest = store.head.commit.number
    expected[newest] = states[newest - 1]
    let before = try (1...newest).map { try store.commit($0) }
    let old = try store.view(at: 3)

    let report = try store.compact(.last(count))
    #expect(report.commitsKept + report.commitsPruned == Int(newest))
    if count < 40 { #expect(report.bytesAfter < report.bytesBefore) }
    #expect(store.dataBytes == report.bytesAfter)
    try check(old, states[3])

    for path in [folder.store()] {
      var kept: [UInt64] = []
      for reader in [store, try FileStore.open(at: path, options: StoreOptions(isReadOnly: true))] {
        kept = []
        for number in 1...newest {
          let record = before[Int(number) - 1]
          // The newest one only gives a name, and does not count.
          let isKept = number == 5 || number > newest - min(newest, UInt64(count) + 1)
          guard isKept else {
            let error = #expect(throws: StorageError.self) { try reader.view(at: number) }
            guard case .prunedCommit(number, let nearest)? = error else {
              Issue.record("\(String(describing: error))")
              continue
            }
            #expect(nearest == 5 || nearest > newest - UInt64(count) - 1)
            continue
          }
          kept.append(number)
          let view = try reader.view(at: number)
          #expect(view.commit.date == record.date)
          #expect(view.commit.action == record.action)
          #expect(view.commit.origin == record.origin)
          #expect(view.commit.flags.contains(.squashed) == (number > 1 && !kept.dropLast().contains(number - 1)))
          try check(view, expected[number])
        }
        #expect(try reader.names == ["pinned": 5])
        #expect(reader.head.commit.number == newest)
      }
      #expect(kept.count == report.commitsKept)
    }
    try store.change { try $0.put(key(1), bytes("after"), in: people) }
    #expect(store.head.commit.number == newest + 1)
    try store.close()
    try verify(folder.store())
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    #expect(again.identity.generation == 2)
    #expect(try again.head.text(key(1)) == "after")
  }

  @Test("versions of a record are those of the kept commits, in order")
  func versions() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let states = try history(store, commits: 60, seed: 3)
    let newest = store.head.commit.number
    _ = try store.compact(.last(20))
    let kept = ((newest - 19)...newest).map { $0 }
    for id in stride(from: 0, to: 400, by: 7) {
      var expected: [String] = []
      var last: String?
      for number in kept {
        let text = states[number]?[id]
        if number == kept.first ? text != nil : text != last { expected.append("#\(number) \(text ?? "-")") }
        last = text
      }
      var found: [String] = []
      var cursor = try store.head.versions(of: .bytes(key(id)), in: people)
      while let version = try cursor.next() {
        let text = try version.change.flatMap { $0.kind == .delete ? nil : try store.head.value(of: $0.reference).text }
        found.append("#\(version.commit) \(text ?? "-")")
      }
      // The first kept commit may tell that the record had been deleted; a value written anew with the same text counts too.
      var told: [String] = []
      for line in found.reversed() where told.last?.split(separator: " ").last != line.split(separator: " ").last {
        if !(told.isEmpty && line.hasSuffix(" -")) { told.append(line) }
      }
      #expect(told == expected, "record \(id): \(found)")
    }
  }

  @Test("a squashed commit counts what differs from its parent, whatever came and went or is shared with a branch")
  func counts() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let base = try store.change(CommitInfo(names: ["base": 0])) { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 0..<5 { try transaction.put(key(number), bytes("first"), in: people) }
    }
    try store.change { transaction in
      for number in 10..<13 { try transaction.put(key(number), bytes("shared"), in: people) }
      try transaction.put(key(0), bytes("shared"), in: people)
      try transaction.delete(key(1), in: people)
      try transaction.put(key(20), bytes("comes and goes"), in: people)
    }
    let branching = try store.change { transaction in
      try transaction.delete(key(20), in: people)
      try transaction.delete(key(2), in: people)
    }
    let transaction = try store.beginBlocking(on: branching)
    _ = try transaction.put(key(30), bytes("on the branch"), in: people)
    let branch = try #require(try transaction.commit(CommitInfo(names: ["branch": 0], movesHead: false)))
    try branch.wait()
    try store.change { try $0.put(key(2), bytes("anew"), in: people) }
    let head = try store.change { try $0.put(key(21), bytes("goes"), in: people) }
    let last = try store.change { try $0.delete(key(21), in: people) }
    #expect(last == head + 1)

    _ = try store.compact(.last(1))
    for (number, expected) in [(branch.number, [4, 1, 2]), (last, [3, 2, 1])] as [(UInt64, [UInt64])] {
      let record = try store.commit(number)
      #expect(record.parents == [base] && record.flags.contains(.squashed))
      let count = try #require(record.counts.first { $0.tree == people })
      #expect([count.inserted, count.updated, count.deleted] == expected, "#\(number)")
    }
    #expect(try store.head.tree(people)?.entryCount == 7)
    try store.close()
    try verify(folder.store())
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    _ = try again.compact(.all)
    #expect(try again.commit(last).counts.map(\.deleted) == [1])
    try again.close()
    try verify(folder.store())
  }

  @Test(
    "a commit that is kept with its parent counts what it counted, also the records of a tree that a restore took away")
  func keptCounts() throws {
    let store = FileStore.memory(options: StoreOptions())
    _ = try history(store, commits: 20, seed: 7)
    let base = store.head
    let others = TreeName(Array("Dothers".utf8))
    try store.change { transaction in
      try transaction.createTree(others, kind: .records)
      for number in 0..<3 { try transaction.put(key(number), bytes("other"), in: others) }
    }
    let newest = try store.change { try $0.restore(nil, from: base) }
    let before = try (1...newest).map { try store.commit($0).counts }
    #expect(before.last?.map(\.deleted) == [3])
    _ = try store.compact(.all)
    #expect(try (1...newest).map { try store.commit($0).counts } == before)
  }

  @Test(
    "a commit that is given a name while a compaction leaves it out is kept; where that happens again and again, the compaction ends"
  )
  func namesMeanwhile() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let states = try history(store, commits: 20, seed: 8)
    var named: UInt64 = 1
    func compact(naming count: Int) throws {
      var left = count
      _ = try store.compact(.last(3)) { progress in
        if progress.commitsDone == 1, left > 0 {
          left -= 1
          named += 1
          _ = try? store.change(CommitInfo(names: ["late": named])) { _ in }
        }
        return true
      }
    }
    #expect(throws: StorageError.busy(what: "names were moved while the history was being compacted")) {
      try compact(naming: .max)
    }
    #expect(store.identity.generation == 1)
    try compact(naming: 1)
    #expect(store.identity.generation == 2)
    #expect(try store.names == ["late": named])
    try check(try store.view(at: named), states[named])
    try store.close()
    try verify(folder.store())
  }

  @Test("a compaction that another process has come before ends, and what that one has put there stays")
  func overtaken() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let states = try history(store, commits: 20, seed: 9)
    let other = try FileStore.open(at: folder.store(), options: StoreOptions())
    var isFirst = true
    #expect(throws: StorageError.busy(what: "the store was compacted by someone else")) {
      try store.compact(.last(5)) { _ in
        guard isFirst else { return true }
        isFirst = false
        store.releaseLock()
        // As where a file system's locks keep nobody off.
        #expect(throws: Never.self) {
          try SystemDisk().unlink(folder.store() + "/data.compact")
          return try other.compact(.last(8))
        }
        other.releaseLock()
        return true
      }
    }
    #expect(store.identity.generation == 2)
    let newest = store.head.commit.number
    for number in (newest - 7)...newest { try check(try store.view(at: number), states[number]) }
    try store.close()
    try other.close()
    try verify(folder.store())
  }

  @Test("a reader elsewhere goes on across a compaction, and a writer goes on during one")
  func meanwhile() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    _ = try history(store, commits: 20, seed: 5)
    let reader = try FileStore.open(at: folder.store(), options: StoreOptions(isReadOnly: true))
    let old = reader.head
    var written = 0
    _ = try store.compact(.last(10)) { _ in
      if written < 40 {
        written += 1
        _ = try? store.change { try $0.put(key(1000 + written), bytes("meanwhile"), in: people) }
      }
      return true
    }
    #expect(written >= 10)
    let head = try reader.refresh()
    #expect(head.commit.number == store.head.commit.number)
    for number in 1...written { #expect(try head.text(key(1000 + number)) == "meanwhile") }
    #expect(try old.tree(people) != nil)
    #expect(reader.identity.generation == 2)
    var cursor = try difference(old, head, tree: people)
    var count = 0
    while let found = try cursor.next() {
      #expect(found.old == nil)
      count += 1
    }
    #expect(count == written)
    try store.close()
    try verify(folder.store())
  }

  @Test("a compaction comes to its end beside a writer that never pauses, and loses none of its commits")
  func withoutPause() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    _ = try history(store, commits: 20, seed: 6)
    let isDone = Atomic(false)
    let written = Atomic(0)
    let (hasBegun, hasEnded) = (Signal(), Signal())
    try startThread {
      while !isDone.load(ordering: .acquiring) {
        let next = written.load(ordering: .relaxed) + 1
        _ = try? store.change(CommitInfo(durability: .collated)) {
          try $0.put(key(1000 + next), bytes("meanwhile"), in: people)
        }
        written.store(next, ordering: .releasing)
        if next == 50 { hasBegun.fire() }
      }
      hasEnded.fire()
    }
    hasBegun.wait()
    let report = try store.compact(.all)
    isDone.store(true, ordering: .releasing)
    hasEnded.wait()
    #expect(report.commitsPruned == 0)
    #expect(store.identity.generation == 2)
    let last = written.load(ordering: .acquiring)
    for number in 1...last { #expect(try store.head.text(key(1000 + number)) == "meanwhile") }
    try store.close()
    try verify(folder.store())
  }

  @Test(
    "a compaction comes to its end where each commit that is copied brings another one: it copies some while nobody can commit"
  )
  func neverDone() throws {
    let disk = HookedDisk(of: "data.compact")
    let store = try FileStore.create(at: "/compacted", options: StoreOptions(), disk: disk)
    _ = try history(store, commits: 20, seed: 6)
    let written = Atomic(0)
    disk.hooks.withLock { hooks in
      hooks.write = {
        guard !store.writing.isTurnTaken, written.load(ordering: .relaxed) < 1000 else { return }
        let number = written.add(1, ordering: .relaxed).newValue
        _ = try? store.change { try $0.put(key(1000 + number), bytes("meanwhile"), in: people) }
      }
    }
    _ = try store.compact(.all)
    #expect(store.identity.generation == 2)
    #expect((20..<1000).contains(written.load(ordering: .relaxed)))
  }

  @Test("a cancelled compaction leaves the store as it was")
  func cancel() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let states = try history(store, commits: 20, seed: 5)
    #expect(throws: StorageError.cancelled) { try store.compact(.last(5)) { $0.commitsDone < 3 } }
    for (number, state) in states { try check(try store.view(at: number), state) }
    // What was copied waits for the next compaction by the same rule; another rule begins anew.
    #expect(try SystemDisk().list(folder.store()).sorted() == ["data", "data.compact", "lock"])
    var first: Int?
    #expect(throws: StorageError.cancelled) {
      try store.compact(.last(5)) { progress in
        first = progress.commitsDone
        return false
      }
    }
    #expect(first == 4)
    _ = try store.compact(.last(4)) { progress in
      first = min(first ?? .max, progress.commitsDone)
      return true
    }
    #expect(first == 0)
    #expect(try SystemDisk().list(folder.store()).sorted() == ["data", "lock"])
    try store.close()
    try verify(folder.store())
  }

  @Test(
    "a retention acts when a written store is closed, once more is dead than alive, also where the lock was let go of",
    arguments: [false, true])
  func policy(releasesLock: Bool) throws {
    let folder = TemporaryFolder()
    var options = StoreOptions(retention: .last(2))
    let store = try FileStore.create(at: folder.store(), options: options)
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<30 {
      try store.change { try $0.put(key(1), [UInt8](repeating: UInt8(number), count: 100_000), in: people) }
    }
    #expect(store.identity.generation == 1)
    let before = store.dataBytes
    if releasesLock { store.releaseLock() }
    try store.close()
    #expect(store.writer == nil)
    #expect(store.identity.generation == 2)
    options.retention = nil
    let again = try FileStore.open(at: folder.store(), options: options)
    #expect(again.dataBytes < before / 8)
    #expect(again.head.commit.number == 31)
    #expect(throws: StorageError.prunedCommit(number: 5, nearest: 30)) { try again.view(at: 5) }
    try again.change { try $0.put(key(2), bytes("x"), in: people) }
    try again.close()
    #expect(again.identity.generation == 2)
    try verify(folder.store())
  }

  @Test("of the last n commits those do not count that only set names, and the estimate agrees")
  func names() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 2...6 { try store.change { try $0.put(key(1), bytes("\(number)"), in: people) } }
    for number in 7...12 as ClosedRange<UInt64> { try store.change(CommitInfo(names: ["pin": number - 1])) { _ in } }
    try store.change(CommitInfo(names: ["pin": nil])) { _ in }
    let estimate = try store.compactionEstimate(.last(2))
    let report = try store.compact(.last(2))
    #expect(estimate.commitsKept == report.commitsKept)
    for number in 1...13 as ClosedRange<UInt64> {
      let isKept = (try? store.view(at: number)) != nil
      #expect(isKept == (number >= 5), "#\(number)")
    }
    #expect(try store.view(at: 5).text(key(1)) == "5")
    try store.close()
    try verify(folder.store())
  }

  @Test("a copy, also as of an earlier commit, has an origin of its own")
  func copy() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let states = try history(store, commits: 30, seed: 6)
    try store.change(CommitInfo(names: ["early": 4, "late": 20])) { _ in }
    try store.copy(to: folder.store("all"))
    try store.copy(to: folder.store("early"), at: 12)
    let early = try FileStore.open(at: folder.store("early"), options: StoreOptions())
    #expect(early.head.commit.number == 12)
    #expect(try early.names == ["early": 4])
    for number in 1...12 { try check(try early.view(at: UInt64(number)), states[UInt64(number)]) }
    try early.change { try $0.put(key(1), bytes("x"), in: people) }
    #expect(early.head.commit.origin != store.head.commit.origin)
    let all = try FileStore.open(at: folder.store("all"), options: StoreOptions())
    #expect(all.head.commit.number == store.head.commit.number)
    #expect(try all.names == store.names)
    for (number, state) in states { try check(try all.view(at: number), state) }
    try early.close()
    try verify(folder.store("early"))
    try verify(folder.store("all"))
  }

  @Test(
    "a compaction brings what it writes to the disk little by little; where that fails it ends, and the store is as before"
  )
  func writeBack() throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 51)
    let store = try FileStore.create(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 0..<400 { try transaction.put(key(number), [UInt8](repeating: 1, count: 1000), in: people) }
    }
    for number in 0..<100 {
      try store.change { try $0.put(key(number), [UInt8](repeating: 2, count: 900), in: people) }
    }
    let before = disk.counts
    let whole = try store.compact(.all)
    let calls = disk.counts[.writeBack, default: 0] - before[.writeBack, default: 0]
    // A frame is written when it is whole, so a piece may be a frame longer.
    #expect(calls > Int(whole.bytesAfter) / (64 << 10))
    #expect(disk.counts[.sync, default: 0] - before[.sync, default: 0] == 1)

    disk.plant(DiskFault(call: .writeBack, number: 2, code: EIO))
    let error = #expect(throws: StorageError.self) { try store.compact(.all) }
    disk.plant(nil)
    guard case .io(let cause)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause.code == EIO)
    #expect(try store.head.text(key(7))?.utf8.count == 900)
    try store.change { try $0.put(key(7), bytes("seven"), in: people) }
    _ = try store.compact(.last(1))
    try store.close()
    #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).isClean)
  }
}
