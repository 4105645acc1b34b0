/// An index by which one instance is meant to be found by one value. In a format it is called `OneToOneIndex`.
///
/// Uniqueness is kept only where it is switched on, see ``Unique``; otherwise duplicates are all kept, and loading a
/// single instance gives the one of the lowest identifier.
public struct OneToOneIndexRepresentation<Instance: Sendable, Value: Indexable & DiscreteIndexable>:
  SingleInstanceIndexRepresentation
{
  let source: IndexValueSource<Instance, Value>

  /// An index on a property.
  public init(_ keypath: KeyPath<Instance, Value>) { source = IndexValueSource(keypath) }

  init(source: IndexValueSource<Instance, Value>) { self.source = source }

  /// `OneToOneIndex(Value)`.
  public var indexType: IndexType { IndexType("OneToOneIndex(\(String(describing: Value.self)))") }

  /// The same index, if its instances are of the given type.
  public func matches<T: Sendable>(_ instance: T.Type) -> (any IndexRepresentation<T>)? {
    self as? OneToOneIndexRepresentation<T, Value>
  }

  /// The one value of an instance.
  public func valuesToIndex(for instance: Instance) -> Set<Value> { [source.value(instance)] }
}
