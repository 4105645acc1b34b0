import Locks

/// The writer's lock: which process may write.
///
/// It is taken with the first transaction and kept while transactions follow each other, because taking it reads what others may have
/// left. After `StoreOptions.idleSeconds` without one the writer's thread lets go of it, so that another process can commit beside a
/// running app; the next transaction takes it again.
///
/// Everything here is done in the turn.
extension Writer {
  /// The writer's lock while it is held.
  struct HeldLock {
    let file: any DiskFile
    let since: Int64
    /// What the file says.
    var hold = EncodedHold()
    /// The names that lead to the store's files; known once the store was recovered.
    var names: StoreNames?
  }

  /// Makes the writer ready to append, and answers what a transaction begins from. Takes the lock where it is not held.
  @discardableResult
  func prepareTurn(report: (OpeningReport) -> Void) throws(StorageError) -> Publication.State {
    let (failure, isClosed, isLocked, appended) = monitor.withLock {
      (shared.queue.failure, shared.isClosed, shared.lock != nil, shared.appended)
    }
    if isClosed { throw .closed }
    if let failure { throw failure }
    if isLocked { return appended }
    if let reason = readOnlyReason { throw .readOnly(reason: reason) }
    let lock = try takeLock()
    monitor.withLock {
      shared.lock = lock
      isLocking.store(true, ordering: .releasing)
    }
    do {
      if isAsLeft(lock.file) { writeHold(publication.current) } else { try recover(report: report) }
    } catch {
      dropLock()
      throw error
    }
    // It will let go of the lock, also where nothing is committed now.
    wakeThread()
    return beginning().state
  }

  /// What a transaction begins from; the writer is prepared.
  func beginning() -> (state: Publication.State, origin: UInt64) {
    (monitor.withLock { shared.appended }, tail.origin)
  }

  private func takeLock() throws(StorageError) -> HeldLock {
    let file = try LockFile(disk: disk, folder: folder).take(patience: options.lockPatience)
    return HeldLock(file: file, since: disk.now())
  }

  /// To be called before another file is given the data's name, for a sync that is under way then.
  func expectData(_ identity: FileIdentity) { monitor.withLock { shared.lock?.names }?.expect(identity) }

  /// Throws where one who changes names by the store's path would not change the store's. Where that is because another file has
  /// a name of the store's, nothing is written any more.
  func requireNames() throws(StorageError) {
    do {
      try monitor.withLock({ shared.lock?.names })?.checkPath()
    } catch {
      if case .replaced = error { poison(error) }
      throw error
    }
  }

  private func dropLock() {
    zeros.settle()
    let lock = monitor.withLock { () -> HeldLock? in
      defer { shared.lock = nil }
      isLocking.store(false, ordering: .releasing)
      return shared.lock
    }
    if let lock { try? lock.file.unlock() }
  }

  /// The store as this process let go of it.
  struct Left {
    let state: Publication.State
    let status: FileStatus
  }

  /// Whether nobody has written since this process let go of the lock, so that all that it knows is still so. The lock file names
  /// the session that wrote last, and the data's change time, which nobody can set, tells of a file that was put back or written
  /// to by another program. Two small reads, whatever the store's size.
  private func isAsLeft(_ lock: any DiskFile) -> Bool {
    defer { tail.left = nil }
    guard let left = tail.left, left.status.changed != 0, publication.current.file === left.state.file,
      let hold = (try? LockFile.hold(in: lock)) ?? nil, hold.processIdentifier == 0, hold.session == session,
      hold.durableEnd == left.state.chain.end, hold.generation == left.state.file.header.identity.generation,
      let status = (try? Reading.statusByName(disk: disk, folder: folder)) ?? nil
    else { return false }
    return status == left.status
  }

  /// Brings this process up to what other writers left, makes sure of it, and cuts what is no commit.
  private func recover(report: (OpeningReport) -> Void) throws(StorageError) {
    let found = try Recovery(disk: disk, folder: folder, options: options, counters: counters, session: session)
      .run(from: publication.current)
    let chain = found.state.chain
    if let lock = monitor.withLock({ shared.lock?.file }) {
      let names = try StoreNames(disk: disk, path: folder, data: found.state.file.file, lock: lock)
      monitor.withLock { shared.lock?.names = names }
    }
    zeros.begin(at: max(found.fileEnd, chain.end))
    tail = Tail(origin: found.origin)
    monitor.withLock {
      shared.appended = found.state
      shared.durableEnd = chain.end
      shared.queue.recover(chain.number)
      noteDurable()
      shared.slotSequence = found.slot?.sequence ?? 0
      shared.slotEnd = found.slot?.durableEnd ?? 0
      shared.slotIsClean = found.slot?.isClean ?? false
    }
    publication.show(found.state)
    writeHold(found.state)
    if found.report.cutBytes > 0 { report(found.report) }
  }

  /// Says in the lock file who writes which generation, and how far it is durable.
  func writeHold(_ state: Publication.State) {
    monitor.withLock {
      guard let since = shared.lock?.since else { return }
      shared.lock?.hold = EncodedHold(
        LockHold(
          processIdentifier: processIdentifier(), program: options.program, since: since,
          generation: state.file.header.identity.generation, durableEnd: state.chain.end, session: session))
    }
    moveHold(to: state.chain.end)
  }

  /// Tells other processes how far the data is durable. Failing is harmless: they find out a commit later.
  func moveHold(to durableEnd: FileOffset) {
    let held = monitor.withLock {
      shared.lock?.hold.move(to: durableEnd)
      return shared.lock
    }
    held?.hold.bytes.withUnsafeBytes { try? held?.file.write($0, at: 0) }
  }

  /// Tells other processes what this one is busy with; nil: nothing any more. It is only for show, so failing is harmless.
  func setActivity(_ bytes: [UInt8]?) {
    guard holdsLock, let due = activity.withLock({ $0.due(bytes, at: disk.now()) }) else { return }
    try? ActivityFile(disk: disk, folder: folder).write(due, session: session)
  }

  /// Makes everything durable, notes the end, and lets go of the lock.
  func release() throws(StorageError) {
    let chain = monitor.withLock { shared.lock == nil ? nil : shared.appended.chain }
    guard let chain else { return }
    setActivity(nil)
    do {
      try waitUntilDurable(chain.number, gathers: false)
    } catch {
      // A poisoned store writes no more; who opens it anew needs the lock. Of the file that is there now nothing was promised.
      if case .replaced = error { moveHold(to: 0) }
      dropLock()
      throw error
    }
    monitor.withLock {
      while shared.queue.isSyncing { monitor.wait() }
      let state = shared.appended
      if state.chain.end != shared.slotEnd || !shared.slotIsClean { writeSlotHoldingMonitor(state, isClean: true) }
    }
    guard let file = monitor.withLock({ shared.lock?.file }) else { return }
    let current = publication.current
    zeros.settle()
    let status = try? current.file.file.status
    tail.left = status.map { Left(state: current, status: $0) }
    let hold = LockHold(
      processIdentifier: 0, program: options.program, since: disk.now(),
      generation: current.file.header.identity.generation, durableEnd: chain.end, session: session,
      changed: status?.changed ?? 0
    ).encoded()
    hold.withUnsafeBytes { try? file.write($0, at: 0) }
    dropLock()
    // Whoever is woken by a change must find the lock free, and the next writer may have it by now: so what is written once
    // more is a byte that every hold has.
    try? file.write([0], at: LockHold.idleByte)
  }

  /// Ends writing for good.
  func close() throws(StorageError) {
    defer {
      monitor.withLock {
        shared.isClosed = true
        monitor.notifyAll()
        monitor.ring()
      }
      dropLock()
    }
    try release()
  }
}

extension LockHold {
  static let unknown = LockHold(
    processIdentifier: 0, program: "", since: 0, generation: 0, durableEnd: 0, session: 0)
}
