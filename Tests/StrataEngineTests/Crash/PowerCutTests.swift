import DiskSimulation
import Glibc
import StrataEngine
import Testing

@Suite("Power cuts")
struct PowerCutTests {
  /// Short, so that there are many moments for each byte; the soak run has longer ones.
  static func workloads() throws -> [RecordedWorkload] {
    try [
      .run("single commits", singles, seed: 1),
      .run("group batches", groups, seed: 2),
      .run("bulk loads", bulk, seed: 3),
      .run("a large value", large, seed: 8),
      .run("forks and names", forks, seed: 4),
      .run("closing and opening", reopening, seed: 5),
      .run("compaction", compaction, seed: 10),
      .run("random, seed 6", .random(seed: 6, count: 20), seed: 6),
      .run("random, seed 7", .random(seed: 7, count: 20), seed: 7),
      .run("random, seed 9", .random(seed: 9, count: 20), seed: 9),
    ]
  }

  private static let start: [Step] = [.commit([.create(tree: 0), .create(tree: 1)])]

  private static let singles: [Step] =
    start + [
      .commit([.put(tree: 0, key: 1, size: 50), .put(tree: 1, key: 1, size: 5)]),
      .commit([.put(tree: 0, key: 1, size: 700), .attributes(tree: 0, 30)]),
      .commit([.delete(tree: 0, key: 1), .delete(tree: 1, key: 1)]),
      .collated([.put(tree: 0, key: 3, size: 9)]),
      .commit([.put(tree: 0, key: 1, size: 0)]),
    ]

  private static let groups: [Step] =
    start + [
      .group((0..<4).map { [.put(tree: 0, key: $0, size: 100)] }),
      .group([[.delete(tree: 0, key: 1)], [.put(tree: 0, key: 1, size: 3)], [.delete(tree: 0, key: 1)]]),
    ]

  private static let bulk: [Step] =
    start + [
      .commit([.bulk(tree: 0, from: 0, count: 150, size: 60)]),
      .commit([.bulk(tree: 1, from: 0, count: 100, size: 10), .delete(tree: 0, key: 7)]),
      .commit([.put(tree: 0, key: 1, size: 40_000)]),
      .commit((0..<60).map { .delete(tree: 0, key: $0) }),
    ]

  private static let large: [Step] = [
    .commit([.create(tree: 0), .put(tree: 0, key: 1, size: 1_100_000)])
  ]

  private static let forks: [Step] =
    start + [
      .commit([.put(tree: 0, key: 1, size: 10)], info: Step.Info(setsName: "pin0")),
      .commit([.put(tree: 0, key: 2, size: 10)], info: Step.Info(setsName: "pin0")),
      .commit([.put(tree: 0, key: 3, size: 10)], on: .older(500)),
      .commit([.put(tree: 0, key: 4, size: 10)], on: .older(1000), info: Step.Info(merges: true, movesHead: true)),
      .commit([.delete(tree: 0, key: 1)], info: Step.Info(removesName: "pin0")),
      .commit([.restore(tree: nil, share: 400)], info: Step.Info(setsName: "pin1")),
    ]

  private static let compaction: [Step] =
    start + [
      .commit([.bulk(tree: 0, from: 0, count: 20, size: 20)], info: Step.Info(setsName: "pin0")),
      .commit([.put(tree: 0, key: 1, size: 50), .delete(tree: 0, key: 2)]), .commit([.put(tree: 0, key: 3, size: 9)]),
      .compact(.last(1)), .commit([.put(tree: 0, key: 1, size: 10)]), .reopen, .compact(.all),
      .commit([.delete(tree: 0, key: 3)]),
    ]

  private static let reopening: [Step] =
    start + [
      .commit([.put(tree: 0, key: 1, size: 100)]), .reopen, .commit([.attributes(tree: 0, 30)]), .abandon,
      .commit([.put(tree: 0, key: 2, size: 100)]), .reopen, .reopen, .commit([.delete(tree: 0, key: 1)]),
    ]

  @Test("every promised commit survives every power cut, whole, and the store goes on")
  func everyImage() async throws {
    var run = PowerCutRun()
    for (index, workload) in try Self.workloads().enumerated() {
      await run.add(workload, seed: UInt64(index), recoveryStride: 240)
    }
    print(run.table)
    #expect(run.failures.isEmpty, "\(run.failures.count) failures, the first: \(run.failures.prefix(5))")
    #expect(run.total >= 10_000)
  }

  @Test("on a disk that lies about syncs promises are broken, and this suite sees it")
  func lyingDisk() async throws {
    let workload = try RecordedWorkload.run("lies", Self.singles, seed: 1, liesAboutSync: true)
    var run = PowerCutRun()
    await run.add(workload, seed: 1, recoveryStride: .max)
    #expect(!run.failures.isEmpty)
  }

  @Test("each single sync left out is noticed")
  func omittedSyncs() async throws {
    let steps =
      Self.start + [
        .commit([.put(tree: 0, key: 1, size: 50)]), .reopen, .commit([.put(tree: 0, key: 2, size: 50)]),
        .group([[.put(tree: 0, key: 3, size: 50)], [.delete(tree: 0, key: 1)]]), .abandon,
        .commit([.put(tree: 0, key: 4, size: 50)]),
      ]
    let whole = try RecordedWorkload.run("all syncs", steps, seed: 11)
    #expect(whole.neededSyncs.count >= 6)
    for number in whole.neededSyncs {
      let workload = try RecordedWorkload.run("sync \(number) left out", steps, seed: 11, omittingSync: number)
      let isNoticed = workload.images(seed: 1).contains { image in
        do {
          try PowerCut(model: workload.model, image: image).check()
          return false
        } catch {
          return true
        }
      }
      #expect(isNoticed, "sync \(number) of \(whole.syncCount) can be left out")
    }
  }

  /// The page cache shows what a failed sync did not bring to the disk, and calls it clean. Who reopens the store there
  /// must write it again.
  private func reopenedAfterFailedSync(omittingSync: Int? = nil) throws -> RecordedWorkload {
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 12)
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk)
    runner.promised = { disk.note($0) }
    try runner.run(Self.start)
    disk.plant(DiskFault(call: .sync, number: 1, code: EIO))
    var planned = runner.model
    runner.attempted = { planned = $0 }
    #expect(throws: StorageError.self) { try runner.run(.commit([.put(tree: 0, key: 1, size: 50)])) }
    disk.plant(nil)
    disk.omitSync(omittingSync)
    runner.store.releaseLock()
    let store = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    let transaction = try store.beginBlocking()
    // What the writer goes on from, others see: it is a promise.
    disk.note(transaction.base.number)
    transaction.cancel()
    #expect(transaction.base.number == planned.newest)
    return RecordedWorkload(
      name: "failed sync", record: disk.record, start: disk.start, finish: disk.image, model: planned)
  }

  @Test("what a failed sync left in the page cache is written again before anything is built on it")
  func reopeningAfterFailedSync() throws {
    let workload = try reopenedAfterFailedSync()
    for image in workload.images(seed: 1) { try PowerCut(model: workload.model, image: image).check() }
    let forgetful = try reopenedAfterFailedSync(omittingSync: 1)
    #expect(throws: Disagreement.self, "the sync of a recovery can be left out") {
      for image in forgetful.images(seed: 1) { try PowerCut(model: forgetful.model, image: image).check() }
    }
  }
}

extension RecordedWorkload {
  /// Syncs, counted from 1, upon which a promise or a rename was built: they had something to bring to the disk, and no
  /// other sync of the same file came before the promise. Slots and session are hints; their bytes need no sync.
  fileprivate var neededSyncs: [Int] {
    var needed: [Int] = []
    var waiting: Set<DiskImage.Number> = []
    var latest: [DiskImage.Number: Int] = [:]
    var count = 0
    for operation in record {
      switch operation {
      case .write(let file, let offset, _) where offset >= 16_384: waiting.insert(file)
      case .zero(let file, _): waiting.insert(file)
      case .make(_, _, let name), .remove(let name): waiting.insert(name.directory)
      case .move(let file, _, let target):
        if let sync = latest.removeValue(forKey: file) { needed.append(sync) }
        waiting.insert(target.directory)
      case .sync(let number):
        count += 1
        // Of two in a row that bring the same to the disk either can be left out.
        latest[number] = waiting.remove(number) != nil ? count : nil
      case .note:
        needed += latest.values
        latest = [:]
      case .write, .syncFailed: break
      }
    }
    return needed.sorted()
  }
}
