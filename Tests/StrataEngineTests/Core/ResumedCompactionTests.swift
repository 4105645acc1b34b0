import DiskSimulation
import StrataLocks
import Testing

@testable import StrataEngine

@Suite("Compaction that goes on where one was interrupted")
struct ResumedCompactionTests {
  private var options: StoreOptions {
    var options = StoreOptions()
    // So that nearly every moment is one after which there is something to go on with.
    options.compactionSyncDistance = 512
    return options
  }

  private static let kept = 6

  /// A store with a history, closed; and what it holds once the history is compacted.
  private func history() throws -> (disk: DiskImage, model: StoreModel) {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 31)
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk, options: options)
    try runner.run(.random(seed: 5, count: 16, reopens: false))
    try runner.run(.commit([.bulk(tree: 0, from: 100, count: 60, size: 90)], info: Step.Info(setsName: "pin0")))
    try runner.run(.commit([.put(tree: 0, key: 1, size: 10), .delete(tree: 0, key: 103)]))
    try runner.store.close()
    var model = runner.model
    model.compact(keeping: Self.kept)
    return (disk.image, model)
  }

  private func open(_ disk: any Disk) throws -> FileStore {
    try FileStore.open(at: RecordedWorkload.path, options: options, disk: disk)
  }

  /// Compacts to the end; how many commits were there already.
  private func goOn(_ store: FileStore, keepsMore: Bool = false) throws -> Int {
    var first: Int?
    let report = try store.compact(.last(Self.kept), keepsMore: keepsMore) { progress in
      if first == nil { first = progress.commitsDone }
      return true
    }
    return first.map { max(0, $0 - 1) } ?? report.commitsKept
  }

  @Test("what a cancelled compaction left goes with closing, once the next one would not go on from there")
  func stale() throws {
    let (start, _) = try history()
    let disk = SimulatedDisk(start, seed: 33)
    let leftover = RecordedWorkload.path + "/data.compact"
    let store = try open(disk)
    #expect(throws: StorageError.cancelled) { try store.compact(.last(Self.kept)) { $0.commitsDone < 3 } }
    try store.change { try $0.put([1], [1], in: ScriptRunner.name(0)) }
    try store.close()
    // One more commit changes nothing.
    #expect(try disk.status(leftover) != nil)
    #expect(try FileStore.leftovers(at: RecordedWorkload.path, disk: disk).map(\.name) == ["data.compact"])
    let again = try open(disk)
    for number in 0..<UInt8(Self.kept) { try again.change { try $0.put([1], [2, number], in: ScriptRunner.name(0)) } }
    try again.close()
    #expect(try disk.status(leftover) == nil)
    #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).findings.isEmpty)
  }

  @Test("after a power cut at any moment the next compaction goes on, and the store holds what it should")
  func everyCut() throws {
    let (start, model) = try history()
    let recording = SimulatedDisk(start, seed: 32)
    let store = try open(recording)
    #expect(try goOn(store) == 0)
    try store.close()
    var (images, resumed, commits) = (0, 0, 0)
    var index = 0
    var failures: [String] = []
    CrashImages.forEach(of: recording.record, on: recording.start, seed: 1) { image in
      index += 1
      guard index % 4 == 0 else { return }
      images += 1
      do {
        let disk = SimulatedDisk(image.image, seed: UInt64(image.position))
        let again = try open(disk)
        if again.identity.generation == 1 {
          let taken = try goOn(again)
          if taken > 0 { resumed += 1 }
          commits += taken
        }
        _ = try StoreComparison(store: again, model: model).checkAll(promised: model.newest)
        try again.close()
        let report = try FileStore.verify(at: RecordedWorkload.path, disk: disk)
        if !report.isClean {
          failures.append("\(image.kind.rawValue) at \(image.position): \(report.findings.prefix(2))")
        }
      } catch {
        failures.append("\(image.kind.rawValue) at \(image.position): \(error)")
      }
    }
    print("\(images) crash images of a compaction, \(resumed) gone on with, \(commits) commits not copied again")
    #expect(failures.isEmpty, "\(failures.count) failures, the first: \(failures.prefix(3))")
    #expect(resumed > images / 4)
  }

  @Test("commits made before the next compaction, and names, are there after it")
  func commitsBetween() throws {
    let (start, _) = try history()
    let disk = SimulatedDisk(start, seed: 33)
    let store = try open(disk)
    #expect(throws: StorageError.cancelled) { try store.compact(.last(Self.kept)) { $0.commitsDone < 4 } }
    let newest = store.head.commit.number
    for step in 0..<3 {
      let transaction = try store.beginBlocking()
      try transaction.put(ScriptRunner.key(900 + step), [1, 2, 3], in: ScriptRunner.name(0))
      let pending = try transaction.commit(CommitInfo(action: "between", names: ["between": .some(0)]))
      try pending?.wait()
    }
    #expect(try goOn(store, keepsMore: true) >= 4)
    #expect(store.head.commit.number == newest + 3)
    #expect(try store.names["between"] == newest + 3)
    let tree = try #require(try store.head.tree(ScriptRunner.name(0)))
    for step in 0..<3 { #expect(try tree.find(.bytes(ScriptRunner.key(900 + step))) != nil) }
    try store.close()
    #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).isClean)
  }

  @Test("commits that a power cut took back do not return with a compaction that goes on", arguments: [UInt8(0), 3])
  func lostCommits(_ later: UInt8) throws {
    let (start, _) = try history()
    let recording = SimulatedDisk(start, seed: 40)
    let store = try open(recording)
    let name = ScriptRunner.name(0)
    let newest = store.head.commit.number
    var collated: UInt8 = 0
    var begin = 0
    // After the last commit to keep, and more than are copied in the last turn. None is durable before the copy is.
    _ = try store.compact(.last(Self.kept)) { progress in
      guard progress.commitsDone == progress.commitsToDo else { return true }
      while collated < 3 {
        begin = recording.record.count
        collated += 1
        do {
          let transaction = try store.beginBlocking()
          try transaction.put([1], [1, collated], in: name)
          _ = try transaction.commit(CommitInfo(durability: .collated))
        } catch {
          Issue.record(error)
        }
      }
      return true
    }
    var lost = 0
    try CrashImages.forEach(of: recording.record, on: recording.start, seed: 1) { image in
      guard image.position > begin, [.writeDropped, .nameAlone, .subset].contains(image.kind) else { return }
      let disk = SimulatedDisk(image.image, seed: UInt64(image.position))
      let again = try open(disk)
      let first = again.head.commit.number + 1
      guard again.identity.generation == 1, first <= newest + 3,
        try disk.status(RecordedWorkload.path + "/data.compact") != nil
      else { return }
      lost += 1
      for number in 0..<later { try again.change { try $0.put([1], [2, number], in: name) } }
      _ = try again.compact(.last(Self.kept), keepsMore: true) { _ in true }
      for number in 0..<later {
        let tree = try #require(try again.view(at: first + UInt64(number)).tree(name))
        let record = try #require(try tree.payload(.bytes([1]))?.record)
        #expect(try tree.value(of: record).array == [2, number])
      }
      try again.close()
      #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).isClean)
    }
    #expect(lost > 0)
  }

  @Test("a name given to a commit that is not kept makes the compaction begin anew")
  func nameBetween() throws {
    let (start, _) = try history()
    let disk = SimulatedDisk(start, seed: 34)
    let store = try open(disk)
    #expect(throws: StorageError.cancelled) { try store.compact(.last(Self.kept)) { $0.commitsDone < 4 } }
    try store.change(CommitInfo(names: ["late": 2])) { _ in }
    _ = try store.compact(.last(Self.kept))
    #expect(try store.names["late"] == 2)
    #expect(try store.view(at: 2).commit.number == 2)
    try store.close()
    #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).isClean)
  }

  @Test(
    "where commits have come since, it keeps what the rule keeps now, or on request what was begun and all that came")
  func newCommits() throws {
    for keepsMore in [false, true] {
      let (start, _) = try history()
      let disk = SimulatedDisk(start, seed: 37)
      let store = try open(disk)
      #expect(throws: StorageError.cancelled) { try store.compact(.last(Self.kept)) { $0.commitsDone < 4 } }
      for number in 0..<3 { try store.change { try $0.put([1], [UInt8(number)], in: ScriptRunner.name(0)) } }
      let estimate = try store.compactionEstimate(.last(Self.kept))
      var first: Int?
      let report = try store.compact(.last(Self.kept), keepsMore: keepsMore) { progress in
        first = first ?? progress.commitsDone
        return true
      }
      #expect(((first ?? 0) > 3) == keepsMore)
      #expect(keepsMore ? report.commitsKept > estimate.commitsKept : report.commitsKept == estimate.commitsKept)
      try store.close()
      #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).isClean)
    }
  }

  @Test("of a frame that was not finished, what was written is not written again")
  func withinFrame() throws {
    let folder = TemporaryFolder()
    var options = StoreOptions()
    options.compactionSyncDistance = 64 << 10
    let store = try FileStore.create(at: folder.store(), options: options)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 0..<2_000 {
        try transaction.put(key(number), [UInt8](repeating: UInt8(number % 251), count: 500), in: people)
      }
    }
    try store.change { try $0.put(key(7), bytes("seven"), in: people) }
    let start = store.counts.bytesWritten
    #expect(throws: StorageError.cancelled) {
      try store.compact(.last(1)) { _ in store.counts.bytesWritten - start < 600_000 }
    }
    let before = store.counts.bytesWritten
    let report = try store.compact(.last(1))
    let written = store.counts.bytesWritten - before
    #expect(report.bytesAfter > 1_000_000)
    #expect(written < report.bytesAfter - 500_000)
    #expect(try store.head.text(key(7)) == "seven")
    try store.close()
    #expect(try FileStore.verify(at: folder.store(), disk: SystemDisk()).isClean)
  }

  @Test("a copy that was damaged is not gone on with")
  func damagedCopy() throws {
    let (start, model) = try history()
    let disk = SimulatedDisk(start, seed: 35)
    var store = try open(disk)
    #expect(throws: StorageError.cancelled) { try store.compact(.last(Self.kept)) { $0.commitsDone < 4 } }
    try store.close()
    let path = RecordedWorkload.path + "/data.compact"
    let size = try #require(try disk.status(path)).size
    for offset in stride(from: UInt64(0), to: size, by: 97) {
      let image = disk.image
      let damaged = SimulatedDisk(image, seed: 36)
      let file = try damaged.open(path, .readWrite)
      let byte = try #require(image.contents(at: path)).array[Int(offset)]
      try file.write([byte ^ 0x10], at: offset)
      store = try open(damaged)
      _ = try goOn(store)
      _ = try StoreComparison(store: store, model: model).checkAll(promised: model.newest)
      try store.close()
      let report = try FileStore.verify(at: RecordedWorkload.path, disk: damaged)
      #expect(report.isClean, "byte \(offset): \(report.findings.prefix(2))")
    }
  }

  @Test("a retention acts once the store is idle, without being closed")
  func idlePolicy() throws {
    let folder = TemporaryFolder()
    var options = StoreOptions(retention: .last(2))
    options.idleSeconds = 0.002
    let store = try FileStore.create(at: folder.store(), options: options)
    let path = folder.store()
    let monitor = Monitor()
    let watch = try SystemDisk().watch(path + "/data") { monitor.withLock { monitor.notifyAll() } }
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<30 {
      try store.change { try $0.put(key(1), [UInt8](repeating: UInt8(number), count: 100_000), in: people) }
    }
    // Another reader sees the new file; nobody has closed the store.
    try monitor.withLock {
      while try FileStore.open(at: path, options: StoreOptions(isReadOnly: true)).identity.generation == 1 {
        monitor.wait()
      }
    }
    try store.change { try $0.put(key(2), bytes("later"), in: people) }
    #expect(store.identity.generation > 1)
    #expect(throws: StorageError.self) { try store.view(at: 5) }
    #expect(try store.head.text(key(2)) == "later")
    withExtendedLifetime(watch) {}
    try store.close()
    #expect(try FileStore.verify(at: path, disk: SystemDisk()).isClean)
  }
  /// A disk whose clock stands where a test puts it.
  private final class ClockDisk: ForwardingDisk {
    let base: any Disk = MemoryDisk()
    let time = Atomic<Int64>(0)

    func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile { try base.open(path, mode) }
    func now() -> Int64 { time.load(ordering: .relaxed) }
  }

  @Test(
    "a compaction by age goes on while it keeps what the rule keeps, on request as long as anything of it is young enough"
  )
  func byAge() throws {
    let second: Int64 = 1_000_000_000
    // How much later, on request or not, and whether it goes on.
    for (later, keepsMore, goesOn) in [(0, false, true), (1, false, false), (10, true, true), (11, true, false)] {
      let disk = ClockDisk()
      let store = try FileStore.create(at: "aged", options: options, disk: disk)
      try store.change { try $0.createTree(people, kind: .records) }
      for number in 1...20 {
        disk.time.store(Int64(number) * second, ordering: .relaxed)
        try store.change { try $0.put(key(number % 3), bytes("\(number)"), in: people) }
      }
      let retention = Retention.younger(10 * second)
      #expect(throws: StorageError.cancelled) { try store.compact(retention) { $0.commitsDone < 4 } }
      disk.time.add(Int64(later) * second, ordering: .relaxed)
      var first: Int?
      let report = try store.compact(retention, keepsMore: keepsMore) { progress in
        first = first ?? progress.commitsDone
        return true
      }
      #expect((first ?? 0 > 4) == goesOn, "\(later) seconds later")
      // From the tenth second on, which is ten seconds old; a begun one anew, from as much later on.
      let kept = goesOn ? 11 : max(11 - later, 1)
      #expect(report.commitsKept == kept)
      #expect(throws: StorageError.prunedCommit(number: UInt64(21 - kept), nearest: UInt64(22 - kept))) {
        try store.view(at: UInt64(21 - kept))
      }
      try store.close()
      #expect(try FileStore.verify(at: "aged", disk: disk).findings.isEmpty)
    }
  }

  @Test("a copy that someone is at is not taken away by another process's closing, though so much happened since")
  func attended() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<20 { try store.change { try $0.put(key(number), bytes("\(number)"), in: people) } }
    var isFirst = true
    _ = try store.compact(.last(3)) { _ in
      guard isFirst else { return true }
      isFirst = false
      store.releaseLock()
      do {
        let other = try FileStore.open(at: folder.store(), options: StoreOptions())
        for number in 30..<40 { try other.change { try $0.put(key(number), bytes("\(number)"), in: people) } }
        try other.close()
      } catch {
        Issue.record(error)
      }
      return true
    }
    #expect(store.identity.generation == 2)
    #expect(try store.head.text(key(39)) == "39")
    try store.close()
    #expect(try FileStore.verify(at: folder.store(), disk: SystemDisk()).findings.isEmpty)
  }

  @Test("what lies behind the part of a copy that was synced is not part of the store")
  func garbageBehind() throws {
    let (start, _) = try history()
    let disk = SimulatedDisk(start, seed: 38)
    let store = try open(disk)
    #expect(throws: StorageError.cancelled) { try store.compact(.last(Self.kept)) { $0.commitsDone < 4 } }
    let path = RecordedWorkload.path + "/data.compact"
    let size = try #require(try disk.status(path)).size
    let file = try disk.open(path, .readWrite)
    try file.zero(size..<size + (1 << 20))
    try file.write([UInt8](repeating: 9, count: 4_096), at: size + (1 << 20) - 4_096)
    #expect(try goOn(store) >= 4)
    try store.close()
    #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).findings.isEmpty)
    let again = try open(disk)
    try again.change { try $0.put([1], [1], in: ScriptRunner.name(0)) }
    #expect(again.openingReport.cutBytes == 0)
  }

  @Test("a compaction by another rule begins anew, also one that may keep more")
  func anotherRule() throws {
    let (start, _) = try history()
    for retention in [Retention.last(Self.kept - 1), .all, .younger(.max)] {
      let disk = SimulatedDisk(start, seed: 39)
      let store = try open(disk)
      #expect(throws: StorageError.cancelled) { try store.compact(.last(Self.kept)) { $0.commitsDone < 4 } }
      let estimate = try store.compactionEstimate(retention)
      #expect(try store.compact(retention, keepsMore: true) { _ in true }.commitsKept == estimate.commitsKept)
      try store.close()
      #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).isClean)
    }
  }
}
