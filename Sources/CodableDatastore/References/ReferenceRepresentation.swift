public import StrataFoundation
import StrataModel

/// An index whose values are identifiers of another datastore. In a format it is called `Reference`.
///
/// ```swift
/// struct BookFormat: DatastoreFormat { …
///   let author = Reference(\.authorID, to: AuthorFormat.self)
///   let translators = Reference(\.translatorIDs, to: AuthorFormat.self)
/// }
/// ```
///
/// It is an index like any other that also names its target: over one identifier it is of the kind of `Index`, over several of the kind of
/// `ManyToManyIndex`. A store that had such an index on the same property before needs no rebuild. The store keeps the target's key, so
/// that tools can follow references. Nothing is deleted automatically: a deleted instance leaves dangling references, unless
/// `delete(_:references:)` is called with another rule.
public struct ReferenceRepresentation<Instance: Sendable, Target: DatastoreFormat, Value: Indexable>:
  RetrievableIndexRepresentation
{
  let kind: IndexKind
  let keyPath: any PartialKeyPath<Instance> & Sendable
  /// The datastore that the identifiers belong to. If a format refers to itself by its default key, this is the datastore that the format
  /// is used for, whatever its key is.
  public let target: DatastoreKey
  let values: @Sendable (Instance) -> [Value]
  let value: @Sendable (Target.Identifier) -> Value
  let identifier: @Sendable (Value) -> Target.Identifier?
  /// Removes a reference from an instance. Returns false if the property cannot be without it.
  let clear: @Sendable (inout Instance, Target.Identifier) -> Bool
}

extension ReferenceRepresentation {
  /// A reference to one instance.
  ///
  /// - Parameters:
  ///   - keypath: The property that holds the identifier.
  ///   - format: The format of the target datastore.
  ///   - target: The key of the target datastore.
  public init(
    _ keypath: KeyPath<Instance, Value>, to format: Target.Type, key target: DatastoreKey = Target.defaultKey
  ) where Value == Target.Identifier {
    let path = keypath as any KeyPath<Instance, Value> & Sendable
    self.init(
      kind: .oneToMany, keyPath: path, target: target, values: { [$0[keyPath: path]] }, value: { $0 },
      identifier: { $0 }, clear: { _, _ in false })
  }

  /// A reference to one instance, or to none.
  ///
  /// - Parameters:
  ///   - keypath: The property that holds the identifier.
  ///   - format: The format of the target datastore.
  ///   - target: The key of the target datastore.
  public init(
    _ keypath: KeyPath<Instance, Target.Identifier?>, to format: Target.Type,
    key target: DatastoreKey = Target.defaultKey
  ) where Value == Target.Identifier? {
    let path = keypath as any KeyPath<Instance, Value> & Sendable
    self.init(
      kind: .oneToMany, keyPath: path, target: target, values: { [$0[keyPath: path]] }, value: { $0 },
      identifier: { $0 }
    ) { instance, _ in
      guard let writable = path as? WritableKeyPath<Instance, Value> else { return false }
      instance[keyPath: writable] = nil
      return true
    }
  }

  /// References to any number of instances.
  ///
  /// - Parameters:
  ///   - keypath: The property that holds the identifiers; repeated ones count once.
  ///   - format: The format of the target datastore.
  ///   - target: The key of the target datastore.
  public init<Identifiers: Sequence<Target.Identifier> & Sendable>(
    _ keypath: KeyPath<Instance, Identifiers>, to format: Target.Type, key target: DatastoreKey = Target.defaultKey
  ) where Value == Target.Identifier {
    let path = keypath as any KeyPath<Instance, Identifiers> & Sendable
    self.init(
      kind: .manyToMany, keyPath: path, target: target, values: { Array($0[keyPath: path]) }, value: { $0 },
      identifier: { $0 }
    ) { instance, identifier in
      guard let writable = path as? WritableKeyPath<Instance, Identifiers> else { return false }
      return Self.remove(identifier, from: &instance[keyPath: writable])
    }
  }

  /// References to any number of instances, in a property that may be missing.
  ///
  /// - Parameters:
  ///   - keypath: The property that holds the identifiers; repeated ones count once.
  ///   - format: The format of the target datastore.
  ///   - target: The key of the target datastore.
  public init<Identifiers: Sequence<Target.Identifier> & Sendable>(
    _ keypath: KeyPath<Instance, Identifiers?>, to format: Target.Type, key target: DatastoreKey = Target.defaultKey
  ) where Value == Target.Identifier {
    let path = keypath as any KeyPath<Instance, Identifiers?> & Sendable
    self.init(
      kind: .manyToMany, keyPath: path, target: target, values: { $0[keyPath: path].map(Array.init) ?? [] },
      value: { $0 }, identifier: { $0 }
    ) { instance, identifier in
      guard let writable = path as? WritableKeyPath<Instance, Identifiers?>,
        var identifiers = instance[keyPath: writable]
      else { return false }
      defer { instance[keyPath: writable] = identifiers }
      return Self.remove(identifier, from: &identifiers)
    }
  }

  private static func remove<Identifiers>(_ identifier: Target.Identifier, from identifiers: inout Identifiers) -> Bool
  {
    let rest: Any? =
      switch identifiers {
      case let list as [Target.Identifier]: list.filter { $0 != identifier }
      case let set as Set<Target.Identifier>: set.subtracting([identifier])
      default: nil
      }
    guard let rest = rest as? Identifiers else { return false }
    identifiers = rest
    return true
  }

  /// `OneToManyIndex(Value)` or `ManyToManyIndex(Value)`: that of a plain index on the property.
  public var indexType: IndexType { IndexType("\(kind.typeName)(\(String(describing: Value.self)))") }

  /// The same reference, if its instances are of the given type.
  public func matches<T: Sendable>(_ instance: T.Type) -> (any IndexRepresentation<T>)? {
    self as? ReferenceRepresentation<T, Target, Value>
  }

  /// The distinct values of an instance.
  public func valuesToIndex(for instance: Instance) -> Set<Value> { Set(values(instance)) }

  /// Whether both are of one property and lead to one datastore.
  public static func == (left: Self, right: Self) -> Bool {
    left.kind == right.kind && left.keyPath as AnyKeyPath == right.keyPath && left.target == right.target
  }

  /// Hashes the property and the target.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(keyPath as AnyKeyPath)
    hasher.combine(target)
  }
}

extension ReferenceRepresentation: IndexValues {
  var keyPaths: [any AnyKeyPath & Sendable] { [keyPath] }

  func keys(by coder: KeyCoder<Value>) -> @Sendable (Instance) throws -> [[UInt8]] {
    { try Self.keys(of: values($0), by: coder) }
  }
}

protocol TargetedIndex {
  /// The target of the index in a datastore of a format.
  func target(in datastore: String, of format: any DatastoreFormat.Type) -> DatastoreKey
}

extension ReferenceRepresentation: TargetedIndex {
  func target(in datastore: String, of format: any DatastoreFormat.Type) -> DatastoreKey {
    format == Target.self && target == Target.defaultKey ? DatastoreKey(datastore) : target
  }
}

extension DatastoreFormat {
  /// Identifiers of another datastore; see ``ReferenceRepresentation``.
  public typealias Reference<Target: DatastoreFormat, Value: Indexable> =
    ReferenceRepresentation<Instance, Target, Value>
}

/// An error of a reference: it does not lead to the given datastore, or cannot do what was requested.
public enum ReferenceError: LocalizedError, Hashable, Sendable {
  /// The reference leads to another datastore than the one that was given.
  case otherTarget(declared: DatastoreKey, given: DatastoreKey)
  /// Both datastores must be of one store.
  case otherStore(DatastoreKey)
  /// The instance is referred to, and was to be deleted only if it is not.
  case isReferredTo(datastore: DatastoreKey, by: DatastoreKey, count: Int)
  /// A property cannot be without its reference: it is neither optional nor a list, or cannot be written.
  case cannotBeCleared(datastore: DatastoreKey, index: IndexName)
  /// The values of a reference are of another type than the identifiers of the datastore that it leads to. Nothing was written.
  case otherIdentifiers(
    datastore: DatastoreKey, index: IndexName, values: String, target: DatastoreKey, identifiers: String)

  /// One sentence for a person.
  public var errorDescription: String? {
    switch self {
    case .otherTarget(let declared, let given): "The reference leads to \(declared), not to \(given)."
    case .otherStore(let key): "\(key) is in another store; a reference leads to a datastore of its own store."
    case .isReferredTo(let datastore, let by, let count):
      "It cannot be deleted from \(datastore): \(count) of \(by) \(count == 1 ? "refers" : "refer") to it."
    case .cannotBeCleared(let datastore, let index):
      "The reference \(index) of \(datastore) cannot be cleared: its property is neither optional nor a list, or cannot be written."
    case .otherIdentifiers(let datastore, let index, let values, let target, let identifiers):
      "The reference \(index) of \(datastore) holds \(values), but \(target) is kept by \(identifiers)."
    }
  }
}
