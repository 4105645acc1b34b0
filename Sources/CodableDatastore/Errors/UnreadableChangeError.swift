public import StrataFoundation

/// A change or a version whose instance is damaged or does not decode, thrown by an iteration instead of it: by an observer, a history or
/// a difference. The others come when the iterator is asked again.
public struct UnreadableChangeError: LocalizedError, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The commit that made the change.
  public var commit: Commit.Number
  /// The identifier of the instance, as a person writes it.
  public var identifier: String
  /// The error that the decoder threw, or the damage.
  public var underlying: any Error

  /// One sentence for a person.
  public var errorDescription: String? {
    "The change of \(identifier) in \(datastore) by commit \(commit) cannot be read: \(DecodingPath.sentence(for: underlying))."
  }
}

/// Changes that an observer did not read in time: more bytes than ``StoreConfiguration/waitingChangesLimit`` waited for it, so they were
/// dropped. Later changes come when the iterator is asked again. The same is reported if a server's history lost another process's commits
/// before this process read them.
///
/// The observer may read its data again, or bring it up to date by the store's `changes(from:to:)`.
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
