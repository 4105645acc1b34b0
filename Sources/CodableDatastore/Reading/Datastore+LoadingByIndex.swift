// One value of an index.

extension Datastore {
  /// The instances of one value of an index, in the order of their identifiers.
  public nonisolated func load<
    Value: DiscreteIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    index: KeyPath<Format, Index>, value: Value, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> {
    core.instances(IndexRange(only: value), order: order, from: index)
  }

  /// The instances of one value of an index, in the order of their identifiers.
  public nonisolated func load<
    Value: DiscreteIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    _ value: Value, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(IndexRange(only: value), order: order, from: index)
  }

  /// The one instance of a value, or nil. If there are several, the one with the lowest identifier.
  ///
  /// - Throws: ``DatastoreError/missingIndex``; ``StoreError`` if the store cannot be read; the error of a decoder; an error in
  ///   the declaration, see <doc:Errors>.
  public nonisolated func load<
    Value: DiscreteIndexable, Index: SingleInstanceIndexRepresentation<InstanceType, Value>
  >(
    index: KeyPath<Format, Index>, value: Value
  ) async throws -> InstanceType? {
    try await core.first(value, from: index)
  }

  /// The one instance of a value, or nil. If there are several, the one with the lowest identifier.
  ///
  /// - Throws: ``DatastoreError/missingIndex``; ``StoreError`` if the store cannot be read; the error of a decoder; an error in
  ///   the declaration, see <doc:Errors>.
  public nonisolated func load<
    Value: DiscreteIndexable, Index: SingleInstanceIndexRepresentation<InstanceType, Value>
  >(
    _ value: Value, from index: KeyPath<Format, Index>
  ) async throws -> InstanceType? {
    try await core.first(value, from: index)
  }

  /// The instances of a range of an index, by value, then by identifier. An instance with several values in the range
  /// comes once for each.
  public nonisolated func load<
    Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    index: KeyPath<Format, Index>, range: some IndexRangeExpression<Value>, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> {
    core.instances(range, order: order, from: index)
  }

  /// The instances of a range of an index, by value, then by identifier. An instance with several values in the range
  /// comes once for each.
  public nonisolated func load<
    Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    _ range: some IndexRangeExpression<Value>, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(range, order: order, from: index)
  }

  /// The instances of one value of a descending index, in the order of their identifiers.
  public nonisolated func load<
    Value: DiscreteIndexable & Comparable, Index: RetrievableIndexRepresentation<InstanceType, Descending<Value>>
  >(
    _ value: Value, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [], range: IndexRange(only: value), order: order, from: index)
  }

  /// The instances of one value, or of nil, of a descending index of an optional property.
  public nonisolated func load<
    Value: DiscreteIndexable & Comparable, Index: RetrievableIndexRepresentation<InstanceType, Descending<Value?>>
  >(
    _ value: Value?, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [], range: IndexRange(only: value), order: order, from: index)
  }

  /// The instances of a range of a descending index, in its order: the greatest value comes first. The range has plain values.
  ///
  /// ```swift
  /// cities.load(100_000..., from: \.largest)
  /// ```
  public nonisolated func load<
    Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Descending<Value>>
  >(
    _ range: some IndexRangeExpression<Value>, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [], range: range, order: order, from: index)
  }

  /// The instances of a range of an index, by value, then by identifier.
  @_disfavoredOverload
  public nonisolated func load<
    Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    index: KeyPath<Format, Index>, range: IndexRange<Value>, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> {
    core.instances(range, order: order, from: index)
  }

  /// The instances of a range of an index, by value, then by identifier.
  @_disfavoredOverload
  public nonisolated func load<
    Value: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>
  >(
    _ range: IndexRange<Value>, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(range, order: order, from: index)
  }

  /// All instances in the order of an index: by value, then by identifier.
  public nonisolated func load<Index: IndexRepresentation<InstanceType>>(
    index: KeyPath<Format, Index>, range: Swift.UnboundedRange, order: RangeOrder = .ascending
  ) -> Selection<Format, AccessMode> {
    core.instances(order: order, from: index)
  }

  /// All instances in the order of an index: by value, then by identifier.
  public nonisolated func load<Index: IndexRepresentation<InstanceType>>(
    _ unboundedRange: Swift.UnboundedRange, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(order: order, from: index)
  }
}
