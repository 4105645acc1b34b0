import Testing

@testable import StorageEngine

@Suite("Trees filled in order, with nodes written before the commit")
struct SettlingTests {
  private let entries = TreeName(Array("entries".utf8))

  private func key(_ number: Int) -> [UInt8] { Array("key \(1_000_000 + number)".utf8) }

  private func fill(_ transaction: FileTransaction, _ numbers: Range<Int>) throws {
    for number in numbers {
      try transaction.insert(key(number), in: entries)
      if number % 4096 == 4095 { try transaction.settle(entries) }
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
    try transaction.settle(entries)
    try transaction.commit()?.wait()
    let tree = try #require(try store.head.tree(entries))
    #expect(tree.entryCount == 29_999)
    #expect(try tree.find(.bytes(key(5))) == nil)
    #expect(try tree.find(.bytes(key(29_999))) != nil)
    var changes = try store.changes(of: store.head.commit)
    #expect(try changes.next()?.key.array == key(1))
    #expect(try changes.next() == nil)
    #expect(store.head.commit.counts.map(\.inserted) == [1])
    #expect(try FileStore.verify(at: "/store", disk: disk) { _ in true }.isClean)
    _ = try store.compact(.all) { _ in true }
    #expect(try store.head.tree(entries)?.entryCount == 29_999)
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
    _ = try disk.open("/store/scratch-1", .create)
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
    #expect(Set(try disk.list("/store")).subtracting(names).allSatisfy { !$0.hasPrefix("scratch") })
    transaction.cancel()
  }
}
