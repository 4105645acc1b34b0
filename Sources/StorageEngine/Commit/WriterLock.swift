import Locks

/// The writer's lock: which process may write.
///
/// It is taken with the first transaction and kept while transactions follow each other, because taking it reads what others may have
/// left. After `StoreOptions.idleSeconds` without one the writer's thread lets go of it, so that another process can commit beside a
/// running app; the next transaction takes it again.
///
/// The data is locked along with it. Somebody may delete the lock file: then the next program locks a new one, and it is the lock of
/// the data that keeps it from writing over what this one has made durable.
///
/// Everything here is done in the turn.
extension Writer {
  /// The writer's lock while it is held.
  struct HeldLock {
    let file: any DiskFile
    let since: Int64
    /// What the file says.
    var hold = EncodedHold()
    /// The data, locked too, and the names that lead to the store's files. Both are there before the first byte is written.
    var data: (any DiskFile)?
    var names: StoreNames?
  }

  /// Makes the writer ready to append, and answers what a transaction begins from. Takes the lock where it is not held.
  ///
  /// - Parameter checksNames: whether to look if the names still lead to the store's files, which is due once a turn.
  @discardableResult
  func prepareTurn(
    checksNames: Bool = true, report: (OpeningReport) -> Void
  ) throws(StorageError) -> Publication.State {
    let (failure, isClosed, isLocked, appended) = monitor.withLock {
      (shared.queue.failure, shared.isClosed, shared.lock != nil, shared.appended)
    }
    if isClosed { throw .closed }
    if let failure {
      if case .replaced = failure { leaveReplaced() }
      throw failure
    }
    if isLocked {
      if checksNames { try requireNames() }
      try zeroAbandoned(of: appended.file)
      return appended
    }
    if let reason = readOnlyReason { throw .readOnly(reason: reason) }
    let lock = try takeLock()
    monitor.withLock {
      shared.lock = lock
      isLocking.store(true, ordering: .releasing)
    }
    do {
      if isAsLeft(lock.file) {
        try lockData(publication.current.file)
        writeHold(publication.current)
      } else {
        try recover(report: report)
      }
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

  /// Takes the lock of the data, which is held by another process only if the lock file is not the one that it has locked.
  private func lockData(_ file: DataFile) throws(StorageError) {
    guard try engineCall({ () throws(DiskError) in try file.file.lock(patience: options.lockPatience) }) else {
      throw .locked(.unknown)
    }
    monitor.withLock { shared.lock?.data = file.file }
    guard let lock = monitor.withLock({ shared.lock?.file }) else { return }
    let names = try StoreNames(disk: disk, path: folder, data: file.file, lock: lock)
    monitor.withLock { shared.lock?.names = names }
  }

  /// Throws where the names do not lead to the files that are written: then nothing is written any more. `byPath`: neither may the
  /// folder have been moved, because the caller changes names by the store's path.
  func requireNames(byPath: Bool = false) throws(StorageError) {
    do {
      try monitor.withLock({ shared.lock?.names })?.check(byPath: byPath)
    } catch {
      if case .replaced = error {
        poison(error)
        leaveReplaced()
      }
      throw error
    }
  }

  /// Whether other files have the names of those that were written. Called with the monitor held.
  var isReplaced: Bool { if case .replaced = shared.queue.failure { true } else { false } }

  /// Lets go of the locks of files that are not the store's any more, so that they keep nobody from what is. Of what is there now
  /// nothing was promised.
  private func leaveReplaced() {
    moveHold(to: 0)
    dropLock()
  }

  private func dropLock() {
    zeros.settle()
    let lock = monitor.withLock { () -> HeldLock? in
      defer { shared.lock = nil }
      isLocking.store(false, ordering: .releasing)
      return shared.lock
    }
    // The data first: who gets the other finds it free.
    try? lock?.data?.unlock()
    try? lock?.file.unlock()
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
    let recovery = Recovery(disk: disk, folder: folder, options: options, counters: counters, session: session)
    let current = try recovery.newestGeneration(publication.current)
    try lockData(current.file)
    let found = try recovery.run(from: current)
    let chain = found.state.chain
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
    let now = disk.now()
    guard holdsLock, let due = monitor.withLock({ shared.activity.due(bytes, at: now) }) else { return }
    try? NoteFile.activity(disk, folder).write(due, number: session)
  }

  /// Tells other processes what this one was busy with, and lets that stand. Only for show, as `setActivity`.
  func leaveActivity(_ bytes: [UInt8]) {
    monitor.withLock { shared.activity.leave() }
    try? NoteFile.activity(disk, folder).write(bytes, number: NoteFile.ended)
  }

  /// Makes everything durable, notes the end, and lets go of the lock.
  func release() throws(StorageError) {
    let (chain, isReplaced) = monitor.withLock { (shared.lock == nil ? nil : shared.appended.chain, self.isReplaced) }
    guard let chain else { return }
    if isReplaced { return leaveReplaced() }
    setActivity(nil)
    do {
      try waitUntilDurable(chain.number, gathers: false)
    } catch {
      // A poisoned store writes no more; who opens it anew needs the lock.
      if case .replaced = error { leaveReplaced() } else { dropLock() }
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
    try? zeroAbandoned(of: current.file)
    let status = try? current.file.file.status
    // Recovery cuts the range that still waits to be zeroed.
    tail.left = tail.abandoned == nil ? status.map { Left(state: current, status: $0) } : nil
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
