public import CodableDatastore
public import StrataFoundation

/// The sample data and the writing of it as a store with a history.
public struct Sample: Sendable {
  /// The cities, in the order of their file.
  public var cities: [City]
  /// The countries, in the order of their file.
  public var countries: [Country]

  /// Makes a sample of given cities and countries.
  public init(cities: [City], countries: [Country]) {
    self.cities = cities
    self.countries = countries
  }

  /// Reads `cities.jsonl` and `countries.jsonl` from a folder.
  ///
  /// - Parameters:
  ///   - folder: The folder with the two files.
  ///   - citiesFile: Another file of cities: JSON Lines, or one object keyed by identifier.
  /// - Throws: ``SampleError`` with the file, and the line if there is one.
  public init(folder: String, citiesFile: String? = nil) throws {
    cities = try documents(City.self, in: citiesFile ?? folder + "/cities.jsonl")
    countries = try documents(Country.self, in: folder + "/countries.jsonl")
  }

  /// Writes the sample as version 1 of the app would have: the countries in one commit, then one commit for each
  /// country that has cities, in the order of the countries' codes.
  ///
  /// - Parameter url: The place for the new store; there must be none yet.
  public func write(to url: URL) async throws {
    let persistence = try DiskPersistence(readWriteURL: url)
    try await write(to: persistence)
    // Compresses the cities: their dictionary is made of what is stored. All commits stay.
    try await persistence.shortenHistory(keeping: .everything)
    try await persistence.close()
  }

  /// Writes the sample as version 1 of the app would have, into an empty store.
  public func write(to persistence: some Persistence<ReadWrite>) async throws {
    let countryStore = CountryFormat.datastore(in: persistence)
    let cityStore = FirstCityFormat.datastore(in: persistence)

    try await persistence.perform(actionName: "import \(countries.count) countries") {
      for country in countries { try await countryStore.persist(country) }
    }
    let citiesByCountry = Dictionary(grouping: cities, by: \.countrycode)
    for (code, cities) in citiesByCountry.sorted(by: { $0.key < $1.key }) {
      let noun = cities.count == 1 ? "city" : "cities"
      try await persistence.perform(actionName: "import \(code): \(cities.count) \(noun)") {
        for city in cities { try await cityStore.persist(city) }
      }
    }
  }
}

/// A sample file that cannot be read.
public struct SampleError: Error, CustomStringConvertible {
  /// The fault and its place.
  public var description: String
}

/// Reads a file of documents: an object keyed by identifier, or JSON Lines.
private func documents<Value: Decodable>(_ type: Value.Type, in path: String) throws -> [Value] {
  guard let data = try? Data(contentsOf: URL(filePath: path), options: .mappedIfSafe) else {
    throw SampleError(description: "\(path) cannot be read")
  }
  let decoder = JSONDecoder()
  if let keyed = try? decoder.decode([String: Value].self, from: data) { return Array(keyed.values) }
  var line = 0
  let values = try data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).compactMap { text in
    line += 1
    guard text.contains(where: { $0 > UInt8(ascii: " ") }) else { return Value?.none }
    do {
      return try decoder.decode(Value.self, from: text)
    } catch {
      throw SampleError(
        description: "\(path):\(line): neither JSON Lines nor one object keyed by identifier (\(error))")
    }
  }
  if values.isEmpty { throw SampleError(description: "\(path) holds no documents") }
  return values
}
