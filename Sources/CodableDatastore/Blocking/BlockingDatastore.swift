public import StrataFoundation

extension Datastore {
  /// The datastore for code that is not async: see ``Persistence/blocking``.
  @available(*, noasync)
  public nonisolated var blocking: BlockingDatastore<Format, AccessMode> { BlockingDatastore(datastore: self) }
}

/// A datastore whose calls return when they are done, with values and arrays instead of sequences.
///
/// Each call does the same as the one of the same name on ``Datastore``: it throws the same errors, writes wait in the same queue, and each
/// is a transaction of its own unless it is made in ``BlockingPersistence/perform(actionName:options:transaction:)``. If an array would
/// hold too much, use ``walk(_:)``, which reads one instance at a time. Within a transaction whose closure is async a call throws
/// ``StoreError``: it would wait for itself.
public struct BlockingDatastore<Format: DatastoreFormat, AccessMode: _AccessMode>: Sendable {
  /// The type of the instances.
  public typealias InstanceType = Format.Instance
  /// The type of the identifiers, each of which names one instance.
  public typealias IdentifierType = Format.Identifier

  /// The datastore behind it.
  public let datastore: Datastore<Format, AccessMode>

  func call<Value>(_ body: () async throws -> Value) throws -> Value {
    try Blocking.call(datastore.core.store, body)
  }

  /// Makes any async calls of the datastore, and returns when they are done.
  ///
  /// ```swift
  /// let countries = try cities.blocking { try await $0.load(...).grouped(by: \.country) { $0.count } }
  /// ```
  ///
  /// - Throws: The errors of the calls; ``StoreError`` of kind `refused` within a transaction whose closure is async.
  @available(*, noasync)
  public func callAsFunction<Value>(
    _ calls: (Datastore<Format, AccessMode>) async throws -> Value
  ) throws -> Value {
    try call { try await calls(datastore) }
  }

  /// All elements that an async call of the datastore gives.
  ///
  /// ```swift
  /// let largest = try cities.blocking.collect { $0.load(prefix: "CH", from: \.countryAndSize) }
  /// ```
  @available(*, noasync)
  public func collect<Instances: AsyncInstances>(
    _ instances: (Datastore<Format, AccessMode>) async throws -> Instances
  ) throws -> [Instances.Element] {
    try call { try await instances(datastore).collectInstances(upTo: .infinity) }
  }

  /// The elements that an async call of the datastore gives, each when it is asked for: the instances of a long range, or observed changes.
  @available(*, noasync)
  public func walk<Instances: AsyncInstances>(
    _ instances: (Datastore<Format, AccessMode>) async throws -> Instances
  ) throws -> BlockingWalk<Instances.Element> {
    BlockingWalk(datastore.core.store, try call { try await instances(datastore) })
  }

  /// The number of instances.
  @available(*, noasync)
  public var count: Int { get throws { try call { try await datastore.count } } }

  /// The instance of an identifier, or nil.
  @available(*, noasync)
  public func load(_ identifier: IdentifierType) throws -> InstanceType? {
    try call { try await datastore.load(id: identifier) }
  }

  /// The instance of an identifier, or nil.
  @available(*, noasync)
  public func load(id identifier: IdentifierType) throws -> InstanceType? {
    try call { try await datastore.load(id: identifier) }
  }

  /// The instances of several identifiers, in their order; nil for a missing one.
  @available(*, noasync)
  public func load(ids identifiers: some Sequence<IdentifierType>) throws -> [InstanceType?] {
    try call { try await datastore.load(ids: identifiers) }
  }

  /// The instances of a range of identifiers.
  @available(*, noasync)
  public func load(
    _ range: some IndexRangeExpression<IdentifierType>, order: RangeOrder = .ascending
  ) throws -> [InstanceType] where IdentifierType: RangedIndexable {
    try collect { $0.load(range, order: order) }
  }

  /// The instances of a range of identifiers.
  @available(*, noasync)
  @_disfavoredOverload
  public func load(
    _ range: IndexRange<IdentifierType>, order: RangeOrder = .ascending
  ) throws -> [InstanceType] where IdentifierType: RangedIndexable {
    try collect { $0.load(range, order: order) }
  }

  /// All instances, by their identifiers.
  @available(*, noasync)
  public func load(_ range: Swift.UnboundedRange, order: RangeOrder = .ascending) throws -> [InstanceType] {
    try collect { $0.load(range, order: order) }
  }

  /// The instances that meet a condition: a query, which reads when its results are asked for.
  @available(*, noasync)
  public func load(where predicate: Predicate<InstanceType>) -> BlockingQuery<Format, AccessMode> {
    BlockingQuery(query: datastore.load(where: predicate))
  }

  /// The instances of one value of an index.
  @available(*, noasync)
  public func load<Value: DiscreteIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>>(
    _ value: Value, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) throws -> [InstanceType] {
    try collect { $0.load(value, order: order, from: index) }
  }

  /// The instance of one value of an index that finds single instances.
  @available(*, noasync)
  public func load<Value: DiscreteIndexable, Index: SingleInstanceIndexRepresentation<InstanceType, Value>>(
    _ value: Value, from index: KeyPath<Format, Index>
  ) throws -> InstanceType? {
    try call { try await datastore.core.first(value, from: index) }
  }

  /// The instances of a range of an index.
  @available(*, noasync)
  public func load<Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>>(
    _ range: some IndexRangeExpression<Value>, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) throws -> [InstanceType] {
    try collect { $0.load(range, order: order, from: index) }
  }

  /// The instances of a range of an index.
  @available(*, noasync)
  @_disfavoredOverload
  public func load<Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>>(
    _ range: IndexRange<Value>, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) throws -> [InstanceType] {
    try collect { $0.load(range, order: order, from: index) }
  }

  /// The instances that are in an index, in its order.
  @available(*, noasync)
  public func load<Index: IndexRepresentation<InstanceType>>(
    _ range: Swift.UnboundedRange, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) throws -> [InstanceType] {
    try collect { $0.load(range, order: order, from: index) }
  }

  /// The instances whose text in an index begins with this one.
  @available(*, noasync)
  public func load<Index: RetrievableIndexRepresentation<InstanceType, String>>(
    prefix: String, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) throws -> [InstanceType] {
    try collect { $0.load(prefix: prefix, order: order, from: index) }
  }

  /// Converts every instance as a warm-up would, and writes nothing.
  @available(*, noasync)
  public func rehearseMigration(
    at commit: Commit.Number? = nil, progressHandler: ProgressHandler? = nil
  ) throws -> MigrationRehearsal {
    try call { try await datastore.rehearseMigration(at: commit, progressHandler: progressHandler) }
  }

  /// Does the checks and the building of the first use now.
  @available(*, noasync)
  public func warm(progressHandler: ProgressHandler? = nil) throws {
    try call { try await datastore.warm(progressHandler: progressHandler) }
  }
}

// MARK: Warming up

extension BlockingDatastore where AccessMode == ReadWrite {
  /// Converts all instances that are older than a version.
  @available(*, noasync)
  public func migrateEntireStore(
    ifLessThan minimumVersion: Format.Version, progressHandler: ProgressHandler? = nil
  ) throws {
    try call {
      try await datastore.migrateEntireStore(ifLessThan: minimumVersion, progressHandler: progressHandler)
    }
  }

  /// Rebuilds an index if it is older than a version.
  @available(*, noasync)
  public func migrate<Index: IndexRepresentation<InstanceType>>(
    index: KeyPath<Format, Index>, ifLessThan minimumVersion: Format.Version, progressHandler: ProgressHandler? = nil
  ) throws {
    try call {
      try await datastore.migrate(index: index, ifLessThan: minimumVersion, progressHandler: progressHandler)
    }
  }
}
