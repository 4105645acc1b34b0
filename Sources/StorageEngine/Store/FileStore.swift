import Locks

/// An open store: one file of commits, read by anyone at any time and written by one transaction after the other.
///
/// Opening takes no lock and writes nothing. Reading never waits, neither for a writer here nor for one in another process.
/// The writer's lock is taken with the first transaction and kept while others follow; after idleness, by `releaseLock()` and `close()`
/// it is let go of, and another process may write.
///
/// Safe from any thread; calls block on the disk, where they read or write it, and say so.
package final class FileStore: Engine {
  /// The folder.
  package let path: String
  let disk: any Disk
  let options: StoreOptions
  let publication: Publication
  let counters: Counters
  let writing: Writer
  let lockLook: LockLook
  /// Whose turn it is to compact.
  let compactions = Mutex(())
  /// Set while closing waits for a compaction to end.
  private let endsCompactions = Atomic(false)
  var isEndingCompactions: Bool { endsCompactions.load(ordering: .acquiring) }
  /// What is known of pruning by the store's own policy.
  let schedule = Mutex(RetentionSchedule())
  private let report: Mutex<OpeningReport>

  private init(
    path: String, disk: any Disk, options: StoreOptions, counters: Counters, opened: Reading.Opened,
    report: OpeningReport
  ) {
    self.path = path
    self.disk = disk
    self.options = options
    self.counters = counters
    publication = Publication(opened.state)
    writing = Writer(
      disk: disk, folder: path, options: options, publication: publication, counters: counters,
      durableEnd: opened.state.chain.end, readOnlyReason: opened.readOnlyReason)
    lockLook = LockLook(LockFile(disk: disk, folder: path), options: options)
    self.report = Mutex(report)
    if options.retention != nil { writing.setIdleWork { [weak self] in self?.pruneWhileIdle() } }
  }

  deinit {
    // No transaction is open: it would hold the store.
    if writing.tryTakeTurn() { try? writing.close() }
  }

  // MARK: Opening

  /// Whether a store lies at the path, if only what is left of one whose data is missing: that is not to be taken for nothing.
  package static func exists(at path: String, disk: any Disk) -> Bool {
    ((try? disk.status(Reading.dataPath(path))) ?? nil) != nil || trace(at: path, disk: disk) != nil
  }

  /// Makes an empty store, with the folders that lead to it, and opens it. The data lies there whole or not at all.
  package static func create(
    at path: String, options: StoreOptions, disk: any Disk = SystemDisk()
  ) throws(StorageError) -> FileStore {
    try Creation(disk: disk, folder: path).run()
    return try open(at: path, options: options, disk: disk)
  }

  /// Opens a store, and makes an empty one first where there is none. Of several that make one in the same place at once one does; the
  /// others wait for it, for `lockPatience`, and open what it has made.
  package static func openOrCreate(
    at path: String, options: StoreOptions, disk: any Disk = SystemDisk()
  ) throws(StorageError) -> FileStore {
    do {
      try Creation(disk: disk, folder: path, patience: options.lockPatience).run()
    } catch .alreadyExists where exists(at: path, disk: disk) {
    }
    return try open(at: path, options: options, disk: disk)
  }

  /// Opens a store. Cost does not grow with the store: one slot, and what was written since.
  package static func open(
    at path: String, options: StoreOptions, disk: any Disk = SystemDisk()
  ) throws(StorageError) -> FileStore {
    let counters = Counters()
    let look = try LockFile(disk: disk, folder: path).look()
    let opened = try Reading.open(disk: disk, folder: path, options: options, counters: counters, look)
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
    return FileStore(path: path, disk: disk, options: options, counters: counters, opened: opened, report: report)
  }

  /// A store in memory: the same engine, gone with its last reference.
  package static func memory(options: StoreOptions = StoreOptions()) -> FileStore {
    do {
      return try create(at: "memory", options: options, disk: MemoryDisk())
    } catch {
      // Nothing here can fail but for want of address space, which no caller can mend.
      fatalError("no address space for a store in memory: \(error)")
    }
  }

  /// Which store it is, as of the file that is open now.
  package var identity: StoreIdentity { publication.current.file.header.identity }

  /// What opening and recovery found, and why the store cannot be pruned. Reads a small file.
  package var openingReport: OpeningReport {
    var report = report.withLock { $0 }
    let (now, day) = (disk.now(), Int64(86_400_000_000_000))
    if let failure = pruningFailure { report.notes.append(failure.sentence(now: now)) }
    let ahead = publication.current.newest.date.subtractingReportingOverflow(now).partialValue
    if ahead > day {
      report.notes.append(
        "the newest commit is dated \(ahead / day) days after this computer's clock: one of the two clocks is or was wrong; "
          + "times are looked for by the clocks of the writers, and dates stay at that one until it is reached")
    }
    return report
  }

  func note(_ found: OpeningReport) {
    report.withLock { report in
      report.cutBytes = found.cutBytes
      report.keptAside = found.keptAside
      report.notes += found.notes
    }
  }

  /// Work done since opening.
  package var counts: WorkCounts { counters.counts }

  /// Nobody is asked over a network.
  package var isServed: Bool { false }

  /// The writer's lock keeps others from the same work.
  package func lease(_ what: String) -> WorkLease { .needless }

  /// Why the store cannot be written, or nil where it can.
  package var readOnlyReason: String? { writing.readOnlyReason }

  /// The bytes that the store's data takes on disk, zeros ahead included.
  package var fileBytes: UInt64 {
    let current = publication.current
    return (try? current.file.file.status.size) ?? current.chain.end.bytes
  }

  /// Where the newest commit known here ends: the bytes of data without the zeros ahead.
  package var dataBytes: UInt64 { publication.current.chain.end.bytes }

  // MARK: Ending

  /// Lets go of the writer's lock after what was begun; the next transaction takes it again. Waits for the open
  /// transaction, and makes everything durable.
  package func releaseLock() {
    writing.takeTurnBlocking()
    defer { writing.passTurn() }
    try? writing.release()
  }

  /// Makes everything durable, notes the end, and lets go of the lock. Views stay readable; further writes throw `closed`.
  ///
  /// It waits for the transaction that is open, for one sync, and for little else: a compaction that is under way ends, at the next
  /// record that it would copy, with `cancelled`; and only a small store that was written and has a retention is compacted.
  package func close() throws(StorageError) {
    endsCompactions.store(true, ordering: .releasing)
    try compactions.withLock { _ throws(StorageError) in
      endsCompactions.store(false, ordering: .releasing)
      // Pruning is a service: where it fails, the history stays longer than asked for.
      // Also if the lock was released after each commit, but not if another process writes now.
      if counters.commits.value > 0, writing.holdsLock || writer == nil {
        pruneAtClose()
        removeStaleCompaction()
      }
      writing.takeTurnBlocking()
      defer { writing.passTurn() }
      try writing.close()
    }
  }
}
