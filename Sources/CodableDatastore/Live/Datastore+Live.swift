extension Datastore {
  /// A filtered and sorted result that is kept current: the instances as they are now, and again after every commit that
  /// changes them.
  ///
  /// ```swift
  /// for try await large in cities.live(where: { $0.population > 1_000_000 }, sortedBy: { $0.name < $1.name }) {
  ///   show(large)
  /// }
  /// ```
  ///
  /// This is a scan, because no index can look into a closure; ``Query/live(bufferingPolicy:)`` reads by indexes.
  /// Everything is decoded once at the beginning; then each changed instance is decoded once, and put in its place. When
  /// several commits come while the reader is busy it gets one result for all of them. Decoding, choosing and sorting run on no
  /// actor; begun within a transaction it shows what is committed.
  ///
  /// - Parameters:
  ///   - isIncluded: Which instances belong to the result; all by default.
  ///   - areInIncreasingOrder: The order; by default that of the identifiers, which also decides between equal instances. If it
  ///     is not a strict order (floating-point numbers with NaN), the result holds the right instances in an unspecified order.
  public nonisolated func live(
    where isIncluded: @escaping @Sendable (InstanceType) -> Bool = { _ in true },
    sortedBy areInIncreasingOrder: (@Sendable (InstanceType, InstanceType) -> Bool)? = nil
  ) -> some AsyncInstances<[InstanceType]> {
    LiveQuery(
      query: Selection<Format, AccessMode>(core: core), isIncluded: isIncluded,
      areInIncreasingOrder: areInIncreasingOrder)
  }
}
