import Dispatch
import StrataLocks
import StrataEngine

extension StoreConnection {
  /// Begins to listen for commits of other processes. The file is watched, never polled.
  func followOtherProcesses(forWriter: Bool) throws {
    guard let store = try storeForReading(forWriter: forWriter) else { return }
    try publication.beginFollowing(at: store.head, isServed: isServed) {
      try throwingStoreErrors { try store.follow { [weak self] in self?.noticeOtherProcesses(in: store) } }
    }
    isFollowing.store(true, ordering: .releasing)
  }

  /// Reports the commits of other processes that a transaction builds on, before its own changes: when the watch reports them, there may be
  /// newer commits of this process, behind which they would be overlooked. Called in the writer's turn.
  func noticeBase(of store: any Engine) {
    if isFollowing.load(ordering: .acquiring), !isServed { noticeOtherProcesses(in: store) }
  }

  /// Makes a commit on a server. Until its number is known here, this process cannot distinguish it from the commits of others after its
  /// own, so these are reported afterwards.
  func committing<R: Sendable>(_ commit: () async throws -> R) async throws -> R {
    underWay.add(1, ordering: .acquiringAndReleasing)
    defer { endCommit() }
    return try await commit()
  }

  private func endCommit() {
    let isLast = underWay.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    guard isFollowing.load(ordering: .acquiring), isLast || publication.hasWaitingOwn,
      isToNotice.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    else { return }
    DispatchQueue.global().async { [weak self] in
      guard let self else { return }
      self.isToNotice.store(false, ordering: .releasing)
      guard let store = try? self.storeForReading(forWriter: true) else { return }
      self.noticeOtherProcesses(in: store)
    }
  }

  /// Looks for new commits. While a server is unreachable nothing is read: its commits are reported when it can be reached again.
  private func noticeOtherProcesses(in store: any Engine) {
    if store.isAway { return }
    guard isServed else { return publication.notice { try throwingStoreErrors { try store.refresh() } } }
    // On a server, commits of others lie between this process's own: each is reported separately.
    publication.noticeEach {
      try throwingStoreErrors { try store.refresh() }
    } at: { number in
      try throwingStoreErrors { try store.view(at: number) }
    } isOvertaken: {
      self.underWay.load(ordering: .acquiring) > 0
    }
  }
}

extension Datastore {
  /// The changes of all instances, from now on, including those that other processes make.
  ///
  /// For another process the observer receives the result of each commit, in the order of the identifiers; several commits that arrive
  /// together may be reported as one.
  ///
  /// - Parameter includingOtherProcesses: Whether to report other processes' commits, too.
  /// - Throws: ``StoreError``; any error of the declaration. The iteration throws ``UnreadableChangeError`` instead of a change that does
  ///   not decode, and the reason if other processes' commits could not be read; these are reported the next time.
  public nonisolated func observe(
    includingOtherProcesses: Bool
  ) async throws -> some AsyncInstances<ObservedEvent<IdentifierType, InstanceType>> {
    try await core.observe(only: nil, includingOtherProcesses: includingOtherProcesses)
  }
}
