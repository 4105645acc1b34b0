import DiskSimulation
import Glibc
import StrataEngine
import Testing

/// Longer than the ordinary run has time for: `STRATA_SOAK` is the number of seconds for all of them together, one after the
/// other; each ends with the seed that it is at when its share is over. Each seed is printed before it is used, so that a
/// failure can be run again with `STRATA_SEED`.
@Suite("Soak", .enabled(if: getenv("STRATA_SOAK") != nil), .serialized)
struct SoakTests {
  private static let testCount: Int64 = 5
  private var seconds: Int64 { getenv("STRATA_SOAK").flatMap { Int64(String(cString: $0)) } ?? 0 }

  private func seeds(_ test: String = #function, _ body: (UInt64) async throws -> Void) async throws {
    if let seed = getenv("STRATA_SEED").flatMap({ UInt64(String(cString: $0)) }) { return try await body(seed) }
    let disk = SystemDisk()
    let start = disk.now()
    let end = start + seconds * 1_000_000_000 / Self.testCount
    var count = 0
    repeat {
      let seed = disk.randomNumber() % 1_000_000_000
      print("\(test) seed \(seed)")
      try await body(seed)
      count += 1
    } while disk.now() < end
    print("\(test) \(count) seeds in \((disk.now() - start) / 1_000_000_000) s")
  }

  @Test("power cuts in random workloads")
  func powerCuts() async throws {
    var total = 0
    try await seeds { seed in
      var run = PowerCutRun()
      let steps = [Step].random(seed: seed, count: 40, compacts: seed % 2 == 1)
      let workload = try RecordedWorkload.run("seed \(seed)", steps, seed: seed)
      await run.add(workload, seed: seed, recoveryStride: 40)
      total += run.total
      #expect(run.failures.isEmpty, "seed \(seed): \(run.failures.prefix(5))")
    }
    print("\(total) crash images")
  }

  @Test("calls that fail in random workloads")
  func failingCalls() async throws {
    var total = 0
    try await seeds { seed in
      let steps = [Step].random(seed: seed, count: 24, compacts: true)
      for round in 0..<12 as Range<UInt64> {
        try FailingCallTests.attempt(steps, seed: seed &+ round)
        total += 1
      }
    }
    print("\(total) workloads with a failing call")
  }

  @Test("random operations against a dictionary")
  func randomOperations() async throws {
    try await seeds { seed in
      let disk = ImageDisk()
      var runner = try ScriptRunner(creating: "/soak.strata", on: disk)
      try runner.run(.random(seed: seed, count: 400, keys: 120, compacts: seed % 2 == 1, mixes: seed % 3 == 0))
      let comparison = StoreComparison(store: runner.store, model: runner.model)
      #expect(try comparison.checkAll(promised: runner.model.newest) == runner.model.newest, "seed \(seed)")
      try comparison.checkSearches(seed: seed)
      try comparison.checkDifferences(seed: seed)
      try runner.store.close()
      let report = try FileStore.verify(at: "/soak.strata", disk: disk)
      #expect(report.findings.isEmpty, "seed \(seed): \(report.findings.prefix(3))")
    }
  }

  @Test("bits that flip, one and several at once")
  func flippedBits() async throws {
    let stores = [try DamagedStore.make(), try DamagedStore.make(DamagedStore.compacted)]
    var outcomes: [Outcome: Int] = [:]
    try await seeds { seed in
      var random = RandomSource(seed: seed)
      for _ in 0..<2_000 {
        let store = stores[Int.random(in: 0...1, using: &random)]
        let flips = (0..<(Bool.random(using: &random) ? 1 : Int.random(in: 2...5, using: &random))).map { _ in
          (Int.random(in: 0..<store.end, using: &random), UInt8(1) << UInt8.random(in: 0..<8, using: &random))
        }
        do {
          outcomes[try DamageProbe(store: store, image: store.flipping(flips)).outcome(), default: 0] += 1
        } catch {
          Issue.record("seed \(seed), \(flips): \(error)")
        }
      }
    }
    print("flipped bits: \(outcomes)")
  }

  @Test("writers that are killed, also while they compact")
  func kills() async throws {
    try await seeds { seed in try await KillTests.run(rounds: 25, compacts: seed % 2 == 1) }
  }
}
