import DiskSimulation
import StorageEngine
import Testing

@Suite("Salvage")
struct SalvageTests {
  static let newPath = "/library/saved.strata"

  /// Commit *n* puts key *n* anew and key 1 again, in both trees, so that each commit has a change of its own and one
  /// that replaces an older value.
  private static func store() throws -> DamagedStore {
    let first: Step = .commit([.create(tree: 0), .create(tree: 1), .bulk(tree: 0, from: 20, count: 60, size: 40)])
    let steps: [Step] = (2...8).map { number in
      .commit([
        .put(tree: 0, key: number, size: 60), .put(tree: 0, key: 1, size: 30), .put(tree: 1, key: number, size: 9),
        .delete(tree: 0, key: 20 + number),
      ])
    }
    return try DamagedStore.make([first] + steps)
  }

  private func salvage(_ image: DiskImage) throws -> (Store, SalvageReport) {
    let disk = ImageDisk(image)
    let report = try Store.salvage(from: DamagedStore.path, to: Self.newPath, options: StoreOptions(), disk: disk)
    let store = try Store.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: disk)
    let verified = try Store.verify(at: Self.newPath, disk: disk)
    #expect(verified.findings.isEmpty, "\(verified.findings.prefix(3))")
    return (store, report)
  }

  @Test("from a store without damage everything is saved: states, names, parents, words and dates", arguments: 1...3)
  func wholeStore(_ seed: Int) throws {
    let workload = try RecordedWorkload.run("whole", .random(seed: UInt64(seed), count: 60), seed: UInt64(seed))
    let (saved, report) = try salvage(workload.finish)
    #expect(report.losses.isEmpty, "\(report.losses.prefix(3))")
    let comparison = StoreComparison(store: saved, model: workload.model)
    #expect(try comparison.checkAll(promised: workload.model.newest) == workload.model.newest)
    let old = try Store.open(
      at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: ImageDisk(workload.finish))
    #expect(try old.commit(7).date == saved.commit(7).date)
    #expect(try old.commit(7).origin != saved.commit(7).origin)
  }

  /// What of a commit can be saved when a byte in the middle of one of its parts is damaged.
  @Test(
    "of each part of a first, a middle and a last commit, what can be saved is saved",
    arguments: FrameMap.Part.allCases, [1, 4, 8])
  func plantedDamage(_ part: FrameMap.Part, _ number: UInt64) throws {
    let store = try Self.store()
    let frame = try #require(FrameMap(store.bytes).frames.first { $0.number == number })
    let range = frame[part]
    let offset = range.lowerBound + range.count / 2
    let (saved, report) = try salvage(store.flipping(offset, 4))
    let head = saved.head
    let records = ScriptRunner.name(0)
    let due = store.model.state(at: 8)[records]?.entries ?? [:]
    let tree = try #require(try head.tree(records))
    var found: [[UInt8]: [UInt8]] = [:]
    var cursor = tree.cursor()
    try cursor.seek(rank: 0)
    while let entry = cursor.current {
      found[entry.key.array] = try StoreComparison.value(of: entry, in: tree)
      try cursor.next()
    }
    let missing = due.filter { found[$0.key] != $0.value }
    switch part {
    case .trailer: #expect(report.losses.isEmpty, "\(report.losses)")
    case .nodes, .record, .header: break
    case .changes: #expect(!report.losses.isEmpty)
    }
    if part == .changes {
      // One change cannot be read; nothing else is lost by it.
      #expect(missing.count <= 1, "\(missing.count) records")
    } else {
      #expect(missing.isEmpty, "\(missing.count) records of \(due.count): \(report.losses)")
    }
    #expect(Set(found.keys).subtracting(due.keys).isEmpty, "what was deleted came back")
    try expectOtherCommits(store, saved, number, part)
  }

  /// States of commits that the damage does not touch are all there.
  private func expectOtherCommits(
    _ store: DamagedStore, _ saved: Store, _ number: UInt64, _ part: FrameMap.Part
  ) throws {
    var byAction: [String: UInt64] = [:]
    var place: UInt64 = 1
    while let commit = try? saved.commit(place) {
      byAction[commit.action] = place
      place += 1
    }
    for other in 1...store.model.newest where other < number || (other > number && part == .trailer) {
      let place = try #require(byAction["step \(other)"], "commit \(other) is gone")
      try StoreComparison.check(saved.view(at: place), store.model.state(at: other), "commit \(other)")
    }
  }

  @Test("with the identity page lost altogether, all commits are saved", arguments: [1, 512])
  func lostIdentity(_ count: Int) throws {
    let store = try Self.store()
    var image = store.image
    if let number = image.number(at: DamagedStore.data) {
      image.change(number) { $0.zero(UInt64(count == 1 ? 64 : 0)..<UInt64(count == 1 ? 68 : 512)) }
    }
    let (saved, report) = try salvage(image)
    #expect(report.losses.isEmpty)
    #expect(try StoreComparison(store: saved, model: store.model).checkAll(promised: store.model.newest) == 8)
  }

  @Test("any flipped bit: salvage ends, says what is lost, and gives no wrong value")
  func anyFlippedBit() async throws {
    let store = try DamagedStore.make()
    let offsets = Array(stride(from: 16_384, to: store.end, by: 29))
    let failures = await withTaskGroup(of: [String].self) { group in
      for part in 0..<2 {
        group.addTask {
          stride(from: part, to: offsets.count, by: 2).compactMap { index in
            problem(flipping: offsets[index], in: store)
          }
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(failures.isEmpty, "\(failures.count) of \(offsets.count), the first: \(failures.prefix(5))")
  }

  private func problem(flipping offset: Int, in store: DamagedStore) -> String? {
    let disk = ImageDisk(store.flipping(offset, UInt8(1) << UInt8(offset % 8)))
    do {
      let report = try Store.salvage(from: DamagedStore.path, to: Self.newPath, options: StoreOptions(), disk: disk)
      let saved = try Store.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: disk)
      let due = store.model.state(at: store.model.head)
      for name in try saved.head.trees() {
        guard let tree = try saved.head.tree(name) else { continue }
        var cursor = tree.cursor()
        try cursor.seek(rank: 0)
        while let entry = cursor.current {
          let value = try StoreComparison.value(of: entry, in: tree)
          let isDue = due[name]?.entries[entry.key.array] == value
          if !isDue, report.losses.isEmpty { return "byte \(offset): a value that is not due, and nothing was told" }
          try cursor.next()
        }
      }
      return nil
    } catch {
      return "byte \(offset): \(error)"
    }
  }
}
