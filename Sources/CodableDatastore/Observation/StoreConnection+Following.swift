import StorageEngine
import Synchronization

extension StoreConnection {
  /// Listens for commits of other processes, from now on. The file is watched, never polled.
  func followOtherProcesses(forWriter: Bool) throws {
    guard let store = try storeForReading(forWriter: forWriter) else { return }
    try publication.beginFollowing(at: store.head) {
      try throwingStoreErrors { () throws(StorageError) in
        try store.follow { [weak self] in self?.noticeOtherProcesses(in: store) }
      }
    }
    isFollowing.store(true, ordering: .releasing)
  }

  /// Tells what other processes committed that a transaction builds on, before anything of its own: by the time the watch tells of it
  /// there may be newer commits of this process, behind which it would not be looked for. Called in the writer's turn.
  func noticeBase(of store: Store) {
    if isFollowing.load(ordering: .acquiring) { noticeOtherProcesses(in: store) }
  }

  /// Looks what is new.
  private func noticeOtherProcesses(in store: Store) {
    publication.notice {
      try throwingStoreErrors { () throws(StorageError) in try store.refresh() }
    } changes: { lastSeen, newestOwn, new, datastore in
      // What this process wrote since was told already.
      let old =
        newestOwn > lastSeen.commit.number
        ? try throwingStoreErrors { () throws(StorageError) in try store.view(at: newestOwn) } : lastSeen
      return try ChangeWalk(from: old, to: new, datastore: datastore).all()
    }
  }
}

extension Datastore {
  /// The changes of all instances, from now on, also those that other processes make.
  ///
  /// Of another process's changes the observer hears what came of each of its commits, in the order of the identifiers;
  /// several commits that come together may be told as one.
  ///
  /// - Parameter includingOtherProcesses: Whether to hear of other processes' commits.
  /// - Throws: ``StoreError``; what is wrong with the declaration. The iteration throws ``UnreadableChangeError`` in the place
  ///   of what does not decode, and
  ///   why other processes' commits could not be read; these are told the next time.
  public nonisolated func observe(
    includingOtherProcesses: Bool
  ) async throws -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    try await core.observe(only: nil, includingOtherProcesses: includingOtherProcesses)
  }
}
