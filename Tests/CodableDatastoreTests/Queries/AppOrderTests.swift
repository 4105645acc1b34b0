import CodableDatastore
import Foundation
import Testing

/// Types that only their own `<` orders, as tiers of indexes of several tiers.
@Suite("Tiers in the order of the app")
struct AppOrderTests {
  enum Size: String, Codable, Comparable, CaseIterable, RangedIndexable, DiscreteIndexable {
    case small, medium, large
    static func < (left: Self, right: Self) -> Bool {
      (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
  }

  /// Names that differ only in case are distinct, and neither comes before the other.
  struct Name: Codable, Hashable, Comparable, RangedIndexable, DiscreteIndexable {
    var text: String
    static func < (left: Self, right: Self) -> Bool { left.text.lowercased() < right.text.lowercased() }
  }

  struct Shirt: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var shop: String
    var size: Size
    var fit: Size?
    var name: Name
    var price: Int
  }

  struct ShirtFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Shirt
    static let defaultKey: DatastoreKey = "Shirts"
    static let currentVersion = Version.one
    let sizeAndPrice = Index(\.size, \.price.descending)
    let shopAndSize = Index(\.shop, \.size, \.price)
    let priceAndSize = Index(\.price, \.size.descending)
    let fitAndSize = Index(\.fit, \.size)
    let nameAndPrice = Index(\.name, \.price)
    let falling = Index(\.name.descending, \.shop)
  }

  private let all: [Shirt] = (0..<240).map { number in
    Shirt(
      id: number, shop: "s\(number % 3)", size: Size.allCases[number * 7 % 3],
      fit: number % 5 == 0 ? nil : Size.allCases[number % 4 % 3],
      name: Name(text: ["ada", "Ada", "ADA", "bob", "Bob"][number % 5]), price: number * 37 % 20)
  }

  private func shirts() async throws -> ShirtFormat.Datastore {
    let shirts = MemoryPersistence().datastore(ShirtFormat.self)
    try await shirts.persist(contentsOf: all)
    return shirts
  }

  private func expect(
    _ selection: Selection<ShirtFormat, ReadWrite>, _ condition: (Shirt) -> Bool,
    by order: (Shirt, Shirt) -> Bool, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let expected = all.filter(condition).sorted { order($0, $1) || !order($1, $0) && $0.id < $1.id }
    let found = try await selection.all()
    #expect(found.map(\.id) == expected.map(\.id), sourceLocation: sourceLocation)
    #expect(try await selection.count == expected.count, sourceLocation: sourceLocation)
  }

  @Test("a sort by a text and then by such a type has their order, also if a text is the beginning of another")
  func afterTexts() async throws {
    let shirts = MemoryPersistence().datastore(ShirtFormat.self)
    for (id, shop) in ["", "\0", "", "\0"].enumerated() {
      try await shirts.persist(
        Shirt(id: id, shop: shop, size: .small, name: Name(text: id < 2 ? "b" : "a"), price: 0))
    }
    let all = shirts.load(...).scanning().sorted(by: \.shop)
    #expect(try await all.sorted(by: \.name).all().map(\.id) == [2, 0, 3, 1])
    #expect(try await all.sorted(by: \.name, .descending).all().map(\.id) == [0, 2, 1, 3])
  }

  @Test("their values and ranges are found by tiers, first, in the middle and last, in either direction")
  func tiers() async throws {
    let shirts = try await shirts()
    let byPrice: (Shirt, Shirt) -> Bool = { $0.price > $1.price }
    try await expect(shirts.load(prefix: .medium, from: \.sizeAndPrice), { $0.size == .medium }, by: byPrice)
    try await expect(
      shirts.load(prefix: .large, range: 3..<9, from: \.sizeAndPrice), { $0.size == .large && 3..<9 ~= $0.price },
      by: byPrice)
    try await expect(
      shirts.load(prefix: .large, Descending(7), from: \.sizeAndPrice), { $0.size == .large && $0.price == 7 },
      by: byPrice)
    try await expect(
      shirts.load(prefix: "s1", range: .medium..., from: \.shopAndSize), { $0.shop == "s1" && $0.size >= .medium },
      by: { ($0.size, $0.price) < ($1.size, $1.price) })
    try await expect(
      shirts.load(prefix: "s1", range: ..<Size.large, from: \.shopAndSize), { $0.shop == "s1" && $0.size < .large },
      by: { ($0.size, $0.price) < ($1.size, $1.price) })
    try await expect(
      shirts.load(prefix: "s2", .small, range: 4..., from: \.shopAndSize),
      { $0.shop == "s2" && $0.size == .small && $0.price >= 4 }, by: { $0.price < $1.price })
    try await expect(
      shirts.load(prefix: "s2", .small, 5, from: \.shopAndSize),
      { $0.shop == "s2" && $0.size == .small && $0.price == 5 }, by: { $0.price < $1.price })
    try await expect(
      shirts.load(prefix: 5, range: Size.small...Size.medium, from: \.priceAndSize),
      { $0.price == 5 && $0.size <= .medium }, by: { $0.size > $1.size })
    try await expect(
      shirts.load(prefix: 5, Descending(.medium), from: \.priceAndSize), { $0.price == 5 && $0.size == .medium },
      by: { $0.size > $1.size })
    try await expect(
      shirts.load(prefix: nil, range: ..., from: \.fitAndSize), { $0.fit == nil }, by: { $0.size < $1.size })
    try await expect(
      shirts.load(prefix: .small, range: IndexRange(lower: .excluding(.small)), from: \.fitAndSize),
      { $0.fit == .small && $0.size > .small }, by: { $0.size < $1.size })
    let reversed = IndexRange(lower: .including(Size.large), upper: .including(.small))
    try await expect(shirts.load(prefix: "s1", range: reversed, from: \.shopAndSize), { _ in false }, by: byPrice)
    let backwards = try await shirts.load(prefix: "s1", range: .medium..., order: .descending, from: \.shopAndSize)
      .all()
    let forwards = try await shirts.load(prefix: "s1", range: .medium..., from: \.shopAndSize).all()
    #expect(backwards == forwards.reversed() && !forwards.isEmpty)
  }

  @Test("two values are told apart if neither is less than the other")
  func ties() async throws {
    let shirts = try await shirts()
    for text in ["ada", "Ada", "ADA", "bob", "Bob", "none"] {
      let name = Name(text: text)
      let found = shirts.load(where: #Predicate { $0.name == name })
      #expect(try await found.explain().hasPrefix("INDEX "))
      try await expect(found, { $0.name == name }, by: { $0.id < $1.id })
      try await expect(
        shirts.load(prefix: name, range: 3...11, from: \.nameAndPrice), { $0.name == name && 3...11 ~= $0.price },
        by: { $0.price < $1.price })
      try await expect(
        shirts.load(prefix: Descending(name), range: "s1"..., from: \.falling), { $0.name == name && $0.shop >= "s1" },
        by: { $0.shop < $1.shop })
    }
  }

  @Test("sorts by several keys, one of them in the order of the app, whichever index serves the condition")
  func sorts() async throws {
    let shirts = try await shirts()
    typealias Keys = [(Shirt, Shirt) -> Bool]
    func order(_ keys: Keys) -> (Shirt, Shirt) -> Bool {
      { left, right in
        for key in keys {
          if key(left, right) { return true }
          if key(right, left) { return false }
        }
        return false
      }
    }
    let everything = shirts.load(...).scanning()
    let inShop = shirts.load(where: #Predicate { $0.shop == "s1" })
    for (selection, condition) in [
      (everything, { _ in true }), (inShop, { $0.shop == "s1" }),
    ] as [(Selection<ShirtFormat, ReadWrite>, (Shirt) -> Bool)] {
      for (sorted, keys) in [
        (selection.sorted(by: \.size).sorted(by: \.price), [{ $0.size < $1.size }, { $0.price < $1.price }]),
        (
          selection.sorted(by: \.size, .descending).sorted(by: \.price),
          [{ $0.size > $1.size }, { $0.price < $1.price }]
        ),
        (selection.sorted(by: \.price).sorted(by: \.size), [{ $0.price < $1.price }, { $0.size < $1.size }]),
        (selection.sorted(by: \.fit).sorted(by: \.shop), [{ $0.fit < $1.fit }, { $0.shop < $1.shop }]),
        (
          selection.sorted(by: \.shop, .descending).sorted(by: \.fit, .descending).sorted(by: \.size),
          [{ $0.shop > $1.shop }, { $0.fit > $1.fit }, { $0.size < $1.size }]
        ),
      ] as [(Selection<ShirtFormat, ReadWrite>, Keys)] {
        try await expect(sorted, condition, by: order(keys))
        let expected = try await sorted.all()
        #expect(try await sorted.limit(7, offset: 5).all() == Array(expected.dropFirst(5).prefix(7)))
        var (pages, page) = ([Shirt](), sorted.limit(13))
        while let last = try await page.all().last {
          pages += try await page.all()
          page = page.after(try page.cursor(after: last))
        }
        #expect(pages == expected)
      }
    }
  }

  @Test("a cursor whose value no instance has any more is still a place in the order of the app")
  func cursorOfNoValue() async throws {
    let shirts = try await shirts()
    let query = shirts.load(...).sorted(by: \.size).sorted(by: \.shop).scanning().limit(10)
    let last = try #require(all.last { $0.size == .medium })
    let cursor = try query.cursor(after: last)
    let medium = Size.medium
    try await shirts.load(where: #Predicate { $0.size == medium }).delete()
    let large = all.filter { $0.size == .large }.sorted { ($0.shop, $0.id) < ($1.shop, $1.id) }
    #expect(try await query.after(cursor).all() == Array(large.prefix(10)))
  }

  @Test("a sort that no index can rank says what would serve it")
  func noRank() async throws {
    struct PriceFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case one = 1 }
      typealias Instance = Shirt
      static let defaultKey: DatastoreKey = "Priced"
      static let currentVersion = Version.one
      let priceAndSize = Index(\.price, \.size)
    }
    let shirts = MemoryPersistence().datastore(PriceFormat.self)
    try await shirts.persist(contentsOf: all)
    let error = await #expect(throws: InvalidQueryError.self) {
      try await shirts.load(...).sorted(by: \.size).sorted(by: \.price).all()
    }
    #expect(
      error?.reason
        == "Only the app can order size: declare let size = Index(\\.size), or let its type be an OrderedKey.")
    let unserved = await #expect(throws: UnindexedQueryError.self) {
      try await shirts.load(...).sorted(by: \.price, .descending).sorted(by: \.id).sorted(by: \.shop, .descending).all()
    }
    let advice = "declare let order = Index(\\.price, \\.id.descending, \\.shop) in its format"
    #expect(unserved?.errorDescription?.contains(advice) == true, "\(unserved?.errorDescription ?? "none")")
    let along = try await shirts.load(...).sorted(by: \.price).sorted(by: \.size).all()
    #expect(along == all.sorted { ($0.price, $0.size, $0.id) < ($1.price, $1.size, $1.id) })
  }
}
