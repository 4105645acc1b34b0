/// Another copy of a store, by the name that it has beside this one.
public struct RemoteStore: Hashable, Sendable {
  /// The name.
  public var name: String
  /// Where it lies: a path as seen from the folder of the store, `ssh://[user@]host[:port]/path`, `host:path`, `folder:PATH`, or, where
  /// `PostgresRemotes.enable()` of PostgresPersistence was called, `postgres://…` without a password.
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

/// Which side of a conflict is taken.
public enum MergeChoice: Hashable, Sendable {
  /// What it was before both changed it.
  case base
  /// What this store has.
  case ours
  /// What the other store has.
  case theirs
  /// Nobody's: the conflict stays open, and nothing is written.
  case open
}

/// How far an exchange is.
public struct ExchangeProgress: Hashable, Sendable {
  /// What is being done.
  public enum Step: Hashable, Sendable {
    /// Commits come in.
    case fetching
    /// Commits go out.
    case sending
  }

  /// What is being done.
  public var step: Step
  /// Commits that have gone over, and how many there are.
  public var done: Int
  /// How many there are.
  public var total: Int
}

/// Hears how far an exchange is, on the thread that does it.
public typealias ExchangeProgressHandler = @Sendable (ExchangeProgress) -> Void

/// Chooses a side for what conflicts.
public typealias MergeChooser = @Sendable (MergeReport.FieldConflict) -> MergeChoice

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

  /// A field that two copies of a store both changed, or a whole record, for whoever is asked to choose.
  public struct FieldConflict: Hashable, Sendable {
    /// The datastore's key.
    public var datastore: DatastoreKey
    /// The identifier as a person types it.
    public var identifier: String
    /// The path of the field; nil where the conflict is one of the whole record.
    public var field: String?
    /// What it was before, as JSON; nil where there was none.
    public var base: String?
    /// What this store has, as JSON; nil where it has none.
    public var ours: String?
    /// What the other store has, as JSON; nil where it has none.
    public var theirs: String?
  }

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
