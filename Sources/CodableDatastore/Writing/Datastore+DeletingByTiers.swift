// What ``Datastore`` loads by the tiers of a compound index, deleted.

extension Datastore where AccessMode == ReadWrite {
  /// Deletes the instances whose first tiers in a compound index have given values, all that meet a condition, in one
  /// transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Rest: Indexable, Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Rest>>
  >(
    prefix first: First, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(prefix: [TierKey(first)], range: nil, order: .ascending, from: index)
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, all that meet a condition, in one
  /// transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Second: Indexable, Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Second>>
  >(
    prefix first: First, _ second: Second, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(prefix: [TierKey(first), TierKey(second)], range: nil, order: .ascending, from: index)
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, all that meet a condition, in one
  /// transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Second: Indexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Second, Rest>>>
  >(
    prefix first: First, _ second: Second, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(prefix: [TierKey(first), TierKey(second)], range: nil, order: .ascending, from: index)
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, all that meet a condition, in one
  /// transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Second: Indexable, Third: Indexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Second, Third>>>
  >(
    prefix first: First, _ second: Second, _ third: Third, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(
        prefix: [TierKey(first), TierKey(second), TierKey(third)], range: nil, order: .ascending, from: index
      )
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, and whose next tier lies in a range, all
  /// that meet
  /// a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Bound>>
  >(
    prefix first: First, range: some IndexRangeExpression<Bound>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(prefix: [TierKey(first)], range: TierRange(range), order: .ascending, from: index)
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, and whose next tier lies in a range, all
  /// that meet
  /// a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Descending<Bound>>>
  >(
    prefix first: First, range: some IndexRangeExpression<Bound>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(prefix: [TierKey(first)], range: TierRange(range), order: .ascending, from: index)
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, and whose next tier lies in a range, all
  /// that meet
  /// a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Bound: RangedIndexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Bound, Rest>>>
  >(
    prefix first: First, range: some IndexRangeExpression<Bound>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(prefix: [TierKey(first)], range: TierRange(range), order: .ascending, from: index)
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, and whose next tier lies in a range, all
  /// that meet
  /// a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Bound: RangedIndexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Descending<Bound>, Rest>>>
  >(
    prefix first: First, range: some IndexRangeExpression<Bound>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(prefix: [TierKey(first)], range: TierRange(range), order: .ascending, from: index)
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, and whose next tier lies in a range, all
  /// that meet
  /// a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Second: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Second, Bound>>>
  >(
    prefix first: First, _ second: Second, range: some IndexRangeExpression<Bound>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(
        prefix: [TierKey(first), TierKey(second)], range: TierRange(range), order: .ascending, from: index
      )
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, and whose next tier lies in a range, all
  /// that meet
  /// a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Second: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Second, Descending<Bound>>>>
  >(
    prefix first: First, _ second: Second, range: some IndexRangeExpression<Bound>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(
        prefix: [TierKey(first), TierKey(second)], range: TierRange(range), order: .ascending, from: index
      )
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, and whose next tier lies in a range, all
  /// that meet
  /// a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Second: Indexable, Bound: RangedIndexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<
      InstanceType, CompoundKey<First, CompoundKey<Second, CompoundKey<Bound, Rest>>>
    >
  >(
    prefix first: First, _ second: Second, range: some IndexRangeExpression<Bound>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(
        prefix: [TierKey(first), TierKey(second)], range: TierRange(range), order: .ascending, from: index
      )
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, and whose next tier lies in a range, all
  /// that meet
  /// a condition, in one transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Second: Indexable, Bound: RangedIndexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<
      InstanceType, CompoundKey<First, CompoundKey<Second, CompoundKey<Descending<Bound>, Rest>>>
    >
  >(
    prefix first: First, _ second: Second, range: some IndexRangeExpression<Bound>, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(
        prefix: [TierKey(first), TierKey(second)], range: TierRange(range), order: .ascending, from: index
      )
    }
  }

  /// Deletes the instances whose first tiers in a compound index have given values, all that meet a condition, in one
  /// transaction.
  ///
  /// - Returns: How many were deleted.
  /// - Throws: What the condition throws; then nothing is deleted.
  @discardableResult
  public nonisolated func delete<
    First: Indexable, Rest: Indexable, Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Rest>>
  >(
    prefix first: First, range: Swift.UnboundedRange, from index: KeyPath<Format, Index>,
    where condition: (InstanceType) async throws -> Bool = { _ in true }
  ) async throws -> Int {
    try await core.delete(where: condition) { core in
      core.instances(prefix: [TierKey(first)], range: nil, order: .ascending, from: index)
    }
  }
}
