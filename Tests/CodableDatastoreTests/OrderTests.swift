@testable import CodableDatastore
import Foundation
import Testing

@Suite("Orders that only the app knows")
struct OrderTests {
  let persistence = MemoryPersistence()

  enum Grade: String, Codable, Comparable, DiscreteIndexable, RangedIndexable, CaseIterable {
    case poor, fair, good, best
    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
  }

  struct Place: Codable, Hashable, Comparable, DiscreteIndexable, RangedIndexable {
    var row: Int
    var seat: String
    static func < (left: Self, right: Self) -> Bool { (left.row, left.seat) < (right.row, right.seat) }
  }

  struct Backwards: Codable, Hashable, Comparable, DiscreteIndexable, RangedIndexable {
    var number: Int
    static func < (left: Self, right: Self) -> Bool { left.number > right.number }
  }

  struct Seat: Codable, Hashable, Identifiable, Sendable {
    var id: Place
    var grade: Grade
    var price: Backwards
  }

  struct SeatFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Seat
    static let defaultKey: DatastoreKey = "Seats"
    static let currentVersion = Version.only
    let grade = Index(\.grade)
    @Direct var price = Index(\.price)

    static func datastore(_ persistence: some Persistence<ReadWrite>) -> Self.Datastore {
      .JSONStore(persistence: persistence, migrations: [.only: { try $0.decode(Seat.self, from: $1) }])
    }
  }

  func seats(_ count: Int) -> [Seat] {
    (0..<count).map { number in
      Seat(
        id: Place(row: number / 10, seat: "s\(number % 10)"), grade: Grade.allCases[number % 4],
        price: Backwards(number: number % 7))
    }
  }

  @Test("composite identifiers, enums and descending types lie in the order of their <")
  func orders() async throws {
    let datastore = SeatFormat.datastore(persistence)
    let seats = seats(120)
    for seat in seats.shuffled() { try await datastore.persist(seat) }
    #expect(try await datastore.load(...).all() == seats)
    #expect(try await datastore.load(Place(row: 11, seat: "s5")) == seats[115])
    #expect(
      try await datastore.load(Place(row: 3, seat: "s8")..<Place(row: 4, seat: "s1")).all() == Array(seats[38..<41]))
    let byGrade = try await datastore.load(..., from: \.grade).all()
    #expect(byGrade == seats.sorted { ($0.grade, $0.id) < ($1.grade, $1.id) })
    #expect(try await datastore.load(Grade.good..., from: \.grade).all().count == 60)
    #expect(
      try await datastore.load(Grade.fair, order: .descending, from: \.grade).all()
        == seats.filter { $0.grade == .fair }.reversed())
    let byPrice = try await datastore.load(..., from: \.price).all()
    #expect(byPrice == seats.sorted { ($0.price, $0.id) < ($1.price, $1.id) })
    #expect(try await datastore.load(...Backwards(number: 5), from: \.price).all().allSatisfy { $0.price.number >= 5 })
  }

  @Test("records can be replaced and deleted")
  func changes() async throws {
    let datastore = SeatFormat.datastore(persistence)
    let seats = seats(40)
    for seat in seats { try await datastore.persist(seat) }
    for var seat in seats {
      seat.grade = .best
      seat.price = Backwards(number: 100 - seat.price.number)
      try await datastore.persist(seat)
    }
    #expect(try await datastore.load(Grade.best, from: \.grade).all().count == 40)
    #expect(try await datastore.load(Grade.poor, from: \.grade).all().isEmpty)
    for seat in seats { try await datastore.delete(seat) }
    #expect(try await datastore.count == 0)
    #expect(try await datastore.load(..., from: \.price).all().isEmpty)
  }

  @Test("an index of 10,000 such keys is searched with few decodes")
  func decodes() async throws {
    let datastore = PriceFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Item.self, from: $1) }])
    try await persistence.perform {
      for number in 0..<10_000 { try await datastore.persist(Item(id: number, price: Backwards(number: number))) }
    }
    let cold = PriceFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Item.self, from: $1) }])
    let index = try cold.core.index(at: \.price)
    let order = try #require((index.coder as? KeyCoder<Backwards>)?.comparator)
    #expect(try await cold.load(Backwards(number: 4711), from: \.price).all().map(\.id) == [4711])
    #expect(order.decodeCount <= 30)
    let before = order.decodeCount
    #expect(try await cold.load(Backwards(number: 4712), from: \.price).all().map(\.id) == [4712])
    #expect(order.decodeCount - before <= 4)
  }

  struct Item: Codable, Identifiable, Sendable {
    var id: Int
    var price: Backwards
  }
  struct PriceFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Item
    static let defaultKey: DatastoreKey = "Items"
    static let currentVersion = Version.only
    let price = Index(\.price)
  }

  @Test("distinct identifiers that compare alike do not take each other's place")
  func alike() async throws {
    let datastore = TwinFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Twin.self, from: $1) }])
    for name in ["a", "b", "c"] { try await datastore.persist(Twin(id: Twin.ID(group: 1, name: name))) }
    #expect(try await datastore.count == 3)
    #expect(try await datastore.load(Twin.ID(group: 1, name: "b"))?.id.name == "b")
    try await datastore.delete(id: Twin.ID(group: 1, name: "b"))
    #expect(try await datastore.load(...).all().map(\.id.name) == ["a", "c"])
  }

  struct Twin: Codable, Identifiable, Sendable {
    struct ID: Codable, Hashable, Comparable, DiscreteIndexable {
      var group: Int
      var name: String
      static func < (left: Self, right: Self) -> Bool { left.group < right.group }
    }
    var id: ID
  }
  struct TwinFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Twin
    static let defaultKey: DatastoreKey = "Twins"
    static let currentVersion = Version.only
  }
}

extension OrderTests {
  @Test("undo keeps indexes right whose order only the app knows")
  func undoingComparatorOrder() async throws {
    let seats = SeatFormat.datastore(persistence)
    let seat = Seat(
      id: Place(row: 1, seat: "a"), grade: .poor, price: Backwards(number: 1))
    var better = seat
    better.grade = .best
    try await seats.persist(seat)
    try await seats.persist(better)
    let improved = try #require(try await persistence.head).id
    try await seats.persist(
      Seat(id: Place(row: 2, seat: "b"), grade: .fair, price: Backwards(number: 2)))
    try await persistence.undo(improved)
    #expect(try await seats.load(Grade.poor, from: \.grade).all() == [seat])
    #expect(try await seats.load(Grade.best, from: \.grade).all().isEmpty)
  }
}
