import DiskSimulation
import Testing

@testable import StrataEngine

/// Stores in which one fact is untrue, while every check is right and all that depends on the fact agrees with it.
@Suite("Facts that only look right")
struct ForgedConsistencyTests {
  @Test("what is forged here is without a finding where nothing is untrue")
  func honest() throws {
    var store = try ConsistentStore()
    let findings = try store.findings
    #expect(findings.isEmpty, "\(findings)")
    let honest = store.bytes
    try store.forgeRecord { _, _ in }
    #expect(store.bytes == honest)
  }

  @Test("a tree that took the place of one of its name is not compared with that")
  func treeInPlaceOfAnother() throws {
    let findings = try ConsistentStore { transaction in
      try transaction.dropTree(ConsistentStore.others)
      try transaction.createTree(ConsistentStore.others, kind: .records)
      try transaction.put(key(1), bytes("value"), in: ConsistentStore.others)
    }.findings
    #expect(findings.isEmpty, "\(findings)")
  }

  // MARK: Trees and changes

  @Test("one untrue fact of trees or changes is told, and nothing else is", arguments: TransactionForgery.all)
  func transactions(_ forgery: TransactionForgery) throws {
    let findings = try ConsistentStore(forging: forgery.forge).findings
    #expect(findings.count == 1, "\(findings)")
    #expect(findings.first?.problem.contains(forgery.problem) == true, "\(findings)")
    #expect(findings.first?.commit == ConsistentStore.newest)
  }

  @Test("a tree that counts an entry too many is told of, with one node and with many", arguments: [1, 300])
  func rootCount(_ count: Int) throws {
    let name = TreeName(bytes("Inew"))
    var store = try ConsistentStore { transaction in
      try transaction.createTree(name, kind: .entries)
      for number in 1...count { try transaction.insert(key(number), in: name) }
    }
    let record = try store.record(ConsistentStore.newest)
    try store.forgeCatalogNode { file, node in
      let root = try #require(try View(commit: record, file: file).catalogEntry(name)).root
      var forged = root
      forged.count += 1
      return try ForgedFrame.replacing(root, by: forged, in: node)
    }
    let problems = try store.findings.map(\.problem)
    let have = count == 1 ? "it has" : "its children"
    #expect(problems == ["its parent counts \(count + 1) entries, \(have) \(count)"])
  }

  // MARK: Commits

  @Test("one untrue fact of a commit's record is told, and nothing else is", arguments: RecordForgery.all)
  func records(_ forgery: RecordForgery) throws {
    var store = try ConsistentStore()
    try store.forgeRecord(forgery.forge)
    let findings = try store.findings
    #expect(findings.count == 1, "\(findings)")
    #expect(findings.first?.problem.contains(forgery.problem) == true, "\(findings)")
    #expect(findings.first?.commit == ConsistentStore.newest)
  }

  @Test("a first commit has nothing to jump to")
  func firstCommit() throws {
    for lineage in [\CommitLinks.ancestry, \.order] {
      for jump in [\Lineage.jump, \.previousJump] {
        var store = try ConsistentStore(commits: 1)
        try store.forgeRecord { record, _ in record.links[keyPath: lineage][keyPath: jump] = record.links.own }
        let problems = try store.findings.map(\.problem)
        #expect(problems == ["a first commit jumps to an earlier one"])
      }
    }
  }

  // MARK: Frames behind damage

  @Test("a frame behind damage that follows a frame from before the damage is stale")
  func staleFrame() throws {
    var store = try ConsistentStore()
    let frames = FrameMap(store.bytes).frames
    let early = FileOffset(frames[0].header.lowerBound)
    store.bytes = try ForgedFrame.last(of: store.bytes, previousOffset: early) { $0 }
    try expectStale(store, frames)
  }

  @Test("a frame behind damage whose number was given before the damage is stale", arguments: [1, 6, 7] as [UInt64])
  func staleNumber(_ number: UInt64) throws {
    var store = try ConsistentStore()
    let frames = FrameMap(store.bytes).frames
    store.bytes = try ForgedFrame.last(of: store.bytes, number: number) { $0 }
    // The last frame but one is damaged: 7 may be that one's own number, and is none that was given before.
    try expectStale(store, frames, isStale: number < 7)
  }

  @Test("a frame that names another place of the frame before than that has does not follow it")
  func previousOffset() throws {
    var store = try ConsistentStore()
    let early = FileOffset(try #require(FrameMap(store.bytes).frames.first).header.lowerBound)
    store.bytes = try ForgedFrame.last(of: store.bytes, previousOffset: early) { $0 }
    // Nobody promised it: the forged store has neither slots nor lock.
    let problems = try store.findings.map(\.problem)
    #expect(problems.count == 1 && problems[0].contains("a commit that was not finished"), "\(problems)")
  }

  /// Damages the header of the last frame but one, and looks whether the last one is taken for one of the chain.
  private func expectStale(_ store: ConsistentStore, _ frames: [FrameMap.Frame], isStale: Bool = true) throws {
    var damaged = store
    for place in frames[frames.count - 2].header { damaged.bytes[place] = 0xFF }
    let report = try damaged.report
    // Nobody promised either of them: the forged store has neither slots nor lock.
    #expect(report.commits == UInt64(frames.count - 2), "\(report.findings)")
    let tail = try #require(report.findings.first { $0.what == "tail" })
    #expect(tail.problem.contains("can be saved") == !isStale, "\(tail)")
  }
}

// MARK: - The store

/// A small store of eight commits, the newest of them on a commit that is not the head, and one before it a restore.
struct ConsistentStore {
  static let newest: UInt64 = 8
  static let others = TreeName(Array("Dothers".utf8))

  var bytes: [UInt8]

  init(commits: UInt64 = ConsistentStore.newest, forging forge: (FileTransaction) throws -> Void = { _ in }) throws {
    let disk = ImageDisk()
    let store = try FileStore.create(at: FuzzTarget.path, options: StoreOptions(), disk: disk)
    for number in 1...commits {
      let base = number == Self.newest ? number - 2 : nil
      try store.change(CommitInfo(date: 1_000 * Int64(number)), on: base) { transaction in
        switch number {
        case 1: try Self.begin(transaction)
        case 4: try transaction.restore([people], from: store.view(at: 2))
        default: try transaction.put(key(Int(number)), StrataEngineTests.bytes("value"), in: people)
        }
        if number == Self.newest {
          try transaction.put(key(2), StrataEngineTests.bytes("other"), in: people)
          try transaction.delete(key(4), in: people)
          for name in [people, Self.others, byAge] { _ = try transaction.tree(name) }
          try forge(transaction)
        }
      }
    }
    try store.close()
    bytes = try ForgedFrame.last(of: try #require(disk.image.contents(at: FuzzTarget.path + "/data")?.array)) { $0 }
  }

  private static func begin(_ transaction: FileTransaction) throws {
    for name in [people, others] {
      try transaction.createTree(name, kind: .records, attributes: StrataEngineTests.bytes("{}"))
      for number in 1...4 { try transaction.put(key(number), StrataEngineTests.bytes("value"), in: name) }
    }
    try transaction.createTree(byAge, kind: .entries)
    try transaction.insert(key(1), in: byAge)
  }

  var report: VerifyReport {
    get throws { try FileStore.verify(at: FuzzTarget.path, disk: ImageDisk(FuzzTarget.image(of: bytes))) }
  }

  var findings: [VerifyFinding] { get throws { try report.findings } }

  /// The record of a commit.
  func record(_ number: UInt64) throws -> CommitRecord {
    let frame = try #require(FrameMap(bytes).frames.first { $0.number == number })
    return try record(bytes[frame.record], frame)
  }

  private func record(_ record: ArraySlice<UInt8>, _ frame: FrameMap.Frame) throws -> CommitRecord {
    let seed = bytes.withUnsafeBytes { loadInteger(UInt32.self, $0, at: 64) }
    let header = try #require(bytes[frame.header].withUnsafeBytes { FrameHeader($0, seed: seed) })
    return try record.withUnsafeBytes {
      try CommitRecord($0, frameOffset: FileOffset(frame.header.lowerBound), header: header)
    }
  }

  /// Changes the record of the newest commit.
  mutating func forgeRecord(_ forge: (inout CommitRecord, ConsistentStore) throws -> Void) throws {
    let store = self
    let frame = try #require(FrameMap(bytes).frames.last)
    bytes = try ForgedFrame.last(of: bytes) { bytes in
      var record = try store.record(bytes[...], frame)
      // What lies behind the list of superseded entries, which is empty.
      let tail = bytes.suffix(record.links.superseded.length)
      #expect(Self.encoded(record) + tail == bytes)
      try forge(&record, store)
      return Self.encoded(record) + tail
    }
  }

  /// Changes the bytes of the newest catalog's root, which stay as many.
  mutating func forgeCatalogNode(_ forge: (DataFile, [UInt8]) throws -> [UInt8]) throws {
    let file = try RawStore(at: FuzzTarget.path, disk: ImageDisk(FuzzTarget.image(of: bytes))).file
    let pointer = try record(Self.newest).links.catalog
    let place = Int(pointer.offset)..<(Int(pointer.offset) + Int(pointer.length))
    let node = try forge(file, Array(bytes[place]))
    var forged = pointer
    forged.check = node.withUnsafeBytes { file.header.nodeCheck($0, at: pointer.offset) }
    bytes.replaceSubrange(place, with: node)
    bytes = try ForgedFrame.last(of: bytes) { try ForgedFrame.replacing(pointer, by: forged, in: $0) }
  }

  private static func encoded(_ record: CommitRecord) -> [UInt8] {
    let buffer = ByteBuffer()
    record.encode(into: buffer, superseded: [])
    return [UInt8](buffer.bytes)
  }

  /// The lineage of a commit on top of what a link says, by the rule and with the real lineages of the commits before.
  func lineage(_ path: KeyPath<CommitLinks, Lineage>, after link: CommitLink) throws -> Lineage {
    let its = try record(link.number).links[keyPath: path]
    guard let near = its.jump else { return Lineage(previous: link, jump: link, previousJump: nil) }
    let far = try record(near.number).links[keyPath: path].jump
    return try Lineage(after: link, its: its) { _ throws(StorageError) in far }
  }
}

// MARK: - Forgeries

/// What is done, past its care, to the transaction of the newest commit.
struct TransactionForgery: Sendable, CustomTestStringConvertible {
  var testDescription: String
  /// A part of what verification says of it.
  var problem: String
  var forge: @Sendable (FileTransaction) throws -> Void

  private init(
    _ description: String, told problem: String, _ forge: @escaping @Sendable (FileTransaction) throws -> Void
  ) {
    testDescription = description
    self.problem = problem
    self.forge = forge
  }

  static let all = counts + references + trees + replacements

  private static let counts = [
    TransactionForgery("a commit with a live byte too many", told: "live bytes, and its trees have") {
      $0.state.pointee.liveBytes += 1
    },
    TransactionForgery("a tree of records with a byte of nodes too many", told: "the catalog counts") {
      $0.state.pointee.trees[0].entry.nodeBytes += 1
      $0.state.pointee.liveBytes += 1
    },
    TransactionForgery("a tree of entries with a byte of nodes too many", told: "the catalog counts") {
      try $0.insert(key(2), in: byAge)
      $0.state.pointee.trees[2].entry.nodeBytes += 1
      $0.state.pointee.liveBytes += 1
    },
    TransactionForgery("a tree of records with a byte of entries too many", told: "the catalog counts") {
      $0.state.pointee.trees[0].tally.entryBytes += 1
    },
    TransactionForgery("a tree whose identifier is still to be given", told: "what it says of a tree makes no sense") {
      $0.state.pointee.nextTree = 3
      // The commit has not the bytes of what is no tree.
      $0.state.pointee.liveBytes -= $0.state.pointee.trees[2].entry.liveBytes
    },
  ]

  private static let references = [
    TransactionForgery("an entry that refers to the same key in another tree", told: "of another key, tree or kind") {
      let (old, other) = (try reference(1, in: people, $0), try reference(1, in: others, $0))
      try set(1, to: other, \.primary, $0)
      $0.state.pointee.trees[0].tally.entryBytes += Int64(other.length) - Int64(old.length)
    },
    TransactionForgery("an entry that takes its change for longer than it is", told: "it is not what was written") {
      var longer = try reference(1, in: people, $0)
      longer.length += 1
      try set(1, to: longer, \.primary, $0)
      $0.state.pointee.trees[0].tally.entryBytes += 1
    },
    TransactionForgery("an entry that refers to a delete", told: "of another key, tree or kind") {
      let old = try reference(1, in: people, $0)
      let delete = try append(.delete, 1, nil, false, $0)
      try set(1, to: delete, \.primary, $0)
      $0.state.pointee.trees[0].tally.entryBytes += Int64(delete.length) - Int64(old.length)
    },
    TransactionForgery("a deleted key that refers to a put", told: "of another key, tree or kind") {
      let put = try reference(1, in: people, $0)
      try set(1, to: put, \.tombstones, $0)
      $0.state.pointee.trees[0].tally.entryBytes += Int64(put.length)
    },
  ]

  private static let trees = [
    TransactionForgery("a tree whose identifier is 0", told: "what it says of a tree makes no sense") {
      try setCatalog(byAge, $0) { $0.identifier = 0 }
      $0.state.pointee.liveBytes -= $0.state.pointee.trees[2].entry.liveBytes
    },
    TransactionForgery("a tree with the nodes of another", told: "it is part of another tree") {
      let other = $0.state.pointee.trees[1].entry
      $0.state.pointee.liveBytes += other.nodeBytes - $0.state.pointee.trees[2].entry.nodeBytes
      try setCatalog(byAge, $0) { entry in
        entry.root = other.root
        entry.nodeBytes = other.nodeBytes
      }
    },
    TransactionForgery("a pointer to no node that counts entries", told: "a pointer to no node counts 1 entries") {
      try setCatalog(others, $0) { $0.tombstones.count = 1 }
    },
    TransactionForgery("attributes with another check", told: "they are not what was written") {
      try setCatalog(others, $0) { $0.attributes.check ^= 1 }
    },
    TransactionForgery("a tree of byte order whose keys are in another", told: "its keys are out of order") {
      let name = TreeName(bytes("Dreversed"))
      try $0.createTree(name, kind: .entries, order: .caller)
      for number in [2, 1] { try $0.insert(key(number), in: name, probe: .compare { _ in -1 }) }
      $0.state.pointee.trees[3].entry.order = .bytes
    },
    TransactionForgery("a tree of records whose entries have none", told: "an entry refers to no record") {
      let name = TreeName(bytes("Dbare"))
      try $0.createTree(name, kind: .entries)
      try $0.insert(key(1), in: name)
      $0.state.pointee.trees[3].entry.kind = .records
    },
  ]

  private static let replacements = [
    TransactionForgery("a change that lies elsewhere than it says", told: "no change can be read here") { transaction in
      let entry = [1, 7, 1, 4, 0] + key(1)
      _ = try entry.withUnsafeBytes { try transaction.draft.appendNode($0) }
    },
    TransactionForgery("a change that replaces one of another tree", told: "which is none of its key") {
      _ = try append(.put, 1, reference(1, in: others, $0), false, $0)
    },
    TransactionForgery("a change that replaces one behind it", told: "which is none of its key") { transaction in
      // The later one is made twice: first to know its check, then in its place.
      let start = transaction.draft.position
      let placeholder = EntryReference(offset: start, length: 1, check: 0)
      let length = try append(.put, 1, placeholder, false, transaction, isSuperseded: false).length
      let later = try append(.put, 1, nil, false, transaction, isSuperseded: false)
      try transaction.draft.truncate(to: start)
      let first = try append(.put, 1, later, false, transaction)
      #expect(first.length == length)
      #expect(try append(.put, 1, nil, false, transaction) == later)
    },
    TransactionForgery("a change that takes the put that it replaces for a delete", told: "which is none of its key") {
      _ = try append(.put, 1, reference(1, in: people, $0), true, $0)
    },
    TransactionForgery("a change that takes the delete that it replaces for a put", told: "which is none of its key") {
      let delete = try append(.delete, 1, reference(1, in: people, $0), false, $0)
      _ = try append(.put, 1, delete, false, $0)
    },
  ]

  private static let others = ConsistentStore.others

  private static func reference(_ number: Int, in tree: TreeName, _ transaction: FileTransaction) throws
    -> EntryReference
  {
    try #require(try transaction.currentReference(of: key(number), in: tree)?.entry)
  }

  /// Lets an entry of `people` refer to something.
  private static func set(
    _ number: Int, to reference: EntryReference, _ editor: WritableKeyPath<TreeState, TreeEditor>,
    _ transaction: FileTransaction
  ) throws {
    try key(number).withUnsafeBytes { key in
      _ = try transaction.state.pointee.trees[0][keyPath: editor].set(key, at: .bytes(key), in: transaction.file) {
        _ throws(StorageError) in .entry(reference)
      }
    }
  }

  /// Changes what the catalog says of a tree.
  private static func setCatalog(
    _ name: TreeName, _ transaction: FileTransaction, _ change: (inout CatalogEntry) -> Void
  ) throws {
    let place = try transaction.existing(name)
    var entry = transaction.state.pointee.trees[place].entry
    change(&entry)
    try name.bytes.withUnsafeBytes { key in
      _ = try transaction.state.pointee.catalog.set(key, at: .bytes(key), in: transaction.file) {
        _ throws(StorageError) in .bytes(entry.encoded())
      }
    }
  }

  /// Appends a change of a key in `people` that is not counted.
  private static func append(
    _ kind: ChangeEntry.Kind, _ number: Int, _ replaced: EntryReference?, _ replacesDelete: Bool,
    _ transaction: FileTransaction, isSuperseded: Bool = true
  ) throws -> EntryReference {
    let tree = transaction.state.pointee.trees[0].entry.identifier
    let change = try key(number).withUnsafeBytes { key in
      let head = ChangeEntry.Head(
        kind: kind, tree: tree, key: key, replaced: replaced, replacesDelete: replacesDelete)
      return try transaction.draft.append(head, .none)
    }
    if isSuperseded { transaction.supersede(change) }
    return change
  }
}

/// What is done to the record of the newest commit; the store is the honest one.
struct RecordForgery: Sendable, CustomTestStringConvertible {
  var testDescription: String
  /// A part of what verification says of it.
  var problem: String
  var forge: @Sendable (inout CommitRecord, ConsistentStore) throws -> Void

  private init(
    _ description: String, told problem: String,
    _ forge: @escaping @Sendable (inout CommitRecord, ConsistentStore) throws -> Void
  ) {
    testDescription = description
    self.problem = problem
    self.forge = forge
  }

  static let all = facts + links + jumps

  private static let facts = [
    // A squashed commit may have fewer changes in its frame than it counts, so that only the trees tell.
    RecordForgery("an insertion too many", told: "entries, and by its changes it has") { record, _ in
      record.flags.insert(.squashed)
      record.counts[0].inserted += 1
    },
    RecordForgery("a deletion too many", told: "entries, and by its changes it has") { record, _ in
      record.flags.insert(.squashed)
      record.counts[0].deleted += 1
    },
    RecordForgery("an update too many", told: "and the changes are") { record, _ in record.counts[0].updated += 1 },
    RecordForgery("an update too few in a squashed commit", told: "and the changes are") { record, _ in
      record.flags.insert(.squashed)
      record.counts[0].updated -= 1
    },
    // A commit that undoes is not compared with its parent's trees, so that only the changes tell.
    RecordForgery("an insertion too few in a squashed commit", told: "and the changes are") { record, _ in
      record.flags.formUnion([.squashed, .undo])
      record.counts[0].inserted -= 1
    },
    RecordForgery("a deletion too few in a squashed commit", told: "and the changes are") { record, _ in
      record.flags.formUnion([.squashed, .undo])
      record.counts[0].deleted -= 1
    },
    RecordForgery("a date before the parent's", told: "it is dated earlier than its parent #6") { record, store in
      record.date = try store.record(6).date - 1
    },
    RecordForgery("the frame before the one before", told: "it names another frame before it than the file has") {
      record, store in record.links.order = try store.lineage(\.order, after: try store.record(6).orderLink)
    },
    RecordForgery("a parent that is not there", told: "its parent #100 is not in the file") { record, _ in
      record.links.parents[0].number = 100
    },
    RecordForgery("a frame before that is not there", told: "its frame before #100 is not in the file") { record, _ in
      record.links.order.previous?.number = 100
    },
    RecordForgery("a head that is not there", told: "its head #100 is not in the file") { record, _ in
      record.links.head.number = 100
    },
    RecordForgery("a restore that is not there", told: "its restore #100 is not in the file") { record, _ in
      record.links.lastRestore?.number = 100
    },
    RecordForgery("another place of the parent", told: "its parent #6 is not where and what") { record, store in
      record.links.parents[0].offset += 8
      record.links.ancestry = try store.lineage(\.ancestry, after: record.links.parents[0])
    },
    RecordForgery("another place of the head", told: "its head #7 is not where and what") { record, _ in
      record.links.head.offset += 8
    },
  ]

  // MARK: Links

  private static let lies: [(String, @Sendable (inout CommitLink) -> Void)] = [
    ("date", { $0.date -= 1 }), ("depth", { $0.depth += 1 }),
  ]

  private static let links: [RecordForgery] = lies.flatMap { part, lie in
    [
      RecordForgery("another \(part) of the parent", told: "its parent #6 is not where and what") { record, store in
        lie(&record.links.parents[0])
        record.links.ancestry = try store.lineage(\.ancestry, after: record.links.parents[0])
      },
      RecordForgery("another \(part) of the frame before", told: "its frame before #7 is not where and what") {
        record, store in
        var previous = try #require(record.links.order.previous)
        lie(&previous)
        record.links.order = try store.lineage(\.order, after: previous)
      },
      RecordForgery("another \(part) of the head", told: "its head #7 is not where and what") { record, _ in
        lie(&record.links.head)
      },
      RecordForgery("another \(part) of the last restore", told: "its restore #4 is not where and what") { record, _ in
        var restore = try #require(record.links.lastRestore)
        lie(&restore)
        record.links.lastRestore = restore
      },
    ]
  }

  private static let jumps: [RecordForgery] = [
    ("ancestors", \CommitLinks.ancestry as any WritableKeyPath<CommitLinks, Lineage> & Sendable), ("frames", \.order),
  ].flatMap { what, lineage in
    [
      RecordForgery("a jump among \(what) to the one before", told: elsewhere) { record, _ in
        let previous = record.links[keyPath: lineage].previous
        try #require(record.links[keyPath: lineage].jump != previous)
        record.links[keyPath: lineage].jump = previous
      },
      RecordForgery("no jump among \(what)", told: elsewhere) { record, _ in
        record.links[keyPath: lineage].jump = nil
      },
      RecordForgery("another jump of the one before among \(what)", told: elsewhere) { record, _ in
        let previous = record.links[keyPath: lineage].previous
        try #require(record.links[keyPath: lineage].previousJump != previous)
        record.links[keyPath: lineage].previousJump = previous
      },
    ]
  }

  private static let elsewhere = "its way to its ancestors leads elsewhere"
}
