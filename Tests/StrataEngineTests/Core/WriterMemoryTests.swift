import DiskSimulation
import Testing

@testable import StrataEngine

@Suite("What a writer remembers from commit to commit")
struct WriterMemoryTests {
  private let disk = MemoryDisk()
  private let path = "store"

  private func store() throws -> FileStore {
    let store = try FileStore.create(at: path, options: StoreOptions(), disk: disk)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records)
      try transaction.createTree(towns, kind: .entries)
    }
    return store
  }

  private let towns = TreeName(Array("towns".utf8))

  @Test("is gone with the store, also if that goes while the writer has the turn to release the lock")
  func gone() throws {
    weak var writer: Writer?
    do {
      let store = try store()
      try withExtendedLifetime(store) {
        writer = store.writing
        try #require(store.writing.tryAcquireTurn())
      }
    }
    while writer != nil { yieldThread() }
  }

  @Test("is, of each commit, what is read back: with forks, names, merges, restores and changes of the same record")
  func records() throws {
    let store = try store()
    func expectSame() throws {
      let state = store.publication.current
      for record in [state.newest, state.head] {
        let stored = try state.file.record(at: record.links.own.offset)
        #expect(record == stored)
      }
    }
    try expectSame()
    try store.change(CommitInfo(action: "twice", program: "test", author: "me")) { transaction in
      for round in 0..<3 { try transaction.put(key(1), bytes("\(round)"), in: people) }
      try transaction.delete(key(2), in: people)
    }
    try expectSame()
    let fork = try store.change(CommitInfo(names: ["side": 0]), on: 1) { try $0.put(key(3), bytes("c"), in: people) }
    try expectSame()
    try store.change(CommitInfo(undoes: 2, parents: [2, fork])) { try $0.put(key(3), bytes("c"), in: people) }
    try expectSame()
    let old = try store.view(at: 2)
    try store.change { try $0.restore(nil, from: old) }
    try expectSame()
    try store.change(CommitInfo(names: ["side": nil])) { try $0.insert(key(9), in: towns) }
    try expectSame()
    for number in 0..<40 {
      try store.change { try $0.put(key(number), bytes("\(number)"), in: people) }
      try expectSame()
    }
  }

  @Test("of trees is forgotten where the roots of an older commit come back")
  func restored() throws {
    let store = try store()
    try store.change { try $0.put(key(1), bytes("old"), in: people) }
    let old = store.head
    try store.change { transaction in
      try transaction.put(key(1), bytes("new"), in: people)
      try transaction.insert(key(7), in: towns)
    }
    try store.change { try $0.restore(nil, from: old) }
    try store.change { try $0.put(key(2), bytes("after"), in: people) }
    #expect(try store.head.text(key(1)) == "old")
    try store.change { transaction in
      let isNew = try transaction.insert(key(7), in: towns)
      #expect(isNew)
    }
    try store.close()
    #expect(try FileStore.verify(at: path, disk: disk).isClean)
  }

  @Test("of trees follows one that is dropped and made anew, and is not taken for a fork's")
  func droppedAndForked() throws {
    let store = try store()
    try store.change { try $0.put(key(1), bytes("first"), in: people) }
    try store.change { try $0.dropTree(people) }
    #expect(throws: StorageError.noSuchTree(people)) {
      try store.change { try $0.put(key(1), bytes("none"), in: people) }
    }
    try store.change { transaction in
      try transaction.createTree(people, kind: .records, attributes: [1, 2])
      try transaction.put(key(2), bytes("second"), in: people)
    }
    let fork = try store.change(on: 2) { try $0.put(key(3), bytes("third"), in: people) }
    try store.change { try $0.put(key(4), bytes("fourth"), in: people) }
    #expect(try store.head.tree(people)?.entryCount == 2)
    #expect(try store.head.tree(people)?.attributes == Bytes([1, 2]))
    #expect(try store.view(at: fork).tree(people)?.entryCount == 2)
    #expect(try store.view(at: fork).text(key(1)) == "first")
    try store.close()
    #expect(try FileStore.verify(at: path, disk: disk).isClean)
  }

  @Test("of trees and commits spares it the search of the catalog, and reading any commit's record")
  func nodeReads() throws {
    let store = try store()
    try store.change { transaction in
      for number in 0..<20 { try transaction.put(key(number), bytes("x"), in: people) }
    }
    let before = store.counts
    try store.change { try $0.put(key(3), bytes("y"), in: people) }
    // The root of the records and that of the catalog are copied.
    #expect(store.counts.nodeReads - before.nodeReads == 2)
    #expect(store.counts.frameReads == before.frameReads)
  }

  @Test("is what it wrote: its own nodes are not checked again, and by nobody else left unchecked")
  func ownNodes() throws {
    let store = try store()
    for number in 0..<5 {
      try store.change { try $0.put(key(number), bytes("x"), in: people) }
      let state = store.publication.current
      let catalog = state.newest.links.catalog
      // Only a check can tell that the last byte is another.
      let last = catalog.offset + UInt64(catalog.length - 1)
      let before = try state.file.bytes(at: last, count: 1, what: "byte").array[0]
      let file = try disk.open(path + "/data", .readWrite)
      func write(_ byte: UInt8) throws {
        let written = [byte].withUnsafeBytes { bytes in
          Result { () throws(DiskError) in try file.write(bytes, at: last) }
        }
        try written.get()
      }
      try write(before ^ 1)
      _ = try state.file.node(at: catalog)
      let other = try FileStore.open(at: path, options: StoreOptions(), disk: disk)
      #expect(throws: StorageError.damaged(what: "tree node", offset: catalog.offset)) {
        try other.publication.current.file.node(at: catalog)
      }
      try write(before)
    }
  }

  @Test("of a hold moves to where a new one would say that the data ends")
  func hold() {
    var hold = LockHold(
      processIdentifier: 7, program: "test", since: 5, generation: 3, durableEnd: 1, session: 9)
    var encoded = hold.encoded()
    encoded.moveHold(to: FileOffset(UInt64(1) << 40))
    hold.durableEnd = FileOffset(UInt64(1) << 40)
    #expect(encoded == hold.encoded())
  }
}

@Suite("Fresh children of a node")
struct FreshChildrenTests {
  @Test("are found at the places of their cells, however cells come and go")
  func model() {
    var random = RandomSource(seed: 3)
    for _ in 0..<200 {
      var children = FreshChildren()
      var model: [FreshNode?] = []
      for _ in 0..<60 {
        let node: FreshNode? = random.next() % 3 == 0 ? FreshNode(form: .bare, level: 0) : nil
        let place = Int(random.next() % UInt64(model.count + 1))
        switch random.next() % 4 {
        case 0 where place < model.count:
          children.remove(at: place)
          model.remove(at: place)
        case 1 where place < model.count:
          children[place] = node
          model[place] = node
        case 2:
          let range = place..<model.count
          let part = children.part(range)
          #expect(range.allSatisfy { part[$0 - place] === model[$0] })
        default:
          children.insert(node, at: place)
          model.insert(node, at: place)
        }
        #expect(model.indices.allSatisfy { children[$0] === model[$0] })
      }
    }
  }

  @Test("are copied before they are changed where a snapshot holds them, and only there")
  func owned() {
    for others in [[], [2], [0, 5]] {
      var children = FreshChildren()
      children[1] = FreshNode(form: .bare, level: 0)
      for place in others { children[place] = FreshNode(form: .bare, level: 0) }
      let alone = children[1].map(ObjectIdentifier.init)
      #expect(children.own(at: 1)?.takeUnretainedValue() === children[1])
      #expect(children[1].map(ObjectIdentifier.init) == alone)
      let snapshot = children
      #expect(children.own(at: 1)?.takeUnretainedValue() === children[1])
      #expect(children[1] !== snapshot[1])
      #expect(snapshot[1].map(ObjectIdentifier.init) == alone)
      #expect(children.own(at: 3) == nil)
      #expect(others.allSatisfy { children[$0] === snapshot[$0] })
    }
  }
}
