/// The kind of an index and the type of its values, as `OneToManyIndex(Int)`. It decides whether a stored index still
/// fits its declaration.
public struct IndexType: RawRepresentable, Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
  /// The text of the type.
  public var rawValue: String

  /// Makes a type from its text.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes a type from its text.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// Makes the type that describes a Swift type by its name.
  public init<T>(_ type: T.Type) { rawValue = String(describing: type) }

  /// Orders types by their text.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Makes a type from a literal.
  public init(stringLiteral value: String) { rawValue = value }
}

/// As a bare string.
extension IndexType: Codable {}
