import DiskSimulation
import Glibc
import StrataEngine
import Testing

/// Stores as they were written when a version of the format was released. They are never written anew: what is read here is
/// what users have. `STRATA_WRITE_GOLDEN=1` writes the files of the newest version where they are not there yet.
@Suite("Golden stores")
struct GoldenStoreTests {
  private static let folder = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Golden"

  /// The kinds of each version's stores, with the steps that made them; steps are part of the release and never change.
  private static let stores: [(name: String, steps: [Step])] = [
    ("version-1", all),
    ("version-1-deltas", all),
    ("version-1-compacted", all + [.compact(.last(3)), .commit([.put(tree: 0, key: 5, size: 12)]), .reopen]),
  ]

  private static let all: [Step] = [
    .commit([
      .create(tree: 0), .create(tree: 1), .create(tree: 2), .put(tree: 0, key: 1, size: 30),
      .put(tree: 1, key: 1, size: 5),
    ]),
    .commit(
      [.bulk(tree: 0, from: 0, count: 90, size: 40), .bulk(tree: 1, from: 3, count: 60, size: 8)],
      info: Step.Info(setsName: "pin0")),
    .commit([.delete(tree: 0, key: 1), .put(tree: 1, key: 2, size: 40), .put(tree: 2, key: 3, size: 0)]),
    .reopen,
    .group([
      [.put(tree: 0, key: 1, size: 12)], [.attributes(tree: 0, 300)],
      [.rolledBack([.put(tree: 0, key: 7, size: 9)]), .drop(tree: 2)],
    ]),
    .commit([.put(tree: 0, key: 2, size: 300)], on: .older(500), info: Step.Info(setsName: "pin1")),
    .collated([.delete(tree: 1, key: 4)]),
    .commit([.restore(tree: 0, share: 400)], info: Step.Info(removesName: "pin0")),
    .commit([.put(tree: 0, key: 9, size: 5_000)], on: .older(700), info: Step.Info(merges: true, movesHead: true)),
    .reopen,
  ]

  private func bytes(_ name: String) throws -> [UInt8] {
    let file = try SystemDisk().open("\(Self.folder)/\(name)", .read)
    var bytes = [UInt8](repeating: 0, count: Int(try file.status.size))
    _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    return bytes
  }

  @Test("each is read whole, found clean, written on and compacted", arguments: stores.indices)
  func golden(_ index: Int) throws {
    let (name, steps) = Self.stores[index]
    // What it holds is what the same steps make today.
    let model = try RecordedWorkload.run(name, steps, seed: 71).model
    let disk = SimulatedDisk(RecordedWorkload.emptyLibrary, seed: 72)
    try disk.makeDirectory(RecordedWorkload.path)
    let file = try disk.open(DamagedStore.data, .create)
    try bytes(name).withUnsafeBytes { try file.write($0, at: 0) }
    let reader = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(reader.openingReport.damage == nil && reader.openingReport.notes.isEmpty)
    #expect(reader.openingReport.adoptedCommits == 0 && reader.openingReport.cutBytes == 0)
    #expect(try StoreComparison(store: reader, model: model).checkAll(promised: model.newest) == model.newest)
    #expect(try FileStore.verify(at: RecordedWorkload.path, disk: disk).findings.isEmpty)

    let store = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(), disk: disk)
    let transaction = try store.beginBlocking()
    try transaction.put([1], [2], in: ScriptRunner.name(0))
    try transaction.commit(CommitInfo())?.wait()
    #expect(store.head.commit.number == model.newest + 1)
    _ = try store.compact(.all)
    try store.close()
    let verified = try FileStore.verify(at: RecordedWorkload.path, disk: disk)
    #expect(verified.findings.isEmpty, "\(verified.findings.prefix(2))")
    let again = try FileStore.open(at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: disk)
    for number in 1...model.newest where !model.prunable.contains(number) {
      try StoreComparison(store: again, model: model).checkState(number)
    }
  }

  @Test("the newest version's stores are written", .enabled(if: getenv("STRATA_WRITE_GOLDEN") != nil))
  func write() throws {
    let disk = SystemDisk()
    try disk.makeDirectory(Self.folder)
    for (name, steps) in Self.stores where try disk.status("\(Self.folder)/\(name)") == nil {
      let workload = try RecordedWorkload.run(name, steps, seed: 71)
      let whole = workload.finish.contents(at: DamagedStore.data)?.array ?? []
      let end = try #require(FrameMap(whole).frames.last?.trailer.upperBound)
      let file = try disk.open("\(Self.folder)/\(name)", .create)
      try whole[..<end].withUnsafeBytes { try file.write($0, at: 0) }
    }
  }
}
