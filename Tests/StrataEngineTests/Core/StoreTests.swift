import Testing

@testable import StrataEngine

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

extension Tree {
  /// The number of entries, which a file tells without reading.
  var entryCount: UInt64 { (try? count) ?? .max }
}

extension FileStore {
  /// Begins a transaction as a task does, which holds no thread while it waits for its turn.
  func begin() async throws -> FileTransaction {
    try await writing.acquireTurn()
    return try await beginTaken()
  }

  /// The number of the newest commit, of whichever branch.
  var newestNumber: UInt64 { publication.current.newest.number }

  /// One durable commit.
  @discardableResult
  func change(_ info: CommitInfo = CommitInfo(), on base: UInt64? = nil, _ body: (FileTransaction) throws -> Void)
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
    let store = try FileStore.create(at: folder.store(), options: StoreOptions(program: "test", author: "Ann"))
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

    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
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
    let store = FileStore.memory()
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
    let store = FileStore.memory()
    let transaction = try store.beginBlocking()
    #expect(try transaction.commit() == nil)
    #expect(store.head.commit.number == 0)
  }

  @Test("bringing back a tree that was never there changes nothing and commits nothing")
  func restoredNothing() throws {
    let store = FileStore.memory()
    try store.change { try $0.createTree(people, kind: .records) }
    let transaction = try store.beginBlocking()
    try transaction.restore([byAge], from: try store.view(at: 1))
    #expect(!transaction.state.pointee.isChanged)
    #expect(try transaction.commit() == nil)
  }

  @Test("a snapshot of a transaction's tree stays as it was")
  func snapshot() throws {
    let store = FileStore.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("Ann"), in: people)
      let before = try #require(try transaction.tree(people))
      try transaction.put(key(2), bytes("Bob"), in: people)
      try transaction.put(key(1), bytes("Anna"), in: people)
      #expect(before.entryCount == 1)
      let record = try #require(try before.find(.bytes(key(1)))?.payload.record)
      #expect(try before.value(of: record).text == "Ann")
      #expect(try transaction.tree(people)?.entryCount == 2)
    }
    #expect(try store.head.text(key(1)) == "Anna")
  }

  @Test("a rollback undoes what came after the savepoint, and only that")
  func savepoints() throws {
    let store = FileStore.memory()
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("Ann"), in: people)
      let outer = try transaction.savepoint()
      try transaction.put(key(2), bytes("Bob"), in: people)
      let inner = try transaction.savepoint()
      try transaction.put(key(3), bytes("Cem"), in: people)
      try transaction.delete(key(1), in: people)
      try transaction.rollback(to: inner)
      #expect(try transaction.tree(people)?.entryCount == 2)
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
    let store = try FileStore.create(at: "dropped", options: StoreOptions(), disk: disk)
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
    #expect(try FileStore.verify(at: "dropped", disk: disk).isClean)
  }

  @Test("a commit that drops a tree counts its records as deleted, and is where their versions end")
  func droppedRecords() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "dropped", options: StoreOptions(), disk: disk)
    let others = TreeName(Array("Dothers".utf8))
    for name in [people, others] {
      try store.change { transaction in
        try transaction.createTree(name, kind: .records)
        for number in 1...3 { try transaction.put(key(number), bytes("old"), in: name) }
      }
    }
    try store.change { transaction in
      try transaction.put(key(1), bytes("new"), in: others)
      try transaction.dropTree(people)
    }
    let counts = store.head.commit.counts.sorted { $0.tree < $1.tree }
    #expect(counts.map(\.tree) == [people, others].sorted())
    #expect(counts.first { $0.tree == people }.map { [$0.inserted, $0.updated, $0.deleted] } == [0, 0, 3])
    #expect(counts.first { $0.tree == others }.map { [$0.inserted, $0.updated, $0.deleted] } == [0, 1, 0])
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(2), bytes("again"), in: people)
    }
    var versions = try store.head.versions(of: .bytes(key(2)), in: people)
    var commits: [UInt64] = []
    while let version = try versions.next() { commits.append(version.commit) }
    #expect(commits == [4, 3, 1])
    try store.close()
    #expect(try FileStore.verify(at: "dropped", disk: disk).isClean)
  }

  @Test("several changes of one record in a commit are one change")
  func superseded() throws {
    let store = FileStore.memory()
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
    var cursor = try store.view(at: second).changes()
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
    let store = FileStore.memory()
    try store.change(CommitInfo(names: ["start": 0])) { try $0.createTree(people, kind: .records) }
    #expect(try store.names == ["start": 1])
    try store.change { try $0.put(key(1), bytes("a"), in: people) }
    try store.change(CommitInfo(names: ["start": 2, "first": 1])) { _ in }
    #expect(try store.names == ["start": 2, "first": 1])
    try store.change(CommitInfo(names: ["first": nil])) { _ in }
    #expect(try store.names == ["start": 2])
    #expect(store.head.commit.names == [NameChange(name: "first", commit: nil)])
  }

  @Test("a record that an earlier commit deleted, and one puts twice, is inserted anew")
  func insertedAnew() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "anew", options: StoreOptions(), disk: disk)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("a"), in: people)
    }
    try store.change { try $0.delete(key(1), in: people) }
    let number = try store.change { transaction in
      for value in ["x", "y"] { try transaction.put(key(1), bytes(value), in: people) }
    }
    var cursor = try store.view(at: number).changes()
    let change = try #require(try cursor.next())
    #expect(change.isInsertion && change.replacesDelete)
    #expect(try store.commit(number).counts.map { [$0.inserted, $0.updated, $0.deleted] } == [[1, 0, 0]])
    // Taken back by its own commit, it is as deleted as it was.
    let transaction = try store.beginBlocking()
    try transaction.delete(key(1), in: people)
    try transaction.put(key(1), bytes("z"), in: people)
    _ = try transaction.commit()
    try store.close()
    #expect(try FileStore.verify(at: "anew", disk: disk).findings.isEmpty)
  }

  @Test("the payload that a key has is not a change")
  func samePayload() throws {
    let store = FileStore.memory()
    let payload = Payload.bytes(Bytes(bytes("payload")))
    try store.change { transaction in
      try transaction.createTree(byAge, kind: .entries)
      for number in 0..<200 { try transaction.insert(key(number), payload, in: byAge) }
    }
    let transaction = try store.beginBlocking()
    let isNew = try transaction.insert(key(7), payload, in: byAge)
    #expect(!isNew)
    #expect(!transaction.state.pointee.isChanged)
    #expect(try transaction.commit() == nil)
  }

  @Test("to attributes that were set twice in one commit the first ones are nothing")
  func attributes() throws {
    let store = FileStore.memory()
    try store.change { try $0.createTree(people, kind: .records, attributes: bytes("first")) }
    try store.change { transaction in
      for text in ["second", "third"] { try transaction.setAttributes(bytes(text), of: people) }
    }
    #expect(try store.head.tree(people)?.attributes.text == "third")
    let reference = try #require(try store.head.catalogEntry(people)).attributes
    #expect(try store.head.file.entry(reference).entry.replaced == nil)
    #expect(store.head.commit.liveBytes == (try LiveBytes(store.head).count()))
  }

  @Test("a commit that says what it was made on is made, though nothing else is in it")
  func parents() throws {
    let store = FileStore.memory()
    try store.change { try $0.createTree(people, kind: .records) }
    #expect(try store.change(CommitInfo(action: "seen", parents: [1])) { _ in } == 2)
    #expect(store.head.commit.parents == [1])
    #expect(throws: StorageError.noSuchCommit(number: 1)) {
      try store.change(CommitInfo(parents: [1])) { try $0.dropTree(people) }
    }
    #expect(store.head.commit.number == 2)
  }

  @Test("an action that is too long is shortened at a letter, and its commit is written")
  func longAction() throws {
    let store = FileStore.memory()
    for text in ["é", "e\u{301}", "👩‍👩‍👧‍👦"] {
      let action = String(repeating: text, count: 3_000)
      try store.change(CommitInfo(action: action)) { try $0.createTree(TreeName([UInt8](text.utf8)), kind: .records) }
      let written = store.head.commit.action
      #expect(written.hasSuffix("…") && action.hasPrefix(written.dropLast()))
      #expect((4_096 - 3 - text.utf8.count...4_096).contains(written.utf8.count))
    }
  }

  @Test("a text that is too long is refused, and nothing of its commit is kept")
  func texts() throws {
    let store = FileStore.memory()
    try store.change { try $0.createTree(people, kind: .records) }
    let (longest, long) = (String(repeating: "é", count: 2_048), String(repeating: "é", count: 2_049))
    for (what, info) in [("program", CommitInfo(program: long)), ("author", CommitInfo(author: long))] {
      #expect(throws: StorageError.textTooLong(what: what, limit: 4_096)) {
        try store.change(info) { try $0.put(key(1), bytes("a"), in: people) }
      }
    }
    for name in ["", "head"] {
      #expect(throws: StorageError.invalidName(name)) { try store.change(CommitInfo(names: [name: 0])) { _ in } }
    }
    #expect(throws: StorageError.textTooLong(what: "name", limit: 1_024)) {
      try store.change(CommitInfo(names: [String(repeating: "n", count: 1_025): 0])) { _ in }
    }
    #expect(try store.head.commit.number == 1 && store.head.text(key(1)) == nil)
    try store.change(CommitInfo(action: longest, program: longest, author: longest)) {
      try $0.put(key(1), bytes("a"), in: people)
    }
    #expect(store.head.commit.action == longest)
  }

  @Test("a cursor that has left an end comes back from there")
  func ends() throws {
    let store = FileStore.memory()
    try store.change { transaction in
      try transaction.createTree(byAge, kind: .entries)
      for number in 0..<200 { try transaction.insert(key(number), in: byAge) }
    }
    var cursor = try #require(try store.head.tree(byAge)).cursor()
    for _ in 0..<2 {
      try cursor.seekToStart()
      try cursor.previous()
      #expect(cursor.current == nil)
      try cursor.previous()
      try cursor.next()
      #expect(cursor.current?.key.array == key(0))
      try cursor.seekToEnd()
      try cursor.next()
      #expect(cursor.current == nil)
      try cursor.next()
      try cursor.previous()
      #expect(cursor.current?.key.array == key(199))
    }
  }

  @Test("the first commit of a session that finds a closed store costs one sync, as every other does")
  func firstSync() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "synced", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    try store.close()
    let again = try FileStore.open(at: "synced", options: StoreOptions(), disk: disk)
    for number in 1...3 as ClosedRange<UInt64> {
      try again.change { try $0.put(key(1), bytes("\(number)"), in: people) }
      #expect(again.counts.syncs == number)
    }
  }

  @Test("what a writer was busy with is told no more once it has let go of the lock")
  func activity() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "busy", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    store.setActivity(bytes("busy"))
    let file = NoteFile.activity(disk, "busy")
    let note = try #require(try file.read())
    #expect(note.number == store.writing.session && note.bytes == bytes("busy"))
    store.releaseLock()
    #expect(try file.read() == nil)
  }

  @Test("what came of a work is told until the next, whoever has let go of the lock")
  func leftActivity() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "busy", options: StoreOptions(), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    store.setActivity(bytes("busy"))
    store.leaveActivity(bytes("done"))
    store.releaseLock()
    #expect(store.activity == bytes("done"))
    let other = try FileStore.open(at: "busy", options: StoreOptions(), disk: disk)
    #expect(other.activity == bytes("done"))
    try other.change { try $0.put(key(1), bytes("a"), in: people) }
    other.setActivity(bytes("next"))
    #expect(try NoteFile.activity(disk, "busy").read()?.bytes == bytes("next"))
    other.releaseLock()
    #expect(store.activity == nil)
  }

  @Test("the result of work is no longer shown when the next work has begun, even if that is soon and short")
  func repeatedWork() throws {
    let disk = MemoryDisk()
    let store = try FileStore.create(at: "busy", options: StoreOptions(idleSeconds: 60), disk: disk)
    try store.change { try $0.createTree(people, kind: .records) }
    store.setActivity(bytes("busy"))
    store.leaveActivity(bytes("cancelled"))
    #expect(store.activity == bytes("cancelled"))
    store.setActivity(bytes("again"))
    store.setActivity(nil)
    #expect(store.activity == nil)
  }

  @Test("a commit that brings a record back and then writes it is one version of it")
  func restoredAndWritten() throws {
    let store = FileStore.memory()
    try store.change { try $0.createTree(people, kind: .records) }
    for text in ["a", "b"] { try store.change { try $0.put(key(1), bytes(text), in: people) } }
    let old = try store.view(at: 2)
    try store.change { transaction in
      try transaction.restore([people], from: old)
      try transaction.put(key(1), bytes("c"), in: people)
    }
    var cursor = try store.head.versions(of: .bytes(key(1)), in: people)
    var found: [String] = []
    while let version = try cursor.next() { found.append("#\(version.commit) \(version.isRestored)") }
    #expect(found == ["#4 false", "#3 false", "#2 false"])
  }
}

extension Change {
  /// Whether the key was not there before.
  fileprivate var isInsertion: Bool { kind == .put && (replaced == nil || replacesDelete) }
}
