/// The name of an index within its datastore: the label of the property that declares it.
public struct IndexName: RawRepresentable, Hashable, Comparable, Sendable {
  /// The text of the name.
  public var rawValue: String

  /// Makes a name from its text.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes a name from its text.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// Orders names by their text.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension IndexName: ExpressibleByStringLiteral {
  /// Makes a name from a literal.
  public init(stringLiteral value: String) { rawValue = value }
}

extension IndexName: Codable {
  /// Reads a name from a bare string.
  ///
  /// - Throws: `DecodingError` if it is not a string.
  public init(from decoder: any Decoder) throws {
    rawValue = try decoder.singleValueContainer().decode(String.self)
  }

  /// Writes the name as a bare string.
  ///
  /// - Throws: The error of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }
}

extension IndexName: CustomStringConvertible {
  /// The text of the name.
  public var description: String { rawValue }
}
