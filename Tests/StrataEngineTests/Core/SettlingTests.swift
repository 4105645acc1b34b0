import Testing

@testable import StrataEngine

@Suite("Trees filled in order, with nodes written before the commit")
struct SettlingTests {
  private let entries = TreeName(Array("entries".utf8))

  private func key(_ number: Int) -> [UInt8] { Array("key \(1_000_000 + number)".utf8) }

  private func fill(_ transaction: FileTransaction, _ numbers: Range<Int>) throws {
    for number in numbers {
      try transaction.insert(key(number), in: entries)
      if number % 4096 == 4095 { try transaction.flushNodes(entries) }
    }
  }

  @Test("the commit has every entry, is verified clean, and is compacted as any other")
  func committed() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "/store", options: StoreOptions(), disk: disk)
    let transaction = try store.beginBlocking()
    try transaction.createTree(entries, kind: .entries)
    try transaction.createTree(TreeName(Array("records".utf8)), kind: .records)
    try fill(transaction, 0..<30_000)
    // Nodes that were written can be read, and change again.
    #expect(try transaction.tree(entries)?.find(.bytes(key(5))) != nil)
    #expect(try transaction.remove(key(5), in: entries))
    try transaction.put(key(1), Array("a record".utf8), in: TreeName(Array("records".utf8)))
    try transaction.flushNodes(entries)
    try transaction.commit()?.wait()
    let tree = try #require(try store.head.tree(entries))
    #expect(tree.entryCount == 29_999)
    #expect(try tree.find(.bytes(key(5))) == nil)
    #expect(try tree.find(.bytes(key(29_999))) != nil)
    var changes = try store.head.changes()
    #expect(try changes.next()?.key.array == key(1))
    #expect(try changes.next() == nil)
    #expect(store.head.commit.counts.map(\.inserted) == [1])
    #expect(try FileStore.verify(at: "/store", disk: disk) { _ in true }.isClean)
    _ = try store.compact(.all) { _ in true }
    #expect(try store.head.tree(entries)?.entryCount == 29_999)
    try store.close()
    #expect(try FileStore.verify(at: "/store", disk: disk) { _ in true }.isClean)
  }

  @Test(
    "the new nodes of a transaction take at most 64 MiB, whatever the length of the keys and the order in which they come",
    arguments: [(209, true), (609, false), (16_000, true)])
  func bounded(_ keyLength: Int, _ isOrdered: Bool) throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "/store", options: StoreOptions(), disk: disk)
    let records = TreeName(Array("records".utf8))
    let count = 24_000_000 / keyLength
    func key(_ number: Int) -> [UInt8] {
      // A step without a common divisor comes to every number once.
      let place = isOrdered ? number : number * 7_919 % count
      let text = Array(String(10_000_000 + place).utf8)
      return text + [UInt8](repeating: 0x61, count: keyLength - text.count)
    }
    let transaction = try store.beginBlocking()
    try transaction.createTree(records, kind: .records)
    try transaction.createTree(entries, kind: .entries)
    var most = 0
    for number in 0..<count {
      try transaction.put(key(number), [1], in: records)
      try transaction.insert(key(number), in: entries)
      if number % max(1, (1 << 20) / keyLength) == 0 { most = max(most, transaction.freshNodeBytes) }
    }
    #expect(most > 8 << 20 && most < 64 << 20, "\(most)")
    try transaction.commit()?.wait()
    let tree = try #require(try store.head.tree(records))
    #expect(tree.entryCount == UInt64(count))
    #expect(try tree.find(.bytes(key(count / 2))) != nil)
    #expect(store.head.commit.counts.map(\.inserted) == [UInt64(count)])
    #expect(try FileStore.verify(at: "/store", disk: disk) { _ in true }.isClean)

    let deletion = try store.beginBlocking()
    most = 0
    for number in 0..<count {
      try deletion.delete(key(number), in: records)
      if number % max(1, (1 << 20) / keyLength) == 0 { most = max(most, deletion.freshNodeBytes) }
    }
    #expect(most < 64 << 20, "\(most)")
    try deletion.commit()?.wait()
    #expect(try store.head.tree(records)?.entryCount == 0)
    try store.close()
    #expect(try FileStore.verify(at: "/store", disk: disk) { _ in true }.isClean)
  }

  @Test("a rollback takes nodes back that were written, and what comes instead lies in their place")
  func rolledBack() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "/store", options: StoreOptions(), disk: disk)
    let transaction = try store.beginBlocking()
    try transaction.createTree(entries, kind: .entries)
    try fill(transaction, 0..<10_000)
    let savepoint = try transaction.savepoint()
    let snapshot = try #require(try transaction.tree(entries))
    try fill(transaction, 10_000..<30_000)
    try transaction.rollback(to: savepoint)
    #expect(try transaction.tree(entries)?.entryCount == 10_000)
    try fill(transaction, 20_000..<25_000)
    try transaction.commit()?.wait()
    #expect(snapshot.entryCount == 10_000)
    #expect(try snapshot.find(.bytes(key(9_999))) != nil)
    let tree = try #require(try store.head.tree(entries))
    #expect(tree.entryCount == 15_000)
    #expect(try tree.find(.bytes(key(15_000))) == nil)
    #expect(try tree.find(.bytes(key(22_000))) != nil)
    try store.close()
    #expect(try FileStore.verify(at: "/store", disk: disk) { _ in true }.isClean)
  }

  @Test("a scratch file has no name, and one that a kill left is taken away by the next")
  func scratch() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "/store", options: StoreOptions(), disk: disk)
    let names = Set(try disk.list("/store"))
    _ = try disk.open("/store/data.scratch-1", .create)
    let transaction = try store.beginBlocking()
    let file = try transaction.scratchFile()
    let text = Array("hello".utf8)
    let written = text.withUnsafeBytes { bytes in
      Result { () throws(StorageError) in try file.append(bytes) }
    }
    try written.get()
    var back = [UInt8](repeating: 0, count: 9)
    let count = try back.withUnsafeMutableBytes { try file.read(into: $0, at: 1) }
    #expect(back[..<count] == Array("ello".utf8)[...])
    #expect(Set(try disk.list("/store")).subtracting(names).allSatisfy { !$0.contains("scratch") })
    transaction.cancel()
  }
}

extension FreshNode {
  /// The memory of the node and of all fresh nodes below it.
  fileprivate var memoryBytes: Int {
    var bytes = capacity
    var next = 0
    while let (index, child) = children.first(from: next) {
      bytes += child.memoryBytes
      next = index + 1
    }
    return bytes
  }
}

extension FileTransaction {
  /// The memory of all fresh nodes. Nobody else uses the transaction.
  fileprivate var freshNodeBytes: Int {
    state.pointee.trees.reduce(0) {
      $0 + ($1.primary.root.fresh?.memoryBytes ?? 0) + ($1.tombstones.root.fresh?.memoryBytes ?? 0)
    }
  }
}
