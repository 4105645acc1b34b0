package import StrataEngine

extension ServerStore {
  /// Prunes what only older commits have. Bytes do not shrink at once: the tables need fewer when the server vacuums them.
  package func compact(
    _ retention: Retention, progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport {
    let before = (bytes: fileBytes, commits: commitCount)
    if let oldest = try oldestKept(retention), oldest > 1 {
      try prune(before: oldest)
      try refreshed()
    }
    let after = (bytes: fileBytes, commits: commitCount)
    return CompactionReport(
      bytesBefore: before.bytes, bytesAfter: after.bytes, commitsKept: Int(clamping: after.commits),
      commitsPruned: Int(clamping: before.commits.subtractingReportingOverflow(after.commits).partialValue))
  }

  package func compactionEstimate(_ retention: Retention) throws(StorageError) -> CompactionReport {
    let (bytes, count) = (fileBytes, commitCount)
    var kept = 0
    if let oldest = try oldestKept(retention) {
      try forEachCommit { commit throws(StorageError) in
        kept += 1
        return commit.number > oldest
      }
      kept += try Set(names.values).count { $0 < oldest }
    } else {
      kept = Int(clamping: count)
    }
    return CompactionReport(
      bytesBefore: bytes, bytesAfter: bytes, commitsKept: kept, commitsPruned: max(0, Int(clamping: count) - kept))
  }

  /// The oldest commit that a rule keeps; nil if it keeps all.
  private func oldestKept(_ retention: Retention) throws(StorageError) -> UInt64? {
    if retention == .all { return nil }
    var oldest = try refreshed().commit.number
    var left = retention.count ?? 0
    let limit = wallClock().subtractingReportingOverflow(retention.age ?? 0).partialValue
    try forEachCommit { commit throws(StorageError) in
      var isYoung = false
      if retention.age != nil { isYoung = try clock(of: commit) >= limit }
      guard retention.keeps(byCount: left > 0, byAge: isYoung) else { return false }
      oldest = min(oldest, commit.number)
      if !commit.changesNoRecord { left -= 1 }
      return true
    }
    return oldest
  }

  package func copy(
    to folder: String, at commit: UInt64?, onto target: (any Disk)?, progress: (CompactionProgress) -> Bool
  ) throws(StorageError) -> CompactionReport {
    guard commit == nil else {
      throw .refused("a copy of a store on a server has the whole history: leave the commit out")
    }
    let disk = target ?? SystemDisk()
    let draft = try StoreDraft(at: folder, on: disk)
    defer { draft.cancel() }
    let file = try FileStore.create(
      at: draft.workPath, options: StoreOptions(program: options.program, author: options.author), disk: disk)
    let report = try HistoryDownload.run(from: self, to: file) { progress(($0, $1)) }
    try file.close()
    try draft.finish()
    return CompactionReport(
      bytesBefore: fileBytes, bytesAfter: file.fileBytes, commitsKept: report.commits, commitsPruned: 0)
  }
}
