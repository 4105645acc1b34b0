public import CodableDatastore
import StrataFoundation

/// A country or territory, as GeoNames lists it.
public struct Country: Codable, Hashable, Identifiable, Sendable {
  /// The code of two letters (ISO 3166).
  public var iso: String
  /// The code of three letters.
  public var iso3: String
  /// The code of three digits, as a number.
  public var isonumeric: Int
  /// The code of the United States' federal standard; empty if there is none.
  public var fips: String
  /// The number that GeoNames gives to the country.
  public var geonameid: Int
  /// The name in English.
  public var name: String
  /// The seat of government; empty if there is none.
  public var capital: String
  /// The continent's code of two letters.
  public var continentcode: String
  /// The area in square kilometres.
  public var areakm2: Int
  /// Inhabitants.
  public var population: Int
  /// The top-level domain, with its dot.
  public var tld: String
  /// The currency's code of three letters.
  public var currencycode: String
  /// The currency's name.
  public var currencyname: String
  /// The international dialling code.
  public var phone: String
  /// A regular expression for its postal codes; empty if there are none.
  public var postalcoderegex: String
  /// Language codes, separated by commas.
  public var languages: String
  /// The codes of the neighbouring countries, separated by commas.
  public var neighbours: String

  /// The identifier in the datastore: ``iso``.
  public var id: String { iso }
}

/// The format of countries.
public struct CountryFormat: DatastoreFormat {
  /// The versions of the declaration.
  public enum Version: Int, CaseIterable, Sendable {
    /// The first.
    case first = 1
  }

  /// The values are countries; their identifier is ``Country/iso``.
  public typealias Instance = Country

  /// The datastore is called `Country`.
  public static let defaultKey: DatastoreKey = "Country"
  /// The version that is written today.
  public static let currentVersion = Version.first

  /// Makes the declaration.
  public init() {}

  /// Countries by name.
  public let name = Index(\.name)
  /// The countries of each continent.
  public let continent = Index(\.continentcode)
  /// The one country of a code of three letters; its entries lead straight to the record.
  @Direct public var iso3 = OneToOneIndex(\.iso3)
}

extension CountryFormat {
  /// Opens the datastore of countries.
  public static func datastore(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [.first: { decoder, data in try decoder.decode(Country.self, from: data) }])
  }
}
