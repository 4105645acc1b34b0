/// The name of a datastore within its store.
///
/// Datastores of different keys are independent of each other, even if they share a format. Any text is a key; texts that
/// are equal are one key, however their accents are written. It is encoded as a bare string.
public struct DatastoreKey: _TextName, Codable {
  /// The text of the key.
  public var rawValue: String

  /// Makes a key from its text.
  public init(rawValue: String) { self.rawValue = rawValue }
}
