import Foundation
import Testing

/// The verbs that print records as a whole, and files that are opened as stores.
@Suite("Describing verbs") struct DescribingVerbTests {
  private static let rows = "id,name,population\n1,Bern,120\n2,Kobe,1500000\n3,Bern,\n"

  @Test("describe prints a line a field, as text and as JSON, of a store and of a file")
  func describe() throws {
    let folder = try TemporaryFolder()
    let file = folder.path("cities.csv")
    try Data(Self.rows.utf8).write(to: URL(filePath: file))
    let run = try ProgramRun(["describe", file, "cities", "--json"])
    #expect(run.status == 0, "\(run.complaint)")
    let fields = run.objects
    #expect(fields.compactMap { $0["field"] as? String } == ["id", "name", "population"])
    #expect(fields.compactMap { $0["distinct"] as? Int } == [3, 2, 2])
    #expect(fields.last?["least"] as? Int == 120 && fields.last?["greatest"] as? Int == 1_500_000)
    #expect((fields.last?["null"] as? Int ?? 0) + (fields.last?["missing"] as? Int ?? 0) == 1)
    let store = folder.path("Cities.strata")
    #expect(try ProgramRun(["import", store, "City", file, "--id", "id", "--index", "byName=name"]).status == 0)
    let text = try ProgramRun(["describe", store, "City"])
    #expect(text.status == 0)
    #expect(text.output.contains("index byName"))
    #expect(text.output.contains("commonest: \"Bern\" ×2"))
    #expect(try ProgramRun(["describe", store, "Nothing"]).status == 1)
    // Without a name the only datastore is meant.
    #expect(try ProgramRun(["describe", store]).output == text.output)
    #expect(try ProgramRun(["records", file, "--count"]).lines == ["3"])
    #expect(try ProgramRun(["import", store, "Town", file]).status == 0)
    let unnamed = try ProgramRun(["records", store])
    #expect(unnamed.status == 2 && unnamed.complaint.contains("DATASTORE is missing: one of City, Town"))
    let part = try ProgramRun(["describe", store, "City", "--where", "name = \"Bern\"", "--json"])
    let id = part.objects.first { $0["field"] as? String == "id" }
    #expect(id?["distinct"] as? Int == 2 && id?["sum"] as? Int == 4, "\(part.complaint)")
    // A letter of two columns takes the place of two.
    let wide = try ProgramRun(["describe", folder.file("wide.csv", "id,名前\n1,a\n")]).lines
    #expect(wide.contains { $0.hasPrefix("id    Number") } && wide.contains { $0.hasPrefix("名前  String") }, "\(wide)")
  }

  @Test("describe cuts long values on its lines, and not in JSON; a datastore needs a name")
  func longValues() throws {
    let folder = try TemporaryFolder()
    let (file, store) = (folder.path("texts.jsonl"), folder.path("Texts.strata"))
    let long = String(repeating: "long ", count: 10_000)
    try Data(#"{"id":1,"text":"\#(long)"}"#.utf8).write(to: URL(filePath: file))
    let unnamed = try ProgramRun(["import", store, "", file])
    #expect(unnamed.status == 2 && unnamed.complaint.contains("DATASTORE is missing"), "\(unnamed.complaint)")
    #expect(!FileManager.default.fileExists(atPath: store))
    #expect(try ProgramRun(["import", store, "Text", file]).status == 0)
    let lines = try ProgramRun(["describe", store, "Text"]).lines
    #expect(lines.contains { $0.contains("long long") } && lines.allSatisfy { $0.count < 300 })
    let text = try ProgramRun(["describe", store, "Text", "--json"]).objects.last
    #expect(text?["least"] as? String == long)
  }

  @Test("an index of an import over lists has their elements, without a kind too")
  func indexOfLists() throws {
    let folder = try TemporaryFolder()
    let (file, store) = (folder.path("notes.jsonl"), folder.path("Notes.strata"))
    let lines = #"{"id":1,"tags":null}"# + "\n" + #"{"id":2,"tags":["a","b"]}"# + "\n" + #"{"id":3,"tags":["b"]}"#
    try Data(lines.utf8).write(to: URL(filePath: file))
    for _ in 0..<2 {
      let run = try ProgramRun(["import", store, "Note", file, "--index", "tag=tags"])
      #expect(run.status == 0, "\(run.output)\(run.complaint)")
    }
    let query = ["records", store, "Note", "--where", #"tags has "b""#, "--select", "id"]
    #expect(try ProgramRun(query).lines == ["2", "3"])
    #expect(try ProgramRun(query + ["--explain"]).output.hasPrefix("INDEX tag"))
  }

  @Test("an index of an import for which no document has a value is named")
  func indexWithoutValues() throws {
    let folder = try TemporaryFolder()
    let store = folder.path("Lists.strata")
    let file = try folder.file("lists.jsonl", #"{"id":1,"l":[{"a":1}],"n":2}"#)
    let run = try ProgramRun(
      ["import", store, "T", file, "--index", "x=l.a:many-to-many", "--index", "y=m", "--index", "z=n"])
    #expect(run.status == 0)
    #expect(run.complaint.contains("index x: no document has a value at .l.a"), "\(run.complaint)")
    #expect(run.complaint.contains("index y: no document has a value at .m"), "\(run.complaint)")
    #expect(!run.complaint.contains("index z"), "\(run.complaint)")
  }

  @Test("records are printed as columns: selected fields, distinct values, and groups with figures")
  func columns() throws {
    let folder = try TemporaryFolder()
    let (file, store) = (folder.path("cities.csv"), folder.path("Cities.strata"))
    try Data((Self.rows + "4,Basel,80\n").utf8).write(to: URL(filePath: file))
    #expect(try ProgramRun(["import", store, "City", file, "--id", "id", "--index", "byName=name"]).status == 0)
    func records(_ options: String...) throws -> [String] {
      let run = try ProgramRun(["records", store, "City"] + options)
      #expect(run.status == 0, "\(run.complaint)")
      return run.lines
    }
    #expect(try records("--select", "name,population", "--limit", "2") == ["Bern\t120", "Kobe\t1500000"])
    #expect(
      try records("--select", "name", "--where", "id > 2", "--json") == [#"{"name":"Bern"}"#, #"{"name":"Basel"}"#])
    #expect(try records("--distinct", "name") == ["Basel", "Bern", "Kobe"])
    // An index is named for its field, as in a condition.
    #expect(try records("--select", "byName,id", "--limit", "1") == ["Bern\t1"])
    #expect(try records("--group-by", "byName", "--count") == ["Basel\t1", "Bern\t2", "Kobe\t1"])
    #expect(try records("--group-by", "byName", "--sort", "byName:desc", "--limit", "1") == ["Kobe"])
    #expect(try records("--index", "byName", "--where", "byName = \"Kobe\"").count == 1)
    #expect(try records("--distinct", "name", "--count") == ["3"])
    #expect(try records("--group-by", "name", "--count", "--sort", "count:desc", "--limit", "1") == ["Bern\t2"])
    #expect(
      try records("--group-by", "name", "--sum", "population", "--mean", "population", "--count", "--json").last
        == #"{"name":"Kobe","count":1,"sum(population)":1500000,"mean(population)":1500000}"#)
    #expect(try records("--group-by", "name", "--count", "--explain")[0].hasPrefix("INDEX byName"))
    for words in [["--group-by", "name", "--count"], ["--sort", "name"]] {
      let explained = ["records", store, "City", "--explain"] + words
      let plan = try ProgramRun(explained + ["--json"]).objects.first?["plan"] as? String
      #expect(try plan == ProgramRun(explained).lines.first && plan != nil, "\(words)")
    }
    for wrong in [
      ["--sum", "population"], ["--group-by", "name", "--sort", "id"], ["--distinct", "name", "--group-by", "id"],
      ["--group-by", "name", "--index", "byName"],
    ] {
      #expect(try ProgramRun(["records", store, "City"] + wrong).status == 2, "\(wrong)")
    }
  }

  @Test("a name that is like no verb is refused without a proposal, and one with two letters exchanged with one")
  func strangeVerb() throws {
    #expect(try !ProgramRun(["help", "nope"]).complaint.contains("did you mean"))
    #expect(try ProgramRun(["help", "ptu"]).complaint.contains("did you mean put?"))
  }

  @Test(
    "a misspelt verb is refused with the nearest one, with arguments and without", arguments: [[], ["Cities.strata"]])
  func misspelt(further: [String]) throws {
    let run = try ProgramRun(["recods"] + further)
    #expect(run.status == 2 && run.complaint.contains("did you mean records"), "\(run.complaint)")
  }

  @Test("blame prints for each field the commit that last wrote it")
  func blame() throws {
    let folder = try TemporaryFolder()
    let (file, store) = (folder.path("cities.csv"), folder.path("Cities.strata"))
    try Data(Self.rows.utf8).write(to: URL(filePath: file))
    #expect(try ProgramRun(["import", store, "City", file, "--id", "id", "--name", "first"]).status == 0)
    let put = try ProgramRun(
      ["put", store, "City", "--name", "second"], input: "{\"id\":2,\"name\":\"Kobe\",\"population\":7}")
    #expect(put.status == 0, "\(put.complaint)")
    let run = try ProgramRun(["blame", store, "City", "2", "--json"])
    #expect(run.status == 0, "\(run.complaint)")
    let blame = Dictionary(
      uniqueKeysWithValues: run.objects.map { ($0["path"] as? String ?? "", $0["action"] as? String ?? "") })
    #expect(blame == [".id": "first", ".name": "first", ".population": "second"])
    let past = try ProgramRun(["blame", store, "City", "2", "--at", "1"])
    #expect(past.lines.count == 3 && past.lines.allSatisfy { $0.hasSuffix("first") })
    #expect(try ProgramRun(["blame", store, "City", "99"]).status == 1)
  }

  @Test("verbs read a file as a store, and change none")
  func files() throws {
    let folder = try TemporaryFolder()
    let file = folder.path("cities.jsonl")
    try Data("{\"id\":1,\"name\":\"Bern\"}\nnonsense\n{\"id\":2,\"name\":\"Kobe\"}\n".utf8).write(
      to: URL(filePath: file))
    let run = try ProgramRun(["records", file, "cities", "--where", "name == \"Kobe\""])
    #expect(run.status == 0 && run.lines.count == 1)
    #expect(run.complaint.contains("1 row left out") && run.complaint.contains("cities.jsonl:2"))
    let delete = try ProgramRun(["delete", file, "cities", "1"])
    #expect(delete.status != 0 && delete.complaint.contains("only read"))
    #expect(try String(contentsOf: URL(filePath: file), encoding: .utf8).contains("Bern"))
  }

  @Test("a store without letters has an empty inbox, and a path without a store none")
  func noLetters() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("A.strata")
    _ = try ProgramRun(["import", path, "A", try folder.file("a.jsonl", "{\"id\":1}"), "--id", "id"])
    let empty = try ProgramRun(["inbox", path])
    #expect(empty.status == 0 && empty.output.isEmpty)
    let missing = try ProgramRun(["inbox", folder.path("B.strata")])
    #expect(missing.status == 1 && missing.complaint.contains("there is nothing at this path"))
  }
}
