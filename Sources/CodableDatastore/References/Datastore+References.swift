import DatastoreModel
import StorageEngine

extension Datastore {
  /// Whom an instance refers to, in the order in which it names them; nil where one is not there.
  ///
  /// The cost is that of loading each by its identifier.
  ///
  /// - Parameters:
  ///   - reference: The reference of the format.
  ///   - instance: Who refers; it need not be stored.
  ///   - datastore: Where the reference leads.
  /// - Throws: ``ReferenceError`` where it does not lead there.
  public nonisolated func follow<Target: DatastoreFormat, Value: Indexable, Mode: _AccessMode>(
    _ reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>, from instance: InstanceType,
    in datastore: Datastore<Target, Mode>
  ) async throws -> [Target.Instance?] {
    try await follow(reference, from: [instance], in: datastore)[0]
  }

  /// Whom each of several instances refers to, in their order; nil where one is not there. Who is referred to repeatedly is
  /// read once.
  ///
  /// - Throws: ``ReferenceError`` where the reference does not lead there; ``StoreError`` where the store cannot be read,
  ///   and what decoding an instance throws.
  public nonisolated func follow<Target: DatastoreFormat, Value: Indexable, Mode: _AccessMode>(
    _ reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>, from instances: [InstanceType],
    in datastore: Datastore<Target, Mode>
  ) async throws -> [[Target.Instance?]] {
    let reference = try core.reference(reference, to: datastore.core)
    var known: [Target.Identifier: Target.Instance?] = [:]
    var followed: [[Target.Instance?]] = []
    followed.reserveCapacity(instances.count)
    for instance in instances {
      var found: [Target.Instance?] = []
      for identifier in reference.values(instance).compactMap(reference.identifier) {
        if let target = known[identifier] {
          found.append(target)
        } else {
          let target = try await datastore.load(identifier)
          known.updateValue(target, forKey: identifier)
          found.append(target)
        }
      }
      followed.append(found)
    }
    return followed
  }

  /// Who refers to an instance of another datastore, by their identifiers: a range of the index.
  ///
  /// ```swift
  /// for try await book in books.load(referringTo: author.id, through: \.author) { … }
  /// ```
  public nonisolated func load<Target: DatastoreFormat, Value: Indexable>(
    referringTo identifier: Target.Identifier, order: RangeOrder = .ascending,
    through reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>
  ) -> some AsyncInstances<InstanceType> {
    core.instances(IndexRange(only: core.declared(reference).value(identifier)), order: order, from: reference)
  }

  /// The references that lead nowhere, by whom they name, then by who names it.
  ///
  /// One merge of the index with the identifiers of the target; no record is read.
  ///
  /// - Returns: Pairs of who refers and whom it names.
  /// - Throws: ``ReferenceError`` where the reference does not lead to the given datastore.
  public nonisolated func dangling<Target: DatastoreFormat, Value: Indexable, Mode: _AccessMode>(
    _ reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>,
    in datastore: Datastore<Target, Mode>
  ) async throws -> [DanglingReference<IdentifierType, Target.Identifier>] {
    _ = try core.reference(reference, to: datastore.core)
    return try await core.dangling(reference, in: datastore.core)
  }
}

/// A reference that leads nowhere.
public struct DanglingReference<Identifier: Sendable, Target: Sendable>: Sendable {
  /// Who refers.
  public var id: Identifier
  /// Whom it names, who is not there.
  public var target: Target

  /// A reference that leads nowhere.
  public init(id: Identifier, target: Target) {
    self.id = id
    self.target = target
  }
}

extension DanglingReference: Equatable where Identifier: Equatable, Target: Equatable {}
extension DanglingReference: Hashable where Identifier: Hashable, Target: Hashable {}

extension DatastoreCore {
  /// The reference that a key path of the format leads to.
  func declared<Target: DatastoreFormat, Value: Indexable>(
    _ path: KeyPath<Format, ReferenceRepresentation<Instance, Target, Value>>
  ) -> ReferenceRepresentation<Instance, Target, Value> { format[keyPath: path] }

  /// The same, once it is seen to lead to a datastore.
  func reference<Target: DatastoreFormat, Value: Indexable>(
    _ path: KeyPath<Format, ReferenceRepresentation<Instance, Target, Value>>, to target: DatastoreCore<Target>
  ) throws -> ReferenceRepresentation<Instance, Target, Value> {
    let reference = declared(path)
    let leads = reference.target(in: key, of: Format.self)
    guard leads.rawValue == target.key else {
      throw ReferenceError.otherTarget(declared: leads, given: DatastoreKey(target.key))
    }
    guard store.connection === target.store.connection else {
      throw ReferenceError.otherStore(DatastoreKey(target.key))
    }
    return reference
  }
}
