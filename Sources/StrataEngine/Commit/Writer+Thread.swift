/// The writer's own thread, which does work so that no other thread blocks.
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
    // Resuming hands the result over. The thread sanitizer does not see that if the task had not gone to sleep yet; it does see the
    // monitor, which both sides pass.
    monitor.withLock {}
    return result
  }

  /// Starts the thread if it does not exist, and wakes it if it rests. `always`: also out of its wait for idleness.
  func wakeThread(always: Bool = false) { wake(monitor.withLock { callThreadHoldingMonitor(always: always) }) }

  /// The action that brings the writer's thread to work.
  enum ThreadCall {
    case nothing, ring, start
  }

  func callThreadHoldingMonitor(always: Bool = false) -> ThreadCall {
    defer { shared.hasThread = true }
    return !shared.hasThread ? .start : always || shared.isThreadResting ? .ring : .nothing
  }

  /// Must not be called with the monitor held, because the thread takes it first of all.
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

  /// Sets the work for each time that no transaction has committed for a while. It is called on the writer's thread and must be quick.
  func setIdleWork(_ work: @escaping @Sendable () -> Void) { monitor.withLock { shared.idleWork = work } }

  /// Repeats the idle work after a pause in nanoseconds without a commit.
  func repeatIdleWork(after pause: Int64) {
    monitor.withLock { shared.idlePause = pause }
    wakeThread(always: true)
  }

  /// Runs jobs, leads tasks that sleep, and does the work that is due after idleness.
  private func work(untilIdle: Bool = false) {
    monitor.lock()
    defer { monitor.unlock() }
    var gathers = true
    while true {
      if !shared.jobs.isEmpty {
        monitor.unlock()
        runNextJob()
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

  /// A job may hold the last reference to the store, whose end takes the monitor: it is released before this returns.
  @inline(never) private func runNextJob() {
    let job = monitor.withLock { shared.jobs.removeFirst() }
    job()
  }

  /// Waits until no transaction has committed for a while. Returns false if other work is to be done first. The monitor must be held.
  private func waitForIdleness() -> Bool {
    // A store that takes no more commits keeps its lock until it is closed, so that it does not begin to show commits that may not be
    // durable. Locks of files that no longer belong to the store protect nothing.
    guard shared.queue.failure == nil || isReplaced, shared.lock != nil || shared.queue.hasPending else {
      shared.isThreadResting = true
      defer { shared.isThreadResting = false }
      return !monitor.waitForBell(nanoseconds: shared.queue.failure == nil ? shared.idlePause : nil)
    }
    let appended = shared.queue.appended
    return !monitor.waitForBell(nanoseconds: options.idleTime) && !shared.queue.isSyncing
      && shared.queue.appended == appended
  }

  /// Makes collated commits durable, calls the store's idle work, and releases the writer's lock, which records the end in a slot. Called
  /// with the monitor held; releases it meanwhile.
  private func doIdleWork() {
    shared.idlePause = nil
    if shared.queue.hasPending, shared.queue.beginSync() { syncHoldingMonitor() }
    let isSound = shared.queue.failure == nil
    let idleWork = isSound ? shared.idleWork : nil
    // The holder of the turn needs the lock.
    let hasTurn = (isSound || isReplaced) && shared.queue.acquireTurn()
    monitor.unlock()
    if hasTurn {
      try? release()
      passTurn()
    }
    idleWork?()
    monitor.lock()
  }
}
