// The functions below declare the tiers of a compound index one by one, in every shape that an index of two to four tiers
// has. So the compiler infers the types of the arguments from the index, and checks the arguments against it.

// First tiers that have given values.

extension Datastore {
  /// The instances whose first tiers in a compound index have given values, in the order of the index.
  ///
  /// ```swift
  /// cities.load(prefix: "CH", from: \.largest)
  /// ```
  ///
  /// The compiler knows the tiers' types, so that `.queued` needs no name of its type, and a value of another type is refused.
  /// `range: ...` may be written as well and makes no difference.
  /// The iteration throws ``InvalidKeyError`` for a value that has no place in the order.
  public nonisolated func load<
    First: Indexable, Rest: Indexable, Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Rest>>
  >(
    prefix first: First, range: Swift.UnboundedRange = { _ in }, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first)], order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, in the order of the index.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Second>>
  >(
    prefix first: First, _ second: Second, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second)], order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, in the order of the index.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Second, Rest>>>
  >(
    prefix first: First, _ second: Second, range: Swift.UnboundedRange = { _ in }, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second)], order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, in the order of the index.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Third: Indexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Second, Third>>>
  >(
    prefix first: First, _ second: Second, _ third: Third, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second), TierKey(third)], order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, in the order of the index.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Third: Indexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<
      InstanceType, CompoundKey<First, CompoundKey<Second, CompoundKey<Third, Rest>>>
    >
  >(
    prefix first: First, _ second: Second, _ third: Third, range: Swift.UnboundedRange = { _ in },
    order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second), TierKey(third)], order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, in the order of the index.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Third: Indexable, Fourth: Indexable,
    Index: RetrievableIndexRepresentation<
      InstanceType, CompoundKey<First, CompoundKey<Second, CompoundKey<Third, Fourth>>>
    >
  >(
    prefix first: First, _ second: Second, _ third: Third, _ fourth: Fourth, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(
      prefix: [TierKey(first), TierKey(second), TierKey(third), TierKey(fourth)], order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  ///
  /// ```swift
  /// cities.load(prefix: "CH", range: 100_000..., from: \.largest)
  /// ```
  ///
  /// The range is one of plain values, even if the tier is descending.
  public nonisolated func load<
    First: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Bound>>
  >(
    prefix first: First, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, Descending<Bound>>>
  >(
    prefix first: First, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Bound: RangedIndexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Bound, Rest>>>
  >(
    prefix first: First, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Bound: RangedIndexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Descending<Bound>, Rest>>>
  >(
    prefix first: First, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Second, Bound>>>
  >(
    prefix first: First, _ second: Second, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<InstanceType, CompoundKey<First, CompoundKey<Second, Descending<Bound>>>>
  >(
    prefix first: First, _ second: Second, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Bound: RangedIndexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<
      InstanceType, CompoundKey<First, CompoundKey<Second, CompoundKey<Bound, Rest>>>
    >
  >(
    prefix first: First, _ second: Second, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Bound: RangedIndexable, Rest: Indexable,
    Index: RetrievableIndexRepresentation<
      InstanceType, CompoundKey<First, CompoundKey<Second, CompoundKey<Descending<Bound>, Rest>>>
    >
  >(
    prefix first: First, _ second: Second, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Third: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<
      InstanceType, CompoundKey<First, CompoundKey<Second, CompoundKey<Third, Bound>>>
    >
  >(
    prefix first: First, _ second: Second, _ third: Third, range: some IndexRangeExpression<Bound>,
    order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second), TierKey(third)], range: range, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  public nonisolated func load<
    First: Indexable, Second: Indexable, Third: Indexable, Bound: RangedIndexable,
    Index: RetrievableIndexRepresentation<
      InstanceType, CompoundKey<First, CompoundKey<Second, CompoundKey<Third, Descending<Bound>>>>
    >
  >(
    prefix first: First, _ second: Second, _ third: Third, range: some IndexRangeExpression<Bound>,
    order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> Selection<Format, AccessMode> {
    core.instances(prefix: [TierKey(first), TierKey(second), TierKey(third)], range: range, order: order, from: index)
  }
}
