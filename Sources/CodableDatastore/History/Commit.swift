import DatastoreModel
#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A commit: a state that the store has had, and who brought it about.
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

  /// How many instances of a datastore a commit changed.
  public struct Changes: Hashable, Sendable {
    /// The datastore.
    public var datastore: DatastoreKey
    /// Instances that came.
    public var inserted: Int
    /// Instances that were replaced.
    public var updated: Int
    /// Instances that went.
    public var deleted: Int

    /// Counts what a commit changed.
    public init(datastore: DatastoreKey, inserted: Int, updated: Int, deleted: Int) {
      self.datastore = datastore
      self.inserted = inserted
      self.updated = updated
      self.deleted = deleted
    }
  }

  /// Its number.
  public var id: Number
  /// What it was made on: one commit, none for the first, two for a merge.
  public var parents: [Number]
  /// When it was made; never earlier than its parents.
  public var date: Date
  /// What was done: the transaction's action name.
  public var action: String
  /// The program that made it.
  public var program: String
  /// The user on whose behalf.
  public var author: String
  /// What changed, per datastore.
  public var changes: [Changes]
  /// The commit that it takes back, if it is an undo.
  public var undoes: Number?
  /// The commit whose state it brings back, if it is a restore.
  public var restores: Number?
  /// Whether a shortening of the history made it of several.
  public var isSquashed: Bool
  /// Whether it only built indexes and the like.
  public var isMaintenance: Bool

  init(_ commit: DatastoreModel.Commit) {
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
  /// The instance, converted where it is of an older version; nil where the commit deleted it.
  public var instance: Instance?
}

/// A value that a property of an instance had from a commit on.
public struct PropertyVersion<Value: Sendable>: Sendable {
  /// The commit that gave the property this value.
  public var commit: Commit
  /// The value; nil where the instance was deleted.
  public var value: Value?
}

/// An index that the store did not have yet at the commit that is looked at.
public struct IndexNotYetBuiltError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The index.
  public var index: IndexName
  /// The commit that is looked at.
  public var commit: Commit.Number
  /// The commit that brought the index; nil where none did so far.
  public var broughtBy: Commit.Number?

  /// One sentence for a person.
  public var errorDescription: String? {
    let hint = broughtBy.map { "; it came with commit \($0)" } ?? ""
    return "At commit \(commit) \(datastore) has no index \(index)\(hint)."
  }
}
