import CAllocations
import Measuring

/// One row of the results: the seconds of an operation, ours and theirs, round by round, and how often each asks for
/// memory, on all threads.
struct Comparison {
  struct Measurement {
    var seconds: Double
    var allocations: Double
  }

  private var ours: [Measurement] = []
  private var theirs: [Measurement] = []

  mutating func ours(_ count: Int, _ work: () async throws -> Void) async throws {
    addOurs(try await Self.measure(work), count)
  }

  mutating func addOurs(_ measurement: Measurement, _ count: Int) { ours.append(measurement.divided(by: count)) }

  mutating func theirs(_ count: Int, _ work: () async throws -> Void) async throws {
    theirs.append(try await Self.measure(work).divided(by: count))
  }

  mutating func theirs(_ count: Int, _ work: () throws -> Void) throws {
    let allocations = strata_allocations_of_all_threads()
    let begin = seconds()
    try work()
    let measurement = Measurement(
      seconds: seconds() - begin, allocations: Double(strata_allocations_of_all_threads() - allocations))
    theirs.append(measurement.divided(by: count))
  }

  static func measure(_ work: () async throws -> Void) async throws -> Measurement {
    let allocations = strata_allocations_of_all_threads()
    let begin = seconds()
    try await work()
    return Measurement(
      seconds: seconds() - begin, allocations: Double(strata_allocations_of_all_threads() &- allocations))
  }

  func row(_ work: String, _ rival: String, goal: String) -> String {
    let row = Row(work: work, rival: rival, ours: ours.map(\.seconds), theirs: theirs.map(\.seconds), goal: goal)
    let counts = [ours, theirs].map { fixed(Spread($0.map(\.allocations)).median, digits: 1) }
    // Before the last cell, the goal.
    return row.markdown.dropLast(goal.count + 2) + "\(counts[0]); \(counts[1]) | \(goal) |"
  }
}

extension Comparison.Measurement {
  func divided(by count: Int) -> Self {
    Self(seconds: seconds / Double(count), allocations: allocations / Double(count))
  }
}
