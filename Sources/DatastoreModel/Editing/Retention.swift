package import StorageEngine

/// The engine's, for those above who do not know the engine.
package typealias HistoryRetention = Retention

extension Retention {
  /// Reads `all`, a number of commits, or an age: `90m`, `12h`, `30d`, `2w`.
  package init(parsing text: String) throws(ModelError) {
    if text == "all" {
      self = .all
    } else if let count = Int(text), count > 0 {
      self = .last(count)
    } else if let unit = text.last.flatMap({ Self.seconds[$0] }), let number = Int64(text.dropLast()),
      (1..<10_000).contains(number)
    {
      self = .younger(number * unit * 1_000_000_000)
    } else {
      throw .invalid(
        text: text, column: 1, reason: "“\(text)” is not all, a number of commits, or an age as 30d, 12h or 2w")
    }
  }

  private static let seconds: [Character: Int64] = ["m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
}

/// What rewriting a store did, or would do.
package struct RewriteReport: Hashable, Sendable {
  package var bytesBefore: UInt64
  package var bytesAfter: UInt64
  package var commitsKept: Int
  /// Commits that were put together with the next one kept.
  package var commitsSquashed: Int
}

extension EditableStore {
  package func compactionEstimate(_ retention: HistoryRetention) throws(ModelError) -> RewriteReport {
    throw .refused(reason: "this store cannot be compacted")
  }

  package func compact(_ retention: HistoryRetention, progress: WorkProgress?) throws(ModelError) -> RewriteReport {
    throw .refused(reason: "this store cannot be compacted")
  }

  package func copy(
    to path: String, at commit: CommitNumber?, progress: WorkProgress?
  ) throws(ModelError) -> RewriteReport {
    throw .refused(reason: "this store cannot be copied")
  }
}
