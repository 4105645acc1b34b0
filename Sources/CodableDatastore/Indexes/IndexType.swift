/// The kind of an index and the type of its values, as `OneToManyIndex(Int)`. It decides whether a stored index still
/// fits its declaration. It is encoded as a bare string.
public struct IndexType: _TextName, Codable {
  /// The text of the type.
  public var rawValue: String

  /// Makes a type from its text.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes the type that describes a Swift type by its name.
  public init<T>(_ type: T.Type) { rawValue = String(describing: type) }
}
