import CodableDatastore
import Foundation
import StrataEngine
import Testing

@Suite("The demo")
struct DemoTests {
  @Test("a program without the sample's files says that, and not that it writes the sample")
  func missingFiles() throws {
    let folder = try TemporaryFolder()
    let program = folder.url.appending(path: "strata")
    try FileManager.default.copyItem(at: ProgramRun.program, to: program)
    for words in [[], ["--entities"]] {
      let run = try ProgramRun(["demo", folder.path("Atlas.strata")] + words, program: program)
      #expect(run.status == 1 && run.complaint.hasPrefix("strata: the sample's files"), "\(run.complaint)")
    }
  }

  @Test("another file of cities is an object or lines, whatever ends and blank lines it has")
  func otherCities() throws {
    let folder = try TemporaryFolder()
    let city = """
      {"geonameid":7,"name":"Aarau","latitude":47.4,"longitude":8,"countrycode":"CH","population":21000,\
      "timezone":"Europe/Zurich","admin1code":"AG","alternatenames":[]}
      """
    let script = try folder.file("look", "resize 80x24\n")
    for (place, text) in [city, "\n\n\(city)\r\n \n", #"{"7":\#(city)}"#, #"{"7":\#(city)}"# + "\n"].enumerated() {
      let path = folder.path("\(place).strata")
      let file = try folder.file("cities", text)
      let run = try ProgramRun(["demo", path, "--cities", file, "--script", script])
      #expect(run.status == 0, "\(run.complaint)")
      #expect(try ProgramRun(["records", path, "City", "--count"]).output == "1\n", "\(text)")
    }
    let none = try ProgramRun(["demo", folder.path("x"), "--cities", folder.file("none", " \n"), "--script", script])
    #expect(none.status == 1 && none.complaint.contains("holds no documents"), "\(none.complaint)")
  }

  @Test("the sample has all its commits, patches of nodes, and compressed cities")
  func sample() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Atlas.strata")
    let script = try folder.file("look", "resize 120x40\nkeys j j\n")
    let run = try ProgramRun(["demo", path, "--script", script])
    #expect(run.status == 0, "\(run.complaint)")
    let store = try FileStore.open(at: path, options: StoreOptions())
    #expect(store.has(.nodeDeltas) && store.has(.compressedValues))
    try store.close()
    // Its indexes have no declared rules, but are proven while one looks at it: an order is there at once, and the tour goes on.
    let tour = try folder.file("tour", "resize 120x40\n: tour\nkeys Enter 2\n: sort population\nkeys j (\n")
    let screen = folder.path("screen")
    #expect(try ProgramRun(["demo", path, "--script", tour, "--dump-screen", screen]).status == 0)
    let shown = try String(contentsOfFile: screen, encoding: .utf8)
    #expect(shown.contains("Tour 3 of 6") && shown.contains("City by population"), "\(shown)")
    let datastores = try #require(
      try ProgramRun(["info", path, "--json"]).objects.first?["datastores"] as? [[String: Any]])
    let share = try #require(datastores.first { $0["key"] as? String == "City" }?["values"] as? Double)
    #expect(share < 0.6)
    // The countries, a commit for each country that has cities, and the warm-up.
    #expect(try ProgramRun(["history", path, "--json"]).lines.count == 173)
    #expect(try ProgramRun(["verify", path]).status == 0)
    // A person's own file beside it is not removed with the sample.
    let own = try folder.file("Atlas.strata/notes.txt", "mine")
    let again = try ProgramRun(["demo", path, "--again", "--script", script])
    #expect(again.status == 1 && again.complaint.contains("notes.txt"), "\(again.complaint)")
    #expect(try String(contentsOfFile: own, encoding: .utf8) == "mine")
    try FileManager.default.removeItem(atPath: own)
    #expect(try ProgramRun(["demo", path, "--again", "--script", script]).status == 0)
    // One that cannot be written, as on a full disk, leaves the sample as it is, and nothing beside it.
    let full = try ProgramRun(script: "ulimit -f 100; $STRATA demo \(path) --again --script \(script)")
    #expect(full.status == 1 && full.complaint.contains("no room"), "\(full.complaint)")
    #expect(try ProgramRun(["history", path, "--json"]).lines.count == 173)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
    #expect(names.filter { $0.hasPrefix("Atlas") } == ["Atlas.strata"])
  }
}
