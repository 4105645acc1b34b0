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

/// Changes that an observer did not read in time: so many waited for it that they were dropped, as
/// ``StoreConfiguration/waitingChangesLimit`` says. The changes after them come when the iterator is asked again. The same is reported for
/// another process's commits that a server's history lost before this process heard of them.
///
/// What the observer keeps may be read anew, or brought up to date by the store's `changes(from:to:)`.
public struct ChangesMissed: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The first commit of which a change was dropped.
  public var first: Commit.Number
  /// The last one.
  public var last: Commit.Number

  /// One sentence for a person.
  public var errorDescription: String? {
    "The changes of \(datastore) by commits \(first) to \(last) were not read in time and were dropped."
  }
}
