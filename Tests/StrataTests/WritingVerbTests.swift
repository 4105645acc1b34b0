import Foundation
import Testing

@Suite("Verbs that write")
struct WritingVerbTests {
  private static let rivers = """
    {"id": 1, "name": "Rhein", "km": 1233, "countries": ["CH", "DE", "NL"]}
    {"id": 2, "name": "Aare", "km": 288, "countries": ["CH"]}
    {"id": 3, "name": "Inn", "km": 517, "countries": ["CH", "AT", "DE"]}
    """

  private func importRivers(_ folder: TemporaryFolder, _ extra: [String] = []) throws -> (path: String, run: ProgramRun)
  {
    let path = folder.path("Rivers.strata")
    let file = try folder.file("rivers.jsonl", Self.rivers)
    let run = try ProgramRun(
      ["import", path, "River", file, "--id", "id", "--index", "km=km", "--index", "country=countries:many-to-many"]
        + extra)
    return (path, run)
  }

  @Test("an import makes the store, its datastore and its indexes, in one commit")
  func importing() throws {
    let folder = try TemporaryFolder()
    let (path, run) = try importRivers(folder, ["--json"])
    #expect(run.status == 0, "\(run.complaint)")
    #expect(run.objects.first?["new"] as? Int == 3)
    let along = try ProgramRun(["records", path, "River", "--index", "country", "--equal", "CH", "--json"])
    #expect(along.objects.compactMap { $0["id"] as? Int } == [1, 2, 3])
    let longest = try ProgramRun(["records", path, "River", "--index", "km", "--descending", "--limit", "1", "--json"])
    #expect(longest.objects.compactMap { $0["id"] as? Int } == [1])
    #expect(try ProgramRun(["verify", path]).status == 0)
  }

  @Test("a commit whose name has ends of lines is one line")
  func longNames() throws {
    let folder = try TemporaryFolder()
    let (path, run) = try importRivers(folder, ["--name", "two\nlines"])
    #expect(run.status == 0, "\(run.complaint)")
    #expect(try ProgramRun(["history", path]).lines.count == 1)
    #expect(try ProgramRun(["blame", path, "River", "2"]).lines.count == 5)
    #expect(try ProgramRun(["history", path, "--json"]).objects.first?["action"] as? String == "two\nlines")
  }

  @Test("a folder that holds other files is left alone, but for hidden ones")
  func otherFiles() throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("rivers.jsonl", Self.rivers)
    let refused = try ProgramRun(["import", folder.path(""), "River", file])
    #expect(refused.status == 1 && refused.complaint.contains("holds other files, such as rivers.jsonl"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")) == ["rivers.jsonl"])
    try FileManager.default.createDirectory(atPath: folder.path("own"), withIntermediateDirectories: true)
    _ = try folder.file("own/.hidden", "")
    #expect(try ProgramRun(["import", folder.path("own"), "River", file]).status == 0)
  }

  @Test("importing again counts what is new, changed and unchanged, and writes only what changed")
  func importingAgain() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    let more = try folder.file(
      "more.csv", "id,name,km,countries\n2,Aare,295,\n4,Ticino,248,\n")
    let run = try ProgramRun(["import", path, "River", more, "--id", "id", "--json"])
    #expect(run.objects.first?["new"] as? Int == 1)
    #expect(run.objects.first?["changed"] as? Int == 1)
    let refused = try ProgramRun(["import", path, "River", more, "--id", "id", "--new-only"])
    #expect(refused.status == 1)
    #expect(refused.complaint.contains("more.csv:2"))
  }

  @Test("what an export printed comes back unchanged, with --versions also into another store")
  func exportedAgain() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    for options in [["--format", "jsonl"], ["--format", "tsv"], ["--versions"]] {
      let text = try ProgramRun(["export", path, "River"] + options).output
      let name = options.last == "tsv" ? "again.tsv" : "again.jsonl"
      let run = try ProgramRun(["import", path, "River", folder.file(name, text), "--json"])
      #expect(run.objects.first?["unchanged"] as? Int == 3, "\(run.output)\(run.complaint)")
      #expect(run.objects.first?["changed"] as? Int == 0)
    }
    let lines = try ProgramRun(["export", path, "River", "--versions"])
    #expect(lines.objects.compactMap { $0["version"] as? Int } == [1, 1, 1])
    let copy = folder.path("Copy.strata")
    let run = try ProgramRun(["import", copy, "River", folder.file("versions.jsonl", lines.output)])
    #expect(run.status == 0 && run.complaint.contains("the identifier is id"), "\(run.complaint)")
    #expect(try ProgramRun(["export", copy, "River", "--versions"]).output == lines.output)
    let put = try ProgramRun(["put", path, "River"], input: String(Self.rivers.split(separator: "\n")[0]))
    #expect(put.status == 0 && put.output == "unchanged; nothing was written\n")
  }

  @Test("a number in another form is not a change, whether it is imported or put")
  func numbersInOtherForms() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Store.strata")
    let line = #"{"id":1,"n":1,"price":2.50}"#
    _ = try ProgramRun(["import", path, "T", folder.file("first.jsonl", line)])
    let other = try folder.file("other.jsonl", #"{"id":1,"n":1.0,"price":2.5e0}"#)
    let run = try ProgramRun(["import", path, "T", other, "--json"])
    #expect(run.objects.first?["unchanged"] as? Int == 1, "\(run.output)\(run.complaint)")
    #expect(try ProgramRun(["put", path, "T", other]).output == "unchanged; nothing was written\n")
    #expect(try ProgramRun(["export", path, "T"]).output == line + "\n")
  }

  @Test("an import that reads nothing makes no store, and fails with the reason unless the input is empty")
  func importingNothing() throws {
    let folder = try TemporaryFolder()
    for (input, reason) in [("", ""), ("[]", "standard input holds no documents")] {
      let run = try ProgramRun(["import", folder.path("Nothing.strata"), "T", "-"], input: input)
      #expect(run.status == (input.isEmpty ? 0 : 1) && run.output.contains("nothing was written"))
      #expect(input.isEmpty ? run.complaint.isEmpty : run.complaint.contains(reason), "\(run.complaint)")
      #expect(!FileManager.default.fileExists(atPath: folder.path("Nothing.strata")))
    }
  }

  @Test("a restore that changes nothing says so, and makes no commit")
  func restoringNothing() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    for (subject, words) in [("the store", []), ("River", ["River"]), ("2", ["River", "2"])] {
      let run = try ProgramRun(["restore", path, "1"] + words)
      #expect(run.status == 0 && run.output == "nothing to restore: \(subject) is as it was at #1\n", "\(run.output)")
      #expect(try ProgramRun(["restore", path, "1", "--json"] + words).output == "{\"commit\":null}\n")
    }
    #expect(try ProgramRun(["history", path, "--json"]).lines.count == 1)
    _ = try ProgramRun(["delete", path, "River", "2"])
    #expect(try ProgramRun(["restore", path, "1", "River"]).output == "#3\n")
  }

  @Test("put tells what it cannot read, what it reads twice and where, and takes the types of a table from the records")
  func puttingOddDocuments() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Codes.strata")
    let file = try folder.file("codes.jsonl", "{\"id\":1,\"code\":\"48\"}\n")
    _ = try ProgramRun(["import", path, "T", file])
    func put(_ input: String, _ options: String...) throws -> ProgramRun {
      try ProgramRun(["put", path, "T", "-"] + options, input: input)
    }
    for nothing in ["hello\n", "3\n", "id,code\n", "\n", "[]"] {
      let run = try put(nothing)
      #expect(run.status == 1 && run.complaint.contains("holds no documents"), "\(nothing): \(run.complaint)")
    }
    let nothing = try put("")
    #expect(nothing.status == 1 && nothing.complaint.contains("standard input is empty"), "\(nothing.complaint)")
    for broken in ["{\"id\":2", "{\"id\":}", "{\"id\":2,}", "[{\"id\":2}"] {
      let run = try put(broken)
      #expect(
        run.status == 1 && run.complaint.contains("standard input:1"), "\(broken): \(run.status) \(run.complaint)")
    }
    let repeated = "{\"id\":2,\"code\":\"a\"}\n{\"id\":2,\"code\":\"b\"}\n"
    for twice in [try put(repeated, "--inbox"), try put(repeated)] {
      #expect(twice.status == 0)
      #expect(
        twice.complaint.contains("identifier 2 is in 2 documents, of which the last counts"), "\(twice.complaint)")
      #expect(twice.complaint.contains("standard input:2"), "\(twice.complaint)")
    }
    #expect(
      try put("{\"id\":3,\"code\":\"c\"}\n{\"code\":\"d\"}\n").complaint.contains("standard input:2: .id is missing"))
    #expect(try put("id,code\n4,48\n").status == 0)
    #expect(try ProgramRun(["export", path, "T"]).lines.last == "{\"id\":4,\"code\":\"48\"}")
  }

  @Test("an import that finds no identifier names the field that does not tell the rows apart")
  func repeatedIdentifiers() throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("rows.csv", "id,a\n1,x\n1,y\n")
    let run = try ProgramRun(["import", folder.path("New.strata"), "T", file])
    #expect(run.status == 2, "\(run.complaint)")
    #expect(run.complaint.contains("id does not tell the documents apart: \(file):3 has that of an earlier one"))
  }

  @Test("a document without an identifier is refused alone, with its line, also if no field is named as the identifier")
  func oneMissingIdentifier() throws {
    let folder = try TemporaryFolder()
    for (text, line) in [("{\"id\":1}\n{\"id\":null}\n{\"id\":3}\n", 2), ("{\"a\":1}\n{\"id\":2}\n{\"id\":3}\n", 1)] {
      let file = try folder.file("rows\(line).jsonl", text)
      let run = try ProgramRun(["import", folder.path("New\(line).strata"), "T", file])
      #expect(run.status == 1 && run.complaint.contains("\(file):\(line): .id is "), "\(run.complaint)")
      #expect(run.output.contains("2 new, 0 changed, 0 unchanged, 1 rejected"), "\(run.output)")
    }
    let sparse = try folder.file("sparse.jsonl", "{\"id\":1}\n{\"a\":2}\n{\"a\":3}\n")
    let refused = try ProgramRun(["import", folder.path("Sparse.strata"), "T", sparse])
    #expect(refused.status == 2 && refused.complaint.contains("\(sparse):2 has none"), "\(refused.complaint)")
  }

  @Test("a file with some of the columns is refused, merged or taken whole, as is said")
  func someColumns() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    let file = try folder.file("names.csv", "id,name\n2,Aar\n")
    let refused = try ProgramRun(["import", path, "River", file])
    #expect(refused.status == 1 && refused.complaint.contains("km (1 record)"), "\(refused.complaint)")
    #expect(refused.complaint.contains("--merge") && refused.complaint.contains("--replace"))
    func river() throws -> [String: Any]? {
      try ProgramRun(["get", path, "River", "2", "--json"]).objects.first?["value"] as? [String: Any]
    }
    #expect(try river()?["name"] as? String == "Aare")
    #expect(try ProgramRun(["import", path, "River", file, "--merge"]).status == 0)
    #expect(try river()?["name"] as? String == "Aar" && river()?["km"] as? Int == 288)
    #expect(try ProgramRun(["import", path, "River", file, "--merge", "--replace"]).status == 2)
  }

  @Test("names with spaces are taken as they are, and two constants are not a condition")
  func oddNames() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Odd.strata")
    let file = try folder.file("odd.csv", "Order ID,2024\n1,9\n2,8\n")
    #expect(try ProgramRun(["import", path, "T", file, "--id", "Order ID"]).status == 0)
    #expect(try ProgramRun(["records", path, "T", "--where", "\"Order ID\" = 1", "--count"]).output == "1\n")
    #expect(try ProgramRun(["records", path, "T", "--where", "2024 = 8", "--count"]).output == "1\n")
    #expect(try ProgramRun(["records", path, "T", "--sort", "Order ID:desc", "--count"]).output == "2\n")
    #expect(try ProgramRun(["records", path, "T", "--select", "Order ID, 2024"]).output == "1\t9\n2\t8\n")
    let refused = try ProgramRun(["records", path, "T", "--where", "1 = 1"])
    #expect(refused.status == 1 && refused.complaint.contains("compares two constants"))
  }

  @Test("nothing that is read of a file that holds something is a failure with its reason, and makes no store")
  func nothingRead() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("None.strata")
    for (text, reason) in [("id,name\n", "holds no documents"), ("\u{0}\u{1}SQLite", "binary file")] {
      let run = try ProgramRun(["import", path, "T", folder.file("none.csv", text), "--id", "id"])
      #expect(run.status == 1 && run.complaint.contains(reason), "\(run.complaint)")
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test("an encoding is taken by every verb that reads a file, and what no encoding was named for is told")
  func encodings() throws {
    let folder = try TemporaryFolder()
    let (file, path) = (folder.path("l.csv"), folder.path("L.strata"))
    try Data([0x69, 0x64, 0x2C, 0x61, 0x0A, 0x31, 0x2C, 0xE4, 0x0A]).write(to: URL(filePath: file))
    let refused = try ProgramRun(["import", path, "T", file])
    #expect(refused.status == 1 && refused.complaint.contains("l.csv:2:3") && refused.complaint.contains("byte 228"))
    #expect(try ProgramRun(["records", file, "l", "--encoding", "Latin1"]).output.contains("ä"))
    #expect(try ProgramRun(["import", path, "T", file, "--encoding", "latin1"]).status == 0)
    try Data([UInt8]("{\"id\":2,\"a\":\"".utf8) + [0xF6] + [UInt8]("\"}".utf8)).write(
      to: URL(filePath: file + ".jsonl"))
    #expect(try ProgramRun(["put", path, "T", file + ".jsonl", "--encoding", "latin1"]).status == 0)
    #expect(try ProgramRun(["get", path, "T", "2", "--json"]).output.contains("ö"))
  }

  @Test("records are deleted by a condition, whatever their number, and a wrong direction of a sort is told")
  func deletedByCondition() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Many.strata")
    let lines = (0..<1_000).map { "{\"id\":\($0),\"n\":\($0 % 3),\"name\":\"x\($0)\"}" }.joined(separator: "\n")
    let file = try folder.file("many.jsonl", lines)
    #expect(try ProgramRun(["import", path, "T", file, "--index", "n=n"]).status == 0)
    let none = try ProgramRun(["delete", path, "T", "--where", "n = 7"])
    #expect(none.status == 1 && none.complaint.contains("no record meets the condition"))
    #expect(try ProgramRun(["delete", path, "T", "--where", "n = 1"]).output == "#2\n")
    #expect(try ProgramRun(["delete", path, "T", "--where", "name = \"x0\""]).output == "#3\n")
    #expect(try ProgramRun(["records", path, "T", "--count"]).output == "666\n")
    #expect(try ProgramRun(["verify", path]).status == 0)
    let history = try ProgramRun(["history", path]).output
    #expect(history.contains("delete 333 records  T -333") && history.contains("delete T 0  T -1"))
    let sorted = try ProgramRun(["records", path, "T", "--sort", "name:dsc"])
    #expect(sorted.status == 2 && sorted.complaint.contains("“dsc” is not a direction"))
    #expect(try ProgramRun(["help", "recods"]).complaint.contains("did you mean records"))
  }

  @Test("who watches a store is told what the last work came to")
  func watchedEnding() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Many.strata")
    let file = try folder.file("many.jsonl", (0..<1_000).map { "{\"id\":\($0)}" }.joined(separator: "\n"))
    #expect(try ProgramRun(["import", path, "T", file, "--name", "fill"]).status == 0)
    let script = """
      : > \(path).out
      "$STRATA" watch \(path) $1 > \(path).out & watcher=$!
      while ! grep -q . \(path).out; do :; done
      kill -9 $watcher; cat \(path).out
      """
    #expect(try ProgramRun(script: script).lines.first == "fill: complete: commit #1")
    let json = try ProgramRun(script: script.replacing("$1", with: "--json")).objects.first
    #expect(json?["outcome"] as? String == "complete" && json?["commit"] as? Int == 1)
  }

  @Test("a cell that makes its column text, and rows that share an identifier, are told with their rows")
  func oddRows() throws {
    let folder = try TemporaryFolder()
    let (file, path) = (folder.path("odd.csv"), folder.path("Odd.strata"))
    try Data("id,km\n1,5\n2,n/a\n3,7\n4,9\n3,8\n".utf8).write(to: URL(filePath: file))
    let run = try ProgramRun(["import", path, "River", file, "--id", "id", "--index", "km=km"])
    #expect(run.status == 0, "\(run.complaint)")
    #expect(run.complaint.contains("km is String") && run.complaint.contains("odd.csv:3 “n/a”"), "\(run.complaint)")
    #expect(run.complaint.contains("identifier 3 is in 2 rows"))
    #expect(run.complaint.contains("odd.csv:4") && run.complaint.contains("odd.csv:6"))
    #expect(run.output.contains("1 replaced by later rows"))
    let json = try ProgramRun(["import", folder.path("B.strata"), "River", file, "--id", "id", "--json"])
    let object = try #require(json.objects.first)
    #expect(object["repeated"] as? Int == 1)
    #expect((object["repeats"] as? [[String: Any]])?.first?["identifier"] as? Int == 3)
    #expect((object["mixedColumns"] as? [[String: Any]])?.first?["path"] as? String == ".km")
  }

  @Test("a dry run and a failed import leave nothing")
  func nothingLeft() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    let before = try ProgramRun(["info", path, "--json"]).output
    let file = try folder.file("rivers2.jsonl", "{\"id\": 9, \"km\": 1}\n{\"id\": 10, \"km\": \n")
    _ = try ProgramRun(["import", path, "River", file, "--id", "id", "--dry-run"])
    let run = try ProgramRun(["import", path, "River", file, "--id", "nothing"])
    #expect(run.status != 0)
    #expect(try ProgramRun(["info", path, "--json"]).output == before)
  }

  @Test("an import that makes no store leaves none: a dry run, a missing file, a file in which all is rejected")
  func noStoreLeft() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("None.strata")
    let good = try folder.file("good.jsonl", "{\"id\": 1}\n")
    let bad = try folder.file("bad.jsonl", "{\"name\": \"a\"}\n{\"name\": \"b\"}\n")
    let dry = try ProgramRun(["import", path, "A", good, "--id", "id", "--dry-run"])
    #expect(dry.status == 0 && dry.output.contains("1 new"), "\(dry.output)\(dry.complaint)")
    let missing = try ProgramRun(["import", path, "A", folder.path("missing.jsonl"), "--id", "id"])
    #expect(missing.status == 1 && missing.complaint.contains("missing.jsonl"))
    let rejected = try ProgramRun(["import", path, "A", bad, "--id", "id"])
    #expect(rejected.status == 1 && rejected.complaint.contains("bad.jsonl:2"), "\(rejected.complaint)")
    #expect(rejected.output.contains("nothing was written"))
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("an undo of an older commit names the fields that later commits changed, and only those")
  func keptByUndo() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Note.strata")
    func put(_ lines: String...) throws {
      #expect(try ProgramRun(["put", path, "Note"], input: lines.joined(separator: "\n")).status == 0)
    }
    let file = try folder.file("notes.jsonl", (1...4).map { #"{"id":\#($0),"a":0,"b":0}"# }.joined(separator: "\n"))
    #expect(try ProgramRun(["import", path, "Note", file]).status == 0)
    // Changes two fields of the first, one of the second, and inserts the fifth.
    try put(#"{"id":1,"a":1,"b":1}"#, #"{"id":2,"a":1,"b":0}"#, #"{"id":4,"a":1,"b":0}"#, #"{"id":5,"a":1,"b":1}"#)
    // Changes the first again in one of them, the second in another one, and the fifth.
    try put(#"{"id":1,"a":2,"b":1}"#, #"{"id":2,"a":1,"b":2}"#, #"{"id":5,"a":2,"b":1}"#)
    #expect(try ProgramRun(["delete", path, "Note", "4"]).status == 0)
    let undo = try ProgramRun(["undo", path, "2"])
    #expect(undo.status == 0 && undo.output == "#5\n")
    #expect(undo.complaint == "strata: later changes stay in 3 records: Note 1 .a, Note 4, Note 5\n")
    #expect(
      try ProgramRun(["export", path, "Note"]).lines == [
        #"{"id":1,"a":2,"b":0}"#, #"{"id":2,"a":0,"b":2}"#, #"{"id":3,"a":0,"b":0}"#, #"{"id":5,"a":2,"b":1}"#,
      ])
  }

  @Test("put, delete, undo, redo and restore make commits and print their numbers")
  func changing() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    func kilometres(_ id: String) throws -> Int? {
      try (ProgramRun(["get", path, "River", id, "--json"]).objects.first?["value"] as? [String: Any])?["km"] as? Int
    }
    let put = try ProgramRun(
      ["put", path, "River"], input: "{\"id\": 2, \"name\": \"Aare\", \"km\": 291, \"countries\": [\"CH\"]}")
    #expect(put.status == 0, "\(put.complaint)")
    #expect(put.output == "#2\n")
    #expect(try kilometres("2") == 291)
    #expect(try ProgramRun(["delete", path, "River", "1", "3"]).output == "#3\n")
    #expect(try ProgramRun(["get", path, "River", "1"]).status == 1)
    #expect(try ProgramRun(["undo", path]).output == "#4\n")
    #expect(try kilometres("1") == 1233)
    #expect(try ProgramRun(["undo", path]).output == "#5\n")
    #expect(try kilometres("2") == 288)
    #expect(try ProgramRun(["redo", path]).output == "#6\n")
    #expect(try kilometres("2") == 291)
    #expect(try ProgramRun(["restore", path, "1", "River", "2"]).output == "#7\n")
    #expect(try kilometres("2") == 288)
    #expect(try ProgramRun(["restore", path, "3"]).output == "#8\n")
    #expect(try ProgramRun(["get", path, "River", "1"]).status == 1)
    #expect(try ProgramRun(["verify", path]).status == 0)
    let history = try ProgramRun(["history", path, "--json"]).objects.compactMap { $0["commit"] as? Int }
    #expect(history == [8, 7, 6, 5, 4, 3, 2, 1])
    func commits() throws -> Int? { try ProgramRun(["info", path, "--json"]).objects.first?["commits"] as? Int }
    #expect(try commits() == 8)
    #expect(try ProgramRun(["compact", path, "--keep", "3"]).status == 0)
    #expect(try commits() == 3)
  }

  @Test("the history of a datastore that was dropped ends with the commit that dropped it")
  func historyOfDropped() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Two.strata")
    for (name, lines) in [("A", #"{"id":1}"#), ("B", "{\"id\":2,\"a\":5}\n{\"id\":3,\"a\":6}")] {
      #expect(try ProgramRun(["import", path, name, folder.file(name, lines)]).status == 0)
    }
    #expect(try ProgramRun(["delete", path, "B", "3"]).output == "#3\n")
    #expect(try ProgramRun(["restore", path, "1"]).output == "#4\n")
    func commits(_ words: String...) throws -> [Int] {
      try ProgramRun(["history", path] + words + ["--json"]).objects.compactMap { $0["commit"] as? Int }
    }
    #expect(try commits("B") == [4, 3, 2])
    #expect(try commits("B", "2") == [4, 2])
    #expect(try commits("B", "2", "--field", "a") == [4, 2])
    #expect(try commits("B", "3") == [3, 2])
    #expect(try ProgramRun(["history", path, "B", "2"]).output.contains("    deleted\n#2"))
    #expect(try ProgramRun(["history", path, "C"]).complaint.contains("no datastore C; there are A"))
    #expect(try ProgramRun(["history", path, "B", "9"]).complaint.contains("no record"))
  }

  @Test("compact switches node deltas on and says so, and takes them out if asked; info says what the history takes")
  func deltas() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    let whole = try ProgramRun(["compact", path, "--no-deltas"])
    #expect(whole.status == 0 && !whole.output.contains("deltas"))
    let switched = try ProgramRun(["compact", path])
    #expect(switched.output.contains("It has node deltas now: programs made before them refuse it"))
    #expect(try !ProgramRun(["compact", path]).output.contains("deltas"))
    for (options, isOn) in [(["--no-deltas"], false), ([], true)] {
      let report = try ProgramRun(["compact", path, "--json"] + options).objects.first
      #expect(report?["nodeDeltas"] as? Bool == isOn)
    }
    _ = try ProgramRun(["delete", path, "River", "1"])
    let commits = try #require(try ProgramRun(["info", path, "--json"]).objects.first?["commits"] as? Int)
    let bytes = try #require(try ProgramRun(["info", path, "--json"]).objects.first?["historyBytes"] as? Int)
    #expect(bytes > 0)
    #expect(try ProgramRun(["info", path]).output.contains(" in \(commits) commits, "))
    #expect(try ProgramRun(["verify", path]).status == 0)
  }

  @Test("a pin names a commit wherever one is asked for")
  func pins() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    _ = try ProgramRun(["delete", path, "River", "1"])
    #expect(try ProgramRun(["pin", path, "before", "1"]).status == 0)
    #expect(try ProgramRun(["get", path, "River", "1", "--at", "before"]).status == 0)
    #expect(try ProgramRun(["diff", path, "before", "head", "--json"]).objects.first?["change"] as? String == "delete")
    #expect(try ProgramRun(["pin", path, "before", "--remove"]).status == 0)
    #expect(try ProgramRun(["get", path, "River", "1", "--at", "before"]).status == 1)
  }

  @Test("an export is what was imported")
  func exporting() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try importRivers(folder)
    let lines = try ProgramRun(["export", path, "River"]).objects
    #expect(lines.compactMap { $0["name"] as? String } == ["Rhein", "Aare", "Inn"])
    let list = try ProgramRun(["export", path, "River", "--format", "json"])
    #expect((try JSONSerialization.jsonObject(with: Data(list.output.utf8)) as? [Any])?.count == 3)
    #expect(try ProgramRun(["export", path, "River", "--format", "csv"]).lines.count == 4)
    #expect(try ProgramRun(["export", path]).objects.first?["datastore"] as? String == "River")
  }
}

@Suite("Bad input gets one clear sentence")
struct BadInputTests {
  @Test("a path that does not exist, or is not a store", arguments: ["info", "verify", "history"])
  func noStore(verb: String) throws {
    let folder = try TemporaryFolder()
    let missing = try ProgramRun([verb, folder.path("nothing")])
    #expect(missing.status == 1)
    #expect(missing.complaint.hasPrefix("strata: ") && missing.complaint.contains(folder.path("nothing")))
    let file = try folder.file("text", "hello")
    let noStore = try ProgramRun([verb, file])
    #expect(noStore.status == 1 || noStore.status == 3, "\(noStore.complaint)")
    #expect(noStore.output.isEmpty)
  }

  @Test("a store of a newer format version is refused with status 3 and left alone")
  func newerFormat() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("A.strata")
    _ = try ProgramRun(["import", path, "A", try folder.file("a.jsonl", "{\"id\":1}"), "--id", "id"])
    let data = URL(filePath: path + "/data")
    var bytes = try Data(contentsOf: data)
    bytes[8] = 200
    try bytes.write(to: data)
    let run = try ProgramRun(["info", path])
    #expect(run.status == 3, "\(run.complaint)")
    #expect(try Data(contentsOf: data) == bytes)
  }

  @Test("words that make no sense end with status 2 and the usage")
  func usage() throws {
    #expect(try ProgramRun(["records"]).status == 2)
    #expect(
      try ProgramRun(["records", "A", "B", "--sideways"]).complaint.contains("usage: strata records PATH [DATASTORE]"))
  }

  @Test("without a terminal the browser says so and names the verbs")
  func noTerminal() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("A.strata")
    _ = try ProgramRun(["import", path, "A", try folder.file("a.jsonl", "{\"id\":1}"), "--id", "id"])
    let run = try ProgramRun([path])
    #expect(run.status == 1)
    #expect(run.complaint.contains("not a terminal") && run.complaint.contains("info, records, get"))
  }

  @Test("a datastore that is not there is named beside those that are")
  func unknownDatastore() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("A.strata")
    _ = try ProgramRun(["import", path, "A", try folder.file("a.jsonl", "{\"id\":1}"), "--id", "id"])
    let run = try ProgramRun(["records", path, "B"])
    #expect(run.status == 1)
    #expect(run.complaint == "strata: no datastore B; there are A\n")
  }
}
