import DiskSimulation
import Glibc
import StrataLocks
import StrataEngine
import Testing

@Suite("Calls that fail")
struct FailingCallTests {
  private static let steps: [Step] = [
    .commit([.create(tree: 0), .create(tree: 1), .put(tree: 0, key: 1, size: 40)]),
    .commit([.put(tree: 0, key: 2, size: 500), .put(tree: 1, key: 2, size: 9)], info: Step.Info(setsName: "pin0")),
    .group([[.put(tree: 0, key: 3, size: 10)], [.delete(tree: 0, key: 1)], [.put(tree: 0, key: 1, size: 10)]]),
    .commit([.bulk(tree: 0, from: 0, count: 80, size: 50)]),
    .reopen,
    .commit([.put(tree: 0, key: 4, size: 10)], on: .older(400)),
    .collated([.put(tree: 0, key: 5, size: 3_000)]),
    .commit([.restore(tree: 0, share: 300)]),
    .abandon,
    .compact(.last(2)),
    .commit([.put(tree: 0, key: 6, size: 10)]),
    .reopen,
  ]

  /// What a workload had promised and tried when a call failed under it.
  private struct Attempt {
    var disk: SimulatedDisk
    var promised: UInt64 = 0
    var model = StoreModel()
    var store: FileStore?
    var error: (any Error)?
  }

  /// For the soak: one of the calls of a workload fails in one of the ways.
  static func attempt(_ steps: [Step], seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    let calls = try attempt(nil, steps).disk.callCount
    let kind = kinds[Int.random(in: 0..<kinds.count, using: &random)]
    let number = Int.random(in: 1...calls, using: &random)
    do {
      try check(attempt(kind.make(number), steps))
    } catch {
      throw Disagreement(description: "seed \(seed), \(kind.name), call \(number) of \(calls): \(error)")
    }
  }

  private static func attempt(_ fault: DiskFault?, _ steps: [Step] = steps) throws -> Attempt {
    let disk = SimulatedDisk(seed: 3)
    try disk.makeDirectory("/library")
    try disk.syncDirectory("/")
    disk.plant(fault)
    var attempt = Attempt(disk: disk)
    let promised = Mutex<UInt64>(0)
    let planned = Mutex(StoreModel())
    do {
      var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk)
      runner.promised = { number in
        promised.withLock { $0 = number }
        disk.note(number)
      }
      runner.attempted = { model in planned.withLock { $0 = model } }
      attempt.store = runner.store
      defer { attempt.store = runner.store }
      try runner.run(steps)
      try runner.store.close()
    } catch {
      attempt.error = error
    }
    attempt.promised = promised.withLock { $0 }
    attempt.model = planned.withLock { $0 }
    disk.plant(nil)
    return attempt
  }

  private static let kinds: [(name: String, make: @Sendable (Int) -> DiskFault)] = [
    ("EIO once", { DiskFault(number: $0, code: EIO) }),
    ("EIO from then on", { DiskFault(number: $0, code: EIO, isLasting: true) }),
    ("no room once, half written", { DiskFault(number: $0, code: ENOSPC, isPartial: true) }),
    ("no room from then on", { DiskFault(number: $0, code: ENOSPC, isLasting: true) }),
  ]

  @Test(
    "whichever call fails, and however: promises are kept, errors are told, the store opens again", arguments: 0..<4)
  func everyCall(_ kind: Int) throws {
    let calls = try Self.attempt(nil).disk.callCount
    #expect(calls > 50)
    var failures: [String] = []
    var failed = 0
    for number in 1...calls {
      let attempt = try Self.attempt(Self.kinds[kind].make(number))
      if attempt.error != nil { failed += 1 }
      do {
        try Self.check(attempt)
      } catch {
        failures.append("call \(number) of \(calls) (\(attempt.error.map { "\($0)" } ?? "no error")): \(error)")
      }
    }
    #expect(failures.isEmpty, "\(Self.kinds[kind].name): \(failures.count) failures, the first: \(failures.prefix(4))")
    #expect(failed > calls / 4, "most failures must be felt")
  }

  /// The store goes on where it may, opens again as it is, and after a power cut.
  private static func check(_ attempt: Attempt) throws {
    if let error = attempt.error {
      guard error is StorageError || error is DiskError else {
        throw Disagreement(description: "an odd error: \(error)")
      }
    }
    let images = attempt.disk.record.count
    try PowerCut(model: attempt.model, image: image(attempt, attempt.disk.image)).check()
    try CrashImages.forEach(of: attempt.disk.record, on: attempt.disk.start, seed: 1) { image in
      guard image.position == images, [.nothingUnsynced, .writeAlone, .tornAtSector].contains(image.kind) else {
        return
      }
      try PowerCut(model: attempt.model, image: image).check()
    }
  }

  private static func image(_ attempt: Attempt, _ image: DiskImage) -> CrashImage {
    CrashImage(kind: .everything, position: 0, notes: [attempt.promised], image: image)
  }

  private func isFull(_ error: any Error) -> Bool {
    if case .full? = error as? StorageError { true } else { false }
  }

  @Test(
    "a full disk ends one transaction; with room again the same open store goes on, also where zeros over zeros took room",
    arguments: [false, true])
  func fullDisk(writesAnew: Bool) throws {
    let disk = SimulatedDisk(seed: 4)
    try disk.makeDirectory("/library")
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk)
    try runner.run(.commit([.create(tree: 0), .put(tree: 0, key: 1, size: 10)]))
    var refused = 0
    for round in 0..<6 {
      // No room for anything that is not zeroed yet.
      if writesAnew { disk.fillWritingAnew(leaving: round) } else { disk.setCapacity(0) }
      var written = 0
      while written < 400 {
        do {
          try runner.run(.commit([.bulk(tree: 0, from: written * 50, count: 100, size: 400)]))
          written += 1
        } catch  where isFull(error) {
          break
        }
      }
      if written < 400 { refused += 1 }
      disk.setCapacity(nil)
      try runner.run(.commit([.put(tree: 0, key: round, size: 10)]))
      let comparison = StoreComparison(store: runner.store, model: runner.model)
      _ = try comparison.checkAll(promised: runner.model.newest, every: 100)
    }
    #expect(refused == 6, "the disk never was full")
    let again = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: disk)
    _ = try StoreComparison(store: again, model: runner.model).checkAll(promised: runner.model.newest, every: 100)
  }

  @Test(
    "where there is no room to make zeros of what did not fit, it is a torn tail like any other, and the lock can be let go of",
    arguments: [false, true])
  func tornTail(reopens: Bool) throws {
    let path = RecordedWorkload.path
    let disk = SimulatedDisk(seed: 6)
    try disk.makeDirectory("/library")
    var runner = try ScriptRunner(creating: path, on: disk)
    try runner.run(.commit([.create(tree: 0), .put(tree: 0, key: 1, size: 10)]))
    disk.fillWritingAnew(leaving: 2)
    for size in [400, 10] {
      do {
        try runner.run(.commit([.bulk(tree: 0, from: 0, count: 100, size: size)]))
        Issue.record("there was room")
      } catch  where isFull(error) {}
    }
    let reader = try FileStore.open(at: path, options: StoreOptions(isReadOnly: true), disk: disk)
    _ = try StoreComparison(store: reader, model: runner.model).checkAll(promised: runner.model.newest)
    runner.store.releaseLock()
    #expect(try !disk.open("\(path)/lock", .read).isLockedElsewhere())
    let report = try FileStore.verify(at: path, disk: disk)
    #expect(report.isClean)
    #expect(report.findings.map(\.what) == ["tail"])
    do {
      try runner.run(.commit([.put(tree: 0, key: 2, size: 10)]))
      Issue.record("recovery had room")
    } catch  where isFull(error) {}
    #expect(try !disk.open("\(path)/lock", .read).isLockedElsewhere())
    disk.setCapacity(nil)
    if reopens { try runner.run(.reopen) }
    try runner.run(.commit([.put(tree: 0, key: 2, size: 10)]))
    _ = try StoreComparison(store: runner.store, model: runner.model).checkAll(promised: runner.model.newest)
    #expect(try FileStore.verify(at: path, disk: disk).findings.isEmpty)
  }

  @Test("after a failed sync nothing is promised any more, and the error says to open again")
  func failedSync() throws {
    let disk = SimulatedDisk(seed: 5)
    try disk.makeDirectory("/library")
    var runner = try ScriptRunner(creating: RecordedWorkload.path, on: disk)
    try runner.run(.commit([.create(tree: 0), .put(tree: 0, key: 1, size: 10)]))
    let before = runner.model
    disk.plant(DiskFault(call: .sync, number: 1, code: EIO))
    #expect(throws: StorageError.self) { try runner.run(.commit([.put(tree: 0, key: 2, size: 10)])) }
    disk.plant(nil)
    // The drive would now report success; what it lost would be built upon.
    do {
      try runner.run(.commit([.put(tree: 0, key: 3, size: 10)]))
      Issue.record("a poisoned store took another commit")
    } catch let error as StorageError {
      guard case .poisoned = error else { throw error }
    }
    #expect(runner.store.head.commit.number == before.head)
  }

  private enum Hindrance: String, CaseIterable { case interruptedOnce, shortOnce, shortFromThenOn }

  @Test("whichever system call is interrupted or comes short, once or from then on, nothing changes", arguments: 0..<3)
  func everyInterruptedCall(_ kind: Int) throws {
    let hindrance = Hindrance.allCases[kind]
    let steps: [Step] = [
      .commit([.create(tree: 0), .put(tree: 0, key: 1, size: 400)]), .commit([.put(tree: 0, key: 2, size: 30)]),
      .reopen,
      .commit([.delete(tree: 0, key: 1)]), .compact(.last(2)), .commit([.put(tree: 0, key: 3, size: 9)]),
    ]
    func run(hindering number: Int) throws -> Int {
      let calls = Atomic(0)
      let disk = SystemDisk { _ in
        let call = calls.add(1, ordering: .relaxed).newValue
        switch hindrance {
        case .interruptedOnce: return call == number ? .failure(EINTR) : .usual
        case .shortOnce: return call == number ? .short : .usual
        case .shortFromThenOn: return call >= number ? .short : .usual
        }
      }
      // In memory, where there is such a place: syncs take their time elsewhere.
      let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
      let directory = "\(base)/strata-hindered-\(disk.randomNumber())"
      try disk.makeDirectory(directory)
      defer { removeStore(directory) }
      var options = StoreOptions(readsMapped: false)
      options.idleSeconds = 1e6
      var runner = try ScriptRunner(creating: "\(directory)/a.strata", on: disk, options: options)
      try runner.run(steps)
      _ = try StoreComparison(store: runner.store, model: runner.model).checkAll(promised: runner.model.newest)
      return calls.load(ordering: .relaxed)
    }
    let calls = try run(hindering: .max)
    #expect(calls > 60)
    for number in 1...calls { _ = try run(hindering: number) }
  }

  @Test("interrupted and short system calls change nothing", arguments: [true, false])
  func interruptedCalls(readsMapped: Bool) throws {
    let calls = Atomic(0)
    let disk = SystemDisk { _ in
      switch calls.add(1, ordering: .relaxed).newValue % 3 {
      case 0: .usual
      case 1: .failure(EINTR)
      default: .short
      }
    }
    let directory = "/tmp/strata-interrupted-\(disk.randomNumber())"
    try disk.makeDirectory(directory)
    defer { removeStore(directory) }
    var runner = try ScriptRunner(
      creating: "\(directory)/a.strata", on: disk, options: StoreOptions(readsMapped: readsMapped))
    try runner.run(Self.steps)
    _ = try StoreComparison(store: runner.store, model: runner.model).checkAll(promised: runner.model.newest)
    #expect(calls.load(ordering: .relaxed) > 100)
  }
}

/// Removes a directory that holds stores.
func removeStore(_ directory: String) {
  let disk = SystemDisk()
  for name in (try? disk.list(directory)) ?? [] {
    let path = "\(directory)/\(name)"
    if (try? disk.status(path))??.isDirectory == true { removeStore(path) } else { try? disk.unlink(path) }
  }
  rmdir(directory)
}
