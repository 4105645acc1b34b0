public import FoundationEssentials

/// What is wrong between a datastore and the instances in it.
public enum DatastoreError: LocalizedError {
  /// The index is not one of the format's stored properties.
  case missingIndex
  /// No decoder was given for the version under which an instance was written.
  case missingDecoder(version: String)
  /// The store was written by a newer version of the program.
  case incompatibleVersion(version: String?)

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .missingIndex:
      "The index is not declared by this datastore's format."
    case .missingDecoder(let version):
      "There is no decoder for instances of version \(version)."
    case .incompatibleVersion(let version?):
      "The datastore was written by version \(version), which is newer than this program knows."
    case .incompatibleVersion(nil):
      "The datastore was written by a version that this program does not know."
    }
  }
}
