/// The name of a property of an entity.
///
/// Any text is a name except the three that the interchange form reserves, and the empty text (``isReserved``). An app declares its own
/// names once, and then has key paths for them:
///
/// ```swift
/// extension EntityKeys { var address: EntityKey { "address" } }
///
/// let address = person[\.address, as: String.self]
/// ```
public struct EntityKey: RawRepresentable, Hashable, Comparable, Sendable, ExpressibleByStringLiteral {
  /// The text of the name.
  public var rawValue: String

  /// Makes a name from its text.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes a name from its text.
  public init(_ rawValue: String) { self.rawValue = rawValue }

  /// Whether the interchange form reserves it: `type`, `identifier`, `datestamp`, and the empty text.
  public var isReserved: Bool { ["", "type", "identifier", "datestamp"].contains(rawValue) }

  /// Orders names by the bytes of their UTF-8.
  public static func < (left: Self, right: Self) -> Bool {
    left.rawValue.utf8.lexicographicallyPrecedes(right.rawValue.utf8)
  }

  /// Makes a name from a literal.
  public init(stringLiteral value: String) { rawValue = value }
}

extension EntityKey: CustomStringConvertible {
  /// The text of the name.
  public var description: String { rawValue }
}

/// The names that an app declares, as computed properties in an extension of this type; see ``EntityKey``.
public struct EntityKeys: Sendable {
  init() {}

  /// The name of an entity; the browser shows it beside the identifier.
  public var name: EntityKey { "name" }
}
