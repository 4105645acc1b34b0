import StrataLocks
import StrataEngine

extension DiskPersistence where AccessMode == ReadWrite {
  /// Prepares for the suspension of this process by the system. When it returns, everything is durable, the writer's lock is released,
  /// and another process can write. Writes of this process wait until ``resume()``; reads go on.
  ///
  /// A shortening of the history stops, and goes on after ``resume()``. A warm-up is rolled back and begins again after ``resume()``.
  /// Other transactions get one second to end.
  ///
  /// It affects all persistences of this store in this process. It does nothing if the process is prepared already, or if there is no store
  /// yet.
  ///
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, and if a transaction does not end within a second, with its
  ///   action; `CancellationError`. Writes do not wait then.
  public nonisolated func suspend() async throws {
    if Transactions.scope(for: _store) != nil { throw StoreError.withinTransaction("A process cannot be suspended") }
    try await _store.connection.suspend()
  }

  /// Lets writes continue that have waited since ``suspend()``.
  public nonisolated func resume() async { await _store.connection.resume() }
}

/// A warm-up has ended so that the process can be suspended. It begins again with the next turn.
struct WarmUpSuspended: Error {}

/// Whether this process is about to be suspended. It then keeps the writer's turn, without the lock, so that no write of the process runs.
final class Suspension: Sendable {
  fileprivate let isAsked = Atomic(false)
  /// Orders the calls of `suspend` and `resume`.
  fileprivate let turns = TurnQueue()
  /// The store of which the turn is kept.
  fileprivate let store = Mutex<FileStore?>(nil)

  /// Whether work that can begin again must end.
  var endsWork: Bool { isAsked.load(ordering: .acquiring) }
  /// Whether the turn is kept.
  var isComplete: Bool { store.withLock { $0 != nil } }
}

extension StoreConnection {
  private static let patience = Duration.seconds(1)

  func suspend() async throws {
    try await suspension.turns.acquire()
    defer { suspension.turns.pass() }
    guard !suspension.isComplete,
      let store = try await onThread({ try self.storeForReading(forWriter: true) }) as? FileStore
    else { return }
    suspension.isAsked.store(true, ordering: .releasing)
    store.pauseCompactions()
    do {
      guard try await acquireTurn(of: store, within: Self.patience) else {
        throw StoreError.lastingTransaction(held.withLock { $0?.action }, for: Self.patience)
      }
      do {
        try await onThread { try throwingStoreErrors { try store.releaseLockInTurn() } }
      } catch {
        store.writing.passTurn()
        throw error
      }
      suspension.store.withLock { $0 = store }
    } catch {
      goOn(store)
      throw error
    }
  }

  func resume() async {
    // Also if the task is cancelled: the writers that wait must go on.
    await Task { [suspension] in
      guard (try? await suspension.turns.acquire()) != nil else { return }
      defer { suspension.turns.pass() }
      guard let store = suspension.store.withLock({ $0.take() }) else { return }
      goOn(store)
      store.writing.passTurn()
    }.value
  }

  private func goOn(_ store: FileStore) {
    suspension.isAsked.store(false, ordering: .releasing)
    store.resumeCompactions()
  }

  /// Whether the turn was free, or became free, within a time.
  private func acquireTurn(of store: FileStore, within patience: Duration) async throws -> Bool {
    // A separate task: even if it takes the turn at the moment of a cancellation, the turn is the caller's.
    let waiting = Task { try await store.writing.acquireTurn() }
    let timer = Task { [clock] in
      try await clock.sleep(for: patience)
      waiting.cancel()
    }
    defer { timer.cancel() }
    do {
      try await withTaskCancellationHandler {
        try await waiting.value
      } onCancel: {
        waiting.cancel()
      }
      return true
    } catch is CancellationError {
      try Task.checkCancellation()
      return false
    }
  }
}
