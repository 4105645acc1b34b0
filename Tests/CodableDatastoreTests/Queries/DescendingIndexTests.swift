import CodableDatastore
import Foundation
import Testing

@Suite("Indexes of one descending tier")
struct DescendingIndexTests {
  struct Lot: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var price: Int
    var due: Date?
    var name: String
    var cost: Decimal?
    var size: AppOrderTests.Size
    var floor: Int?
  }

  struct LotFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Lot
    static let defaultKey: DatastoreKey = "Lots"
    static let currentVersion = Version.only
    let price = Index(\.price.descending)
    let due = Index(\.due.descending)
    let name = Index(\.name.descending)
    let cost = Index(\.cost.descending)
    let size = Index(\.size.descending)
    let floor = Index(\.floor.descending)
  }

  private let all = (0..<120).map { number in
    Lot(
      id: number, price: number * 37 % 30 - 10,
      due: number % 4 == 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(number % 9)),
      name: ["", "a", "ab", "b", "é"][number % 5], cost: number % 6 == 0 ? nil : Decimal(number % 7) / 4,
      size: AppOrderTests.Size.allCases[number % 3], floor: number % 5 == 0 ? nil : number % 5)
  }

  @Test("a range of plain values comes in the order of the index, and is paged, counted and reversed as a loop does it")
  func ranges() async throws {
    let lots = MemoryPersistence().datastore(LotFormat.self)
    try await lots.persist(contentsOf: all)
    func expect<Value: Comparable>(
      _ selection: Selection<LotFormat, ReadWrite>, _ reversed: Selection<LotFormat, ReadWrite>,
      _ value: KeyPath<Lot, Value>, _ condition: (Value) -> Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      let expected = all.filter { condition($0[keyPath: value]) }.sorted { left, right in
        left[keyPath: value] != right[keyPath: value]
          ? left[keyPath: value] > right[keyPath: value] : left.id < right.id
      }
      #expect(try await selection.all() == expected, sourceLocation: sourceLocation)
      #expect(try await selection.count == expected.count, sourceLocation: sourceLocation)
      #expect(try await reversed.all() == expected.reversed(), sourceLocation: sourceLocation)
      let page = try await selection.limit(5, offset: 3).all()
      #expect(page == Array(expected.dropFirst(3).prefix(5)), sourceLocation: sourceLocation)
      let even = try await selection.where(#Predicate { $0.id % 2 == 0 }).scanning().all()
      #expect(even == expected.filter { $0.id % 2 == 0 }, sourceLocation: sourceLocation)
    }
    let date: Date? = Date(timeIntervalSinceReferenceDate: 4)
    try await expect(lots.load(5..., from: \.price), lots.load(5..., order: .descending, from: \.price), \.price) {
      $0 >= 5
    }
    try await expect(lots.load(..<5, from: \.price), lots.load(..<5, order: .descending, from: \.price), \.price) {
      $0 < 5
    }
    try await expect(lots.load(-3...7, from: \.price), lots.load(-3...7, order: .descending, from: \.price), \.price) {
      -3...7 ~= $0
    }
    try await expect(lots.load(5..>, from: \.price), lots.load(5..>, order: .descending, from: \.price), \.price) {
      $0 > 5
    }
    try await expect(lots.load(5, from: \.price), lots.load(5, order: .descending, from: \.price), \.price) { $0 == 5 }
    try await expect(lots.load(..., from: \.price), lots.load(..., order: .descending, from: \.price), \.price) { _ in
      true
    }
    try await expect(lots.load(date..., from: \.due), lots.load(date..., order: .descending, from: \.due), \.due) {
      $0 >= date
    }
    try await expect(lots.load(...date, from: \.due), lots.load(...date, order: .descending, from: \.due), \.due) {
      $0 <= date
    }
    try await expect(lots.load("a"..<"b", from: \.name), lots.load("a"..<"b", order: .descending, from: \.name), \.name)
    {
      "a"..<"b" ~= $0
    }
    try await expect(lots.load("", from: \.name), lots.load("", order: .descending, from: \.name), \.name) { $0 == "" }
    try await expect(lots.load(1..., from: \.cost), lots.load(1..., order: .descending, from: \.cost), \.cost) {
      $0 >= 1
    }
    try await expect(
      lots.load(.small...AppOrderTests.Size.medium, from: \.size),
      lots.load(.small...AppOrderTests.Size.medium, order: .descending, from: \.size), \.size
    ) { $0 <= .medium }
    try await expect(lots.load(.large, from: \.size), lots.load(.large, order: .descending, from: \.size), \.size) {
      $0 == .large
    }
    let floor = 2
    try await expect(lots.load(floor, from: \.floor), lots.load(floor, order: .descending, from: \.floor), \.floor) {
      $0 == floor
    }
    try await expect(lots.load(nil, from: \.floor), lots.load(nil, order: .descending, from: \.floor), \.floor) {
      $0 == nil
    }
    #expect(try await lots.load(2, from: \.floor).all() == lots.load(Optional(floor), from: \.floor).all())
    let reversed = IndexRange(lower: .including(7), upper: .including(5))
    #expect(try await lots.load(reversed, from: \.price).all().isEmpty)
    let backwards = IndexRange(lower: .including(5), order: .descending)
    #expect(try await lots.load(backwards, from: \.price).all() == lots.load(5..., from: \.price).all().reversed())
  }

  /// As `LotFormat`, with an index in the other order too, which may serve instead.
  struct RisingLotFormat: DatastoreFormat {
    typealias Version = LotFormat.Version
    typealias Instance = Lot
    static let defaultKey: DatastoreKey = "Lots"
    static let currentVersion = Version.only
    let price = Index(\.price.descending)
    let rising = Index(\.price)
  }

  @Test("all instances by such an index stay in its order if they are filtered, paged, selected or followed")
  func whole() async throws {
    let lots = MemoryPersistence().datastore(LotFormat.self)
    try await lots.persist(contentsOf: all)
    try await expectOrder { lots.load(..., order: $0, from: \.price) }
    let rising = MemoryPersistence().datastore(RisingLotFormat.self)
    try await rising.persist(contentsOf: all)
    try await expectOrder { rising.load(..., order: $0, from: \.price) }
  }

  private func expectOrder<Format: DatastoreFormat>(
    of load: (RangeOrder) -> Selection<Format, ReadWrite>
  ) async throws where Format.Instance == Lot, Format.Identifier == Int {
    let sorted = all.sorted { $0.price != $1.price ? $0.price > $1.price : $0.id < $1.id }
    for (order, expected) in [(RangeOrder.ascending, sorted), (.descending, sorted.reversed())] {
      let lots = load(order)
      #expect(try await lots.first == expected.first)
      #expect(try await lots.where(#Predicate { $0.price > 3 }).all() == expected.filter { $0.price > 3 })
      let even = lots.where(#Predicate { $0.id % 2 == 0 }).scanning()
      #expect(try await even.limit(7, offset: 2).all() == Array(expected.filter { $0.id % 2 == 0 }[2..<9]))
      #expect(try await even.first == expected.first { $0.id % 2 == 0 })
      var prices: [Int] = []
      for try await (_, price) in even.select(\.id, \.price) { prices.append(price) }
      #expect(prices == expected.filter { $0.id % 2 == 0 }.map(\.price))
      let next = lots.after(try lots.cursor(after: expected[9])).limit(5)
      #expect(try await next.all() == Array(expected[10..<15]))
      #expect(try await next.explain().contains("SORT no"))
      let rising = all.sorted { ($0.price, $0.id) < ($1.price, $1.id) }
      #expect(
        try await lots.sorted(by: \.price.descending, order).limit(50).all()
          == Array((order == .ascending ? sorted : rising).prefix(50)))
      var live = lots.limit(4).live().makeAsyncIterator()
      #expect(try await live.next() == Array(expected.prefix(4)))
    }
  }
}
