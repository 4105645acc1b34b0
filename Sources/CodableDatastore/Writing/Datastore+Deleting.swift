extension Datastore where AccessMode == ReadWrite {
  /// Deletes the instances of a range of identifiers, all that meet a condition, in one transaction. The range is scanned.
  ///
  /// - Parameters:
  ///   - range: The identifiers.
  ///   - condition: Which of them; all by default.
  /// - Returns: How many instances were deleted.
  /// - Throws: ``StoreError`` if the store cannot be written; the error of a decoder or the condition. Then nothing is deleted.
  @discardableResult
  public nonisolated func delete(
    range: some IndexRangeExpression<IdentifierType>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int where IdentifierType: RangedIndexable {
    try await load(range).delete(where: condition)
  }

  /// Deletes all instances that meet a condition, in one transaction. It scans, because no index can look into a closure:
  /// ``Query/delete()`` reads by indexes.
  ///
  /// - Parameters:
  ///   - range: `...`
  ///   - condition: Which; all by default.
  /// - Returns: How many instances were deleted.
  /// - Throws: ``StoreError`` if the store cannot be written; the error of a decoder or the condition. Then nothing is deleted.
  @discardableResult
  public nonisolated func delete(
    range: Swift.UnboundedRange, where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await load(range).delete(where: condition)
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
  /// - Returns: How many instances were deleted.
  /// - Throws: ``StoreError`` if the store cannot be written; the error of a decoder or the condition. Then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    range: some IndexRangeExpression<Value>, of index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await load(range, from: index).delete(where: condition)
  }

  /// Deletes the instances of one value of an index, all that meet a condition, in one transaction.
  ///
  /// - Returns: How many instances were deleted.
  /// - Throws: ``StoreError`` if the store cannot be written; the error of a decoder or the condition. Then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    Value: DiscreteIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    value: Value, of index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await load(value, order: .ascending, from: index).delete(where: condition)
  }
}

// As `load` spells them.

extension Datastore where AccessMode == ReadWrite {
  /// Deletes the instances of a range of identifiers, all that meet a condition, in one transaction. The range is scanned.
  ///
  /// - Returns: How many instances were deleted.
  /// - Throws: The error of the condition; then nothing is deleted.
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
  /// - Returns: How many instances were deleted.
  /// - Throws: The error of the condition; then nothing is deleted.
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
  /// - Returns: How many instances were deleted.
  /// - Throws: The error of the condition; then nothing is deleted.
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
  /// - Returns: How many instances were deleted.
  /// - Throws: The error of the condition; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<Index: IndexRepresentation<InstanceType>>(
    _ range: Swift.UnboundedRange, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await load(range, from: index).delete(where: condition)
  }
}
