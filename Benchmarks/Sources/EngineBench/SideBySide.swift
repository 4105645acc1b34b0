import CAllocations
import FoundationEssentials
import Glibc
import Measuring
import StrataEngine

/// The same work by ours, LMDB and SQLite in turn.
struct SideBySide {
  let count: Int
  let folder: String
  private let rounds = 5

  private typealias Contenders = (ours: StrataContender, lmdb: LMDBContender, sqlite: SQLiteContender)

  /// Reads and single commits on stores that hold work A.
  func run(_ results: inout Results) throws {
    var work = Work(count: count)
    let contenders = try makeContenders("loaded")
    for contender in [contenders.ours, contenders.lmdb, contenders.sqlite] as [any Contender] {
      try contender.insertAll(work.records)
    }
    try reads(work, contenders, &results)
    try commits(&work, contenders, &results)
  }

  private func makeContenders(_ name: String) throws -> Contenders {
    let paths = ["a", "b", "c"].map { "\(folder)/\($0)-\(name)" }
    for path in paths { try makeFolder(path) }
    return (
      ours: try StrataContender(folder: paths[0]), lmdb: try LMDBContender(folder: paths[1]),
      sqlite: try SQLiteContender(folder: paths[2])
    )
  }

  /// Work A in one transaction, into new stores each round.
  func bulk(_ results: inout Results) throws {
    let work = Work(count: count)
    var times = Times()
    var contenders: Contenders?
    var (allocations, bytes, syncs) = (UInt64(0), UInt64(0), UInt64(0))
    for round in 0..<rounds {
      contenders = nil
      let next = try makeContenders("\(round)")
      let before = next.ours.store.counts
      try times.measure(next, unit: Double(count)) { contender in
        let start = strata_allocations()
        try contender.insertAll(work.records)
        if contender is StrataContender { allocations = strata_allocations() - start }
      }
      bytes = next.ours.store.counts.bytesWritten - before.bytesWritten
      syncs = next.ours.store.counts.syncs - before.syncs
      contenders = next
    }
    guard let contenders else { throw ContenderError(description: "no rounds") }
    results.add(times.rows("bulk insert in one transaction, per record", goals: ("≥ 0.8×", "≥ 1.5×")))
    let sizes = (try contenders.ours.fileBytes(), try contenders.lmdb.fileBytes(), try contenders.sqlite.fileBytes())
    results.add(
      "bulk insert of \(count) records: bytes of frames, syncs, allocations a record",
      "\(bytes), \(syncs), \(fixed(Double(allocations) / Double(count)))")
    results.add(
      "file after bulk, zeros ahead included, against LMDB's (\(sizes.1) bytes)",
      "\(sizes.0) bytes: \(fixed(Double(sizes.0) / Double(sizes.1)))×", goal: "≤ 0.8×")
    results.add(
      "file after bulk, against SQLite's (\(sizes.2) bytes)", "\(fixed(Double(sizes.0) / Double(sizes.2)))×")
  }

  private func commits(_ work: inout Work, _ contenders: Contenders, _ results: inout Results) throws {
    var times = Times()
    let raw = try RawDisk(folder: folder)
    var limit: [Double] = []
    var latencies: [Double] = []
    var (commits, bytes, syncs, reads, allocations) = (0, 0, 0, 0, 0)
    for _ in 0..<rounds {
      let batch = (0..<400).map { _ in work.nextInsert() }
      let before = contenders.ours.store.counts
      try times.measure(contenders, unit: Double(batch.count)) { contender in
        let start = strata_allocations()
        var last = seconds()
        for record in batch {
          try contender.insert(record)
          let now = seconds()
          if contender is StrataContender { latencies.append(now - last) }
          last = now
        }
        if contender is StrataContender { allocations += Int(strata_allocations() - start) }
      }
      let after = contenders.ours.store.counts
      commits += batch.count
      bytes += Int(after.bytesWritten - before.bytesWritten)
      syncs += Int(after.syncs - before.syncs)
      reads += Int(after.nodeReads - before.nodeReads)
      let same = [UInt8](repeating: 7, count: Int(after.bytesWritten - before.bytesWritten) / batch.count)
      limit.append(try time { for _ in batch { try raw.commit(same) } } / Double(batch.count))
    }
    let work = "durable single-record commit, two indexes"
    results.add(times.rows(work, goals: ("≥ 2.5×", "≥ 1.7×")))
    results.add(Row(work: work, rival: "overwrite + fdatasync", ours: times.ours, theirs: limit, goal: "≥ 0.7×"))
    results.add(
      Row(
        work: "overwrite + fdatasync of as many bytes: the limit", rival: "SQLite", ours: limit, theirs: times.sqlite,
        goal: "–"))
    let spread = Spread(latencies)
    results.add(
      "\(work): p50, p99, p99.9", [0.5, 0.99, 0.999].map { duration(spread.quantile($0)) }.joined(separator: ", "))
    let each = { (sum: Int) in fixed(Double(sum) / Double(commits)) }
    results.add(
      "per durable commit: bytes, syncs, node reads, allocations",
      "\(each(bytes)), \(each(syncs)), \(each(reads)), \(each(allocations))")
  }

  private func reads(_ work: Work, _ contenders: Contenders, _ results: inout Results) throws {
    var (reads, scans, ranges) = (Times(), Times(), Times())
    var (readAllocations, scanAllocations) = (UInt64(0), UInt64(0))
    var nodes = UInt64(0)
    let lookups = 200_000
    for round in 0..<rounds {
      let positions = work.randomPositions(lookups, seed: UInt64(round) + 7)
      let before = contenders.ours.store.counts.nodeReads
      try reads.measure(contenders, unit: Double(lookups)) { contender in
        let start = strata_allocations()
        for position in positions { sink &+= try contender.read(work.records[position].identifier) }
        if contender is StrataContender { readAllocations = strata_allocations() - start }
      }
      nodes = contenders.ours.store.counts.nodeReads - before
      try scans.measure(contenders, unit: Double(count)) { contender in
        let start = strata_allocations()
        sink &+= try contender.scan()
        if contender is StrataContender { scanAllocations = strata_allocations() - start }
      }
      let starts = positions.prefix(2_000)
      try ranges.measure(contenders, unit: Double(starts.count)) { contender in
        for position in starts { sink &+= try contender.range(from: work.records[position].author, limit: 100) }
      }
    }
    results.add(reads.rows("random read by identifier, checks on", goals: ("≥ 0.9×", "≥ 2×")))
    results.add(scans.rows("ordered scan, per record", goals: ("–", "≥ 3×")))
    results.add(ranges.rows("range of 100 through an index, with look-up", goals: ("≥ 0.9×", "–")))
    results.add(
      "per random read: node reads, allocations; per scanned record: allocations",
      "\(fixed(Double(nodes) / Double(lookups))), \(fixed(Double(readAllocations) / Double(lookups))); "
        + "\(fixed(Double(scanAllocations) / Double(count)))")
  }
}
