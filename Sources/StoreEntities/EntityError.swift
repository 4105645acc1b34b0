public import StrataFoundation

/// The reason that something cannot be done with entities.
public enum EntityError: LocalizedError, Hashable, Sendable {
  /// A file of entities has a fault. The place is a path (`entities[3].author`), or a line and a column.
  case interchange(place: String, reason: String)
  /// A property has a name that the interchange form reserves.
  case reservedKey(String)
  /// The identifier or the type of an entity is empty.
  case empty(String)
  /// A number is infinite or NaN, or a date is; the path is its place.
  case notFinite(path: String)
  /// Lists are nested deeper than a record allows; the path is the place.
  case tooDeep(path: String, limit: Int)
  /// An entity with this identifier exists already.
  case exists(String)
  /// There is no entity with this identifier, or none that matches.
  case notFound(String)

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .interchange(let place, let reason): "\(place): \(reason)."
    case .reservedKey(let key): "A property cannot be called “\(key)”: the interchange form means something else by it."
    case .empty(let part): "The \(part) of an entity is empty."
    case .notFinite(let path): "\(path) is not a finite number."
    case .tooDeep(let path, let limit): "\(path.prefix(200)) lies deeper than \(limit) lists."
    case .exists(let id): "There is an entity “\(id)” already."
    case .notFound(let what): "There is no entity \(what)."
    }
  }
}
