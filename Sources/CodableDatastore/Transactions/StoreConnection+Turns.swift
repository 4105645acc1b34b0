import StrataLocks
import StrataEngine

/// Another transaction has the writer's turn, and the caller does not want to wait.
struct TurnUnavailable: Error {}

/// Waiting for the writer's turn of a store that is a file or in memory.
extension StoreConnection {
  /// Begins a transaction. Blocks no thread while it waits for its turn.
  ///
  /// - Parameters:
  ///   - isKept: Whether the task may be suspended in its turn: a program's closure, and not a single call.
  ///   - waits: Whether to wait; otherwise it throws ``TurnUnavailable`` if another transaction has the turn.
  /// - Throws: `CancellationError`; ``StoreError``, also if a transaction keeps the turn and does nothing.
  func begin(_ store: FileStore, isKept: Bool, waits: Bool) async throws -> FileTransaction {
    if !store.writing.tryAcquireTurn() {
      guard waits else { throw TurnUnavailable() }
      if let held = held.withLock({ $0 }) { watch(held, in: store) }
      try await store.writing.acquireTurn(isKept: isKept)
    }
    do { return try await store.beginTaken() } catch { throw StoreError(error) }
  }

  /// Runs a long change on a thread that may block. No other write of this process runs meanwhile; on a server, no other long change of it.
  func alone<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    guard let store = try storeForWriting() as? FileStore else {
      try await servedChanges.acquire()
      defer { servedChanges.pass() }
      return try await committing { try await onThread(body) }
    }
    try await store.writing.acquireTurn()
    defer { store.writing.passTurn() }
    return try await onThread {
      // Commits of others here that wait for the disk are what the change builds on: it must see them.
      try throwingStoreErrors { try store.writing.settle() }
      return try store.writing.lendingTurn(body)
    }
  }

  /// Notes that a program's closure has the turn. It may wait for something that never comes: for example for a write that it has begun
  /// outside of the transaction and that waits for the turn.
  func hold(_ work: OpenTransaction, action: String) {
    guard let store = try? storeForWriting() as? FileStore else { return }
    let new = HeldTurn(work: work, action: action)
    held.withLock { $0 = new }
    if store.writing.waitingForTurn > 0 { watch(new, in: store) }
  }

  /// Fails the waiters of a closure that no longer reads or writes.
  private func watch(_ held: HeldTurn, in store: FileStore) {
    guard held.isWatched.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    else { return }
    let (limit, clock) = (configurationInForce.longestSilence, clock)
    Task.detached { [weak self, weak store] in
      var (uses, silence) = (held.uses, Duration.zero)
      // Slept in parts, so that a silence that begins during one part is not waited for up to twice its limit.
      let part = limit / 8
      while self?.held.withLock({ $0 === held }) == true {
        do { try await clock.sleep(for: part) } catch { return }
        let now = held.uses
        (uses, silence) = (now, now == uses && now != nil ? silence + part : .zero)
        guard silence >= limit, self?.held.withLock({ $0 === held }) == true else { continue }
        store?.writing.refuseTurn(with: StoreError.silentTransaction(held.action, for: limit))
      }
    }
  }
}

/// A transaction of a program's closure, while it has the turn.
final class HeldTurn: Sendable {
  let work: OpenTransaction
  let action: String
  let isWatched = Atomic(false)

  init(work: OpenTransaction, action: String) {
    self.work = work
    self.action = action
  }

  /// The number of reads and writes in it; nil while the library itself is at work in it.
  var uses: UInt64? {
    work.libraryWork.load(ordering: .acquiring) > 0 ? nil : work.uses.load(ordering: .acquiring)
  }
}
