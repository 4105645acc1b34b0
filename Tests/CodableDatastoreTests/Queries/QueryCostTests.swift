import DatastoreModel
import Foundation
import StorageEngine
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
  }

  private let persistence = MemoryPersistence()
  private var items: ItemFormat.Datastore { persistence.datastore(ItemFormat.self) }

  private var engine: Store {
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

  @Test("a query that no index serves throws before it reads a record")
  func unindexed() async throws {
    let items = try await fill(3_000)
    let query = items.load(where: #Predicate { $0.note == "n1" })
    let before = try engine.counts
    await #expect(throws: UnindexedQueryError.self) { try await query.collectInstances(upTo: .infinity) }
    await #expect(throws: UnindexedQueryError.self) { try await query.count }
    await #expect(throws: UnindexedQueryError.self) { try await query.sorted(by: \.value).first }
    let after = try engine.counts
    #expect(after.nodeReads - before.nodeReads <= 12)
    #expect(after.valueReads - before.valueReads <= 4)
  }
}
