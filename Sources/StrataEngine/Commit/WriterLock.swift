import StrataLocks

/// The writer's lock: it decides which process may write.
///
/// The first transaction takes it. The writer keeps it while transactions follow each other, because taking it reads the commits that
/// others may have left. After `StoreOptions.idleSeconds` without a transaction, the writer's thread releases it, so that another process
/// can commit beside a running app. The next transaction takes it again.
///
/// The data file is locked along with it. If a user deletes the lock file, the next program locks a new one. Then the lock of the data file
/// keeps that program from overwriting commits that this one has made durable.
///
/// Everything here is done in the turn.
extension Writer {
  struct HeldLock {
    let file: any DiskFile
    let since: Int64
    /// The contents of the lock file; empty: nothing was written yet.
    var hold: [UInt8] = []
    /// The data file, locked too, and the names that lead to the store's files. Both are set before the first byte is written.
    var data: (any DiskFile)?
    var names: StoreNames?
  }

  /// Makes the writer ready to append, and returns the state on which a transaction begins. Takes the lock if it is not held.
  ///
  /// - Parameter checksNames: Whether to check that the names still lead to the store's files, which is due once a turn.
  @discardableResult
  func prepareTurn(checksNames: Bool = true) throws(StorageError) -> Publication.State {
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
    let file = try LockFile(disk: disk, folder: folder).acquire(patience: options.lockPatience)
    let lock = HeldLock(file: file, since: disk.now())
    monitor.withLock {
      shared.lock = lock
      isLocking.store(true, ordering: .releasing)
    }
    do {
      if isAsLeft(lock.file) {
        try lockData(publication.current.file)
        try zeroAbandoned(of: publication.current.file)
        writeHold(publication.current)
      } else {
        try recover()
      }
    } catch {
      dropLock()
      throw error
    }
    // The writer's thread will release the lock, even if no transaction commits now.
    wakeThread()
    return self.appended
  }

  /// Announces the data's next file before it gets the data's name, for a sync that is under way at that moment.
  func expectData(_ identity: FileIdentity) { monitor.withLock { shared.lock?.names }?.expect(identity) }

  /// Locks the data file. Another process holds that lock only if it has locked a different lock file.
  func lockData(_ file: DataFile) throws(StorageError) {
    guard try engineCall({ () throws(DiskError) in try file.file.lock(patience: options.lockPatience) }) else {
      throw .locked(.unknown)
    }
    monitor.withLock { shared.lock?.data = file.file }
    guard let lock = monitor.withLock({ shared.lock?.file }) else { return }
    let names = try StoreNames(disk: disk, path: folder, data: file.file, lock: lock)
    monitor.withLock { shared.lock?.names = names }
  }

  /// Throws if the names do not lead to the files that are written: then nothing is written any more. If `byPath` is true, the folder must
  /// not have been moved either, because the caller changes names by the store's path.
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

  /// Whether other files have taken the names of the written files. The monitor must be held.
  var isReplaced: Bool { if case .replaced = shared.queue.failure { true } else { false } }

  /// Releases the locks of files that no longer belong to the store, so that they block no writer of the files that do. This process has
  /// promised nothing about the files that are there now.
  private func leaveReplaced() {
    moveHold(to: 0)
    dropLock()
  }

  private func dropLock() {
    zeros.stop()
    let lock = monitor.withLock { () -> HeldLock? in
      defer { shared.lock = nil }
      isLocking.store(false, ordering: .releasing)
      return shared.lock
    }
    // Unlocks the data first: a process that gets the lock file finds the data free.
    try? lock?.data?.unlock()
    try? lock?.file.unlock()
  }

  /// Whether no process has written since this one released the lock, so that all that this process knows is still true. The lock file
  /// names the session that wrote last. The data's change time, which no program can set, shows if the file was put back or another program
  /// wrote to it. Costs two small reads, whatever the store's size.
  private func isAsLeft(_ lock: any DiskFile) -> Bool {
    defer { tail.left = nil }
    guard let left = tail.left, left.status.changed != 0, publication.current.file === left.state.file,
      let hold = (try? LockFile.hold(in: lock)) ?? nil, hold.processIdentifier == 0, hold.session == session,
      hold.durableEnd == left.state.chain.end, hold.generation == left.state.file.header.identity.generation,
      let status = (try? reading.statusByName()) ?? nil
    else { return false }
    return status == left.status
  }

  /// Records in the lock file which process writes which generation, and how far it is durable.
  func writeHold(_ state: Publication.State) {
    monitor.withLock {
      guard let since = shared.lock?.since else { return }
      shared.lock?.hold = hold(of: state, processIdentifier: processIdentifier(), since: since).encoded()
    }
    moveHold(to: state.chain.end)
  }

  private func hold(of state: Publication.State, processIdentifier: Int32, since: Int64) -> LockHold {
    LockHold(
      processIdentifier: processIdentifier, program: options.program, since: since,
      generation: state.file.header.identity.generation, durableEnd: state.chain.end, session: session)
  }

  /// Shows other processes how far the data is durable. Failing is harmless: they find out a commit later.
  func moveHold(to durableEnd: FileOffset) {
    let held = monitor.withLock {
      shared.lock?.hold.moveHold(to: durableEnd)
      return shared.lock
    }
    if let held { try? held.file.write(held.hold, at: 0) }
  }

  /// Shows other processes the work of this one; nil if it has none any more. It is only for display, so failing is harmless.
  func setActivity(_ bytes: [UInt8]?) {
    let now = disk.now()
    guard holdsLock else { return }
    let isDue = monitor.withLock {
      let (written, isShown) = shared.activity
      guard bytes == nil ? isShown : !isShown || now &- written >= 100_000_000 else { return false }
      shared.activity = (now, bytes != nil)
      return true
    }
    if isDue { try? NoteFile.activity(disk, folder).write(bytes ?? [], number: session) }
  }

  /// Makes everything durable, records the end in a slot, and releases the lock.
  func release() throws(StorageError) {
    let (chain, isReplaced) = monitor.withLock { (shared.lock == nil ? nil : shared.appended.chain, self.isReplaced) }
    guard let chain else { return }
    if isReplaced { return leaveReplaced() }
    setActivity(nil)
    do {
      try waitUntilDurable(chain.number, gathers: false)
    } catch {
      // A poisoned store writes no more, and the next open of it needs the lock.
      if case .replaced = error { leaveReplaced() } else { dropLock() }
      throw error
    }
    monitor.withLock {
      while shared.queue.isSyncing { monitor.wait() }
      let state = shared.appended
      if state.chain.end != shared.slot.end || !shared.slot.isClean { writeSlotHoldingMonitor(state, isClean: true) }
    }
    guard let file = monitor.withLock({ shared.lock?.file }) else { return }
    let current = publication.current
    zeros.stop()
    try? zeroAbandoned(of: current.file)
    let status = try? current.file.file.status
    // If a range still waits to be zeroed, the next transaction does that, or another process's recovery cuts it.
    tail.left = status.map { (current, $0) }
    var hold = hold(of: current, processIdentifier: 0, since: disk.now())
    hold.changed = status?.changed ?? 0
    try? file.write(hold.encoded(), at: 0)
    dropLock()
    // A process that this change wakes must find the lock free, and the next writer may hold it by now. So this writes a byte once more
    // that is the same in every hold.
    try? file.write([0], at: LockHold.idleByte)
  }

  /// Releases the lock if the store is not to be kept locked between commits and the turn is free.
  func releaseUnlessKept() {
    guard options.idleSeconds <= 0, monitor.withLock({ shared.queue.acquireTurn() }) else { return }
    defer { passTurn() }
    try? release()
  }

  /// Ends writing for good.
  func close() throws(StorageError) {
    defer {
      end()
      dropLock()
    }
    try release()
  }

  /// Lets no transaction begin any more, and ends the thread.
  func end() {
    monitor.withLock {
      shared.isClosed = true
      monitor.notifyAll()
      monitor.ring()
    }
  }
}

extension LockHold {
  static let unknown = LockHold(
    processIdentifier: 0, program: "", since: 0, generation: 0, durableEnd: 0, session: 0)
}
