import StrataModel
import Foundation
import StrataEngine
import Testing

@testable import CodableDatastore

/// What queries read, counted in nodes of trees and records.
@Suite("What queries cost")
struct QueryCostTests {
  private struct Item: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var value: Int
    var group: Int
    var note: String
  }

  private struct ItemFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Item
    static let defaultKey: DatastoreKey = "Items"
    static let currentVersion = Version.one
    let value = Index(\.value)
    let group = Index(\.group)
    @Direct var note = Index(\.note)
  }

  private let persistence = MemoryPersistence()
  private var items: ItemFormat.Datastore { persistence.datastore(ItemFormat.self) }

  private var engine: any Engine {
    get throws { try persistence._store.connection.storeForWriting() }
  }

  private func fill(_ count: Int) async throws -> ItemFormat.Datastore {
    let items = items
    try await items.persist(
      contentsOf: (0..<count).map { Item(id: $0, value: $0 * 7919 % count, group: $0 % 50, note: "n\($0 % 9)") })
    // So that what is looked up once is known.
    _ = try await items.load(where: #Predicate { $0.value == 1 && $0.group == 1 }).first
    return items
  }

  private func reads<Value>(_ body: () async throws -> Value) async throws -> (value: Value, nodes: Int, values: Int) {
    let before = try engine.counts
    let value = try await body()
    let after = try engine.counts
    return (value, Int(after.nodeReads - before.nodeReads), Int(after.valueReads - before.valueReads))
  }

  /// No tree here is deeper.
  private static let depth = 4

  @Test(
    "a page far behind in an index's order reads the page alone, whatever lies before it", arguments: [3_000, 12_000])
  func page(count: Int) async throws {
    let items = try await fill(count)
    let query = items.load(where: #Predicate { $0.value >= 0 }).sorted(by: \.value).limit(100, offset: count / 3)
    let (page, nodes, values) = try await reads { try await query.collectInstances(upTo: .infinity) }
    #expect(page.map(\.value) == Array(count / 3..<count / 3 + 100))
    // Ways to the ends of the range and to the page, along it, and one to each record.
    #expect(nodes <= Self.depth * (100 + 8) + 16)
    #expect(values <= 100 + 8)
    let descending = items.load(where: #Predicate { $0.value >= 0 }).sorted(by: \.value, .descending)
      .limit(100, offset: count / 3)
    let back = try await reads { try await descending.collectInstances(upTo: .infinity) }
    #expect(back.value.map(\.value) == (0..<100).map { count - 1 - count / 3 - $0 })
    // Each value's ends are looked for, as many entries may share it.
    #expect(back.nodes <= Self.depth * (400 + 8) + 16)
  }

  @Test("a page without an end is planned as all that follows, whatever its beginning")
  func endlessPage() async throws {
    let items = try await fill(3_000)
    let few = items.load(where: #Predicate { $0.value >= 2_900 }).sorted(by: \.id)
    let plan = try await few.limit(.max - 5, offset: 5).explain()
    for offset in [6, Int.max] { #expect(try await few.limit(.max, offset: offset).explain() == plan) }
    #expect(try await few.limit(.max, offset: 98).all().count == 2)
    #expect(try await few.limit(.max, offset: .max).all().isEmpty)
  }

  @Test("a live query's first answer reads each instance once, also where it is sorted without an index")
  func liveBegins() async throws {
    let items = try await fill(600)
    let query = items.load(where: #Predicate { $0.group < 25 }).sorted(by: \.note, .descending).sorted(by: \.group)
    let answer = try await reads { try await query.live().firstInstance }
    let expected = try await items.load(...).collectInstances(upTo: .infinity).filter { $0.group < 25 }.sorted {
      $0.note != $1.note ? $1.note < $0.note : $0.group != $1.group ? $0.group < $1.group : $0.id < $1.id
    }
    #expect(answer.value == expected)
    #expect(answer.values <= 300 + 8)
  }

  @Test("a figure along an index costs a search for a value, however many instances have it")
  func oneValue() async throws {
    let items = items
    try await items.persist(contentsOf: (0..<40_000).map { Item(id: $0, value: 0, group: 0, note: "same") })
    let notes = try await reads { try await items.load(...).grouped(by: \.note) { $0.max(\.note) } }
    #expect(notes.value.map(\.figures) == ["same"])
    #expect(notes.nodes <= 12 * Self.depth && notes.values <= 4, "\(notes.nodes)")
  }

  @Test("a plan and a count read no more than two ways down each index")
  func plans() async throws {
    let items = try await fill(12_000)
    let query = items.load(where: #Predicate { $0.value > 100 && $0.value < 4_000 && $0.group == 7 })
    let plan = try await reads { try await query.explain() }
    // Two intervals of one index and one of the other.
    #expect(plan.nodes <= 3 * 2 * Self.depth + 4, "\(plan.value)")
    #expect(plan.values <= 4)
    let counting = items.load(where: #Predicate { $0.value > 100 })
    let counted = try await reads { try await counting.count }
    #expect(counted.value == 12_000 - 101)
    #expect(counted.nodes <= 2 * Self.depth + 4)
    #expect(counted.values <= 4)
    let least = try await reads { try await counting.min(of: \.value) }
    #expect(least.value == 101)
    #expect(least.nodes <= 6 * Self.depth + 4)
  }

  @Test("what is left of a range is read, and nothing outside of it")
  func range() async throws {
    let items = try await fill(12_000)
    let query = items.load(where: #Predicate { $0.value >= 600 && $0.value < 650 && $0.note == "n1" })
    let found = try await reads { try await query.collectInstances(upTo: .infinity) }
    #expect(found.value.allSatisfy { (600..<650).contains($0.value) && $0.note == "n1" })
    #expect(found.values <= 50 + 8, "50 records are tested")
    #expect(found.nodes <= Self.depth * (50 + 8) + 16)
  }

  @Test("a live page reads the page alone, and what changed")
  func live() async throws {
    let items = try await fill(12_000)
    let query = items.load(where: #Predicate { $0.value >= 0 }).sorted(by: \.value, .descending).limit(10)
    var live = query.live().makeAsyncIterator()
    let first = try await reads { try await live.next() }
    #expect(first.value?.map(\.value) == (0..<10).map { 11_999 - $0 })
    #expect(first.values <= 10 + 8)
    try await items.persist(Item(id: 20_000, value: 20_000, group: 0, note: ""))
    let second = try await reads { try await live.next() }
    #expect(second.value?.map(\.value) == [20_000] + (0..<9).map { 11_999 - $0 })
    #expect(second.values <= 2, "the change has what it needs")
    #expect(second.nodes <= 4)
  }

  /// Nodes that a walk along all entries of a tree reads.
  private func nodes(along tree: TreeName) throws -> Int {
    let before = try engine.counts
    var cursor = try #require(try engine.head.tree(tree)).cursor()
    try cursor.seekToStart()
    while cursor.hasEntry { try cursor.next() }
    return Int(try engine.counts.nodeReads - before.nodeReads)
  }

  @Test("along a direct index, and along the records, each record is read with its entry: nothing is looked up")
  func direct() async throws {
    let items = try await fill(6_000)
    let direct = try nodes(along: .index("note", of: "Items"))
    let records = try nodes(along: .records(of: "Items"))
    let ways = 4 * Self.depth + 4
    let equal = items.load(where: #Predicate { $0.note == "n4" && $0.value > -1 && $0.group != 7 })
    let found = try await reads { try await equal.collectInstances(upTo: .infinity) }
    #expect(found.value.map(\.id) == (0..<6_000).filter { $0 % 9 == 4 && $0 % 50 != 7 })
    #expect(found.nodes <= direct / 9 + 3 * ways)
    let sorted = items.load(where: #Predicate { $0.note >= "n1" }).sorted(by: \.note, .descending)
    let backwards = try await reads { try await sorted.collectInstances(upTo: .infinity) }
    #expect(backwards.value.map(\.note) == (0..<6_000).map { "n\($0 % 9)" }.filter { $0 != "n0" }.sorted().reversed())
    #expect(backwards.nodes <= direct + 9 * ways)
    for order in [RangeOrder.ascending, .descending] {
      let loaded = try await reads {
        try await items.load("n2"..."n3", order: order, from: \.note).collectInstances(upTo: .infinity)
      }
      let expected = (0..<6_000).filter { $0 % 9 == 2 } + (0..<6_000).filter { $0 % 9 == 3 }
      #expect(loaded.value.map(\.id) == (order == .ascending ? expected : expected.reversed()))
      #expect(loaded.nodes <= 2 * direct / 9 + ways)
      let all = try await reads { try await items.load(..., order: order).collectInstances(upTo: .infinity) }
      #expect(all.value.map(\.id) == (order == .ascending ? Array(0..<6_000) : (0..<6_000).reversed()))
      #expect(all.nodes <= records + ways)
    }
    let scan = try await reads {
      try await items.load(where: #Predicate { $0.value % 2 == 0 }).scanning().collectInstances(upTo: .infinity).count
    }
    #expect(scan.value == 3_000)
    #expect(scan.nodes <= records + ways)
    let top = try await reads {
      try await items.load(where: #Predicate { $0.id >= 0 }).scanning().sorted(by: \.value, .descending).limit(5)
        .collectInstances(upTo: .infinity)
    }
    #expect(top.value.map(\.value) == [5_999, 5_998, 5_997, 5_996, 5_995])
  }

  @Test("where matches come by identifier, the records are gone along, not looked up one by one")
  func ordered() async throws {
    let items = try await fill(6_000)
    let records = try nodes(along: .records(of: "Items"))
    let query = items.load(where: #Predicate { $0.value >= 3_000 })
    let found = try await reads { try await query.collectInstances(upTo: .infinity) }
    #expect(found.value.map(\.id) == (0..<6_000).filter { $0 * 7919 % 6_000 >= 3_000 })
    let entries = try nodes(along: .index("value", of: "Items"))
    #expect(found.nodes <= records + entries / 2 + 8 * Self.depth)
  }

  @Test("an answer tells how it is read, and how far it is")
  func explanation() async throws {
    let items = try await fill(100)
    let query = items.load(where: #Predicate { $0.value >= 90 && $0.group < 10_000 && $0.id % 2 == 0 })
    var answer = query.makeAsyncIterator()
    #expect(answer.explanation == nil)
    _ = try await answer.next()
    let plan = try await query.explain()
    #expect(answer.explanation?.hasPrefix(plan) == true && answer.explanation?.hasSuffix("KEPT 1") == true)
    var kept = 1
    while try await answer.next() != nil { kept += 1 }
    #expect(answer.explanation == "\(plan) · READ 10 · KEPT \(kept)")
  }

  @Test("a query that no index serves throws before it reads a record")
  func unindexed() async throws {
    let items = try await fill(3_000)
    let query = items.load(where: #Predicate { $0.note.count == 1 })
    let before = try engine.counts
    await #expect(throws: UnindexedQueryError.self) { try await query.collectInstances(upTo: .infinity) }
    await #expect(throws: UnindexedQueryError.self) { try await query.count }
    await #expect(throws: UnindexedQueryError.self) { try await query.sorted(by: \.value).first }
    let after = try engine.counts
    #expect(after.nodeReads - before.nodeReads <= 12)
    #expect(after.valueReads - before.valueReads <= 4)
  }
}
