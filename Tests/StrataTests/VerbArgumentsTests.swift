import StoreBrowser
import Testing

@Suite("The arguments of verbs")
struct VerbArgumentsTests {
  private let records = Verb.named("records")

  @Test("options may stand anywhere, with a blank or an equals sign")
  func options() throws {
    let verb = try #require(records)
    let arguments = try VerbArguments(["--limit=3", "A.strata", "--index", "name", "City"], for: verb)
    #expect(arguments.operands == ["A.strata", "City"])
    #expect(try arguments.count("--limit") == 3)
    #expect(arguments.value("--index") == "name")
  }

  @Test("what follows -- is an operand, whatever it looks like")
  func endOfOptions() throws {
    let verb = try #require(Verb.named("get"))
    let arguments = try VerbArguments(["A.strata", "City", "--", "--json"], for: verb)
    #expect(arguments.operands == ["A.strata", "City", "--json"])
    #expect(!arguments.has("--json"))
  }

  @Test(
    "words that make no sense are refused with what is wrong",
    arguments: [
      ([], "PATH is missing"),
      (["", "B"], "PATH is missing: the argument is empty"),
      (["A", ""], "DATASTORE is missing: the argument is empty"),
      (["A", "B", "C"], "“C” is one argument too many"),
      (["A", "B", "--nonsense"], "--nonsense is not an option of this verb"),
      (["A", "B", "--index"], "--index needs a value (NAME)"),
      (["A", "B", "--json=yes"], "--json takes no value"),
      (["A", "B", "--limit", "1", "--limit", "2"], "--limit is given twice"),
    ])
  func refusals(words: [String], message: String) throws {
    let verb = try #require(records)
    let error = #expect(throws: UsageError.self) { try VerbArguments(words, for: verb) }
    #expect(error?.message == message)
  }

  @Test(
    "an option that would be ignored beside another is refused, so that no --dry-run writes",
    arguments: [
      ("import", ["A", "--history", "F", "--dry-run"], "--dry-run does not go with --history"),
      ("import", ["A", "--interchange", "F", "--dry-run"], "--dry-run does not go with --interchange"),
      ("import", ["A", "--history", "F", "--interchange", "G"], "--interchange does not go with --history"),
      ("import", ["A", "T", "F", "--entities", "--replace"], "--replace does not go with --entities"),
      ("merge", ["A", "--dry-run", "--step-back"], "--dry-run does not go with --step-back"),
      ("inbox", ["A", "--apply", "--drop", "L"], "--apply does not go with --drop"),
      ("export", ["A", "--history", "--interchange"], "--interchange does not go with --history"),
      ("export", ["A", "T", "--entities", "--versions"], "--versions does not go with --entities"),
      ("export", ["A", "T", "--since", "1"], "--since needs --history"),
      ("records", ["A", "--sum", "n", "--count"], "--sum needs --group-by"),
      ("records", ["A", "--count", "--after", "C"], "--count does not go with --after"),
      ("records", ["A", "--from", "1", "--equal", "2"], "--from does not go with --equal"),
      ("exchange", ["A", "--later", "--ours"], "--later does not go with --ours"),
      ("compact", ["A", "--no-compress", "--compress"], "--no-compress does not go with --compress"),
      ("demo", ["--size", "80x24"], "--size needs --script"),
    ])
  func optionsTogether(name: String, words: [String], message: String) throws {
    let verb = try #require(Verb.named(name))
    let error = #expect(throws: UsageError.self) { try VerbArguments(words, for: verb) }
    #expect(error?.message == message)
  }

  @Test("an argument that only some options need is named where it is missing")
  func namedArguments() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("A.strata")
    #expect(try ProgramRun(["import", path, "T", folder.file("t.jsonl", #"{"id":1}"#)]).status == 0)
    for (words, name) in [
      (["import", path, "T"], "FILE"), (["import", path, "--entities"], "DATASTORE"),
      (["remote", path, "add"], "NAME"), (["remote", path, "add", "b"], "LOCATION"),
    ] {
      let run = try ProgramRun(words)
      #expect(run.status == 2 && run.complaint.hasPrefix("strata: \(name) is missing"), "\(run.complaint)")
    }
  }

  @Test("an empty argument is an identifier, or missing: every verb says which")
  func emptyArguments() throws {
    #expect(try VerbArguments(["A", "B", ""], for: try #require(Verb.named("get"))).operands == ["A", "B", ""])
    for verb in Verb.all where !verb.operands.isEmpty {
      let rest = verb.operands.dropFirst().filter { $0.kind == .required }.map { _ in "x" }
      let run = try ProgramRun(([verb.name].filter { !$0.isEmpty } + [""] + rest))
      let name = verb.operands[0].name
      #expect(run.status == 2 && run.complaint.contains("\(name) is missing"), "\(verb.name): \(run.complaint)")
    }
  }

  @Test("a number that is none is refused")
  func counts() throws {
    let arguments = try VerbArguments(["A", "B", "--limit", "many"], for: try #require(records))
    #expect(throws: UsageError.self) { try arguments.count("--limit") }
  }

  @Test("every verb has a synopsis and a summary, and no two have one name")
  func table() {
    #expect(Set(Verb.all.map(\.name)).count == Verb.all.count)
    for verb in Verb.all { #expect(verb.synopsis.hasPrefix("strata \(verb.name)") && verb.summary.hasSuffix(".")) }
  }

  @Test("--help after any verb prints its usage, also after those that open the browser")
  func help() throws {
    for verb in Verb.all {
      let run = try ProgramRun([verb.name, "--help"])
      #expect(run.status == 0 && run.output.hasPrefix("usage: \(verb.synopsis)"), "\(verb.name): \(run.complaint)")
    }
  }

  @Test("a word that is neither a verb nor a path is reported as such, not as a store with too many arguments")
  func noVerb() throws {
    let run = try ProgramRun(["sett", "Library.strata", "Books", "1", "title=x"])
    #expect(run.status == 2)
    #expect(run.complaint.contains("“sett” is not a verb, and nothing lies at that path; "))
  }

  #if os(Linux)
    @Test("the program starts without the client library of a server, which brings many others with it")
    func startsWithoutClientLibrary() throws {
      // As ldd does it: the loader lists what it would load, and ends.
      let run = try ProgramRun(["--version"], environment: ["LD_TRACE_LOADED_OBJECTS": "1"])
      #expect(run.output.contains("libc.so"))
      #expect(!run.output.contains("libpq"))
    }
  #endif
}
