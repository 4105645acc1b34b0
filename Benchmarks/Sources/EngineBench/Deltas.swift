import Measuring
import StrataEngine

/// What node deltas take and give: the same work on a store with them and on one of whole nodes, in turn.
struct Deltas {
  let count: Int
  let folder: String
  private let rounds = 7

  private typealias Stores = (deltas: StrataContender, whole: StrataContender)

  func run(_ results: inout Results) throws {
    let goals: [(Int, Double, Double)] = [
      (100, 1, 1), (10_000, 0.40, 0.45), (100_000, 0.35, 0.45), (1_000_000, 0.35, 0.45),
    ]
    for (count, update, insert) in goals {
      let (work, stores) = try stores("growth-\(count)", count)
      try growth(stores, work, "update of the record and both indexes", update, &results) { contender, work in
        try contender.update(work.nextUpdate(), durability: .collated)
      }
      try growth(stores, work, "insert", insert, &results) { contender, work in
        try contender.insert(work.nextInsert(), durability: .collated)
      }
      for contender in [stores.deltas, stores.whole] { try contender.store.close() }
    }
    let (work, stores) = try stores("commits", count)
    try commits(stores, work, &results)
    var written = work
    for _ in 0..<10_000 {
      let change = written.nextUpdate()
      for contender in [stores.deltas, stores.whole] { try contender.update(change, durability: .collated) }
    }
    try reads(stores, work, "after 10,000 commits", "≥ 0.85×", &results)
    // Opened again, because a contender keeps the tree that it reads.
    for contender in [stores.deltas, stores.whole] {
      _ = try contender.store.compact(.last(1)) { _ in true }
      try contender.store.close()
    }
    let compacted = try ["deltas", "whole"].map { try StrataContender(opening: "\(folder)/commits-\($0)") }
    try reads((compacted[0], compacted[1]), work, "after `compact --keep 1`", "≥ 1.0×", &results)
  }

  private func stores(_ name: String, _ count: Int) throws -> (Work, Stores) {
    let paths = ["deltas", "whole"].map { "\(folder)/\(name)-\($0)" }
    for path in paths { try makeFolder(path) }
    let work = Work(count: count)
    let stores = (try StrataContender(folder: paths[0]), try StrataContender(folder: paths[1], writesDeltas: false))
    for contender in [stores.0, stores.1] { try contender.insertAll(work.records) }
    return (work, stores)
  }

  /// Counted, so it is the same on every machine.
  private func growth(
    _ stores: Stores, _ work: Work, _ name: String, _ goal: Double, _ results: inout Results,
    _ commit: (StrataContender, inout Work) throws -> Void
  ) throws {
    func bytes(_ contender: StrataContender) throws -> Double {
      var work = work
      // Every node that is changed often has had its first changes by then.
      for _ in 0..<2_000 { try commit(contender, &work) }
      let before = contender.store.dataBytes
      for _ in 0..<1_000 { try commit(contender, &work) }
      return Double(contender.store.dataBytes - before) / 1_000
    }
    let (deltas, whole) = (try bytes(stores.deltas), try bytes(stores.whole))
    results.add(
      "\(name) at \(work.records.count) records: bytes of a commit with deltas, with whole nodes",
      "\(fixed(deltas, digits: 0)), \(fixed(whole, digits: 0)): \(fixed(deltas / whole))×", goal: "≤ \(fixed(goal))×")
  }

  private func commits(_ stores: Stores, _ work: Work, _ results: inout Results) throws {
    var (ours, theirs): ([Double], [Double]) = ([], [])
    var work = work
    for _ in 0..<rounds {
      let batch = (0..<300).map { _ in work.nextInsert() }
      ours.append(try time { for record in batch { try stores.deltas.insert(record) } } / Double(batch.count))
      theirs.append(try time { for record in batch { try stores.whole.insert(record) } } / Double(batch.count))
    }
    results.add(
      Row(
        work: "durable single-record commit, two indexes", rival: "whole nodes", ours: ours, theirs: theirs,
        goal: "≥ 1.0×"))
  }

  private func reads(
    _ stores: Stores, _ work: Work, _ name: String, _ goal: String, _ results: inout Results
  ) throws {
    let identifiers = work.randomPositions(200_000, seed: 9).map { work.records[$0].identifier }
    // Time of the processor, because nothing here waits.
    func time(_ work: () throws -> Void) rethrows -> Double {
      let start = processorSeconds()
      try work()
      return processorSeconds() - start
    }
    func scans(_ contender: StrataContender) throws -> Double {
      try time { sink &+= try contender.scan() } / Double(work.records.count)
    }
    func reads(_ contender: StrataContender) throws -> Double {
      try time { for identifier in identifiers { sink &+= try contender.read(identifier) } } / Double(identifiers.count)
    }
    for (kind, measure) in [("random read by identifier", reads), ("ordered scan, per record", scans)] {
      var (ours, theirs): ([Double], [Double]) = ([], [])
      for contender in [stores.deltas, stores.whole] { _ = try measure(contender) }
      for _ in 0..<rounds {
        ours.append(try measure(stores.deltas))
        theirs.append(try measure(stores.whole))
      }
      results.add(Row(work: "\(kind), \(name)", rival: "whole nodes", ours: ours, theirs: theirs, goal: goal))
    }
  }
}
