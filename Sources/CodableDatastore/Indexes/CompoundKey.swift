import StrataModel

/// A value of an index with several tiers: ordered by the first, then by the rest.
///
/// It is what `Index(\.country, \.population.descending)` has for values; three and four tiers nest.
public struct CompoundKey<First: Indexable, Rest: Indexable>: Indexable, DiscreteIndexable, RangedIndexable {
  /// The tier that counts most.
  public var first: First
  /// The other tiers.
  public var rest: Rest

  /// Puts tiers together.
  public init(_ first: First, _ rest: Rest) {
    self.first = first
    self.rest = rest
  }

  /// Tier by tier, the first counts most.
  public static func < (left: Self, right: Self) -> Bool {
    left.first != right.first ? left.first < right.first : left.rest < right.rest
  }
}

/// A value in descending order: the greatest comes first.
public struct Descending<Value: Indexable>: Indexable {
  /// The value.
  public var value: Value

  /// Turns a value's order around.
  public init(_ value: Value) { self.value = value }

  /// Whether the left value is the greater one.
  public static func < (left: Self, right: Self) -> Bool { right.value < left.value }
}

extension Descending: ExpressibleByIntegerLiteral where Value: ExpressibleByIntegerLiteral {
  /// Makes a descending value of a literal.
  public init(integerLiteral value: Value.IntegerLiteralType) { self.init(Value(integerLiteral: value)) }
}

extension Descending: ExpressibleByFloatLiteral where Value: ExpressibleByFloatLiteral {
  /// Makes a descending value of a literal.
  public init(floatLiteral value: Value.FloatLiteralType) { self.init(Value(floatLiteral: value)) }
}

extension Comparable where Self: Hashable & Codable & Sendable {
  /// The value in descending order, for a tier of an index: `Index(\.country, \.population.descending)`.
  public var descending: Descending<Self> { Descending(self) }
}

extension CompoundKey: ByteOrderedKey where First: ByteOrderedKey, Rest: ByteOrderedKey {
  static var keyEncoding: KeyEncoding {
    if case .compound(let tiers) = Rest.keyEncoding {
      .compound([First.keyEncoding] + tiers)
    } else {
      .compound([First.keyEncoding, Rest.keyEncoding])
    }
  }

  func append(to encoder: inout KeyEncoder) throws {
    try first.append(to: &encoder)
    try rest.append(to: &encoder)
  }

  init?(_ value: KeyValue) {
    guard case .compound(let tiers) = value, tiers.count >= 2, let first = First(tiers[0]) else { return nil }
    let others = tiers.count == 2 ? tiers[1] : .compound(Array(tiers.dropFirst()))
    guard let rest = Rest(others) else { return nil }
    self.init(first, rest)
  }
}

extension CompoundKey: OrderedKey where First: OrderedKey, Rest: OrderedKey {
  /// The tiers' forms.
  public var keyForm: CompoundKey<First.KeyForm, Rest.KeyForm> { CompoundKey<_, _>(first.keyForm, rest.keyForm) }

  /// The value of its tiers' forms.
  public init?(keyForm: CompoundKey<First.KeyForm, Rest.KeyForm>) {
    guard let first = First(keyForm: keyForm.first), let rest = Rest(keyForm: keyForm.rest) else { return nil }
    self.init(first, rest)
  }
}

extension Descending: ByteOrderedKey where Value: ByteOrderedKey {
  static var keyEncoding: KeyEncoding { .descending(Value.keyEncoding) }

  func append(to encoder: inout KeyEncoder) throws {
    try encoder.appendDescending { encoder throws in try value.append(to: &encoder) }
  }

  init?(_ value: KeyValue) {
    guard let value = Value(value) else { return nil }
    self.init(value)
  }
}

extension Descending: OrderedKey where Value: OrderedKey {
  /// The form of the value, descending.
  public var keyForm: Descending<Value.KeyForm> { Descending<_>(value.keyForm) }

  /// The value of a descending form.
  public init?(keyForm: Descending<Value.KeyForm>) {
    guard let value = Value(keyForm: keyForm.value) else { return nil }
    self.init(value)
  }
}

// An index of several tiers, of either kind that has one value an instance.

extension OneToManyIndexRepresentation {
  /// An index of two tiers: by the first property, then by the second.
  ///
  /// ```swift
  /// let largest = Index(\.country, \.population.descending)
  /// ```
  public init<A: Indexable, B: Indexable>(_ first: KeyPath<Instance, A>, _ second: KeyPath<Instance, B>)
  where Value == CompoundKey<A, B> {
    self.init(source: .init(.init(first), .init(second)))
  }

  /// An index of two tiers: by a Boolean, then by a property.
  public init<B: Indexable>(_ first: KeyPath<Instance, Bool>, _ second: KeyPath<Instance, B>)
  where Value == CompoundKey<IndexedBool, B> {
    self.init(source: .init(.init(first), .init(second)))
  }

  /// An index of two tiers: by a property, then by a Boolean.
  public init<A: Indexable>(_ first: KeyPath<Instance, A>, _ second: KeyPath<Instance, Bool>)
  where Value == CompoundKey<A, IndexedBool> {
    self.init(source: .init(.init(first), .init(second)))
  }

  /// An index of two tiers: by a Boolean that may be nil, then by a property.
  public init<B: Indexable>(_ first: KeyPath<Instance, Bool?>, _ second: KeyPath<Instance, B>)
  where Value == CompoundKey<IndexedBool?, B> {
    self.init(source: .init(.init(first), .init(second)))
  }

  /// An index of two tiers: by a property, then by a Boolean that may be nil.
  public init<A: Indexable>(_ first: KeyPath<Instance, A>, _ second: KeyPath<Instance, Bool?>)
  where Value == CompoundKey<A, IndexedBool?> {
    self.init(source: .init(.init(first), .init(second)))
  }

  /// An index of three tiers.
  public init<A: Indexable, B: Indexable, C: Indexable>(
    _ first: KeyPath<Instance, A>, _ second: KeyPath<Instance, B>, _ third: KeyPath<Instance, C>
  ) where Value == CompoundKey<A, CompoundKey<B, C>> {
    self.init(source: .init(.init(first), .init(.init(second), .init(third))))
  }

  /// An index of four tiers.
  public init<A: Indexable, B: Indexable, C: Indexable, D: Indexable>(
    _ first: KeyPath<Instance, A>, _ second: KeyPath<Instance, B>, _ third: KeyPath<Instance, C>,
    _ fourth: KeyPath<Instance, D>
  ) where Value == CompoundKey<A, CompoundKey<B, CompoundKey<C, D>>> {
    self.init(source: .init(.init(first), .init(.init(second), .init(.init(third), .init(fourth)))))
  }
}

extension OneToOneIndexRepresentation {
  /// An index by which one instance is found, of two tiers: by the first property, then by the second.
  ///
  /// ```swift
  /// @Unique var room = OneToOneIndex(\.building, \.number)
  /// ```
  public init<A: Indexable, B: Indexable>(_ first: KeyPath<Instance, A>, _ second: KeyPath<Instance, B>)
  where Value == CompoundKey<A, B> {
    self.init(source: .init(.init(first), .init(second)))
  }

  /// An index by which one instance is found, of three tiers.
  public init<A: Indexable, B: Indexable, C: Indexable>(
    _ first: KeyPath<Instance, A>, _ second: KeyPath<Instance, B>, _ third: KeyPath<Instance, C>
  ) where Value == CompoundKey<A, CompoundKey<B, C>> {
    self.init(source: .init(.init(first), .init(.init(second), .init(third))))
  }

  /// An index by which one instance is found, of four tiers.
  public init<A: Indexable, B: Indexable, C: Indexable, D: Indexable>(
    _ first: KeyPath<Instance, A>, _ second: KeyPath<Instance, B>, _ third: KeyPath<Instance, C>,
    _ fourth: KeyPath<Instance, D>
  ) where Value == CompoundKey<A, CompoundKey<B, CompoundKey<C, D>>> {
    self.init(source: .init(.init(first), .init(.init(second), .init(.init(third), .init(fourth)))))
  }
}

extension IndexValueSource {
  /// A source of compound keys: the value of one source followed by that of another.
  fileprivate init<First: Indexable, Rest: Indexable>(
    _ first: IndexValueSource<Instance, First>, _ rest: IndexValueSource<Instance, Rest>
  ) where Value == CompoundKey<First, Rest> {
    self.init(keyPaths: first.keyPaths + rest.keyPaths) { CompoundKey(first.value($0), rest.value($0)) }
  }
}
