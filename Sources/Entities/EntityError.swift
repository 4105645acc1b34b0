#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Why something cannot be done with entities.
public enum EntityError: LocalizedError, Hashable, Sendable {
  /// A file of entities is not what it should be. The place is a path (`entities[3].author`), or a line and a column.
  case interchange(place: String, reason: String)
  /// A property is called by a name that the interchange form keeps for itself.
  case reservedKey(String)
  /// A number is infinite or NaN, or a date is; the path says where.
  case notFinite(path: String)
  /// Lists lie deeper in lists than a record may hold; the path says where.
  case tooDeep(path: String, limit: Int)
  /// There is an entity of this identifier already.
  case exists(String)
  /// There is no entity of this identifier, or none that is meant by what was asked for.
  case notFound(String)

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .interchange(let place, let reason): "\(place): \(reason)."
    case .reservedKey(let key): "A property cannot be called “\(key)”: the interchange form means something else by it."
    case .notFinite(let path): "\(path) is no finite number."
    case .tooDeep(let path, let limit): "\(path.prefix(200)) lies deeper than \(limit) lists."
    case .exists(let id): "There is an entity “\(id)” already."
    case .notFound(let what): "There is no entity \(what)."
    }
  }
}
