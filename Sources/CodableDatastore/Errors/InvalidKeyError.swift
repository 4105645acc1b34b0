public import StrataFoundation

/// An identifier or an index value that cannot be kept in order. Nothing was written.
public struct InvalidKeyError: LocalizedError, Hashable, Sendable {
  /// The datastore.
  public var datastore: DatastoreKey
  /// The index; nil for the identifier.
  public var index: IndexName?
  /// The reason, as a sentence.
  public var reason: String

  init(datastore: String, index: String?, reason: String) {
    self.datastore = DatastoreKey(datastore)
    self.index = index.map { IndexName($0) }
    self.reason = reason
  }

  /// One sentence for a person.
  public var errorDescription: String? {
    let place = index.map { "index \($0) of \(datastore)" } ?? "the identifiers of \(datastore)"
    return "A value has no place in \(place): \(reason)."
  }
}
