@testable import CodableDatastore
import StrataModel
import Foundation
import Testing

@Suite("Compound indexes and ranged deletes")
struct CompoundTests {
  let persistence = MemoryPersistence()

  struct Town: Codable, Hashable, Identifiable, Sendable {
    var id: Int
    var country: String
    var region: Int?
    var population: Int
  }

  struct TownFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Town
    static let defaultKey: DatastoreKey = "Towns"
    static let currentVersion = Version.only
    let largest = Index(\.country, \.population.descending)
    let regional = Index(\.country, \.region, \.population)
    let population = Index(\.population)
  }

  func filled() async throws -> TownFormat.Datastore {
    let towns = TownFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Town.self, from: $1) }])
    try await persistence.perform {
      for id in 0..<60 {
        try await towns.persist(
          Town(id: id, country: ["CH", "C", "DE"][id % 3], region: id % 4 == 0 ? nil : id % 4, population: id * 7 % 50))
      }
    }
    return towns
  }

  @Test("tiers are ordered one after the other, each in its own direction")
  func order() async throws {
    let towns = try await filled()
    let all = try await towns.load(...).all()
    let largest = try await towns.load(..., from: \.largest).all()
    #expect(largest == all.sorted { ($0.country, -$0.population, $0.id) < ($1.country, -$1.population, $1.id) })
    let regional = try await towns.load(..., from: \.regional).all()
    #expect(
      regional
        == all.sorted {
          ($0.country, $0.region ?? -1, $0.population, $0.id) < ($1.country, $1.region ?? -1, $1.population, $1.id)
        })
  }

  @Test("equality on the first tiers and a range on the next")
  func prefixes() async throws {
    let towns = try await filled()
    let largest = try await towns.load(..., from: \.largest).all()
    #expect(try await towns.load(prefix: "CH", from: \.largest).all() == largest.filter { $0.country == "CH" })
    #expect(
      try await towns.load(prefix: "C", range: 20..., from: \.largest).all()
        == largest.filter { $0.country == "C" && $0.population >= 20 })
    #expect(
      try await towns.load(prefix: "C", range: 20 ..> 35, order: .descending, from: \.largest).all()
        == largest.filter { $0.country == "C" && $0.population > 20 && $0.population <= 35 }.reversed())
    let regional = try await towns.load(..., from: \.regional).all()
    #expect(
      try await towns.load(prefix: "DE", 2, range: ..<30, from: \.regional).all()
        == regional.filter { $0.country == "DE" && $0.region == 2 && $0.population < 30 })
    #expect(
      try await towns.load(prefix: "DE", nil as Int?, from: \.regional).all()
        == regional.filter { $0.country == "DE" && $0.region == nil })
    #expect(try await towns.load(prefix: "C", 20, from: \.largest).all().allSatisfy { $0.population == 20 })
    #expect(try await towns.load(prefix: "DE", nil, from: \.regional).all().allSatisfy { $0.region == nil })
    #expect(
      try await towns.load(prefix: "CH", range: ..., from: \.largest).all() == largest.filter { $0.country == "CH" })
    #expect(
      try await towns.load(prefix: "DE", 2, range: ..., order: .descending, from: \.regional).all()
        == regional.filter { $0.country == "DE" && $0.region == 2 }.reversed())
  }

  struct Job: Codable, Hashable, Identifiable, Sendable {
    enum State: String, Codable, Comparable, RangedIndexable, DiscreteIndexable, OrderedKey {
      case queued, running
      static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }
    var id: Int
    var state: State
    var cost: Double
    var note = ""
  }

  struct JobFormat: DatastoreFormat {
    enum Version: Int, CaseIterable { case only }
    typealias Instance = Job
    static let defaultKey: DatastoreKey = "Jobs"
    static let currentVersion = Version.only
    let cheapest = Index(\.state, \.cost)
    let dearest = Index(\.state, \.cost.descending, \.note)
  }

  @Test("tiers are inferred from the index: cases need no type, literals become what the tier is")
  func inferredTiers() async throws {
    let jobs = JobFormat.Datastore.JSONStore(
      persistence: persistence, migrations: [.only: { try $0.decode(Job.self, from: $1) }])
    for id in 0..<10 { try await jobs.persist(Job(id: id, state: id < 6 ? .queued : .running, cost: Double(id) / 2)) }
    #expect(try await jobs.load(prefix: .queued, from: \.cheapest).all().map(\.id) == Array(0..<6))
    #expect(try await jobs.load(prefix: .queued, range: 1..<2, from: \.cheapest).all().map(\.id) == [2, 3])
    #expect(try await jobs.load(prefix: .running, range: 3.5..., from: \.dearest).all().map(\.id) == [9, 8, 7])
    #expect(try await jobs.load(prefix: .queued, 1, from: \.cheapest).all().map(\.id) == [2])
    #expect(try await jobs.load(prefix: .queued, 1.5, from: \.dearest).all().map(\.id) == [3])
    #expect(try await jobs.load(prefix: .queued, range: ..<1, from: \.dearest).delete() == 2)
    #expect(try await jobs.load(prefix: .running, from: \.cheapest).delete { $0.id > 7 } == 2)
    #expect(try await jobs.load(...).all().map(\.id) == [2, 3, 4, 5, 6, 7])
  }

  @Test("tiers have names in the descriptor")
  func descriptor() async throws {
    let towns = try await filled()
    let index = try towns.core.index(at: \.largest)
    #expect(index.descriptor.tiers.map(\.keyPathName) == [".country", ".population"])
    #expect(index.descriptor.tiers.map(\.isDescending) == [false, true])
    #expect(index.descriptor.tiers.map(\.valueType) == ["String", "Int"])
    #expect(index.descriptor.encoding.description == "compound(string,descending(integer))")
  }

  @Test("ranges and conditions are deleted in one transaction")
  func deleting() async throws {
    let towns = try await filled()
    let all = try await towns.load(...).all()
    #expect(try await towns.delete(range: 10..<20) == 10)
    #expect(
      try await towns.delete(range: 40..., of: \.population)
        == all.filter { $0.population >= 40 && !(10..<20).contains($0.id) }.count)
    #expect(try await towns.delete(range: ..., where: { $0.country == "DE" }) > 0)
    let left = try await towns.load(...).all()
    #expect(left == all.filter { !(10..<20).contains($0.id) && $0.population < 40 && $0.country != "DE" })
    #expect(try await towns.load(..., from: \.largest).all().count == left.count)
    #expect(try await towns.delete(value: left[0].population, of: \.population) > 0)
    #expect(try await towns.delete(left[1].population, from: \.population) > 0)
    let fewer = try await towns.load(...).all()
    #expect(try await towns.delete(..<8, from: \.population) == fewer.filter { $0.population < 8 }.count)
    let few = try await towns.load(...).all()
    #expect(try await towns.delete(...3) == few.filter { $0.id <= 3 }.count)
    struct Refusal: Error {}
    let count = try await towns.count
    await #expect(throws: Refusal.self) {
      try await towns.delete(range: ...) { town in
        if town.id > 30 { throw Refusal() }
        return true
      }
    }
    #expect(try await towns.count == count)
  }
}
