import Locks
import StorageEngine

/// Somebody writes, and is not to be waited for.
struct TurnTaken: Error {}

/// Waiting for the writer's turn of a store that is a file or in memory.
extension StoreConnection {
  /// Begins a transaction, without holding a thread while it waits for its turn.
  ///
  /// - Parameters:
  ///   - isKept: Whether the task may be suspended in its turn: a program's closure, and not a single call.
  ///   - waits: Whether to wait; else it throws ``TurnTaken`` where somebody writes.
  /// - Throws: `CancellationError`; ``StoreError``, also where a transaction keeps the turn and does nothing.
  func begin(_ store: FileStore, isKept: Bool, waits: Bool) async throws -> FileTransaction {
    if !store.tryTakeTurn() {
      guard waits else { throw TurnTaken() }
      if let held = held.withLock({ $0 }) { watch(held, in: store) }
      try await store.takeTurn(isKept: isKept)
    }
    do { return try await store.beginTaken() } catch { throw StoreError(error) }
  }

  /// Runs a long change on a thread that may wait. In this process nobody else writes meanwhile, on a server nobody else who does the same.
  func alone<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    guard let store = try storeForWriting() as? FileStore else {
      try await servedChanges.take()
      defer { servedChanges.pass() }
      return try await onThread(body)
    }
    try await store.takeTurn()
    defer { store.passTurn() }
    return try await onThread { try store.lendingTurn(body) }
  }

  /// Notes that a transaction has the turn whose closure is a program's, and may wait for something that never comes: a write, say,
  /// that it has begun outside of itself and that waits for the turn.
  func hold(_ work: OpenWork, action: String) {
    guard let store = try? storeForWriting() as? FileStore else { return }
    let new = HeldTurn(work: work, action: action)
    held.withLock { $0 = new }
    if store.waitingForTurn > 0 { watch(new, in: store) }
  }

  /// Sends those away who wait for a closure that neither reads nor writes any more.
  private func watch(_ held: HeldTurn, in store: FileStore) {
    guard held.isWatched.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    else { return }
    let (limit, clock) = (configuration.longestSilence, clock)
    Task.detached { [weak self, weak store] in
      var (uses, silence) = (held.uses, Duration.zero)
      // In parts, so that silence that begins meanwhile is not taken for twice as long.
      let part = limit / 8
      while self?.held.withLock({ $0 === held }) == true {
        do { try await clock.sleep(for: part) } catch { return }
        let now = held.uses
        (uses, silence) = (now, now == uses && now != nil ? silence + part : .zero)
        guard silence >= limit, self?.held.withLock({ $0 === held }) == true else { continue }
        store?.refuseTurn(with: StoreError.silentTransaction(held.action, for: limit))
      }
    }
  }
}

/// A transaction of a program's closure, as long as it has the turn.
final class HeldTurn: Sendable {
  private let work: OpenWork
  let action: String
  let isWatched = Atomic(false)

  init(work: OpenWork, action: String) {
    self.work = work
    self.action = action
  }

  /// How often something was read or written in it; nil while the library itself is at work in it.
  var uses: UInt64? {
    work.libraryWork.load(ordering: .acquiring) > 0 ? nil : work.uses.load(ordering: .acquiring)
  }
}
