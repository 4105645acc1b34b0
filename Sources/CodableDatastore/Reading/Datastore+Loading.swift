extension Datastore {
  /// The number of instances.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read; what is wrong with the declaration, see <doc:Errors>.
  public nonisolated var count: Int {
    get async throws { try await core.count() }
  }

  /// The instance of an identifier, or nil.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read; what a decoder throws; what is wrong with the declaration, see
  ///   <doc:Errors>.
  public nonisolated func load(id identifier: IdentifierType) async throws -> InstanceType? {
    try await core.load(identifier)
  }

  /// The instance of an identifier, or nil.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read; what a decoder throws; what is wrong with the declaration, see
  ///   <doc:Errors>.
  public nonisolated func load(_ identifier: IdentifierType) async throws -> InstanceType? {
    try await core.load(identifier)
  }

  /// The instances of a range of identifiers, in the order of these.
  ///
  /// The sequence shows what was there when it was made, whatever is written meanwhile.
  public nonisolated func load(
    range identifierRange: some IndexRangeExpression<IdentifierType>, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> where IdentifierType: RangedIndexable {
    core.instances(identifierRange, order: order)
  }

  /// The instances of a range of identifiers, in the order of these.
  public nonisolated func load(
    _ identifierRange: some IndexRangeExpression<IdentifierType>, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> where IdentifierType: RangedIndexable {
    core.instances(identifierRange, order: order)
  }

  /// The instances of a range of identifiers, in the order of these.
  @_disfavoredOverload
  public nonisolated func load(
    range identifierRange: IndexRange<IdentifierType>, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> where IdentifierType: RangedIndexable {
    core.instances(identifierRange, order: order)
  }

  /// The instances of a range of identifiers, in the order of these.
  @_disfavoredOverload
  public nonisolated func load(
    _ identifierRange: IndexRange<IdentifierType>, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> where IdentifierType: RangedIndexable {
    core.instances(identifierRange, order: order)
  }

  /// All instances, in the order of their identifiers.
  public nonisolated func load(
    range unboundedRange: Swift.UnboundedRange, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> {
    core.instances(WholeRange<IdentifierType>(), order: order)
  }

  /// All instances, in the order of their identifiers.
  public nonisolated func load(
    _ unboundedRange: Swift.UnboundedRange, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> {
    core.instances(WholeRange<IdentifierType>(), order: order)
  }
}

extension Datastore where InstanceType: Identifiable, IdentifierType == InstanceType.ID {
  /// The stored instance with the identifier of this one, or nil.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read; what a decoder throws; what is wrong with the declaration, see
  ///   <doc:Errors>.
  public nonisolated func load(instance: InstanceType) async throws -> InstanceType? {
    try await core.load(instance.id)
  }

  /// The stored instance with the identifier of this one, or nil.
  ///
  /// - Throws: ``StoreError`` where the store cannot be read; what a decoder throws; what is wrong with the declaration, see
  ///   <doc:Errors>.
  @_disfavoredOverload
  public nonisolated func load(_ instance: InstanceType) async throws -> InstanceType? {
    try await core.load(instance.id)
  }
}
