import StrataModel
import StrataLocks
import StrataEngine

/// One transaction, as seen by its closure and by all tasks that the closure starts.
///
/// Scopes of one outermost transaction share its `OpenTransaction`; each has a queue of its own in which its writes and its children wait
/// for their turns.
final class TransactionScope: DatastoreInterfaceProtocol, Sendable {
  let connection: StoreConnection
  /// The scope around this one, of any store.
  let outer: TransactionScope?
  let turns = TurnQueue()
  let task = TaskIdentity.current
  /// The datastore whose records are converted in the scope: it is read as it is, and writes are refused meanwhile.
  let converted: String?

  /// The work that the scopes of one outermost transaction share; nil if the transaction only reads.
  let work: OpenTransaction?
  /// The store that a reading scope reads.
  private let store: _StoreHandle?

  private let state = Mutex(State())
  private struct State {
    var isEnded = false
    var isRolledBack = false
    /// The state that a reading scope reads, from its first read on.
    var fixed: ReadState?
    /// The running child, and the state that the scope shows to its other tasks meanwhile.
    var child: (scope: TransactionScope, frozen: ReadState)?
    /// A step that failed halfway: nothing of the transaction may be committed.
    var failure: (any Error)?
    var changes = RecordedChanges()

    func requireActive() throws {
      if isEnded { throw DatastoreInterfaceError.transactionInactive }
      if let failure { throw failure }
    }
  }

  /// The scope of which this one is a child, and the savepoint to which a failed child rolls back.
  private let parent: (scope: TransactionScope, savepoint: Savepoint)?

  var isChild: Bool { parent != nil }

  /// A scope that reads: the newest commit as of its first read, or the state of its parent.
  init(readingFrom store: _StoreHandle, parent: TransactionScope?, outer: TransactionScope?) throws {
    connection = store.connection
    work = nil
    self.store = store
    converted = nil
    self.outer = outer
    self.parent = nil
    if let parent {
      let fixed = try parent.isReading ? parent.readState() : parent.snapshot()
      state.withLock { $0.fixed = fixed }
    }
  }

  /// - Parameters:
  ///   - datastore: The datastore whose records are converted, for a scope of the code that does so in the middle of a step of `outer`.
  ///   - parent: The scope that this one is nested in, and its state before.
  init(
    writing work: OpenTransaction, outer: TransactionScope?, converting datastore: String? = nil,
    in parent: (scope: TransactionScope, savepoint: Savepoint)? = nil
  ) {
    connection = work.connection
    self.work = work
    store = nil
    converted = datastore
    self.outer = outer
    self.parent = parent
  }

  var isReading: Bool { work == nil }

  /// The datastore that is being converted around this scope. Writes are refused then: they would come between the reads of the conversion
  /// and its writes.
  var conversion: String? { enclosing.lazy.compactMap(\.converted).first }

  /// Whether records of a datastore are being converted around this scope, so that it is read as it is.
  func converts(_ datastore: String) -> Bool { enclosing.contains { $0.converted == datastore } }

  /// This scope and those around it, of the same store.
  private var enclosing: some Sequence<TransactionScope> {
    sequence(first: self, next: \.outer).lazy.filter { $0.connection === self.connection }
  }

  /// Throws if the writes of the scope, or of one around it, were rolled back, so that no task may go on reading them.
  func requireReadable() throws {
    var scope: TransactionScope? = self
    while let current = scope {
      if current.connection === connection, current.state.withLock({ $0.isRolledBack }) {
        throw DatastoreInterfaceError.transactionInactive
      }
      scope = current.outer
    }
  }

  /// Whether a reading scope has not read anything yet.
  var isUnfixed: Bool { state.withLock { $0.fixed == nil } }

  /// The state that a read in this scope begins with.
  func readState() throws -> ReadState {
    try state.withLock { state in
      if state.isEnded { throw DatastoreInterfaceError.transactionInactive }
      if let work {
        work.uses.add(1, ordering: .relaxed)
        return state.child?.frozen ?? .open(self)
      }
      if let fixed = state.fixed { return fixed }
      let fixed = ReadState(try store?.currentView())
      state.fixed = fixed
      return fixed
    }
  }

  /// Runs one step of a transaction that writes, and throws the errors of the store as those of this library. No other task in it reads or
  /// writes meanwhile.
  func step<R>(_ body: (any WriteTransaction) throws -> R) throws -> R {
    guard let work else { throw DiskPersistenceError.cannotWrite }
    work.uses.add(1, ordering: .relaxed)
    return try throwingStoreErrors {
      try work.step.withLock { _ in
        try state.withLock { try $0.requireActive() }
        return try body(work.transaction)
      }
    }
  }

  /// Runs a step that changes something. If it fails halfway, the transaction can no longer be committed.
  func change<R>(_ body: (any WriteTransaction) throws -> R) throws -> R {
    try step { transaction in
      do {
        return try throwingStoreErrors { try body(transaction) }
      } catch {
        state.withLock { $0.failure = error }
        throw error
      }
    }
  }

  /// Notes a change, which is reported to observers after the commit.
  func recordChange(_ change: StoredChange) { state.withLock { $0.changes.append(change) } }

  private func snapshot() throws -> ReadState {
    if let frozen = state.withLock({ $0.child?.frozen }) { return frozen }
    return try step { transaction in
      var trees: [TreeName: Tree] = [:]
      for name in try transaction.trees() { trees[name] = try transaction.tree(name) }
      return .trees(trees)
    }
  }

  /// Begins a child that writes. The caller must hold the turn.
  func beginChild(outer: TransactionScope?, runsOwnCode: Bool) throws -> TransactionScope {
    guard let work else { throw DiskPersistenceError.cannotWrite }
    let frozen = try snapshot()
    let savepoint = try step { try $0.savepoint() }
    let child = TransactionScope(writing: work, outer: outer, in: (self, savepoint))
    // Calls that this task itself has begun beside it would wait for the child, which may be waiting for them.
    if runsOwnCode, child.task == task { turns.refuse(with: StoreError.besideNestedTransaction) }
    state.withLock { $0.child = (child, frozen) }
    return child
  }

  /// Hands a child's writes to its parent.
  func finish() throws {
    let changes = try state.withLock { state in
      try state.requireActive()
      state.isEnded = true
      return state.changes
    }
    turns.close(with: DatastoreInterfaceError.transactionInactive)
    parent?.scope.state.withLock { state in
      state.child = nil
      state.changes += changes
    }
  }

  func rollBack() throws {
    guard let work else { return }
    let wasEnded = state.withLock { state in
      defer { (state.isEnded, state.isRolledBack) = (true, true) }
      return state.isEnded
    }
    turns.close(with: DatastoreInterfaceError.transactionInactive)
    guard !wasEnded, let parent else { return }
    work.forgetDatastores()
    endChild()
    defer { parent.scope.state.withLock { $0.child = nil } }
    do {
      try work.step.withLock { _ throws(StorageError) in try work.transaction.rollback(to: parent.savepoint) }
    } catch {
      parent.scope.state.withLock { $0.failure = StoreError(error) }
    }
  }

  /// Runs code that converts records of a datastore in the middle of a step of this scope: a program's decoders. They read the state of the
  /// scope. If a datastore must be warmed up for that, this is a part of the transaction. They may not write.
  func converting<T>(
    isolation actor: isolated (any Actor)? = #isolation, datastore: String, _ body: () async throws -> T
  ) async throws -> T {
    guard let work else { return try await body() }
    let scope = TransactionScope(writing: work, outer: self, converting: datastore)
    defer { merge(scope) }
    return try await Transactions.$current.withValue(scope) {
      // So that the closure runs on it.
      _ = actor
      return try await body()
    }
  }

  /// Takes over the changes and the failure of warm-ups within a conversion.
  private func merge(_ conversion: TransactionScope) {
    conversion.end()
    conversion.endChild()
    let (changes, failure) = conversion.state.withLock { ($0.changes, $0.failure) }
    state.withLock { state in
      state.changes += changes
      if let failure { state.failure = failure }
    }
  }

  /// Rolls back a child that is still running when its parent ends.
  private func endChild() {
    let child = state.withLock { $0.child?.scope }
    try? child?.rollBack()
  }

  /// Ends a scope; later and waiting calls in it throw `transactionInactive`.
  func end() {
    state.withLock { $0.isEnded = true }
    turns.close(with: DatastoreInterfaceError.transactionInactive)
  }

  /// Appends the commit, which passes the turn to the next writer.
  func commit(
    actionName: String, options: UnsafeTransactionOptions, flags: CommitFlags = []
  ) throws -> AppendedCommit {
    let note = try end(options: options)
    let isDurable = options.contains(.enforceDurability) || !options.contains(.collateWrites)
    let info = CommitInfo(action: actionName, flags: flags, durability: isDurable ? .durable : .collated)
    _ = try throwingStoreErrors { try note.work.transaction.commit(info, appended: note.append) }
    return try note.commit
  }

  /// As `commit`, on a server, without blocking the caller's thread for long. The commit is durable when this returns.
  func commitAsync(actionName: String, flags: CommitFlags) async throws -> AppendedCommit {
    let note = try end(options: [])
    let info = CommitInfo(action: actionName, flags: flags)
    do {
      _ = try await note.work.transaction.commitAsync(info, appended: note.append)
    } catch {
      throw libraryError(for: error)
    }
    return try note.commit
  }

  /// Notes a transaction's commit for observers before this process can make another one.
  private final class CommitNote: Sendable {
    let work: OpenTransaction
    /// Nil if nothing is to be reported.
    private let changes: RecordedChanges?
    private let appended = Mutex<AppendedCommit?>(nil)

    init(of work: OpenTransaction, _ changes: RecordedChanges?) { (self.work, self.changes) = (work, changes) }

    @Sendable func append(_ pending: PendingCommit?) {
      let base = work.transaction.base.number
      let unheard = changes == nil ? [] : work.unheard.withLock(\.self)
      let commit = work.connection.publication.append(
        changes?.all ?? [], unheard: unheard, pending: pending, base: base)
      appended.withLock { $0 = commit }
    }

    var commit: AppendedCommit {
      get throws {
        guard let commit = appended.withLock({ $0 }) else { throw DatastoreInterfaceError.transactionInactive }
        return commit
      }
    }
  }

  /// Ends the scope before its commit.
  private func end(options: UnsafeTransactionOptions) throws -> CommitNote {
    guard let work else { throw DiskPersistenceError.cannotWrite }
    endChild()
    let changes: RecordedChanges? = try work.step.withLock { _ in
      try state.withLock { state in
        try state.requireActive()
        state.isEnded = true
        defer { state.changes = RecordedChanges() }
        return options.contains(.skipObservations) ? nil : state.changes
      }
    }
    turns.close(with: DatastoreInterfaceError.transactionInactive)
    for writer in work.writers { try throwingStoreErrors { try writer.finish() } }
    return CommitNote(of: work, changes)
  }

  func cancel() {
    guard let work else { return }
    state.withLock { $0.isRolledBack = true }
    end()
    endChild()
    work.transaction.cancel()
  }
}
