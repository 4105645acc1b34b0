package import DatastoreModel

/// Work on the store as a whole.
package enum Rewrite: Sendable, Hashable {
  /// What a compaction would do.
  case estimate(HistoryRetention)
  case compact(HistoryRetention)
  /// A copy with the history up to a commit; nil is all of it.
  case copy(to: String, at: CommitNumber?)
}

extension WorkContext {
  func rewrite(_ rewrite: Rewrite) throws(ModelError) -> RewriteReport {
    let editable = try editable()
    switch rewrite {
    case .estimate(let retention): return try editable.compactionEstimate(retention)
    case .compact(let retention): return try editable.compact(retention, progress: goingOn)
    case .copy(let path, let commit):
      return try editable.copy(to: files.expanding(path), at: commit, progress: goingOn)
    }
  }
}
