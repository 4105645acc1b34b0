public import StrataFoundation

/// An error of a call to a persistence.
public enum DatastoreInterfaceError: LocalizedError, Hashable {
  /// The datastore belongs to another persistence.
  case multipleRegistrations
  /// The datastore is registered already.
  case alreadyRegistered
  /// No datastore of that key is known.
  case datastoreNotFound
  /// Two living datastores write to one key and declare it differently.
  case duplicateWriters
  /// There is no instance of that identifier.
  case instanceNotFound
  /// There is an instance of that identifier already.
  case instanceAlreadyExists
  /// There is no datastore of that key.
  case datastoreKeyNotFound
  /// The store has no such index.
  case indexNotFound
  /// The transaction has ended.
  case transactionInactive
  /// A write to one persistence within a transaction of another.
  case transactingWithinExternalPersistence
  /// The cursor belongs to another transaction.
  case unknownCursor
  /// The entry that the cursor stood on has changed.
  case staleCursor

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .multipleRegistrations: "The datastore is used with a persistence other than its own."
    case .alreadyRegistered: "The datastore is registered already."
    case .datastoreNotFound: "The datastore is not known to this persistence."
    case .duplicateWriters:
      "Another datastore in this program writes to the same key with a different declaration: use that one, or give each a key of its own."
    case .instanceNotFound: "The instance is not in the datastore."
    case .instanceAlreadyExists: "The instance is in the datastore already."
    case .datastoreKeyNotFound: "The store has no datastore of that key."
    case .indexNotFound: "The datastore has no such index."
    case .transactionInactive: "The transaction has ended."
    case .transactingWithinExternalPersistence:
      "A transaction of one persistence cannot write to another; detach a task to do it on purpose."
    case .unknownCursor: "The cursor belongs to another transaction."
    case .staleCursor: "The entry at the cursor has changed since."
    }
  }
}
