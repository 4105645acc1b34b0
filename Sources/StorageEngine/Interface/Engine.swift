/// A store as the layers above use it, exactly as wide: ordered trees of byte keys in views of any commit, one transaction after the other,
/// names, following. Two are there: `FileStore`, and the store on a database server (`PostgresStore`).
///
/// What they share otherwise (`View`, `Tree`, `Cursor` and the walks over versions and differences) are values that hold either what
/// lies in a file or one of the parts of `Served.swift`; who calls them need not know.
///
/// Safe from any thread; calls block on the disk, or on the network, where they read or write.
package protocol Engine: AnyObject, Sendable {
  associatedtype Transaction: WriteTransaction

  /// Where it lies, for people.
  var path: String { get }
  var identity: StoreIdentity { get }
  /// What opening found.
  var openingReport: OpeningReport { get }
  /// Why the store cannot be written, or nil where it can.
  var readOnlyReason: String? { get }
  /// Why the store could not be pruned by its own policy, if the last attempt failed.
  var pruningFailure: PruningFailure? { get }
  /// Whether it is asked over a network: a call may take a round trip, and transactions do not wait for each other.
  var isServed: Bool { get }
  /// Work done since opening.
  var counts: WorkCounts { get }

  // MARK: Reading

  /// The newest commit that is known to this process. Asks nobody.
  var head: View { get }
  /// Looks whether somebody else has committed, and answers the newest view.
  @discardableResult
  func refresh() throws(StorageError) -> View
  /// The same; a server answers along with it what will be read next.
  func refresh(foreseeing: Foresight) throws(StorageError) -> View
  /// Asks a server for its newest state and for what will be read of it, without waiting; the answer is what `refresh` gets that foresees it.
  /// Nil where that is no gain: for a file, and where answers take long.
  func ask(_ foresight: Foresight) -> (any AskedServer)?
  /// A number that stays the same for as long as `refresh` would answer the same view; nil where only `refresh` can tell.
  var visibleState: UInt64? { get }
  /// The state as of a commit, of any branch.
  func view(at number: UInt64) throws(StorageError) -> View
  /// One commit, of any branch.
  func commit(_ number: UInt64) throws(StorageError) -> CommitRecord
  /// Tells which commits will be asked for next, so that a server is asked for all of them at once.
  func foresee(commits: [UInt64]) throws(StorageError)
  /// The newest commit at or before a number, along first parents from commit `of`.
  func ancestor(of number: UInt64, number ancestor: UInt64) throws(StorageError) -> CommitRecord
  /// The newest commit, along first parents from commit `of`, that is not later than a date.
  func ancestor(of number: UInt64, notLaterThan date: Int64) throws(StorageError) -> CommitRecord
  /// The clock of a commit's writer, in nanoseconds since 1970; its date, unless that had to be a parent's later one.
  func clock(of commit: CommitRecord) throws(StorageError) -> Int64
  /// What a commit lists of its changes; only where `CommitRecord.listsChanges`.
  func changes(of commit: CommitRecord) throws(StorageError) -> ChangeCursor
  /// The names given to commits, as of the newest commit known here; `head` is not among them.
  var names: [String: UInt64] { get throws(StorageError) }
  /// How many commits are kept.
  var commitCount: UInt64 { get }
  /// The bytes that the store takes, where it lies.
  var fileBytes: UInt64 { get }
  /// Goes through all commits, the newest first, with what their links do not tell; `visit` answers whether to go on.
  func forEachCommit(_ visit: (CommitRecord, Pedigree?) throws(StorageError) -> Bool) throws(StorageError)
  /// The same of their descent alone, which costs less.
  func forEachDescent(_ visit: (CommitDescent) throws(StorageError) -> Bool) throws(StorageError)
  /// What a commit's links do not tell of where it comes from.
  func pedigree(of commit: CommitRecord) throws(StorageError) -> Pedigree?

  // MARK: Others

  /// Who holds the writer's lock elsewhere; nil where nobody has to be waited for.
  var writer: LockHold? { get }
  /// What another process is busy with, as it encoded it.
  var activity: [UInt8]? { get }
  /// Says what this one is busy with; nil: nothing any more.
  func setActivity(_ bytes: [UInt8]?)
  /// Says what it was busy with last and what came of that: other processes read it also when nobody writes, until the next work. A server
  /// keeps none.
  func leaveActivity(_ bytes: [UInt8])
  /// Calls `change` from another thread after each commit of any process, until the answer is let go.
  ///
  /// Also where a server cannot be reached any more, and where it can again (`isAway`).
  func follow(_ change: @escaping @Sendable () -> Void) throws(StorageError) -> any DiskWatch
  /// Whether those who follow the store have lost their server, and not found it again.
  var isAway: Bool { get }

  /// Takes on long work that one program does for all, such as a warm-up.
  func lease(_ what: String) throws(StorageError) -> WorkLease

  // MARK: Writing

  /// Begins a transaction on the newest commit, or on `base`, holding no thread while it waits for its turn.
  nonisolated(nonsending) func begin(on base: UInt64?) async throws(StorageError) -> Transaction
  /// As `begin(on:)`, holding the thread.
  func beginBlocking(on base: UInt64?) throws(StorageError) -> Transaction
  /// On the newest commit, holding the thread; a server answers along with it what the transaction will look at first.
  func beginBlocking(foreseeing keys: [ForeseenKey]) throws(StorageError) -> Transaction
  /// On the newest commit that is known, by a guess, where the last ones were right: that the keys are not there, and that nobody else has
  /// committed. Nil where there is no reason for it, as always on a file. Asks nobody: only the commit does, which throws `conflict`
  /// where the guess is wrong; and what else fails may be due to it. So the caller writes all of the keys, and makes the transaction
  /// again without where it fails.
  func beginPresuming(_ keys: [ForeseenKey]) throws(StorageError) -> Transaction?
  /// Runs `body` in a transaction and returns when its commit is durable: its number, or nil where nothing changed, or what
  /// `body` threw, after which nothing is written. `body` may run on another thread, and more than once where others changed what it
  /// read; it must not begin another transaction.
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
  /// Sees to it that commits of other stores may be taken in.
  func admitCommitsOfOthers() throws(StorageError)
  /// Lets go of what keeps others from writing.
  func releaseLock()
  /// Lets go of memory that can be read again.
  func releaseMemory()
  func close() throws(StorageError)
}

extension Engine {
  package var isAway: Bool { false }
  package var pruningFailure: PruningFailure? { nil }
  package func clock(of commit: CommitRecord) throws(StorageError) -> Int64 { commit.date }

  package func forEachDescent(_ visit: (CommitDescent) throws(StorageError) -> Bool) throws(StorageError) {
    try forEachCommit { commit, pedigree throws(StorageError) in try visit(CommitDescent(of: commit, pedigree)) }
  }

  package func foresee(commits: [UInt64]) throws(StorageError) {}

  package func refresh(foreseeing: Foresight) throws(StorageError) -> View { try refresh() }
  package func ask(_ foresight: Foresight) -> (any AskedServer)? { nil }

  package nonisolated(nonsending) func begin() async throws(StorageError) -> Transaction {
    try await begin(on: nil)
  }

  package func beginBlocking(foreseeing keys: [ForeseenKey]) throws(StorageError) -> Transaction {
    try beginBlocking(on: nil)
  }

  package func beginPresuming(_ keys: [ForeseenKey]) throws(StorageError) -> Transaction? { nil }

  package func beginBlocking() throws(StorageError) -> Transaction { try beginBlocking(on: nil) }
}

/// Who does long work that one program does for all.
package enum WorkLease: Sendable {
  /// Whoever writes does it: nobody else can meanwhile.
  case needless
  /// This program, until the value is let go of.
  case taken(any HeldWork)
  /// Another one.
  case held
}

/// Long work that this program has taken on.
package protocol HeldWork: AnyObject, Sendable {}

/// Changes that become one commit, or nothing. Calls may come from any thread. It ends with `commit`, `cancel`, or its last
/// reference, which cancels.
///
/// On a file it holds the writer's turn. On a server nothing is locked: what it read is remembered, and `commit` throws
/// `StorageError.conflict` where somebody else has changed that since.
package protocol WriteTransaction: AnyObject, Sendable {
  /// The commit that it builds on.
  var base: CommitRecord { get }
  /// The number of `head` as the transaction found it; another than that of `base` where it was begun on a named one.
  var headNumber: UInt64 { get }
  /// What commits of this store name as their origin now.
  var origin: UInt64 { get }

  // MARK: Trees

  /// A snapshot of a tree with the changes so far, or nil where there is none of that name.
  func tree(_ name: TreeName) throws(StorageError) -> Tree?
  /// The names of the trees that begin with `prefix`, in their order.
  func trees(prefix: [UInt8]) throws(StorageError) -> [TreeName]
  func createTree(_ name: TreeName, kind: TreeKind, order: TreeOrder, attributes: [UInt8]) throws(StorageError)
  /// Takes a tree and all its entries out. Earlier commits keep it.
  func dropTree(_ name: TreeName) throws(StorageError)
  /// Replaces what the module above keeps with a tree.
  func setAttributes(_ attributes: [UInt8], of name: TreeName) throws(StorageError)

  // MARK: Changes

  /// Sets the value of a record; answers what it replaced.
  @discardableResult
  func put(
    _ key: [UInt8], _ value: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference?
  @discardableResult
  func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference?
  /// Sets a value that comes in pieces of a MiB.
  @discardableResult
  func put(
    _ key: [UInt8], count: UInt64, in name: TreeName, probe: KeyProbe?,
    piece: (_ position: UInt64, _ count: Int) throws(StorageError) -> [UInt8]
  ) throws(StorageError) -> RecordReference?
  /// Sets the value of a record that is not there yet; answers the one that is, which stays as it was.
  func putIfNew(
    _ key: [UInt8], _ value: [UInt8], in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> RecordReference?
  /// Deletes a record; answers what was deleted.
  @discardableResult
  func delete(_ key: [UInt8], in name: TreeName, probe: KeyProbe?) throws(StorageError) -> RecordReference?
  /// The reference of a record as the transaction has it now.
  func currentReference(of key: [UInt8], in name: TreeName, probe: KeyProbe?) throws(StorageError) -> RecordReference?
  /// Sets the payload of a key; whether the key was not there before.
  @discardableResult
  func insert(_ key: [UInt8], _ payload: Payload, in name: TreeName, probe: KeyProbe?) throws(StorageError) -> Bool
  @discardableResult
  func insert(
    _ key: UnsafeRawBufferPointer, _ payload: Payload, in name: TreeName, probe: KeyProbe?
  ) throws(StorageError) -> Bool
  /// Takes an entry out; whether it was there.
  @discardableResult
  func remove(_ key: [UInt8], in name: TreeName, probe: KeyProbe?) throws(StorageError) -> Bool
  /// Gives a record the state that it has in another commit of this store.
  @discardableResult
  func adopt(_ key: [UInt8], in name: TreeName, from view: View, probe: KeyProbe?) throws(StorageError) -> Bool
  /// Brings trees (nil: all) back to what they were in a view.
  func restore(_ names: [TreeName]?, from view: View) throws(StorageError)

  // MARK: Bulk

  /// Tells which keys will be looked at or changed next, so that a server is asked for all of them at once.
  func foresee(_ keys: [(tree: TreeName, key: [UInt8])]) throws(StorageError)
  /// Sees to it that nothing is committed where somebody else has taken over the work meanwhile.
  func require(_ work: any HeldWork) throws(StorageError)
  /// Whether `foresee` is worth the words.
  var asksServer: Bool { get }
  /// Whether writing some keys asks no server: it is known that none of them is there, or their trees are new.
  func asksNobody(writing keys: [ForeseenKey]) -> Bool
  /// Writes the new nodes of a tree into the frame now, where that saves memory.
  func settle(_ name: TreeName) throws(StorageError)
  /// A new file for what does not fit into memory.
  func scratchFile() throws(StorageError) -> ScratchFile

  // MARK: Ending

  /// A moment to go back to; any number may nest.
  func savepoint() throws(StorageError) -> Savepoint
  /// Undoes everything since the savepoint, which stays usable. Later savepoints must not be used any more.
  func rollback(to savepoint: Savepoint) throws(StorageError)
  /// What the changes so far add up to, per tree of records.
  var changeCounts: [ChangeCounts] { get }
  /// Makes the changes one commit; nil where nothing changed. It is durable once it was waited for.
  func commit(_ info: CommitInfo) throws(StorageError) -> PendingCommit?
  /// The same; `appended` hears of the commit before anybody else can make one on a file, or that there is none.
  func commit(_ info: CommitInfo, appended: (PendingCommit?) -> Void) throws(StorageError) -> PendingCommit?
  /// The same, without waiting long for a server on the caller's thread.
  nonisolated(nonsending) func commitAsync(_ info: CommitInfo) async throws(StorageError) -> PendingCommit?
  /// Forgets all changes.
  func cancel()
}

extension WriteTransaction {
  package func require(_ work: any HeldWork) throws(StorageError) {}
  package func commit(
    _ info: CommitInfo, appended: (PendingCommit?) -> Void
  ) throws(StorageError) -> PendingCommit? {
    let pending = try commit(info)
    appended(pending)
    return pending
  }

  package nonisolated(nonsending) func commitAsync(_ info: CommitInfo) async throws(StorageError) -> PendingCommit? {
    try commit(info)
  }
  package func asksNobody(writing keys: [ForeseenKey]) -> Bool { false }

  package func trees() throws(StorageError) -> [TreeName] { try trees(prefix: []) }

  package func createTree(_ name: TreeName, kind: TreeKind) throws(StorageError) {
    try createTree(name, kind: kind, order: .bytes, attributes: [])
  }

  package func createTree(_ name: TreeName, kind: TreeKind, attributes: [UInt8]) throws(StorageError) {
    try createTree(name, kind: kind, order: .bytes, attributes: attributes)
  }

  package func createTree(_ name: TreeName, kind: TreeKind, order: TreeOrder) throws(StorageError) {
    try createTree(name, kind: kind, order: order, attributes: [])
  }

  @discardableResult
  package func put(_ key: [UInt8], _ value: [UInt8], in name: TreeName) throws(StorageError) -> RecordReference? {
    try put(key, value, in: name, probe: nil)
  }

  @discardableResult
  package func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in name: TreeName
  ) throws(StorageError) -> RecordReference? {
    try put(key, value, in: name, probe: nil)
  }

  @discardableResult
  package func put(
    _ key: [UInt8], count: UInt64, in name: TreeName,
    piece: (_ position: UInt64, _ count: Int) throws(StorageError) -> [UInt8]
  ) throws(StorageError) -> RecordReference? {
    try put(key, count: count, in: name, probe: nil, piece: piece)
  }

  package func putIfNew(_ key: [UInt8], _ value: [UInt8], in name: TreeName) throws(StorageError) -> RecordReference? {
    try putIfNew(key, value, in: name, probe: nil)
  }

  @discardableResult
  package func delete(_ key: [UInt8], in name: TreeName) throws(StorageError) -> RecordReference? {
    try delete(key, in: name, probe: nil)
  }

  package func currentReference(of key: [UInt8], in name: TreeName) throws(StorageError) -> RecordReference? {
    try currentReference(of: key, in: name, probe: nil)
  }

  @discardableResult
  package func insert(_ key: [UInt8], _ payload: Payload = .none, in name: TreeName) throws(StorageError) -> Bool {
    try insert(key, payload, in: name, probe: nil)
  }

  @discardableResult
  package func insert(
    _ key: UnsafeRawBufferPointer, _ payload: Payload = .none, in name: TreeName
  ) throws(StorageError) -> Bool {
    try insert(key, payload, in: name, probe: nil)
  }

  @discardableResult
  package func insert(_ key: [UInt8], in name: TreeName, probe: KeyProbe?) throws(StorageError) -> Bool {
    try insert(key, .none, in: name, probe: probe)
  }

  @discardableResult
  package func remove(_ key: [UInt8], in name: TreeName) throws(StorageError) -> Bool {
    try remove(key, in: name, probe: nil)
  }

  @discardableResult
  package func adopt(_ key: [UInt8], in name: TreeName, from view: View) throws(StorageError) -> Bool {
    try adopt(key, in: name, from: view, probe: nil)
  }

  package func commit() throws(StorageError) -> PendingCommit? { try commit(CommitInfo()) }
}

/// What a transaction read and somebody else changed since.
package struct TransactionConflict: Error, Hashable, Sendable {
  /// The commit that the transaction read as of.
  package var asOf: UInt64
  /// Names of trees and keys in them, some of them; no key where the tree itself was changed.
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
