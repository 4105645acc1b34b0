import Measuring
import StrataEngine

/// What the history grows by, by the size of the store. Counted, so it is the same on every machine.
struct Growth {
  let folder: String
  private let commits = 1_000

  func run(_ results: inout Results) throws {
    try memory(&results)
    for (count, goal) in [(10_000, "≤ 7 KB"), (100_000, "≤ 11 KB"), (1_000_000, "≤ 14 KB")] {
      let path = "\(folder)/\(count)"
      try makeFolder(path)
      var work = Work(count: count)
      let contender = try StrataContender(folder: path)
      try contender.insertAll(work.records)
      let inserted = try bytes(contender) { try contender.insert(work.nextInsert(), durability: .collated) }
      let updated = try bytes(contender) { try contender.update(work.nextUpdate(), durability: .collated) }
      results.add("bytes a single-record commit adds at \(count) records: insert", "\(fixed(inserted)) KB", goal: goal)
      results.add(
        "bytes a single-record commit adds at \(count) records: update of the record and both indexes",
        "\(fixed(updated)) KB", goal: goal)
      try contender.store.close()
    }
  }

  /// In processes of their own, whose memory is that of the transaction.
  private func memory(_ results: inout Results) throws {
    for keyLength in [30, 209, 609, 16_000] {
      let took = try ChildTask.fill(path: "\(folder)/keys-\(keyLength)", keyLength: keyLength).answer()
      results.add(
        "\(min(200_000, 200_000_000 / keyLength)) records with keys of \(keyLength) bytes in one transaction: memory of the process",
        "\(fixed(took[1] / 1e6)) MB", goal: "≤ 64 MB")
    }
  }

  /// The mean of many commits, in thousands of bytes of frames.
  private func bytes(_ contender: StrataContender, _ commit: () throws -> Void) throws -> Double {
    let before = contender.store.dataBytes
    for _ in 0..<commits { try commit() }
    return Double(contender.store.dataBytes - before) / Double(commits) / 1_000
  }
}
