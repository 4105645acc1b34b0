import CodableDatastore
import Foundation
import Testing

@Suite("Typed queries")
struct QueryTests {
  struct Shop: Codable, Hashable, Identifiable, Sendable {
    enum Kind: String, Codable, Comparable, Sendable, CaseIterable {
      case bakery, books, cheese
      static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }
    struct Place: Codable, Hashable, Sendable { var city: String }
    var id: Int
    var name: String
    var town: String?
    var size: UInt64
    var rating: Double
    var isOpen: Bool
    var kind: Kind
    var tags: [String]
    var place: Place
    var since: Date
    var note: String
  }

  private struct ShopFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Shop
    static let defaultKey: DatastoreKey = "Shops"
    static let currentVersion = Version.one
    let name = Index(\.name)
    let town = Index(\.town)
    @Direct var size = Index(\.size)
    let rating = Index(\.rating)
    let kind = Index(\.kind)
    let tags = ManyToManyIndex(\.tags)
    let city = Index(\.place.city)
    let since = Index(\.since)
    let pair = Index(\.town, \.size.descending)

    static func datastore(_ persistence: some Persistence<ReadWrite>) -> Self.Datastore {
      .JSONStore(
        persistence: persistence,
        migrations: [.one: { decoder, data in try decoder.decode(Shop.self, from: data) }])
    }
  }

  private static let sizes: [UInt64] = [0, 1, 2, 3, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 1, .max]

  private static func shop(_ id: Int, using random: inout some RandomNumberGenerator) -> Shop {
    Shop(
      id: id, name: ["Anna", "Bob", "Éva", "Zoë", "anna"].randomElement(using: &random) ?? "",
      town: [nil, "Bern", "Zug"].randomElement(using: &random) ?? nil, size: sizes.randomElement(using: &random) ?? 0,
      rating: Double(Int.random(in: -3...3, using: &random)) / 2, isOpen: Bool.random(using: &random),
      kind: Shop.Kind.allCases.randomElement(using: &random) ?? .books,
      tags: ["a", "b", "c"].filter { _ in Bool.random(using: &random) },
      place: .init(city: ["X", "Y"].randomElement(using: &random) ?? "X"),
      since: Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0..<5, using: &random) * 1000)),
      note: ["n1", "n2"].randomElement(using: &random) ?? "")
  }

  private func shops(_ count: Int) async throws -> (datastore: ShopFormat.Datastore, all: [Shop]) {
    var random = SystemRandomNumberGenerator()
    let datastore = ShopFormat.datastore(MemoryPersistence())
    let all = (0..<count).map { Self.shop($0, using: &random) }
    for shop in all { try await datastore.persist(shop) }
    return (datastore, all)
  }

  /// Each predicate with the condition that a loop would have.
  private static let conditions: [(Predicate<Shop>, @Sendable (Shop) -> Bool)] = {
    let captured = ["Anna", "Zoë"]
    let kinds: [Shop.Kind] = [.cheese]
    let big = UInt64(Int64.max)
    let day = Date(timeIntervalSinceReferenceDate: 2000)
    let bakery = Shop.Kind.bakery
    return [
      (#Predicate { $0.name == "Anna" }, { $0.name == "Anna" }),
      (#Predicate { $0.name != "Anna" }, { $0.name != "Anna" }),
      (#Predicate { $0.name < "Bob" }, { $0.name < "Bob" }),
      (#Predicate { $0.name.starts(with: "An") }, { $0.name.starts(with: "An") }),
      (#Predicate { $0.size >= big }, { $0.size >= big }),
      (#Predicate { big < $0.size }, { big < $0.size }),
      (#Predicate { $0.size <= 2 }, { $0.size <= 2 }),
      (#Predicate { (1..<3).contains($0.size) }, { (1..<3).contains($0.size) }),
      (#Predicate { (1...3).contains($0.size) }, { (1...3).contains($0.size) }),
      (#Predicate { $0.rating > 0.5 }, { $0.rating > 0.5 }),
      (#Predicate { $0.town == nil }, { $0.town == nil }),
      (#Predicate { $0.town != nil }, { $0.town != nil }),
      (#Predicate { $0.town == "Bern" }, { $0.town == "Bern" }),
      (#Predicate { $0.kind == bakery }, { $0.kind == bakery }),
      (#Predicate { kinds.contains($0.kind) }, { kinds.contains($0.kind) }),
      (#Predicate { captured.contains($0.name) }, { captured.contains($0.name) }),
      (#Predicate { $0.tags.contains("b") }, { $0.tags.contains("b") }),
      (#Predicate { $0.place.city == "X" }, { $0.place.city == "X" }),
      (#Predicate { $0.since < day }, { $0.since < day }),
      (#Predicate { $0.isOpen }, { $0.isOpen }),
      (#Predicate { $0.note == "n1" }, { $0.note == "n1" }),
      (#Predicate { $0.id > 20 }, { $0.id > 20 }),
      (#Predicate { $0.name == "Bob" && $0.size > 1 }, { $0.name == "Bob" && $0.size > 1 }),
      (#Predicate { $0.name == "Bob" || $0.size == 0 }, { $0.name == "Bob" || $0.size == 0 }),
      (#Predicate { $0.name == "Bob" || $0.note == "n2" }, { $0.name == "Bob" || $0.note == "n2" }),
      (#Predicate { !($0.name == "Bob" && $0.isOpen) }, { !($0.name == "Bob" && $0.isOpen) }),
      (#Predicate { $0.town == "Zug" && $0.size >= big }, { $0.town == "Zug" && $0.size >= big }),
    ]
  }()

  @Test("conditions, sorts, limits and pages answer as a loop does, also after edits and at old commits")
  func random() async throws {
    var random = SystemRandomNumberGenerator()
    let persistence = MemoryPersistence()
    let datastore = ShopFormat.datastore(persistence)
    var all: [Int: Shop] = [:]
    for round in 0..<4 {
      for _ in 0..<20 {
        let shop = Self.shop(Int.random(in: 0..<60, using: &random), using: &random)
        all[shop.id] = shop
        try await datastore.persist(shop)
      }
      if round > 0, let gone = all.keys.randomElement(using: &random) {
        try await datastore.delete(gone)
        all[gone] = nil
      }
      let shops = all.values.sorted { $0.id < $1.id }
      for (predicate, condition) in Self.conditions {
        guard let (second, other) = Self.conditions.randomElement(using: &random) else { continue }
        let query = datastore.load(where: predicate).scanning()
        let plan = try await query.explain()
        #expect(try await query.all() == shops.filter(condition), "\(plan)")
        let both = query.where(second)
        let expected = shops.filter { condition($0) && other($0) }
        let bothPlan = try await both.explain()
        #expect(try await both.all() == expected, "\(bothPlan)")
        #expect(try await both.count == expected.count, "\(bothPlan)")
        #expect(try await both.first == expected.first)
        #expect(try await both.exists == !expected.isEmpty)
        #expect(try await both.max(of: \.size) == expected.map(\.size).max())
        #expect(try await both.min(of: \.name) == expected.map(\.name).min())
        let sorted = both.sorted(by: \.size, .descending).sorted(by: \.name)
        let ordered = expected.sorted {
          $0.size != $1.size ? $0.size > $1.size : $0.name != $1.name ? $0.name < $1.name : $0.id < $1.id
        }
        let sortedPlan = try await sorted.explain()
        #expect(try await sorted.all() == ordered, "\(sortedPlan)")
        #expect(try await sorted.limit(5, offset: 2).all() == Array(ordered.dropFirst(2).prefix(5)))
        for way in [query.sorted(by: \.size), query.sorted(by: \.size, .descending), query] {
          let whole = try await way.all()
          var paged: [Shop] = []
          var page = try await way.limit(4).all()
          while let last = page.last {
            paged += page
            page = try await way.after(way.cursor(after: last)).limit(4).all()
          }
          let wayPlan = try await way.explain()
          #expect(paged == whole, "\(wayPlan)")
        }
      }
    }
  }

  @Test("the plan names the index, its range and its entries; a count by ranks reads nothing")
  func plans() async throws {
    let (datastore, all) = try await shops(50)
    let named = datastore.load(where: #Predicate { $0.name == "Anna" })
    let count = all.count { $0.name == "Anna" }
    #expect(try await named.explain().hasPrefix("INDEX name \"Anna\" \(count) "))
    #expect(try await named.count == count)
    #expect(
      try await datastore.load(where: #Predicate { $0.name == "Anna" || $0.size == 0 }).explain().hasPrefix("UNION"))
    #expect(try await datastore.load(where: #Predicate { $0.note == "n1" }).explain().hasPrefix("SCAN"))
    let pair = datastore.load(where: #Predicate { $0.town == "Bern" && $0.size > 1 })
    #expect(try await pair.explain().hasPrefix("INDEX pair"))
    #expect(try await pair.sorted(by: \.size, .descending).explain().hasSuffix("SORT no"))
  }

  @Test("a query that no index serves throws before it reads, with the declaration that would serve it")
  func unindexed() async throws {
    let (datastore, _) = try await shops(3)
    await #expect {
      try await datastore.load(where: #Predicate { $0.note == "n1" }).all()
    } throws: { error in
      guard let error = error as? UnindexedQueryError else { return false }
      return error.properties == ["note"] && error.errorDescription?.contains("Index(\\.note)") == true
    }
    await #expect(throws: UnindexedQueryError.self) {
      try await datastore.load(where: #Predicate { $0.note == "n1" }).count
    }
  }

  @Test("limits below 1, offsets below 0 and a cursor of another query are errors, and a predicate's own comes out")
  func badInput() async throws {
    let (datastore, all) = try await shops(10)
    let query = datastore.load(where: #Predicate { $0.size >= 0 })
    await #expect(throws: InvalidQueryError.self) { try await query.limit(0).all() }
    await #expect(throws: InvalidQueryError.self) { try await query.limit(0).first }
    await #expect(throws: InvalidQueryError.self) { try await query.limit(1, offset: -1).distinct(\.size) }
    await #expect(throws: InvalidQueryError.self) { try await query.limit(1, offset: -1).all() }
    let cursor = try query.cursor(after: all[0])
    await #expect(throws: InvalidQueryError.self) { try await query.sorted(by: \.name).after(cursor).all() }
    let failing = #Predicate<Shop> { $0.tags[9] == "a" }
    await #expect(throws: PredicateError.self) { try await datastore.load(where: failing).scanning().all() }
    await #expect(throws: PredicateError.self) { try await datastore.load(where: failing).scanning().delete() }
    #expect(try await datastore.count == 10)
    let kept = try JSONDecoder().decode(QueryCursor.self, from: JSONEncoder().encode(cursor))
    #expect(kept == cursor)
  }

  @Test("delete and update are one transaction each, and take back everything where the closure throws")
  func writing() async throws {
    let (datastore, all) = try await shops(30)
    let named = datastore.load(where: #Predicate { $0.name == "Anna" })
    let count = all.count { $0.name == "Anna" }
    struct Stop: Error {}
    await #expect(throws: (any Error).self) {
      var seen = 0
      try await datastore.load(where: #Predicate { $0.size >= 0 }).update { shop in
        seen += 1
        if seen > 3 { throw Stop() }
        shop.name = "Nobody"
      }
    }
    #expect(try await datastore.load(where: #Predicate { $0.name == "Nobody" }).count == 0)
    #expect(try await named.update { $0.name = "Renamed" } == count)
    #expect(try await named.count == 0)
    #expect(try await datastore.load(where: #Predicate { $0.name == "Renamed" }).delete() == count)
    #expect(try await datastore.count == 30 - count)
  }

  @Test("instances by several identifiers keep their order, with a gap where one is missing; texts by their beginning")
  func loading() async throws {
    let datastore = BookFormat.datastore(MemoryPersistence())
    try await datastore.persist(contentsOf: Book.numbered(1...12))
    #expect(try await datastore.load(ids: [3, 99, 1]).map { $0?.id } == [3, nil, 1])
    #expect(try await datastore.load(prefix: "Book 01", from: \.title).all().map(\.id) == [10, 11, 12])
    #expect(
      try await datastore.load(prefix: "", order: .descending, from: \.title).all().map(\.id) == (1...12).reversed())
    #expect(try await datastore.load(prefix: "Bookx", from: \.title).all().isEmpty)
  }

  @Test("an update answers what was there and what is; one that throws changes nothing")
  func updating() async throws {
    let datastore = BookFormat.datastore(MemoryPersistence())
    try await datastore.persist(contentsOf: Book.numbered(1...2))
    let (old, new) = try await datastore.update(1) { $0.pages += 1 }
    #expect(new.pages == old.pages + 1)
    #expect(try await datastore.load(1) == new)
    struct Stop: Error {}
    await #expect(throws: Stop.self) {
      try await datastore.update(1) { book in
        book.title = "x"
        throw Stop()
      }
    }
    #expect(try await datastore.load(1) == new)
    await #expect(throws: DatastoreInterfaceError.instanceNotFound) { try await datastore.update(9) { $0.pages = 1 } }
  }
}
