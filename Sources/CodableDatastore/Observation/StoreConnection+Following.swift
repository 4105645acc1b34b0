import Dispatch
import StrataFoundation
import StrataLocks
import StrataEngine

extension StoreConnection {
  /// Begins to listen for commits of other processes. The file is watched, never polled. If there is no store yet, its first commits are
  /// reported too, whichever process makes it.
  func followOtherProcesses(forWriter: Bool) throws {
    if let store = try storeForReading(forWriter: forWriter) { return try follow(store, from: store.head) }
    isAwaited.store(true, ordering: .releasing)
    noticeArrival(forWriter: forWriter)
  }

  private func follow(_ store: any Engine, from view: View) throws {
    try publication.beginFollowing(at: view, isServed: isServed) {
      try throwingStoreErrors { try store.follow { [weak self] in self?.noticeOtherProcesses(in: store) } }
    }
    isFollowing.store(true, ordering: .releasing)
  }

  /// Watches for the store, or for the outermost folder on the way to it that is missing, and looks whether it is there.
  private func noticeArrival(forWriter: Bool) {
    guard isAwaited.load(ordering: .acquiring), let path else { return }
    let disk = configuration.disk
    var place = URL(filePath: "/")
    var before: URL
    repeat {
      (before, place) = (place, URL(filePath: path))
      var watch: (any DiskWatch)?
      while watch == nil, place.path != "/" {
        watch = try? disk.watch(place.path) { [weak self] in self?.noticeArrival(forWriter: forWriter) }
        if watch == nil { place.deleteLastPathComponent() }
      }
      arrival.withLock { $0 = watch }
      // A folder that was made meanwhile is watched for the next one.
    } while place.path != path && place != before && ((try? disk.status(place.path)) ?? nil) != nil
    if let store = (try? storeForReading(forWriter: forWriter)) ?? nil { followAwaited(store) }
  }

  /// Follows a store that there was none of when observers began, from its beginning.
  private func followAwaited(_ store: any Engine) {
    guard isAwaited.load(ordering: .acquiring), let view = try? store.view(at: publication.newestOwn),
      (try? follow(store, from: view)) != nil
    else { return }
    endAwaiting()
    noticeOtherProcesses(in: store)
  }

  func endAwaiting() {
    isAwaited.store(false, ordering: .releasing)
    let watch = arrival.withLock { $0.take() }
    withExtendedLifetime(watch) {}
  }

  /// Reports the commits of other processes that a transaction builds on, before its own changes: when the watch reports them, there may be
  /// newer commits of this process, behind which they would be overlooked. Called in the writer's turn.
  func noticeBase(of store: any Engine) {
    followAwaited(store)
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
