import StrataExpressions
import StrataEngine

extension EngineStore {
  package func compactionEstimate(_ retention: CommitRetention) throws(ModelError) -> RewriteReport {
    try onStorage { try engine.compactionEstimate(retention) }
  }

  package func compact(_ retention: CommitRetention, progress: WorkProgress?) throws(ModelError) -> RewriteReport {
    try compact(retention, writingDeltas: nil, progress: progress)
  }

  /// As `compact`.
  ///
  /// - Parameter writingDeltas: whether the store's nodes are patches from now on, which older programs refuse. With nil they stay as they
  ///   are.
  package func compact(
    _ retention: CommitRetention, writingDeltas: Bool?, progress: WorkProgress?
  ) throws(ModelError) -> RewriteReport {
    if case .readOnly(let reason) = access { throw .readOnly(reason: reason) }
    defer { if !keepsLock { engine.releaseLock() } }
    return try onStorage {
      try engine.forgetExpiredFetches(now: LocalTime.now)
      return try engine.compact(retention, writingDeltas: writingDeltas) {
        progress?($0.commitsDone, $0.commitsToDo) ?? true
      }
    }
  }

  package func copy(
    to path: String, at commit: CommitNumber?, progress: WorkProgress?
  ) throws(ModelError) -> RewriteReport {
    try onStorage {
      // The copy of a store in memory goes to the disk, which outlives it.
      try engine.copy(to: path, at: commit?.rawValue, onto: isInMemory ? SystemDisk() : nil) {
        progress?($0.commitsDone, $0.commitsToDo) ?? true
      }
    }
  }

  /// Whether the store's nodes are patches of the nodes that they replace; false on a server.
  package var writesDeltas: Bool { (engine as? FileStore)?.has(.nodeDeltas) ?? false }
}
