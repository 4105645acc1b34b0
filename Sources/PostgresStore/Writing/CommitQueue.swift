import Dispatch
import Locks
import StorageEngine

/// The transactions of one process on their way to the server: those that wait at the same time share one transaction there.
///
/// One thread flushes at a time, on a connection of its own: that of the caller where nobody is at it. While a flush is under way, those that
/// come gather; the next one takes all of them that have nothing to do with each other. One that read or writes what another of the same flush writes waits for the next, where the
/// server tells whether that was a conflict.
final class CommitQueue: Sendable {
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

  private let pool: ConnectionPool
  private let tables: Tables
  private let options: ServerOptions
  private let state = Mutex(State())
  private let thread = DispatchQueue(label: "strata.commits")
  /// How many flushes shall not be waited for by their caller.
  private let slowness = Atomic(0)
  /// Touched by whoever has set `isWorking`.
  private let flushing: Flushing

  /// How many transactions share a flush at most.
  private static let most = 256

  init(_ pool: ConnectionPool, _ tables: Tables, options: ServerOptions) {
    self.pool = pool
    self.tables = tables
    self.options = options
    flushing = Flushing(pool, tables, options)
  }

  /// Hands over what is to be committed; `report` is called from the queue's thread.
  func submit(_ draft: CommitDraft, of store: ServerStore, _ report: @escaping @Sendable (Outcome) -> Void) {
    let starts = state.withLock { state in
      state.waiting.append(Waiting(draft: draft, store: store, report: report))
      defer { state.isWorking = true }
      return !state.isWorking
    }
    if starts { thread.async { self.work() } }
  }

  /// Commits, holding the thread. Where nobody is at it, the flush is made on it: to hand it over takes as long as a part of the flush.
  func commit(_ draft: CommitDraft, of store: ServerStore) -> Outcome {
    if takeWork() {
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

  /// Commits, holding the thread for a millisecond at most: most flushes are answered before another thread has taken over. Where one is
  /// not, those that follow are not waited for.
  nonisolated(nonsending) func commitAsync(_ draft: CommitDraft, of store: ServerStore) async -> Outcome {
    guard !isSlow(), takeWork() else {
      return await withCheckedContinuation { continuation in
        submit(draft, of: store) { continuation.resume(returning: $0) }
      }
    }
    guard let sent = flushing.send(draft, for: store) else {
      return await withCheckedContinuation { continuation in
        thread.async {
          continuation.resume(returning: self.flushing.run([draft], for: store)[0])
          self.passWork()
        }
      }
    }
    if sent.isAnswered() {
      let outcome = flushing.run([draft], for: store, sent: sent)[0]
      passWork()
      return outcome
    }
    slowness.store(Self.countAfterSlow, ordering: .relaxed)
    return await withCheckedContinuation { continuation in
      thread.async {
        let outcome = self.flushing.run([draft], for: store, sent: sent)[0]
        continuation.resume(returning: outcome)
        self.work()
      }
    }
  }

  /// Many enough that a server which always takes longer is seldom waited for, and few enough that one answer which was late by chance costs
  /// little.
  static let countAfterSlow = 16

  private func isSlow() -> Bool {
    guard slowness.load(ordering: .relaxed) > 0 else { return false }
    slowness.subtract(1, ordering: .relaxed)
    return true
  }

  /// Whether nobody is at it: then the caller is.
  private func takeWork() -> Bool {
    state.withLock { state in
      defer { state.isWorking = true }
      return !state.isWorking
    }
  }

  /// Ends the work, or has it gone on with by the queue's thread.
  private func passWork() {
    if flushing.isOwing || !endWork() { thread.async { self.work() } }
  }

  /// Flushes until nobody waits. Whoever calls it has set `isWorking`.
  private func work() {
    repeat {
      while let group = next() {
        let outcomes = flushing.run(group.map(\.draft), for: group[0].store)
        for (waiting, outcome) in zip(group, outcomes) { waiting.report(outcome) }
      }
      flushing.settle()
    } while !endWork()
  }

  /// Ends the work; false where somebody waits.
  private func endWork() -> Bool {
    state.withLock { state in
      if state.waiting.isEmpty { state.isWorking = false }
      return state.waiting.isEmpty
    }
  }

  /// The transactions of the next flush, the oldest among them; nil where none waits.
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
