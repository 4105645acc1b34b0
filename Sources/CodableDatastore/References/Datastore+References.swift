extension Datastore {
  /// Loads the instances that an instance refers to, in the order in which it names them; nil for each that does not exist.
  ///
  /// The cost is that of loading each by its identifier.
  ///
  /// - Parameters:
  ///   - reference: The reference of the format.
  ///   - instance: The referring instance; it need not be stored.
  ///   - datastore: The datastore of the referenced instances.
  /// - Throws: ``ReferenceError`` if the reference does not lead to the given datastore.
  public nonisolated func follow<Target: DatastoreFormat, Value: Indexable, Mode: _AccessMode>(
    _ reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>, from instance: InstanceType,
    in datastore: Datastore<Target, Mode>
  ) async throws -> [Target.Instance?] {
    try await follow(reference, from: [instance], in: datastore)[0]
  }

  /// Loads the instances that each of several instances refers to, in their order; nil for each that does not exist. An
  /// instance that several refer to is read once.
  ///
  /// - Throws: ``ReferenceError`` if the reference does not lead to the given datastore; ``StoreError`` if the store cannot be
  ///   read; the error of decoding an instance.
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
        if known[identifier] == nil { known.updateValue(try await datastore.load(identifier), forKey: identifier) }
        found.append(known[identifier] ?? nil)
      }
      followed.append(found)
    }
    return followed
  }

  /// The instances that refer to an instance of another datastore, by identifier: a range of the index.
  ///
  /// ```swift
  /// for try await book in books.load(referringTo: author.id, through: \.author) { … }
  /// ```
  public nonisolated func load<Target: DatastoreFormat, Value: Indexable>(
    referringTo identifier: Target.Identifier, order: RangeOrder = .ascending,
    through reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>
  ) -> Selection<Format, AccessMode> {
    core.instances(IndexRange(only: core.format[keyPath: reference].value(identifier)), order: order, from: reference)
  }

  /// The references whose target does not exist, ordered by the target's identifier, then by the referring instance's.
  ///
  /// One merge of the index with the identifiers of the target; no record is read.
  ///
  /// - Returns: Pairs of the referring instance's identifier and the missing target's.
  /// - Throws: ``ReferenceError`` if the reference does not lead to the given datastore; ``StoreError`` if the store cannot be read;
  ///   `CancellationError`.
  public nonisolated func dangling<Target: DatastoreFormat, Value: Indexable, Mode: _AccessMode>(
    _ reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>,
    in datastore: Datastore<Target, Mode>
  ) async throws -> [DanglingReference<IdentifierType, Target.Identifier>] {
    _ = try core.reference(reference, to: datastore.core)
    return try await core.dangling(reference, in: datastore.core)
  }
}

/// A reference whose target does not exist.
public struct DanglingReference<Identifier: Sendable, Target: Sendable>: Sendable {
  /// The identifier of the referring instance.
  public var id: Identifier
  /// The identifier that it names; no instance has it.
  public var target: Target

  /// Makes a reference whose target does not exist.
  public init(id: Identifier, target: Target) {
    self.id = id
    self.target = target
  }
}

extension DanglingReference: Equatable where Identifier: Equatable, Target: Equatable {}
extension DanglingReference: Hashable where Identifier: Hashable, Target: Hashable {}

extension DatastoreCore {
  /// A declared reference, after a check that it leads to the given datastore, in the same store.
  func reference<Target: DatastoreFormat, Value: Indexable>(
    _ path: KeyPath<Format, ReferenceRepresentation<Instance, Target, Value>>, to target: DatastoreCore<Target>
  ) throws -> ReferenceRepresentation<Instance, Target, Value> {
    let reference = format[keyPath: path]
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
