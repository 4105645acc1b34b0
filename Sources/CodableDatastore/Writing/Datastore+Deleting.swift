import StorageEngine

extension Datastore where AccessMode == ReadWrite {
  /// Deletes the instances of a range of identifiers, all that meet a condition, in one transaction. The range is scanned.
  ///
  /// - Parameters:
  ///   - range: The identifiers.
  ///   - condition: Which of them; all by default.
  /// - Returns: How many were deleted.
  /// - Throws: ``StoreError`` where the store cannot be written; what a decoder or the condition throws. Then nothing is deleted.
  @discardableResult
  public nonisolated func delete(
    range: some IndexRangeExpression<IdentifierType>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int where IdentifierType: RangedIndexable {
    try await core.delete(where: condition) { core in core.instances(range, order: .ascending) }
  }

  /// Deletes all instances that meet a condition, in one transaction. A scan, for a closure tells no index what it asks:
  /// ``Query/delete()`` reads by indexes.
  ///
  /// - Parameters:
  ///   - range: `...`
  ///   - condition: Which; all by default.
  /// - Returns: How many were deleted.
  /// - Throws: ``StoreError`` where the store cannot be written; what a decoder or the condition throws. Then nothing is deleted.
  @discardableResult
  public nonisolated func delete(
    range: Swift.UnboundedRange, where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(WholeRange<IdentifierType>(), order: .ascending)
    }
  }

  /// Deletes the instances of a range of an index, all that meet a condition, in one transaction.
  ///
  /// ```swift
  /// try await logs.delete(range: ..<lastMonth, of: \.date)
  /// ```
  ///
  /// - Parameters:
  ///   - range: The values.
  ///   - index: The index that they are values of.
  ///   - condition: Which of the instances; all by default.
  /// - Returns: How many were deleted.
  /// - Throws: ``StoreError`` where the store cannot be written; what a decoder or the condition throws. Then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    range: some IndexRangeExpression<Value>, of index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in core.instances(range, order: .ascending, from: index) }
  }

  /// Deletes the instances of one value of an index, all that meet a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: ``StoreError`` where the store cannot be written; what a decoder or the condition throws. Then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    Value: DiscreteIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    value: Value, of index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(IndexRange(only: value), order: .ascending, from: index)
    }
  }
}

// As `load` spells them.

extension Datastore where AccessMode == ReadWrite {
  /// Deletes the instances of a range of identifiers, all that meet a condition, in one transaction. The range is scanned.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete(
    _ range: some IndexRangeExpression<IdentifierType>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int where IdentifierType: RangedIndexable {
    try await delete(range: range, where: condition)
  }

  /// Deletes the instances of a range of an index, all that meet a condition, in one transaction.
  ///
  /// ```swift
  /// try await logs.delete(..<lastMonth, from: \.date)
  /// ```
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    _ range: some IndexRangeExpression<Value>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await delete(range: range, of: index, where: condition)
  }

  /// Deletes the instances of one value of an index, all that meet a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    Value: DiscreteIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    _ value: Value, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await delete(value: value, of: index, where: condition)
  }

  /// Deletes the instances that are in an index, all that meet a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<Index: IndexRepresentation<InstanceType>>(
    _ range: Swift.UnboundedRange, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in core.instances(order: .ascending, from: index) }
  }
}

extension DatastoreCore {
  /// Deletes what a run of records holds and a condition chooses.
  func delete(
    where condition: (Instance) async throws -> Bool, _ instances: (DatastoreCore) -> StoredInstances<Format>
  ) async throws -> Int {
    try await readyForWriting()
    return try await Transactions.run(
      store: store, actionName: "delete \(key)", options: [], runsOwnCode: false
    ) { scope, _ in
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      var deleted = 0
      var run = try await instances(self).run()
      while let found = try await run?.next() {
        try Task.checkCancellation()
        guard try await condition(found.instance) else { continue }
        try await scope.turns.take()
        defer { scope.turns.pass() }
        if try await delete(identifiers.value(of: found.key), key: found.key, in: scope) != nil { deleted += 1 }
      }
      return deleted
    }
  }
}
