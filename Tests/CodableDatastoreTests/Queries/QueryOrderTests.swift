import CodableDatastore
import Foundation
import Testing

/// Queries over types that only the app can order.
@Suite("Queries in the app's own order")
struct QueryOrderTests {
  /// Ordered from Z to A, the shorter one last.
  struct Code: Codable, Hashable, Comparable, DiscreteIndexable, Sendable {
    var letters: String
    static func < (left: Self, right: Self) -> Bool { right.letters < left.letters }
  }

  enum Size: String, Codable, Comparable, CaseIterable, Sendable {
    case small, medium, large
    static func < (left: Self, right: Self) -> Bool {
      (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
  }

  struct Parcel: Codable, Hashable, Identifiable, Sendable {
    var id: Code
    var size: Size
    var weight: Int
    var floor: Int
  }

  struct ParcelFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Parcel
    static let defaultKey: DatastoreKey = "Parcels"
    static let currentVersion = Version.one
    let size = Index(\.size)
    let weight = Index(\.weight)
  }

  private let persistence = MemoryPersistence()
  private let all: [Parcel] = (0..<60).map { number in
    Parcel(
      id: Code(letters: String(UnicodeScalar(UInt8(65 + number % 20))) + String(repeating: "x", count: number / 20)),
      size: Size.allCases[number * 7 % 3], weight: number * 11 % 5, floor: number * 13 % 4)
  }

  private func parcels() async throws -> ParcelFormat.Datastore {
    let parcels = persistence.datastore(ParcelFormat.self)
    try await parcels.persist(contentsOf: all)
    return parcels
  }

  private func pages(
    of query: Query<ParcelFormat, ReadWrite>, deleting: Bool = false
  ) async throws -> [Parcel] {
    var paged: [Parcel] = []
    var page = try await query.limit(7).collectInstances(upTo: .infinity)
    while let last = page.last {
      paged += page
      let cursor = try JSONDecoder().decode(QueryCursor.self, from: JSONEncoder().encode(query.cursor(after: last)))
      if deleting { try await persistence.datastore(ParcelFormat.self).delete(last) }
      page = try await query.after(cursor).limit(7).collectInstances(upTo: .infinity)
    }
    return paged
  }

  @Test("sorts, pages and live answers are in that order, along an index and gathered", arguments: [false, true])
  func orders(deleting: Bool) async throws {
    let parcels = try await parcels()
    let every = parcels.load(where: #Predicate { $0.weight >= 0 }).scanning()
    let byIdentifier = all.sorted { $0.id < $1.id }
    typealias Sorted = (query: Query<ParcelFormat, ReadWrite>, expected: [Parcel])
    func expected<Value: Comparable>(_ value: KeyPath<Parcel, Value>, descending: Bool) -> [Parcel] {
      byIdentifier.sorted { left, right in
        let (one, other) = (left[keyPath: value], right[keyPath: value])
        if one != other { return (one < other) != descending }
        return left.id < right.id
      }
    }
    let sorts: [Sorted] = [
      (every, byIdentifier),
      (
        parcels.load(where: #Predicate { $0.size == $0.size }).scanning().sorted(by: \.size).limit(60),
        expected(\.size, descending: false)
      ),
      (every.sorted(by: \.weight), expected(\.weight, descending: false)),
      (every.sorted(by: \.weight, .descending), expected(\.weight, descending: true)),
      (every.sorted(by: \.floor), expected(\.floor, descending: false)),
      (every.sorted(by: \.floor, .descending), expected(\.floor, descending: true)),
    ]
    for (query, expected) in sorts {
      try await parcels.persist(contentsOf: all)
      let plan = try await query.explain()
      #expect(try await query.collectInstances(upTo: .infinity) == expected, "\(plan)")
      #expect(try await query.live().firstInstance == expected, "\(plan)")
      #expect(try await pages(of: query, deleting: deleting) == expected, "\(plan)")
    }
  }

  @Test("ranges and sorts along an index of such a type", arguments: [RangeOrder.ascending, .descending])
  func ranges(order: RangeOrder) async throws {
    let parcels = try await parcels()
    let small = Size.small
    let query = parcels.load(where: #Predicate { $0.size > small }).sorted(by: \.size, order)
    #expect(try await query.explain().hasPrefix("INDEX size"))
    let expected = all.filter { $0.size > small }.sorted { left, right in
      left.size != right.size ? (left.size < right.size) == (order == .ascending) : left.id < right.id
    }
    #expect(try await query.collectInstances(upTo: .infinity) == expected)
    #expect(try await pages(of: query) == expected)
    #expect(try await query.count == expected.count)
    var live = query.live().makeAsyncIterator()
    #expect(try await live.next() == expected)
    try await parcels.delete(expected[3])
    try await parcels.persist(Parcel(id: Code(letters: "Mz"), size: .medium, weight: 9, floor: 9))
    #expect(try await live.next() == query.collectInstances(upTo: .infinity))
  }

  @Test("where no index has such an order a sort by it is an error")
  func refused() async throws {
    struct PlainFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Parcel
      static let defaultKey: DatastoreKey = "Plain"
      static let currentVersion = Version.one
      let weight = Index(\.weight)
    }
    let parcels = persistence.datastore(PlainFormat.self)
    try await parcels.persist(contentsOf: all)
    let query = parcels.load(where: #Predicate { $0.weight > 1 }).sorted(by: \.size)
    await #expect(throws: InvalidQueryError.self) { try await query.collectInstances(upTo: .infinity) }
    await #expect(throws: InvalidQueryError.self) { try await query.live().firstInstance }
  }
}
