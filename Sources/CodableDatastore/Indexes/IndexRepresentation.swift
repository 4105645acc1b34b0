/// How instances are found by a value of theirs: what kind of index it is, and which values an instance has in it.
public protocol IndexRepresentation<Instance>: Hashable, Sendable {
  /// The type of the instances.
  associatedtype Instance: Sendable
  /// Kind and value type, as `OneToManyIndex(Int)`. If it changes, the index is rebuilt.
  var indexType: IndexType { get }
  /// The same representation, if its instances are of the given type.
  func matches<T>(_ instance: T.Type) -> (any IndexRepresentation<T>)?
  /// The values under which an instance is found.
  func valuesToIndex(for instance: Instance) -> [AnyIndexable]
}

extension IndexRepresentation {
  /// The representation as a key of a dictionary.
  public var key: AnyIndexRepresentation<Instance> { AnyIndexRepresentation(indexRepresentation: self) }
}

/// An index whose type of values is known.
public protocol RetrievableIndexRepresentation<Instance, Value>: IndexRepresentation {
  /// The type of the values.
  associatedtype Value: Indexable & Hashable
  /// The distinct values under which an instance is found.
  func valuesToIndex(for instance: Instance) -> Set<Value>
}

extension RetrievableIndexRepresentation {
  /// The values under which an instance is found, without their type.
  public func valuesToIndex(for instance: Instance) -> [AnyIndexable] {
    let values: Set<Value> = valuesToIndex(for: instance)
    return values.map { AnyIndexable($0) }
  }
}

/// An index of which one value is meant to have one instance.
public protocol SingleInstanceIndexRepresentation<Instance, Value>: RetrievableIndexRepresentation
where Value: DiscreteIndexable {}

/// An index in which an instance has several values.
public protocol MultipleInputIndexRepresentation<Instance, Sequence, Value>: RetrievableIndexRepresentation {
  /// The type of an instance's values together.
  associatedtype Sequence: Swift.Sequence<Value> & Sendable
}

/// An index as a key of a dictionary: two are equal when they are of one kind and one key path.
public struct AnyIndexRepresentation<Instance: Sendable>: Hashable, Sendable {
  let indexRepresentation: any IndexRepresentation<Instance>

  /// Whether both are of one kind and one key path.
  public static func == (left: Self, right: Self) -> Bool {
    AnyHashable(left.indexRepresentation) == AnyHashable(right.indexRepresentation)
  }

  /// Hashes kind and key path.
  public func hash(into hasher: inout Hasher) { indexRepresentation.hash(into: &hasher) }
}

/// How the entries of an index refer to the instances.
public enum IndexStorage: Sendable {
  /// Entries lead straight to the instance; every change of the instance rewrites them.
  case direct
  /// Entries hold the identifier, and reading goes on through the primary order.
  case reference
}

/// One index of a format, as its declaration gave it.
public struct GeneratedIndexRepresentation<Instance: Sendable>: Sendable {
  /// Its name: the label of the property.
  public var indexName: IndexName
  /// Kind and values.
  public var index: any IndexRepresentation<Instance>
  /// How its entries refer to the instances.
  public var storage: IndexStorage

  /// Describes one index.
  public init(indexName: IndexName, index: any IndexRepresentation<Instance>, storage: IndexStorage) {
    self.indexName = indexName
    self.index = index
    self.storage = storage
  }
}
