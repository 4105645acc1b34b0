import DiskSimulation
import Testing

@testable import StrataEngine

/// Nodes and stores for the tests of deltas.
enum DeltaSample {
  static func node(_ form: NodeForm, _ keys: [Int], _ random: inout RandomSource) throws -> FreshNode {
    let node = FreshNode(form: form, level: form == .inner ? 1 : 0)
    for (index, number) in keys.sorted().enumerated() {
      let fixed = fixed(form, &random)
      try fixed.withUnsafeBytes { fixed in
        try (bytes("key ") + key(number)).withUnsafeBytes { try node.insertCell(at: index, fixed: fixed, key: $0) }
      }
    }
    return node
  }

  static func fixed(_ form: NodeForm, _ random: inout RandomSource) -> [UInt8] {
    func some(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
    switch form {
    case .inner: return some(NodePointer.size)
    case .references: return some(EntryReference.size)
    case .bare: return []
    case .mixed:
      switch random.next() % 3 {
      case 0: return [0]
      case 1: return [1] + some(EntryReference.size)
      default:
        let count = Int(random.next() % 40) + 1
        return [2, UInt8(count - 1)] + some(count)
      }
    }
  }

  /// The pointers to all nodes of a view's trees, from the roots down.
  static func pointers(_ view: View) throws -> [NodePointer] {
    var found = [view.commit.links.catalog]
    for name in try view.trees() {
      let entry = try #require(try view.catalogEntry(name))
      found += [entry.root, entry.tombstones]
    }
    found.removeAll { $0.isNone }
    var place = 0
    while place < found.count {
      let node = try view.file.node(at: found[place])
      place += 1
      guard node.view.form == .inner else { continue }
      for index in 0..<node.view.count { found.append(try node.view.pointer(index)) }
    }
    return found
  }

  /// The nodes of all commits that are patches, each with its base.
  static func deltas(_ store: FileStore) throws -> [(delta: NodePointer, base: NodePointer)] {
    var found: [FileOffset: (NodePointer, NodePointer)] = [:]
    for number in 1...store.newestNumber {
      guard let view = try? store.view(at: number) else { continue }
      for pointer in try pointers(view) {
        if let base = try view.file.base(of: pointer) { found[pointer.offset] = (pointer, base) }
      }
    }
    return found.values.sorted { $0.0.offset < $1.0.offset }
  }

  static func options(_ limit: Int = NodeDelta.mostBytes) -> StoreOptions {
    var options = StoreOptions()
    options.deltaLimit = limit
    options.idleSeconds = 1e6
    return options
  }

  /// A store with random commits, most of them small, and what each commit must have.
  static func history(
    _ options: StoreOptions, on disk: any Disk, commits: Int = 150, keys: Int = 1_500
  ) throws -> (store: FileStore, states: [[[UInt8]: String]]) {
    let store = try FileStore.create(at: "/store", options: options, disk: disk)
    var random = RandomSource(seed: 5)
    var states: [[[UInt8]: String]] = [[:], [:]]
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.createTree(byAge, kind: .entries)
    }
    for round in 0..<commits {
      var state = states[states.count - 1]
      try store.change { transaction in
        for _ in 0..<(round == 0 ? keys : Int(random.next() % 3) + 1) {
          let number = key(Int(random.next() % UInt64(keys)))
          if random.next() % 4 == 0, state.removeValue(forKey: number) != nil {
            try transaction.delete(number, in: people)
            _ = try transaction.remove(bytes("by ") + number, in: byAge)
          } else {
            state[number] = "\(round) \(random.next() % 100)"
            try transaction.put(number, bytes(state[number] ?? ""), in: people)
            try transaction.insert(bytes("by ") + number, in: byAge)
          }
        }
      }
      states.append(state)
      if round == 70 {
        try store.change { try $0.restore([people, byAge], from: try store.view(at: 40)) }
        states.append(states[40])
      }
    }
    return (store, states)
  }

  static func expect(_ store: FileStore, has states: [[[UInt8]: String]], from first: Int = 1) throws {
    for number in first..<states.count {
      let tree = try #require(try store.view(at: UInt64(number)).tree(people))
      var found: [[UInt8]: String] = [:]
      var cursor = tree.cursor()
      try cursor.seekToStart()
      while let entry = cursor.current {
        found[entry.key.array] = try entry.payload.record.map { try tree.value(of: $0).text }
        try cursor.next()
      }
      #expect(found == states[number], "commit \(number)")
      #expect(tree.entryCount == UInt64(states[number].count))
    }
  }
}
