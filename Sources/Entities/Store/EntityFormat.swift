public import CodableDatastore
#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// How entities are kept: one datastore like any other, so that the browser, the verbs, history and undo know it.
public struct EntityFormat: DatastoreFormat {
  /// The forms that records of entities have had.
  public enum Version: Int, CaseIterable, Sendable {
    /// The first.
    case first = 1
  }
  /// What is kept.
  public typealias Instance = Entity
  /// By what one is told from all others.
  public typealias Identifier = String
  /// `Entities`.
  public static let defaultKey: DatastoreKey = "Entities"
  /// The form that is written.
  public static let currentVersion = Version.first

  /// By what they are.
  public let type = Index(\.type)
  /// By what is said of them: `name=Dune`.
  public let property = ManyToManyIndex(\.searchable)
  /// By whom they refer to, so that who refers to an entity is a range.
  public let target = Reference(\.targets, to: EntityFormat.self)
  /// By when they came to be.
  public let created = Index(\.created)
  /// By the moments that their properties hold.
  public let date = ManyToManyIndex(\.dates)

  /// Makes the format.
  public init() {}
}
