@testable import CodableDatastore
@testable import StrataModel
import StrataDocuments
import Foundation
import StrataEngine
import Testing

/// One script of random writes, through the typed library and through the tools' interface by turns, against a dictionary. A failure
/// names the seed, and the same seed gives the same script.
@Suite("Random writes by the library and by tools")
struct RandomScriptTests {
  /// Ordered by its own `<` alone: longest text first.
  struct Depth: Codable, Hashable, Comparable, DiscreteIndexable, RangedIndexable {
    var text: String
    static func < (left: Self, right: Self) -> Bool {
      left.text.count != right.text.count ? left.text.count > right.text.count : left.text < right.text
    }
  }

  struct Item<ID: Hashable & Codable & Sendable>: Codable, Hashable, Identifiable, Sendable {
    var id: ID
    var name: String
    var tags: [String]
    var pages: Int
    var depth: Depth
    var level: Depth
  }

  enum Version: Int, CaseIterable { case first = 1 }

  /// Every kind of index, both storages, both classes of order.
  struct Full<ID: ScriptIdentifier>: DatastoreFormat {
    typealias Instance = Item<ID>
    static var defaultKey: DatastoreKey { "Items" }
    static var currentVersion: RandomScriptTests.Version { .first }
    @Unique var name = OneToOneIndex(\.name)
    let tags = ManyToManyIndex(\.tags)
    @Direct var pages = Index(\.pages)
    @Direct var depth = Index(\.depth)
    let level = Index(\.level)
  }

  /// The same records with fewer indexes, one of them of another kind.
  struct Lean<ID: ScriptIdentifier>: DatastoreFormat {
    typealias Instance = Item<ID>
    static var defaultKey: DatastoreKey { "Items" }
    static var currentVersion: RandomScriptTests.Version { .first }
    @Unique var name = OneToOneIndex(\.name)
    let pages = Index(\.pages)
  }

  @Test("identifiers in byte order", arguments: [UInt64](1...6))
  func byteOrder(seed: UInt64) async throws { try await run(Int.self, seed: seed) }

  @Test("identifiers that only the app can order", arguments: [UInt64](1...6))
  func comparatorOrder(seed: UInt64) async throws { try await run(Depth.self, seed: seed) }

  private func run<ID: ScriptIdentifier>(_ type: ID.Type, seed: UInt64) async throws {
    let script = Script<ID>(seed: seed)
    do {
      for _ in 0..<6 {
        try await script.use(Full<ID>.self, steps: 25) { try await script.checkIndexes(of: $0) }
        try await script.use(Lean<ID>.self, steps: 6) { _ in }
      }
    } catch {
      Issue.record("seed \(seed), step \(script.step): \(error)")
    }
  }
}

/// An identifier that follows from a number.
protocol ScriptIdentifier: DiscreteIndexable, RangedIndexable {
  init(number: Int)
}

extension Int: ScriptIdentifier {
  init(number: Int) { self = number }
}

extension RandomScriptTests.Depth: ScriptIdentifier {
  init(number: Int) { text = String(repeating: "x", count: number % 5) + "\(number)" }
}

private final class Script<ID: ScriptIdentifier> {
  typealias Item = RandomScriptTests.Item<ID>
  typealias Full = RandomScriptTests.Full<ID>

  struct Thrown: Error {}

  let persistence = MemoryPersistence()
  private var numbers: Numbers
  private let seed: UInt64
  /// What the store must hold.
  private var items: [ID: Item] = [:]
  private(set) var step = 0

  init(seed: UInt64) {
    self.seed = seed
    numbers = Numbers(seed: seed)
  }

  /// Runs some steps with one format, and compares the whole afterwards.
  func use<Format: DatastoreFormat>(
    _ format: Format.Type, steps: Int, check: (Datastore<Format, ReadWrite>) async throws -> Void
  ) async throws where Format.Instance == Item, Format.Identifier == ID, Format.Version == RandomScriptTests.Version {
    let datastore = Datastore<Format, ReadWrite>.JSONStore(
      persistence: persistence, version: .first, migrations: [.first: { try $0.decode(Item.self, from: $1) }])
    let tools = try EngineStore(
      persistence._store.connection.storeForWriting(), path: "", keepsLock: true,
      formats: [datastore._browsable.format])
    for _ in 0..<steps {
      step += 1
      switch numbers.below(10) {
      case 0...3: try await writeTyped(datastore)
      case 4...6: try await edit(by: tools)
      case 7: try await rollBack(datastore)
      case 8: try await swapNames(datastore)
      default: if Format.self == Full.self { try await damage(datastore, tools) }
      }
    }
    let all = try await datastore.load(...).all()
    let expected = items.values.sorted { $0.id < $1.id }
    #expect(all == expected, "seed \(seed), step \(step)")
    try await check(datastore)
    let findings = try await onThread { try tools.verifyModel(at: tools.head.commit).allFindings }
    #expect(findings.filter { $0.severity == .wrong }.isEmpty, "seed \(seed), step \(step)")
  }

  // MARK: Steps

  private func writeTyped<Format>(_ datastore: Datastore<Format, ReadWrite>) async throws
  where Format.Instance == Item, Format.Identifier == ID {
    let edits = (0..<(1 + numbers.below(4))).map { _ in randomEdit() }
    var next = items
    for (id, item) in edits { next[id] = item }
    try await persistence.perform {
      for (id, item) in edits {
        if let item { try await datastore.persist(item) } else { try await datastore.deleteIfPresent(id: id) }
      }
    }
    items = next
  }

  /// Commits a change set; now and then, after another record was changed, takes it back record by record.
  private func edit(by tools: EngineStore) async throws {
    guard try tools.head.datastore("Items") != nil else { return }
    var edits: [ID: Item?] = [:]
    for _ in 0..<(1 + numbers.below(4)) {
      let (id, item) = randomEdit()
      edits[id] = .some(item)
    }
    let changes = try changes(edits, in: tools)
    if changes.isEmpty { return }
    let before = tools.head.commit
    let commit = try await onThread { try tools.commit(changes, named: "edit", options: EditOptions()) }
    if commit == before || numbers.below(3) > 0 {
      for (id, item) in edits { items[id] = item }
      return
    }
    let other = Item(
      id: ID(number: 99), name: "other \(step)", tags: ["b"], pages: numbers.below(5), depth: .init(text: "d"),
      level: .init(text: "d"))
    let second = try self.changes([other.id: other], in: tools)
    try await onThread {
      _ = try tools.commit(second, named: "another", options: EditOptions())
      _ = try tools.undo(commit, named: "take back")
    }
    items[other.id] = other
  }

  private func changes(_ edits: [ID: Item?], in tools: EngineStore) throws -> ChangeSet {
    let datastore = try #require(try tools.head.datastore("Items"))
    var changes = ChangeSet()
    for (id, item) in edits.sorted(by: { $0.key < $1.key }) {
      let key = datastore.descriptor.storedKey(try KeyCoder<ID>.make().key(of: id))
      let old = try datastore.record(key)?.stored
      let new = try item.map { RecordContent(version: "1", bytes: [UInt8](try encoder.encode($0))) }
      if old == nil, new == nil { continue }
      changes.changes.append(RecordEdit(datastore: "Items", identifier: key, old: old, new: new))
    }
    return changes
  }

  /// A child that is rolled back within a transaction that stays, or a whole transaction that fails.
  private func rollBack<Format>(_ datastore: Datastore<Format, ReadWrite>) async throws
  where Format.Instance == Item, Format.Identifier == ID {
    let lost = (0..<3).map { _ in randomEdit() }
    let kept = randomEdit()
    let failsWhole = numbers.below(2) == 0
    func write(_ edits: [(ID, Item?)]) async throws {
      for (id, item) in edits {
        if let item { try await datastore.persist(item) } else { try await datastore.deleteIfPresent(id: id) }
      }
    }
    do {
      try await persistence.perform {
        if failsWhole {
          try await write(lost)
          throw Thrown()
        }
        try? await persistence.perform {
          try await write(lost)
          throw Thrown()
        }
        try await write([kept])
      }
      items[kept.0] = kept.1
    } catch is Thrown {}
  }

  /// Two records take each other's unique name; a third that takes one as well is refused.
  private func swapNames<Format>(_ datastore: Datastore<Format, ReadWrite>) async throws
  where Format.Instance == Item, Format.Identifier == ID {
    let pair = items.values.sorted { $0.id < $1.id }.prefix(2)
    guard var first = pair.first, var second = pair.last, first.id != second.id else { return }
    swap(&first.name, &second.name)
    let (left, right) = (first, second)
    try await persistence.perform {
      try await datastore.persist(left)
      try await datastore.persist(right)
    }
    (items[left.id], items[right.id]) = (left, right)
    let thief = Item(
      id: ID(number: 77), name: left.name, tags: [], pages: 0, depth: .init(text: ""), level: .init(text: ""))
    await #expect(throws: UniquenessError.self, "seed \(seed), step \(step)") { try await datastore.persist(thief) }
  }

  /// Takes an entry away, or marks an index stale; then the record is persisted as it is, and all is well.
  private func damage<Format>(_ datastore: Datastore<Format, ReadWrite>, _ tools: EngineStore) async throws
  where Format.Instance == Item, Format.Identifier == ID {
    guard let item = items.values.min(by: { $0.id < $1.id }) else { return }
    let pages = Int64(item.pages)
    let identifier = try KeyCoder<ID>.make().key(of: item.id)
    let makesStale = numbers.below(2) == 0
    try await onThread {
      _ = try tools.transact(CommitInfo(action: "damage")) { transaction throws(ModelError) in
        guard var descriptor = try tools.baseView(of: transaction).ownDatastore("Items")?.descriptor else { return }
        if makesStale {
          guard var index = descriptor.index("tags") else { return }
          index.isStale = true
          descriptor.setIndex("tags", to: index)
          return try DatastoreWriter.store(descriptor, in: transaction)
        }
        let key = EntryKey.make(
          value: try KeyEncoding.integer.encode(.integer(pages)), identifier: identifier)
        try onStorage {
          let writer = DatastoreWriter(descriptor, in: transaction, format: tools.formats["Items"])
          try writer.removeEntry(key, in: "pages")
        }
      }
    }
    try await datastore.persist(item)
  }

  // MARK: Comparing

  func checkIndexes(of datastore: Datastore<Full, ReadWrite>) async throws {
    let all = items.values.sorted { $0.id < $1.id }
    func sorted<Value: Comparable>(by value: (Item) -> Value) -> [ID] {
      all.sorted { (value($0), $0.id) < (value($1), $1.id) }.map(\.id)
    }
    for item in all {
      let named = try await datastore.load(item.name, from: \.name)
      #expect(named == item, "seed \(seed), step \(step)")
    }
    let byPages = sorted { $0.pages }
    let pages = try await datastore.load(..., from: \.pages).all()
    #expect(pages.map(\.id) == byPages, "seed \(seed), step \(step)")
    #expect(pages.allSatisfy { items[$0.id] == $0 }, "a direct index serves the newest version, seed \(seed)")
    let byDepth = sorted { $0.depth }
    #expect(try await datastore.load(..., from: \.depth).all().map(\.id) == byDepth, "seed \(seed), step \(step)")
    let byLevel = sorted { $0.level }
    #expect(try await datastore.load(..., from: \.level).all().map(\.id) == byLevel, "seed \(seed), step \(step)")
    for tag in ["a", "b", "c"] {
      let tagged = try await datastore.load(tag, from: \.tags).all().map(\.id)
      #expect(tagged == all.filter { $0.tags.contains(tag) }.map(\.id), "seed \(seed), step \(step)")
    }
  }

  // MARK: Random things

  private var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return encoder
  }

  /// An item that takes its identifier's place, or nil to delete it. Names are unique by the identifier.
  private func randomEdit() -> (ID, Item?) {
    let number = numbers.below(24)
    let id = ID(number: number)
    if numbers.below(4) == 0 { return (id, nil) }
    let tags = ["a", "b", "c"].filter { _ in numbers.below(2) == 0 }
    // As it is, now and then; else something new, whose name no other has whatever was swapped.
    if let item = items[id], numbers.below(4) == 0 { return (id, item) }
    return (
      id,
      Item(
        id: id, name: "\(number)/\(step)/\(numbers.below(1_000_000))", tags: tags, pages: numbers.below(5),
        depth: .init(text: String(repeating: "d", count: numbers.below(4))),
        level: .init(text: String(repeating: "l", count: numbers.below(4))))
    )
  }
}

/// Numbers that follow from a seed.
private struct Numbers {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func below(_ limit: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ mixed >> 31) % UInt64(limit))
  }
}
