import StrataModel
import StrataExpressions
import StrataEngine

/// The commits of a store's history that are kept. The newest and all named ones always are.
public enum HistoryRetention: Hashable, Sendable {
  /// All of them.
  case everything
  /// This number of the newest commits, and the ordinary ones between them that changed no record, for example if only a name was set. An
  /// undo, a restore, and a commit that combines those removed before it count, whatever they changed.
  case last(Int)
  /// Those that are not older than a span of time.
  case younger(than: Duration)
  /// Those that both ``last(_:)`` and ``younger(than:)`` keep.
  case both(last: Int, youngerThan: Duration)
  /// Those that ``last(_:)`` or ``younger(than:)`` keeps.
  case either(last: Int, youngerThan: Duration)

  var engineRetention: Retention {
    switch self {
    case .everything: .all
    case .last(let count): .last(max(count, 1))
    case .younger(let age): .younger(age.nanoseconds)
    case .both(let count, let age): .both(last: max(count, 1), younger: age.nanoseconds)
    case .either(let count, let age): .either(last: max(count, 1), younger: age.nanoseconds)
    }
  }
}

extension Duration {
  fileprivate var nanoseconds: Int64 {
    let nanoseconds = Int128(components.seconds) * 1_000_000_000 + Int128(components.attoseconds) / 1_000_000_000
    return Int64(clamping: max(nanoseconds, 0))
  }
}

/// The report on a shortened history.
public struct HistoryReport: Hashable, Sendable {
  /// The length of the store's file before, in bytes.
  public var bytesBefore: UInt64
  /// The length of the store's file now, in bytes.
  public var bytesAfter: UInt64
  /// The number of kept commits.
  public var commitsKept: Int
  /// The number of removed commits.
  public var commitsRemoved: Int
}

extension DiskPersistence where AccessMode == ReadWrite {
  /// Removes commits from the history and frees the space that only they took. Changes between kept commits are combined into one.
  ///
  /// Writers and readers go on meanwhile. A crash leaves the old file or the new one, whole.
  ///
  /// New stores keep a small part of each tree node that a commit changes. A store of an earlier version keeps whole nodes until
  /// `usingNodeDeltas` is true. From then on, apps that were built with that version refuse the store: "the store needs features (node
  /// deltas) that this program does not know". If it is false, whole nodes are written again, and these apps read the store.
  ///
  /// - Parameters:
  ///   - retention: The commits to keep.
  ///   - usingNodeDeltas: Whether small changes of tree nodes are stored; if nil, as the store does now.
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, `notFound` if there is no store, `full` if there is no space for the
  ///   new file.
  @discardableResult
  public nonisolated func shortenHistory(
    keeping retention: HistoryRetention, usingNodeDeltas: Bool? = nil
  ) async throws -> HistoryReport {
    if Transactions.current != nil { throw StoreError.withinTransaction("The history cannot be shortened") }
    guard let store = try _store.connection.storeForReading(forWriter: true) else {
      throw StoreError(.notFound, "There is no store yet.")
    }
    let connection = _store.connection
    while true {
      let report = try await onThread {
        try throwingStoreErrors { () -> CompactionReport? in
          do throws(StorageError) {
            try store.forgetExpiredFetches(now: LocalTime.now)
            return try store.compact(retention.engineRetention, writingDeltas: usingNodeDeltas) { _ in true }
          } catch .cancelled where connection.suspension.endsWork {
            return nil
          }
        }
      }
      if let report {
        return HistoryReport(
          bytesBefore: report.bytesBefore, bytesAfter: report.bytesAfter, commitsKept: report.commitsKept,
          commitsRemoved: report.commitsPruned)
      }
      // The turn becomes free when the process resumes.
      try await connection.alone {}
    }
  }
}
