public import CodableDatastore
import StrataFoundation

extension Country {
  /// The city named by ``capital``: a city of this country with that name, or else with that alternate name; the largest of several.
  /// Returns nil if the country has no capital, or if the cities do not contain it.
  ///
  /// The country has the name of its capital, not its identifier. So the city is searched for only on request, by the indexes on names.
  ///
  /// - Parameter cities: The datastore of cities, at the commit to read.
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
