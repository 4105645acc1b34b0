/// The writer's own thread: what it does so that no other blocks.
///
/// It is started by the first commit, or the first task that needs the lock, and ends with the writer.
extension Writer {
  /// Runs a job on the writer's own thread, so that no thread of a pool blocks.
  nonisolated(nonsending) func run<R: Sendable>(_ job: @escaping @Sendable () -> R) async -> R {
    let result = await withCheckedContinuation { continuation in
      monitor.withLock {
        shared.jobs.append {
          let result = job()
          self.monitor.withLock {}
          continuation.resume(returning: result)
        }
      }
      wakeThread(always: true)
    }
    // Resuming hands the result over. The thread sanitizer does not see that where the task had not gone to sleep yet; the
    // monitor, passed on both sides, it sees.
    monitor.withLock {}
    return result
  }

  /// Starts the thread where it is not there, and wakes it where it rests. `always`: also out of its wait for idleness.
  func wakeThread(always: Bool = false) { wake(monitor.withLock { callThreadHoldingMonitor(always: always) }) }

  /// What the writer's thread needs to come.
  enum ThreadCall {
    case nothing, ring, start
  }

  func callThreadHoldingMonitor(always: Bool = false) -> ThreadCall {
    defer { shared.hasThread = true }
    return !shared.hasThread ? .start : always || shared.isThreadResting ? .ring : .nothing
  }

  /// Not with the monitor held, for the thread takes it first of all.
  func wake(_ call: ThreadCall) {
    if call == .ring { monitor.ring() }
    guard call == .start else { return }
    do {
      try startThread { self.work() }
    } catch {
      // Without a thread the caller does the work.
      work(untilIdle: true)
      monitor.withLock { shared.hasThread = false }
    }
  }

  /// Says what is to be done each time that nobody has committed for a while. It is called on the writer's thread and must be quick.
  func setIdleWork(_ work: @escaping @Sendable () -> Void) { monitor.withLock { shared.idleWork = work } }

  /// Does the idle work again after so many nanoseconds without a commit.
  func repeatIdleWork(after pause: Int64) {
    monitor.withLock { shared.idlePause = pause }
    wakeThread(always: true)
  }

  /// Runs jobs, leads tasks that sleep, and does what is due after idleness.
  private func work(untilIdle: Bool = false) {
    monitor.lock()
    defer { monitor.unlock() }
    var gathers = true
    while true {
      if !shared.jobs.isEmpty {
        let job = shared.jobs.removeFirst()
        monitor.unlock()
        job()
        monitor.lock()
        continue
      }
      switch shared.queue.leadForSleepers(gathers: gathers) {
      case .gather(let gathering):
        gathers = gatherHoldingMonitor(gathering)
        continue
      case .sync:
        gathers = true
        syncHoldingMonitor()
        continue
      case nil, .sleep, .durable, .failed: gathers = true
      }
      if shared.isClosed || untilIdle { return }
      if waitForIdleness() { doIdleWork() }
    }
  }

  /// Waits until nobody has committed for a while; false where something else is to be done first. Called with the monitor held.
  private func waitForIdleness() -> Bool {
    // A store that takes no more keeps its lock until it is closed, so that it does not begin to show what may not be durable. Locks
    // of files that are not the store's any more protect nothing.
    guard shared.queue.failure == nil || isReplaced, shared.lock != nil || shared.queue.hasPending else {
      shared.isThreadResting = true
      defer { shared.isThreadResting = false }
      return !monitor.waitForBell(nanoseconds: shared.queue.failure == nil ? shared.idlePause : nil)
    }
    let appended = shared.queue.appended
    let idleTime = Int64(min(max(0.001, options.idleSeconds), 1e9) * 1e9)
    return !monitor.waitForBell(nanoseconds: idleTime) && !shared.queue.isSyncing && shared.queue.appended == appended
  }

  /// Makes collated commits durable, has the store do its part, and lets go of the writer's lock, which notes the end in a slot.
  /// Called with the monitor held, and lets go of it meanwhile.
  private func doIdleWork() {
    shared.idlePause = nil
    if shared.queue.hasPending, shared.queue.beginSync() { syncHoldingMonitor() }
    let isSound = shared.queue.failure == nil
    let idleWork = isSound ? shared.idleWork : nil
    // Whoever has the turn needs the lock.
    let hasTurn = (isSound || isReplaced) && shared.queue.takeTurn()
    monitor.unlock()
    if hasTurn {
      try? release()
      passTurn()
    }
    idleWork?()
    monitor.lock()
  }
}
