import Foundation
import StrataDocuments
import Testing

/// The nine jobs of a person at the browser, each as a script of keys in `Jobs`. The screen that it ends in is compared with a loop over
/// the records.
@Suite("The nine jobs")
struct NineJobsTests {
  /// A store of 300 cities and all countries with four commits, and its records as they were imported.
  private struct Sample {
    let folder: TemporaryFolder
    var path: String { folder.path("Atlas.strata") }

    static let cities = lines("cities").prefix(300)
    static let countries = lines("countries")[...]
    static let counts = [2_600_000, 2_700_000]

    /// What a city is counted anew: Mogadishu.
    static let counted = 53_654

    init() throws {
      folder = try TemporaryFolder()
      for (datastore, documents, options) in [
        ("City", Self.cities, ["--id", "geonameid", "--index", "name=name", "--index", "population=population"]),
        ("Country", Self.countries, ["--id", "iso"]),
      ] {
        let file = try folder.file("\(datastore).jsonl", documents.map(\.compactJSON).joined(separator: "\n"))
        try run(["import", path, datastore, file] + options)
      }
      for count in Self.counts {
        var city = try #require(Self.cities.first { Self.identifier($0) == Self.counted })
        city = try city.setting(DocumentPath(parsing: ".population"), to: .number(NumberText(count)))
        try run(["put", path, "City", "--name", "count \(count)"], input: city.compactJSON)
      }
    }

    @discardableResult
    func run(_ words: [String], input: String = "") throws -> ProgramRun {
      let run = try ProgramRun(words, input: input, environment: ["XDG_STATE_HOME": folder.path("state")])
      #expect(run.status == 0, "\(words): \(run.complaint)")
      return run
    }

    /// The cities as they are now, by identifier.
    func records() throws -> [Document] {
      try run(["export", path, "City", "--format", "jsonl"]).lines.map { try JSONParser.parse($0) }
    }

    /// Plays a job, and returns the lines of the screen at its end.
    func play(_ job: String, environment: [String: String] = [:]) throws -> [String] {
      let keys = try String(contentsOf: NineJobsTests.folder.appending(path: "Jobs/\(job).keys"), encoding: .utf8)
      let script = try folder.file("\(job).keys", keys.replacing("FOLDER", with: folder.url.path))
      let screen = folder.path("screen.txt")
      let run = try ProgramRun(
        [path, "--script", script, "--dump-screen", screen],
        environment: ["XDG_STATE_HOME": folder.path("state")].merging(environment) { $1 })
      #expect(run.status == 0, "\(run.complaint)")
      return try String(contentsOfFile: screen, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    static func identifier(_ city: Document) -> Int { number(city, "geonameid") }

    static func number(_ document: Document, _ name: String) -> Int {
      if case .number(let number)? = document[member: name] { Int(number.text) ?? 0 } else { 0 }
    }

    private static func lines(_ name: String) -> [Document] {
      let file = NineJobsTests.folder.appending(path: "../../Sources/StrataAtlas/Resources/\(name).jsonl")
      let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
      return text.split(separator: "\n").compactMap { try? JSONParser.parse(String($0)) }
    }
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

  /// The digits of the lines, without separators, so that a number is found however it is written.
  private func digits(_ line: String) -> String { line.filter { !" \u{202F}\u{A0}".contains($0) } }

  @Test("first contact: the datastores with their counts, the first records, and where help is")
  func firstContact() throws {
    let screen = try Sample().play("first-contact")
    for (name, count) in [("City", Sample.cities.count), ("Country", Sample.countries.count)] {
      #expect(
        screen.contains { $0.contains(name) && $0.contains(" \(count)│") || $0.contains(" \(count)┃") }, "\(screen)")
    }
    for (position, city) in Sample.cities.sorted(by: { Sample.identifier($0) < Sample.identifier($1) }).enumerated() {
      guard position < 35 else { break }
      #expect(screen[3 + position].contains(" \(Sample.identifier(city)) "), "\(screen[3 + position])")
    }
    #expect(screen.last?.contains("? help") == true)
  }

  @Test("browsing: a record near the end is shown with each of its fields")
  func browsing() throws {
    let screen = try Sample().play("browsing")
    let city = Sample.cities.sorted { Sample.identifier($0) < Sample.identifier($1) }[Sample.cities.count - 3]
    guard case .object(let members) = city else { return }
    for member in members {
      let line = try #require(screen.first { $0.contains(" \(member.name) ") }, "\(member.name) in \(screen)")
      if member.value.isLeaf { #expect(line.contains(member.value.compactJSON), "\(line)") }
    }
  }

  @Test("ranges: the count and the order of an index's range are those of a loop")
  func ranges() throws {
    let screen = try Sample().play("ranges")
    let inside = Sample.cities.filter { 100_000..<200_000 ~= Sample.number($0, "population") }
      .sorted { Sample.number($0, "population") < Sample.number($1, "population") }
    #expect(screen.contains { $0.contains("row 1 of \(inside.count) ") }, "\(screen)")
    for (line, city) in zip(screen.dropFirst(3), inside.prefix(30)) {
      #expect(digits(line).contains("\(Sample.number(city, "population"))"), "\(line)")
    }
  }

  @Test("history: each value that a field has had, with its commit")
  func history() throws {
    let screen = try Sample().play("history")
    let first = try #require(Sample.cities.first { Sample.identifier($0) == Sample.counted })
    let values = [Sample.number(first, "population")] + Sample.counts
    let rows = screen.dropFirst().filter { $0.contains(" #") && $0.contains("count ") || $0.contains("import City") }
    #expect(rows.count == values.count, "\(screen)")
    for (row, value) in zip(rows, values.reversed()) { #expect(digits(row).contains("\(value)"), "\(row)") }
  }

  @Test("editing: what was typed and pasted is in the store, and nothing else has changed")
  func editing() throws {
    let sample = try Sample()
    let before = try sample.records()
    let screen = try sample.play("editing")
    #expect(screen.last?.contains("committed #5 “mended”") == true, "\(screen)")
    var expected = before
    for (place, name) in [(5, "Xamar"), (before.count - 2, "First"), (before.count - 1, "Second")] {
      expected[place] = try expected[place].setting(DocumentPath(parsing: ".name"), to: .string(name))
    }
    #expect(try sample.records() == expected)
    #expect(try sample.run(["verify", sample.path]).status == 0)
  }

  @Test("watching a reindex: the cockpit says how many entries were written, and that it is complete")
  func reindex() throws {
    let sample = try Sample()
    let screen = try sample.play("reindex")
    #expect(screen.contains { $0.contains("population") && $0.contains("\(Sample.cities.count)") }, "\(screen)")
    #expect(screen.contains { $0.contains("commit #5") || $0.contains("HEAD #5") }, "\(screen)")
    let along = try sample.run(["records", sample.path, "City", "--index", "population", "--json"]).objects
    let expected = try sample.records().map { Sample.number($0, "population") }.sorted()
    #expect(along.compactMap { ($0["value"] as? [String: Any])?["population"] as? Int } == expected)
  }

  @Test("import and export: what came in goes out again through a filter, as a loop keeps it")
  func exchange() throws {
    let sample = try Sample()
    let rows = (1...9).map { "\($0),Hamlet \($0),\($0 * 25)" }
    _ = try sample.folder.file("new.csv", "geonameid,name,population\n" + rows.joined(separator: "\n") + "\n")
    let screen = try sample.play("exchange")
    let kept = try sample.records().filter { Sample.number($0, "population") < 150 }
    #expect(kept.count == 5, "\(screen)")
    let written = try String(contentsOfFile: sample.folder.path("out.jsonl"), encoding: .utf8).split(separator: "\n")
    #expect(try written.map { try JSONParser.parse(String($0)) } == kept, "\(screen)")
  }

  @Test("look: signs tell marked, changed and deleted records in each theme, and the text is the same in all of them")
  func look() throws {
    let sample = try Sample()
    let config = sample.folder.path("config")
    try FileManager.default.createDirectory(atPath: config + "/strata", withIntermediateDirectories: true)
    var screens: Set<[String]> = []
    for theme in ["auto", "standard", "refined", "dark", "light", "contrast", "plain"] {
      try Data("theme = \(theme)\n".utf8).write(to: URL(filePath: config + "/strata/config"))
      try? FileManager.default.removeItem(atPath: sample.folder.path("state"))
      screens.insert(try sample.play("look", environment: ["XDG_CONFIG_HOME": config]))
    }
    #expect(screens.count == 1)
    let screen = try #require(screens.first)
    let identifiers = Sample.cities.map(Sample.identifier).sorted()
    for (position, identifier) in identifiers.prefix(30).enumerated() {
      let rows = screen.compactMap { $0.components(separatedBy: "┃").dropFirst().first }
      let line = try #require(rows.first { $0.contains(" \(identifier) ") }, "\(identifier)")
      let head = line.components(separatedBy: " \(identifier) ")[0]
      #expect(head.contains("●") == (position == 1), "\(line)")
      #expect(head.contains("~") == (position == 2), "\(line)")
      #expect(head.contains("-") == (position == 3), "\(line)")
    }
  }

  @Test("robustness: no size, text or key harms the store or the screen")
  func robustness() throws {
    let sample = try Sample()
    let before = try sample.records()
    let screen = try sample.play("robustness")
    let identifiers = Sample.cities.map(Sample.identifier).sorted()
    #expect(screen.contains { $0.contains("▶") && $0.contains(" \(identifiers[39]) ") }, "\(screen)")
    #expect(screen.contains { $0.contains("row 40 of 300") }, "\(screen)")
    #expect(try sample.records() == before && sample.run(["verify", sample.path]).status == 0)
  }
}
