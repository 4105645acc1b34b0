import Synchronization

extension Store {
  /// Begins to compact by the store's own policy, if it has one and that pays, on a thread of its own: the store is idle. As soon
  /// as anyone writes, it ends; the next idle time goes on from there.
  func applyRetentionWhileIdle() {
    guard let retention = retentionThatPays else { return }
    let newest = publication.current.newest.number
    try? startThread {
      _ = try? self.compact(retention, keepsMore: true) { _ in
        !self.isClosing.load(ordering: .relaxed) && !self.writing.isTurnTaken
          && self.publication.current.newest.number == newest
      }
    }
  }

  /// Compacts by the store's own policy, where that pays.
  func applyRetention() throws(StorageError) {
    guard let retention = retentionThatPays else { return }
    _ = try compact(retention)
  }

  /// The policy, where commits would go by it and more bytes are dead than alive.
  private var retentionThatPays: Retention? {
    guard let retention = options.retention, retention != .all else { return nil }
    let current = publication.current
    let dead = current.chain.end.subtractingClamped(current.head.liveBytes)
    guard dead > max(Store.leastDeadBytes, current.head.liveBytes), let named = try? current.names().map(\.commit),
      let kept = try? KeptCommits(current, now: disk.now()).select(retention, named: named),
      UInt64(kept.count) < current.newest.links.orderDepth
    else { return nil }
    return retention
  }

  /// Fewer dead bytes than these are not worth a new file.
  private static let leastDeadBytes: UInt64 = 1 << 20
}
