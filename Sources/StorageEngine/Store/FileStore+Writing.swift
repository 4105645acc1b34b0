extension FileStore {
  /// Waits for its turn, and for the writer's lock where another process holds it (for `lockPatience`), without holding a
  /// thread; then begins a transaction on the newest commit, or on `base` (a fork). It runs where its caller does: a way to the
  /// pool and back takes an actor's task longer than to begin.
  package nonisolated(nonsending) func begin(on base: UInt64?) async throws(StorageError) -> FileTransaction {
    await writing.takeTurn()
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
