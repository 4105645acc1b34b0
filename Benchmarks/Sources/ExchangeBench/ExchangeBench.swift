import Glibc
import Measuring

/// Exchange and merge beside `git` that does the same with one file a record, one process against the other.
///
///     ExchangeBench STRATA [ROUNDS [PART]]
///
/// PART is fetch, merge, scale or import; all without it. What git needs is made by `git fast-import`, so that its packs are as good as
/// they get; its index is fresh before each merge, and nothing that an earlier merge wrote is there.
@main
struct ExchangeBench {
  static func main() throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard let program = arguments.first else { throw BenchError(description: "ExchangeBench STRATA [ROUNDS [PART]]") }
    let rounds = arguments.dropFirst().first.flatMap { Int($0) } ?? 5
    let part = arguments.dropFirst(2).first
    var scratch = Array("/tmp/strata-bench.XXXXXX".utf8CString)
    guard mkdtemp(&scratch) != nil else { throw BenchError(description: "no folder for the bench") }
    let folder = String(decoding: scratch.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { _ = try? ChildProgram(["rm", "-r", folder]).run() }
    guard let full = realpath(program, nil) else { throw BenchError(description: "there is no \(program)") }
    defer { free(full) }
    let place = Place(program: String(cString: full), folder: folder, rounds: rounds)
    var rows: [Row] = []
    var figures: [Figure] = []
    if part == nil || part == "fetch" { try Fetching(place).run(&rows, &figures) }
    if part == nil || part == "merge" { try Merging(place).run(&rows, &figures) }
    if part == nil || part == "scale" { try MergingInLarge(place).run(&figures) }
    if part == nil || part == "import" { try Importing(place).run(&figures) }
    if !rows.isEmpty {
      print("| Work | Against git, one file a record | Ours | Theirs | Ratio (min–max) | To reach |")
      print("|---|---|---|---|---|---|")
      for row in rows { print(row.markdown) }
    }
    print("\n| Figure | Measured | To reach |\n|---|---|---|")
    for figure in figures { print("| \(figure.work) | \(figure.measured) | \(figure.goal) |") }
  }
}

/// A figure of our own.
struct Figure {
  var work: String
  var measured: String
  var goal: String
}

/// Where the bench runs, and with what.
struct Place {
  var program: String
  var folder: String
  var rounds: Int

  func path(_ name: String) -> String { folder + "/" + name }

  func strata(_ words: String...) -> ChildProgram { ChildProgram([program] + words) }

  func git(_ repository: String, _ words: String...) -> ChildProgram {
    ChildProgram(
      ["git", "-C", path(repository), "-c", "user.name=bench", "-c", "user.email=bench@example", "-c", "gc.auto=0"]
        + words)
  }

  func copy(_ from: String, _ to: String) throws {
    try ChildProgram(["rm", "-rf", path(to)]).run()
    try ChildProgram(["cp", "-a", path(from), path(to)]).run()
  }

  /// Has the disk write what was copied: else the first sync of what is measured waits for all of it.
  func settle() throws { try ChildProgram(["sync", "-f", folder]).run() }

  func write(_ bytes: [UInt8], to name: String) throws {
    guard let file = fopen(path(name), "w") else { throw BenchError(description: "\(name) cannot be written") }
    defer { fclose(file) }
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
      throw BenchError(description: "\(name) cannot be written")
    }
  }

  /// Lines of a file that hold a text.
  func lines(of name: String, holding text: String) throws -> Int {
    guard let file = fopen(path(name), "r") else { throw BenchError(description: "\(name) cannot be read") }
    defer { fclose(file) }
    var (count, line, size): (Int, UnsafeMutablePointer<CChar>?, Int) = (0, nil, 0)
    defer { free(line) }
    while getline(&line, &size, file) > 0 { if let line, strstr(line, text) != nil { count += 1 } }
    return count
  }
}

/// What record a number stands for, at its so-manieth edit; about 200 bytes. Between the two fields that are edited stand others, for
/// changes of neighbouring lines are a conflict to `git`.
func document(_ number: Int, edit: Int = 0, field: Int = 0) -> String {
  let (first, second) = (field == 0 ? edit : 0, field == 1 ? edit : 0)
  return
    "{\"id\":\(number),\"name\":\"record \(number)\",\"population\":\(number * 7 + first),\"country\":\"C\(number % 250)\","
    + "\"timezone\":\"Zone/\(number % 400)\",\"elevation\":\(number % 977 + second),"
    + "\"remark\":\"\(number &* 2_654_435_761 % 1_000_003) and so on, and so on\"}"
}

/// The file that git keeps a record in: a field a line, as a diff by lines wants it.
func file(_ number: Int) -> String { "r/\(number / 1_000)/\(number).json" }
func text(_ document: String) -> String { document.split(separator: ",").joined(separator: ",\n") + "\n" }
