extension Datastore {
  /// The instances whose first tiers in a compound index have given values, in the order of the index.
  ///
  /// ```swift
  /// cities.load(prefix: "CH", from: \.largest)
  /// ```
  ///
  /// The values are those of the tiers, in their order, also where a tier is descending. The iteration throws
  /// ``InvalidKeyError`` where they are of other types than the tiers.
  public nonisolated func load<each Tier: Indexable, Index: RetrievableIndexRepresentation<InstanceType, Value>, Value>(
    prefix tier: repeat each Tier, order: RangeOrder = .ascending, from index: KeyPath<Format, Index>
  ) -> some AsyncInstances<InstanceType> {
    var tiers: [TierKey] = []
    for value in repeat each tier { tiers.append(TierKey(value)) }
    return core.instances(prefix: tiers, range: nil, order: order, from: index)
  }

  /// The instances whose first tiers in a compound index have given values, and whose next tier lies in a range.
  ///
  /// ```swift
  /// cities.load(prefix: "CH", range: 100_000..., from: \.largest)
  /// ```
  ///
  /// The range is one of plain values, also where the tier is descending.
  public nonisolated func load<
    each Tier: Indexable, Bound: RangedIndexable, Index: RetrievableIndexRepresentation<InstanceType, Value>, Value
  >(
    prefix tier: repeat each Tier, range: some IndexRangeExpression<Bound>, order: RangeOrder = .ascending,
    from index: KeyPath<Format, Index>
  ) -> some AsyncInstances<InstanceType> {
    var tiers: [TierKey] = []
    for value in repeat each tier { tiers.append(TierKey(value)) }
    return core.instances(
      prefix: tiers, range: TierRange(range), order: range.order.combined(with: order), from: index)
  }
}
