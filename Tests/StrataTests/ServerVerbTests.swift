import Foundation
import StrataEngine
import Testing

/// The program over stores on a server, as a shell sees it.
@Suite("Verbs over a store on a server", .enabled(if: TestServer.isThere, TestServer.missing))
struct ServerVerbTests {
  private static let rivers = """
    {"id": 1, "name": "Rhein", "km": 1233, "countries": ["CH", "DE", "NL"]}
    {"id": 2, "name": "Aare", "km": 288, "countries": ["CH"]}
    {"id": 3, "name": "Inn", "km": 517, "countries": ["CH", "AT", "DE"]}
    """

  /// A store with imports, edits, deletes, an undo, a restore and a name.
  private func filled(_ folder: TemporaryFolder) throws -> String {
    let path = folder.path("Rivers.strata")
    let file = try folder.file("rivers.jsonl", Self.rivers)
    for (words, input) in [
      (
        ["import", path, "River", file, "--id", "id", "--index", "km=km", "--index", "country=countries:many-to-many"],
        ""
      ),
      (["put", path, "River"], #"{"id":2,"name":"Aare","km":295,"countries":["CH"]}"#),
      (["delete", path, "River", "3"], ""), (["pin", path, "before"], ""), (["undo", path], ""),
      (["put", path, "River"], #"{"id":4,"name":"Ticino","km":248,"countries":["CH","IT"]}"#),
      (["restore", path, "#2"], ""), (["delete", path, "River", "1"], ""),
      (["import", path, "Sea", try folder.file("seas.csv", "id,name\nN,North\nB,Baltic\n"), "--id", "id"], ""),
    ] {
      let run = try ProgramRun(words, input: input)
      #expect(run.status == 0, "\(words): \(run.complaint)")
    }
    return path
  }

  /// A history as its stream, without the line that names the store.
  private func stream(_ path: String) throws -> [String] {
    let run = try ProgramRun(["export", path, "--history"])
    #expect(run.status == 0, "\(run.complaint)")
    return Array(run.lines.dropFirst())
  }

  @Test("a store goes to a server and back, and its history is the same line by line")
  func copies() throws {
    let folder = try TemporaryFolder()
    let path = try filled(folder)
    let server = try #require(TestServer.shared)
    let url = server.location()
    let there = try ProgramRun(["copy", path, url, "--json"])
    #expect(there.status == 0, "\(there.complaint)")
    let back = folder.path("Back.strata")
    #expect(try ProgramRun(["copy", url, back]).status == 0)
    #expect(try stream(back) == stream(path))
    #expect(try ProgramRun(["verify", back]).status == 0)
    #expect(try ProgramRun(["history", back, "--json"]).lines == ProgramRun(["history", path, "--json"]).lines)
    // A copy never goes into what is there.
    let again = try ProgramRun(["copy", path, url])
    #expect(again.status == 1 && again.complaint.contains("empty"))
    let file = try ProgramRun(["copy", url, back])
    #expect(file.status == 1 && file.complaint.contains("something lies at"))
    // From one schema to another.
    let other = server.location()
    #expect(try ProgramRun(["copy", url, other]).status == 0)
    #expect(
      try ProgramRun(["history", other, "--json"]).objects.count
        == ProgramRun(["history", url, "--json"]).objects.count)
    // And for people with psql.
    let schema = url.split(separator: "=").last.map(String.init) ?? ""
    #expect(
      server.query("select identifier, document->>'name' from \(schema).\"Sea\" order by 1") == ["B|Baltic", "N|North"])
  }

  @Test("what only reads says of the store on the server what it says of the file")
  func reading() throws {
    let folder = try TemporaryFolder()
    let path = try filled(folder)
    let url = try #require(TestServer.shared).location()
    #expect(try ProgramRun(["copy", path, url]).status == 0)
    for words in [
      ["records", "River"], ["records", "River", "--index", "km", "--descending", "--json"],
      ["records", "River", "--where", "km > 250", "--json"], ["records", "River", "--at", "before", "--json"],
      ["records", "River", "--index", "country", "--equal", "CH", "--json"], ["records", "River", "--at", "#3"],
      ["records", "Sea", "--count"], ["get", "River", "2"], ["get", "River", "2", "--at", "#1"], ["get", "River", "9"],
      ["history", "River"], ["history", "River", "2"], ["history", "River", "3"], ["blame", "River", "2"],
      ["describe", "River"], ["diff", "#1", "head"], ["diff", "head~2", "head", "--json"],
      ["records", "River", "--at", "#99"],
      ["records", "Lake"], ["export", "River"],
    ] {
      let (here, there) = (
        try ProgramRun([words[0], path] + words[1...]), try ProgramRun([words[0], url] + words[1...])
      )
      #expect(there.output == here.output, "\(words)")
      #expect(there.status == here.status, "\(words): \(there.complaint)")
    }
    let info = try ProgramRun(["info", url])
    #expect(info.status == 0 && info.output.contains("River") && info.output.contains("Sea"), "\(info.complaint)")
  }

  @Test("what goes by a file's bytes, or merges on a server, is refused with what to do instead")
  func refusals() throws {
    let folder = try TemporaryFolder()
    let path = try filled(folder)
    let url = try #require(TestServer.shared).location()
    #expect(try ProgramRun(["copy", path, url]).status == 0)
    let history = try ProgramRun(["history", url, "--json"]).output
    let notes = try folder.file("notes.json", Self.notes)
    let document = try folder.file("rivers.json", ProgramRun(["export", path, "--interchange"]).output)
    let other = folder.path("Other.strata")
    #expect(
      try ProgramRun(["import", other, "Lake", try folder.file("l.jsonl", #"{"id":1}"#), "--id", "id"]).status == 0)
    let others = try folder.file("others.jsonl", ProgramRun(["export", other, "--history"]).output)
    for (words, parts) in [
      (["remote", url], ["works from a store file", "strata clone 'postgres://", "strata exchange PATH"]),
      (["remote", url, "add", "home", path], ["works from a store file"]), (["fetch", url, "home"], ["strata clone"]),
      (["merge", url, "home"], ["strata clone"]), (["push", url], ["strata clone"]),
      (["exchange", url], ["strata clone"]), (["serve", url], ["--read-only", "as a remote"]),
      (["push", path, url], ["strata remote PATH add NAME URL"]), (["clone", path, url], ["strata copy FROM URL"]),
      (["salvage", url, folder.path("Saved.strata")], ["strata verify 'postgres://", "strata copy 'postgres://"]),
      (["salvage", path, url], ["strata copy PATH URL"]),
      (["convert", url, folder.path("Converted.strata")], ["strata copy PATH URL"]),
      (["convert", path, url], ["strata copy PATH URL"]),
      (["import", url, "River", notes, "--entities"], ["River keeps"]),
      (["import", url, "Pond", notes, "--compress"], ["are not compressed", "nothing was written"]),
      (["export", url, "River", "--entities"], ["River keeps"]),
      (["import", url, "--interchange", document], ["there is a datastore River already", "nothing was written"]),
      (["import", url, "--history", others], ["strata clone 'postgres://", "nothing was written"]),
    ] {
      let run = try ProgramRun(words)
      #expect(run.status == 1, "\(words): \(run.complaint)")
      for part in parts { #expect(run.complaint.contains(part), "\(words): \(run.complaint)") }
      #expect(run.complaint.split(separator: "\n").count == 1, "\(words)")
    }
    for name in ["Clone.strata", "Saved.strata", "Converted.strata"] {
      #expect(!FileManager.default.fileExists(atPath: folder.path(name)))
    }
    #expect(try ProgramRun(["history", url, "--json"]).output == history)
  }

  private static let notes = """
    {"entities":[
    {"type":"book","identifier":"book-7","name":"Dune","author":{"entity":"person-3"}},
    {"type":"person","identifier":"person-3","name":"Frank"}
    ]}
    """

  @Test("entities go to a server and come from it as from a file, with their history and as of a commit")
  func entities() throws {
    let folder = try TemporaryFolder()
    let (path, url) = (folder.path("Notes.strata"), try #require(TestServer.shared).location())
    let notes = try folder.file("notes.json", Self.notes)
    let more = try folder.file(
      "more.json", #"{"entities":[{"type":"person","identifier":"person-3","name":"Franklin"}]}"#)
    for file in [notes, more, more] {
      let (here, there) = (
        try ProgramRun(["import", path, "Notes", file, "--entities", "--json"]),
        try ProgramRun(["import", url, "Notes", file, "--entities", "--json"])
      )
      #expect(there.status == 0 && there.output == here.output, "\(there.complaint) \(here.output)")
    }
    for options in [[], ["--compact"], ["--history"], ["--at", "head~1"]] {
      func text(_ place: String) throws -> String {
        let run = try ProgramRun(["export", place, "Notes", "--entities"] + options)
        #expect(run.status == 0, "\(run.complaint)")
        return run.output
      }
      // Dates are those of each import.
      let dates = /"(datestamp|date)":"[^"]*"/
      #expect(try text(url).replacing(dates, with: "") == text(path).replacing(dates, with: ""), "\(options)")
    }
    let wrong = try folder.file("wrong.json", #"{"entities":[{"type":"a","size":{"float":1}}]}"#)
    let refused = try ProgramRun(["import", url, "Notes", wrong, "--entities"])
    #expect(refused.status == 2 && refused.complaint.contains("is not a kind of value"), "\(refused.complaint)")
    #expect(try ProgramRun(["references", url, "Notes", "person-3"]).output.contains("book-7"))
    #expect(try ProgramRun(["verify", url]).status == 0)
  }

  @Test("a document of a whole store goes to a server, and what comes back is the same text")
  func documents() throws {
    let folder = try TemporaryFolder()
    let (path, url) = (try filled(folder), try #require(TestServer.shared).location())
    let text = try ProgramRun(["export", path, "--interchange"]).output
    let file = try folder.file("store.json", text)
    let taken = try ProgramRun(["import", url, "--interchange", file, "--json"])
    #expect(taken.status == 0 && taken.objects.first?["records"] as? Int != nil, "\(taken.complaint)")
    #expect(try ProgramRun(["export", url, "--interchange"]).output == text)
    let byIndex = ["River", "--index", "km", "--json"]
    #expect(try ProgramRun(["records", url] + byIndex).output == ProgramRun(["records", path] + byIndex).output)
    #expect(try ProgramRun(["verify", url]).status == 0)
  }

  @Test("a history goes to an empty server and on to one that has its beginning, and the stream of it is the same")
  func histories() throws {
    let folder = try TemporaryFolder()
    let (path, url) = (try filled(folder), try #require(TestServer.shared).location())
    let first = try folder.file("first.jsonl", ProgramRun(["export", path, "--history"]).output)
    let all = try ProgramRun(["import", url, "--history", first])
    #expect(all.status == 0 && all.output.contains("taken in; head is #"), "\(all.complaint)")
    #expect(try stream(url) == stream(path))
    let head = try #require(try ProgramRun(["history", path, "--json"]).objects.first?["commit"] as? Int)
    #expect(try ProgramRun(["put", path, "River"], input: #"{"id":8,"name":"Saane","km":126}"#).status == 0)
    #expect(try ProgramRun(["delete", path, "Sea", "N"]).status == 0)
    let since = try ProgramRun(["export", path, "--history", "--since", "#\(head)"]).output
    let next = try ProgramRun(["import", url, "--history", "-", "--json"], input: since)
    #expect(
      next.objects.first?["received"] as? Int == 2 && next.objects.first?["moved"] as? Bool == true, "\(next.complaint)"
    )
    #expect(try stream(url) == stream(path))
    // Again: nothing comes, and what the server has beyond it stays.
    #expect(try ProgramRun(["delete", url, "Sea", "B"]).status == 0)
    let again = try ProgramRun(["import", url, "--history", first, "--json"])
    #expect(again.status == 0 && again.objects.first?["received"] as? Int == 0, "\(again.complaint)")
    #expect(try ProgramRun(["records", url, "Sea", "--count"]).output == "0\n")
    // What was written on both sides is brought together in a file.
    #expect(try ProgramRun(["put", path, "River"], input: #"{"id":9,"name":"Emme","km":82}"#).status == 0)
    let apart = try folder.file("apart.jsonl", ProgramRun(["export", path, "--history"]).output)
    let refused = try ProgramRun(["import", url, "--history", apart])
    #expect(refused.status == 1 && refused.complaint.contains("strata clone 'postgres://"), "\(refused.complaint)")
    let cut = try folder.file("cut.jsonl", String(since.dropLast(40)))
    let broken = try ProgramRun(["import", try #require(TestServer.shared).location(), "--history", cut])
    #expect(broken.status == 1 && broken.complaint.contains("line "), "\(broken.complaint)")
    #expect(try ProgramRun(["verify", url]).status == 0)
  }

  @Test("a store on a server is served over ssh for reading only")
  func served() throws {
    let folder = try TemporaryFolder()
    let (path, url) = (try filled(folder), try #require(TestServer.shared).location())
    #expect(try ProgramRun(["copy", path, url]).status == 0)
    let ssh = try folder.standIn("exec '\(ProgramRun.program.path)' serve --read-only '\(url)'")
    let clone = folder.path("Clone.strata")
    let run = try ProgramRun(["clone", "host:store", clone], environment: ssh)
    #expect(run.status == 0, "\(run.complaint)")
    #expect(try stream(clone) == stream(path))
    #expect(try ProgramRun(["delete", clone, "Sea", "N"]).status == 0)
    let refused = try ProgramRun(["push", clone], environment: ssh)
    #expect(refused.status == 1 && refused.complaint.contains("for reading only"), "\(refused.complaint)")
  }

  @Test("a store file exchanges with a store on a server: both are edited, both histories are the same afterwards")
  func exchanging() throws {
    let folder = try TemporaryFolder()
    let path = try filled(folder)
    let url = try #require(TestServer.shared).location()
    let clone = folder.path("Clone.strata")
    for (words, input) in [
      (["copy", path, url], ""), (["remote", path, "add", "team", url], ""), (["clone", url, clone], ""),
      (["put", path, "River"], #"{"id":2,"name":"Aare","km":291,"countries":["CH"]}"#),
      (["put", url, "River"], #"{"id":7,"name":"Reuss","km":164,"countries":["CH"]}"#),
      (["put", clone, "River"], #"{"id":2,"name":"Aar","km":295,"countries":["CH"]}"#),
      (["exchange", path, "team"], ""), (["exchange", clone], ""), (["fetch", path], ""), (["merge", path], ""),
      (["push", path], ""), (["verify", path], ""), (["verify", clone], ""), (["verify", url], ""),
    ] {
      let run = try ProgramRun(words, input: input)
      #expect(run.status == 0, "\(words): \(run.complaint)")
    }
    let records = try ProgramRun(["records", path, "River", "--json"]).output
    #expect(records.contains("Reuss") && records.contains("291") && records.contains("\"Aar\""))
    for store in [clone, url] {
      #expect(try ProgramRun(["records", store, "River", "--json"]).output == records)
      #expect(try Set(stream(store)) == Set(stream(path)))
    }
    #expect(try ProgramRun(["remote", clone]).output.contains("0 ahead, 0 behind"))
    // A conflict is told and nothing written; then the other side moves first.
    _ = try ProgramRun(["put", url, "River"], input: #"{"id":7,"name":"Reuss","km":1,"countries":["CH"]}"#)
    _ = try ProgramRun(["put", path, "River"], input: #"{"id":7,"name":"Reuss","km":2,"countries":["CH"]}"#)
    let late = try ProgramRun(["push", path])
    #expect(late.status == 1 && late.complaint.contains("fetch and merge first"), "\(late.complaint)")
    let open = try ProgramRun(["exchange", path])
    #expect(open.status == 1 && open.output.contains(".km"), "\(open.output)")
    #expect(try ProgramRun(["exchange", path, "--theirs"]).status == 0)
    #expect(try ProgramRun(["get", path, "River", "7"]).output == ProgramRun(["get", url, "River", "7"]).output)
  }

  @Test("a password in a remote's URL is refused and shown nowhere; a remote that is not a store is a sentence")
  func remoteRefusals() throws {
    let folder = try TemporaryFolder()
    let path = try filled(folder)
    let server = try #require(TestServer.shared)
    for words in [
      ["remote", path, "add", "team", "postgres://locked:sesame@/postgres?host=\(server.folder)"],
      ["clone", "postgres://locked@/postgres?password=sesame", folder.path("Clone.strata")],
    ] {
      let run = try ProgramRun(words)
      #expect(run.status == 2 && run.complaint.contains("PGPASSWORD"), "\(run.complaint)")
      #expect(!(run.complaint + run.output).contains("sesame"))
    }
    let invalid = try ProgramRun(["remote", path, "add", "team", "postgres://host:0/x"])
    #expect(invalid.status == 2 && invalid.complaint.contains("a port is a number"), "\(invalid.complaint)")
    let empty = server.location()
    #expect(try ProgramRun(["remote", path, "add", "team", empty]).status == 0)
    let run = try ProgramRun(["exchange", path])
    #expect(run.status == 1 && run.complaint.contains("strata copy PATH URL"), "\(run.complaint)")
    #expect(!FileManager.default.fileExists(atPath: folder.path("Clone.strata")))
  }

  @Test("import makes a store on a server, and goes on in it; what it rejects is told, and a dry run leaves nothing")
  func importing() throws {
    let folder = try TemporaryFolder()
    let server = try #require(TestServer.shared)
    let (path, url) = (folder.path("Rivers.strata"), server.location())
    let first = try folder.file("first.jsonl", Self.rivers)
    let second = try folder.file(
      "second.jsonl",
      """
      {"id": 2, "name": "Aare", "km": 291, "countries": ["CH"]}
      {"id": 5, "name": "Rhône", "km": 812, "countries": ["CH", "FR"]}
      {"name": "nameless"}
      """)
    let declared = [
      "--id", "id", "--index", "km=km", "--index", "country=countries:many-to-many", "--direct", "km",
    ]
    let dry = try ProgramRun(["import", url, "River", first, "--dry-run"] + declared)
    #expect(dry.status == 1 && dry.complaint.contains("there is no store"), "\(dry.complaint)")
    for (words, status) in [
      (["River", first] + declared, Int32(0)), (["River", second, "--id", "id"], 1),
      (["River", second, "--id", "id", "--dry-run"], 1), (["River", first, "--id", "id", "--new-only"], 1),
    ] {
      let (here, there) = (try ProgramRun(["import", path] + words), try ProgramRun(["import", url] + words))
      #expect(here.status == status && there.status == status, "\(words): \(here.complaint) \(there.complaint)")
      #expect(there.output == here.output, "\(words)")
      #expect(there.complaint == here.complaint, "\(words)")
    }
    for words in [
      ["records", "River", "--json"], ["records", "River", "--index", "km", "--json"],
      ["records", "River", "--index", "country", "--equal", "CH", "--json"], ["describe", "River"],
      ["diff", "#1", "head"],
    ] {
      let (here, there) = (
        try ProgramRun([words[0], path] + words[1...]), try ProgramRun([words[0], url] + words[1...])
      )
      #expect(there.output == here.output && there.status == 0, "\(words): \(there.complaint)")
    }
    #expect(try ProgramRun(["verify", url]).status == 0)
    // And people with psql have a view of it.
    let schema = url.split(separator: "=").last.map(String.init) ?? ""
    #expect(server.query("select document->>'name' from \(schema).\"River\" where identifier = 5") == ["Rhône"])
    // What a server cannot take is a sentence that names the record; the others are there.
    let long = String(repeating: "x", count: 1_200)
    let wide = try folder.file("wide.jsonl", #"{"id":"a"}"# + "\n" + #"{"id":"\#(long)"}"#)
    let refused = try ProgramRun(["import", url, "Wide", wide, "--id", "id"])
    #expect(
      refused.status == 1 && refused.complaint.contains("longer than the 1000"), "\(refused.complaint.prefix(300))")
    #expect(try ProgramRun(["records", url, "Wide", "--count"]).output == "1\n")
  }

  @Test("compact prunes on a server what it squashes in a file; verify names an entry that is not right, and where")
  func keeping() throws {
    let folder = try TemporaryFolder()
    let server = try #require(TestServer.shared)
    let path = try filled(folder)
    let schema = TestServer.newSchema()
    let url = server.location(schema)
    #expect(try ProgramRun(["copy", path, url]).status == 0)
    let records = try ProgramRun(["records", url, "River", "--json"]).output
    let pinned = try ProgramRun(["records", url, "River", "--at", "before", "--json"]).output
    let estimate = try ProgramRun(["compact", url, "--keep", "3", "--dry-run", "--json"]).objects.first
    let done = try ProgramRun(["compact", url, "--keep", "3", "--json"])
    #expect(done.status == 0, "\(done.complaint)")
    // The newest three, and the one with a name.
    let kept = try ProgramRun(["history", url, "--json"]).objects.compactMap { $0["commit"] as? Int }
    #expect(done.objects.first?["commitsKept"] as? Int == 4, "\(done.output)")
    #expect(estimate?["commitsPruned"] as? Int != nil)
    #expect(kept.count == 3 || kept.count == 4, "\(kept)")
    #expect(try ProgramRun(["records", url, "River", "--json"]).output == records)
    #expect(try ProgramRun(["records", url, "River", "--at", "before", "--json"]).output == pinned)
    let gone = try ProgramRun(["records", url, "River", "--at", "#1"])
    #expect(gone.status == 1 && gone.complaint.contains("#1"), "\(gone.complaint)")
    // The versions of a record are those that a file has then.
    #expect(try ProgramRun(["compact", path, "--keep", "3"]).status == 0)
    for verb in ["history", "blame"] {
      for river in 2...3 {
        func versions(_ place: String) throws -> [String] {
          let run = try ProgramRun([verb, place, "River", "\(river)", "--json"])
          #expect(run.status == 0, "\(verb) \(river): \(run.complaint)")
          return zip(run.objects, run.lines).filter { $0.0["deleted"] as? Bool != true }.map { version, line in
            let value = line.range(of: #""value""#).map { line[$0.lowerBound...] }
            return "\(version["commit"] ?? "") \(version["path"] ?? "") \(value ?? "")"
          }
        }
        #expect(try versions(url) == versions(path))
      }
    }
    #expect(try ProgramRun(["compact", url, "--keep", "soon"]).status == 2)
    let clean = try ProgramRun(["verify", url])
    #expect(clean.status == 0 && clean.output.contains("clean"), "\(clean.output)")
    // Somebody takes an entry of an index away.
    let tree = try #require(
      server.query("select tree from \(schema).tree where died > 1000000 and encode(name, 'escape') like '%km'").first)
    #expect(
      server.psql(
        "delete from \(schema).current where ctid = (select min(ctid) from \(schema).current where tree = \(tree))")
        == 0)
    let damaged = try ProgramRun(["verify", url])
    #expect(damaged.status == 3 && damaged.output.contains("km"), "\(damaged.output) \(damaged.complaint)")
  }

  @Test("info and verify say once that the newest date is ahead, of a server as of a file")
  func clockAhead() throws {
    let folder = try TemporaryFolder()
    let path = try filled(folder)
    let day: Int64 = 86_400_000_000_000
    do {
      let file = try FileStore.open(at: path, options: StoreOptions())
      let transaction = try file.beginBlocking()
      try transaction.commit(CommitInfo(date: wallClock() + 400 * day, action: "ahead", names: ["ahead": 0]))?.wait()
      try file.close()
    }
    let url = try #require(TestServer.shared).location()
    #expect(try ProgramRun(["copy", path, url]).status == 0)
    for store in [path, url] {
      for verb in ["info", "verify"] {
        let run = try ProgramRun([verb, store])
        #expect(run.status == 0, "\(verb) \(store): \(run.complaint)")
        let notes = run.lines.filter { $0.contains("after this computer's clock") }
        #expect(notes.count == 1, "\(verb) \(store): \(run.output)")
      }
    }
  }

  @Test(
    "programs that are killed while they write leave each change whole or not at all, and what they acknowledged is there"
  )
  func kills() throws {
    let folder = try TemporaryFolder()
    let server = try #require(TestServer.shared)
    let url = server.location()
    let first = try folder.file("first.jsonl", Self.rivers)
    #expect(
      try ProgramRun([
        "import", url, "River", first, "--id", "id", "--index", "km=km", "--index", "country=countries:many-to-many",
      ]).status == 0)
    let rounds = ProcessInfo.processInfo.environment["STRATA_SOAK"] == nil ? 40 : 200
    var acknowledged: Set<Int> = [1, 2, 3]
    var tried = acknowledged
    var random = SeededGenerator(seed: 23)
    // How long one takes that is left alone, in microseconds.
    let clock = ContinuousClock()
    var put: ProgramRun?
    let alone = try clock.measure {
      put = try ProgramRun(["put", url, "River"], input: #"{"id":4,"name":"Ticino","km":248,"countries":["CH","IT"]}"#)
    }
    #expect(put?.status == 0)
    acknowledged.insert(4)
    tried.insert(4)
    let longest = Int(alone / .microseconds(1)) + 1
    for id in 10..<(10 + rounds) {
      // Several rows, each with its entries: they come together or not at all.
      let rows = (0..<20).map { #"{"id":\#(id * 100 + $0),"name":"River \#(id)","km":\#(id),"countries":["CH","DE"]}"# }
      let file = try folder.file("rows-\(id).jsonl", rows.joined(separator: "\n"))
      let program = try #require(
        ChildProgram.start(ProgramRun.program.path, ["import", url, "River", file, "--id", "id"]))
      usleep(UInt32(Int.random(in: 0...longest, using: &random)))
      kill(program, SIGKILL)
      var status: Int32 = 0
      while waitpid(program, &status, 0) < 0, errno == EINTR {}
      let ids = (0..<20).map { id * 100 + $0 }
      tried.formUnion(ids)
      if status == 0 { acknowledged.formUnion(ids) }
    }
    func identifiers(_ words: [String]) throws -> [Int] {
      let run = try ProgramRun(["records", url, "River", "--json"] + words)
      #expect(run.status == 0, "\(run.complaint)")
      return run.objects.compactMap { ($0["id"] as? Int) ?? ($0["id"] as? String).flatMap { Int($0) } }
    }
    let there = try identifiers([])
    #expect(Set(there).isSuperset(of: acknowledged) && Set(there).isSubset(of: tried))
    for id in 10..<(10 + rounds) { #expect([0, 20].contains(there.count { $0 / 100 == id }), "import \(id)") }
    #expect(try identifiers(["--index", "km"]).sorted() == there.sorted())
    let verified = try ProgramRun(["verify", url])
    #expect(verified.status == 0, "\(verified.output)")
  }

  @Test("what changes a store does on the server what it does to the file")
  func writing() throws {
    let folder = try TemporaryFolder()
    let path = try filled(folder)
    let url = try #require(TestServer.shared).location()
    #expect(try ProgramRun(["copy", path, url]).status == 0)
    for (words, input) in [
      (["put", "River"], #"{"id":2,"name":"Aare","km":291,"countries":["CH","LI"]}"#),
      (["put", "River"], #"{"id":7,"name":"Reuss","km":164,"countries":["CH"]}"#), (["delete", "River", "4"], ""),
      (["delete", "River", "99"], ""), (["undo"], ""), (["redo"], ""), (["pin", "now"], ""), (["restore", "#2"], ""),
      (["undo"], ""), (["restore", "#0"], ""), (["records", "River", "--count"], ""), (["history", "River", "2"], ""),
      (["undo"], ""), (["put", "River"], "{"),
    ] {
      let (here, there) = (
        try ProgramRun([words[0], path] + words[1...], input: input),
        try ProgramRun([words[0], url] + words[1...], input: input)
      )
      #expect(there.status == here.status, "\(words): \(there.complaint) \(here.complaint)")
    }
    for words in [
      ["records", "River", "--json"], ["records", "River", "--index", "km", "--json"],
      ["records", "River", "--index", "country", "--equal", "CH", "--json"], ["get", "River", "2"],
      ["history", "River", "2"], ["diff", "now", "head", "--json"], ["records", "Sea", "--count"],
    ] {
      let (here, there) = (
        try ProgramRun([words[0], path] + words[1...]), try ProgramRun([words[0], url] + words[1...])
      )
      #expect(there.status == 0, "\(words): \(there.complaint)")
      if words[0] != "history" { #expect(there.output == here.output, "\(words)") }
      #expect(there.output.split(separator: "\n").count == here.output.split(separator: "\n").count, "\(words)")
    }
    // And what came of it is a sound store.
    let back = folder.path("Back.strata")
    #expect(try ProgramRun(["copy", url, back]).status == 0)
    let verified = try ProgramRun(["verify", back])
    #expect(verified.status == 0, "\(verified.output) \(verified.complaint)")
  }

  @Test("a role that may only read gets a sentence, and changes nothing")
  func readOnly() throws {
    let folder = try TemporaryFolder()
    let server = try #require(TestServer.shared)
    let path = try filled(folder)
    let schema = TestServer.newSchema()
    #expect(try ProgramRun(["copy", path, server.location(schema)]).status == 0)
    #expect(
      server.psql("grant usage on schema \(schema) to reader; grant select on all tables in schema \(schema) to reader")
        == 0)
    let url = server.location(schema, user: "reader")
    #expect(try ProgramRun(["records", url, "River", "--count"]).status == 0)
    let run = try ProgramRun(["delete", url, "River", "2"])
    #expect(run.status == 1 && run.complaint.contains("may not write"), "\(run.complaint)")
    // So does the browser, and its pane of remotes says what to do instead.
    let screen = folder.path("screen")
    func shown(_ keys: String, _ url: String) throws -> String {
      let script = try folder.file("script", keys)
      let run = try ProgramRun([url, "River", "--script", script, "--size", "120x30", "--dump-screen", screen])
      #expect(run.status == 0, "\(run.complaint)")
      return (try? String(contentsOfFile: screen, encoding: .utf8)) ?? ""
    }
    let edited = try shown("keys e", url)
    #expect(edited.contains("RO") && edited.contains("may not write"), "\(edited)")
    let remotes = try shown("keys 7", server.location(schema))
    #expect(remotes.contains("strata clone URL PATH"), "\(remotes)")
    #expect(try shown("keys 7 i", server.location(schema)).contains("keeps no remotes"))
  }

  @Test(
    "a URL that is wrong, a server that is not there, a wrong password: a status and a sentence without the password")
  func badInput() throws {
    let server = try #require(TestServer.shared)
    for (url, status, part) in [
      ("postgres://ada:hush@db:port/x", Int32(2), "a port is a number"),
      ("postgres://ada:hush@/x?host=\(server.folder)/nowhere&wait=0", 1, "no connection"),
      (
        "postgres://locked:hush@/postgres?host=\(server.folder)&port=\(server.port)", 1,
        "password authentication failed"
      ),
      (server.location(), 1, "there is no store in schema"),
    ] {
      for words in [["info", url], ["copy", url, "/nonexistent/x"], ["records", url, "City"]] {
        let run = try ProgramRun(words)
        #expect(run.status == status, "\(words): \(run.complaint)")
        #expect(run.complaint.contains(part), "\(run.complaint)")
        #expect(!(run.complaint + run.output).contains("hush"))
        #expect(run.complaint.split(separator: "\n").count == 1)
      }
    }
  }

  @Test("the browser shows a store on a server")
  func browser() throws {
    let folder = try TemporaryFolder()
    let path = try filled(folder)
    let url = try #require(TestServer.shared).location().replacing("strata@", with: "strata:hush@")
    #expect(try ProgramRun(["copy", path, url]).status == 0)
    let screen = folder.path("screen")
    let script = try folder.file("script", "")
    let run = try ProgramRun([url, "River", "2", "--script", script, "--dump-screen", screen])
    #expect(run.status == 0, "\(run.complaint)")
    let text = (try? String(contentsOfFile: screen, encoding: .utf8)) ?? ""
    #expect(text.contains("Aare"), "\(text)")
    // The title is the database and the schema.
    #expect(text.contains("postgres/\(url.split(separator: "=").last ?? "")"), "\(text)")
    #expect(!text.contains("hush") && !text.contains("host="))
  }
}
