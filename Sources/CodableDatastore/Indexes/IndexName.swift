/// The name of an index within its datastore: the label of the property that declares it. It is encoded as a bare string.
public struct IndexName: _TextName, Codable {
  /// The text of the name.
  public var rawValue: String

  /// Makes a name from its text.
  public init(rawValue: String) { self.rawValue = rawValue }
}
