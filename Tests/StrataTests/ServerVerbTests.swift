import Foundation
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
    #expect(file.status == 1 && file.complaint.contains("is there already"))
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
    // What wants a file says so.
    for words in [
      ["merge", url, "x"], ["import", url, "River", path, "--entities"], ["salvage", url, folder.path("Saved.strata")],
    ] {
      let run = try ProgramRun(words)
      #expect(run.status != 0 && run.status < 5, "\(words)")
      #expect(!run.complaint.isEmpty, "\(words)")
    }
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
  }

  @Test(
    "a URL that is wrong, a server that is not there, a wrong password: a status and a sentence without the password")
  func badInput() throws {
    let server = try #require(TestServer.shared)
    for (url, status, part) in [
      ("postgres://ada:hush@db:port/x", Int32(2), "a port is a number"),
      ("postgres://ada:hush@/x?host=\(server.folder)/nowhere", 1, "no connection"),
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
    #expect(!text.contains("hush"))
  }
}
