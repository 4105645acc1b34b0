public import StrataFoundation

/// An error of a store on disk, as programs written for the original library know it.
///
/// Our own engine reports all other errors as ``StoreError``.
public enum DiskPersistenceError: LocalizedError, Equatable {
  /// The location is not a file URL.
  case notFileURL
  /// There is no bundle identifier to name the default store by.
  case missingBundleID
  /// There is no place for application data.
  case missingAppSupportDirectory
  /// An index of the store is damaged.
  case invalidIndexManifestFormat
  /// A page of the store is damaged.
  case invalidPageFormat
  /// An entry of the store is damaged.
  case invalidEntryFormat
  /// The store was opened for reading only, or the transaction only reads.
  case cannotWrite
  /// The datastore belongs to another persistence.
  case wrongPersistence

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .notFileURL: "The location of a store must be a file URL."
    case .missingBundleID: "The default store needs a bundle identifier."
    case .missingAppSupportDirectory: "There is no directory for application data."
    case .invalidIndexManifestFormat: "An index of the store is damaged."
    case .invalidPageFormat: "A page of the store is damaged."
    case .invalidEntryFormat: "An entry of the store is damaged."
    case .cannotWrite: "The store was opened, or the transaction was begun, for reading only."
    case .wrongPersistence: "The datastore belongs to another persistence."
    }
  }
}

/// Faults within a persistence that no program should meet.
public enum DiskPersistenceInternalError: LocalizedError {
  /// A write to the store within a write to the store.
  case nestedStoreWrite
  /// A write to a snapshot within a write to a snapshot.
  case nestedSnapshotWrite

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .nestedStoreWrite: "A write to the store was begun within another."
    case .nestedSnapshotWrite: "A write to a snapshot was begun within another."
    }
  }
}
