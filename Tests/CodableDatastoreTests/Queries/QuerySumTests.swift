import CodableDatastore
import Foundation
import Testing

@Suite("Sums, means and distinct values of queries")
struct QuerySumTests {
  struct Entry: Codable, Identifiable, Sendable {
    var id: Int
    var group: String
    var small: Int8
    var wide: UInt64
    var weight: Double?
    var price: Decimal
    var count: Int?
    var discount: Decimal? { count.map { Decimal($0) / 10 } }
  }

  struct EntryFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Entry
    static let defaultKey: DatastoreKey = "Entries"
    static let currentVersion = Version.one
    let group = Index(\.group)
  }

  private func entries(_ all: [Entry]) async throws -> EntryFormat.Datastore {
    let entries = MemoryPersistence().datastore(EntryFormat.self)
    try await entries.persist(contentsOf: all)
    return entries
  }

  @Test("are those of a loop over what meets the condition, whatever the sort and the limit")
  func loops() async throws {
    let all = (0..<90).map { number in
      Entry(
        id: number, group: "g\(number % 4)", small: Int8(number % 3) - 1, wide: UInt64(number),
        weight: number % 5 == 0 ? nil : Double(number) / 4, price: Decimal(number) / 10,
        count: number % 2 == 0 ? nil : number)
    }
    let entries = try await entries(all)
    let group = "g1"
    let some = entries.load(where: #Predicate { $0.group == group }).sorted(by: \.id, .descending).limit(2)
    let kept = all.filter { $0.group == group }
    #expect(try await some.sum(of: \.wide) == kept.reduce(0) { $0 + $1.wide })
    #expect(try await some.sum(of: \.small) == kept.reduce(0) { $0 + $1.small })
    #expect(try await some.sum(of: \.count) == kept.reduce(0) { $0 + ($1.count ?? 0) })
    #expect(try await some.sum(of: \.weight) == kept.reduce(0) { $0 + ($1.weight ?? 0) })
    #expect(try await some.sum(of: \.price) == kept.reduce(0) { $0 + $1.price })
    let weights = kept.compactMap(\.weight)
    #expect(try await some.average(of: \.weight) == weights.reduce(0, +) / Double(weights.count))
    #expect(try await some.average(of: \.wide) == Double(kept.reduce(0) { $0 + $1.wide }) / Double(kept.count))
    let discounts = kept.compactMap(\.discount)
    #expect(try await some.average(of: \.price) == kept.reduce(0) { $0 + $1.price } / Decimal(kept.count))
    #expect(try await some.average(of: \.discount) == discounts.reduce(0, +) / Decimal(discounts.count))
    let groups = try await entries.load(...).grouped(by: \.group) {
      $0.average(\.price)
      $0.average(\.discount)
    }
    for (group, (price, discount)) in groups {
      let own = all.filter { $0.group == group }
      #expect(price == own.reduce(0) { $0 + $1.price } / Decimal(own.count))
      let discounts = own.compactMap(\.discount)
      #expect(discount == (discounts.isEmpty ? nil : discounts.reduce(0, +) / Decimal(discounts.count)))
    }
    #expect(try await some.distinct(\.small) == Set(kept.map(\.small)))
    let everything = entries.load(where: #Predicate { _ in true })
    #expect(try await everything.distinct(\.group) == ["g0", "g1", "g2", "g3"])
    let price = Decimal(0)
    await #expect(throws: UnindexedQueryError.self) {
      try await entries.load(where: #Predicate { $0.price > price }).sum(of: \.wide)
    }
  }

  @Test("of nothing a sum is 0 and a mean nil; a sum beyond its type throws, one that comes back does not")
  func edges() async throws {
    func entry(_ id: Int, _ small: Int8, _ wide: UInt64 = 0) -> Entry {
      Entry(id: id, group: "g", small: small, wide: wide, weight: nil, price: 0, count: nil)
    }
    let entries = try await entries([
      entry(1, 127), entry(2, 127), entry(3, -128), entry(4, -128), entry(5, 1, .max), entry(6, -1, .max),
    ])
    let everything = entries.load(where: #Predicate { _ in true })
    #expect(try await everything.sum(of: \.small) == -2)
    await #expect(throws: InvalidQueryError.self) { try await everything.sum(of: \.wide) }
    await #expect(throws: InvalidQueryError.self) {
      try await entries.load(where: #Predicate { $0.id <= 2 }).sum(of: \.small)
    }
    #expect(try await everything.average(of: \.weight) == nil)
    #expect(try await everything.sum(of: \.count) == 0)
    let none = entries.load(where: #Predicate { $0.id > 10 })
    #expect(try await none.sum(of: \.small) == 0)
    #expect(try await none.average(of: \.small) == nil)
    #expect(try await none.distinct(\.group).isEmpty)
  }
}
