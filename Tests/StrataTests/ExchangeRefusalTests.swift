import StrataModel
import Foundation
import StrataEngine
import Testing

/// What keeps an exchange from its end: one sentence, a status, nothing lost, and head where it was.
@Suite("Exchanges that cannot be done")
struct ExchangeRefusalTests {
  private let folder: TemporaryFolder
  private var first: String { folder.path("First.strata") }
  private var second: String { folder.path("Second.strata") }

  /// Two stores that have the same, and then an edit on each side.
  init() throws {
    folder = try TemporaryFolder()
    let rivers = (1...60).map { "{\"id\": \($0), \"name\": \"River \($0)\", \"km\": \($0)}" }.joined(separator: "\n")
    try run(
      "import", first, "River", folder.file("rivers.jsonl", rivers), "--id", "id", "--index", "name=name")
    try run("clone", first, second)
    try run("put", first, "River", input: #"{"id": 1, "name": "Rhine", "km": 1}"#)
    try run("put", second, "River", input: #"{"id": 2, "name": "Aare", "km": 2}"#)
  }

  @discardableResult
  private func run(
    _ words: String..., input: String = "", environment: [String: String] = [:], status: Int32 = 0,
    _ place: SourceLocation = #_sourceLocation
  ) throws -> ProgramRun {
    let run = try ProgramRun(words, input: input, environment: environment)
    #expect(run.status == status, "\(words): \(run.output)\(run.complaint)", sourceLocation: place)
    return run
  }

  private func heads() throws -> [String] {
    try [first, second].map { try ProgramRun(["history", $0, "--json"]).lines.first ?? "" }
  }

  /// Does something that fails, and looks whether all is as before, and whether an exchange then goes through.
  private func expectRefused(
    _ complaint: String, _ place: SourceLocation = #_sourceLocation, by body: () throws -> ProgramRun
  ) throws {
    let before = try heads()
    let refused = try body()
    #expect(refused.complaint.contains(complaint), "\(refused.complaint)", sourceLocation: place)
    #expect(refused.complaint.split(separator: "\n").count == 1, "\(refused.complaint)", sourceLocation: place)
    #expect(try heads() == before, sourceLocation: place)
    try run("exchange", second, "origin")
    for path in [first, second] {
      let verified = try ProgramRun(["verify", path])
      #expect(verified.status == 0, "\(verified.output)\(verified.complaint)", sourceLocation: place)
      #expect(try ProgramRun(["get", path, "River", "1"]).output.contains("Rhine"), sourceLocation: place)
      #expect(try ProgramRun(["get", path, "River", "2"]).output.contains("Aare"), sourceLocation: place)
    }
  }

  @Test("what was fetched before another copy fails is printed")
  func printedBeforeFailure() throws {
    try run("remote", second, "add", "spare", folder.path("Gone.strata"))
    let failed = try run("fetch", second, status: 1)
    #expect(failed.lines == ["origin: 1 commit fetched"])
    #expect(failed.complaint.contains("Gone.strata"))
  }

  @Test("a folder that takes nothing", .enabled(if: FileManager.default.fileExists(atPath: "/sys/kernel")))
  func readOnlyFolder() throws {
    try run("remote", second, "add", "stick", "folder:/sys/kernel")
    try expectRefused("/sys/kernel failed") { try run("push", second, "stick", status: 1) }
  }

  @Test("a folder that is full")
  func fullFolder() throws {
    let shared = folder.path("shared")
    try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: true)
    try run("remote", second, "add", "stick", "folder:\(shared)")
    try expectRefused("shared failed: File too large") {
      let run = try ProgramRun(script: "ulimit -f 2; exec \"$STRATA\" push \(second) stick")
      #expect(run.status == 1)
      return run
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: shared).isEmpty)
  }

  @Test("a store that has no room for what comes")
  func fullStore() throws {
    let big = (100...6_000).map { "{\"id\": \($0), \"name\": \"River \($0)\", \"km\": \($0)}" }.joined(separator: "\n")
    try run("put", first, "River", input: big)
    let size = try #require(
      FileManager.default.attributesOfItem(atPath: second + "/data")[.size] as? Int)
    try expectRefused("File too large") {
      let run = try ProgramRun(script: "ulimit -f \(size / 1024 + 8); exec \"$STRATA\" fetch \(second)")
      #expect(run.status == 1)
      return run
    }
  }

  @Test("a remote that a newer program wrote, by path and over ssh")
  func newerFormat() throws {
    let data = URL(filePath: first + "/data")
    let whole = try Data(contentsOf: data)
    var newer = whole
    newer[8] = 200
    withUnsafeBytes(of: crc32c(0, Array(newer[0..<508])).littleEndian) {
      newer.replaceSubrange(508..<512, with: $0)
    }
    try newer.write(to: data)
    #expect(try run("fetch", second, status: 3).complaint.contains("newer"))
    try run("remote", second, "add", "far", "host:\(first)")
    let environment = try folder.standIn()
    #expect(try run("fetch", second, "far", environment: environment, status: 1).complaint.contains("newer"))
    try whole.write(to: data)
    try run("exchange", second, "origin")
  }

  @Test("a merge, and a push, while another program writes")
  func locked() throws {
    try run("fetch", second)
    for (path, verb) in [(second, "merge"), (first, "exchange")] {
      let before = try heads()
      let writing = try EngineStore.open(path: path, program: "the app", author: "ada")
      let transaction = try writing.engine.beginBlocking()
      let refused = try run(verb, second, status: 4)
      #expect(refused.complaint.contains("the app"), "\(refused.complaint)")
      transaction.cancel()
      writing.engine.releaseLock()
      if verb == "merge" { #expect(try heads() == before) }
    }
    try expectRefused("no remote laptop") {
      try run("push", second, "laptop", status: 1)
    }
  }

  @Test("a remote that cannot be removed while another program writes is still there, and removed afterwards")
  func lockedRemoval() throws {
    try run("fetch", second)
    let writing = try EngineStore.open(path: second, program: "the app", author: "ada")
    let transaction = try writing.engine.beginBlocking()
    try run("remote", second, "remove", "origin", status: 4)
    transaction.cancel()
    writing.engine.releaseLock()
    #expect(try run("remote", second).output.contains("origin") && run("pin", second).output.contains("remotes/origin"))
    try run("remote", second, "remove", "origin")
    #expect(try run("remote", second).output.isEmpty && run("pin", second).output.isEmpty)
  }

  @Test("a stream of another store, of which nothing fits")
  func otherStore() throws {
    let third = folder.path("Third.strata")
    try run(
      "import", third, "Lake", folder.file("lakes.jsonl", #"{"id": 1, "name": "Thun"}"#), "--id", "id")
    let part = try run("export", first, "--history", "--since", "head~1").output
    let file = try folder.file("part.jsonl", part)
    let before = try run("history", third, "--json").output
    #expect(try run("import", third, "--history", file, status: 1).complaint.contains("is missing"))
    #expect(try run("history", third, "--json").output == before)
    // All of it fits, and is merged when that is asked for.
    let whole = try folder.file("whole.jsonl", run("export", first, "--history").output)
    let beside = try #require(run("import", third, "--history", whole).lines.last)
    #expect(beside.hasPrefix("they lie beside it: strata merge /") && !beside.contains("#"), "a shell's comment")
    #expect(try run("history", third, "--json").output == before)
    try run("remote", third, "add", "rivers", first)
    try run("fetch", third)
    for verb in ["merge", "exchange"] { #expect(try run(verb, third, status: 1).complaint.contains("--unrelated")) }
    try run("merge", third, "--unrelated", "--dry-run")
    try run("exchange", third, "--unrelated")
    #expect(try run("get", third, "River", "1").output.contains("Rhine"))
  }

  @Test("a folder that was there stays with its files if nothing can be taken in")
  func folderStays() throws {
    func names(in path: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
    let garbage = try folder.file("garbage", "garbage")
    for (words, name) in [(["--history"], "a"), (["--interchange"], "b"), (["T"], "c"), (["T", "--entities"], "d")] {
      let path = folder.path(name)
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      let note = try folder.file("\(name)/note", "kept")
      let own = try folder.file("\(name)/activity", "kept")
      #expect(try ProgramRun(["import", path] + words.prefix(1) + [garbage] + words.dropFirst()).status != 0)
      for file in [note, own] { #expect(try String(contentsOfFile: file, encoding: .utf8) == "kept") }
      #expect(try names(in: path) == ["activity", "note"], "no rest of a store")
      if words == ["T"] {
        let rows = try folder.file("rows.jsonl", #"{"id":1}"#)
        let dry = try ProgramRun(["import", path, "T", rows, "--id", "id", "--dry-run"])
        #expect(dry.status != 0 && dry.complaint.contains("holds other files, such as note"))
        #expect(try names(in: path) == ["activity", "note"], "a dry run leaves nothing")
      }
      let new = folder.path("new-\(name)")
      #expect(try ProgramRun(["import", new] + words.prefix(1) + [garbage] + words.dropFirst()).status != 0)
      #expect(!FileManager.default.fileExists(atPath: new))
      try FileManager.default.createDirectory(atPath: new, withIntermediateDirectories: false)
      #expect(try ProgramRun(["import", new] + words.prefix(1) + [garbage] + words.dropFirst()).status != 0)
      #expect(try names(in: new) == [], "an empty folder stays")
    }
  }

  @Test("a store to which another process has committed meanwhile stays if nothing can be taken in")
  func committedMeanwhile() throws {
    let rows = try folder.file("rows.jsonl", #"{"id":1}"#)
    let run = try ProgramRun(
      script: """
        cd '\(folder.path(""))' && mkfifo stream
        "$STRATA" import new.strata --history stream & exec 3<>stream
        until [ -e new.strata/data ] || ! kill -0 $!; do :; done
        "$STRATA" import new.strata T '\(rows)' --id id >/dev/null && echo garbage >&3
        exec 3>&-; wait $!
        "$STRATA" records new.strata T --count
        """)
    #expect(run.output == "1\n", "\(run.complaint)")
  }

  @Test("a line that is cut at any byte, there or back", arguments: [0, 40, 90, 700, 1_500, 4_000])
  func cut(bytes: Int) throws {
    try run("remote", second, "add", "far", "host:\(first)")
    let scripts = [
      #"exec dd bs=1 count=\#(bytes) status=none < <(bash -c "$1" <&3)"#,
      #"exec bash -c "$1" < <(dd bs=1 count=\#(bytes) status=none <&3)"#,
    ]
    for script in scripts {
      let before = try heads()[1]
      let run = try ProgramRun(["fetch", second, "far"], environment: folder.standIn("shift 2; exec 3<&0; " + script))
      if run.status != 0 {
        #expect(run.status == 1 && run.complaint.split(separator: "\n").count == 1, "\(run.complaint)")
        // The part of a line that came is not blamed.
        #expect(!run.complaint.contains("JSON") && !run.complaint.contains("not a line"), "\(run.complaint)")
      }
      #expect(try heads()[1] == before)
    }
    try expectRefused("no remote nobody") { try self.run("push", second, "nobody", status: 1) }
  }

  @Test("a peer that floods, lies, or says nothing that means anything")
  func hostile() throws {
    try run("remote", second, "add", "far", "host:\(first)")
    let greeting = #"echo '{"serve":1,"store":"x","head":"00000000000000aa:7"}'; "#
    let peers = [
      ("tr '\\0' x < /dev/zero", "a line is longer than 4 MiB"),
      (greeting + "yes '{}'", "line 1: a stream of commits begins with"),
      (greeting + "yes ''", "blank lines"),
      (greeting + #"echo '{"strata":1,"commits":0}'; yes '{"commit":"00000000000000aa:7","parents":[]}'"#, "announced"),
      (greeting + "head -c 400000 /dev/urandom", "not a JSON object"),
      (
        greeting + #"echo '{"strata":1}'; echo '{"done":true}'; cat > /dev/null"#,
        "its head 00000000000000aa:7 did not come"
      ),
      (#"echo '{"serve":2}'; cat > /dev/null"#, "does not speak the language of strata serve"),
    ]
    for (script, complaint) in peers {
      let before = try heads()[1]
      let run = try ProgramRun(["fetch", second, "far"], environment: folder.standIn(script))
      #expect(run.status <= 1 && run.complaint.contains(complaint), "\(script): \(run.status) \(run.complaint)")
      #expect(try heads()[1] == before)
    }
    try expectRefused("no remote nobody") { try self.run("push", second, "nobody", status: 1) }
  }

  @Test("an interchange document comes out as it went in, and one that does not fit writes nothing")
  func interchange() throws {
    let text = try run("export", first, "--interchange").output
    #expect(text.hasPrefix(#"{"strata":1,"datastores":["#))
    #expect(try JSONSerialization.jsonObject(with: Data(text.utf8)) is [String: Any])
    let third = folder.path("Third.strata")
    let taken = try run("import", third, "--interchange", folder.file("store.json", text))
    #expect(taken.lines == ["1 datastore, 60 records: #1"])
    #expect(try run("export", third, "--interchange").output == text)
    #expect(try run("records", third, "River", "--where", "name == 'Rhine'", "--json").lines.count == 1)
    try run("verify", third)
    let before = try run("history", third, "--json").output
    // A value of several megabytes, and a document that another program has written as one line.
    let long = String(repeating: "x", count: 5 << 20)
    let big = folder.path("Big.strata")
    try run("import", big, "T", folder.file("big.jsonl", #"{"id":1,"t":"\#(long)"}"#), "--id", "id")
    let whole = try run("export", big, "--interchange").output
    for (name, text) in [("a", whole), ("b", whole.replacingOccurrences(of: "\n", with: ""))] {
      try run("import", folder.path(name), "--interchange", folder.file("big.json", text))
      #expect(try run("export", folder.path(name), "--interchange").output == whole)
    }
    let again = try run("import", third, "--interchange", folder.path("store.json"), status: 1)
    #expect(again.complaint.contains("there is a datastore River already"))
    #expect(try run("history", third, "--json").output == before)
    let fourth = folder.path("Fourth.strata")
    for (bad, complaint) in [
      ("", "does not parse"), ("{}", "not what export --interchange writes"),
      (text.replacingOccurrences(of: #""id":3,"version""#, with: #""id":"x","version""#), "record 3 of River: its id"),
      (
        text.replacingOccurrences(of: #""id":3,"version""#, with: #""id":2,"version""#),
        "record 3 of River: its identifier"
      ),
    ] {
      let file = try folder.file("bad.json", bad)
      #expect(
        try run("import", fourth, "--interchange", file, status: 1).complaint.contains(complaint), "\(complaint)")
      #expect(!FileManager.default.fileExists(atPath: fourth))
    }
  }

  @Test(
    "five stores, edited by five processes that are killed, with transfers cut at random bytes, end equal and sound")
  func fiveProcesses() throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Scripts/exchange-soak").path
    let seed = ProcessInfo.processInfo.environment["STRATA_SEED"] ?? "7"
    let run = try ProgramRun(script: "exec \(script) \(seed) 5")
    #expect(run.status == 0, "\(run.output)\(run.complaint)")
    #expect(run.output.contains("seed \(seed)") && !run.output.contains(" 0 edits acknowledged"))
  }
}
