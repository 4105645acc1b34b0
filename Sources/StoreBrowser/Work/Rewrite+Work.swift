import StrataEngine
package import StrataModel

/// Work on the store as a whole.
package enum Rewrite: Question, Hashable {
  case estimate(CommitRetention)
  case compact(CommitRetention)
  /// Makes a copy with the history up to a commit; nil for all of it.
  case copy(to: String, at: CommitNumber?)

  package func reply(in context: WorkContext) throws(ModelError) -> RewriteReply {
    RewriteReply(rewrite: self, report: try done(in: context))
  }

  private func done(in context: WorkContext) throws(ModelError) -> RewriteReport {
    let editable = try context.editable()
    switch self {
    case .estimate(let retention): return try editable.compactionEstimate(retention)
    case .compact(let retention): return try editable.compact(retention, progress: context.goingOn)
    case .copy(let path, let commit):
      return try editable.copy(to: context.files.expanding(path), at: commit, progress: context.goingOn)
    }
  }
}

package struct RewriteReply: WordedReply {
  package var rewrite: Rewrite
  package var report: RewriteReport

  var sentence: String {
    switch rewrite {
    case .estimate: "estimated"
    case .compact:
      "compacted: \(NumberFormat.bytes(report.bytesBefore)) to \(NumberFormat.bytes(report.bytesAfter)), "
        + "\(NumberFormat.counted(report.commitsKept, "commit")) kept, "
        + "\(NumberFormat.count(report.commitsSquashed)) squashed"
    case .copy(let path, _):
      "\(path): \(NumberFormat.counted(report.commitsKept, "commit")), \(NumberFormat.bytes(report.bytesAfter))"
    }
  }
}
