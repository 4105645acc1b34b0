@testable import StrataAtlas
import CodableDatastore
import StrataModel
import Foundation
import StrataEngine
import Testing

@Suite("Verbs on references")
struct ReferenceVerbTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path("Atlas.strata") }

  /// Two countries and four cities, one of a country that is not there.
  init() async throws {
    folder = try TemporaryFolder()
    let persistence = try DiskPersistence(readWriteURL: folder.url.appending(path: "Atlas.strata"))
    let cities = CityFormat.datastore(in: persistence)
    let countries = CountryFormat.datastore(in: persistence)
    for (code, name, capital) in [("CH", "Switzerland", "Berne"), ("JP", "Japan", "Tokyo")] {
      try await countries.persist(Self.country(code, name, capital))
    }
    let rows = [(1, "Bern", "CH"), (2, "Zürich", "CH"), (3, "Tokyo", "JP"), (4, "Bern", "XX")]
    for (id, name, code) in rows { try await cities.persist(Self.city(id, name, code)) }
    try await persistence.close()
  }

  static func city(_ id: Int, _ name: String, _ country: String, _ population: Int = 1) -> City {
    City(
      geonameid: id, name: name, latitude: 0, longitude: 0, countrycode: country, population: population, timezone: "",
      admin1code: "", alternatenames: name == "Bern" ? ["Berne"] : [])
  }

  static func country(_ code: String, _ name: String, _ capital: String) -> Country {
    Country(
      iso: code, iso3: code + "X", isonumeric: 1, fips: "", geonameid: 1, name: name, capital: capital,
      continentcode: "EU", areakm2: 1, population: 1, tld: "", currencycode: "", currencyname: "", phone: "",
      postalcoderegex: "", languages: "", neighbours: "")
  }

  @Test("verify tells of references that dangle, and that is not damage")
  func verify() throws {
    let run = try ProgramRun(["verify", path])
    #expect(run.status == 0, "\(run.output)")
    #expect(
      run.lines.contains("note: City index country: 1 reference dangles: no such record in Country (4 names \"XX\")"),
      "\(run.output)")
    let json = try ProgramRun(["verify", path, "--json"])
    #expect(json.objects.contains { ($0["finding"] as? String)?.contains("1 reference dangles") == true })
    #expect(json.objects.last?["clean"] as? Bool == true)
  }

  @Test("who refers to a record is printed by the declared index, and an index that cannot tell says why")
  func references() throws {
    #expect(try ProgramRun(["references", path, "Country", "CH"]).lines == ["City 1  country", "City 2  country"])
    let dangling = try ProgramRun(["references", path, "Country", "XX", "--json"])
    #expect(dangling.objects.compactMap { $0["id"] as? Int } == [4])
    #expect(dangling.complaint.contains("Country has no record XX: what refers to it dangles"))
    let wrongType = try ProgramRun(["references", path, "Country", "CH", "--through", "population"])
    #expect(wrongType.status == 1)
    #expect(
      wrongType.complaint.contains("index population of City holds Int, and \"CH\" is none"), "\(wrongType.complaint)")
    let unknown = try ProgramRun(["references", path, "Country", "CH", "--through", "nothing"])
    #expect(unknown.status == 1)
    #expect(unknown.complaint.contains("no index nothing in any datastore; there are "), "\(unknown.complaint)")
    #expect(unknown.complaint.contains("population of City"), "\(unknown.complaint)")
    let undeclared = try ProgramRun(["references", path, "City", "1"])
    #expect(undeclared.status == 1)
    #expect(undeclared.complaint.contains("no index is declared as a reference to City"))
  }

  @Test("the life of a field that is not stored is refused with its name")
  func unknownField() throws {
    let run = try ProgramRun(["history", path, "City", "1", "--field", ".mayor"])
    #expect(run.status == 1 && run.lines.isEmpty)
    #expect(run.complaint.contains("no version of City 1 has a field .mayor"), "\(run.complaint)")
    #expect(try ProgramRun(["history", path, "City", "1", "--field", ".name"]).lines.count == 2)
  }

  @Test("a capital is the city of its country that has the name, by its first or another one, the largest of several")
  func capitals() async throws {
    let persistence = MemoryPersistence()
    let cities: CityFormat.Datastore = .JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in try decoder.decode(City.self, from: data) },
        .searchable: { decoder, data in try decoder.decode(City.self, from: data) },
      ])
    let rows = [(1, "Bern", "CH", 5), (2, "Tokyo", "JP", 8), (3, "Tokyo", "JP", 9), (4, "Tokyo", "US", 99)]
    for (id, name, code, population) in rows { try await cities.persist(Self.city(id, name, code, population)) }
    #expect(try await Self.country("CH", "Switzerland", "Berne").capitalCity(in: cities)?.id == 1)
    #expect(try await Self.country("JP", "Japan", "Tokyo").capitalCity(in: cities)?.id == 3)
    #expect(try await Self.country("AQ", "Antarctica", "").capitalCity(in: cities) == nil)
    #expect(try await Self.country("FR", "France", "Paris").capitalCity(in: cities) == nil)
    #expect(
      try await cities.follow(\.country, from: Self.city(9, "", "CH"), in: Self.countries(in: persistence))
        .map { $0?.iso } == [nil])
  }

  private static func countries(in persistence: MemoryPersistence) -> CountryFormat.Datastore {
    .JSONStore(
      persistence: persistence, migrations: [.first: { decoder, data in try decoder.decode(Country.self, from: data) }])
  }
}

@Suite("Entities from the program")
struct EntityVerbTests {
  private static let file = """
    {"entities":[
    {"type":"book","identifier":"book-7","name":"Dune","author":{"entity":"person-3"}},
    {"type":"person","identifier":"person-3","name":"Frank"}
    ]}
    """

  private func store() throws -> (folder: TemporaryFolder, path: String) {
    let folder = try TemporaryFolder()
    let path = folder.path("Library.strata")
    let run = try ProgramRun(
      ["import", path, "Notes", try folder.file("notes.json", Self.file), "--entities"])
    #expect(run.status == 0, "\(run.complaint)")
    return (folder, path)
  }

  @Test("who refers to an entity, and what dangles, is told of any datastore of entities")
  func references() throws {
    let (folder, path) = try store()
    defer { withExtendedLifetime(folder) {} }
    #expect(try ProgramRun(["references", path, "Notes", "person-3"]).lines == ["Notes book-7  target"])
    #expect(try ProgramRun(["verify", path]).lines.contains { $0.contains("dangle") } == false)
    _ = try ProgramRun(["delete", path, "Notes", "person-3"])
    let verified = try ProgramRun(["verify", path])
    #expect(verified.status == 0)
    #expect(verified.output.contains("1 reference dangles: no such record in Notes (book-7 names \"person-3\")"))
  }

  @Test("an entity is edited by its real type: indexes follow, and what is not an entity is refused with the place")
  func editing() throws {
    let (folder, path) = try store()
    defer { withExtendedLifetime(folder) {} }
    let record = try ProgramRun(["get", path, "Notes", "book-7"]).output
    let edited = record.replacing("\"Dune\"", with: "\"Dune Messiah\"").replacing("\"person-3\"", with: "\"person-4\"")
    let put = try ProgramRun(["put", path, "Notes", "-"], input: edited)
    #expect(put.status == 0, "\(put.complaint)")
    #expect(try ProgramRun(["references", path, "Notes", "person-4"]).lines == ["Notes book-7  target"])
    #expect(try ProgramRun(["references", path, "Notes", "person-3"]).lines.isEmpty)
    let found = try ProgramRun(["records", path, "Notes", "--index", "property", "--equal", "name=Dune Messiah"])
    #expect(found.lines.count == 1, "\(found.complaint)")
    let wrong = record.replacing("\"string\": \"Dune\"", with: "\"strange\": \"Dune\"")
    let refused = try ProgramRun(["put", path, "Notes", "-"], input: wrong)
    #expect(refused.status == 1)
    #expect(refused.complaint.contains("it does not decode as Entity"), "\(refused.complaint)")
    #expect(try ProgramRun(["verify", path]).status == 0)
  }

  @Test("entities are exported as of a commit, and options that do not go with them are refused")
  func exporting() throws {
    let (folder, path) = try store()
    defer { withExtendedLifetime(folder) {} }
    let first = try ProgramRun(["export", path, "Notes", "--entities"]).output
    _ = try ProgramRun(["delete", path, "Notes", "person-3"])
    #expect(try !ProgramRun(["export", path, "Notes", "--entities"]).output.contains("person-3\",\"datestamp"))
    #expect(try ProgramRun(["export", path, "Notes", "--entities", "--at", "head~1"]).output == first)
    for options in [["--where", "type = \"book\""], ["--format", "csv"], ["--since", "1"]] {
      #expect(try ProgramRun(["export", path, "Notes", "--entities"] + options).status == 2)
    }
    #expect(try ProgramRun(["export", path, "Notes", "--compact"]).status == 2)
    #expect(try ProgramRun(["export", path, "Notes", "--since", "1"]).status == 2)
  }

  @Test("while another program writes, entities are exported, and their import is refused with its name and status 4")
  func locked() throws {
    let (folder, path) = try store()
    let before = try ProgramRun(["export", path, "Notes", "--entities"]).output
    let writing = try EngineStore.open(path: path, program: "the app", author: "ada")
    let transaction = try writing.engine.beginBlocking()
    let more = try folder.file("more.json", #"{"entities":[{"type":"person","identifier":"person-9","name":"Eve"}]}"#)
    let refused = try ProgramRun(["import", path, "Notes", more, "--entities"])
    #expect(refused.status == 4, "\(refused.complaint)")
    #expect(refused.complaint.contains("the app"), "\(refused.complaint)")
    #expect(try ProgramRun(["export", path, "Notes", "--entities"]).output == before)
    transaction.cancel()
    writing.engine.releaseLock()
    #expect(try ProgramRun(["export", path, "Notes", "--entities"]).output == before)
    #expect(try ProgramRun(["import", path, "Notes", more, "--entities"]).status == 0)
  }

  @Test("entities come through a pipe as from a file, and the commit says from where")
  func piped() throws {
    let folder = try TemporaryFolder()
    let (path, file) = (folder.path("Piped.strata"), try folder.file("notes.json", Self.file))
    let run = try ProgramRun(script: "cat '\(file)' | \"$STRATA\" import '\(path)' Notes - --entities")
    #expect(run.status == 0 && run.output == "2 new, 0 changed, 0 unchanged\n", "\(run.complaint)")
    #expect(try ProgramRun(["history", path, "--json"]).objects.first?["action"] as? String == "import standard input")
  }

  @Test("a file of entities that is wrong is refused with its name and the place, and no store is made of it")
  func wrongFiles() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Wrong.strata")
    let deep = String(repeating: "[", count: 70) + String(repeating: "]", count: 70)
    for (entity, complaint) in [
      (#"{"type":"a","size":{"float":1}}"#, "entities[0].size.float: “float” is not a kind of value"),
      (#"{"type":"a","born":{"date":"2020-13-01"}}"#, "entities[0].born.date: “2020-13-01” is not a date"),
      (#"{"type":"a","size":NaN}"#, "line 1, column 33"),
      (#"{"type":"a","identifier":"x","deep":\#(deep)}"#, "lies deeper than 64 lists"),
      (#"{"type":"a","identifier":"x","":1}"#, "entities[0]: a property without a name"),
    ] {
      let file = try folder.file("wrong.json", #"{"entities":[\#(entity)]}"#)
      let run = try ProgramRun(["import", path, "Notes", file, "--entities"])
      #expect(run.status == 2, "\(run.complaint)")
      #expect(run.complaint.contains("\(file): ") && run.complaint.contains(complaint), "\(run.complaint)")
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test("the demo writes its entities once, and shows them by type and label")
  func demo() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("Countries.strata")
    let script = try folder.file("look", "resize 120x40\nkeys j j\n")
    let dump = folder.path("screen")
    for _ in 0..<2 {
      let run = try ProgramRun(["demo", "--entities", path, "--script", script, "--dump-screen", dump])
      #expect(run.status == 0, "\(run.complaint)")
    }
    let screen = try String(contentsOfFile: dump, encoding: .utf8)
    #expect(screen.contains("capital  → country"), "\(screen)")
    #expect(try ProgramRun(["history", path, "--json"]).lines.count == 6)
    let switzerland = try ProgramRun(["references", path, "Entities", "country-CH", "--json"])
    #expect(switzerland.objects.compactMap { $0["id"] as? String }.contains("country-LI"))
    #expect(try ProgramRun(["demo", "--entities", "--cities", "x", path]).status == 2)
  }
}
