/// The writer's own thread: what it does so that no other blocks.
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
  func wakeThread(always: Bool = false) {
    let (isNew, isToRing) = monitor.withLock {
      defer { shared.hasThread = true }
      return (!shared.hasThread, always || shared.isThreadResting)
    }
    // When the monitor is free, for the thread takes it first of all.
    if isToRing { monitor.ring() }
    guard isNew else { return }
    do {
      try startThread { self.work() }
    } catch {
      // Without a thread the caller does the work.
      work(untilIdle: true)
      monitor.withLock { shared.hasThread = false }
    }
  }

  private var idleTime: Int64 { Int64(min(max(0.001, options.idleSeconds), 1e9) * 1e9) }

  /// Syncs for those that wait without a thread, runs jobs, and after idleness makes collated commits durable and notes
  /// the end in a slot.
  private func work(untilIdle: Bool = false) {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      if !shared.jobs.isEmpty {
        let job = shared.jobs.removeFirst()
        monitor.unlock()
        job()
        monitor.lock()
        continue
      }
      let isWaitedFor = !shared.waitingTasks.isEmpty && shared.poison == nil
      if isWaitedFor {
        let gathers = shared.waitingTasks.count < Writer.gatheredTasks && turns.isTaken
        if gathers, !shared.isSyncing, monitor.waitForBell(nanoseconds: options.gatheringTime) { continue }
        if shared.isSyncing { monitor.wait() } else { syncHoldingMonitor() }
        continue
      }
      if shared.isClosed || untilIdle { return }
      let appended = shared.appended.chain.end
      let isSettled =
        shared.poison != nil || shared.lock == nil
        || (appended == shared.durableEnd && appended == shared.slotEnd)
      if isSettled {
        shared.isThreadResting = true
        _ = monitor.waitForBell()
        shared.isThreadResting = false
        continue
      }
      if monitor.waitForBell(nanoseconds: idleTime) || shared.isSyncing || shared.appended.chain.end != appended {
        continue
      }
      if shared.durableEnd < appended { syncHoldingMonitor() }
      if shared.poison == nil, shared.durableEnd == appended, shared.slotEnd != appended {
        writeSlotHoldingMonitor(shared.appended, isClean: false)
      }
      if shared.poison == nil, let idleWork = shared.idleWork {
        monitor.unlock()
        idleWork()
        monitor.lock()
      }
    }
  }

  /// Says what is to be done each time that nobody has committed for a while. It is called on the writer's thread and must be quick.
  func setIdleWork(_ work: @escaping @Sendable () -> Void) { monitor.withLock { shared.idleWork = work } }
}
