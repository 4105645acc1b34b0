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
}
