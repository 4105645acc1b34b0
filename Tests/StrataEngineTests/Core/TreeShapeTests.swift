import DiskSimulation
import Testing

@testable import StrataEngine

/// What trees look like below what they hold: their size, their height and what states share depend on it.
@Suite("The shape of trees")
struct TreeShapeTests {
  private func nodes(_ view: View) throws -> [Node] {
    guard let root = try view.catalogEntry(people)?.root, !root.isNone else { return [] }
    var found = [try view.file.node(at: root)]
    var place = 0
    while place < found.count {
      let node = found[place]
      place += 1
      guard node.view.form == .inner else { continue }
      for index in 0..<node.view.count { found.append(try node.child(index, in: view.file)) }
    }
    return found
  }

  private func level(_ view: View) throws -> UInt8? { try nodes(view).first?.view.level }

  @Test("keys that come in order, from either end, fill their leaves", arguments: [false, true])
  func fill(isDescending: Bool) throws {
    let store = FileStore.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 0..<5_000 {
        let key = key(isDescending ? 10_000 - number : number)
        try transaction.put(key, key, in: people)
      }
    }
    let leaves = try nodes(store.head).filter { $0.view.form != .inner }
    let length = leaves.reduce(0) { $0 + $1.view.length }
    #expect(length > leaves.count * NodeView.targetSize * 9 / 10)
  }

  @Test("where most keys are taken out, leaves are joined: in one commit or in many, and bytes are counted exactly")
  func join() throws {
    let store = FileStore.memory()
    let (count, left) = (4_000, 50)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 0..<count { try transaction.put(key(number), bytes("x"), in: people) }
    }
    let before = try nodes(store.head).count
    let going = (0..<count).filter { $0 % (count / left) != 0 }
    for number in going.prefix(count / 2) {
      let transaction = try store.beginBlocking()
      try transaction.delete(key(number), in: people)
      _ = try transaction.commit(CommitInfo(durability: .collated))
      #expect(store.head.commit.liveBytes == (try LiveBytes(store.head).count()) || number % 40 != 1)
    }
    try store.change { transaction in
      for number in going.dropFirst(count / 2) { try transaction.delete(key(number), in: people) }
    }
    let tree = try #require(try store.head.tree(people))
    #expect(tree.entryCount == UInt64(left))
    // Two neighbours that are left have no room for each other.
    #expect(try nodes(store.head).count <= 6)
    #expect(before > 80)
    #expect(store.head.commit.liveBytes == (try LiveBytes(store.head).count()))
    for number in 0..<left { #expect(try store.head.text(key(number * (count / left))) == "x") }
  }

  @Test("no node of short keys is longer than a split makes it, whatever comes and goes")
  func longest() throws {
    let store = FileStore.memory()
    var random = RandomSource(seed: 21)
    try store.change { try $0.createTree(people, kind: .records) }
    for round in 0..<40 {
      try store.change { transaction in
        for _ in 0..<300 {
          let number = Int(random.next() % 3_000)
          if random.next() % 4 < (round < 20 ? 1 : 3) {
            try transaction.delete(key(number), in: people)
          } else {
            try transaction.put(key(number), bytes("x"), in: people)
          }
        }
        try transaction.put(key(0), bytes("\(round)"), in: people)
      }
      #expect(try nodes(store.head).allSatisfy { $0.view.length <= NodeView.targetSize })
      #expect(store.head.commit.liveBytes == (try LiveBytes(store.head).count()))
    }
  }

  @Test("a tree that has grown by a level shares what is below with the one before, and a difference does not read it")
  func growth() throws {
    let store = FileStore.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 0..<500 { try transaction.put(key(number), bytes("x"), in: people) }
    }
    var before = store.head
    let low = try #require(try level(before))
    var number = 500
    repeat {
      before = store.head
      try store.change { transaction in
        for _ in 0..<20 {
          try transaction.put(key(number), bytes("x"), in: people)
          number += 1
        }
      }
    } while try level(store.head) == low
    let all = try nodes(store.head).count
    let reads = store.counts.nodeReads
    var cursor = try difference(before, store.head, tree: people)
    var count = 0
    while try cursor.next() != nil { count += 1 }
    #expect(count == 20)
    #expect(store.counts.nodeReads - reads < UInt64(all / 2))
  }

  // MARK: One node

  @Test("a node does not grow beyond what the ends of its cells can say")
  func ends() throws {
    let node = FreshNode(form: .bare, level: 0)
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    #expect(throws: StorageError.damaged(what: "tree node", offset: 0)) {
      for number in 0..<100 {
        try (key(number).reversed() + [UInt8](repeating: 1, count: 1_000)).withUnsafeBytes {
          try node.insertCell(at: number, fixed: none, key: $0)
        }
      }
    }
    #expect(node.length <= UInt16.max)
    #expect(try node.view.count > 60)
  }

  @Test("nor where a key without the others' beginning makes every cell longer")
  func prefix() throws {
    let node = FreshNode(form: .bare, level: 0)
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    let shared = [UInt8](repeating: 7, count: 100)
    for number in 0..<1_000 {
      try (shared + key(number)).withUnsafeBytes { try node.insertCell(at: number, fixed: none, key: $0) }
    }
    #expect(throws: StorageError.damaged(what: "tree node", offset: 0)) {
      try key(1).withUnsafeBytes { try node.insertCell(at: 0, fixed: none, key: $0) }
    }
    #expect(try node.view.count == 1_000)
    #expect(try node.view.key(999) == shared + key(999))
  }

  @Test("a search in a node whose cells end beyond it is told of damage")
  func cells() throws {
    let node = FreshNode(form: .bare, level: 0)
    for number in 0..<9 {
      try key(number).reversed().withUnsafeBytes { key in
        try node.insertCell(at: number, fixed: UnsafeRawBufferPointer(start: nil, count: 0), key: key)
      }
    }
    var bytes = Array(node.bytes)
    bytes[NodeView.headerSize + 2 * 4 + 1] = 0xFF
    #expect(throws: StorageError.damaged(what: "tree node", offset: 9)) {
      try bytes.withUnsafeBytes { bytes in
        let view = try NodeView(bytes, offset: 9)
        return try key(7).withUnsafeBytes { try view.lowerBound(.bytes($0)).index }
      }
    }
  }

  @Test("levels that do not fall by one are damage, however the tree is read or changed")
  func levels() throws {
    let store = FileStore.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for number in 0..<300 { try transaction.put(key(number), bytes("x"), in: people) }
    }
    try store.change { transaction in
      try transaction.put(key(7), bytes("y"), in: people)
      let place = try #require(transaction.state.pointee.treeIndex(of: people))
      let root = try #require(transaction.state.pointee.trees[place].primary.root.fresh)
      root.memory.storeBytes(of: try root.view.level + 1, toByteOffset: 1, as: UInt8.self)
    }
    let tree = try #require(try store.head.tree(people))
    var cursor = tree.cursor()
    let isDamage = { (error: any Error) in if case .damaged? = error as? StorageError { true } else { false } }
    #expect(performing: { try tree.find(.bytes(key(9))) }, throws: isDamage)
    #expect(performing: { try tree.rank(of: .bytes(key(9))) }, throws: isDamage)
    #expect(performing: { try cursor.seek(to: .bytes(key(9))) }, throws: isDamage)
    let transaction = try store.beginBlocking()
    #expect(performing: { try transaction.put(key(9), bytes("z"), in: people) }, throws: isDamage)
    #expect(performing: { try transaction.delete(key(9), in: people) }, throws: isDamage)
    transaction.cancel()
  }
}
