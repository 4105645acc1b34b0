import StrataModel
import StrataLocks
import StrataEngine

/// Applies the letters of a store's inbox when they arrive, and reports the outcomes to listeners.
final class InboxApplier: Sendable {
  private struct State {
    var listeners: [Int: AsyncStream<Inbox.Event>.Continuation] = [:]
    var nextListener = 0
    /// Whether letters are applied when they arrive.
    var isStarted = false
    /// Kept for as long as arriving letters are to be noticed.
    var watch: (any DiskWatch)?
    var isRunning = false
    /// Whether something arrived during the run.
    var isAsked = false
    var isClosed = false
  }

  private let state = Mutex(State())

  var events: AsyncStream<Inbox.Event> {
    AsyncStream { continuation in
      let number = state.withLock { state -> Int? in
        if state.isClosed { return nil }
        state.nextListener += 1
        state.listeners[state.nextListener] = continuation
        return state.nextListener
      }
      guard let number else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
    }
  }

  /// Ends the streams of outcomes, and no longer notices arriving letters.
  func close() {
    let (listeners, watch) = state.withLock { state in
      state.isClosed = true
      return (state.listeners, state.watch.take())
    }
    for listener in listeners.values { listener.finish() }
    withExtendedLifetime(watch) {}
  }

  func apply(to store: _StoreHandle) async throws -> [Inbox.Event] {
    let declared = Set(store.registry.compiledFormats.map(\.datastore))
    let events = Mutex<[Inbox.Event]>([])
    // Also after an error, which comes behind letters that were applied.
    defer {
      let listeners = state.withLock { Array($0.listeners.values) }
      for event in events.withLock({ $0 }) { for listener in listeners { listener.yield(event) } }
    }
    _ = try await store.changeByModel(commits: { $0.compactMap(\.commit) }) { model throws(ModelError) in
      try model.applyLetters(
        isDue: { _, letter in letter.changes.allSatisfy { declared.contains($0.datastore) } },
        note: { outcomes in events.withLock { $0 += outcomes.map { Inbox.Event($0) } } })
    }
    return events.withLock { $0 }
  }

  /// Applies waiting letters, and from now on arriving ones. If arrivals cannot be watched, letters wait for the store's next opening.
  func start(for store: _StoreHandle, at path: String) {
    let isFirst = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    if isFirst {
      let watch = try? InboxFolder(ofStoreAt: path).watch { [weak self, weak store] in
        if let store { self?.ask(for: store) }
      }
      state.withLock { $0.watch = watch }
    }
    ask(for: store)
  }

  /// Applies the waiting letters, if letters are applied when they arrive: in a task of its own, after the running one, if there is one.
  func ask(for store: _StoreHandle) {
    let begins = state.withLock { state in
      guard state.isStarted else { return false }
      state.isAsked = true
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard begins else { return }
    Task.detached { [weak store] in
      var pause = Duration.seconds(1)
      // If another process writes, or the disk is full, letters wait, and possibly no later arrival would start another attempt. Neither
      // the persistence nor its store is kept open meanwhile.
      while await store?.inbox.run(for: store) == false {
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(60))
      }
    }
  }

  /// Applies the waiting letters until no more arrive. Returns whether they are done; if not, the caller tries again.
  private func run(for store: _StoreHandle?) async -> Bool {
    while state.withLock({ state in
      defer { state.isAsked = false }
      state.isRunning = state.isAsked
      return state.isAsked
    }) {
      do {
        guard let store else { throw StoreError.closed }
        _ = try await apply(to: store)
      } catch {
        let kind = (error as? StoreError)?.kind
        let isOver = kind == .closed || kind == .readOnly
        state.withLock { state in
          if isOver { state.isRunning = false } else { state.isAsked = true }
        }
        return isOver
      }
    }
    return true
  }
}

extension Inbox.Event {
  fileprivate init(_ outcome: LetterOutcome) {
    switch outcome {
    case .applied(let letter, let commit):
      self = .applied(commit: Commit.Number(commit.rawValue), letter: letter.description)
    case .refused(let letter, let reason): self = .refused(letter: letter.description, reason: reason)
    }
  }
}

extension LetterOutcome {
  fileprivate var commit: CommitNumber? { if case .applied(_, let commit) = self { commit } else { nil } }
}
