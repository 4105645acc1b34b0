public import CodableDatastore
import StrataFoundation

/// A city of more than 500 inhabitants, as GeoNames lists it.
public struct City: Codable, Hashable, Identifiable, Sendable {
  /// The number that GeoNames gives to the place.
  public var geonameid: Int
  /// The name, in Latin letters.
  public var name: String
  /// Degrees north of the equator.
  public var latitude: Double
  /// Degrees east of Greenwich.
  public var longitude: Double
  /// The country's code of two letters (ISO 3166), as in ``Country/iso``.
  public var countrycode: String
  /// Inhabitants.
  public var population: Int
  /// The IANA time zone, such as `Europe/Zurich`.
  public var timezone: String
  /// The code of the first administrative division.
  public var admin1code: String
  /// Names in other languages and scripts.
  public var alternatenames: [String]

  /// The identifier in the datastore: ``geonameid``.
  public var id: Int { geonameid }
}

/// The format of cities: five indexes, the last two since version 2.
public struct CityFormat: DatastoreFormat {
  /// The versions of the declaration, by the day that they were introduced.
  public enum Version: String, CaseIterable, Sendable {
    /// Cities by name, country and time zone.
    case first = "2026-09-01"
    /// Also by population and by every alternate name.
    case searchable = "2026-11-20"
  }

  /// The values are cities; their identifier is ``City/geonameid``.
  public typealias Instance = City

  /// The datastore is called `City`.
  public static let defaultKey: DatastoreKey = "City"
  /// The version that is written today.
  public static let currentVersion = Version.searchable
  /// Each city resembles the others.
  public static let compression: ValueCompression? = .values

  /// Makes the declaration.
  public init() {}

  /// Cities by name.
  public let name = Index(\.name)
  /// The cities of each country; a reference to it since the countries are kept beside them.
  public let country = Reference(\.countrycode, to: CountryFormat.self)
  /// Cities by inhabitants.
  public let population = Index(\.population)
  /// The cities of each time zone.
  public let timezone = Index(\.timezone)
  /// Cities by each of their names in other languages.
  public let alternateNames = ManyToManyIndex(\.alternatenames)
}

extension DatastoreFormat where Instance == City, Version == CityFormat.Version, Identifier == City.ID {
  /// Opens the datastore of cities. Both versions have the same shape, so both are read by the same decoder.
  public static func datastore(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [
        .first: { decoder, data in try decoder.decode(City.self, from: data) },
        .searchable: { decoder, data in try decoder.decode(City.self, from: data) },
      ])
  }
}

/// The format of version 1 of the app: without the indexes on population and alternate names.
///
/// An app would delete this declaration with its next version. Here it is kept so that the sample store can be written as an older app left
/// it, and the first opening with ``CityFormat`` is a real warm-up.
public struct FirstCityFormat: DatastoreFormat {
  /// The same versions as ``CityFormat``.
  public typealias Version = CityFormat.Version
  /// The values are cities.
  public typealias Instance = City

  /// The same datastore as that of ``CityFormat``.
  public static let defaultKey = CityFormat.defaultKey
  /// The version that this declaration writes.
  public static let currentVersion = Version.first
  /// As in ``CityFormat``.
  public static let compression = CityFormat.compression

  /// Makes the declaration.
  public init() {}

  /// Cities by name.
  public let name = Index(\.name)
  /// The cities of each country.
  public let country = Index(\.countrycode)
  /// The cities of each time zone.
  public let timezone = Index(\.timezone)
}
