import StrataModel
import StrataExchange
import StrataExpressions
import Glibc
import Measuring
import StrataEngine

/// A fetch of 10 new commits where both sides have 100,000 commits of 1,000 records, and 10 of their own; and all of them into an
/// empty store.
struct Fetching {
  private let place: Place
  private let commits = 100_000
  private let records = 1_000

  init(_ place: Place) { self.place = place }

  func run(_ rows: inout [Row], _ figures: inout [Figure]) throws {
    try makeStores()
    try makeRepositories()
    var row = Row(
      work: "fetch of 10 new commits of 100,000, by path", rival: "`git fetch`", ours: [], theirs: [], goal: "–")
    for round in 0..<place.rounds {
      try place.copy("ours.strata", "fetched.strata")
      try place.copy("mine.git", "fetched.git")
      try place.settle()
      let ours = place.strata("fetch", place.path("fetched.strata"))
      let theirs = place.git("fetched.git", "fetch", "-q", place.path("theirs.git"), "main")
      if round % 2 == 0 { row.ours.append(try ours.seconds()) }
      row.theirs.append(try theirs.seconds())
      if round % 2 == 1 { row.ours.append(try ours.seconds()) }
    }
    rows.append(row)
    figures.append(try roundTrips())
    figures.append(try everything())
  }

  private func makeStores() throws {
    let store = try Stores.make(at: place.path("theirs.strata"), records: records)
    try Stores.putEach(0..<commits, of: 0..<records, in: store)
    try store.engine.close()
    try place.strata("clone", place.path("theirs.strata"), place.path("ours.strata")).run()
    for (name, numbers) in [("theirs", 0..<10), ("ours", 500..<510)] {
      let store = try EngineStore.open(path: place.path(name + ".strata"), program: "bench", author: name)
      try Stores.putEach(commits..<(commits + 10), of: numbers, in: store)
      try store.engine.close()
    }
  }

  private func makeRepositories() throws {
    for (name, numbers) in [("theirs", 0), ("mine", 500)] {
      try ChildProgram(["git", "init", "-q", "--bare", "-b", "main", place.path(name + ".git")]).run()
      var stream: [UInt8] = []
      var commit = FastImport(&stream)
      commit.begin("all")
      for number in 0..<records { commit.put(number, document(number)) }
      for edit in 0..<commits {
        commit.begin("edit")
        commit.put(edit % records, document(edit % records, edit: edit))
      }
      for edit in 0..<10 {
        commit.begin("edit of \(name)")
        commit.put(numbers + edit, document(numbers + edit, edit: commits + edit))
      }
      try place.write(commit.stream, to: "import")
      var importing = place.git(name + ".git", "fast-import", "--quiet")
      importing.input = place.path("import")
      try importing.run()
    }
  }

  /// Requests and bytes over a pipe, as over ssh; of git's, the requests of its protocol 2 by its own trace.
  private func roundTrips() throws -> Figure {
    try place.copy("ours.strata", "fetched.strata")
    try place.copy("mine.git", "fetched.git")
    let store = try EngineStore.open(path: place.path("fetched.strata"), program: "bench", author: "bench")
    let peer = try PipePeer([place.program, "serve", place.path("theirs.strata")], name: "theirs")
    let fetched = try StoreExchange(store, now: LocalTime.now).fetch(peer, as: "theirs")
    guard fetched.received >= 10 else { throw BenchError(description: "\(fetched.received) commits came") }
    setenv("GIT_TRACE_PACKET", place.path("trace"), 1)
    try place.git("fetched.git", "fetch", "-q", place.path("theirs.git"), "main").run()
    unsetenv("GIT_TRACE_PACKET")
    let theirs = try place.lines(of: "trace", holding: "fetch> 0000")
    return Figure(
      work: "the same over a pipe: requests, bytes both ways; requests of `git`",
      measured: "\(peer.roundTrips), \(peer.byteCount); \(theirs)", goal: "≤ 10, ≤ 100,000; no more than git")
  }

  private func everything() throws -> Figure {
    let start = seconds()
    let memory = try place.strata("clone", place.path("theirs.strata"), place.path("all.strata")).mostMemory()
    let took = seconds() - start
    return Figure(
      work: "fetch of 100,000 commits of one record into an empty store: time, peak memory",
      measured: "\(duration(took)), \(memory >> 20) MiB", goal: "≤ 60 s, ≤ 200 MB")
  }
}

/// Lines for `git fast-import`.
struct FastImport {
  private(set) var stream: [UInt8]
  private var count = 0

  init(_ stream: inout [UInt8]) { self.stream = stream }

  mutating func begin(_ message: String) {
    count += 1
    stream += Array("commit refs/heads/main\ncommitter b <b@example> \(1_700_000_000 + count) +0000\n".utf8)
    stream += Array("data \(message.utf8.count)\n\(message)\n".utf8)
  }

  mutating func put(_ number: Int, _ document: String) {
    let content = text(document)
    stream += Array("M 100644 inline \(file(number))\ndata \(content.utf8.count)\n\(content)\n".utf8)
  }
}
