import Glibc
import Measuring

/// The program's verbs beside `sqlite3` on the same cities, one process against the other.
///
///     VerbBench STRATA CITIES.jsonl [ROUNDS]
///
/// Both have five indexes: four by a field, one by each element of a list. Both write to the same disk and print into nothing; what
/// they print is counted once, and must be as much. The program is measured as `make install` leaves it, stripped.
@main
struct VerbBench {
  private let program: String
  private let cities: String
  private let rounds: Int
  private let folder: String

  private var store: String { folder + "/cities.strata" }
  private var database: String { folder + "/cities.sqlite" }

  static func main() throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count >= 2 else { throw BenchError(description: "VerbBench STRATA CITIES.jsonl [ROUNDS]") }
    var scratch = Array("/tmp/strata-bench.XXXXXX".utf8CString)
    guard mkdtemp(&scratch) != nil else { throw BenchError(description: "no folder for the bench") }
    let folder = String(decoding: scratch.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { _ = try? ChildProgram(["rm", "-r", folder]).run(output: "/dev/null") }
    let rounds = arguments.dropFirst(2).first.flatMap { Int($0) } ?? 5
    let program = folder + "/strata"
    try ChildProgram(["strip", "-o", program, arguments[0]]).run(output: "/dev/null")
    try VerbBench(program: program, cities: arguments[1], rounds: rounds, folder: folder).run()
  }

  private func run() throws {
    var rows = [try importing()]
    rows.append(
      try row(
        "verify", strata("verify", store), sqlite("pragma integrity_check"), "`pragma integrity_check`", "≥ 0.75×"))
    let found = try [
      row(
        "records --where 'latitude > 69.5', which no index serves",
        strata("records", store, "City", "--where", "latitude > 69.5"),
        sqlite("select id, doc from cities where json_extract(doc, '$.latitude') > 69.5"), "`json_extract` in a scan",
        "≥ 1×",
        comparesLines: true),
      row(
        "records --where 'population > 1000000', which an index serves",
        strata("records", store, "City", "--where", "population > 1000000"),
        sqlite("select id, doc from cities where json_extract(doc, '$.population') > 1000000"), "an expression index",
        "≥ 1×",
        comparesLines: true),
      row(
        "export of all", strata("export", store, "City"), sqlite("select doc from cities"), "`select doc`", "≥ 1×",
        comparesLines: true),
    ]
    rows += found
    print("| Work (234,908 cities, five indexes) | Against sqlite3 | Ours | Theirs | Ratio (min–max) | To reach |")
    print("|---|---|---|---|---|---|")
    for row in rows { print(row.markdown) }
    print("\n| Figure | Measured | To reach |\n|---|---|---|")
    print("| bytes of the store, and of the database | \(try bytes(store + "/data")), \(try bytes(database)) | – |")
    print(
      "| program as `make install` leaves it | \(fixed(Double(try bytes(program)) / 1e6, digits: 1)) MB | ≤ 26 MB |")
    let start = try (0..<20).map { _ in try strata("--version").seconds() }
    print("| start and end of the program: `strata --version` | \(duration(Spread(start).median)) | – |")
  }

  /// Into a new store, and into a new database, each round.
  private func importing() throws -> Row {
    let indexes = ["name=name", "country=countrycode", "population=population", "timezone=timezone"].flatMap {
      ["--index", $0]
    }
    let ours = strata(
      ["import", store, "City", cities, "--id", "geonameid"] + indexes + [
        "--index", "names=alternatenames:many-to-many",
      ])
    let script = folder + "/import.sql"
    try write(Self.importScript(cities), to: script)
    let theirs = ChildProgram(["sqlite3", database], input: script)
    return try row("import", ours, theirs, "`.import`, four expression indexes, one table of names", "≥ 1.5×") {
      try ChildProgram(["rm", "-rf", store, database, database + "-wal", database + "-shm"]).run(output: "/dev/null")
    }
  }

  private static func importScript(_ cities: String) -> String {
    """
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma cache_size = -262144;
    pragma temp_store = memory;
    create table cities (id integer primary key, doc text);
    create table names (value text, id integer, primary key (value, id)) without rowid;
    create temp table lines (doc text);
    .mode ascii
    .separator "\\037" "\\n"
    begin;
    .import \(cities) lines
    insert into cities select json_extract(doc, '$.geonameid'), doc from lines order by 1;
    insert or ignore into names select n.value, cities.id from cities, json_each(cities.doc, '$.alternatenames') as n order by 1, 2;
    create index name on cities (json_extract(doc, '$.name'));
    create index country on cities (json_extract(doc, '$.countrycode'));
    create index population on cities (json_extract(doc, '$.population'));
    create index timezone on cities (json_extract(doc, '$.timezone'));
    commit;

    """
  }

  /// Lets both do the work in each round; who begins changes from round to round.
  private func row(
    _ work: String, _ ours: ChildProgram, _ theirs: ChildProgram, _ rival: String, _ goal: String,
    comparesLines: Bool = false, before: () throws -> Void = {}
  ) throws -> Row {
    if comparesLines {
      let lines = (try ours.lineCount(scratch: folder), try theirs.lineCount(scratch: folder))
      guard lines.0 == lines.1 else {
        throw BenchError(description: "\(work): \(lines.0) lines of ours, \(lines.1) of theirs")
      }
    }
    var row = Row(work: work, rival: rival, ours: [], theirs: [], goal: goal)
    for round in 0..<rounds {
      try before()
      if round % 2 == 0 { row.ours.append(try ours.seconds()) }
      row.theirs.append(try theirs.seconds())
      if round % 2 == 1 { row.ours.append(try ours.seconds()) }
    }
    return row
  }

  private func strata(_ words: String...) -> ChildProgram { strata(words) }

  private func strata(_ words: [String]) -> ChildProgram { ChildProgram([program] + words) }

  private func sqlite(_ statement: String) -> ChildProgram {
    ChildProgram(["sqlite3", "-mmap", "1073741824", database, statement])
  }

  private func bytes(_ path: String) throws -> Int {
    var status = stat()
    guard stat(path, &status) == 0 else { throw BenchError(description: "there is no \(path)") }
    return Int(status.st_size)
  }

  private func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "w") else { throw BenchError(description: "\(path) cannot be written") }
    defer { fclose(file) }
    guard fputs(text, file) >= 0 else { throw BenchError(description: "\(path) cannot be written") }
  }
}
