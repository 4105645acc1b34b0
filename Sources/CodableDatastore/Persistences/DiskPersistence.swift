import StrataEngine
public import StrataFoundation

/// A store on disk.
///
/// ```swift
/// let persistence = try DiskPersistence(readWriteURL: url)
/// let books = BookFormat.datastore(in: persistence)
/// try await books.persist(Book(title: "Ulysses"))
/// ```
///
/// Making one touches no file: a store that does not exist reads as empty, and the first write creates it. One process writes at a time,
/// any number read, and all see the durable state. Two persistences of one location within a process share the store.
public actor DiskPersistence<AccessMode: _AccessMode>: Persistence {
  /// The store behind the persistence.
  public nonisolated let _store: _StoreHandle

  /// A persistence that reads and writes. If another persistence of the location is open in this process, the store keeps its
  /// configuration.
  ///
  /// - Throws: ``DiskPersistenceError/notFileURL`` for anything but a file URL; ``StoreError`` for a folder that the original library
  ///   wrote, with a hint on how to convert it.
  public init(readWriteURL: URL) throws where AccessMode == ReadWrite {
    try self.init(at: readWriteURL, nil)
  }

  /// A persistence that reads and writes, with a configuration of its store.
  ///
  /// - Parameters:
  ///   - readWriteURL: The location of the store, which the first write creates.
  ///   - configuration: How the store is kept. If the location is in use in this process already, it takes effect when the store is opened
  ///     next.
  /// - Throws: ``DiskPersistenceError/notFileURL`` for anything but a file URL; ``StoreError`` for a folder that the original library
  ///   wrote, with a hint on how to convert it.
  public init(readWriteURL: URL, configuration: StoreConfiguration) throws where AccessMode == ReadWrite {
    try self.init(at: readWriteURL, configuration)
  }

  private init(at url: URL, _ configuration: StoreConfiguration?) throws where AccessMode == ReadWrite {
    guard url.isFileURL else { throw DiskPersistenceError.notFileURL }
    _store = try _StoreHandle(connection: .to(url), isReadOnly: false) { kept, hasOthers in
      let configuration = configuration ?? (hasOthers ? kept : StoreConfiguration())
      if !configuration.oldFolders.converts { try StoreConnection.refuseFolderOfOriginalLibrary(at: url.path) }
      kept = configuration
    }
  }

  /// A persistence with a clock of its own, which no other persistence of the location has; for tests and measurements.
  package init(
    readWriteURL: URL, configuration: StoreConfiguration = StoreConfiguration(), slices: TimeSlices,
    clock: any Clock<Duration> = ContinuousClock()
  ) throws where AccessMode == ReadWrite {
    let connection = StoreConnection(path: readWriteURL.path, slices: slices, clock: clock)
    _store = _StoreHandle(connection: connection, isReadOnly: false) { kept, _ in kept = configuration }
  }

  /// A persistence that only reads. It creates and changes nothing, and follows the writes of this process and of others.
  public init(readOnlyURL: URL) where AccessMode == ReadOnly {
    _store = _StoreHandle(connection: .to(readOnlyURL), isReadOnly: true)
  }

  /// A persistence that only reads, with a choice of how the store's file is read.
  ///
  /// - Parameters:
  ///   - readOnlyURL: The location of the store.
  ///   - readsThroughMapping: As ``StoreConfiguration/readsThroughMapping``. If the location is in use in this process already, it takes
  ///     effect when the store is opened next.
  public init(readOnlyURL: URL, readsThroughMapping: Bool) where AccessMode == ReadOnly {
    _store = _StoreHandle(connection: .to(readOnlyURL), isReadOnly: true) { kept, _ in
      kept.readsThroughMapping = readsThroughMapping
    }
  }

  /// Closes the store: writes its durable end and releases the writer's lock. Everything that was reported as persisted is durable before
  /// that, so calling it is a courtesy to other processes, not a duty. Later use throws ``StoreError``.
  ///
  /// It waits for the transactions that have begun or queued before, and blocks no thread meanwhile. Observations and live results of the
  /// persistence end.
  ///
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, because the rest of the transaction would find the store closed.
  public nonisolated func close() async throws { try await _store.close() }
}

extension DiskPersistence where AccessMode == ReadWrite {
  /// Releases the writer's lock when the transactions that have begun have ended. Everything is durable then, and another process can
  /// write. The next write of this process acquires the lock again.
  ///
  /// Call it before the system suspends the process: on Apple's platforms it ends a suspended process that holds a lock in a shared
  /// folder.
  ///
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, which would wait for itself.
  public nonisolated func releaseWriter() async throws {
    if Transactions.scope(for: _store) != nil {
      throw StoreError.withinTransaction("The writer's lock cannot be released")
    }
    let connection = _store.connection
    guard !connection.suspension.isComplete, let store = connection.openFile else { return }
    try await onThread { store.releaseLock() }
  }

  /// The store of this program, at the usual place for data: `DefaultStore.persistencestore` in a folder named after the bundle identifier
  /// or, if there is none, after the program; on Linux within `$XDG_DATA_HOME` or `~/.local/share`. On Apple's platforms it is the place
  /// that the original library uses.
  ///
  /// - Parameter configuration: How the store is kept.
  /// - Throws: ``DiskPersistenceError/missingAppSupportDirectory``; ``StoreError`` for a folder that the original library wrote,
  ///   unless the configuration converts it.
  public static func defaultStore(
    configuration: StoreConfiguration = StoreConfiguration()
  ) throws -> DiskPersistence<AccessMode> {
    try DiskPersistence(readWriteURL: DefaultLocation.url(), configuration: configuration)
  }

  /// Creates an empty store if there is none. It need not be called: the first write does the same.
  ///
  /// - Throws: ``StoreError`` if it cannot be made.
  public func createPersistenceIfNecessary() async throws {
    try await _store.prepare()
    _ = try _store.engine()
  }
}

extension DiskPersistence where AccessMode == ReadOnly {
  /// The store of this program for reading, see ``defaultStore()``.
  ///
  /// - Throws: ``DiskPersistenceError/missingAppSupportDirectory``.
  public static func readOnlyDefaultStore() throws -> DiskPersistence<AccessMode> {
    DiskPersistence(readOnlyURL: try DefaultLocation.url())
  }
}

extension DiskPersistence where AccessMode == ReadWrite {
  /// Names the current state, so that it stays reachable however the history is shortened. In the original library this copied the store's
  /// files; here no copy is needed.
  ///
  /// - Throws: ``StoreError`` if the store cannot be written.
  public func _takeSnapshot() async throws {
    try await createPersistenceIfNecessary()
    guard let head = try await head else { return }
    try await name("snapshot-\(head.id.rawValue)", commit: head.id)
  }
}
