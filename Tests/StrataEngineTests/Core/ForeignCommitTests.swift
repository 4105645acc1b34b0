import Testing

@testable import StrataEngine

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
    #expect(!store.has(.commitsOfOthers))
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
        == "the store needs features (commits of other stores) that this program does not know")
    #expect(
      StorageError.newerFormat(version: 1, requiredFeatures: 0b1_0111).description
        == "the store needs features (compressed values, encrypted frames, node deltas, 0x10) that this program does not know"
    )
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
      try store.forEachDescent { commit throws(StorageError) in
        #expect(known.insert(commit.identity.number).inserted)
        for run in commit.pedigree?.squashed ?? [] {
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

  @Test("what a commit was made on is told where it is left out, also where no link of the commit leads there")
  func skeletonBesideLinks() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    try store.admitCommitsOfOthers()
    for number in 0..<3 { try store.change { try $0.put(key(number), bytes("x"), in: people) } }
    let origin = store.head.commit.origin
    func own(_ number: UInt64) -> CommitIdentity { CommitIdentity(origin: origin, number: number) }
    func its(_ number: UInt64) -> CommitIdentity { CommitIdentity(origin: 0xA1, number: number) }
    func side(_ number: Int) throws -> UInt64 {
      try store.change(CommitInfo(movesHead: false), on: 2) { try $0.put(key(number), bytes("s"), in: people) }
    }
    let (parent, ofRun) = (try side(90), try side(91))
    // Another tells of the past of its 7.
    let teller = CommitInfo(
      movesHead: false, identity: its(20),
      pedigree: Pedigree(
        parents: [its(7)], squashed: [Pedigree.Run(origin: 0xA1, numbers: 5...9, parents: [own(ofRun)])]))
    try store.change(teller, on: 1) { try $0.put(key(92), bytes("s"), in: people) }
    // On the fourth, it says, but on two others in truth: of its links, one is left for both.
    let merge = CommitInfo(
      movesHead: true, identity: its(21), pedigree: Pedigree(parents: [own(parent), its(7)], squashed: []))
    let number = try store.change(merge, on: 4) { try $0.put(key(93), bytes("s"), in: people) }
    func expectTold() throws {
      let pedigree = try #require(try store.pedigree(of: store.commit(number)))
      #expect(pedigree.parents == [own(parent), its(7)])
      #expect(
        pedigree.squashed
          == [
            Pedigree.Run(origin: 0xA1, numbers: 5...7, parents: [own(ofRun)]),
            Pedigree.Run(origin: origin, numbers: 1...2, parents: []),
            Pedigree.Run(own(parent), parents: [own(2)]), Pedigree.Run(own(ofRun), parents: [own(2)]),
          ].sorted { ($0.origin, $0.numbers.lowerBound) < ($1.origin, $1.numbers.lowerBound) })
    }
    _ = try store.compact(.last(1))
    #expect(store.commitCount == 1)
    try expectTold()
    _ = try store.compact(.last(1))
    try expectTold()
    try store.close()
    try expectClean(folder)
  }

  @Test("the descent of a commit is what its record tells, with names, counts, parents and pedigree")
  func descent() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions(program: "program", author: "ada"))
    try store.change { try $0.createTree(people, kind: .records) }
    try store.admitCommitsOfOthers()
    for number in 0..<300 {
      try store.change(CommitInfo(action: "put")) { try $0.put(key(number), bytes("x"), in: people) }
    }
    let side = try store.change(CommitInfo(names: ["side": 0], movesHead: false), on: 4) { transaction in
      // Entries that the same commit replaces again.
      for number in 0..<40 { try transaction.put(key(1), bytes("\(number)"), in: people) }
    }
    let pedigree = Pedigree(
      parents: [CommitIdentity(origin: 7, number: 8)], undoes: CommitIdentity(origin: 7, number: 9),
      squashed: [Pedigree.Run(origin: 7, numbers: 2...8, parents: [])])
    let info = CommitInfo(
      flags: .undo, undoes: 3, parents: [301, side], identity: CommitIdentity(origin: .max, number: .max),
      pedigree: pedigree)
    try store.change(info) { try $0.delete(key(3), in: people) }
    try store.change(CommitInfo(flags: .bookkeeping, names: ["side": nil, "other": 5], movesHead: false)) { _ in }
    for round in 0..<2 {
      let records = try (1...store.newestNumber).reversed().compactMap { try? store.commit($0) }
        .map { CommitDescent(of: $0, try store.pedigree(of: $0)) }
      var descents: [CommitDescent] = []
      try store.forEachDescent { descent throws(StorageError) in
        descents.append(descent)
        return true
      }
      #expect(descents == records)
      #expect(records.contains { $0.pedigree == pedigree && $0.secondParent == side } == (round == 0))
      #expect(records.count > (round == 0 ? 300 : 2))
      _ = try store.compact(.last(2))
    }
    try store.close()
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
      for number in 2...4 { #expect(try transaction.copyRecord(key(number), in: people, from: view, probe: nil)) }
      #expect(try !transaction.copyRecord(key(77), in: people, from: view, probe: nil))
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
