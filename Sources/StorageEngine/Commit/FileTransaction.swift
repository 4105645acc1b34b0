import Locks

/// One writer's turn: changes that become one commit, or nothing.
///
/// Calls may come from any thread; they are serialised inside. Reads through `tree(_:)` see the transaction's own changes as
/// of the moment of the call. It ends with `commit`, `cancel`, or its last reference, which cancels.
package final class FileTransaction: WriteTransaction, @unchecked Sendable {
  // `@unchecked`: all that changes is touched only while `mutex` is held.
  package let base: CommitRecord
  let store: FileStore
  /// What the transaction began from.
  let beginning: Publication.State
  let isFork: Bool
  /// The turn is the caller's, and not passed on at the end.
  private let keepsTurn: Bool
  /// What commits of this store name as their origin now.
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
    draft = FrameDraft(start: beginning.chain.end, file: beginning.file, over: store.writing.zeros)
    state = UnsafeMutablePointer.allocate(capacity: 1)
    state.initialize(
      to: TransactionState(
        catalog: base.links.catalog, nextTree: max(1, beginning.newest.links.nextTree), liveBytes: base.liveBytes))
  }

  deinit {
    end()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The number that the commit will have.
  package var number: UInt64 { beginning.newest.number + 1 }

  /// The number of `head` as the transaction found it; another than that of `base` where it was begun on a named one.
  package var headNumber: UInt64 { beginning.head.number }

  // MARK: Savepoints

  /// A moment to go back to; cheap, and any number may nest.
  package func savepoint() throws(StorageError) -> Savepoint {
    try locked { () throws(StorageError) in
      Savepoint(of: self, state: state.pointee, position: draft.position)
    }
  }

  /// Undoes everything since the savepoint, which stays usable. Later savepoints must not be used any more.
  package func rollback(to savepoint: Savepoint) throws(StorageError) {
    guard savepoint.transaction == ObjectIdentifier(self), case .file(let moment, let position) = savepoint.moment
    else {
      preconditionFailure("a savepoint of another transaction")
    }
    try locked { () throws(StorageError) in
      try wholly { () throws(StorageError) in try draft.truncate(to: position) }
      state.pointee = moment
    }
  }

  /// Does what must be done as a whole: where it fails, only a rollback to before it makes the transaction one to commit again.
  @inline(__always)
  func wholly<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    do throws(StorageError) {
      return try body()
    } catch {
      state.pointee.failure = error
      throw error
    }
  }

  /// A file has no round trips to save.
  package var asksServer: Bool { false }
  package func foresee(_ keys: [(tree: TreeName, key: [UInt8])]) {}

  // MARK: What would be committed

  /// Whether `commit` would write anything.
  package var isChanged: Bool { mutex.withLock { _ in state.pointee.isChanged } }

  /// What the changes so far add up to, per tree of records.
  package var changeCounts: [ChangeCounts] {
    mutex.withLock { _ in state.pointee.changeCounts }
  }

  // MARK: Ending

  /// Appends the changes as one commit and passes the turn on; nil where nothing changed. The commit is not durable yet: wait
  /// for it. When this throws, nothing is kept and the transaction has ended; it throws the error of a change that failed halfway and
  /// was not rolled back.
  package func commit(_ info: CommitInfo) throws(StorageError) -> PendingCommit? { try commit(info) { _ in } }

  /// The same; `appended` gets the commit, or nil without changes, before the turn passes on.
  package func commit(
    _ info: CommitInfo, appended: (PendingCommit?) -> Void
  ) throws(StorageError) -> PendingCommit? {
    try locked { () throws(StorageError) -> PendingCommit? in
      if let failure = state.pointee.failure {
        finish()
        throw failure
      }
      let new: Publication.State
      do throws(StorageError) {
        guard let made = try Committing(self, info).run() else {
          appended(nil)
          finish()
          return nil
        }
        new = made
      } catch {
        // A write that failed for another reason than want of room leaves unknown bytes behind.
        if case .io(let cause) = error { store.writing.poison(cause) }
        finish()
        throw error
      }
      // Bytes that a rollback took back may be written already, beyond the end of the frame.
      store.writing.abandon(new.chain.end..<max(new.chain.end, draft.writtenEnd), of: file)
      store.writing.append(
        new, trees: state.pointee.trees, from: state.pointee.storedCatalog, durability: info.durability)
      let pending = PendingCommit(new, writer: store.writing)
      appended(pending)
      finish(willWait: info.durability == .durable, abandons: false)
      return pending
    }
  }

  /// Forgets all changes and passes the turn on. Harmless where the transaction has ended.
  package func cancel() { end() }

  private func end() {
    mutex.withLock { _ in if !hasEnded { finish() } }
  }

  /// Ends the transaction and passes the turn on. `abandons`: what was written is given up. `willWait`: somebody will wait for the
  /// commit. Called with `mutex` held.
  func finish(willWait: Bool = false, abandons: Bool = true) {
    if abandons { store.writing.abandon(draft.start..<max(draft.start, draft.writtenEnd), of: file) }
    hasEnded = true
    if !keepsTurn { store.writing.passTurn(willWait: willWait) }
    // Now, on a thread that may take its time where there was much to commit: the last reference may be let go of on another.
    state.pointee.releaseNodes()
  }

  func locked<R>(_ body: () throws(StorageError) -> R) throws(StorageError) -> R {
    try mutex.withLock { _ throws(StorageError) in
      guard !hasEnded else { throw .transactionEnded }
      return try body()
    }
  }
}

/// A commit that was appended and will be durable with the next sync. Letting go of it without waiting does not take it back.
package struct PendingCommit: Sendable {
  package let number: UInt64
  /// Nil where it is durable already, as all are on a server.
  private let appended: (state: Publication.State, writer: Writer)?

  init(_ state: Publication.State, writer: Writer) {
    number = state.newest.number
    appended = (state, writer)
  }

  /// One that is durable.
  package init(durable number: UInt64) {
    self.number = number
    appended = nil
  }

  /// The state that the commit made, which this process can read already; nil on a server.
  package var view: View? { appended.map { View(commit: $0.state.newest, file: $0.state.file) } }

  /// Returns when the commit is durable, holding no thread meanwhile, and runs where its caller does. Commits that wait at
  /// once share one sync.
  package nonisolated(nonsending) func durable() async throws(StorageError) {
    try await appended?.writer.untilDurable(number)
  }

  /// Returns when the commit is durable; the thread syncs itself, or waits for one that does.
  package func wait() throws(StorageError) { try appended?.writer.waitUntilDurable(number) }

  /// As `wait`, without giving others that write at this moment the time to share the sync.
  func waitAtOnce() throws(StorageError) { try appended?.writer.waitUntilDurable(number, gathers: false) }
}

extension FileStore {
  /// Waits for its turn, and for the writer's lock where another process holds it (for `lockPatience`), without holding a
  /// thread; then begins a transaction on the newest commit, or on `base` (a fork). It runs where its caller does: a way to the
  /// pool and back takes an actor's task longer than to begin.
  package nonisolated(nonsending) func begin(on base: UInt64?) async throws(StorageError) -> FileTransaction {
    do { try await takeTurn() } catch { throw .cancelled }
    return try await beginTaken(on: base)
  }

  /// Waits for the turn alone, without holding a thread. Throws `CancellationError`, or what `refuseTurn` says.
  ///
  /// - Parameter isKept: whether the task may be suspended in its turn.
  package nonisolated(nonsending) func takeTurn(isKept: Bool = true) async throws {
    try await writing.takeTurn(isKept: isKept)
  }

  /// Takes the turn where nobody has it.
  package func tryTakeTurn() -> Bool { writing.tryTakeTurn() }

  package func passTurn() { writing.passTurn() }

  /// Sends the tasks away that wait for the turn.
  package func refuseTurn(with error: any Error) { writing.refuseTurn(with: error) }

  /// How many wait for the turn.
  package var waitingForTurn: Int { writing.waitingForTurn }

  /// Runs, in the turn that the caller has, what begins transactions of its own on this thread: no other comes between them.
  package func lendingTurn<R>(_ body: () throws -> R) rethrows -> R { try writing.lendingTurn(body) }

  /// Begins a transaction in the turn that the caller has, which passes on when it ends, or where it cannot begin.
  package nonisolated(nonsending) func beginTaken(on base: UInt64? = nil) async throws(StorageError) -> FileTransaction
  {
    if writing.holdsLock { return try beginInTurn(on: base) }
    // Taking the lock may wait and recovers the file: not on a thread of the pool.
    let result = await writing.run { Result { () throws(StorageError) in try self.beginInTurn(on: base) } }
    return try result.get()
  }

  /// As `begin(on:)`, holding the thread. A thread that has a transaction open must not begin another one.
  package func beginBlocking(on base: UInt64?) throws(StorageError) -> FileTransaction {
    writing.takeTurnBlocking()
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

  /// Begins a transaction that leaves the turn, which the caller has, to the caller. `isFirst`: the first one of the turn.
  func beginKeepingTurn(isFirst: Bool) throws(StorageError) -> FileTransaction {
    try begin(on: nil, keepsTurn: true, isFirst: isFirst)
  }

  private func begin(on base: UInt64?, keepsTurn: Bool, isFirst: Bool = true) throws(StorageError) -> FileTransaction {
    let state = try writing.prepareTurn(checksNames: isFirst) { note($0) }
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
