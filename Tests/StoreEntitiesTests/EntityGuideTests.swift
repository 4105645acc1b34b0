import StrataAtlas
import CodableDatastore
import StoreEntities
import Foundation
import Testing

// What the guide "Records without a type" shows, run. `samples` sees to it that every block of its code stands here, line by line.

extension EntityKeys { var population: EntityKey { "population" } }

@Suite("The guide on entities")
struct EntityGuideTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  @Test("every sample of the guide is compiled here")
  func samples() throws {
    let compiled = lines(of: try String(contentsOf: URL(filePath: #filePath), encoding: .utf8))
    let guide = Self.root.appending(path: "Sources/StoreEntities/StoreEntities.docc/RecordsWithoutAType.md")
    let parts = try String(contentsOf: guide, encoding: .utf8).components(separatedBy: "```")
    #expect(parts.count > 15)
    for block in stride(from: 1, to: parts.count, by: 2) where parts[block].hasPrefix("swift\n") {
      let sample = lines(of: String(parts[block].dropFirst(6)))
      let isThere = compiled.indices.contains { compiled[$0...].starts(with: sample) }
      #expect(isThere, "\(sample.first ?? "")")
    }
  }

  private func lines(of text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  @Test("entities, references, types, changes, in and out")
  func guide() async throws {
    let (persistence, other) = (MemoryPersistence(), MemoryPersistence())
    let entities = EntityStore(persistence)
    try await entities.add(Entity("switzerland", type: "country", properties: ["name": "Switzerland", "area": 41_290]))
    try await entities.update("switzerland", ["population": 8_516_543])
    try await entities.remove("area", from: "switzerland")
    let country = try #require(try await entities.load("switzerland"))
    let people = country[\.population, as: Int.self]
    #expect(people == 8_516_543)
    do {
      try await entities.relate(
        (.identifier("switzerland"), "country"), "capital", to: (.name("Bern"), "capital"))
      let country = try #require(try await entities.load("switzerland"))
      let capital = try #require(try await entities.find(.name("Bern")))
      let capitals = try await entities.follow("capital", from: country)
      for try await entity in entities.load(referringTo: capital.id) { print(entity.label) }
      let lost = try await entities.dangling()
      #expect(capitals == [capital] && lost.isEmpty)
    }
    try await entities.declare("capital", conformsTo: "city")
    try await entities.declare("city", conformsTo: "place")
    let places = try await entities.load(type: "place")
    #expect(places.map(\.label) == ["Bern"])
    let task = Task {
      for try await change in try await entities.observe() {
        if case .changed(let entity, let keys) = change { print(entity.label, keys) }
      }
    }
    task.cancel()
    try await entities.update("switzerland", ["population": 8_600_000])
    for value in try await entities.past(of: "switzerland", "population") { print(value.date) }
    #expect(try await entities.past(of: "switzerland", "population").count == 1)
    let text = try await entities.exported(form: .compact, history: true)
    try await EntityStore(other).importing(text)
    #expect(try await EntityStore(other).exported(form: .compact, history: true) == text)
  }

  // MARK: The sample

  @Test("the sample is the real countries, refers to what is there, has a past, and its places are found")
  func sample() async throws {
    let atlas = try Sample(folder: Self.root.appending(path: "Sources/StrataAtlas/Resources").path)
    let (cities, countries) = (atlas.cities, atlas.countries)
    let persistence = MemoryPersistence()
    let entities = EntityStore(persistence)
    try await EntitySample(Sample(cities: cities, countries: countries)).write(to: entities)
    let spain = try await entities.find(.name("Spain"), type: "place")
    #expect(spain?.id == "country-ES")
    let all = try await entities.load(...).collectInstances(upTo: .infinity)
    #expect(Dictionary(grouping: all, by: \.type).mapValues(\.count)["country"] == countries.count)
    #expect(300..<1_000 ~= all.count)
    #expect(try await entities.dangling().isEmpty)
    for country in countries {
      let entity = try #require(all.first { $0.id == "country-\(country.iso)" })
      #expect(entity["name", as: String.self] == country.name)
      #expect(entity["population", as: Int.self] == country.population)
      let neighbours = try await entities.follow("neighbours", from: entity).compactMap { $0?["code", as: String.self] }
      let known = Set(countries.map(\.iso))
      #expect(neighbours == country.neighbours.split(separator: ",").map(String.init).filter(known.contains))
      if !country.currencycode.isEmpty {
        #expect(try await entities.follow("currency", from: entity).first??.label == country.currencyname)
      }
    }
    // Who refers to a currency is who has it.
    let euro = try await entities.load(referringTo: "currency-EUR").collectInstances(upTo: .infinity).map(\.id)
    #expect(euro == countries.filter { $0.currencycode == "EUR" }.map { "country-\($0.iso)" }.sorted())
    // A capital was a text before it was a city, and the city knows its country.
    let japan = try #require(all.first { $0.id == "country-JP" })
    let tokyo = try #require(try await entities.follow("capital", from: japan).first ?? nil)
    #expect(tokyo.type == "capital" && tokyo["name", as: String.self] == "Tokyo")
    #expect(try await entities.follow("country", from: tokyo) == [japan])
    #expect(try await entities.past(of: "country-JP", "capital").map { $0.property?.value } == [.string("Tokyo")])
    // Types conform by steps.
    #expect(try await entities.conforms("capital", to: "place"))
    let places = try await entities.load(type: "place")
    #expect(places.count == all.count { ["capital", "country", "city"].contains($0.type) })
    // It goes out and comes in as it is, and six undos take it back.
    let text = try await entities.exported(history: true)
    let copy = EntityStore(MemoryPersistence())
    try await copy.importing(text)
    #expect(try await copy.exported(history: true) == text)
    for _ in 0..<6 { try await persistence.undo() }
    #expect(try await entities.datastore.count == 0)
  }
}
