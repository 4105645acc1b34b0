import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("Large things")
struct LargeTests {
  private static let pattern = (0..<5 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 8) }
  private static func value(_ count: Int) -> [UInt8] { Array(pattern.prefix(count)) }

  @Test("values of all sizes come back, also before the commit", arguments: [true, false])
  func values(isMapped: Bool) throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions(readsMapped: isMapped))
    let sizes = [0, 1, 255, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20]
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for size in sizes { try transaction.put(key(size), LargeTests.value(size), in: people) }
      let tree = try #require(try transaction.tree(people))
      for size in sizes {
        let record = try #require(try tree.find(.bytes(key(size)))?.payload.record)
        #expect(try tree.value(of: record).array == LargeTests.value(size))
        #expect(try tree.value(of: record, isCopied: true).array == LargeTests.value(size))
        #expect(try tree.change(of: record).key.array == key(size))
        #expect(try Self.parts(of: record, in: tree) == LargeTests.value(size))
      }
    }
    let tree = try #require(try store.head.tree(people))
    for size in sizes {
      let record = try #require(try tree.find(.bytes(key(size)))?.payload.record)
      #expect(try tree.value(of: record).array == LargeTests.value(size))
      #expect(try tree.value(of: record, isCopied: true).array == LargeTests.value(size))
      #expect(try Self.parts(of: record, in: tree) == LargeTests.value(size))
    }
  }

  /// A value that is read a part at a time.
  private static func parts(of record: RecordReference, in tree: Tree) throws -> [UInt8] {
    var reader = try tree.reader(of: record)
    var whole: [UInt8] = []
    while reader.remaining > 0 { whole += try reader.next(atMost: 700_000).array }
    #expect(try reader.next(atMost: 1).isEmpty)
    return whole
  }

  @Test("of a large value that is damaged, the pieces before the damage are read", arguments: [true, false])
  func damagedPiece(isMapped: Bool) throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions(readsMapped: isMapped))
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), LargeTests.value(5 << 20), in: people)
    }
    let tree = try #require(try store.head.tree(people))
    let record = try #require(try tree.find(.bytes(key(1)))?.payload.record)
    let file = try SystemDisk().open(folder.store() + "/data", .readWrite)
    func write(_ byte: UInt8, at offset: UInt64) throws {
      try [byte].withUnsafeBytes { try file.write($0, at: offset) }
    }
    try write(LargeTests.pattern[2 << 20] ^ 1, at: record.place + 100 + (2 << 20))
    var reader = try tree.reader(of: record)
    for piece in 0..<2 {
      let bytes = try reader.next(atMost: .max)
      let written = Array(LargeTests.pattern[(piece << 20)..<((piece + 1) << 20)])
      #expect(bytes.array == written)
    }
    for _ in 0..<2 { #expect(throws: StorageError.self) { try reader.next(atMost: 1) } }
    #expect(throws: StorageError.self) { try tree.value(of: record) }
    try write(0xFF, at: record.place + UInt64(record.length) - 1)
    #expect(throws: StorageError.self) { try tree.reader(of: record) }
  }

  @Test("a value given in pieces never lies in memory whole, and a rollback over spilled pieces leaves a whole frame")
  func pieces() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let size: UInt64 = 24 << 20
    let block = LargeTests.value(1 << 20)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("before"), in: people)
      let savepoint = try transaction.savepoint()
      try transaction.put(key(2), count: size, in: people) { _, count in Array(block.prefix(count)) }
      try transaction.rollback(to: savepoint)
      try transaction.put(key(3), count: size - 5, in: people) { _, count in Array(block.prefix(count)) }
    }
    try store.close()
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    #expect(again.openingReport.damage == nil)
    #expect(try again.head.text(key(1)) == "before")
    let tree = try #require(try again.head.tree(people))
    #expect(tree.entryCount == 2)
    let record = try #require(try tree.find(.bytes(key(3)))?.payload.record)
    let value = try tree.value(of: record)
    #expect(value.count == Int(size) - 5)
    #expect(value[(3 << 20)..<(4 << 20)].array == block)
    var cursor = try again.head.changes()
    var keys: [[UInt8]] = []
    while let change = try cursor.next() { keys.append(change.key.array) }
    #expect(keys == [key(1), key(3)])
  }

  @Test("a change that failed halfway is never committed, unless it is rolled back")
  func failedPieces() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    func putHalf(_ transaction: FileTransaction) {
      #expect(throws: StorageError.cancelled) {
        try transaction.put(key(2), count: 9 << 20, in: people) { position, count throws(StorageError) in
          if position > 6 << 20 { throw .cancelled }
          return [UInt8](repeating: 1, count: count)
        }
      }
    }
    #expect(throws: StorageError.cancelled) {
      try store.change { transaction in
        try transaction.put(key(1), bytes("a"), in: people)
        putHalf(transaction)
        try transaction.put(key(3), bytes("c"), in: people)
      }
    }
    try store.change { transaction in
      let savepoint = try transaction.savepoint()
      putHalf(transaction)
      try transaction.rollback(to: savepoint)
      // What is refused before anything is done spoils nothing.
      #expect(throws: StorageError.self) { try transaction.put(key(4), bytes("d"), in: byAge) }
      try transaction.put(key(5), bytes("e"), in: people)
    }
    #expect(try store.head.tree(people)?.entryCount == 1)
    try store.close()
    #expect(try FileStore.verify(at: folder.store(), disk: SystemDisk()).isClean)
  }

  @Test("attributes of any size are not a change of a record", arguments: [1 << 20, (1 << 20) + 1, Limits.attributes])
  func attributes(size: Int) throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let attributes = [UInt8](repeating: 7, count: size)
    let number = try store.change { transaction in
      try transaction.createTree(people, kind: .records, attributes: attributes)
      try transaction.put(key(1), bytes("a"), in: people)
    }
    var cursor = try store.view(at: number).changes()
    #expect(try cursor.next()?.key.array == key(1))
    #expect(try cursor.next() == nil)
    #expect(try store.head.tree(people)?.attributes.array == attributes)
    _ = try store.compact(.last(1))
    #expect(try store.head.tree(people)?.attributes.array == attributes)
    try store.close()
    let report = try FileStore.verify(at: folder.store(), disk: SystemDisk())
    #expect(report.isClean, "\(report.findings)")
  }

  @Test("what a rollback took back of a large transaction is not a garbage behind its commit")
  func rolledBackSpill() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      let savepoint = try transaction.savepoint()
      try transaction.put(key(1), count: 20 << 20, in: people) { _, count in [UInt8](repeating: 7, count: count) }
      try transaction.rollback(to: savepoint)
      try transaction.put(key(2), bytes("small"), in: people)
    }
    try store.close()
    #expect(try FileStore.verify(at: folder.store(), disk: SystemDisk()).findings.isEmpty)
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    try again.change { try $0.put(key(3), bytes("more"), in: people) }
    #expect(again.openingReport.cutBytes == 0 && again.openingReport.keptAside == nil)
  }

  @Test("a cancelled transaction that had spilled leaves zeros behind")
  func cancelledSpill() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    let transaction = try store.beginBlocking()
    try transaction.put(key(1), count: 20 << 20, in: people) { _, count in [UInt8](repeating: 7, count: count) }
    transaction.cancel()
    try store.change { try $0.put(key(2), bytes("after"), in: people) }
    try store.close()
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    try again.change { try $0.put(key(3), bytes("more"), in: people) }
    #expect(again.openingReport.cutBytes == 0)
    #expect(try again.head.text(key(2)) == "after")
  }

  @Test("keys of up to 16 KiB are kept in order; longer keys and payloads are refused before anything is written")
  func keys() throws {
    let store = FileStore.memory()
    var expected: [[UInt8]] = []
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.createTree(byAge, kind: .entries)
      var random = RandomSource(seed: 11)
      for number in 0..<300 {
        let length = [1, 130, 4096, Limits.key][number % 4]
        var long = [UInt8](repeating: UInt8(truncatingIfNeeded: random.next() % 3), count: length)
        for place in 0..<min(length, 4) { long[length - 1 - place] = UInt8(truncatingIfNeeded: random.next()) }
        if try transaction.put(long, bytes("x"), in: people) == nil { expected.append(long) }
        try transaction.insert(long, .bytes(Bytes([UInt8](repeating: 1, count: Int(random.next() % 257)))), in: byAge)
      }
      #expect(throws: StorageError.keyTooLong(count: Limits.key + 1, limit: Limits.key)) {
        try transaction.put([UInt8](repeating: 0, count: Limits.key + 1), [], in: people)
      }
      #expect(throws: StorageError.payloadTooLong(count: 257, limit: 256)) {
        try transaction.insert([1], .bytes(Bytes([UInt8](repeating: 0, count: 257))), in: byAge)
      }
      #expect(throws: StorageError.valueTooLong(count: (1 << 30) + 1, limit: 1 << 30)) {
        try transaction.put([1], count: (1 << 30) + 1, in: people) { _, _ in [] }
      }
      #expect(throws: StorageError.valueTooLong(count: 3, limit: 5), "a piece is as long as the count says") {
        try transaction.put([1], count: 5, in: people) { _, _ in [1, 2, 3] }
      }
    }
    expected.sort { $0.lexicographicallyPrecedes($1) }
    var cursor = try #require(try store.head.tree(people)).cursor()
    try cursor.seekToStart()
    for key in expected {
      #expect(cursor.current?.key.array == key)
      try cursor.next()
    }
    #expect(try store.head.tree(byAge)?.entryCount == UInt64(expected.count))
    var random = RandomSource(seed: 4)
    for key in expected.shuffled(using: &random) {
      try store.change { try $0.delete(key, in: people) }
    }
    #expect(try store.head.tree(people)?.entryCount == 0)
    #expect(try store.head.tree(people)?.tombstones?.entryCount == UInt64(expected.count))
  }

  @Test("keys that share a long prefix, and then one that does not")
  func prefixes() throws {
    let store = FileStore.memory()
    try store.change { transaction in
      try transaction.createTree(byAge, kind: .entries)
      for number in 0..<400 { try transaction.insert([UInt8](repeating: 9, count: 500) + key(number), in: byAge) }
      try transaction.insert([1], in: byAge)
      try transaction.insert([9], in: byAge)
      try transaction.insert([200], in: byAge)
    }
    let tree = try #require(try store.head.tree(byAge))
    #expect(tree.entryCount == 403)
    #expect(try tree.rank(of: .bytes([UInt8](repeating: 9, count: 500) + key(399))) == 401)
    var cursor = tree.cursor()
    try cursor.seekToEnd()
    #expect(cursor.current?.key.array == [200])
  }

  @Test("10,000 trees")
  func manyTrees() throws {
    let store = FileStore.memory()
    try store.change { transaction in
      for number in 0..<10_000 { try transaction.createTree(TreeName(bytes("tree \(number)")), kind: .records) }
    }
    let before = store.counts.nodeBytesWritten
    try store.change { try $0.put(key(1), bytes("a"), in: TreeName(bytes("tree 7777"))) }
    // The catalog is a tree like others: one changed path of it, and the new leaf.
    #expect(store.counts.nodeBytesWritten - before < 8192)
    #expect(try store.head.trees().count == 10_000)
    #expect(try store.head.trees(prefix: bytes("tree 777")).count == 11)
    #expect(try store.head.text(key(1), in: TreeName(bytes("tree 7777"))) == "a")
  }
}
