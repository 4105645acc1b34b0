import Glibc
import Measuring
import StrataEngine

/// A store of a million records and a hundred thousand commits: opening it, its past, and differences.
struct Scale {
  let folder: String
  private let records = 1_000_000
  private let commits = 100_000

  func run(_ results: inout Results) throws {
    let path = folder + "/large"
    try makeFolder(path)
    var work = Work(count: records)
    let contender = try StrataContender(folder: path)
    try contender.insertAll(work.records)
    for number in 0..<commits {
      // A durable one now and then, as a store has that was written for weeks.
      try contender.insert(work.nextInsert(), durability: number % 1_000 == 999 ? .durable : .collated)
    }
    try views(contender, &results)
    try differences(&work, contender, &results)
    try contender.store.close()
    results.add("bytes of that store", "\(try contender.fileBytes())")
    try openings(path, &results)
  }

  private func views(_ contender: StrataContender, _ results: inout Results) throws {
    let store = contender.store
    var generator = SplitMix(state: 3)
    var times: [Double] = []
    let newest = store.head.commit.number
    let before = store.counts.frameReads
    var longest: UInt64 = 0
    for _ in 0..<2_000 {
      let number = generator.next() % newest + 1
      let start = store.counts.frameReads
      times.append(try time { sink &+= Int(try store.view(at: number).commit.date & 1) })
      longest = max(longest, store.counts.frameReads - start)
    }
    let spread = Spread(times)
    results.add(
      "open any of \(newest) commits as a view: p50, longest",
      "\(duration(spread.median)), \(duration(spread.maximum))",
      goal: "≤ 5 ms")
    results.add(
      "the same: frame reads, mean and most",
      "\(fixed(Double(store.counts.frameReads - before) / Double(times.count))), \(longest)")
  }

  private func differences(_ work: inout Work, _ contender: StrataContender, _ results: inout Results) throws {
    let store = contender.store
    var times: [Double] = []
    var reads: UInt64 = 0
    for _ in 0..<5 {
      let old = store.head
      try contender.insertAll((0..<200).map { _ in work.nextInsert() })
      let before = store.counts.nodeReads
      var found = 0
      times.append(
        try time {
          var cursor = try difference(old, store.head, tree: StrataContender.records)
          while let entry = try cursor.next() {
            found += 1
            sink &+= entry.key.count
          }
        })
      reads = store.counts.nodeReads - before
      guard found > 150 else { throw ContenderError(description: "only \(found) differences") }
    }
    results.add(
      "difference of two commits with 200 changes in \(records) records: median of five, longest",
      "\(duration(Spread(times).median)), \(duration(Spread(times).maximum))", goal: "≤ 30 ms")
    results.add("the same: node reads", "\(reads)")
  }

  /// In processes of their own, so that nothing is warm but the page cache, and memory is that of opening alone.
  private func openings(_ path: String, _ results: inout Results) throws {
    let opened = try (0..<5).map { _ in try ChildTask.open(path: path).answer() }
    let killed = try (0..<5).map { _ in
      try ChildTask.write(path: path).runUntilKilled()
      return try ChildTask.open(path: path).answer()
    }
    let what = "open a store of \(records) records and \(commits) commits and read one"
    for (work, answers, goal) in [
      (what, opened, "≤ 10 ms, ≤ 20 MB"), ("the same after its writer was killed", killed, "≤ 20 ms"),
    ] {
      let times = Spread(answers.map { $0[0] })
      let memory = Spread(answers.map { $0[1] })
      results.add(
        "\(work): median of five, longest; memory of the process",
        "\(duration(times.median)), \(duration(times.maximum)); \(fixed(memory.maximum / 1e6)) MB", goal: goal)
    }
  }
}

/// Makes a folder, where there is none.
func makeFolder(_ path: String) throws {
  if mkdir(path, 0o755) != 0, errno != EEXIST { throw ContenderError(description: "\(path) cannot be made") }
}
