import Foundation
import Testing

/// Random looking and editing while another program writes, with answers that come late and in any order, against a loop over the records.
@Suite("A table at random against a loop over the records")
struct RandomTableTests {
  /// `STRATA_WALKS` says how many walks to run.
  static var seeds: [UInt64] {
    let count = ProcessInfo.processInfo.environment["STRATA_WALKS"].flatMap { UInt64($0) } ?? 4
    return Array(1...max(1, count))
  }

  @Test("rows, order, values, cursor and commits are those of the model", arguments: seeds)
  func random(seed: UInt64) throws {
    var walk = try TableWalk(seed: seed)
    for _ in 0..<100 where !walk.hasFailed { try walk.step() }
  }
}
