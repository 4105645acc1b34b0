public import StrataFoundation

/// A mismatch between a datastore and the instances in it.
public enum DatastoreError: LocalizedError {
  /// The index is not one of the format's stored properties.
  case missingIndex
  /// No decoder was given for the version under which instances were written or will be.
  case missingDecoder(version: String)
  /// The store was written by a version of the program that is newer than this one's, or that this one does not know.
  case incompatibleVersion(version: String?)

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .missingIndex:
      "The index is not declared by this datastore's format."
    case .missingDecoder(let version):
      "There is no decoder for instances of version \(version): add a migration of that version to the datastore's declaration."
    case .incompatibleVersion(let version?):
      "The datastore was written by version \(version), which is newer than this program or unknown to it."
    case .incompatibleVersion(nil):
      "The datastore was written by a version that this program does not know."
    }
  }
}
