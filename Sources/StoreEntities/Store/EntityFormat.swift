public import CodableDatastore
public import StrataFoundation

/// The format of entities: one datastore like any other, so that the browser, the verbs, history and undo support it.
public struct EntityFormat: DatastoreFormat {
  /// The versions of the record format.
  public enum Version: Int, CaseIterable, Sendable {
    /// The first.
    case first = 1
  }
  /// The type of the records.
  public typealias Instance = Entity
  /// The type of the identifiers.
  public typealias Identifier = String
  /// `Entities`.
  public static let defaultKey: DatastoreKey = "Entities"
  /// The version that is written.
  public static let currentVersion = Version.first

  /// Entities by their type.
  public let type = Index(\.type)
  /// Entities by their properties: `name=Dune`.
  public let property = ManyToManyIndex(\.searchable)
  /// Entities by their references, so that the entities that refer to one are a range.
  public let target = Reference(\.targets, to: EntityFormat.self)
  /// Entities by the time of their creation.
  public let created = Index(\.created)
  /// Entities by the dates that their properties hold.
  public let date = ManyToManyIndex(\.dates)

  /// Makes the format.
  public init() {}
}
