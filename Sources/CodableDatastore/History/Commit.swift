public import StrataFoundation
import StrataModel

/// A commit: a state that the store has had, with the program and the user that made it.
public struct Commit: Identifiable, Hashable, Sendable {
  /// The place of a commit in its store's history, from 1.
  public struct Number: Hashable, Comparable, Sendable, Codable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The number itself.
    public var rawValue: UInt64

    /// Makes a number.
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// Makes a number from a literal.
    public init(integerLiteral value: UInt64) { rawValue = value }

    /// Whether the left is older.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// `#12`.
    public var description: String { "#\(rawValue)" }
  }

  /// The numbers of instances of a datastore that a commit changed.
  public struct Changes: Hashable, Sendable {
    /// The datastore.
    public var datastore: DatastoreKey
    /// The number of inserted instances.
    public var inserted: Int
    /// The number of replaced instances.
    public var updated: Int
    /// The number of deleted instances.
    public var deleted: Int

    /// Makes the counts of a commit's changes.
    public init(datastore: DatastoreKey, inserted: Int, updated: Int, deleted: Int) {
      self.datastore = datastore
      self.inserted = inserted
      self.updated = updated
      self.deleted = deleted
    }
  }

  /// Its number.
  public var id: Number
  /// The commits that it was made on: one, none for the first, two for a merge.
  public var parents: [Number]
  /// The time at which it was made; never earlier than its parents.
  public var date: Date
  /// The transaction's action name.
  public var action: String
  /// The program that made it.
  public var program: String
  /// The user on whose behalf it was made.
  public var author: String
  /// The numbers of changed instances, per datastore.
  public var changes: [Changes]
  /// The commit that it undoes, if it is an undo.
  public var undoes: Number?
  /// The commit whose state it restores, if it is a restore.
  public var restores: Number?
  /// Whether shortening the history made it of several commits.
  public var isSquashed: Bool
  /// Whether it only built indexes and the like.
  public var isMaintenance: Bool

  init(_ commit: StrataModel.CommitDetails) {
    id = Number(commit.number.rawValue)
    parents = commit.parents.map { Number($0.rawValue) }
    date = Date(commitNanoseconds: commit.date)
    action = commit.action
    program = commit.program
    author = commit.author
    changes = commit.changes.map { count in
      Changes(
        datastore: DatastoreKey(count.datastore), inserted: count.inserted, updated: count.updated,
        deleted: count.deleted)
    }
    undoes = commit.undoes.map { Number($0.rawValue) }
    restores = commit.restores.map { Number($0.rawValue) }
    isSquashed = commit.isSquashed
    isMaintenance = commit.isMaintenance
  }
}

/// An instance as it was from a commit on.
public struct InstanceVersion<Instance: Sendable>: Sendable {
  /// The commit that made it so.
  public var commit: Commit
  /// The instance, converted if it is of an older version; nil if the commit deleted it.
  public var instance: Instance?
}

/// A value that a property of an instance had from a commit on.
public struct PropertyVersion<Value: Sendable>: Sendable {
  /// The commit that gave the property this value.
  public var commit: Commit
  /// The value; nil if the instance was deleted.
  public var value: Value?
}

/// An index that the store did not have yet at the requested commit.
public struct IndexNotYetBuiltError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The index.
  public var index: IndexName
  /// The requested commit.
  public var commit: Commit.Number
  /// The commit that added the index; nil if none did so far.
  public var broughtBy: Commit.Number?

  /// One sentence for a person.
  public var errorDescription: String? {
    let hint = broughtBy.map { "; it came with commit \($0)" } ?? ""
    return "At commit \(commit) \(datastore) has no index \(index)\(hint)."
  }
}
