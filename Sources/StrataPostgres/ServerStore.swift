import StrataLocks
package import StrataEngine

/// An open store on a database server: any number of processes read and write it at the same time.
///
/// A view is a number: reading holds no transaction of the server, not across calls and not across pauses. Transactions are optimistic and
/// go out at their end in one flush (`ServerTransaction`). Safe from any thread; calls block on the network, and say so.
package final class ServerStore: Engine {
  package typealias Transaction = ServerTransaction

  /// Returns the tree and the key of the record that an entry of a tree refers to, or nil if the key names none.
  package typealias RecordOfEntry = @Sendable (_ tree: TreeName, _ key: [UInt8]) -> (tree: TreeName, key: [UInt8])?

  /// Returns the reporting views that a state is to have.
  package typealias Reporting = @Sendable (ServerView) throws -> [ReportingView]

  package let url: ServerURL
  package let options: ServerOptions
  package let readOnlyReason: String?
  private let opened: StoreIdentity
  /// The origin in the identity of commits that are made here.
  package let origin: UInt64
  /// The record whose identifier ends the key of an entry that refers to one.
  let record: RecordOfEntry
  private let reporting: Reporting?
  let tables: Tables
  let pool: ConnectionPool
  let commits: ServerCommitQueue
  /// Commits that were read, with their changes; a commit never changes.
  let knownCommits = Remembered<UInt64, ServerCommit>()
  private let known = Mutex(Known())
  /// The number of followers of the store that have lost the server.
  let absence = SharedCount()
  private let work = Mutex<Lease?>(nil)
  let slowness = Slowness()
  /// For each tree, the number of records in a row that were written one by one and were new.
  private let insertions = Mutex<[TreeName: Int]>([:])

  struct Known: Sendable {
    var head: ServerCommit?
    var newest: UInt64 = 0
    /// The oldest commit that the last pruning has left; 0 if there was none.
    var oldest: UInt64 = 0
    var catalog = ServerCatalog()
  }

  init(
    url: ServerURL, tables: Tables, pool: ConnectionPool, options: ServerOptions, readOnlyReason: String?,
    identity: StoreIdentity, origin: UInt64, record: @escaping RecordOfEntry, reporting: Reporting?
  ) {
    (self.url, self.tables, self.pool, self.options) = (url, tables, pool, options)
    (self.readOnlyReason, self.opened, self.origin) = (readOnlyReason, identity, origin)
    (self.record, self.reporting) = (record, reporting)
    commits = ServerCommitQueue(pool, tables, options: options)
  }

  package var identity: StoreIdentity {
    var identity = opened
    identity.generation = known.withLock { $0.oldest }
    return identity
  }

  /// The URL, without its password.
  package var path: String { url.description }
  package var openingReport: OpeningReport {
    var report = OpeningReport()
    report.compare(newest: newest.commit.date, now: wallClock())
    return report
  }
  package var isServed: Bool { true }

  package var counts: WorkCounts { WorkCounts(roundTrips: roundTrips) }

  /// The number of round trips to the server since the store was opened.
  package var roundTrips: Int { pool.roundTrips.value }

  func requireWritable() throws(StorageError) {
    if let readOnlyReason { throw .readOnly(reason: readOnlyReason) }
  }

  // MARK: The newest state

  /// The newest state known to this process. Sends nothing to the server.
  package var newest: ServerView {
    let known = known.withLock { $0 }
    return ServerView(self, known.head ?? .beginning(opened.created), asOf: known.newest)
  }

  package var head: View { newest.view }
  var knownCatalog: ServerCatalog { known.withLock { $0.catalog } }

  /// Asks for the newest state: one round trip.
  @discardableResult
  package func refreshed() throws(StorageError) -> ServerView {
    let question = question(nil)
    return try newestView(pool.read(question.statements(tables)), of: question)
  }

  package func refresh() throws(StorageError) -> View { try refreshed().view }

  package func refresh(prefetching foresight: Prefetch) throws(StorageError) -> View {
    try refreshed(prefetching: foresight).view.view
  }

  /// If the last answer took long, this one is waited for on another thread.
  package func ask(_ foresight: Prefetch) -> (any PendingRead)? {
    if slowness.consume() { return nil }
    return ReadAhead(foresight, knownCatalog).flatMap { PendingState(self, question($0), foresight) }
  }

  func question(_ ahead: ReadAhead?) -> NewestQuestion {
    NewestQuestion(ahead: ahead, known: known.withLock { $0 })
  }

  /// Records the server's answer: its head, the newest state, and the changes of trees since a commit. If the changes of trees were not
  /// asked for, the answer has only the last commit that changed one. If that commit is news, the next reader of a tree asks.
  ///
  /// - Parameter oldest: The oldest commit that the last pruning has left; nil if that was not asked for.
  func update(
    head: ServerCommit?, newest: UInt64, oldest: UInt64?, trees: (rows: Rows, since: UInt64)?, changedAt change: UInt64
  ) throws(StorageError) {
    let isPruned = try known.withLock { known throws(StorageError) in
      if let trees {
        let upTo = known.catalog.upTo
        if trees.since <= upTo, newest >= upTo { try known.catalog.update(trees.rows, upTo: newest) }
      } else {
        known.catalog.update(changedAt: change, of: newest)
      }
      if newest >= known.newest { (known.head, known.newest) = (head, newest) }
      // Answers may come out of their order.
      guard let oldest, oldest > known.oldest else { return false }
      known.oldest = oldest
      return true
    }
    // The oldest ones have no parents any more.
    if isPruned { knownCommits.forget() }
  }

  /// Only the server knows whether others have committed.
  package var visibleState: UInt64? { nil }

  // MARK: Others

  /// No other writer holds a lock.
  package var writer: LockHold? { nil }

  /// The progress of the program that works under a lease, otherwise the result of the last work.
  package var activity: [UInt8]? { (try? workInSight()) ?? nil }

  package func setActivity(_ bytes: [UInt8]?) {
    work.withLock { lease in
      guard let bytes else {
        try? lease?.release()
        lease = nil
        return
      }
      let isNew = lease == nil
      if isNew {
        lease = (try? acquireLease("work \(origin) \(UInt64.random(in: 0 ... .max))")) ?? nil
        try? keepResult([])
      }
      try? lease?.tell(bytes, isDueNow: isNew)
    }
  }

  package func leaveActivity(_ bytes: [UInt8]) {
    try? keepResult(bytes)
    setActivity(nil)
  }

  package func follow(_ change: @escaping @Sendable () -> Void) -> any DiskWatch { ServerFollowing(self, change) }

  /// Whether a follower of the store has lost the server, and not found it again.
  package var isAway: Bool { absence.value > 0 }

  package func lease(_ what: String) throws(StorageError) -> WorkLease {
    try acquireLease(what).map { .taken($0) } ?? .held
  }

  // MARK: Writing

  /// Begins a transaction on a view; if none is given, on the newest known one. Sends nothing to the server.
  package func transaction(on view: ServerView? = nil) throws(StorageError) -> ServerTransaction {
    try requireWritable()
    return ServerTransaction(self, on: view ?? newest)
  }

  package func beginBlocking(on base: UInt64?) throws(StorageError) -> ServerTransaction {
    let view = try refreshed()
    if let base, base != view.commit.number {
      throw .readOnly(
        reason: "a store on a server takes commits on its newest state only, and #\(base) is an older one")
    }
    return try transaction(on: view)
  }

  package func beginBlocking(prefetching keys: [PrefetchKey]) throws(StorageError) -> ServerTransaction {
    let (view, answer) = try refreshed(prefetching: .keys(keys))
    let transaction = try transaction(on: view)
    if case .keys(let found)? = answer {
      transaction.reads.remember(found)
      if let record = keys.first, let tree = try view.stored(record.tree),
        let entry = found[TreeKey(tree: tree.row.tree, key: record.key)]
      {
        recordInsertion(record.tree, isNew: entry == nil)
      }
    }
    return transaction
  }

  /// The others wait for the row of the store, which this one locks from its beginning.
  package func beginAlone() throws(StorageError) -> ServerTransaction {
    try requireWritable()
    let connection = try pool.open()
    try connection.exchange([
      Statement("begin"),
      tables.statement("update {store} set newest = newest where one and \(tables.boundsWaiting)"),
    ])
    return ServerTransaction(self, on: try refreshed(), over: FlushWorker(pool, tables, options, over: connection))
  }

  /// A transaction on the newest known state, for a record that is presumed to be new; nil if there is no reason to presume so.
  package func beginOptimistically(_ keys: [PrefetchKey]) throws(StorageError) -> ServerTransaction? {
    let (view, catalog) = (newest, knownCatalog)
    guard let record = keys.first, insertions.withLock({ $0[record.tree] ?? 0 }) >= 2, catalog.upTo >= view.asOf else {
      return nil
    }
    var places: [TreeKey] = []
    for key in keys {
      guard let tree = catalog.row(key.tree, at: view.asOf) else { return nil }
      places.append(TreeKey(tree: tree.tree, key: key.key))
    }
    try requireWritable()
    let transaction = ServerTransaction(self, on: view, presuming: record.tree)
    transaction.reads.assumeAbsent(places)
    return transaction
  }

  /// Notes whether the last record to be written to a tree was new. After two new ones in a row, the next is presumed to be new.
  func recordInsertion(_ tree: TreeName, isNew: Bool) {
    insertions.withLock { $0[tree] = isNew ? ($0[tree] ?? 0) + 1 : 0 }
  }

  package func write<Failure: Error>(
    _ info: CommitInfo, _ body: (any WriteTransaction) throws(Failure) -> Void
  ) throws(StorageError) -> Result<UInt64?, Failure> {
    var attempts = 32
    while true {
      let transaction = try beginBlocking(on: nil)
      do throws(Failure) {
        try body(transaction)
      } catch {
        transaction.cancel()
        attempts -= 1
        // Pruning may have removed what the closure read while it ran.
        guard attempts > 0, (try? keeps(transaction.view.asOf)) == false else { return .failure(error) }
        continue
      }
      do throws(StorageError) {
        return .success(try transaction.commit(info)?.number)
      } catch {
        attempts -= 1
        guard case .conflict = error, attempts > 0 else { throw error }
      }
    }
  }

  static let refusalOfMerges =
    "a store on a server has one line of states, so merges are made in a store file: strata clone URL PATH makes one, and strata "
    + "exchange PATH brings the outcome back"

  package func admitCommitsOfOthers() throws(StorageError) { throw .readOnly(reason: Self.refusalOfMerges) }

  // MARK: Ending

  package func releaseLock() {}
  package func releaseMemory() {}
  /// Closes the idle connections.
  package func close() { pool.close() }

  /// Makes the reporting views fit the newest state, after trees of records came or went. A failure does not undo the commit: a notice
  /// reports a view that cannot be kept.
  package func keepReporting() {
    guard let reporting, readOnlyReason == nil else { return }
    do {
      try setReportingViews(reporting(refreshed())).forEach(options.notice)
    } catch {
      options.notice("the views for people with psql were not kept: \(error)")
    }
  }
}

extension ServerFollowing: DiskWatch {}
extension Lease: ClaimedWork {}
