import FoundationEssentials
import Glibc
import Measuring

/// Work A side by side with LMDB and SQLite, and what only we have to reach, in one run, on one disk.
///
/// `EngineBench [COUNT] [SECTION…]`: so many records (100,000 unless said otherwise), all sections or those that are named.
@main
struct EngineBench {
  static func main() throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if let task = ChildTask(arguments) { return try task.run() }
    let count = arguments.first.flatMap(Int.init) ?? 100_000
    let names = arguments.filter { Int($0) == nil }

    var scratch = Array("/tmp/strata-bench.XXXXXX".utf8CString)
    guard mkdtemp(&scratch) != nil else { throw ContenderError(description: "no folder for the bench") }
    let folder = String(decoding: scratch.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { try? FileManager.default.removeItem(atPath: folder) }

    var results = Results()
    for section in Section.allCases where names.isEmpty || names.contains(section.rawValue) {
      let path = "\(folder)/\(section.rawValue)"
      mkdir(path, 0o755)
      let took = try time { try section.run(count: count, folder: path, results: &results) }
      let note = Array("bench: \(section.rawValue) took \(duration(took))\n".utf8)
      _ = write(2, note, note.count)
      try FileManager.default.removeItem(atPath: path)
    }
    results.print()
  }

  private enum Section: String, CaseIterable {
    case bulk, contenders, writers, compaction, growth, deltas, scale

    func run(count: Int, folder: String, results: inout Results) throws {
      switch self {
      case .bulk: try SideBySide(count: count, folder: folder).bulk(&results)
      case .contenders: try SideBySide(count: count, folder: folder).run(&results)
      case .writers: try ManyWriters(count: count, folder: folder).run(&results)
      case .compaction: try CommitsWhileCompacting(count: count, folder: folder).run(&results)
      case .growth: try Growth(folder: folder).run(&results)
      case .deltas: try Deltas(count: count, folder: folder).run(&results)
      case .scale: try Scale(folder: folder).run(&results)
      }
    }
  }
}

/// What the compiler may not leave out.
nonisolated(unsafe) var sink = 0  // Only the main thread reads or writes it.

/// What was measured: ratios to others, figures of our own, and counts that no machine changes.
struct Results {
  private var rows: [Row] = []
  private var figures: [(work: String, measured: String, goal: String)] = []

  mutating func add(_ row: Row) { rows.append(row) }
  mutating func add(_ more: [Row]) { rows += more }
  mutating func add(_ work: String, _ measured: String, goal: String = "–") { figures.append((work, measured, goal)) }

  func print() {
    if !rows.isEmpty {
      Swift.print("\n| Work | Against | Ours | Theirs | Ratio (min–max) | To reach |\n|---|---|---|---|---|---|")
      for row in rows { Swift.print(row.markdown) }
    }
    if !figures.isEmpty {
      Swift.print("\n| Figure | Measured | To reach |\n|---|---|---|")
      for figure in figures { Swift.print("| \(figure.work) | \(figure.measured) | \(figure.goal) |") }
    }
  }
}

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
