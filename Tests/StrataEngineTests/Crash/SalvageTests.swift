import DiskSimulation
@testable import StrataEngine
import Testing

@Suite("Salvage")
struct SalvageTests {
  static let newPath = "/library/saved.strata"

  enum History: String, CaseIterable, Sendable {
    case straight, compacted, forked

    /// The commits in which damage is planted: the first, a middle one, the last; of forks also those beside the head.
    var places: [UInt64] {
      switch self {
      case .straight: [1, 4, 8]
      case .compacted: [5, 7, 10]
      case .forked: [1, 3, 4, 6, 8]
      }
    }
  }

  /// Commit *n* puts key *n* anew and key 1 again, in both trees, so that each commit has a change of its own and one
  /// that replaces an older value.
  private static func store(_ history: History = .straight) throws -> DamagedStore {
    let first: Step = .commit([.create(tree: 0), .create(tree: 1), .bulk(tree: 0, from: 20, count: 60, size: 40)])
    func edits(_ number: Int) -> [Edit] {
      [
        .put(tree: 0, key: number, size: 60), .put(tree: 0, key: 1, size: 30), .put(tree: 1, key: number, size: 9),
        .delete(tree: 0, key: 20 + number),
      ]
    }
    var steps = [first] + (2...8).map { Step.commit(edits($0)) }
    switch history {
    case .straight: break
    case .compacted: steps += [.compact(.last(4)), .commit(edits(9)), .commit(edits(10))]
    case .forked:
      // The third on the first, and the sixth on the third, which a name keeps.
      steps[2] = .commit(edits(3), on: .older(0))
      steps[5] = .commit(edits(6), on: .older(600), info: Step.Info(setsName: "pin0"))
    }
    return try DamagedStore.make(steps)
  }

  private func salvage(_ image: DiskImage) throws -> (FileStore, SalvageReport) {
    let disk = ImageDisk(image)
    let report = try FileStore.salvage(from: DamagedStore.path, to: Self.newPath, options: StoreOptions(), disk: disk)
    let store = try FileStore.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: disk)
    let verified = try FileStore.verify(at: Self.newPath, disk: disk)
    #expect(verified.findings.isEmpty, "\(verified.findings.prefix(3))")
    return (store, report)
  }

  @Test("a commit that wrote the value that was there already is saved like others")
  func sameValue() throws {
    let disk = ImageDisk()
    let name = ScriptRunner.name(0)
    let store = try FileStore.create(at: "/same.strata", options: StoreOptions(), disk: disk)
    for number in 1...3 {
      let transaction = try store.beginBlocking()
      if number == 1 { try transaction.createTree(name, kind: .records, attributes: []) }
      try transaction.put([1], [7], in: name)
      try transaction.commit(CommitInfo(action: "write \(number)"))?.wait()
    }
    try store.close()
    let report = try FileStore.salvage(from: "/same.strata", to: "/saved.strata", options: StoreOptions(), disk: disk)
    #expect(report.isComplete)
    #expect(report.savedCommits == 3)
    let saved = try FileStore.open(at: "/saved.strata", options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(try (1...3).map { try saved.commit($0).action } == ["write 1", "write 2", "write 3"])
  }

  @Test("names are what the last list of them says, where what set them cannot be read; those of lost commits are told")
  func names() throws {
    let disk = ImageDisk()
    let store = try FileStore.create(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    let name = ScriptRunner.name(0)
    try store.change(CommitInfo(names: ["kept": 0, "taken": 0])) { transaction in
      try transaction.createTree(name, kind: .records)
      try transaction.put([1], [1], in: name)
    }
    // Nothing but names: no change is left by which this commit could be made anew.
    try store.change(CommitInfo(names: ["first": 1, "own": 0, "taken": nil])) { _ in }
    try store.change { try $0.put([2], [2], in: name) }
    try store.close()
    var image = disk.image
    let data = try #require(image.number(at: DamagedStore.data))
    var bytes = try #require(image.contents(of: data)).array
    let record = FrameMap(bytes).frames[1].record
    bytes[record.lowerBound + record.count / 2] ^= 4
    image.change(data) { contents in bytes.withUnsafeBytes { contents.write($0, at: 0) } }
    let (saved, report) = try salvage(image)
    #expect(try saved.names == ["kept": 1, "first": 1])
    #expect(report.losses == [SalvageLoss(kind: .commit, commit: 2), SalvageLoss(kind: .name("own"), commit: 2)])
    #expect(report.losses.last?.description == "the name own led to commit #2, which is lost")
    #expect(try saved.head.tree(name)?.entryCount == 2)
  }

  @Test("head is where a commit that changes nothing else has moved it, as an exchange does")
  func movedHead() throws {
    let disk = ImageDisk()
    let store = try FileStore.create(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    let name = ScriptRunner.name(0)
    try store.change { transaction in
      try transaction.createTree(name, kind: .records)
      try transaction.put([1], [1], in: name)
    }
    let fetched = try store.beginBlocking(on: 1)
    try fetched.put([2], [2], in: name)
    try fetched.commit(CommitInfo(action: "fetched", movesHead: false))?.wait()
    var info = CommitInfo(action: "exchange", flags: .bookkeeping, movesHead: false)
    info.head = 2
    try store.beginBlocking().commit(info)?.wait()
    #expect(store.head.commit.number == 2)
    try store.close()
    let (saved, report) = try salvage(disk.image)
    #expect(report.isComplete && report.records == 2)
    #expect(saved.head.commit.action == "fetched")
    #expect(try saved.head.tree(name)?.entryCount == 2)
  }

  @Test("the first commit of another store's history is saved without a parent, as an exchange fetched it")
  func secondRoot() throws {
    let disk = ImageDisk()
    let store = try FileStore.create(at: DamagedStore.path, options: StoreOptions(), disk: disk)
    let name = ScriptRunner.name(0)
    for (number, base) in [(1, nil), (2, 0)] as [(UInt8, UInt64?)] {
      try store.change(CommitInfo(names: ["\(number)": 0]), on: base) { transaction in
        try transaction.createTree(name, kind: .records)
        try transaction.put([number], [number], in: name)
      }
    }
    try store.close()
    let (saved, report) = try salvage(disk.image)
    #expect(report.isComplete)
    #expect(try saved.names == ["1": 1, "2": 2])
    #expect(try saved.commit(2).parents.isEmpty)
    #expect(try saved.view(at: 2).tree(name)?.entryCount == 1)
    #expect(saved.head.commit.number == 1)
  }

  @Test("a salvage that is ended early keeps what was saved by then, and nothing of what comes later")
  func ended() throws {
    let store = try Self.store()
    let header = try #require(FrameMap(store.bytes).frames.last).header
    let disk = ImageDisk(store.flipping(header.lowerBound, 1))
    let report = try FileStore.salvage(
      from: DamagedStore.path, to: Self.newPath, options: StoreOptions(), disk: disk
    ) { $0.total > FileLayout.firstFrame.bytes }
    #expect(report.savedCommits + report.mendedCommits == 0)
    let saved = try FileStore.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(saved.head.commit.number == 0)
  }

  @Test("from a store without damage everything is saved: states, names, parents, words and dates", arguments: 1...3)
  func wholeStore(_ seed: Int) throws {
    let workload = try RecordedWorkload.run("whole", .random(seed: UInt64(seed), count: 60), seed: UInt64(seed))
    let (saved, report) = try salvage(workload.finish)
    #expect(report.losses.isEmpty, "\(report.losses.prefix(3))")
    let comparison = StoreComparison(store: saved, model: workload.model)
    #expect(try comparison.checkAll(promised: workload.model.newest) == workload.model.newest)
    let old = try FileStore.open(
      at: RecordedWorkload.path, options: StoreOptions(isReadOnly: true), disk: ImageDisk(workload.finish))
    #expect(try old.commit(7).date == saved.commit(7).date)
    #expect(try old.commit(7).origin != saved.commit(7).origin)
  }

  struct Plant: Sendable, CustomTestStringConvertible {
    var history: History
    var part: FrameMap.Part
    var commit: UInt64

    var testDescription: String { "\(part) of commit \(commit), \(history)" }

    static let all = History.allCases.flatMap { history in
      FrameMap.Part.allCases.flatMap { part in
        history.places.map { Plant(history: history, part: part, commit: $0) }
      }
    }
  }

  @Test("of each part of a first, a middle and a last commit, what can be saved is saved", arguments: Plant.all)
  func plantedDamage(_ plant: Plant) throws {
    let store = try Self.store(plant.history)
    let part = plant.part
    let frame = try #require(FrameMap(store.bytes).frames.first { $0.number == plant.commit })
    let range = frame[part]
    let offset = range.lowerBound + range.count / 2
    let (saved, report) = try salvage(store.flipping(offset, 4))
    let head = saved.head
    let records = ScriptRunner.name(0)
    let due = store.model.state(at: store.model.head)[records]?.entries ?? [:]
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
    let isBesideHead = plant.history == .forked && [3, 6].contains(plant.commit)
    if part == .changes, !isBesideHead {
      // One change cannot be read; nothing else is lost by it.
      #expect(missing.count <= 1, "\(missing.count) records")
    } else {
      #expect(missing.isEmpty, "\(missing.count) records of \(due.count): \(report.losses)")
    }
    #expect(Set(found.keys).subtracting(due.keys).isEmpty, "what was deleted came back")
    try expectOtherCommits(store, saved, plant.commit, part)
    if plant.history == .forked, plant.commit != 6 || [.nodes, .trailer].contains(part) {
      let named = try saved.names["pin0"]
      #expect(try named.map { try saved.commit($0).action } == "step 6")
    }
  }

  /// States of commits that the damage does not touch are all there, and their parents are what became of their parents.
  private func expectOtherCommits(
    _ store: DamagedStore, _ saved: FileStore, _ number: UInt64, _ part: FrameMap.Part
  ) throws {
    var byAction: [String: UInt64] = [:]
    var place: UInt64 = 1
    while let commit = try? saved.commit(place) {
      byAction[commit.action] = place
      place += 1
    }
    let kept = FrameMap(store.bytes).frames.map(\.number)
    for other in kept where other < number || (other > number && part == .trailer) {
      let place = try #require(byAction["step \(other)"], "commit \(other) is gone")
      try StoreComparison.check(saved.view(at: place), store.model.state(at: other), "commit \(other)")
      let parents = store.model[other]?.parents.filter { kept.contains($0) } ?? []
      #expect(try saved.commit(place).parents == parents.compactMap { byAction["step \($0)"] }, "parents of \(other)")
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
    let failures = await store.problems(flippingBitsAt: offsets) { problem(in: $0, flipped: $1, of: store) }
    #expect(failures.isEmpty, "\(failures.count) of \(offsets.count), the first: \(failures.prefix(5))")
  }

  @Test("random damage: no value is served that never was, each loss is named, and the commits are counted right")
  func randomDamage() async throws {
    let store = try Self.store(.straight)
    let failures = await store.problems(damagedAt: 200, seed: 5) { image, what in
      problem(of: store, in: image).map { "\(what): \($0)" }
    }
    #expect(failures.isEmpty, "\(failures.count) of 200, the first: \(failures.prefix(5))")
  }

  /// What is wrong with what is saved of a damaged store.
  private func problem(of store: DamagedStore, in image: DiskImage) -> String? {
    let disk = ImageDisk(image)
    do {
      let report = try FileStore.salvage(from: DamagedStore.path, to: Self.newPath, options: StoreOptions(), disk: disk)
      let saved = try FileStore.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: disk)
      let isNamed = report.losses.contains { loss in
        switch loss.kind {
        case .commit, .commits, .entries, .catalog: true
        default: false
        }
      }
      let due = store.model.state(at: store.model.head)
      for name in try saved.head.trees() {
        guard let tree = try saved.head.tree(name) else { continue }
        let ever = (1...store.model.newest).compactMap { store.model.state(at: $0)[name] }
        if !tree.attributes.array.isEmpty, !ever.contains(where: { $0.attributes == tree.attributes.array }) {
          return "attributes of \(name) that never were"
        }
        var cursor = tree.cursor()
        try cursor.seek(rank: 0)
        while let entry = cursor.current {
          let (key, value) = (entry.key.array, try StoreComparison.value(of: entry, in: tree))
          guard ever.contains(where: { $0.entries[key] == value }) else { return "a value of \(key) that never was" }
          let isTold = isNamed || report.losses.contains { $0.tree == name && $0.key == key }
          if due[name]?.entries[key] != value, !isTold { return "an older value of \(key) that is not told of" }
          try cursor.next()
        }
        for key in (due[name]?.entries ?? [:]).keys where try tree.find(.bytes(key)) == nil {
          let isTold = isNamed || report.losses.contains { $0.tree == name && $0.key == key }
          if !isTold { return "\(key) is gone and not told of" }
        }
      }
      let names = try (1...saved.commitCount).filter { try saved.commit($0).action == "mend head and names" }.count
      let count = report.savedCommits + report.mendedCommits + UInt64(names)
      return count == saved.commitCount ? nil : "\(count) commits are told of, and there are \(saved.commitCount)"
    } catch {
      return "\(error)"
    }
  }

  private func problem(in image: DiskImage, flipped offset: Int, of store: DamagedStore) -> String? {
    let disk = ImageDisk(image)
    do {
      let report = try FileStore.salvage(from: DamagedStore.path, to: Self.newPath, options: StoreOptions(), disk: disk)
      let saved = try FileStore.open(at: Self.newPath, options: StoreOptions(isReadOnly: true), disk: disk)
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
