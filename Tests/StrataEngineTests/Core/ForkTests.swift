import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("Forks and names")
struct ForkTests {
  @Test("a commit on top of any commit leaves head where it is, until it is moved")
  func fork() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    try store.change { try $0.put(key(1), bytes("a"), in: people) }
    try store.change { try $0.put(key(2), bytes("b"), in: people) }
    let fork = try store.change(CommitInfo(names: ["side": 0]), on: 2) { try $0.put(key(3), bytes("c"), in: people) }
    #expect(store.head.commit.number == 3)
    let side = try store.view(at: fork)
    #expect(side.commit.parents == [2])
    #expect(try side.text(key(2)) == nil)
    #expect(try side.text(key(3)) == "c")
    #expect(try store.names == ["side": fork])

    let merge = try store.change(CommitInfo(parents: [3, fork])) { try $0.put(key(3), bytes("c"), in: people) }
    #expect(try store.commit(merge).parents == [3, fork])
    #expect(store.head.commit.number == merge)
    #expect(try store.ancestor(of: merge, number: fork).number == 3)
    #expect(try store.ancestor(of: fork, number: 3).number == 2)

    try store.close()
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    #expect(again.head.commit.number == merge)
    #expect(try again.names == ["side": fork])
    let moved = try again.change(CommitInfo(movesHead: true), on: fork) { try $0.put(key(9), bytes("z"), in: people) }
    #expect(again.head.commit.number == moved)
    #expect(try again.head.text(key(2)) == nil)
  }

  @Test("a commit that leaves an empty store's head where it is can be read again, and compacted")
  func forkOfNothing() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    func expectNoHead(_ store: FileStore) throws {
      #expect(store.head.commit.number == 0)
      #expect(try store.names == ["side": 1])
      #expect(try store.view(at: 1).text(key(1)) == "a")
    }
    try store.change(CommitInfo(names: ["side": 0]), on: 0) { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.put(key(1), bytes("a"), in: people)
    }
    try store.change(CommitInfo(movesHead: false)) { try $0.createTree(people, kind: .records) }
    #expect(throws: StorageError.noSuchCommit(number: 0)) {
      try store.change(CommitInfo(parents: [0, 1])) { try $0.createTree(byAge, kind: .entries) }
    }
    try expectNoHead(store)
    _ = try store.compact(.all)
    try expectNoHead(store)
    try store.close()
    let report = try FileStore.verify(at: folder.store(), disk: SystemDisk())
    #expect(report.isClean, "\(report.findings)")
    let again = try FileStore.open(at: folder.store(), options: StoreOptions())
    #expect(again.openingReport.damage == nil)
    try expectNoHead(again)
    _ = try again.copy(to: folder.store("Copy"))
    try expectNoHead(try FileStore.open(at: folder.store("Copy"), options: StoreOptions()))
    #expect(try again.change(CommitInfo(movesHead: true), on: 1) { try $0.delete(key(1), in: people) } == 3)
    #expect(again.head.commit.number == 3)
    _ = try again.compact(.last(1))
    #expect(again.head.commit.number == 3)
  }

  @Test("a name is one name however its letters are encoded")
  func spellings() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store(), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    for number in 0..<6 { try store.change { try $0.put(key(number), bytes("x"), in: people) } }
    let (one, two) = ("caf\u{E9}", "cafe\u{301}")
    try store.change(CommitInfo(names: [one: 2])) { _ in }
    try store.change(CommitInfo(names: [two: 3])) { _ in }
    #expect(try store.names == [one: 3])
    _ = try store.compact(.last(1)) { _ in
      // Named the other way again while the history is compacted.
      if (try? store.names)?[one] == 3 { _ = try? store.change(CommitInfo(names: [one: 4])) { _ in } }
      return true
    }
    #expect(try store.names == [one: 4])
    try store.change(CommitInfo(names: [two: nil])) { _ in }
    #expect(try store.names == [:])
    _ = try store.compact(.last(1))
    try store.close()
    #expect(try FileStore.verify(at: folder.store(), disk: SystemDisk()).isClean)
  }

  @Test("a random history with forks reads as the model does, also after opening again")
  func model() throws {
    let folder = TemporaryFolder()
    var store = try FileStore.create(at: folder.store(), options: StoreOptions())
    var random = RandomSource(seed: 77)
    try store.change { try $0.createTree(people, kind: .records) }
    var states: [UInt64: [Int: String]] = [1: [:]]
    var parents: [UInt64: UInt64] = [:]
    var head: UInt64 = 1
    for step in 0..<300 {
      let base = random.next() % 3 == 0 ? random.next() % UInt64(states.count) + 1 : head
      let moves = base == head || random.next() % 4 == 0
      var state = try #require(states[base])
      let number = try store.change(CommitInfo(movesHead: moves), on: base) { transaction in
        for _ in 0...Int(random.next() % 5) {
          let id = Int(random.next() % 300)
          if random.next() % 4 == 0 {
            try transaction.delete(key(id), in: people)
            state[id] = nil
          } else {
            try transaction.put(key(id), bytes("\(step)"), in: people)
            state[id] = "\(step)"
          }
        }
        try transaction.put(key(step % 300), bytes("x\(step)"), in: people)
        state[step % 300] = "x\(step)"
      }
      states[number] = state
      parents[number] = base
      if moves { head = number }
      #expect(store.head.commit.number == head)
      if step % 50 == 49 {
        try store.close()
        store = try FileStore.open(at: folder.store(), options: StoreOptions())
      }
    }
    for (number, state) in states {
      let view = try store.view(at: number)
      #expect(view.commit.parents.first == parents[number])
      #expect(try view.tree(people)?.entryCount == UInt64(state.count))
      for (id, text) in state { #expect(try view.text(key(id)) == text) }
      // Every ancestor by its number.
      var ancestor = number
      var depth = 0
      while let parent = parents[ancestor], depth < 12 {
        #expect(try store.ancestor(of: number, number: parent).number == parent)
        ancestor = parent
        depth += 1
      }
    }
  }

  @Test("two copies of a store never give two commits one identity")
  func copies() throws {
    let folder = TemporaryFolder()
    let store = try FileStore.create(at: folder.store("A"), options: StoreOptions())
    try store.change { try $0.createTree(people, kind: .records) }
    try store.close()
    let disk = SystemDisk()
    try disk.makeDirectory(folder.store("B"))
    for name in ["data", "lock"] {
      let source = try disk.open(folder.store("A") + "/" + name, .read)
      let target = try disk.open(folder.store("B") + "/" + name, .create)
      let block = MemoryBlock(count: Int(try source.status.size))
      _ = try source.read(into: block.bytes, at: 0)
      try target.write(UnsafeRawBufferPointer(block.bytes), at: 0)
    }
    var identities: Set<[UInt64]> = []
    for name in ["A", "B"] {
      let copy = try FileStore.open(at: folder.store(name), options: StoreOptions())
      for number in 0..<3 {
        try copy.change { try $0.put(key(number), bytes(name), in: people) }
        let commit = copy.head.commit
        #expect(identities.insert([commit.origin, commit.originNumber]).inserted)
      }
    }
  }

  @Test("a store that is written again by the same folder keeps its origin")
  func origin() throws {
    let folder = TemporaryFolder()
    var origins: Set<UInt64> = []
    for number in 0..<3 {
      let store =
        number == 0
        ? try FileStore.create(at: folder.store(), options: StoreOptions())
        : try FileStore.open(at: folder.store(), options: StoreOptions())
      try store.change { transaction in
        if number == 0 { try transaction.createTree(people, kind: .records) }
        try transaction.put(key(number), bytes("x"), in: people)
      }
      origins.insert(store.head.commit.origin)
      try store.close()
    }
    #expect(origins.count == 1)
  }

  @Test("a commit is never dated before its parents")
  func dates() throws {
    let store = FileStore.memory()
    try store.change(CommitInfo(date: 5000)) { try $0.createTree(people, kind: .records) }
    try store.change(CommitInfo(date: 10)) { try $0.put(key(1), bytes("a"), in: people) }
    #expect(store.head.commit.date == 5000)
  }
}
