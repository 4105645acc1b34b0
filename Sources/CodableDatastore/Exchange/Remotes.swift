/// Another copy of a store, by the name that it has beside this one.
public struct RemoteStore: Hashable, Sendable {
  /// The name.
  public var name: String
  /// Where it lies: a path as seen from the folder of the store, `ssh://[user@]host[:port]/path`, or `host:path`.
  public var location: String

  /// A remote; ``Persistence/addRemote(_:)`` keeps it with a store.
  public init(name: String, location: String) {
    self.name = name
    self.location = location
  }
}

/// Who settles what two copies of a store both changed.
public enum MergeSettlement: Hashable, Sendable {
  /// A person: nothing is written while a conflict is open.
  case ask
  /// What this store has.
  case ours
  /// What the other store has.
  case theirs
  /// Who changed the field later. An edit beats a delete.
  case later
}

/// What a merge did, or would do.
public struct MergeReport: Hashable, Sendable {
  /// The newest commit afterwards; nil where nothing was written.
  public var commit: Commit.Number?
  /// Records that one side alone had changed, or both without conflict.
  public var mergedRecords: Int
  /// Records that both sides changed in ways that exclude one another, settled or not.
  public var conflicts: [Conflict]
  /// What else a person may want to know, as sentences.
  public var notes: [String]

  /// Whether a conflict is not settled, so that nothing was written.
  public var isOpen: Bool { conflicts.contains { !$0.isSettled } }

  /// A record that both sides changed.
  public struct Conflict: Hashable, Sendable, CustomStringConvertible {
    /// The datastore's key.
    public var datastore: DatastoreKey
    /// The identifier as a person types it.
    public var identifier: String
    /// The fields that both changed, as paths; none where one side deleted the record, or the contents cannot be compared.
    public var fields: [String]
    /// Whether the settlement that was asked for has settled it.
    public var isSettled: Bool
    /// One sentence for a person.
    public var description: String
  }
}
