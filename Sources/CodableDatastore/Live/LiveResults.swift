#if canImport(Observation)
  public import Observation

  /// A filtered and sorted result that is kept current, for user interfaces on the main actor.
  ///
  /// ```swift
  /// let large = LiveResults(of: cities, where: { $0.population > 1_000_000 }, sortedBy: { $0.name < $1.name })
  /// // in a view: ForEach(large.instances) { … }
  /// ```
  ///
  /// See ``Datastore/live(where:sortedBy:)`` for what it costs. It listens for as long as it lives.
  @MainActor @Observable
  public final class LiveResults<Format: DatastoreFormat> {
    /// The instances as they are now; empty before they are read.
    public private(set) var instances: [Format.Instance] = []
    /// Why there will be no more news, if something went wrong.
    public private(set) var failure: (any Error)?
    @ObservationIgnored private var listening: Task<Void, Never>?

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - datastore: The datastore to follow.
    ///   - isIncluded: Which instances belong to the result; all by default.
    ///   - areInIncreasingOrder: The order; by default that of the identifiers.
    public init<AccessMode: _AccessMode>(
      of datastore: Datastore<Format, AccessMode>,
      where isIncluded: @escaping @Sendable (Format.Instance) -> Bool = { _ in true },
      sortedBy areInIncreasingOrder: (@Sendable (Format.Instance, Format.Instance) -> Bool)? = nil
    ) {
      let live = datastore.live(where: isIncluded, sortedBy: areInIncreasingOrder)
      listening = Task { [weak self] in
        do {
          for try await instances in live {
            guard let self else { return }
            self.instances = instances
          }
        } catch {
          self?.failure = error
        }
      }
    }

    deinit { listening?.cancel() }
  }
#endif
