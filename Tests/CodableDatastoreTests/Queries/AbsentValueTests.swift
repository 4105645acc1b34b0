import CodableDatastore
import Foundation
import Testing

/// Conditions on nil, on NaN and on open ranges, and ends of a property that may be nil.
@Suite("Predicates with absent values")
struct AbsentValueTests {
  enum Level: String, Codable, Comparable, CaseIterable, Sendable {
    case low, middle, high
    static func < (left: Self, right: Self) -> Bool {
      (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
  }

  struct Task: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var level: Level?
    var effort: Double?
    var weight: Double
    var count: Int
  }

  struct TaskFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Task
    static let defaultKey: DatastoreKey = "Tasks"
    static let currentVersion = Version.one
    let level = Index(\.level)
    let effort = Index(\.effort)
    let weight = Index(\.weight)
    let count = Index(\.count)
  }

  private let tasks = MemoryPersistence().datastore(TaskFormat.self)
  private let all: [Task] = (0..<60).map { number in
    Task(
      id: number, level: number % 4 == 3 ? nil : Level.allCases[number % 4],
      effort: number % 3 == 0 ? nil : Double(number % 5),
      weight: Double(number % 7), count: number % 9)
  }

  private func expect(
    _ predicate: Predicate<Task>, by index: String, _ condition: (Task) -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let query = tasks.load(where: predicate)
    let plan = try await query.explain()
    #expect(plan.hasPrefix("INDEX \(index) ") && !plan.contains("KEEP"), "\(plan)", sourceLocation: sourceLocation)
    #expect(try await query.all() == all.filter(condition), "\(plan)", sourceLocation: sourceLocation)
    #expect(try await query.count == all.filter(condition).count, "\(plan)", sourceLocation: sourceLocation)
  }

  @Test("an index of a type that only the app orders serves a value in place of nil, and a closure over the optional")
  func appOrdered() async throws {
    try await tasks.persist(contentsOf: all)
    let (low, middle, high) = (Level.low, Level.middle, Level.high)
    try await expect(#Predicate { ($0.level ?? middle) >= middle }, by: "level") { ($0.level ?? .middle) >= .middle }
    try await expect(#Predicate { ($0.level ?? low) >= middle }, by: "level") { ($0.level ?? .low) >= .middle }
    try await expect(#Predicate { ($0.level ?? high) < high }, by: "level") { ($0.level ?? .high) < .high }
    try await expect(#Predicate { ($0.level ?? high) == high }, by: "level") { ($0.level ?? .high) == .high }
    try await expect(#Predicate { ($0.level ?? high) != high }, by: "level") { ($0.level ?? .high) != .high }
    try await expect(#Predicate { middle > ($0.level ?? low) }, by: "level") { ($0.level ?? .low) < .middle }
    try await expect(#Predicate { if let level = $0.level { level < high } else { false } }, by: "level") {
      $0.level.map { $0 < .high } ?? false
    }
    try await expect(#Predicate { if let level = $0.level { level < high } else { true } }, by: "level") {
      $0.level.map { $0 < .high } ?? true
    }
    try await expect(#Predicate { $0.level.flatMap { $0 > low } == true }, by: "level") {
      $0.level.map { $0 > .low } == true
    }
  }

  @Test("NaN in a list and in place of nil meets no comparison, and needs no scan")
  func notANumber() async throws {
    try await tasks.persist(contentsOf: all)
    let (none, some) = (Double.nan, [Double.nan, 2, 5])
    try await expect(#Predicate { some.contains($0.weight) }, by: "weight") { $0.weight == 2 || $0.weight == 5 }
    try await expect(#Predicate { !some.contains($0.weight) }, by: "weight") { $0.weight != 2 && $0.weight != 5 }
    for (place, predicate) in [
      #Predicate<Task> { ($0.effort ?? none) < 3 }, #Predicate { ($0.effort ?? 1) < none },
      #Predicate { ($0.effort ?? 1) != none },
    ].enumerated() {
      let expected = try all.filter { try predicate.evaluate($0) }
      #expect(try await tasks.load(where: predicate).all() == expected, "\(place)")
    }
  }

  @Test("a captured range that is open on one side is served")
  func openRanges() async throws {
    try await tasks.persist(contentsOf: all)
    let (from, upTo, through) = (6..., ..<3, ...3)
    try await expect(#Predicate { from.contains($0.count) }, by: "count") { $0.count >= 6 }
    try await expect(#Predicate { upTo.contains($0.count) }, by: "count") { $0.count < 3 }
    try await expect(#Predicate { !through.contains($0.count) }, by: "count") { $0.count > 3 }
    let heavy = 2.5...
    try await expect(#Predicate { heavy.contains($0.weight) }, by: "weight") { $0.weight >= 2.5 }
  }

  @Test("the least and the greatest value leave nil out")
  func ends() async throws {
    try await tasks.persist(contentsOf: all)
    let everything = tasks.load(...)
    #expect(try await everything.min(of: \.effort) == all.compactMap(\.effort).min())
    #expect(try await everything.max(of: \.level) == .high)
    let few = tasks.load(where: #Predicate { $0.count > 6 })
    #expect(try await few.min(of: \.level) == all.filter { $0.count > 6 }.compactMap(\.level).min())
    let absent = tasks.load(where: #Predicate { $0.effort == nil })
    let (least, greatest): (Double?, Double?) = (
      try await absent.min(of: \.effort), try await absent.max(of: \.effort)
    )
    #expect(least == nil && greatest == nil)
  }

  struct Note: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var rank: Int?
    var text: String?
    var share: Double?
  }

  struct NoteFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Note
    static let defaultKey: DatastoreKey = "Notes"
    static let currentVersion = Version.one
  }

  @Test("nil comes before all values, also where the stored texts are compared with it")
  func comparedWithNil() async throws {
    let notes = MemoryPersistence().datastore(NoteFormat.self)
    let all = (0..<80).map { number in
      number % 3 == 0 ? Note(id: number) : Note(id: number, rank: number, text: "t\(number)", share: Double(number) / 2)
    }
    try await notes.persist(contentsOf: all)
    let (rank, text, share): (Int?, String?, Double?) = (nil, nil, nil)
    let held = all.filter { $0.rank != nil }
    for (predicate, expected) in [
      (#Predicate { $0.rank < rank }, []), (#Predicate { $0.text < text }, []), (#Predicate { $0.share < share }, []),
      (#Predicate { $0.rank > rank }, held), (#Predicate { $0.text > text }, held),
      (#Predicate { $0.share > share }, held), (#Predicate { $0.rank >= rank }, all),
      (#Predicate { $0.text >= text }, all), (#Predicate { $0.share >= share }, all),
      (#Predicate { !($0.rank <= rank) }, held), (#Predicate { !($0.text <= text) }, held),
      (#Predicate { !($0.share <= share) }, held),
    ] as [(Predicate<Note>, [Note])] {
      let query = notes.load(where: predicate).scanning()
      #expect(try await query.all() == expected, "\(predicate)")
      #expect(try await query.count == expected.count, "\(predicate)")
    }
  }

  @Test("a text has one of many captured values in whatever order, or none")
  func longLists() async throws {
    let notes = MemoryPersistence().datastore(NoteFormat.self)
    let all = (0..<400).map { number in
      number % 3 == 0
        ? Note(id: number)
        : Note(id: number, rank: number * 7 % 400 - 200, text: "t\(number % 90)", share: Double(number % 50 - 25) / 4)
    }
    try await notes.persist(contentsOf: all)
    let ranks = Set((-60..<60).map { $0 * 5 as Int? } + [nil, .max, .min])
    let texts = (0..<60).reversed().map { "t\($0 * 2)" as String? } + ["t3", "é", "", "t2"]
    let shares = (0..<40).map { Double($0 * 17 % 40 - 20) / 2 as Double? } + [nil, 0, -0.0, .infinity]
    for (predicate, condition) in [
      (#Predicate { ranks.contains($0.rank) }, { ranks.contains($0.rank) }),
      (#Predicate { texts.contains($0.text) }, { texts.contains($0.text) }),
      (#Predicate { shares.contains($0.share) }, { shares.contains($0.share) }),
      (#Predicate { !shares.contains($0.share) }, { !shares.contains($0.share) }),
    ] as [(Predicate<Note>, (Note) -> Bool)] {
      #expect(try await notes.load(where: predicate).scanning().all() == all.filter(condition))
      #expect(try await notes.load(where: predicate).scanning().count == all.count(where: condition))
    }
  }

  struct Shop: Codable, Identifiable, Sendable {
    struct Place: Codable, Sendable {
      var city: String
      var floor: Int?
    }
    var id: Int
    var place: Place
    var branch: Place?
  }

  struct ShopFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case one = 1 }
    typealias Instance = Shop
    static let defaultKey: DatastoreKey = "Shops"
    static let currentVersion = Version.one
    let city = Index(\.branch?.city)
    let floor = Index(\.place.floor)
  }

  @Test("the least and the greatest value of a property within another one, or behind an optional, leave nil out too")
  func nestedEnds() async throws {
    let shops = MemoryPersistence().datastore(ShopFormat.self)
    let all = (0..<30).map { number in
      let place = Shop.Place(city: "c\(number * 7 % 30)", floor: number % 3 == 0 ? nil : number % 5)
      return Shop(id: number, place: place, branch: number % 4 == 0 ? nil : place)
    }
    try await shops.persist(contentsOf: all)
    for selection in [shops.load(...), shops.load(where: #Predicate { $0.id > 7 })] {
      let kept = try await selection.collectInstances(upTo: .infinity)
      #expect(try await selection.min(of: \.branch?.city) == kept.compactMap(\.branch?.city).min())
      #expect(try await selection.max(of: \.branch?.city) == kept.compactMap(\.branch?.city).max())
      #expect(try await selection.min(of: \.place.floor) == 0)
      #expect(try await selection.scanning().max(of: \.branch?.floor) == 4)
    }
  }
}
