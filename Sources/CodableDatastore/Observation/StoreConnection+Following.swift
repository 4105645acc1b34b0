import Dispatch
import Locks
import StorageEngine

extension StoreConnection {
  /// Listens for commits of other processes, from now on. The file is watched, never polled.
  func followOtherProcesses(forWriter: Bool) throws {
    guard let store = try storeForReading(forWriter: forWriter) else { return }
    if isServed { publication.keepOwn() }
    try publication.beginFollowing(at: store.head) {
      try throwingStoreErrors { () throws(StorageError) in
        try store.follow { [weak self] in self?.noticeOtherProcesses(in: store) }
      }
    }
    isFollowing.store(true, ordering: .releasing)
  }

  /// Tells what other processes committed that a transaction builds on, before anything of its own: by the time the watch tells of it
  /// there may be newer commits of this process, behind which it would not be looked for. Called in the writer's turn.
  func noticeBase(of store: any Engine) {
    if isFollowing.load(ordering: .acquiring), !isServed { noticeOtherProcesses(in: store) }
  }

  /// Makes a commit on a server. Until its number is known here, nobody can tell it from those of others, so these are told of
  /// afterwards.
  func committing<R: Sendable>(_ commit: () async throws -> R) async throws -> R {
    underWay.add(1, ordering: .acquiringAndReleasing)
    let result: R
    do {
      result = try await commit()
    } catch {
      endCommit()
      throw error
    }
    endCommit()
    return result
  }

  private func endCommit() {
    let isLast = underWay.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    guard isLast, isFollowing.load(ordering: .acquiring) else { return }
    DispatchQueue.global().async { [weak self] in
      guard let self, let store = try? self.storeForReading(forWriter: true) else { return }
      self.noticeOtherProcesses(in: store)
    }
  }

  /// Looks what is new. A server that is away is waited for: what it has by then is told when it is back.
  private func noticeOtherProcesses(in store: any Engine) {
    if store.isAway { return }
    if isServed {
      guard underWay.load(ordering: .acquiring) == 0 else { return }
      return noticeOthersBesideOwn(in: store)
    }
    publication.notice {
      try throwingStoreErrors { () throws(StorageError) in try store.refresh() }
    } changes: { told, new, datastore in
      try ChangeWalk(from: told, to: new, datastore: datastore).all()
    }
  }
}

extension StoreConnection {
  /// On a server the commits of others lie between this process's own: each is told by itself.
  private func noticeOthersBesideOwn(in store: any Engine) {
    publication.noticeEach {
      try throwingStoreErrors { () throws(StorageError) in try store.refresh() }
    } isOvertaken: {
      self.underWay.load(ordering: .acquiring) > 0
    } changes: { told, number, datastore in
      let (old, new) = try throwingStoreErrors { () throws(StorageError) in
        (try store.view(at: told), try store.view(at: number))
      }
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
