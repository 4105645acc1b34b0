#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A change whose instance does not decode, where an observer would have heard of it. The changes after it come when the
/// iterator is asked again.
public struct UnreadableChangeError: LocalizedError, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The commit that made the change.
  public var commit: Commit.Number
  /// The identifier of the instance, as a person writes it.
  public var identifier: String
  /// What the decoder threw.
  public var underlying: any Error

  /// One sentence for a person.
  public var errorDescription: String? {
    "The change of \(identifier) in \(datastore) by commit \(commit) cannot be read: \(DecodingPath.sentence(for: underlying))"
  }
}
