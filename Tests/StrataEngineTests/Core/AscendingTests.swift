import Testing

@testable import StrataEngine

/// Runs of entries in the order of their keys, beside the same entries set one by one.
@Suite("Entries set in the order of their keys")
struct AscendingTests {
  private let entries = TreeName(Array("entries".utf8))

  private func key(_ number: Int, length: Int = 12) -> [UInt8] {
    let digits = String(1_000_000 + number)
    return Array(digits.utf8) + [UInt8](repeating: 0x61, count: length - digits.utf8.count)
  }

  private func payload(_ number: Int, _ record: RecordReference? = nil) -> Payload {
    switch number % 7 {
    case 0: record.map { .record($0) } ?? .none
    case 1: .bytes(Bytes(key(number)))
    default: .none
    }
  }

  private typealias Run = [(key: [UInt8], payload: Payload)]

  private func setAscending(_ run: Run, in transaction: FileTransaction) throws {
    var rest = run[...]
    // The key of an entry is valid only until the next one is asked for.
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Limits.key + 1, alignment: 8)
    defer { memory.deallocate() }
    try transaction.insert(
      ascending: {
        guard let (key, payload) = rest.popFirst() else { return nil }
        memory.copyBytes(from: key)
        return NewEntry(UnsafeRawBufferPointer(rebasing: memory[..<key.count]), payload)
      }, in: entries)
  }

  private func setEach(_ run: Run, in transaction: FileTransaction) throws {
    for (key, payload) in run { try transaction.insert(key, payload, in: entries) }
  }

  private func store(_ first: Run) throws -> (store: FileStore, disk: MemoryDisk) {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "/store", options: StoreOptions(), disk: disk)
    let transaction = try store.beginBlocking()
    try transaction.createTree(entries, kind: .entries)
    try setEach(first, in: transaction)
    try transaction.commit()?.wait()
    return (store, disk)
  }

  private func contents(_ tree: Tree?) throws -> [[UInt8]: Payload] {
    var cursor = try #require(tree).cursor()
    try cursor.seek(rank: 0)
    var found: [[UInt8]: Payload] = [:]
    var last: [UInt8] = []
    while let entry = cursor.current {
      #expect(last.lexicographicallyPrecedes(entry.key.array))
      last = entry.key.array
      found[last] = entry.payload
      try cursor.next()
    }
    #expect(tree?.entryCount == UInt64(found.count))
    return found
  }

  @Test(
    "the tree is what it is if they are set one by one: in an empty one, behind others, between them, over them, in no order, with long keys, and with references",
    arguments: ["empty", "behind", "between", "over", "repeated", "unordered", "long keys", "references"])
  func same(_ kind: String) throws {
    let numbers = 0..<6_000
    let long = kind == "long keys" ? 700 : 12
    var first: Run = []
    var run: Run = numbers.map { (key($0, length: long + $0 % 3 * long / 4), payload($0)) }
    switch kind {
    case "behind": first = (0..<500).map { (key($0 - 1_000), payload($0)) }
    case "between": first = (0..<500).map { (key($0 * 20), .none) } + [(key(9_000), .none)]
    case "over": first = numbers.map { (key($0), payload($0 + 1)) }
    case "repeated": run = run.flatMap { [($0.key, .none), $0] }
    case "unordered": run = numbers.map { (key($0 * 2_741 % 6_000), payload($0)) }
    default: break
    }
    let (ascending, disk) = try store(first)
    let (oneByOne, _) = try store(first)
    let transaction = try ascending.beginBlocking()
    let other = try oneByOne.beginBlocking()
    if kind == "references" {
      for transaction in [transaction, other] {
        try transaction.createTree(people, kind: .records)
        try transaction.put(key(1), key(2), in: people)
      }
      let reference = try transaction.currentReference(of: key(1), in: people)
      run = numbers.map { (key($0), payload($0, reference)) }
    }
    let early = try transaction.tree(entries)
    let before = try contents(early)
    try setAscending(run, in: transaction)
    try setEach(run, in: other)
    let expected = try contents(other.tree(entries))
    #expect(try contents(transaction.tree(entries)) == expected)
    #expect(try contents(early) == before, "a state of the transaction changed after it was taken")
    try transaction.commit()?.wait()
    #expect(try contents(ascending.head.tree(entries)) == expected)
    #expect(try FileStore.verify(at: "/store", disk: disk) { _ in true }.isClean)
  }

  @Test("a rollback takes a run back, and the next one goes in")
  func rollback() throws {
    let (store, disk) = try store([])
    let transaction = try store.beginBlocking()
    try setAscending((0..<900).map { (key($0), payload($0)) }, in: transaction)
    let savepoint = try transaction.savepoint()
    let kept = try contents(transaction.tree(entries))
    try setAscending((900..<20_000).map { (key($0), payload($0)) }, in: transaction)
    try transaction.rollback(to: savepoint)
    #expect(try contents(transaction.tree(entries)) == kept)
    try setAscending((900..<1_000).map { (key($0), payload($0)) }, in: transaction)
    try transaction.commit()?.wait()
    #expect(try contents(store.head.tree(entries)).count == 1_000)
    #expect(try FileStore.verify(at: "/store", disk: disk) { _ in true }.isClean)
  }

  @Test("an entry that cannot be set ends the run with its error, and those before it are set")
  func refused() throws {
    let (store, _) = try store([])
    let transaction = try store.beginBlocking()
    let tooLong = key(700, length: Limits.key + 1)
    #expect(throws: StorageError.keyTooLong(count: tooLong.count, limit: Limits.key)) {
      try setAscending((0..<700).map { (key($0), payload($0)) } + [(tooLong, .none)], in: transaction)
    }
    let tooMuch = [UInt8](repeating: 1, count: Limits.payload + 1)
    #expect(throws: StorageError.payloadTooLong(count: tooMuch.count, limit: Limits.payload)) {
      try setAscending([(key(800), .bytes(Bytes(tooMuch)))], in: transaction)
    }
    try transaction.commit()?.wait()
    #expect(try contents(store.head.tree(entries)).count == 700)
  }

  @Test("a run into a tree of records, or into one of the caller's order, is refused")
  func wrongTree() throws {
    let store = FileStore.memory()
    let transaction = try store.beginBlocking()
    for (kind, order) in [(TreeKind.records, TreeOrder.bytes), (.entries, .caller)] {
      try transaction.createTree(entries, kind: kind, order: order)
      #expect(throws: StorageError.self) { try setAscending([(key(1), .none)], in: transaction) }
      try transaction.dropTree(entries)
    }
  }

  @Test("the new nodes of a run take little memory, however many entries come")
  func memory() throws {
    let (store, _) = try store([])
    let transaction = try store.beginBlocking()
    try setAscending((0..<100_000).map { (key($0), .none) }, in: transaction)
    #expect(transaction.state.pointee.trees.reduce(0) { $0 + $1.primary.freshBytes } < 1 << 20)
    transaction.cancel()
  }
}
