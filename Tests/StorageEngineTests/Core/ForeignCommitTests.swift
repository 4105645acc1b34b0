import Testing

@testable import StorageEngine

@Suite("Commits of other stores")
struct ForeignCommitTests {
  private func expectClean(_ folder: TemporaryFolder, _ place: SourceLocation = #_sourceLocation) throws {
    let report = try FileStore.verify(at: folder.store(), disk: SystemDisk())
    #expect(report.isClean, "\(report.findings)", sourceLocation: place)
  }

  @Test("a commit of another store keeps its identity, its date and its author, across opening and compaction")
  func givenIdentity() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    let own = store.head.commit
    try store.admitCommitsOfOthers()
    let identity = CommitIdentity(origin: 0xA1, number: 121)
    let info = CommitInfo(
      date: own.date + 5, action: "edit", program: "theirs", author: "ada", identity: identity,
      pedigree: Pedigree(parents: [CommitIdentity(origin: 0xA1, number: 120)]))
    let number = try store.change(info, on: own.number) { try $0.put(key(1), bytes("a"), in: people) }
    func expect(_ store: FileStore) throws {
      let commit = try store.commit(number)
      #expect(commit.identity == identity)
      #expect((commit.date, commit.author, commit.program, commit.action) == (own.date + 5, "ada", "theirs", "edit"))
      #expect(try store.pedigree(of: commit) == info.pedigree)
      #expect(store.head.commit.number == own.number)
      #expect(try store.pedigree(of: store.commit(own.number)) == nil)
    }
    try expect(store)
    try store.change(CommitInfo(names: ["remotes/her": number], movesHead: false)) { _ in }
    _ = try store.compact(.last(1))
    try expect(store)
    try store.close()
    try expect(FileStore.open(at: folder.store(), options: StoreOptions()))
    try expectClean(folder)
  }

  @Test("a store says in its first page that it takes commits of others, and refuses them before")
  func feature() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    let info = CommitInfo(identity: CommitIdentity(origin: 1, number: 1))
    #expect(throws: StorageError.readOnly(reason: "it is not ready yet for commits of other stores")) {
      try store.change(info, on: 1) { try $0.put(key(1), bytes("a"), in: people) }
    }
    #expect(store.publication.current.file.header.requiredFeatures == 0)
    try store.admitCommitsOfOthers()
    let generation = store.identity.generation
    try store.admitCommitsOfOthers()
    #expect(store.identity.generation == generation)
    try store.change(info, on: 1) { try $0.put(key(1), bytes("a"), in: people) }
    // Later generations and copies hold the same commits.
    _ = try store.compact(.all)
    _ = try store.copy(to: folder.store("Copy"))
    for name in [folder.store(), folder.store("Copy")] {
      #expect(try FileStore.open(at: name, options: StoreOptions()).has(.commitsOfOthers))
    }
    #expect(
      StorageError.newerFormat(version: 1, requiredFeatures: StoreFeature.commitsOfOthers.rawValue).description
        == "the store needs features (0x8) that this program does not know")
  }

  @Test("what compaction leaves out is still known by name, once, also after the next compaction")
  func skeleton() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<8 { try store.change { try $0.put(key(number), bytes("x"), in: people) } }
    let side = try store.change(on: 4) { try $0.put(key(90), bytes("s"), in: people) }
    try store.change(CommitInfo(parents: [9, side])) { try $0.put(key(90), bytes("s"), in: people) }
    try store.change { try $0.put(key(91), bytes("t"), in: people) }
    let origin = store.head.commit.origin
    func identity(_ number: UInt64) -> CommitIdentity { CommitIdentity(origin: origin, number: number) }
    func known(_ store: FileStore) throws -> Set<UInt64> {
      var known: Set<UInt64> = []
      try store.forEachCommit { commit, pedigree throws(StorageError) in
        #expect(known.insert(commit.originNumber).inserted)
        for run in pedigree?.squashed ?? [] {
          for number in run.numbers { #expect(known.insert(number).inserted, "\(number) is told of twice") }
        }
        return true
      }
      return known
    }
    _ = try store.compact(.last(2))
    #expect(try known(store) == Set(1...12))
    let merge = try #require(try store.pedigree(of: store.commit(11)))
    #expect(merge.parents == [identity(9), identity(10)])
    #expect(
      Set(merge.squashed) == [
        Pedigree.Run(origin: origin, numbers: 1...9, parents: []),
        Pedigree.Run(origin: origin, numbers: 10...10, parents: [identity(4)]),
      ])
    for number in 0..<3 { try store.change { try $0.put(key(number), bytes("y"), in: people) } }
    _ = try store.compact(.last(1))
    #expect(try known(store) == Set(1...15))
    try store.close()
    #expect(try known(FileStore.open(at: folder.store(), options: StoreOptions())) == Set(1...15))
    try expectClean(folder)
  }

  @Test("what is left out before two commits beside each other is told with both, and known where one of them goes")
  func skeletonOfSiblings() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<5 { try store.change { try $0.put(key(number), bytes("x"), in: people) } }
    let side = try store.change(CommitInfo(movesHead: false), on: 4) { try $0.put(key(90), bytes("s"), in: people) }
    try store.change(CommitInfo(flags: .bookkeeping, names: ["remotes/her": side], movesHead: false)) { _ in }
    let origin = store.head.commit.origin
    let shared = Pedigree.Run(origin: origin, numbers: 1...4, parents: [])
    func squashed(_ commit: UInt64) throws -> [Pedigree.Run]? { try store.pedigree(of: store.commit(commit))?.squashed }
    _ = try store.compact(.last(1))
    #expect(try squashed(6) == [Pedigree.Run(origin: origin, numbers: 1...5, parents: [])])
    #expect(try squashed(side) == [shared])
    // Head goes over to the other line, and its own one is left out.
    try store.change(CommitInfo(flags: .bookkeeping, movesHead: false, head: side)) { _ in }
    _ = try store.compact(.last(1))
    #expect(throws: StorageError.self) { try store.commit(6) }
    #expect(try squashed(side) == [shared])
    try store.close()
    try expectClean(folder)
  }

  @Test("a merge takes values and deletes of its second parent as they lie there, and their past goes on there")
  func adoption() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 1...3 { try store.change { try $0.put(key(number), bytes("old"), in: people) } }
    try store.change { try $0.put(key(1), bytes("mine"), in: people) }
    let ours = store.head.commit.number
    try store.change(on: 4) { try $0.put(key(2), bytes("first"), in: people) }
    let middle = store.publication.current.newest.number
    try store.change(on: middle) { transaction in
      try transaction.put(key(2), bytes("second"), in: people)
      try transaction.delete(key(3), in: people)
      try transaction.put(key(4), bytes("new"), in: people)
    }
    let theirs = store.publication.current.newest.number
    let written = store.dataBytes
    let merge = try store.change(CommitInfo(parents: [ours, theirs])) { transaction in
      let view = try store.view(at: theirs)
      for number in 2...4 { #expect(try transaction.adopt(key(number), in: people, from: view)) }
      #expect(try !transaction.adopt(key(77), in: people, from: view))
    }
    #expect(store.dataBytes - written < 1_000)
    func expect(_ store: FileStore) throws {
      #expect(try store.head.text(key(1)) == "mine")
      #expect(try store.head.text(key(2)) == "second")
      #expect(try store.head.text(key(3)) == nil)
      #expect(try store.head.text(key(4)) == "new")
      func past(_ number: Int) throws -> [UInt64] {
        var cursor = try store.head.versions(of: .bytes(key(number)), in: people)
        var commits: [UInt64] = []
        while let version = try cursor.next() { commits.append(version.commit) }
        return commits
      }
      #expect(try past(1) == [ours, 2])
      #expect(try past(2) == [theirs, middle, 3])
      #expect(try past(3) == [theirs, 4])
      #expect(try past(4) == [theirs])
      let counts = try #require(store.head.commit.counts.first)
      #expect((counts.inserted, counts.updated, counts.deleted) == (1, 1, 1))
    }
    try expect(store)
    _ = try store.compact(.all)
    try expect(store)
    #expect(store.head.commit.number == merge)
    try store.close()
    try expect(FileStore.open(at: folder.store(), options: StoreOptions()))
    try expectClean(folder)
  }

  @Test("head moves to a commit that is there, without one of its own in its history")
  func fastForward() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    let ahead = try store.change(on: 1) { try $0.put(key(1), bytes("a"), in: people) }
    try store.change(
      CommitInfo(flags: .bookkeeping, names: ["remotes/her": ahead], movesHead: false, head: ahead)
    ) { _ in }
    #expect(store.head.commit.number == ahead)
    #expect(try store.names == ["remotes/her": ahead])
    let next = try store.change { try $0.put(key(2), bytes("b"), in: people) }
    #expect(try store.commit(next).parents == [ahead])
    _ = try store.compact(.all)
    #expect(store.head.commit.number == next)
    try store.close()
    try expectClean(folder)
  }
}
