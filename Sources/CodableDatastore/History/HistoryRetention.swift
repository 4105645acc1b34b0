import DatastoreModel
import Expressions
import StorageEngine

/// Which commits of a store's history are kept. The newest and all named ones always are.
public enum HistoryRetention: Hashable, Sendable {
  /// All of them.
  case everything
  /// The newest so many, and between them ordinary ones that changed no record, as where only a name was set. An undo, a
  /// restore, and a commit that tells those removed before it, count whatever they changed.
  case last(Int)
  /// Those that are not older than a span of time.
  case younger(than: Duration)

  var engineRetention: Retention {
    switch self {
    case .everything: return .all
    case .last(let count): return .last(max(count, 1))
    case .younger(let age):
      let (seconds, attoseconds) = age.components
      let nanoseconds = Int128(seconds) * 1_000_000_000 + Int128(attoseconds) / 1_000_000_000
      return .younger(Int64(clamping: max(nanoseconds, 0)))
    }
  }
}

/// What shortening a history came to.
public struct HistoryReport: Hashable, Sendable {
  /// The length of the store's file before, in bytes.
  public var bytesBefore: UInt64
  /// The length of the store's file now, in bytes.
  public var bytesAfter: UInt64
  /// How many commits were kept.
  public var commitsKept: Int
  /// How many were not.
  public var commitsRemoved: Int
}

extension DiskPersistence where AccessMode == ReadWrite {
  /// Removes commits from the history and gives back the room that only they took. Changes between kept commits are told
  /// as one.
  ///
  /// Writers and readers go on meanwhile. A crash leaves the old file or the new one, whole.
  ///
  /// - Parameter retention: Which commits are kept.
  /// - Throws: ``StoreError`` of kind `refused` within a transaction, `notFound` where there is no store, `full` where there is
  ///   no room for the new file.
  @discardableResult
  public nonisolated func shortenHistory(keeping retention: HistoryRetention) async throws -> HistoryReport {
    if Transactions.scope(for: _store) != nil {
      throw StoreError(.refused, "The history cannot be shortened within a transaction.")
    }
    guard let store = try _store.connection.storeForReading(forWriter: true) else {
      throw StoreError(.notFound, "There is no store yet.")
    }
    let report = try await onThread {
      try throwingStoreErrors { () throws(StorageError) in
        try store.forgetExpiredFetches(now: LocalTime.now)
        return try store.compact(retention.engineRetention) { _ in true }
      }
    }
    return HistoryReport(
      bytesBefore: report.bytesBefore, bytesAfter: report.bytesAfter, commitsKept: report.commitsKept,
      commitsRemoved: report.commitsPruned)
  }
}
