import DiskSimulation
import StrataEngine
import Testing

@Suite("Random operations against a dictionary")
struct RandomOperationTests {
  @Test("every retained commit holds what the model holds, in the open store and after reopening", arguments: 1...6)
  func everyCommit(_ seed: Int) throws {
    let disk = ImageDisk()
    var runner = try ScriptRunner(creating: "/model.strata", on: disk)
    try runner.run(.random(seed: UInt64(seed), count: 150))
    let newest = runner.model.newest
    let open = StoreComparison(store: runner.store, model: runner.model)
    #expect(try open.checkAll(promised: newest) == newest)
    try open.checkSearches(seed: UInt64(seed))
    try open.checkDifferences(seed: UInt64(seed))
    try open.checkAncestors()
    try open.checkBytes()
    for number in [runner.model.head, newest, newest / 2] { try open.checkVersions(from: number) }
    try runner.store.close()
    let again = try FileStore.open(at: "/model.strata", options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(try StoreComparison(store: again, model: runner.model).checkAll(promised: newest) == newest)
  }

  @Test(
    "compaction in between takes away only what it may, and what is kept stays as it was",
    arguments: [1, 6, 9, 11, 12, 13, 23, 37, 41, 54, 61, 62, 67])
  func compaction(_ seed: Int) throws {
    let disk = ImageDisk()
    var runner = try ScriptRunner(creating: "/model.strata", on: disk)
    try runner.run(.random(seed: UInt64(seed), count: 80, compacts: true))
    let newest = runner.model.newest
    let open = StoreComparison(store: runner.store, model: runner.model)
    #expect(try open.checkAll(promised: newest) == newest)
    try open.checkBytes()
    for number in Set([runner.model.head, newest]) { try open.checkVersions(from: number) }
    try runner.store.close()
    let again = try FileStore.open(at: "/model.strata", options: StoreOptions(isReadOnly: true), disk: disk)
    #expect(try StoreComparison(store: again, model: runner.model).checkAll(promised: newest) == newest)
    let report = try FileStore.verify(at: "/model.strata", disk: disk)
    #expect(report.findings.isEmpty, "\(report.findings.prefix(3))")
  }

  @Test("trees dropped, made anew, brought back and rolled back are what they should be", arguments: 41...46)
  func mixedTrees(_ seed: Int) throws {
    let disk = ImageDisk()
    var runner = try ScriptRunner(creating: "/model.strata", on: disk)
    try runner.run(.random(seed: UInt64(seed), count: 120, compacts: seed % 2 == 0, mixes: true))
    let newest = runner.model.newest
    #expect(try StoreComparison(store: runner.store, model: runner.model).checkAll(promised: newest) == newest)
    try runner.store.close()
    let report = try FileStore.verify(at: "/model.strata", disk: disk)
    #expect(report.findings.isEmpty, "\(report.findings.prefix(3))")
  }

  @Test("the same on a real disk, mapped and not", arguments: [true, false])
  func realDisk(readsMapped: Bool) throws {
    let disk = SystemDisk()
    let directory = "/tmp/strata-model-\(disk.randomNumber())"
    try disk.makeDirectory(directory)
    defer { removeStore(directory) }
    let options = StoreOptions(readsMapped: readsMapped)
    var runner = try ScriptRunner(creating: "\(directory)/model.strata", on: disk, options: options)
    try runner.run(.random(seed: 20, count: 120))
    let newest = runner.model.newest
    let comparison = StoreComparison(store: runner.store, model: runner.model)
    #expect(try comparison.checkAll(promised: newest) == newest)
    try comparison.checkSearches(seed: 20)
  }

  @Test("the same steps on the same seed leave the same bytes")
  func determinism() throws {
    let steps = [Step].random(seed: 30, count: 60)
    let first = try RecordedWorkload.run("first", steps, seed: 30)
    let second = try RecordedWorkload.run("second", steps, seed: 30)
    let path = "\(RecordedWorkload.path)/data"
    let bytes = try #require(first.finish.contents(at: path)?.array)
    // Page 3 holds the file's identity on its disk (the session block), which no two disks share.
    #expect(bytes[16_384...] == second.finish.contents(at: path)?.array[16_384...])
  }
}

extension StoreComparison {
  /// Ranks, seeks and finds of keys that are there and keys that are not.
  func checkSearches(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    for number in [model.head, model.newest, model.kept(before: UInt64.random(in: 1...model.newest, using: &random))] {
      let view = try store.view(at: number)
      for (name, state) in model.state(at: number) {
        guard let tree = try view.tree(name) else { throw Disagreement(description: "\(name) is missing") }
        let keys = state.entries.keys.sorted { $0.lexicographicallyPrecedes($1) }
        for _ in 0..<20 {
          var probe = keys.randomElement(using: &random) ?? [1]
          if Bool.random(using: &random) { probe[probe.count - 1] ^= UInt8.random(in: 1...255, using: &random) }
          try checkSearch(tree, keys, probe)
        }
      }
    }
  }

  private func checkSearch(_ tree: Tree, _ keys: [[UInt8]], _ probe: [UInt8]) throws {
    let rank = keys.firstIndex { !$0.lexicographicallyPrecedes(probe) } ?? keys.count
    let isThere = rank < keys.count && keys[rank] == probe
    guard try tree.rank(of: .bytes(probe)) == UInt64(rank), try (tree.find(.bytes(probe)) != nil) == isThere else {
      throw Disagreement(description: "\(tree.name): rank or find of \(probe) is wrong")
    }
    var cursor = tree.cursor()
    try cursor.seek(to: .bytes(probe))
    guard cursor.current?.key.array == (rank < keys.count ? keys[rank] : nil) else {
      throw Disagreement(description: "\(tree.name): seeking \(probe) leads astray")
    }
    try cursor.seek(rank: UInt64(rank))
    guard rank < keys.count else { return }
    try cursor.previous()
    guard cursor.current?.key.array == (rank > 0 ? keys[rank - 1] : nil) else {
      throw Disagreement(description: "\(tree.name): the entry before \(probe) is another")
    }
  }

  /// What differs between two commits, wherever they lie.
  func checkDifferences(seed: UInt64) throws {
    var random = RandomSource(seed: seed)
    for _ in 0..<12 {
      let old = model.kept(before: UInt64.random(in: 1...model.newest, using: &random))
      let new = model.kept(before: UInt64.random(in: 1...model.newest, using: &random))
      for tree in 0..<3 { try checkDifference(old, new, ScriptRunner.name(tree)) }
    }
  }

  private func checkDifference(_ old: UInt64, _ new: UInt64, _ name: TreeName) throws {
    let oldView = try store.view(at: old)
    let newView = try store.view(at: new)
    let oldState = model.state(at: old)[name]?.entries ?? [:]
    let newState = model.state(at: new)[name]?.entries ?? [:]
    var differing = Set(oldState.keys).union(newState.keys).filter { oldState[$0] != newState[$0] }
    var cursor = try difference(oldView, newView, tree: name)
    var last: [UInt8]?
    while let found = try cursor.next() {
      let key = found.key.array
      if let last, !last.lexicographicallyPrecedes(key) {
        throw Disagreement(description: "the differences of \(old) and \(new) are out of order")
      }
      last = key
      let oldValue = try found.old.flatMap { entry in try oldView.tree(name).map { try Self.value(of: entry, in: $0) } }
      let newValue = try found.new.flatMap { entry in try newView.tree(name).map { try Self.value(of: entry, in: $0) } }
      guard oldValue == oldState[key], newValue == newState[key] else {
        throw Disagreement(description: "\(name) from \(old) to \(new): the difference at \(key) is wrong")
      }
      differing.remove(key)
    }
    guard differing.isEmpty else {
      throw Disagreement(description: "\(name) from \(old) to \(new): \(differing.count) differences were not told")
    }
  }

  /// Ancestors by number, along first parents.
  func checkAncestors() throws {
    for number in stride(from: model.newest, to: 0, by: -7) {
      var line = [number]
      while let parent = model[line[line.count - 1]]?.parents.first { line.append(parent) }
      for ancestor in line {
        guard try store.ancestor(of: number, number: ancestor).number == ancestor else {
          throw Disagreement(description: "ancestor \(ancestor) of \(number) is another")
        }
      }
    }
  }
}
