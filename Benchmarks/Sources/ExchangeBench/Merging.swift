import StrataModel
import StrataExchange
import StrataExpressions
import Glibc
import Measuring
import StrataEngine

/// A merge of 200 changes on one side and 200 on the other in 100,000 records: half of them of the same records, in other fields.
struct Merging {
  private let place: Place
  private let records = 100_000

  init(_ place: Place) { self.place = place }

  static let mine = Array(stride(from: 0, to: 100_000, by: 500))
  /// Every other one is a record that the other side changed too.
  static let theirs = mine.enumerated().map { $0.offset % 2 == 0 ? $0.element : $0.element + 77 }

  func run(_ rows: inout [Row], _ figures: inout [Figure]) throws {
    try makeStores()
    try makeRepository()
    let work = "merge of 200 against 200 changes in 100,000 records"
    var durable = Row(
      work: work, rival: "`git merge`, durable as ours is (`core.fsync=all`)", ours: [], theirs: [], goal: "≥ 3×")
    var plain = Row(work: work, rival: "`git merge`, which syncs no object", ours: [], theirs: [], goal: "–")
    var tree = Row(
      work: work, rival: "`git merge-tree --write-tree`, which makes no commit and no files, and syncs nothing",
      ours: [], theirs: [], goal: "–")
    let looseObjects = try restored()
    for round in 0..<place.rounds {
      if round % 2 == 0 { durable.ours.append(try mergeStore()) }
      durable.theirs.append(try mergeWork(looseObjects, ["-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"]))
      plain.theirs.append(try mergeWork(looseObjects, []))
      guard try restored() == looseObjects else { throw BenchError(description: "objects of a merge are left") }
      tree.theirs.append(try place.git("work", "merge-tree", "--write-tree", "before", "theirs").seconds())
      if round % 2 == 1 { durable.ours.append(try mergeStore()) }
    }
    (plain.ours, tree.ours) = (durable.ours, durable.ours)
    rows += [durable, plain, tree]
  }

  /// Merges in a copy of the store.
  private func mergeStore() throws -> Double {
    try place.copy("mine.strata", "merged.strata")
    try place.settle()
    let took = try place.strata("merge", place.path("merged.strata"), "theirs").seconds()
    let store = try EngineStore.open(path: place.path("merged.strata"), program: "bench", author: "bench")
    defer { try? store.engine.close() }
    let head = try store.engine.commit(store.engine.head.commit.number)
    let changes = try head.parents.map { try count(of: store.changes(from: CommitNumber($0), to: store.head.commit)) }
    guard changes == [200, 200] else { throw BenchError(description: "the merge changed \(changes) records") }
    return took
  }

  private func count(of changes: any ChangeReader) throws -> Int {
    var count = 0
    while case let next = try changes.next(512), !next.isEmpty { count += next.count }
    return count
  }

  /// Merges in the work tree, which is as it was before the first merge. It is put back and not copied, for that takes minutes.
  private func mergeWork(_ looseObjects: Int, _ options: [String]) throws -> Double {
    guard try restored() == looseObjects else { throw BenchError(description: "objects of a merge are left") }
    let words = place.git("work").words + options + ["merge", "-q", "-m", "merge", "theirs"]
    let took = try ChildProgram(words).seconds()
    for parent in ["HEAD^1", "HEAD^2"] {
      let changed = try place.git("work", "diff", "--name-only", parent, "HEAD").lineCount(scratch: place.folder)
      guard changed == 200 else { throw BenchError(description: "git's merge changed \(changed) files") }
    }
    return took
  }

  /// Puts the work tree back to what it was, with a fresh index, and takes away what a merge has left among the objects, which the next
  /// would not have to write.
  ///
  /// - Returns: The loose objects that there are.
  private func restored() throws -> Int {
    try place.git("work", "reset", "-q", "--hard", "before").run()
    try place.git("work", "update-ref", "-d", "ORIG_HEAD").run()
    try place.git("work", "reflog", "expire", "--expire=all", "--all").run()
    try place.git("work", "prune", "--expire=now").run()
    try place.git("work", "status", "--porcelain").run()
    try place.settle()
    return try ChildProgram(["find", place.path("work/.git/objects"), "-type", "f"]).lineCount(scratch: place.folder)
  }

  private func makeStores() throws {
    let store = try Stores.make(at: place.path("theirs-merge.strata"), records: records)
    try store.engine.close()
    try place.strata("clone", place.path("theirs-merge.strata"), place.path("mine.strata")).run()
    let theirs = try EngineStore.open(path: place.path("theirs-merge.strata"), program: "bench", author: "theirs")
    try Stores.put(Self.theirs, edit: 3, field: 1, in: theirs)
    let ours = try EngineStore.open(path: place.path("mine.strata"), program: "bench", author: "ours")
    try Stores.put(Self.mine, edit: 5, field: 0, in: ours)
    let exchange = StoreExchange(ours, now: LocalTime.now)
    _ = try exchange.fetch(StorePeer(theirs, name: "theirs", now: LocalTime.now), as: "theirs")
    try theirs.engine.close()
    try ours.engine.close()
  }

  private func makeRepository() throws {
    try ChildProgram(["git", "init", "-q", "-b", "main", place.path("work")]).run()
    var stream: [UInt8] = []
    var commit = FastImport(&stream)
    commit.begin("all")
    for number in 0..<records { commit.put(number, document(number)) }
    try place.write(commit.stream, to: "import")
    var importing = place.git("work", "fast-import", "--quiet")
    importing.input = place.path("import")
    try importing.run()
    for (branch, numbers, edit, field) in [("mine", Self.mine, 5, 0), ("theirs", Self.theirs, 3, 1)] {
      try place.git("work", "checkout", "-q", "-f", "-B", branch, "main").run()
      for number in numbers {
        try place.write(Array(text(document(number, edit: edit, field: field)).utf8), to: "work/" + file(number))
      }
      try place.git("work", "commit", "-q", "-a", "-m", "edits").run()
    }
    try place.git("work", "checkout", "-q", "mine").run()
    // The branch goes on with each merge.
    try place.git("work", "tag", "before").run()
  }
}

/// The same in 1,000,000 records, where only what is read is counted.
struct MergingInLarge {
  private let place: Place

  init(_ place: Place) { self.place = place }

  func run(_ figures: inout [Figure]) throws {
    let ours = try Stores.make(at: place.path("large.strata"), records: 0)
    for start in stride(from: 0, to: 1_000_000, by: 100_000) {
      try Stores.put(Array(start..<(start + 100_000)), edit: 0, field: 0, in: ours)
    }
    let theirs = try EngineStore.open(
      path: place.path("large-theirs.strata"), program: "bench", author: "t", creates: true)
    let (there, here) = (StoreExchange(theirs, now: LocalTime.now), StoreExchange(ours, now: LocalTime.now))
    let first = try there.fetch(StorePeer(ours, name: "ours", now: LocalTime.now), as: "ours")
    _ = try there.moveHead(to: first.heads[0])
    try Stores.put(Merging.mine.map { $0 * 10 }, edit: 5, field: 0, in: ours)
    try Stores.put(Merging.theirs.map { $0 * 10 }, edit: 3, field: 1, in: theirs)
    let fetched = try here.fetch(StorePeer(theirs, name: "theirs", now: LocalTime.now), as: "theirs")
    _ = try here.graph()
    let before = ours.engine.counts.nodeReads
    let start = seconds()
    let plan = try here.planMerge(fetched.heads[0])
    let (took, reads) = (seconds() - start, ours.engine.counts.nodeReads - before)
    guard plan.cleanCount == 200, plan.open.isEmpty else {
      throw BenchError(description: "the plan has \(plan.cleanCount) changes and \(plan.open.count) conflicts")
    }
    figures.append(
      Figure(
        work: "plan of a merge of 200 against 200 changes in 1,000,000 records: nodes read, time",
        measured: "\(reads), \(duration(took))", goal: "≤ 20 × 400 + 400 = 8,400"))
  }
}

/// A history that goes out as text and comes in again.
struct Importing {
  private let place: Place
  private let commits = 20_000

  init(_ place: Place) { self.place = place }

  func run(_ figures: inout [Figure]) throws {
    let store = try Stores.make(at: place.path("history.strata"), records: 1_000)
    try Stores.putEach(0..<commits, of: 0..<1_000, in: store)
    try store.engine.close()
    let export = try time {
      try place.strata("export", place.path("history.strata"), "--history").run(output: place.path("history.jsonl"))
    }
    let taken = try time {
      try place.strata("import", place.path("again.strata"), "--history", place.path("history.jsonl")).run()
    }
    figures.append(
      Figure(
        work: "export --history of 20,000 commits; import --history of it",
        measured: "\(duration(export)); \(duration(taken))",
        goal: "–"))
  }
}
