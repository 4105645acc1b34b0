/// Another copy of a store, by the name that it has beside this one.
public struct RemoteStore: Hashable, Sendable {
  /// The name.
  public var name: String
  /// The location: a path as seen from the folder of the store, `ssh://[user@]host[:port]/path`, `host:path`, `folder:PATH`, or, if
  /// `PostgresRemotes.enable()` of PostgresPersistence was called, `postgres://…` without a password.
  public var location: String

  /// A remote; ``Persistence/addRemote(_:)`` keeps it with a store.
  public init(name: String, location: String) {
    self.name = name
    self.location = location
  }
}

/// How a merge settles a conflict: a change that both copies of a store made.
public enum MergeSettlement: Hashable, Sendable {
  /// A person decides: nothing is written while a conflict is open.
  case ask
  /// This store's value wins.
  case ours
  /// The other store's value wins.
  case theirs
  /// The later change of the field wins. An edit beats a delete.
  case later
}

/// Which side of a conflict is taken.
public enum MergeChoice: Hashable, Sendable {
  /// The value before both sides changed it.
  case base
  /// This store's value.
  case ours
  /// The other store's value.
  case theirs
  /// No side: the conflict stays open, and nothing is written.
  case open
}

/// The progress of an exchange.
public struct ExchangeProgress: Hashable, Sendable {
  /// A step of an exchange.
  public enum Step: Hashable, Sendable {
    /// Commits are received.
    case fetching
    /// Commits are sent.
    case sending
  }

  /// The current step.
  public var step: Step
  /// The number of commits that were transferred.
  public var done: Int
  /// The number of commits to transfer.
  public var total: Int
}

/// A closure that receives the progress of an exchange, on the thread that does it.
public typealias ExchangeProgressHandler = @Sendable (ExchangeProgress) -> Void

/// A closure that chooses a side of a conflict.
public typealias MergeChooser = @Sendable (MergeReport.FieldConflict) -> MergeChoice

/// The result of a merge, or of the preview of one.
public struct MergeReport: Hashable, Sendable {
  /// The newest commit afterwards; nil if nothing was written.
  public var commit: Commit.Number?
  /// The number of records that only one side had changed, or both without conflict. 0 if this store had changed nothing and took over
  /// the other's commits as they are: these are not counted.
  public var mergedRecords: Int
  /// Records that both sides changed in ways that exclude one another, settled or not.
  public var conflicts: [Conflict]
  /// Further information for a person, as sentences.
  public var notes: [String]

  /// Whether a conflict is unsettled, so that nothing was written.
  public var isOpen: Bool { conflicts.contains { !$0.isSettled } }

  /// A field, or a whole record, that two copies of a store both changed, as a ``MergeChooser`` receives it.
  public struct FieldConflict: Hashable, Sendable {
    /// The datastore's key.
    public var datastore: DatastoreKey
    /// The identifier as a person types it.
    public var identifier: String
    /// The path of the field; nil if the conflict is about the whole record.
    public var field: String?
    /// The value before both changed it, as JSON, or as a JSON text in base64 if it is of no such coding; nil if there was none.
    public var base: String?
    /// This store's value, as JSON; nil if it has none.
    public var ours: String?
    /// The other store's value, as JSON; nil if it has none.
    public var theirs: String?
  }

  /// A record that both sides changed.
  public struct Conflict: Hashable, Sendable, CustomStringConvertible {
    /// The datastore's key.
    public var datastore: DatastoreKey
    /// The identifier as a person types it.
    public var identifier: String
    /// The fields that both changed, as paths; none if one side deleted the record, or if the contents cannot be compared.
    public var fields: [String]
    /// Whether the requested settlement has settled it.
    public var isSettled: Bool
    /// One sentence for a person.
    public var description: String
  }
}
