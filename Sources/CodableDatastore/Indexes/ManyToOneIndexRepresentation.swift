/// An index in which an instance has several values, each meant to be its own. In a format it is called
/// `ManyToOneIndex`.
///
/// Uniqueness is kept only where it is switched on, see ``Unique``.
public struct ManyToOneIndexRepresentation<
  Instance: Sendable, Sequence: Swift.Sequence<Value> & Sendable, Value: Indexable & DiscreteIndexable
>: SingleInstanceIndexRepresentation & MultipleInputIndexRepresentation {
  let keypath: KeyPath<Instance, Sequence>

  /// An index on a property that holds several values. Repeated ones count once; an instance without any is not found.
  public init(_ keypath: KeyPath<Instance, Sequence>) { self.keypath = keypath }

  /// `ManyToOneIndex(Value)`.
  public var indexType: IndexType { IndexType("ManyToOneIndex(\(String(describing: Value.self)))") }

  /// The same index, if its instances are of the given type.
  public func matches<T: Sendable>(_ instance: T.Type) -> (any IndexRepresentation<T>)? {
    self as? ManyToOneIndexRepresentation<T, Sequence, Value>
  }

  /// The distinct values of an instance.
  public func valuesToIndex(for instance: Instance) -> Set<Value> { Set(instance[keyPath: keypath]) }
}
