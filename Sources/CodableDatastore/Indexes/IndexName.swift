/// The name of an index within its datastore: the label of the property that declares it.
public struct IndexName: RawRepresentable, Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
  /// The text of the name.
  public var rawValue: String

  /// Makes a name from its text.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes a name from its text.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// Orders names by their text.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Makes a name from a literal.
  public init(stringLiteral value: String) { rawValue = value }
}

/// As a bare string.
extension IndexName: Codable {}

extension IndexName: CustomStringConvertible {
  /// The text of the name.
  public var description: String { rawValue }
}
