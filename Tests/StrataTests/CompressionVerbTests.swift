import Foundation
import Testing

@Suite("Verbs that compress values")
struct CompressionVerbTests {
  private func rivers(_ folder: TemporaryFolder) throws -> String {
    let lines = (1...4_000).map {
      #"{"id":\#($0),"name":"river \#($0)","km":\#($0 % 977),"basin":"Rhine","mouth":"North Sea","countries":["CH","DE"]}"#
    }
    return try folder.file("rivers.jsonl", lines.joined(separator: "\n") + "\n")
  }

  private func bytes(_ path: String) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: path + "/data")[.size] as? Int ?? 0
  }

  private func values(_ path: String) throws -> Double? {
    let datastores = try ProgramRun(["info", path, "--json"]).objects.first?["datastores"] as? [[String: Any]]
    return datastores?.first?["values"] as? Double
  }

  @Test("values are compressed by compact and by import, info says how far, and they are the same records")
  func compressing() throws {
    let folder = try TemporaryFolder()
    let file = try rivers(folder)
    let path = folder.path("Rivers.strata")
    #expect(try ProgramRun(["import", path, "River", file]).status == 0)
    let plain = try ProgramRun(["export", path, "River"]).output
    #expect(try values(path) == nil)
    #expect(try ProgramRun(["compact", path, "--keep", "1"]).status == 0)
    let before = try bytes(path)
    let run = try ProgramRun(["compact", path, "River", "--compress", "--keep", "1"])
    #expect(run.status == 0, "\(run.complaint)")
    #expect(try bytes(path) < before)
    let share = try #require(try values(path))
    #expect(share > 0 && share < 0.875)
    let text = try #require(try ProgramRun(["info", path]).output.firstMatch(of: /\n  values +(0\.\d\d)×\n/)?.1)
    #expect(abs(try #require(Double(text)) - share) < 0.006)
    #expect(try ProgramRun(["export", path, "River"]).output == plain)
    #expect(try ProgramRun(["verify", path]).status == 0)
    // It stays in force.
    #expect(try ProgramRun(["compact", path]).status == 0)
    #expect(try values(path) != nil)

    let other = folder.path("Other.strata")
    #expect(try ProgramRun(["import", other, "River", file, "--compress"]).status == 0)
    #expect(try values(other) != nil)
    #expect(try ProgramRun(["export", other, "River"]).output == plain)

    #expect(try ProgramRun(["compact", path, "--no-compress"]).status == 0)
    #expect(try values(path) == nil)
    #expect(try ProgramRun(["export", path, "River"]).output == plain)
    #expect(try ProgramRun(["verify", path]).status == 0)
  }

  @Test("an import that writes nothing compresses nothing")
  func refusedImport() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Rivers.strata")
    #expect(try ProgramRun(["import", path, "River", folder.file("one.jsonl", #"{"id":1,"km":2}"#)]).status == 0)
    let history = try ProgramRun(["history", path]).output
    let poorer = try ProgramRun(["import", path, "River", folder.file("poorer.csv", "id,name\n1,Aare\n"), "--compress"])
    #expect(poorer.status == 1 && poorer.complaint.contains("--merge keeps them"), "\(poorer.complaint)")
    #expect(try ProgramRun(["history", path]).output == history)
  }

  @Test("what makes no sense is refused as usage, and a datastore that is not there by its name")
  func refusals() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Rivers.strata")
    #expect(try ProgramRun(["import", path, "River", try folder.file("one.jsonl", #"{"id":1}"#)]).status == 0)
    for words in [["--compress", "--no-compress"], ["River"], ["--compress", "--dry-run"]] {
      #expect(try ProgramRun(["compact", path] + words).status == 2)
    }
    #expect(try ProgramRun(["compact", path, "Lake", "--compress"]).status == 1)
  }
}
