import Synchronization

/// How commits become durable: who waits, who syncs for all that wait, and what is noted of it.
extension Writer {
  /// How many tasks that wait for a sync are enough to begin it.
  static let gatheredTasks = 64

  /// Waits until a commit and all before it are durable, syncing if nobody does. One sync serves all that wait, so it begins
  /// once nobody writes: the last one in the queue syncs for all before it. `gathers`: whether to wait for those that write.
  func waitUntilDurable(_ number: UInt64, gathers: Bool = true) throws(StorageError) {
    monitor.lock()
    defer {
      // One that led and has what it wants leaves the rest to another.
      let leader = takeLeader()
      monitor.unlock()
      leader?.fire()
    }
    while durableNumber.load(ordering: .relaxed) < number {
      if let poison = shared.poison { throw .poisoned(cause: poison) }
      let othersWrite = gathers && turns.isTaken
      if shared.isSyncing || (shared.isLed && othersWrite) {
        let signal = Signal()
        shared.waitingThreads.append((number, signal))
        monitor.unlock()
        signal.wait()
        monitor.lock()
        continue
      }
      if othersWrite {
        shared.isLed = true
        let isNews = monitor.wait(nanoseconds: options.gatheringTime)
        shared.isLed = false
        if isNews || shared.isSyncing { continue }
      }
      syncHoldingMonitor()
    }
  }

  /// Whether a thread waits for those that write before it syncs.
  var isGathering: Bool { monitor.withLock { shared.isLed } }
  /// How many threads wait for one that syncs.
  var waitingThreads: Int { monitor.withLock { shared.waitingThreads.count } }

  /// As `waitUntilDurable`, without holding a thread.
  nonisolated(nonsending) func untilDurable(_ number: UInt64) async throws(StorageError) {
    await withCheckedContinuation { continuation in
      let isSettled = monitor.withLock {
        if durableNumber.load(ordering: .relaxed) >= number || shared.poison != nil { return true }
        shared.waitingTasks.append((number, continuation))
        return false
      }
      if isSettled { continuation.resume() } else { wakeThread(always: true) }
    }
    if durableNumber.load(ordering: .acquiring) >= number { return }
    if let poison = monitor.withLock({ shared.poison }) { throw .poisoned(cause: poison) }
  }

  /// Called with the monitor held and nobody syncing; lets go of it meanwhile, and to wake those that waited.
  func syncHoldingMonitor() {
    shared.isSyncing = true
    let target = shared.appended
    monitor.unlock()
    var failure: DiskError?
    do {
      try target.file.file.sync()
      counters.syncs.add(1)
      publication.show(target)
      moveHold(to: target.chain.end)
    } catch {
      failure = error
    }
    monitor.lock()
    shared.isSyncing = false
    if let failure {
      shared.poison = shared.poison ?? failure
    } else {
      shared.durableEnd = max(shared.durableEnd, target.chain.end)
      raiseDurableNumber(to: target.chain.number)
      if shared.durableEnd &- shared.slotEnd >= Writer.slotDistance { writeSlotHoldingMonitor(target, isClean: false) }
    }
    let settled = takeSettled()
    monitor.notifyAll()
    monitor.unlock()
    settled.wake()
    monitor.lock()
  }

  private static let slotDistance: UInt64 = 4 << 20

  /// Called with the monitor held.
  func raiseDurableNumber(to number: UInt64) {
    durableNumber.store(max(durableNumber.load(ordering: .relaxed), number), ordering: .releasing)
  }

  /// Some that waited and may go on. They are woken when the monitor is free: a thread that wakes often takes the place of the
  /// one that woke it, and would at once have to wait for what that one holds.
  struct Settled {
    var tasks: [CheckedContinuation<Void, Never>] = []
    var threads: [Signal] = []

    func wake() {
      for task in tasks { task.resume() }
      for thread in threads { thread.fire() }
    }
  }

  /// Those whose commit is durable or never will be, and of the other threads one that leads the rest.
  func takeSettled() -> Settled {
    let limit = shared.poison == nil ? durableNumber.load(ordering: .relaxed) : .max
    var settled = Settled()
    shared.waitingTasks.removeAll { waiting in
      guard waiting.number <= limit else { return false }
      settled.tasks.append(waiting.continuation)
      return true
    }
    shared.waitingThreads.removeAll { waiting in
      guard waiting.number <= limit else { return false }
      settled.threads.append(waiting.signal)
      return true
    }
    if let leader = takeLeader() { settled.threads.append(leader) }
    return settled
  }

  /// One of the threads that wait, to sync for the others, where nobody does or is about to.
  private func takeLeader() -> Signal? {
    guard !shared.isSyncing, !shared.isLed, !shared.waitingThreads.isEmpty else { return nil }
    return shared.waitingThreads.removeFirst().signal
  }

  /// Ends writing for good: who waits hears of the error, and no transaction begins any more.
  func poison(_ error: DiskError) {
    let settled = monitor.withLock {
      shared.poison = shared.poison ?? error
      monitor.notifyAll()
      return takeSettled()
    }
    settled.wake()
  }

  /// Notes a durable state in the older slot. A slot is a hint, so failing is harmless.
  func writeSlotHoldingMonitor(_ state: Publication.State, isClean: Bool) {
    let slot = Slot(
      sequence: shared.slotSequence &+ 1, generation: state.file.header.identity.generation,
      frameOffset: state.chain.offset, number: state.chain.number, frameHash: state.chain.hash, isClean: isClean,
      durableEnd: state.chain.end, zeroedEnd: state.chain.end)
    let place = FileLayout.slotOffsets[Int(slot.sequence % 2)]
    let bytes = slot.encoded(seed: state.file.header.seed)
    guard (try? state.file.write(bytes, at: place)) != nil else { return }
    shared.slotSequence = slot.sequence
    shared.slotEnd = state.chain.end
    shared.slotIsClean = isClean
  }
}
