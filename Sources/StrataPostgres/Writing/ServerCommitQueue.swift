import Dispatch
import StrataLocks
import StrataEngine

/// The transactions of one process on their way to the server: those that wait at the same time share one transaction there.
///
/// One thread flushes at a time, on a connection of its own: the caller's thread if no flush is under way. Transactions that come during a
/// flush gather; the next flush takes all of them that are independent of each other. A transaction that read or writes a key that another
/// of the same flush writes waits for the next flush. There the server finds out whether that was a conflict.
final class ServerCommitQueue: Sendable {
  typealias Outcome = Result<ServerCommit, StorageError>

  private struct Waiting {
    var draft: CommitDraft
    var store: ServerStore
    var report: @Sendable (Outcome) -> Void
  }

  private struct State {
    var waiting: [Waiting] = []
    var isWorking = false
  }

  private let state = Mutex(State())
  private let thread = DispatchQueue(label: "strata.commits")
  private let slowness = Slowness()
  /// Only the thread that has set `isWorking` uses it.
  private let flushing: FlushWorker

  private static let most = 256

  /// The number of transactions that wait for the next flush.
  var waitingCount: Int { state.withLock { $0.waiting.count } }
  /// Whether no flush is under way, nor what follows one.
  var isIdle: Bool { state.withLock { !$0.isWorking } }

  init(_ pool: ConnectionPool, _ tables: Tables, options: ServerOptions) {
    flushing = FlushWorker(pool, tables, options)
  }

  /// Hands over a draft to be committed; the queue's thread calls `report`.
  func submit(_ draft: CommitDraft, of store: ServerStore, _ report: @escaping @Sendable (Outcome) -> Void) {
    state.withLock { $0.waiting.append(Waiting(draft: draft, store: store, report: report)) }
    if claimWork() { thread.async { self.work() } }
  }

  /// Commits, holding the thread. If no flush is under way, this thread makes it: to hand it over takes as long as a part of the flush.
  func commit(_ draft: CommitDraft, of store: ServerStore) -> Outcome {
    if claimWork() {
      let outcome = flushing.run([draft], for: store)[0]
      passWork()
      return outcome
    }
    let outcome = Mutex<Outcome?>(nil)
    let done = DispatchSemaphore(value: 0)
    submit(draft, of: store) { result in
      outcome.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    return outcome.withLock { $0 } ?? .failure(.transactionEnded)
  }

  /// Commits, holding the thread for a millisecond at most: most flushes are answered before another thread has taken over. If one is not,
  /// the thread does not wait for those that follow.
  nonisolated(nonsending) func commitAsync(_ draft: CommitDraft, of store: ServerStore) async -> Outcome {
    guard !slowness.consume(), claimWork() else {
      return await withCheckedContinuation { continuation in
        submit(draft, of: store) { continuation.resume(returning: $0) }
      }
    }
    let sent = flushing.send(draft, for: store)
    if let sent, sent.isAnswered() {
      let outcome = flushing.run([draft], for: store, sent: sent)[0]
      passWork()
      return outcome
    }
    if sent != nil { slowness.recordSlowCall() }
    return await withCheckedContinuation { continuation in
      thread.async {
        continuation.resume(returning: self.flushing.run([draft], for: store, sent: sent)[0])
        self.work()
      }
    }
  }

  /// Returns true if no thread flushes: then the caller must.
  private func claimWork() -> Bool {
    state.withLock { state in
      defer { state.isWorking = true }
      return !state.isWorking
    }
  }

  /// Ends the work, or hands it over to the queue's thread.
  private func passWork() {
    if flushing.isOwing || !endWork() { thread.async { self.work() } }
  }

  /// Flushes until no transaction waits. The caller must have set `isWorking`.
  private func work() {
    repeat {
      while let group = next() {
        let outcomes = flushing.run(group.map(\.draft), for: group[0].store)
        for (waiting, outcome) in zip(group, outcomes) { waiting.report(outcome) }
      }
      flushing.endFailedTransaction()
    } while !endWork()
  }

  /// Ends the work; returns false if a transaction waits.
  private func endWork() -> Bool {
    state.withLock { state in
      if state.waiting.isEmpty { state.isWorking = false }
      return state.waiting.isEmpty
    }
  }

  /// The transactions of the next flush, with the oldest that waits; nil if none waits.
  private func next() -> [Waiting]? {
    state.withLock { state in
      guard !state.waiting.isEmpty else { return nil }
      var group = [state.waiting.removeFirst()]
      guard group[0].draft.isShareable else { return group }
      var written = Set(group[0].draft.writes.map(\.place))
      var left: [Waiting] = []
      for waiting in state.waiting {
        if group.count < Self.most, waiting.draft.isShareable, !waiting.draft.touches(written) {
          written.formUnion(waiting.draft.writes.map(\.place))
          group.append(waiting)
        } else {
          left.append(waiting)
        }
      }
      state.waiting = left
      return group
    }
  }
}
