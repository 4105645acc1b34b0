import Glibc
import Measuring
import StrataEngine
import Synchronization

/// How long durable commits take while the history is being compacted beside them.
struct CommitsWhileCompacting {
  let count: Int
  let folder: String

  func run(_ results: inout Results) throws {
    var work = Work(count: count)
    let contender = try StrataContender(folder: folder)
    try contender.insertAll(work.records)
    let quiet = Spread(try latencies(&work, contender) { $0 < 4_000 })

    var busy: [Double] = []
    var compactions = 0
    var took = 0.0
    // Until the 99.9th percentile means something.
    while busy.count < 4_000, compactions < 60 {
      let isDone = Atomic(false)
      let failure = Mutex<(any Error)?>(nil)
      let thread = BenchThread {
        do {
          // Everything is kept, so that each time there is as much to copy.
          _ = try contender.store.compact(.all)
        } catch {
          failure.withLock { $0 = error }
        }
        isDone.store(true, ordering: .releasing)
      }
      let start = seconds()
      busy += try latencies(&work, contender) { _ in !isDone.load(ordering: .acquiring) }
      thread.join()
      took += seconds() - start
      if let failure = failure.withLock({ $0 }) { throw failure }
      compactions += 1
    }
    let loud = Spread(busy)
    results.add(
      "durable commits while a compaction runs (\(busy.count) commits, \(compactions) compactions of "
        + "\(duration(took / Double(compactions))) each): p50, p99.9, longest",
      [loud.quantile(0.5), loud.quantile(0.999), loud.maximum].map { duration($0) }.joined(separator: ", "))
    results.add(
      "the same without one (\(quiet.values.count) commits)",
      [quiet.quantile(0.5), quiet.quantile(0.999), quiet.maximum].map { duration($0) }.joined(separator: ", "))
    results.add(
      "p99.9 while a compaction runs against its own p50 without",
      "\(fixed(loud.quantile(0.999) / quiet.quantile(0.5)))×",
      goal: "≤ 5×")
    try limit(&work, contender, &results)
  }

  /// What the disk itself does to overwrites of as many bytes: alone, and while another thread writes and syncs large pieces.
  private func limit(_ work: inout Work, _ contender: StrataContender, _ results: inout Results) throws {
    let before = contender.store.dataBytes
    try contender.insert(work.nextInsert())
    let bytes = [UInt8](repeating: 7, count: Int(contender.store.dataBytes - before))
    let raw = try RawDisk(folder: folder)
    let other = try RawDisk(folder: folder, name: "other")
    let quiet = Spread(try (0..<4_000).map { _ in try time { try raw.commit(bytes) } })
    let isDone = Atomic(false)
    let thread = BenchThread {
      let piece = [UInt8](repeating: 8, count: 512 << 10)
      while !isDone.load(ordering: .acquiring) { try? other.commit(piece) }
    }
    let loud = Spread(try (0..<4_000).map { _ in try time { try raw.commit(bytes) } })
    isDone.store(true, ordering: .releasing)
    thread.join()
    for (what, spread) in [("alone", quiet), ("while a thread writes and syncs 512 KiB again and again", loud)] {
      results.add(
        "raw overwrite + fdatasync of \(bytes.count) bytes, \(what): p50, p99.9, p99.9 against p50 alone",
        "\(duration(spread.quantile(0.5))), \(duration(spread.quantile(0.999))), "
          + "\(fixed(spread.quantile(0.999) / quiet.quantile(0.5)))×")
    }
  }

  private func latencies(
    _ work: inout Work, _ contender: StrataContender, while goesOn: (Int) -> Bool
  ) throws -> [Double] {
    var latencies: [Double] = []
    while goesOn(latencies.count) {
      let record = work.nextInsert()
      latencies.append(try time { try contender.insert(record) })
    }
    return latencies
  }
}
