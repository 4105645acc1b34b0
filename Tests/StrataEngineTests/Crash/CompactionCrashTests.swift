import DiskSimulation
import Glibc
import StrataEngine
import Testing

/// Compactions and copies that fail, are cut off, or forget something.
@Suite("Compactions that go wrong")
struct CompactionCrashTests {
  private static let history: [Step] = [
    .commit([.create(tree: 0), .create(tree: 1), .bulk(tree: 0, from: 0, count: 20, size: 30)]),
    .commit([.put(tree: 0, key: 1, size: 50), .put(tree: 1, key: 1, size: 5)], info: Step.Info(setsName: "pin0")),
    .commit([.delete(tree: 0, key: 2)]), .commit([.put(tree: 0, key: 2, size: 10)], on: .older(500)),
    .commit([.put(tree: 0, key: 3, size: 700), .attributes(tree: 0, 30)]),
  ]

  private static func runner(_ disk: SimulatedDisk, _ steps: [Step] = history) throws -> ScriptRunner {
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk)
    runner.promised = { disk.note($0) }
    try runner.run(steps)
    return runner
  }

  /// Looks at everything that a power cut at the end of the record could have left.
  private static func checkEnd(_ disk: SimulatedDisk, _ model: StoreModel) throws {
    let end = disk.record.count
    try CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { image in
      if image.position == end { try PowerCut(model: model, image: image).check() }
    }
  }

  // MARK: Calls that fail

  private static let faults: [(name: String, make: @Sendable (Int) -> DiskFault)] = [
    ("EIO once", { DiskFault(number: $0, code: EIO) }),
    ("EIO from then on", { DiskFault(number: $0, code: EIO, isLasting: true) }),
    ("no room once, half written", { DiskFault(number: $0, code: ENOSPC, isPartial: true) }),
    ("no room from then on", { DiskFault(number: $0, code: ENOSPC, isLasting: true) }),
  ]

  @Test(
    "whichever call of a compaction fails: the open store goes on or says that it must be opened again, and keeps its promises",
    arguments: 0..<4)
  func everyCall(_ kind: Int) throws {
    var disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 41)
    var runner = try Self.runner(disk)
    let before = disk.callCount
    try runner.run(.compact(.last(2)))
    let calls = disk.callCount - before
    #expect(calls > 20)
    var failures: [String] = []
    var outcomes: [String: Int] = [:]
    for number in 1...calls {
      disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 41)
      runner = try Self.runner(disk)
      let what = "\(Self.faults[kind].name), call \(number) of \(calls)"
      do {
        outcomes[try Self.goOn(&runner, disk, after: Self.faults[kind].make(number)), default: 0] += 1
        try Self.checkEnd(disk, runner.model)
      } catch {
        failures.append("\(what): \(error)")
      }
    }
    print("compaction, \(Self.faults[kind].name): \(outcomes)")
    #expect(failures.isEmpty, "\(failures.count) failures, the first: \(failures.prefix(4))")
    #expect(outcomes["failed", default: 0] > 0)
  }

  /// Compacts on a failing disk and commits on the mended one; what came of the compaction.
  private static func goOn(_ runner: inout ScriptRunner, _ disk: SimulatedDisk, after fault: DiskFault) throws -> String
  {
    var outcome = "done"
    disk.plant(fault)
    do {
      try runner.run(.compact(.last(2)))
    } catch let error as StorageError {
      outcome = if case .poisoned = error { "poisoned" } else { "failed" }
    }
    disk.plant(nil)
    do {
      try runner.run(.commit([.put(tree: 0, key: 9, size: 12)]))
      if outcome == "poisoned" { throw Disagreement(description: "a poisoned store took a commit") }
    } catch let error as StorageError {
      guard case .poisoned = error, outcome == "poisoned" else { throw error }
    }
    runner.store.releaseLock()
    let again = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    _ = try StoreComparison(store: again, model: runner.model).checkAll(promised: runner.model.newest)
    let transaction = try again.beginBlocking()
    transaction.cancel()
    try again.close()
    let verified = try FileStore.verify(at: RecordedWorkload.path, disk: disk)
    guard verified.isClean else { throw Disagreement(description: "not clean: \(verified.findings.prefix(2))") }
    return outcome
  }

  @Test(
    "a compaction whose last step fails poisons the store: nobody knows which file has the name", arguments: [1, 2])
  func lastStep(_ step: Int) throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 42)
    var runner = try Self.runner(disk)
    disk.plant(DiskFault(call: step == 1 ? .rename : .syncDirectory, number: 1, code: EIO))
    let cause = DiskError(
      operation: step == 1 ? "rename" : "syncDirectory",
      path: RecordedWorkload.path + (step == 1 ? "/data.compact" : ""),
      code: EIO)
    #expect(throws: StorageError.poisoned(cause: cause)) { try runner.run(.compact(.last(2))) }
    disk.plant(nil)
    #expect(throws: StorageError.poisoned(cause: cause)) { try runner.store.beginBlocking() }
    runner.store.releaseLock()
    try Self.checkEnd(disk, runner.model)
  }

  // MARK: Syncs left out

  @Test("each single sync left out of a compaction is noticed")
  func omittedSyncs() throws {
    func run(omitting number: Int?) throws -> (disk: SimulatedDisk, model: StoreModel, syncs: Int) {
      let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 43)
      var runner = try Self.runner(disk)
      let before = disk.counts
      disk.omitSync(number)
      try runner.run(.compact(.last(2)))
      let counts = disk.counts
      disk.omitSync(nil)
      // Whoever is told of a commit in the new file has its promise.
      disk.note(runner.model.newest)
      let syncs = [DiskCall.sync, .syncDirectory].reduce(0) { $0 + counts[$1, default: 0] - before[$1, default: 0] }
      return (disk, runner.model, syncs)
    }
    func isSafe(_ disk: SimulatedDisk, _ model: StoreModel) throws -> Bool {
      // The name of the old file may be gone by now, and the promise was given before.
      var isSafe = true
      let end = disk.record.count
      CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { image in
        guard image.position == end, isSafe else { return }
        isSafe = (try? PowerCut(model: model, image: image).check()) != nil
      }
      return isSafe
    }
    let whole = try run(omitting: nil)
    #expect(whole.syncs == 2)
    #expect(try isSafe(whole.disk, whole.model))
    // Without the file's own sync its name leads to nothing.
    let forgetful = try run(omitting: 1)
    #expect(try !isSafe(forgetful.disk, forgetful.model))
    // Without the directory's the old file may come back, which holds the same; but not what is committed next.
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 43)
    var runner = try Self.runner(disk)
    disk.omitSync(2)
    try runner.run(.compact(.last(2)))
    disk.omitSync(nil)
    try runner.run(.commit([.put(tree: 0, key: 9, size: 12)]))
    #expect(try !isSafe(disk, runner.model))
  }

  // MARK: Waiting across a compaction

  @Test("who waits for a commit until after a compaction is told that it is durable")
  func waitingAcross() async throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 44)
    let store = try FileStore.create(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    var pending: [PendingCommit] = []
    for number in 0..<40 {
      let transaction = try store.beginBlocking()
      if number == 0 { try transaction.createTree(ScriptRunner.name(0), kind: .records, attributes: []) }
      try transaction.put([1], [UInt8](repeating: UInt8(number), count: 900), in: ScriptRunner.name(0))
      if let commit = try transaction.commit(CommitInfo()) { pending.append(commit) }
    }
    // All but the last are durable by now; what was appended ends far behind the end of the new file.
    try pending[38].wait()
    let report = try store.compact(.last(1))
    #expect(report.bytesAfter < report.bytesBefore / 2)
    let syncs = store.counts.syncs
    for commit in pending {
      try commit.wait()
      try await commit.durable()
    }
    #expect(store.counts.syncs == syncs)
    #expect(store.head.commit.number == 40)
    try store.close()
  }

  // MARK: Copies

  @Test("a copy that was reported is whole after any power cut, in a folder that was there and in new ones")
  func copies() throws {
    for folder in ["/library/copy.strata", "/library/one/two/copy.strata"] {
      let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 45)
      let runner = try Self.runner(disk)
      let length = disk.record.count
      _ = try runner.store.copy(to: folder)
      let end = disk.record.count
      #expect(end > length)
      var images = 0
      try CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { image in
        guard image.position >= length else { return }
        images += 1
        let cut = ImageDisk(image.image)
        // Before it is reported there is all of it or nothing.
        guard image.position == end || FileStore.exists(at: folder, disk: cut) else { return }
        let copy = try FileStore.open(at: folder, options: StoreOptions(isReadOnly: true), disk: cut)
        #expect(copy.openingReport.damage == nil, "\(image.kind) at \(image.position)")
        let newest = try StoreComparison(store: copy, model: runner.model).checkAll(promised: runner.model.newest)
        #expect(newest == runner.model.newest)
      }
      #expect(images > 20)
    }
  }

  @Test("a copy into a folder whose name an earlier attempt did not make durable is durable")
  func copyIntoUnsyncedFolder() throws {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 46)
    let runner = try Self.runner(disk)
    let folder = "/library/copy.strata"
    try disk.makeDirectory(folder)
    _ = try runner.store.copy(to: folder)
    let end = disk.record.count
    try CrashImages.forEach(of: disk.record, on: disk.start, seed: 1) { image in
      guard image.position == end else { return }
      let copy = try FileStore.open(at: folder, options: StoreOptions(isReadOnly: true), disk: ImageDisk(image.image))
      #expect(copy.head.commit.number == runner.model.head, "\(image.kind)")
    }
  }
}
