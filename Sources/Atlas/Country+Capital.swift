public import CodableDatastore
#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Country {
  /// The city that ``capital`` means: one of this country that is called so, or else has it among its other names, and of
  /// several the largest. Nil where the country has no capital, or the cities do not have it.
  ///
  /// The country holds the name of its capital, not its identifier, so that this is looked for only on request: by the indexes
  /// on names.
  ///
  /// - Parameter cities: The datastore of cities, at the commit that is meant.
  public func capitalCity<Mode>(in cities: Datastore<CityFormat, Mode>) async throws -> City? {
    let (name, code) = (capital, iso)
    guard !name.isEmpty else { return nil }
    let largest: @Sendable (Query<CityFormat, ReadOnly>) -> Query<CityFormat, ReadOnly> = {
      $0.sorted(by: \.population, .descending)
    }
    return try await cities.resolve(
      .matching(#Predicate { $0.name == name && $0.countrycode == code }, sorted: largest),
      .matching(#Predicate { $0.alternatenames.contains(name) && $0.countrycode == code }, sorted: largest)
    )?.instance
  }
}
