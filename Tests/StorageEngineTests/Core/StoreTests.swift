import Testing

@testable import StorageEngine

let people = TreeName(Array("Dpeople".utf8))
let byAge = TreeName(Array("Ipeople\0age".utf8))

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
func key(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) } }

extension Bytes {
  var text: String { String(decoding: array, as: UTF8.self) }
}

extension View {
  func text(_ key: [UInt8], in name: TreeName = people) throws -> String? {
    guard let tree = try tree(name), let entry = try tree.find(.bytes(key)), let record = entry.payload.record else {
      return nil
    }
    return try tree.value(of: record).text
  }
}

extension Store {
  /// The number of the newest commit, of whichever branch.
  var newestNumber: UInt64 { publication.current.newest.number }

  /// One durable commit.
  @discardableResult
  func change(_ info: CommitInfo = CommitInfo(), on base: UInt64? = nil, _ body: (WriteTransaction) throws -> Void)
    throws -> UInt64
  {
    let transaction = try beginBlocking(on: base)
    try body(transaction)
    let pending = try #require(try transaction.commit(info))
    try pending.wait()
    return pending.number
  }
}

@Suite("A store")
struct StoreTests {
  @Test("what is committed is there after opening again")
  func reopen() throws {
    let folder = TemporaryFolder()
    let store = try Store.create(at: folder.store(), options: StoreOptions(program: "test", author: "Ann"))
    #expect(store.head.commit.number == 0)
    try store.change(CommitInfo(action: "first")) { transaction in
      try transaction.createTree(people, kind: .records, attributes: bytes("{}"))
      try transaction.put(key(1), bytes("Ann"), in: people)
      try transaction.put(key(2), bytes("Bob"), in: people)
    }
    try store.change(CommitInfo(action: "second")) { transaction in
      try transaction.put(key(1), bytes("Anna"), in: people)
      try transaction.delete(key(2), in: people)
    }
    #expect(try store.head.text(key(1)) == "Anna")
    try store.close()

    let again = try Store.open(at: folder.store(), options: StoreOptions())
    #expect(again.head.commit.number == 2)
    #expect(again.head.commit.action == "second")
    #expect(again.head.commit.program == "test")
    #expect(again.head.commit.author == "Ann")
    #expect(again.head.commit.counts.map { [$0.inserted, $0.updated, $0.deleted] } == [[0, 1, 1]])
    #expect(try again.head.text(key(1)) == "Anna")
    #expect(try again.head.text(key(2)) == nil)
    #expect(try again.head.tree(people)?.attributes.text == "{}")
    #expect(try again.view(at: 1).text(key(2)) == "Bob")
    #expect(try again.view(at: 1).text(key(1)) == "Ann")
    #expect(throws: StorageError.noSuchCommit(number: 3)) { try again.view(at: 3) }
  }

  @Test("a cancelled transaction leaves nothing")
  func cancel() throws {
    let store = Store.memory()
    try store.change { try $0.createTree(people, kind: .records) }
    let transaction = try store.beginBlocking()
    try transaction.put(key(1), bytes("Ann"), in: people)
    transaction.cancel()
    #expect(throws: StorageError.transactionEnded) { try transaction.put(key(2), bytes("Bob"), in: people) }
    #expect(try store.head.text(key(1)) == nil)
    #expect(store.head.commit.number == 1)
  }

  @Test("a transaction without changes commits nothing")
  func nothing() throws {
    let store = Store.memory()
    let transaction = try store.beginBlocking()
    #expect(try transaction.commit() == nil)
    #expect(store.head.commit.number == 0)
  }

  @Test("bringing back a tree that was never there changes nothing and commits nothing")
  func restoredNothing() throws {
    let store = Store.memory()
    try store.change { try $0.createTree(people, kind: .records) }
    let transaction = try store.beginBlocking()
    try transaction.restore([byAge], from: try store.view(at: 1))
    #expect(!transaction.isChanged)
    #expect(try transaction.commit() == nil)
  }

  @Test("a snapshot of a transaction's tree stays as it was")
  func snapshot() throws {
    let store = Store.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("Ann"), in: people)
      let before = try #require(try transaction.tree(people))
      try transaction.put(key(2), bytes("Bob"), in: people)
      try transaction.put(key(1), bytes("Anna"), in: people)
      #expect(before.count == 1)
      let record = try #require(try before.find(.bytes(key(1)))?.payload.record)
      #expect(try before.value(of: record).text == "Ann")
      #expect(try transaction.tree(people)?.count == 2)
    }
    #expect(try store.head.text(key(1)) == "Anna")
  }

  @Test("a rollback undoes what came after the savepoint, and only that")
  func savepoints() throws {
    let store = Store.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("Ann"), in: people)
      let outer = try transaction.savepoint()
      try transaction.put(key(2), bytes("Bob"), in: people)
      let inner = try transaction.savepoint()
      try transaction.put(key(3), bytes("Cem"), in: people)
      try transaction.delete(key(1), in: people)
      try transaction.rollback(to: inner)
      #expect(try transaction.tree(people)?.count == 2)
      try transaction.rollback(to: outer)
      try transaction.put(key(4), bytes("Dan"), in: people)
    }
    #expect(try store.head.text(key(1)) == "Ann")
    #expect(try store.head.text(key(2)) == nil)
    #expect(try store.head.text(key(3)) == nil)
    #expect(try store.head.text(key(4)) == "Dan")
    #expect(store.head.commit.counts.map { [$0.inserted, $0.updated, $0.deleted] } == [[2, 0, 0]])
  }

  @Test("a tree that is dropped, made anew and dropped again in one commit is gone; made anew once more it is new")
  func droppedTwice() throws {
    let disk = MemoryDisk()
    let store = try Store.create(at: "dropped", options: StoreOptions(), disk: disk)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("old"), in: people)
    }
    let filled = store.head.commit.liveBytes
    for isThere in [false, true] {
      try store.change(on: 1) { transaction in
        for _ in 0..<2 {
          try transaction.dropTree(people)
          try transaction.createTree(people, kind: .records)
          try transaction.put(key(2), bytes("new"), in: people)
        }
        if !isThere { try transaction.dropTree(people) }
      }
      let view = try store.view(at: store.publication.current.newest.number)
      #expect(try view.trees() == (isThere ? [people] : []))
      #expect(try view.text(key(1)) == nil)
      #expect(try view.text(key(2)) == (isThere ? "new" : nil))
      #expect(view.commit.liveBytes == (isThere ? filled : 0))
    }
    try store.close()
    #expect(try Store.verify(at: "dropped", disk: disk).isClean)
  }

  @Test("several changes of one record in a commit are one change")
  func superseded() throws {
    let store = Store.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("a"), in: people)
      try transaction.put(key(2), bytes("b"), in: people)
    }
    let second = try store.change { transaction in
      for value in ["x", "y", "z"] { try transaction.put(key(1), bytes(value), in: people) }
      try transaction.put(key(3), bytes("gone"), in: people)
      try transaction.delete(key(3), in: people)
      try transaction.delete(key(2), in: people)
      try transaction.put(key(2), bytes("back"), in: people)
    }
    let commit = try store.commit(second)
    #expect(commit.counts.map { [$0.inserted, $0.updated, $0.deleted] } == [[0, 2, 0]])
    var cursor = try store.changes(of: commit)
    var found: [String] = []
    while let change = try cursor.next() {
      found.append("\(change.key.array.last ?? 0) \(change.kind) \(change.isInsertion)")
    }
    #expect(found == ["1 put false", "2 put false"])
    var versions = try store.head.versions(of: .bytes(key(1)), in: people)
    var history: [UInt64] = []
    while let version = try versions.next() { history.append(version.commit) }
    #expect(history == [2, 1])
  }

  @Test("names are set, moved and removed by commits")
  func names() throws {
    let store = Store.memory()
    try store.change(CommitInfo(names: ["start": 0])) { try $0.createTree(people, kind: .records) }
    #expect(try store.names == ["start": 1])
    try store.change { try $0.put(key(1), bytes("a"), in: people) }
    try store.change(CommitInfo(names: ["start": 2, "first": 1])) { _ in }
    #expect(try store.names == ["start": 2, "first": 1])
    try store.change(CommitInfo(names: ["first": nil])) { _ in }
    #expect(try store.names == ["start": 2])
    #expect(store.head.commit.names == [NameChange(name: "first", commit: nil)])
  }
}
