/// A place that keeps datastores: on disk or in memory.
///
/// Use ``DiskPersistence`` and ``MemoryPersistence``; a type of your own cannot conform.
public protocol Persistence<AccessMode>: Sendable {
  /// Whether it may be written.
  associatedtype AccessMode: _AccessMode

  /// The store behind the persistence.
  nonisolated var _store: _StoreHandle { get }
}

/// A transaction, as a persistence passes it to a closure. It has no public members.
public protocol DatastoreInterfaceProtocol: Sendable {}

extension Persistence {
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

  /// Runs several reads and writes as one: all writes are kept, or none.
  ///
  /// Calls in the closure join the transaction, in child tasks and in plain `Task {}` too; a detached task does not. A transaction within
  /// another becomes part of it: it can fail alone, and is durable with the outermost one.
  ///
  /// - Parameters:
  ///   - actor: The actor that the closure runs on: the caller's.
  ///   - actionName: The name of the action, for the history of the store.
  ///   - options: How the transaction behaves.
  ///   - transaction: The closure. It receives the persistence, and whether everything is durable when `perform` returns.
  /// - Returns: The value that the closure returns, once the writes are durable, or at once with ``TransactionOptions/collateWrites``.
  /// - Throws: The error that the closure throws, unchanged; then nothing was written.
  @discardableResult
  public func perform<T>(
    isolation actor: isolated (any Actor)? = #isolation, actionName: String? = nil, options: TransactionOptions = [],
    transaction: (_ persistence: Self, _ isDurable: Bool) async throws -> T
  ) async throws -> T {
    try await Transactions.run(
      isolation: actor, store: _store, actionName: actionName ?? "", options: UnsafeTransactionOptions(options)
    ) { _, isDurable in
      try await transaction(self, isDurable)
    }
  }

  /// Runs several reads and writes as one: all writes are kept, or none.
  ///
  /// See ``perform(isolation:actionName:options:transaction:)-(_,_,_,(Self,Bool)->T)``.
  ///
  /// - Throws: The error that the closure throws, unchanged; then nothing was written.
  @discardableResult
  public func perform<T>(
    isolation actor: isolated (any Actor)? = #isolation, actionName: String? = nil, options: TransactionOptions = [],
    transaction: () async throws -> T
  ) async throws -> T {
    try await Transactions.run(
      isolation: actor, store: _store, actionName: actionName ?? "", options: UnsafeTransactionOptions(options)
    ) { _, _ in
      try await transaction()
    }
  }
}
