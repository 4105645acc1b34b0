import Dispatch
import Locks
package import StorageEngine

/// A store on a server as the layers above know a store: the engine's interface over `ServerStore`.
package final class ServerEngine: Engine {
  package typealias Transaction = EngineTransaction

  package let server: ServerStore
  /// The record whose identifier ends the key of an entry that refers to one.
  let record: RecordOfEntry
  private let reporting: Reporting?
  let commits = KnownCommits()
  private let work = Mutex<Lease?>(nil)
  /// How many questions shall not be waited for by their caller.
  private let slowness = Atomic(0)
  /// How many of the records that were written by themselves into a tree were new, one after the other.
  private let insertions = Mutex<[TreeName: Int]>([:])

  /// Tells the tree and the key of the record that an entry of a tree refers to; nil where the key names none.
  package typealias RecordOfEntry = @Sendable (_ tree: TreeName, _ key: [UInt8]) -> (tree: TreeName, key: [UInt8])?

  /// Tells which views for people a state is to have.
  package typealias Reporting = @Sendable (ServerView) throws -> [ReportingView]

  package init(_ server: ServerStore, record: @escaping RecordOfEntry, reporting: Reporting? = nil) {
    self.server = server
    self.record = record
    self.reporting = reporting
  }

  /// Opens the store that a URL names.
  ///
  /// - Parameter creates: makes its tables where there are none.
  package static func open(
    _ url: ServerURL, creates: Bool = false, isReadOnly: Bool = false, options: ServerOptions = ServerOptions(),
    record: @escaping RecordOfEntry, reporting: Reporting? = nil
  ) throws(StorageError) -> ServerEngine {
    try onServer { () throws(ServerError) in
      ServerEngine(
        try ServerStore.open(url, creates: creates, isReadOnly: isReadOnly, options: options), record: record,
        reporting: reporting)
    }
  }

  /// Makes the views for people fit the newest state, after trees of records came or went. What was written stays written: where a view
  /// cannot be kept, a notice says so.
  package func keepReporting() {
    guard let reporting, readOnlyReason == nil else { return }
    do {
      try server.setReportingViews(reporting(server.head)).forEach(server.options.notice)
    } catch {
      server.options.notice("the views for people with psql were not kept: \(error)")
    }
  }

  /// The URL, without its password.
  package var path: String { server.url.description }

  package var identity: StoreIdentity {
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    return StoreIdentity(
      high: number(server.identity.prefix(8)), low: number(server.identity.dropFirst(8).prefix(8)), generation: 0,
      created: server.created)
  }

  package var openingReport: OpeningReport { OpeningReport() }
  package var readOnlyReason: String? { server.readOnlyReason }
  package var isServed: Bool { true }

  package var counts: WorkCounts {
    var counts = WorkCounts()
    counts.roundTrips = UInt64(server.roundTrips)
    return counts
  }

  // MARK: Reading

  package var head: View { view(server.head) }

  package func refresh() throws(StorageError) -> View {
    view(try onServer { () throws(ServerError) in try server.refresh() })
  }

  package func refresh(foreseeing foresight: Foresight) throws(StorageError) -> View {
    let (view, answer) = try onServer { () throws(ServerError) in try server.refresh(foreseeing: foresight) }
    return self.view(view, answer)
  }

  /// Where an answer took long, the next ones are waited for elsewhere.
  package func ask(_ foresight: Foresight) -> (any AskedServer)? {
    if slowness.load(ordering: .relaxed) > 0 {
      slowness.subtract(1, ordering: .relaxed)
      return nil
    }
    return server.ask(foresight) { [weak self] in self?.slowness.store(CommitQueue.countAfterSlow, ordering: .relaxed) }
  }

  /// Only the server knows whether others have committed.
  package var visibleState: UInt64? { nil }

  package func view(at number: UInt64) throws(StorageError) -> View {
    // What was asked for along with others names the parents that are kept.
    if let known = commits[number] {
      return View(
        commit: known.record,
        served: EngineView(self, ServerView(store: server, commit: known.commit, asOf: number)))
    }
    return view(try onServer { () throws(ServerError) in try server.view(at: number) })
  }

  func view(_ view: ServerView, _ foreseen: ReadAhead.Answer? = nil) -> View {
    View(commit: CommitRecord(view.commit), served: EngineView(self, view, foreseen))
  }

  package var names: [String: UInt64] {
    get throws(StorageError) { try onServer { () throws(ServerError) in try server.names() } }
  }

  /// 0 where the server cannot be asked.
  package var commitCount: UInt64 { (try? server.commitCount()) ?? 0 }

  /// 0 where the server cannot be asked, or does not tell.
  package var fileBytes: UInt64 { (try? server.tableBytes()) ?? 0 }

  // MARK: Others

  /// Nobody has to be waited for.
  package var writer: LockHold? { nil }

  /// What the program that works under a lease says of it.
  package var activity: [UInt8]? {
    guard let leases = try? server.leases() else { return nil }
    return leases.first { !$0.progress.isEmpty }?.progress
  }

  package func setActivity(_ bytes: [UInt8]?) {
    work.withLock { lease in
      guard let bytes else {
        try? lease?.release()
        lease = nil
        return
      }
      let isNew = lease == nil
      if isNew { lease = (try? server.lease("work \(server.origin) \(UInt64.random(in: 0 ... .max))")) ?? nil }
      try? lease?.tell(bytes, isDueNow: isNew)
    }
  }

  package func follow(_ change: @escaping @Sendable () -> Void) throws(StorageError) -> any DiskWatch {
    server.follow(change)
  }

  package var isAway: Bool { server.isAway }

  package func lease(_ what: String) throws(StorageError) -> WorkLease {
    let lease = try onServer { () throws(ServerError) in try server.lease(what) }
    return lease.map { .taken($0) } ?? .held
  }

  // MARK: Writing

  /// It begins by asking the server for the newest state: not on a thread of the pool.
  package nonisolated(nonsending) func begin(on base: UInt64?) async throws(StorageError) -> EngineTransaction {
    let result = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          returning: Result { () throws(StorageError) in try self.beginBlocking(on: base) })
      }
    }
    return try result.get()
  }

  package func beginBlocking(foreseeing keys: [ForeseenKey]) throws(StorageError) -> EngineTransaction {
    try onServer { () throws(ServerError) in
      let (view, answer) = try server.refresh(foreseeing: .keys(keys))
      let transaction = try server.begin(on: view)
      if case .keys(let found)? = answer {
        transaction.reads.take(found)
        if let record = keys.first, let tree = try view.tree(record.tree),
          let entry = found[TreeKey(tree: tree.identifier, key: record.key)]
        {
          note(record.tree, isNew: entry == nil)
        }
      }
      return EngineTransaction(transaction, self)
    }
  }

  package func beginPresuming(_ keys: [ForeseenKey]) throws(StorageError) -> EngineTransaction? {
    try onServer { () throws(ServerError) in try presuming(keys) }
  }

  /// A transaction on the newest state that is known, for a record that is taken to be new; nil where there is no reason for that.
  private func presuming(_ keys: [ForeseenKey]) throws(ServerError) -> EngineTransaction? {
    let view = server.head
    let catalog = server.knownCatalog
    guard let record = keys.first, insertions.withLock({ $0[record.tree] ?? 0 }) >= 2, catalog.upTo >= view.asOf else {
      return nil
    }
    var places: [TreeKey] = []
    for key in keys {
      guard let tree = catalog.row(key.tree, at: view.asOf) else { return nil }
      places.append(TreeKey(tree: tree.tree, key: key.key))
    }
    let transaction = try server.begin(on: view)
    transaction.reads.presumeAbsent(places)
    return EngineTransaction(transaction, self, presuming: record.tree)
  }

  /// Notes whether the last record that was looked for in a tree to be written was new. After two of them the next is taken to be so, too.
  func note(_ tree: TreeName, isNew: Bool) { insertions.withLock { $0[tree] = isNew ? ($0[tree] ?? 0) + 1 : 0 } }

  package func beginBlocking(on base: UInt64?) throws(StorageError) -> EngineTransaction {
    try onServer { () throws(ServerError) in
      let view = try server.refresh()
      if let base, base != view.commit.number {
        throw .refusedHere(
          reason: "a store on a server takes commits on its newest state only, and #\(base) is an older one")
      }
      return EngineTransaction(try server.begin(on: view), self)
    }
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
        // What it read may have been removed from the history while it did.
        guard attempts > 0, (try? server.keeps(transaction.transaction.view.asOf)) == false else {
          return .failure(error)
        }
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

  // MARK: Keeping

  static let refusalOfMerges =
    "a store on a server has one line of states, so merges are made in a store file: strata clone URL PATH makes one, and strata "
    + "exchange PATH brings the outcome back"

  package func admitCommitsOfOthers() throws(StorageError) {
    throw .readOnly(reason: Self.refusalOfMerges)
  }

  package func releaseLock() {}
  package func releaseMemory() {}
  package func close() throws(StorageError) { server.close() }
}

extension ServerFollowing: DiskWatch {}
extension Lease: HeldWork {}

/// Runs what asks a server, with its errors told as the engine's.
func onServer<Value>(_ body: () throws(ServerError) -> Value) throws(StorageError) -> Value {
  do throws(ServerError) {
    return try body()
  } catch {
    throw StorageError(error)
  }
}

extension StorageError {
  package init(_ error: ServerError) {
    switch error {
    case .readOnly(let reason): self = .readOnly(reason: reason)
    case .refusedHere(let reason): self = .readOnly(reason: reason)
    case .conflict(let conflict): self = .conflict(conflict)
    case .prunedCommit(let number, let oldest): self = .prunedCommit(number: number, nearest: oldest)
    case .noSuchCommit(let number): self = .noSuchCommit(number: number)
    case .noSuchTree(let name): self = .noSuchTree(TreeName(Array(name.utf8)))
    case .treeExists(let name): self = .treeExists(TreeName(Array(name.utf8)))
    case .wrongTree(let name, let reason): self = .wrongTree(TreeName(Array(name.utf8)), reason: reason)
    case .keyTooLong(let count, let limit): self = .keyTooLong(count: count, limit: limit)
    case .valueTooLong(let count, let limit): self = .valueTooLong(count: UInt64(count), limit: UInt64(limit))
    case .transactionEnded: self = .transactionEnded
    case .unreachable, .connectionLost: self = .server(.unreachable, reason: error.description)
    case .unknownOutcome: self = .server(.outcomeUnknown, reason: error.description)
    case .newerFormat, .olderFormat, .damaged: self = .server(.damaged, reason: error.description)
    default: self = .server(.refused, reason: error.description)
    }
  }
}
