public import StrataFoundation

/// A mismatch between a datastore and the instances in it.
public enum DatastoreError: LocalizedError {
  /// The index is not one of the format's stored properties.
  case missingIndex
  /// No decoder was given for the version under which instances were written or will be.
  case missingDecoder(version: String)
  /// The store was written by a later version than the one that the datastore is declared with. A version that is not a case of the
  /// format's `Version` is a decoding error instead.
  case incompatibleVersion(version: String?)

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .missingIndex:
      "The index is not declared by this datastore's format."
    case .missingDecoder(let version):
      "There is no decoder for instances of version \(version): add a migration of that version to the datastore's declaration."
    case .incompatibleVersion(let version?):
      "The datastore was written by version \(version), which is newer than this program."
    case .incompatibleVersion(nil):
      "The datastore was written by a newer version than this program."
    }
  }
}
