/// A name that is a text, which a literal makes, and by which it is ordered and shown.
public protocol _TextName: RawRepresentable<String>, Hashable, Comparable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// Makes a name from its text.
  init(rawValue: String)
}

extension _TextName {
  /// Makes a name from its text.
  public init(_ rawValue: String) { self.init(rawValue: rawValue) }

  /// Makes a name from a literal.
  public init(stringLiteral value: String) { self.init(rawValue: value) }

  /// Orders names by their text.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// The text of the name.
  public var description: String { rawValue }
}
