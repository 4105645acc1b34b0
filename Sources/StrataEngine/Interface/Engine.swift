/// A store, exactly as wide as the layers above need it: ordered trees of byte keys in views of any commit, transactions one after the
/// other, names, notices of changes. Two types implement it: `FileStore`, and the store on a database server (`StrataPostgres`).
///
/// They share `View`, `Tree`, `Cursor` and the walks over versions and differences. Each of these values holds either data of a file or one
/// of the parts of `Served.swift`; callers need not know which.
///
/// Safe from any thread. Calls that read or write block on the disk or on the network.
package protocol Engine: AnyObject, Sendable {
  associatedtype Transaction: WriteTransaction

  /// The place of the store, as text for people.
  var path: String { get }
  var identity: StoreIdentity { get }
  /// The result of opening the store.
  var openingReport: OpeningReport { get }
  /// Why the store cannot be written. Returns nil if it can be written.
  var readOnlyReason: String? { get }
  /// Why the store could not be pruned by its own policy, if the last attempt failed.
  var pruningFailure: PruningFailure? { get }
  /// Whether the store is reached over a network: a call may take a round trip, and transactions do not wait for each other.
  var isServed: Bool { get }
  var counts: WorkCounts { get }

  // MARK: Reading

  /// The newest commit that is known to this process. Reads neither the disk nor the network.
  var head: View { get }
  /// Checks whether another writer has committed, and returns the newest view.
  @discardableResult
  func refresh() throws(StorageError) -> View
  /// As `refresh()`; a server also returns the data of `prefetching`, which the caller will read next.
  func refresh(prefetching: Prefetch) throws(StorageError) -> View
  /// Asks a server for its newest state and for the data of `foresight`, without waiting. `refresh(prefetching:)` takes the result as
  /// `Prefetch.asked` and waits for the answer. Returns nil if that gains nothing: for a file, and if answers take long.
  func ask(_ foresight: Prefetch) -> (any PendingRead)?
  /// A number that stays the same as long as `refresh` would return the same view. Returns nil if only `refresh` can find out.
  var visibleState: UInt64? { get }
  /// The state as of a commit, of any branch.
  func view(at number: UInt64) throws(StorageError) -> View
  /// One commit, of any branch.
  func commit(_ number: UInt64) throws(StorageError) -> CommitRecord
  /// Announces which commits will be read next, so that a server is asked for all of them at once.
  func prefetch(commits: [UInt64]) throws(StorageError)
  /// The newest commit at or before a number, along first parents from commit `of`.
  func ancestor(of number: UInt64, number ancestor: UInt64) throws(StorageError) -> CommitRecord
  /// The newest commit, along first parents from commit `of`, whose writer's clock was not later than a date.
  func ancestor(of number: UInt64, notLaterThan date: Int64) throws(StorageError) -> CommitRecord
  /// The clock of a commit's writer, in nanoseconds since 1970: the commit's date, unless that had to be a parent's later one.
  func clock(of commit: CommitRecord) throws(StorageError) -> Int64
  /// The names given to commits, as of the newest commit known here; `head` is not among them.
  var names: [String: UInt64] { get throws(StorageError) }
  /// The number of commits that are kept, including those outside the ancestry of `head`.
  var commitCount: UInt64 { get }
  /// The size of the store in bytes, in its file or on its server.
  var fileBytes: UInt64 { get }
  /// Visits the descents of all durable commits, the newest first, including those outside the history of `head`. `visit` returns whether
  /// to go on.
  func forEachDescent(_ visit: (CommitDescent) throws(StorageError) -> Bool) throws(StorageError)
  /// The descent of a commit beyond its links. Returns nil if the links describe all of it.
  func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree?

  // MARK: Others

  /// The holder of the writer's lock in another process, or in another open store of this one. Returns nil if a writer need not wait, and
  /// if the holder cannot be found out.
  var writer: LockHold? { get }
  /// The work of another process, as it encoded it, or the result of the last work. Returns nil if no process has set anything.
  var activity: [UInt8]? { get }
  /// Shows other processes the work of this one; nil ends that.
  func setActivity(_ bytes: [UInt8]?)
  /// Leaves the last work of this process and its result: other processes can read it even if no process writes, until the next work. A
  /// server keeps none.
  func leaveActivity(_ bytes: [UInt8])
  /// Calls `change` from another thread after each commit, change of writer, or change of activity, of any process, until the returned
  /// watch is released. Several changes may cause one call.
  ///
  /// Also calls it when a server becomes unreachable, and when it is reachable again (`isAway`).
  func follow(_ change: @escaping @Sendable () -> Void) throws(StorageError) -> any DiskWatch
  /// Whether the followers of the store have lost their server and have not reached it again.
  var isAway: Bool { get }

  /// Takes on long work that one program does for all, such as a warm-up.
  func lease(_ what: String) throws(StorageError) -> WorkLease

  // MARK: Writing

  /// Begins a transaction on the newest commit, or on `base`. A thread that has a transaction open must not begin another one.
  func beginBlocking(on base: UInt64?) throws(StorageError) -> Transaction
  /// As `beginBlocking(on:)` on the newest commit; a server also returns the keys that the transaction will look at first.
  func beginBlocking(prefetching keys: [PrefetchKey]) throws(StorageError) -> Transaction
  /// As `beginBlocking(on:)` on the newest commit. No other transaction of any program commits until this one ends, on a server either.
  func beginAlone() throws(StorageError) -> Transaction
  /// Begins a transaction on the newest known commit by a guess: that the keys do not exist, and that no other writer has committed.
  /// Returns nil unless the last records of the tree were new, and always on a file. Asks no server: only `commit` does, and throws
  /// `conflict` if the guess is wrong. Any other failure may be due to a wrong guess, too. So the caller writes all of the keys, and
  /// repeats the transaction without a guess if it fails.
  func beginOptimistically(_ keys: [PrefetchKey]) throws(StorageError) -> Transaction?
  /// Runs `body` in a transaction and returns when its commit is durable. Returns the commit's number, nil if nothing changed, or the error
  /// of `body`, after which nothing is written. `body` may run on another thread, and more than once if others changed data that it read.
  /// It must not begin another transaction.
  func write<Failure: Error>(
    _ info: CommitInfo, _ body: (any WriteTransaction) throws(Failure) -> Void
  ) throws(StorageError) -> Result<UInt64?, Failure>

  // MARK: Keeping

  func compact(_ retention: Retention, progress: (CompactionProgress) -> Bool) throws(StorageError) -> CompactionReport
  func compactionEstimate(_ retention: Retention) throws(StorageError) -> CompactionReport
  @discardableResult
  func copy(
    to folder: String, at commit: UInt64?, onto target: (any Disk)?, progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport
  /// Makes sure that commits of other stores may be taken in.
  func admitCommitsOfOthers() throws(StorageError)
  /// Releases the locks that keep others from writing.
  func releaseLock()
  /// Releases memory that can be read again.
  func releaseMemory()
  func close() throws(StorageError)
}

extension Engine {
  package var isAway: Bool { false }
  package var pruningFailure: PruningFailure? { nil }
  package func prefetch(commits: [UInt64]) throws(StorageError) {}

  package func refresh(prefetching: Prefetch) throws(StorageError) -> View { try refresh() }
  package func ask(_ foresight: Prefetch) -> (any PendingRead)? { nil }

  package func beginBlocking(prefetching keys: [PrefetchKey]) throws(StorageError) -> Transaction {
    try beginBlocking(on: nil)
  }

  package func beginOptimistically(_ keys: [PrefetchKey]) throws(StorageError) -> Transaction? { nil }

  package func beginBlocking() throws(StorageError) -> Transaction { try beginBlocking(on: nil) }

  package func beginAlone() throws(StorageError) -> Transaction { try beginBlocking(on: nil) }
}

/// The program that does long work which one program does for all.
package enum WorkLease: Sendable {
  /// The writer does the work: no other program can do it meanwhile.
  case needless
  /// This program, until the value is released.
  case taken(any ClaimedWork)
  /// Another program.
  case held
}

/// Long work that this program has taken on.
package protocol ClaimedWork: AnyObject, Sendable {}

/// Changes that become one commit, or nothing. Calls may come from any thread. A transaction ends with `commit`, with `cancel`, or with the
/// release of its last reference, which cancels it.
///
/// On a file, it holds the writer's turn. On a server, nothing is locked: the store records which data the transaction read, and `commit`
/// throws `StorageError.conflict` if another writer has changed that data since.
package protocol WriteTransaction: AnyObject, Sendable {
  var base: CommitRecord { get }
  /// The number of `head` when the transaction began. It differs from that of `base` if the transaction was begun on a named commit.
  var headNumber: UInt64 { get }
  /// The origin that new commits of this store record.
  var origin: UInt64 { get }

  // MARK: Trees

  /// A snapshot of a tree with the changes so far. Returns nil if there is no tree of that name.
  func tree(_ name: TreeName) throws(StorageError) -> Tree?
  /// The names of the trees that begin with `prefix`, in their order.
  func trees(prefix: [UInt8]) throws(StorageError) -> [TreeName]
  func createTree(_ name: TreeName, kind: TreeKind, order: TreeOrder, attributes: Bytes) throws(StorageError)
  /// Removes a tree and all its entries. Earlier commits keep it.
  func dropTree(_ name: TreeName) throws(StorageError)
  /// Replaces the attributes that the module above keeps with a tree.
  func setAttributes(_ attributes: [UInt8], of name: TreeName) throws(StorageError)

  // MARK: Changes

  // Keys and values are memory that is only read. `probe` says where the key belongs in a tree of the caller's order; it is nil in a tree
  // of byte order.

  /// Sets the value of a record. Returns the version that it replaces, or nil if the key was not there.
  @discardableResult
  func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference?
  /// Sets a value of `count` bytes that comes in pieces, so that it is never in memory whole: `piece` is asked for `count` bytes (at most
  /// a MiB) from a position on, until all are there, and returns just as many. An error of `piece` is rethrown, and the transaction can
  /// then only be cancelled or rolled back.
  @discardableResult
  func put(
    _ key: [UInt8], count: UInt64, in name: TreeName,
    piece: (_ position: UInt64, _ count: Int) throws(StorageError) -> [UInt8]
  ) throws(StorageError) -> RecordReference?
  /// Sets the value of a record that does not exist yet. If it exists, returns it and leaves it as it is; otherwise returns nil. This costs
  /// one descent in a tree that the transaction changes anyway.
  func putIfNew(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference?
  /// Deletes a record. Returns the deleted version, or nil if the key was not there.
  @discardableResult
  func delete(
    _ key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference?
  /// The reference of a record as the transaction has it now, for payloads of other trees. Returns nil if there is no such record.
  func currentReference(
    of key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference?
  /// Sets the payload of a key. Returns whether the key is new. Setting an equal payload writes nothing.
  @discardableResult
  func insert(
    _ key: UnsafeRawBufferPointer, _ payload: Payload, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool
  /// Sets entries in the order of their keys, in a tree of byte order: those behind all others of the tree take a third of the time of
  /// `insert`, and memory does not grow with their number. `next` returns the entries, nil at the end, and must not use the transaction.
  func insert(ascending next: () -> NewEntry?, in name: TreeName) throws(StorageError)
  /// Removes an entry. Returns whether it existed.
  @discardableResult
  func remove(_ key: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?) throws(StorageError) -> Bool
  /// Gives a record the state that it has in another commit of this store: its value there, or its delete. Only nodes are written, and the
  /// record's versions continue from that commit's. The transaction must not have changed the record before.
  ///
  /// - Returns: Whether that commit has a state of the record. A key that never existed there stays as it is.
  @discardableResult
  func copyRecord(
    _ key: [UInt8], in name: TreeName, from view: View, probe: KeyProbe?
  ) throws(StorageError) -> Bool
  /// Restores trees, or all if `names` is nil, to their state in a view; in a file by their roots, so that nothing is copied. This
  /// transaction must not have changed the trees before. A tree that does not exist in the view is dropped.
  func restore(_ names: [TreeName]?, from view: View) throws(StorageError)

  // MARK: Bulk

  /// Announces which keys will be looked at or changed next, so that a server is asked for all of them at once.
  func prefetch(_ keys: [(tree: TreeName, key: [UInt8])]) throws(StorageError)
  /// Makes the commit fail if another program has taken over the work meanwhile.
  func require(_ work: any ClaimedWork) throws(StorageError)
  /// Whether a server has data of a tree of records or its indexes, so that `prefetch` is of use.
  func asksServer(of records: TreeName) -> Bool
  /// Whether writing some keys asks no server, because none of the keys is known to exist, or their trees are new.
  func needsNoServer(writing keys: [PrefetchKey]) -> Bool
  /// Writes the new nodes of a tree into the frame now, if that saves memory.
  func flushNodes(_ name: TreeName) throws(StorageError)
  /// Returns a new file for data that does not fit into memory.
  func scratchFile() throws(StorageError) -> ScratchFile

  // MARK: Ending

  /// A state of the transaction to return to. Cheap; any number may be nested.
  func savepoint() throws(StorageError) -> Savepoint
  /// Undoes everything since the savepoint, which stays usable. Later savepoints must not be used any more.
  func rollback(to savepoint: Savepoint) throws(StorageError)
  /// The sums of the changes so far, per tree of records.
  var changeCounts: [ChangeCounts] { get }
  /// Makes the changes one commit. Returns nil if nothing changed. The commit is durable once its caller has waited for it. If this throws,
  /// nothing is kept and the transaction has ended. `appended` receives the commit, or nil, before this process can make another one.
  func commit(
    _ info: CommitInfo, appended: @escaping @Sendable (PendingCommit?) -> Void
  ) throws(StorageError) -> PendingCommit?
  /// As `commit`, without blocking the caller's thread for long while a server answers.
  nonisolated(nonsending) func commitAsync(
    _ info: CommitInfo, appended: @escaping @Sendable (PendingCommit?) -> Void
  ) async throws(StorageError) -> PendingCommit?
  /// Discards all changes. Does nothing if the transaction has ended.
  func cancel()
}

/// An entry to set; its key is memory that is valid until the next one is asked for.
package struct NewEntry {
  package var key: UnsafeRawBufferPointer
  package var payload: Payload

  package init(_ key: UnsafeRawBufferPointer, _ payload: Payload) {
    self.key = key
    self.payload = payload
  }
}

extension WriteTransaction {
  package func insert(ascending next: () -> NewEntry?, in name: TreeName) throws(StorageError) {
    while let entry = next() { try insert(entry.key, entry.payload, in: name, probe: nil) }
  }

  package func require(_ work: any ClaimedWork) throws(StorageError) {}
  package func commit(_ info: CommitInfo = CommitInfo()) throws(StorageError) -> PendingCommit? {
    try commit(info) { _ in }
  }

  package nonisolated(nonsending) func commitAsync(
    _ info: CommitInfo, appended: @escaping @Sendable (PendingCommit?) -> Void
  ) async throws(StorageError) -> PendingCommit? {
    try commit(info, appended: appended)
  }
  package func needsNoServer(writing keys: [PrefetchKey]) -> Bool { false }

  package func trees() throws(StorageError) -> [TreeName] { try trees(prefix: []) }

  package func createTree(
    _ name: TreeName, kind: TreeKind, order: TreeOrder = .bytes, attributes: [UInt8] = []
  ) throws(StorageError) {
    try createTree(name, kind: kind, order: order, attributes: Bytes(attributes))
  }

  @discardableResult
  package func put(
    _ key: [UInt8], _ value: [UInt8], in name: TreeName, probe: KeyProbe? = nil
  ) throws(StorageError) -> RecordReference? {
    try key.withBytes { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try put(key, value, in: name, probe: probe) }
    }
  }

  package func putIfNew(_ key: [UInt8], _ value: [UInt8], in name: TreeName) throws(StorageError) -> RecordReference? {
    try key.withBytes { key throws(StorageError) in
      try value.withBytes { value throws(StorageError) in try putIfNew(key, value, in: name, probe: nil) }
    }
  }

  @discardableResult
  package func delete(
    _ key: [UInt8], in name: TreeName, probe: KeyProbe? = nil
  ) throws(StorageError) -> RecordReference? {
    try key.withBytes { key throws(StorageError) in try delete(key, in: name, probe: probe) }
  }

  package func currentReference(
    of key: [UInt8], in name: TreeName, probe: KeyProbe? = nil
  ) throws(StorageError) -> RecordReference? {
    try key.withBytes { key throws(StorageError) in try currentReference(of: key, in: name, probe: probe) }
  }

  @discardableResult
  package func insert(
    _ key: [UInt8], _ payload: Payload = .none, in name: TreeName, probe: KeyProbe? = nil
  ) throws(StorageError) -> Bool {
    try key.withBytes { key throws(StorageError) in try insert(key, payload, in: name, probe: probe) }
  }

  @discardableResult
  package func remove(_ key: [UInt8], in name: TreeName, probe: KeyProbe? = nil) throws(StorageError) -> Bool {
    try key.withBytes { key throws(StorageError) in try remove(key, in: name, probe: probe) }
  }
}

/// Data that a transaction read and that another writer has changed since.
package struct TransactionConflict: Error, Hashable, Sendable {
  /// The commit that the transaction read as of.
  package var asOf: UInt64
  /// Names of trees and keys in them, some of them. The key is nil if the tree itself was changed.
  package var places: [Place]

  package struct Place: Hashable, Sendable {
    package var tree: TreeName
    package var key: [UInt8]?

    package init(tree: TreeName, key: [UInt8]?) {
      self.tree = tree
      self.key = key
    }
  }

  package init(asOf: UInt64, places: [Place] = []) {
    self.asOf = asOf
    self.places = places
  }
}
