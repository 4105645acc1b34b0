import StrataLocks

/// An open store: one file of commits, read by anyone at any time and written by one transaction after the other.
///
/// Opening takes no lock and writes nothing. Reading never waits, neither for a writer here nor for one in another process. The first
/// transaction takes the writer's lock, and the store keeps it while others follow. After idleness, by `releaseLock()` and by `close()` it
/// is released, and another process may write.
///
/// Safe from any thread. Calls that read or write the disk block on it, and say so.
package final class FileStore: Engine {
  let reading: StoreReader
  package var path: String { reading.folder }
  var disk: any Disk { reading.disk }
  var options: StoreOptions { reading.options }
  var counters: Counters { reading.counters }
  let publication: Publication
  package let writing: Writer
  let lockLook: LockMonitor
  /// The turn of the compactions.
  let compactions = Mutex(())
  /// Set while closing waits for a compaction to end, and while the program wants none.
  private let endsCompactions = Atomic(false)
  var isEndingCompactions: Bool { endsCompactions.load(ordering: .acquiring) }
  /// The state of pruning by the store's own policy.
  let schedule = Mutex(RetentionSchedule())

  private init(_ reading: StoreReader, _ opened: StoreReader.Opened, report: OpeningReport) {
    self.reading = reading
    publication = Publication(opened.state)
    writing = Writer(reading, publication: publication, readOnlyReason: opened.readOnlyReason, report: report)
    lockLook = LockMonitor(LockFile(disk: reading.disk, folder: reading.folder), options: reading.options)
    if reading.options.retention != nil { writing.setIdleWork { [weak self] in self?.pruneWhileIdle() } }
  }

  deinit {
    // No transaction is open: it would hold the store. If the turn is taken, the writer is releasing the lock already.
    if writing.tryAcquireTurn() { try? writing.close() } else { writing.end() }
  }

  // MARK: Opening

  /// Whether a store lies at the path. Remains of a store whose data is missing count, too: such a path must not be taken for empty.
  package static func exists(at path: String, disk: any Disk) -> Bool {
    ((try? disk.status(StoreReader.dataPath(path))) ?? nil) != nil || trace(at: path, disk: disk) != nil
  }

  /// Makes an empty store, with the folders that lead to it, and opens it. The data file appears whole or not at all.
  package static func create(
    at path: String, options: StoreOptions, disk: any Disk = SystemDisk()
  ) throws(StorageError) -> FileStore {
    try Creation(disk: disk, folder: path).run(writesDeltas: options.writesDeltas)
    return try open(at: path, options: options, disk: disk)
  }

  /// Opens a store, and makes an empty one first if there is none. If several processes make one in the same place at once, one does; the
  /// others wait for it, for `lockPatience`, and open the store that it has made.
  ///
  /// - Parameter allowsOtherFiles: Whether it may be made in a folder that holds files of others.
  package static func openOrCreate(
    at path: String, options: StoreOptions, allowsOtherFiles: Bool = false, disk: any Disk = SystemDisk()
  ) throws(StorageError) -> FileStore {
    do {
      let creation = Creation(
        disk: disk, folder: path, patience: options.lockPatience, allowsOtherFiles: allowsOtherFiles)
      try creation.run(writesDeltas: options.writesDeltas)
    } catch .alreadyExists where exists(at: path, disk: disk) {
    }
    return try open(at: path, options: options, disk: disk)
  }

  /// Opens a store. The cost does not grow with the store: it reads one slot, and the frames written since.
  package static func open(
    at path: String, options: StoreOptions, disk: any Disk = SystemDisk()
  ) throws(StorageError) -> FileStore {
    let reading = StoreReader(disk: disk, folder: path, options: options, counters: Counters())
    let look = try LockFile(disk: disk, folder: path).look()
    let opened = try reading.open(look)
    var report = OpeningReport()
    report.damage = opened.result.damage
    if let damage = opened.result.damage {
      report.notes.append("\(damage); the store can be read up to commit #\(opened.state.newest.number)")
    }
    if opened.result.isPromiseBroken {
      report.notes.append(
        "what follows had been reported durable: salvage saves what can be read of it; where the data was put back from a backup on purpose, strata copy PATH NEW makes a store of it that can be written"
      )
    }
    if !look.isHeld { report.adoptedCommits = opened.result.adoptedCommits }
    return FileStore(reading, opened, report: report)
  }

  /// A store in memory: the same engine. It is gone with its last reference.
  package static func memory(options: StoreOptions = StoreOptions()) -> FileStore {
    do {
      return try create(at: "memory", options: options, disk: MemoryDisk())
    } catch {
      // Only a lack of address space can make this fail, which no caller can mend.
      fatalError("no address space for a store in memory: \(error)")
    }
  }

  package var identity: StoreIdentity { publication.current.file.header.identity }

  /// The findings of opening and recovery, and the reason why the store cannot be pruned. Reads a small file.
  package var openingReport: OpeningReport {
    var report = writing.report.withLock { $0 }
    let now = disk.now()
    if let failure = pruningFailure { report.notes.append(failure.sentence(now: now)) }
    report.compare(newest: publication.current.newest.date, now: now)
    return report
  }

  package var counts: WorkCounts { counters.counts }

  package var isServed: Bool { false }

  /// The writer's lock keeps others from the same work.
  package func lease(_ what: String) -> WorkLease { .needless }

  package var readOnlyReason: String? { writing.readOnlyReason }

  /// The bytes that the store's data takes on disk, including the zeros ahead.
  package var fileBytes: UInt64 {
    let current = publication.current
    return (try? current.file.file.status.size) ?? current.chain.end.bytes
  }

  /// The end of the newest commit known here: the bytes of data without the zeros ahead.
  package var dataBytes: UInt64 { publication.current.chain.end.bytes }

  /// The bytes of data that the newest commit does not need.
  package var historyBytes: UInt64 { dataBytes.subtractingClamped(FileLayout.firstFrame.bytes + head.commit.liveBytes) }

  // MARK: Ending

  /// Releases the writer's lock after the work that was begun; the next transaction takes it again. Waits for the open transaction, and
  /// makes everything durable.
  package func releaseLock() {
    writing.acquireTurnBlocking()
    defer { writing.passTurn() }
    try? writing.release()
  }

  /// Makes everything durable and releases the writer's lock. The caller must hold the turn; no transaction begins before it is passed.
  package func releaseLockInTurn() throws(StorageError) { try writing.release() }

  /// Ends the running compaction with `cancelled`, at the next record that it would copy. None begins until `resumeCompactions`. The next
  /// one goes on from there.
  package func pauseCompactions() { endsCompactions.store(true, ordering: .releasing) }

  /// Allows compactions again, and lets the store's own retention check whether one is due.
  package func resumeCompactions() {
    endsCompactions.store(false, ordering: .releasing)
    if options.retention != nil { writing.repeatIdleWork(after: options.idleTime) }
  }

  /// Makes everything durable, records the end, and releases the lock. Views stay readable; further writes throw `closed`.
  ///
  /// It waits for the open transaction, for one sync, and for little else: a running compaction ends with `cancelled` at the next record
  /// that it would copy; and only a small store that was written and has a retention is compacted.
  package func close() throws(StorageError) {
    endsCompactions.store(true, ordering: .releasing)
    try compactions.withLock { _ throws(StorageError) in
      endsCompactions.store(false, ordering: .releasing)
      // Pruning is a service: if it fails, the history stays longer than asked for.
      // Also if the lock was released after each commit, but not if another process writes now.
      if counters.commits.value > 0, writing.holdsLock || writer == nil {
        pruneAtClose()
        removeStaleCompaction()
      }
      writing.acquireTurnBlocking()
      defer { writing.passTurn() }
      try writing.close()
    }
  }
}
