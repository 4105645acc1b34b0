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
        try put(Self.counted, "population", .number(NumberText(count)), "count \(count)")
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

    /// Plays a job on the store, or on another file, and returns the lines of the screen at its end.
    func play(_ job: String, on file: String? = nil, environment: [String: String] = [:]) throws -> [String] {
      let keys = try String(contentsOf: NineJobsTests.folder.appending(path: "Jobs/\(job).keys"), encoding: .utf8)
      let script = try folder.file("\(job).keys", keys.replacing("FOLDER", with: folder.url.path))
      let run = try ProgramRun(
        [file ?? path, "--script", script, "--dump-screen", folder.path("screen.txt")],
        environment: ["XDG_STATE_HOME": folder.path("state")].merging(environment) { $1 })
      #expect(run.status == 0, "\(run.complaint)")
      return try screen("screen")
    }

    /// The lines of a screen that a job saved on its way.
    func screen(_ name: String) throws -> [String] {
      try String(contentsOfFile: folder.path("\(name).txt"), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Puts a city with another value of a member, as another program does.
    func put(_ identifier: Int, _ member: String, _ value: Document, _ name: String) throws {
      var city = try #require(try records().first { Self.identifier($0) == identifier })
      city = try city.setting(DocumentPath(parsing: ".\(member)"), to: value)
      try run(["put", path, "City", "--name", name], input: city.compactJSON)
    }

    static func identifier(_ city: Document) -> Int { number(city, "geonameid") }

    static func number(_ document: Document, _ name: String) -> Int {
      if case .number(let number)? = document[member: name] { Int(number.text) ?? 0 } else { 0 }
    }

    static func text(_ document: Document, _ name: String) -> String {
      if case .string(let text)? = document[member: name] { text } else { "" }
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
    let sample = try Sample()
    let screen = try sample.play("first-contact")
    #expect(
      try sample.screen("tour").contains { $0.contains("Tour 2 of 6") } && !screen.contains { $0.contains("Tour") })
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

  @Test("browsing: the country that a city refers to, and a record near the end with each of its fields")
  func browsing() throws {
    let sample = try Sample()
    let screen = try sample.play("browsing")
    let counted = try #require(Sample.cities.first { Sample.identifier($0) == Sample.counted })
    let country = try #require(Sample.countries.first { $0[member: "iso"] == counted[member: "countrycode"] })
    let name = try #require(country[member: "name"]).compactJSON
    #expect(try sample.screen("country").contains { $0.contains("│  name ") && $0.contains(name) }, "\(name)")
    let city = Sample.cities.sorted { Sample.identifier($0) < Sample.identifier($1) }[Sample.cities.count - 3]
    guard case .object(let members) = city else { return }
    for member in members {
      let line = try #require(screen.first { $0.contains(" \(member.name) ") }, "\(member.name) in \(screen)")
      if member.value.isLeaf { #expect(line.contains(member.value.compactJSON), "\(line)") }
    }
  }

  @Test("ranges: the count and the order of an index's range, by its keys and by name, are those of a loop")
  func ranges() throws {
    let sample = try Sample()
    let narrower = try sample.play("ranges")
    let screen = try sample.screen("along"), names = try sample.screen("names")
    let inside = Sample.cities.filter { 100_000..<200_000 ~= Sample.number($0, "population") }
      .sorted { Sample.number($0, "population") < Sample.number($1, "population") }
    #expect(screen.contains { $0.contains("row 1 of \(inside.count) ") }, "\(screen)")
    for (line, city) in zip(screen.dropFirst(3), inside.prefix(30)) {
      #expect(digits(line).contains("\(Sample.number(city, "population"))"), "\(line)")
    }
    #expect(
      names.contains { $0.contains("row 1 of \(inside.count) ") && $0.contains("range 100000 ..< 200000") }, "\(names)")
    let byName = inside.sorted { Sample.text($0, "name") < Sample.text($1, "name") }
    for (line, city) in zip(names.dropFirst(3), byName.prefix(30)) {
      #expect(line.contains(" \(Sample.identifier(city)) "), "\(line)")
    }
    let fewer = inside.filter { 150_000..<160_000 ~= Sample.number($0, "population") }
    #expect(narrower.contains { $0.contains("row 1 of \(fewer.count) ") }, "\(narrower)")
  }

  @Test(
    "history: each value that a field has had with its commit, the store as it was, and the newest count taken back")
  func history() throws {
    let sample = try Sample()
    let before = try sample.records()
    let end = try sample.play("history")
    let screen = try sample.screen("values"), past = try sample.screen("before")
    let first = try #require(Sample.cities.first { Sample.identifier($0) == Sample.counted })
    let values = [Sample.number(first, "population")] + Sample.counts
    let rows = screen.dropFirst().filter { $0.contains(" #") && $0.contains("count ") || $0.contains("import City") }
    #expect(rows.count == values.count, "\(screen)")
    for (row, value) in zip(rows, values.reversed()) { #expect(digits(row).contains("\(value)"), "\(row)") }
    #expect(
      past[0].contains("AS OF #2") && past.contains { $0.contains(" population ") && $0.contains("\(values[0])") })
    #expect(end.last?.contains("600 entries, 300 records: 0 orphans, 0 missing") == true, "\(end)")
    let expected = try before.map { city in
      guard Sample.identifier(city) == Sample.counted else { return city }
      return try city.setting(DocumentPath(parsing: ".population"), to: .number(NumberText(Sample.counts[0])))
    }
    #expect(try sample.records() == expected)
  }

  @Test("editing: what was typed and pasted is in the store, and nothing else has changed")
  func editing() throws {
    let sample = try Sample()
    let before = try sample.records()
    let screen = try sample.play("editing")
    #expect(screen.last?.contains("committed #5 “mended”") == true, "\(screen)")
    var expected = before
    let marked = [19, 20].map { ($0, Sample.text(before[$0], "name").uppercased()) }
    for (place, name) in marked + [(5, "Xamar"), (before.count - 2, "First"), (before.count - 1, "Second")] {
      expected[place] = try expected[place].setting(DocumentPath(parsing: ".name"), to: .string(name))
    }
    #expect(try sample.records() == expected)
    #expect(try sample.run(["verify", sample.path]).status == 0)
  }

  @Test("watching a reindex: records that do not fit are mended where they stand, and the build goes on to its end")
  func reindex() throws {
    let sample = try Sample()
    let lost = [Sample.counted, 57_289]
    for identifier in lost { try sample.put(identifier, "latitude", "unknown", "lost \(identifier)") }
    let screen = try sample.play("reindex")
    for (name, sign) in [("failed", "E fix"), ("mended", "changed: a runs again")] {
      let rows = try sample.screen(name).filter { $0.contains(".latitude is \"unknown\", which is not a valid number") }
      #expect(rows.count == lost.count)
      for (row, identifier) in zip(rows, lost) {
        #expect(row.contains("City/\(identifier) ") && row.contains(sign), "\(row)")
      }
    }
    #expect(screen.contains { $0.contains("complete: commit #7") }, "\(screen)")
    let along = try sample.run(["records", sample.path, "City", "--index", "latitude", "--json"]).objects
    let expected = try sample.records().compactMap { Double($0[member: "latitude"]?.compactJSON ?? "") }.sorted()
    #expect(expected.contains(2.5) && expected.contains(-11.25) && expected.count == Sample.cities.count)
    #expect(along.compactMap { ($0["value"] as? [String: Any])?["latitude"] as? Double } == expected)
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

  @Test("a file of another program: one cell is changed, and all other bytes stay")
  func writtenAnew() throws {
    let sample = try Sample()
    let text = "\u{FEFF}id;name;price\r\n1;\"Anna \"\"A\"\"\";1.50\r\n2;Bob;N/A\r\n3;Zoë;0012\r\n"
    let file = try sample.folder.file("prices.csv", text)
    _ = try sample.play("anew", on: file)
    let expected = Data(text.replacing("Bob", with: "\"Bobby; jr.\"").utf8)
    #expect(try Data(contentsOf: URL(filePath: file)) == expected)
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
    let small = try sample.screen("small")
    for words in ["% share", "b group by", "g first", "t side by side"] {
      #expect(small.contains { $0.contains(words) }, "\(small)")
    }
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
    let tiny = try sample.screen("tiny").joined().split(separator: " ").joined(separator: " ")
    #expect(tiny.contains("make the window 40×10 or larger (it is 20×5); Q quits"), "\(tiny)")
    #expect(try sample.screen("odd").contains { $0.contains("~ City/\(identifiers[39])  é 👩") })
    #expect(try sample.records() == before && sample.run(["verify", sample.path]).status == 0)
  }
}
