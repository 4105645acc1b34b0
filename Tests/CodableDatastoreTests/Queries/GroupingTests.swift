import Foundation
import StrataLocks
import StrataEngine
import Testing

@testable import CodableDatastore

// One after the other, because decodings are counted.
@Suite("Groups and selected properties of queries", .serialized)
struct GroupingTests {
  #if !(os(macOS) && arch(x86_64))
    @Test("a value that more instances have than its type can count is added for each of them")
    func smallNumbers() {
      var sum = _NumberSumFigure<Float16>()
      sum.add(0.25, times: 2049)
      #expect(sum.output == 512)
    }
  #endif

  enum Kind: String, Codable { case village, town }

  struct Place: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var country: String
    var region: String?
    var kind: Kind
    var isOpen: Bool
    var population: Int
    var founded: Int?
    var height: Double
    var price: Decimal
    var opened: Date
    var small: Int8
    var note: String
    var isOld: Bool? { founded.map { $0 < 1_000 } }
  }

  struct PlaceFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Place
    static let defaultKey: DatastoreKey = "Places"
    static let currentVersion = Version.one
    let country = Index(\.country)
    let aRegion = Index(\.region)
    let isOpen = Index(\.isOpen)
    let founded = Index(\.founded)
    let small = Index(\.small)
    let both = Index(\.country, \.population.descending)
    let carrying = Index(\.region, including: \.founded, \.height)
  }

  private static let names = ["CH", "de", "É", "a\"b", "zz"]

  private func places(_ count: Int) -> [Place] {
    (0..<count).map { id in
      let region: String? = id % 3 == 0 ? nil : "r\(id % 4)"
      let founded: Int? = id % 4 == 0 ? nil : 1_000 + id % 50
      let opened = Date(timeIntervalSinceReferenceDate: Double(id % 9))
      return Place(
        id: id, country: Self.names[id * 7 % 5], region: region, kind: id % 2 == 0 ? .town : .village,
        isOpen: id % 5 < 2, population: id * 7_919 % 1_000, founded: founded, height: Double(id % 64) / 4,
        price: Decimal(id % 10) / 10, opened: opened, small: Int8(id % 200 - 100), note: "\(id) \u{1F3D4}")
    }
  }

  private let persistence = MemoryPersistence()

  private func filled(_ places: [Place]) async throws -> PlaceFormat.Datastore {
    let store = persistence.datastore(PlaceFormat.self)
    try await store.persist(contentsOf: places)
    _ = try await store.load(where: #Predicate { $0.country == "CH" }).first
    return store
  }

  private func reads<Value>(_ body: () async throws -> Value) async throws -> (value: Value, nodes: Int, values: Int) {
    let engine = try persistence._store.connection.storeForWriting()
    let before = engine.counts
    let value = try await body()
    let after = engine.counts
    return (value, Int(after.nodeReads - before.nodeReads), Int(after.valueReads - before.valueReads))
  }

  @Test(
    "groups and their figures are those of a loop, of few records, of many and under a condition",
    arguments: [10, 700, 9_000])
  func loops(count: Int) async throws {
    let all = places(count)
    let store = try await filled(all)
    let limit = 300
    let open = store.load(where: #Predicate { $0.population > limit }).scanning()
    let swiss = store.load(where: #Predicate { $0.country == "CH" }).sorted(by: \.id).limit(3)
    try await compare(store.load(where: #Predicate { _ in true }), with: all)
    try await compare(open, with: all.filter { $0.population > limit })
    try await compare(swiss, with: all.filter { $0.country == "CH" })
  }

  private func compare(_ query: Query<PlaceFormat, ReadWrite>, with kept: [Place]) async throws {
    let regions = Dictionary(grouping: kept) { $0.region }
    let found = try await query.grouped(by: \.region) {
      $0.count
      $0.sum(\.population)
      $0.sum(\.founded)
      $0.sum(\.price)
      $0.average(\.height)
      $0.min(\.founded)
      $0.max(\.opened)
      $0.max(\.note)
    }
    #expect(found.map(\.key) == regions.keys.sorted())
    for (region, (count, population, founded, price, height, oldest, newest, note)) in found {
      let places = try #require(regions[region])
      #expect(count == places.count)
      #expect(population == places.reduce(0) { $0 + $1.population })
      #expect(founded == places.reduce(0) { $0 + ($1.founded ?? 0) })
      #expect(price == places.reduce(0) { $0 + $1.price })
      #expect(height == places.reduce(0) { $0 + $1.height } / Double(places.count))
      #expect(oldest == places.compactMap(\.founded).min())
      #expect(newest == places.map(\.opened).max())
      #expect(note == places.map(\.note).max())
    }
    let old = try await query.grouped(by: \.isOld) { $0.count }
    #expect(old.map(\.key) == [nil, false, true].filter { key in kept.contains { $0.isOld == key } })
    #expect(old.map(\.figures) == old.map { group in kept.count { $0.isOld == group.key } })
    let kinds = try await query.grouped(by: \.kind) { $0.count }
    #expect(kinds.map(\.key) == Set(kept.map(\.kind)).sorted { $0.rawValue < $1.rawValue })
    #expect(kinds.map(\.figures) == kinds.map { kind in kept.count { $0.kind == kind.key } })
    #expect(try await query.distinct(\.opened) == Set(kept.map(\.opened)))
    #expect(try await query.average(of: \.founded) == mean(of: kept.compactMap(\.founded)))
  }

  private func mean(of numbers: [Int]) -> Double? {
    numbers.isEmpty ? nil : Double(numbers.reduce(0, +)) / Double(numbers.count)
  }

  @Test(
    "counts by a property with an index, and figures of that property, read a few entries of the index and no record")
  func alongIndex() async throws {
    let all = places(6_000)
    let store = try await filled(all)
    let everything = store.load(where: #Predicate { _ in true })
    let countries = try await reads { try await everything.grouped(by: \.country) { $0.count } }
    #expect(countries.value.map(\.key) == Self.names.sorted())
    #expect(
      countries.value.map { [$0.figures] } == Self.names.sorted().map { name in [all.count { $0.country == name }] })
    #expect(countries.value.map(\.figures) == Self.names.sorted().map { name in all.count { $0.country == name } })
    let regions = try await reads {
      try await everything.grouped(by: \.region) {
        $0.count; $0.max(\.region)
      }
    }
    #expect(regions.value.map(\.key) == [nil, "r0", "r1", "r2", "r3"])
    #expect(regions.value.map(\.figures.1) == [nil, "r0", "r1", "r2", "r3"])
    let open = try await reads { try await everything.grouped(by: \.isOpen) { $0.count } }
    #expect(open.value.map(\.key) == [false, true])
    #expect(open.value.map(\.figures) == [3_600, 2_400])
    let sum = try await reads { try await everything.sum(of: \.founded) }
    #expect(sum.value == all.reduce(0) { $0 + ($1.founded ?? 0) })
    let mean = try await reads { try await everything.average(of: \.founded) }
    #expect(mean.value == self.mean(of: all.compactMap(\.founded)))
    let oldest: Int? = 1_020
    let some = try await reads {
      try await store.load(where: #Predicate { $0.founded >= oldest }).grouped(by: \.founded) {
        $0.count; $0.sum(\.founded)
      }
    }
    #expect(some.value.map(\.key) == Array(1_020..<1_050))
    for (year, (count, sum)) in some.value {
      #expect(count == all.count { $0.founded == year })
      #expect(sum == (year ?? 0) * count)
    }
    for nodes in [countries.nodes, regions.nodes, open.nodes] { #expect(nodes <= 5 * 12 + 24) }
    for values in [countries.values, regions.values, open.values] { #expect(values <= 4) }
    #expect(sum.values + mean.values + some.values <= 12)
    // Other figures need the records, each of them once. Two processors that count at once may lose a count.
    let other = try await reads { try await everything.grouped(by: \.country) { $0.max(\.height) } }
    for (country, most) in other.value {
      #expect(most == all.filter { $0.country == country }.map(\.height).max())
    }
    #expect((5_900...6_008).contains(other.values))
  }

  @Test("groups and figures of properties that the entries of an index carry read no record, whatever the tiers' order")
  func carried() async throws {
    let all = places(6_000)
    let store = try await filled(all)
    let everything = store.load(where: #Predicate { _ in true })
    let sums = try await reads {
      try await everything.grouped(by: \.country) {
        $0.count; $0.sum(\.population); $0.max(\.population)
      }
    }
    #expect(sums.value.map(\.key) == Self.names.sorted())
    for (country, (count, sum, most)) in sums.value {
      let kept = all.filter { $0.country == country }.map(\.population)
      #expect(count == kept.count && sum == kept.reduce(0, +) && most == kept.max())
    }
    let wanted: String? = "r1"
    let some = try await reads {
      try await store.load(where: #Predicate { $0.region == wanted }).grouped(by: \.founded) {
        $0.count; $0.sum(\.height)
      }
    }
    let kept = all.filter { $0.region == wanted }
    #expect(some.value.map(\.key) == Set(kept.map(\.founded)).sorted())
    for (founded, (count, sum)) in some.value {
      #expect(count == kept.count { $0.founded == founded })
      #expect(sum == kept.reduce(0) { $0 + ($1.founded == founded ? $1.height : 0) })
    }
    let mean = try await reads { try await store.load(where: #Predicate { $0.region == wanted }).average(of: \.height) }
    #expect(mean.value == kept.reduce(0) { $0 + $1.height } / Double(kept.count))
    let total = try await reads { try await everything.sum(of: \.height) }
    #expect(total.value == all.reduce(0) { $0 + $1.height })
    for values in [sums.values, some.values, mean.values, total.values] { #expect(values <= 4) }
  }

  @Test("counts, sums and means of integers that an index carries are those of a loop, and no record is read")
  func summedKeys() async throws {
    let all = places(20_000)
    let store = try await filled(all)
    let everything = store.load(where: #Predicate { _ in true })
    let byCountry = try await reads {
      try await everything.grouped(by: \.country) {
        $0.count; $0.sum(\.population); $0.average(\.population)
      }
    }
    #expect(byCountry.value.map(\.key) == Self.names.sorted())
    for (country, (count, sum, mean)) in byCountry.value {
      let kept = all.filter { $0.country == country }.map(\.population)
      #expect(count == kept.count && sum == kept.reduce(0, +) && mean == Double(sum) / Double(count))
    }
    let byRegion = try await reads {
      try await everything.grouped(by: \.region) {
        $0.sum(\.founded); $0.count; $0.average(\.founded)
      }
    }
    #expect(byRegion.value.count == 5)
    for (region, (sum, count, mean)) in byRegion.value {
      let kept = all.filter { $0.region == region }
      let years = kept.compactMap(\.founded)
      #expect(count == kept.count && sum == years.reduce(0, +))
      #expect(mean == (years.isEmpty ? nil : Double(sum) / Double(years.count)))
    }
    let region: String? = "r1"
    let some = try await reads {
      try await store.load(where: #Predicate { $0.region == region }).grouped(by: \.founded) { $0.sum(\.founded) }
    }
    for (founded, sum) in some.value {
      #expect(sum == (founded ?? 0) * all.count { $0.region == region && $0.founded == founded })
    }
    let total = try await reads { try await everything.sum(of: \.founded) }
    #expect(total.value == all.compactMap(\.founded).reduce(0, +))
    let small = try await reads { try await everything.average(of: \.small) }
    #expect(small.value == Double(all.reduce(0) { $0 + Int($1.small) }) / Double(all.count))
    for values in [byCountry.values, byRegion.values, some.values, total.values, small.values] { #expect(values <= 4) }
  }

  @Test("selected properties that the entries of an index carry come in the order of the answer, and no record is read")
  func selectedAlongIndex() async throws {
    let all = places(6_000)
    let store = try await filled(all)
    func expect(_ query: Query<PlaceFormat, ReadWrite>, _ expected: some Sequence<Place>, _ what: String) async throws {
      let found = try await reads { try await query.select(\.region, \.height).collectInstances(upTo: .infinity) }
      let (regions, heights) = (found.value.map(\.0), found.value.map(\.1))
      #expect(regions == expected.map(\.region) && heights == expected.map(\.height), "\(what)")
      #expect(found.values <= 2, "\(what)")
    }
    let region: String? = "r1"
    let one = all.filter { $0.region == region }
    let query = store.load(where: #Predicate { $0.region == region })
    try await expect(query, one, "in the order of the identifiers")
    try await expect(query.limit(7, offset: 11), one.dropFirst(11).prefix(7), "a page")
    try await expect(query.limit(7, offset: 100_000), [], "behind the end")
    func rank(_ place: Place) -> (Int, Double, Int) { (place.founded ?? -1, place.height, place.id) }
    let ordered = one.sorted { rank($0) < rank($1) }
    let sorted = query.sorted(by: \.founded).sorted(by: \.height)
    try await expect(sorted, ordered, "along the tiers")
    try await expect(sorted.limit(9, offset: 3), ordered.dropFirst(3).prefix(9), "a page along the tiers")
    let none: String? = "none"
    try await expect(store.load(where: #Predicate { $0.region == none }), [], "nothing")
  }

  @Test("a sum beyond its type throws, in groups, along an index and of records alike; one that comes back does not")
  func overflow() async throws {
    let store = try await filled(places(300))
    let sum = places(200).reduce(0) { $0 + Int($1.small) }
    #expect(try await store.load(where: #Predicate { $0.id < 200 }).sum(of: \.small) == Int8(exactly: sum))
    let most: Int8 = 90
    await #expect(throws: InvalidQueryError.self) {
      try await store.load(where: #Predicate { $0.small > most }).sum(of: \.small)
    }
    await #expect(throws: InvalidQueryError.self) {
      try await store.load(where: #Predicate { $0.small > most }).grouped(by: \.isOpen) { $0.sum(\.small) }
    }
    #expect(
      try await store.load(where: #Predicate { $0.country == "none" }).grouped(by: \.country) { $0.count }.isEmpty)
    await #expect(throws: UnindexedQueryError.self) {
      try await store.load(where: #Predicate { $0.population > 3 }).grouped(by: \.country) { $0.count }
    }
  }

  @Test("selected properties come in the order of the answer, with its limit, and like those of the instances")
  func selected() async throws {
    let all = places(900)
    let store = try await filled(all)
    let query = store.load(where: #Predicate { $0.country == "de" })
    let kept = all.filter { $0.country == "de" }
    var found: [Place.ID] = []
    for try await (id, region, kind, opened, price, note) in query.select(
      \.id, \.region, \.kind, \.opened, \.price, \.note)
    {
      found.append(id)
      let place = all[id]
      #expect(region == place.region && kind == place.kind && opened == place.opened && price == place.price)
      #expect(note == place.note)
    }
    #expect(found == kept.map(\.id))
    let largest = query.sorted(by: \.population, .descending).limit(20, offset: 5)
    let expected = kept.sorted { ($1.population, $0.id) < ($0.population, $1.id) }.dropFirst(5).prefix(20)
    #expect(try await largest.select(\.population).collectInstances(upTo: .infinity) == expected.map(\.population))
    let shown = largest.select(\.note.count, \.height)
    #expect(try await shown.map { $0.1 }.collectInstances(upTo: .infinity) == expected.map(\.height))
    #expect(try await shown.map { $0.0 }.collectInstances(upTo: .infinity) == expected.map(\.note.count))
  }

  /// Counts its decodings, and makes something else of an odd name.
  private struct Tidy: Codable, Hashable, Identifiable, Sendable {
    static let decodings = Atomic(0)
    var id: Int
    var name: String
    var rank: Int?

    init(id: Int, name: String, rank: Int?) { (self.id, self.name, self.rank) = (id, name, rank) }

    init(from decoder: any Decoder) throws {
      Self.decodings.add(1, ordering: .relaxed)
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(Int.self, forKey: .id)
      let name = try container.decode(String.self, forKey: .name)
      self.name = name == "odd" ? "even" : name
      rank = try container.decodeIfPresent(Int.self, forKey: .rank)
    }
  }

  private struct TidyFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Tidy
    static let defaultKey: DatastoreKey = "Tidy"
    static let currentVersion = Version.one
  }

  private func tidies(_ odd: Set<Int>, count: Int = 3_000) async throws -> Datastore<TidyFormat, ReadWrite> {
    let store = MemoryPersistence().datastore(TidyFormat.self)
    try await store.persist(
      contentsOf: (0..<count).map { id in
        Tidy(id: id, name: odd.contains(id) ? "odd" : "n\(id % 7)", rank: id % 3 == 0 ? nil : id * 37 % 1_000)
      })
    return store
  }

  private func decodings(_ body: () async throws -> Void) async rethrows -> Int {
    let before = Tidy.decodings.load(ordering: .relaxed)
    try await body()
    return Tidy.decodings.load(ordering: .relaxed) - before
  }

  @Test("groups, selected properties and the first of a sort decode few instances")
  func decoded() async throws {
    let store = try await tidies([])
    let everything = store.load(where: #Predicate { _ in true })
    var count = try await decodings {
      let names = try await everything.grouped(by: \.name) {
        $0.count; $0.max(\.rank)
      }
      #expect(names.map(\.figures.0).reduce(0, +) == 3_000)
    }
    #expect(count < 150)
    count = try await decodings {
      let ranks = try await everything.select(\.rank).collectInstances(upTo: .infinity)
      #expect(ranks == (0..<3_000).map { $0 % 3 == 0 ? nil : $0 * 37 % 1_000 })
    }
    #expect(count < 150)
    count = try await decodings {
      let first = try await everything.scanning().sorted(by: \.rank, .descending).limit(20)
        .collectInstances(upTo: .infinity)
      let expected = (0..<3_000).filter { $0 % 3 != 0 }.sorted { ($1 * 37 % 1_000, $0) < ($0 * 37 % 1_000, $1) }
      #expect(first.map(\.id) == Array(expected.prefix(20)))
    }
    #expect(count < 150)
  }

  @Test(
    "if an init changes a stored value, groups and sorts are those of the instances, and an iteration is not wrong unnoticed"
  )
  func changed() async throws {
    // The first is not compared, the second is.
    let odd: Set<Int> = [40, 78]
    let names = (0..<3_000).map { odd.contains($0) ? "even" : "n\($0 % 7)" }
    let groups = try await tidies(odd).load(where: #Predicate { _ in true }).grouped(by: \.name) { $0.count }
    #expect(groups.map(\.key) == Set(names).sorted())
    #expect(groups.map(\.figures) == Set(names).sorted().map { name in names.count { $0 == name } })
    let sorted = try await tidies(odd).load(where: #Predicate { _ in true }).scanning().sorted(by: \.name).limit(3)
      .collectInstances(upTo: .infinity)
    #expect(sorted.map(\.id) == [40, 78, 0])
    let selected = try await tidies(odd).load(where: #Predicate { _ in true }).select(\.name)
    await #expect(throws: DecodedOtherwise.self) { for try await _ in selected {} }
    #expect(try await selected.collectInstances(upTo: .infinity) == names)
  }

  @Test("the groups are those of the instances also if only one of several workers has compared such an instance")
  func changedForOne() async throws {
    // The first is not compared. The others are: the second by a worker that begins with it, the third by one that goes on to it.
    let store = try await tidies([40, 4_096, 4_159], count: 9_000)
    let groups = try await store.load(where: #Predicate { _ in true }).grouped(by: \.name) { $0.count }
    #expect(groups.map(\.key) == ["even"] + (0..<7).map { "n\($0)" })
    #expect(groups.first?.figures == 3)
  }
}
