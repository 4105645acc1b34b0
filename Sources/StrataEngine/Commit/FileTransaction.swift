import StrataLocks

/// One writer's turn: changes that become one commit, or nothing.
///
/// Calls may come from any thread; they are serialised inside. Reads through `tree(_:)` see the transaction's own changes as of the moment
/// of the call. It ends with `commit`, `cancel`, or the release of its last reference, which cancels it.
package final class FileTransaction: WriteTransaction, @unchecked Sendable {
  // `@unchecked`: everything that changes is touched only while `mutex` is held.
  package let base: CommitRecord
  let store: FileStore
  let beginning: Publication.State
  let isFork: Bool
  /// Whether the turn belongs to the caller, and is not passed on at the end.
  private let keepsTurn: Bool
  /// The origin that commits of this store record now.
  package let origin: UInt64
  let file: DataFile
  let draft: FrameDraft
  private let mutex = Mutex(())
  // A pointer, because each access to a class's own property is checked at run time. Touched only while `mutex` is
  // held.
  let state: UnsafeMutablePointer<TransactionState>
  private var hasEnded = false

  init(
    store: FileStore, state beginning: Publication.State, base: CommitRecord, isFork: Bool, keepsTurn: Bool,
    origin: UInt64
  ) {
    self.store = store
    self.beginning = beginning
    self.base = base
    self.isFork = isFork
    self.keepsTurn = keepsTurn
    self.origin = origin
    file = beginning.file
    draft = FrameDraft(
      start: beginning.chain.end, file: beginning.file, over: store.writing.zeros, deltaLimit: store.options.deltaLimit)
    state = UnsafeMutablePointer.allocate(capacity: 1)
    state.initialize(
      to: TransactionState(
        catalog: base.links.catalog, nextTree: max(1, beginning.newest.links.nextTree), liveBytes: base.liveBytes))
  }

  deinit {
    cancel()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The number that the commit will have.
  package var number: UInt64 { beginning.newest.number + 1 }

  package var headNumber: UInt64 { beginning.head.number }

  // MARK: Savepoints

  package func savepoint() throws(StorageError) -> Savepoint {
    try locked { () throws(StorageError) in
      Savepoint(of: self, (state: state.pointee, position: draft.position))
    }
  }

  package func rollback(to savepoint: Savepoint) throws(StorageError) {
    guard let moment = savepoint.moment(of: self) as? (state: TransactionState, position: FileOffset) else {
      preconditionFailure("a savepoint of another transaction")
    }
    try locked { () throws(StorageError) in
      try atomically { () throws(StorageError) in try draft.truncate(to: moment.position) }
      state.pointee = moment.state
    }
  }

  /// Runs a change that must be made as a whole. If it fails, the transaction can only commit after a rollback to before it.
  @inline(__always)
  func atomically<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    do throws(StorageError) {
      return try body()
    } catch {
      state.pointee.failure = error
      throw error
    }
  }

  /// A file has no round trips to save.
  package func asksServer(of records: TreeName) -> Bool { false }
  package func prefetch(_ keys: [(tree: TreeName, key: [UInt8])]) {}

  // MARK: The changes to commit

  package var changeCounts: [ChangeCounts] {
    mutex.withLock { _ in state.pointee.changeCounts }
  }

  // MARK: Ending

  /// Also throws the error of a change that failed halfway and was not rolled back. `appended` is called before the turn passes on.
  package func commit(
    _ info: CommitInfo, appended: @escaping @Sendable (PendingCommit?) -> Void
  ) throws(StorageError) -> PendingCommit? {
    try locked { () throws(StorageError) -> PendingCommit? in
      if let failure = state.pointee.failure {
        finish()
        throw failure
      }
      let new: Publication.State
      do throws(StorageError) {
        guard let made = try makeFrame(info) else {
          appended(nil)
          finish()
          return nil
        }
        new = made
      } catch {
        // A write that failed for any reason but lack of room leaves unknown bytes behind.
        if case .io(let cause) = error { store.writing.poison(.poisoned(cause: cause)) }
        finish()
        throw error
      }
      // Bytes that a rollback discarded may be written already, beyond the end of the frame.
      store.writing.abandon(new.chain.end..<max(new.chain.end, draft.writtenEnd), of: file)
      store.writing.append(
        new, trees: state.pointee.trees, from: state.pointee.storedCatalog, durability: info.durability)
      let pending = PendingCommit(new, writer: store.writing)
      appended(pending)
      finish(willWait: info.durability == .durable, abandons: false)
      return pending
    }
  }

  package func cancel() { mutex.withLock { _ in if !hasEnded { finish() } } }

  /// Ends the transaction and passes the turn on. `abandons`: the written bytes are given up. `willWait`: the caller will wait for the
  /// commit. Called with `mutex` held.
  func finish(willWait: Bool = false, abandons: Bool = true) {
    if abandons { store.writing.abandon(draft.start..<max(draft.start, draft.writtenEnd), of: file) }
    hasEnded = true
    if !keepsTurn { store.writing.passTurn(willWait: willWait) }
    // Now, on a thread that may take its time after a large commit: the last reference may be released on another thread.
    state.pointee.releaseNodes()
  }

  func locked<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    try mutex.withLock { _ throws(StorageError) in
      guard !hasEnded else { throw .transactionEnded }
      return try body()
    }
  }
}

/// A commit that was appended and will be durable with the next sync. Releasing it without waiting does not take the commit back.
package struct PendingCommit: Sendable {
  package let number: UInt64
  /// Nil if the commit is durable already, as all are on a server.
  private let appended: (state: Publication.State, writer: Writer)?

  init(_ state: Publication.State, writer: Writer) {
    number = state.newest.number
    appended = (state, writer)
  }

  /// Creates the value for a commit that is durable already.
  package init(durable number: UInt64) {
    self.number = number
    appended = nil
  }

  /// The state that the commit made, which this process can read already; nil on a server.
  package var view: View? { appended.map { View(commit: $0.state.newest, file: $0.state.file) } }

  /// Returns when the commit is durable, holding no thread meanwhile, and runs where its caller does. Commits that wait at the same time
  /// share one sync.
  package nonisolated(nonsending) func durable() async throws(StorageError) {
    try await appended?.writer.untilDurable(number)
    appended?.writer.releaseUnlessKept()
  }

  /// Returns when the commit is durable; the thread syncs itself, or waits for one that does.
  ///
  /// - Parameter gathers: Whether to give transactions that are writing at this moment the time to share the sync.
  package func wait(gathers: Bool = true) throws(StorageError) {
    try appended?.writer.waitUntilDurable(number, gathers: gathers)
    appended?.writer.releaseUnlessKept()
  }
}

extension FileStore {
  /// Begins a transaction on the newest commit, in the turn that the caller holds. The turn passes on when it ends, or if it cannot begin.
  /// It waits for the writer's lock if another process holds it (for `lockPatience`), without holding a thread. It runs where its caller
  /// does: for an actor's task, going to the pool and back takes longer than beginning a transaction.
  package nonisolated(nonsending) func beginTaken() async throws(StorageError) -> FileTransaction {
    if writing.holdsLock { return try beginInTurn(on: nil) }
    // Taking the lock may wait, and recovers the file: not on a thread of the pool.
    let result = await writing.run { Result { () throws(StorageError) in try self.beginInTurn(on: nil) } }
    return try result.get()
  }

  package func beginBlocking(on base: UInt64?) throws(StorageError) -> FileTransaction {
    writing.acquireTurnBlocking()
    return try beginInTurn(on: base)
  }

  private func beginInTurn(on base: UInt64?) throws(StorageError) -> FileTransaction {
    do throws(StorageError) {
      return try begin(on: base, keepsTurn: false)
    } catch {
      writing.passTurn()
      throw error
    }
  }

  /// Begins a transaction in the turn that the caller holds. `keepsTurn`: it leaves the turn to the caller. `isFirst`: whether it is the
  /// first one of the turn.
  func begin(on base: UInt64?, keepsTurn: Bool, isFirst: Bool = true) throws(StorageError) -> FileTransaction {
    let state = try writing.prepareTurn(checksNames: isFirst)
    guard state.newest.number < .max else {
      throw .damaged(what: "commit record", offset: state.newest.links.own.offset)
    }
    var baseRecord = state.head
    if let base, base != baseRecord.number {
      baseRecord = try CommitSearch(file: state.file, newest: state.newest).commit(base)
    }
    return FileTransaction(
      store: self, state: state, base: baseRecord, isFork: base != nil, keepsTurn: keepsTurn,
      origin: writing.tail.origin)
  }
}
