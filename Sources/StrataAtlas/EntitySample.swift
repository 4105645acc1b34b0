public import CodableDatastore
public import StoreEntities
public import StrataFoundation

/// The countries of the sample as records without a type: countries, their capitals, continents and currencies, which refer to each other.
///
/// They are first written as in the file, with codes and names as texts, and become references step by step, a commit each: so every
/// property has a past. A capital is a city, and cities and countries are places.
public struct EntitySample: Sendable {
  private let sample: Sample

  /// The name of a continent, by its code.
  private static let continents = [
    "AF": "Africa", "AN": "Antarctica", "AS": "Asia", "EU": "Europe", "NA": "North America", "OC": "Oceania",
    "SA": "South America",
  ]

  /// Makes a sample of the countries and cities of another.
  public init(_ sample: Sample) { self.sample = sample }

  /// Writes the entities into a store, in six commits.
  ///
  /// - Parameter url: The place for the new store; there must be none yet.
  public func write(to url: URL) async throws {
    let persistence = try DiskPersistence(readWriteURL: url)
    try await write(to: EntityStore(persistence))
    try await persistence.close()
  }

  /// Writes the entities into a datastore, in six commits.
  public func write(to entities: EntityStore<ReadWrite>) async throws {
    let persistence = entities.persistence
    try await persistence.perform(actionName: "import \(sample.countries.count) countries") {
      for country in sample.countries { try await entities.add(Self.entity(of: country)) }
    }
    try await persistence.perform(actionName: "what is a place") {
      try await entities.declare("capital", conformsTo: "city")
      try await entities.declare("city", conformsTo: "place")
      try await entities.declare("country", conformsTo: "place")
    }
    try await persistence.perform(actionName: "continents") {
      for country in sample.countries {
        guard let name = Self.continents[country.continentcode] else { continue }
        try await relate(
          country, "continent", to: "continent-\(country.continentcode)", "continent", ["name": .string(name)], entities
        )
      }
    }
    try await persistence.perform(actionName: "currencies") {
      for country in sample.countries where !country.currencycode.isEmpty {
        try await relate(
          country, "currency", to: "currency-\(country.currencycode)", "currency",
          ["name": .string(country.currencyname), "code": .string(country.currencycode)], entities)
      }
    }
    let known = Set(sample.countries.map(\.iso))
    try await persistence.perform(actionName: "neighbours") {
      for country in sample.countries {
        let neighbours = Self.list(country.neighbours).filter(known.contains)
        guard !neighbours.isEmpty else { continue }
        let list = neighbours.map { EntityProperty(.entity(Self.identifier(of: $0)), label: "country") }
        try await entities.update(Self.identifier(of: country.iso), ["neighbours": .list(list)])
      }
    }
    let cities = Dictionary(grouping: sample.cities, by: \.countrycode)
    try await persistence.perform(actionName: "capitals") {
      for country in sample.countries {
        guard let city = Self.capital(of: country, among: cities[country.iso] ?? []) else { continue }
        try await relate(
          country, "capital", to: "city-\(city.geonameid)", "capital",
          [
            "name": .string(city.name), "population": .integer(city.population), "latitude": .double(city.latitude),
            "longitude": .double(city.longitude), "country": .entity(Self.identifier(of: country.iso)),
          ], entities)
      }
    }
  }

  /// Makes a country refer to another entity, which is created if it does not exist yet.
  private func relate(
    _ country: Country, _ key: EntityKey, to id: String, _ type: String, _ properties: [EntityKey: EntityValue],
    _ entities: EntityStore<ReadWrite>
  ) async throws {
    let related = try await entities.relate(
      (.identifier(Self.identifier(of: country.iso)), "country"), key, to: (.identifier(id), type))
    if related.object.isCreated { try await entities.update(id, properties) }
  }

  static func identifier(of country: String) -> String { "country-\(country)" }

  /// A country as its file has it.
  private static func entity(of country: Country) -> Entity {
    var properties: [EntityKey: EntityValue] = [
      "name": .string(country.name), "code": .string(country.iso), "area": .integer(country.areakm2),
      "population": .integer(country.population),
    ]
    for (key, text) in [
      ("capital", country.capital), ("continent", country.continentcode), ("currency", country.currencycode),
    ] where !text.isEmpty {
      properties[EntityKey(key)] = .string(text)
    }
    for (key, text) in [("neighbours", country.neighbours), ("languages", country.languages)] where !text.isEmpty {
      properties[EntityKey(key)] = list(text).entityValue
    }
    return Entity(identifier(of: country.iso), type: "country", properties: properties)
  }

  private static func list(_ text: String) -> [String] { text.split(separator: ",").map(String.init) }

  /// The largest of a country's cities with the name of its capital.
  private static func capital(of country: Country, among cities: [City]) -> City? {
    let called = cities.filter { $0.name == country.capital }
    let known = called.isEmpty ? cities.filter { $0.alternatenames.contains(country.capital) } : called
    return known.max { ($0.population, $1.geonameid) < ($1.population, $0.geonameid) }
  }
}
