extension BlockingDatastore {
  /// The instances that a reference of an instance leads to; nil for a missing one.
  @available(*, noasync)
  public func follow<Target: DatastoreFormat, Value: Indexable, Mode: _AccessMode>(
    _ reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>, from instance: InstanceType,
    in other: BlockingDatastore<Target, Mode>
  ) throws -> [Target.Instance?] {
    try call { try await datastore.follow(reference, from: instance, in: other.datastore) }
  }

  /// The same of several instances.
  @available(*, noasync)
  public func follow<Target: DatastoreFormat, Value: Indexable, Mode: _AccessMode>(
    _ reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>, from instances: [InstanceType],
    in other: BlockingDatastore<Target, Mode>
  ) throws -> [[Target.Instance?]] {
    try call { try await datastore.follow(reference, from: instances, in: other.datastore) }
  }

  /// The instances that refer to an identifier of another datastore.
  @available(*, noasync)
  public func load<Target: DatastoreFormat, Value: Indexable>(
    referringTo identifier: Target.Identifier, order: RangeOrder = .ascending,
    through reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>
  ) throws -> [InstanceType] {
    try collect { $0.load(referringTo: identifier, order: order, through: reference) }
  }

  /// References to instances that do not exist.
  @available(*, noasync)
  public func dangling<Target: DatastoreFormat, Value: Indexable, Mode: _AccessMode>(
    _ reference: KeyPath<Format, ReferenceRepresentation<InstanceType, Target, Value>>,
    in other: BlockingDatastore<Target, Mode>
  ) throws -> [DanglingReference<IdentifierType, Target.Identifier>] {
    try call { try await datastore.dangling(reference, in: other.datastore) }
  }

  /// The first instance that one of several matches finds, tried in order.
  @available(*, noasync)
  public func resolve(_ matches: InstanceMatch<Format>...) throws -> Resolved<InstanceType>? {
    try call { try await datastore.resolve(matches) }
  }
}

extension BlockingDatastore where AccessMode == ReadWrite {
  /// Deletes an instance, in one transaction; rules decide about the references to it.
  ///
  /// - Returns: The deleted instance.
  @available(*, noasync)
  @discardableResult
  public func delete(
    _ identifier: IdentifierType, references rule: ReferenceRule<Format>, _ rules: ReferenceRule<Format>...
  ) throws -> InstanceType {
    try call { try await datastore.delete(identifier, references: [rule] + rules) }
  }
}

extension BlockingDatastore
where AccessMode == ReadWrite, InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// The first instance that one of several matches finds, or a new one, in one transaction.
  @available(*, noasync)
  public func resolve(
    _ matches: InstanceMatch<Format>..., orCreate create: @Sendable () throws -> InstanceType
  ) throws -> Resolved<InstanceType> {
    try call { try await datastore.resolve(matches) { try Blocking.joining(create) } }
  }

  /// The same for each of several items, in their order, in one transaction.
  @available(*, noasync)
  public func resolve<Item: Sendable>(
    _ items: [Item], by matches: @Sendable (Item) -> [InstanceMatch<Format>],
    orCreate create: @Sendable (Item) throws -> InstanceType
  ) throws -> [Resolved<InstanceType>] {
    try call {
      try await datastore.resolve(items, by: matches) { item in try Blocking.joining { try create(item) } }
    }
  }
}
