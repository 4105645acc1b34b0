import StrataLocks
import StrataEngine

/// Begins and ends transactions.
///
/// Closures here that name the caller's actor run on it. A closure that does not name it leaves the actor, even if nothing in it suspends.
enum Transactions {
  /// The innermost transaction that the current task runs in.
  @TaskLocal static var current: TransactionScope?

  /// The innermost transaction of a store that the current task runs in. A persistence that only reads does not see uncommitted changes of
  /// one that writes.
  static func scope(for store: _StoreHandle) -> TransactionScope? {
    var scope = current
    while let candidate = scope {
      if candidate.connection === store.connection, !store.isReadOnly || candidate.isReading { return candidate }
      scope = candidate.outer
    }
    return nil
  }

  /// The state that a read begins with.
  static func readState(for store: _StoreHandle) throws -> ReadState {
    if let scope = scope(for: store) { return try scope.readState() }
    return try ReadState(store.currentView())
  }

  /// Runs a closure as a transaction of its own, or as a child of the one that it is called in.
  ///
  /// - Parameter runsOwnCode: Whether `body` is a program's closure, which may wait for calls that it has begun beside it.
  static func run<T>(
    isolation actor: isolated (any Actor)? = #isolation, store: _StoreHandle, actionName: String,
    options: UnsafeTransactionOptions, runsOwnCode: Bool = true,
    body: (_ scope: TransactionScope, _ isDurable: Bool) async throws -> T
  ) async throws -> T {
    await store.yieldTask()
    try store.requireOpen()
    try await store.prepare()
    let parent = scope(for: store)
    let onlyReads = parent.map { $0.isReading || $0.conversion != nil } ?? false
    if options.contains(.readOnly) || store.isReadOnly || onlyReads {
      let scope = try TransactionScope(readingFrom: store, parent: parent, outer: current)
      defer { scope.end() }
      return try await run(isolation: actor, body, in: scope, false)
    }
    if let parent { return try await runChild(of: parent, runsOwnCode: runsOwnCode, body: body) }
    if current != nil { throw DatastoreInterfaceError.transactingWithinExternalPersistence }
    return try await runOutermost(
      store: store, actionName: actionName, options: options, runsOwnCode: runsOwnCode, body: body)
  }

  /// Runs one write: as a step of the transaction that it is called in, or as a transaction of its own.
  ///
  /// - Parameters:
  ///   - prefetched: the keys that it will look at first, for a server.
  ///   - presumption: whether the write may begin with a guess that the prefetched keys do not exist; then it writes all of them.
  ///   - waits: whether to wait for other writers; otherwise it throws ``TurnUnavailable`` if one of them has the turn.
  static func write<T: Sendable>(
    to store: _StoreHandle, actionName: String, flags: CommitFlags = [], prefetching prefetched: [PrefetchKey] = [],
    presumption: OptimisticStart = .none, waits: Bool = true, body: @Sendable (TransactionScope) async throws -> T
  ) async throws -> T {
    await store.yieldTask()
    try store.requireOpen()
    if store.isReadOnly { throw DiskPersistenceError.cannotWrite }
    if let scope = scope(for: store) {
      if let datastore = scope.conversion { throw StoreError.writing(whileConverting: datastore) }
      if scope.isReading { throw DiskPersistenceError.cannotWrite }
      try await scope.turns.acquire()
      defer { scope.turns.pass() }
      // If the write asks the server nothing, it need not move to a thread that may block.
      if let work = scope.work, work.needsNoServer(writing: prefetched) { return try await body(scope) }
      return try await store.asking { try await body(scope) }
    }
    if current != nil { throw DatastoreInterfaceError.transactingWithinExternalPersistence }
    if presumption != .none, let work = try OpenTransaction(optimisticallyOn: store.connection, prefetched) {
      let result =
        presumption == .thatAsks
        ? try await store.asking { try await runOptimistically(work, actionName: actionName, flags: flags, body) }
        : try await runOptimistically(work, actionName: actionName, flags: flags, body)
      if let result { return result }
    }
    return try await store.asking {
      try await runOutermost(
        store: store, actionName: actionName, options: [], flags: flags, isBound: false, waits: waits,
        prefetching: prefetched
      ) { scope, _ in
        try await body(scope)
      }
    }
  }

  /// Whether a write may begin with a guess, see `Engine.beginOptimistically`.
  enum OptimisticStart {
    case none
    /// Only its commit asks the server.
    case thatAsksNobody
    /// It may ask the server more, so it runs on a thread that may block.
    case thatAsks
  }

  /// Runs a write based on a guess. Returns nil if the guess was wrong, or if anything else failed, which may be due to it.
  private static func runOptimistically<T>(
    _ work: OpenTransaction, actionName: String, flags: CommitFlags, _ body: (TransactionScope) async throws -> T
  ) async throws -> T? {
    let scope = TransactionScope(writing: work, outer: current)
    do {
      let result = try await body(scope)
      let commit = try await work.connection.committing {
        try await scope.commitAsync(actionName: actionName, flags: flags)
      }
      _ = try await commit.finish(isDurable: true)
      return result
    } catch {
      scope.cancel()
      try Task.checkCancellation()
      return nil
    }
  }

  /// - Parameter runsOwnCode: Whether `body` is a program's closure, which may wait for calls that it has begun beside it.
  static func runChild<T>(
    isolation actor: isolated (any Actor)? = #isolation, of parent: TransactionScope, runsOwnCode: Bool = false,
    body: (_ scope: TransactionScope, _ isDurable: Bool) async throws -> T
  ) async throws -> T {
    try await parent.turns.acquire()
    defer { parent.turns.pass() }
    let scope = try parent.beginChild(outer: current, runsOwnCode: runsOwnCode)
    do {
      let result = try await run(isolation: actor, body, in: scope, false)
      try scope.finish()
      return result
    } catch {
      try scope.rollBack()
      throw error
    }
  }

  private static func runOutermost<T>(
    isolation actor: isolated (any Actor)? = #isolation, store: _StoreHandle, actionName: String,
    options: UnsafeTransactionOptions, flags: CommitFlags = [], isBound: Bool = true, runsOwnCode: Bool = false,
    waits: Bool = true, prefetching prefetched: [PrefetchKey] = [],
    body: (_ scope: TransactionScope, _ isDurable: Bool) async throws -> T
  ) async throws -> T {
    let connection = store.connection
    let isDurable = options.contains(.enforceDurability) || !options.contains(.collateWrites)
    if connection.isServed {
      return try await runServed(
        isolation: actor, store: store, actionName: actionName, options: options, flags: flags, isDurable: isDurable,
        isBound: isBound, prefetching: prefetched, body: body)
    }
    let work = try await OpenTransaction(connection: connection, isKept: isBound, waits: waits)
    if runsOwnCode { connection.hold(work, action: actionName) }
    let scope = TransactionScope(writing: work, outer: current)
    do {
      let result = try await run(isolation: actor, body, in: scope, isBound: isBound, isDurable)
      connection.held.withLock { $0 = nil }
      // Appending many changes takes a while, in which the caller's executor has other work.
      let commit =
        work.isLarge
        ? try await onThread { try scope.commit(actionName: actionName, options: options, flags: flags) }
        : try scope.commit(actionName: actionName, options: options, flags: flags)
      let hasWaited = try await connection.slices.awaitingCommit { try await commit.finish(isDurable: isDurable) }
      if hasWaited, connection.path != nil { connection.slices.begin() }
      return result
    } catch {
      // If the commit failed as it became durable, another transaction may have the turn.
      connection.held.withLock { if $0?.work === work { $0 = nil } }
      scope.cancel()
      throw error
    }
  }

  /// - Parameter isBound: Whether calls in the closure join the transaction.
  private static func run<T>(
    isolation actor: isolated (any Actor)?, _ body: (_ scope: TransactionScope, _ isDurable: Bool) async throws -> T,
    in scope: TransactionScope, isBound: Bool = true, _ isDurable: Bool
  ) async throws -> T {
    guard isBound else { return try await body(scope, isDurable) }
    return try await $current.withValue(scope) {
      _ = actor
      return try await body(scope, isDurable)
    }
  }

  /// Of several tasks that change one record without pause, one that loses nine times of ten gets through. A body that conflicts with a
  /// transaction of its own ends.
  private static let mostAttempts = 256
  private static let mostWarmUpsBesideOthers = 3

  /// Runs a transaction on a server. It waits for no other transaction. If another one has changed what this one read, it is repeated, if
  /// it may be: single calls, and closures for which the program allows that.
  ///
  /// - Parameter isDurable: the value that the closure receives. The commit is durable in any case.
  private static func runServed<T>(
    isolation actor: isolated (any Actor)? = #isolation, store: _StoreHandle, actionName: String,
    options: UnsafeTransactionOptions, flags: CommitFlags, isDurable: Bool, isBound: Bool,
    prefetching prefetched: [PrefetchKey],
    body: (_ scope: TransactionScope, _ isDurable: Bool) async throws -> T
  ) async throws -> T {
    let connection = store.connection
    let isRepeatable = !isBound || options.contains(.retriesConflicts)
    var attempts = 0
    while true {
      // A writer that never pauses would let no warm-up come to its end: one that has lost often keeps the others waiting.
      let isAlone = flags.contains(.maintenance) && attempts >= mostWarmUpsBesideOthers
      let work = try await OpenTransaction(servedBy: connection, prefetching: prefetched, isAlone: isAlone)
      let scope = TransactionScope(writing: work, outer: current)
      do {
        let result = try await run(isolation: actor, body, in: scope, isBound: isBound, isDurable)
        let commit = try await connection.committing {
          try await ServerThreads.blocking {
            try scope.commit(actionName: actionName, options: options, flags: flags)
          }
        }
        _ = try await commit.finish(isDurable: true)
        return result
      } catch let conflict as TransactionConflict {
        scope.cancel()
        attempts += 1
        guard isRepeatable, attempts < mostAttempts else { throw conflict }
        try Task.checkCancellation()
      } catch {
        scope.cancel()
        throw error
      }
    }
  }
}
