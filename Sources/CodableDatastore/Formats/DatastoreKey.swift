/// The name of a datastore within its store.
///
/// Datastores of different keys are independent of each other, even if they share a format. Any text is a key; texts that
/// are equal are one key, however their accents are written.
public struct DatastoreKey: RawRepresentable, Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
  /// The text of the key.
  public var rawValue: String

  /// Makes a key from its text.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes a key from its text.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// Orders keys by their text.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Makes a key from a literal.
  public init(stringLiteral value: String) { rawValue = value }
}

/// As a bare string.
extension DatastoreKey: Codable {}

extension DatastoreKey: CustomStringConvertible {
  /// The text of the key.
  public var description: String { rawValue }
}
