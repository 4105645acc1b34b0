/// The common index: an instance has one value, and many instances may share it. In a format it is called `Index`.
///
/// ```swift
/// let name = Index(\.name)
/// let byCountry = Index(\.country, \.population.descending)
/// ```
public struct OneToManyIndexRepresentation<Instance: Sendable, Value: Indexable>: RetrievableIndexRepresentation {
  let source: IndexValueSource<Instance, Value>

  /// An index on a property.
  public init(_ keypath: KeyPath<Instance, Value>) { source = IndexValueSource(keypath) }

  init(source: IndexValueSource<Instance, Value>) { self.source = source }

  /// `OneToManyIndex(Value)`.
  public var indexType: IndexType { IndexType("OneToManyIndex(\(String(describing: Value.self)))") }

  /// The same index, if its instances are of the given type.
  public func matches<T: Sendable>(_ instance: T.Type) -> (any IndexRepresentation<T>)? {
    self as? OneToManyIndexRepresentation<T, Value>
  }

  /// The one value of an instance.
  public func valuesToIndex(for instance: Instance) -> Set<Value> { [source.value(instance)] }
}
