/// A store in memory. It behaves like a store on disk, and is gone with its last reference. For tests and previews.
public actor MemoryPersistence: Persistence {
  /// It reads and writes.
  public typealias AccessMode = ReadWrite

  /// The store behind the persistence.
  public nonisolated let _store: _StoreHandle

  /// An empty store.
  public init() { self.init(slices: .shared) }

  init(slices: TimeSlices, clock: any Clock<Duration> = ContinuousClock()) {
    _store = _StoreHandle(connection: .inMemory(slices: slices, clock: clock), isReadOnly: false)
  }

  /// Runs a transaction; programs call `perform` instead.
  ///
  /// - Throws: The error that the closure throws, unchanged.
  public func _withTransaction<T>(
    isolation actor: isolated (any Actor)? = #isolation, actionName: String?, options: UnsafeTransactionOptions,
    transaction: (_ transaction: any DatastoreInterfaceProtocol, _ isDurable: Bool) async throws -> T
  ) async throws -> T {
    try await Transactions.run(
      isolation: actor, store: _store, actionName: actionName ?? "", options: options
    ) { scope, isDurable in
      try await transaction(scope, isDurable)
    }
  }
}
