import DiskSimulation
import StrataEngine

/// A workload that was run once on a recording disk, with the model of every commit it made.
struct RecordedWorkload: Sendable {
  static let path = "/library/test.strata"

  var name: String
  var record: [DiskOperation]
  var start: DiskImage
  /// The disk after the last step and a clean close.
  var finish: DiskImage
  var model: StoreModel

  /// A disk with a directory for stores, and nothing in it.
  static var emptyLibrary: DiskImage {
    var image = DiskImage()
    image.link(image.make(directory: true), as: "library", in: DiskImage.root)
    return image
  }

  /// Runs `steps` on a fresh store; to test the tests, with all syncs left out, or one.
  static func run(
    _ name: String, _ steps: [Step], seed: UInt64, options: StoreOptions = StoreOptions(), liesAboutSync: Bool = false,
    omittingSync: Int? = nil
  ) throws -> RecordedWorkload {
    let disk = SimulatedDisk(emptyLibrary, seed: seed)
    disk.setLiesAboutSync(liesAboutSync)
    disk.omitSync(omittingSync)
    var runner = try ScriptRunner(creating: path, on: disk, options: options)
    runner.promised = { disk.note($0) }
    try runner.run(steps)
    let model = runner.model
    try runner.store.close()
    disk.note(model.newest)
    return RecordedWorkload(
      name: name, record: disk.record, start: disk.start, finish: disk.image, model: model)
  }

  /// Syncs of files and directories in the record.
  var syncCount: Int { record.count { if case .sync = $0 { true } else { false } } }

  /// Everything that a power cut could have left, at any moment.
  func images(seed: UInt64) -> [CrashImage] {
    var images: [CrashImage] = []
    CrashImages.forEach(of: record, on: start, seed: seed) { images.append($0) }
    return images
  }
}

/// Opens what a power cut left, as the next start of the program would, and looks whether the promises were kept.
struct PowerCut: Sendable {
  let model: StoreModel
  let image: CrashImage

  /// Most are read through a mapping, as stores are, and the others by calls.
  private var options: StoreOptions { StoreOptions(readsMapped: image.position % 4 != 0) }

  var promised: UInt64 { image.notes.max() ?? 0 }

  /// What recovery and one more commit did to the disk, with the model of what is on it then. Nil where there was no
  /// store yet.
  @discardableResult
  func check(looksFirst: Bool = false) throws -> (disk: SimulatedDisk, model: StoreModel)? {
    let disk = SimulatedDisk(image.image, seed: UInt64(image.position))
    if looksFirst, FileStore.exists(at: RecordedWorkload.path, disk: disk) {
      // What the power cut left is no damage, before any writer has cut it off too.
      try verify(disk)
      try look(disk)
    }
    guard let store = try open(disk) else { return nil }
    let newest = try StoreComparison(store: store, model: model).checkAll(promised: promised, every: 9)
    // What the store shows after its recovery it has promised, too.
    disk.note(newest)
    let next = try commitOneMore(store, newest, disk)
    return (disk, next)
  }

  /// Nil where the store was never made, which only an unpromised creation may leave; then it can be made now.
  private func open(_ disk: SimulatedDisk) throws -> FileStore? {
    guard FileStore.exists(at: RecordedWorkload.path, disk: disk) else {
      guard promised == 0 else { throw Disagreement(description: "the store is gone") }
      try disk.makeDirectory("/library")
      let store = try FileStore.create(at: RecordedWorkload.path, options: options, disk: disk)
      try store.close()
      return nil
    }
    let store = try FileStore.open(at: RecordedWorkload.path, options: options, disk: disk)
    if let damage = store.openingReport.damage {
      throw Disagreement(description: "a power cut passes for damage: \(damage)")
    }
    return store
  }

  /// A reader, which repairs nothing, sees the same.
  private func look(_ disk: SimulatedDisk) throws {
    let before = disk.record.count
    let store = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: disk)
    _ = try StoreComparison(store: store, model: model).checkAll(promised: promised, every: 50)
    guard disk.record.count == before else { throw Disagreement(description: "a reader has changed the disk") }
  }

  private func commitOneMore(_ store: FileStore, _ newest: UInt64, _ disk: SimulatedDisk) throws -> StoreModel {
    let name = TreeName(Array("after".utf8))
    let next = modelOfNext(name, newest)
    let transaction = try store.beginBlocking()
    if try transaction.tree(name) == nil { try transaction.createTree(name, kind: .records, attributes: []) }
    try transaction.put([1], [2], in: name)
    let pending = try transaction.commit(CommitInfo(action: "after"))
    try pending?.wait()
    guard pending?.number == newest + 1 else {
      throw Disagreement(description: "the next commit is \(pending?.number ?? 0), not \(newest + 1)")
    }
    disk.note(newest + 1)
    try store.close()
    let again = try FileStore.open(at: RecordedWorkload.path, options: options, disk: disk)
    guard again.openingReport.adoptedCommits == 0 else {
      throw Disagreement(description: "a clean close leaves commits to be adopted")
    }
    let comparison = StoreComparison(store: again, model: next)
    try comparison.checkRecord(newest + 1)
    try comparison.checkState(newest + 1)
    try comparison.checkNames(newest + 1)
    try again.close()
    if image.position % 8 == 0 { try verify(disk) }
    return next
  }

  private func verify(_ disk: SimulatedDisk) throws {
    let report = try FileStore.verify(at: RecordedWorkload.path, disk: disk)
    guard report.isClean else { throw Disagreement(description: "not clean: \(report.findings.prefix(2))") }
  }

  private func modelOfNext(_ tree: TreeName, _ newest: UInt64) -> StoreModel {
    var model = model
    model.cut(after: newest)
    var state = model.state(at: model.head)
    state[tree, default: StoreModel.TreeState(kind: .records, attributes: [])].entries[[1]] = [2]
    model.add(
      StoreModel.Commit(
        number: newest + 1, parents: [model.head].filter { $0 != 0 }, action: "after", state: state,
        names: model.names, head: newest + 1))
    return model
  }
}

/// Checks many images, on all processors; counts them by kind.
struct PowerCutRun: Sendable {
  private(set) var counts: [String: Int] = [:]
  private(set) var failures: [String] = []

  var total: Int { counts.values.reduce(0, +) }

  /// Images of the workload, and of recovery itself for one in `recoveryStride` of them.
  mutating func add(_ workload: RecordedWorkload, seed: UInt64, recoveryStride: Int) async {
    let images = workload.images(seed: seed)
    let results = await withTaskGroup(of: PowerCutRun.self) { group in
      for part in 0..<4 {
        group.addTask {
          var run = PowerCutRun()
          for index in stride(from: part, to: images.count, by: 4) {
            run.check(
              PowerCut(model: workload.model, image: images[index]), of: workload.name,
              cutsRecovery: index % recoveryStride == part, looksFirst: index % 5 == 0)
          }
          return run
        }
      }
      return await group.reduce(into: [PowerCutRun]()) { $0.append($1) }
    }
    for run in results {
      counts.merge(run.counts, uniquingKeysWith: +)
      failures += run.failures
    }
  }

  private mutating func check(_ cut: PowerCut, of workload: String, cutsRecovery: Bool, looksFirst: Bool) {
    counts[cut.image.kind.rawValue, default: 0] += 1
    let place = "\(workload), \(cut.image.kind.rawValue) at \(cut.image.position)"
    do {
      guard let (disk, model) = try cut.check(looksFirst: looksFirst), cutsRecovery else { return }
      CrashImages.forEach(of: disk.record, on: disk.start, seed: UInt64(cut.image.position)) { second in
        checkSecond(second, after: cut, model, place)
      }
    } catch {
      failures.append("\(place): \(error)")
    }
  }

  /// The power failed again, during recovery or the first commit after it.
  private mutating func checkSecond(_ second: CrashImage, after first: PowerCut, _ model: StoreModel, _ place: String) {
    counts["second cut, in recovery", default: 0] += 1
    var image = second
    image.notes += first.image.notes
    do {
      try PowerCut(model: model, image: image).check()
    } catch {
      failures.append("\(place), then recovery: \(image.kind.rawValue) at \(image.position): \(error)")
    }
  }

  /// The counts as a table.
  var table: String {
    let rows = counts.sorted { $0.key < $1.key }.map { kind, count in
      "  \(kind)\(String(repeating: " ", count: max(1, 28 - kind.count)))\(count)"
    }
    return (["\(total) crash images"] + rows).joined(separator: "\n")
  }
}
