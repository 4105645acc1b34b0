import CodableDatastore
import Foundation
import Testing

@Suite("Scenarios: ranges, orders and kinds of index")
struct RangeScenarios {
  let persistence = MemoryPersistence()

  func filled(_ numbers: ClosedRange<Int> = 1...20) async throws -> TrackFormat.Datastore {
    let tracks = TrackFormat.tracks(in: persistence)
    try await persistence.perform {
      for track in Track.numbered(numbers).shuffled() { try await tracks.persist(track) }
    }
    return tracks
  }

  func numbers(_ tracks: some AsyncInstances<Track>) async throws -> [Int] {
    try await tracks.collectInstances(upTo: .infinity).compactMap { Int($0.name.dropFirst(6)) }
  }

  @Test("a primary scan is by identifier, in both directions")
  func primary() async throws {
    let tracks = try await filled()
    #expect(try await numbers(tracks.load(...)) == Array(1...20))
    #expect(try await numbers(tracks.load(range: ..., order: .descending)) == (1...20).reversed())
  }

  @Test("durations, dates, doubles and decimals lie in their order", arguments: [RangeOrder.ascending, .descending])
  func scalars(order: RangeOrder) async throws {
    let tracks = try await filled()
    let expected = order == .ascending ? Array(5...9) : Array((5...9).reversed())
    #expect(try await numbers(tracks.load(.seconds(5) ... .seconds(9), order: order, from: \.length)) == expected)
    let dates = Date(timeIntervalSince1970: 5)..<Date(timeIntervalSince1970: 9.5)
    #expect(try await numbers(tracks.load(dates, order: order, from: \.released)) == expected)
    #expect(try await numbers(tracks.load(index: \.rating, range: 2.5...4.5, order: order)) == expected)
    #expect(try await numbers(tracks.load(Decimal(0.4) ..> Decimal(0.9), order: order, from: \.price)) == expected)
  }

  @Test("an enum lies in the order of its own <, whatever its raw values")
  func handOrderedEnum() async throws {
    let tracks = try await filled(1...6)
    #expect(try await numbers(tracks.load(..., from: \.grade)) == [3, 6, 1, 4, 2, 5])
    #expect(try await numbers(tracks.load(Grade.gold..., from: \.grade)) == [1, 4, 2, 5])
    #expect(try await numbers(tracks.load(..<Grade.platinum, order: .descending, from: \.grade)) == [4, 1, 6, 3])
    #expect(try await numbers(tracks.load(Grade.gold, from: \.grade)) == [1, 4])
  }

  @Test("composite values lie in the order of their own <, direct indexes included")
  func compositeValues() async throws {
    let tracks = try await filled(8...22)
    let from = Position(disc: 0, number: 9)
    let through = Position(disc: 2, number: 0)
    #expect(try await numbers(tracks.load(from ..> through, from: \.position)) == Array(10...20))
    #expect(try await numbers(tracks.load(from..>, order: .descending, from: \.position)) == (10...22).reversed())
    #expect(try await numbers(tracks.load(Position(disc: 1, number: 5), from: \.position)) == [15])
  }

  @Test("nil comes first in an optional index, and can be asked for")
  func optionals() async throws {
    let tracks = try await filled(1...6)
    #expect(try await numbers(tracks.load(nil, from: \.label)) == [3, 6])
    #expect(try await numbers(tracks.load(..., from: \.label)) == [3, 6, 1, 4, 2, 5])
    #expect(try await numbers(tracks.load("Label 1"..., from: \.label)) == [1, 4, 2, 5])
    #expect(try await numbers(tracks.load("Label 2", from: \.label)) == [2, 5])
    #expect(try await numbers(tracks.load(.init(upper: .excluding("Label 1")), from: \.label)) == [3, 6])
  }

  @Test("an instance comes once for each value that matches in a many-to-many scan")
  func manyToMany() async throws {
    let tracks = try await filled(1...4)
    #expect(try await numbers(tracks.load(..., from: \.genres)) == [1, 2, 3, 4, 2, 4])
    #expect(try await numbers(tracks.load("even", from: \.genres)) == [2, 4])
    #expect(try await numbers(tracks.load("a"..<"f", order: .descending, from: \.genres)) == [4, 2, 4, 3, 2, 1])
  }

  @Test("bounds that are not there, before the first and after the last entry, are harmless")
  func outerBounds() async throws {
    let tracks = try await filled(5...7)
    #expect(try await numbers(tracks.load("A"..."Z", from: \.name)) == [5, 6, 7])
    #expect(try await numbers(tracks.load(..."A", from: \.name)) == [])
    #expect(try await numbers(tracks.load("Z"..., from: \.name)) == [])
    #expect(try await numbers(tracks.load(Date.distantPast...Date.distantFuture, from: \.released)) == [5, 6, 7])
  }

  @Test("open, reversed and empty ranges")
  func indexRanges() async throws {
    let tracks = try await filled(1...9)
    let open = IndexRange<Double>(lower: .excluding(1), upper: .excluding(3))
    #expect(try await numbers(tracks.load(open, from: \.rating)) == [3, 4, 5])
    let reversed = IndexRange<Double>(lower: .including(1), upper: .including(2), order: .descending)
    #expect(try await numbers(tracks.load(reversed, from: \.rating)) == [4, 3, 2])
    #expect(try await numbers(tracks.load(reversed, order: .descending, from: \.rating)) == [2, 3, 4])
    let disordered = IndexRange<Double>(lower: .including(3), upper: .including(1))
    #expect(try await numbers(tracks.load(disordered, from: \.rating)) == [])
    #expect(try await numbers(tracks.load(2.0 ..> 2.0, from: \.rating)) == [])
    #expect(try await numbers(tracks.load(2.0..<2.0, from: \.rating)) == [])
    #expect(try await numbers(tracks.load(.init(only: 2), from: \.rating)) == [4])
    #expect(try await numbers(tracks.load(index: \.rating, range: .init(order: .descending))) == (1...9).reversed())
  }

  struct Backwards: IndexRangeExpression {
    var lowerBoundExpression: RangeBoundExpression<String> { .excluding("Track 2") }
    var upperBoundExpression: RangeBoundExpression<String> { .including("Track 5") }
    var order: RangeOrder { .descending }
  }

  @Test("a range type of a program's own is honoured, its order too")
  func ownRange() async throws {
    let tracks = try await filled(1...9)
    #expect(try await numbers(tracks.load(Backwards(), from: \.name)) == [5, 4, 3])
    #expect(try await numbers(tracks.load(index: \.name, range: Backwards(), order: .descending)) == [3, 4, 5])
  }

  @Test("one value lies in the order of the identifiers, descending in the reverse")
  func withinOneValue() async throws {
    let tracks = try await filled(1...9)
    #expect(try await numbers(tracks.load("all", from: \.genres)) == Array(1...9))
    #expect(try await numbers(tracks.load("all", order: .descending, from: \.genres)) == (1...9).reversed())
    #expect(try await numbers(tracks.load(index: \.genres, value: "all", order: .ascending)) == Array(1...9))
  }

  @Test("a one-to-one index answers an instance or, in a loop, a sequence")
  func oneToOne() async throws {
    let tracks = try await filled(1...3)
    let one = try await tracks.load("C-2", from: \.catalogueNumber)
    #expect(one?.name == "Track 2")
    let none = try await tracks.load(index: \.catalogueNumber, value: "C-9")
    #expect(none == nil)
    var count = 0
    for try await track in tracks.load("C-2", from: \.catalogueNumber) {
      #expect(track.name == "Track 2")
      count += 1
    }
    for try await _ in tracks.load("C-2", order: .descending, from: \.catalogueNumber) { count += 1 }
    #expect(count == 2)
  }

  @Test("instances that share a one-to-one value are all kept; the lowest identifier answers")
  func sharedOneToOne() async throws {
    let tracks = try await filled(1...3)
    for var track in Track.numbered(2...3) {
      track.catalogueNumber = "same"
      try await tracks.persist(track)
    }
    #expect(try await tracks.load("same", from: \.catalogueNumber)?.name == "Track 2")
    #expect(try await numbers(tracks.load("same", order: .ascending, from: \.catalogueNumber)) == [2, 3])
    try await tracks.delete(Track.numbered(2...2)[0])
    #expect(try await tracks.load("same", from: \.catalogueNumber)?.name == "Track 3")
  }

  @Test("a collection of at most n instances has n")
  func collecting() async throws {
    let tracks = try await filled(1...5)
    #expect(try await tracks.load(...).collectInstances(upTo: 3).count == 3)
    #expect(try await tracks.load(...).collectInstances(upTo: 0).isEmpty)
    #expect(try await tracks.load(...).collectInstances(upTo: 9).count == 5)
    #expect(
      try await tracks.load(...).map(\.name).filter { $0 > "Track 3" }.collectInstances(upTo: .infinity).count == 2)
    #expect(try await tracks.load(...).compactMap { $0.label }.firstInstance == "Label 1")
    let thrown = tracks.load(...).map { track -> String in throw ScenarioFailure(number: track.name.count) }
    await #expect(throws: ScenarioFailure(number: 7)) { try await thrown.collectInstances(upTo: 2) }
  }

  @Test("a million-microsecond date is found, moved and deleted")
  func preciseDates() async throws {
    let tracks = TrackFormat.tracks(in: persistence)
    let date = Date(timeIntervalSinceReferenceDate: 712_345_678.123_456_7)
    var track = Track(id: UUID(), name: "now", released: date)
    try await tracks.persist(track)
    #expect(try await tracks.load(date...date, from: \.released).firstInstance?.id == track.id)
    track.released = Date()
    try await tracks.persist(track)
    #expect(try await numbers(tracks.load(date...date, from: \.released)) == [])
    #expect(try await tracks.delete(track).released == track.released)
  }
}
