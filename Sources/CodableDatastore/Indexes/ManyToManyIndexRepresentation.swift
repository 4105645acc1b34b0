/// An index in which an instance has several values and a value several instances. In a format it is called
/// `ManyToManyIndex`.
public struct ManyToManyIndexRepresentation<
  Instance: Sendable, Sequence: Swift.Sequence<Value> & Sendable, Value: Indexable
>: MultipleInputIndexRepresentation {
  let keypath: KeyPath<Instance, Sequence>

  /// An index on a property that holds several values. Repeated ones count once; an instance without any is not found.
  public init(_ keypath: KeyPath<Instance, Sequence>) { self.keypath = keypath }

  /// `ManyToManyIndex(Value)`.
  public var indexType: IndexType { IndexType("ManyToManyIndex(\(String(describing: Value.self)))") }

  /// The same index, if its instances are of the given type.
  public func matches<T: Sendable>(_ instance: T.Type) -> (any IndexRepresentation<T>)? {
    self as? ManyToManyIndexRepresentation<T, Sequence, Value>
  }

  /// The distinct values of an instance.
  public func valuesToIndex(for instance: Instance) -> Set<Value> { Set(instance[keyPath: keypath]) }
}
