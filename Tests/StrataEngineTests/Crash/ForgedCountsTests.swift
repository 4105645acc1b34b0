import DiskSimulation
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@testable import StrataEngine

/// Stores whose checks are all right and whose numbers are as wrong as numbers can be: whoever adds them up, goes by them or
/// takes one from another must not trap, neither reading nor committing, compacting, verifying or salvaging.
@Suite("Numbers that cannot be")
struct ForgedCountsTests {
  private static let extremes: [UInt64] =
    isSoak ? [.max, .max - 1, 1 << 63, (1 << 63) - 1, 1 << 48, UInt64(UInt32.max), 0] : [.max, (1 << 63) - 1, 0]

  private static var isSoak: Bool { getenv("STRATA_SOAK") != nil }

  // MARK: Records of commits

  @Test("each number of a commit's record, and of its frame, as large as it can be", arguments: [false, true])
  func records(isCompacted: Bool) throws {
    let store = isCompacted ? try DamagedStore.make(DamagedStore.compacted) : try DamagedStore.make()
    let record = Array(store.bytes[try #require(FrameMap(store.bytes).frames.last).record])
    let numbers = RecordNumbers(record)
    #expect(numbers.varints.count > 30, "the record is taken apart by the letter of the format")
    let whole = try ForgedFrame.last(of: store.bytes) { $0 }
    #expect(try FileStore.verify(at: FuzzTarget.path, disk: ImageDisk(FuzzTarget.image(of: whole))).isClean)
    var unclean = 0
    var forgeries = 0
    for varint in numbers.varints {
      for extreme in Self.extremes {
        let forged = try ForgedFrame.last(of: store.bytes) { record in
          Array(record[..<varint.lowerBound]) + Self.varint(extreme) + record[varint.upperBound...]
        }
        forgeries += 1
        FuzzTarget.useAll(FuzzTarget.image(of: forged))
        if try !FileStore.verify(at: FuzzTarget.path, disk: ImageDisk(FuzzTarget.image(of: forged))).isClean {
          unclean += 1
        }
      }
    }
    for place in numbers.fixed {
      for extreme in [.max, 1 << 63, (1 << 63) - 1] as [UInt64] {
        let forged = try ForgedFrame.last(of: store.bytes) { record in
          var record = record
          withUnsafeBytes(of: extreme.littleEndian) { for index in 0..<8 { record[place + index] = $0[index] } }
          return record
        }
        forgeries += 1
        FuzzTarget.useAll(FuzzTarget.image(of: forged))
      }
    }
    print("forged numbers in a record: \(forgeries), found by verification: \(unclean)")
    #expect(unclean > forgeries / 2)
    guard !isCompacted else { return }
    // The last number that there is: no commit can follow.
    let own = Array(record[numbers.varints[0]])
    let newest = try ForgedFrame.last(of: store.bytes, number: .max) { record in
      // Wherever the commit speaks of itself.
      numbers.varints.reversed().reduce(into: record) { record, varint in
        if Array(record[varint]) == own { record.replaceSubrange(varint, with: Self.varint(.max)) }
      }
    }
    FuzzTarget.useAll(FuzzTarget.image(of: newest))
    let last = try FileStore.open(
      at: FuzzTarget.path, options: StoreOptions(), disk: ImageDisk(FuzzTarget.image(of: newest)))
    #expect(last.publication.current.newest.number == .max)
    #expect(throws: StorageError.self) { try last.beginBlocking() }
  }

  private static func varint(_ number: UInt64) -> [UInt8] {
    let buffer = ByteBuffer()
    buffer.append(varint: number)
    return [UInt8](buffer.bytes)
  }

  // MARK: Catalog, nodes and changes

  /// A store with two trees and two commits, and a third that `forge` has had its hands in.
  private func store(_ forge: (FileTransaction) throws -> Void) throws -> DiskImage {
    let disk = ImageDisk()
    let store = try FileStore.create(at: FuzzTarget.path, options: StoreOptions(), disk: disk)
    try store.change { transaction in
      try transaction.createTree(people, kind: .records, attributes: bytes("{}"))
      try transaction.createTree(byAge, kind: .entries)
      for number in 1...300 {
        try transaction.put(key(number), bytes("value \(number)"), in: people)
        try transaction.insert(key(number), .record(reference(number, transaction)), in: byAge)
      }
      try transaction.put(bytes("key 1 k"), bytes("one"), in: people)
    }
    try store.change { try $0.delete(key(7), in: people) }
    try store.change(CommitInfo(names: ["pin": 2]), forge)
    try store.close()
    return disk.image
  }

  private func reference(_ number: Int, _ transaction: FileTransaction) throws -> RecordReference {
    try #require(try transaction.currentReference(of: key(number), in: people))
  }

  /// Uses the store in every way, and looks whether verification tells of the forgery.
  private func expectTold(_ image: DiskImage, _ what: String) throws {
    FuzzTarget.useAll(image)
    let report = try FileStore.verify(at: FuzzTarget.path, disk: ImageDisk(image))
    #expect(!report.isClean, "\(what)")
  }

  @Test("an honest store of this kind is clean, and is used in every way")
  func honest() throws {
    let honest = try store { try $0.put(key(1), bytes("other"), in: people) }
    #expect(try FileStore.verify(at: FuzzTarget.path, disk: ImageDisk(honest)).isClean)
    let used = FuzzTarget.useAll(honest)
    #expect(used.failures.isEmpty, "\(used.failures)")
    #expect(used.commits >= 6)
    #expect(used.compactions == 3)
  }

  @Test("each number of a catalog entry, at its extremes", arguments: [people, byAge])
  func catalog(_ name: TreeName) throws {
    let forgeries: [(String, (inout CatalogEntry, UInt64) -> Void)] = [
      ("identifier", { $0.identifier = UInt32(truncatingIfNeeded: $1) }), ("node bytes", { $0.nodeBytes = $1 }),
      ("entry bytes", { $0.entryBytes = $1 }), ("root's count", { $0.root.count = $1 }),
      ("root's length", { $0.root.length = UInt16(truncatingIfNeeded: $1) }),
      ("root's offset", { $0.root.offset = FileOffset($1 & (1 << 48 - 1)) }),
      ("gone's count", { $0.tombstones.count = $1 }),
      ("attributes' length", { $0.attributes.length = UInt32(truncatingIfNeeded: $1) }),
      ("attributes' offset", { $0.attributes.offset = FileOffset($1 & (1 << 48 - 1)) }),
      (
        "all bytes",
        {
          $0.nodeBytes = $1
          $0.entryBytes = $1
        }
      ),
    ]
    for (what, forge) in forgeries {
      for extreme in Self.extremes {
        var isForged = false
        let image = try store { transaction in
          try set(name, in: transaction) { entry in
            let before = entry
            forge(&entry, extreme)
            // What only entries have a use for, or what the format has no room for, may be what it was.
            isForged = entry.encoded() != before.encoded() && (name == people || what != "entry bytes")
          }
        }
        guard isForged else { continue }
        // Bytes of entries are told of trees of records only, and all trees have nodes.
        try expectTold(image, "\(what) \(extreme)")
      }
    }
  }

  /// Changes a tree's entry in the catalog, past the transaction.
  private func set(_ name: TreeName, in transaction: FileTransaction, _ change: (inout CatalogEntry) -> Void) throws {
    var entry = try #require(try View(commit: transaction.base, file: transaction.file).catalogEntry(name))
    change(&entry)
    try name.bytes.withUnsafeBytes { key in
      _ = try transaction.state.pointee.catalog.set(key, at: .bytes(key), in: transaction.file) {
        _ throws(StorageError) in .bytes(entry.encoded())
      }
    }
  }

  @Test("counts of live bytes that are the largest, in two trees that are dropped and one that is restored")
  func liveBytes() throws {
    let image = try store { transaction in
      for name in [people, byAge] {
        try set(name, in: transaction) { entry in
          entry.nodeBytes = .max / 2
          entry.entryBytes = .max / 2
        }
      }
    }
    let disk = ImageDisk(image)
    let store = try FileStore.open(at: FuzzTarget.path, options: StoreOptions(), disk: disk)
    let old = try store.view(at: 1)
    try store.change { transaction in
      try transaction.dropTree(people)
      try transaction.dropTree(byAge)
    }
    #expect(store.head.commit.liveBytes == 0)
    try store.change(on: 3) { try $0.restore([people], from: old) }
    try store.change(on: 3) { try $0.put(key(1), bytes("more"), in: people) }
    for retention in [Retention.all, .last(1)] { _ = try store.compact(retention) }
    #expect(try store.head.tree(people) == nil)
    try store.close()
  }

  @Test("counts below the cells of an inner node, at their extremes")
  func childCounts() throws {
    for extreme in [0, 1, 1 << 40 - 1] as [UInt64] {
      for index in [0, 1] {
        let image = try store { transaction in
          try transaction.put(key(150), bytes("fresh"), in: people)
          let place = try #require(transaction.state.pointee.treeIndex(of: people))
          let root = try #require(transaction.state.pointee.trees[place].primary.root.fresh)
          #expect(try root.view.form == .inner)
          root.setChildCount(at: index, extreme)
        }
        try expectTold(image, "child \(index) counts \(extreme)")
        // Where keys are inserted until nodes split, and taken out until they are joined.
        let disk = ImageDisk(image)
        let store = try FileStore.open(at: FuzzTarget.path, options: StoreOptions(), disk: disk)
        for isFilling in [true, false] {
          let transaction = try store.beginBlocking()
          do {
            for number in 0..<200 {
              let key = key(number % 300) + [UInt8(truncatingIfNeeded: number)]
              if isFilling {
                try transaction.put(key, key, in: people)
              } else {
                try transaction.delete(key, in: people)
              }
            }
            for number in 0..<300 where !isFilling {
              try transaction.delete(StrataEngineTests.key(number), in: people)
            }
            try transaction.commit()?.wait()
          } catch {
            transaction.cancel()
          }
        }
      }
    }
  }

  @Test("each number of a change entry, at its extremes")
  func changes() throws {
    for part in 0..<4 {
      for extreme in Self.extremes where extreme > 300 {
        let image = try store { transaction in
          try transaction.put(key(1), bytes("other"), in: people)
          let tree = try #require(try transaction.tree(people)).identifier
          var numbers = [transaction.draft.position - transaction.draft.start, UInt64(tree), 4, 2]
          numbers[part] = extreme
          let entry = [1] + numbers.flatMap { Self.varint($0) } + key(9) + [5, 5]
          let offset = try entry.withUnsafeBytes { try transaction.draft.appendNode($0).offset }
          let check = entry.withUnsafeBytes { transaction.file.header.check($0) }
          let forged = RecordReference(place: offset.bytes, length: UInt32(entry.count), check: check)
          let place = try #require(transaction.state.pointee.treeIndex(of: people))
          try key(9).withUnsafeBytes { key in
            _ = try transaction.state.pointee.trees[place].primary.set(key, at: .bytes(key), in: transaction.file) {
              _ throws(StorageError) in .record(forged)
            }
          }
        }
        try expectTold(image, "number \(part) of a change is \(extreme)")
      }
    }
  }

  @Test("names that lead to commits with extreme numbers and places")
  func names() throws {
    for extreme in Self.extremes where extreme > 300 {
      for named in [NamedCommit(number: extreme, offset: 16_384), NamedCommit(number: 1, offset: FileOffset(extreme))] {
        let honest = try store { try $0.put(key(1), bytes("other"), in: people) }
        let disk = ImageDisk(honest)
        let store = try FileStore.open(at: FuzzTarget.path, options: StoreOptions(), disk: disk)
        // A name of the right length whose payload, check and all, is put in the place of the honest one.
        let root = store.publication.current.newest.links.names
        let data = try #require(honest.contents(at: FuzzTarget.path + "/data")?.array)
        guard case .bytes(let payload) = named.payload else { return }
        var node = Array(data[Int(root.offset)..<(Int(root.offset) + Int(root.length))])
        let old = NamedCommit(number: 2, offset: try store.commit(2).links.own.offset)
        guard case .bytes(let honestPayload) = old.payload else { return }
        let place = try #require(
          (0...(node.count - 16)).first { Array(node[$0..<($0 + 16)]) == honestPayload.array })
        node.replaceSubrange(place..<(place + 16), with: payload.array)
        let check = node.withUnsafeBytes { store.publication.current.file.header.nodeCheck($0, at: root.offset) }
        try store.close()
        var forged = data
        forged.replaceSubrange(Int(root.offset)..<(Int(root.offset) + node.count), with: node)
        forged = try ForgedFrame.last(of: forged) { record in
          try ForgedFrame.replacing(
            root, by: NodePointer(offset: root.offset, length: root.length, check: check, count: root.count), in: record
          )
        }
        try expectTold(FuzzTarget.image(of: forged), "a name leads to \(named.number) at \(named.offset)")
      }
    }
  }

  // MARK: Pages

  @Test("each number of the identity page, the slots, the lock and an unfinished compaction, at its extremes")
  func pages() throws {
    let honest = try store { try $0.put(key(1), bytes("other"), in: people) }
    let data = try #require(honest.contents(at: FuzzTarget.path + "/data")?.array)
    let seed = data.withUnsafeBytes { loadInteger(UInt32.self, $0, at: 64) }
    let blocks: [(start: Int, seed: UInt32, places: [Int])] = [
      (0, 0, [48, 56, 72]), (12_800, 0, [8, 16, 24, 32, 40]), (4_096, seed, [8, 16, 24, 32, 48, 56]),
      (8_192, seed, [8, 16, 24, 32, 48, 56]),
    ]
    for block in blocks {
      for place in block.places {
        for extreme in Self.extremes {
          var forged = data
          withUnsafeBytes(of: extreme.littleEndian) { number in
            for index in 0..<8 { forged[block.start + place + index] = number[index] }
          }
          let check = forged.withUnsafeBytes {
            checksum(block.seed, UnsafeRawBufferPointer(rebasing: $0[block.start..<(block.start + 508)]))
          }
          withUnsafeBytes(of: check.littleEndian) { number in
            for index in 0..<4 { forged[block.start + 508 + index] = number[index] }
          }
          FuzzTarget.useAll(FuzzTarget.image(of: forged))
        }
      }
    }
    for extreme in Self.extremes {
      for place in 0..<3 {
        var hold = LockHold(processIdentifier: 1, program: "p", since: 1, generation: 1, durableEnd: 20_000, session: 5)
        switch place {
        case 0: hold.generation = extreme
        case 1: hold.durableEnd = FileOffset(extreme)
        default: hold.since = Int64(bitPattern: extreme)
        }
        FuzzTarget.useAll(FuzzTarget.adding(hold.encoded(), as: "lock", to: honest))
      }
      for place in 0..<6 {
        let disk = ImageDisk(honest)
        let current = try FileStore.open(at: FuzzTarget.path, options: StoreOptions(), disk: disk).publication.current
        var plan = CompactionPlan(of: current, .last(1), date: 5)
        plan.syncedEnd = 17_000
        switch place {
        case 0: plan.newest = extreme
        case 1: plan.newestOffset = FileOffset(extreme)
        case 2: plan.date = Int64(bitPattern: extreme)
        case 3: plan.syncedEnd = FileOffset(extreme)
        case 4: plan.retention = .last(Int(clamping: extreme))
        default: plan.retention = .younger(Int64(bitPattern: extreme))
        }
        var identity = current.file.header.identity
        identity.generation += 1
        let page = FileHeader(identity: identity, seed: 77).encoded()
        var copy = [UInt8](repeating: 0, count: 20_000)
        copy.replaceSubrange(0..<page.count, with: page)
        let planned = plan.encoded(seed: 77)
        copy.replaceSubrange(Int(CompactionPlan.offset)..<(Int(CompactionPlan.offset) + planned.count), with: planned)
        FuzzTarget.useAll(FuzzTarget.adding(copy, as: "data.compact", to: honest))
      }
    }
  }
}

/// Where the numbers of a commit's record lie, read by the letter of FORMAT.md and not by the engine's own code.
private struct RecordNumbers {
  private(set) var varints: [Range<Int>] = []
  /// Numbers of eight bytes.
  private(set) var fixed: [Int] = []
  private let bytes: [UInt8]
  private var place = 1

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    _ = varint()  // number
    number()  // origin
    _ = varint()
    number()  // date
    for _ in 0..<3 { _ = varint() }  // flags, undoes, restores
    let parents = Int(bytes[place])
    place += 1
    for _ in 0..<(parents + 7) { link() }
    place += 2 * 17  // catalog, names
    for _ in 0..<3 { _ = varint() }  // next tree, live, dead
    for _ in 0..<3 { text() }
    for _ in 0..<varint() {
      text()
      _ = varint()
    }
    for _ in 0..<varint() {
      _ = varint()
      text()
      for _ in 0..<3 { _ = varint() }
    }
    for _ in 0..<varint() { _ = varint() }
  }

  private mutating func varint() -> Int {
    let start = place
    while bytes[place] & 0x80 != 0 { place += 1 }
    place += 1
    varints.append(start..<place)
    return bytes[start..<place].reversed().reduce(0) { $0 << 7 | Int($1 & 0x7F) }
  }

  private mutating func number() {
    fixed.append(place)
    place += 8
  }

  private mutating func link() {
    guard varint() != 0 else { return }
    _ = varint()
    _ = varint()
    number()
  }

  private mutating func text() { place += varint() }
}
