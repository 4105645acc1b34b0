import StrataModel

/// A Boolean as the value of an index, where false comes before true.
///
/// ```swift
/// let isOpen = Index(\.isOpen)
/// shops.load(true, from: \.isOpen)
/// shops.load(where: #Predicate { $0.isOpen })
/// ```
public struct IndexedBool: Indexable, DiscreteIndexable, ExpressibleByBooleanLiteral, ByteOrderedKey {
  /// The Boolean.
  public var value: Bool

  /// Makes an index value of a Boolean.
  public init(_ value: Bool) { self.value = value }

  /// Makes an index value of a literal.
  public init(booleanLiteral value: Bool) { self.value = value }

  /// Whether the left is false and the right is true.
  public static func < (left: Self, right: Self) -> Bool { !left.value && right.value }

  static var keyEncoding: KeyEncoding { .bool }

  func append(to encoder: inout KeyEncoder) { encoder.append(value) }

  init?(_ value: KeyValue) {
    guard case .bool(let value) = value else { return nil }
    self.init(value)
  }
}

extension OneToManyIndexRepresentation where Value == IndexedBool {
  /// An index on a Boolean property.
  public init(_ keypath: KeyPath<Instance, Bool>) {
    self.init(source: IndexValueSource(keypath))
  }
}

extension OneToManyIndexRepresentation where Value == IndexedBool? {
  /// An index on a Boolean property that may be nil.
  public init(_ keypath: KeyPath<Instance, Bool?>) {
    self.init(source: IndexValueSource(keypath))
  }
}

extension IndexValueSource where Value == IndexedBool {
  init(_ keypath: KeyPath<Instance, Bool>) {
    self.init(keyPaths: [keypath]) { IndexedBool($0[keyPath: keypath]) }
  }
}

extension IndexValueSource where Value == IndexedBool? {
  init(_ keypath: KeyPath<Instance, Bool?>) {
    self.init(keyPaths: [keypath]) { $0[keyPath: keypath].map { IndexedBool($0) } }
  }
}
