import Testing

@testable import StrataEngine

@Suite("What a compaction makes of commits that it leaves out")
struct SquashingTests {
  private let folder = TemporaryFolder()

  private func put(_ id: Int, _ text: String, in store: FileStore) throws {
    try store.change { transaction in
      try transaction.put(key(id), bytes(text), in: people)
      let reference = try #require(try transaction.currentReference(of: key(id), in: people))
      try transaction.insert(bytes("by ") + key(id), .record(reference), in: byAge)
    }
  }

  private func versions(of id: Int, _ view: View) throws -> [String] {
    var found: [String] = []
    var cursor = try view.versions(of: .bytes(key(id)), in: people)
    while let version = try cursor.next() {
      let text = try version.change.flatMap { try $0.kind == .delete ? nil : view.value(of: $0.reference).text }
      found.append("#\(version.commit) \(text ?? "-")")
    }
    return found
  }

  private func changes(of view: View) throws -> [[UInt8]] {
    var keys: [[UInt8]] = []
    var cursor = try view.changes()
    while let change = try cursor.next() { keys.append(change.key.array) }
    return keys
  }

  private func verify() throws {
    let report = try FileStore.verify(at: folder.store(), disk: SystemDisk())
    #expect(report.findings.isEmpty, "\(report.findings)")
  }

  @Test(
    "a record that was changed and changed back between two kept commits did not change: no count, no version, no difference"
  )
  func changedBack() throws {
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.createTree(byAge, kind: .entries)
    }
    for id in 1...4 { try put(id, "first", in: store) }
    let first = store.head.commit.number
    try store.change(CommitInfo(names: ["first": first])) { _ in }
    // 1 is changed back, 2 deleted and brought back, 3 is changed to another text of that length, 4 stays.
    for id in 1...3 { try put(id, "second", in: store) }
    try store.change { try $0.delete(key(2), in: people) }
    for id in 1...2 { try put(id, "first", in: store) }
    try put(3, "third", in: store)
    try put(5, "fifth", in: store)
    let last = store.head.commit.number
    try put(1, "last", in: store)
    try put(2, "first", in: store)
    let newest = store.head.commit.number
    let before = store.head

    _ = try store.compact(.last(3))
    let record = try store.commit(last)
    #expect(record.parents == [first] && record.flags.contains(.squashed))
    let count = try #require(record.counts.first { $0.tree == people })
    #expect([count.inserted, count.updated, count.deleted] == [1, 1, 0])
    #expect(try changes(of: store.view(at: last)) == [key(3), key(5)])
    // A view from before the compaction reads the file of then.
    #expect(try changes(of: before) == [key(2)])
    var cursor = try difference(store.view(at: first), store.view(at: last), tree: people)
    var differences: [[UInt8]] = []
    while let found = try cursor.next() { differences.append(found.key.array) }
    #expect(differences == [key(3), key(5)])

    for view in [try store.view(at: last), store.head] {
      for id in 1...5 {
        let entry = try #require(try view.tree(byAge)?.find(.bytes(bytes("by ") + key(id)))?.payload.record)
        #expect(try view.value(of: entry).text == view.text(key(id)))
      }
      #expect(view.commit.liveBytes == (try LiveBytes(view).count()))
    }
    #expect(try versions(of: 1, store.head) == ["#\(newest - 1) last", "#\(first) first"])
    // What a kept commit wrote itself is a version, also where it says what was there.
    #expect(try versions(of: 2, store.head) == ["#\(newest) first", "#\(first) first"])
    #expect(try versions(of: 3, store.head) == ["#\(last) third", "#\(first) first"])
    try store.close()
    try verify()
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    _ = try again.compact(.last(1))
    #expect(try again.commit(newest).parents == [first])
    #expect(try versions(of: 1, again.head) == ["#\(newest) last", "#\(first) first"])
    #expect(try versions(of: 2, again.head) == ["#\(first) first"])
    try again.close()
    try verify()
  }

  @Test("the records of a tree that a left-out commit dropped count as deleted in the one that stands for it")
  func dropped() throws {
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let other = TreeName(bytes("other"))
    let first = try store.change(CommitInfo(names: ["first": 0])) { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.createTree(other, kind: .records)
      for id in 1...3 { try transaction.put(key(id), bytes("\(id)"), in: people) }
    }
    let dropping = try store.change { try $0.dropTree(people) }
    let counted = try store.commit(dropping).counts
    #expect(counted.map(\.deleted) == [3])
    let last = try store.change { try $0.put(key(1), bytes("x"), in: other) }
    _ = try store.compact(.last(1))
    let record = try store.commit(last)
    #expect(record.parents == [first])
    #expect(record.counts.filter { $0.tree == people } == counted)
    #expect(record.counts.map(\.inserted).reduce(0, +) == 1)
    #expect(try changes(of: store.head) == [key(1)])
    try store.close()
    try verify()
  }

  @Test("a tree that left-out commits dropped and made again counts what it lost and what it has")
  func madeAgain() throws {
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    func fill(_ identifiers: ClosedRange<Int>) throws {
      try store.change(CommitInfo(names: identifiers.count == 3 ? ["first": 0] : [:])) { transaction in
        try transaction.createTree(people, kind: .records)
        for id in identifiers { try transaction.put(key(id), bytes("\(id)"), in: people) }
      }
    }
    try fill(1...3)
    try store.change { try $0.dropTree(people) }
    try fill(1...2)
    let last = try store.change { try $0.put(key(9), bytes("9"), in: people) }
    _ = try store.compact(.last(1))
    let record = try store.commit(last)
    #expect(record.flags.contains(.squashed))
    #expect(record.counts.map(\.deleted).reduce(0, +) == 3 && record.counts.map(\.inserted).reduce(0, +) == 3)
    try store.close()
    try verify()
  }

  @Test("a difference across a compaction tells of a value that only became longer, or shorter")
  func lengths() throws {
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      for id in 1...3 { try transaction.put(key(id), bytes("abc"), in: people) }
    }
    let old = store.head
    try store.change { transaction in
      try transaction.put(key(1), bytes("abcdef"), in: people)
      try transaction.put(key(2), bytes("ab"), in: people)
    }
    _ = try store.compact(.all)
    for (left, right) in [(old, store.head), (store.head, old)] {
      var keys: [[UInt8]] = []
      var cursor = try difference(left, right, tree: people)
      while let found = try cursor.next() { keys.append(found.key.array) }
      #expect(keys == [key(1), key(2)])
    }
  }

  @Test("a view that was taken before a compaction can still be brought back, where its commit was kept")
  func restoredAcross() throws {
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.createTree(byAge, kind: .entries)
    }
    for id in 1...40 { try put(id, "first", in: store) }
    let pruned = store.head
    for id in 1...40 { try put(id, "second", in: store) }
    let kept = store.head
    try put(1, "third", in: store)
    _ = try store.compact(.last(2))
    for names in [nil, [people, byAge]] as [[TreeName]?] {
      try store.change { try $0.restore(names, from: kept) }
      for id in 1...40 { #expect(try store.head.text(key(id)) == "second") }
      try put(1, "third", in: store)
    }
    let transaction = try store.beginBlocking()
    #expect(throws: StorageError.prunedCommit(number: pruned.commit.number, nearest: kept.commit.number)) {
      try transaction.restore(nil, from: pruned)
    }
    transaction.cancel()
    try store.close()
    try verify()
  }

  /// What a reader of the history sees of a commit.
  private func told(_ record: CommitRecord) -> String {
    "#\(record.number) \(record.parents) \(record.action) \(record.flags) \(record.names) undoes \(record.undoes ?? 0), restores "
      + "\(record.restores ?? 0), restored last by \(record.links.lastRestore?.number ?? 0), head \(record.links.head.number)"
      + " \(record.counts)"
  }

  @Test("where every commit is kept, each tells what it told: restores, what comes behind them, forks and merges")
  func everyRecord() throws {
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.createTree(byAge, kind: .entries)
    }
    try put(1, "a", in: store)
    try put(1, "b", in: store)
    let old = try store.view(at: 2)
    try store.change { try $0.restore([people], from: old) }
    try put(2, "behind", in: store)
    let fork = try store.change(CommitInfo(names: ["side": 0]), on: 3) { try $0.put(key(3), bytes("c"), in: people) }
    try store.change(CommitInfo(parents: [5, fork])) { try $0.put(key(3), bytes("c"), in: people) }
    try store.change(CommitInfo(action: "name", names: ["two": 2, "side": nil])) { _ in }
    let before = try (1...store.newestNumber).map { told(try store.commit($0)) }
    _ = try store.compact(.all)
    #expect(try (1...store.newestNumber).map { told(try store.commit($0)) } == before)
    try store.close()
    try verify()
  }

  @Test("a merge of two branches that are left out goes on the one commit that both began on")
  func merge() throws {
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    let base = try store.change(CommitInfo(names: ["base": 0])) { try $0.createTree(people, kind: .records) }
    let left = try store.change { try $0.put(key(1), bytes("left"), in: people) }
    let right = try store.change(CommitInfo(movesHead: false), on: base) {
      try $0.put(key(2), bytes("right"), in: people)
    }
    let merge = try store.change(CommitInfo(parents: [left, right], movesHead: true), on: left) {
      try $0.put(key(2), bytes("right"), in: people)
    }
    _ = try store.compact(.last(1))
    #expect(try store.commit(merge).parents == [base])
    #expect(try store.head.commit.number == merge && store.head.text(key(1)) == "left")
    try store.close()
    try verify()
  }
}
