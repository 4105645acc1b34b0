public import StrataFoundation

extension Persistence {
  /// The persistence for code that is not async: scripts, command-line tools, callbacks.
  ///
  /// ```swift
  /// let cities = try DiskPersistence(readOnlyURL: url).blocking.datastore(CityFormat.self)
  /// for city in try cities.load(0..., from: \.population) { print(city.name) }
  /// ```
  ///
  /// Each call blocks its thread until it is done. Reads run on it from beginning to end; writes wait in the same queue as those of async
  /// code. Async code cannot call it.
  @available(*, noasync)
  public nonisolated var blocking: BlockingPersistence<Self> { BlockingPersistence(persistence: self) }
}

/// A persistence whose calls return when they are done: see ``Persistence/blocking``.
public struct BlockingPersistence<Base: Persistence>: Sendable {
  /// The persistence behind it.
  public let persistence: Base

  /// The datastore of a format whose instances are JSON of one version.
  ///
  /// - Parameters:
  ///   - format: The format that declares the datastore.
  ///   - key: The name of the datastore in the store.
  /// - Throws: ``IndexDeclarationError`` if the format declares something that no store can keep.
  @available(*, noasync)
  public func datastore<Format: DatastoreFormat>(
    _ format: Format.Type = Format.self, key: DatastoreKey = Format.defaultKey
  ) throws -> BlockingDatastore<Format, Base.AccessMode>
  where Format.Instance: Identifiable, Format.Instance.ID == Format.Identifier {
    let datastore = persistence.datastore(format, key: key)
    try datastore.core.requireSoundDeclaration()
    return BlockingDatastore(datastore: datastore)
  }

  /// Runs several reads and writes as one: all writes are kept, or none. Blocking calls in the closure join the transaction.
  ///
  /// - Parameters:
  ///   - actionName: The name of the action, for the history of the store.
  ///   - options: How the transaction behaves.
  ///   - transaction: The closure that reads and writes.
  /// - Returns: The value that the closure returns, once its writes are durable, or at once with ``TransactionOptions/collateWrites``.
  /// - Throws: The error that the closure throws, unchanged; then nothing was written. ``StoreError`` of kind `refused` within a
  ///   transaction whose closure is async.
  @available(*, noasync)
  @discardableResult
  public func perform<Value>(
    actionName: String? = nil, options: TransactionOptions = [], transaction: () throws -> Value
  ) throws -> Value {
    try call {
      try await Transactions.run(
        isolation: nil, store: persistence._store, actionName: actionName ?? "",
        options: UnsafeTransactionOptions(options)
      ) { _, _ in
        try Blocking.joining(transaction)
      }
    }
  }

  /// The instances that an async call of the persistence gives, one after the other, each when it is asked for.
  @available(*, noasync)
  public func walk<Instances: AsyncInstances>(_ instances: (Base) throws -> Instances) rethrows -> BlockingWalk<
    Instances.Element
  > {
    BlockingWalk(persistence._store, try instances(persistence))
  }

  func call<Value>(_ body: () async throws -> Value) throws -> Value {
    try Blocking.call(persistence._store, body)
  }

  /// All commits, newest first.
  @available(*, noasync)
  public func commits() throws -> [Commit] {
    try call { try await persistence.commits.collectInstances(upTo: .infinity) }
  }

  /// The commits from one on backwards.
  @available(*, noasync)
  public func commits(from newest: Commit.Number, limit: Int = .max) throws -> [Commit] {
    try call { try await persistence.commits(from: newest).collectInstances(upTo: limit) }
  }

  /// The newest commit; nil if there is none.
  @available(*, noasync)
  public var head: Commit? { get throws { try call { try await persistence.head } } }

  /// A commit by its number.
  @available(*, noasync)
  public func commit(_ number: Commit.Number) throws -> Commit { try call { try await persistence.commit(number) } }

  /// The newest commit that is not later than a date.
  @available(*, noasync)
  public func commit(notLaterThan date: Date) throws -> Commit {
    try call { try await persistence.commit(notLaterThan: date) }
  }

  /// The commits that have names.
  @available(*, noasync)
  public var namedCommits: [String: Commit.Number] { get throws { try call { try await persistence.namedCommits } } }

  /// Closes the store: see ``DiskPersistence/close()``.
  @available(*, noasync)
  public func close<Mode>() throws where Base == DiskPersistence<Mode> { try call { try await persistence.close() } }

  /// Copies the newest state to another place: see ``DiskPersistence/backUp(to:)``.
  @available(*, noasync)
  public func backUp<Mode>(to url: URL) throws where Base == DiskPersistence<Mode> {
    try call { try await persistence.backUp(to: url) }
  }

  /// Creates an empty store if there is none.
  @available(*, noasync)
  public func createPersistenceIfNecessary() throws where Base == DiskPersistence<ReadWrite> {
    try call { try await persistence.createPersistenceIfNecessary() }
  }

  /// Removes history that is no longer wanted: see ``DiskPersistence/shortenHistory(keeping:)``.
  @available(*, noasync)
  @discardableResult
  public func shortenHistory(keeping retention: HistoryRetention) throws -> HistoryReport
  where Base == DiskPersistence<ReadWrite> {
    try call { try await persistence.shortenHistory(keeping: retention) }
  }
}

// The history, as ``Persistence`` has it.

extension BlockingPersistence where Base.AccessMode == ReadWrite {
  /// Restores the store, or one datastore, to its state at a commit, as a new commit.
  @available(*, noasync)
  @discardableResult
  public func restore(
    _ commit: Commit.Number, datastore: DatastoreKey? = nil, actionName: String? = nil
  ) throws -> Commit.Number {
    try call { try await persistence.restore(commit, datastore: datastore, actionName: actionName) }
  }

  /// Undoes a commit, as a new commit; the newest by default.
  @available(*, noasync)
  @discardableResult
  public func undo(_ commit: Commit.Number? = nil, actionName: String? = nil) throws -> Commit.Number? {
    try call { try await persistence.undo(commit, actionName: actionName) }
  }

  /// Undoes the newest undo.
  @available(*, noasync)
  @discardableResult
  public func redo(actionName: String? = nil) throws -> Commit.Number? {
    try call { try await persistence.redo(actionName: actionName) }
  }

  /// Names a commit; the newest by default.
  @available(*, noasync)
  public func name(_ name: String, commit: Commit.Number? = nil) throws {
    try call { try await persistence.name(name, commit: commit) }
  }

  /// Removes a name.
  @available(*, noasync)
  public func removeName(_ name: String) throws { try call { try await persistence.removeName(name) } }
}

// Calls of a store on disk.
