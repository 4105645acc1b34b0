import StorageEngine

extension OwnStore {
  package func compactionEstimate(_ retention: HistoryRetention) throws(ModelError) -> RewriteReport {
    let head = engine.head.commit
    let before = try byteCount
    let now = LocalTime.now
    var kept: [CommitRecord] = []
    var squashed = 0
    var next: UInt64? = head.number == 0 ? nil : head.number
    while let number = next {
      let record = try commitRecord(CommitNumber(number))
      if retention.keeps(record, position: kept.count + squashed, now: now) {
        kept.append(record)
      } else {
        squashed += 1
      }
      next = record.parents.first
    }
    guard squashed > 0, let oldest = kept.last else {
      return RewriteReport(bytesBefore: before, bytesAfter: before, commitsKept: kept.count, commitsSquashed: 0)
    }
    // The oldest commit kept is written whole, each later one by what it added.
    let after = kept.dropLast().reduce(oldest.liveBytes) { $0.addingReportingOverflow($1.frameBytes).partialValue }
    return RewriteReport(
      bytesBefore: before, bytesAfter: min(after, before), commitsKept: kept.count, commitsSquashed: squashed)
  }

  package func compact(_ retention: HistoryRetention, progress: WorkProgress?) throws(ModelError) -> RewriteReport {
    if case .readOnly(let reason) = access { throw .readOnly(reason: reason) }
    defer { if !keepsLock { engine.releaseLock() } }
    let report = try rewriting { () throws(StorageError) in
      try engine.compact(retention.engineRetention) { progress?($0.commitsDone, $0.commitsToDo) ?? true }
    }
    return RewriteReport(report)
  }

  package func copy(
    to path: String, at commit: CommitNumber?, progress: WorkProgress?
  ) throws(ModelError) -> RewriteReport {
    let report = try rewriting { () throws(StorageError) in
      try engine.copy(to: path, at: commit?.rawValue) { progress?($0.commitsDone, $0.commitsToDo) ?? true }
    }
    return RewriteReport(report)
  }

  private func rewriting(_ body: () throws(StorageError) -> CompactionReport) throws(ModelError) -> CompactionReport {
    do {
      return try body()
    } catch .cancelled {
      throw .cancelled
    } catch {
      throw ModelError(error)
    }
  }
}

extension HistoryRetention {
  fileprivate var engineRetention: Retention {
    switch self {
    case .all: .all
    case .last(let count): .last(count)
    case .younger(let age): .younger(age)
    }
  }

  /// - Parameter position: 0 for the newest commit.
  fileprivate func keeps(_ commit: CommitRecord, position: Int, now: Int64) -> Bool {
    if position == 0 { return true }
    switch self {
    case .all: return true
    case .last(let count): return position < count
    case .younger(let age): return now.subtractingReportingOverflow(commit.date).partialValue < age
    }
  }
}

extension RewriteReport {
  fileprivate init(_ report: CompactionReport) {
    self.init(
      bytesBefore: report.bytesBefore, bytesAfter: report.bytesAfter, commitsKept: report.commitsKept,
      commitsSquashed: max(0, report.commitsPruned))
  }
}
