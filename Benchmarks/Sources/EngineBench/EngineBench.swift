import FoundationEssentials
import Glibc
import Measuring
import StorageEngine

/// Work A side by side: ours, LMDB and SQLite in turn, in one run, on one disk.
@main
struct EngineBench {
  static func main() throws {
    let count = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 100_000
    let rounds = 5
    var scratch = Array("/tmp/strata-bench.XXXXXX".utf8CString)
    guard let made = mkdtemp(&scratch) else { throw ContenderError(description: "no folder for the bench") }
    let folder = String(cString: made)
    defer { try? FileManager.default.removeItem(atPath: folder) }

    var work = Work(count: count)
    var rows: [Row] = []
    var bulk = Times()
    var contenders: (ours: StrataContender, lmdb: LMDBContender, sqlite: SQLiteContender)?
    for round in 0..<rounds {
      contenders = nil
      let (a, b, c) = (folder + "/a\(round)", folder + "/b\(round)", folder + "/c\(round)")
      for path in [a, b, c] { mkdir(path, 0o755) }
      let next = (try StrataContender(folder: a), try LMDBContender(folder: b), try SQLiteContender(folder: c))
      try bulk.measure(next, unit: Double(count)) { try $0.insertAll(work.records) }
      contenders = next
      if round < rounds - 1 { for path in [a, b, c] { try FileManager.default.removeItem(atPath: path) } }
    }
    guard let contenders else { return }
    rows += bulk.rows("bulk insert in one transaction, per record", goals: ("≥ 0.8×", "≥ 1.5×"))
    print("bytes after bulk: ours \(try contenders.ours.fileBytes()), LMDB \(try contenders.lmdb.fileBytes()), "
      + "SQLite \(try contenders.sqlite.fileBytes())")

    var commits = Times()
    let raw = try RawDisk(folder: folder)
    var limit: [Double] = []
    let before = contenders.ours.store.counts
    var ourCommits = 0
    for _ in 0..<rounds {
      let batch = (0..<200).map { _ in work.nextInsert() }
      let start = contenders.ours.store.counts
      try commits.measure(contenders, unit: Double(batch.count)) { contender in
        for record in batch { try contender.insert(record) }
      }
      ourCommits += batch.count
      let written = Int(contenders.ours.store.counts.bytesWritten - start.bytesWritten) / batch.count
      let bytes = [UInt8](repeating: 7, count: written)
      limit.append(try time { for _ in batch { try raw.commit(bytes) } } / Double(batch.count))
    }
    let after = contenders.ours.store.counts
    rows += commits.rows("durable single-record commit, two indexes", goals: ("≥ 2.5×", "≥ 1.7×"))
    rows.append(
      Row(
        work: "durable single-record commit, two indexes", rival: "overwrite + fdatasync", ours: commits.ours, theirs: limit,
        goal: "≥ 0.7×"))
    print("per commit: \(Double(after.bytesWritten - before.bytesWritten) / Double(ourCommits)) bytes, "
      + "\(Double(after.syncs - before.syncs) / Double(ourCommits)) syncs, "
      + "\(Double(after.nodeReads - before.nodeReads) / Double(ourCommits)) node reads")

    var (reads, scans, ranges) = (Times(), Times(), Times())
    for round in 0..<rounds {
      let positions = work.randomPositions(200_000, seed: UInt64(round) + 7)
      try reads.measure(contenders, unit: Double(positions.count)) { contender in
        for position in positions { sink &+= try contender.read(work.records[position].identifier) }
      }
      try scans.measure(contenders, unit: Double(count)) { sink &+= try $0.scan() }
      let starts = positions.prefix(2_000)
      try ranges.measure(contenders, unit: Double(starts.count)) { contender in
        for position in starts { sink &+= try contender.range(from: work.records[position].author, limit: 100) }
      }
    }
    rows += reads.rows("random read by identifier, checks on", goals: ("≥ 0.9×", "≥ 2×"))
    rows += scans.rows("ordered scan, per record", goals: ("–", "≥ 3×"))
    rows += ranges.rows("range of 100 through an index, with look-up", goals: ("≥ 0.9×", "–"))

    print("\n| Work | Against | Ours | Theirs | Ratio (min–max) | To reach |\n|---|---|---|---|---|---|")
    for row in rows { print(row.markdown) }
  }
}

/// What the compiler may not leave out.
nonisolated(unsafe) var sink = 0  // Only the main thread reads or writes it.

/// The times of one kind of work, by round.
struct Times {
  var ours: [Double] = []
  var lmdb: [Double] = []
  var sqlite: [Double] = []

  /// Lets each contender do the work once; who begins changes from round to round.
  mutating func measure(
    _ contenders: (ours: StrataContender, lmdb: LMDBContender, sqlite: SQLiteContender), unit: Double,
    _ work: (any Contender) throws -> Void
  ) throws {
    let round = ours.count
    for place in 0..<3 {
      switch (place + round) % 3 {
      case 0: ours.append(try time { try work(contenders.ours) } / unit)
      case 1: lmdb.append(try time { try work(contenders.lmdb) } / unit)
      default: sqlite.append(try time { try work(contenders.sqlite) } / unit)
      }
    }
  }

  func rows(_ work: String, goals: (lmdb: String, sqlite: String)) -> [Row] {
    [
      Row(work: work, rival: LMDBContender.name, ours: ours, theirs: lmdb, goal: goals.lmdb),
      Row(work: work, rival: SQLiteContender.name, ours: ours, theirs: sqlite, goal: goals.sqlite),
    ]
  }
}
